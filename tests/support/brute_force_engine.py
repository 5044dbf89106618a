"""A search engine that tries every network, for up to five variables: slow, obvious, and obedient to the contract."""

import math
import time

import numpy as np

from credibn import _core
from credibn.search import EngineEstimate, Found
from oracle import all_dags, covered_reversals


class BruteForce:
    name = "brute_force"

    def estimate(self, problem):
        possible = problem.n_variables <= 5
        return EngineEstimate(possible, "" if possible else "it takes at most 5 variables", 1 << 20, 1e9)

    def search(self, problem):
        rows = []
        positions = [
            {
                sum(int(word) << 64 * at for at, word in enumerate(mask)): position
                for position, mask in enumerate(problem.masks[start:stop])
            }
            for start, stop in zip(problem.offsets[:-1], problem.offsets[1:], strict=True)
        ]
        if not problem.run("enumeration", 0.0):
            return self._found(problem, [], math.inf, stopped=True, bound=-math.inf)
        by_cost = []
        for dag in all_dags(problem.n_variables):
            masks = [sum(1 << p for p in parents) for parents in dag]
            if all(mask in of_node for mask, of_node in zip(masks, positions, strict=True)):
                row = tuple(of_node[mask] for mask, of_node in zip(masks, positions, strict=True))
                cost = sum(problem.costs[problem.offsets[v] + at] for v, at in enumerate(row))
                by_cost.append((cost, row, dag))
        by_cost.sort()
        best = by_cost[0][0]
        wanted = [entry for entry in by_cost if entry[0] <= best + problem.epsilon + problem.tolerance]
        if problem.unit == "classes":
            wanted = one_per_class(wanted)
        sizes = [size_of(dag) if problem.unit == "classes" else 1 for _, _, dag in wanted]
        kept, bound = quota(problem, wanted, sizes)
        rows = [(cost, row, size) for (cost, row, _), size in zip(wanted[:kept], sizes[:kept], strict=True)]
        if not problem.run("enumeration", 0.5):
            return self._found(problem, rows[: len(rows) // 2], best, stopped=True, bound=best)
        return self._found(problem, rows, best, is_cut=kept < len(wanted), bound=bound)

    def _found(self, problem, rows, best, *, is_cut=False, stopped=False, bound=math.inf):
        n = problem.n_variables
        by_class = problem.unit == "classes"
        return Found(
            choices=np.array([row for _, row, _ in rows], dtype=np.uint32).reshape(-1, n),
            costs=np.array([cost for cost, _, _ in rows], dtype=np.float64),
            sizes=np.array([[size] for _, _, size in rows], dtype=np.uint64).reshape(-1, 1)[:, : int(by_class)],
            best_cost=best,
            is_cut=is_cut,
            stopped=stopped,
            unexplored_bound=bound,
            statistics={"n_rows": len(rows)},
        )


def members_of(dag):
    """The class of a network, by turning covered edges until nothing new comes."""
    seen, left = {dag}, [dag]
    while left:
        for turned in covered_reversals(left.pop()):
            if turned not in seen:
                seen.add(turned)
                left.append(turned)
    return seen


def size_of(dag):
    return len(members_of(dag))


def one_per_class(entries):
    """Keep the member of each class that the core calls canonical, as the real engines do."""
    kept = []
    for entry in entries:
        masks = np.array([[sum(1 << p for p in parents)] for parents in entry[2]], dtype=np.uint64)
        if _core.are_canonical(masks[np.newaxis], np.arange(len(masks)))[0]:
            kept.append(entry)
    return kept


def quota(problem, wanted, sizes):
    """How many rows fill the quotas, with all that tie with the last of them; and the cost of the first left out."""
    end = total = 0
    while (
        end < len(wanted)
        and (problem.max_rows is None or end < problem.max_rows)
        and (problem.max_networks is None or total < problem.max_networks)
    ):
        total += sizes[end]
        end += 1
    while 0 < end < len(wanted) and wanted[end][0] <= wanted[end - 1][0] + problem.tolerance:
        end += 1
    return end, wanted[end][0] if end < len(wanted) else math.inf


class Waiting(BruteForce):
    """Finds half of the networks, and then waits until it is told to stop."""

    name = "waiting"

    def __init__(self, before_waiting=lambda: None, has_found=True):
        self.before_waiting, self.has_found = before_waiting, has_found

    def search(self, problem):
        found = super().search(problem)
        self.before_waiting()
        while problem.run("enumeration", 0.5):
            time.sleep(0.01)
        k = len(found.costs) // 2 if self.has_found else 0
        best = found.best_cost if self.has_found else math.inf
        bound = float(found.costs[k]) if self.has_found else -math.inf
        return type(found)(
            found.choices[:k], found.costs[:k], found.sizes[:k], best, stopped=True, unexplored_bound=bound
        )
