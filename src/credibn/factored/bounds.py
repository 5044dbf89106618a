"""Lower bounds for counting: the relaxation of the search, and dual values of several kinds.

Each solution of the relaxation gives a lower bound on every network of a branch, and a reduced cost for each candidate
that adds to it. Counting takes the best of them state by state, so solutions that differ help more than the best one
alone. The first are found with random lower bounds on the columns. Where counting takes too many steps, most of its
states lead to no network; further solutions are those that prove this of some of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credibn.factored.grid import LARGEST, LARGEST_OF_NODE, Grid
from credibn.search.branches import Branch as Part
from credibn.search.branches import Listing, pack, unpack
from credibn.search.exploration import Exploration
from credibn.search.relaxation import Bound, Flags, Floats, Positions

_SEED = 1
LIVE, LIVE_OF_WHOLE = 24, 128
"""Bounds that counting gets: each costs time for every state, and for every branch of what it bounds."""
_TRIED = 24
_PREFIXES_EACH = 8
"""For each of these bounds: by which they are chosen, the newest ones."""
_MOST_OPEN = 8_000
"""With more open candidates, every further linear program takes too long."""
_COVERAGE = (0.15, 0.3, 0.6, 1.0)
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)


class Dual(NamedTuple):
    """Dual values of some cuts."""

    cuts: Positions
    dual_values: Floats


@dataclass(frozen=True, eq=False)
class Branch:
    """Networks that take no other candidates than those open, with what dual values prove about them.

    Row j of `reduced` belongs to the bound `lowers[j]`: a network costs at least that, plus the reduced costs of its
    candidates, up to `margins[j]`. Counting gets the first bounds.
    """

    is_open: Flags
    duals: list[Dual]
    lowers: Floats
    margins: Floats
    reduced: Floats
    prefixes: Positions  # ways to states of its diagram: of each way the candidate of each node, or -1

    def rooms(self, limit: float) -> Floats:
        """Return for each candidate what a network that takes it may cost beyond its bound; negative: none takes it."""
        rooms: Floats = np.min(limit + self.margins[:, None] - self.lowers[:, None] - self.reduced, axis=0)
        return rooms

    def with_bounds(self, chosen: list[int]) -> Branch:
        """Return the branch with some of its bounds, in this order."""
        duals = [self.duals[j] for j in chosen]
        return replace(
            self, duals=duals, lowers=self.lowers[chosen], margins=self.margins[chosen], reduced=self.reduced[chosen]
        )

    def in_steps(self, grid: Grid, n_live: int = LIVE) -> tuple[Positions, NDArray[np.int64], NDArray[np.int64]]:
        """Return the open candidates, and the first bounds in steps of a grid, rounded down."""
        chosen = np.flatnonzero(self.is_open)
        # With the margins that cover the rounding of both, twice: once for the difference from the base.
        lowers = np.floor((self.lowers - grid.base - 2 * self.margins) / grid.step)[:n_live] - 1 - grid.rounding
        reduced = np.floor(np.maximum(self.reduced[:n_live, chosen], 0.0) / grid.step)
        is_useful = lowers > -LARGEST
        # What the core cannot add up becomes less, which is a bound too; at the least, no cost in steps is below 0.
        lowers = np.where(is_useful, np.minimum(lowers, LARGEST), 0.0)
        reduced = np.where(is_useful[:, np.newaxis], np.minimum(reduced, LARGEST_OF_NODE), 0.0)
        return chosen, lowers.astype(np.int64), np.ascontiguousarray(reduced, dtype=np.int64)


def whole(search: Exploration) -> Branch | None:
    """Tighten the relaxation, drop the candidates that no credible network takes, and bound the rest.

    The diagram depends on the dual values. So these, and the relaxation that further ones come from, must not depend on
    what an earlier search of the same call has left in its memory.
    """
    (root,) = search.begin()
    memory, key = search.asked_for.run.memory, search.asked_for.root_key
    state = None if memory is None else memory.load("bounds", key)
    if state is not None:
        known = unpack(state, search.problem, len(search.costs))
        is_open = known[0].is_open
        duals = [Dual(branch.cuts, branch.listing.dual_values) for branch in known if branch.listing is not None]
    else:
        duals, is_open = _first_duals(search, root)
        if memory is not None and not search.is_stopped:
            plans = [Listing(dual.dual_values, search.collection.limit(), 0, 0) for dual in duals]
            branches = [
                Part(is_open, root.lower, dual.cuts, 1.0, plan) for dual, plan in zip(duals, plans, strict=True)
            ]
            memory.save("bounds", key, pack(branches, search.problem))
    search.solve_again(*duals[0], is_open)
    branch = bounded(search, is_open, duals)
    if branch is None:
        return None
    reduced = branch.reduced[:, branch.is_open != 0]
    return branch.with_bounds(_choose(branch.lowers, reduced, search.collection.limit()))


def _first_duals(search: Exploration, root: Part) -> tuple[list[Dual], Flags]:
    """Return dual values of several kinds, the strongest first, and the candidates that they leave open."""
    strongest, is_open = search.tighten_root(root)
    duals = [_dual_of(strongest)]
    if not search.is_stopped and is_open.sum() <= _MOST_OPEN:
        if search.known_root is None:
            strongest, is_open = search.solve_again(*duals[0], is_open)
        spread, is_open = search.spread(strongest, is_open)
        others, is_open = _diverse(search, is_open, _TRIED)
        duals += [_dual_of(spread), *others]
    return duals, is_open


def tightened(search: Exploration, branch: Branch) -> Branch | None:
    """Return a branch with fresh dual values beside those that it has; None where it has no network."""
    search.relaxation.add(branch.duals[0].cuts.tolist())
    strongest, is_open = search.tighten(branch.is_open, False)
    if strongest.lower > search.collection.limit() + strongest.margin or not _has_all(search, is_open):
        return None
    return bounded(search, is_open, [_dual_of(strongest), *branch.duals], branch.prefixes)


def refined(
    search: Exploration, branch: Branch, prefixes: Positions, n_live: int = LIVE
) -> tuple[Branch | None, float]:
    """Return a branch with the dual values that prove most about states of its diagram; None: it has no network.

    Also return how many of the prefixes were proven to lead to no network, as a share.

    Most states lead to no network within the limit, though no bound says so yet. The linear program that takes what
    led to a state, and no candidate that closes a cycle with it, has dual values that do, and they do so for many
    other states too: bounds that are learned from where they were missing.
    """
    search.relaxation.add(branch.duals[0].cuts.tolist())
    duals, n_proven = list(branch.duals), 0
    for prefix in prefixes:
        if not search.report("counting", search.share_done):
            break
        search.relaxation.restrict(completions(search, branch.is_open, prefix))
        bound = search.relaxation.solve()
        n_proven += bound.lower > search.collection.limit()
        duals.append(_dual_of(bound))
    known = np.concatenate([branch.prefixes, prefixes])[-_PREFIXES_EACH * n_live :]
    found = bounded(search, branch.is_open, duals, known)
    better = None if found is None else found.with_bounds(_best_for_prefixes(search, found, n_live))
    return better, n_proven / max(1, len(prefixes))


def completions(search: Exploration, is_open: Flags, prefix: Positions) -> Flags:
    """Return the candidates that a network with these may take: those that close no cycle with them alone."""
    opened = is_open.copy()
    decided = prefix[prefix >= 0]
    children = search.nodes[decided]
    reaches = np.zeros((search.n, search.n), dtype=bool)  # [u, v]: from u to v
    reaches[:, children] = search.splitter.parent_bits(search.masks[decided]).T
    for k in children:
        reaches |= reaches[:, k, np.newaxis] & reaches[k]
    opened[np.isin(search.nodes, children)] = 0
    opened[decided] = is_open[decided]
    others = np.flatnonzero(opened & ~np.isin(np.arange(len(opened)), decided))
    bits = search.splitter.parent_bits(search.masks[others]).astype(bool)
    opened[others[(bits & reaches[search.nodes[others]]).any(axis=1)]] = 0
    return opened


def _best_for_prefixes(search: Exploration, branch: Branch, n_live: int) -> list[int]:
    """Choose bounds one after the other, each the one that adds most to what is proven about the prefixes."""
    limit, chosen = search.collection.limit(), np.flatnonzero(branch.is_open)
    first = np.searchsorted(chosen, search.offsets[:-1])
    values = np.empty((len(branch.prefixes), len(branch.duals)))
    for row, prefix in zip(values, branch.prefixes, strict=True):
        is_left = completions(search, branch.is_open, prefix)[chosen] != 0
        reduced = np.where(is_left, branch.reduced[:, chosen], np.inf)
        row[:] = branch.lowers + np.minimum.reduceat(reduced, first, axis=1).sum(axis=1)
    values = np.minimum(values, limit)
    best, proven = [0], values[:, 0]
    while len(best) < min(n_live, len(branch.duals)):
        gains = (np.maximum(values, proven[:, np.newaxis]) - proven[:, np.newaxis]).sum(axis=0)
        best.append(int(gains.argmax()))
        if gains[best[-1]] <= 0.0:
            break
        proven = np.maximum(proven, values[:, best[-1]])
    rest = [j for j in range(len(branch.duals)) if j not in best]
    return [*best, *rest][:n_live]


def bounded(search: Exploration, is_open: Flags, duals: list[Dual], prefixes: Positions | None = None) -> Branch | None:
    """Bound a branch by given dual values, and drop candidates, as long as that drops any; None: it has no network."""
    limit = search.collection.limit()
    prefixes = np.empty((0, search.n), dtype=np.int64) if prefixes is None else prefixes
    while _has_all(search, is_open):
        known = [search.problem.bound(*dual, is_open) for dual in duals]
        lowers, margins = np.array([lower for lower, _, _ in known]), np.array([margin for _, margin, _ in known])
        branch = Branch(is_open, duals, lowers, margins, np.array([reduced for _, _, reduced in known]), prefixes)
        is_left = is_open & (branch.rooms(limit) >= 0).astype(np.uint8)
        if (is_left == is_open).all():
            return branch
        is_open = is_left
    return None


def _dual_of(bound: Bound) -> Dual:
    return Dual(bound.cuts, bound.dual_values)


def _has_all(search: Exploration, is_open: Flags) -> bool:
    return bool(np.logical_or.reduceat(is_open != 0, search.offsets[:-1]).all())


def _diverse(search: Exploration, is_open: Flags, n_tried: int) -> tuple[list[Dual], Flags]:
    """Solve with random lower bounds on the columns of random nodes."""
    random = np.random.default_rng((_SEED, int(is_open.sum())))
    duals: list[Dual] = []
    search.relaxation.restrict(is_open)
    for _ in range(n_tried):
        if not search.report("relaxation", search.share_done):
            break
        weights = random.exponential(size=len(is_open)) * (is_open != 0)
        weights *= (random.random(search.n) < random.choice(_COVERAGE))[search.nodes]
        sums = np.bincount(search.nodes, weights=weights, minlength=search.n)
        least = weights / np.maximum(sums, 1e-300)[search.nodes] * random.choice(_SHARES)
        bound = search.relaxation.solve_at_least(least)
        duals.append(_dual_of(bound))
        is_open = is_open & bound.within(search.collection.limit())
    return duals, is_open


def _choose(lowers: Floats, reduced: Floats, limit: float) -> list[int]:
    """Choose bounds one after the other, each the one that adds most to what the others say about the candidates."""
    width = max(limit - float(lowers.max()), 1e-9)
    worth = np.minimum(1.0, reduced / width) * np.exp(-(lowers.max() - lowers) / width)[:, np.newaxis]
    chosen: list[int] = [0]
    covered, total = worth[0], worth[0].copy()
    while len(chosen) < min(LIVE, len(lowers)):
        gains = np.maximum(worth - covered, 0).sum(axis=1)
        gains += 0.1 * np.maximum(worth - 0.5 * total / len(chosen), 0).sum(axis=1)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        covered, total = np.maximum(covered, worth[chosen[-1]]), total + worth[chosen[-1]]
    return chosen
