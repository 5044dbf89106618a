"""Scoring as a list of tasks: the same candidates, to the last bit, whoever does them.

Each engine lists its units of work in one order, with about how much work each is; a task is a range of that list. The
ranges do not depend on who does the work. The results are put together in the order of the list.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.version import version
from credibn._run import Arrays, Run, ShouldContinue, Stopped, Work, aligned, split_evenly
from credibn.scores.discrete import BDeu, DiscreteScore
from credibn.scores.local import LocalScore, score_child
from credibn.scores.problem import Candidates, Scored, ScoringProblem, candidates_of, join_candidates
from credibn.scores.protocol import SetScore
from credibn.scores.sets import evaluate_blocks, prune_sets, set_blocks

RULES = ("penalty", "configurations", "parent_entropy", "cells", "suffix_floor", "few_parents", "splits")
_MOST_TASKS = 100
"""About how many: no task is more than a few percent of the work, and what each repeats stays small."""
_LEAST_COUNTED = 1 << 25
"""Rows of all sets of a task together: about a tenth of a second, so that what each repeats costs little."""
_JOINING = 0.05
"""The share of putting results together, in the progress that is shown."""


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


def score_in_tasks(
    problem: ScoringProblem,
    engine: str,
    run: Run,
    rules: Sequence[str],
    tolerance: float | None,
    finished: list[Candidates] | None = None,
    share: tuple[float, float] = (0.0, 1.0),
) -> Scored | None:
    """Return the candidates; None if the run was stopped, whose reason says why.

    `finished` takes the candidates of each task that is done, before rule 1 is applied to all of them: something to use
    where the run is stopped. The engines that count sets first have none. `share` is where these tasks begin in the
    progress of all scoring, and how much of it they are.
    """

    def do(work: Work, common: Any, tasks: Sequence[Any]) -> list[Arrays]:
        found: dict[int, Arrays] = {}
        for index, arrays in run.do(
            "score",
            _cache_key(problem, engine, rules),
            work,
            common,
            tasks,
            lambda fraction: run("score", share[0] + share[1] * (1 - _JOINING) * fraction),
            # A score of the user's may not be safe in threads.
            one_at_a_time=not isinstance(problem.score, DiscreteScore),
        ):
            found[index] = arrays
            if finished is not None and "nodes" in arrays:
                finished.append(_unpacked(arrays))
        return [found[index] for index in range(len(tasks))]

    def should_join(fraction: float) -> bool:
        return run("score", share[0] + share[1] * (1 - _JOINING + _JOINING * fraction))

    try:
        if engine == "local":
            by_child = [_unpacked(part) for part in do(_score_child, problem, range(problem.n_searched))]
            return Scored(join_candidates(by_child), tolerance)
        if engine == "sets":
            assert isinstance(problem.score, SetScore)
            sizes = [block.n_sets for block in set_blocks(problem, problem.score)]
            costs = _joined(do(_evaluate_sets, problem, split_evenly(sizes, _MOST_TASKS)), "costs")
            return prune_sets(problem, problem.score, costs, run.n_threads, should_join)
        discrete = _Discrete({**core_arguments(problem), "rules": list(rules)})
        if engine == "descent":
            found = do(_descend, discrete, ranges(discrete.core.descent_weights(), problem.data.n_distinct))
            candidates = join_candidates([_unpacked(part) for part in found])
            joined = discrete.core.join_descent(*candidates, run.n_threads, should_join)
        else:
            found = do(_count_sets, discrete, ranges(discrete.core.table_weights(), problem.data.n_distinct))
            costs, cells = _joined(found, "costs"), _joined(found, "cells")
            del found  # as large as the two together
            joined = discrete.core.join_table(costs, cells, run.n_threads, should_join)
        return None if joined is None else Scored(joined, tolerance)
    except Stopped:
        return None


def exact_candidates(problem: ScoringProblem, found: Candidates, run: Run, stage: str) -> Candidates | None:
    """Return candidates of a categorical score with their exact costs, those left out that another one dominates."""
    exact = []
    for children, part in problem.parts:
        core = _core.DiscreteProblem(**core_arguments(part), rules=[])
        own = found if part is problem else candidates_of(found, children)
        joined = core.join_descent(*own, run.n_threads, lambda fraction: run(stage, fraction))
        if joined is None:
            return None
        exact.append(joined)
    return join_candidates(exact)


class _Discrete:
    """A problem with a categorical score; the core's form of it is made once in each process."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments

    @cached_property
    def core(self) -> "_core.DiscreteProblem":
        return _core.DiscreteProblem(**aligned(self._arguments))

    def __getstate__(self) -> dict[str, Any]:
        return {"_arguments": self._arguments}


def ranges(weights: NDArray[np.float64], n_distinct: int) -> list[tuple[int, int]]:
    """Return the tasks as ranges of an engine's units, whose weights are numbers of sets."""
    n_tasks = math.ceil(float(weights.sum()) * n_distinct / _LEAST_COUNTED)
    return split_evenly(weights.tolist(), min(max(n_tasks, 1), _MOST_TASKS))


def _descend(discrete: _Discrete, task: tuple[int, int], should_continue: ShouldContinue) -> Arrays | None:
    """Do a range of the units of the descent engine."""
    found = discrete.core.run_descent_tasks(*task, should_continue)
    return None if found is None else _packed(found)


def _count_sets(discrete: _Discrete, task: tuple[int, int], should_continue: ShouldContinue) -> Arrays | None:
    """Do a range of the units of the table engine."""
    found = discrete.core.run_table_tasks(*task, should_continue)
    return None if found is None else {"costs": found[0], "cells": found[1]}


def _evaluate_sets(problem: ScoringProblem, task: tuple[int, int], should_continue: ShouldContinue) -> Arrays | None:
    """Evaluate a range of the blocks of sets."""
    assert isinstance(problem.score, SetScore)
    costs = evaluate_blocks(problem, problem.score, set_blocks(problem, problem.score)[slice(*task)], should_continue)
    return None if costs is None else {"costs": costs}


def _score_child(problem: ScoringProblem, child: int, should_continue: ShouldContinue) -> Arrays | None:
    """Score all parent sets of a child."""
    assert isinstance(problem.score, LocalScore)
    found = score_child(problem, problem.score, child, should_continue)
    return None if found is None else _packed(found)


def _packed(found: Candidates) -> Arrays:
    nodes, costs, masks, n_scored = found
    return {"nodes": nodes, "costs": costs, "masks": masks, "n_scored": np.array(n_scored, dtype=np.int64)}


def _unpacked(found: Arrays) -> Candidates:
    return found["nodes"], found["costs"], found["masks"], int(found["n_scored"])


def _joined(results: Sequence[Arrays], name: str) -> NDArray[Any]:
    return np.concatenate([arrays[name] for arrays in results])


def _cache_key(problem: ScoringProblem, engine: str, rules: Sequence[str]) -> str | None:
    """Return all that the results depend on; None where that cannot be told."""
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
        "tasks": [_MOST_TASKS, _LEAST_COUNTED],
    }
    return json.dumps(facts, sort_keys=True, default=repr)


def _version_of(score: SetScore | LocalScore) -> str | None:
    """Return what tells one code of a score from another: our own version, else what the score itself states.

    Nobody can see from outside whether a function that a score calls has changed, so the results of a score that states
    no version are not stored.
    """
    if type(score).__module__.split(".")[0] == "credibn":
        return version()
    told = getattr(score, "version", None)
    return told if isinstance(told, str) else None
