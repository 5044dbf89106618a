"""Turn tables in memory into Arrow columns, with the states that a categorical type declares."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credibn.data.ibis_tables import is_ibis_table
from credibn.errors import DataError

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

_PLAIN = (bool, int, float, str, datetime.date, datetime.time)


@dataclass(frozen=True)
class ArrowColumn:
    """One column; where ``states`` are declared, ``values`` holds codes into them, otherwise the values."""

    name: str
    values: Any
    states: tuple[object, ...] | None = None


def arrow_columns(data: object) -> list[ArrowColumn] | None:
    """Return the columns of a pandas or polars DataFrame, Arrow table or NumPy array; None for anything else."""
    if _is_a("pandas", "DataFrame", data):
        return _from_pandas(data)
    if _is_a("polars", "DataFrame", data):
        return _from_polars(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return _from_arrow(data)
    if isinstance(data, np.ndarray):
        return _from_numpy(data)
    return None


def arrow_table(columns: Sequence[ArrowColumn]) -> pa.Table:
    """Return the columns as a table with the names ``c0, c1, ...``."""
    return pa.table({f"c{i}": column.values for i, column in enumerate(columns)})


def pandas_frame(data: object) -> DataFrame | None:
    """Return the tables that `arrow_columns` takes as a pandas DataFrame with names that are text, rows from 0."""
    import pandas as pd

    if is_ibis_table(data):
        raise DataError("an Ibis table is not in memory: give its table.to_pyarrow(), or the table to learn")
    if isinstance(data, pd.DataFrame):
        frame = data.reset_index(drop=True)
    else:
        columns = arrow_columns(data)
        if columns is None:
            return None
        frame = pd.DataFrame({at: _series(column) for at, column in enumerate(columns)})
        frame.columns = pd.Index([column.name for column in columns], dtype=object)
    frame.columns = pd.Index([str(label) for label in frame.columns], dtype=object)
    return frame


def _series(column: ArrowColumn) -> Any:
    import pandas as pd
    import pyarrow.compute as pc

    if column.states is None:
        return pd.Series(column.values, dtype=pd.ArrowDtype(column.values.type))
    codes = pc.fill_null(pc.cast(column.values, pa.int64()), -1).to_numpy(zero_copy_only=False)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(column.states, tupleize_cols=False)))


def _is_a(module: str, name: str, data: object) -> bool:
    # Whoever holds a DataFrame has imported its library: no need to import it, or to have it.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(data, kind)


def _from_pandas(frame: Any) -> list[ArrowColumn]:
    columns = []
    for position, label in enumerate(frame.columns):
        series = frame.iloc[:, position]
        if hasattr(series, "cat"):
            codes = series.cat.codes.to_numpy()
            states = tuple(_plain(category) for category in series.cat.categories)
            columns.append(ArrowColumn(str(label), pa.array(codes, mask=codes < 0), states))
        else:
            columns.append(ArrowColumn(str(label), _to_arrow(str(label), series)))
    return columns


def _from_polars(frame: Any) -> list[ArrowColumn]:
    # A polars Categorical takes its order from whatever the process met first: only an Enum declares one.
    categorical = sys.modules["polars"].Categorical
    try:
        table = frame.to_arrow()
    except (pa.ArrowException, TypeError, ValueError) as error:
        kinds = {name: str(kind) for name, kind in frame.schema.items()}
        raise DataError(
            f"a column of the DataFrame has a type that Arrow does not know ({error}); the types are {kinds}: convert "
            "it to text, numbers or booleans"
        ) from error
    columns = []
    for name, values in zip(frame.columns, _from_arrow(table), strict=True):
        if frame.schema[name] == categorical:
            text = pa.chunked_array(frame.get_column(name).to_arrow().cast(pa.large_string()))
            values = ArrowColumn(name, text)
        columns.append(values)
    return columns


def _from_arrow(table: Any) -> list[ArrowColumn]:
    columns = []
    for name, values in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_dictionary(values.type):
            columns.append(ArrowColumn(name, _known_to_duckdb(name, values)))
            continue
        coded = values.unify_dictionaries().combine_chunks()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.chunk(0) if coded.num_chunks else pa.array([], values.type)
        states = tuple(_plain(state) for state in coded.dictionary.to_pylist())
        if None in states or len(set(states)) < len(states):
            columns.append(ArrowColumn(name, coded.dictionary_decode()))
        else:
            columns.append(ArrowColumn(name, coded.indices, states))
    return columns


def _from_numpy(array: NDArray[Any]) -> list[ArrowColumn]:
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise DataError(f"a structured array of shape {array.shape}: give one dimension, one record per row")
        return [ArrowColumn(name, _to_arrow(name, array[name])) for name in array.dtype.names]
    if array.ndim != 2:
        raise DataError(
            f"an array of shape {array.shape} is not a table: give two dimensions, rows by columns "
            "(one column: array.reshape(-1, 1))"
        )
    width = len(str(array.shape[1] - 1))
    names = [f"X{position:0{width}d}" for position in range(array.shape[1])]
    return [ArrowColumn(name, _to_arrow(name, array[:, i])) for i, name in enumerate(names)]


def _to_arrow(name: str, values: Any) -> Any:
    mask = None
    if isinstance(values, np.ma.MaskedArray):
        values, mask = np.asarray(values.data), np.ma.getmaskarray(values)
    elif isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    try:
        return _known_to_duckdb(name, pa.array(values, mask=mask, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        reason = str(error).splitlines()[0]
        raise DataError(
            f"column {name!r} cannot be read as one type ({reason}): convert it to text, numbers or booleans"
        ) from error


def _known_to_duckdb(name: str, values: Any) -> Any:
    """Return the column in a type that DuckDB reads too."""
    if pa.types.is_float16(values.type):
        return values.cast(pa.float32())
    if pa.types.is_decimal256(values.type):
        raise DataError(
            f"column {name!r} has the type {values.type}, but decimals may have at most 38 digits: "
            "convert it to float or text"
        )
    return values


def _plain(label: Any) -> object:
    """Return a state label as an object of Python's own types."""
    if isinstance(label, np.generic):
        label = label.item()
    if hasattr(label, "to_pydatetime"):
        label = label.to_pydatetime()
    return label if label is None or isinstance(label, _PLAIN) else str(label)
