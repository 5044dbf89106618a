"""The networks of a credible set that are counted, not listed: what is asked of each of them is refused.

A set with more networks than anybody can list still has an exact size, exact probabilities of parent sets, and random
networks. Everything else needs the networks one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._run import Run
from credibn.credible.structures import Structures, choices_of, group, masks_of
from credibn.errors import NotListedError, Option
from credibn.posterior.parent_sets import ParentSetProbabilities
from credibn.scores import ScoreTable
from credibn.search import exact_scores

if TYPE_CHECKING:  # who makes these has imported it
    from credibn.factored import FactoredNetworks

_BATCH = 1 << 12
FEW = 10_000
"""Networks that are listed as soon as something needs a list."""
_MOST_IN_ORDER = 200_000
"""Networks that are looked through for the best classes."""


class FactoredStructures(Structures):
    """Stands for `Structures` where there is no list."""

    def __init__(self, networks: FactoredNetworks) -> None:
        object.__setattr__(self, "networks", networks)

    networks: FactoredNetworks

    def __reduce__(self) -> tuple[Any, ...]:
        return FactoredStructures, (self.networks,)

    @property
    def is_listed(self) -> bool:
        """False: the networks are paths of a diagram."""
        return False

    @property
    def n_networks(self) -> int:
        """The number of networks, exact."""
        return self.networks.n_networks()

    @property
    def are_classes_counted(self) -> bool:
        """Whether the number of classes is known."""
        return self.networks.n_classes() is not None

    @property
    def n_classes(self) -> int:
        """The number of classes, exact."""
        count = self.networks.n_classes()
        if count is None:
            raise NotListedError(
                "the classes of this set are not counted: constraints, the prior or scores from elsewhere may tell "
                "members of a class apart, or the memory did not suffice; n_networks is known"
            )
        return count

    @property
    def log_mass(self) -> float:
        """The log of the sum of exp(score) over the networks."""
        return self.networks.log_mass

    def within(self, epsilon: float, tolerance: float) -> FactoredStructures:
        """Return the networks within a smaller epsilon of the best; the tolerance is that of the diagram."""
        return FactoredStructures(self.networks.within(epsilon))

    def log_masses(self, epsilons: NDArray[np.float64], tolerance: float = 0.0) -> NDArray[np.float64]:
        """Return the log of the sum of exp(score) over the networks within each epsilon of the best."""
        return self.networks.log_masses(epsilons)

    def smallest_epsilon(self, log_mass: float) -> float | None:
        """Return the smallest epsilon whose networks have this mass; None where all together have less."""
        return self.networks.smallest_epsilon(log_mass)

    def listed_if_few(self, table: ScoreTable) -> Structures:
        """Return the same networks as a list where they are few, and these structures where they are not."""
        if self.n_networks > FEW:
            return self
        return self.listed(table, self.are_classes_counted, Run()) or self

    def best_classes(self, table: ScoreTable, count: int) -> Structures:
        """Return the best classes, fewer where the best networks belong to fewer; refused where they are not whole."""
        if not self.are_classes_counted:
            raise refusal("Its classes are not whole, so they cannot be told without a list")
        order, found, n_seen = np.arange(table.n_variables), dict[bytes, NDArray[np.uint64]](), 0
        for choices, _ in self.networks.in_order(_BATCH):
            for member in _core.class_forms(masks_of(table, choices), order)[0]:
                found.setdefault(member.tobytes(), member)
            n_seen += len(choices)
            if len(found) >= count or n_seen >= _MOST_IN_ORDER:
                break
        chosen = choices_of(table, np.array(list(found.values())[:count]))
        sizes = _core.class_forms(masks_of(table, chosen), order)[3]
        return Structures(chosen, exact_scores(table, chosen), sizes, None)

    def candidates_in(self, table: ScoreTable) -> NDArray[np.int64]:
        """Return the positions of the parent sets in the table that some network has, in order."""
        return self.networks.used_candidates

    def listed(self, table: ScoreTable, by_class: bool, run: Run) -> Structures | None:
        """Return the same networks as a list, as the engines that list give it; None where the run was stopped."""
        choices = np.concatenate([chosen for chosen, _ in self.networks.in_order(_BATCH)])
        scores = exact_scores(table, choices, run.n_threads)
        order = np.lexsort((*choices.T[::-1], -scores))
        choices, scores = choices[order], scores[order]
        if not by_class:
            networks = group(table, choices, scores, run.n_threads, run)
            return networks if len(networks) == len(choices) else None
        masks, n = masks_of(table, choices), table.n_variables
        members, _, _, words = _core.class_forms(masks, np.arange(n))
        stands_for_class = (members == masks).all(axis=(1, 2))
        sizes = np.zeros((int(stands_for_class.sum()), -(-math.factorial(n).bit_length() // 64)), dtype=np.uint64)
        sizes[:, : words.shape[1]] = words[stands_for_class, : sizes.shape[1]]
        return Structures(choices[stands_for_class], scores[stands_for_class], sizes, None)

    def parent_sets(self, table: ScoreTable) -> ParentSetProbabilities:
        """Return the probability of each parent set that some network has."""
        is_used = self.networks.shares > 0
        candidates, shares = self.networks.candidates[is_used], self.networks.shares[is_used]
        nodes = np.searchsorted(table.offsets, candidates, side="right") - 1
        return ParentSetProbabilities(table.names, nodes.astype(np.int64), table.masks[candidates], shares)

    def sample_masks(
        self, table: ScoreTable, n_samples: int, seed: int, *, weighted: bool = True
    ) -> Iterator[NDArray[np.uint64]]:
        """Yield independent random networks as masks, shape (k, n, words), by posterior weight or equally likely."""
        generator = np.random.default_rng(seed)
        for start in range(0, n_samples, _BATCH):
            chosen = self.networks.sample(min(_BATCH, n_samples - start), generator, weighted=weighted)
            yield masks_of(table, chosen)

    def __len__(self) -> NoReturn:
        raise refusal("It has no list of classes")

    @property
    def choices(self) -> NDArray[np.uint32]:
        """Refused."""
        raise refusal("This needs its networks one by one")

    @property
    def scores(self) -> NDArray[np.float64]:
        """Refused."""
        raise refusal("This needs the score of each of its networks")

    @property
    def sizes(self) -> NDArray[np.uint64]:
        """Refused."""
        raise refusal("This needs its classes one by one")

    @property
    def class_of(self) -> NDArray[np.int64] | None:
        """Refused."""
        raise refusal("This needs its classes one by one")


def refusal(what: str) -> NotListedError:
    """Return the error for what is asked of each network, with what to do instead."""
    return NotListedError(
        "this credible set is counted, not listed. {}: draw networks with sample_networks, or list them with {} and, "
        "if they are too many, a smaller {}",
        what,
        Option("engine", "auto"),
        Option("bayes_factor"),
    )
