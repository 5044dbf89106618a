"""What the networks of a set say of each pair of variables; numbers that hold in all of them are exact.

Rounding can leave a sum of weights just below 1. Whether an edge is in *all* networks is therefore counted, not summed:
the networks of a class have the same skeleton, so one member of each class is enough.
"""

from dataclasses import dataclass

import numpy as np

from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.scores.table import parent_positions


@dataclass(frozen=True)
class Pair:
    """Two variables that some network joins, by position, with the probability of an edge between them."""

    first: int
    second: int
    joined: float
    forward: float  # first -> second
    backward: float
    reversible: float  # the part of `joined` in which members of a class differ on the direction
    is_in_all: bool  # every network of the set joins them

    @property
    def has_one_direction(self) -> bool:
        """Whether all networks with this edge agree on its direction."""
        return self.forward == 0 or self.backward == 0


def pairs_of(result: CredibleSet) -> list[Pair]:
    """Return each pair that some network joins, the most probable first."""
    counts = _count_structures(result)
    if not counts:
        return []
    averages = result.averages()
    edges, reversible = averages.parent_sets.edges, averages.reversible
    pairs = []
    for (a, b), count in counts.items():
        forward, backward = float(edges[a, b]), float(edges[b, a])
        joined, is_in_all = min(1.0, forward + backward), count == len(result.structures)
        if is_in_all:
            joined = 1.0
            forward, backward = (1.0 if backward == 0 else forward), (1.0 if forward == 0 else backward)
        pairs.append(Pair(a, b, joined, forward, backward, min(joined, float(reversible[a, b])), is_in_all))
    return sorted(pairs, key=lambda pair: (-round(pair.joined, 12), pair.first, pair.second))


def _count_structures(result: CredibleSet) -> dict[tuple[int, int], int]:
    """Return for each pair in how many structures, classes or networks, an edge joins it."""
    table, n_joined = result.score_table, dict[tuple[int, int], int]()
    for child, first in enumerate(table.offsets[:-1].tolist()):
        counts = np.bincount(result.structures.choices[:, child])
        used = np.flatnonzero(counts)
        for parents, count in zip(parent_positions(table.masks[first + used]), counts[used].tolist(), strict=True):
            for parent in parents:
                pair = (min(child, parent), max(child, parent))
                n_joined[pair] = n_joined.get(pair, 0) + count
    return n_joined


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
