"""Where the search gets its score tables: from data, scored for the epsilon at hand, or from a table that is given.

Both kinds provide the same three things: the table for an epsilon, the largest epsilon there can be a table for, and
whether the networks within an epsilon are all networks there are.
"""

import math
from dataclasses import replace
from os import PathLike
from typing import Any, Protocol

from credibn._base.text import byte_text, duration_text
from credibn._run import Run
from credibn.data import Dataset
from credibn.errors import Option, OptionError, Phrase, TooLargeError, warn
from credibn.options import ReadOptions, ScoreOptions
from credibn.posterior import searched_nodes
from credibn.scores import BGe, GaussianBIC, ScoreTable, read_scores
from credibn.scores.estimate import (
    LONG,
    ScoringEstimate,
    count_allowed_sets,
    estimate_problem,
    parents_by_default,
    parents_to_try,
    with_prediction,
)
from credibn.scores.partial import PartialScoring
from credibn.scores.prediction import limit_parents
from credibn.scores.problem import ScoringProblem
from credibn.scores.pruning import count_pairs, prune_for
from credibn.scores.scoring import stopped_while_scoring, table_of, try_score
from credibn.scores.setup import make_problem

_EITHER = "data", "scores"
_SHARE_RESERVED = 0.1
"""Of the time limit: if scoring does not end before, the rest is for finding the best network among small sets."""
_GRACE, _SMALL = 0.5, 3
"""Seconds for the small sets, however late it is, and the parents that these have at most."""
_HOPELESS, _RESUMED = 3.0, 100.0
"""Where scoring takes this many times longer than the time limit leaves, small sets are scored instead for as long as
there is time; with a checkpoint, only where no number of runs comes near the end."""
_SECONDS_PER_COUNT, _SECONDS_PER_SCORE, _SECONDS_PER_SET, _SECONDS_PER_CALL = 1e-8, 2e-6, 2e-5, 1e-4
"""For a row of a set of categories, a local score of them, a set of numbers, and anything else; with one thread."""
_MOMENT, _SHORT = 1.0, 10.0
"""Seconds: scoring that may take longer than the first is predicted by a sample of it; less than the second needs no
word beforehand, however short the time limit is."""
_SECONDS_PER_PAIR, _LEFT_BY_RULES = 1.5e-9, 1 / 8
"""For two parent sets that pruning compares; and the part of scoring that its rules leave, where they save little."""


class ScoreSource(Protocol):
    """Score tables on demand."""

    largest_epsilon: float
    n_variables: int

    @property
    def data(self) -> Dataset | None:
        """The table that is scored."""
        ...

    def table_for(self, epsilon: float, stage: str = "score") -> ScoreTable:
        """Return a table that lists every parent set of every network within epsilon of the optimum."""
        ...

    def try_table_for(self, epsilon: float) -> ScoreTable | None:
        """Return the same, or None where the run ends before: by the time limit, or because somebody stopped it."""
        ...

    def partial_table(self) -> ScoreTable:
        """Return a table that lists some parent sets of each node, after the run was stopped."""
        ...

    def n_searched(self) -> int:
        """Return how many variables may have edges."""
        ...

    def limit_parents(self) -> int | None:
        """Limit the parents of every variable where all parent sets are too many; None where they are not."""
        ...

    def seconds_to_score(self, epsilon: float) -> float:
        """Predict what scoring for this epsilon takes with one thread, from the number of steps alone."""
        ...

    def lists_everything(self, table: ScoreTable, epsilon: float) -> bool:
        """Whether the networks within epsilon of the optimum are all networks that the constraints allow."""
        ...


