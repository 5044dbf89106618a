"""Branches of the credible networks: disjoint, and together all of them.

A candidate with little room, whose bound is near the limit, is in few credible networks, and where it is taken, little
else may be expensive. So each such candidate gets a branch: the networks that take it and none of those before it. What
remains, with none of them, is the last branch. Each has its own dual values, which are far better there than those of
the whole, and so a small diagram.
"""

from __future__ import annotations

import numpy as np

from credibn.factored.bounds import Branch
from credibn.search.exploration import Exploration
from credibn.search.relaxation import Flags, Positions

_LITTLE_ROOM = (0.35, 0.5, 0.65, 0.8, 0.9)
"""Of the most that any candidate has: more where a branch is what remains of one that remained."""


def split(search: Exploration, branch: Branch, level: int) -> tuple[list[Flags], Flags]:
    """Return the open candidates of the branches that take an expensive candidate, and of what remains.

    There is no such branch where every node has a single candidate.
    """
    expensive = candidates_with_little_room(search, branch, _LITTLE_ROOM[min(level, len(_LITTLE_ROOM) - 1)])
    is_open = branch.is_open.copy()
    branches = []
    for candidate in expensive.tolist():
        branches.append(taking(search, is_open, candidate))
        is_open[candidate] = 0
    return branches, is_open


def candidates_with_little_room(search: Exploration, branch: Branch, share: float) -> Positions:
    """Return the candidates to branch on, those with the least room first."""
    n_open = np.bincount(search.nodes, weights=branch.is_open, minlength=search.n)
    is_choice = (branch.is_open != 0) & (n_open > 1)[search.nodes]
    rooms = np.where(is_choice, branch.rooms(search.collection.limit()), np.inf)
    order = np.argsort(rooms, kind="stable")[: int(is_choice.sum())]
    most = max(1, np.searchsorted(rooms[order], share * rooms[order[-1:]].sum()))
    return order[:most]


def taking(search: Exploration, is_open: Flags, candidate: int) -> Flags:
    """Return what is open where a candidate is taken: no other of its node, and no edge against its edges."""
    child = int(search.nodes[candidate])
    opened = is_open.copy()
    opened[search.offsets[child] : search.offsets[child + 1]] = 0
    opened[candidate] = 1
    (parents,) = np.nonzero(search.splitter.parent_bits(search.masks[candidate : candidate + 1])[0])
    has_child = (search.masks[:, child // 64] >> np.uint64(child % 64) & np.uint64(1)).astype(bool)
    opened[has_child & np.isin(search.nodes, parents)] = 0
    return opened
