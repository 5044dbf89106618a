"""Where to split a branch of the search: by an edge that is in the network or not, so that both sides gain.

Strong branching (Applegate, Bixby, Chvátal & Cook 1995): some edges whose value in the fractional solution is far from
0 and 1 are tried out. For each, the linear program is solved with the edge and without it, for a few iterations, and
the edge is taken that raises the bound most on both sides. What the solver states here only ranks edges: no bound rests
on it. Any edge that some open candidates have and others have not is a valid choice.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from credibn.search.branches import Branch
from credibn.search.relaxation import Bound, Flags, Floats, Positions, Relaxation

TRIED_EDGES = 8
LEAST_GAIN = 1e-3
"""A side that gains nothing must not hide what the other gains."""


class EdgeSplitter:
    """Splits branches by edges, given the node and the parent set of each candidate."""

    def __init__(self, nodes: Positions, masks: NDArray[np.uint64], n_nodes: int) -> None:
        self._nodes, self._masks, self._n = nodes, masks, n_nodes
        starts = np.searchsorted(nodes, np.arange(n_nodes + 1))
        self._candidates = [slice(start, stop) for start, stop in itertools.pairwise(starts.tolist())]

    def split(self, branch: Branch, is_open: Flags, bound: Bound, limit: float, relaxation: Relaxation) -> list[Branch]:
        """Return the two sides of a branch, with the least bound last; `is_open` are the candidates it has left."""
        edges = self.edges_to_try(bound.values, is_open)
        sides = [self.sides(is_open, child, parent) for child, parent in edges]
        gains = np.zeros((len(edges), 2))
        if len(edges) > 1:
            with relaxation.trying_out() as bound_of:
                for gain, pair in zip(gains, sides, strict=True):
                    gain[:] = [bound_of(side) for side in pair]
            gains = np.clip(gains - bound.lower, LEAST_GAIN, max(limit - bound.lower, LEAST_GAIN))
        best = int(np.argmax(gains.prod(axis=1)))
        halves = [Branch(side, branch.lower, bound.cuts, branch.share / 2) for side in sides[best]]
        return halves if gains[best, 0] >= gains[best, 1] else halves[::-1]

    def edges_to_try(self, values: Floats, is_open: Flags) -> list[tuple[int, int]]:
        """Return edges as (child, parent), the value nearest to one half first; of equal ones those that halve best."""
        edge_values, edge_counts = np.zeros((self._n, self._n)), np.zeros((self._n, self._n))
        n_open = np.zeros(self._n)
        for child, candidates in enumerate(self._candidates):
            opened = np.flatnonzero(is_open[candidates]) + candidates.start
            has_parent = self.parent_bits(self._masks[opened])
            edge_values[child] = values[opened] @ has_parent
            edge_counts[child] = has_parent.sum(axis=0)
            n_open[child] = len(opened)
        is_real = (edge_counts > 0) & (edge_counts < n_open[:, None])
        balance = np.minimum(edge_counts, n_open[:, None] - edge_counts)
        rating = np.where(is_real, 1.0 - np.abs(edge_values - 0.5) + 1e-6 * balance, -1.0)
        order = np.argsort(-rating, axis=None, kind="stable")[: min(TRIED_EDGES, int(is_real.sum()))]
        return [(int(at) // self._n, int(at) % self._n) for at in order]

    def sides(self, is_open: Flags, child: int, parent: int) -> tuple[Flags, Flags]:
        """Return what is open without the edge, and with it; with it, the parent cannot have the child as a parent."""
        without, with_edge = is_open.copy(), is_open.copy()
        holds = self._holds(child, parent)
        without[self._candidates[child]] &= ~holds & 1
        with_edge[self._candidates[child]] &= holds
        with_edge[self._candidates[parent]] &= ~self._holds(parent, child) & 1
        return without, with_edge

    def parent_bits(self, masks: NDArray[np.uint64]) -> Flags:
        """Tell for each mask and node whether the node is in it."""
        return np.unpackbits(masks.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, : self._n]

    def _holds(self, child: int, parent: int) -> Flags:
        """Flag the candidates of a node that have another as a parent."""
        words = self._masks[self._candidates[child], parent // 64]
        return (words >> np.uint64(parent % 64) & np.uint64(1)).astype(np.uint8)