def open_source(
    data: Any,
    scores: Any,
    reading: ReadOptions,
    scoring: ScoreOptions,
    run: Run,
) -> ScoreSource:
    """Return the source of scores that the options of `learn` name."""
    if isinstance(data, ScoreTable):
        if scores is not None:
            raise OptionError("{} is a ScoreTable, and {} was given too; give one of them", *map(Option, _EITHER))
        data, scores = None, data
    if (data is None) is (scores is None):
        number = "neither was" if data is None else "both were"
        raise OptionError("give either {} or {}; {} given", *map(Option, _EITHER), number)
    if scores is None:
        return _FromData(data, reading, scoring, run)
    given = [Option(name) for name in (*scoring.given(), *reading.given())]
    if given:
        listed = Phrase(", ".join(["{}"] * len(given)), *given)
        raise OptionError("{} cannot change given scores: leave it out, or give the data instead", listed)
    with run.timing("read"):
        table = scores if isinstance(scores, ScoreTable) else _read_scores(scores)
    return _FromTable(table)


def _read_scores(path: Any) -> ScoreTable:
    if not isinstance(path, (str, PathLike)):
        raise OptionError(f"scores is {path!r:.80}; give a ScoreTable or the path of a score file")
    return read_scores(path)


def _span(table: ScoreTable) -> float:
    """Return how far apart any two networks made of these candidates can be."""
    best, worst = table.scores[table.offsets[:-1]], table.scores[table.offsets[1:] - 1]
    return math.fsum(best - worst)


def _seconds_at_most(problem: ScoringProblem, needed: ScoringEstimate) -> float:
    """Return how long scoring takes if no rule saves work."""
    if needed.engine == "local":  # a Python function for each parent set
        return needed.n_local_scores * _SECONDS_PER_CALL
    if needed.engine == "sets":
        is_fast = isinstance(problem.score, GaussianBIC | BGe)
        return needed.n_sets * (_SECONDS_PER_SET if is_fast else _SECONDS_PER_CALL)
    return needed.n_sets * needed.n_distinct * _SECONDS_PER_COUNT + needed.n_local_scores * _SECONDS_PER_SCORE


class _FromTable:
    data = None

    def __init__(self, table: ScoreTable) -> None:
        self._table = table
        self.n_variables = table.n_variables
        self.largest_epsilon = math.inf if table.epsilon is None else table.epsilon
        if table.epsilon is None:
            warn(
                "these scores do not say for which epsilon they were pruned: the result is complete only among "
                "networks made of the parent sets listed"
            )

    def table_for(self, epsilon: float, stage: str = "score") -> ScoreTable:
        return self._table

    def try_table_for(self, epsilon: float) -> ScoreTable:
        return self._table

    def partial_table(self) -> ScoreTable:
        return self._table

    def n_searched(self) -> int:
        return len(searched_nodes(self._table))

    def limit_parents(self) -> None:
        return None

    def seconds_to_score(self, epsilon: float) -> float:
        return 0.0

    def lists_everything(self, table: ScoreTable, epsilon: float) -> bool:
        return self.largest_epsilon == math.inf and epsilon >= _span(table)


