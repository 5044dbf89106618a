"""What fitting a network needs to know of the data: counts and moments of each variable with its parents.

A family is a child with its parents. Its parameters depend on the data only through the number of rows in each cell of
its categorical members and, in each cell, the means and the products of its continuous ones. `FamilyStatistics` holds
these for the cells that occur. `CountedFamilies` counts them in a table when they are asked for; `StoredFamilies` holds
those of a result, so that prediction does without the table. Both give the same numbers, to the last bit.

Continuous columns are centred and scaled before they are squared, so that neither large offsets nor extreme units lose
digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.credible.structures import Structures
from credibn.data import Dataset
from credibn.errors import OptionError
from credibn.scores import ScoreTable
from credibn.scores.moments import standardise
from credibn.scores.table import parent_positions

_CONSTANT_SD = 2.0**-26
"""Standard deviation of a constant column, relative to its value: the smallest whose square survives rounding."""
_MOST_CELLS = 1 << 62
"""Positions of cells are 64-bit integers; far fewer can be fitted."""
MOST_NUMBERS = 1 << 22
"""A result holds at most this many numbers for prediction: 32 MiB, much less in a file."""
_COLUMNS_CACHED = 16
States = tuple[tuple[object, ...] | None, ...]
Family = tuple[int, tuple[int, ...]]
"""A child and its parents, increasing."""


@dataclass(frozen=True)
class Unit:
    """The mean and the standard deviation of a continuous column, and whether it varies."""

    mean: float
    sd: float
    varies: bool


@dataclass(frozen=True, eq=False)
class FamilyStatistics:
    """The cells of a family that occur, increasing, and what they hold."""

    cells: NDArray[np.int64]  # positions in the array of all cells of the categorical members, the last fastest
    counts: NDArray[np.int64]  # rows
    means: NDArray[np.float64]  # of the continuous members in their units, shape (cells, k)
    scatters: NDArray[np.float64]  # sums of the products of their deviations from these means, shape (cells, k, k)

    def __post_init__(self) -> None:
        for array in (self.cells, self.counts, self.means, self.scatters):
            array.flags.writeable = False

    __reduce__ = rebuilt_from_fields

    @property
    def n_numbers(self) -> int:
        """How many numbers these are."""
        k: int = self.means.shape[1]
        return len(self.cells) * (2 + k + k * (k + 1) // 2)


class Families(Protocol):
    """A table, as far as fitting a network knows it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        ...

    @property
    def states(self) -> States:
        """The state labels of each variable; None where it is continuous."""
        ...

    @property
    def cuts(self) -> Mapping[str, tuple[float, ...]]:
        """Bin edges of the variables that were discretised."""
        ...

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    def unit(self, v: int) -> Unit:
        """Return the unit of a continuous variable."""
        ...

    def statistics(self, child: int, parents: tuple[int, ...]) -> FamilyStatistics:
        """Return what the table holds of a family."""
        ...


def categorical_members(states: States, child: int, parents: Sequence[int]) -> tuple[int, ...]:
    """Return the categorical variables of a family, the child last."""
    return tuple(v for v in (*parents, child) if states[v] is not None)


def continuous_members(states: States, child: int, parents: Sequence[int]) -> tuple[int, ...]:
    """Return the continuous variables of a family, the child last."""
    return tuple(v for v in (*parents, child) if states[v] is None)


def number_of_cells(states: States, categorical: Sequence[int]) -> int:
    """Return how many cells some categorical variables have."""
    return math.prod(len(states[v] or ()) for v in categorical)


def families_in(table: ScoreTable, structures: Structures) -> list[Family]:
    """Return the families of the networks of a set, in the order of the score table."""
    candidates = structures.candidates_in(table)
    children = (np.searchsorted(table.offsets, candidates, side="right") - 1).tolist()
    parents = map(tuple, parent_positions(table.masks[candidates]))
    return list(zip(children, parents, strict=True))


