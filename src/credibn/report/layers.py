"""The steps of a layered layout: which layer each node is in, in which order, and where.

Layers and positions are the linear programs of Gansner, Koutsofios, North & Vo (1993).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NODE_GAP = 22.0
_EDGE_GAP = 14.0
_FEWEST_SPLIT = 6
_SWEEPS = 16
_IDLE_SWEEPS = 4
_ROUNDS = 30

Term = tuple[int, int, float]
"""An entry of a matrix: line, column and value."""


class Link(NamedTuple):
    """An edge for the layout, from above to below where that closes no cycle; a heavier one is kept shorter."""

    above: int
    below: int
    weight: float = 1.0


class Chain(NamedTuple):
    """A link with the nodes and bends that it passes through, from layer to layer."""

    link: Link
    points: list[int]


def _minimised(cost: NDArray[np.float64], terms: Sequence[Term], most: Sequence[float]) -> NDArray[np.float64]:
    """Return the values, none negative, of least cost for which each line of terms sums to at most its bound."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    lines, columns, values = zip(*terms, strict=True)
    matrix: Any = coo_array((values, (lines, columns)), shape=(len(most), len(cost)))
    return np.asarray(linprog(cost, A_ub=matrix, b_ub=most, bounds=(0, None), method="highs").x)


def shortest_layers(links: Sequence[Link], joined: Sequence[int]) -> dict[int, int]:
    """Return the layer of each node for which weighted edges span the fewest layers."""
    column = {v: at for at, v in enumerate(joined)}
    cost = np.full(len(joined), 1e-6)  # of all optima, one that starts at the first layer
    terms = list[Term]()
    for at, (above, below, weight) in enumerate(links):
        cost[column[below]] += weight
        cost[column[above]] -= weight
        terms += [(at, column[above], 1.0), (at, column[below], -1.0)]
    layer = np.rint(_minimised(cost, terms, [-1.0] * len(links))).astype(int)
    return dict(zip(joined, (layer - layer.min()).tolist(), strict=True))


