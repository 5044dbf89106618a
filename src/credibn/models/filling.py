"""Put imputed values into the cells of a table that lacked them, and change nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn.data.new_rows import NewRows

if TYPE_CHECKING:  # pandas is slow to import: it is loaded when needed
    from pandas import DataFrame, Series

Filled = Mapping[int, tuple[NDArray[np.intp], Sequence[Any]]]


def filled_frame(data: object, rows: NewRows, cuts: Mapping[str, Sequence[float]], filled: Filled) -> DataFrame:
    """Return the table with its missing cells filled: for each variable, the rows that lack it and their values.

    Columns of a pandas DataFrame keep their types; discretised ones, in `cuts`, become labels of intervals.
    """
    import pandas as pd

    frame = data.copy() if isinstance(data, pd.DataFrame) else pd.DataFrame(index=pd.RangeIndex(len(rows)))
    place = {str(label): at for at, label in enumerate(frame.columns)}
    for v, name in enumerate(rows.names):
        where, values = filled.get(v, (np.empty(0, dtype=np.intp), ()))
        is_unchanged = name in place and name not in cuts
        if is_unchanged and not len(where):
            continue
        series = frame.iloc[:, place[name]] if is_unchanged else _decoded(rows, v, frame.index)
        series = _with_values(series, where, values)
        if name in place:
            frame.isetitem(place[name], series.array)
        else:
            frame[name] = series
    return frame


def _decoded(rows: NewRows, v: int, index: Any) -> Series[Any]:
    import pandas as pd

    labels = rows.states[v]
    if labels is None:
        return pd.Series(np.array(rows.columns[v]), index=index)
    decoded = [None if code < 0 else labels[code] for code in rows.columns[v]]
    return pd.Series(decoded, index=index, dtype=object)


def _with_values(series: Series[Any], where: NDArray[np.intp], values: Sequence[Any]) -> Series[Any]:
    """Return the series with these values, of its own type if that can hold them all unchanged."""
    import pandas as pd

    kind = series.dtype
    cells = series.astype(object).to_numpy(copy=True)
    cells[where] = np.fromiter(values, dtype=object, count=len(values))
    changed = pd.Series(cells, index=series.index, dtype=object, name=series.name)
    if pd.api.types.is_object_dtype(kind):
        return changed.infer_objects()
    if isinstance(kind, pd.CategoricalDtype):
        new = [value for value in dict.fromkeys(values) if value not in kind.categories]
        return changed.astype(pd.CategoricalDtype([*kind.categories, *new], kind.ordered))
    try:
        typed = changed.astype(kind)
    except (TypeError, ValueError):
        return changed.infer_objects()
    is_same = typed.astype(object).to_numpy()[where] == cells[where]
    return typed if np.all(is_same) else changed.infer_objects()
