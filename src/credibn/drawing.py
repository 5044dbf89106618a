"""A graph drawn on a circle: straight edges between points on a circle pass through no other point.

Neighbours are brought together by swapping points while that shortens the edges; the same graph gives the same drawing.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Protocol

__all__ = ["MOST_NODES_DRAWN", "Drawable", "Drawing", "draw", "svg"]

MOST_NODES_DRAWN = 24
_RADIUS = 5
_LETTERS = 20
_LETTER_WIDTH = 8
_LABEL_GAP = 16


class Drawable(Protocol):
    """What can be drawn: a `CPDAG`, or anything with its three attributes."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The nodes, in order."""
        ...

    @property
    def directed(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The edges with a direction, (parent, child)."""
        ...

    @property
    def undirected(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The edges without one."""
        ...


@dataclass(frozen=True)
class _Node:
    label: str
    x: int
    y: int
    label_x: int
    label_y: int
    anchor: str


@dataclass(frozen=True)
class _Edge:
    x1: int
    y1: int
    x2: int
    y2: int
    head: str


@dataclass(frozen=True)
class Drawing:
    """Points, lines and arrowheads of an SVG; edges without a direction have no head."""

    width: int
    height: int
    radius: int
    nodes: tuple[_Node, ...]
    edges: tuple[_Edge, ...]


def draw(cpdag: Drawable) -> Drawing | None:
    """Return the drawing of a class; None where it has more nodes than one can make out.

    Examples
    --------
    >>> from credibn.graphs import CPDAG
    >>> drawing = draw(CPDAG(("rain", "wet"), directed=(("rain", "wet"),), undirected=()))
    >>> [(node.label, node.x, node.y) for node in drawing.nodes]
    [('rain', 164, 40), ('wet', 164, 280)]
    >>> draw(CPDAG(tuple(range(25)), directed=(), undirected=())) is None
    True
    """
    n = len(cpdag.names)
    if n > MOST_NODES_DRAWN:
        return None
    circle = max(120, 12 * n)
    labels = [_shortened(str(name)) for name in cpdag.names]
    margin = _LABEL_GAP + _LETTER_WIDTH * max(map(len, labels)) - 4
    centre = (circle + margin, circle + 40)
    nodes: dict[Hashable, _Node] = {}
    for at, position in enumerate(_order(cpdag)):
        angle = 2 * math.pi * at / n
        right, down = round(circle * math.sin(angle), 6), round(-circle * math.cos(angle), 6)
        out = (circle + _LABEL_GAP) / circle
        nodes[cpdag.names[position]] = _Node(
            labels[position],
            round(centre[0] + right),
            round(centre[1] + down),
            round(centre[0] + out * right),
            round(centre[1] + out * down),
            "middle" if not round(right) else "start" if right > 0 else "end",
        )
    edges = [_edge(nodes[a], nodes[b], is_directed=True) for a, b in cpdag.directed]
    edges += [_edge(nodes[a], nodes[b], is_directed=False) for a, b in cpdag.undirected]
    in_order = tuple(nodes[name] for name in cpdag.names)
    return Drawing(2 * centre[0], 2 * centre[1], _RADIUS, in_order, tuple(edges))


def svg(drawing: Drawing, title: str) -> str:
    """Return a drawing as an SVG element that needs no style sheet and takes the colour of the text around it.

    Examples
    --------
    >>> from credibn.graphs import CPDAG
    >>> lines = svg(draw(CPDAG(("<a>",), directed=(), undirected=())), "one node").splitlines()
    >>> print(lines[0])
    <svg role="img" aria-label="one node" width="312" height="320" viewBox="0 0 312 320">
    >>> print(lines[2][-16:])
    &lt;a&gt;</text>
    """
    size = f'width="{drawing.width}" height="{drawing.height}" viewBox="0 0 {drawing.width} {drawing.height}"'
    lines = [f'<svg role="img" aria-label="{escape(title)}" {size}>']
    for edge in drawing.edges:
        ends = f'x1="{edge.x1}" y1="{edge.y1}" x2="{edge.x2}" y2="{edge.y2}"'
        lines.append(f'<line {ends} stroke="currentColor" stroke-opacity="0.6"/>')
        if edge.head:
            lines.append(f'<polygon points="{edge.head}" fill="currentColor"/>')
    for node in drawing.nodes:
        lines.append(f'<circle cx="{node.x}" cy="{node.y}" r="{drawing.radius}" fill="currentColor"/>')
        place = f'x="{node.label_x}" y="{node.label_y}" text-anchor="{node.anchor}"'
        style = 'dominant-baseline="middle" font-size="13" fill="currentColor"'
        lines.append(f"<text {place} {style}>{escape(node.label)}</text>")
    return "\n".join([*lines, "</svg>"])


def _shortened(label: str) -> str:
    return label if len(label) <= _LETTERS else f"{label[: _LETTERS - 1]}…"


def _order(cpdag: Drawable) -> list[int]:
    """Return the nodes in their order around the circle."""
    n = len(cpdag.names)
    position = {name: v for v, name in enumerate(cpdag.names)}
    edges = [(position[a], position[b]) for a, b in (*cpdag.directed, *cpdag.undirected)]
    order = list(range(n))
    length, is_better = _length(order, edges), True
    while is_better:
        is_better = False
        for a, b in combinations(range(n), 2):
            order[a], order[b] = order[b], order[a]
            swapped = _length(order, edges)
            if swapped < length:
                length, is_better = swapped, True
            else:
                order[a], order[b] = order[b], order[a]
    return order


def _length(order: Sequence[int], edges: Sequence[tuple[int, int]]) -> int:
    """Return the number of steps around the circle from end to end, over all edges."""
    place = {v: at for at, v in enumerate(order)}
    apart = (abs(place[a] - place[b]) for a, b in edges)
    return sum(min(steps, len(order) - steps) for steps in apart)


def _edge(start: _Node, end: _Node, *, is_directed: bool) -> _Edge:
    along_x, along_y = end.x - start.x, end.y - start.y
    length = math.hypot(along_x, along_y)
    unit_x, unit_y = along_x / length, along_y / length

    def point(back: float, aside: float) -> tuple[int, int]:
        x = end.x - back * unit_x - aside * unit_y
        y = end.y - back * unit_y + aside * unit_x
        return round(x), round(y)

    corners = (point(_RADIUS + 1, 0), point(_RADIUS + 13, 5), point(_RADIUS + 13, -5))
    head = " ".join(f"{x},{y}" for x, y in corners) if is_directed else ""
    return _Edge(start.x, start.y, end.x, end.y, head)
