"""Collider patterns: what the paper's tables 2 and 3 count as classes (their |M|).

The pattern of a network is its skeleton with all its colliders a -> c <- b, also the shielded ones, where a and b are
joined. Equivalence classes go by the unshielded ones alone (Verma & Pearl 1990), so patterns split classes. The
colliders at a node tell its parents if it has two or more, and nothing otherwise: a pattern is the skeleton with the
parent sets of at least two.

Patterns are counted class by class, without listing networks. In the CPDAG of a class the undirected edges form chordal
components, which are oriented independently, each with one source and without unshielded colliders; the nodes of a
component share their compelled parents (Andersson, Madigan & Perlman 1997).

- A component with compelled parents has a pattern for each orientation: every node but the source has at least two
  parents, and so the pattern tells who they are and which node is the source.
- In a component K without compelled parents let T hold the source and what leads from it through nodes of one parent.
  K has no other edges among T, and T is a tree: an edge into a node of T is its only one. Any node of T may be the
  source, with the tree's edges turned away from it and all others kept: no edge leads into T, so no cycle arises, and
  no node gets two parents that had one. Conversely, orientations with one pattern share all edges into nodes of two
  or more parents. The other edges form a forest with one tree without such nodes, which is T, and each other tree is
  oriented away from its one such node. So a pattern stands for as many orientations as T has nodes, one more than T
  has edges. An edge u - v of T is met in the one of them with the source u, where v has the parent u alone. Hence

      patterns(K) = orientations(K) - sum over edges u - v of orientations(K; u the source, v with the parent u alone).

Each term is the size of an equivalence class: for the last, two new parents of u and one of v, joined to nothing else,
make three colliders that compel exactly this. Cost: one class form for each class, and one class size for each edge of
each component that is not seen before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from credibn import CredibleSet
from credibn.credible.structures import cpdag_batches
from credibn.errors import TooLargeError
from credibn.graphs import class_size

if TYPE_CHECKING:  # networkx takes a while to import
    from networkx import DiGraph

_MOST_NODES = 252
"""In a component: with the three new parents there are 255 nodes, the most that class sizes are known for."""

Component = tuple[tuple[int, int], ...]
"""The edges (a, b), a < b, of a connected graph on the nodes 0, 1, ..., in increasing order."""


def count_collider_patterns(credible_set: CredibleSet, *, most_rows: int = 1_000_000) -> int | None:
    """Return how many collider patterns the networks of a set have, exactly; None where it has more rows than this.

    Also None where the networks were counted, not listed.

    Raises `TooLargeError` when more than 252 variables are joined by undirected edges other than a tree.
    """
    if not credible_set.structures.is_listed or len(credible_set.structures) > most_rows:
        return None
    return _count_by_class(credible_set) if credible_set.structures.class_of is None else _count_listed(credible_set)


def _count_listed(credible_set: CredibleSet) -> int:
    """Compare networks by class, which tells the skeleton, and by parent sets, those of less than two taken as one."""
    table, rows = credible_set.score_table, credible_set.structures
    assert rows.class_of is not None
    n_parents = np.unpackbits(table.masks.view(np.uint8), axis=1).sum(axis=1)
    has_collider = n_parents[table.offsets[:-1] + rows.choices.astype(np.int64)] >= 2
    patterns = np.where(has_collider, rows.choices.astype(np.int64) + 1, 0)
    return len(np.unique(np.column_stack([rows.class_of, patterns]), axis=0))


def _count_by_class(credible_set: CredibleSet) -> int:
    """Sum over classes: of each component without compelled parents, patterns instead of orientations."""
    rows, n_networks, number = credible_set.structures, Counter[bytes](), 0
    for compelled, undirected in cpdag_batches(credible_set.score_table, rows):
        free = np.where(compelled.any(axis=2, keepdims=True), np.uint64(0), undirected)
        for graph in free:
            n_networks[graph.tobytes()] += rows.class_size(number)
            number += 1
    known: dict[Component, tuple[int, int]] = {}
    total = 0
    for graph, n_members in n_networks.items():
        for component in _components(graph, len(credible_set.names)):
            if component not in known:
                known[component] = _patterns_and_orientations(component)
            patterns, orientations = known[component]
            n_members = n_members // orientations * patterns
        total += n_members
    return total


def _components(graph: bytes, n: int) -> Iterator[Component]:
    """Yield the connected components of a graph given by the neighbour masks of its nodes, those of one node left out.

    Nodes are renamed to 0, 1, ... in their order, so that more components are equal.
    """
    n_octets = len(graph) // n
    masks = [int.from_bytes(graph[v * n_octets : (v + 1) * n_octets], "little") for v in range(n)]
    left = {v for v in range(n) if masks[v]}
    while left:
        inside, reached = 0, 1 << min(left)
        while inside != reached:
            inside = reached
            for v in _members(inside):
                reached |= masks[v]
        nodes = _members(inside)
        left.difference_update(nodes)
        name = {v: k for k, v in enumerate(nodes)}
        yield tuple((name[a], name[b]) for a in nodes for b in _members(masks[a]) if a < b)


def _members(mask: int) -> list[int]:
    return [v for v in range(mask.bit_length()) if mask >> v & 1]


def _patterns_and_orientations(component: Component) -> tuple[int, int]:
    n_nodes = 1 + max(b for _, b in component)
    if len(component) == n_nodes - 1:  # a tree: any node may be the source, and no node has two parents
        return 1, n_nodes
    if n_nodes > _MOST_NODES:
        raise TooLargeError(
            f"a class has {n_nodes} variables joined by undirected edges; collider patterns are counted for at most "
            f"{_MOST_NODES} of them: leave out variables"
        )
    orientations = class_size(_oriented(component, (0,)))
    repeated = 0
    for u, v in component:
        led = _oriented(component, (u, v))
        led.add_edges_from([(-1, u), (-2, u), (-3, v)])
        repeated += class_size(led)
    return orientations - repeated, orientations


def _oriented(component: Component, first: Sequence[int]) -> DiGraph:
    """Return an orientation without unshielded colliders: edges go along a maximum cardinality search from `first`.

    In that order the earlier neighbours of a node of a chordal graph form a clique (Tarjan & Yannakakis 1984).
    """
    import networkx as nx

    neighbours: dict[int, set[int]] = {}
    for a, b in component:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    rank = {v: k for k, v in enumerate(first)}
    while len(rank) < len(neighbours):
        nearest = max(neighbours.keys() - rank.keys(), key=lambda v: (len(neighbours[v] & rank.keys()), -v))
        rank[nearest] = len(rank)
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(neighbours))
    graph.add_edges_from((a, b) if rank[a] < rank[b] else (b, a) for a, b in component)
    return graph