def split_widest(layers: Mapping[int, int], thickness: Sequence[float], links: Sequence[Link]) -> dict[int, int] | None:
    """Return layers of which the widest is split in two, its nodes without children below; None where it is narrow."""
    members: dict[int, list[int]] = {}
    for v, layer in layers.items():
        members.setdefault(layer, []).append(v)
    extent = {layer: sum(thickness[v] + NODE_GAP for v in inside) for layer, inside in members.items()}
    widest = max(sorted(extent), key=lambda layer: extent[layer])
    if len(members[widest]) < _FEWEST_SPLIT:
        return None
    is_parent = {link.above for link in links}
    order = sorted(members[widest], key=lambda v: (v not in is_parent, v))
    lower = set(order[len(order) // 2 :])
    return {v: layer + (layer > widest or v in lower) for v, layer in layers.items()}


def with_few_crossings(rows: list[list[int]], chains: Sequence[Chain], n_starts: int) -> list[list[int]]:
    """Return an order in each layer with few crossings: sweeps by medians, then swaps of neighbours."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for _, through in chains:
        for a, b in itertools.pairwise(through):
            below.setdefault(a, []).append(b)
            above.setdefault(b, []).append(a)
    best, least = rows, _all_crossings(rows, below)
    generator = np.random.default_rng(1)
    for start in range(n_starts):
        tried = [list(row) for row in rows]
        if start:
            for row in tried:
                generator.shuffle(row)
        idle = 0
        for sweep in range(_SWEEPS):
            is_down = sweep % 2 == 0
            for layer in range(1, len(tried)) if is_down else range(len(tried) - 2, -1, -1):
                fixed = tried[layer - 1] if is_down else tried[layer + 1]
                tried[layer] = _by_medians(tried[layer], fixed, above if is_down else below)
            _swap_neighbours(tried, above, below)
            now = _all_crossings(tried, below)
            idle = 0 if now < least else idle + 1
            if now < least:
                best, least = [list(row) for row in tried], now
            if not least or idle == _IDLE_SWEEPS:
                break
        if not least:
            break
    return best


def _by_medians(row: list[int], fixed: list[int], neighbours: Mapping[int, list[int]]) -> list[int]:
    """Return a layer in the order of the medians of its neighbours' places; those without any stay where they are."""
    place = {v: at for at, v in enumerate(fixed)}
    medians = {}
    for v in row:
        places = sorted(place[u] for u in neighbours.get(v, ()))
        if places:
            middle = len(places) // 2
            medians[v] = places[middle] if len(places) % 2 else (places[middle - 1] + places[middle]) / 2
    moving = iter(sorted(medians, key=lambda v: medians[v]))
    return [next(moving) if v in medians else v for v in row]


def _swap_neighbours(rows: list[list[int]], above: Mapping[int, list[int]], below: Mapping[int, list[int]]) -> None:
    """Swap nodes that stand side by side while that saves crossings."""
    place = {v: at for row in rows for at, v in enumerate(row)}
    is_better = True
    while is_better:
        is_better = False
        for row in rows:
            for at in range(len(row) - 1):
                a, b = row[at], row[at + 1]
                gain = 0
                for sides in (above, below):
                    first, second = sides.get(a, ()), sides.get(b, ())
                    for u in first:
                        for v in second:
                            gain += (place[u] > place[v]) - (place[u] < place[v])
                if gain > 0:
                    row[at], row[at + 1] = b, a
                    place[a], place[b] = at + 1, at
                    is_better = True


def _all_crossings(rows: Sequence[Sequence[int]], below: Mapping[int, list[int]]) -> int:
    """Return how many edges cross between layers."""
    count = 0
    for upper, lower in itertools.pairwise(rows):
        place = {v: at for at, v in enumerate(lower)}
        ends = np.array([place[u] for v in upper for u in sorted(below.get(v, ()), key=place.__getitem__)])
        for at in range(len(ends)):
            count += int((ends[at + 1 :] < ends[at]).sum())
    return count


def straight_positions(
    rows: Sequence[Sequence[int]], chains: Sequence[Chain], across: Mapping[int, float], n_nodes: int
) -> dict[int, float]:
    """Return positions along the layers, in the order given and far enough apart, for which edges are straight."""
    column = {v: at for at, v in enumerate(v for row in rows for v in row)}
    legs = []
    for link, through in chains:
        for a, b in itertools.pairwise(through):
            n_bends = (a >= n_nodes) + (b >= n_nodes)
            legs.append((column[a], column[b], link.weight * (1.0, 2.0, 8.0)[n_bends]))
    apart = []
    for row in rows:
        for a, b in itertools.pairwise(row):
            gap = _EDGE_GAP if a >= n_nodes and b >= n_nodes else NODE_GAP
            apart.append((column[a], column[b], (across[a] + across[b]) / 2 + gap))
    n, terms, most = len(column), list[Term](), list[float]()
    for at, (a, b, _) in enumerate(legs):  # the length of each is at least the difference, either way
        for sign in (1.0, -1.0):
            terms += [(len(most), a, sign), (len(most), b, -sign), (len(most), n + at, -1.0)]
            most.append(0.0)
    for a, b, least in apart:
        terms += [(len(most), a, 1.0), (len(most), b, -1.0)]
        most.append(-least)
    cost = np.concatenate([np.full(n, 1e-4), [weight for *_, weight in legs]])
    x = _minimised(cost, terms, most)[:n]
    _balance(x, legs, apart)
    return {v: float(x[at]) for v, at in column.items()}


def _balance(
    x: NDArray[np.float64],
    legs: Sequence[tuple[int, int, float]],
    apart: Sequence[tuple[int, int, float]],
) -> None:
    """Move each node towards the mean of its neighbours as far as its layer allows: of all optima, a balanced one."""
    joined: list[list[tuple[int, float]]] = [[] for _ in range(len(x))]
    for a, b, weight in legs:
        joined[a].append((b, weight))
        joined[b].append((a, weight))
    left, right = {b: (a, least) for a, b, least in apart}, {a: (b, least) for a, b, least in apart}
    for _ in range(_ROUNDS):
        for at in range(len(x)):
            total = sum(weight for _, weight in joined[at])
            if not total:
                continue
            wanted = sum(weight * x[u] for u, weight in joined[at]) / total
            if at in left:
                wanted = max(wanted, x[left[at][0]] + left[at][1])
            if at in right:
                wanted = min(wanted, x[right[at][0]] - right[at][1])
            x[at] = wanted
