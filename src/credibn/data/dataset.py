"""The table that every later stage works on: distinct rows with counts, columns as codes.

Scores need a table only through counts of equal rows, so identical rows are stored once with their number
(the weights). The distinct rows stand in lexicographic order: the same rows in any order give the same bytes.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import plural, printable
from credibn.data.interventions import Interventions
from credibn.data.reading_record import Reading
from credibn.data.suggesting import suggestion
from credibn.errors import DataError, Option, OptionError

if TYPE_CHECKING:
    from credibn.data.summary import DataSummary


def code_type(n_states: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type that holds the codes ``0 .. n_states - 1``."""
    if n_states <= 1 << 8:
        return np.uint8
    return np.uint16 if n_states <= 1 << 16 else np.uint32


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of discrete and continuous variables, reduced to distinct rows with counts.

    Made by `read_data`; the constructor checks its arguments and does not repair them.

    Attributes
    ----------
    names : tuple of str
        Variables in the order of the table's columns.
    columns : tuple of ndarray
        One read-only array per variable over the distinct rows: codes in the smallest unsigned type that fits
        (discrete) or float64 (continuous). The rows are distinct and in lexicographic order.
    states : tuple
        For each variable its state labels in code order, or None for a continuous one.
    weights : ndarray of int64
        Number of rows that each distinct row stands for.
    cuts : mapping of str to tuple of float
        The edges between the bins of each column that was discretised.
    reading : Reading or None
        How the table was read; the fingerprint does not depend on it.
    interventions : Interventions or None
        Which variables were set from outside in which rows. Then rows are distinct that differ in this alone.

    Examples
    --------
    >>> from credibn.data import read_data
    >>> data = read_data(np.array([[0, 1], [0, 1], [1, 0]]))
    >>> data
    Dataset(3 rows, 2 distinct, 2 variables: X0 (2 states), X1 (2 states))
    >>> data.columns[0], data.weights
    (array([0, 1], dtype=uint8), array([2, 1]))
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    states: tuple[tuple[object, ...] | None, ...]
    weights: NDArray[np.int64]
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reading: Reading | None = None
    interventions: Interventions | None = None

    def __post_init__(self) -> None:
        _set(self, "names", tuple(self.names))
        _set(self, "columns", tuple(_read_only(column) for column in self.columns))
        _set(self, "states", tuple(None if labels is None else tuple(labels) for labels in self.states))
        _set(self, "weights", _read_only(self.weights))
        cuts = {name: tuple(float(edge) for edge in edges) for name, edges in self.cuts.items()}
        _set(self, "cuts", types.MappingProxyType(cuts))
        _check_shapes(self)
        for name, column, labels in zip(self.names, self.columns, self.states, strict=True):
            _check_column(name, column, labels)
        if self.interventions is not None:
            _check_interventions(self.interventions, self)
        groups = () if self.interventions is None else (self.interventions.groups,)
        _check_row_order((*self.columns, *groups))

    __reduce__ = rebuilt_from_fields

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return int(self.weights.size)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of the table, N: the sum of the weights."""
        return int(self.weights.sum())

    @cached_property
    def arities(self) -> NDArray[np.int64]:
        """Number of states of each variable; 0 for a continuous one."""
        sizes = [0 if labels is None else len(labels) for labels in self.states]
        return _read_only(np.array(sizes, dtype=np.int64))

    @property
    def is_discrete(self) -> tuple[bool, ...]:
        """Whether each variable is discrete."""
        return tuple(labels is not None for labels in self.states)

    @cached_property
    def constant_columns(self) -> tuple[str, ...]:
        """Names of the variables with a single state or no variance: they take no part in the search."""
        return tuple(
            name
            for name, column, labels in zip(self.names, self.columns, self.states, strict=True)
            if (len(labels) == 1 if labels is not None else column.min() == column.max())
        )

    def index(self, name: str) -> int:
        """Return the position of the variable ``name``.

        Raises
        ------
        OptionError
            If there is no such variable; the message names close matches.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise OptionError(f"no variable is called {name!r}: {suggestion(str(name), self.names)}") from None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content, in hexadecimal: the same for any order of the rows that were read."""
        digest = hashlib.sha256()
        digest.update(repr((self.names, self.states, sorted(self.cuts.items()))).encode())
        for array in (*self.columns, self.weights):
            little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            digest.update(f"{little_endian.dtype.str}{little_endian.size}".encode())
            digest.update(little_endian.data)
        if self.interventions is not None:
            digest.update(repr(self.interventions.targets).encode())
            digest.update(self.interventions.groups.astype("<i8").tobytes())
        return digest.hexdigest()

    @classmethod
    def of_rows(
        cls,
        names: tuple[str, ...],
        columns: Sequence[NDArray[Any]],
        states: tuple[tuple[object, ...] | None, ...],
        weights: NDArray[np.int64],
        cuts: Mapping[str, tuple[float, ...]],
        reading: Reading | None = None,
        targets: tuple[tuple[tuple[int, ...], ...], NDArray[np.int64]] | None = None,
    ) -> Dataset:
        """Return the Dataset of rows in any order, some of them equal; `targets` are those of `Interventions`."""
        keys = [*columns, *(() if targets is None else (targets[1],))]
        order = np.lexsort(tuple(reversed(keys)))
        first = _first_of_equal(keys, order)
        distinct = order[first]
        interventions = None if targets is None else Interventions(targets[0], targets[1][distinct])
        merged = np.add.reduceat(weights[order], first)
        return cls(names, tuple(column[distinct] for column in columns), states, merged, cuts, reading, interventions)

    def rows_where(self, keep: NDArray[np.bool_]) -> tuple[Dataset, NDArray[np.intp]]:
        """Return some of the rows, without what was set in them, and where each row was.

        Rows that differed in what was set alone become one; its place is that of the first.
        """
        chosen = np.flatnonzero(keep)
        first = _first_of_equal(self.columns, chosen)  # rows are in order, so equal ones are neighbours
        weights = np.add.reduceat(self.weights[chosen], first)
        columns = tuple(column[chosen[first]] for column in self.columns)
        return Dataset(self.names, columns, self.states, weights, self.cuts, self.reading), chosen[first]

    @cached_property
    def by_rows_not_set(self) -> tuple[tuple[tuple[int, ...], Dataset, NDArray[np.intp]], ...]:
        """The variables by the rows where they were not set, which tell what causes them: variables, rows, places."""
        if self.interventions is None:
            return ((tuple(range(self.n_variables)), self, np.arange(self.n_distinct)),)
        members: dict[bytes, list[int]] = {}
        for v in range(self.n_variables):
            members.setdefault(self.interventions.are_set(v).tobytes(), []).append(v)
        return tuple(
            (tuple(together), *self.rows_where(~np.frombuffer(are_set, dtype=bool)))
            for are_set, together in members.items()
        )

    def describe(self) -> DataSummary:
        """Return counts per state and ranges, small enough to print.

        Examples
        --------
        >>> from credibn.data import read_data
        >>> summary = read_data(np.array([[0, 1], [0, 1], [1, 0]])).describe()
        >>> summary.columns[0].states, summary.columns[0].counts
        ((0, 1), (2, 1))
        """
        from credibn.data.summary import DataSummary, summarise_column  # few ask for it

        columns = tuple(
            summarise_column(name, column, labels, self.cuts.get(name), self.weights)
            for name, column, labels in zip(self.names, self.columns, self.states, strict=True)
        )
        return DataSummary(self.n_rows, self.n_distinct, self.fingerprint, columns)

    def __repr__(self) -> str:
        shown = [
            f"{printable(name)} ({'continuous' if labels is None else plural(len(labels), 'state')})"
            for name, labels in zip(self.names[:6], self.states[:6], strict=True)
        ]
        if self.n_variables > 6:
            shown.append(f"and {self.n_variables - 6} more")
        return (
            f"Dataset({plural(self.n_rows, 'row')}, {self.n_distinct:,} distinct, "
            f"{plural(self.n_variables, 'variable')}: {', '.join(shown)})"
        )


def _set(dataset: Dataset, attribute: str, value: object) -> None:
    object.__setattr__(dataset, attribute, value)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    # A view: the caller's own array keeps its flags.
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _check_shapes(dataset: Dataset) -> None:
    names, columns, states, weights = dataset.names, dataset.columns, dataset.states, dataset.weights
    if not names or not len(names) == len(columns) == len(states):
        raise DataError(
            f"{len(names)} names, {len(columns)} columns and {len(states)} entries of states: "
            "give one of each per variable, and at least one variable"
        )
    if len(set(names)) < len(names):
        raise DataError("variable names repeat: rename them so that each is unique")
    if weights.ndim != 1 or weights.dtype != np.int64 or weights.size == 0:
        raise DataError(f"weights are {weights.dtype} of shape {weights.shape}: give a one-dimensional int64 array")
    if weights.min() < 1:
        raise DataError(f"a weight is {weights.min()}: each distinct row must stand for at least one row")
    if any(column.shape != weights.shape for column in columns):
        raise DataError("columns and weights differ in length: give one value per distinct row")
    for name in dataset.cuts:
        if name not in names:
            raise DataError(f"cuts name {name!r}, which is not a variable: {suggestion(name, names)}")


def _check_column(name: str, column: NDArray[Any], labels: tuple[object, ...] | None) -> None:
    if labels is None:
        if column.dtype != np.float64 or not np.isfinite(column).all():
            raise DataError(f"continuous column {name!r} must hold finite float64 values; give its states otherwise")
        return
    if not labels or len(set(labels)) < len(labels):
        raise DataError(f"the states of column {name!r} must be distinct and at least one")
    if column.dtype != code_type(len(labels)):
        raise DataError(
            f"column {name!r} has codes of type {column.dtype}: {len(labels)} states need "
            f"{code_type(len(labels)).__name__}"
        )
    if column.max() >= len(labels):
        raise DataError(f"column {name!r} has code {column.max()}: codes run from 0 to {len(labels) - 1}")


def _check_interventions(interventions: Interventions, dataset: Dataset) -> None:
    targets, groups = interventions.targets, interventions.groups
    if len(set(targets)) < len(targets) or any(
        list(one) != sorted({*one} & {*range(dataset.n_variables)}) for one in targets
    ):
        raise DataError("the targets of interventions must be different sets of positions of variables, increasing")
    if groups.shape != dataset.weights.shape or groups.min() < 0 or groups.max() >= len(targets):
        raise DataError("give the position of a set of targets for each distinct row")
    for v, name in enumerate(dataset.names):
        if interventions.are_set(v).all():
            raise DataError(
                "{!r} was set in every row, so no row tells what causes it: leave it out of {} and put it into the "
                "first of the {}, which says that it has no causes among the others",
                name,
                Option("interventions"),
                Option("tiers"),
            )


def _check_row_order(columns: tuple[NDArray[Any], ...]) -> None:
    is_tied = np.ones(columns[0].size - 1, dtype=bool)
    for column in columns:
        if (is_tied & (column[:-1] > column[1:])).any():
            raise DataError("rows are not in lexicographic order: sort them, or let read_data build the Dataset")
        is_tied &= column[:-1] == column[1:]
    if is_tied.any():
        raise DataError("rows repeat: merge equal rows into one and add their weights, or use read_data")


def _first_of_equal(keys: Sequence[NDArray[Any]], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places in `order` at which a row differs from the one before."""
    is_new = np.zeros(len(order), dtype=bool)
    is_new[:1] = True
    for key in keys:
        is_new[1:] |= key[order[1:]] != key[order[:-1]]
    return np.flatnonzero(is_new)
