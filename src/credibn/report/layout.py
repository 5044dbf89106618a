"""Where the nodes of a graph stand: a layered layout, computed once and used by every picture of the graph.

The steps are those of Sugiyama, Tagawa & Toda (1981), each as Gansner, Koutsofios, North & Vo (1993) state it: layers
that make edges short, an order in each layer that makes few of them cross, and coordinates that make long ones
straight. Layers and coordinates are linear programs. A variable without an edge stands below the others.

The same edges give the same layout; it needs neither a browser nor another program.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credibn.report.layers import (
    NODE_GAP,
    Chain,
    Link,
    shortest_layers,
    split_widest,
    straight_positions,
    with_few_crossings,
)
from credibn.report.routes import Box, Point, Route, curve_points, route_around, straight_route, straightened

NODE_HEIGHT = 30.0
_LETTERS = 22
_LAYER_GAP = 40.0
_MARGIN = 14.0
_ASPECT = 1.45
"""Width over height of the page or screen that a picture should fill."""
_SPLITS = 4
_FEW = 15
"""Up to this number of variables there is room for larger gaps."""
_ROOM = 1000.0
"""As wide as a page of text, in units of about a pixel."""
_STARTS = 8
_MOST_BENDS = 3_000
"""With more of them, fewer orders are tried."""
_SECONDS_PER_LINK = 5e-4
_SECONDS_PER_OTHER = 0.01
"""About the most that was measured on one core of a busy machine: for each variable and link, for each other edge."""


@dataclass(frozen=True)
class Layout:
    """Places for named nodes, and ways for the edges between them; make it once and give it to several pictures.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    width, height : float
        The size of the picture, in units of about a pixel.
    boxes : tuple of Box
        The rectangle of each node.
    routes : mapping
        The way of each edge by the positions of its ends, the smaller first. Other edges go straight, or around the
        nodes that stand in their way.
    is_simple : bool
        Whether places were found in a simple way because time was short: more edges cross, and all are straight.

    Examples
    --------
    >>> from credibn import learn
    >>> from credibn.examples import sample_asia
    >>> found = learn(sample_asia())
    >>> layout = found.graph_layout()
    >>> layout.names[:3]
    ('asia', 'tub', 'smoke')
    >>> found.plot_graph(layout=layout).get_title()
    ''
    """

    names: tuple[str, ...]
    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: Mapping[tuple[int, int], Route]
    is_simple: bool = False

    def route(self, a: int, b: int) -> Route:
        """Return the way of the edge from node a to node b."""
        pair = (min(a, b), max(a, b))
        known = self.routes.get(pair)
        if known is None:
            known = (straight_route if self.is_simple else route_around)(self.boxes, *pair)
        return known if a < b else known[::-1]

    def for_names(self, names: Sequence[str]) -> Layout:
        """Return the same places for nodes in another order; nodes that have no place stand below."""
        if tuple(names) == self.names:
            return self
        position = {name: at for at, name in enumerate(self.names)}
        moved = {position[name]: at for at, name in enumerate(names) if name in position}
        routes = {}
        for (a, b), route in self.routes.items():
            if a in moved and b in moved:
                pair = moved[a], moved[b]
                routes[min(pair), max(pair)] = route if pair[0] < pair[1] else route[::-1]
        boxes = [
            self.boxes[position[name]] if name in position else Box(0, 0, label_width(name), NODE_HEIGHT)
            for name in names
        ]
        new = [at for at, name in enumerate(names) if name not in position]
        moved_to = _with_row_below(tuple(names), boxes, routes, new, self.width, self.height)
        return replace(moved_to, is_simple=self.is_simple)


def shortened(name: Hashable) -> str:
    """Return the label of a node: its name, cut where it is long."""
    text = str(name)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def label_width(name: Hashable) -> float:
    """Return how wide a node is that shows this name in a sans serif face of 14 units, wide faces included."""
    return max(44.0, 22.0 + 14 * sum(map(_letter_width, shortened(name))))


def _letter_width(letter: str) -> float:
    """Return roughly the width of a letter in ems, in a wide sans serif face."""
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in "iIjlftr.,:;'|!()[]{}-/\\ ":
        return 0.38
    if letter in "mwMW@%…":
        return 0.95
    return 0.72 if letter.isupper() else 0.61


def expected_seconds(n_variables: int, n_links: int, n_others: int = 0) -> float:
    """Return about how long a layout takes at most."""
    return _SECONDS_PER_LINK * n_variables * n_links + _SECONDS_PER_OTHER * n_others


def lay_out(
    names: Sequence[Hashable],
    links: Iterable[Link],
    others: Iterable[tuple[int, int]] = (),
    aspect: float = _ASPECT,
    seconds: float = math.inf,
) -> Layout:
    """Return a layout whose layers follow the links; the other edges find their way between the nodes.

    Where it would take more than the seconds given, places are simple: each layer has the first order that comes.
    """
    labels = tuple(str(name) for name in names)
    widths = [label_width(name) for name in labels]
    chosen = _without_cycles(links)
    joined = sorted({end for link in chosen for end in link[:2]})
    alone = [v for v in range(len(labels)) if v not in set(joined)]
    if not joined:
        boxes = [Box(0, 0, width, NODE_HEIGHT) for width in widths]
        return _with_row_below(labels, boxes, {}, alone, 0.0, 0.0)
    others = list(others)
    if expected_seconds(len(labels), len(chosen), len(others)) > seconds:
        placed = _moved_to_margin(_simple_places(widths, chosen, joined), {}, joined)
        found = _with_row_below(labels, placed.boxes, {}, alone, placed.width, placed.height)
        return replace(found, is_simple=True)
    boxes, routes, _, _ = _best_layers(widths, chosen, joined, aspect)
    inside = [boxes[v] for v in joined]
    column = {v: at for at, v in enumerate(joined)}
    for a, b in others:
        routes[min(a, b), max(a, b)] = route_around(inside, column[min(a, b)], column[max(a, b)])
    placed = _moved_to_margin(boxes, routes, joined)
    return _with_row_below(labels, placed.boxes, placed.routes, alone, placed.width, placed.height)


def _without_cycles(links: Iterable[Link]) -> list[Link]:
    """Return the links, each turned where it would close a cycle with those before it."""
    children: dict[int, set[int]] = {}

    def reaches(start: int, end: int) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            for child in children.get(waiting.pop(), ()):
                if child == end:
                    return True
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        return start == end

    chosen = []
    for above, below, weight in links:
        if reaches(below, above):
            above, below = below, above
        children.setdefault(above, set()).add(below)
        chosen.append(Link(above, below, weight))
    return chosen


def _simple_places(widths: Sequence[float], links: Sequence[Link], joined: Sequence[int]) -> list[Box]:
    """Return places in layers that are not too wide, each node near the mean of its parents."""
    layers = shortest_layers(links, joined)
    parents: dict[int, list[int]] = {}
    for link in links:
        parents.setdefault(link.below, []).append(link.above)
    most = math.isqrt(len(joined)) + 1
    boxes, deep = [Box(0.0, 0.0, width, NODE_HEIGHT) for width in widths], 0.0
    for layer in range(max(layers.values()) + 1):
        inside = [v for v in joined if layers[v] == layer]
        wanted = {v: float(np.mean([boxes[u].x for u in parents.get(v, ())] or [0.0])) for v in inside}
        n_rows = -(-len(inside) // most)
        for row in range(n_rows):
            standing = sorted(inside[row::n_rows], key=lambda v: (wanted[v], v))
            room = sum(widths[v] + NODE_GAP for v in standing) - NODE_GAP
            left = float(np.mean([wanted[v] for v in standing])) - room / 2
            for v in standing:
                boxes[v] = Box(left + widths[v] / 2, deep, widths[v], NODE_HEIGHT)
                left += widths[v] + NODE_GAP
            deep += NODE_HEIGHT + _LAYER_GAP
    return boxes


class _Rough(NamedTuple):
    """Places of the nodes, and ways from centre to centre with all their bends."""

    places: dict[int, Point]
    ways: list[tuple[Link, list[Point]]]


class _Placed(NamedTuple):
    boxes: list[Box]
    routes: dict[tuple[int, int], Route]
    width: float
    height: float


def _best_layers(widths: Sequence[float], links: Sequence[Link], joined: Sequence[int], aspect: float) -> _Placed:
    """Return the best of the layouts downwards and to the right, with wide layers split in two or not."""
    tried = list[tuple[float, int, dict[int, int], bool]]()
    shortest = shortest_layers(links, joined)
    n_bends = sum(shortest[link.below] - shortest[link.above] for link in links)
    n_tried = max(1, min(_SPLITS, _MOST_BENDS // n_bends))
    for is_downward in (True, False):
        layers = shortest
        for _ in range(n_tried):
            ways = _place(widths, links, layers, is_downward, n_starts=1)
            tried.append((_cost(ways, aspect), len(tried), layers, is_downward))
            thickness = widths if is_downward else [NODE_HEIGHT] * len(widths)
            split = split_widest(layers, thickness, links)
            if split is None:
                break
            layers = split
    _, _, layers, is_downward = min(tried)
    return _drawn(widths, _place(widths, links, layers, is_downward, max(1, min(_STARTS, _MOST_BENDS // n_bends))))


def _cost(rough: _Rough, aspect: float) -> float:
    """Return how hard a layout is to read: small print where it must shrink to fit, crossings and long edges."""
    routes = {(link.above, link.below): tuple(way) for link, way in rough.ways}
    size = np.ptp([point for way in routes.values() for point in way], axis=0)
    shrunk = max(1.0, size[0] / _ROOM, size[1] * aspect / _ROOM)
    lengths = sum(_length(route) for route in routes.values()) / len(routes)
    return float(shrunk**2 * (1 + n_crossings(routes) / len(routes)) * (1 + lengths / 400))


def _length(route: Route) -> float:
    return float(sum(np.hypot(b.x - a.x, b.y - a.y) for a, b in itertools.pairwise(route)))


def n_crossings(routes: Mapping[tuple[int, int], Route]) -> int:
    """Return how often edges without a common end cross."""
    keys = list(routes)
    legs = [(start, end, at) for at, key in enumerate(keys) for start, end in itertools.pairwise(routes[key])]
    starts, ends = np.array([leg[0] for leg in legs]), np.array([leg[1] for leg in legs])
    owners = np.array([leg[2] for leg in legs])
    nodes = np.array(keys)[owners]

    def side(start: NDArray[np.float64], end: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return on which side of a line a point is, as a sign."""
        along, out = end - start, point - start
        return np.asarray(along[..., 0] * out[..., 1] - along[..., 1] * out[..., 0])

    count = 0
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        first, last, (one, other) = starts[at + 1 :], ends[at + 1 :], nodes[at + 1 :].T
        crosses = (side(start, end, first) * side(start, end, last) < 0) & (
            side(first, last, start) * side(first, last, end) < 0
        )
        a, b = nodes[at]
        count += int((crosses & (one != a) & (one != b) & (other != a) & (other != b)).sum())
    return count


