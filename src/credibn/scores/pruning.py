"""Rule 1 for a table that is scored already: the candidates that networks within a smaller epsilon can have."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from credibn.scores.table import ScoreTable

_MOST_PAIRS = 1 << 31
"""Of candidates of one node that are compared: some seconds."""
_BLOCK = 512


def prune_for(table: ScoreTable, epsilon: float) -> ScoreTable:
    """Return the table without the parent sets that a subset betters by more than epsilon.

    A table that does not say for which epsilon it was scored stays as it is, and so does a very large one.
    """
    counts = table.counts.astype(object)
    if table.epsilon is None or table.tolerance is None or epsilon >= table.epsilon or sum(counts**2) > _MOST_PAIRS:
        return table
    gap = epsilon + 2 * table.tolerance
    kept = np.concatenate(
        [
            first + _not_dominated(table.scores[first:last], table.masks[first:last], gap)
            for first, last in zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
        ]
    )
    return replace(
        table,
        offsets=np.searchsorted(kept, table.offsets),
        scores=table.scores[kept],
        masks=table.masks[kept],
        provenance={**table.provenance, "epsilon": epsilon},
    )


def _not_dominated(scores: NDArray[np.float64], masks: NDArray[np.uint64], gap: float) -> NDArray[np.int64]:
    """Return the rows, the best first, that no subset betters by more than the gap."""
    is_kept = np.ones(len(scores), dtype=bool)
    for first in range(0, len(scores), _BLOCK):
        block = slice(first, first + _BLOCK)
        better = scores[:, np.newaxis] - scores[block] > gap
        n_better = int(better[:, -1].sum())  # the others are worse than all of the block
        is_subset = better[:n_better]
        for word in masks.T:
            is_subset &= word[:n_better, np.newaxis] & ~word[block] == 0
        is_kept[block] = ~is_subset.any(axis=0)
    return np.flatnonzero(is_kept)
