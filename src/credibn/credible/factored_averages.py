"""Averages over networks that are counted, not listed: exact from the diagram where that is soon done, else by samples.

Some features are there unless the network leaves out some parent sets: two variables are in each other's Markov
blanket unless no parent set joins them, nor has both. The networks that leave them out have a mass that one pass over
the diagram sums. Whatever else a feature depends on, random networks of the diagram are exact and independent, so that
a share of them has a known error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.credible.factored_structures import FactoredStructures
from credibn.credible.structures import Structures, class_numbers, masks_of
from credibn.credible.weights import WeightedStructures
from credibn.scores import ScoreTable
from credibn.scores.table import parent_positions
from credibn.search import exact_scores

N_SAMPLES = 10_000
"""Random networks; a share of them has a standard error of 0.005 at most."""
_MOST_STEPS = 4e9
"""What exact averages may take; some seconds."""
_FEATURES_AT_A_TIME = 512
_ROUNDING = 1e-9  # of sums of probabilities


@dataclass(frozen=True, eq=False)
class _Families:
    """The parent sets that the networks of a diagram have."""

    structures: FactoredStructures
    children: NDArray[np.int64]
    has_parent: NDArray[np.bool_]  # shape (candidates, n)
    is_used: NDArray[np.bool_]

    @classmethod
    def of(cls, table: ScoreTable, structures: FactoredStructures) -> _Families:
        candidates = structures.networks.candidates
        children = np.searchsorted(table.offsets, candidates, side="right") - 1
        has_parent = np.zeros((len(candidates), table.n_variables), dtype=np.bool_)
        for at, parents in enumerate(parent_positions(table.masks[candidates])):
            has_parent[at, parents] = True
        return cls(structures, children.astype(np.int64), has_parent, structures.networks.shares > 0)

    def joining(self, a: int, b: int) -> NDArray[np.bool_]:
        """Return which parent sets have an edge between two variables."""
        found: NDArray[np.bool_] = self.has_parent[:, a] & (self.children == b)
        found |= self.has_parent[:, b] & (self.children == a)
        return found

    def shares_without(self, sets: Iterable[NDArray[np.bool_]], n_sets: int) -> NDArray[np.float64] | None:
        """Return the share of the networks that have none of each set of parent sets; None where it takes too long."""
        if self.structures.networks.steps_per_pass * n_sets / 8 > _MOST_STEPS:
            return None
        found, rest = [np.zeros(0)], iter(sets)
        while block := list(itertools.islice(rest, _FEATURES_AT_A_TIME)):
            found.append(self.structures.networks.shares_without(np.array(block)))
        return np.concatenate(found)


def joined_pairs(table: ScoreTable, structures: FactoredStructures) -> dict[tuple[int, int], bool]:
    """Return each pair that some network joins, with whether all do: then none is left without such a parent set."""
    families, joined = _Families.of(table, structures), structures.parent_sets(table).adjacencies
    pairs = [(a, b) for a, b in np.argwhere(np.triu(joined) > 0).tolist()]
    certain = [pair for pair in pairs if joined[pair] > 1 - _ROUNDING]
    sets = np.array([families.joining(a, b) for a, b in certain]).reshape(len(certain), -1)
    absent = dict(zip(certain, structures.networks.shares_without(sets).tolist(), strict=True))
    return {pair: absent.get(pair) == 0 for pair in pairs}


def blankets(table: ScoreTable, structures: FactoredStructures) -> NDArray[np.float64] | None:
    """Return the probability that a variable is in the Markov blanket of another; None where it takes too long."""
    families, n = _Families.of(table, structures), table.n_variables
    used = families.has_parent[families.is_used].astype(np.int64)
    together = used.T @ used
    np.add.at(together, families.children[families.is_used], used)
    pairs = np.argwhere(np.triu(together + together.T, 1)).tolist()
    sets = (families.joining(a, b) | (families.has_parent[:, a] & families.has_parent[:, b]) for a, b in pairs)
    absent = families.shares_without(sets, len(pairs))
    if absent is None:
        return None
    found = np.zeros((n, n))
    for (a, b), share in zip(pairs, absent.tolist(), strict=True):
        found[a, b] = found[b, a] = min(1.0, max(0.0, 1.0 - share))
    return found


def v_structures(
    table: ScoreTable, structures: FactoredStructures
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Return all v-structures as (first, second, child) with their probabilities; None where it takes too long."""
    families = _Families.of(table, structures)
    triples: list[tuple[int, int, int]] = []
    for child in range(table.n_variables):
        used = families.has_parent[families.is_used & (families.children == child)].astype(np.int64)
        triples += [(a, b, child) for a, b in np.argwhere(np.triu(used.T @ used, 1)).tolist()]
    sets = (
        families.joining(a, b)
        | ((families.children == child) & ~(families.has_parent[:, a] & families.has_parent[:, b]))
        for a, b, child in triples
    )
    shares = families.shares_without(sets, len(triples))
    if shares is None:
        return None
    is_there = shares > 0
    return np.array(triples, dtype=np.int64).reshape(-1, 3)[is_there], np.minimum(shares[is_there], 1.0)


def sampled(table: ScoreTable, structures: FactoredStructures, seed: int = 0) -> WeightedStructures:
    """Return random networks as a list, each class once where classes are whole, weighted by how often it was drawn."""
    choices = structures.networks.sample(N_SAMPLES, np.random.default_rng(seed))
    choices, counts = np.unique(choices, axis=0, return_counts=True)
    masks = masks_of(table, choices)
    sizes = np.zeros((len(choices), 0), dtype=np.uint64)
    if structures.are_classes_counted:
        class_of = _core.group_by_class(masks)
        counts = np.bincount(class_of, weights=counts)
        first = np.unique(class_of, return_index=True)[1]
        choices, sizes = choices[first], _core.class_forms(masks[first], np.arange(table.n_variables))[3]
    scores = exact_scores(table, choices)
    order = np.lexsort((*choices.T[::-1], -scores))
    choices, weights = choices[order], counts[order] / N_SAMPLES
    numbers = None
    if not structures.are_classes_counted:
        numbers = class_numbers(table, choices)
    listed = Structures(choices, scores[order], sizes[order], numbers)
    return WeightedStructures(listed, weights)


def standard_error(probabilities: NDArray[np.float64]) -> float:
    """Return the largest standard error of shares of the random networks."""
    spread = probabilities * (1 - probabilities)
    return math.sqrt(float(np.clip(spread, 0.0, 0.25).max(initial=0.0)) / N_SAMPLES)
