"""Pictures of one graph: a network, with or without parameters, or an equivalence class."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from credibn.errors import OptionError
from credibn.graphs import CPDAG
from credibn.models import BayesianNetwork
from credibn.report.drawing import Drawing, drawing_of_edges
from credibn.report.graph_axes import draw_on_axes
from credibn.report.graph_files import drawing_svg

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes


def plot_network(network: Any, ax: Axes | None = None) -> Axes:
    """Draw a network or an equivalence class, and return its matplotlib axes.

    Parameters
    ----------
    network : BayesianNetwork, CPDAG or networkx.DiGraph
        An edge of a DiGraph that goes both ways is undirected, as in `CPDAG.to_networkx`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the right size.

    Examples
    --------
    >>> from credibn.examples import example_network
    >>> axes = plot_network(example_network("asia"))
    >>> len(axes.texts)
    8
    """
    return draw_on_axes(_drawing(network), ax)


def network_svg(network: Any) -> str:
    """Return the picture of `plot_network` as the text of an SVG file.

    Examples
    --------
    >>> from credibn import CPDAG
    >>> network_svg(CPDAG(("a", "b"), directed=(("a", "b"),), undirected=())).count("<polygon")
    1
    """
    return drawing_svg(_drawing(network))


def _drawing(network: Any) -> Drawing:
    names: tuple[Hashable, ...]
    directed, undirected = list[tuple[Hashable, Hashable]](), list[tuple[Hashable, Hashable]]()
    if isinstance(network, BayesianNetwork):
        names = network.names
        directed = [(names[v], name) for name, above in zip(names, network.parents, strict=True) for v in above]
    elif isinstance(network, CPDAG):
        names, directed, undirected = network.names, list(network.directed), list(network.undirected)
    elif hasattr(network, "is_directed") and network.is_directed():
        names = tuple(network)
        position = {name: at for at, name in enumerate(names)}
        both = {(a, b) for a, b in network.edges if network.has_edge(b, a)}
        directed = [edge for edge in network.edges if edge not in both]
        undirected = [(a, b) for a, b in network.edges if (a, b) in both and position[a] < position[b]]
    else:
        raise OptionError(
            f"the network is a {type(network).__name__}; give a BayesianNetwork, CPDAG or networkx.DiGraph"
        )
    return drawing_of_edges(names, directed, undirected, f"Graph of {len(names)} variables")
