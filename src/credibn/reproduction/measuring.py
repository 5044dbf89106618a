"""What every experiment shares: its unit of work, its limits, and how the outcome of a search is put down.

A cell is the smallest piece of work whose answer is kept: one number of a table, or a few that come from one search. A
cell, the sources and the limits can be pickled, and computing depends on nothing else, so cells can be handed to any
executor. An answer is a dict that JSON can hold. It has the key ``complete``; what the package refuses (too large, out
of time while scoring, bad data) is an answer too, with the message, and no crash.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from credibn._run import Run
from credibn.credible import CredibleSet
from credibn.credible.rows import Rows
from credibn.data import Dataset
from credibn.errors import CredibnError, TimeLimitError, TooLargeError
from credibn.learning import learn
from credibn.options import Progress
from credibn.reproduction.collider_patterns import count_collider_patterns
from credibn.reproduction.marks import Count
from credibn.reproduction.sources import Need
from credibn.scores import ScoreTable, score_parent_sets

__all__ = [
    "Answer",
    "Cell",
    "Deadline",
    "Limits",
    "attempt",
    "count_of",
    "score_for",
    "scoring_until",
    "search_facts",
    "seconds_of",
    "unless_interrupted",
    "with_least",
]

Answer = dict[str, Any]


class Cell(Protocol):
    """A piece of work; the classes that follow this are frozen, so that cells are keys of a mapping."""

    @property
    def name(self) -> str:
        """The data set or network."""
        ...

    @property
    def need(self) -> Need:
        """Which kind of file it reads."""
        ...

    @property
    def key(self) -> str:
        """What tells it from all others, in a form that can be the path of a file."""
        ...

    @property
    def label(self) -> str:
        """The same for people."""
        ...


@dataclass(frozen=True)
class Limits:
    """How far a cell may go.

    Attributes
    ----------
    time_limit : float or None
        Seconds for scoring and search of one cell together.
    """

    time_limit: float | None = None


class Deadline:
    """What is left of the time of a cell.

    Examples
    --------
    >>> Deadline(None).left() is None, 0 < Deadline(60).left() <= 60
    (True, True)
    """

    def __init__(self, time_limit: float | None) -> None:
        self._end = None if time_limit is None else time.monotonic() + time_limit

    def left(self) -> float | None:
        """Return the seconds left, never quite 0, since a limit must be above; None without a limit."""
        return None if self._end is None else max(self._end - time.monotonic(), 1e-9)


def attempt(work: Callable[[], Answer]) -> Answer:
    """Return the answer, or that the package refused and why.

    Examples
    --------
    >>> def too_large():
    ...     raise CredibnError("40 variables are too many")
    >>> attempt(too_large)
    {'complete': False, 'stopped_because': 'refused', 'message': '40 variables are too many'}
    """
    try:
        return work()
    except TimeLimitError as error:
        return {"complete": False, "stopped_because": "time_limit", "message": str(error)}
    except MemoryError as error:
        return {"complete": False, "stopped_because": "memory_limit", "message": f"out of memory ({error})"}
    except CredibnError as error:
        return {"complete": False, "stopped_because": "refused", "message": str(error)}


def score_for(
    dataset: Dataset, score: str, bayes_factor: float, deadline: Deadline, progress: Progress | None
) -> ScoreTable:
    """Score the candidate parent sets for a Bayes factor.

    Raises
    ------
    TimeLimitError
        When the time of the cell is over.
    """
    with scoring_until(deadline, progress) as follow:
        return score_parent_sets(dataset, score=score, bayes_factor=bayes_factor, progress=follow)


@contextmanager
def scoring_until(deadline: Deadline, progress: Progress | None) -> Iterator[Progress]:
    """Give what follows scoring, and ends it when the time of the cell is over.

    Raises
    ------
    TimeLimitError
    """
    run = Run(progress, deadline.left())
    try:
        yield run
    except KeyboardInterrupt:
        if run.reason == "time_limit":
            raise TimeLimitError("the time limit struck while parent sets were scored") from None
        raise


def unless_interrupted(found: CredibleSet) -> CredibleSet:
    """Return a result, but not one that Ctrl-C cut short: a cell is done again as a whole.

    Raises
    ------
    KeyboardInterrupt
    """
    if found.stopped_because == "interrupted":
        raise KeyboardInterrupt
    return found


def search_facts(
    data: Dataset | ScoreTable,
    deadline: Deadline,
    progress: Progress | None,
    *,
    most_rows: int = 1_000_000,
    **options: Any,
) -> Answer:
    """Find a credible set and return what the tables say of it; collider patterns of at most so many classes."""
    found = unless_interrupted(
        learn(data, time_limit=deadline.left(), posterior_share=False, progress=progress, **options)
    )
    certain = _certainly_credible(found)
    answer = {
        "complete": found.complete,
        "stopped_because": found.stopped_because,
        "message": None if found.complete else found.guarantee,
        "networks": max(certain.n_networks, 1),  # the optimum, known or not
        "classes": max(certain.n_classes, 1),
        "patterns": None,
        "networks_found": found.n_networks,
        "classes_found": found.n_classes,
        "best_score": found.optimal_score,
        "is_optimum_proven": found.is_optimum_proven,
        "optimum_at_most": None if _highest(found) == math.inf else _highest(found),
        "candidates": found.score_table.n_candidates,
        "engine": found.engine,
        "seconds": {stage: found.timings[stage] for stage in ("score", "search")},
    }
    if isinstance(data, Dataset):
        answer |= {"n_variables": data.n_variables, "n_rows": data.n_rows}
    if found.complete:
        with suppress(TooLargeError):
            answer["patterns"] = count_collider_patterns(found, most_rows=most_rows)
    return answer


def _certainly_credible(found: CredibleSet) -> Rows:
    """Return what is credible whatever the optimum is: it may be better than the best found, up to a bound."""
    if found.is_optimum_proven:
        return found.rows
    least = _highest(found) - found.epsilon
    return found.rows.first(int(np.count_nonzero(found.rows.scores >= least)))


def _highest(found: CredibleSet) -> float:
    """Return the score that the optimum does not exceed."""
    if found.is_optimum_proven or found.unexplored_bound is None:
        return found.optimal_score
    return found.unexplored_bound


def count_of(answer: Answer | None, what: str) -> Count | None:
    """Return networks, classes or patterns of an answer; None where there is no answer.

    There is at least one of each, the optimum. Patterns that were not counted are at least as many as classes, since
    networks of one pattern are equivalent.

    Examples
    --------
    >>> count_of({"complete": True, "networks": 192, "classes": 8, "patterns": None}, "patterns")
    Count(value=8, is_exact=False)
    >>> count_of({"complete": False, "message": "too large"}, "networks")
    Count(value=1, is_exact=False)
    """
    if answer is None:
        return None
    known = answer.get(what)
    if known is None:
        return Count(answer.get("classes") or 1, is_exact=False)
    return Count(known, is_exact=answer["complete"])


def with_least(answers: Mapping[int, Answer], bayes_factor: int) -> Answer | None:
    """Return the answer for a Bayes factor, its lower bounds raised to what is known of smaller factors.

    What is within a factor is within every larger one: where a search was not complete, or was not tried, the numbers
    for smaller factors are lower bounds too. None where nothing was computed for any of them.

    Parameters
    ----------
    answers : mapping of int to answer
        By Bayes factor, all of the same data and score.
    bayes_factor : int

    Examples
    --------
    >>> done = {"complete": True, "networks": 12, "classes": 4, "patterns": 5}
    >>> with_least({3: done, 20: {"complete": False, "message": "too large"}}, 20)
    {'complete': False, 'message': 'too large', 'networks': 12, 'classes': 4, 'patterns': 5}
    """
    asked = answers.get(bayes_factor)
    if asked is not None and asked["complete"]:
        return asked
    known = [answer for factor, answer in answers.items() if factor <= bayes_factor]
    if not known:
        return None
    least = {what: max(answer.get(what) or 1 for answer in known) for what in ("networks", "classes", "patterns")}
    least["patterns"] = max(least["patterns"], least["classes"])  # networks of one pattern are equivalent
    return {**(asked or {"complete": False}), **least}


def seconds_of(answer: Answer | None, stage: str) -> float | None:
    """Return how long a stage took, where the answer is complete."""
    if answer is None or not answer["complete"]:
        return None
    seconds: float = answer["seconds"][stage]
    return seconds
