"""What `learn` and the k best have in common: open the scores, search within limits, collect the result."""

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn._base.version import version
from credibn._run import Workbench
from credibn._run.memory import explaining_shortage
from credibn._run.watch import Watch
from credibn.credible import CredibleSet
from credibn.credible.structures import Structures, best_classes, best_networks, group
from credibn.errors import Option, OptionError, TimeLimitError, TooLargeError
from credibn.learning.all_networks import find_log_total_mass
from credibn.learning.options import Checkpoint, Kind, as_json, open_bench
from credibn.learning.score_source import Clock, ScoreSource, open_source
from credibn.options import Limits, Progress, ReadOptions, ScoreOptions, SearchOptions
from credibn.posterior import estimate_posterior
from credibn.scores import ScoreTable
from credibn.search import (
    Found,
    Unit,
    check_engine_name,
    choose_engine,
    choose_unit,
    make_problem,
    run_search,
    tolerance_of,
)

__all__ = [
    "FEWEST_ROWS",
    "Answer",
    "Run",
    "collect",
    "find",
    "nothing_known",
    "releasing",
    "settle",
    "start",
    "why_stopped",
    "within_limits",
]

FEWEST_ROWS = 1024
"""Networks listed at first when some number of classes is wanted and networks must be listed one by one."""
"""Classes whose members are looked at between two questions to the watch."""


@dataclass(frozen=True, eq=False)
class Run:
    """What stays the same from the first to the last search of one call."""

    source: ScoreSource
    watch: Watch
    clock: Clock
    settings: dict[str, Any]
    search: SearchOptions
    limits: Limits
    k_best: tuple[int, Kind] | None
    bench: Workbench
    owns_bench: bool


@dataclass(frozen=True, eq=False)
class Answer:
    """What one search found, with the table that it searched; not yet cut to the limits."""

    table: ScoreTable
    unit: Unit
    engine: str
    found: Found
    rows: Structures

    @property
    def optimal_score(self) -> float:
        """The best log score known."""
        return -self.found.best_cost + 0.0

    @property
    def bound(self) -> float:
        """No network that scores above this is missing; minus infinity when none is that was asked for."""
        last = float(self.rows.scores[-1]) if self.found.is_cut and len(self.rows) else -math.inf
        return max(-self.found.unexplored_bound, last)


