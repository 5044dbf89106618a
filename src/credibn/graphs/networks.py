"""Networks and Markov equivalence classes as graphs.

Two networks are equivalent when they state the same conditional independences: when they have the same skeleton and
the same v-structures (Verma & Pearl 1990). A class is shown by its CPDAG, in which an edge has a direction if all
members agree on it (Chickering 1995). Class sizes are counted in polynomial time (Wienöbst, Bannach & Liśkiewicz
2021), members listed one by one (Wienöbst, Luttermann, Bannach & Liśkiewicz 2023), both in the compiled core.

Inside credibn a network over n nodes is an array of parent masks, of shape (n, ceil(n / 64)): bit ``v % 64`` of word
``v // 64`` in row c is set if v is a parent of c. `network_graph` and `parent_masks` convert to networkx and back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.text import plural
from credibn.errors import OptionError
from credibn.scores.constraints import edge_of, find_cycle, position_of
from credibn.scores.table import parent_positions

if TYPE_CHECKING:  # networkx is slow to import: it is loaded when needed
    from networkx import DiGraph

_MAX_NODES = 255
_SHOWN_EDGES = 12
_MEMBERS_PER_CALL = 256


@dataclass(frozen=True, repr=False)
class CPDAG:
    """A Markov equivalence class; made by `cpdag_of`.

    Attributes
    ----------
    names : tuple
        The nodes, in order.
    directed : tuple of (parent, child)
        The edges that all members of the class share, ordered by the positions of their ends.
    undirected : tuple of (a, b)
        The edges that point one way in some members and the other way in others; a is before b in `names`.

    Examples
    --------
    >>> CPDAG(("rain", "sprinkler", "wet"), directed=(("rain", "wet"), ("sprinkler", "wet")), undirected=())
    CPDAG of 3 nodes: rain -> wet, sprinkler -> wet
    """

    names: tuple[Hashable, ...]
    directed: tuple[tuple[Hashable, Hashable], ...]
    undirected: tuple[tuple[Hashable, Hashable], ...]

    def to_networkx(self) -> DiGraph:
        """Return a DiGraph: an undirected edge goes both ways, and each edge has the attribute ``directed``.

        Examples
        --------
        >>> CPDAG(("a", "b"), directed=(), undirected=(("a", "b"),)).to_networkx().edges(data="directed")
        OutEdgeDataView([('a', 'b', False), ('b', 'a', False)])
        """
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.directed, directed=True)
        graph.add_edges_from(self.undirected, directed=False)
        graph.add_edges_from(((b, a) for a, b in self.undirected), directed=False)
        return graph

    @property
    def edges_as_text(self) -> tuple[str, ...]:
        """The edges as ``"a -> b"`` and ``"a -- b"``, those with a direction first."""
        return (*(f"{a} -> {b}" for a, b in self.directed), *(f"{a} -- {b}" for a, b in self.undirected))

    def __repr__(self) -> str:
        edges = self.edges_as_text
        more = f", ... ({len(edges)} edges)" if len(edges) > _SHOWN_EDGES else ""
        return f"CPDAG of {plural(len(self.names), 'node')}: {', '.join(edges[:_SHOWN_EDGES]) or 'no edges'}{more}"

    def _repr_html_(self) -> str:
        from credibn.report.notebook import cpdag_html

        return cpdag_html(self)


def network_graph(names: Sequence[Hashable], masks: NDArray[np.uint64]) -> DiGraph:
    """Return the network with these parent masks, its edges ordered by child, then parent."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    parents = enumerate(parent_positions(masks))
    graph.add_edges_from((names[parent], names[child]) for child, above in parents for parent in above)
    return graph


