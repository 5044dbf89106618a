"""Where the search gets its score tables: from data, scored for the epsilon at hand, or from a table that is given.

Both kinds answer the same three questions: the table for an epsilon, the largest epsilon there can be a table for, and
whether the networks within an epsilon are all networks there are.
"""

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, Protocol

from credibn._base.text import byte_text
from credibn._run import Workbench
from credibn._run.memory import limit_and_fix
from credibn._run.watch import Watch
from credibn.data import Dataset
from credibn.data.reading import read_table
from credibn.data.sources import reading_until
from credibn.errors import CredibnWarning, Option, OptionError, Phrase, TimeLimitError, TooLargeError
from credibn.options import ReadOptions, ScoreOptions
from credibn.posterior import searched_nodes
from credibn.scores import ScoreTable, read_scores
from credibn.scores.pieces import TIME_LIMIT_REACHED
from credibn.scores.scoring import count_allowed_sets, estimate_for, resolve_score, score_on

__all__ = ["Clock", "ScoreSource", "open_source"]

_MOST_COUNTED, _MOST_LOCAL_SCORES = 10**8, 10**4
"""Rows of all sets together, and calls of a Python function, that take well below a second."""


class Clock:
    """Seconds spent in each stage."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._seconds = {"read": 0.0, "score": 0.0, "search": 0.0, "posterior": 0.0}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of what is done inside."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] += time.perf_counter() - before

    def timings(self) -> dict[str, float]:
        """Return the seconds of each stage and in total."""
        return {**self._seconds, "total": time.perf_counter() - self._started}


class ScoreSource(Protocol):
    """Score tables on demand."""

    largest_epsilon: float
    n_variables: int

    def table_for(self, epsilon: float, stage: str = "score") -> ScoreTable:
        """Return a table that lists every parent set of every network within epsilon of the optimum."""
        ...

    def n_searched(self) -> int:
        """Return how many variables may have edges."""
        ...

    def is_cheap_to_score(self, epsilon: float) -> bool:
        """Whether scoring for this epsilon takes well below a second."""
        ...

    def lists_everything(self, table: ScoreTable, epsilon: float) -> bool:
        """Whether the networks within epsilon of the optimum are all networks that the constraints allow."""
        ...


def open_source(
    data: Any,
    scores: Any,
    reading: ReadOptions,
    scoring: ScoreOptions,
    *,
    watch: Watch,
    clock: Clock,
    n_threads: int,
    max_bytes: int | None,
    bench: Workbench,
) -> ScoreSource:
    """Return the source of scores that the options of `learn` name.

    Raises
    ------
    OptionError
        When data and scores are both given or both missing, or options of scoring stand beside finished scores.
    """
    if isinstance(data, ScoreTable):
        if scores is not None:
            raise OptionError("data is a ScoreTable, and scores was given too; give one of them")
        data, scores = None, data
    if (data is None) is (scores is None):
        raise OptionError("give either data or scores; " + ("both were given" if data is not None else "neither was"))
    if scores is None:
        return _FromData(data, reading, scoring, watch, clock, n_threads, max_bytes, bench)
    given = [Option(name) for name in (*scoring.given(), *reading.given())]
    if given:
        listed = Phrase(", ".join(["{}"] * len(given)), *given)
        raise OptionError("{} cannot change scores that are finished: leave it out, or give the data instead", listed)
    with clock.stage("read"):
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


class _FromTable:
    def __init__(self, table: ScoreTable) -> None:
        self._table = table
        self.n_variables = table.n_variables
        self.largest_epsilon = math.inf if table.epsilon is None else table.epsilon
        if table.epsilon is None:
            warnings.warn(
                "these scores do not say for which epsilon they were pruned: the result is complete only relative to "
                "the parent sets that are listed",
                CredibnWarning,
                stacklevel=4,
            )

    def table_for(self, epsilon: float, stage: str = "score") -> ScoreTable:
        return self._table

    def n_searched(self) -> int:
        return len(searched_nodes(self._table))

    def is_cheap_to_score(self, epsilon: float) -> bool:
        return True

    def lists_everything(self, table: ScoreTable, epsilon: float) -> bool:
        return self.largest_epsilon == math.inf and epsilon >= _span(table)


class _FromData:
    largest_epsilon = math.inf

    def __init__(
        self,
        data: Any,
        reading: ReadOptions,
        scoring: ScoreOptions,
        watch: Watch,
        clock: Clock,
        n_threads: int,
        max_bytes: int | None,
        bench: Workbench,
    ) -> None:
        self._scoring, self._watch, self._clock = scoring, watch, clock
        self._n_threads, self._max_bytes, self._bench = n_threads, max_bytes, bench
        self._table: ScoreTable | None = None
        columns = resolve_score(scoring.score, scoring.equivalent_sample_size).columns
        with clock.stage("read"), reading_until(watch.deadline):
            self._data = read_table(data, reading if isinstance(data, Dataset) else reading.for_columns(columns))
        self.n_variables = self._data.n_variables

    def n_searched(self) -> int:
        return self._data.n_variables - len(self._data.constant_columns)

    def is_cheap_to_score(self, epsilon: float) -> bool:
        needed = estimate_for(self._data, self._scoring, epsilon)
        if needed.engine == "local":  # a Python function for each parent set
            return needed.n_local_scores <= _MOST_LOCAL_SCORES
        return needed.n_sets * needed.n_distinct <= _MOST_COUNTED

    def table_for(self, epsilon: float, stage: str = "score") -> ScoreTable:
        """Score, unless a table for this epsilon or a larger one is at hand."""
        known = None if self._table is None else self._table.epsilon
        if self._table is not None and known is not None and known >= epsilon:
            return self._table
        self._check_memory(epsilon)
        try:
            with self._clock.stage(stage):
                self._table = score_on(
                    self._bench,
                    self._data,
                    self._scoring,
                    epsilon,
                    n_threads=self._n_threads,
                    time_left=self._watch.seconds_left(),
                    progress=lambda fraction: self._watch("score", fraction),
                )
        except KeyboardInterrupt:
            if self._watch.reason == "time_limit":
                raise TimeLimitError("{}", TIME_LIMIT_REACHED) from None
            if self._watch.reason == "memory_limit":
                fix = limit_and_fix() if self._max_bytes is None else Phrase("raise {}", Option("memory_limit"))
                raise TooLargeError(
                    "scoring took more memory than it may: {}, or lower {} or {}, or set {}",
                    fix,
                    *map(Option, ("bayes_factor", "epsilon", "max_parents")),
                ) from None
            raise
        return self._table

    def lists_everything(self, table: ScoreTable, epsilon: float) -> bool:
        span = _span(table)
        if epsilon < span:
            return False
        # A score may be undefined for some sets: such a table never lists all that is allowed, but ceases to grow.
        ceased = epsilon >= math.ldexp(max(span, 1.0), 20)
        return ceased or table.n_candidates >= count_allowed_sets(self._data, self._scoring)

    def _check_memory(self, epsilon: float) -> None:
        if self._max_bytes is None:
            return
        need = estimate_for(self._data, self._scoring, epsilon).memory_bytes
        if need > self._max_bytes:
            raise TooLargeError(
                "scoring needs about {}, above the memory limit of {}; raise {} or set {}",
                byte_text(need),
                byte_text(self._max_bytes),
                Option("memory_limit"),
                Option("max_parents"),
            )
