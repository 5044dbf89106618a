"""All credible networks by integer programming, for more nodes than dynamic programming can take.

Binary x(i, P) says that node i takes parent set P (Jaakkola et al. 2010; Cussens 2011). The relaxation is tightened
by cluster cuts and by zero-half cuts, until its dual values leave few candidates within the limit, best cost + epsilon.
Then the networks are enumerated depth first, with the reduced costs as bounds. Where that takes too many steps, the
candidates that are left are searched by dynamic programming over subsets if there are few enough nodes; otherwise an
edge is fixed to be in the network or not (``branching.py``), and each branch is tightened and enumerated on its own.
The branches share no network and together hold all.

Every bound is recomputed by the compiled core from the solver's dual values (``cpp/dual_bound.hpp``), so that neither
completeness nor the proof of the optimum rests on the solver. Cost: a few linear programs where the relaxation
closes the gap, which is usual; exponential in the worst case.
"""

import itertools
import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._run import Arrays
from credibn.search.branches import Branch, Listing, pack, unpack
from credibn.search.branching import EdgeSplitter
from credibn.search.checkpoints import Checkpoints
from credibn.search.collection import new_collection, ties_of
from credibn.search.dynamic_programming import estimate_subsets, search_subsets
from credibn.search.listing_stages import OVERESTIMATE, STAGE_SHARE, after_giving_up, after_stage, next_stage
from credibn.search.memory import within_memory
from credibn.search.problem import SearchProblem
from credibn.search.relaxation import Bound, Flags, Floats, Positions, Relaxation
from credibn.search.separation import find_cuts
from credibn.search.statistics import Statistics

SEED = 1
EFFORT, MOST_EFFORT = 2_000, 2_000_000_000
"""How often a search for a network looks at each candidate, for each node, and at candidates in all."""
FIRST_EFFORT = 5
"""How often the first search does, for each candidate: as long as some linear programs of that size take."""
ROUNDS_PER_SEARCH = 5
"""Each fractional solution is rounded to a network; every fifth one is the start of a longer search."""
TOWARDS_SOLUTION = 0.2
"""Where cuts are looked for, on the way from the best network known to the recent solutions."""
NEWEST = 0.5
"""How much the newest solution counts in the mean of the recent ones; each one before counts half as much."""
MANY_CANDIDATES = 5_000
"""With more, at the root, where the bound stalls, cuts are looked for at one point in each round."""
CLOSED = 1e-7
"""A gap that no further cut can close in a way that matters."""
POSITIVE = 1e-7
"""Values of a fractional solution above this are not rounding."""
MOST_RANGES = 256
"""About how many ranges a listing has (``cpp/depth_first.hpp``)."""
FIRST_STEPS = 3_000
STAGE = 30
"""How many times more steps the next try may take; it is begun if the last one came far enough."""
MOST_STEPS = 3_000_000
"""Of a listing with a cap, whose networks are recorded only at its end."""
MOST_OPTIMUM_STEPS = 90_000
"""Likewise, where only the optimum is wanted."""
STEPS_BEFORE_SPREADING = 100_000
WIDE_GAP = 1.0
"""Times epsilon: with a wider gap, spreading does not pay."""
FIRST_SHARE = 0.02
MOST_SHARE = 0.5
SPREAD_ROUNDS = 15
MOST_SPREAD = 5_000
"""With more open candidates than this, spreading costs more than it brings."""
LEAST_RISE = 1e-4
"""Times the gap: while the bound rises by less, cuts stay."""
MOST_IDLE = 4
"""Cuts for each node: unless there are more."""
ROOT_ROUNDS = 400
MOST_SUBSET_SECONDS = 1800.0
"""Beyond this, a gap that the root leaves is closed by branching."""
MOST_OPTIMUM_SUBSET_SECONDS = 20.0
"""Likewise, where only the optimum is wanted: branching takes less memory, and usually less time."""
BRANCH_ROUNDS = 6
MOST_TIE_STEPS = 20_000
"""To list what ties with the optimum, where one network is enough."""
LISTING_TASKS = 64
"""The most tasks that a listing without a cap is split into; with an executor, always."""
STEPS_PER_TASK = 1_000_000
"""Of a listing that is split: some seconds, which is what a kill may cost."""
LONG_LISTING = 2_000_000
"""With more steps than this, the networks near the optimum are listed first, then those farther away."""


