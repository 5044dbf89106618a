"""The optimum of a score table by SCIP's own branch and cut, for comparison: the same cuts, the solver's own search.

SCIP presolves, cuts, propagates, restarts and branches as it does by default. A constraint handler keeps networks
acyclic: it adds the cluster cuts and zero-half cuts that credibn's search finds at a fractional solution, and the
networks that it rounds such a solution to. SCIP starts with the network of the same first local search. What it claims
to be optimal rests on its tolerances.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyscipopt import SCIP_RESULT, Conshdlr, Model, quicksum

from credibn.scores import ScoreTable
from credibn.search import make_problem
from credibn.search.collection import new_collection
from credibn.search.exploration import NEWEST, Exploration
from credibn.search.relaxation import Flags, Floats, Positions


@dataclass(frozen=True)
class Solved:
    """How far SCIP came: the score of its best network, and what no network scores above."""

    score: float
    bound: float
    is_optimal: bool
    n_nodes: int


class CutsInUse:
    """Which cuts zero-half cuts may be made of, and which candidates are compared."""

    def __init__(self, size: int) -> None:
        self.ids: dict[int, None] = {}
        self._size = size

    @property
    def cuts(self) -> Positions:
        return np.fromiter(self.ids, dtype=np.int64, count=len(self.ids))

    def columns_in_use(self) -> Flags:
        return np.ones(self._size, dtype=np.uint8)


class Acyclic(Conshdlr):  # type: ignore[misc]
    """Keeps the chosen parent sets free of directed cycles."""

    def __init__(self, search: Exploration, variables: list[Any]) -> None:
        self.search, self.variables = search, variables
        self.in_use = CutsInUse(len(variables))
        search.relaxation = self.in_use  # type: ignore[assignment]
        self.mean: Floats | None = None
        self.last_bound = -np.inf
        parents = search.splitter.parent_bits(search.masks)
        self.parents = [np.flatnonzero(row).tolist() for row in parents]
        self.is_empty = ~parents.any(axis=1)

    def values(self, solution: Any = None) -> Floats:
        return np.array([self.model.getSolVal(solution, variable) for variable in self.variables])

    def is_acyclic(self, values: Floats) -> bool:
        """Remove nodes whose parents are all removed, until none is left."""
        left = {int(self.search.nodes[at]): self.parents[at] for at in np.flatnonzero(values > 0.5)}
        while True:
            free = [node for node, parents in left.items() if not any(parent in left for parent in parents)]
            if not free:
                return not left
            for node in free:
                del left[node]

    def separate(self) -> int:
        """Add violated cuts, and the network that the solution is rounded to; return how many cuts were added."""
        values = self.values()
        self.mean = values if self.mean is None else NEWEST * values + (1.0 - NEWEST) * self.mean
        bound = self.model.getLPObjVal()
        is_stalling, self.last_bound = bound - self.last_bound < 0.5, bound
        before = self.search.best_cost
        self.search.improve(self.search.rounded_order(values), 0)
        if self.search.best_cost < before:
            self.offer_best()
        cuts = list(dict.fromkeys(self.search.violated(values, self.mean, is_stalling)))
        n_added = 0
        for cut in cuts:
            at, coefficients, side = self.search.problem.cut(cut)
            if values[at] @ coefficients > side - 1e-6:
                continue  # violated only by the mean
            row = self.model.createEmptyRowUnspec(f"cut{cut}", lhs=float(side), rhs=None, local=False)
            self.model.cacheRowExtensions(row)
            for place, coefficient in zip(at.tolist(), coefficients.tolist(), strict=True):
                self.model.addVarToRow(row, self.variables[place], float(coefficient))
            self.model.flushRowExtensions(row)
            self.model.addCut(row, forcecut=True)
            self.model.releaseRow(row)
            self.in_use.ids[cut] = None
            n_added += 1
        return n_added

    def offer_best(self) -> None:
        solution = self.model.createOrigSol()
        assert self.search.best_row is not None
        for at in (self.search.offsets[:-1] + self.search.best_row).tolist():
            self.model.setSolVal(solution, self.variables[at], 1.0)
        self.model.addSol(solution)

    def conssepalp(self, constraints: Any, n_useful: int) -> dict[str, Any]:
        return {"result": SCIP_RESULT.SEPARATED if self.separate() else SCIP_RESULT.DIDNOTFIND}

    def consenfolp(self, constraints: Any, n_useful: int, is_infeasible: bool) -> dict[str, Any]:
        if self.is_acyclic(self.values()):
            return {"result": SCIP_RESULT.FEASIBLE}
        return {"result": SCIP_RESULT.SEPARATED if self.separate() else SCIP_RESULT.INFEASIBLE}

    def consenfops(
        self, constraints: Any, n_useful: int, is_infeasible: bool, is_objective_infeasible: bool
    ) -> dict[str, Any]:
        return {"result": SCIP_RESULT.FEASIBLE if self.is_acyclic(self.values()) else SCIP_RESULT.INFEASIBLE}

    def conscheck(self, constraints: Any, solution: Any, *options: bool) -> dict[str, Any]:
        is_allowed = self.is_acyclic(self.values(solution))
        return {"result": SCIP_RESULT.FEASIBLE if is_allowed else SCIP_RESULT.INFEASIBLE}

    def conslock(self, constraint: Any, lock_type: int, n_positive: int, n_negative: int) -> None:
        for variable, is_empty in zip(self.variables, self.is_empty, strict=True):
            if not is_empty:  # parents may close a cycle
                self.model.addVarLocksType(variable, lock_type, n_negative, n_positive)


def solve(table: ScoreTable, seconds: float) -> Solved:
    """Return the optimum, or what is known after this many CPU seconds."""
    problem = make_problem(table, epsilon=0.0, unit="networks", optimum_only=True)
    search = Exploration(problem, new_collection(problem))
    search.begin()
    floors = problem.costs[problem.offsets[:-1]]
    costs = problem.costs - floors[search.nodes]
    model = Model()
    model.hideOutput()
    variables = [model.addVar(vtype="B", obj=cost) for cost in costs.tolist()]
    for start, stop in itertools.pairwise(problem.offsets.tolist()):
        model.addCons(quicksum(variables[start:stop]) == 1)
    handler = Acyclic(search, variables)
    model.includeConshdlr(
        handler,
        "acyclic",
        "no directed cycle",
        sepapriority=100,
        enfopriority=-10,
        chckpriority=-10,
        sepafreq=1,
    )
    model.addPyCons(model.createCons(handler, "acyclic"))
    handler.offer_best()
    model.setParam("misc/usesymmetry", 0)  # the handler does not tell SCIP which candidates may trade places
    model.setParam("timing/clocktype", 1)
    model.setParam("presolving/donotmultaggr", True)
    model.setParam("limits/time", seconds)
    model.optimize()
    best = model.getBestSol()
    chosen = [at for at, variable in enumerate(variables) if model.getSolVal(best, variable) > 0.5]
    return Solved(
        score=-float(problem.costs[chosen].sum()),
        bound=-(float(model.getDualbound()) + float(floors.sum())),
        is_optimal=model.getStatus() == "optimal",
        n_nodes=model.getNTotalNodes(),
    )
