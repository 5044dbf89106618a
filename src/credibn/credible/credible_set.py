"""The credible set: every network, by Markov equivalence class, that the data cannot rule out.

What a `CredibleSet` promises is stated by `complete`, `stopped_because` and `unexplored_bound`: complete means that no
network with a score of at least OPT - epsilon is missing; otherwise no network that scores above `unexplored_bound` is.

Graphs are made on demand from arrays (see `credibn.credible.structures`), so millions of networks take little memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import duration_text, plural
from credibn.credible.averages import Averages, with_pairs_over_all
from credibn.credible.classes import CredibleClass, CredibleClasses
from credibn.credible.consensus import agreement_graph, threshold_graph
from credibn.credible.factored_structures import FactoredStructures
from credibn.credible.families import StoredFamilies
from credibn.credible.pictures import Pictures
from credibn.credible.sampling import FeatureProbability, feature_probability, sample_masks
from credibn.credible.structures import Structures, count_at_least, masks_of, network_batches
from credibn.credible.weights import Prior, WeightedStructures, shares, weigh
from credibn.errors import Option, OptionError, Phrase
from credibn.graphs import network_graph
from credibn.options import resolve_epsilon
from credibn.posterior import MOST_VARIABLES, ShareEstimate, estimate_posterior
from credibn.posterior.parent_sets import pair_frame
from credibn.scores import ScoreTable
from credibn.scores.table import parent_positions
from credibn.search import tolerance_of

if TYPE_CHECKING:  # these take a while to import: only those who ask for a graph or a frame wait for them
    from networkx import DiGraph
    from pandas import DataFrame

    from credibn.effects import Effect, Effects

STOP_REASONS = ("time_limit", "max_networks", "max_classes", "memory_limit", "interrupted", "score_table")
"""Why a set is not complete; "score_table": the scores given do not reach far enough for the k best."""
DIRECTION_THRESHOLD = 0.95
"""The part of an edge's probability that must agree on its direction for an arrow, unless something else is asked."""
_GRAPHS_PER_BATCH = 256
_MOST = 0.5
"""A set that holds less of the posterior than this comes with a warning."""
_FACTOR_STEP = 10
_FACTORS = (3, 20, 150, 1000, *(_FACTOR_STEP**power for power in range(4, 14)))
"""Bayes factors to try next, each after those below it."""
_LARGEST_FACTOR = math.log(_FACTORS[-2])


