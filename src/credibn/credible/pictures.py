"""The pictures that a credible set makes of itself; `credibn.report` draws them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from credibn.credible.weights import Prior

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Pictures:
    """What `CredibleSet` inherits."""

    def plot(self: Any) -> Figure:
        """Return a matplotlib figure: the probabilities of edges, and how the score falls from network to network."""
        from credibn.report.figures import overview

        return overview(self)

    def plot_graph(
        self: Any,
        threshold: float = 0.1,
        prior: Prior = "networks",
        *,
        labels: bool = False,
        highlight: Collection[str] = (),
        layout: Any = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the graph of edge probabilities, with a legend, and return its matplotlib axes.

        An arrow has a decided direction, by the rule of `threshold_graph`; a line has none. Solid lines are edges of at
        least 95 % probability within the set, dashed ones of at least 50 %, dotted ones of less. A wider line is more
        probable. A dot at the tail of an arrow marks an edge that the constraints require.

        Parameters
        ----------
        threshold : float
            The least probability of an edge that is drawn.
        prior : see `edge_probabilities`
        labels : bool
            Write the probability on each edge.
        highlight : names of variables
            Drawn with a thick border.
        layout : Layout, optional
            What `graph_layout` returned, of this set or of another one, so that variables stand in the same places in
            several figures.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of the right size, which is ``plot_graph().figure``.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> axes = learn(sample_asia(), bayes_factor=20).plot_graph(labels=True)
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['direction decided', 'direction open', 'below 50%']
        """
        from credibn.report.drawing import drawing_of
        from credibn.report.graph_axes import draw_on_axes

        return draw_on_axes(drawing_of(self, threshold, prior, layout, highlight), ax, has_labels=labels)

    def graph_svg(
        self: Any,
        threshold: float = 0.1,
        prior: Prior = "networks",
        *,
        labels: bool = False,
        highlight: Collection[str] = (),
        layout: Any = None,
    ) -> str:
        """Return the picture of `plot_graph` as the text of an SVG file; the same set gives the same text.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> learn(sample_asia()).graph_svg()[:40]
        '<svg xmlns="http://www.w3.org/2000/svg" '
        """
        from credibn.report.drawing import drawing_of
        from credibn.report.graph_files import drawing_svg

        return drawing_svg(drawing_of(self, threshold, prior, layout, highlight), has_labels=labels)

    def graph_layout(self: Any, threshold: float = 0.1, prior: Prior = "networks") -> Any:
        """Return where `plot_graph` puts variables and edges, as a `credibn.report.Layout` for other pictures."""
        from credibn.report.drawing import drawing_of

        return drawing_of(self, threshold, prior).layout

    def plot_gaps(self: Any, *, ax: Axes | None = None) -> Axes:
        """Draw how fast scores fall, the gap to the best score against the number of networks; return the axes.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> learn(sample_asia()).plot_gaps().get_ylabel()
        'Gap to the best score (nats)'
        """
        from credibn.report.figures import plot_gaps

        return plot_gaps(self, ax)

    def plot_share(self: Any, *, ax: Axes | None = None) -> Axes:
        """Draw which share of the posterior of all networks those within each Bayes factor hold; return the axes.

        A curve that is still steep at its right end says that a larger Bayes factor finds much more. Where the share
        of the set is unknown, the curve is that of the set alone, and the axis says so.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> learn(sample_asia()).plot_share().get_ylabel()
        'Share of the posterior of all networks'
        """
        from credibn.report.figures import plot_share

        return plot_share(self, ax)