def parent_masks(edges: DiGraph | Iterable[object], names: Sequence[Hashable]) -> NDArray[np.uint64]:
    """Return the parent masks of a network given as a graph of names or as edges; nodes that it lacks have no edges."""
    n = len(names)
    if not 1 <= n <= _MAX_NODES:
        raise OptionError(f"the network has {n} nodes; credibn takes 1 to {_MAX_NODES}")
    masks = np.zeros((n, -(-n // 64)), dtype=np.uint64)
    parents: dict[int, list[int]] = {child: [] for child in range(n)}
    for parent, child in _positions_of_edges(edges, names):
        parents[child].append(parent)
        masks[child, parent // 64] |= np.uint64(1 << parent % 64)
    cycle = find_cycle(parents)
    if cycle is not None:
        path = " -> ".join(repr(names[v]) for v in cycle)
        raise OptionError(f"the edges form a directed cycle, {path}; a network has none: drop or reverse one of them")
    return masks


def cpdag_of(graph: DiGraph) -> CPDAG:
    """Return the CPDAG of a network's equivalence class."""
    names = tuple(graph)
    return cpdag_of_masks(names, parent_masks(graph, names))


def cpdag_of_masks(names: tuple[Any, ...], masks: NDArray[np.uint64]) -> CPDAG:
    """Return the CPDAG of the class of the network with these parent masks."""
    _, compelled, undirected, _ = _class_form(masks)
    directed = sorted((v, child) for child, above in enumerate(parent_positions(compelled)) for v in above)
    free = [(v, u) for v, joined in enumerate(parent_positions(undirected)) for u in joined if v < u]
    return CPDAG(
        names,
        tuple((names[parent], names[child]) for parent, child in directed),
        tuple((names[a], names[b]) for a, b in free),
    )


def class_size(graph: DiGraph) -> int:
    """Return the exact number of networks that are equivalent to this one, itself included."""
    sizes = _class_form(parent_masks(graph, tuple(graph)))[3]
    return sum(int(word) << 64 * k for k, word in enumerate(sizes))


def same_class(first: DiGraph, second: DiGraph) -> bool:
    """Whether two networks over the same nodes are Markov equivalent."""
    names = tuple(first)
    missing = [node for node in names if node not in second] + [node for node in second if node not in first]
    if missing:
        raise OptionError(
            f"the networks have different nodes: {missing[0]!r} is only in one of them; add it to the other"
        )
    groups = _core.group_by_class(np.stack([parent_masks(graph, names) for graph in (first, second)]))
    return bool(groups[0] == groups[1])


def class_members(graph: DiGraph) -> Iterator[DiGraph]:
    """Yield every network that is equivalent to this one, itself included; see `class_size` for their number.

    The order depends on the class and the order of the nodes only.
    """
    names = tuple(graph)
    members = _core.ClassMembers(parent_masks(graph, names)[np.newaxis])
    return _listed(names, members)


def _listed(names: tuple[Hashable, ...], members: _core.ClassMembers) -> Iterator[DiGraph]:
    while len(found := members.next(_MEMBERS_PER_CALL)[0]):
        for masks in found:
            yield network_graph(names, masks)


def _class_form(
    masks: NDArray[np.uint64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the canonical member, compelled parents, undirected neighbours and size words of one network."""
    canonical, compelled, undirected, sizes = _core.class_forms(masks[np.newaxis], np.arange(len(masks)))
    return canonical[0], compelled[0], undirected[0], sizes[0]


def _positions_of_edges(edges: Any, names: Sequence[Any]) -> Iterator[tuple[int, int]]:
    if not hasattr(edges, "is_directed"):
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            raise OptionError(f"edges is {edges!r}; give a networkx.DiGraph or a list of edges")
        yield from (edge_of(names, edge, "edges") for edge in edges)
        return
    if not edges.is_directed():
        raise OptionError("the graph is undirected; give a networkx.DiGraph with edges from parent to child")
    position = {name: v for v, name in enumerate(names)}
    for node in edges:
        if node not in position:
            position_of(names, node if isinstance(node, str) else repr(node), "node of the graph")
    for parent, child in edges.edges():
        if parent == child:
            raise OptionError(f"the graph has a self-loop at {parent!r}; drop it")
        yield position[parent], position[child]
