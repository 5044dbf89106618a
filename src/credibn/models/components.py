"""The parts of a discrete network that matter for a question, once some variables are observed.

A barren node, neither observed nor asked for nor above such a node, sums to 1 and is left out (Shachter 1986). Observed
variables cut the local tables apart; each connected part of the rest is a `Component`, and only the part with the query
in it bears on the answer: everything else is separated from it (Lauritzen, Dawid, Larsen & Leimer 1990). Networks that
agree on that part give the same answer, whatever else they hold.

Sets of nodes are integers used as bit masks, so that a walk over a small component costs little in a large network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Component", "Structure", "component_around", "mask_of", "split_components", "structure_of"]


@dataclass(frozen=True)
class Component:
    """Local tables that hang together when the observed variables are taken away.

    Attributes
    ----------
    children : tuple of int
        The nodes whose local tables belong to it, increasing.
    free : frozenset of int
        The unobserved variables in these tables; empty for a table that is fully observed.
    """

    children: tuple[int, ...]
    free: frozenset[int]


@dataclass(frozen=True)
class Structure:
    """The relations of each node of a network as bit masks; a node is among its own descendants."""

    parents: tuple[int, ...]
    children: tuple[int, ...]
    descendants: tuple[int, ...]


def mask_of(nodes: Iterable[int]) -> int:
    """Return the bit mask of a set of nodes.

    Examples
    --------
    >>> mask_of([0, 2])
    5
    """
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def structure_of(parents: Sequence[Sequence[int]]) -> Structure:
    """Return the relations of a network, given by the parents of each node.

    Examples
    --------
    >>> structure_of([(), (0,), (1,)])
    Structure(parents=(0, 1, 2), children=(2, 4, 0), descendants=(7, 6, 4))
    """
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
    """Return the component of an unobserved node; it, the observed nodes or the queries make others needed.

    Parameters
    ----------
    structure : Structure
    start : int
        A node that is not observed and not barren.
    observed, queries : int
        Bit masks of the nodes that are known and of those that are asked for.

    Examples
    --------
    >>> chain = structure_of([(), (0,), (1,), (1,)])
    >>> component_around(chain, 0, observed=mask_of([1]), queries=0)
    Component(children=(0, 1), free=frozenset({0}))
    """
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


def split_components(
    parents: Sequence[Sequence[int]], observed: Iterable[int], queries: Iterable[int] = ()
) -> list[Component]:
    """Return all components of a network, barren nodes left out, in the order of their first table.

    Parameters
    ----------
    parents : sequence of sequences of int
        The parents of each node.
    observed, queries : iterable of int
        The variables that are known and those that are asked for.

    Examples
    --------
    >>> split_components([(), (0,), (1,), (1,)], observed=[1], queries=[2])
    [Component(children=(0, 1), free=frozenset({0})), Component(children=(2,), free=frozenset({2}))]
    """
    structure = structure_of(parents)
    known, asked = mask_of(observed), mask_of(queries)
    found, placed = list[Component](), 0
    for node, below in enumerate(structure.descendants):
        if below & (known | asked) and not (known | placed) >> node & 1:
            found.append(component_around(structure, node, known, asked))
            placed |= mask_of(found[-1].children)
    found += [Component((node,), frozenset()) for node in _nodes(known & ~placed)]
    return sorted(found, key=lambda component: component.children)


def _nodes(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
