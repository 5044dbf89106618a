"""The k best networks, and the k best classes, however far they reach.

What KBest and KBestEC compute (Tian, He & Ram 2010; Chen & Tian 2014), by the machinery of the credible set: search
within a small epsilon, and double it until enough are found, so only as much is scored and searched as is needed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from os import PathLike
from typing import Any

from credibn.credible import CredibleSet
from credibn.credible.structures import Structures, best_networks, count_at_least, expand
from credibn.learning.best_first import find_best
from credibn.learning.runs import Answer, best_so_far, collect, find_optimum, why_stopped
from credibn.learning.start import Kind, Learning, started
from credibn.options import DEFAULT_BAYES_FACTOR, Edges, Progress, suggesting
from credibn.scores import LocalScore, ScoreTable, SetScore
from credibn.scores.priors import StructurePrior
from credibn.search import tolerance_of

_suggesting = partial(
    suggesting,
    instead=dict.fromkeys(
        ("bayes_factor", "epsilon", "ratio", "max_networks", "max_classes"),
        "it finds the k best; give only k, or use learn",
    ),
)


@_suggesting
def k_best_networks(
    data: Any = None,
    k: int = 100,
    *,
    scores: ScoreTable | str | PathLike[str] | None = None,
    score: str | SetScore | LocalScore = "auto",
    equivalent_sample_size: float | None = None,
    forbidden_edges: Edges | None = None,
    required_edges: Edges | None = None,
    tiers: Sequence[Iterable[str]] | None = None,
    max_parents: int | Mapping[str, int] | None = None,
    prior: StructurePrior | None = None,
    score_equivalent: bool | None = None,
    unit: str = "auto",
    engine: str = "auto",
    posterior_share: bool | None = None,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    n_threads: int | None = None,
    keep_counts: bool = True,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    columns: str | Mapping[str, str] | None = None,
    drop: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    state_names: Mapping[str, Sequence[object]] | None = None,
    weights: str | None = None,
    interventions: Any = None,
    missing: str = "error",
    missing_values: Iterable[str] | None = None,
    discretise: Any = None,
    max_states: int = 100,
) -> CredibleSet:
    """Find the k best networks, proven to be the best.

    Parameters
    ----------
    data : as for `learn`
    k : int
        Number of networks; fewer are returned only if there are no more. Ties with the last are broken by their parent
        sets; `CredibleSet.n_tied_at_boundary` counts those left out. With k = 1 it is None where more than a few
        thousand networks tie, and any one of them is returned.
    scores, score, equivalent_sample_size, forbidden_edges, required_edges, tiers, max_parents, prior, score_equivalent
        As for `learn`.
    unit, engine, posterior_share, time_limit, memory_limit, n_threads, keep_counts, executor, checkpoint, progress
        As for `learn`.
    columns, drop, only, encoding, decimal, thousands, comment
        How the table is read, see `read_data`; by default the columns are what the score takes.
    state_names, weights, interventions, missing, missing_values, discretise, max_states
        Likewise.

    Returns
    -------
    CredibleSet
        Its epsilon is the gap between the best and the last. If the time ends while parent sets are scored, it holds
        what was found before for a smaller epsilon, or else the best network of a local search, as for `learn`.

    Warns
    -----
    CredibnWarning
        As `learn`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(80) // 40
    >>> best = k_best_networks(np.column_stack([x, x, np.arange(80) % 2]), k=1)
    >>> best.n_networks, best.n_tied_at_boundary
    (1, 1)
    """
    with started(locals(), (k, "networks")) as call:
        return find_k_best(call)


@_suggesting
def k_best_classes(
    data: Any = None,
    k: int = 100,
    *,
    scores: ScoreTable | str | PathLike[str] | None = None,
    score: str | SetScore | LocalScore = "auto",
    equivalent_sample_size: float | None = None,
    forbidden_edges: Edges | None = None,
    required_edges: Edges | None = None,
    tiers: Sequence[Iterable[str]] | None = None,
    max_parents: int | Mapping[str, int] | None = None,
    prior: StructurePrior | None = None,
    score_equivalent: bool | None = None,
    unit: str = "auto",
    engine: str = "auto",
    posterior_share: bool | None = None,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    n_threads: int | None = None,
    keep_counts: bool = True,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    columns: str | Mapping[str, str] | None = None,
    drop: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    state_names: Mapping[str, Sequence[object]] | None = None,
    weights: str | None = None,
    interventions: Any = None,
    missing: str = "error",
    missing_values: Iterable[str] | None = None,
    discretise: Any = None,
    max_states: int = 100,
) -> CredibleSet:
    """Find the k best Markov equivalence classes, proven to be the best; the options are those of `k_best_networks`.

    Where networks are listed one by one (see ``unit`` of `learn`), classes are ordered by their best member, and the
    set holds the members down to the score of the last class. With k = 1 it is one member where more than a few
    thousand networks tie.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(80) // 40
    >>> k_best_classes(np.column_stack([x, x, np.arange(80) % 2]), k=3).n_classes
    3
    """
    with started(locals(), (k, "classes")) as call:
        return find_k_best(call)


def find_k_best(call: Learning) -> CredibleSet:
    """Return the k best networks or classes that the run asks for, as far as its limits allow."""
    assert call.k_best is not None
    k, kind = call.k_best
    with call.run.handling_interrupts():
        answer, reason, gap = _grow(call, kind, k)
        rows, n_tied = _take(answer, kind, k)
        n_tied += answer.n_left_out
        are_ties_known = k > 1 or not answer.found.is_cut
        span = max(0.0, answer.optimal_score - float(rows.scores[-1])) if len(rows) else 0.0
        bound = max(answer.bound, answer.optimal_score - gap)
        return collect(
            call,
            answer,
            rows,
            span,
            reason,
            None if reason is None else bound,
            n_requested=k,
            n_tied_at_boundary=n_tied if are_ties_known else None,
        )


def _grow(call: Learning, kind: Kind, k: int) -> tuple[Answer, str | None, float]:
    """Double epsilon until k are found, with all that tie with the last, or there are no more.

    Returns what was found, why it is not all, and within which epsilon nothing is missing but what the search left out.
    """
    if k == 1:
        table = call.source.try_table_for(0.0)
        if table is None:
            return best_so_far(call), call.run.reason, 0.0
        best = find_optimum(call, table)
        return best, why_stopped(call, best.found), 0.0
    epsilon, answer = math.log(DEFAULT_BAYES_FACTOR), None
    while True:
        gap = min(epsilon, call.source.largest_epsilon)
        quota = {"max_networks": k} if kind == "networks" else {"max_classes": k}
        table = call.source.try_table_for(gap)
        if table is None:
            return best_so_far(call) if answer is None else answer, call.run.reason, epsilon / 2
        answer = find_best(call, table, gap, **quota)
        if answer.found.stopped:
            return answer, why_stopped(call, answer.found), gap
        count = answer.rows.n_networks if kind == "networks" else answer.rows.n_classes
        if count >= k:
            covered = answer.optimal_score - _score_of(answer.rows, kind, k) + tolerance_of(table) <= gap
            if covered or call.source.lists_everything(table, gap):
                return answer, None, gap
            if gap >= call.source.largest_epsilon:  # more may tie with the last than the scores can tell
                return answer, "score_table", gap
        elif answer.found.is_cut:
            return answer, "memory_limit", gap
        elif call.source.lists_everything(table, gap):
            return answer, None, gap
        elif gap >= call.source.largest_epsilon:
            return answer, "score_table", gap
        epsilon *= 2


def _score_of(rows: Structures, kind: Kind, k: int) -> float:
    """Return the score of the k-th best network or class."""
    if kind == "classes":
        return float(rows.scores[rows.first_members[k - 1]])
    if rows.class_of is not None:
        return float(rows.scores[k - 1])
    total = number = 0
    while total < k:
        total += rows.class_size(number)
        number += 1
    return float(rows.scores[number - 1])


def _take(answer: Answer, kind: Kind, k: int) -> tuple[Structures, int]:
    """Return the first k networks or classes, and how many more tie with the last of them."""
    rows = answer.rows
    if (rows.n_networks if kind == "networks" else rows.n_classes) < k:
        return rows, 0
    tied = rows.first(count_at_least(rows, _score_of(rows, kind, k) - tolerance_of(answer.table)))
    if kind == "networks":
        whole = best_networks(answer.table, tied, k)
        return whole if whole.n_networks == k else expand(answer.table, tied, k), tied.n_networks - k
    if tied.class_of is None:
        return tied.first(k), len(tied) - k
    among = tied.class_of < k
    kept = Structures(tied.choices[among], tied.scores[among], tied.sizes[among], tied.class_of[among])
    return kept, tied.n_classes - k
