"""Scores given as any set function F: evaluate F once for every set, then sweep the lattices in the compiled core.

For Gaussian BIC a floor under the cost of all supersets is known (`GaussianBIC.cost_floor`) and passed on; for other
scores nothing is, and rule 1 alone decides. Cost: one evaluation of F for each set of at most max_parents + 1 columns.
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.errors import DataError
from credibn.scores.gaussian import GaussianBIC
from credibn.scores.problem import Candidates, ScoringProblem
from credibn.scores.protocol import SetScore

__all__ = ["colex_subsets", "score_sets"]

_SETS_PER_CALL = 1 << 16
_TIE, _ALLOWANCE = 1e-12, 1e-9
"""How far, relative to the largest F, equal costs and bounds may be off by rounding in `set_costs`."""


def score_sets(
    problem: ScoringProblem, score: SetScore, n_threads: int, watch: Callable[[float], bool] | None
) -> Candidates | None:
    """Return the candidates that rule 1 keeps; None if `watch` asked to stop."""
    limits = _limits(problem, score)
    largest = int(limits.max()) + 1
    set_costs = _set_costs(problem, score, largest, watch)
    if set_costs is None:
        return None
    magnitude = max(1.0, *(float(np.abs(level).max()) for level in set_costs))
    step = _grid_step((magnitude + float(np.abs(problem.edge_costs).sum(axis=0).max())) * problem.n_searched)
    floors, size_penalties = _bounds(problem, score, largest)
    return _core.prune_set_costs(
        [np.round(level / step) * step for level in set_costs],
        problem.n_searched,
        problem.epsilon + _TIE * magnitude,
        problem.allowed,
        problem.required,
        limits,
        np.round(problem.edge_costs / step) * step,
        floors,
        size_penalties,
        allowance=_ALLOWANCE * magnitude,
        n_threads=n_threads,
        watch=watch,
    )


def _limits(problem: ScoringProblem, score: SetScore) -> NDArray[np.int64]:
    """Return the most parents of each node, as the caller and, for Gaussian BIC, the number of rows limit them."""
    if not isinstance(score, GaussianBIC):
        return problem.max_parents
    most = score.max_set_size(problem.data) - 1
    for child, n_required in enumerate(problem.required.sum(axis=0).tolist()):
        if n_required > most:
            name = problem.data.names[problem.searched[child]]
            raise DataError(
                f"{name!r} has {n_required} required parents, but the data determine a Gaussian score for at most "
                f"{most} parents; require fewer edges, add rows, or use the score 'bge'"
            )
    return np.minimum(problem.max_parents, most)


def colex_subsets(n: int, size: int) -> Iterator[NDArray[np.intp]]:
    """Yield all subsets of {0..n-1} of one size, as sorted rows in colexicographic order, in blocks.

    The subsets with the largest member L come together; within them, the rest are colexicographic again, which is
    the lexicographic order of the mirrored sets, reversed.
    """
    if size == 0:
        yield np.empty((1, 0), dtype=np.intp)
        return
    for largest in range(size - 1, n):
        count = math.comb(largest, size - 1)
        members = chain.from_iterable(combinations(range(largest), size - 1))
        mirrored = np.fromiter(members, dtype=np.intp, count=count * (size - 1)).reshape(count, size - 1)
        block = np.full((count, size), largest, dtype=np.intp)
        block[:, : size - 1] = (largest - 1 - mirrored)[::-1, ::-1]
        for start in range(0, count, _SETS_PER_CALL):
            yield block[start : start + _SETS_PER_CALL]


def _set_costs(
    problem: ScoringProblem, score: SetScore, largest: int, watch: Callable[[float], bool] | None
) -> list[NDArray[np.float64]] | None:
    n = problem.n_searched
    n_sets = sum(math.comb(n, k) for k in range(largest + 1))
    levels, done = [], 0
    for size in range(largest + 1):
        parts = []
        for block in colex_subsets(n, size):
            parts.append(_evaluate(problem, score, problem.searched[block]))
            done += len(block)
            if watch is not None and not watch(done / n_sets):
                return None
        levels.append(np.concatenate(parts))
    return levels


def _evaluate(problem: ScoringProblem, score: SetScore, sets: NDArray[np.intp]) -> NDArray[np.float64]:
    costs = np.asarray(score.set_costs(problem.data, sets), dtype=np.float64)
    if costs.shape != (len(sets),):
        raise DataError(
            f"score {score.name!r} returned an array of shape {costs.shape} for {len(sets)} sets; "
            "it must return one number for each"
        )
    bad = np.flatnonzero(~np.isfinite(costs))
    if len(bad):
        names = ", ".join(repr(problem.data.names[v]) for v in sets[bad[0]])
        raise DataError(
            f"score {score.name!r} is {costs[bad[0]]} for the set {{{names}}}; a score must be finite for every set: "
            "limit the parents, or change the score"
        )
    return costs


def _grid_step(largest_sum: float) -> float:
    """Return the grid on which sums up to `largest_sum` are exact, as in the compiled core (grid.hpp)."""
    return math.ldexp(1.0, math.frexp(4.0 * largest_sum)[1] - 51)


def _bounds(problem: ScoringProblem, score: SetScore, largest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not isinstance(score, GaussianBIC):
        return np.full(problem.n_searched, -np.inf), np.zeros(largest)
    penalties = [score.size_penalty(problem.data, k) for k in range(largest)]
    return score.cost_floor(problem.data)[problem.searched], np.array(penalties)
