"""Random networks of a credible set, without listing it, and the probability of any feature that a user can test.

A class is drawn by its weight, then one of its members, all equally likely: Clique-Picking draws the first clique in
proportion to the members that start with it, then continues with the subgraphs that remain (Wienöbst, Bannach &
Liśkiewicz 2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.credible.factored_structures import FactoredStructures
from credibn.credible.structures import masks_of, network_batches
from credibn.credible.weights import WeightedStructures
from credibn.graphs import network_graph
from credibn.scores import ScoreTable

if TYPE_CHECKING:  # networkx takes a while to import: only those who ask for a graph wait for it
    from networkx import DiGraph

_BATCH = 1 << 14


@dataclass(frozen=True)
class FeatureProbability:
    """The probability of a feature, and how it was found.

    Attributes
    ----------
    value : float
    method : {"listing", "sampling"}
        Whether every network of the set was tested, or a random sample of them.
    n_networks : int
        How many networks were tested.
    standard_error : float
        Of the sampling: sqrt(p (1 - p) / n); 0 by listing.

    Examples
    --------
    >>> FeatureProbability(0.25, "sampling", 300, 0.025)
    FeatureProbability(value=0.25, method='sampling', n_networks=300, standard_error=0.025)
    """

    value: float
    method: str
    n_networks: int
    standard_error: float

    def __float__(self) -> float:
        return self.value


def sample_masks(
    table: ScoreTable, weighted: WeightedStructures, n_samples: int, seed: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield random networks as masks, shape (k, n, words), with the positions of the structures that they come from.

    The same seed gives the same networks.
    """
    if isinstance(weighted.structures, FactoredStructures):
        for drawn_masks in weighted.structures.sample_masks(table, n_samples, seed):
            yield drawn_masks, np.zeros(len(drawn_masks), dtype=np.int64)
        return
    generator = np.random.default_rng(seed)
    steps = np.cumsum(weighted.weights)
    structures = weighted.structures
    for start in range(0, n_samples, _BATCH):
        # Rounding may leave the last step below 1, and classes of weight 0 are never drawn.
        drawn = generator.random(min(_BATCH, n_samples - start)) * steps[-1]
        chosen = np.minimum(np.searchsorted(steps, drawn, side="right"), np.flatnonzero(weighted.weights)[-1])
        masks = masks_of(table, structures.choices[chosen])
        if structures.class_of is None:
            masks = _core.sample_members(masks, int(generator.integers(1 << 63)))
        yield masks, chosen


def feature_probability(
    table: ScoreTable,
    weighted: WeightedStructures,
    predicate: Callable[[DiGraph], bool],
    *,
    max_listed: int,
    n_samples: int,
    seed: int,
) -> FeatureProbability:
    """Return the probability that a predicate holds: by listing where the networks are few, else by sampling."""
    structures, names = weighted.structures, table.names
    if structures.n_networks > max_listed or not structures.is_listed:
        hits = [
            bool(predicate(graph))
            for masks, _ in sample_masks(table, weighted, n_samples, seed)
            for graph in _graphs(names, masks)
        ]
        value = sum(hits) / n_samples
        return FeatureProbability(value, "sampling", n_samples, math.sqrt(value * (1 - value) / n_samples))
    of_one = weighted.weights / np.exp(structures.log_sizes)
    tested = [
        (weight, bool(predicate(graph)))
        for masks, origin in network_batches(table, structures, _BATCH)
        for graph, weight in zip(_graphs(names, masks), of_one[origin].tolist(), strict=True)
    ]
    value = math.fsum(weight for weight, holds in tested if holds) / math.fsum(weight for weight, _ in tested)
    return FeatureProbability(value, "listing", structures.n_networks, 0.0)


def _graphs(names: Sequence[str], masks: NDArray[np.uint64]) -> Iterator[DiGraph]:
    return (network_graph(names, network) for network in masks)
