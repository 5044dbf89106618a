"""The scoring stage: from a table to every candidate parent set that a credible network could use.

The candidates are defined by one rule: a parent set is out if and only if a subset of it scores better by more than
epsilon (rule 1; a network that used it could drop parents and gain more than epsilon). All other rules only save work;
docs/guarantees.md proves them. Three engines give the same answer:

- ``table``: F of every set up to the largest family, then a sweep over each node's lattice. Best for few variables
  and many rows. Memory: 8 to 12 bytes for each set.
- ``descent``: a depth-first search for each node with bounds on whole subtrees. Best for many variables.
- ``sets``: as ``table``, with F given by a Python object (continuous, mixed and users' scores).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, NoReturn, get_args

import numpy as np

from credibn import _core
from credibn._base.text import byte_text, duration_text
from credibn._base.version import version
from credibn._run import Run
from credibn._run.memory import explaining_shortage, limit_and_fix, usable_bytes
from credibn._run.progress import watching
from credibn.data import Dataset
from credibn.data.reading import read_table
from credibn.data.suggesting import suggestion
from credibn.errors import CredibnError, Option, OptionError, Phrase, TimeLimitError, TooLargeError
from credibn.options import (
    NO_OPTIONS,
    Edges,
    Progress,
    ReadOptions,
    ScoreName,
    ScoreOptions,
    resolve_epsilon,
    resolve_threads,
    score_name,
    suggesting,
)
from credibn.scores.constraints import resolve_constraints
from credibn.scores.discrete import AIC, BIC, BDeu, DiscreteScore, refuse_continuous
from credibn.scores.gaussian import BGe, GaussianBIC
from credibn.scores.local import LocalScore
from credibn.scores.mixed import ConditionalGaussianBIC
from credibn.scores.prediction import limit_parents, predict_seconds
from credibn.scores.priors import StructurePrior, describe_prior, keeps_score_equivalence, resolve_prior
from credibn.scores.problem import Candidates, Scored, ScoringProblem, candidates_of, join_candidates
from credibn.scores.protocol import SetScore
from credibn.scores.table import ScoreTable
from credibn.scores.tasks import RULES, core_arguments, score_in_tasks

SCORES: tuple[str, ...] = get_args(ScoreName)
MOST_TABLE_BYTES = 8 << 30
"""The largest table of set costs that is made, if the memory allows it; the core's other needs are far less."""
_MOST_VARIABLES = 255
LONG, _SOON = 600.0, 60.0
"""Seconds: scoring that takes longer than the first is worth a word beforehand, and less than the second a try."""
_SETS_BY_DEFAULT, _PARENTS_BY_DEFAULT = 1 << 17, 2
"""Where nobody limits the parents and all sets are too many: the most sets, and the fewest parents all the same."""


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


@dataclass(frozen=True)
class ScoringEstimate:
    """What scoring will take, known before it starts.

    Attributes
    ----------
    engine : str
        The engine that would be used.
    n_variables, n_searched : int
        All columns, and those that are not constant.
    n_rows, n_distinct : int
    largest_parent_set : int
        After constraints and rule 4.
    n_sets, n_local_scores : int
        Sets up to the largest family, and local scores on them: what scoring would take without superset rules. The
        descent engine evaluates a fraction that depends on the data.
    memory_bytes : int
        Predicted peak of the engine's own arrays.
    tolerance : float or None
        How far two networks that tie in truth can be apart by rounding; None for scores of numbers, where only scoring
        tells.
    seconds : float or None
        How long it should take, from a short sample of the work: right to within a factor of ten. None where the
        memory does not suffice, and where it was not asked for.
    feasible_parents, feasible_seconds : int and float, or None
        Where it would take more than some minutes, the largest limit on parents that takes about one, and how long.
    default_parents : int or None
        Where the sets are too many for any machine, the limit on parents that `learn` uses unless one is given.
    """

    engine: str
    n_variables: int
    n_searched: int
    n_rows: int
    n_distinct: int
    largest_parent_set: int
    n_sets: int
    n_local_scores: int
    memory_bytes: int
    tolerance: float | None
    seconds: float | None = None
    feasible_parents: int | None = None
    feasible_seconds: float | None = None
    default_parents: int | None = None


