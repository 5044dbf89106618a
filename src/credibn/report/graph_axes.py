"""A drawing on matplotlib axes, for figures and for PDF and PNG files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credibn.report.drawing import Drawing, DrawnEdge, Stroke
from credibn.report.figures import INK, SOFT
from credibn.report.graph_files import DOT_RADIUS, label_places
from credibn.report.layout import shortened
from credibn.report.routes import Point, Route, arcs, arrowhead, towards

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes

_UNITS_PER_INCH = 96.0
_MOST_INCHES = 11.0
_POINTS_PER_INCH = 72.0
_NAME_SIZE = 12.6
"""Letters of a name, in units of the layout; DejaVu Sans is wide, so they are a little smaller than in SVG."""
_LEGEND_INCHES = 4.6
"""As wide as a figure must be for two columns of the legend."""


def draw_on_axes(drawing: Drawing, axes: Axes | None = None, *, has_labels: bool = False) -> Axes:
    """Draw on these axes, or on those of a new figure of the right size, and return them; the legend is below."""
    layout = drawing.layout
    if axes is None:
        scale = min(1.0, _MOST_INCHES * _UNITS_PER_INCH / max(layout.width, layout.height))
        width, height = layout.width * scale / _UNITS_PER_INCH, layout.height * scale / _UNITS_PER_INCH
        axes = _new_axes(max(width, _LEGEND_INCHES), height, len(drawing.legend))
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    unit = _points_per_unit(axes, drawing)
    for edge in reversed(drawing.edges):  # the most probable on top
        _draw_edge(axes, edge, layout.route(*edge.ends), unit)
    _draw_nodes(axes, drawing, unit)
    if has_labels:
        for edge, place in label_places(drawing):
            _draw_label(axes, edge, place, unit)
    if drawing.legend:
        _draw_legend(axes, drawing, unit)
    return axes


def _new_axes(width: float, height: float, n_in_legend: int) -> Axes:
    from matplotlib.figure import Figure

    below = 0.25 + 0.185 * -(-n_in_legend // 2) if n_in_legend else 0.0
    figure = Figure(figsize=(width, height + below))
    return figure.add_axes((0.0, below / (height + below), 1.0, height / (height + below)))


def _points_per_unit(axes: Axes, drawing: Drawing) -> float:
    """Return the size of a unit of the layout on paper, as the axes are now."""
    box = axes.get_window_extent()
    assert axes.figure is not None
    pixels = min(box.width / drawing.layout.width, box.height / drawing.layout.height)
    return float(pixels * _POINTS_PER_INCH / axes.figure.dpi)


def _draw_edge(axes: Axes, edge: DrawnEdge, route: Route, unit: float) -> None:
    from matplotlib.patches import Circle, PathPatch, Polygon
    from matplotlib.path import Path

    head, line = (None, route) if not edge.stroke.has_head else arrowhead(route, edge.stroke.width)
    points: list[tuple[float, float]] = [line[0]]
    codes = [Path.MOVETO]
    for control, end in arcs(line):
        points += [end] if control == end else [control, end]
        codes += [Path.LINETO] if control == end else [Path.CURVE3, Path.CURVE3]
    axes.add_patch(PathPatch(Path(points, codes), fill=False, zorder=2, **_look(edge.stroke, unit)))
    if head is not None:
        axes.add_patch(Polygon(head, closed=True, color=edge.stroke.colour, linewidth=0, zorder=2))
    if edge.stroke.has_dot:
        dot = towards(route[0], route[1], DOT_RADIUS)
        axes.add_patch(Circle(dot, DOT_RADIUS, color=edge.stroke.colour, linewidth=0, zorder=4))


def _look(stroke: Stroke, unit: float) -> dict[str, Any]:
    """Return the properties of a line; dashes are counted in line widths."""
    dashes = "solid" if not stroke.dashes else (0, tuple(part / stroke.width for part in stroke.dashes))
    return {"edgecolor": stroke.colour, "linewidth": stroke.width * unit, "linestyle": dashes, "capstyle": "butt"}


def _draw_nodes(axes: Axes, drawing: Drawing, unit: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    for at, (name, box) in enumerate(zip(drawing.layout.names, drawing.layout.boxes, strict=True)):
        is_marked = at in drawing.highlighted
        axes.add_patch(
            FancyBboxPatch(
                (box.x - box.width / 2, box.y - box.height / 2),
                box.width,
                box.height,
                boxstyle="round,pad=0,rounding_size=8",
                facecolor="#fff3c4" if is_marked else "#ffffff",
                edgecolor=INK if is_marked else SOFT,
                linewidth=(2.6 if is_marked else 1.2) * unit,
                zorder=3,
            )
        )
        # A dollar sign in a name does not start a formula.
        place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 5, "parse_math": False}
        axes.text(box.x, box.y, shortened(name), fontsize=_NAME_SIZE * unit, color=INK, **place)


def _draw_label(axes: Axes, edge: DrawnEdge, place: Point, unit: float) -> None:
    from matplotlib.patheffects import withStroke

    axes.text(
        *place,
        edge.label,
        fontsize=10 * unit,
        color=edge.stroke.colour,
        ha="center",
        va="center",
        zorder=6,
        path_effects=[withStroke(linewidth=3 * unit, foreground="#ffffff")],
    )


def _draw_legend(axes: Axes, drawing: Drawing, unit: float) -> None:
    from matplotlib.legend_handler import HandlerBase
    from matplotlib.lines import Line2D
    from matplotlib.patches import Ellipse, Polygon

    class Sample(HandlerBase):
        """Draws a short edge, with an arrowhead where it has one."""

        def create_artists(self, legend: Any, handle: Any, *place: Any) -> list[Any]:
            left, bottom, width, height, _, transform = place
            stroke, y = handle.stroke, bottom + height / 2
            length = 9.0 if stroke.has_head else 0.0
            look = _look(stroke, 0.75)
            line = Line2D([left, left + width - length], [y, y], color=stroke.colour, transform=transform)
            line.set(linewidth=look["linewidth"], linestyle=look["linestyle"], dash_capstyle="butt")
            tip = [(left + width, y), (left + width - length, y + 4), (left + width - length, y - 4)]
            head = Polygon(tip, color=stroke.colour, linewidth=0, transform=transform)
            if not stroke.has_dot:
                return [line, head]
            return [line, head, Ellipse((left + 3, y), 6, 6, color=stroke.colour, linewidth=0, transform=transform)]

    handles = []
    for stroke, words in drawing.legend:
        handle = Line2D([], [], label=words)
        handle.stroke = stroke  # type: ignore[attr-defined]
        handles.append(handle)
    axes.legend(
        handles=handles,
        handler_map={Line2D: Sample()},
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=2 if len(handles) > 1 else 1,
        frameon=False,
        fontsize=min(8.0, max(6.0, _NAME_SIZE * unit)),
        labelcolor=SOFT,
        handlelength=3.6,
    )
