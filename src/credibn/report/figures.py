"""Figures of a credible set, as matplotlib figures: the gap curve and the heat map of edges.

They are made without pyplot, so they change no global state and are freed when they are no longer used: show one in a
notebook, or save it with ``figure.savefig("curve.pdf")``. matplotlib is imported with the first figure.
"""

from __future__ import annotations

import io
import logging
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from credibn._base.atomic import replacing
from credibn._base.text import plural
from credibn.credible import CredibleSet

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Shown = TypeVar("_Shown")

BAYES_FACTORS = (3, 20, 150)
"""Where evidence begins to be positive, strong and very strong (Kass & Raftery 1995)."""

INK, SOFT, LINE, MARK, ALERT = "#1b1f24", "#57606a", "#d0d7de", "#0a6aa6", "#b84a00"
_THEME = {INK: "--ink", SOFT: "--soft", LINE: "--line", MARK: "--mark", ALERT: "--alert"}
"""The colours of figures, and the custom properties of the page's style sheet that take their place there."""
_MISSING = "above this line networks may be missing"
_MOST_STEPS = 600
_MOST_LEVELS = 150
"""Points of a curve over the gaps of a set."""
_MOST_NUMBERS = 12
_MOST_LABELS = 100
_LOG10 = math.log(10)


def overview(result: CredibleSet) -> Figure:
    """Return the heat map of edges and the gap curve, side by side.

    Examples
    --------
    >>> from credibn import learn
    >>> figure = overview(learn(np.column_stack([np.arange(80) // 40] * 2)))
    >>> [axes.get_xlabel() for axes in figure.axes[:2]]
    ['Child', 'Networks, the best first']
    """
    figure = blank_figure(11, 5)
    left, right = figure.subplots(1, 2)
    _draw_heat_map(result, left)
    _draw_curve(result, right)
    return figure


def gap_curve(result: CredibleSet) -> Figure:
    """Return the figure of how fast scores fall: the gap to the best score of the k-th best network, against k.

    Networks of a class share a score where classes are credible as a whole, so the curve is a staircase with a step for
    each class; the axis of k is logarithmic. Lines mark Bayes factors of 3, 20 and 150 (Liao et al., figure of the
    deviation from the optimum).

    Examples
    --------
    >>> from credibn import learn
    >>> figure = gap_curve(learn(np.column_stack([np.arange(80) // 40] * 2)))
    >>> figure.axes[0].get_ylabel()
    'Gap to the best score (nats)'
    """
    return figure_of(plot_gaps(result))


def plot_gaps(result: CredibleSet, axes: Axes | None = None) -> Axes:
    """Draw the curve of `gap_curve` on these axes, or on those of a new figure, and return them."""
    axes = blank_figure(7.5, 3.8).subplots() if axes is None else axes
    _draw_curve(result, axes)
    return axes


