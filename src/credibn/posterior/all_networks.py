"""The posterior of all networks: the exact sum of exp(score), and the probability of every parent set, edge and path.

The sum over all networks uses inclusion and exclusion over their sinks, 3^n steps for n variables (Robinson 1973; Tian
& He 2009, "Computing posterior probabilities of structural features in Bayesian networks"). The sum is linear in
exp(score) of each parent set, so the probabilities are its derivatives, computed by the same steps in reverse order.
These steps also give the probability of every directed path. See
``cpp/posterior/network_sum.hpp``, and docs/guarantees.md for why it can be trusted.

A score table that was pruned for a large enough epsilon gives the same sum as all parent sets, up to rounding: see
`epsilon_for_all`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import byte_text, plural
from credibn._run.memory import usable_bytes
from credibn.errors import Option, OptionError, TooLargeError
from credibn.posterior.parent_sets import CauseProbabilities, ParentSetProbabilities, pair_frame, rounding_of_edges
from credibn.scores import ScoreTable
from credibn.scores.constraints import position_of

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

    from credibn.effects import Effect

MOST_VARIABLES = 24
"""The most variables with a possible edge: 3^24 steps take some minutes."""
_WIDEST_GAP = 5e8
"""The largest gap in nats between the best and the worst parent set of a node that the core's exponents can hold."""
_NATS_BELOW_ROUNDING = 37.0
"""exp(-37) is below the rounding of a double, 2^-53."""
_SECONDS_PER_STEP = {False: 2.5e-9, True: 6e-9}


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The posterior distribution over all networks; made by `exact_posterior` and `posterior_of_scores`.

    Attributes
    ----------
    names : tuple of str
        The variables, in order.
    log_mass : float
        The log of the sum of exp(score) over all networks that the score table has.
    log_mass_bound : float or None
        The same sum with the parent sets that pruning left out is at most exp of this. Computed from data the two are
        equal up to rounding. None where a table does not say for which epsilon it was pruned: then everything here is
        relative to the parent sets listed.
    parent_sets : ParentSetProbabilities or None
        The probability of each parent set; None where only the sum was asked for.
    ancestors : ndarray of float64, shape (n, n), or None
        The probability of a directed path from the row's variable to the column's.
    rounding_error : float or None
        No probability here, of a parent set, an edge or a path, is further from the truth than this, given the scores;
        nor is `log_mass`, apart from its own last digits. Proven in docs/guarantees.md. Frames are rounded to it.
    provenance : mapping
        Where the scores come from, as in the score table.
    score_table : ScoreTable or None
        The scores that were summed.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import exact_posterior
    >>> x = np.arange(40) // 20
    >>> posterior = exact_posterior(np.column_stack([x, x, np.arange(40) % 2]))
    >>> posterior
    Posterior(3 variables, log mass -61.723482)
    >>> posterior.edge_probabilities().round(3)
           X0     X1     X2
    X0  0.000  0.500  0.109
    X1  0.500  0.000  0.109
    X2  0.065  0.065  0.000
    """

    names: tuple[str, ...]
    log_mass: float
    log_mass_bound: float | None
    parent_sets: ParentSetProbabilities | None = None
    ancestors: NDArray[np.float64] | None = None
    rounding_error: float | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    score_table: ScoreTable | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "provenance", MappingProxyType(json.loads(json.dumps(dict(self.provenance)))))
        if self.ancestors is not None:
            self.ancestors.flags.writeable = False

    __reduce__ = rebuilt_from_fields

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.names)

    @property
    def n_decimals(self) -> int:
        """The decimals of a probability that `rounding_error` leaves certain, up to one unit of the last."""
        return math.floor(-math.log10(self.rounding_error)) if self.rounding_error else 15

    @property
    def edges(self) -> NDArray[np.float64] | None:
        """The probability of each directed edge, shape (n, n), rows parents; None where only the sum was asked for."""
        return None if self.parent_sets is None else self._rounded(self.parent_sets.edges)

    def edge_probabilities(self) -> DataFrame:
        """Return the probability of each directed edge as a frame: rows are parents, columns children."""
        return pair_frame(self.names, self._rounded(self._marginals().edges))

    def adjacency_probabilities(self) -> DataFrame:
        """Return the probability that two variables are joined by an edge of either direction, as a frame."""
        return pair_frame(self.names, self._rounded(self._marginals().adjacencies))

    def ancestor_probabilities(self) -> DataFrame:
        """Return the probability of a directed path, as a frame: rows are ancestors, columns descendants."""
        self._marginals()
        assert self.ancestors is not None
        return pair_frame(self.names, self._rounded(self.ancestors))

    def parent_set_probabilities(self, node: str | int) -> DataFrame:
        """Return the parent sets of a node with their probabilities, the most probable first."""
        frame = self._marginals().of_node(node)
        frame["probability"] = self._rounded(frame["probability"].to_numpy())
        return frame

    def causes(self, cause: str | int) -> CauseProbabilities:
        """Return the probability of each parent set of a variable together with each of its descendants: a new sum."""
        table = self.score_table
        if table is None:
            raise OptionError("this posterior holds no scores; compute it with exact_posterior")
        node, searched = position_of(self.names, cause, "cause"), searched_nodes(table)
        own = slice(int(table.offsets[node]), int(table.offsets[node + 1]))
        probabilities, paths = self._marginals().probabilities[own], np.zeros((own.stop - own.start, self.n_variables))
        if node in searched:
            found = _core.sum_networks(*_narrowed(table, searched), True, searched.index(node), None)
            assert found is not None, "nothing stops it"
            assert found[3] is not None, "there is a cause"
            paths[:, searched] = np.clip(found[3], 0.0, 1.0)
        return CauseProbabilities(np.full(len(paths), node), table.masks[own], probabilities, paths)

    def effects(
        self,
        data: Any,
        *,
        cause: str | int,
        outcome: str | int,
        change: tuple[object, object] | None = None,
        state: object | None = None,
        level: float = 0.95,
        equivalent_sample_size: float | None = None,
        pseudo_rows: float = 1.0,
        n_draws: int = 2000,
        seed: int = 0,
        allow_other_data: bool = False,
        **read_options: Any,
    ) -> Effect:
        """Return the causal effect of one variable on another, averaged over all networks: see `CredibleSet.effects`.

        It takes as long as the sum over all networks did.
        """
        from credibn.effects.averaging import Query, effect_of, table_and_priors

        table, priors = table_and_priors(
            self, data, allow_other_data, read_options, equivalent_sample_size, pseudo_rows
        )
        query = Query(cause, outcome, change, state, level, priors, n_draws, seed)
        return effect_of([(self.causes, table)], query)

    def _rounded(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.round(probabilities, self.n_decimals)

    def _marginals(self) -> ParentSetProbabilities:
        if self.parent_sets is None:
            raise OptionError("this posterior was computed with marginals=False; compute it with marginals=True")
        return self.parent_sets

    def __repr__(self) -> str:
        return f"Posterior({plural(self.n_variables, 'variable')}, log mass {self.log_mass:.6f})"

    def _repr_html_(self) -> str:
        from credibn.report.notebook import posterior_html

        return posterior_html(self)


@dataclass(frozen=True)
class PosteriorEstimate:
    """What the sum over all networks takes; `n_searched` variables can have an edge, `seconds` is a rough guess."""

    n_searched: int
    n_steps: int
    memory_bytes: int
    seconds: float


def epsilon_for_all(n_variables: int) -> float:
    """Return an epsilon so large that all parent sets pruned for it weigh less than the rounding error."""
    n = max(n_variables, 1)
    return _NATS_BELOW_ROUNDING + (n - 1) * math.log(2.0) + math.log(n)


def estimate_posterior(scores: ScoreTable | int, *, marginals: bool = True) -> PosteriorEstimate:
    """Predict the work and memory of `posterior_of_scores`; a number is that of the variables that can have edges."""
    n = len(searched_nodes(scores)) if isinstance(scores, ScoreTable) else int(scores)
    if n > MOST_VARIABLES:
        raise TooLargeError(
            f"{n} variables can have edges; the sum over all networks takes 3^n steps, so the limit is "
            f"{MOST_VARIABLES}: choose the columns of interest first"
        )
    n_bytes = _core.network_sum_bytes(n, marginals) if n else 0
    return PosteriorEstimate(n, 3**n, n_bytes, 3**n * _SECONDS_PER_STEP[bool(marginals)])


def posterior_of_scores(
    table: ScoreTable,
    *,
    marginals: bool = True,
    memory_limit: int | None = None,
    progress: Callable[[float], bool | None] | None = None,
) -> Posterior:
    """Sum over all networks that a score table allows.

    With `marginals` the probabilities of parent sets and paths are computed too, which takes about three times the
    work. `memory_limit` is in bytes, by default most of what is free. `progress` gets the fraction done a few times per
    second, and stops the sum with a KeyboardInterrupt if it returns False.
    """
    searched = searched_nodes(table)
    _check_memory(estimate_posterior(len(searched), marginals=marginals), memory_limit)
    best = table.scores[table.offsets[:-1]]
    for node in np.flatnonzero(best - table.scores[table.offsets[1:] - 1] > _WIDEST_GAP)[:1].tolist():
        raise OptionError(
            f"the scores of {table.names[node]!r} span more than {_WIDEST_GAP:g} nats, beyond the range of the sum "
            "over networks; leave out the worst parent sets"
        )
    log_mass, probabilities, ancestors = 0.0, None, None
    if searched:
        watch = None if progress is None else lambda fraction: progress(fraction) is not False
        found = _core.sum_networks(*_narrowed(table, searched), bool(marginals), None, watch)
        if found is None:
            raise KeyboardInterrupt("the sum over all networks was stopped; a partial sum is useless")
        log_mass, probabilities, ancestors, _ = found
    if log_mass == -math.inf:
        raise OptionError("no network can be made of these parent sets: every choice has a directed cycle")
    log_mass = math.fsum([log_mass, *best.tolist()])
    log_lost = _log_lost(table)
    of_all = _of_all(table, searched, probabilities, ancestors) if marginals else (None, None, None)
    return Posterior(
        names=table.names,
        log_mass=log_mass,
        log_mass_bound=None if log_lost is None else log_mass + log_lost,
        parent_sets=of_all[0],
        ancestors=of_all[1],
        rounding_error=of_all[2],
        provenance=table.provenance,
        score_table=table,
    )


def searched_nodes(table: ScoreTable) -> list[int]:
    """Return the nodes with a possible edge; the others have one candidate, the empty set, and are in no candidate."""
    is_parent = np.bitwise_or.reduce(table.masks, axis=0)
    has_choice = (table.counts > 1) | table.masks[table.offsets[:-1]].any(axis=1)
    return [
        v for v in range(table.n_variables) if has_choice[v] or is_parent[v // 64] >> np.uint64(v % 64) & np.uint64(1)
    ]


def _narrowed(
    table: ScoreTable, searched: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint64]]:
    """Return offsets, scores and masks of the nodes that are searched, renumbered from 0."""
    chosen = _candidates_of(table, searched)
    masks = np.zeros(len(chosen), dtype=np.uint64)
    for at, v in enumerate(searched):
        bit = table.masks[chosen, v // 64] >> np.uint64(v % 64) & np.uint64(1)
        masks |= bit << np.uint64(at)
    offsets = np.concatenate([[0], np.cumsum(table.counts[searched])]).astype(np.int64)
    return offsets, np.ascontiguousarray(table.scores[chosen]), masks


def _candidates_of(table: ScoreTable, searched: list[int]) -> NDArray[np.intp]:
    is_searched = np.zeros(table.n_variables, dtype=bool)
    is_searched[searched] = True
    return np.flatnonzero(np.repeat(is_searched, table.counts))


def _of_all(
    table: ScoreTable,
    searched: list[int],
    probabilities: NDArray[np.float64] | None,
    ancestors: NDArray[np.float64] | None,
) -> tuple[ParentSetProbabilities, NDArray[np.float64], float]:
    """Return the probabilities of all nodes, searched or not, and a bound on their rounding error."""
    of_sets = np.ones(table.n_candidates)
    paths = np.zeros((table.n_variables, table.n_variables))
    if probabilities is not None and ancestors is not None:
        of_sets[_candidates_of(table, searched)] = probabilities
        paths[np.ix_(searched, searched)] = ancestors
    of_sets = np.clip(of_sets, 0.0, 1.0)
    of_sets.flags.writeable = False
    nodes = np.repeat(np.arange(table.n_variables), table.counts)
    parent_sets = ParentSetProbabilities(table.names, nodes, table.masks, of_sets)
    rounding_error = _core.network_sum_rounding(len(searched)) if searched else 0.0
    return parent_sets, np.clip(paths, 0.0, 1.0), rounding_error + rounding_of_edges(int(table.counts.max()))


def _log_lost(table: ScoreTable) -> float | None:
    """Return a bound on ln(Z / Z of the sets listed): the sum over the nodes of ln(1 + m exp(-epsilon))."""
    if table.epsilon is None:
        return None
    n_others = table.n_variables - 1
    lost = list[float]()
    for count in table.counts.tolist():
        if n_others < 62 and count >= 1 << n_others:
            continue  # all are listed
        log_unlisted = n_others * math.log(2.0) if n_others >= 62 else math.log((1 << n_others) - count)
        lost.append(float(np.logaddexp(0.0, log_unlisted - table.epsilon)))
    return math.fsum(lost)


def _check_memory(estimate: PosteriorEstimate, memory_limit: int | None) -> None:
    allowed = usable_bytes() if memory_limit is None else memory_limit
    if estimate.memory_bytes > allowed:
        raise TooLargeError(
            "the sum over all networks of {} variables needs {}, but the limit allows {}; raise {} or use fewer "
            "variables",
            estimate.n_searched,
            byte_text(estimate.memory_bytes),
            byte_text(allowed),
            Option("memory_limit"),
        )