@suggesting
def estimate_scoring(
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
) -> ScoringEstimate:
    """Predict the work, the time and the memory of `score_parent_sets` with the same options.

    The time comes from a sample of the work, some tenths of a second.

    Examples
    --------
    >>> import numpy as np
    >>> estimate_scoring(np.arange(8).reshape(4, 2) % 3).n_sets
    4
    """
    reading, scoring, threads = ReadOptions.of(locals()), ScoreOptions.of(locals()), resolve_threads(n_threads)
    problem = make_problem(data, scoring, resolve_epsilon(bayes_factor, epsilon), reading)
    estimate = with_prediction(problem, estimate_problem(problem, engine), threads)
    return replace(estimate, default_parents=parents_by_default(problem) if max_parents is None else None)


def with_prediction(
    problem: ScoringProblem, estimate: ScoringEstimate, n_workers: int, most_seconds: float = LONG
) -> ScoringEstimate:
    """Return the estimate with the time; where it is more than `most_seconds`, also with a limit on parents."""
    seconds = None if _is_too_large(estimate) else predict_seconds(problem, estimate.engine, n_workers)
    if seconds is not None and seconds <= most_seconds:
        return replace(estimate, seconds=seconds)
    feasible = feasible_parents(problem, estimate, n_workers, min(most_seconds, _SOON))
    most, takes = (None, None) if feasible is None else feasible
    return replace(estimate, seconds=seconds, feasible_parents=most, feasible_seconds=takes)


def feasible_parents(
    problem: ScoringProblem, estimate: ScoringEstimate, n_workers: int, most_seconds: float = _SOON
) -> tuple[int, float] | None:
    """Return the largest limit on parents with which scoring takes at most some seconds, and how long it takes."""
    found = None
    for most in range(1, estimate.largest_parent_set):
        limited = limit_parents(problem, most)
        needed = estimate_problem(limited)
        if _is_too_large(needed):
            break
        seconds = predict_seconds(limited, needed.engine, n_workers)
        if seconds > most_seconds:
            break
        found = most, seconds
    return found


def parents_by_default(problem: ScoringProblem) -> int | None:
    """Return the limit on parents to use where none is given and all sets would be refused; None where they are not.

    It depends on the number of sets alone, so the same call has the same limit wherever it runs.
    """
    if estimate_problem(problem).memory_bytes <= MOST_TABLE_BYTES:
        return None
    n, most = problem.n_searched, max(_PARENTS_BY_DEFAULT, int(problem.required.sum(axis=0).max()))
    while sum(math.comb(n, size) for size in range(most + 3)) <= _SETS_BY_DEFAULT:
        most += 1
    return most


def count_allowed_sets(problem: ScoringProblem) -> int:
    """Return how many parent sets the constraints allow, all nodes together: those of a table without pruning."""
    total = problem.data.n_variables - problem.n_searched
    for child in range(problem.n_searched):
        _, free, most = problem.parent_choices(child)
        total += sum(math.comb(len(free), k) for k in range(most + 1))
    return total


def make_problem(
    data: Any,
    scoring: ScoreOptions,
    epsilon: float,
    reading: ReadOptions = NO_OPTIONS,
    deadline: float | None = None,
) -> ScoringProblem:
    """Read the data, and resolve the options of scoring against its columns."""
    dataset = read_table(data, reading, columns_taken(scoring.score, scoring.equivalent_sample_size), deadline)
    scorer = resolve_score(score_for(scoring.score, dataset), scoring.equivalent_sample_size)
    if isinstance(scorer, DiscreteScore):
        refuse_continuous(dataset, range(dataset.n_variables))
    constraints = resolve_constraints(
        dataset.names,
        forbidden_edges=scoring.forbidden_edges,
        required_edges=scoring.required_edges,
        tiers=scoring.tiers,
        max_parents=scoring.max_parents,
        unavailable=dataset.constant_columns,
    )
    return ScoringProblem(dataset, scorer, epsilon, constraints, resolve_prior(scoring.prior, dataset.names))