def start(
    data: Any,
    scores: Any,
    reading: ReadOptions,
    scoring: ScoreOptions,
    search: SearchOptions,
    limits: Limits,
    *,
    k_best: tuple[int, Kind] | None = None,
    executor: Executor | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> Run:
    """Open the source of scores for these options; the clock starts here.

    `k_best` asks for this many networks or classes, however far they reach. `seconds` is what is left of the time
    limit, where the caller has already used some of it.
    """
    check_engine_name(search.engine)
    if k_best is not None:
        k_best = whole_number("k", k_best[0], 1), k_best[1]
    clock = Clock()
    bench = open_bench(executor, checkpoint, limits.threads)
    watch = Watch(progress, limits.seconds if seconds is None else seconds, limits.max_bytes, bench.seconds_per_row)
    with releasing(bench, bench is not checkpoint):
        source = open_source(
            data,
            scores,
            reading,
            scoring,
            watch=watch,
            clock=clock,
            n_threads=limits.threads,
            max_bytes=limits.max_bytes,
            bench=bench,
        )
        if search.posterior_share:
            estimate_posterior(source.n_searched(), marginals=False)  # refuses too many variables before the search
    settings = {"data": data, "scores": scores, **_echoed(reading, scoring, search, limits, k_best)}
    return Run(
        source=source,
        watch=watch,
        clock=clock,
        settings={name: as_json(value) for name, value in settings.items()},
        search=search,
        limits=limits,
        k_best=k_best,
        bench=bench,
        owns_bench=bench is not checkpoint,
    )


def _echoed(
    reading: ReadOptions, scoring: ScoreOptions, search: SearchOptions, limits: Limits, k_best: tuple[int, Kind] | None
) -> dict[str, Any]:
    """Return the options that a result names; those of reading only where they were given."""
    wanted = search.as_dict()
    gap = {name: wanted.pop(name) for name in ("bayes_factor", "epsilon", "ratio")}
    asked = gap if k_best is None else {"k": k_best[0], "k_best": k_best[1]}
    allowed = {name: value for name, value in limits.as_dict().items() if name != "n_threads"}
    return {**asked, **scoring.as_dict(), **wanted, **allowed, **reading.given()}


def find(
    run: Run, table: ScoreTable, epsilon: float, max_networks: int | None = None, max_classes: int | None = None
) -> Answer:
    """Search, with quotas that leave at least what is asked for and all that ties with it."""
    unit = choose_unit(table, run.search.unit, run.search.score_equivalent)
    if unit == "classes":
        return _search(run, table, epsilon, unit, max_classes, max_networks)
    if max_classes is None:
        return _search(run, table, epsilon, unit, max_networks, None)
    max_rows = max(FEWEST_ROWS, 4 * max_classes)
    while True:
        if max_networks is not None:
            max_rows = min(max_rows, max_networks)
        answer = _search(run, table, epsilon, unit, max_rows, None)
        is_enough = answer.rows.n_classes >= max_classes or len(answer.rows) < max_rows or max_rows == max_networks
        if is_enough or answer.found.stopped or not answer.found.is_cut:
            return answer
        max_rows *= 4


def _search(
    run: Run, table: ScoreTable, epsilon: float, unit: Unit, max_rows: int | None, max_networks: int | None
) -> Answer:
    problem = make_problem(
        table,
        epsilon=epsilon,
        unit=unit,
        max_rows=max_rows,
        max_networks=max_networks,
        max_bytes=run.limits.max_bytes,
        n_threads=run.limits.threads,
        watch=run.watch,
        follow=run.watch.follow,
        seconds_left=run.watch.seconds_left,
        end_time=run.watch.end_time,
        bench=run.bench,
    )
    engine = choose_engine(problem, run.search.engine)
    with run.clock.stage("search"):
        found, scores = run_search(problem, table, engine)
    run.watch.follow(None)
    if not math.isfinite(found.best_cost):
        if not found.stopped:
            raise OptionError("no network can be made of these parent sets: every choice has a directed cycle")
        raise nothing_known(run.watch, "before a network was found")
    with run.clock.stage("search"):
        found, rows = _in_rows(run, table, unit, found, scores)
    return Answer(table, unit, found.engine, found, rows)


def _in_rows(
    run: Run, table: ScoreTable, unit: Unit, found: Found, scores: NDArray[np.float64]
) -> tuple[Found, Structures]:
    """Return the rows, networks grouped by class; only the best of them where there is no time to look at all."""
    if unit == "networks":
        rows = group(table, found.choices, scores, run.limits.threads, run.watch)
    else:
        rows = Structures(found.choices, scores, found.sizes, None)
    if len(rows) < len(scores):
        bound = min(found.unexplored_bound, -float(scores[len(rows)]))
        found = replace(found, stopped=True, unexplored_bound=bound)
    return found, rows


def nothing_known(watch: Watch, when: str) -> BaseException:
    """Return the error for a search that ended before it could say anything exact."""
    if watch.reason == "time_limit":
        return TimeLimitError(
            "the time limit was reached {}, so nothing exact can be said; raise {}", when, Option("time_limit")
        )
    if watch.reason in (None, "memory_limit"):
        return TooLargeError(
            "the search ran out of memory {}; raise {}, or lower {} or {}",
            when,
            *map(Option, ("memory_limit", "bayes_factor", "epsilon")),
        )
    return KeyboardInterrupt(f"the search was stopped {when}")


def within_limits(
    run: Run, answer: Answer, max_networks: int | None, max_classes: int | None
) -> tuple[Structures, str | None, float | None]:
    """Return the rows that the limits leave, which limit struck, and the best score that may be missing."""
    rows, found = answer.rows, answer.found
    tolerance = tolerance_of(answer.table)
    reason, bound = why_stopped(run, found), answer.bound
    if found.is_cut:
        reason = reason or "memory_limit"  # unless one of the others turns out to be full
    if max_classes is not None and rows.n_classes >= max_classes:
        kept = best_classes(rows, max_classes, tolerance)
        if len(kept) < len(rows) or reason == "memory_limit":
            reason = "max_classes" if reason in (None, "memory_limit") else reason
            bound = max(bound, _first_missing(rows, kept))
        rows = kept
    if max_networks is not None and rows.n_networks >= max_networks:
        kept = best_networks(answer.table, rows, max_networks)
        if kept.n_networks < rows.n_networks or reason == "memory_limit":
            reason = "max_networks" if reason in (None, "memory_limit", "max_classes") else reason
            bound = max(bound, _first_missing(rows, kept))
        rows = kept
    return rows, reason, None if reason is None else bound


def why_stopped(run: Run, found: Found) -> str | None:
    """Return what ended the search before it was done."""
    return run.watch.reason or "memory_limit" if found.stopped else None


@contextmanager
def releasing(bench: Workbench, is_ours: bool) -> Iterator[None]:
    """Let go of the folder when something goes wrong: the same call may come again at once.

    Raises
    ------
    TooLargeError
        Where memory, or a thread, could not be had.
    """
    try:
        with explaining_shortage():
            yield
    except BaseException:
        if is_ours:
            bench.close()
        raise


def settle(bench: Workbench, reason: str | None) -> None:
    """Remove what was kept, unless the same call may go on from there: after a limit of time or memory, or Ctrl-C."""
    if reason in ("time_limit", "memory_limit", "interrupted"):
        bench.close()
    else:
        bench.forget()


def _first_missing(rows: Structures, kept: Structures) -> float:
    if kept.n_networks == rows.n_networks:
        return -math.inf
    is_expanded = (kept.class_of is None) is not (rows.class_of is None)
    return float(rows.scores[0 if is_expanded else len(kept)])


def collect(
    run: Run,
    answer: Answer,
    rows: Structures,
    epsilon: float,
    reason: str | None,
    bound: float | None,
    **of_k_best: int,
) -> CredibleSet:
    """Return the result, with all that is to be known about how it came to be."""
    table = answer.table
    log_total_mass = find_log_total_mass(
        run.source, run.search.posterior_share, run.watch, run.clock, run.limits.max_bytes
    )
    scoring = dict(table.provenance)
    settings = dict(run.settings)
    if settings["prior"] is not None:
        settings["prior"] = scoring.get("prior")
    if run.owns_bench:
        settle(run.bench, reason)
    return CredibleSet(
        score_table=table,
        structures=rows,
        optimal_score=answer.optimal_score,
        epsilon=epsilon,
        complete=reason is None,
        engine=answer.engine,
        stopped_because=reason,
        unexplored_bound=bound,
        log_total_mass=log_total_mass,
        timings=run.clock.timings(),
        settings=settings,
        provenance={
            "version": version(),
            "data_fingerprint": scoring.get("data_fingerprint"),
            "n_rows": scoring.get("n_rows"),
            "scores_complete_for": table.epsilon,
            "unit": answer.unit,
        },
        statistics=answer.found.statistics,
        **of_k_best,
    )
