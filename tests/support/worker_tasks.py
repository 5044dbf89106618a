"""Tasks, and scores, that worker processes can import."""

import os
import time
from pathlib import Path

import numpy as np

from credibn.errors import DataError


def double(common, task, should_continue):
    """Twice the task, plus what is common."""
    return {"double": np.array([2 * task + common]), "nothing": np.zeros((0, 3), dtype=np.uint16)}


def count_calls(folder, task, should_continue):
    """As `double`; each call leaves a file of its own in the folder."""
    (Path(folder) / f"{task}-{time.monotonic_ns()}").touch()
    return double(0, task, should_continue)


def refuse_three(common, task, should_continue):
    if task == 3:
        raise DataError(f"{task} cannot be done; leave it out")
    return double(common, task, should_continue)


def run_out_of_memory(common, task, should_continue):
    raise MemoryError("no 8 GiB")


def die(common, task, should_continue):
    """End the worker process at once, unless the task is the first."""
    if task > 0:
        os._exit(9)
    return double(0, task, should_continue)


def wait_for_the_end(folder, task, should_continue):
    """Continue until told to stop; leave a file when it begins and one when it ends."""
    (Path(folder) / f"began-{task}").touch()
    while should_continue(0.5):
        time.sleep(0.01)
    (Path(folder) / f"ended-{task}").touch()


class PairCosts:
    """A score without bounds: the empirical joint entropy of each set, and a price for its size."""

    name = "pair-costs"
    version = "1"
    columns = "discrete"

    def settings(self):
        return {}

    def set_costs(self, data, sets):
        return pair_costs(data, sets)


class SlowOnce(PairCosts):
    """Notes its process on its first call, and waits there: for tests that kill a worker."""

    name = "slow-once"

    def __init__(self, file, seconds):
        self.file, self.seconds = str(file), seconds

    def set_costs(self, data, sets):
        try:
            with open(self.file, "x") as sink:
                sink.write(str(os.getpid()))
        except FileExistsError:
            pass
        else:
            time.sleep(self.seconds)
        return super().set_costs(data, sets)


class LocalCosts:
    """The same as a local score."""

    name = "local-costs"
    version = "1"
    columns = "discrete"

    def settings(self):
        return {}

    def local_cost(self, data, node, parents):
        family = pair_costs(data, np.array([sorted((*parents, node))]))
        return float(family[0] - pair_costs(data, np.array([parents], dtype=np.intp).reshape(1, -1))[0])


def pair_costs(data, sets):
    costs = []
    for members in sets:
        rows = np.column_stack([data.columns[v] for v in members]) if len(members) else np.zeros((len(data.weights), 1))
        which = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        counts = np.bincount(which, weights=data.weights)
        costs.append(-(counts * np.log(counts / data.n_rows)).sum() + 1.5 * 2.0 ** len(members))
    return np.array(costs)