class _FromData:
    largest_epsilon = math.inf

    def __init__(self, data: Any, reading: ReadOptions, scoring: ScoreOptions, run: Run) -> None:
        self._run, self._prior = run, scoring.prior
        self._table: ScoreTable | None = None
        self._for_all: ScoreTable | None = None
        with run.timing("read"):
            self._problem = make_problem(data, scoring, 0.0, reading, run.deadline)
        self._partial = PartialScoring(self._problem)
        self.data, self.n_variables = self._problem.data, self._problem.data.n_variables

    def n_searched(self) -> int:
        return self._problem.n_searched

    def limit_parents(self) -> int | None:
        most = parents_by_default(self._problem)
        if most is not None:
            self._problem = limit_parents(self._problem, most)
            self._partial = PartialScoring(self._problem)
        return most

    def seconds_to_score(self, epsilon: float) -> float:
        problem = self._within(epsilon)
        return _seconds_at_most(problem, estimate_problem(problem))

    def table_for(self, epsilon: float, stage: str = "score") -> ScoreTable:
        table = self._scored(epsilon, stage)
        if table is None:
            raise stopped_while_scoring(self._run)
        return table

    def try_table_for(self, epsilon: float) -> ScoreTable | None:
        with self._run.reserving(_SHARE_RESERVED * (self._run.time_limit or 0.0)):
            table = self._scored(epsilon, "score")
        if table is None and self._run.reason == "memory_limit":
            raise stopped_while_scoring(self._run)
        return table

    def partial_table(self) -> ScoreTable:
        run, partial = self._run, self._partial
        left = run.seconds_left() if run.reason == "time_limit" else None
        with run.timing("score"):
            estimate = estimate_problem(self._problem)
            partial.deepen(run.aside(max(left or 0.0, _GRACE)), min(estimate.largest_parent_set, _SMALL))
            return partial.table(self._prior, estimate, run)

    def _scored(self, epsilon: float, stage: str) -> ScoreTable | None:
        """Score, unless a table that serves this epsilon is at hand; None if the run was stopped."""
        known = None if self._table is None else self._table.epsilon
        if self._table is not None and known is not None and known >= epsilon:
            return self._table
        problem = self._within(epsilon)
        with self._run.timing(stage):
            estimate = estimate_problem(problem)
            most = self._run.max_bytes
            if most is not None and estimate.memory_bytes > most:
                raise TooLargeError(
                    "scoring needs about {}, above the memory limit of {}; raise {} or set {}",
                    byte_text(estimate.memory_bytes),
                    byte_text(most),
                    Option("memory_limit"),
                    Option("max_parents"),
                )
            if stage == "score" and (pruned := self._pruned(problem, estimate)) is not None:
                self._table = pruned
                return pruned
            self._partial = PartialScoring(problem)
            if stage == "score":
                self._look_ahead(problem, estimate)
            found = try_score(problem, estimate, self._run, finished=self._partial.finished)
            if found is None:
                return None
            self._partial.finished.clear()
            table = table_of(problem, self._prior, estimate, found)
        if stage == "score":
            self._table = table
        else:  # a search needs far less than the sum over all networks
            self._for_all = table
        return table

    def _pruned(self, problem: ScoringProblem, estimate: ScoringEstimate) -> ScoreTable | None:
        """Return what was scored for all networks, pruned; None where scoring gives other digits or may be faster."""
        table = self._for_all
        if table is None or table.tolerance != estimate.tolerance:  # scores are rounded to another grid
            return None
        if count_pairs(table) * _SECONDS_PER_PAIR > _LEFT_BY_RULES * _seconds_at_most(problem, estimate):
            return None
        pruned = prune_for(table, problem.epsilon, lambda: self._run("score", 0.0))
        return pruned if pruned.epsilon == problem.epsilon else None

    def _look_ahead(self, problem: ScoringProblem, estimate: ScoringEstimate) -> None:
        """Predict how long scoring takes; where that is too long, say so, and score small sets first."""
        run, left = self._run, self._run.seconds_left()
        if _seconds_at_most(problem, estimate) <= _MOMENT:
            return
        estimate = with_prediction(problem, estimate, run.n_workers, LONG if left is None else min(left, LONG))
        if estimate.seconds is None:  # it will be refused
            return
        run.expect("score", estimate.seconds)
        if estimate.seconds <= (LONG if left is None else max(left, _SHORT)):
            return
        feasible = None
        if estimate.feasible_parents is not None and estimate.feasible_seconds is not None:
            feasible = estimate.feasible_parents, estimate.feasible_seconds
        warn(
            "scoring {} columns with up to {} parents takes about {}{}: {}",
            estimate.n_searched,
            estimate.largest_parent_set,
            duration_text(estimate.seconds),
            "" if left is None else Phrase(", more than {} leaves", Option("time_limit")),
            parents_to_try(feasible),
        )
        if left is not None and estimate.seconds > (_RESUMED if run.store is not None else _HOPELESS) * left:
            self._partial.deepen(run.aside(left), estimate.largest_parent_set - 1)

    def lists_everything(self, table: ScoreTable, epsilon: float) -> bool:
        span = _span(table)
        if epsilon < span:
            return False
        # A score may be undefined for some sets: such a table never lists all that is allowed, but ceases to grow.
        ceased = epsilon >= math.ldexp(max(span, 1.0), 20)
        return ceased or table.n_candidates >= count_allowed_sets(self._problem)

    def _within(self, epsilon: float) -> ScoringProblem:
        return replace(self._problem, epsilon=epsilon)
