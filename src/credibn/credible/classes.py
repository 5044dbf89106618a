"""The classes of a credible set as objects, each made from arrays when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.credible.structures import Structures, masks_of, one_way_edges
from credibn.graphs import CPDAG, cpdag_of_masks, network_graph
from credibn.graphs.background import orient
from credibn.scores import ScoreTable
from credibn.scores.table import parent_positions

if TYPE_CHECKING:  # these take a while to import: only those who ask for a graph or a frame wait for them
    from networkx import DiGraph
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class CredibleClass:
    """One Markov equivalence class of a credible set.

    Attributes
    ----------
    names : tuple of str
    masks : ndarray of uint64, shape (n, words)
        Parent sets of the representative.
    size : int
        How many networks of the set belong to it: all members, where classes are credible as a whole.
    fixed : ndarray of uint64, shape (n, words), or None
        Edges, as parent masks, that have this direction in each network of the class that can be in the set; None where
        all members can.
    score : float
        Log score of its members; where these differ, of the best.
    weight : float
        Its share of the posterior probability within the set: of the sum of exp(score) over all networks.
    """

    names: tuple[str, ...]
    masks: NDArray[np.uint64]
    size: int
    score: float
    weight: float
    fixed: NDArray[np.uint64] | None = None

    __reduce__ = rebuilt_from_fields

    @cached_property
    def representative(self) -> DiGraph:
        """One member, the best where scores differ; its score is in ``graph["score"]``."""
        graph = network_graph(self.names, self.masks)
        graph.graph["score"] = self.score
        return graph

    @cached_property
    def cpdag(self) -> CPDAG:
        """The edges with a direction where all members of the class agree on it."""
        return cpdag_of_masks(self.names, self.masks)

    @cached_property
    def graph(self) -> CPDAG:
        """The edges with a direction where all networks of the class agree on it that the constraints leave.

        The same as `cpdag` where the set has whole classes. Of a set that is not complete, and of the k best, networks
        may be missing: then these are the directions that follow from forbidden and required edges and tiers.
        """
        if self.fixed is None:
            return self.cpdag
        known = enumerate(parent_positions(self.fixed))
        return orient(self.cpdag, [(self.names[v], self.names[child]) for child, above in known for v in above])

    def __repr__(self) -> str:
        return f"CredibleClass(size {self.size:,}, score {self.score:.6f}, weight {self.weight:.4g}: {self.graph!r})"

    def _repr_html_(self) -> str:
        from credibn.report.notebook import class_html

        return class_html(self)


class CredibleClasses(Sequence[CredibleClass]):
    """The classes of a credible set, each made when it is asked for."""

    def __init__(
        self,
        table: ScoreTable,
        structures: Structures,
        weights: NDArray[np.float64],
        is_whole: bool,
        numbers: range | None = None,
    ) -> None:
        self._table, self._structures, self._weights, self._is_whole = table, structures, weights, is_whole
        self._numbers = range(structures.n_classes) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> CredibleClass: ...
    @overload
    def __getitem__(self, at: slice) -> CredibleClasses: ...
    def __getitem__(self, at: int | slice) -> CredibleClass | CredibleClasses:
        if isinstance(at, slice):
            return CredibleClasses(self._table, self._structures, self._weights, self._is_whole, self._numbers[at])
        number, found = self._numbers[at], self._structures
        first = int(found.first_members[number])
        return CredibleClass(
            names=self._table.names,
            masks=masks_of(self._table, found.choices[first : first + 1])[0],
            size=found.class_size(number),
            score=float(found.scores[first]),
            weight=float(self._weights[number]),
            fixed=self._fixed(number),
        )

    def _fixed(self, number: int) -> NDArray[np.uint64] | None:
        """Return the edges that all networks of a class have; where some may be missing, those of the constraints."""
        found = self._structures
        if found.class_of is None:
            return None
        if self._is_whole:
            masks = masks_of(self._table, found.choices[found.members_of(number)])
            shared: NDArray[np.uint64] = np.bitwise_and.reduce(masks, axis=0)
        else:
            first = int(found.first_members[number])
            shared = masks_of(self._table, found.choices[first : first + 1])[0] & self._one_way
        return shared

    @cached_property
    def _one_way(self) -> NDArray[np.uint64]:
        n, words = self._table.n_variables, self._table.masks.shape[1]
        masks = np.zeros((n, words), dtype=np.uint64)
        for parent, child in np.argwhere(one_way_edges(self._table)).tolist():
            masks[child, parent // 64] |= np.uint64(1 << parent % 64)
        return masks

    def __repr__(self) -> str:
        return f"CredibleClasses({len(self):,} classes)"


def class_frame(classes: CredibleClasses, optimal_score: float) -> DataFrame:
    """Return a line for each class; its gap is to the optimal score, its size the number of its networks."""
    import pandas as pd

    return pd.DataFrame(
        {
            "score": pd.Series([one.score for one in classes], dtype=float),
            "gap": pd.Series([max(0.0, optimal_score - one.score) for one in classes], dtype=float),
            "size": pd.Series([one.size for one in classes], dtype=None if len(classes) else "int64"),
            "weight": pd.Series([one.weight for one in classes], dtype=float),
            "edges": pd.Series([", ".join(one.graph.edges_as_text) for one in classes], dtype=object),
        }
    )
