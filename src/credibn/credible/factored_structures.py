"""The networks of a credible set that are counted, not listed: what is asked of each of them is refused.

A set with more networks than anybody can list still has an exact size, exact probabilities of parent sets, and random
networks. Everything else needs the networks one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from credibn.credible.structures import Structures, masks_of
from credibn.errors import NotListedError, Option
from credibn.factored import FactoredNetworks
from credibn.posterior.parent_sets import ParentSetProbabilities
from credibn.scores import ScoreTable

_BATCH = 1 << 12


class FactoredStructures(Structures):
    """Stands for `Structures` where there is no list."""

    def __init__(self, networks: FactoredNetworks) -> None:
        object.__setattr__(self, "networks", networks)

    networks: FactoredNetworks

    def __reduce__(self) -> NoReturn:
        raise _refusal("It cannot be saved or sent to another process yet")

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
        raise _refusal("It has no list of classes")

    @property
    def choices(self) -> NDArray[np.uint32]:
        """Refused."""
        raise _refusal("This needs its networks one by one")

    @property
    def scores(self) -> NDArray[np.float64]:
        """Refused."""
        raise _refusal("This needs the score of each of its networks")

    @property
    def sizes(self) -> NDArray[np.uint64]:
        """Refused."""
        raise _refusal("This needs its classes one by one")

    @property
    def class_of(self) -> NDArray[np.int64] | None:
        """Refused."""
        raise _refusal("This needs its classes one by one")


def _refusal(what: str) -> NotListedError:
    return NotListedError(
        "this credible set is counted, not listed. {}: draw networks with sample_networks, or list them with {} and, "
        "if they are too many, a smaller {}",
        what,
        Option("engine", "auto"),
        Option("bayes_factor"),
    )
