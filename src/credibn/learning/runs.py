"""What `learn` and the k best have in common: search within limits, and collect the result."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credibn._base.version import version
from credibn._run import Run
from credibn.credible import CredibleSet
from credibn.credible.factored_structures import FactoredStructures
from credibn.credible.families import StoredFamilies, families_in
from credibn.credible.structures import Structures, best_classes, best_networks, group
from credibn.errors import Option, OptionError, Phrase, TimeLimitError, TooLargeError, warn
from credibn.learning.all_networks import sum_beside_search
from credibn.learning.estimated_share import estimate_beside_search
from credibn.learning.start import Learning
from credibn.posterior import MOST_VARIABLES, Posterior
from credibn.scores import ScoreTable
from credibn.search import (
    FACTORED,
    Found,
    SearchProblem,
    Unit,
    choose_engine,
    choose_unit,
    exact_scores,
    find_good_network,
    make_problem,
    run_search,
    tolerance_of,
)

_SECONDS_TO_COUNT = 0.5
"""What the counts for prediction may take once a limit is reached."""
FEWEST_ROWS = 1024
"""Networks listed at first when some number of classes is wanted and networks must be listed one by one."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What one search found, with the table that it searched; not yet cut to the limits."""

    table: ScoreTable
    unit: Unit
    engine: str
    found: Found
    rows: Structures
    n_left_out: int = 0
    """Networks, or classes, that tie with the last one and are not among the rows."""

    @property
    def optimal_score(self) -> float:
        """The best log score known."""
        return -self.found.best_cost + 0.0

    @property
    def bound(self) -> float:
        """No network that scores above this is missing; minus infinity when none is that was asked for."""
        last = float(self.rows.scores[-1]) if self.found.is_cut and len(self.rows) else -math.inf
        return max(-self.found.unexplored_bound, last)


def find(
    call: Learning, table: ScoreTable, epsilon: float, max_networks: int | None = None, max_classes: int | None = None
) -> Answer:
    """Search, with quotas that leave at least what is asked for and all that ties with it; one network has no ties."""
    unit = choose_unit(table, call.search.unit, call.search.score_equivalent)
    if max_networks == 1:
        answer = find_optimum(call, table)
        if epsilon == 0.0 or answer.found.stopped or answer.found.is_cut or answer.rows.n_networks > 1:
            return answer  # elsewhere, whether the optimum is the only credible network is left to find out
    if unit == "classes":
        return _search(call, table, epsilon, unit, max_classes, max_networks)
    if max_classes is None or call.search.engine == FACTORED:
        return _search(call, table, epsilon, unit, max_networks, None)
    max_rows = max(FEWEST_ROWS, 4 * max_classes)
    while True:
        if max_networks is not None:
            max_rows = min(max_rows, max_networks)
        answer = _search(call, table, epsilon, unit, max_rows, None)
        is_enough = answer.rows.n_classes >= max_classes or len(answer.rows) < max_rows or max_rows == max_networks
        if is_enough or answer.found.stopped or not answer.found.is_cut:
            return answer
        max_rows *= 4


def find_optimum(call: Learning, table: ScoreTable) -> Answer:
    """Prove the optimum; return all that ties with it if that is soon listed, otherwise one network or class."""
    unit = choose_unit(table, call.search.unit, call.search.score_equivalent)
    needs_list = call.search.engine != FACTORED  # a count does not care how much ties
    return _search(call, table, 0.0, unit, None, None, optimum_only=needs_list)


def _search(
    call: Learning,
    table: ScoreTable,
    epsilon: float,
    unit: Unit,
    max_rows: int | None,
    max_networks: int | None,
    optimum_only: bool = False,
) -> Answer:
    run = call.run
    problem = make_problem(
        table,
        epsilon=epsilon,
        unit=unit,
        max_rows=max_rows,
        max_networks=max_networks,
        max_bytes=run.max_bytes,
        optimum_only=optimum_only,
        run=run,
    )
    if call.search.engine == FACTORED:
        return _count(call, table, problem)
    engine = choose_engine(problem, call.search.engine)
    with run.timing("search"):
        found, scores = run_search(problem, table, engine)
    run.follow(None)
    if not math.isfinite(found.best_cost):
        if not found.stopped:
            raise OptionError("no network can be made of these parent sets: every choice has a directed cycle")
        if run.reason in (None, "memory_limit"):
            raise nothing_known(run, "before a network was found")
        return _one_network(call, table, None, found.unexplored_bound)
    if found.incumbent is not None and not len(found.choices):
        return _one_network(call, table, found.incumbent, found.unexplored_bound)
    with run.timing("search"):
        found, rows = _in_rows(run, table, unit, found, scores)
    return Answer(table, unit, found.engine, found, rows)


