"""Search by dynamic programming over sets of nodes: exact bounds, for up to 31 variables where memory allows.

The cost of completing every set of nodes that can come first is tabulated (Silander & Myllymäki 2006, here from the
last node to the first); then networks are listed layer by layer from their sources, with bounds so exact that hardly a
step is wasted. See ``cpp/subsets/subset_bounds.hpp`` and ``cpp/subsets/subset_search.hpp``.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._run.memory import usable_bytes
from credibn.search.collection import found_in, new_collection, ties_of
from credibn.search.problem import EngineEstimate, Found, SearchProblem

_SECONDS_PER_LOOK_UP = 5e-9
_SECONDS_PER_BYTE = 1e-9
"""To touch fresh memory."""
_SEED = 1
_EFFORT = 1_000_000
"""Candidates that the search for a first network looks at: some hundredths of a second."""


class DynamicProgramming:
    """Tabulates the bounds of all sets of nodes, then lists networks without detours."""

    name = "dynamic_programming"

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        """Predict memory exactly, and seconds roughly; the number of networks is not known beforehand."""
        return estimate_subsets(problem, _all_open(problem))

    def search(self, problem: SearchProblem) -> Found:
        """List everything wanted; where that is the optimum, what ties with it, or one network if too many do."""
        if problem.optimum_only:
            found = self.search(ties_of(problem))
            if not found.stopped or problem.run.reason is not None:
                return found
        is_open = _all_open(problem)
        collection = new_collection(problem, estimate_subsets(problem, is_open).bytes)
        lowest_cost = _know_a_network(problem, collection)
        unexplored, statistics = search_subsets(problem, is_open, collection)
        return found_in(problem, collection, max(unexplored, lowest_cost), statistics)


def _know_a_network(problem: SearchProblem, collection: _core.Collection) -> float:
    """Look for a good network, so that something is known if the tables are not finished; return what none is below."""
    candidates = _core.SearchProblem(problem.offsets, problem.costs, problem.masks)
    anywhere = np.empty(0, dtype=np.int64)
    found = candidates.find_network(anywhere, _SEED, _EFFORT, lambda _: problem.run("enumeration", 0.0))
    if found is not None:
        row, cost = found
        collection.update_incumbent(cost + candidates.rounding(), row)
    return float(problem.costs[problem.offsets[:-1]].sum()) - candidates.rounding()


def estimate_subsets(problem: SearchProblem, is_open: NDArray[np.uint8]) -> EngineEstimate:
    """Predict what it takes to search the networks that use open candidates only."""
    n_nodes, n_bytes = _core.subset_search_size(problem.offsets, problem.costs, problem.masks, is_open)
    if n_bytes is None:
        reason = f"it takes at most 31 variables with a possible edge, and here are {n_nodes}"
        return EngineEstimate(False, reason, 0, math.inf)
    look_ups = n_nodes * 2.0 ** max(0, n_nodes - 1)
    seconds = look_ups * _SECONDS_PER_LOOK_UP / problem.run.n_threads + n_bytes * _SECONDS_PER_BYTE
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
        _bytes_to_remember(problem, is_open),
        problem.run.n_threads,
        problem.run.seconds_left(),
        lambda fraction: problem.run("enumeration", fraction),
    )


def _bytes_to_remember(problem: SearchProblem, is_open: NDArray[np.uint8]) -> int:
    """Return how much the bounds that the listing remembers may take: a part of what the tables leave."""
    left = min(problem.max_bytes or math.inf, usable_bytes()) - estimate_subsets(problem, is_open).bytes
    return int(min(max(left / 4, 0), 1 << 40))


def _all_open(problem: SearchProblem) -> NDArray[np.uint8]:
    return np.ones(len(problem.costs), dtype=np.uint8)
