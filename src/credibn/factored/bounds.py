"""Lower bounds for counting: the root relaxation of the search, and dual values of several kinds.

Each solution of the relaxation gives a lower bound on every network, and a reduced cost for each candidate that adds to
it. Counting takes the best of them state by state, so solutions that differ help more than the best one alone. They are
found with random lower bounds on the columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.factored.grid import Grid
from credibn.search.exploration import Exploration
from credibn.search.problem import SearchProblem
from credibn.search.relaxation import Bound, Flags

_SEED = 1
_KEPT = 12
"""Bounds that counting gets: each costs time for every state."""
_TRIED = 24
_MOST_OPEN = 8_000
"""With more open candidates, every further linear program takes too long."""
_COVERAGE = (0.15, 0.3, 0.6, 1.0)
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True)
class DualBounds:
    """Bounds in steps of a grid; see `count_networks` of the core."""

    is_open: Flags
    lowers: NDArray[np.int64]
    reduced: NDArray[np.int64]  # shape (bounds, open candidates)


def dual_bounds(search: Exploration, problem: SearchProblem, grid: Grid) -> DualBounds:
    """Tighten the relaxation, drop the candidates that no credible network takes, and return bounds on the rest."""
    (root,) = search.begin()
    strongest, is_open = search.tighten(root.is_open, True)
    bounds = [strongest]
    if not search.is_stopped and is_open.sum() <= _MOST_OPEN:
        spread, is_open = search.spread(strongest, is_open)
        bounds.append(spread)
        others, is_open = _diverse(search, is_open)
        bounds += others
    known = [search.problem.bound(bound.cuts, bound.dual_values, is_open) for bound in bounds]
    limit = search.collection.limit()
    for lower, margin, reduced in known:
        is_open = is_open & (lower + reduced <= limit + margin).astype(np.uint8)
    chosen = np.flatnonzero(is_open)
    lowers = np.array([lower for lower, _, _ in known])
    margins = np.array([margin for _, margin, _ in known])
    costs = np.array([reduced[chosen] for _, _, reduced in known])
    kept = _choose(lowers, costs, limit)
    # Rounded down, with the margins that cover the rounding of both, twice: once for the difference from the base.
    steps = np.floor((lowers - grid.base - 2 * margins) / grid.step) - 1 - grid.rounding
    reduced_steps = np.floor(np.maximum(costs, 0.0) / grid.step)
    return DualBounds(is_open, steps[kept].astype(np.int64), reduced_steps[kept].astype(np.int64))


def _diverse(search: Exploration, is_open: Flags) -> tuple[list[Bound], Flags]:
    """Solve with random lower bounds on the columns of random nodes."""
    random = np.random.default_rng(_SEED)
    bounds: list[Bound] = []
    search.relaxation.restrict(is_open)
    for _ in range(_TRIED):
        if not search.report("relaxation", search.share_done):
            break
        weights = random.exponential(size=len(is_open)) * (is_open != 0)
        weights *= (random.random(search.n) < random.choice(_COVERAGE))[search.nodes]
        sums = np.bincount(search.nodes, weights=weights, minlength=search.n)
        least = weights / np.maximum(sums, 1e-300)[search.nodes] * random.choice(_SHARES)
        bounds.append(search.relaxation.solve_at_least(least))
        is_open = is_open & bounds[-1].within(search.collection.limit())
    return bounds, is_open


def _choose(lowers: NDArray[np.float64], reduced: NDArray[np.float64], limit: float) -> list[int]:
    """Choose bounds one after the other, each the one that adds most to what the others say about the candidates."""
    width = max(limit - float(lowers.max()), 1e-9)
    worth = np.minimum(1.0, reduced / width) * np.exp(-(lowers.max() - lowers) / width)[:, np.newaxis]
    chosen: list[int] = [0]
    covered, total = worth[0], worth[0].copy()
    while len(chosen) < min(_KEPT, len(lowers)):
        gains = np.maximum(worth - covered, 0).sum(axis=1)
        gains += 0.1 * np.maximum(worth - 0.5 * total / len(chosen), 0).sum(axis=1)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        covered, total = np.maximum(covered, worth[chosen[-1]]), total + worth[chosen[-1]]
    return chosen