def _count(call: Learning, table: ScoreTable, problem: SearchProblem) -> Answer:
    """Count the credible networks; where not one was counted in time, return the best that is known."""
    run = call.run
    with run.timing("search"):
        from credibn.factored import count_credible  # few searches count: the others do not wait for the import

        counting = count_credible(problem)
    run.follow(None)
    networks = counting.networks
    if networks is None and counting.is_complete:
        raise OptionError("no network can be made of these parent sets: every choice has a directed cycle")
    if networks is None:
        return _one_network(call, table, counting.incumbent, counting.unexplored_bound)
    found = Found(
        choices=np.empty((0, problem.n_variables), dtype=np.uint32),
        costs=np.empty(0),
        sizes=np.empty((0, 0), dtype=np.uint64),
        best_cost=networks.best_cost,
        stopped=not counting.is_complete,
        unexplored_bound=counting.unexplored_bound,
        statistics=counting.statistics,
    )
    return Answer(table, problem.unit, FACTORED, found, FactoredStructures(networks))


def best_so_far(call: Learning) -> Answer:
    """Return the best network that can be found after the run was stopped while parent sets were scored."""
    run = call.run
    share = run.done.get("score", 0.0)
    answer = _one_network(call, call.source.partial_table(), None, -math.inf)
    fix = Phrase("raise {} or set {}", Option("time_limit"), Option("max_parents"))
    if run.store is None:
        fix = Phrase("{}; with {} a run can be resumed", fix, Option("checkpoint"))
    elif share > 0:
        fix = Phrase("start again to resume, or set {}", Option("max_parents"))
    ended = "the time limit was reached" if run.reason == "time_limit" else "the run was stopped"
    warn(
        "{} when {:.0%} of the scoring was done: the network returned is the best that a local search found, and "
        "nothing is proven; {}",
        ended,
        share,
        fix,
    )
    return answer


def _one_network(call: Learning, table: ScoreTable, row: NDArray[np.uint32] | None, unexplored_bound: float) -> Answer:
    """Return this network, or the best that a local search finds; none that costs less than the bound is missing."""
    run = call.run
    with run.timing("search"):
        row = find_good_network(table, run) if row is None else row
        if row is None:
            raise nothing_known(run, "before a network was found")
        scores = exact_scores(table, row[np.newaxis])
        found = Found(
            choices=row[np.newaxis],
            costs=-scores,
            sizes=np.zeros((1, 0), dtype=np.uint64),
            best_cost=float(-scores[0]),
            stopped=True,
            unexplored_bound=min(unexplored_bound, float(-scores[0])),
        )
        rows = group(table, found.choices, scores, run.n_threads, run)
    return Answer(table, "networks", "local_search", found, rows)


def _in_rows(
    run: Run, table: ScoreTable, unit: Unit, found: Found, scores: NDArray[np.float64]
) -> tuple[Found, Structures]:
    """Return the rows, networks grouped by class; only the best of them where there is no time to look at all."""
    if unit == "networks":
        rows = group(table, found.choices, scores, run.n_threads, run)
    else:
        rows = Structures(found.choices, scores, found.sizes, None)
    if len(rows) < len(scores):
        bound = min(found.unexplored_bound, -float(scores[len(rows)]))
        found = replace(found, stopped=True, unexplored_bound=bound)
    return found, rows


def nothing_known(run: Run, when: str) -> BaseException:
    """Return the error for a search that ended before it could say anything exact."""
    if run.reason == "time_limit":
        return TimeLimitError(
            "the time limit was reached {}, so nothing exact can be said; raise {}", when, Option("time_limit")
        )
    if run.reason in (None, "memory_limit"):
        return TooLargeError(
            "the search ran out of memory {}; raise {}, or lower {} or {}",
            when,
            *map(Option, ("memory_limit", "bayes_factor", "epsilon")),
        )
    return KeyboardInterrupt(f"the search was stopped {when}")