@dataclass(frozen=True, eq=False, repr=False)
class CredibleSet(Pictures):
    """All networks whose log score is at least OPT - epsilon, or the k best; made by `learn` and `k_best_networks`.

    Attributes
    ----------
    score_table : ScoreTable
        The candidate parent sets that were searched.
    structures : Structures
        The networks or classes as arrays, the best first; see `credibn.credible.structures`. With the engine "factored"
        they are counted, not listed: then sizes, edges, parent sets, Markov blankets, v-structures and random networks
        are exact as ever, paths and compelled edges come from random networks, whose error is in the ``attrs`` of the
        frame, and what needs all classes one by one raises a `NotListedError`.
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
        The search engine that was used; empty where the set was read from a file, which has no engine, timings and
        statistics.
    n_requested : int or None
        The k of the k best.
    n_tied_at_boundary : int or None
        Of the k best: how many further networks (or classes) tie with the last; None where that is not known.
    log_total_mass : float or None
        The log of the sum of exp(score) over all networks, in the set or not; None where it was not computed.
    share_estimate : ShareEstimate or None
        An estimate, with its error, of the share of the posterior of all networks that the set holds; only where the
        share was asked for and there are too many variables to compute it.
    edges_over_all : ndarray of float64, shape (n, n), or None
        The probability of each directed edge over all networks, rows parents; None where it was not computed.
    timings : mapping
        Seconds spent on read, score, search and the sum over all networks (posterior), and in total.
    settings, provenance, statistics : mapping
        Every option; where the result comes from; what the engine counted. All ready for JSON.
    families : StoredFamilies or None
        Counts and moments of the training table, as far as prediction needs them: see `credibn.credible.families`.

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
    structures: Structures
    optimal_score: float
    epsilon: float
    complete: bool
    engine: str = ""
    stopped_because: str | None = None
    unexplored_bound: float | None = None
    n_requested: int | None = None
    n_tied_at_boundary: int | None = None
    log_total_mass: float | None = None
    edges_over_all: NDArray[np.float64] | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    families: StoredFamilies | None = None
    share_estimate: ShareEstimate | None = None

    def __post_init__(self) -> None:
        if self.complete is not (self.stopped_because is None) or (self.unexplored_bound is None) is not self.complete:
            raise OptionError("a set is complete, or it has stopped_because and unexplored_bound; give one of the two")
        if self.stopped_because not in (None, *STOP_REASONS):
            raise OptionError(f"stopped_because is {self.stopped_because!r}; it is one of {', '.join(STOP_REASONS)}")
        for name in ("optimal_score", "epsilon", "unexplored_bound", "log_total_mass"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, float(getattr(self, name)))
        if self.edges_over_all is not None:
            self.edges_over_all.flags.writeable = False
        for name in ("timings", "settings", "provenance", "statistics"):
            plain = json.loads(json.dumps(dict(getattr(self, name)), allow_nan=False))
            object.__setattr__(self, name, MappingProxyType(plain))

    __reduce__ = rebuilt_from_fields

    @property
    def rows(self) -> Structures:
        """The former name of `structures`."""
        return self.structures

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return self.score_table.names

    @property
    def n_networks(self) -> int:
        """The number of networks in the set, an exact integer of any size."""
        return self.structures.n_networks

    @property
    def n_classes(self) -> int:
        """The number of Markov equivalence classes that the networks belong to."""
        return self.structures.n_classes

    @property
    def kind_of_classes(self) -> str:
        """What members of a class share: "Markov" or, where variables were set from outside, "interventional"."""
        return "interventional" if self.score_table.provenance.get("interventions") else "Markov"

    @property
    def bayes_factor(self) -> float:
        """The factor exp(epsilon) by which the data favour the best network over the last at most."""
        return math.exp(self.epsilon) if self.epsilon < 709 else math.inf

    @property
    def is_optimum_proven(self) -> bool:
        """Whether no network can score above `optimal_score`."""
        bound = self.unexplored_bound
        return bound is None or bound <= self.optimal_score + tolerance_of(self.score_table)

    @cached_property
    def log_mass(self) -> float:
        """The log of the sum of exp(score) over the networks of the set; minus infinity where it has none."""
        return self.structures.log_mass

    @property
    def posterior_share(self) -> float | None:
        """Which share of the posterior probability of all networks this set holds; None where it was not computed."""
        return None if self.log_total_mass is None else math.exp(min(0.0, self.log_mass - self.log_total_mass))

    @property
    def share_statement(self) -> str:
        """Which share of the posterior probability of all networks this set holds, in one sentence."""
        return self.share_of("It holds" if self.n_networks == 1 else "They hold")

    @property
    def caution(self) -> Phrase | None:
        """What to be careful about, and what to do, where the share is unknown or below a half; None elsewhere."""
        estimate, held = self.share_estimate, self.posterior_share
        if held is None and estimate is not None and estimate.are_chains_agreed:
            held = estimate.value
        if not self.n_networks or (held is not None and held >= _MOST):
            return None
        more = self._how_to_find_more()
        if held is None:
            if estimate is not None:
                how = Phrase(f"The Markov chains disagree (R-hat {estimate.r_hat:.2f}), so the share is not known.")
            elif len(self.names) > MOST_VARIABLES:
                how = Phrase("{} estimates it.", Option("posterior_share", True))
            else:
                seconds = duration_text(estimate_posterior(len(self.names)).seconds)
                how = Phrase("{} computes it, in about " + seconds + ".", Option("posterior_share", True))
            return Phrase(
                "{} Find more networks with {}: a probability that changes as the set grows was not certain.", how, more
            )
        if estimate is not None:
            return Phrase(
                "This is less than half of the posterior, so what these networks agree on need not hold in the others. "
                "Half of it is estimated to lie within {}, and 95 % within {}.",
                *(Option("epsilon", round(estimate.epsilon_for(share), 1)) for share in (0.5, 0.95)),
            )
        if self.edges_over_all is None:
            instead = "average over all networks (exact_posterior in Python, 'credibn posterior' in the shell)"
        else:
            instead = "go by the probabilities over all networks, which tables of edges give beside those in the set"
        return Phrase(
            "This is less than half of the posterior, so what these networks agree on need not hold in the others. "
            "To be sure, {}, or find more networks with {}.",
            instead,
            more,
        )

    def _how_to_find_more(self) -> Phrase:
        """Name the option that makes the set larger."""
        is_too_long_a_list = self.structures.is_listed and self.is_optimum_proven and self.n_requested is None
        if self.stopped_because in ("time_limit", "memory_limit") and is_too_long_a_list:
            return Phrase(
                "a larger {}, or count them all with {}", Option(self.stopped_because), Option("engine", "factored")
            )
        if self.stopped_because in ("max_networks", "max_classes", "time_limit", "memory_limit"):
            return Phrase("a larger {}", Option(self.stopped_because))
        if self.stopped_because == "interrupted":
            return Phrase("a run that is not interrupted")
        if self.stopped_because == "score_table":
            return Phrase("scores for a larger {}", Option("epsilon"))
        if self.n_requested == 1:  # the command that finds one has no k
            return Phrase("learn")
        if self.n_requested is not None:
            return Phrase("a larger {}", Option("k"))
        if self.settings.get("share") is not None:
            return Phrase("a larger {}", Option("share"))
        if self.settings.get("ratio") is not None:
            return Phrase("a larger {}", Option("ratio"))
        if self.settings.get("epsilon") is not None or self.epsilon > _LARGEST_FACTOR:
            return Phrase("{}", Option("epsilon", math.ceil(self.epsilon + math.log(_FACTOR_STEP))))
        factor = next(step for step in _FACTORS if step > self.bayes_factor * (1 + 1e-9))
        return Phrase("{}", Option("bayes_factor", factor))

    def share_of(self, who: str) -> str:
        """Return the share of the posterior in one sentence, of which `who` is the beginning, such as "They hold"."""
        table = self.score_table
        among = " that obey the constraints" if table.provenance.get("constraints") else ""
        among = " made of the parent sets given" if table.epsilon is None else among
        share = "an unknown share" if self.posterior_share is None else _percent(self.posterior_share)
        if self.posterior_share is None and self.share_estimate is not None:
            share = self.share_estimate.text
        return f"{who} {share} of the posterior probability of all networks{among}."

    @property
    def grouping(self) -> str:
        """What a class has: "whole classes", or "credible members only" where networks were listed one by one.

        "none" where networks are counted and classes are not.
        """
        if not self.structures.is_listed:
            return "whole classes" if self.structures.are_classes_counted else "none"
        return "whole classes" if self.structures.class_of is None else "credible members only"

    @property
    def guarantee(self) -> str:
        """What is certain about this set, in one sentence."""
        last, scope = self.optimal_score - self.epsilon, self._scope
        if self.n_requested is not None and self.complete:
            what = "networks" if self.settings.get("k_best") == "networks" else "classes"
            tied = f", and {self.n_tied_at_boundary:,} more tie with the last" if self.n_tied_at_boundary else ""
            tied = "; others may score the same" if self.n_tied_at_boundary is None else tied
            return f"These are the best {what}{scope}, {self.n_requested:,} or all there are: none scores higher{tied}."
        if self.complete:
            return f"No network{scope} that scores at least {last:,.6f} is missing."
        if self.unexplored_bound == math.inf:
            return "Networks that score higher than these may exist: nothing was proven before the search stopped."
        proven = "The optimum is proven. " if self.is_optimum_proven else "Better networks may exist. "
        within = _up_to_factor(self.optimal_score - (self.unexplored_bound or 0.0))
        return f"{proven}No network{scope} that scores above {self.unexplored_bound:,.6f}{within} is missing."

    @property
    def _scope(self) -> str:
        """Which networks there can be, where the number of parents is limited; empty where it is not."""
        constraints = self.score_table.provenance.get("constraints")
        limit = constraints.get("max_parents") if isinstance(constraints, Mapping) else None
        if limit is None:
            return ""
        if isinstance(limit, Mapping):
            return " within the limits on parents"
        return f" with at most {plural(limit, 'parent')} per variable" if isinstance(limit, int) else ""

    @cached_property
    def class_weights(self) -> NDArray[np.float64]:
        """The share of each class in the posterior probability within the set, computed in log space."""
        if not self.n_networks:
            return np.zeros(0)
        return self._weights_of_classes("networks")

    def classes(self) -> CredibleClasses:
        """Return the classes as a sequence that makes each when it is asked for, the best first.

        Of a set that is too large to list, `best_classes` gives the first.
        """
        return CredibleClasses(self.score_table, self._rows, self.class_weights, self._is_whole)

    def best_classes(self, count: int = 50) -> CredibleClasses:
        """Return the classes that score best, also of a set that is too large to list.

        They come from the best networks, at most 200,000: where these belong to fewer classes, there are fewer.

        Examples
        --------
        >>> import numpy as np
        >>> from credibn import learn
        >>> x = np.arange(80) // 40
        >>> learn(np.column_stack([x, x]), engine="factored").best_classes(1)[0]
        CredibleClass(size 2, score -62.024814, weight 1: CPDAG of 2 nodes: X0 -- X1)
        """
        wanted, rows = whole_number("count", count, 1), self._rows
        if not isinstance(rows, FactoredStructures):
            return self.classes()[:wanted]
        best = rows.best_classes(self.score_table, wanted)
        weights = np.exp(best.scores + best.log_sizes - rows.log_mass)
        return CredibleClasses(self.score_table, best, weights, self._is_whole)

    def listed_if_few(self) -> CredibleSet:
        """Return the same set with a list, where it was counted but has at most 10,000 networks; else itself."""
        return self if self._rows is self.structures else replace(self, structures=self._rows)

    @property
    def are_classes_known(self) -> bool:
        """Whether `best_classes` can tell classes: where there is a list, or where classes are counted as a whole."""
        return self._rows.is_listed or self._rows.are_classes_counted

    @cached_property
    def _rows(self) -> Structures:
        """The structures as a list, also where they were counted but are few."""
        structures = self.structures
        return structures.listed_if_few(self.score_table) if isinstance(structures, FactoredStructures) else structures

    def count_within(self, epsilon: float) -> tuple[int, int | None]:
        """Return how many networks score within epsilon of the best, and their classes: exact for any smaller epsilon.

        The number of classes is None where it is not known; a class counts where one of its networks does.

        Examples
        --------
        >>> import numpy as np
        >>> from credibn import learn
        >>> x = np.arange(80) // 40
        >>> learn(np.column_stack([x, x, np.arange(80) % 2]), bayes_factor=20).count_within(0)
        (2, 1)
        """
        gap = resolve_epsilon(epsilon=epsilon)
        if gap > self.epsilon:
            raise OptionError("{} is {:.6g}; this set reaches {:.6g}", Option("epsilon"), gap, self.epsilon)
        if isinstance(self.structures, FactoredStructures):
            return self.structures.networks.n_networks(gap), self.structures.networks.n_classes(gap)
        last = self.optimal_score - gap - tolerance_of(self.score_table)
        found = self.structures.first(count_at_least(self.structures, last))
        return found.n_networks, found.n_classes

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
        size, rows = whole_number("batch", batch, 1), self._rows
        if isinstance(rows, FactoredStructures):
            for choices, costs in rows.networks.in_order(size):
                yield masks_of(self.score_table, choices), -costs
            return
        for masks, origin in network_batches(self.score_table, rows, size):
            yield masks, rows.scores[origin]

    def edge_probabilities(self, prior: Prior = "networks") -> DataFrame:
        """Return the probability of each directed edge within the set: rows are parents, columns children.

        Parameters
        ----------
        prior : {"networks", "classes"} or structure prior
            What is equally likely beforehand: every network, which is the default, or every class; or weights of your
            own, such as ``EdgePenalty(2)``, on top of the scores. All averages of a set take it.

        Examples
        --------
        >>> import numpy as np
        >>> from credibn import learn
        >>> x = np.arange(80) // 40
        >>> learn(np.column_stack([x, x])).edge_probabilities()
             X0   X1
        X0  0.0  0.5
        X1  0.5  0.0
        """
        return pair_frame(self.names, self.averages(prior).parent_sets.edges)

    def adjacency_probabilities(self, prior: Prior = "networks") -> DataFrame:
        """Return the probability that an edge of either direction joins two variables: symmetric."""
        return pair_frame(self.names, self.averages(prior).parent_sets.adjacencies)

    def pair_probabilities(self, prior: Prior = "networks") -> DataFrame:
        """Return, for each pair that some network joins, how probable each alternative is.

        Columns: forward (first -> second), backward and absent sum to 1. compelled_forward and compelled_backward are
        the parts of forward and backward in which all members of the network's class agree; the rest is reversible.
        A class has its networks in the set: constraints may leave it one direction where others of its members have
        another. All these are probabilities within the set. Where `edges_over_all` is known, forward_over_all,
        backward_over_all and absent_over_all stand beside them, for these pairs and for others that are joined with
        0.01 or more over all networks; not with a `prior` other than "networks", which they would not share.
        """
        frame = self.averages(prior).pair_frame()
        if self.edges_over_all is None or prior != "networks":
            return frame
        return with_pairs_over_all(frame, self.names, self.edges_over_all)

    def edge_strengths(self, prior: Prior = "networks") -> DataFrame:
        """Return edges with the columns of bnlearn's ``bn.strength``: from, to, strength, direction.

        Strength is the probability that an edge of either direction is there, direction that of this one if so.
        """
        return self.averages(prior).strength_frame()

    def v_structure_probabilities(self, prior: Prior = "networks") -> DataFrame:
        """Return each v-structure first -> child <- second, whose parents are not joined, the most probable first."""
        return self.averages(prior).v_structure_frame()

    def markov_blanket_probabilities(self, prior: Prior = "networks") -> DataFrame:
        """Return the probability that one variable is in the Markov blanket of another: symmetric."""
        averages = self.averages(prior)
        frame = pair_frame(self.names, averages.blankets)
        frame.attrs.update(averages.error_of("blankets"))
        return frame

    def parent_set_probabilities(self, node: str | int, prior: Prior = "networks") -> DataFrame:
        """Return the parent sets that a variable has in some network, the most probable first."""
        return self.averages(prior).parent_sets.of_node(node)

    def ancestor_probabilities(self, prior: Prior = "networks") -> DataFrame:
        """Return the probability of a directed path from one variable (row) to another (column)."""
        averages = self.averages(prior)
        frame = pair_frame(self.names, averages.ancestors)
        frame.attrs.update(averages.error_of("ancestors"))
        return frame

    def most_informative_interventions(self, prior: Prior = "networks") -> DataFrame:
        """Return which variable to set in an experiment, to learn most about the directions of edges.

        Columns: variable; bits, by which unlimited rows with this variable set are expected to reduce the entropy of
        the network, beyond what rows without experiments can tell; share, of all such doubt; edges, how many edges at
        the variable have no direction, on average. The most informative comes first. Nothing is listed.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> learn(sample_asia()).most_informative_interventions().round(2)[:2]
          variable  bits  share  edges
        0    smoke  1.53   0.80   1.98
        1     lung  1.10   0.58   1.30
        """
        from credibn.credible.experiments import informative_frame

        return informative_frame(self.averages(prior))

    def feature_probability(
        self,
        predicate: Callable[[DiGraph], bool],
        *,
        prior: Prior = "networks",
        max_listed: int = 20_000,
        n_samples: int = 10_000,
        seed: int = 0,
    ) -> FeatureProbability:
        """Return the probability that a predicate holds for a network, and how it was found.

        Parameters
        ----------
        predicate : callable
            Takes a network as a ``networkx.DiGraph`` and says whether the feature is there.
        prior : see `edge_probabilities`
        max_listed : int
            Up to this many networks are all tested, and the answer is exact; of more, `n_samples` random ones.
        n_samples, seed : int

        Examples
        --------
        >>> import numpy as np
        >>> from credibn import learn
        >>> x = np.arange(80) // 40
        >>> learn(np.column_stack([x, x])).feature_probability(lambda network: network.out_degree("X0") == 1)
        FeatureProbability(value=0.5, method='listing', n_networks=2, standard_error=0.0)
        """
        if not callable(predicate):
            raise OptionError(f"the predicate is {predicate!r}; give a function of a networkx.DiGraph")
        return feature_probability(
            self.score_table,
            weigh(self.score_table, self._rows, prior),
            predicate,
            max_listed=whole_number("max_listed", max_listed, 0),
            n_samples=whole_number("n_samples", n_samples, 1),
            seed=whole_number("seed", seed, 0),
        )

    @overload
    def effects(self, data: Any, *, cause: str | int, outcome: str | int, **options: Any) -> Effect: ...
    @overload
    def effects(self, data: Any, *, cause: None = None, outcome: None = None, **options: Any) -> Effects: ...
    def effects(
        self,
        data: Any,
        *,
        cause: str | int | None = None,
        outcome: str | int | None = None,
        change: tuple[object, object] | None = None,
        state: object | None = None,
        level: float = 0.95,
        prior: Prior = "networks",
        equivalent_sample_size: float | None = None,
        pseudo_rows: float = 1.0,
        n_draws: int = 2000,
        seed: int = 0,
        allow_other_data: bool = False,
        **read_options: Any,
    ) -> Effect | Effects:
        """Return the causal effect of one variable on another, averaged over the networks of the set; or of all pairs.

        In each network the effect follows from adjusting for the parents of the cause. Where no directed path leads
        from the cause to the outcome, there is none. Networks are not listed: those in which the cause has the same
        parents share one effect. A causal reading assumes that no hidden variable is a common cause of two others.

        Parameters
        ----------
        data : path, DataFrame, Arrow table, NumPy array, DuckDB relation, Ibis table or Dataset
            The training table, read with the options that `learn` was given unless ``read_options`` say otherwise.
        cause, outcome : str or int, optional
            The pair. Without them the result is a matrix of all pairs.
        change : tuple of two states, optional
            Of a categorical cause, from and to; by default its first and its last state.
        state : optional
            Of a categorical outcome; by default its last state.
        level : float
            The posterior probability of the interval.
        prior : see `edge_probabilities`
        equivalent_sample_size, pseudo_rows : float
            Of the priors of the parameters: see `average_models`.
        n_draws, seed : int
            Draws for each parent set of the cause, where intervals have no closed form.
        allow_other_data : bool
            Whether the effects may come from a different table with the same variables.

        Returns
        -------
        Effect, or Effects without a pair

        Raises
        ------
        OptionError
            For unknown names and states, another table, or an effect without a closed form: of a number on a category,
            or of a category that has numbers among its parents.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> table = sample_asia()
        >>> learn(table).effects(table, cause="smoke", outcome="bronc")
        Effect(change of P(bronc = yes) when smoke is set to yes instead of no: +0.1998 [+0, +0.3458], no effect 31.4%)
        """
        from credibn.effects.averaging import Query, all_effects, check_pair, effect_of, table_and_priors

        check_pair(cause, outcome)
        table, priors = table_and_priors(
            self, data, allow_other_data, read_options, equivalent_sample_size, pseudo_rows
        )
        causes = self.averages(prior).causes
        if cause is None or outcome is None:
            return all_effects(causes, table, priors)
        query = Query(cause, outcome, change, state, level, priors, n_draws, seed)
        return effect_of([(lambda _: causes, table)], query)

    def sample_networks(
        self, n_samples: int, *, weighted: bool = True, prior: Prior = "networks", seed: int = 0
    ) -> Iterator[DiGraph]:
        """Yield random networks of the set, with replacement; nothing is listed.

        Parameters
        ----------
        n_samples : int
        weighted : bool
            By posterior weight under `prior`; otherwise every network of the set is equally likely.
        prior : see `edge_probabilities`
        seed : int
            The same seed gives the same networks.
        """
        count, seed = whole_number("n_samples", n_samples, 0), whole_number("seed", seed, 0)
        drawn = weigh(self.score_table, self._rows, prior)
        if isinstance(self._rows, FactoredStructures):
            found = self._rows.sample_masks(self.score_table, count, seed, weighted=weighted)
            return (network_graph(self.names, masks) for batch in found for masks in batch)
        if not weighted:
            drawn = WeightedStructures(self._rows, shares(self._rows.log_sizes))
        batches = sample_masks(self.score_table, drawn, count, seed)
        return (network_graph(self.names, masks) for batch, _ in batches for masks in batch)

    def most_probable_class(self, prior: Prior = "networks") -> CredibleClass:
        """Return the class with the largest weight; the first of them where several tie."""
        weights = self._weights_of_classes(prior)
        return CredibleClasses(self.score_table, self._rows, weights, self._is_whole)[int(weights.argmax())]

    def threshold_graph(
        self, threshold: float = 0.5, prior: Prior = "networks", *, direction_threshold: float = DIRECTION_THRESHOLD
    ) -> DiGraph:
        """Return the pairs that are joined with at least this probability, with an arrow where it is decided.

        Parameters
        ----------
        threshold : float
            The least probability that an edge of either direction joins the two, within the set.
        prior : see `edge_probabilities`
        direction_threshold : float
            An edge points one way only if classes whose networks all agree on that direction hold at least this part of
            its probability. Other edges are undirected: they go both ways, with the attribute ``directed=False``, as in
            `CPDAG.to_networkx`.

        Returns
        -------
        networkx.DiGraph
            Each edge has ``directed``, ``joined`` (the probability of either direction) and ``probability`` (of this
            one). Arrows may form a directed cycle.

        Examples
        --------
        >>> import numpy as np
        >>> from credibn import learn
        >>> x = np.arange(80) // 40
        >>> learn(np.column_stack([x, x])).threshold_graph(0.8).edges(data="directed")
        OutEdgeDataView([('X0', 'X1', False), ('X1', 'X0', False)])
        """
        for name, value in (("threshold", threshold), ("direction_threshold", direction_threshold)):
            if isinstance(value, bool) or not 0 <= value <= 1:
                raise OptionError.refusing(name, value, "it must be a probability, 0 to 1")
        return threshold_graph(self.averages(prior), float(threshold), float(direction_threshold))

    def agreement_graph(self, prior: Prior = "networks") -> DiGraph:
        """Return the DAG that agrees with the networks of the set on most pairs of variables, in expectation.

        They agree on a pair when both have the same edge there, or none. The share of pairs is in
        ``graph["expected_agreement"]``, the probability of each edge in its attributes.
        """
        return agreement_graph(self.averages(prior).parent_sets)

    def averages(self, prior: Prior = "networks") -> Averages:
        """Return the averages as arrays; those of a prior given by name are cached."""
        if isinstance(prior, str) and prior in self._known_averages:
            return self._known_averages[prior]
        weighted = weigh(self.score_table, self._rows, prior)
        made = Averages(self.score_table, weighted, self._is_whole or self.grouping == "whole classes")
        if isinstance(prior, str):
            self._known_averages[prior] = made
        return made

    @property
    def _is_whole(self) -> bool:
        """Whether no network is missing that belongs to a class of the set and is credible."""
        return self.complete and self.n_requested is None

    @cached_property
    def _known_averages(self) -> dict[str, Averages]:
        return {}

    def _weights_of_classes(self, prior: Prior) -> NDArray[np.float64]:
        """Return the share of each class."""
        drawn = weigh(self.score_table, self._rows, prior)
        class_of = drawn.structures.class_of
        return drawn.weights if class_of is None else np.bincount(class_of, weights=drawn.weights).astype(np.float64)

    def summary(self) -> str:
        """Return what was found and what is certain about it, in a few plain sentences."""
        return self.worded_summary(str)

    def worded_summary(self, words: Callable[[Option], str]) -> str:
        """Return the summary with options as the reader knows them, see `credibn.errors.Option`."""
        best, is_single = "optimal" if self.is_optimum_proven else "best known", self.n_networks == 1
        counts = " in ".join(self._counts(f"{self.kind_of_classes} equivalence class"))
        who = f"{counts} over {plural(len(self.names), 'variable')} {'holds' if is_single else 'hold'}"
        caution = self.caution
        lines = [
            self.share_of(who),
            *([] if caution is None else [f"Warning: {caution.worded(words)}"]),
            f"{'It scores' if is_single else 'They score'} within {self.epsilon:.4g} nats (a Bayes factor of "
            f"{self.bayes_factor:.4g}) of the {best} score {self.optimal_score:,.6f}.",
            self.guarantee if self.complete else f"Stopped early ({self.stopped_because}). {self.guarantee}",
        ]
        if not self.complete and self.settings.get("share") is not None:
            lines.append(f"The share that was asked for, {100 * self.settings['share']:.4g} %, was not reached.")
        if not self.structures.is_listed:
            lines.append("The networks are counted, not listed.")
        elif self.grouping != "whole classes":
            lines.append("Networks were listed one by one: a class counts only its members in the set.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"incomplete: {self.stopped_because}"
        return (
            f"CredibleSet({', '.join(self._counts('class'))}, "
            f"{plural(len(self.names), 'variable')}, optimal score {self.optimal_score:,.6f}, "
            f"epsilon {self.epsilon:.4g}, {state})"
        )

    def _counts(self, name_of_class: str) -> list[str]:
        """Return the number of networks and, where it is known, of classes."""
        known = [plural(self.n_classes, name_of_class)] if self.structures.are_classes_counted else []
        return [plural(self.n_networks, "network"), *known]

    def _repr_html_(self) -> str:
        from credibn.report.notebook import credible_set_html

        return credible_set_html(self)

    def without_run(self) -> CredibleSet:
        """Return the set without what differs from run to run: engine, timings, statistics."""
        return replace(self, engine="", timings={}, statistics={})

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, atomically; see `credibn.credible.files` for the format."""
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


def _up_to_factor(gap: float) -> str:
    """Return up to which Bayes factor no network is missing, rounded down; nothing where that says nothing."""
    if not 0.01 <= gap <= _LARGEST_FACTOR:
        return ""
    digits = 2 - math.floor(gap / math.log(10.0))
    factor = math.floor(math.exp(gap) * 10.0**digits + 1e-6) / 10.0**digits
    return f", within a Bayes factor of {factor:,.6g} of it,"


def _percent(share: float) -> str:
    """Return a share in percent, never rounded to 0 % or 100 %."""
    if share > 0.999:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %" if share >= 0.001 else "less than 0.1 %"
