"""A graph drawn on a circle: straight edges between points on a circle pass through no other point.

Neighbours are brought together by swapping points while that shortens the edges; the same graph gives the same drawing.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations

MOST_NODES_DRAWN = 24
_RADIUS = 5
_LETTERS = 20
_LETTER_WIDTH = 8
_LABEL_GAP = 16

Edges = Sequence[tuple[Hashable, Hashable]]


@dataclass(frozen=True)
class _Node:
    label: str
    x: int
    y: int
    label_x: int
    label_y: int
    anchor: str


def graph_svg(names: Sequence[Hashable], directed: Edges, undirected: Edges, title: str) -> str:
    """Return an SVG element in the colour of the text around it; an empty text for too many nodes to draw."""
    n = len(names)
    if n > MOST_NODES_DRAWN:
        return ""
    circle = max(120, 12 * n)
    labels = [label if len(label) <= _LETTERS else f"{label[: _LETTERS - 1]}…" for label in map(str, names)]
    margin = _LABEL_GAP + _LETTER_WIDTH * max(map(len, labels)) - 4
    centre_x, centre_y, out = circle + margin, circle + 40, (circle + _LABEL_GAP) / circle
    nodes: dict[Hashable, _Node] = {}
    for at, position in enumerate(_order(names, [*directed, *undirected])):
        angle = 2 * math.pi * at / n
        right, down = round(circle * math.sin(angle), 6), round(-circle * math.cos(angle), 6)
        nodes[names[position]] = _Node(
            labels[position],
            round(centre_x + right),
            round(centre_y + down),
            round(centre_x + out * right),
            round(centre_y + out * down),
            "middle" if not round(right) else "start" if right > 0 else "end",
        )
    size = f'width="{2 * centre_x}" height="{2 * centre_y}" viewBox="0 0 {2 * centre_x} {2 * centre_y}"'
    lines = [f'<svg role="img" aria-label="{escape(title)}" {size}>']
    for a, b in directed:
        lines += [_line(nodes[a], nodes[b]), f'<polygon points="{_head(nodes[a], nodes[b])}" fill="currentColor"/>']
    lines += [_line(nodes[a], nodes[b]) for a, b in undirected]
    for node in (nodes[name] for name in names):
        lines.append(f'<circle cx="{node.x}" cy="{node.y}" r="{_RADIUS}" fill="currentColor"/>')
        place = f'x="{node.label_x}" y="{node.label_y}" text-anchor="{node.anchor}"'
        style = 'dominant-baseline="middle" font-size="13" fill="currentColor"'
        lines.append(f"<text {place} {style}>{escape(node.label)}</text>")
    return "\n".join([*lines, "</svg>"])


def _line(start: _Node, end: _Node) -> str:
    ends = f'x1="{start.x}" y1="{start.y}" x2="{end.x}" y2="{end.y}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="0.6"/>'


def _head(start: _Node, end: _Node) -> str:
    """Return the corners of an arrowhead whose tip is just outside the end node."""
    along_x, along_y = end.x - start.x, end.y - start.y
    length = math.hypot(along_x, along_y)
    unit_x, unit_y = along_x / length, along_y / length

    def point(back: float, aside: float) -> str:
        x = end.x - back * unit_x - aside * unit_y
        y = end.y - back * unit_y + aside * unit_x
        return f"{round(x)},{round(y)}"

    return f"{point(_RADIUS + 1, 0)} {point(_RADIUS + 13, 5)} {point(_RADIUS + 13, -5)}"


def _order(names: Sequence[Hashable], edges: Edges) -> list[int]:
    """Return the nodes in their order around the circle."""
    position = {name: v for v, name in enumerate(names)}
    ends = [(position[a], position[b]) for a, b in edges]
    order = list(range(len(names)))
    length, is_better = _length(order, ends), True
    while is_better:
        is_better = False
        for a, b in combinations(range(len(names)), 2):
            order[a], order[b] = order[b], order[a]
            swapped = _length(order, ends)
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
