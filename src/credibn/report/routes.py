"""Ways of edges between rectangles: straight where nothing stands in between, around it elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_CLEARANCE = 5.0
_DETOURS = (0.12, -0.12, 0.22, -0.22, 0.35, -0.35, 0.5, -0.5, 0.7, -0.7)
"""How far a bent edge leaves the straight line, as parts of its length, the nearest first."""


_OUTSIDE = 60.0
"""How far a bent edge may leave the rectangle of all nodes' centres without being a worse choice."""
_ROUNDING = 26.0
"""From where to where a curve that follows its legs closely leaves them around a bend."""


class Point(NamedTuple):
    """A place, in units of about a pixel; y grows downwards."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle by its centre and its size."""

    x: float
    y: float
    width: float
    height: float


Route = tuple[Point, ...]
"""From the border of one rectangle to the border of another; a curve bends towards the points in between."""


def boxes_hit(boxes: NDArray[np.float64], points: Sequence[Point], clearance: float = _CLEARANCE) -> NDArray[np.bool_]:
    """Return which of the rectangles, rows of x, y, width and height, a broken line comes closer to than allowed."""
    line = np.array(points, dtype=np.float64)
    hit = np.zeros(len(boxes), dtype=np.bool_)
    half = boxes[:, 2:] / 2 + clearance
    low, high = boxes[:, :2] - half, boxes[:, :2] + half
    near = np.flatnonzero(((low <= line.max(axis=0)) & (high >= line.min(axis=0))).all(axis=1))
    first, last = np.float64(0.0), np.float64(1.0)
    for axis in (0, 1):
        starts, steps = line[:-1, axis, np.newaxis], np.diff(line[:, axis])[:, np.newaxis]
        steps = np.where(np.abs(steps) < 1e-9, 1e-9, steps)
        enter, leave = (low[near, axis] - starts) / steps, (high[near, axis] - starts) / steps
        first, last = np.maximum(first, np.minimum(enter, leave)), np.minimum(last, np.maximum(enter, leave))
    hit[near] = (first < last).any(axis=0)
    return hit


def n_boxes_hit(boxes: NDArray[np.float64], points: Sequence[Point], ends: tuple[int, int]) -> int:
    """Return how many rectangles other than those at its ends a way comes close to, twice if it passes through."""
    near = boxes_hit(boxes, points)
    near[list(ends)] = False
    return int(near.sum()) + int(boxes_hit(boxes[near], points, 0.0).sum()) if near.any() else 0


def straightened(boxes: NDArray[np.float64], points: Sequence[Point], ends: tuple[int, int]) -> Route:
    """Return a way from border to border with no more bends than it needs to avoid rectangles."""
    first, last = (Box(*boxes[end].tolist()) for end in ends)

    def n_hit(way: Sequence[Point]) -> int:
        return n_boxes_hit(boxes, curve_points(clipped(way, first, last), 6), ends)

    if not n_hit(shortest := [points[0], points[-1]]):
        return clipped(shortest, first, last)
    points = _without_straight_runs(points)
    path = min((points, _tightened(points)), key=n_hit)
    fewest, at = n_hit(path), 1
    while at < len(path) - 1:
        without = path[:at] + path[at + 1 :]
        if (count := n_hit(without)) <= fewest:
            path, fewest, at = without, count, max(1, at - 1)
        else:
            at += 1
    return clipped(path, first, last)


def _without_straight_runs(points: Sequence[Point]) -> list[Point]:
    """Return a way without the points at which it does not turn."""
    path = [points[0]]
    for at in range(1, len(points) - 1):
        (x0, y0), (x, y), (x1, y1) = path[-1], points[at], points[at + 1]
        if abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) > 0.5 * math.dist((x0, y0), (x1, y1)):
            path.append(points[at])
    return [*path, points[-1]]


def _tightened(points: Sequence[Point]) -> list[Point]:
    """Return a way whose curve follows its legs more closely: with more points beside each bend."""
    tight = [points[0]]
    for before, bend, after in zip(points, points[1:], points[2:], strict=False):
        near = [towards(bend, side, min(_ROUNDING, math.dist(bend, side) / 2)) for side in (before, after)]
        tight += [near[0], bend, near[1]]
    return [*tight, points[-1]]


