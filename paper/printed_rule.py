"""The parent sets that the paper's own program kept (table 1): found from the printed counts, which it reproduces.

Rule 1 prunes a parent set if *any* subset is cheaper by more than epsilon. The printed counts come from a shorter
comparison, level by level, with one stored cost for each set:

    P is kept     if no immediate subset Q has stored(Q) + epsilon < cost(P);
    stored(P)     is cost(P) if P is kept, and the least stored(Q) of its immediate subsets if not.

So a kept set hides the better subsets below it, and sets that rule 1 prunes are kept: up to one epsilon more for each
level. The epsilons were 1.1, 3.1 and 5.1 for BIC at the Bayes factors 3, 20 and 150, and 3.0 for BDeu at 20.

The rule is applied to a list of candidates, those that rule 1 keeps for a larger epsilon, `width`, and to the subsets
of these; all other sets count as not kept. That is exact if no kept set P of the list costs more than
``least(P) + width - epsilon``, where least(P) is the least cost among P and its subsets. Proof, by size: let a set P
be unlisted, and all smaller sets be treated rightly. The gap stored(Q) - least(Q) of a set that is not kept is at most
that of the immediate subset with the same least cost, so no gap exceeds the largest one of a kept set, and hence
``width - epsilon``. With Q the immediate subset that has the cheapest proper subset of P, stored(Q) + epsilon <=
least(Q) + width < cost(P): P is not kept. Otherwise the list is made again with a larger width; gaps are at most
epsilon for each level, so this ends. Cost: that of scoring, and of the subsets of the list.
"""

import numpy as np
from numpy.typing import NDArray

from credibn import Dataset, ScoreTable, score_parent_sets
from credibn.options import Progress

PRINTED_EPSILONS = {"bic": {3: 1.1, 20: 3.1, 150: 5.1}, "bdeu": {20: 3.0}}
"""For each score and Bayes factor of table 1, the epsilon with which the printed counts come out."""

Sets = NDArray[np.uint8]
"""Sets of one size: rows of increasing positions, plus 1 so that no octet is zero and rows can be compared as text."""


def printed_candidates(
    data: Dataset, score: str, epsilon: float, *, most_sets: int = 5_000_000, progress: Progress | None = None
) -> ScoreTable | None:
    """Return the parent sets that the rule of the paper's program keeps, with their scores, for any epsilon.

    At most `most_sets` sets are looked at, all nodes together: the candidates for a larger epsilon and their subsets.
    None if more would be needed.
    """
    width = 2 * epsilon
    while True:
        listed = score_parent_sets(data, score=score, epsilon=width, progress=progress)
        is_kept, gap, n_sets = np.zeros(listed.n_candidates, dtype=bool), 0.0, 0
        for start, stop in zip(listed.offsets[:-1].tolist(), listed.offsets[1:].tolist(), strict=True):
            by_size = _by_size(listed.masks[start:stop])
            levels = _with_subsets([rows for _, rows in by_size], most_sets - n_sets)
            if levels is None:
                return None
            n_sets += sum(map(len, levels))
            kept, largest = _apply_rule(by_size, levels, -listed.scores[start:stop], epsilon)
            is_kept[start:stop], gap = kept, max(gap, largest)
        if gap + epsilon <= width:
            nodes = np.repeat(np.arange(listed.n_variables), listed.counts)
            return ScoreTable.from_arrays(listed.names, nodes[is_kept], listed.scores[is_kept], listed.masks[is_kept])
        width = gap + epsilon


def _by_size(masks: NDArray[np.uint64]) -> list[tuple[NDArray[np.intp], Sets]]:
    """Return for each size which of the masks have it, and their members."""
    octets = np.ascontiguousarray(masks, dtype="<u8").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little")
    sizes = bits.sum(axis=1)
    found = []
    for size in range(int(sizes.max()) + 1):
        chosen = np.flatnonzero(sizes == size)
        members = np.nonzero(bits[chosen])[1].reshape(len(chosen), size) + 1
        found.append((chosen, members.astype(np.uint8)))
    return found


def _with_subsets(by_size: list[Sets], most: int) -> list[Sets] | None:
    """Return these sets and all their subsets, for each size in order of their keys; None if there are too many."""
    levels = list[Sets]()
    for sets in reversed(by_size):
        smaller = [] if not levels else [np.delete(levels[-1], t, axis=1) for t in range(levels[-1].shape[1])]
        together = np.concatenate([sets, *smaller])
        size = together.shape[1]
        levels.append(np.unique(_keys(together)).view(np.uint8).reshape(-1, size) if size else together[:1])
        most -= len(levels[-1])
        if most < 0:
            return None
    return levels[::-1]


def _apply_rule(
    by_size: list[tuple[NDArray[np.intp], Sets]], levels: list[Sets], costs: NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.bool_], float]:
    """Return which candidates of a node are kept, and the largest gap between a kept one and the best below it."""
    is_kept, gap = np.ones(len(costs), dtype=bool), 0.0  # the empty set is kept
    empty = costs[by_size[0][0]]
    known = np.stack([empty, empty])  # of each set of a size: what is stored, and the least cost in it
    for (chosen, sets), smaller, level in zip(by_size[1:], levels, levels[1:], strict=False):
        below = np.full((2, len(level)), np.inf)
        for t in range(level.shape[1]):
            np.minimum(below, known[:, _places(smaller, np.delete(level, t, axis=1))], out=below)
        places, cost = _places(level, sets), np.full(len(level), np.inf)
        cost[places] = costs[chosen]
        kept = ~(below[0] + epsilon < cost)
        known = np.stack([np.where(kept, cost, below[0]), np.minimum(cost, below[1])])
        is_kept[chosen] = kept[places]
        gap = max(gap, float((cost - known[1])[kept].max(initial=0.0)))
    return is_kept, gap


def _keys(sets: Sets) -> NDArray[np.bytes_]:
    return np.ascontiguousarray(sets).view(f"S{sets.shape[1]}")[:, 0]


def _places(level: Sets, sets: Sets) -> NDArray[np.intp]:
    """Return where the sets stand in a level that has them all."""
    if not level.shape[1]:
        return np.zeros(len(sets), dtype=np.intp)
    return np.searchsorted(_keys(level), _keys(sets))
