"""How results show themselves in a notebook: fragments of HTML.

Everything that comes from outside is escaped: names and states are text, never markup. Nothing is loaded from
elsewhere, and the same result gives the same text.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from html import escape

import numpy as np

from credibn._base.text import plural
from credibn.credible import CredibleClass, CredibleSet
from credibn.graphs import CPDAG
from credibn.models import AveragedModel, BayesianNetwork
from credibn.posterior import Posterior
from credibn.report.drawing import drawing_of, drawing_of_edges
from credibn.report.graph_files import drawing_svg

_CLASSES_SHOWN = 10
_EDGES_SHOWN = 24
_PROBABLE_EDGES_SHOWN = 10
_STATES_SHOWN = 6
_MOST_NODES = 80
"""A graph of more nodes is not drawn: nobody could read it in a cell."""
_MOST_AVERAGED = 50_000
"""Classes over which a cell averages for its graph."""

_Edges = Sequence[tuple[Hashable, Hashable]]


def credible_set_html(found: CredibleSet) -> str:
    """Return what was found, in sentences, the graph of edge probabilities, and the best classes."""
    sentences = [_paragraph(line) for line in found.summary().splitlines()]
    graph = drawing_svg(drawing_of(found), is_file=False) if _is_quick_to_draw(found) else ""
    if not found.n_networks or not found.are_classes_known:
        return _block(*sentences, graph)
    held = found.posterior_share
    header = ["score", "gap", "networks", "of the set", *([] if held is None else ["of all networks"])]
    rows = [
        [
            f"{one.score:,.6f}",
            f"{max(0.0, found.optimal_score - one.score):,.6f}",
            f"{one.size:,}",
            f"{100 * one.weight:.2f} %",
            *([] if held is None else [f"{100 * one.weight * held:.2f} %"]),
            _listed(one.graph.edges_as_text),
        ]
        for one in found.best_classes(_CLASSES_SHOWN)
    ]
    n_more = found.n_classes - len(rows) if found.structures.are_classes_counted else 0
    return _block(
        *sentences,
        graph,
        _table([*header, "edges of the class"], rows, numbers=range(len(header))) if rows else "",
        _paragraph(f"and {n_more:,} more") if n_more else "",
    )


def _is_quick_to_draw(found: CredibleSet) -> bool:
    """Whether the graph takes a second or so: a cell that shows a result should not keep its reader waiting."""
    is_short = not found.structures.is_listed or len(found.structures) <= _MOST_AVERAGED
    return found.n_networks > 0 and len(found.names) <= _MOST_NODES and is_short


def class_html(one: CredibleClass) -> str:
    """Return the numbers of a class, and its graph."""
    facts = [[f"{one.size:,}", f"{one.score:,.6f}", f"{100 * one.weight:.2f} %"]]
    return _block(_table(["networks", "score", "of the set"], facts, numbers=range(3)), cpdag_html(one.graph))


def cpdag_html(cpdag: CPDAG) -> str:
    """Return the graph drawn, or its edges in a table where it has too many nodes."""
    nodes = plural(len(cpdag.names), "node")
    title = f"CPDAG of {nodes}; edges with a direction: {len(cpdag.directed)}, without: {len(cpdag.undirected)}"
    if len(cpdag.names) > _MOST_NODES:
        return _block(_paragraph(title), _table(["edge"], [[edge] for edge in cpdag.edges_as_text]))
    return _block(_paragraph(title), _svg(cpdag.names, cpdag.directed, cpdag.undirected, title))


def posterior_html(posterior: Posterior) -> str:
    """Return the log mass, and the most probable edges where probabilities were computed."""
    n = posterior.n_variables
    variables = plural(n, "variable")
    title = _paragraph(f"The posterior of all networks over {variables}, log mass {posterior.log_mass:.6f}")
    if posterior.parent_sets is None:
        return _block(title)
    edges = posterior.parent_sets.edges
    order = np.argsort(-edges, axis=None, kind="stable")[:_PROBABLE_EDGES_SHOWN]
    ends = [divmod(int(at), n) for at in order if edges.flat[at] > 0]
    rows = [[f"{posterior.names[a]} -> {posterior.names[b]}", f"{edges[a, b]:.4f}"] for a, b in ends]
    return _block(title, _table(["most probable edges", "probability"], rows, numbers=[1]))


def averaged_model_html(model: AveragedModel) -> str:
    """Return what the model is, and its variables."""
    rows = [[name, _states(labels)] for name, labels in zip(model.names, model.states, strict=True)]
    return _block(_paragraph(repr(model)), _table(["variable", "states"], rows))


def network_html(network: BayesianNetwork) -> str:
    """Return the network drawn, and a table of its variables with their parents."""
    parents = [tuple(network.names[v] for v in above) for above in network.parents]
    edges = [(parent, name) for name, above in zip(network.names, parents, strict=True) for parent in above]
    lines = zip(network.names, network.states, parents, network.local_models, strict=True)
    rows = [
        [name, _states(states), ", ".join(above), f"{model.n_parameters:,}"] for name, states, above, model in lines
    ]
    title = repr(network)
    return _block(
        _paragraph(title),
        _svg(network.names, edges, (), title) if len(network.names) <= _MOST_NODES else "",
        _table(["variable", "states", "parents", "parameters"], rows, numbers=[3]),
    )


def _svg(names: Sequence[Hashable], directed: _Edges, undirected: _Edges, title: str) -> str:
    return drawing_svg(drawing_of_edges(names, directed, undirected, title), is_file=False)


def _block(*parts: str) -> str:
    return "\n".join(["<div>", *(part for part in parts if part), "</div>"])


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], numbers: Collection[int] = ()) -> str:
    """Return a table, the columns at the positions ``numbers`` flush right."""
    sides = ["right" if at in numbers else "left" for at in range(len(header))]

    def line(start: str, cells: Sequence[object], end: str) -> str:
        styled = zip(cells, sides, strict=True)
        filled = (f'{start} style="text-align: {side}">{escape(str(cell))}{end}' for cell, side in styled)
        return f"<tr>{''.join(filled)}</tr>"

    head = line('<th scope="col"', header, "</th>")
    body = (line("<td", row, "</td>") for row in rows)
    return "\n".join(["<table>", f"<thead>{head}</thead>", "<tbody>", *body, "</tbody>", "</table>"])


def _listed(edges: tuple[str, ...]) -> str:
    more = f", ... ({len(edges)} edges)" if len(edges) > _EDGES_SHOWN else ""
    return (", ".join(edges[:_EDGES_SHOWN]) or "(none)") + more


def _states(labels: tuple[object, ...] | None) -> str:
    if labels is None:
        return "continuous"
    shown = ["(missing)" if label is None else str(label) for label in labels[:_STATES_SHOWN]]
    return ", ".join(shown) + (f", ... ({len(labels)} states)" if len(labels) > _STATES_SHOWN else "")
