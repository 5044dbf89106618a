"""What the scripts of the report draw: the layout and the looks of edges come from here, not from the browser."""

import math
from collections.abc import Sequence

from credibn.report.class_lines import ClassLine
from credibn.report.drawing import LEAST_DRAWN, Joined, layout_of, stroke_of, widest_stroke
from credibn.report.layout import Layout, shortened
from credibn.report.pairs import Pair
from credibn.report.routes import Point
from credibn.report.sections import share

_PAIRS_DRAWN = 400
_LEAST_DRAWN = 0.01
"""The least threshold of the slider: less probable edges are in the tables only."""
_LEAST_SECONDS = 0.5
"""What a layout may take even after the deadline."""


def places_in_report(names: Sequence[str], pairs: Sequence[Pair], seconds: float | None = None) -> Layout:
    """Return where the variables stand on a page that may take some seconds more."""
    most = math.inf if seconds is None else max(seconds, _LEAST_SECONDS)
    return layout_of(names, [_joined(pair) for pair in _listed(pairs)], most)


def drawn_graphs(
    names: Sequence[str], pairs: Sequence[Pair], classes: Sequence[ClassLine], layout: Layout
) -> dict[str, object]:
    """Return what the script draws, ready for JSON: places and ways, then edges with their looks and numbers."""
    listed = _listed(pairs)
    widest = widest_stroke(sum(pair.joined >= LEAST_DRAWN for pair in listed), len(names))
    looks = [stroke_of(pair.joined, pair.direction != 0, widest) for pair in listed]
    ends = {pair.ends for pair in listed}
    for line in classes:
        ends |= {(min(edge), max(edge)) for edge in (*line.directed, *line.undirected)}
    return {
        "names": names,
        "layout": {
            "width": layout.width,
            "height": layout.height,
            "nodes": [
                {"label": shortened(name), "x": box.x, "y": box.y, "width": box.width, "height": box.height}
                for name, box in zip(names, layout.boxes, strict=True)
            ],
            "routes": {f"{a}-{b}": [_rounded(point) for point in layout.route(a, b)] for a, b in sorted(ends)},
        },
        "pairs": [
            {
                "ends": pair.ends,
                "joined": round(pair.joined, 6),
                "forward": round(pair.forward, 6),
                "backward": round(pair.backward, 6),
                "direction": pair.direction,
                "width": stroke.width,
                "dashes": " ".join(f"{part:g}" for part in stroke.dashes),
                "words": {
                    "joined": share(pair.joined),
                    "forward": share(pair.forward),
                    "backward": share(pair.backward),
                    "over_all": None if pair.over_all is None else share(pair.over_all[0]),
                },
            }
            for pair, stroke in zip(listed, looks, strict=True)
        ],
        "classes": [
            {"words": line.words, "directed": line.directed, "undirected": line.undirected} for line in classes
        ],
    }


def _listed(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.joined >= _LEAST_DRAWN][:_PAIRS_DRAWN]


def _joined(pair: Pair) -> Joined:
    return Joined(*pair.ends, pair.joined, pair.forward, pair.backward, pair.direction)


def _rounded(point: Point) -> list[float]:
    return [round(point.x, 1), round(point.y, 1)]
