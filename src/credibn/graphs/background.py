"""A class of which some directions are known from elsewhere: from constraints, or because no other is credible.

Each network of the class that has the known directions may have others in common with them. They follow from four
rules (Meek 1995, "Causal inference and causal explanation with background knowledge", UAI), written here for an edge
a -- b that gets the direction a -> b:

1. c -> a, and c is not joined to b: otherwise c -> a <- b would be a new v-structure.
2. a -> c -> b: otherwise there would be a directed cycle.
3. a -- c -> b and a -- d -> b, and c is not joined to d: with b -> a, rule 2 would give c -> a <- d, a new v-structure.
4. a -- d -> c -> b, a is joined to c, and d is not joined to b: with b -> a, rule 1 would give a -> d, and
   b -> a -> d -> c -> b would be a directed cycle.

All four are sound, and Meek's theorem 4 says that they are complete: an edge that they leave open points either way in
some network of the class that has the known directions. Without such knowledge a CPDAG is closed under them already,
and rule 4 is not needed.
"""

from collections.abc import Hashable, Iterable
from itertools import combinations

from credibn.graphs.networks import CPDAG


def orient(cpdag: CPDAG, known: Iterable[tuple[Hashable, Hashable]]) -> CPDAG:
    """Return a class with the directions that are known, as (parent, child), and with those that follow from them.

    Directions of pairs that the class does not join, or joins by a directed edge, are ignored.

    Examples
    --------
    >>> chain = CPDAG(("a", "b", "c"), directed=(), undirected=(("a", "b"), ("b", "c")))
    >>> orient(chain, [("a", "b")])
    CPDAG of 3 nodes: a -> b, b -> c
    """
    parents: dict[Hashable, set[Hashable]] = {name: set() for name in cpdag.names}
    joined: dict[Hashable, set[Hashable]] = {name: set() for name in cpdag.names}
    for a, b in cpdag.directed:
        parents[b].add(a)
    for a, b in (*cpdag.directed, *cpdag.undirected):
        joined[a].add(b)
        joined[b].add(a)
    free = {edge for a, b in cpdag.undirected for edge in ((a, b), (b, a))}
    waiting = [edge for edge in known if edge in free]
    while waiting:
        for a, b in waiting:
            free -= {(a, b), (b, a)}
            parents[b].add(a)
        waiting = [(a, b) for a, b in free if _follows(a, b, parents, joined, free)]
    rank = {name: position for position, name in enumerate(cpdag.names)}
    directed = sorted(((a, b) for b in cpdag.names for a in parents[b]), key=lambda edge: [rank[end] for end in edge])
    return CPDAG(cpdag.names, tuple(directed), tuple(edge for edge in cpdag.undirected if edge in free))


def _follows(
    a: Hashable,
    b: Hashable,
    parents: dict[Hashable, set[Hashable]],
    joined: dict[Hashable, set[Hashable]],
    free: set[tuple[Hashable, Hashable]],
) -> bool:
    """Whether one of the rules gives a -- b the direction a -> b."""
    if parents[a] - joined[b] - {b} or any(a in parents[c] for c in parents[b]):
        return True
    open_ends = {c for c in joined[a] if (a, c) in free}
    if any(d not in joined[c] for c, d in combinations(open_ends & parents[b], 2)):
        return True
    return any(open_ends & parents[c] - joined[b] for c in parents[b] & joined[a])
