"""A drawing as SVG text, for files and for notebooks: real text, one colour scheme, nothing loaded from elsewhere."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from html import escape

from credibn._base.text import printable
from credibn.report.drawing import Drawing, DrawnEdge, Stroke
from credibn.report.figures import INK, SOFT
from credibn.report.layout import shortened
from credibn.report.routes import Point, Route, arcs, arrowhead, curve_points, towards

_FONT = 'font-family="Helvetica, Arial, DejaVu Sans, sans-serif"'
DOT_RADIUS = 5.0
_LEGEND_LINE = 24.0
_SAMPLE = 38.0
_NOT_IN_XML = re.compile("[\ufffe\uffff]")
_ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)
"""Where on an edge its number may stand, the best first."""


def drawing_svg(drawing: Drawing, *, has_labels: bool = False, is_file: bool = True) -> str:
    """Return the drawing as an SVG element; as a file it also names its format."""
    layout = drawing.layout
    legend, legend_height = _legend(drawing.legend, layout.width, layout.height)
    width, height = max(layout.width, 260.0 if drawing.legend else 0.0), layout.height + legend_height
    space = 'xmlns="http://www.w3.org/2000/svg" ' if is_file else ""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg {space}role="img" aria-label="{_escaped(drawing.title)}" {size} {_FONT}>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for edge in reversed(drawing.edges):  # the most probable on top
        lines += _edge(edge, layout.route(*edge.ends))
    for at, (name, box) in enumerate(zip(layout.names, layout.boxes, strict=True)):
        is_marked = at in drawing.highlighted
        line = f'stroke="{INK if is_marked else SOFT}" stroke-width="{2.6 if is_marked else 1.2}"'
        corner = f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
        fill = "#fff3c4" if is_marked else "#ffffff"
        lines.append(
            f'<rect {corner} width="{box.width:.1f}" height="{box.height:.1f}" rx="8" fill="{fill}" {line}/>'
            f"{_text(box.x, box.y, shortened(name), 14)}"
        )
    if has_labels:
        lines += [_label(edge, place) for edge, place in label_places(drawing)]
    return "\n".join([*lines, *legend, "</svg>"])


def _escaped(text: str) -> str:
    """Return a text for XML, which has no control characters and neither U+FFFE nor U+FFFF, even as entities."""
    return escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text, keep="\n\t")))


def _text(x: float, y: float, text: str, size: float, colour: str = INK, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y + 0.35 * size:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}"'
    return f"<text {place}>{_escaped(text)}</text>"


def _edge(edge: DrawnEdge, route: Route) -> list[str]:
    head, shortened_route = (None, route) if not edge.stroke.has_head else arrowhead(route, edge.stroke.width)
    lines = [f"<g><title>{_escaped(edge.title)}</title>{_path(shortened_route, edge.stroke)}"]
    if head is not None:
        lines.append(f'<polygon points="{" ".join(map(_spot, head))}" fill="{edge.stroke.colour}"/>')
    if edge.stroke.has_dot:
        x, y = towards(route[0], route[1], DOT_RADIUS)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT_RADIUS}" fill="{edge.stroke.colour}"/>')
    return [*lines, "</g>"]


def _path(route: Sequence[Point], stroke: Stroke) -> str:
    way = f"M{_spot(route[0])}"
    for control, end in arcs(route):
        way += f"L{_spot(end)}" if control == end else f"Q{_spot(control)} {_spot(end)}"
    dashes = f' stroke-dasharray="{" ".join(f"{part:g}" for part in stroke.dashes)}"' if stroke.dashes else ""
    return f'<path d="{way}" fill="none" stroke="{stroke.colour}" stroke-width="{stroke.width:g}"{dashes}/>'


def _spot(point: Point) -> str:
    return f"{point.x:.1f},{point.y:.1f}"


def _label(edge: DrawnEdge, place: Point) -> str:
    halo = 'stroke="#ffffff" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke"'
    return _text(*place, edge.label, 11, edge.stroke.colour).replace("<text ", f"<text {halo} ", 1)


def label_places(drawing: Drawing) -> list[tuple[DrawnEdge, Point]]:
    """Return where the number of each edge stands: on the edge, half way or as near to that as others leave room."""
    placed = list[tuple[DrawnEdge, Point]]()
    for edge in drawing.edges:
        if not edge.label:
            continue
        points = curve_points(drawing.layout.route(*edge.ends))
        places = [_point_along(points, part) for part in _ALONG]

        def is_free(place: Point) -> bool:
            return all(abs(place.x - other.x) > 27 or abs(place.y - other.y) > 12 for _, other in placed)

        placed.append((edge, next(filter(is_free, places), places[0])))
    return placed


def _point_along(points: Sequence[Point], part: float) -> Point:
    """Return the point that stands at this part of the length of a broken line."""
    lengths = [math.dist(a, b) for a, b in itertools.pairwise(points)]
    left = part * sum(lengths)
    for (a, b), length in zip(itertools.pairwise(points), lengths, strict=True):
        if left <= length and length:
            return Point(a.x + left / length * (b.x - a.x), a.y + left / length * (b.y - a.y))
        left -= length
    return points[-1]


def _legend(entries: Sequence[tuple[Stroke, str]], width: float, top: float) -> tuple[list[str], float]:
    """Return the lines of the legend below a drawing, and how high it is."""
    room, x, y, lines = max(width, 260.0), 14.0, top + 10.0, list[str]()
    for stroke, words in entries:
        needed = _SAMPLE + 12 + 6.6 * len(words) + 18
        if x > 14.0 and x + needed > room:
            x, y = 14.0, y + _LEGEND_LINE
        sample: Route = (Point(x, y), Point(x + _SAMPLE, y))
        lines += _edge(DrawnEdge((0, 0), stroke, "", words), sample)
        lines.append(_text(x + _SAMPLE + 8, y, words, 12, SOFT, "start"))
        x += needed
    return lines, (y - top + 16.0 if entries else 0.0)
