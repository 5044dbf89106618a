"""Two results in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credibn.credible import CredibleSet
from credibn.credible.weights import Prior
from credibn.report.drawing import LEAST_DRAWN, difference_drawing
from credibn.report.graph_axes import draw_on_axes
from credibn.report.layout import Layout

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes


def plot_difference(
    first: CredibleSet,
    second: CredibleSet,
    names: tuple[str, str] = ("the first", "the second"),
    *,
    threshold: float = LEAST_DRAWN,
    least_change: float = 0.1,
    prior: Prior = "networks",
    labels: bool = True,
    layout: Layout | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which edges two results disagree on: two factors, two scores or two tables of the same variables.

    Parameters
    ----------
    first, second : CredibleSet
        Results for the same variables, in any order.
    names : two texts
        What the legend calls the results.
    threshold : float
        Edges are drawn that have at least this probability in one of the results.
    least_change : float
        A smaller change of an edge's probability counts as no difference.
    prior : see `CredibleSet.edge_probabilities`
    labels : bool
        Write the change of probability, from the first to the second, on each edge that differs.
    layout : Layout, optional
        Places from `CredibleSet.graph_layout`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Examples
    --------
    >>> from credibn import learn
    >>> from credibn.examples import sample_asia
    >>> axes = plot_difference(learn(sample_asia(300)), learn(sample_asia()), ("300 rows", "1,000 rows"))
    >>> [text.get_text() for text in axes.get_legend().get_texts()][:2]
    ['more probable in 1,000 rows', 'less probable in 1,000 rows']
    """
    drawing = difference_drawing(first, second, names, threshold, least_change, prior, layout)
    return draw_on_axes(drawing, ax, has_labels=labels)
