"""The credible set: every network, by Markov equivalence class, that the data cannot rule out.

What a `CredibleSet` promises is stated by `complete`, `stopped_because` and `unexplored_bound`: complete means that no
network with a score of at least OPT - epsilon is missing; otherwise no network that scores above `unexplored_bound` is.

Graphs are made on demand from arrays (see `credibn.credible.rows`), so a set of millions of networks stays small.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from credibn.credible.rows import Rows, masks_of, network_batches
from credibn.errors import OptionError
from credibn.graphs import CPDAG, cpdag_of, network_graph
from credibn.scores import ScoreTable
from credibn.scores.table import parent_positions
from credibn.search import tolerance_of

if TYPE_CHECKING:  # networkx takes a while to import: only those who ask for a graph wait for it
    from networkx import DiGraph

__all__ = ["STOP_REASONS", "CredibleClass", "CredibleClasses", "CredibleSet"]

STOP_REASONS = ("time_limit", "max_networks", "max_classes", "memory_limit", "interrupted", "score_table")
"""Why a set is not complete; "score_table": the scores given do not reach far enough for the k best."""
_GRAPHS_PER_BATCH = 256


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

    @cached_property
    def representative(self) -> DiGraph:
        """One member, the best where scores differ; its score is in ``graph["score"]``."""
        graph = network_graph(self.names, self.masks)
        graph.graph["score"] = self.score
        return graph

    @cached_property
    def cpdag(self) -> CPDAG:
        """The edges with a direction where all members of the class agree on it."""
        return cpdag_of(self.representative)

    def __repr__(self) -> str:
        return f"CredibleClass(size {self.size:,}, score {self.score:.6f}, weight {self.weight:.4g}: {self.cpdag!r})"


@dataclass(frozen=True, eq=False, repr=False)
class CredibleSet:
    """All networks whose log score is at least OPT - epsilon; or the k best; made by `learn` and its kin.

    Attributes
    ----------
    score_table : ScoreTable
        The candidate parent sets that were searched.
    rows : Rows
        The networks or classes as arrays, the best first.
    optimal_score : float
        The best log score known; proven to be the optimum where `is_optimum_proven`.
    epsilon : float
        The gap to the optimum that was asked for; of the k best, the gap that they span.
    complete : bool
        Whether everything that was asked for is here.
    stopped_because : str or None
        Why not: one of "time_limit", "max_networks", "max_classes", "memory_limit", "interrupted", "score_table".
    unexplored_bound : float or None
        No network that scores above this is missing; None when complete.
    engine : str
        The search engine that was used.
    n_requested : int or None
        The k of the k best.
    n_tied_at_boundary : int or None
        Of the k best: how many further networks (or classes) tie with the last.
    timings : mapping
        Seconds spent on read, score and search, and in total.
    settings, provenance, statistics : mapping
        Every option; where the result comes from; what the engine counted. All ready for JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import learn
    >>> x = np.arange(80) // 40
    >>> found = learn(np.column_stack([x, x]), bayes_factor=20)
    >>> found
    CredibleSet(2 networks, 1 class, 2 variables, optimal score -62.024814, epsilon 2.996, complete)
    >>> found.classes()[0]
    CredibleClass(size 2, score -62.024814, weight 1: CPDAG of 2 nodes: X0 -- X1)
    """

    score_table: ScoreTable
    rows: Rows
    optimal_score: float
    epsilon: float
    complete: bool
    engine: str
    stopped_because: str | None = None
    unexplored_bound: float | None = None
    n_requested: int | None = None
    n_tied_at_boundary: int | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.complete is not (self.stopped_because is None) or (self.unexplored_bound is None) is not self.complete:
            raise OptionError("a set is complete, or it has stopped_because and unexplored_bound; give one of the two")
        if self.stopped_because not in (None, *STOP_REASONS):
            raise OptionError(f"stopped_because is {self.stopped_because!r}; it is one of {', '.join(STOP_REASONS)}")
        for name in ("optimal_score", "epsilon", "unexplored_bound"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("timings", "settings", "provenance", "statistics"):
            plain = json.loads(json.dumps(dict(getattr(self, name)), allow_nan=False))
            object.__setattr__(self, name, MappingProxyType(plain))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return self.score_table.names

    @property
    def n_networks(self) -> int:
        """The number of networks in the set, exact and of any length."""
        return self.rows.n_networks

    @property
    def n_classes(self) -> int:
        """The number of Markov equivalence classes that the networks belong to."""
        return self.rows.n_classes

    @property
    def bayes_factor(self) -> float:
        """The factor exp(epsilon) by which the data favour the best network over the last at most."""
        return math.exp(self.epsilon) if self.epsilon < 709 else math.inf

    @property
    def is_optimum_proven(self) -> bool:
        """Whether no network can score above `optimal_score`."""
        bound = self.unexplored_bound
        return bound is None or bound <= self.optimal_score + tolerance_of(self.score_table)

    @property
    def grouping(self) -> str:
        """What a class holds: "whole classes", or "credible members only" where networks were listed one by one."""
        return "whole classes" if self.rows.class_of is None else "credible members only"

    @property
    def guarantee(self) -> str:
        """What is certain about this set, in one sentence."""
        last = self.optimal_score - self.epsilon
        if self.n_requested is not None and self.complete:
            what = "networks" if self.settings.get("k_best") == "networks" else "classes"
            tied = f", and {self.n_tied_at_boundary:,} more tie with the last" if self.n_tied_at_boundary else ""
            return f"These are the best {what}, {self.n_requested:,} or all there are: none scores higher{tied}."
        if self.complete:
            return f"No network that scores at least {last:.6f} is missing."
        if self.unexplored_bound == math.inf:
            return "Networks that score higher than these may exist: nothing was proven before the search stopped."
        proven = "The optimum is proven. " if self.is_optimum_proven else "Better networks may exist. "
        return f"{proven}No network that scores above {self.unexplored_bound:.6f} is missing."

    @cached_property
    def class_weights(self) -> NDArray[np.float64]:
        """The share of each class in the posterior probability within the set, computed in log space."""
        if not len(self.rows):
            return np.zeros(0)
        log_masses = self.rows.scores - self.rows.scores[0]
        if self.rows.class_of is None:
            masses = log_masses + self._log_sizes
            masses = np.exp(masses - masses.max())
        else:
            masses = np.bincount(self.rows.class_of, weights=np.exp(log_masses))
        weights: NDArray[np.float64] = masses / masses.sum()
        weights.flags.writeable = False
        return weights

    @property
    def _log_sizes(self) -> NDArray[np.float64]:
        if self.rows.sizes.shape[1] == 1:
            logs: NDArray[np.float64] = np.log(self.rows.sizes[:, 0].astype(np.float64))
            return logs
        return np.array([math.log(self.rows.class_size(number)) for number in range(len(self.rows))])

    def classes(self) -> CredibleClasses:
        """Return the classes as a sequence that makes each when it is asked for, the best first."""
        return CredibleClasses(self)

    def networks(self) -> Iterator[DiGraph]:
        """Yield every network once, in order of score, then of class; its score is in ``graph["score"]``.

        Members of a class that is credible as a whole carry the score of the class.
        """
        import networkx as nx

        # Networks share nearly all their parent sets: the edges of each are spelled out once.
        edges_of: dict[tuple[int, ...], list[tuple[str, str]]] = {}
        for masks, scores in self.networks_masks(_GRAPHS_PER_BATCH):
            for at, (parents, score) in enumerate(zip(masks.tolist(), scores.tolist(), strict=True)):
                edges = list[tuple[str, str]]()
                for child, words in enumerate(parents):
                    key = (child, *words)
                    if key not in edges_of:
                        positions = next(parent_positions(masks[at, child : child + 1]))
                        edges_of[key] = [(self.names[parent], self.names[child]) for parent in positions]
                    edges += edges_of[key]
                graph = nx.DiGraph(score=score)
                graph.add_nodes_from(self.names)
                graph.add_edges_from(edges)
                yield graph

    def networks_masks(self, batch: int = 1 << 16) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """Yield every network once, as parent masks of shape (up to `batch`, n, words), with their scores."""
        if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
            raise OptionError(f"batch is {batch!r}; it must be a whole number, 1 or more")
        for masks, origin in network_batches(self.score_table, self.rows, int(batch)):
            yield masks, self.rows.scores[origin]

    def summary(self) -> str:
        """Return what was found and what is certain about it, in a few plain sentences."""
        best = "optimal" if self.is_optimum_proven else "best known"
        lines = [
            f"{_count(self.n_networks, 'network')} in {_count(self.n_classes, 'Markov equivalence class')} over "
            f"{_count(len(self.names), 'variable')}, within {self.epsilon:.4g} nats (a Bayes factor of "
            f"{self.bayes_factor:.4g}) of the {best} score {self.optimal_score:.6f}.",
            self.guarantee if self.complete else f"Stopped early ({self.stopped_because}). {self.guarantee}",
        ]
        if self.grouping != "whole classes":
            lines.append("Networks were listed one by one: a class counts only its members in the set.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"incomplete: {self.stopped_because}"
        return (
            f"CredibleSet({_count(self.n_networks, 'network')}, {_count(self.n_classes, 'class')}, "
            f"{_count(len(self.names), 'variable')}, optimal score {self.optimal_score:.6f}, "
            f"epsilon {self.epsilon:.4g}, {state})"
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, all or nothing; see `credibn.credible.files` for the format."""
        from credibn.credible.files import write_credible_set

        write_credible_set(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CredibleSet:
        """Read a set that was saved.

        Raises
        ------
        FileFormatError
            When the file is not one, or something in it is wrong.
        """
        from credibn.credible.files import read_credible_set

        return read_credible_set(path)


def _count(number: int, thing: str) -> str:
    plural = f"{thing}es" if thing.endswith("s") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"


class CredibleClasses(Sequence[CredibleClass]):
    """The classes of a credible set, each made when it is asked for."""

    def __init__(self, credible: CredibleSet, numbers: range | None = None) -> None:
        self._set = credible
        self._numbers = range(credible.n_classes) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> CredibleClass: ...
    @overload
    def __getitem__(self, at: slice) -> CredibleClasses: ...
    def __getitem__(self, at: int | slice) -> CredibleClass | CredibleClasses:
        if isinstance(at, slice):
            return CredibleClasses(self._set, self._numbers[at])
        number, rows = self._numbers[at], self._set.rows
        row = int(rows.first_rows[number])
        return CredibleClass(
            names=self._set.names,
            masks=masks_of(self._set.score_table, rows.choices[row : row + 1])[0],
            size=rows.class_size(number),
            score=float(rows.scores[row]),
            weight=float(self._set.class_weights[number]),
        )

    def __repr__(self) -> str:
        return f"CredibleClasses({len(self):,} classes)"
