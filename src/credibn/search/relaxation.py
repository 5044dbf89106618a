"""The linear relaxation of the search: candidates as columns, cuts found on demand, dual values out.

One column x(i, P) for each candidate, one equation per node (it takes one parent set), and the cluster cuts and
zero-half cuts (``cpp/cluster_rows.hpp``) that the compiled core separates. Candidates become columns only when their
reduced cost asks for it (column generation). The solver's dual values are handed to the core, which recomputes every
bound from them over all candidates: no result rests on the solver's tolerances.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn import _core

Flags = NDArray[np.uint8]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

FIRST_COLUMNS = 20
"""How many of each node's cheapest candidates are columns from the start."""
NEW_COLUMNS = 10
"""How many columns a node may get at once."""
PRICING_ROUNDS = 20
MOST_ITERATIONS = 20_000
"""Of the simplex method: any dual values give a bound, so a solver that gets lost is stopped."""
FIRST_ITERATIONS = 100
"""The solver cannot be told to stop, so it gets few iterations at first, then twice as many, and resumes from the basis
it has. What it does against cycling ends with each call: with few iterations at a time, it may never arrive."""
MOST_AT_ONCE = 3_200
"""Iterations: about two seconds, in a large program."""
TRIAL_ITERATIONS = 50
"""Where a solution is only compared with others."""
BASIC = 1
"""How the solver says that a column or a slack is in the basis."""
IDLE_SOLUTIONS = 3
"""A cut leaves when its dual value was 0 in this many solutions in succession."""


@dataclass(frozen=True)
class Bound:
    """What the dual values of some cuts prove over the open candidates.

    Every network costs at least `lower`, and at least ``lower + reduced[c]`` if it takes candidate c, both up to
    `margin`, which covers rounding. `values` is the fractional solution.
    """

    cuts: Positions
    dual_values: Floats
    lower: float
    margin: float
    reduced: Floats
    values: Floats

    def within(self, limit: float) -> Flags:
        """Flag the candidates that a network up to this cost can take."""
        return (self.lower + self.reduced <= limit + self.margin).astype(np.uint8)