def within_limits(
    call: Learning, answer: Answer, max_networks: int | None, max_classes: int | None
) -> tuple[Structures, str | None, float | None]:
    """Return the rows that the limits leave, which limit was reached, and the best score that may be missing."""
    rows, found = answer.rows, answer.found
    tolerance = tolerance_of(answer.table)
    reason, bound = why_stopped(call, found), answer.bound
    if found.is_cut:
        reason = reason or "memory_limit"  # unless one of the others turns out to be full
    if max_classes is not None and rows.n_classes >= max_classes:
        best = best_classes(rows, max_classes, tolerance)
        if len(best) < len(rows) or reason == "memory_limit":
            reason = "max_classes" if reason in (None, "memory_limit") else reason
            bound = max(bound, _first_missing(rows, best))
        rows = best
    if max_networks is not None and rows.n_networks >= max_networks:
        best = best_networks(answer.table, rows, max_networks)
        if best.n_networks < rows.n_networks or reason == "memory_limit":
            reason = "max_networks" if reason in (None, "memory_limit", "max_classes") else reason
            bound = max(bound, _first_missing(rows, best))
        rows = best
    return rows, reason, None if reason is None else bound


def why_stopped(call: Learning, found: Found) -> str | None:
    """Return what ended the search before it was done."""
    return call.run.reason or "memory_limit" if found.stopped else None


def _first_missing(rows: Structures, best: Structures) -> float:
    if best.n_networks == rows.n_networks:
        return -math.inf
    is_expanded = (best.class_of is None) is not (rows.class_of is None)
    return float(rows.scores[0 if is_expanded else len(best)])


def collect(
    call: Learning,
    answer: Answer,
    rows: Structures,
    epsilon: float,
    reason: str | None,
    bound: float | None,
    n_requested: int | None = None,
    n_tied_at_boundary: int | None = None,
    over_all: Posterior | None = None,
) -> CredibleSet:
    """Return the result, with all that is to be known about how it came to be; `over_all` where it is known already."""
    table = answer.table
    estimate = None
    if call.search.posterior_share and call.source.n_searched() > MOST_VARIABLES:
        certain = _certain_gap(answer, epsilon, bound, n_requested is not None and n_tied_at_boundary != 0)
        estimate = estimate_beside_search(call.source, table, rows, answer.optimal_score, certain, call.run)
    elif over_all is None:
        over_all = sum_beside_search(call.source, call.search.posterior_share, call.run)
    families = _count_families(call, table, rows)
    scoring = dict(table.provenance)
    settings = dict(call.settings)
    if settings["score"] == "auto":
        settings["score"] = scoring.get("score")
    if settings["prior"] is not None:
        settings["prior"] = scoring.get("prior")
    reading = None if call.source.data is None else call.source.data.reading
    call.run.can_resume = reason in ("time_limit", "memory_limit", "interrupted")
    return CredibleSet(
        score_table=table,
        structures=rows,
        optimal_score=answer.optimal_score,
        epsilon=epsilon,
        complete=reason is None,
        engine=answer.engine,
        stopped_because=reason,
        unexplored_bound=bound,
        log_total_mass=None if over_all is None else over_all.log_mass,
        edges_over_all=None if over_all is None else over_all.edges,
        share_estimate=estimate,
        timings=call.run.timings(),
        settings=settings,
        provenance={
            "version": version(),
            "data_fingerprint": scoring.get("data_fingerprint"),
            "n_rows": scoring.get("n_rows"),
            "scores_complete_for": table.epsilon,
            "unit": answer.unit,
            "reading": None if reading is None else reading.as_json(),
        },
        statistics=answer.found.statistics,
        families=families,
        n_requested=n_requested,
        n_tied_at_boundary=n_tied_at_boundary,
    )


def _certain_gap(answer: Answer, epsilon: float, bound: float | None, may_miss_ties: bool) -> float:
    """Return the largest epsilon within which no network is missing; negative where there is none."""
    slack = 2 * tolerance_of(answer.table)
    if bound is not None:
        return answer.optimal_score - bound - slack
    return epsilon - slack if may_miss_ties else epsilon


def _count_families(call: Learning, table: ScoreTable, rows: Structures) -> StoredFamilies | None:
    """Return the counts that prediction needs; None without data, or where they are not wanted or take too long."""
    data, left = call.source.data, call.run.seconds_left()
    if data is None or not call.limits.keep_counts:
        return None
    if call.run.reason == "interrupted":
        left = 0.0
    end = math.inf if left is None else time.monotonic() + max(left, _SECONDS_TO_COUNT)
    with call.run.timing("search"):
        return StoredFamilies.count(data, families_in(table, rows), lambda: time.monotonic() < end)
