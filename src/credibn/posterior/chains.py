"""Markov chains over networks whose stationary distribution is the posterior: Gibbs sampling of parent sets.

A step draws the parent sets of a few nodes, the block, from their exact distribution given the parent sets of all
others (Goudie & Mukherjee 2016, "A Gibbs sampler for learning DAGs"). No step is rejected, and edges within the block
may turn. Several chains take their steps together, with the same blocks and random numbers of their own.
"""

from __future__ import annotations  # NumPy loads its generators when they are first named

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from credibn.posterior.all_networks import searched_nodes
from credibn.scores import ScoreTable

_BLOCK = 3
_LEAST_AFFINITY = 0.2
"""Of all nodes together, in the choice of a further node for a block; each pair of nodes shares a block at times."""


class Chains:
    """Networks, one for each chain, that follow the posterior more and more closely with each step.

    Parameters
    ----------
    table : ScoreTable
        The posterior is that of the networks made of its parent sets.
    choices : ndarray of uint32, shape (chains, n)
        The networks to start from, as positions among the candidates of each node.
    random : numpy.random.Generator
    power : float
        Of the posterior: below 1, networks that score worse are visited more often.
    """

    def __init__(
        self, table: ScoreTable, choices: NDArray[np.integer], random: np.random.Generator, power: float = 1.0
    ) -> None:
        self._random, self._power = random, power
        starts = table.offsets[:-1].tolist()
        ends = table.offsets[1:].tolist()
        self._masks = [np.ascontiguousarray(table.masks[a:b]) for a, b in zip(starts, ends, strict=True)]
        self._gaps = [table.scores[a] - table.scores[a:b] for a, b in zip(starts, ends, strict=True)]
        self._nodes = np.array(searched_nodes(table), dtype=np.intp)
        self._bits = np.zeros((table.n_variables, table.masks.shape[1]), dtype=np.uint64)
        for v in range(table.n_variables):
            self._bits[v, v // 64] = np.uint64(1) << np.uint64(v % 64)
        self.choices = choices.astype(np.int64)
        self._parents = np.stack([self._masks[v][chosen] for v, chosen in enumerate(self.choices.T)], axis=1)
        self._affinities = self._affinity()
        self._size = min(_BLOCK, len(self._nodes))
        self._acyclic = _acyclic_graphs(self._size)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """How much each network scores below the sum of the best local scores."""
        of_nodes = np.array([gaps[chosen] for gaps, chosen in zip(self._gaps, self.choices.T, strict=True)])
        found: NDArray[np.float64] = of_nodes.sum(axis=0)
        return found

    def sweep(self) -> None:
        """Take as many steps as draw each node once on average."""
        for _ in range(-(-len(self._nodes) // max(1, self._size))):
            self._step(self._draw_block())

    def _affinity(self) -> NDArray[np.float64]:
        """Return for each pair of nodes how often they should be in one block: often where an edge may join them.

        It depends on the scores alone, not on the networks of the chains, so that each step keeps the posterior.
        """
        n = len(self._masks)
        found = np.full((n, n), _LEAST_AFFINITY / n)
        for v in self._nodes.tolist():
            has_parent = np.unpackbits(self._masks[v].view(np.uint8), axis=1, count=n, bitorder="little")
            weights = np.exp(-0.5 * self._gaps[v])
            found[:, v] += weights @ has_parent / weights.sum()
        found += found.T.copy()
        is_searched = np.zeros(n, dtype=bool)
        is_searched[self._nodes] = True
        found[:, ~is_searched] = 0.0
        return found

    def _draw_block(self) -> list[int]:
        block = [int(self._random.choice(self._nodes))]
        while len(block) < self._size:
            affinity = self._affinities[block].sum(axis=0)
            affinity[block] = 0.0
            steps = np.cumsum(affinity)
            block.append(int(np.searchsorted(steps, self._random.random() * steps[-1], side="right")))
        return block

    def _step(self, block: list[int]) -> None:
        """Draw the parent sets of the block.

        Without them, let D(q) be q and its descendants. A choice of parent sets for the block has no cycle if and only
        if the graph on the block has none in which q is a parent of v where the parents of v meet D(q). So the kind of
        a candidate of v is the set of those q. First such a graph is drawn, then for each v a candidate of its kind.
        """
        self._parents[:, block] = 0
        below = self._descendants(block)
        drawn = [self._kinds(v, at, below) for at, v in enumerate(block)]
        logs = np.zeros((len(self.choices), len(self._acyclic)))
        for at, (_, _, log_masses) in enumerate(drawn):
            logs += log_masses[:, self._acyclic[:, at]]
        graphs = self._acyclic[_draw(np.exp(logs - logs.max(axis=1, keepdims=True)), self._random)]
        for at, (v, (kinds, weights, _)) in enumerate(zip(block, drawn, strict=True)):
            chosen = _draw(np.where(kinds == graphs[:, at, np.newaxis], weights, 0.0), self._random)
            self.choices[:, v] = chosen
            self._parents[:, v] = self._masks[v][chosen]

    def _descendants(self, block: list[int]) -> NDArray[np.uint64]:
        """Return each node of the block with its descendants, as masks of shape (chains, block, words)."""
        shape = (len(self.choices), len(block), self._bits.shape[1])
        below = np.broadcast_to(self._bits[block], shape)
        while True:
            is_below = _meets(self._parents[:, :, np.newaxis], below[:, np.newaxis])
            bits = np.where(is_below[..., np.newaxis], self._bits[np.newaxis, :, np.newaxis], np.uint64(0))
            larger: NDArray[np.uint64] = below | np.bitwise_or.reduce(bits, axis=1)
            if np.array_equal(larger, below):
                return larger
            below = larger

    def _kinds(
        self, v: int, own: int, below: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
        """Return the kind of each candidate of a node, its weight among those of its kind, and the log mass of kinds.

        Weights are relative to the best of the kind: the best of one may be beyond the range of exp below another.
        """
        masks, gaps, n_kinds = self._masks[v], self._power * self._gaps[v], 1 << self._size
        kinds = np.zeros((len(below), len(masks)), dtype=np.uint8)
        for at in range(self._size):
            kinds |= _meets(masks[np.newaxis], below[:, at, np.newaxis]).astype(np.uint8) << at
        best = np.full((len(below), n_kinds), -math.inf)  # of the kinds with a cycle: their weights are 0
        chains = np.arange(len(below))
        for kind in range(n_kinds):
            if not kind >> own & 1:
                is_kind = kinds == kind
                first = is_kind.argmax(axis=1)  # candidates come in order of their scores
                best[:, kind] = np.where(is_kind[chains, first], gaps[first], -math.inf)
        weights: NDArray[np.float64] = np.exp(np.take_along_axis(best, kinds.astype(np.intp), axis=1) - gaps)
        keys = kinds + (chains * n_kinds)[:, np.newaxis]
        sums = np.bincount(keys.ravel(), weights.ravel(), len(below) * n_kinds)
        masses = sums.reshape(len(below), n_kinds)
        has_mass = masses > 0
        log_masses = np.full(masses.shape, -math.inf)
        log_masses[has_mass] = np.log(masses[has_mass]) - best[has_mass]
        return kinds, weights, log_masses


def _meets(masks: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return where two sets have a member in common; the last axis holds the words of the masks."""
    found: NDArray[np.bool_] = (masks[..., 0] & others[..., 0]) != 0
    for word in range(1, masks.shape[-1]):
        found |= (masks[..., word] & others[..., word]) != 0
    return found


def _draw(weights: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.intp]:
    """Return a position for each row, drawn in proportion to the weights of the row."""
    steps = np.cumsum(weights, axis=1)
    drawn = random.random(len(weights)) * steps[:, -1]
    found: NDArray[np.intp] = (steps <= drawn[:, np.newaxis]).sum(axis=1)
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)  # rounding must not draw what has no weight
    np.minimum(found, last, out=found)
    return found


def _acyclic_graphs(n: int) -> NDArray[np.intp]:
    """Return all acyclic graphs on a few nodes, shape (graphs, n): the parents of each node as the bits of a number."""
    others = [[kind for kind in range(1 << n) if not kind >> v & 1] for v in range(n)]
    found = [parents for parents in product(*others) if _is_acyclic(parents)]
    return np.array(found, dtype=np.intp).reshape(len(found), n)


def _is_acyclic(parents: tuple[int, ...]) -> bool:
    left = (1 << len(parents)) - 1
    while left:
        sources = sum(1 << v for v, of_v in enumerate(parents) if left >> v & 1 and not of_v & left)
        if not sources:
            return False
        left &= ~sources
    return True
