"""Experiments: which variables were set from outside, and in which rows.

An intervention is known and perfect: in its rows a target has the value that somebody gave it, whatever its causes are
(Cooper and Yoo 1999). Such a row says nothing about what causes its targets, and all about what they cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.data.suggesting import suggestion
from credibn.errors import DataError, Option, OptionError

_BETWEEN = "\x1f"
"""Between the names of targets in a column that we make: in no name."""
_SEPARATORS = re.compile(r"[,;|+]"), re.compile(r"[,;|+\s]+")
"""Between names in a column of the user: names may hold spaces, which separate only where nothing else does."""
_NOTHING = ("", "none", "nothing", "observational")


@dataclass(frozen=True, eq=False)
class Interventions:
    """The sets of variables that were set together, and which of these sets belongs to each distinct row.

    Attributes
    ----------
    targets : tuple of tuple of int
        Different sets of positions of variables, each increasing; the empty set where nothing was set.
    groups : ndarray of int64
        For each distinct row, the position of its set among the targets.
    """

    targets: tuple[tuple[int, ...], ...]
    groups: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", tuple(tuple(map(int, one)) for one in self.targets))
        view = np.asarray(self.groups, dtype=np.int64).view()
        view.flags.writeable = False
        object.__setattr__(self, "groups", view)

    __reduce__ = rebuilt_from_fields

    def are_set(self, v: int) -> NDArray[np.bool_]:
        """Return the rows in which a variable was set."""
        return np.array([v in one for one in self.targets])[self.groups]

    def set_others(self, v: int) -> NDArray[np.bool_]:
        """Return the rows in which any other variable was set."""
        return np.array([bool(set(one) - {v}) for one in self.targets])[self.groups]


def separated_pairs(targets: Iterable[Iterable[int]], n: int) -> NDArray[np.bool_]:
    """Return the pairs of which some experiment set one variable alone, shape (n, n), symmetric."""
    separated = np.zeros((n, n), dtype=bool)
    for one in targets:
        is_target = np.zeros(n, dtype=bool)
        is_target[list(one)] = True
        separated |= is_target[:, None] != is_target[None]
    return separated


def parse_targets(labels: Sequence[object], names: Sequence[str], column: str) -> list[tuple[int, ...]]:
    """Return the variables that each label of a column of interventions names; the label None names none."""
    return [_parse(label, names, column) for label in labels]


def _parse(label: object, names: Sequence[str], column: str) -> tuple[int, ...]:
    text = "" if label is None else str(label).strip()
    if text in names:
        return (names.index(text),)
    if text.lower() in _NOTHING:
        return ()
    parts = _split(text, names)
    for part in parts:
        if part not in names:
            raise DataError(
                "column {!r} says that {!r} was set, which is not a variable: {}. Write the names of variables, with "
                "commas between them; leave the field empty where nothing was set",
                column,
                part,
                suggestion(part, names),
            )
    return tuple(sorted({names.index(part) for part in parts}))


def _split(text: str, names: Sequence[str]) -> list[str]:
    """Return the names in a label, split in the first way that leaves nothing but names of variables."""
    if _BETWEEN in text:
        return text.split(_BETWEEN)
    ways = [[part.strip() for part in separator.split(text) if part.strip()] for separator in _SEPARATORS]
    return next((parts for parts in ways if set(parts) <= set(names)), ways[0])


def with_target_column(data: object, interventions: Any) -> tuple[object, str]:
    """Return a table in memory with a column that names what was set in each row, and the name of that column.

    `interventions` is a boolean table with a row for each row of the data, or a mapping from the label of a row, in
    the index of a pandas DataFrame, to what was set there.
    """
    from credibn.data.frames import pandas_frame  # pandas and pyarrow take a while to import

    frame = pandas_frame(data)
    if frame is None:
        raise OptionError(
            "{} must name a column where the table is a file or in a database; read the table into a DataFrame to give "
            "a boolean table or a mapping",
            Option("interventions"),
        )
    names = [str(name) for name in frame.columns]
    if isinstance(interventions, Mapping):
        rows = _by_label(getattr(data, "index", None), interventions, names)
    else:
        _check_same_rows(getattr(data, "index", None), getattr(interventions, "index", None))
        rows = _by_matrix(interventions, names, len(frame))
    column = "interventions"
    while column in names:
        column += "_"
    texts = [_BETWEEN.join(targets) if targets else None for targets in rows]
    return frame.assign(**{column: np.array(texts, dtype=object)}), column


def _by_label(index: Any, interventions: Mapping[Any, Any], names: Sequence[str]) -> list[tuple[str, ...]]:
    if index is None or callable(index):
        raise OptionError(
            "{} is a mapping from the labels of rows, which only a pandas DataFrame has; give a boolean table, or the "
            "name of a column",
            Option("interventions"),
        )
    known = set(index)
    for label in interventions:
        if label not in known:
            raise OptionError(
                "{} names the row {!r}, which is not in the index of the DataFrame; make the column with these labels "
                "its index with set_index",
                Option("interventions"),
                label,
            )
    targets = {label: _names_of(named) for label, named in interventions.items()}
    for label, named in targets.items():
        for name in named:
            if name not in names:
                raise OptionError(
                    "{} says that {!r} was set in row {!r}, which is not a column: {}",
                    Option("interventions"),
                    name,
                    label,
                    suggestion(name, names),
                )
    return [targets.get(label, ()) for label in index]


def _names_of(named: Any) -> tuple[str, ...]:
    """Return the names that a mapping has for a label: none, one or several; columns may have numbers as names."""
    if named is None:
        return ()
    return tuple(map(str, named)) if isinstance(named, Iterable) and not isinstance(named, str) else (str(named),)


def _check_same_rows(index: Any, labels: Any) -> None:
    """Refuse a DataFrame whose rows are labelled as other rows of the table: rows belong together by place."""
    if any(one is None or callable(one) for one in (index, labels)) or len(index) != len(labels):
        return
    if list(index) != list(labels):
        raise OptionError(
            "{} has other row labels than the table, or the same in another order; give one with the table's index, "
            "such as .reindex(table.index), or without labels, by .to_numpy()",
            Option("interventions"),
        )


def _by_matrix(interventions: Any, names: Sequence[str], n_rows: int) -> list[tuple[str, ...]]:
    columns = getattr(interventions, "columns", None)
    columns = list(names) if columns is None else [str(name) for name in columns]
    values = np.asarray(interventions)
    if values.ndim != 2 or values.shape != (n_rows, len(columns)) or not np.isin(values, (0, 1)).all():
        raise OptionError(
            "{} has the shape {} and the type {}; give True or False for each of {:,} rows and {} columns",
            Option("interventions"),
            values.shape,
            values.dtype,
            n_rows,
            len(columns),
        )
    is_set = values.astype(bool)
    for name, column in zip(columns, is_set.T, strict=True):
        if column.any() and name not in names:
            near = suggestion(name, names)
            raise OptionError("{} names {!r}, which is not a column: {}", Option("interventions"), name, near)
    kinds, which = np.unique(is_set, axis=0, return_inverse=True)
    named = [tuple(columns[v] for v in np.flatnonzero(kind)) for kind in kinds]
    return [named[at] for at in which.ravel().tolist()]
