"""A good network soon, by local search over node orders; nothing is proven about it."""

import itertools
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._run import Run
from credibn.scores import ScoreTable

_SEED = 1
_EFFORT, _MOST_EFFORT = 2_000, 2_000_000_000
"""How often the search looks at each candidate, for each node, and at candidates in all: a few seconds at most."""


def find_good_network(table: ScoreTable, run: Run) -> NDArray[np.uint32] | None:
    """Return each node's choice in the best network that a local search finds in time; None where it finds none.

    It starts from an order that puts the parents that a node has in each of its candidates before it. So the first
    network is known at once, unless a node has no candidate with these parents alone.
    """
    problem = _core.SearchProblem(table.offsets, -table.scores + 0.0, table.masks)
    effort = min(_EFFORT * table.n_variables * len(table), _MOST_EFFORT)
    found = problem.find_network(_first_order(table), _SEED, effort, lambda _: run("improving", 0.0))
    return None if found is None else found[0]


def _first_order(table: ScoreTable) -> NDArray[np.int64]:
    """Return the nodes in an order that agrees with the parents that all candidates of a node have in common."""
    common: dict[int, list[int]] = {}
    for node, (first, last) in enumerate(itertools.pairwise(table.offsets.tolist())):
        words = np.bitwise_and.reduce(table.masks[first:last], axis=0)
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        common[node] = np.flatnonzero(bits).tolist()
    try:
        return np.array(list(TopologicalSorter(common).static_order()), dtype=np.int64)
    except CycleError:  # then there is no network
        return np.arange(table.n_variables)
