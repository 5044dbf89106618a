"""What the networks of a set say of each pair of variables; numbers that hold in all of them are exact.

Rounding can leave a sum of weights just below 1. Whether an edge is in *all* networks is therefore counted, not summed:
the networks of a class have the same skeleton, so one member of each class is enough.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from credibn._base.text import plural
from credibn.credible import DIRECTION_THRESHOLD, CredibleSet
from credibn.credible.averages import LEAST_OVER_ALL
from credibn.credible.consensus import direction_of
from credibn.credible.factored_averages import joined_pairs
from credibn.credible.factored_structures import FactoredStructures
from credibn.scores.table import parent_positions


@dataclass(frozen=True)
class Pair:
    """Two variables that some network joins, by position, with the probability of an edge between them."""

    first: int
    second: int
    joined: float
    forward: float  # first -> second
    backward: float
    reversible: float  # the part of `joined` in which networks of a class differ on the direction
    direction: int  # 1 where it is decided as first -> second, -1 as second -> first, 0 where it is open
    is_in_all: bool  # every network of the set joins them
    over_all: tuple[float, float, float] | None  # joined, forward and backward over all networks, in the set or not

    @property
    def ends(self) -> tuple[int, int]:
        """Both variables."""
        return self.first, self.second

    @property
    def has_one_direction(self) -> bool:
        """Whether all networks with this edge agree on its direction."""
        return self.forward == 0 or self.backward == 0


def pairs_of(result: CredibleSet) -> list[Pair]:
    """Return each pair that some network joins, the most probable first; then those joined outside the set alone."""
    if not result.n_networks:
        return []
    averages = result.averages()
    edges, decided = averages.parent_sets.edges, averages.decided
    reversible = averages.reversible if averages.has_compelled else np.zeros_like(edges)
    in_all, over_all = _joined_pairs(result), _over_all(result)
    pairs = []
    for (a, b), is_in_all in in_all.items():
        forward, backward = float(edges[a, b]), float(edges[b, a])
        joined = min(1.0, forward + backward)
        if is_in_all:
            joined = 1.0
            forward, backward = (1.0 if backward == 0 else forward), (1.0 if forward == 0 else backward)
        way = direction_of(joined, float(decided[a, b]), float(decided[b, a]), DIRECTION_THRESHOLD)
        open_part = min(joined, float(reversible[a, b]))
        pairs.append(Pair(a, b, joined, forward, backward, open_part, way, is_in_all, over_all.get((a, b))))
    for (a, b), numbers in over_all.items():
        if (a, b) not in in_all and numbers[0] >= LEAST_OVER_ALL:
            pairs.append(Pair(a, b, 0.0, 0.0, 0.0, 0.0, 0, False, numbers))
    return sorted(pairs, key=_order)


def _order(pair: Pair) -> tuple[float, float, int, int]:
    return -round(pair.joined, 12), 0.0 if pair.joined else -round((pair.over_all or (0.0,))[0], 12), *pair.ends


def _over_all(result: CredibleSet) -> dict[tuple[int, int], tuple[float, float, float]]:
    """Return for each pair how probable it is over all networks that it is joined, forward and backward."""
    if result.edges_over_all is None:
        return {}
    edges = result.edges_over_all
    pairs = itertools.combinations(range(len(result.names)), 2)
    ways = ((pair, float(edges[pair]), float(edges[pair[::-1]])) for pair in pairs)
    return {pair: (min(1.0, forward + backward), forward, backward) for pair, forward, backward in ways}


def _joined_pairs(result: CredibleSet) -> dict[tuple[int, int], bool]:
    """Return each pair that some network joins, with whether all do."""
    table, n_joined = result.score_table, dict[tuple[int, int], int]()
    if isinstance(result.structures, FactoredStructures):
        return joined_pairs(table, result.structures)
    for child, first in enumerate(table.offsets[:-1].tolist()):
        counts = np.bincount(result.structures.choices[:, child])
        used = np.flatnonzero(counts)
        for parents, count in zip(parent_positions(table.masks[first + used]), counts[used].tolist(), strict=True):
            for parent in parents:
                pair = (min(child, parent), max(child, parent))
                n_joined[pair] = n_joined.get(pair, 0) + count
    return {pair: count == len(result.structures) for pair, count in n_joined.items()}


def agreement_sentence(result: CredibleSet, pairs: list[Pair]) -> str:
    """Say on which edges the networks agree."""
    shared = [pair for pair in pairs if pair.is_in_all]
    n_open = sum(not pair.has_one_direction for pair in shared)
    if result.n_networks == 0:
        return ""
    if result.n_networks == 1:
        return f"It has {plural(len(shared), 'edge')}." if shared else "It has no edge."
    if not shared:
        return "No edge is in all of them."
    is_single = len(shared) == 1
    found = f"{plural(len(shared), 'edge')} {'is' if is_single else 'are'} in all of them"
    if not n_open:
        return f"{found}, always in the same direction."
    if n_open == len(shared):
        differ = "its direction differs" if is_single else "their directions differ"
        return f"{found}; {differ} from network to network."
    have = "1 has" if n_open == 1 else f"{n_open:,} have"
    return f"{found}; {have} an undecided direction, which differs from network to network."
