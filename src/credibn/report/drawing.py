"""What a picture of a graph shows, before anybody draws it: one model for files, figures, notebooks and the report.

Three things are told apart without colour. An arrowhead: the direction is decided. The dashes: how sure the edge is.
The width: its probability. Colour repeats the first, in blue and vermilion, which differ for any colour vision.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from credibn.credible import DIRECTION_THRESHOLD, CredibleSet
from credibn.credible.consensus import direction_of
from credibn.credible.weights import Prior
from credibn.errors import OptionError
from credibn.report.figures import ALERT, INK, MARK, SOFT
from credibn.report.layers import Link
from credibn.report.layout import Layout, lay_out
from credibn.scores.constraints import position_of

LEAST_DRAWN = 0.1
"""Less probable edges are not drawn, unless something else is asked."""
SURE, LIKELY = 0.95, 0.5
_DASHES: dict[str, tuple[float, ...]] = {"sure": (), "likely": (9.0, 3.5), "unlikely": (1.8, 3.5)}
_MOST_LINKS = 3
"""Edges for each variable that decide the places: with more of them no layout is readable, and each takes longer."""
_ROUNDING = 1e-9


class Stroke(NamedTuple):
    """How a line looks."""

    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    has_head: bool = False
    has_dot: bool = False  # at its tail


@dataclass(frozen=True)
class DrawnEdge:
    """An edge by the positions of its ends; an arrow points at the second."""

    ends: tuple[int, int]
    stroke: Stroke
    label: str
    title: str


@dataclass(frozen=True)
class Drawing:
    """A picture of a graph: where everything is, how it looks, and a legend of the strokes that occur."""

    layout: Layout
    edges: tuple[DrawnEdge, ...]
    legend: tuple[tuple[Stroke, str], ...]
    title: str
    highlighted: frozenset[int] = frozenset()


class Joined(NamedTuple):
    """Two variables that may be joined: how probable that is, and which way the edge points where that is decided."""

    first: int
    second: int
    joined: float
    forward: float
    backward: float
    direction: int  # 1 for first -> second, -1 for second -> first, 0 where it is open


def dashes_of(probability: float) -> tuple[float, ...]:
    """Return the dashes of an edge: none where it is sure, long ones where it is likely, dots where it is not."""
    sureness = (
        "sure" if probability >= SURE - _ROUNDING else "likely" if probability >= LIKELY - _ROUNDING else "unlikely"
    )
    return _DASHES[sureness]


def widest_stroke(n_edges: int, n_variables: int) -> float:
    """Return the width of a certain edge: where edges are many, they are thinner, so that each can be followed."""
    return 2.0 if n_edges > 2 * n_variables else 3.6


def stroke_of(probability: float, is_decided: bool, widest: float = 3.6) -> Stroke:
    """Return how an edge of this probability looks."""
    width = round(1.0 + (widest - 1.0) * probability, 2)
    return Stroke(MARK if is_decided else ALERT, width, dashes_of(probability), is_decided)


def _legend(widest: float) -> tuple[tuple[Stroke, str], ...]:
    """Return what a legend may have to explain."""
    likely, unlikely = (stroke_of(probability, False, widest).width for probability in (0.75, 0.25))
    return (
        (stroke_of(1.0, True, widest), "direction decided"),
        (stroke_of(1.0, False, widest), "direction open"),
        (stroke_of(1.0, True, widest)._replace(has_dot=True), "required by the constraints"),
        (Stroke(SOFT, likely, _DASHES["likely"]), f"probability {LIKELY:.0%} to {SURE:.0%}"),
        (Stroke(SOFT, unlikely, _DASHES["unlikely"]), f"below {LIKELY:.0%}"),
    )


def joined_pairs(found: CredibleSet, prior: Prior = "networks", least: float = LEAST_DRAWN) -> list[Joined]:
    """Return the pairs that are joined with at least some probability within the set, the most probable first."""
    n = len(found.names)
    if not found.n_networks:
        return []
    averages = found.averages(prior)
    edges, decided = averages.parent_sets.edges, averages.decided
    pairs = []
    for a in range(n):
        for b in range(a + 1, n):
            forward, backward = float(edges[a, b]), float(edges[b, a])
            joined = min(1.0, forward + backward)
            if joined > 0 and joined >= least - _ROUNDING:
                way = direction_of(joined, float(decided[a, b]), float(decided[b, a]), DIRECTION_THRESHOLD)
                pairs.append(Joined(a, b, joined, forward, backward, way))
    return sorted(pairs, key=lambda pair: (-round(pair.joined, 12), pair.first, pair.second))


def layout_of(names: Sequence[Hashable], pairs: Iterable[Joined], seconds: float = math.inf) -> Layout:
    """Return places for all variables; the edges that are likely decide, and the likeliest of each other variable."""
    ordered = sorted(pairs, key=lambda pair: -pair.joined)
    chosen: list[Joined] = []
    others, placed = [], set[int]()
    for pair in ordered:
        ends = {pair.first, pair.second}
        if (pair.joined >= LIKELY and len(chosen) < _MOST_LINKS * len(names)) or not ends <= placed:
            chosen.append(pair)
            placed |= ends
        else:
            others.append((pair.first, pair.second))
    # Surest directions first: a later edge that would close a cycle is turned.
    chosen.sort(key=lambda pair: (pair.direction == 0, -abs(pair.forward - pair.backward), pair.first, pair.second))
    return lay_out(names, [_link(pair) for pair in chosen], others, seconds=seconds)


def _link(pair: Joined) -> Link:
    is_forward = pair.direction > 0 or (pair.direction == 0 and pair.forward >= pair.backward)
    ends = (pair.first, pair.second) if is_forward else (pair.second, pair.first)
    return Link(*ends, weight=1 + round(4 * pair.joined))


def layout_for(names: Sequence[str], pairs: Iterable[Joined], given: object) -> Layout:
    """Return the layout that is asked for: one made before, positions by name, or None for a new one."""
    if given is None:
        return layout_of(names, pairs)
    if isinstance(given, Layout):
        return given.for_names(names)
    raise OptionError.refusing("layout", given, "give what graph_layout() returned, or None for a new layout")


def drawing_of(
    found: CredibleSet,
    threshold: float = LEAST_DRAWN,
    prior: Prior = "networks",
    layout: Layout | None = None,
    highlight: Collection[str] = (),
) -> Drawing:
    """Return the picture of a credible set: its pairs of variables and how probable it is that they are joined."""
    _check_threshold(threshold)
    pairs = joined_pairs(found, prior, threshold)
    required = _required(found)
    widest = widest_stroke(len(pairs), len(found.names))
    edges = tuple(_edge(found.names, pair, required, widest) for pair in pairs)
    title = (
        f"Graph of {len(found.names)} variables and {len(edges)} edges with a probability of {threshold:.0%} or more"
    )
    marked = frozenset(position_of(found.names, name, "variable to highlight") for name in _several(highlight))
    return Drawing(layout_for(found.names, pairs, layout), edges, legend_of(edges, _legend(widest)), title, marked)


def _check_threshold(threshold: float) -> None:
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise OptionError.refusing("threshold", threshold, "it must be a probability, 0 to 1")


def _several(names: Collection[str] | str) -> Collection[str]:
    return [names] if isinstance(names, str) else names


def _required(found: CredibleSet) -> set[tuple[int, int]]:
    """Return the edges that the constraints require, by position."""
    constraints = found.score_table.provenance.get("constraints")
    listed: Any = constraints.get("required_edges", ()) if isinstance(constraints, Mapping) else ()
    position = {name: at for at, name in enumerate(found.names)}
    return {(position[parent], position[child]) for parent, child in listed}


def _edge(names: Sequence[str], pair: Joined, required: set[tuple[int, int]], widest: float) -> DrawnEdge:
    a, b = pair[:2] if pair.direction >= 0 else (pair.second, pair.first)
    stroke = stroke_of(pair.joined, pair.direction != 0, widest)._replace(has_dot=(a, b) in required)
    return DrawnEdge((a, b), stroke, f"{pair.joined:.2f}", _said(names, pair))


def legend_of(edges: Iterable[DrawnEdge], entries: Sequence[tuple[Stroke, str]]) -> tuple[tuple[Stroke, str], ...]:
    """Return the entries of a legend that some edge needs: of its colour, or of its dashes."""
    drawn = [edge.stroke for edge in edges]

    def is_needed(entry: Stroke) -> bool:
        if entry.has_dot:
            return any(stroke.has_dot for stroke in drawn)
        if entry.dashes:
            return any(stroke.dashes == entry.dashes for stroke in drawn)
        return any(stroke.colour == entry.colour for stroke in drawn)

    return tuple((stroke, words) for stroke, words in entries if is_needed(stroke))


def drawing_of_edges(
    names: Sequence[Hashable],
    directed: Iterable[tuple[Hashable, Hashable]],
    undirected: Iterable[tuple[Hashable, Hashable]],
    title: str,
) -> Drawing:
    """Return the picture of one graph, such as a class or a network."""
    position = {name: at for at, name in enumerate(names)}
    pairs, edges = [], []
    for ends, is_directed in [*((ends, True) for ends in directed), *((ends, False) for ends in undirected)]:
        a, b = (position[end] for end in ends)
        way = 0 if not is_directed else 1 if a < b else -1
        pairs.append(Joined(min(a, b), max(a, b), 1.0, float(a < b), float(b < a), way))
        stroke = Stroke(MARK if is_directed else ALERT, 1.8, (), is_directed)
        edges.append(DrawnEdge((a, b), stroke, "", f"{ends[0]} {'→' if is_directed else '—'} {ends[1]}"))
    legend = legend_of(edges, _legend(1.8)[:2]) if undirected else ()
    return Drawing(layout_of(names, pairs), tuple(edges), legend, title)


_DIFFERENCE = {
    "more": Stroke(MARK, 2.4, (), False),
    "less": Stroke(ALERT, 2.4, _DASHES["likely"], False),
    "turned": Stroke(INK, 2.4, (7.0, 2.5, 1.8, 2.5), False),
    "same": Stroke("#9aa4af", 1.4, (), False),
}


def difference_drawing(
    first: CredibleSet,
    second: CredibleSet,
    names: tuple[str, str] = ("first", "second"),
    threshold: float = LEAST_DRAWN,
    least_change: float = 0.1,
    prior: Prior = "networks",
    layout: Layout | None = None,
) -> Drawing:
    """Return the picture of what two results say differently of the same variables."""
    _check_threshold(threshold)
    if set(first.names) != set(second.names):
        odd = sorted(set(first.names) ^ set(second.names))
        raise OptionError(
            f"the two results have different variables: {odd[0]!r} is only in one of them; learn both from the same "
            "columns"
        )
    before = {frozenset(pair[:2]): pair for pair in joined_pairs(first, prior, 0.0)}
    place = {name: at for at, name in enumerate(first.names)}
    to_first = [place[name] for name in second.names]
    after = {}
    for pair in joined_pairs(second, prior, 0.0):
        moved = _turned_to(pair, to_first)
        after[frozenset(moved[:2])] = moved
    edges, pairs = [], []
    for key in sorted(before.keys() | after.keys(), key=sorted):
        a, b = sorted(key)
        old = before.get(key, Joined(a, b, 0.0, 0.0, 0.0, 0))
        new = after.get(key, Joined(a, b, 0.0, 0.0, 0.0, 0))
        if max(old.joined, new.joined) < max(threshold, _ROUNDING):
            continue
        edges.append(_changed_edge(first.names, old, new, least_change))
        pairs.append(max(new, old, key=lambda pair: pair.joined))
    words = {
        "more": f"more probable in {names[1]}",
        "less": f"less probable in {names[1]}",
        "turned": "as probable, another direction",
        "same": "no difference",
    }
    entries = [(_DIFFERENCE[kind], text) for kind, text in words.items()]
    legend = tuple(
        (stroke, text) for stroke, text in entries if any(edge.stroke.colour == stroke.colour for edge in edges)
    )
    title = f"What differs between {names[0]} and {names[1]}: {len(edges)} edges"
    return Drawing(layout_for(first.names, pairs, layout), tuple(edges), legend, title)


def _turned_to(pair: Joined, to_other: Sequence[int]) -> Joined:
    """Return a pair by the positions of another result."""
    a, b = to_other[pair.first], to_other[pair.second]
    if a < b:
        return pair._replace(first=a, second=b)
    return Joined(b, a, pair.joined, pair.backward, pair.forward, -pair.direction)


def _changed_edge(names: Sequence[str], old: Joined, new: Joined, least_change: float) -> DrawnEdge:
    change = new.joined - old.joined
    if abs(change) >= least_change - _ROUNDING:
        kind = "more" if change > 0 else "less"
    else:
        kind = "turned" if old.direction != new.direction else "same"
    shown = old if kind == "less" else new
    a, b = (old.first, old.second) if shown.direction >= 0 else (old.second, old.first)
    stroke = _DIFFERENCE[kind]._replace(has_head=shown.direction != 0)
    if kind in ("more", "less"):
        stroke = stroke._replace(width=round(1.2 + 2.6 * abs(change), 2))
    label = f"{change:+.2f}".replace("-", "−") if kind in ("more", "less") else ""
    title = f"{_said(names, old)} / {_said(names, new)}"
    return DrawnEdge((a, b), stroke, label, title)


def _said(names: Sequence[str], pair: Joined) -> str:
    a, b = (pair.first, pair.second) if pair.direction >= 0 else (pair.second, pair.first)
    return f"{names[a]} {'→' if pair.direction else '—'} {names[b]}: {pair.joined:.3f}"
