"""Averages over a credible set, exact and without listing its networks.

Within a class all members weigh the same, so a feature of networks has, in each class, a probability that follows from
counting its members (Clique-Picking; see `docs/guarantees.md`). The compiled core adds these up over the classes;
here they get their names.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.copying import rebuilt_from_fields
from credibn._run.memory import explaining_shortage
from credibn.credible.factored_averages import N_SAMPLES, blankets, sampled, standard_error, v_structures
from credibn.credible.factored_structures import FactoredStructures, refusal
from credibn.credible.structures import agreed_edges, one_way_edges
from credibn.credible.weights import WeightedStructures
from credibn.posterior.parent_sets import CauseProbabilities, ParentSetProbabilities
from credibn.scores import ScoreTable

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

_ROUNDING = 1e-12  # of sums of probabilities
LEAST_OVER_ALL = 0.01
"""Pairs that no network of the set joins are listed where all networks together join them with this probability."""


class _Features(NamedTuple):
    parent_sets: ParentSetProbabilities
    compelled: NDArray[np.float64]
    reversible: NDArray[np.float64]
    blankets: NDArray[np.float64]
    v_structures: NDArray[np.int64]
    of_v_structures: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Averages:
    """Probabilities of structural features over weighted classes or networks, which choose from the table.

    Where networks are listed one by one, constraints or scores tell members of a class apart, and a class means its
    networks in the set. Then `is_whole` says that none of them is missing.
    """

    table: ScoreTable
    weighted: WeightedStructures
    is_whole: bool = True

    __reduce__ = rebuilt_from_fields

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return self.table.names

    @cached_property
    def _features(self) -> _Features:
        with explaining_shortage():
            found = _core.average_structure(*self._arrays)
        return _Features(ParentSetProbabilities(self.names, *found[:3]), *found[3:])

    @property
    def _arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float64], bool]:
        table, found = self.table, self.listed.structures
        return table.offsets, table.masks, found.choices, self.listed.weights, found.class_of is None

    @cached_property
    def listed(self) -> WeightedStructures:
        """The structures, or random ones where these are counted, not listed."""
        structures = self.weighted.structures
        return sampled(self.table, structures) if isinstance(structures, FactoredStructures) else self.weighted

    @property
    def has_compelled(self) -> bool:
        """Whether it is known which edges are compelled: of a set that is counted, where its classes are whole."""
        return self.weighted.structures.is_listed or self.weighted.structures.are_classes_counted

    @property
    def decided(self) -> NDArray[np.float64]:
        """How probable each edge is with a direction that its class decides, shape (n, n).

        Where nothing is known of the classes, a direction is decided where no network has the other.
        """
        if self.has_compelled:
            return self.compelled
        edges = self.parent_sets.edges
        return np.where(edges.T == 0, edges, 0.0)

    def error_of(self, name: str) -> dict[str, object]:
        """Return how an average of this name was found, where by sampling: attributes of its frame; else nothing."""
        if name not in self.sampled_averages:
            return {}
        values = self._v_structures[1] if name == "v_structures" else getattr(self, name)
        return {"method": "sampling", "n_networks": N_SAMPLES, "standard_error": standard_error(values)}

    @cached_property
    def sampled_averages(self) -> frozenset[str]:
        """The averages that come from random networks."""
        if self.weighted.structures.is_listed:
            return frozenset()
        exact = {"blankets": self._exact_blankets, "v_structures": self._exact_v_structures}
        too_long = {name for name, found in exact.items() if found is None}
        return frozenset({"compelled", "reversible", "ancestors", "causes"} | too_long)

    @cached_property
    def _exact_blankets(self) -> NDArray[np.float64] | None:
        structures = self.weighted.structures
        return blankets(self.table, structures) if isinstance(structures, FactoredStructures) else None

    @cached_property
    def _exact_v_structures(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        structures = self.weighted.structures
        return v_structures(self.table, structures) if isinstance(structures, FactoredStructures) else None

    @property
    def _v_structures(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return self._exact_v_structures or (self._features.v_structures, self._features.of_v_structures)

    @cached_property
    def parent_sets(self) -> ParentSetProbabilities:
        """The probability of each parent set of each node."""
        structures = self.weighted.structures
        if isinstance(structures, FactoredStructures):
            return structures.parent_sets(self.table)
        return self._features.parent_sets

    @cached_property
    def compelled(self) -> NDArray[np.float64]:
        """The probability that an edge is there and all networks of its class agree on its direction."""
        if not self.weighted.structures.is_listed:
            if not self.has_compelled:
                raise refusal("Which edges are compelled depends on its classes, and these are not whole")
            edges = self.parent_sets.edges
            # Classes are whole, so an edge that never has the other direction is compelled wherever it is.
            return np.where(edges.T == 0, edges, np.minimum(self._features.compelled, edges))
        if self.weighted.structures.class_of is None:
            return self._features.compelled
        edges = self.parent_sets.edges
        if self.is_whole:
            agreed = agreed_edges(self.table, self.weighted.structures, self.weighted.weights)
        else:  # other members may be missing: none has an edge that the constraints rule out
            agreed = np.where(one_way_edges(self.table), edges, self._features.compelled)
        return np.minimum(agreed, edges)

    @cached_property
    def reversible(self) -> NDArray[np.float64]:
        """The probability that two variables are joined and networks of the class differ on the direction."""
        if self.weighted.structures.is_listed and self.weighted.structures.class_of is None:
            return self._features.reversible
        rest = self.parent_sets.adjacencies - self.compelled - self.compelled.T
        return np.where(rest > _ROUNDING, rest, 0.0)

    @property
    def blankets(self) -> NDArray[np.float64]:
        """The probability that a variable is in the Markov blanket of another: symmetric."""
        exact = self._exact_blankets
        return self._features.blankets if exact is None else exact

    @cached_property
    def ancestors(self) -> NDArray[np.float64]:
        """The probability of a directed path, rows ancestors and columns descendants."""
        with explaining_shortage():
            return _core.average_ancestors(*self._arrays)

    @cached_property
    def causes(self) -> CauseProbabilities:
        """The probability of each parent set of each node together with each descendant: see `credibn.effects`."""
        with explaining_shortage():
            n_sampled = 0 if self.weighted.structures.is_listed else N_SAMPLES
            return CauseProbabilities(*_core.average_causes(*self._arrays), n_sampled)

    def v_structure_frame(self) -> DataFrame:
        """Return every v-structure ``first -> child <- second`` that some network has, the most probable first."""
        import pandas as pd

        triples, probabilities = self._v_structures
        order = np.argsort(-probabilities, kind="stable")
        first, second, child = (_named(self.names, triples[order, column]) for column in range(3))
        columns = {"first": first, "child": child, "second": second, "probability": probabilities[order]}
        frame = pd.DataFrame(columns)
        frame.attrs.update(self.error_of("v_structures"))
        return frame

    def pair_frame(self) -> DataFrame:
        """Return every pair that some network joins, with the probability of each alternative."""
        import pandas as pd

        edges, n = self.parent_sets.edges, len(self.names)
        pairs = [(a, b) for a, b in itertools.combinations(range(n), 2) if edges[a, b] + edges[b, a] > 0]
        a, b = (np.array([pair[end] for pair in pairs], dtype=np.intp) for end in (0, 1))
        adjacent = self.parent_sets.adjacencies[a, b]
        frame = pd.DataFrame(
            {
                "first": _named(self.names, a),
                "second": _named(self.names, b),
                "forward": edges[a, b],
                "backward": edges[b, a],
                "absent": 1 - adjacent,
            }
        )
        if self.has_compelled:
            compelled, reversible = self.compelled, self.reversible
            frame = frame.assign(
                compelled_forward=compelled[a, b], compelled_backward=compelled[b, a], reversible=reversible[a, b]
            )
            frame.attrs.update(self.error_of("compelled"))
        # Rounding must not tell pairs apart that are joined in all networks.
        return frame.sort_values("absent", key=lambda absent: absent.round(12), kind="stable", ignore_index=True)

    def strength_frame(self) -> DataFrame:
        """Return both directions of each of these pairs, as bnlearn's ``bn.strength`` gives them."""
        import pandas as pd

        pairs = self.pair_frame()
        strength = (pairs["forward"] + pairs["backward"]).to_numpy()  # not 1 - absent, which is 0 for rare pairs
        halves = [
            pd.DataFrame(
                {
                    "from": pairs[start].to_numpy(),
                    "to": pairs[end].to_numpy(),
                    "strength": np.minimum(strength, 1.0),
                    "direction": pairs[way].to_numpy() / strength,
                }
            )
            for start, end, way in (("first", "second", "forward"), ("second", "first", "backward"))
        ]
        return pd.concat(halves).sort_index(kind="stable", ignore_index=True)


