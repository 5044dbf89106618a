"""All credible networks in one diagram, from which they are counted, averaged and drawn.

Nodes are decided one after the other, and partial networks with the same future share a state (``cpp/factored``). The
relaxation of the integer program gives the bounds that leave out what no credible network needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.factored.bounds import LIVE, LIVE_OF_WHOLE, Branch, bounded, refined, tightened, whole
from credibn.factored.branching import split
from credibn.factored.grid import Grid, grid_of
from credibn.search.collection import new_collection, tally_of
from credibn.search.exploration import Exploration
from credibn.search.memory import allowed_bytes
from credibn.search.problem import SearchProblem
from credibn.search.relaxation import Flags, Positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME = "factored"
_LIMITS_AT_A_TIME = 32
_MAX_STEPS = 560_000
"""Of a branch, in one stage: some seconds."""
_GROUP = 64
"""Branches whose diagrams are built at a time, by several threads."""
_FEW_STEPS = 5_000
"""Less than better bounds cost."""
_GROWTH, _ATTEMPTS = 4, 2
"""How many times more steps are allowed when attempts with better bounds, this many, took too many."""
_MOST_FOR_WHOLE = 200_000_000
"""Steps of the whole, where better bounds save many of them: some minutes."""
_SURE_FOR_WHOLE = 4
"""How many times more steps than a branch the whole may take before it must be known how many it takes."""
_FIRST_SEARCH = 4
"""The attempt from which on a better order of the nodes is looked for: that pays when the bounds are good."""
_MANY_PROVEN = 0.5
"""Of the states looked at: where fewer lead to no network, better bounds save the whole little, and branches more."""
_MANY_CANDIDATES = 20
"""Of a node, on average: with more, there would be too many branches, since each takes only one of them."""
_SOME_PROVEN = 0.25
"""Of the states of a branch: where fewer lead to no network, better bounds cost more than they save."""
_FIRST_SAMPLE = 4
"""Of the states that a branch comes to first, one in this many decides on that."""


@dataclass(frozen=True, eq=False)
class FactoredNetworks:
    """All networks up to a cost, as paths of a diagram; a choice is a position among the candidates of a node."""

    counted: _core.CountedNetworks
    grid: Grid
    offsets: NDArray[np.int64]
    candidates: NDArray[np.int64]  # of the diagram, as positions among all
    tolerance: float

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (_core.diagram_arrays(self.counted, of_classes) for of_classes in (False, True))
        return _rebuilt, (self.grid, self.offsets, self.candidates, self.tolerance, self.counted.limit, *arrays)

    @cached_property
    def best_cost(self) -> float:
        """The least cost of a network."""
        return self.grid.cost(self.counted.best)

    @property
    def last_cost(self) -> float:
        """Every network that costs at most this is in the diagram."""
        return self.grid.cost(self.counted.limit)

    def n_networks(self, epsilon: float | None = None) -> int:
        """Return the number of networks within epsilon of the best, or of all."""
        return _integer(self.counted.count_up_to(self._limit(epsilon)))

    def n_classes(self, epsilon: float | None = None) -> int | None:
        """Return the number of classes, likewise; None where they were not counted."""
        words = self.counted.classes_up_to(self._limit(epsilon))
        return None if words is None else _integer(words)

    def _limit(self, epsilon: float | None) -> int:
        if epsilon is None:
            return self.counted.limit
        return min(self.counted.limit, self.counted.best + self.grid.width(epsilon + self.tolerance))

    @cached_property
    def used_candidates(self) -> NDArray[np.int64]:
        """The candidates that some network has, as positions among all, in order."""
        arrays = _core.diagram_arrays(self.counted, False)
        assert arrays is not None
        return self.candidates[np.unique(arrays[4])]

    @cached_property
    def _weighed(self) -> tuple[float, NDArray[np.float64]]:
        return self.counted.weigh(self.grid.step)

    @property
    def log_mass(self) -> float:
        """The logarithm of the sum of exp(-cost) over the networks."""
        return math.log(self._weighed[0]) - self.best_cost

    @property
    def shares(self) -> NDArray[np.float64]:
        """The posterior probability of each candidate of the diagram within the set; those of one node sum to 1."""
        return self._weighed[1]

    def sample(self, n_samples: int, generator: np.random.Generator, *, weighted: bool = True) -> NDArray[np.uint32]:
        """Return independent random networks as choices, by posterior weight or all equally likely."""
        random = generator.random((n_samples, len(self.offsets) + 1))
        chosen, _ = self.counted.sample(random, self.grid.step if weighted else 0.0)
        return self._choices(chosen)

    def in_order(self, batch: int = 1 << 10) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.float64]]]:
        """Yield all networks as choices with their costs, the best first."""
        networks = _core.NetworksInOrder(self.counted)
        while True:
            chosen, steps = networks.take(batch)
            if not len(steps):
                return
            yield self._choices(chosen), np.array([self.grid.cost(cost) for cost in steps.tolist()])

    def _choices(self, chosen: NDArray[np.uint32]) -> NDArray[np.uint32]:
        choices: NDArray[np.uint32] = (self.candidates[chosen] - self.offsets[:-1]).astype(np.uint32)
        return choices

    def log_masses(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the sum of exp(-cost) over the networks within each epsilon of the best."""
        limits = np.array([self._limit(epsilon) for epsilon in epsilons.tolist()], dtype=np.int64)
        found: NDArray[np.float64] = np.log(self._masses(limits)) - self.best_cost
        return found

    def _masses(self, limits: NDArray[np.int64]) -> NDArray[np.float64]:
        return _core.masses_up_to(self.counted, limits, self.grid.step)

    def smallest_epsilon(self, log_mass: float) -> float | None:
        """Return the smallest epsilon whose networks have this mass; None where all together have less."""
        wanted = math.exp(log_mass + self.best_cost)
        low, high = self.counted.best - 1, self.counted.limit  # too little, and enough
        if self._masses(np.array([high]))[0] < wanted:
            return None
        while high - low > 1:
            width = high - low
            limits = sorted({low + width * k // _LIMITS_AT_A_TIME for k in range(1, _LIMITS_AT_A_TIME + 1)} - {low})
            at = int(np.searchsorted(self._masses(np.array(limits)), wanted))  # masses never fall
            low, high = limits[at - 1] if at else low, limits[at]
        return (high - self.counted.best) * self.grid.step

    def within(self, epsilon: float) -> FactoredNetworks:
        """Return the networks within a smaller epsilon of the best."""
        lower = _core.lower_limit(self.counted, self._limit(epsilon), 1 << 62, None)
        return replace(self, counted=lower)

    @cached_property
    def steps_per_pass(self) -> float:
        """About how many steps a pass over all lists of costs takes."""
        arrays = _core.diagram_arrays(self.counted, False)
        assert arrays is not None
        return _core.n_entries(self.counted) * len(arrays[3]) / max(1, len(arrays[2]))

    def shares_without(self, left_out: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return, for each row of flags, the posterior share of the networks that take none of the candidates flagged.

        The flags are those of the candidates of the diagram.
        """
        flags = np.packbits(left_out.T, axis=1, bitorder="little")  # shape (candidates, rows / 8)
        masses = [
            _core.masses_without(self.counted, np.ascontiguousarray(column), self.grid.step) for column in flags.T
        ]
        all_masses = np.concatenate(masses)[: len(left_out)] if masses else np.zeros(0)
        found: NDArray[np.float64] = all_masses / self._weighed[0]
        return found


def _rebuilt(
    grid: Grid,
    offsets: NDArray[np.int64],
    candidates: NDArray[np.int64],
    tolerance: float,
    limit: int,
    networks: Any,
    classes: Any,
) -> FactoredNetworks:
    """Return networks that another process has counted; `credibn.factored.stored` is for those that need checks."""
    first = np.searchsorted(candidates, offsets).astype(np.int64)
    no_masks = np.zeros((len(candidates), -(-(len(offsets) - 1) // 64)), dtype=np.uint64)
    counted = _core.counted_of_arrays(first, grid.costs[candidates], no_masks, limit, networks, classes, 1 << 62, None)
    return FactoredNetworks(counted, grid, offsets, candidates, tolerance)


@dataclass(frozen=True, eq=False)
class Counting:
    """What counting came to.

    Attributes
    ----------
    networks : FactoredNetworks or None
        None where no network was counted.
    is_complete : bool
        Whether all credible networks are counted.
    is_stopped : bool
        Whether the run was stopped; otherwise an incomplete diagram ran out of memory.
    unexplored_bound : float
        No network that costs less is missing; infinite where it is complete.
    incumbent : ndarray of uint32, shape (n,), or None
        The choices of the best network that a local search knows.
    statistics : mapping
    """

    networks: FactoredNetworks | None
    is_complete: bool
    is_stopped: bool
    unexplored_bound: float
    incumbent: NDArray[np.uint32] | None
    statistics: Mapping[str, object] = field(default_factory=dict)


def count_credible(
    problem: SearchProblem, max_steps: int = _MAX_STEPS, most_for_whole: int = _MOST_FOR_WHOLE
) -> Counting:
    """Count the networks within epsilon of the optimum; with classes where the problem asks for classes.

    Where the diagram of a branch takes more than `max_steps`, the branch is split; the whole, where it seems to take
    more than `most_for_whole`.
    """
    collection = new_collection(problem)
    search = Exploration(problem, collection)
    problem.run.follow(lambda: tally_of(problem, collection, search.lowest_cost))
    grid = grid_of(problem.offsets, problem.costs)
    root = whole(search)
    if search.is_stopped:
        return Counting(None, False, True, search.lowest_cost, search.best_row)
    if root is None:
        return Counting(None, True, False, math.inf, search.best_row)
    chosen = np.flatnonzero(root.is_open)
    offsets = np.searchsorted(chosen, problem.offsets).astype(np.int64)
    costs, masks = grid.costs[chosen], problem.masks[chosen]
    if search.best_row is None:  # no network costs more than this
        best = int(np.maximum.reduceat(costs, offsets[:-1]).sum())
    else:
        best = int(grid.costs[problem.offsets[:-1] + search.best_row].sum())
    max_bytes = allowed_bytes(problem) or 1 << 62
    counter = _core.NetworkCounter(
        offsets,
        costs,
        np.ascontiguousarray(masks),
        best,
        grid.width(problem.epsilon + problem.tolerance),
        problem.unit == "classes" and _members_cost_the_same(problem.offsets, grid.costs, problem.masks),
        max_bytes,
    )
    branches = _Branches(search, grid, chosen, counter, max_steps, most_for_whole, max_bytes)
    unexplored = branches.add_all(root)
    counted = counter.count(unexplored, search.is_stopped, lambda _: problem.run("counting", 1.0))
    statistics = {
        "gap_before": search.statistics.gap_before,
        "gap_after": search.statistics.gap_after,
        "n_candidates": len(chosen),
        "n_branches": branches.n_done,
        "n_states": counted.n_states,
        "n_class_states": counted.n_class_states,
    }
    is_complete = counted.outcome == "complete"
    if counted.is_empty:
        lowest = math.inf if is_complete else max(search.lowest_cost, grid.cost(counted.bound))
        return Counting(None, is_complete, counted.outcome == "stopped", lowest, search.best_row, statistics)
    networks = FactoredNetworks(counted, grid, problem.offsets, chosen, problem.tolerance)
    bound = math.inf if is_complete else networks.last_cost
    return Counting(networks, is_complete, counted.outcome == "stopped", bound, search.best_row, statistics)


@dataclass(frozen=True, eq=False)
class _Task:
    """A branch to be counted: its open candidates, what it is part of, and a guess at its share of the work."""

    is_open: Flags
    parent: Branch
    share: float
    level: int  # how often it is what remains when expensive candidates have got their own branches


@dataclass
class _Branches:
    """The way through the branches, depth first."""

    search: Exploration
    grid: Grid
    candidates: NDArray[np.int64]  # of the diagram, as positions among all
    counter: _core.NetworkCounter
    max_steps: int
    most_for_whole: int
    max_bytes: int
    n_done: int = 0
    share_done: float = 0.0

    def add_all(self, root: Branch) -> int | None:
        """Add the networks of all branches; return a bound on those left out, in steps, None if there are none."""
        found = self._add_whole(root)
        if found is None:
            return None
        root, todo = found, self._split(found, 1.0, 0)
        left_out = [] if todo else [root]
        while todo and not left_out:
            tasks = todo.pop()
            for task, branch in self._count(tasks):
                children = self._split(branch, task.share, task.level)
                todo += children
                left_out += [] if children else [task.parent]
                self.share_done -= task.share
            self.share_done += math.fsum(task.share for task in tasks)
        left_out += [tasks[0].parent for tasks in todo] if left_out else []
        return min((self._lower(branch) for branch in left_out), default=None)

    def _add_whole(self, root: Branch) -> Branch | None:
        """Add all networks; where that takes too many steps even with better bounds, return these."""
        has_few = root.is_open.sum() < _MANY_CANDIDATES * self.search.n
        n_live = LIVE if has_few else LIVE_OF_WHOLE
        is_for_long, last_steps = _SURE_FOR_WHOLE * self.max_steps, 0
        for attempt, max_steps in enumerate(self._allowances(self.most_for_whole)):
            search_order = attempt >= _FIRST_SEARCH and max_steps > last_steps
            outcome, prefixes, n_expected = self.counter.add_whole(
                *self._inputs([root], n_live), max_steps, search_order, self._watch
            )
            if outcome == "complete":
                self.n_done += 1
                return None
            if outcome == "stopped":
                break
            better, share_proven = refined(self.search, root, self._among_all(prefixes), n_live)
            if better is None:
                return None
            root = better
            if max_steps >= is_for_long and n_expected > self.most_for_whole:
                break
            if attempt >= _FIRST_SEARCH and has_few and share_proven < _MANY_PROVEN:
                break
            last_steps = max_steps
        return root.with_bounds(list(range(min(LIVE, len(root.duals)))))

    def _allowances(self, most: int) -> list[int]:
        """Return how many steps the attempts may take: few at first, since better bounds save most of them."""
        most = max(most, self.search.n)  # always enough for one network
        allowed = [min(most, _FEW_STEPS)]
        while allowed[-1] < most:
            allowed.append(min(most, _GROWTH * allowed[-1]))
        n_attempts = [_ATTEMPTS if max_steps <= _SURE_FOR_WHOLE * self.max_steps else 1 for max_steps in allowed]
        return [max_steps for max_steps, n in zip(allowed, n_attempts, strict=True) for _ in range(n)]

    def _split(self, branch: Branch, share: float, level: int) -> list[list[_Task]]:
        """Return the branches of a branch, in groups, the first to be done last; none where it is time to stop."""
        if self.search.is_stopped or 2 * self.counter.bytes > self.max_bytes:
            return []
        taking, remaining = split(self.search, branch, level)
        tasks = [_Task(is_open, branch, share / 2 / len(taking), 0) for is_open in taking]
        groups = [tasks[at : at + _GROUP] for at in range(0, len(tasks), _GROUP)]
        return [[_Task(remaining, branch, share / 2, level + 1)], *reversed(groups)] if tasks else []

    def _count(self, tasks: list[_Task]) -> list[tuple[_Task, Branch]]:
        """Add the networks of tasks, at first with the dual values of their parent; return what is too large.

        Where some states prove to lead to no network, bounds get better with every attempt. All else gets the most
        steps at once.
        """
        bounds = [(task, bounded(self.search, task.is_open, task.parent.duals)) for task in tasks]
        left = [(task, branch) for task, branch in bounds if branch is not None]
        rest: list[tuple[_Task, Branch]] = []
        *fewer, most = self._allowances(self.max_steps)
        for attempt, max_steps in enumerate(fewer):
            failed = self._too_large(left, max_steps)
            left = []
            for task, branch, prefixes in failed:
                fresh = tightened(self.search, branch) if attempt == 0 else branch
                sample = prefixes[::_FIRST_SAMPLE] if attempt == 0 else prefixes
                better, share_proven = (None, 0.0) if fresh is None else refined(self.search, fresh, sample)
                if not self.search.report("counting", self.share_done):
                    return [(task, branch) for task, branch, _ in failed] + (rest if attempt > 0 else [])
                if better is not None:
                    (left if attempt > 0 or share_proven >= _SOME_PROVEN else rest).append((task, better))
        return [(task, branch) for task, branch, _ in self._too_large(left + rest, most)]

    def _too_large(self, tasks: list[tuple[_Task, Branch]], max_steps: int) -> list[tuple[_Task, Branch, Positions]]:
        """Add the networks of tasks; return those that take more steps, with ways to states."""
        added = self._add([branch for _, branch in tasks], max_steps)
        return [
            (*pair, self._among_all(prefixes))
            for pair, (outcome, prefixes) in zip(tasks, added, strict=True)
            if outcome != "complete"
        ]

    def _add(self, branches: list[Branch], max_steps: int) -> list[tuple[str, Positions]]:
        """Add the networks of branches that are not too large; return the outcome of each, and ways to states."""
        if not branches:
            return []
        n_threads = self.search.asked_for.run.n_threads
        added = self.counter.add(*self._inputs(branches), max_steps, n_threads, self._watch)
        self.n_done += sum(outcome == "complete" for outcome, _ in added)
        return list(added)

    def _inputs(self, branches: list[Branch], n_live: int = LIVE) -> tuple[Positions, Positions, Positions, Positions]:
        """Return the open candidates of branches, where those of each begin, and their bounds."""
        inputs = [branch.in_steps(self.grid, n_live) for branch in branches]
        n_bounds = max(len(lowers) for _, lowers, _ in inputs)  # where there are fewer, the first one comes again
        rows = [np.where(np.arange(n_bounds) < len(lowers), np.arange(n_bounds), 0) for _, lowers, _ in inputs]
        return (
            np.searchsorted(self.candidates, np.concatenate([chosen for chosen, _, _ in inputs])),
            np.cumsum([0, *(len(chosen) for chosen, _, _ in inputs)]),
            np.array([lowers[row] for (_, lowers, _), row in zip(inputs, rows, strict=True)]),
            np.concatenate([reduced[row] for (_, _, reduced), row in zip(inputs, rows, strict=True)], axis=1),
        )

    def _among_all(self, prefixes: Positions) -> Positions:
        """Return ways to states with their candidates as positions among all."""
        return np.where(prefixes < 0, -1, self.candidates[prefixes])

    def _lower(self, branch: Branch) -> int:
        return int(branch.in_steps(self.grid)[1].max())

    def _watch(self, _: float) -> bool:
        return self.search.report("counting", self.share_done)


def _members_cost_the_same(offsets: NDArray[np.int64], costs: NDArray[np.int64], masks: NDArray[np.uint64]) -> bool:
    """Whether reversing a covered edge never changes the cost, to the last step: then a class is counted as a whole.

    Reversals of covered edges lead from each member of a class to all others (Chickering 1995). All candidates are
    looked at, also those that the bound rules out: a member that needs one would cost as little as the others.
    """
    n = len(offsets) - 1
    sets = [sum(int(word) << 64 * at for at, word in enumerate(row)) for row in masks.tolist()]
    of_node = [{sets[c]: int(costs[c]) for c in range(offsets[v], offsets[v + 1])} for v in range(n)]
    for v in range(n):
        for parents, cost in of_node[v].items():
            left = parents
            while left:
                low = left & -left
                left -= low
                u, rest = low.bit_length() - 1, parents - low
                before, after = of_node[u].get(rest), of_node[u].get(rest | 1 << v)
                reverse = of_node[v].get(rest)
                if before is None or after is None or reverse is None:
                    continue
                if cost + before != after + reverse:
                    return False
    return True


def _integer(words: NDArray[np.uint64]) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little", signed=True)