def straight_route(boxes: Sequence[Box], a: int, b: int) -> Route:
    """Return the straight line between two rectangles, whatever stands in its way."""
    return clipped((Point(*boxes[a][:2]), Point(*boxes[b][:2])), boxes[a], boxes[b])


def route_around(boxes: Sequence[Box], a: int, b: int) -> Route:
    """Return a way between two rectangles that bends as little as it can to pass through no other."""
    table = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    start, end = Point(*boxes[a][:2]), Point(*boxes[b][:2])
    across = Point(start.y - end.y, end.x - start.x)

    def bent(by: float) -> tuple[Point, ...]:
        if not by:
            return start, end
        return start, Point((start.x + end.x) / 2 + by * across.x, (start.y + end.y) / 2 + by * across.y), end

    low, high = table[:, :2].min(axis=0), table[:, :2].max(axis=0)
    best, fewest = bent(0.0), math.inf
    for by in (0.0, *_DETOURS):
        points = curve_points(bent(by), 8)
        is_outside = bool(
            (np.min(points, axis=0) < low - _OUTSIDE).any() or (np.max(points, axis=0) > high + _OUTSIDE).any()
        )
        if (count := n_boxes_hit(table, points, (a, b)) + is_outside) < fewest:
            best, fewest = bent(by), count
        if not fewest:
            break
    return clipped(best, boxes[a], boxes[b])


def clipped(points: Sequence[Point], first: Box, last: Box) -> Route:
    """Return a way from centre to centre without its parts inside the rectangles at its ends."""
    return (_border(first, points[1]), *points[1:-1], _border(last, points[-2]))


def _border(box: Box, towards: Point) -> Point:
    """Return where the line from the centre of a rectangle towards a point leaves it."""
    right, down = towards.x - box.x, towards.y - box.y
    scale = min(box.width / 2 / max(abs(right), 1e-9), box.height / 2 / max(abs(down), 1e-9), 1.0)
    return Point(box.x + scale * right, box.y + scale * down)


class Arc(NamedTuple):
    """A part of a drawn edge: a quadratic curve to `end` with its control point, a straight line where they agree."""

    control: Point
    end: Point


def arcs(points: Sequence[Point]) -> list[Arc]:
    """Return a smooth curve through the middles of the legs of a way."""
    if len(points) == 2:
        return [Arc(points[1], points[1])]
    made = []
    for at in range(1, len(points) - 1):
        bend, after = points[at], points[at + 1]
        is_last = at == len(points) - 2
        made.append(Arc(bend, after if is_last else Point((bend.x + after.x) / 2, (bend.y + after.y) / 2)))
    return made


def curve_points(points: Sequence[Point], per_arc: int = 12) -> list[Point]:
    """Return points along the smooth curve, its ends included."""
    here, drawn = points[0], [points[0]]
    for control, end in arcs(points):
        steps = 1 if control == end else per_arc
        for step in range(1, steps + 1):
            t = step / steps
            drawn.append(
                Point(
                    *(
                        (1 - t) ** 2 * h + 2 * t * (1 - t) * c + t * t * e
                        for h, c, e in zip(here, control, end, strict=True)
                    )
                )
            )
        here = end
    return drawn


def towards(start: Point, end: Point, distance: float) -> Point:
    """Return the point at some distance from a start in the direction of an end."""
    length = math.hypot(end.x - start.x, end.y - start.y) or 1.0
    return Point(start.x + (end.x - start.x) * distance / length, start.y + (end.y - start.y) * distance / length)


def arrowhead(route: Route, width: float) -> tuple[tuple[Point, Point, Point], Route]:
    """Return the corners of an arrowhead at the end of a way, its tip first, and the way that ends at its base."""
    length, half = 8.0 + 1.7 * width, 3.2 + 0.8 * width
    tip = route[-1]
    points = list(route)
    while len(points) > 2 and math.dist(points[-2], tip) < length:  # a bend inside the head
        del points[-2]
    base = towards(tip, points[-2], length)
    right, down = (tip.x - base.x) / length * half, (tip.y - base.y) / length * half
    corners = tip, Point(base.x - down, base.y + right), Point(base.x + down, base.y - right)
    return corners, (*points[:-1], towards(tip, points[-2], length - 1.0))
