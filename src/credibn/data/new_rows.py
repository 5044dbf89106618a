"""Read rows for a fitted model: in their order, encoded with the states of the training table.

A `Dataset` holds distinct rows with counts and finds states in the data. Rows to be predicted need neither: each is
answered in its place, and a category that the model does not know is an error or counts as missing, but is never a new
state. Missing values stay, as code -1 or as NaN. Cost: one scan of the table, memory for all its rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credibn._base.text import quoted
from credibn.data.dataset import Dataset
from credibn.data.ibis_tables import is_ibis_table
from credibn.data.options import missing_texts
from credibn.data.reduction import cleaned_column
from credibn.data.sources import Source, open_source, reading, workspace
from credibn.data.suggesting import suggestion
from credibn.errors import DataError, Option, Phrase
from credibn.options import ReadOptions, check_choice

HandleUnknown = Literal["error", "ignore"]
"""What to do with a category that the model does not know: refuse it, or take it as missing."""
MISSING_CODE = -1
"""The code of a missing value of a discrete column."""
_UNKNOWN_CODE = -2
"""The code of an ignored category, until all of a column are known: missing, even where None is a state."""

_SHOWN_STATES = 10


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows in their order, encoded with the states of a model; made by `read_rows`."""

    names: tuple[str, ...]
    states: tuple[tuple[object, ...] | None, ...]  # labels in code order; None for a continuous variable
    columns: tuple[NDArray[Any], ...]  # int64 codes, -1 where missing, or float64, NaN where missing
    is_given: tuple[bool, ...]  # whether the table has the column; where not, all its values are missing
    index: Any = None  # the index of a pandas DataFrame

    def __post_init__(self) -> None:
        for column in self.columns:
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing, shape (rows, variables)."""
        missing = [
            np.isnan(column) if labels is None else column == MISSING_CODE
            for column, labels in zip(self.columns, self.states, strict=True)
        ]
        return np.column_stack(missing)


def read_rows(
    data: str | os.PathLike[str] | Any,
    names: Sequence[str],
    states: Sequence[Sequence[object] | None],
    cuts: Mapping[str, Sequence[float]] | None = None,
    *,
    missing_values: Iterable[str] | None = None,
    ignore_extra: bool = False,
    handle_unknown: str = "error",
    unread: Iterable[str] = (),
    dropped: Iterable[str] = (),
    text_options: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
) -> NewRows:
    """Read a table of new rows, of any kind that `read_data` takes, with the states of a model.

    Columns go by name and come in any order; those of a NumPy array without names go by position, in the order of
    ``names``. An absent column has only missing values, and so have those of ``unread``. Values go by label: the codes
    of a categorical type mean nothing here. A field of a text file is the state that is written like it. Columns with
    ``cuts`` hold numbers, or labels of bins.

    ``missing_values`` are those of `read_data`; a text that is a state of its column is never missing, and where None
    is a state, a missing value is that state. Columns that the model does not have are an error unless
    ``ignore_extra``, or unless they are ``dropped``. A category that is not among the states is an error; with
    ``handle_unknown="ignore"`` its cell has no value. Text in a column of numbers is always an error. ``text_options``
    are those of `read_data` that say how a text file is written, such as ``decimal``; ``units`` stand beside numbers.
    """
    check_choice("handle_unknown", handle_unknown, get_args(HandleUnknown))
    if isinstance(data, Dataset):
        raise DataError("a Dataset does not keep the order of rows: give the table that it was read from")
    if is_ibis_table(data):
        raise DataError("the rows of an Ibis table have no order to answer in: give its table.to_pyarrow()")
    variables = tuple(names)
    labels = tuple(None if known is None else tuple(known) for known in states)
    with workspace() as connection:
        connection.execute("SET preserve_insertion_order = true")
        source = open_source(data, connection, ReadOptions(**(text_options or {})))
        position_of = _positions(data, source, variables, None if ignore_extra else set(dropped))
        given = tuple(name in position_of for name in variables)
        position_of = {name: at for name, at in position_of.items() if name not in set(unread)}
        texts = missing_texts(missing_values, source.is_text_file)
        kinds, wanted = source.relation.types, sorted(position_of.values())
        table = _fetch(source, [f"{cleaned_column(source.names[i], f'c{i}', kinds[i])} AS c{i}" for i in wanted])
    columns = []
    for name, known in zip(variables, labels, strict=True):
        at = position_of.get(name)
        if at is None:
            columns.append(_all_missing(len(table), known))
            continue
        values = table.column(f"c{at}").combine_chunks()
        cell = _Column(
            name, known, (cuts or {}).get(name), texts, source.is_text_file, ignores_unknown=handle_unknown == "ignore"
        )
        if source.is_text_file and (unit := (units or {}).get(name)):
            values = _without_unit(values, unit, text_options or {})
        columns.append(cell.encode(values, source.declared[at]))
    return NewRows(variables, labels, tuple(columns), given, _pandas_index(data))


def read_other_columns(path: str | os.PathLike[str], names: Iterable[str]) -> tuple[tuple[str, ...], pa.Table]:
    """Return the names of all columns of a file, and the columns that a model does not know, as they are."""
    known = set(names)
    with workspace() as connection:
        connection.execute("SET preserve_insertion_order = true")
        source = open_source(path, connection)
        positions = [at for at, name in enumerate(source.names) if name not in known]
        table = _fetch(source, [f"c{at}" for at in positions])
    return source.names, table.drop_columns(["row"]).rename_columns([source.names[at] for at in positions])


def _positions(data: object, source: Source, names: tuple[str, ...], dropped: set[str] | None) -> dict[str, int]:
    """Return the position in the table of each variable that is there; other columns are dropped, all with None."""
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        if len(source.names) != len(names):
            raise DataError(
                f"the array has {len(source.names)} columns and the model {len(names)} variables: give a column for "
                "each, in the order of the model (NaN or None where unknown), or a DataFrame with names"
            )
        return {name: at for at, name in enumerate(names)}
    extra = [name for name in source.names if dropped is not None and name not in names and name not in dropped]
    if extra:
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        raise DataError(
            "the model has no column {!r}{} ({}): rename or drop it, or pass {}",
            extra[0],
            more,
            suggestion(extra[0], names),
            Option("ignore_extra", True),
        )
    return {name: at for at, name in enumerate(source.names) if name in names}


def _fetch(source: Source, columns: Sequence[str]) -> pa.Table:
    """Return what the SQL of each column selects; the column ``row`` counts the rows where there is no other."""
    with reading(source.is_text_file, source.where):
        return source.relation.project(", ".join(["true AS row", *columns])).to_arrow_table()


def _without_unit(values: Any, unit: str, text_options: Mapping[str, Any]) -> Any:
    """Return the texts of numbers without their unit, and with the separators of Python."""
    import pyarrow.compute as pc

    texts = pc.utf8_trim(pc.replace_substring(values, unit, ""), " ")
    if text_options.get("thousands"):
        texts = pc.replace_substring(texts, text_options["thousands"], "")
    return pc.replace_substring(texts, text_options["decimal"], ".") if "decimal" in text_options else texts


def _all_missing(n_rows: int, states: tuple[object, ...] | None) -> NDArray[Any]:
    return np.full(n_rows, np.nan) if states is None else np.full(n_rows, MISSING_CODE, dtype=np.int64)


def _pandas_index(data: object) -> Any:
    return data.index if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "index") else None


@dataclass(frozen=True)
class _Column:
    """How to encode one column."""

    name: str
    states: tuple[object, ...] | None
    cuts: Sequence[float] | None
    missing_texts: tuple[str, ...]
    is_text_file: bool
    ignores_unknown: bool

    def encode(self, values: Any, declared: tuple[object, ...] | None) -> NDArray[Any]:
        """Return the codes or numbers of an Arrow array; where a type declares states, it holds codes into them."""
        distinct, place = _distinct(values, declared)
        if self.states is None:
            return np.append(self._numbers(distinct, place, "continuous"), np.nan)[place]
        of_missing = self.states.index(None) if None in self.states else MISSING_CODE
        codes = self._bin_codes(distinct, place) if self._holds_numbers(distinct) else None
        if codes is None:
            codes = self._label_codes(distinct, place)
        codes[codes == MISSING_CODE] = of_missing
        codes[codes == _UNKNOWN_CODE] = MISSING_CODE
        encoded: NDArray[np.int64] = np.append(codes, of_missing)[place]
        return encoded

    def _is_missing(self, value: object) -> bool:
        is_state = self.states is not None and value in self.states
        return isinstance(value, str) and value in self.missing_texts and not is_state

    def _holds_numbers(self, distinct: Sequence[Any]) -> bool:
        """Whether a discretised column holds numbers; otherwise it holds labels of the bins."""
        if self.cuts is None:
            return False
        known = set(self.states or ())
        return not any(isinstance(value, str) and value in known for value in distinct)

    def _bin_codes(self, distinct: Sequence[Any], place: NDArray[np.int64]) -> NDArray[np.int64]:
        numbers = self._numbers(distinct, place, "divided into bins")
        codes = np.searchsorted(np.asarray(self.cuts, dtype=np.float64), numbers, side="right").astype(np.int64)
        codes[np.isnan(numbers)] = MISSING_CODE
        return codes

    def _label_codes(self, distinct: Sequence[Any], place: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self.states is not None
        code_of = {label: code for code, label in enumerate(self.states)}
        if self.is_text_file:  # a text file knows only text
            code_of = {str(label): code for label, code in code_of.items() if label is not None} | code_of
        codes = np.empty(len(distinct), dtype=np.int64)
        for at, value in enumerate(distinct):
            if self._is_missing(value):
                codes[at] = MISSING_CODE
            elif value in code_of:
                codes[at] = code_of[value]
            elif near := [label for label in self.states if str(label) == str(value)]:
                raise self._unknown(value, _first_row(place, at), _conversion(near[0]))
            elif self.ignores_unknown:
                codes[at] = _UNKNOWN_CODE
            else:
                raise self._unknown(value, _first_row(place, at), self._correction(value))
        return codes

    def _correction(self, value: object) -> Phrase:
        texts = [label for label in self.states or () if isinstance(label, str)]
        near = f" ({suggestion(value[:80], texts)})" if isinstance(value, str) and texts else ""
        return Phrase(
            "correct it{}, or pass {} to take such cells as missing", near, Option("handle_unknown", "ignore")
        )

    def _unknown(self, value: object, row: int, fix: str | Phrase) -> DataError:
        assert self.states is not None
        shown = ", ".join(map(quoted, self.states[:_SHOWN_STATES]))
        more = f" and {len(self.states) - _SHOWN_STATES} more" if len(self.states) > _SHOWN_STATES else ""
        return DataError(
            "row {}, column {!r}: {} is not among the states {}{}: {}",
            row,
            self.name,
            quoted(value),
            shown,
            more,
            fix,
        )

    def _numbers(self, distinct: Sequence[Any], place: NDArray[np.int64], how: str) -> NDArray[np.float64]:
        numbers = np.empty(len(distinct))
        if all(type(value) in (int, float) for value in distinct):
            numbers[:] = distinct
            if np.isfinite(numbers).all():
                return numbers
        for at, value in enumerate(distinct):
            number = np.nan if self._is_missing(value) else self._number(value)
            if number is None or np.isinf(number):
                raise DataError(
                    f"row {_first_row(place, at)}, column {self.name!r}: {quoted(value)} is not a finite number, and "
                    f"the column is {how}: correct it, or make it missing"
                )
            numbers[at] = number
        return numbers

    def _number(self, value: Any) -> float | None:
        if isinstance(value, bool) or (isinstance(value, str) and not self.is_text_file):
            return None
        try:
            return float(value) + 0.0
        except (TypeError, ValueError, OverflowError):
            return None


def _conversion(known: object) -> str:
    return f"the model knows {quoted(known)}, of another type; convert the column to {type(known).__name__}"


def _distinct(values: Any, declared: tuple[object, ...] | None) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct values and where each row's stands among them; one after the last where missing."""
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(values)
    distinct = [_plain(value) for value in coded.dictionary.to_pylist()]
    if declared is not None:
        distinct = [declared[value] for value in distinct]
    place = pc.fill_null(coded.indices, len(distinct)).to_numpy(zero_copy_only=False).astype(np.int64)
    return distinct, place


def _plain(value: Any) -> Any:
    """Return whole numbers of any width as integers, as `read_data` labels them."""
    is_whole = hasattr(value, "to_integral_value")  # a decimal: only those without a fraction come this far
    return int(value) if is_whole else value


def _first_row(place: NDArray[np.int64], at: int) -> int:
    """Return the number, from 1, of the first row with this value."""
    return int(np.argmax(place == at)) + 1
