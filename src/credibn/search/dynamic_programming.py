"""Search by dynamic programming over sets of nodes: exact bounds, for up to 31 variables where memory allows.

The cost of completing every set of nodes that can come first is tabulated (Silander & Myllymäki 2006, here from the
last node to the first); then networks are listed layer by layer from their sources, with bounds so exact that hardly a
step is wasted. See ``cpp/subset_bounds.hpp`` and ``cpp/subset_search.hpp``.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.search.collection import found_in, new_collection
from credibn.search.problem import EngineEstimate, Found, SearchProblem

__all__ = ["DynamicProgramming", "estimate_subsets", "search_subsets"]

_SECONDS_PER_LOOK_UP = 5e-9
_SECONDS_PER_BYTE = 1e-9
"""To touch fresh memory."""


class DynamicProgramming:
    """Tabulates the bounds of all sets of nodes, then lists networks without detours."""

    name = "dynamic_programming"

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        """Predict memory exactly, and seconds roughly; the number of networks is not known beforehand."""
        return estimate_subsets(problem, _all_open(problem))

    def search(self, problem: SearchProblem) -> Found:
        """List everything wanted."""
        collection = new_collection(problem)
        unexplored, statistics = search_subsets(problem, _all_open(problem), collection)
        return found_in(collection, unexplored, statistics)


def estimate_subsets(problem: SearchProblem, is_open: NDArray[np.uint8]) -> EngineEstimate:
    """Predict what it takes to search the networks that use open candidates only."""
    n_nodes, n_bytes = _core.subset_search_size(problem.offsets, problem.costs, problem.masks, is_open)
    if n_bytes is None:
        reason = f"it takes at most 31 variables with a possible edge, and here are {n_nodes}"
        return EngineEstimate(False, reason, 0, math.inf)
    look_ups = n_nodes * 2.0 ** max(0, n_nodes - 1)
    seconds = look_ups * _SECONDS_PER_LOOK_UP / problem.n_threads + n_bytes * _SECONDS_PER_BYTE
    return EngineEstimate(True, f"2^{n_nodes} sets of variables", n_bytes, seconds)


def search_subsets(
    problem: SearchProblem, is_open: NDArray[np.uint8], collection: _core.Collection
) -> tuple[float, dict[str, int]]:
    """Put into the collection what is wanted and uses open candidates only.

    Returns a bound on the cost of what was left out, infinite if nothing was, and what was counted.
    """
    return _core.search_subsets(
        problem.offsets,
        problem.costs,
        problem.masks,
        is_open,
        collection,
        problem.unit == "classes",
        problem.n_threads,
        lambda fraction: problem.watch("enumeration", fraction),
    )


def _all_open(problem: SearchProblem) -> NDArray[np.uint8]:
    return np.ones(len(problem.costs), dtype=np.uint8)
