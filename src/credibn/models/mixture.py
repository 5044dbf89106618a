"""Several networks over the same variables with their weights, sharing local models.

Credible networks agree on most of their parent sets, so each distinct (child, parents) is fitted and evaluated once,
and a network is a list of positions in the list of local models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.models.components import Structure, structure_of
from credibn.models.local_models import LinearGaussian, LocalModel, TableModel, log_conditional


@dataclass(frozen=True, eq=False)
class Mixture:
    """Networks with weights that sum to 1."""

    states: tuple[tuple[object, ...] | None, ...]  # of each variable, in code order; None where it is continuous
    children: tuple[int, ...]  # the node of each local model
    local_models: tuple[LocalModel, ...]  # each pair of child and parents once
    networks: NDArray[np.intp]  # for each network and node, the position of its local model
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (self.networks, self.weights):
            array.flags.writeable = False

    __reduce__ = rebuilt_from_fields

    @property
    def is_discrete(self) -> bool:
        """Whether all variables are discrete."""
        return all(labels is not None for labels in self.states)

    @property
    def is_continuous(self) -> bool:
        """Whether all variables are continuous."""
        return all(labels is None for labels in self.states)

    def parents(self, network: int) -> list[tuple[int, ...]]:
        """Return the parents of each node in one network."""
        return [self.local_models[at].parents for at in self.networks[network]]

    @cached_property
    def has_zeros(self) -> bool:
        """Whether some table has a probability of 0, as maximum likelihood gives."""
        return any(isinstance(model, TableModel) and not model.probabilities.all() for model in self.local_models)

    def only(self, network: int) -> Mixture:
        """Return a mixture of one of the networks."""
        networks = self.networks[network : network + 1].copy()
        return Mixture(self.states, self.children, self.local_models, networks, np.ones(1))

    def without_causes(self, nodes: Iterable[int]) -> Mixture:
        """Return the networks without the edges into some nodes, as if these were set from outside.

        Their own distributions have no meaning then; they count only where a node has no value.
        """
        models, networks = list(self.local_models), self.networks.copy()
        for v in nodes:
            labels = self.states[v]
            networks[:, v] = len(models)
            models.append(
                LinearGaussian((), (), np.array(0.0), np.zeros(0), np.array(1.0))
                if labels is None
                else TableModel((), np.full(len(labels), 1.0 / len(labels)))
            )
        return Mixture(self.states, (*self.children, *nodes), tuple(models), networks, self.weights)

    @cached_property
    def structures(self) -> list[Structure]:
        """The relations of the nodes of each network."""
        return [structure_of(self.parents(network)) for network in range(len(self.weights))]

    def blankets(self, target: int) -> dict[tuple[int, ...], float]:
        """Return the weight of each set of local models that the target appears in: its own and its children's.

        Given all other variables, the target depends on nothing else (Pearl 1988, the Markov blanket).
        """
        is_near = np.array(
            [child == target or target in model.parents for child, model in self._families], dtype=np.bool_
        )
        near = np.where(is_near[self.networks], self.networks, -1)
        distinct, place = np.unique(near, axis=0, return_inverse=True)
        weights = np.bincount(place.reshape(-1), weights=self.weights)
        return {tuple(row[row >= 0].tolist()): weight for row, weight in zip(distinct, weights.tolist(), strict=True)}

    @cached_property
    def _families(self) -> list[tuple[int, LocalModel]]:
        return list(zip(self.children, self.local_models, strict=True))

    def log_conditional(self, at: int, columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return the log probability or density of one local model for these values; see `log_conditional`."""
        return log_conditional(self.local_models[at], self.children[at], columns)


def row_blocks(n_rows: int, numbers_per_row: int, numbers_at_once: int = 1 << 22) -> Iterator[slice]:
    """Yield ranges of the rows, each small enough that these numbers for each of its rows fit into memory."""
    block = max(1, numbers_at_once // max(1, numbers_per_row))
    for start in range(0, n_rows, block):
        yield slice(start, min(start + block, n_rows))
