"""Where the engines put what they find: made from a problem, read into an answer."""

import math
from collections.abc import Mapping

from credibn import _core
from credibn.search.memory import allowed_bytes
from credibn.search.problem import Found, SearchProblem, Tally

__all__ = ["found_in", "new_collection", "tally_of"]


def new_collection(problem: SearchProblem) -> _core.Collection:
    """Return an empty collection that wants what the problem asks for, and can be followed while it fills."""
    collection = _core.Collection(
        problem.n_variables,
        _size_words(problem.n_variables) if problem.unit == "classes" else 0,
        problem.epsilon + problem.tolerance,
        problem.tolerance,
        problem.max_rows,
        problem.max_networks,
        allowed_bytes(problem),
    )
    problem.follow(lambda: tally_of(problem, collection))
    return collection


def tally_of(problem: SearchProblem, collection: _core.Collection, lowest_cost: float = -math.inf) -> Tally:
    """Return what a collection holds, and that no network costs less than so much."""
    return Tally(problem.unit, collection.count(), -collection.best(), -lowest_cost)


def found_in(collection: _core.Collection, unexplored_bound: float, statistics: Mapping[str, object]) -> Found:
    """Return what the collection holds; no network that costs less than the bound was left out of it."""
    choices, costs, sizes = collection.finish()
    if collection.is_full():
        unexplored_bound = min(unexplored_bound, collection.limit())
    return Found(
        choices=choices,
        costs=costs,
        sizes=sizes,
        best_cost=float(costs[0]) if len(costs) else collection.best(),
        is_cut=collection.is_cut(),
        stopped=unexplored_bound < math.inf,
        unexplored_bound=unexplored_bound,
        statistics=statistics,
    )


def _size_words(n_variables: int) -> int:
    """Return how many 64-bit words hold any class size: no class has more than n! members.

    Examples
    --------
    >>> _size_words(20), _size_words(21)
    (1, 2)
    """
    return -(-math.factorial(n_variables).bit_length() // 64)
