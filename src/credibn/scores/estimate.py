"""What scoring will take, known before it starts: the engine, the work, the memory and the time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from credibn import _core
from credibn._base.text import duration_text
from credibn._run.memory import usable_bytes
from credibn.errors import CredibnError, Option, OptionError, Phrase, TooLargeError
from credibn.options import (
    Edges,
    ReadOptions,
    ScoreOptions,
    resolve_epsilon,
    resolve_threads,
    suggesting,
)
from credibn.scores.discrete import BDeu, DiscreteScore
from credibn.scores.local import LocalScore
from credibn.scores.prediction import limit_parents, predict_seconds
from credibn.scores.priors import StructurePrior
from credibn.scores.problem import ScoringProblem
from credibn.scores.protocol import SetScore
from credibn.scores.setup import make_problem
from credibn.scores.tasks import core_arguments

MOST_TABLE_BYTES = 8 << 30
"""The largest table of set costs that is made, if the memory allows it; the core's other needs are far less."""
_MOST_VARIABLES = 255
LONG, _SOON = 600.0, 60.0
"""Seconds: scoring that takes longer than the first is worth a word beforehand, and less than the second a try."""
_SETS_BY_DEFAULT, _PARENTS_BY_DEFAULT = 1 << 17, 2
"""Where nobody limits the parents and all sets are too many: the most sets, and the fewest parents all the same."""


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
    seconds = None if is_too_large(estimate) else predict_seconds(problem, estimate.engine, n_workers)
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
        if is_too_large(needed):
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
        tolerance=added([part.tolerance for part in parts]),
    )


def added(tolerances: Sequence[float | None]) -> float | None:
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
        refuse_infinite(problem, error)


def refuse_infinite(problem: ScoringProblem, error: ValueError) -> NoReturn:
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


def most_bytes() -> int:
    """Return how large a table of set costs may be."""
    return int(min(MOST_TABLE_BYTES, usable_bytes()))


def is_too_large(estimate: ScoringEstimate) -> bool:
    """Whether the table that scoring would make is too large."""
    return estimate.engine != "descent" and estimate.memory_bytes > most_bytes()


def parents_to_try(feasible: tuple[int, float] | None) -> Phrase:
    """Return the advice that follows from `feasible_parents`."""
    if feasible is None:
        return Phrase("use fewer columns")
    return Phrase("try {} (about {})", Option("max_parents", feasible[0]), duration_text(feasible[1]))