def with_pairs_over_all(frame: DataFrame, names: Sequence[str], edges: NDArray[np.float64]) -> DataFrame:
    """Return a frame of pairs with their probabilities over all networks, and with the pairs that only those join."""
    import pandas as pd

    position = {name: v for v, name in enumerate(names)}
    a, b = ([position[name] for name in frame[end]] for end in ("first", "second"))
    known, joined = set(zip(a, b, strict=True)), edges + edges.T
    others = [pair for pair in np.argwhere(np.triu(joined) >= LEAST_OVER_ALL).tolist() if tuple(pair) not in known]
    others.sort(key=lambda pair: -round(joined[pair[0], pair[1]], 12))
    first, second = (np.array([*ends, *(pair[at] for pair in others)], np.intp) for at, ends in enumerate((a, b)))
    only_over_all = pd.DataFrame(
        {
            "first": _named(names, first[len(frame) :]),
            "second": _named(names, second[len(frame) :]),
            **{str(name): 1.0 if name == "absent" else 0.0 for name in frame.columns[2:]},
        }
    )
    frame = pd.concat([frame, only_over_all], ignore_index=True) if others else frame
    return frame.assign(
        forward_over_all=edges[first, second],
        backward_over_all=edges[second, first],
        absent_over_all=np.maximum(0.0, 1 - joined[first, second]),
    )


def _named(names: Sequence[str], positions: NDArray[np.integer]) -> list[str]:
    return [names[v] for v in positions.tolist()]