def plot_share(result: CredibleSet, axes: Axes | None = None) -> Axes:
    """Draw which share of the posterior the networks within each Bayes factor hold; see `CredibleSet.plot_share`."""
    axes = blank_figure(7.5, 3.8).subplots() if axes is None else axes
    gaps, shares = share_by_gap(result)
    style_axes(axes)
    axes.set_xlabel("Bayes factor")
    known = result.posterior_share is not None
    axes.set_ylabel("Share of the posterior of all networks" if known else "Share of this set (of all: unknown)")
    right = max(result.epsilon, math.log(2))
    for level in (0.5, 0.95):
        axes.axhline(level, color=LINE, linewidth=1, zorder=1)
    axes.fill_between(gaps, shares, color=MARK, alpha=0.15, linewidth=0, zorder=2)
    axes.plot(gaps, shares, color=MARK, linewidth=2, solid_joinstyle="miter", zorder=3)
    if len(gaps):
        axes.plot(gaps[-1:], shares[-1:], color=MARK, marker="o", markersize=5, clip_on=False, zorder=4)
        held = f"{shares[-1]:.1%}" if shares[-1] >= 0.001 else "< 0.1%"
        is_high = shares[-1] > 0.9
        offset, below = ((-6, -8), "top") if is_high else ((-6, 6), "bottom")
        axes.annotate(held, (gaps[-1], shares[-1]), offset, textcoords="offset points", color=INK, ha="right", va=below)
    factors = [factor for factor in (1, *BAYES_FACTORS, 1_000, 10_000, 100_000) if math.log(factor) <= right * 1.001]
    axes.set_xticks([math.log(factor) for factor in factors], [f"{factor:,}" for factor in factors])
    axes.set_xlim(0, right)
    axes.set_ylim(0, 1.0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return axes


def share_by_gap(result: CredibleSet) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return corners of a staircase: the gap to the best score, and the share of what scores within it.

    The share is of the posterior of all networks where that is known, otherwise of the set.
    """
    found = result.structures
    if not result.n_networks:
        return np.zeros(0), np.zeros(0)
    log_total = result.log_mass if result.log_total_mass is None else result.log_total_mass
    if not found.is_listed:
        levels = np.linspace(0.0, result.epsilon, _MOST_LEVELS)
        held = np.exp(np.minimum(0.0, found.log_masses(levels) - log_total))
        return np.append(0.0, np.repeat(levels, 2)[1:]), np.append(held[0], np.repeat(held, 2)[:-1])
    shares = np.exp(np.minimum(0.0, np.logaddexp.accumulate(found.scores + found.log_sizes) - log_total))
    gaps = np.maximum(0.0, result.optimal_score - found.scores)
    last = np.append(np.flatnonzero(np.diff(gaps)), len(gaps) - 1)  # of networks with the same gap
    if len(last) > _MOST_STEPS:
        wanted = np.searchsorted(gaps[last], np.linspace(0, gaps[-1], _MOST_STEPS))
        last = last[np.unique(np.append(wanted.clip(max=len(last) - 1), len(last) - 1))]
    across = np.append(np.repeat(gaps[last], 2)[1:], max(result.epsilon, float(gaps[-1])))
    return np.append(0.0, across), np.append(shares[last[0]], np.repeat(shares[last], 2))


def edge_heat_map(result: CredibleSet) -> Figure:
    """Return the figure of edge probabilities: rows are parents, columns children.

    Examples
    --------
    >>> from credibn import learn
    >>> figure = edge_heat_map(learn(np.column_stack([np.arange(80) // 40] * 2)))
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['X0', 'X1']
    """
    side = min(14.0, 3.5 + 0.22 * len(result.names))
    figure = blank_figure(side + 1, side)
    _draw_heat_map(result, figure.subplots())
    return figure


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure, all or nothing, in the format that the ending of the file says: .png, .svg or .pdf."""
    ending = os.path.splitext(path)[1][1:].lower()
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
    with quiet_matplotlib(), io.BytesIO() as drawn:
        import matplotlib

        with matplotlib.rc_context({"svg.hashsalt": "credibn", "pdf.fonttype": 42}):  # fonts that journals take
            figure.savefig(drawn, format=ending, dpi=150, metadata=metadata)
        with replacing(path) as sink:
            sink.write(drawn.getvalue())


def figure_svg(make: Callable[[_Shown], Figure], result: _Shown, prefix: str, label: str) -> str:
    """Return a figure as an SVG element for a page; the same result gives the same bytes."""
    settings = {"svg.hashsalt": prefix, "svg.fonttype": "none", "font.size": 11}
    with quiet_matplotlib(), io.StringIO() as sink:
        import matplotlib.style

        with matplotlib.style.context(["default", settings]):
            metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            make(result).savefig(sink, format="svg", transparent=True, metadata=metadata)
        text = sink.getvalue()
    return _themed(text[text.index("<svg") :], prefix, label)


@contextmanager
def quiet_matplotlib() -> Iterator[None]:
    """Silence matplotlib's messages about its font cache."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _themed(svg: str, prefix: str, label: str) -> str:
    """Return matplotlib's SVG with the fonts and colours of the page, and without what HTML has no use for."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view = re.search(r'viewBox="([^"]*)"', svg)
    assert view is not None
    svg = f'<svg role="img" aria-label="{label}" viewBox="{view[1]}">' + svg[svg.index(">") + 1 :]
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{prefix}-", svg).replace("xlink:href", "href")
    svg = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", svg)
    for colour, variable in _THEME.items():
        svg = svg.replace(colour, f"var({variable})")
    return re.sub(r"\n\s*", "\n", svg).strip()


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure; width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def figure_of(axes: Axes) -> Figure:
    """Return the figure that axes belong to."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def style_axes(axes: Axes) -> None:
    """Give axes the look of all figures."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelcolor=INK)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def networks_within(result: CredibleSet) -> list[tuple[str, str, str]]:
    """Return for each Bayes factor of the curve how many networks, in how many classes, are within it."""
    lines = []
    for factor in BAYES_FACTORS:
        gap = math.log(factor)
        if gap <= result.epsilon * (1 + 1e-12) and result.n_networks:
            n_networks, n_classes = result.count_within(min(gap, result.epsilon))
            in_classes = "" if n_classes is None else plural(n_classes, "class")
            lines.append((f"{factor}", plural(n_networks, "network"), in_classes))
    return lines


def _draw_curve(result: CredibleSet, axes: Axes) -> None:
    style_axes(axes)
    axes.set_xlabel("Networks, the best first")
    axes.set_ylabel("Gap to the best score (nats)")
    logs, gaps = _staircase(result)
    span = float(gaps.max(initial=0.0))
    top = 1.08 * min((math.log(factor) for factor in BAYES_FACTORS if span <= math.log(factor)), default=span)
    right = max(float(logs.max(initial=0.0)), math.log10(2)) * 1.04
    for factor in BAYES_FACTORS:
        if math.log(factor) <= top:
            axes.axhline(math.log(factor), color=LINE, linewidth=1, zorder=1)
            axes.text(0.01 * right, math.log(factor), f"Bayes factor {factor}", color=SOFT, va="bottom", fontsize=9)
    known = math.inf if result.unexplored_bound is None else result.optimal_score - result.unexplored_bound
    if 0 <= known < top:
        axes.axhline(known, color=ALERT, linewidth=1.2, linestyle="--", zorder=2)
        axes.text(right, known, _MISSING, color=ALERT, ha="right", va="bottom", fontsize=9)
    axes.plot(logs, gaps, color=MARK, linewidth=2, solid_joinstyle="miter", zorder=3)
    if len(gaps):
        axes.plot(logs[-1:], gaps[-1:], color=MARK, marker="o", markersize=5, zorder=3)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    label_counts(axes, right)


def label_counts(axes: Axes, right: float) -> None:
    """Put numbers of networks on an axis of their log10, which unlike a logarithmic axis has no largest number."""
    powers = range(0, math.floor(right) + 1, max(1, math.floor(right) // 8))
    if right < 3:
        counts = [step * 10**power for power in powers for step in (1, 2, 5) if math.log10(step) + power <= right]
        axes.set_xticks([math.log10(count) for count in counts], [f"{count:,}" for count in counts])
    else:
        axes.set_xticks(list(powers), [_power(exponent) for exponent in powers])


def _power(exponent: int) -> str:
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f"{10**exponent:,}" if exponent < 5 else f"10{str(exponent).translate(raised)}"


def _staircase(result: CredibleSet) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log10 of the number of networks, and the gap, at each corner of the curve, thinned to what one can see.

    A class adds several networks: the first and the last of them have the same gap.
    """
    found = result.structures
    if not result.n_networks:
        return np.zeros(0), np.zeros(0)
    if not found.is_listed:
        levels = np.linspace(0.0, result.epsilon, _MOST_LEVELS)
        counts = [math.log10(result.count_within(float(gap))[0]) for gap in levels]
        return np.array([0.0, *counts]), np.array([0.0, *levels])
    last = np.logaddexp.accumulate(found.log_sizes) / _LOG10
    gaps = np.maximum(0.0, result.optimal_score - found.scores)
    if len(found) > _MOST_STEPS:
        wanted = np.linspace(0, last[-1], _MOST_STEPS)
        steps = np.unique(np.append(np.searchsorted(last, wanted).clip(max=len(found) - 1), len(found) - 1))
    else:
        steps = np.arange(len(found))
    first = np.where(steps > 0, last[steps - 1], 0.0)
    return np.column_stack([first, last[steps]]).ravel(), np.repeat(gaps[steps], 2)


def _draw_heat_map(result: CredibleSet, axes: Axes) -> None:
    n = len(result.names)
    edges = result.averages().parent_sets.edges if result.n_networks else np.zeros((n, n))
    draw_matrix(axes, result.names, edges, "Probability of the edge, within the set", "Child", "Parent")


def draw_matrix(
    axes: Axes, names: tuple[str, ...], values: NDArray[np.float64], label: str, across: str, down: str
) -> None:
    """Draw a number from 0 to 1 for each ordered pair of variables; larger ones look as 1 does."""
    from matplotlib.colors import LinearSegmentedColormap

    n = len(names)
    colours = LinearSegmentedColormap.from_list("edges", ["#ffffff", MARK])
    image = axes.imshow(values, cmap=colours, vmin=0, vmax=1)
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    if n <= _MOST_LABELS:
        size = max(4.0, min(10.0, 260 / n))
        # A dollar sign in a name does not start a formula.
        axes.set_xticks(range(n), names, rotation=90, fontsize=size, parse_math=False)
        axes.set_yticks(range(n), names, fontsize=size, parse_math=False)
    if n <= _MOST_NUMBERS:
        for row, column in zip(*np.nonzero(values), strict=True):
            shown = values[row, column]
            colour = "#ffffff" if shown > 0.5 else INK
            axes.text(column, row, f"{shown:.2f}", color=colour, ha="center", va="center", fontsize=8)
