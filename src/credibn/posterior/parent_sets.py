"""What follows from the probability of every parent set: edges, adjacencies, parents.

The parent sets of a node exclude each other, so the probability of an edge is a sum over those that hold the parent,
and two variables are adjacent with the sum of both directions. A credible set and the posterior of all networks differ
only in where the probabilities of the parent sets come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.scores.constraints import position_of
from credibn.scores.table import parent_positions

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

_SETS_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class ParentSetProbabilities:
    """The probability of each parent set of each node; those not listed have probability 0."""

    names: tuple[str, ...]
    nodes: NDArray[np.int64]  # the node that each of the m parent sets belongs to
    masks: NDArray[np.uint64]  # shape (m, ceil(n / 64)): the parent sets, as bit masks
    probabilities: NDArray[np.float64]  # those of one node sum to 1

    def __post_init__(self) -> None:
        for array in (self.nodes, self.masks, self.probabilities):
            array.flags.writeable = False

    __reduce__ = rebuilt_from_fields

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """The probability of each directed edge, shape (n, n): rows are parents, columns children."""
        n = len(self.names)
        edges = np.zeros((n, n))
        for child in range(n):
            for chosen in _batches(np.flatnonzero(self.nodes == child)):
                edges[:, child] += self.probabilities[chosen] @ _members(self.masks[chosen], n)
        edges = np.minimum(edges, 1.0)  # rounding may leave a sum just above 1
        edges.flags.writeable = False
        return edges

    @cached_property
    def adjacencies(self) -> NDArray[np.float64]:
        """The probability that two variables are joined by an edge of either direction, shape (n, n)."""
        adjacencies: NDArray[np.float64] = np.minimum(self.edges + self.edges.T, 1.0)
        adjacencies.flags.writeable = False
        return adjacencies

    def of_node(self, node: str | int) -> DataFrame:
        """Return the parent sets of a node with their probabilities, the most probable first."""
        import pandas as pd

        own = np.flatnonzero(self.nodes == position_of(self.names, node, "node"))
        own = own[np.argsort(-self.probabilities[own], kind="stable")]
        parents = [tuple(self.names[v] for v in positions) for positions in parent_positions(self.masks[own])]
        return pd.DataFrame({"parents": pd.Series(parents, dtype=object), "probability": self.probabilities[own]})


class CauseProbabilities(NamedTuple):
    """How probable each parent set of each node is, alone and together with each descendant."""

    nodes: NDArray[np.int64]
    masks: NDArray[np.uint64]  # shape (m, ceil(n / 64))
    probabilities: NDArray[np.float64]
    paths: NDArray[np.float64]  # shape (m, n): that the node has these parents and reaches another
    n_sampled: int = 0  # random networks that these come from; 0 where they are exact


def pair_frame(names: Sequence[str], matrix: NDArray[np.float64]) -> DataFrame:
    """Return a matrix over pairs of variables as a frame with their names on both sides; rows are parents."""
    import pandas as pd

    return pd.DataFrame(np.array(matrix), index=list(names), columns=list(names))


def rounding_of_edges(n_sets: int) -> float:
    """Return a bound on the rounding error of `edges` where a node has `n_sets` parent sets."""
    n_additions = min(n_sets, _SETS_AT_ONCE) + (n_sets - 1) // _SETS_AT_ONCE - 1
    return n_additions * 2.0**-53


def _batches(positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [positions[start : start + _SETS_AT_ONCE] for start in range(0, len(positions), _SETS_AT_ONCE)]


def _members(masks: NDArray[np.uint64], n: int) -> NDArray[np.float64]:
    """Return for each set and node 1 where the node is in the set, shape (k, n)."""
    little_endian = np.ascontiguousarray(masks, dtype="<u8").view(np.uint8)
    return np.unpackbits(little_endian, axis=1, count=n, bitorder="little").astype(np.float64)
