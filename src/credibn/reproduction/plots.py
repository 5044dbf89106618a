"""Plots of the reproduced tables: times, sizes of credible sets, and the deviation from the optimum by k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from credibn.report.figures import ALERT, BAYES_FACTORS, INK, LINE, MARK, SOFT, blank_figure, label_counts, style_axes
from credibn.reproduction.marks import Mark
from credibn.reproduction.results import ResultTable, Row

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PLOTS", "plot_deviations", "plot_means", "plot_times"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#7a7a7a")
"""Told apart with any colour vision (Okabe & Ito 2008), and seen on light and dark paper."""
_STYLES = ("-", "--", ":")


def plot_times(table: ResultTable) -> Figure:
    """Return our search time against the printed one, a point for each row of table 2 that has both."""
    rows = [
        row
        for row in table.rows
        if isinstance(row["printed_seconds"], float | int) and row["seconds_search"] and not row["is_printed_cut"]
    ]
    figure = blank_figure(6.5, 4.5)
    axes = figure.subplots()
    _compare(
        axes,
        [(float(row["printed_seconds"]), max(float(row["seconds_search"]), 1e-4)) for row in rows],
        [MARK] * len(rows),
    )
    axes.set_xlabel("Printed search time (s)")
    axes.set_ylabel("Our search time (s)")
    return figure


def plot_means(table: ResultTable) -> Figure:
    """Return the mean size of our credible sets against the printed one, a point for each row of table 4 or 5."""
    of = "networks" if table.name == "table4" else "classes"
    rows = [row for row in table.rows if row[f"{of}_mean"] and isinstance(row["printed_mean"], float | int)]
    figure = blank_figure(6.5, 4.5)
    axes = figure.subplots()
    points = [(float(row["printed_mean"]), float(row[f"{of}_mean"])) for row in rows]
    _compare(axes, points, [_colour(row) for row in rows])
    axes.set_xlabel(f"Printed mean number of {of}")
    axes.set_ylabel(f"Our mean number of {of}")
    return figure


def _colour(row: Row) -> str:
    if row["mark"] == Mark.COMPATIBLE:
        return MARK
    return ALERT if row["mark"] == Mark.DIFFERENT else SOFT


def _compare(axes: Axes, points: Sequence[tuple[float, float]], colours: Sequence[str]) -> None:
    """Draw points on logarithmic axes with the line on which both numbers are the same."""
    style_axes(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if not points:
        return
    low, high = min(map(min, points)), max(map(max, points))
    axes.plot([low, high], [low, high], color=LINE, linewidth=1, zorder=1)
    across, up = zip(*points, strict=True)
    axes.scatter(across, up, c=list(colours), s=18, zorder=2)


def plot_deviations(table: ResultTable) -> Figure:
    """Return how far the k-th best network is from the optimum, a line for each data set."""
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


PLOTS = {
    "table2": (plot_times, "Search times: ours against those printed, where the paper's collection was not cut."),
    "table4": (plot_means, "Mean numbers of networks; blue: compatible, vermilion: different, grey: not compared."),
    "table5": (plot_means, "Mean numbers of classes; blue: compatible, vermilion: different, grey: not compared."),
    "figure1": (plot_deviations, "The deviation of the k-th best network from the optimum, by BDeu."),
}
"""The plot of a table, and what it shows."""
