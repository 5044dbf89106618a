"""What is known where scoring cannot be finished: small parent sets of every node, and what else was done.

Sets of at most one parent are scored for every node, then those of at most two, and so on for as long as there is time.
The table that comes of it is like any other, but it is complete for no epsilon: it serves to find a good network, never
to prove anything.
"""

from dataclasses import replace

import numpy as np

from credibn._run import Run
from credibn.errors import DataError
from credibn.scores.discrete import DiscreteScore
from credibn.scores.estimate import ScoringEstimate, estimate_problem
from credibn.scores.prediction import limit_parents
from credibn.scores.priors import StructurePrior
from credibn.scores.problem import Candidates, Scored, ScoringProblem, join_candidates
from credibn.scores.scoring import table_of, try_score
from credibn.scores.table import ScoreTable
from credibn.scores.tasks import exact_candidates

_UNKNOWN = 1e300
"""A cost that is yet to be found, so high that the set dominates no other one."""


class PartialScoring:
    """Candidates of every node, more the longer it takes; `finished` are those of the scoring that was stopped."""

    def __init__(self, problem: ScoringProblem) -> None:
        self.finished: list[Candidates] = []
        self._problem = problem
        self._is_discrete = isinstance(problem.score, DiscreteScore)
        self._small: list[Candidates] = []  # of the last size that was finished, and of the next as far as it came
        self._size = 0  # all sets of at most this many parents are scored

    def deepen(self, run: Run, largest: int) -> None:
        """Score the sets of at most 1, 2, ... parents, up to `largest`, until the run says stop."""
        for size in range(self._size + 1, largest + 1):
            done: list[Candidates] = []
            found = self._up_to(size, run, done)
            if found is None:
                self._small += done
                return
            self._small, self._size = done or [found.candidates], size

    def table(self, prior: StructurePrior | None, estimate: ScoringEstimate, run: Run) -> ScoreTable:
        """Return all candidates so far; where it takes too long to put them together, only those of small sets."""
        small = [*self._small, self._without_free_parents()]
        found = _distinct([*self.finished, *small])
        if self._is_discrete:
            exact = exact_candidates(self._problem, found, run, "sorting")
            if exact is None:
                exact = exact_candidates(self._problem, _distinct(small), Run(n_threads=run.n_threads), "sorting")
            assert exact is not None
            found = exact
        table = table_of(self._problem, prior, estimate, Scored(found, estimate.tolerance))
        return replace(table, provenance={**table.provenance, "epsilon": None, "complete": False})

    def _up_to(self, size: int, run: Run, done: list[Candidates]) -> Scored | None:
        """Score the sets of at most `size` parents, and the required ones."""
        limited = limit_parents(self._problem, size)
        engine = "descent" if self._is_discrete else "auto"
        try:
            return try_score(limited, estimate_problem(limited, engine), run, finished=done)
        except DataError:
            if self._is_discrete or self._problem.n_searched == 0:
                raise
            return Scored(_none(self._problem), None)  # a score may be undefined for small sets

    def _without_free_parents(self) -> Candidates:
        """Return the required parents alone, of each node; with a categorical score, the cost is found later."""
        n = self._problem.n_searched
        if not self._is_discrete:
            found = self._up_to(0, Run(), [])
            assert found is not None
            return found.candidates
        bits = np.zeros((n, -(-n // 64) * 64), dtype=np.uint8)
        bits[:, :n] = self._problem.required.T
        masks = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
        return np.arange(n, dtype=np.int32), np.full(n, _UNKNOWN), masks, n


def _none(problem: ScoringProblem) -> Candidates:
    words = -(-problem.n_searched // 64)
    return np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros((0, words), dtype=np.uint64), 0


def _distinct(parts: list[Candidates]) -> Candidates:
    """Join candidates; of those that are there twice, the first stays."""
    nodes, costs, masks, n_scored = join_candidates(parts)
    order = np.lexsort((*masks.T, nodes))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(nodes[order]) != 0) | (masks[order][1:] != masks[order][:-1]).any(axis=1)
    first = order[is_new]
    return nodes[first], costs[first], np.ascontiguousarray(masks[first]), n_scored
