"""A search shared among the workers of an executor.

A worker takes a part, explores it for some seconds, and hands in what it has found and the parts that are left, for
others to take. The parts share no network and together hold all, so who does which, and in what order, changes nothing.
"""

import math
import time
from collections.abc import Sequence

import numpy as np

from credibn._base.version import version
from credibn._run import Arrays, GoesOn, OutOfTime, Stopped, aligned
from credibn.errors import WorkerError
from credibn.search.checkpoints import Checkpoints
from credibn.search.collection import new_collection
from credibn.search.exploration import Exploration
from credibn.search.memory import allowed_bytes
from credibn.search.parts import Branch, unpack
from credibn.search.problem import SearchProblem

__all__ = ["hand_out", "work_on_part"]

SECONDS_PER_PART = 5.0
"""After so long a worker hands back what it has not done."""
SECONDS_TO_HAND_IN = 1.0
"""So long before the time is over, workers stop and hand in what they have found."""


def hand_out(run: Exploration, branches: Sequence[Branch], checkpoints: Checkpoints) -> float:
    """Let workers go through all branches; return a bound on what was left out, infinite if nothing was."""
    bench, seconds = run.asked_for.bench, run.asked_for.seconds_left()
    left = dict(enumerate(branches))
    parts = [run.state([branch]) for branch in branches]
    is_stopped = is_out_of_time = False
    done = bench.do(
        "parts",
        None,
        work_on_part,
        (version(), _for_workers(run.asked_for, bench.n_workers)),
        parts,
        lambda _: run.asked("branches", run.share_done),
        None if seconds is None else max(0.0, seconds - SECONDS_TO_HAND_IN),
    )
    try:
        for index, found in done:
            if found["is_stopped"]:  # what it has found counts, but the part is not done
                is_stopped = True
                is_out_of_time = is_out_of_time or not found["is_full"]
                _take(run, found)
                continue
            branch = left.pop(index)
            _take(run, found)
            more = sorted(unpack(found, run.problem, len(run.costs)), key=lambda other: other.lower)
            left.update(enumerate(more, start=len(parts)))
            parts.extend(run.state([other]) for other in more)
            run.share_done += branch.share - math.fsum(other.share for other in more)
            if not is_stopped:
                checkpoints.save(lambda: run.state(list(left.values())))
    except OutOfTime:
        is_stopped = is_out_of_time = True
    except Stopped:
        pass
    if is_out_of_time:
        run.asked_for.end_time()
    if left and not is_stopped:
        checkpoints.save(lambda: run.state(list(left.values())), is_last=True)
    return min((branch.lower for branch in left.values()), default=math.inf)


def _for_workers(problem: SearchProblem, n_workers: int) -> SearchProblem:
    """Return the problem as it travels: one thread, a share of the memory, nobody who looks on."""
    allowed = allowed_bytes(problem)
    share = None if allowed is None else allowed // n_workers
    return SearchProblem(
        problem.names,
        problem.offsets,
        problem.costs,
        problem.masks,
        problem.epsilon,
        problem.tolerance,
        problem.unit,
        problem.max_rows,
        problem.max_networks,
        share,
    )


def _take(run: Exploration, found: Arrays) -> None:
    """Put what a worker has found to the rest."""
    run.collection.take(found["choices"], found["costs"], found["sizes"])
    if math.isfinite(float(found["cut"])):
        run.collection.truncate(float(found["cut"]))
    best_cost, lowest_cost, _, left_out = found["numbers"].tolist()
    run.collection.leave_out_class(left_out)
    run.note_best(found["best_row"], best_cost)
    run.lowest_cost = max(run.lowest_cost, lowest_cost)
    run.rank = found["rank"].tolist()
    n_branches, n_rounds, n_steps = found["counted"].tolist()
    run.statistics.n_branches += n_branches
    run.statistics.n_rounds += n_rounds
    run.statistics.n_steps += n_steps


def work_on_part(common: tuple[str, SearchProblem], part: Arrays, goes_on: GoesOn) -> Arrays:
    """Explore a part for some seconds: the networks found, and the branches that are left."""
    made_by, problem = common
    if made_by != version():
        raise WorkerError(
            f"a worker has credibn {version()}, and the work comes from {made_by}; install the same there"
        )
    until = time.monotonic() + SECONDS_PER_PART
    asked = {**aligned(vars(problem)), "watch": lambda stage, fraction: goes_on(fraction)}
    here = SearchProblem(**asked)
    collection = new_collection(here)
    run = Exploration(here, collection, cuts_walks=True)
    branches = run.restore(aligned(part))
    is_stopped = not run.treat_next(branches)
    while branches and not is_stopped and time.monotonic() < until:
        is_stopped = not run.treat_next(branches)
    choices, costs, sizes = collection.networks_from(0)
    return {
        **run.state(branches),
        "choices": choices,
        "costs": costs,
        "sizes": sizes,
        "cut": np.array(collection.limit() if collection.is_truncated() else math.inf),
        "is_stopped": np.array(is_stopped),
        "is_full": np.array(collection.is_full()),
        "counted": np.array([run.statistics.n_branches, run.statistics.n_rounds, run.statistics.n_steps]),
    }