def columns_taken(score: str | SetScore | LocalScore, equivalent_sample_size: float | None = None) -> str:
    """Return the kind of columns that a score takes; "auto" takes any."""
    return "mixed" if score == "auto" else resolve_score(score, equivalent_sample_size).columns


def score_for(score: str | SetScore | LocalScore, dataset: Dataset) -> str | SetScore | LocalScore:
    """Return the score that is used for a table: "auto" is the BIC for the kinds of its columns."""
    if score != "auto":
        return score
    if all(dataset.is_discrete):
        return "bic"
    return "conditional-gaussian-bic" if any(dataset.is_discrete) else "gaussian-bic"


def resolve_score(score: str | SetScore | LocalScore, equivalent_sample_size: float | None) -> SetScore | LocalScore:
    """Return the score object that a name, or an object, and the equivalent sample size stand for."""
    if isinstance(score, str):
        score = score_name(score)
    if score == "bdeu":
        return BDeu(1.0 if equivalent_sample_size is None else equivalent_sample_size)
    if equivalent_sample_size is not None:
        raise OptionError(
            "{} was given with score {!r}; only {} takes it",
            Option("equivalent_sample_size", equivalent_sample_size),
            score,
            Option("score", "bdeu"),
        )
    if isinstance(score, str):
        named: dict[str, SetScore] = {
            "bic": BIC(),
            "aic": AIC(),
            "gaussian-bic": GaussianBIC(),
            "bge": BGe(),
            "conditional-gaussian-bic": ConditionalGaussianBIC(),
        }
        if score not in named:
            raise OptionError(
                "unknown {} {!r}: {}. The scores are {}; or pass an object",
                Option("score"),
                score,
                suggestion(score, SCORES),
                ", ".join(SCORES),
            )
        return named[score]
    if isinstance(score, (SetScore, LocalScore)):
        return score
    raise OptionError(
        f"score is {score!r}; give a name ({', '.join(SCORES)}) or an object with name, columns, settings() and "
        "set_costs(data, sets) or local_cost(data, node, parents)"
    )


def estimate_problem(problem: ScoringProblem, engine: str = "auto") -> ScoringEstimate:
    """Predict the work and the memory of scoring a problem."""
    if engine not in ("auto", "table", "descent"):
        raise OptionError(f"unknown engine {engine!r}; choose 'auto', 'table' or 'descent'")
    n = problem.n_searched
    if n > _MOST_VARIABLES:
        raise TooLargeError(
            f"{n} columns vary; at most {_MOST_VARIABLES} can be scored: choose the columns of interest first"
        )
    if problem.data.n_rows >= 1 << 32:
        raise TooLargeError(
            f"the table stands for {problem.data.n_rows:,} rows; at most {(1 << 32) - 1:,} can be counted: draw a "
            "sample"
        )
    if problem.data.interventions is not None:
        return _sum_of([estimate_problem(part, engine) for _, part in problem.parts], problem)
    limits, tolerance = _plan(problem)
    largest = max(limits, default=0)
    n_sets = sum(math.comb(n, k) for k in range(min(largest + 1, n) + 1))
    n_local = 0
    for child, limit in enumerate(limits):
        required, free, _ = problem.parent_choices(child)
        n_local += sum(math.comb(len(free), k) for k in range(limit - len(required) + 1))
    chosen = _choose_engine(problem, engine, n_sets)
    return ScoringEstimate(
        engine=chosen,
        n_variables=problem.data.n_variables,
        n_searched=n,
        n_rows=problem.data.n_rows,
        n_distinct=problem.data.n_distinct,
        largest_parent_set=largest,
        n_sets=n_sets,
        n_local_scores=n_local,
        memory_bytes=_memory(problem, chosen, n_sets),
        tolerance=tolerance,
    )


