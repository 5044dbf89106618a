"""Where the engines put what they find: made from a problem, read into an answer."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from credibn import _core
from credibn._run.tally import Tally
from credibn.search.memory import allowed_bytes
from credibn.search.problem import Found, SearchProblem

_SECONDS_PER_ROW, _SECONDS_PER_NODE = 4e-7, 2e-8
"""To sort a row and sum its score."""
_SECONDS_PER_GROUPED_NODE = 6e-8
"""To find the class of a network."""
_MOST_TIES = 2_000
"""About how many rows are listed that tie with the optimum, where one is enough."""


def new_collection(problem: SearchProblem, taken: int = 0) -> _core.Collection:
    """Return an empty collection that wants what the problem asks for, and can be followed while it fills.

    `taken` are the bytes of the engine's own tables.
    """
    collection = _core.Collection(
        problem.n_variables,
        _size_words(problem.n_variables) if problem.unit == "classes" else 0,
        -problem.resolution if problem.optimum_only else problem.epsilon + problem.tolerance,
        problem.tolerance,
        problem.max_rows,
        problem.max_networks,
        allowed_bytes(problem, taken),
    )
    problem.run.follow(lambda: tally_of(problem, collection))
    return collection


def ties_of(problem: SearchProblem) -> SearchProblem:
    """Return the problem of listing all that ties with the optimum, as far as that is little."""
    few = 4 * _MOST_TIES * row_bytes(problem)
    return replace(problem, epsilon=0.0, optimum_only=False, max_bytes=min(few, problem.max_bytes or few))


def tally_of(problem: SearchProblem, collection: _core.Collection, lowest_cost: float = -math.inf) -> Tally:
    """Return what a collection holds, and that no network costs less than `lowest_cost`."""
    count = collection.count()
    seconds = count * _seconds_per_row(problem)
    return Tally(problem.unit, count, -collection.best(), -lowest_cost, seconds)


def _seconds_per_row(problem: SearchProblem) -> float:
    """Predict how long it takes to put a row in order; measured, and rounded up."""
    per_node = _SECONDS_PER_NODE + (_SECONDS_PER_GROUPED_NODE if problem.unit == "networks" else 0.0)
    return _SECONDS_PER_ROW + per_node * problem.n_variables


def found_in(
    problem: SearchProblem,
    collection: _core.Collection,
    unexplored_bound: float,
    statistics: Mapping[str, object],
) -> Found:
    """Return what the collection holds; no network that costs less than the bound was left out of it."""
    choices, costs, sizes, missing_from = collection.finish(
        problem.run.n_threads, lambda fraction: problem.run("sorting", fraction)
    )
    unexplored_bound = min(unexplored_bound, missing_from)
    if collection.is_full():
        unexplored_bound = min(unexplored_bound, collection.limit())
    best_cost = collection.best()
    if len(costs) and costs[0] <= best_cost + problem.tolerance:
        best_cost = float(costs[0])
    found = Found(
        choices=choices,
        costs=costs,
        sizes=sizes,
        best_cost=best_cost,
        is_cut=collection.is_truncated() or problem.optimum_only,
        stopped=unexplored_bound < math.inf,
        unexplored_bound=unexplored_bound,
        statistics=statistics,
        class_left_out=collection.least_class_left_out(),
    )
    return _with_best_known(problem, collection, found) if found.stopped or problem.optimum_only else found


def _with_best_known(problem: SearchProblem, collection: _core.Collection, found: Found) -> Found:
    """Add the best network known where the search was stopped before it was recorded.

    It need not be credible. Then the member that stands for its class may use a parent set that is no candidate, and it
    is no row: see `Found.incumbent`.
    """
    row = collection.incumbent()
    if row is None:
        return found
    starts = problem.offsets[:-1]
    masks, cost = problem.masks[starts + row][np.newaxis], math.fsum(problem.costs[starts + row])
    if len(found.costs) and found.costs[0] <= cost + problem.tolerance:
        return found
    sizes = np.zeros((1, found.sizes.shape[1]), dtype=np.uint64)
    if problem.unit == "classes":  # the member that stands for its class
        masks, _, _, words = _core.class_forms(masks, np.arange(problem.n_variables))
        assert not words[:, sizes.shape[1] :].any(), "no class has more than n! members"
        sizes[:, : words.shape[1]] = words[:, : sizes.shape[1]]
    candidates = [problem.masks[start:stop] for start, stop in itertools.pairwise(problem.offsets.tolist())]
    places = [np.flatnonzero((of_node == mask).all(axis=1)) for of_node, mask in zip(candidates, masks[0], strict=True)]
    if not all(len(place) for place in places):
        return replace(found, best_cost=min(found.best_cost, cost), incumbent=row)
    return replace(
        found,
        choices=np.concatenate([np.array(places, dtype=np.uint32).T, found.choices]),
        costs=np.concatenate([[cost], found.costs]),
        sizes=np.concatenate([sizes, found.sizes]),
        best_cost=min(found.best_cost, cost),
    )


def row_bytes(problem: SearchProblem) -> int:
    """Return how many bytes a row takes: its choices, and the size of its class."""
    return 4 * problem.n_variables + 8 * _size_words(problem.n_variables)


def _size_words(n_variables: int) -> int:
    """Return how many 64-bit words hold any class size: no class has more than n! members."""
    return -(-math.factorial(n_variables).bit_length() // 64)
