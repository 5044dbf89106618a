"""A table in which values are missing, and what it is once they are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.data.dataset import Dataset
from credibn.data.reading_record import Reading


@dataclass(frozen=True, eq=False)
class GappedTable:
    """The distinct rows of a table with gaps; a gap is code 0 of a category, or NaN, and is marked in `are_missing`."""

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    states: tuple[tuple[object, ...] | None, ...]
    are_missing: NDArray[np.bool_]  # shape (n, rows)
    weights: NDArray[np.int64]
    cuts: Mapping[str, tuple[float, ...]]
    reading: Reading | None = None

    __reduce__ = rebuilt_from_fields

    @cached_property
    def gapped(self) -> NDArray[np.intp]:
        """For each row of the table that has a gap, the distinct row that it is in: each is filled in by itself."""
        rows = np.flatnonzero(self.are_missing.any(axis=0))
        return np.repeat(rows, self.weights[rows])

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Where the rows with gaps have them, shape (n, rows with gaps)."""
        return self.are_missing[:, self.gapped]

    def observed(self, v: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the values of a variable that are there, and how many rows have each."""
        is_there = ~self.are_missing[v]
        return self.columns[v][is_there], self.weights[is_there]

    def rows_with_gaps(self) -> list[NDArray[Any]]:
        """Return the rows with gaps, a column each; the gaps hold whatever `columns` has there."""
        return [column[self.gapped] for column in self.columns]

    def filled(self, values: list[NDArray[Any]]) -> Dataset:
        """Return the table with these values in the rows with gaps."""
        is_complete = ~self.are_missing.any(axis=0)
        columns = [
            np.concatenate([column[is_complete], of_gapped])
            for column, of_gapped in zip(self.columns, values, strict=True)
        ]
        weights = np.concatenate([self.weights[is_complete], np.ones(len(self.gapped), dtype=np.int64)])
        return Dataset.of_rows(self.names, columns, self.states, weights, self.cuts, self.reading)
