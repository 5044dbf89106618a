"""How long scoring takes, from a short sample of the work itself.

A few of its tasks, spread over all, are done for some hundredths of a second each. One that is not finished by then is
taken to continue as it went. The sum is rough, right to within a factor of ten: it tells a minute from a year.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from credibn import _core
from credibn.scores.discrete import DiscreteScore
from credibn.scores.local import LocalScore
from credibn.scores.problem import ScoringProblem
from credibn.scores.protocol import SetScore
from credibn.scores.sets import parent_limits
from credibn.scores.tasks import RULES, core_arguments, ranges

_SECONDS_PER_TASK, _MOST_PER_TASK = 0.04, 0.2
"""Of one processor; the second where a task has not said yet how far it is."""
_TASKS = 3
"""Done as a sample."""
_SETS = 32
"""Of each size, for scores that are Python objects."""
_DEPTH = 4
"""Larger parent sets add little: the rules leave few of them."""
_LEAST_DONE = 1e-4
"""The smallest share that a task reports."""
_SURE = 0.01
"""Where less of a task is done, the prediction lies between that for few parents, a lower bound, and an upper one."""
_SECONDS_PER_PAIR = 1e-9
"""To count a pair of parents in a row, at least: the descent engine cannot be stopped before it has all pairs."""
_CEILING = 1e18
"""Seconds: longer is no different."""


def predict_seconds(problem: ScoringProblem, engine: str, n_workers: int) -> float:
    """Predict how long scoring takes with this engine, for this many workers."""
    if problem.n_searched < 2:
        return 0.0
    if problem.data.interventions is not None:
        return min(math.fsum(predict_seconds(part, engine, n_workers) for _, part in problem.parts), _CEILING)
    if isinstance(problem.score, DiscreteScore):
        seconds = _of_tasks(problem, engine)
    elif isinstance(problem.score, SetScore):
        seconds = _of_sets(problem, problem.score)
    else:
        seconds = _of_local_scores(problem, problem.score)
    is_parallel = isinstance(problem.score, DiscreteScore)
    return min(seconds / (n_workers if is_parallel else 1), _CEILING)


def limit_parents(problem: ScoringProblem, most: int) -> ScoringProblem:
    """Return the problem with at most this many parents of each node, and those that are required."""
    constraints = problem.constraints
    limits = tuple(
        min(limit, max(most, len(required)))
        for limit, required in zip(constraints.max_parents, constraints.required, strict=True)
    )
    return replace(problem, constraints=replace(constraints, max_parents=limits))


def _of_tasks(problem: ScoringProblem, engine: str) -> float:
    core = _core.DiscreteProblem(**core_arguments(problem), rules=list(RULES))
    weights = core.descent_weights() if engine == "descent" else core.table_weights()
    n, depth = problem.n_searched, min(int(problem.max_parents.max(initial=0)), _DEPTH)
    if engine == "descent" and depth > 1:
        pairs = math.comb(n - 1, 2) * problem.data.n_distinct * _SECONDS_PER_PAIR
        if pairs > _TASKS * _SECONDS_PER_TASK:  # not even a sample can be had soon
            return n * pairs * math.prod((n - 1 - size) / (size + 1) for size in range(2, depth))
    depth = max(depth, 1)
    run_range = core.run_descent_tasks if engine == "descent" else core.run_table_tasks
    tasks = ranges(weights, problem.data.n_distinct)
    work = np.array([float(weights[first:last].sum()) for first, last in tasks])
    ends = np.cumsum(work)
    sampled = np.unique(np.searchsorted(ends, (np.arange(_TASKS) + 0.5) / _TASKS * ends[-1]))
    samples = [_seconds_of(partial(run_range, *tasks[at]), _depth_of(tasks[at], depth)) for at in sampled]
    seconds = float(ends[-1] * np.mean([of_task / work[at] for at, (of_task, _) in zip(sampled, samples, strict=True)]))
    if all(is_sure for _, is_sure in samples) or int(problem.max_parents.max()) <= _DEPTH:
        return seconds
    least = _of_tasks(limit_parents(problem, _DEPTH), engine)
    return math.sqrt(least * max(seconds, least))


def _depth_of(task: tuple[int, int], depth: int) -> int:
    """Return how the work of a task goes with the fraction that it reports: evenly from unit to unit."""
    return depth if task[1] - task[0] == 1 else 1


def _seconds_of(do: Callable[[Callable[[float], bool]], object], depth: int) -> tuple[float, bool]:
    """Do a task for a moment; return how long all of it takes, and whether enough was done to tell.

    A search that has tried a fraction f of the first parents of a set has done more than this share of the work, since
    those that come later have fewer to be combined with. At the very beginning that is an upper bound: what comes first
    takes longest.
    """
    begin, done = time.process_time(), 0.0  # without what others do on this machine

    def watch(fraction: float) -> bool:
        nonlocal done
        done = fraction
        return time.process_time() - begin < (_SECONDS_PER_TASK if done > 0.0 else _MOST_PER_TASK)

    is_finished = do(watch) is not None
    spent = time.process_time() - begin
    if is_finished:
        return spent, True
    return spent / max(1.0 - (1.0 - done) ** depth, _LEAST_DONE), done > _SURE


def _of_sets(problem: ScoringProblem, score: SetScore) -> float:
    """Evaluate some sets of the sizes of which there are most."""
    n, largest = problem.n_searched, int(parent_limits(problem, score).max(initial=0)) + 1
    rng, seconds, spent = np.random.default_rng(0), 0.0, 0.0
    per_set = 0.0
    for size in range(2, largest + 1):
        if spent < _TASKS * _SECONDS_PER_TASK:
            sets = np.sort(np.array([rng.choice(n, size, replace=False) for _ in range(_SETS)]), axis=1)
            begin = time.process_time()
            score.set_costs(problem.data, problem.searched[sets])
            taken = time.process_time() - begin
            spent, per_set = spent + taken, taken / _SETS
        seconds += per_set * math.comb(n, size)
        if seconds > _CEILING:
            break
    return seconds


def _of_local_scores(problem: ScoringProblem, score: LocalScore) -> float:
    """Call the function for some sets of some nodes."""
    rng, n_sets, n_called, begin = np.random.default_rng(0), 0, 0, time.perf_counter()
    for child in range(problem.n_searched):
        required, free, most = problem.parent_choices(child)
        n_sets += sum(math.comb(len(free), size) for size in range(most + 1))
        while n_called < _SETS * (child + 1) and time.perf_counter() - begin < _TASKS * _SECONDS_PER_TASK:
            chosen = rng.choice(free, min(most, 2), replace=False).tolist() if free and most > 0 else []
            columns = tuple(int(problem.searched[v]) for v in sorted((*required, *chosen)))
            score.local_cost(problem.data, int(problem.searched[child]), columns)
            n_called += 1
    return (time.perf_counter() - begin) / max(n_called, 1) * min(float(n_sets), _CEILING)
