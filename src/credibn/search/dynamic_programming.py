"""Search by dynamic programming over sets of nodes: exact bounds, for up to about 28 variables.

The cost of completing every set of nodes that can come first is tabulated (Silander & Myllymäki 2006, here from the
last node to the first); then networks are listed layer by layer from their sources, with bounds so exact that hardly a
step is wasted. See ``cpp/subset_bounds.hpp`` and ``cpp/subset_search.hpp``.
"""

import math

import numpy as np

from credibn import _core
from credibn.search.problem import EngineEstimate, Found, SearchProblem

__all__ = ["DynamicProgramming"]

_MOST_NODES = 31
_SECONDS_PER_LOOK_UP = 4e-9
_SECONDS_PER_BYTE = 5e-10
"""To touch fresh memory."""


class DynamicProgramming:
    """Tabulates the bounds of all sets of nodes, then lists networks without detours."""

    name = "dynamic_programming"

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        """Predict memory exactly, and seconds roughly; the number of networks is not known beforehand."""
        n_nodes, n_bytes = _core.subset_search_size(problem.offsets, problem.costs, problem.masks)
        if n_nodes > _MOST_NODES:
            reason = f"it takes at most {_MOST_NODES} variables with a possible edge, and here are {n_nodes}"
            return EngineEstimate(False, reason, 0, math.inf)
        look_ups = n_nodes * 2.0 ** max(0, n_nodes - 1)
        seconds = look_ups * _SECONDS_PER_LOOK_UP / problem.n_threads + n_bytes * _SECONDS_PER_BYTE
        return EngineEstimate(True, f"2^{n_nodes} sets of variables", n_bytes, seconds)

    def search(self, problem: SearchProblem) -> Found:
        """List everything wanted."""
        choices, costs, sizes, best, is_cut, unexplored, statistics = _core.search_subsets(
            problem.offsets,
            problem.costs,
            problem.masks,
            problem.epsilon + problem.tolerance,
            problem.tolerance,
            problem.unit == "classes",
            problem.max_rows,
            problem.max_networks,
            problem.max_bytes,
            size_words(problem.n_variables),
            problem.n_threads,
            lambda fraction: problem.watch("search", fraction),
        )
        return Found(
            choices=choices,
            costs=costs,
            sizes=sizes,
            best_cost=best,
            is_cut=is_cut,
            stopped=not np.isposinf(unexplored),
            unexplored_bound=unexplored,
            statistics=statistics,
        )


def size_words(n_variables: int) -> int:
    """Return how many 64-bit words hold any class size: no class has more than n! members.

    Examples
    --------
    >>> size_words(20), size_words(21)
    (1, 2)
    """
    return -(-math.factorial(n_variables).bit_length() // 64)
