"""Rule 1 for a table that is scored already: the candidates that networks within a smaller epsilon can have."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from credibn.scores.table import ScoreTable

_MOST_PAIRS = 1 << 31
"""Of candidates of one node that are compared: some seconds."""
_BLOCK = 128


def prune_for(table: ScoreTable, epsilon: float, should_continue: Callable[[], bool] = lambda: True) -> ScoreTable:
    """Return the table without the parent sets that a subset betters by more than epsilon.

    The table stays as it is where it is very large, where `should_continue` returns False, and where it does not say
    for which epsilon it was scored or whether equivalent networks score the same: that is judged by all its sets.
    """
    known = table.epsilon, table.tolerance, table.provenance.get("score_equivalent")
    if None in known or epsilon >= (table.epsilon or 0.0) or count_pairs(table) > _MOST_PAIRS:
        return table
    gap = epsilon + 2 * (table.tolerance or 0.0)
    remaining = list[NDArray[np.int64]]()
    for first, last in zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True):
        of_node = _not_dominated(table.scores[first:last], table.masks[first:last], gap, should_continue)
        if of_node is None:
            return table
        remaining.append(first + of_node)
    rows = np.concatenate(remaining)
    return replace(
        table,
        offsets=np.searchsorted(rows, table.offsets),
        scores=table.scores[rows],
        masks=table.masks[rows],
        provenance={**table.provenance, "epsilon": epsilon},
    )


def count_pairs(table: ScoreTable) -> int:
    """Return how many pairs of candidates of one node pruning may compare."""
    return int(sum(table.counts.astype(object) ** 2))


def _not_dominated(
    scores: NDArray[np.float64], masks: NDArray[np.uint64], gap: float, should_continue: Callable[[], bool]
) -> NDArray[np.int64] | None:
    """Return the rows, the best first, that no subset betters by more than the gap; None if told to stop.

    What a dominated set dominates, its own subset dominates too: so sets are compared only with those that remain.
    """
    is_kept = np.ones(len(scores), dtype=bool)
    for first in range(0, len(scores), _BLOCK):
        if not should_continue():
            return None
        block = slice(first, first + _BLOCK)
        better = np.flatnonzero(is_kept[: block.stop] & (scores[: block.stop] - scores[block][-1] > gap))
        is_dominating = scores[better, np.newaxis] - scores[block] > gap
        for word in masks.T:
            is_dominating &= word[better, np.newaxis] & ~word[block] == 0
        is_kept[block] = ~is_dominating.any(axis=0)
    return np.flatnonzero(is_kept)
