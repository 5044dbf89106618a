r"""Structures in the formats of other programs: Graphviz, GraphML, bnlearn's model strings, adjacency matrices.

All take a networkx graph of names, with an edge from each parent to its child, or anything with a method
`to_networkx` that returns one, such as a `CPDAG`. An undirected edge goes both ways, with the attribute
``directed=False``, as in a CPDAG or a threshold graph. Graphviz draws it once and without an arrow; GraphML has both
ways and the attribute (readers refuse a file with edges of both kinds); an adjacency matrix has 1 both ways; a model
string, which describes a network, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from credibn.errors import OptionError

if TYPE_CHECKING:  # both are slow to import: they are loaded when needed
    from networkx import DiGraph
    from pandas import DataFrame

__all__ = ["adjacency_matrix", "model_string", "parse_model_string", "to_dot", "to_graphml"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NODE = re.compile(r"\s*\[([^\[\]|:]*)(?:\|([^\[\]|]*))?\]\s*")


def to_dot(graph: Any, *, name: str = "network") -> str:
    r"""Return a structure in the language of Graphviz.

    Parameters
    ----------
    graph : networkx.DiGraph or CPDAG
        Attributes of edges that are text or numbers, such as ``label``, ``color`` or ``penwidth``, are written.
    name : str
        The name of the drawing.

    Raises
    ------
    OptionError
        If it is not a directed graph.

    Examples
    --------
    >>> import networkx as nx
    >>> print(to_dot(nx.DiGraph([("rain", "wet grass")])))
    digraph "network" {
      "rain";
      "wet grass";
      "rain" -> "wet grass";
    }
    """
    lines = [f"digraph {_quoted(name)} {{"]
    structure = _structure(graph)
    lines += [f"  {_quoted(node)};" for node in structure]
    rank = {node: position for position, node in enumerate(structure)}
    for parent, child, attributes in structure.edges(data=True):
        shown = {key: value for key, value in attributes.items() if key != "directed" and _is_plain(value)}
        if attributes.get("directed") is False:
            if structure.has_edge(child, parent) and rank[parent] > rank[child]:
                continue
            shown["dir"] = "none"
        listed = ", ".join(f"{_quoted(key)}={_quoted(value)}" for key, value in shown.items())
        lines.append(f"  {_quoted(parent)} -> {_quoted(child)}{f' [{listed}]' if listed else ''};")
    return "\n".join([*lines, "}"])


def to_graphml(graph: Any) -> str:
    """Return a structure as GraphML, with the attributes of nodes and edges that are text, numbers or booleans.

    Raises
    ------
    OptionError
        If it is not a directed graph, or a name has a character that XML does not allow.

    Examples
    --------
    >>> import networkx as nx
    >>> nx.parse_graphml(to_graphml(nx.DiGraph([("rain", "wet")]))).edges
    OutEdgeView([('rain', 'wet')])
    """
    import networkx as nx

    structure = _structure(graph)
    plain = nx.DiGraph()
    plain.add_nodes_from((node, _plain(attributes)) for node, attributes in structure.nodes(data=True))
    plain.add_edges_from(
        (parent, child, _plain(attributes)) for parent, child, attributes in structure.edges(data=True)
    )
    text = "\n".join(nx.generate_graphml(plain))
    forbidden = _NOT_XML.search(text)
    if forbidden is not None:
        raise OptionError(
            f"a name or attribute has the character {forbidden[0]!r}, which XML does not allow; rename it"
        )
    return text


def model_string(graph: Any) -> str:
    """Return a network as a model string of the R package bnlearn, such as ``[A][B][C|A:B]``.

    Nodes and parents are in a topological order, as close as possible to that of the graph.

    Raises
    ------
    OptionError
        If it is not a directed acyclic graph, has undirected edges, or a name is empty, starts or ends with a blank, or
        contains one of ``[ ] | :``.

    Examples
    --------
    >>> import networkx as nx
    >>> model_string(nx.DiGraph([("rain", "wet"), ("sprinkler", "wet")]))
    '[rain][sprinkler][wet|rain:sprinkler]'
    """
    import networkx as nx

    structure = _structure(graph)
    rank = {node: position for position, node in enumerate(structure)}
    for node in structure:
        text = str(node)
        if not text or text != text.strip() or any(mark in text for mark in "[]|:"):
            raise OptionError(
                f"the name {text!r} is not allowed in a model string: rename it without spaces and [ ] | :"
            )
    for parent, child, is_directed in structure.edges(data="directed", default=True):
        if not is_directed:
            raise OptionError(
                f"{parent!r} -- {child!r} has no direction, but a model string describes a network: give a "
                "member of the class"
            )
    try:
        order = list(nx.lexicographical_topological_sort(structure, key=rank.__getitem__))
    except nx.NetworkXUnfeasible:
        cycle = " -> ".join(repr(parent) for parent, _ in nx.find_cycle(structure))
        raise OptionError(f"the edges form a directed cycle, {cycle}; drop or reverse one of them") from None
    parts, place = [], {node: position for position, node in enumerate(order)}
    for node in order:
        parents = sorted(structure.predecessors(node), key=place.__getitem__)
        parts.append(f"[{node}|{':'.join(map(str, parents))}]" if parents else f"[{node}]")
    return "".join(parts)


def parse_model_string(text: str) -> DiGraph:
    """Return the network that a model string of the R package bnlearn describes; nodes in its order.

    Raises
    ------
    OptionError
        If the text is not a model string, a parent is not among the nodes, or the edges form a cycle.

    Examples
    --------
    >>> parse_model_string("[rain][sprinkler][wet|rain:sprinkler]").edges
    OutEdgeView([('rain', 'wet'), ('sprinkler', 'wet')])
    """
    import networkx as nx

    parents = dict[str, list[str]]()
    for node, above in _nodes(text):
        if not node or node in parents:
            raise OptionError(f"the model string has the node {node!r} empty or twice; name each node exactly once")
        parents[node] = above
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    for node, above in parents.items():
        seen = {node}
        for parent in above:
            if parent not in parents or parent in seen:
                raise OptionError(
                    f"{parent!r} is a parent of {node!r} in the model string; parents must be other nodes of "
                    "the string, each listed once"
                )
            seen.add(parent)
            graph.add_edge(parent, node)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join(repr(parent) for parent, _ in nx.find_cycle(graph))
        raise OptionError(f"the model string has a directed cycle, {cycle}; drop one of these edges")
    return graph


def adjacency_matrix(graph: Any) -> DataFrame:
    """Return a structure as a frame of 0 and 1: rows are parents, columns children; undirected edges are 1 both ways.

    Examples
    --------
    >>> import networkx as nx
    >>> adjacency_matrix(nx.DiGraph([("rain", "wet")]))
          rain  wet
    rain     0    1
    wet      0    0
    """
    import networkx as nx
    import pandas as pd

    structure = _structure(graph)
    nodes = list(structure)
    if not nodes:
        return pd.DataFrame(dtype="int64")
    matrix = nx.to_numpy_array(structure, nodelist=nodes, weight=None, dtype="int64")
    return pd.DataFrame(matrix, index=nodes, columns=nodes)


def _structure(graph: Any) -> DiGraph:
    converted = graph.to_networkx() if hasattr(graph, "to_networkx") else graph
    if not (hasattr(converted, "is_directed") and converted.is_directed()) or converted.is_multigraph():
        raise OptionError(f"the graph is a {type(graph).__name__}; give a networkx.DiGraph or a CPDAG")
    return converted


def _nodes(text: object) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(text, str):
        raise OptionError(f"the model string is {text!r}; give text such as '[A][B|A]'")
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _NODE.match(text, position)
        if match is None:
            raise OptionError(
                f"the model string has {text[position : position + 40]!r}; expected '[node|parent:parent]'"
            )
        above = [] if match[2] is None else [parent.strip() for parent in match[2].split(":")]
        yield match[1].strip(), above
        position = match.end()


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if _is_plain(value)}


def _quoted(value: object) -> str:
    r"""Return text as a Graphviz string: a backslash would start an escape, as in ``\n`` or ``\N``."""
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{text}"'