def _place(
    widths: Sequence[float], links: Sequence[Link], layers: Mapping[int, int], is_downward: bool, n_starts: int
) -> _Rough:
    """Return coordinates: in each layer an order with few crossings, then positions that make edges straight."""
    roomy = 1.5 if len(layers) <= _FEW else 1.0
    across = {v: (widths[v] if is_downward else NODE_HEIGHT) + (roomy - 1) * NODE_GAP for v in layers}
    along = {v: NODE_HEIGHT if is_downward else widths[v] for v in layers}
    layer_of, chains = dict(layers), []
    fresh = len(widths)
    for link in links:
        bends = list(range(fresh, fresh + layers[link.below] - layers[link.above] - 1))
        fresh += len(bends)
        for step, bend in enumerate(bends, start=1):
            layer_of[bend], across[bend], along[bend] = layers[link.above] + step, 0.0, 0.0
        chains.append(Chain(link, [link.above, *bends, link.below]))
    rows: list[list[int]] = [[] for _ in range(max(layer_of.values()) + 1)]
    for v in sorted(layer_of):
        rows[layer_of[v]].append(v)
    rows = with_few_crossings(rows, chains, n_starts)
    at = straight_positions(rows, chains, across, len(widths))
    half = {v: max(along[u] for u in row) / 2 for row in rows for v in row}
    shifts = [0.0] * len(rows)
    for _, through in chains:
        for a, b in itertools.pairwise(through):
            shifts[layer_of[a]] = max(shifts[layer_of[a]], abs(at[a] - at[b]))
    depth, deep = dict[int, float](), 0.0
    for row, shift in zip(rows, shifts, strict=True):
        depth |= {v: deep + half[v] for v in row}
        deep += (
            2 * half[row[0]] + _LAYER_GAP * roomy * (1 if is_downward else 1.5) + min(20.0, max(0.0, shift - 200) / 20)
        )

    def point(x: float, y: float) -> Point:
        return Point(x, y) if is_downward else Point(y, x)

    def port(v: int, towards: int) -> float:
        """Return where an edge leaves a node: nearest to the other end, but for the corners."""
        reach = max(0.0, (widths[v] if is_downward else NODE_HEIGHT) / 2 - 10)
        return min(max(at[towards], at[v] - reach), at[v] + reach)

    ways = []
    for link, through in chains:
        first, last = through[0], through[-1]
        inside = [point(at[v], depth[v] + side * (half[v] + 6)) for v in through[1:-1] for side in (-1, 1)]
        start = point(port(first, through[1]), depth[first] + half[first])
        end = point(port(last, through[-2]), depth[last] - half[last])
        ways.append((link, [point(at[first], depth[first]), start, *inside, end, point(at[last], depth[last])]))
    return _Rough({v: point(at[v], depth[v]) for v in layers}, ways)