@dataclass
class Exploration:
    """A search in progress: the networks up to a limit, branch by branch."""

    asked_for: SearchProblem
    collection: "_core.Collection"
    splits_listings: bool = False
    is_serial: bool = False  # where it matters which of several networks is found first
    statistics: Statistics = field(default_factory=Statistics)
    is_stopped: bool = False

    def __post_init__(self) -> None:
        self.offsets, self.costs, self.masks = self.asked_for.offsets, self.asked_for.costs, self.asked_for.masks
        self.n = self.asked_for.n_variables
        self.nodes = np.repeat(np.arange(self.n), np.diff(self.offsets))
        self.problem = _core.SearchProblem(self.offsets, self.costs, self.masks)
        self.relaxation = self.new_relaxation()
        self.splitter = EdgeSplitter(self.nodes, self.masks, self.n)
        self.best_row: NDArray[np.uint32] | None = None
        self.best_cost = math.inf
        self.rank: list[int] = []  # fixed before the first listing: it chooses the representative of a class
        self.share_done = 0.0
        self.share_listed = 0.0  # in the last listing, of its ranges
        self.lowest_cost = -math.inf  # proven at the root: no network costs less
        self.listed_below = -math.inf  # all networks that cost less were recorded by a search over subsets
        self.listings_left: list[Branch] = []  # of the current branch, where listings are split or long
        self.n_expected = 0.0  # steps of the listing that the last cap ended
        self.root: tuple[Bound, Flags] | None = None  # where cuts no longer helped, with all that may tie still open
        self.known_root: Branch | None = None  # as an earlier search of the same call has left it

    def new_relaxation(self) -> Relaxation:
        """Return the relaxation without cuts."""
        return Relaxation(self.problem, self.offsets, self.costs, self.should_continue)

    def begin(self) -> list[Branch]:
        """Look for a first network, first at once, then for longer; return the whole problem as a branch."""
        known = self.recall_root()
        if known is not None:
            return [replace(known, listing=None)]
        size, anywhere = len(self.costs), np.empty(0, dtype=np.int64)
        lower = float(self.costs[self.offsets[:-1]].sum()) - self.problem.rounding()
        self.improve(anywhere, 0)
        self.raise_bound(lower)
        self.improve(anywhere, min(EFFORT * self.n * size, FIRST_EFFORT * size**2, MOST_EFFORT))
        return [Branch(np.ones(size, dtype=np.uint8), lower, np.empty(0, dtype=np.int64), 1.0)]

    def recall_root(self) -> Branch | None:
        """Return the root as an earlier search of the same call has left it, and note its best network, if any did."""
        memory = self.asked_for.run.memory
        state = None if memory is None or self.known_root is not None else memory.load("root", self.asked_for.root_key)
        if state is not None:
            (self.known_root,) = self.resume(state)
        return self.known_root

    def explore(self, branches: list[Branch], checkpoints: Checkpoints) -> float:
        """Go through all branches; return a bound on what was left out, infinite if nothing was."""
        while branches:
            self.raise_bound(min(branch.lower for branch in branches))
            if not self.is_stopped:
                checkpoints.save(lambda: self.state(branches))
            n_rows = self.collection.count()
            if not self.report("branches", self.share_done) or not self.treat_next(branches):
                if self.rank:  # elsewhere the bound of the root would depend on when it was stopped
                    checkpoints.save(lambda: self.state(branches), n_rows, is_last=True)
                break
        left = min((branch.lower for branch in branches), default=math.inf)
        if branches and self.asked_for.optimum_only:  # bounds beyond the limit are none: what ties was not looked for
            left = min(left, self.collection.limit())
        return max(self.listed_below, left)

    def raise_bound(self, lower: float) -> None:
        """Note that no network up to the limit costs less."""
        self.lowest_cost = max(self.lowest_cost, min(lower, self.collection.best()))

    def treat_next(self, branches: list[Branch]) -> bool:
        """Replace the last branch by the rest of it; return whether nothing remains."""
        branch, is_root = branches[-1], not self.rank
        children = self.treat(branch)
        if self.is_stopped:
            self.rank = [] if is_root else self.rank  # whoever resumes treats it as the root again
            return False
        branches.remove(branch)
        branches += children
        self.share_done += branch.share - math.fsum(child.share for child in children)
        if all(child.listing is not None for child in children):  # next the least bound, so that the whole's rises
            branches.sort(key=lambda other: -other.lower)
        return True

    def treat(self, branch: Branch) -> list[Branch]:
        """List the networks of a branch, or split it. Its bound rises on the way."""
        if branch.listing is not None:
            return self.list_next_stage(branch, branch.listing)
        is_root = not self.rank
        self.n_expected = 0.0
        self.statistics.n_branches += 1
        self.relaxation.add(branch.cuts.tolist())
        bound, is_open = self.tighten_root(branch) if is_root else self.tighten(branch.is_open, False)
        branch.lower = max(branch.lower, bound.lower - bound.margin)
        if is_root:
            self.root, row = (bound, is_open), self.best_row
            self.rank = list(range(self.n)) if row is None else self.problem.ranks_along(row)
            self.statistics.n_candidates = int(is_open.sum())
        if self.is_stopped or branch.lower > self.collection.limit() + bound.margin:
            return []
        is_complete, is_open = self.enumerate(bound, is_open)
        if self.listings_left:
            listings, self.listings_left = self.listings_left, []
            return [replace(listing, lower=branch.lower, share=listing.share * branch.share) for listing in listings]
        if is_complete or self.is_stopped or (is_root and self.enumerate_subsets(is_open)):
            return []
        return self.splitter.split(branch, is_open, bound, self.collection.limit(), self.relaxation)

    def list_ties(self) -> "_core.Collection | None":
        """Return all that ties with the optimum, which this search has proven; None if that takes many steps."""
        row = self.collection.incumbent()
        if self.statistics.n_branches != 1 or self.statistics.is_by_subsets or self.root is None or row is None:
            return None
        problem = ties_of(self.asked_for)
        ties = copy(self)
        ties.asked_for, ties.collection = problem, new_collection(problem)
        ties.collection.update_incumbent(self.collection.best(), row)
        is_listed = ties.list_networks(*self.root, MOST_TIE_STEPS) and not ties.collection.is_full()
        return ties.collection if is_listed else None

    def limit_of_ties(self) -> float:
        """Return the limit, or up to where networks tie with the best known: the limit for the optimum is below."""
        return max(self.collection.limit(), self.collection.best() + self.asked_for.tolerance)

    def state(self, branches: Sequence[Branch]) -> Arrays:
        """Return what another exploration needs to resume with these branches."""
        row = np.empty(0, dtype=np.uint32) if self.best_row is None else self.best_row
        return {
            **pack(branches, self.problem),
            "rank": np.array(self.rank, dtype=np.int64),
            "best_row": row,
            "numbers": np.array(
                [self.best_cost, self.lowest_cost, self.share_done, self.collection.least_class_left_out()]
            ),
            "root": self.statistics.of_root(),
        }

    def resume(self, state: Arrays) -> list[Branch]:
        """Continue the search that left a state, and return its branches."""
        if "root" in state:
            self.statistics.note_root(state["root"])
        return self.restore(state)

    def restore(self, state: Arrays) -> list[Branch]:
        """Take over the branches of a state, and return them."""
        self.rank = state["rank"].tolist()
        best_cost, self.lowest_cost, self.share_done, left_out = state["numbers"].tolist()
        self.collection.leave_out_class(left_out)
        self.note_best(state["best_row"], best_cost)
        return unpack(state, self.problem, len(self.costs))

    def note_best(self, row: NDArray[np.uint32], cost: float) -> None:
        """Note a network, if it is better than the best one known."""
        if len(row) and cost < self.best_cost:
            self.best_row, self.best_cost = row, cost
            self.collection.update_incumbent(cost + self.problem.rounding(), row)

    def report(self, stage: str, progress: float) -> bool:
        """Report progress; remember to stop, and return whether to continue."""
        self.is_stopped = self.is_stopped or not self.asked_for.run(stage, min(progress, 1.0))
        return not self.is_stopped

    def should_continue(self) -> bool:
        """Return whether to continue, in the middle of a stage."""
        return self.report("branches" if self.rank else "relaxation", self.share_done)

    def improve(self, order: Positions, effort: int) -> None:
        """Look for a better network near this node order, or anywhere."""
        found = self.problem.find_network(order, SEED, effort, lambda _: self.should_continue())
        if found is not None:
            self.note_best(*found)

    def search_longer(self, bound: Bound) -> bool:
        """Look for a better network where cuts no longer help; return whether there was one."""
        before, effort = self.collection.best(), min(EFFORT * self.n * len(self.costs), MOST_EFFORT)
        self.improve(self.rounded_order(bound.values), effort // 2)
        self.improve(np.empty(0, dtype=np.int64), effort // 2)
        return self.collection.best() < before

    def tighten_root(self, branch: Branch) -> tuple[Bound, Flags]:
        """Tighten the whole problem, unless an earlier search of the call did; return its bound and what is open."""
        known, memory = self.recall_root(), self.asked_for.run.memory
        if known is not None and known.listing is not None:
            return self.solve_again(known.cuts, known.listing.dual_values, known.is_open)
        bound, is_open = self.tighten(branch.is_open, True)
        if memory is not None and not self.is_stopped:
            plan = Listing(bound.dual_values, self.collection.limit(), 0, 0)
            root = Branch(is_open, bound.lower - bound.margin, bound.cuts, 1.0, plan)
            memory.save("root", self.asked_for.root_key, self.state([root]))
        return bound, is_open

    def solve_again(self, cuts: Positions, dual_values: Floats, is_open: Flags) -> tuple[Bound, Flags]:
        """Solve with these cuts alone, so that nothing later depends on those before; bound by the dual values."""
        self.relaxation = self.new_relaxation()
        self.relaxation.add(cuts.tolist())
        self.relaxation.restrict(is_open)
        values = self.relaxation.solve().values
        lower, margin, reduced = self.problem.bound(cuts, dual_values, is_open)
        return Bound(cuts, dual_values, lower, margin, reduced, values), is_open

    def tighten(self, is_open: Flags, is_root: bool) -> tuple[Bound, Flags]:
        """Add violated cuts, and drop candidates beyond the limit, until neither helps much."""
        is_open = is_open.copy()
        window, least_gain = (20, 0.02) if is_root else (1, 0.02)
        recent: list[float] = []
        has_searched = False
        strongest: Bound | None = None
        mean: Floats | None = None  # of the solutions
        for _ in range(ROOT_ROUNDS if is_root else BRANCH_ROUNDS):
            self.relaxation.restrict(is_open)
            bound = self.relaxation.solve()
            self.statistics.n_rounds += 1
            if is_root and not recent:
                self.statistics.gap_before = _finite(self.collection.best() - bound.lower)
            if is_root:
                is_longer = len(recent) % ROUNDS_PER_SEARCH == 0
                self.improve(self.rounded_order(bound.values), EFFORT * len(self.costs) if is_longer else 0)
            limit = self.collection.limit()
            is_open &= bound.within(self.limit_of_ties() if is_root else limit)
            recent.append(bound.lower)
            strongest = bound if strongest is None or bound.lower >= strongest.lower else strongest
            if is_root:
                self.raise_bound(bound.lower - bound.margin)
            gap = self.collection.best() - bound.lower
            is_slow = len(recent) > window and recent[-1] - recent[-1 - window] < least_gain * (limit - bound.lower)
            is_closed = gap < CLOSED and not self.asked_for.optimum_only
            if bound.lower > limit + bound.margin or is_closed:
                break
            if is_slow and is_root and not has_searched:
                has_searched, is_slow = True, not self.search_longer(bound)
                recent = recent if is_slow else recent[-1:]
            if is_slow:
                break
            is_stalling = len(recent) > 1 and recent[-1] - recent[-2] < 0.5
            mean = bound.values if mean is None else NEWEST * bound.values + (1.0 - NEWEST) * mean
            n_added = self.relaxation.add(self.violated(bound.values, mean, is_stalling or not is_root))
            if not n_added and mean is not bound.values:  # the mean violates cuts that its later solutions obey
                mean = bound.values
                n_added = self.relaxation.add(self.violated(mean, mean, is_stalling=True))
            if not n_added:
                break
            if not self.report("relaxation" if is_root else "branches", self.share_done):
                break
            is_rising = len(recent) < 2 or recent[-1] - recent[-2] > LEAST_RISE * gap
            if is_rising or len(self.relaxation.cuts) > MOST_IDLE * self.n:
                self.relaxation.drop_idle()  # elsewhere solutions of one cost take turns, and cuts would return
        assert strongest is not None
        if is_root:
            self.statistics.gap_after = _finite(max(0.0, self.collection.best() - strongest.lower))
            self.statistics.n_rows = len(strongest.cuts)
        return strongest, is_open

    def violated(self, values: Floats, mean: Floats, is_stalling: bool) -> list[int]:
        """Find cuts that the fractional solution violates, or the mean of recent ones.

        Every network obeys all cuts, so one that a point between the best network and the mean violates is violated by
        the mean too, and by more: such cuts are deep, and it takes fewer of them (in-out separation, Ben-Ameur & Neto
        2007). Solutions of nearly the same cost take turns; their mean lies between them, so that one cut takes away
        several. In a large problem finding cuts takes longer than the linear program, so the point near the best
        network and the mean take turns.
        """
        points = values[np.newaxis]
        row = self.collection.incumbent()
        if row is not None:
            nearer = TOWARDS_SOLUTION * mean
            nearer[self.offsets[:-1] + row] += 1.0 - TOWARDS_SOLUTION
            is_large = not self.rank and len(self.costs) > MANY_CANDIDATES
            if not is_large:
                points = np.stack([nearer, values])
            elif is_stalling and mean is not values:
                points = (nearer if self.statistics.n_rounds % 2 else mean)[np.newaxis]
            else:
                points = np.stack([nearer, mean, values])
        return find_cuts(self.problem, self.relaxation, points, is_stalling)

    def enumerate(self, bound: Bound, is_open: Flags) -> tuple[bool, Flags]:
        """Hand all networks of a branch to the collection, unless that takes too many steps; leave fewer open."""
        gap = self.collection.best() - bound.lower
        if gap > WIDE_GAP * (self.collection.limit() - self.collection.best()):
            return self.list_in_stages(bound, is_open), is_open
        if self.list_networks(bound, is_open, STEPS_BEFORE_SPREADING) or self.is_stopped:
            return not self.is_stopped, is_open
        if is_open.sum() <= MOST_SPREAD:
            bound, is_open = self.spread(bound, is_open)
        is_closed = gap < CLOSED
        return (self.list_networks(bound, is_open, None) if is_closed else self.list_in_stages(bound, is_open)), is_open

    def list_in_stages(self, bound: Bound, is_open: Flags) -> bool:
        """List depth first with more and more steps, as long as the next try may be expected to finish."""
        max_steps: int | None = FIRST_STEPS
        while not self.list_networks(bound, is_open, max_steps):
            if self.is_stopped or max_steps is None or self.share_listed * STAGE < 1.0:
                return False
            if self.asked_for.optimum_only and max_steps >= MOST_OPTIMUM_STEPS:  # branching finds the optimum sooner
                return False
            max_steps = max_steps * STAGE if max_steps * STAGE <= MOST_STEPS else None
        return True

    def enumerate_subsets(self, is_open: Flags) -> bool:
        """Hand all networks to the collection by dynamic programming over what is still open, if that is affordable."""
        estimate = within_memory(self.asked_for, estimate_subsets(self.asked_for, is_open))
        most_seconds = MOST_SUBSET_SECONDS
        if self.asked_for.optimum_only:
            most_seconds = min(most_seconds, MOST_OPTIMUM_SUBSET_SECONDS)
        if not estimate.possible or estimate.seconds > most_seconds:
            return False
        unexplored, _ = search_subsets(self.asked_for, is_open, self.collection)
        self.statistics.is_by_subsets = True
        self.is_stopped = unexplored < math.inf
        if self.is_stopped:  # true only with the networks just recorded, so no property of the branch
            self.listed_below = unexplored
        return True

    def spread(self, bound: Bound, is_open: Flags) -> tuple[Bound, Flags]:
        """Drop more candidates with dual values of another kind; return the last that cost no bound."""
        last, n_rounds = bound, 0
        share, n_idle = FIRST_SHARE, 0
        while n_rounds < SPREAD_ROUNDS and n_idle < 3 and self.report("relaxation", self.share_done):
            self.relaxation.restrict(is_open)
            other = self.relaxation.solve_spread(share)
            limit, before = self.collection.limit(), int(is_open.sum())
            is_open = is_open & other.within(limit)
            self.relaxation.add(self.violated(other.values, other.values, is_stalling=True))
            self.relaxation.drop_idle()
            n_rounds += 1
            n_idle = n_idle + 1 if is_open.sum() > 0.98 * before else 0
            width = limit - self.collection.best()
            if other.lower >= last.lower - 0.02 * width:
                last = other
            share = min(MOST_SHARE, share * (0.5 if other.lower < last.lower - 0.3 * width else 1.5))
        return last, is_open

    def list_networks(self, bound: Bound, is_open: Flags, max_steps: int | None) -> bool:
        """List depth first; return whether that was done within the steps, and not stopped.

        Without a cap, where listings are split or this one is long, it is not done but left to `listings_left`.
        """
        whole = Branch(is_open, bound.lower - bound.margin, bound.cuts, 1.0)
        plan = Listing(bound.dual_values, self.collection.limit(), 0, 0)
        is_long = self.n_expected >= OVERESTIMATE * LONG_LISTING and not self.asked_for.optimum_only
        if max_steps is None and is_long:
            self.listings_left = [replace(whole, listing=replace(plan, n_expected=self.n_expected))]
            return True
        n_tasks = self.count_tasks(self.n_expected / OVERESTIMATE)
        if max_steps is None and n_tasks > 1:
            self.listings_left = self.split_listing(whole, plan, n_tasks)
            return True
        return self.list_range(whole, plan, max_steps)

    def list_next_stage(self, branch: Branch, listing: Listing) -> list[Branch]:
        """List up to a cost at which few steps are enough, or all that is left; return what remains to be done."""
        if listing.above >= self.collection.limit():
            return []
        up_to, n_steps = next_stage(listing, self.collection.best(), self.collection.limit(), self.asked_for.tolerance)
        is_last = up_to == math.inf
        if not is_last and 2 * n_steps <= MOST_STEPS:  # little is lost if it takes longer than expected
            before = self.statistics.n_steps
            if self.list_range(branch, replace(listing, up_to=up_to), int(2 * n_steps)):
                return [after_stage(branch, listing, up_to, self.statistics.n_steps - before, self.collection.limit())]
            return [replace(branch, listing=after_giving_up(listing))]
        band = replace(listing, up_to=min(up_to, listing.up_to), n_expected=0.0)
        rest = [] if is_last else [after_stage(branch, listing, up_to, n_steps, self.collection.limit())]
        n_tasks = self.count_tasks(listing.n_expected)
        if listing.n_expected > 0 and n_tasks > 1:
            share = branch.share - math.fsum(other.share for other in rest)
            return rest + [
                replace(task, share=task.share * share) for task in self.split_listing(branch, band, n_tasks)
            ]
        return rest if self.list_range(branch, band) else []

    def count_tasks(self, n_expected: float) -> int:
        """Return into how many tasks to split a listing of `n_expected` steps, whether or not they are stored."""
        return LISTING_TASKS if self.splits_listings else math.ceil(min(n_expected / STEPS_PER_TASK, LISTING_TASKS))

    def split_listing(self, branch: Branch, plan: Listing, n_tasks: int) -> list[Branch]:
        """Return the ranges of a listing, as branches."""
        by_class = self.asked_for.unit == "classes"
        n_ranges = self.problem.count_tasks(
            self.collection, branch.cuts, plan.dual_values, branch.is_open, self.rank, by_class, plan.limit
        )
        ends = np.unique(np.linspace(0, n_ranges, min(n_ranges, n_tasks) + 1).astype(int)).tolist()
        return [
            replace(branch, share=(last - first) / n_ranges, listing=replace(plan, first=first, last=last))
            for first, last in itertools.pairwise(ends)
        ]

    def list_range(self, branch: Branch, plan: Listing, max_steps: int | None = None) -> bool:
        """List the networks of a range, or of the whole listing where none is named."""
        result = self.problem.search_depth_first(
            self.collection,
            branch.cuts,
            plan.dual_values,
            branch.is_open,
            self.rank,
            self.asked_for.unit == "classes",
            plan.limit,
            max_steps,
            plan.first,
            plan.last or None,
            1 if self.is_serial else self.asked_for.run.n_threads,
            lambda progress: self.asked_for.run(
                "enumeration", progress * (1.0 if plan.up_to == math.inf else STAGE_SHARE)
            ),
            plan.above,
            plan.up_to,
        )
        if result is None:
            self.is_stopped = True
            return False
        is_complete, n_steps, self.share_listed = result
        self.statistics.n_steps += n_steps
        self.n_expected = n_steps / max(self.share_listed, 1.0 / MOST_RANGES)
        return is_complete

    def rounded_order(self, values: Floats) -> Positions:
        """Return an order in which the fractional solution's parents mostly come first."""
        weights = np.zeros((self.n, self.n))  # weights[v, p]: value of candidates of v that hold p
        used = np.flatnonzero(values > POSITIVE)
        bits = self.splitter.parent_bits(self.masks[used])
        np.add.at(weights, self.nodes[used], values[used, None] * bits)
        missing = weights.sum(axis=1)  # of each node, the value of its parents that are not placed yet
        order: list[int] = []
        for _ in range(self.n):
            node = int(np.argmin(missing))
            order.append(node)
            missing -= weights[:, node]
            missing[order] = np.inf
        return np.array(order, dtype=np.int64)


def _finite(value: float) -> float | None:
    """Return the value, or None where it is infinite: JSON has no word for that."""
    return value if math.isfinite(value) else None
