"""The components of a discrete network that matter for a query, once some variables are observed.

A barren node, which is neither observed nor queried nor an ancestor of such a node, sums to 1 and is left out (Shachter
1986). Observed variables separate the local tables; each connected component of the rest is a `Component`, and only the
one with the query in it affects the answer (Lauritzen, Dawid, Larsen & Leimer 1990). Networks that agree on it give the
same answer, whatever else they hold.

Sets of nodes are integers used as bit masks, so that a search through a small component costs little in a large
network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Component:
    """Local tables that are connected when the observed variables are taken away."""

    children: tuple[int, ...]  # the nodes whose local tables belong to it, increasing
    free: frozenset[int]  # the unobserved variables in these tables


@dataclass(frozen=True)
class Structure:
    """The relations of each node of a network as bit masks; a node is among its own descendants."""

    parents: tuple[int, ...]
    children: tuple[int, ...]
    descendants: tuple[int, ...]


def mask_of(nodes: Iterable[int]) -> int:
    """Return the bit mask of a set of nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def structure_of(parents: Sequence[Sequence[int]]) -> Structure:
    """Return the relations of a network, given by the parents of each node."""
    children = [0] * len(parents)
    for child, above in enumerate(parents):
        for parent in above:
            children[parent] |= 1 << child
    descendants = [0] * len(parents)

    def descend(node: int) -> int:
        if not descendants[node]:
            below = 1 << node
            for child in _nodes(children[node]):
                below |= descend(child)
            descendants[node] = below
        return descendants[node]

    for node in range(len(parents)):
        descend(node)
    return Structure(tuple(mask_of(above) for above in parents), tuple(children), tuple(descendants))


def component_around(structure: Structure, start: int, observed: int, queries: int) -> Component:
    """Return the component of a node that is neither observed nor barren; `observed` and `queries` are bit masks."""
    evidence = observed | queries | 1 << start
    tables, free, todo = 0, 1 << start, [start]
    while todo:
        node = todo.pop()
        for child in _nodes((structure.children[node] | 1 << node) & ~tables):
            if structure.descendants[child] & evidence:
                tables |= 1 << child
                new = (structure.parents[child] | 1 << child) & ~(observed | free)
                free |= new
                todo.extend(_nodes(new))
    return Component(tuple(_nodes(tables)), frozenset(_nodes(free)))


def _nodes(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