def _drawn(widths: Sequence[float], rough: _Rough) -> _Placed:
    """Return the drawing moved to the margin, its edges with no more bends than they need."""
    places, ways = rough
    joined = sorted(places)
    boxes = [Box(*places.get(v, Point(0.0, 0.0)), width, NODE_HEIGHT) for v, width in enumerate(widths)]
    table = np.array([boxes[v] for v in joined], dtype=np.float64)
    column = {v: at for at, v in enumerate(joined)}
    routes = {}
    for (above, below, _), way in ways:
        route = straightened(table, way, (column[above], column[below]))
        routes[min(above, below), max(above, below)] = route if above < below else route[::-1]
    return _moved_to_margin(boxes, routes, joined)


def _moved_to_margin(boxes: Sequence[Box], routes: Mapping[tuple[int, int], Route], joined: Sequence[int]) -> _Placed:
    """Return the drawing so that it starts at the margin, with its size."""
    points = [point for route in routes.values() for point in curve_points(route, 6)]
    for v in joined:
        x, y, width, height = boxes[v]
        points += [Point(x - width / 2, y - height / 2), Point(x + width / 2, y + height / 2)]
    low = np.min(points, axis=0) - _MARGIN
    width, height = (np.max(points, axis=0) + _MARGIN - low).tolist()
    left, top = low.tolist()
    return _Placed(
        [Box(round(x - left, 2), round(y - top, 2), w, h) for x, y, w, h in boxes],
        {pair: tuple(Point(round(x - left, 2), round(y - top, 2)) for x, y in route) for pair, route in routes.items()},
        width,
        height,
    )


def _with_row_below(
    names: tuple[str, ...],
    boxes: Sequence[Box],
    routes: Mapping[tuple[int, int], Route],
    alone: Sequence[int],
    width: float,
    height: float,
) -> Layout:
    """Return a layout with some nodes in rows below the others."""
    placed = list(boxes)
    room = max(width, 700.0)
    x, y = _MARGIN, height + (0.0 if height else _MARGIN)
    for v in alone:
        if x > _MARGIN and x + boxes[v].width + _MARGIN > room:
            x, y = _MARGIN, y + NODE_HEIGHT + 10
        placed[v] = Box(x + boxes[v].width / 2, y + NODE_HEIGHT / 2, boxes[v].width, NODE_HEIGHT)
        x += boxes[v].width + 10
        width = max(width, x - 10 + _MARGIN)
    if alone:
        height = y + NODE_HEIGHT + _MARGIN
    return Layout(names, round(width, 1), round(height, 1), tuple(placed), dict(routes))