class CountedFamilies:
    """The families of a table, counted when they are asked for."""

    def __init__(self, data: Dataset) -> None:
        self.names, self.states, self.cuts, self.n_rows = data.names, data.states, data.cuts, data.n_rows
        self._data = data
        self._cells = lru_cache(2)(self._count)
        self._deviations = lru_cache(_COLUMNS_CACHED)(self._deviate)
        self._scatter = lru_cache(None)(self._multiply)  # small: all families without categories share these
        self._columns: dict[int, tuple[NDArray[np.float64], Unit]] = {}
        self._of_child: dict[int, CountedFamilies] = {}

    def unit(self, v: int) -> Unit:
        """Return the unit of a continuous variable."""
        return self._column(v)[1]

    def statistics(self, child: int, parents: tuple[int, ...]) -> FamilyStatistics:
        """Return what the table holds of a family: of the rows where the child was not set from outside."""
        if self._data.interventions is not None:
            return self._not_setting(child).statistics(child, parents)
        categorical = categorical_members(self.states, child, parents)
        continuous = continuous_members(self.states, child, parents)
        cells, counts, _ = self._cells(categorical)
        means, scatters = np.zeros((len(cells), len(continuous))), np.zeros((len(cells), *[len(continuous)] * 2))
        for a, v in enumerate(continuous):
            means[:, a] = self._deviations(categorical, v)[0]
            for b, w in enumerate(continuous[: a + 1]):
                scatters[:, a, b] = scatters[:, b, a] = self._scatter(categorical, *sorted((v, w)))
        return FamilyStatistics(cells, counts, means, scatters)

    def _not_setting(self, child: int) -> CountedFamilies:
        """Return the families of the rows where a variable was not set, in the units of all rows."""
        if child not in self._of_child:
            children, rows, places = next(part for part in self._data.by_rows_not_set if child in part[0])
            counted = CountedFamilies(rows)
            for v in (v for v, labels in enumerate(self.states) if labels is None):
                column, unit = self._column(v)
                counted._columns[v] = column[places], unit
            self._of_child |= dict.fromkeys(children, counted)
        return self._of_child[child]

    def _column(self, v: int) -> tuple[NDArray[np.float64], Unit]:
        """Return a column with mean 0 and variance 1, if it varies, and its unit."""
        if v not in self._columns:
            values, weights = self._data.columns[v], self._data.weights
            scaled, log_sd = standardise(values, weights)
            mean = float(values[0] + weights @ (values - values[0]) / self.n_rows)
            varies = math.isfinite(log_sd)
            with np.errstate(over="ignore"):
                sd = float(np.exp(log_sd)) if varies else _CONSTANT_SD * max(1.0, abs(mean))
            self._columns[v] = scaled, Unit(mean, sd, varies)
        return self._columns[v]

    def _count(self, categorical: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
        """Return the cells that occur, their counts of rows, and which of them each distinct row is in."""
        data, n_cells = self._data, number_of_cells(self.states, categorical)
        codes = np.zeros(data.n_distinct, dtype=np.int64)
        for v in categorical:
            codes = codes * int(data.arities[v]) + data.columns[v]
        if n_cells > max(4 * data.n_distinct, 1024):
            cells, place = np.unique(codes, return_inverse=True)
        else:
            cells = np.flatnonzero(np.bincount(codes, minlength=n_cells)).astype(np.int64)
            positions = np.zeros(n_cells, dtype=np.intp)
            positions[cells] = np.arange(len(cells))
            place = positions[codes]
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, place, data.weights)
        return cells, counts, place

    def _deviate(self, categorical: tuple[int, ...], v: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of a column in each cell, and how far each distinct row is from that of its own."""
        cells, counts, place = self._cells(categorical)
        column = self._column(v)[0]
        means = np.bincount(place, weights=self._data.weights * column, minlength=len(cells)) / counts
        return means, column - means[place]

    def _multiply(self, categorical: tuple[int, ...], v: int, w: int) -> NDArray[np.float64]:
        cells, _, place = self._cells(categorical)
        deviations = [self._deviations(categorical, u)[1] for u in (v, w)]
        products = self._data.weights * deviations[0] * deviations[1]
        return np.bincount(place, weights=products, minlength=len(cells)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class StoredFamilies:
    """The families of a credible set with their counts and moments: what prediction needs of the training table."""

    names: tuple[str, ...]
    states: States
    cuts: Mapping[str, tuple[float, ...]]
    n_rows: int
    units: tuple[Unit | None, ...]  # None where the variable is categorical
    families: Mapping[Family, FamilyStatistics]

    def __post_init__(self) -> None:
        for name in ("cuts", "families"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    __reduce__ = rebuilt_from_fields

    @classmethod
    def count(
        cls, data: Dataset, families: Iterable[Family], should_continue: Callable[[], bool] = lambda: True
    ) -> StoredFamilies | None:
        """Count families in a table; None where they take too many numbers, or too long."""
        table, found, n_numbers = CountedFamilies(data), dict[Family, FamilyStatistics](), 0
        for child, parents in families:
            if number_of_cells(data.states, categorical_members(data.states, child, parents)) > _MOST_CELLS:
                return None
            found[child, parents] = table.statistics(child, parents)
            n_numbers += found[child, parents].n_numbers
            if n_numbers > MOST_NUMBERS or not should_continue():
                return None
        units = tuple(None if labels is not None else table.unit(v) for v, labels in enumerate(data.states))
        return cls(data.names, data.states, data.cuts, data.n_rows, units, found)

    def unit(self, v: int) -> Unit:
        """Return the unit of a continuous variable."""
        unit = self.units[v]
        assert unit is not None, "the variable is continuous"
        return unit

    def statistics(self, child: int, parents: tuple[int, ...]) -> FamilyStatistics:
        """Return what the table holds of a family."""
        found = self.families.get((child, parents))
        if found is None:
            above = ", ".join(repr(self.names[v]) for v in parents) or "none"
            raise OptionError(
                f"the result holds no counts of {self.names[child]!r} with the parents {above}, since no network of "
                "it has this family; give the training table as data"
            )
        return found
