"""Plots of the tables: pairs of numbers, printed and ours, and the deviation from the optimum by k."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from credibn._base.atomic import replacing
from credibn.report.figures import (
    ALERT,
    BAYES_FACTORS,
    INK,
    LINE,
    MARK,
    SOFT,
    blank_figure,
    figure_svg,
    label_counts,
    quiet_matplotlib,
    style_axes,
)
from paper.results import ResultTable

if TYPE_CHECKING:  # matplotlib takes a while to import
    from matplotlib.figure import Figure

__all__ = ["ALERT", "MARK", "SOFT", "figure_svg", "plot_deviations", "plot_pairs", "write_svg"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#7a7a7a")
"""Told apart with any colour vision (Okabe & Ito 2008), and seen on light and dark paper."""
_STYLES = ("-", "--", ":")


def plot_pairs(points: Sequence[tuple[float, float]], colours: Sequence[str], across: str, up: str) -> Figure:
    """Draw points on logarithmic axes with the line on which both numbers are the same."""
    figure = blank_figure(6.5, 4.5)
    axes = figure.subplots()
    style_axes(axes)
    axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
    if points:
        low, high = min(map(min, points)), max(map(max, points))
        axes.plot([low, high], [low, high], color=LINE, linewidth=1, zorder=1)
        axes.scatter([x for x, _ in points], [y for _, y in points], c=list(colours), s=18, zorder=2)
    return figure


def plot_deviations(table: ResultTable) -> Figure:
    """Draw how far the k-th best network is from the optimum, a line for each data set."""
    names = list(dict.fromkeys(row["data"] for row in table.rows))
    figure = blank_figure(8, 4.8)
    axes = figure.subplots()
    style_axes(axes)
    top, right = 1.05 * math.log(max(BAYES_FACTORS)), math.log10(2)
    for number, name in enumerate(names):
        rows = [row for row in table.rows if row["data"] == name and row["deviation"] <= top]
        logs = [math.log10(k) for row in rows for k in (row["first_k"], row["last_k"])]
        deviations = [row["deviation"] for row in rows for _ in range(2)]
        right = max(right, logs[-1])
        style = _STYLES[number // len(_COLOURS) % len(_STYLES)]
        axes.plot(logs, deviations, style, color=_COLOURS[number % len(_COLOURS)], linewidth=1.6, label=name)
    for factor in BAYES_FACTORS:
        axes.axhline(math.log(factor), color=LINE, linewidth=1, zorder=1)
        axes.text(0.0, math.log(factor), f" Bayes factor {factor}", color=SOFT, va="bottom", fontsize=9)
    axes.set_xlim(0, 1.02 * right)
    axes.set_ylim(0, top)
    label_counts(axes, 1.02 * right)
    axes.set_xlabel("k, the best network first")
    axes.set_ylabel("Deviation from the optimum (nats)")
    if names:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9, labelcolor=INK)
    return figure


def write_svg(make: Callable[[ResultTable], Figure], table: ResultTable, path: Path) -> None:
    """Write the plot of a table as a file of its own; the same table gives the same bytes."""
    with quiet_matplotlib(), replacing(path) as sink:
        import matplotlib.style

        with matplotlib.style.context(["default", {"svg.hashsalt": table.name, "svg.fonttype": "none"}]):
            make(table).savefig(sink, format="svg", metadata={"Date": None})
