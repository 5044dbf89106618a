"""Scores given as any set function F: evaluate F once for every set, then sweep the lattices in the compiled core.

For Gaussian BIC a lower bound on the cost of all supersets is known (`GaussianBIC.cost_floor`) and passed on; for other
scores none is, and rule 1 alone decides. Cost: one evaluation of F for each set of at most max_parents + 1 columns.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.errors import DataError, Option
from credibn.scores.gaussian import GaussianBIC
from credibn.scores.mixed import ConditionalGaussianBIC
from credibn.scores.moments import MUST_REFUSE
from credibn.scores.problem import Scored, ScoringProblem
from credibn.scores.protocol import SetScore

_SETS_PER_CALL = 1 << 16
_SET_COST_ERROR = 1e-12
"""The error of F, relative to the largest F, if a score has no `set_cost_error`."""
_LEAST_TOLERANCE = 1e-12


class Block(NamedTuple):
    """Sets of one size with one last member, from `start` to `stop` among these, for one call of `set_costs`."""

    size: int
    last: int
    start: int
    stop: int

    @property
    def n_sets(self) -> int:
        """The number of sets in it."""
        return self.stop - self.start


def set_blocks(problem: ScoringProblem, score: SetScore) -> list[Block]:
    """Return the blocks of all sets up to the largest family, by size and then in colexicographic order."""
    largest = int(parent_limits(problem, score).max()) + 1
    return [block for size in range(largest + 1) for block in _blocks_of(problem.n_searched, size)]


def evaluate_blocks(
    problem: ScoringProblem, score: SetScore, blocks: Sequence[Block], proceed: Callable[[float], bool]
) -> NDArray[np.float64] | None:
    """Return F of the sets of some blocks, in their order; None if `proceed` returned False."""
    n_sets = sum(block.n_sets for block in blocks)
    parts, done = [], 0
    for block, members in zip(blocks, _members(blocks), strict=True):
        parts.append(_evaluate(problem, score, problem.searched[members]))
        done += block.n_sets
        if not proceed(done / n_sets):
            return None
    return np.concatenate(parts)


def prune_sets(
    problem: ScoringProblem,
    score: SetScore,
    set_costs: NDArray[np.float64],
    n_threads: int,
    watch: Callable[[float], bool] | None,
) -> Scored | None:
    """Return the candidates that rule 1 keeps, given F of all sets; None if `watch` asked to stop.

    A cost is a difference of two F, each off by the error of the score and half a grid step; an edge adds half a step.
    """
    limits = parent_limits(problem, score)
    largest = int(limits.max()) + 1
    magnitude = max(1.0, float(np.abs(set_costs).max()))
    step = _grid_step((magnitude + float(np.abs(problem.edge_costs).sum(axis=0).max())) * problem.n_searched)
    error = _set_cost_error(problem, score, magnitude)
    cost_error = 2 * error + (1 + np.count_nonzero(problem.edge_costs, axis=0).max() / 2) * step
    tolerance = max(_LEAST_TOLERANCE, 2 * problem.n_searched * cost_error)
    floors, size_penalties = _bounds(problem, score, largest)
    ends = np.cumsum([math.comb(problem.n_searched, size) for size in range(largest + 1)])
    found = _core.prune_set_costs(
        [np.round(level / step) * step for level in np.split(set_costs, ends[:-1])],
        problem.n_searched,
        problem.epsilon + tolerance + 2 * step,
        problem.allowed,
        problem.required,
        limits,
        np.round(problem.edge_costs / step) * step,
        floors,
        size_penalties,
        allowance=4 * cost_error,
        n_threads=n_threads,
        watch=watch,
    )
    return None if found is None else Scored(found, tolerance)


def _set_cost_error(problem: ScoringProblem, score: SetScore, magnitude: float) -> float:
    """Return how far F may be off, as the score says or else relative to the largest F."""
    of_score = getattr(score, "set_cost_error", None)
    if of_score is None:
        return _SET_COST_ERROR * magnitude
    if isinstance(score, ConditionalGaussianBIC):
        most = int(parent_limits(problem, score).max())

        def error_of(n_parents: int) -> float:
            return score.set_cost_error(problem.data, n_parents + 1)

        error = error_of(most)
        if error > MUST_REFUSE:
            raise DataError(
                "rounding could change a cost by {:.2g} nats, because {} parents have very many combinations of "
                "categories; set {}, or a smaller {}",
                error,
                most,
                Option("max_parents", next((k for k in range(most, 0, -1) if error_of(k) <= MUST_REFUSE), 0)),
                Option("epsilon"),
            )
        return error
    error = float(of_score(problem.data))
    if not 0 <= error <= magnitude:
        raise DataError(
            f"score {score.name!r} has a set_cost_error of {error:.6g}, and its largest |F| is {magnitude:.6g}; the "
            "error must be 0 or more and below that: compute F more exactly, or return a bound that holds"
        )
    return error


def parent_limits(problem: ScoringProblem, score: SetScore) -> NDArray[np.int64]:
    """Return the largest number of parents of each node: limited by the caller, and by what the data can bear."""
    if isinstance(score, ConditionalGaussianBIC):
        return np.minimum(problem.max_parents, _mixed_limits(problem, score))
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


def _mixed_limits(problem: ScoringProblem, score: ConditionalGaussianBIC) -> NDArray[np.int64]:
    """Return how many parents each node can have at most in a credible network: all numbers, and some categories."""
    data, spare = problem.data, problem.epsilon + np.abs(problem.edge_costs).sum(axis=0)
    n_continuous = sum(data.states[v] is None for v in problem.searched)
    return np.array(
        [
            n_continuous
            + score.most_discrete_parents(
                data, int(v), problem.searched[problem.required[:, child] > 0].tolist(), float(spare[child])
            )
            for child, v in enumerate(problem.searched)
        ],
        dtype=np.int64,
    )


def _blocks_of(n: int, size: int) -> list[Block]:
    """Return the blocks of the subsets of {0..n-1} of one size: those with the same last member are adjacent."""
    if size == 0:
        return [Block(0, -1, 0, 1)]
    return [
        Block(size, last, start, min(start + _SETS_PER_CALL, math.comb(last, size - 1)))
        for last in range(size - 1, n)
        for start in range(0, math.comb(last, size - 1), _SETS_PER_CALL)
    ]


def _members(blocks: Sequence[Block]) -> Iterator[NDArray[np.intp]]:
    """Yield the sets of each block, as sorted rows in colexicographic order.

    Without the last member they are in colexicographic order again: the reversed lexicographic order of the mirrored
    sets.
    """
    for (size, last), group in groupby(blocks, key=lambda block: (block.size, block.last)):
        count = math.comb(last, size - 1) if size else 1
        rows = np.full((count, size), last, dtype=np.intp)
        if size:
            members = chain.from_iterable(combinations(range(last), size - 1))
            mirrored = np.fromiter(members, dtype=np.intp, count=count * (size - 1)).reshape(count, size - 1)
            rows[:, : size - 1] = (last - 1 - mirrored)[::-1, ::-1]
        for block in group:
            yield rows[block.start : block.stop]


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
    """Return the grid on which sums up to `largest_sum` are exact, as in the compiled core (cpp/scoring/grid.hpp)."""
    return math.ldexp(1.0, math.frexp(4.0 * largest_sum)[1] - 51)


def _bounds(problem: ScoringProblem, score: SetScore, largest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not isinstance(score, GaussianBIC):
        return np.full(problem.n_searched, -np.inf), np.zeros(largest)
    penalties = [score.size_penalty(problem.data, k) for k in range(largest)]
    return score.cost_floor(problem.data)[problem.searched], np.array(penalties)
