"""What a `Dataset` holds, in a form small enough to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ColumnSummary:
    """One variable: its states with their counts, or the range of a continuous column.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        ``"discrete"``, ``"continuous"`` or ``"discretised"``.
    states, counts : tuple
        State labels in code order and the number of rows in each; empty for a continuous column.
    cuts : tuple of float
        Edges between the bins of a discretised column.
    minimum, maximum, mean, standard_deviation : float or None
        Of a continuous column (population standard deviation over all rows).
    is_constant : bool
        Whether the column takes no part in the search.
    """

    name: str
    kind: str
    is_constant: bool
    states: tuple[object, ...] = ()
    counts: tuple[int, ...] = ()
    cuts: tuple[float, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    standard_deviation: float | None = None


@dataclass(frozen=True)
class DataSummary:
    """The table as a whole: number of rows, of distinct rows, the fingerprint and each column's summary."""

    n_rows: int
    n_distinct: int
    fingerprint: str
    columns: tuple[ColumnSummary, ...]


def summarise_column(
    name: str,
    values: NDArray[Any],
    states: Sequence[object] | None,
    cuts: Sequence[float] | None,
    weights: NDArray[np.int64],
) -> ColumnSummary:
    """Return the summary of one column of distinct rows, each standing for ``weights`` rows."""
    if states is None:
        low, high = float(values.min()), float(values.max())
        fractions = weights / weights.sum()
        mean = low + float(np.sum((values - low) * fractions))
        variance = float(np.sum((values - mean) ** 2 * fractions))
        return ColumnSummary(
            name,
            "continuous",
            low == high,
            minimum=low,
            maximum=high,
            mean=mean,
            standard_deviation=variance**0.5,
        )
    # Integer sums per state: bincount's own weights would pass through floating point.
    counts = np.zeros(len(states), dtype=np.int64)
    np.add.at(counts, values, weights)
    return ColumnSummary(
        name,
        "discrete" if cuts is None else "discretised",
        len(states) == 1,
        states=tuple(states),
        counts=tuple(int(count) for count in counts),
        cuts=tuple(cuts or ()),
    )