def _sum_of(parts: Sequence[ScoringEstimate], problem: ScoringProblem) -> ScoringEstimate:
    """Return the estimate for parts that are scored one after the other, each for its own children."""
    largest = max(parts, key=lambda part: part.memory_bytes)
    return replace(
        largest,
        n_rows=problem.data.n_rows,
        n_distinct=problem.data.n_distinct,
        largest_parent_set=max(part.largest_parent_set for part in parts),
        n_sets=sum(part.n_sets for part in parts),
        n_local_scores=sum(part.n_local_scores for part in parts),
        tolerance=_added([part.tolerance for part in parts]),
    )


def _added(tolerances: Sequence[float | None]) -> float | None:
    """Return what the rounding of all parts can add up to: each bounds that of its own children."""
    known = [tolerance for tolerance in tolerances if tolerance is not None]
    return math.fsum(known) if known else None


def _plan(problem: ScoringProblem) -> tuple[list[int], float | None]:
    """Return the most parents of each node, and the tolerance where it is known before anything is scored."""
    if problem.n_searched == 0 or not isinstance(problem.score, DiscreteScore):
        return problem.max_parents.tolist(), None
    try:
        limits, tolerance = _core.plan_scoring(**core_arguments(problem))
        return limits.tolist(), tolerance
    except ValueError as error:
        _refuse_infinite(problem, error)


def _refuse_infinite(problem: ScoringProblem, error: ValueError) -> NoReturn:
    """Say what to do where the core meets a number that no double holds; raise other errors again."""
    if isinstance(error, CredibnError) or not isinstance(problem.score, DiscreteScore):
        raise error
    raise TooLargeError(
        "these scores cannot be computed ({}); require fewer parents, set {}, or use a prior with smaller terms",
        error,
        Option("max_parents"),
    ) from error


def _choose_engine(problem: ScoringProblem, engine: str, n_sets: int) -> str:
    if isinstance(problem.score, LocalScore) and not isinstance(problem.score, SetScore):
        return "local"
    if not isinstance(problem.score, DiscreteScore):
        return "sets"
    if engine != "auto":
        return engine
    # Counting each set once pays where rows are many and sets are few, and longest for BDeu, whose bounds are weaker;
    # measured in benchmarks/scoring.py.
    most_sets = 1 << 13 if problem.data.n_distinct < 1 << 11 else 1 << (24 if isinstance(problem.score, BDeu) else 18)
    return "table" if n_sets <= most_sets else "descent"


def _memory(problem: ScoringProblem, engine: str, n_sets: int) -> int:
    if engine == "descent":
        return 64 * problem.codes.size
    bytes_per_set = 12 if isinstance(problem.score, BDeu) else 8
    copies = 3 if engine == "sets" else 2  # as the tasks return them, and in the order of the lattice
    return n_sets * bytes_per_set * copies + n_sets * 16


def _most_bytes() -> int:
    return int(min(MOST_TABLE_BYTES, usable_bytes()))


def _is_too_large(estimate: ScoringEstimate) -> bool:
    return estimate.engine != "descent" and estimate.memory_bytes > _most_bytes()


def parents_to_try(feasible: tuple[int, float] | None) -> Phrase:
    """Return the advice that follows from `feasible_parents`."""
    if feasible is None:
        return Phrase("use fewer columns")
    return Phrase("try {} (about {})", Option("max_parents", feasible[0]), duration_text(feasible[1]))


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
    if _is_too_large(estimate):
        raise TooLargeError(
            "scoring {} columns with up to {} parents needs {:,} sets and about {}, above the limit of {}; {}",
            estimate.n_searched,
            estimate.largest_parent_set,
            estimate.n_sets,
            byte_text(estimate.memory_bytes),
            byte_text(_most_bytes()),
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
            _refuse_infinite(part, error)
        if finished is not None and done is not None:
            finished += [candidates_of(some, children) for some in done]
        if scored is None:
            return None
        if part is problem:
            return scored
        found.append(Scored(candidates_of(scored.candidates, children), scored.tolerance))
    return Scored(join_candidates([part.candidates for part in found]), _added([part.tolerance for part in found]))


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
