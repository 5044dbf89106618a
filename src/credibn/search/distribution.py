"""A search shared among the workers of an executor.

A worker takes a branch, explores it for some seconds, and returns what it has found and the branches that remain,
for others to take. Branches share no network and together hold all, so who does which, and when, changes nothing.
"""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

import numpy as np

from credibn._base.version import version
from credibn._run import Arrays, Run, ShouldContinue, Stopped, aligned
from credibn.errors import WorkerError
from credibn.search.branches import Branch, unpack
from credibn.search.checkpoints import Checkpoints
from credibn.search.collection import new_collection
from credibn.search.exploration import Exploration
from credibn.search.memory import allowed_bytes
from credibn.search.problem import SearchProblem

SECONDS_PER_TASK = 5.0
"""After this time a worker returns what it has found and what it has not done."""
SECONDS_TO_HAND_IN = 1.0
"""Before the time limit, at which workers stop and return what they have found."""


def hand_out(search: Exploration, branches: Sequence[Branch], checkpoints: Checkpoints) -> float:
    """Let workers go through all branches; return a bound on what was left out, infinite if nothing was."""
    run = search.asked_for.run
    left = dict(enumerate(branches))
    tasks = [search.state([branch]) for branch in branches]
    is_stopped = is_out_of_time = False
    done = run.do(
        "branches",
        None,
        explore_branch,
        (version(), _for_workers(search.asked_for, run.n_workers)),
        tasks,
        lambda _: search.report("branches", search.share_done),
        margin=SECONDS_TO_HAND_IN,
    )
    with suppress(Stopped):
        for index, found in done:
            if found["is_stopped"]:  # what it has found counts, but the branch is not done
                is_stopped = True
                is_out_of_time = is_out_of_time or bool(found["is_out_of_time"])
                _take(search, found)
                continue
            branch = left.pop(index)
            _take(search, found)
            more = sorted(unpack(found, search.problem, len(search.costs)), key=lambda other: other.lower)
            left.update(enumerate(more, start=len(tasks)))
            tasks.extend(search.state([other]) for other in more)
            search.share_done += branch.share - math.fsum(other.share for other in more)
            if not is_stopped:
                checkpoints.save(lambda: search.state(list(left.values())))
    if is_out_of_time:
        run.reach("time_limit")
    if left and not is_stopped:
        checkpoints.save(lambda: search.state(list(left.values())), is_last=True)
    return min((branch.lower for branch in left.values()), default=math.inf)


def _for_workers(problem: SearchProblem, n_workers: int) -> dict[str, Any]:
    """Return the problem as it travels: without its run, and with a share of the memory."""
    allowed = allowed_bytes(problem)
    asked = {field.name: getattr(problem, field.name) for field in fields(problem) if field.name != "run"}
    return asked | {"max_bytes": None if allowed is None else allowed // n_workers}


def _take(search: Exploration, found: Arrays) -> None:
    """Add what a worker has found to the rest."""
    search.collection.take(found["choices"], found["costs"], found["sizes"])
    if math.isfinite(float(found["cut"])):
        search.collection.truncate(float(found["cut"]))
    best_cost, lowest_cost, _, left_out = found["numbers"].tolist()
    search.collection.leave_out_class(left_out)
    search.note_best(found["best_row"], best_cost)
    search.lowest_cost = max(search.lowest_cost, lowest_cost)
    search.rank = found["rank"].tolist()
    n_branches, n_rounds, n_steps = found["counted"].tolist()
    search.statistics.n_branches += n_branches
    search.statistics.n_rounds += n_rounds
    search.statistics.n_steps += n_steps


def explore_branch(common: tuple[str, dict[str, Any]], task: Arrays, should_continue: ShouldContinue) -> Arrays:
    """Explore a branch for some seconds; return the networks found and the branches that are left."""
    made_by, asked = common
    if made_by != version():
        raise WorkerError(
            f"a worker has credibn {version()}, but the task was made by {made_by}; install the same version there"
        )
    until = time.monotonic() + SECONDS_PER_TASK
    problem = SearchProblem(**aligned(asked), run=Run(lambda stage, fraction: should_continue(fraction)))
    collection = new_collection(problem)
    search = Exploration(problem, collection, splits_listings=True)
    branches = search.restore(aligned(task))
    is_stopped = not search.treat_next(branches)
    while branches and not is_stopped and time.monotonic() < until:
        is_stopped = not search.treat_next(branches)
    choices, costs, sizes = collection.networks_from(0)
    return {
        **search.state(branches),
        "choices": choices,
        "costs": costs,
        "sizes": sizes,
        "cut": np.array(collection.limit() if collection.is_truncated() else math.inf),
        "is_stopped": np.array(is_stopped),
        "is_out_of_time": np.array(is_stopped and not collection.is_full() and problem.run.reason != "memory_limit"),
        "counted": np.array([search.statistics.n_branches, search.statistics.n_rounds, search.statistics.n_steps]),
    }
