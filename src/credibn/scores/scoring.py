"""The scoring stage: from a table to every candidate parent set that a credible network could use.

The candidates are defined by one rule: a parent set is out if and only if a subset of it scores better by more than
epsilon (rule 1; a network that used it could drop parents and gain more than epsilon). All other rules only save work;
docs/guarantees.md proves them. Three engines give the same answer:

- ``table``: F of every set up to the largest family, then a sweep over each node's lattice. Best for few variables
  and many rows. Memory: 8 to 12 bytes for each set.
- ``descent``: a depth-first search for each node with bounds on whole subtrees. Best for many variables.
- ``sets``: as ``table``, with F given by a Python object (continuous, mixed and users' scores).
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from credibn._base.text import byte_text
from credibn._base.version import version
from credibn._run import Run
from credibn._run.memory import explaining_shortage, limit_and_fix
from credibn._run.progress import watching
from credibn.data import Dataset
from credibn.errors import Option, Phrase, TimeLimitError, TooLargeError
from credibn.options import (
    Edges,
    Progress,
    ReadOptions,
    ScoreOptions,
    resolve_epsilon,
    resolve_threads,
    suggesting,
)
from credibn.scores.estimate import (
    ScoringEstimate,
    added,
    estimate_problem,
    feasible_parents,
    is_too_large,
    most_bytes,
    parents_to_try,
    refuse_infinite,
)
from credibn.scores.local import LocalScore
from credibn.scores.priors import StructurePrior, describe_prior, keeps_score_equivalence
from credibn.scores.problem import Candidates, Scored, ScoringProblem, candidates_of, join_candidates
from credibn.scores.protocol import SetScore
from credibn.scores.setup import make_problem
from credibn.scores.table import ScoreTable
from credibn.scores.tasks import RULES, score_in_tasks


@suggesting
def score_parent_sets(
    data: Any,
    *,
    score: str | SetScore | LocalScore = "auto",
    bayes_factor: float | None = None,
    epsilon: float | None = None,
    equivalent_sample_size: float | None = None,
    forbidden_edges: Edges | None = None,
    required_edges: Edges | None = None,
    tiers: Sequence[Iterable[str]] | None = None,
    max_parents: int | Mapping[str, int] | None = None,
    prior: StructurePrior | None = None,
    engine: str = "auto",
    n_threads: int | None = None,
    executor: Executor | None = None,
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
) -> ScoreTable:
    """Score every parent set that a network within epsilon of the optimum could use.

    Parameters
    ----------
    data : path, DataFrame, Arrow table, NumPy array, DuckDB relation, Ibis table or Dataset
        See `read_data`.
    score : str or score object
        One of "bic", "bdeu", "aic" (categorical), "gaussian-bic", "bge" (continuous), "conditional-gaussian-bic"
        (both); or an object with the members of `SetScore` or `LocalScore`. By default "auto": the content of each
        column says whether it is categorical or numeric, see `read_data`, and the score is "bic",
        "gaussian-bic" or "conditional-gaussian-bic" accordingly.
    bayes_factor, epsilon : float, optional
        How much worse than the best a network may score: epsilon = ln(bayes_factor). By default a factor of 20.
    equivalent_sample_size : float, optional
        For "bdeu", 1 by default.
    forbidden_edges, required_edges : iterable of (parent, child) or "parent->child", optional
    tiers : sequence of groups of names, optional
        Edges may not point from a later tier to an earlier one.
    max_parents : int or mapping of name to int, optional
        The largest number of parents, of all variables or of some; in a mapping, the entry "" is for all others.
    prior : UniformPrior, EdgePenalty or EdgeLogOdds, optional
        Log prior of a structure, added to its score.
    engine : {"auto", "table", "descent"}
        For categorical scores; the answer is the same.
    n_threads : int, optional
        All cores by default. The result has the same bytes for any number.
    executor : concurrent.futures.Executor, optional
        Runs the tasks of scoring in other processes or on other machines: a ProcessPoolExecutor, Dask's
        ``Client.get_executor()``, loky, ``mpi4py.futures``. The result is the same.
    progress : callable or bool, optional
        By default a bar where somebody watches a terminal or a notebook, after two seconds; False shows none. A
        function is called a few times per second with "score" and the fraction done; the work stops if it returns
        False.
    columns, drop, only, encoding, decimal, thousands, comment
        How the table is read, see `read_data`; by default the columns are what the score takes.
    state_names, weights, interventions, missing, missing_values, discretise, max_states
        Likewise.

    Returns
    -------
    ScoreTable

    Raises
    ------
    DataError, OptionError, TooLargeError
    WorkerError
        If the executor has lost a worker and does not retry.
    KeyboardInterrupt
        When interrupted, or when `progress` returned False: a partial list of candidates would not be exact.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(80) // 40
    >>> table = score_parent_sets(np.column_stack([x, x, np.arange(80) % 2]), bayes_factor=3)
    >>> list(table.parent_sets("X1"))[0][1]
    ('X0',)
    """
    reading, scoring, threads = ReadOptions.of(locals()), ScoreOptions.of(locals()), resolve_threads(n_threads)
    with explaining_shortage(), watching(progress) as shown:
        run = Run(shown, n_threads=threads, executor=executor)
        problem = make_problem(data, scoring, resolve_epsilon(bayes_factor, epsilon), reading)
        estimate = estimate_problem(problem, engine)
        return table_of(problem, prior, estimate, _score(problem, estimate, run))


def table_of(
    problem: ScoringProblem, prior: StructurePrior | None, estimate: "ScoringEstimate", found: Scored
) -> ScoreTable:
    """Return what an engine found as a table over all columns."""
    nodes, scores, masks = problem.widen(found.candidates)
    provenance = _provenance(problem, prior, estimate) | {"tolerance": found.tolerance}
    return ScoreTable.from_arrays(problem.data.names, nodes, scores, masks, provenance)


def _score(problem: ScoringProblem, estimate: ScoringEstimate, run: Run, rules: Sequence[str] = RULES) -> Scored:
    """Return the candidates, or raise the error that says why the run was stopped."""
    found = try_score(problem, estimate, run, rules)
    if found is None:
        raise stopped_while_scoring(run)
    return found


def try_score(
    problem: ScoringProblem,
    estimate: ScoringEstimate,
    run: Run,
    rules: Sequence[str] = RULES,
    finished: list[Candidates] | None = None,
) -> Scored | None:
    """Return the candidates, or None where the run was stopped; `finished` takes those of the tasks that are done."""
    if is_too_large(estimate):
        raise TooLargeError(
            "scoring {} columns with up to {} parents needs {:,} sets and about {}, above the limit of {}; {}",
            estimate.n_searched,
            estimate.largest_parent_set,
            estimate.n_sets,
            byte_text(estimate.memory_bytes),
            byte_text(most_bytes()),
            parents_to_try(feasible_parents(problem, estimate, run.n_workers)),
        )
    if problem.n_searched == 0:
        empty = np.zeros((0, 0), dtype=np.uint64)
        return Scored((np.zeros(0, dtype=np.int32), np.zeros(0), empty, 0), None)
    found: list[Scored] = []
    for at, (children, part) in enumerate(problem.parts):
        needed = estimate if part is problem else estimate_problem(part, _engine_asked(estimate))
        done: list[Candidates] | None = None if finished is None else []
        share = at / len(problem.parts), 1 / len(problem.parts)
        try:
            scored = score_in_tasks(part, needed.engine, run, rules, needed.tolerance, done, share)
        except ValueError as error:
            refuse_infinite(part, error)
        if finished is not None and done is not None:
            finished += [candidates_of(some, children) for some in done]
        if scored is None:
            return None
        if part is problem:
            return scored
        found.append(Scored(candidates_of(scored.candidates, children), scored.tolerance))
    return Scored(join_candidates([part.candidates for part in found]), added([part.tolerance for part in found]))


def _engine_asked(estimate: ScoringEstimate) -> str:
    """Return the engine for each part: the one that was asked for, or that the largest part chose."""
    return estimate.engine if estimate.engine in ("table", "descent") else "auto"


def stopped_while_scoring(run: Run) -> BaseException:
    """Return the error for a run that ended before all parent sets were scored."""
    if run.reason == "time_limit":
        return TimeLimitError(
            "the time limit was reached when {:.0%} of the scoring was done, and nothing exact can be said before the "
            "end; raise {}, lower {} or {}, or set {}",
            run.done.get("score", 0.0),
            *map(Option, ("time_limit", "bayes_factor", "epsilon", "max_parents")),
        )
    if run.reason == "memory_limit":
        fix = limit_and_fix() if run.max_bytes is None else Phrase("raise {}", Option("memory_limit"))
        return TooLargeError(
            "scoring used most of the available memory: {}, or lower {} or {}, or set {}",
            fix,
            *map(Option, ("bayes_factor", "epsilon", "max_parents")),
        )
    return KeyboardInterrupt("scoring was stopped; a partial list of candidates would not be exact")


def _provenance(problem: ScoringProblem, prior: StructurePrior | None, estimate: ScoringEstimate) -> dict[str, object]:
    is_set_score = isinstance(problem.score, SetScore)
    return {
        "score": problem.score.name,
        **problem.score.settings(),
        "epsilon": problem.epsilon,
        "n_rows": problem.data.n_rows,
        "data_fingerprint": problem.data.fingerprint,
        "version": version(),
        "constraints": problem.constraints.describe(),
        "prior": describe_prior(prior, problem.data.names),
        "score_equivalent": is_set_score
        and keeps_score_equivalence(problem.edge_terms)
        and problem.data.interventions is None,
        **_targets(problem.data),
        "complete": True,
        "engine": estimate.engine,
    }


def _targets(data: Dataset) -> dict[str, object]:
    """Return what was set together, by name, where anything was."""
    if data.interventions is None:
        return {}
    return {"interventions": [[data.names[v] for v in targets] for targets in data.interventions.targets]}
