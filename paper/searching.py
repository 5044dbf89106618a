"""Scoring and search within the time of a task, and what the tables say of the outcome."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from credibn import CredibleSet, Dataset, ScoreTable, learn, score_parent_sets
from credibn.errors import TimeLimitError, TooLargeError
from paper.collider_patterns import count_collider_patterns
from paper.experiment import Answer, Progress


def seconds_left(deadline: float | None) -> float | None:
    """Return the seconds until a deadline, never quite 0, since a time limit must be above; None without one."""
    return None if deadline is None else max(deadline - time.monotonic(), 1e-9)


@contextmanager
def scoring_until(deadline: float | None, progress: Progress | None) -> Iterator[Progress]:
    """Give a callback that ends scoring at the deadline, with a `TimeLimitError`."""
    is_late = False

    def follow(stage: str, fraction: float) -> bool:
        nonlocal is_late
        is_late = deadline is not None and time.monotonic() >= deadline
        return not is_late and (progress is None or progress(stage, fraction) is not False)

    try:
        yield follow
    except KeyboardInterrupt:
        if is_late:
            raise TimeLimitError("the time limit was reached while parent sets were scored") from None
        raise


def score_for(
    data: Dataset, score: str, bayes_factor: float, deadline: float | None, progress: Progress | None
) -> ScoreTable:
    """Score the candidate parent sets for a Bayes factor."""
    with scoring_until(deadline, progress) as follow:
        return score_parent_sets(data, score=score, bayes_factor=bayes_factor, progress=follow)


def search(
    find: Callable[..., CredibleSet],
    data: Dataset | ScoreTable,
    deadline: float | None,
    progress: Progress | None,
    **options: Any,
) -> CredibleSet:
    """Call `learn` or one of its kin within the time left; Ctrl-C leaves no partial answer."""
    found = find(data, posterior_share=False, time_limit=seconds_left(deadline), progress=progress, **options)
    if found.stopped_because == "interrupted":
        raise KeyboardInterrupt
    return found


def outcome(found: CredibleSet, data: Dataset | ScoreTable) -> Answer:
    """Return what is told of every search."""
    answer = {
        "complete": found.complete,
        "stopped_because": found.stopped_because,
        "message": None if found.complete else found.guarantee,
        "best_score": found.optimal_score,
        "is_optimum_proven": found.is_optimum_proven,
        "candidates": found.score_table.n_candidates,
        "engine": found.engine,
        "seconds": {stage: found.timings[stage] for stage in ("score", "search")},
    }
    if isinstance(data, Dataset):
        answer |= {"n_variables": data.n_variables, "n_rows": data.n_rows}
    return answer


def count_credible(
    data: Dataset | ScoreTable,
    deadline: float | None,
    progress: Progress | None,
    *,
    most_rows: int = 1_000_000,
    **options: Any,
) -> Answer:
    """Count the credible networks, their classes and, where these are at most `most_rows`, their collider patterns."""
    found = search(learn, data, deadline, progress, **options)
    highest = found.optimal_score
    if not found.is_optimum_proven and found.unexplored_bound is not None:
        highest = found.unexplored_bound  # only what is credible even if the optimum is as high as this is certain
    gap = found.epsilon - (highest - found.optimal_score)
    networks, classes = found.count_within(gap) if gap >= 0 else (0, 0)
    networks_found, classes_found = found.count_within(found.epsilon)
    answer = outcome(found, data) | {
        "networks": max(networks, 1),  # the optimum, known or not
        "classes": None if classes is None else max(classes, 1),
        "patterns": None,
        "networks_found": networks_found,
        "classes_found": classes_found,
        "optimum_at_most": None if highest == math.inf else highest,
    }
    if found.complete:
        with suppress(TooLargeError):
            answer["patterns"] = count_collider_patterns(found, most_rows=most_rows)
    return answer
