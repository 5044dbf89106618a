"""Scoring cut into pieces, for executors and for runs that are continued: the same candidates, to the last bit.

Each engine lists its tasks in one order, with about how much work each is; a piece is a range of that list. The ranges
do not depend on who does the work. The results are put together in the order of the tasks, as in a single run.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.version import version
from credibn._run import Arrays, GoesOn, OutOfTime, Stopped, Work, Workbench, aligned, cut_evenly
from credibn.errors import Option, Phrase, TimeLimitError
from credibn.scores.discrete import BDeu, DiscreteScore
from credibn.scores.local import LocalScore, score_child
from credibn.scores.problem import Candidates, Scored, ScoringProblem, join_candidates
from credibn.scores.protocol import SetScore
from credibn.scores.sets import evaluate_blocks, prune_sets, set_blocks

__all__ = ["TIME_LIMIT_REACHED", "core_arguments", "score_in_pieces"]

TIME_LIMIT_REACHED = Phrase(
    "the time limit was reached while parent sets were scored, so nothing exact can be said; raise {}, lower {} or {}, "
    "or set {}",
    *map(Option, ("time_limit", "bayes_factor", "epsilon", "max_parents")),
)

_PIECES = 100
"""About how many: no piece is more than a few percent of the work, and what each repeats stays small."""
_JOINING = 0.05
"""The share of putting together, in the progress that is shown."""


def core_arguments(problem: ScoringProblem) -> dict[str, Any]:
    """Return what the compiled core takes for a problem with a categorical score."""
    score = problem.score
    assert isinstance(score, DiscreteScore)
    return {
        "codes": problem.codes,
        "arities": problem.arities,
        "weights": problem.data.weights,
        "is_bdeu": isinstance(score, BDeu),
        "parameter": score.equivalent_sample_size
        if isinstance(score, BDeu)
        else score.penalty_weight(problem.data.n_rows),
        "epsilon": problem.epsilon,
        "allowed": problem.allowed,
        "required": problem.required,
        "max_parents": problem.max_parents,
        "edge_costs": problem.edge_costs,
    }


def score_in_pieces(
    problem: ScoringProblem,
    engine: str,
    workbench: Workbench,
    rules: Sequence[str],
    n_threads: int,
    watch: GoesOn | None,
    time_left: float | None,
    tolerance: float | None,
) -> Scored | None:
    """Return the candidates, scored on a workbench; None if `watch` asked to stop.

    Raises
    ------
    TimeLimitError
        When `time_left` has passed in a worker of an executor.
    """
    goes_on = watch or (lambda fraction: True)
    question = _question(problem, engine, rules)

    def do(work: Work, common: Any, pieces: Sequence[Any]) -> list[Arrays]:
        run = workbench.do(
            "score",
            question,
            work,
            common,
            pieces,
            lambda fraction: goes_on((1 - _JOINING) * fraction),
            time_left,
            # A score of the user's may keep notes that are not safe in threads.
            one_at_a_time=not isinstance(problem.score, DiscreteScore),
        )
        found = dict(run)
        return [found[index] for index in range(len(pieces))]

    def goes_on_joining(fraction: float) -> bool:
        return goes_on(1 - _JOINING + _JOINING * fraction)

    try:
        if engine == "local":
            by_child = [_unpacked(part) for part in do(_score_child, problem, range(problem.n_searched))]
            return Scored(join_candidates(by_child), tolerance)
        if engine == "sets":
            assert isinstance(problem.score, SetScore)
            sizes = [block.n_sets for block in set_blocks(problem, problem.score)]
            costs = _joined(do(_evaluate_sets, problem, cut_evenly(sizes, _PIECES)), "costs")
            return prune_sets(problem, problem.score, costs, n_threads, goes_on_joining)
        arguments = {**core_arguments(problem), "rules": list(rules)}
        whole = _core.DiscreteProblem(**arguments)
        if engine == "descent":
            parts = do(_descend, arguments, cut_evenly(whole.descent_weights().tolist(), _PIECES))
            found = whole.join_descent(*join_candidates([_unpacked(p) for p in parts]), n_threads, goes_on_joining)
        else:
            parts = do(_count_sets, arguments, cut_evenly(whole.table_weights().tolist(), _PIECES))
            found = whole.join_table(_joined(parts, "costs"), _joined(parts, "cells"), n_threads, goes_on_joining)
        return None if found is None else Scored(found, tolerance)
    except OutOfTime:
        raise TimeLimitError("{}", TIME_LIMIT_REACHED) from None
    except Stopped:
        return None


def _descend(arguments: dict[str, Any], piece: tuple[int, int], goes_on: GoesOn) -> Arrays | None:
    """Do a range of the tasks of the descent engine."""
    found = _core.DiscreteProblem(**aligned(arguments)).run_descent_tasks(*piece, goes_on)
    return None if found is None else _packed(found)


def _count_sets(arguments: dict[str, Any], piece: tuple[int, int], goes_on: GoesOn) -> Arrays | None:
    """Do a range of the tasks of the table engine."""
    found = _core.DiscreteProblem(**aligned(arguments)).run_table_tasks(*piece, goes_on)
    return None if found is None else {"costs": found[0], "cells": found[1]}


def _evaluate_sets(problem: ScoringProblem, piece: tuple[int, int], goes_on: GoesOn) -> Arrays | None:
    """Evaluate a range of the blocks of sets."""
    assert isinstance(problem.score, SetScore)
    costs = evaluate_blocks(problem, problem.score, set_blocks(problem, problem.score)[slice(*piece)], goes_on)
    return None if costs is None else {"costs": costs}


def _score_child(problem: ScoringProblem, child: int, goes_on: GoesOn) -> Arrays | None:
    """Score all parent sets of a child."""
    assert isinstance(problem.score, LocalScore)
    found = score_child(problem, problem.score, child, goes_on)
    return None if found is None else _packed(found)


def _packed(found: Candidates) -> Arrays:
    nodes, costs, masks, n_scored = found
    return {"nodes": nodes, "costs": costs, "masks": masks, "n_scored": np.array(n_scored, dtype=np.int64)}


def _unpacked(part: Arrays) -> Candidates:
    return part["nodes"], part["costs"], part["masks"], int(part["n_scored"])


def _joined(parts: Sequence[Arrays], name: str) -> NDArray[Any]:
    return np.concatenate([part[name] for part in parts])


def _question(problem: ScoringProblem, engine: str, rules: Sequence[str]) -> str | None:
    """Name all that the pieces depend on; None where that cannot be told."""
    if _version_of(problem.score) is None:
        return None
    kind = type(problem.score)
    arrays = hashlib.sha256()
    for array in (problem.allowed, problem.required, problem.max_parents, problem.edge_terms):
        arrays.update(array.tobytes())
    facts = {
        "version": version(),
        "data": problem.data.fingerprint,
        "score": [
            problem.score.name,
            problem.score.settings(),
            f"{kind.__module__}.{kind.__qualname__}",
            _version_of(problem.score),
        ],
        "epsilon": problem.epsilon,
        "constraints and prior": arrays.hexdigest(),
        "engine": engine,
        "rules": list(rules),
        "pieces": _PIECES,
    }
    return json.dumps(facts, sort_keys=True, default=repr)


def _version_of(score: SetScore | LocalScore) -> str | None:
    """Return what tells one code of a score from another: the release for our own, else what the score itself says.

    Nobody can see from outside whether a function that a score calls has changed, so without a word from the score
    nothing is kept.
    """
    if type(score).__module__.split(".")[0] == "credibn":
        return version()
    told = getattr(score, "version", None)
    return told if isinstance(told, str) else None