class Relaxation:
    """A linear program over candidates and cuts that come and go; the core's problem has the pool of all cuts.

    Once `should_continue` returns False, programs are left half solved, which makes bounds weaker but not wrong.
    """

    def __init__(
        self,
        problem: "_core.SearchProblem",
        offsets: Positions,
        costs: Floats,
        should_continue: Callable[[], bool] = lambda: True,
    ) -> None:
        self._problem = problem
        self._should_continue = should_continue
        self._offsets = offsets
        self._n, self._size = len(offsets) - 1, len(costs)
        self._nodes = np.repeat(np.arange(self._n), np.diff(offsets))
        floors = costs[offsets[:-1]]
        self._costs = costs - floors[self._nodes]
        self._floor = float(floors.sum())
        self._open = np.ones(self._size, dtype=np.uint8)
        self._cuts: list[int] = []
        self._idle: list[int] = []
        from pyscipopt import LP  # takes a while: only for those who need it
        from pyscipopt.scip import PY_SCIP_LPPARAM

        self._iteration_limit = PY_SCIP_LPPARAM.LPITLIM
        self._lp = LP()
        self._infinity = self._lp.infinity()
        self._lp.addRows([[] for _ in range(self._n)], lhss=[1.0] * self._n, rhss=[1.0] * self._n)
        # An artificial candidate of each node keeps every branch feasible, at a price no credible network comes near.
        price = float((costs[offsets[1:] - 1] - floors).sum()) + 100.0
        self._lp.addCols(
            [[(v, 1.0)] for v in range(self._n)],
            objs=[price] * self._n,
            lbs=[0.0] * self._n,
            ubs=[self._infinity] * self._n,
        )
        self._positions = self._size + np.arange(self._n)  # of each column
        self._has_column = np.zeros(self._size, dtype=bool)
        within_node = np.arange(self._size) - offsets[self._nodes]
        self._add_columns(np.flatnonzero(within_node < FIRST_COLUMNS))

    @property
    def cuts(self) -> Positions:
        """The cuts in the program, as numbers in the pool."""
        return np.array(self._cuts, dtype=np.int64)

    def columns_in_use(self) -> Flags:
        """Flag the candidates that are columns and may be chosen."""
        return np.where(self._has_column, self._open, np.uint8(0))

    def add(self, cuts: Iterable[int]) -> int:
        """Put cuts of the pool into the program, each once; return how many are new."""
        present = set(self._cuts)
        new = [cut for cut in dict.fromkeys(cuts) if cut not in present]
        if new:
            entries, sides = self._problem.entries(np.array(new, dtype=np.int64), self._positions)
            self._lp.addRows(entries, lhss=sides.tolist(), rhss=[self._infinity] * len(new))
            self._cuts += new
            self._idle += [0] * len(new)
        return len(new)

    def drop_idle(self) -> None:
        """Take out the cuts that have not mattered for some time, unless the solver's basis would be lost with them.

        A cut can have a dual value of 0 and be tight. Without it, the basis is none, and the solver starts anew.
        """
        slack = self._lp.getBase()[1][self._n :]
        leaves = [idle >= IDLE_SOLUTIONS and status == BASIC for idle, status in zip(self._idle, slack, strict=True)]
        end = len(self._cuts)
        while end > 0:  # runs of cuts that leave, from the last
            start = end
            while start > 0 and leaves[start - 1]:
                start -= 1
            if start < end:
                self._lp.delRows(self._n + start, self._n + end - 1)
                del self._cuts[start:end], self._idle[start:end]
            end = start - 1

    def restrict(self, is_open: Flags) -> None:
        """Let only these candidates be chosen."""
        columns = np.flatnonzero(self._positions < self._size)
        positions = self._positions[columns]
        for column in columns[is_open[positions] != self._open[positions]].tolist():
            self._lp.chgBound(column, 0.0, self._infinity if is_open[self._positions[column]] else 0.0)
        self._open = is_open.copy()

    @contextmanager
    def trying_out(self) -> Iterator[Callable[[Flags], float]]:
        """Yield a function that returns the bound of some open candidates, roughly, as the solver states it.

        It takes the columns and cuts that are there, starts from the solution at hand, and makes few iterations.
        Afterwards all is as before.
        """
        is_open, basis = self._open, self._lp.getBase()

        def bound_of(candidates: Flags) -> float:
            if not self._should_continue():
                return -np.inf
            self.restrict(candidates)
            self._lp.setBase(*basis)
            self._lp.solve()
            return float(self._lp.getObjVal()) + self._floor

        self._lp.setIntParam(self._iteration_limit, TRIAL_ITERATIONS)
        try:
            yield bound_of
        finally:
            self.restrict(is_open)
            self._lp.setBase(*basis)

    def solve_spread(self, share: float) -> Bound:
        """Solve with at least `share` of each node's total spread evenly over its open candidates.

        Of all dual values with almost the best bound, this finds some that make reduced costs large altogether: the
        dual objective is then ``lower`` plus the reduced costs, weighted with what their candidates must have. The
        plain solution is a corner, with many reduced costs of 0.
        """
        is_open = self._open != 0
        counts = np.bincount(self._nodes, weights=is_open, minlength=self._n)
        return self.solve_at_least(share / np.maximum(counts, 1.0)[self._nodes])

    def solve_at_least(self, values: Floats) -> Bound:
        """Solve with at least these values of the open candidates: other values, other dual values."""
        is_open = self._open != 0
        self._add_columns(np.flatnonzero(is_open & ~self._has_column))
        columns = [c for c, at in enumerate(self._positions.tolist()) if at < self._size and is_open[at]]
        for column in columns:
            self._lp.chgBound(column, float(values[self._positions[column]]), self._infinity)
        bound = self.solve()
        for column in columns:
            self._lp.chgBound(column, 0.0, self._infinity)
        return bound

    def solve(self) -> Bound:
        """Solve, adding columns until none is missing, and let the core recompute the bound from the dual values."""
        for _ in range(PRICING_ROUNDS):
            if not self._is_solved(dual=True):
                self._is_solved(dual=False)  # the primal simplex method may find the way out
            dual_values = np.maximum(np.array(self._lp.getDual())[self._n :], 0.0)
            used = dual_values > 0
            cuts, prices = self.cuts[used], dual_values[used]
            lower, margin, reduced = self._problem.bound(cuts, prices, self._open)
            missing = self._missing(reduced)
            if not len(missing) or not np.isfinite(lower) or not self._should_continue():
                break
            self._add_columns(missing)
        primal = np.array(self._lp.getPrimal())
        values = np.zeros(self._size + self._n)
        values[self._positions[: len(primal)]] = primal
        self._idle = [0 if is_used else idle + 1 for is_used, idle in zip(used.tolist(), self._idle, strict=True)]
        return Bound(cuts, prices, lower, margin, reduced, values[: self._size])

    def _is_solved(self, dual: bool) -> bool:
        """Iterate until the solution is optimal, the solver is lost, or it is time to stop."""
        left, at_once = MOST_ITERATIONS, FIRST_ITERATIONS
        while True:
            self._lp.setIntParam(self._iteration_limit, min(at_once, left))
            self._lp.solve(dual=dual)
            if self._lp.isOptimal():
                return True
            n_done = self._lp.getNIterations()
            left, at_once = left - n_done, min(2 * at_once, MOST_AT_ONCE)
            if n_done == 0 or left <= 0 or not self._should_continue():
                return False

    def _missing(self, reduced: Floats) -> Positions:
        """Return candidates without a column that are cheaper than all those of their node that have one."""
        cheapest = np.full(self._n, np.inf)
        present = np.flatnonzero(self._has_column)
        np.minimum.at(cheapest, self._nodes[present], reduced[present])
        wanted = np.flatnonzero(~self._has_column & (reduced < cheapest[self._nodes] - 1e-7))
        order = wanted[np.lexsort((reduced[wanted], self._nodes[wanted]))]
        nodes = self._nodes[order]
        place = np.arange(len(order)) - np.searchsorted(nodes, nodes)
        return order[place < NEW_COLUMNS]

    def _add_columns(self, positions: Positions) -> None:
        if not len(positions):
            return
        entries = [[(v, 1.0)] for v in self._nodes[positions].tolist()]
        if self._cuts:
            in_cuts, _ = self._problem.entries(self.cuts, positions, by_column=True)
            entries = [equation + cuts for equation, cuts in zip(entries, in_cuts, strict=True)]
        self._lp.addCols(
            entries,
            objs=self._costs[positions].tolist(),
            lbs=[0.0] * len(positions),
            ubs=[self._infinity if is_open else 0.0 for is_open in self._open[positions].tolist()],
        )
        self._has_column[positions] = True
        self._positions = np.concatenate([self._positions, positions])
