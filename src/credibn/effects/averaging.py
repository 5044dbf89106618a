"""Average causal effects over the networks of a credible set, without listing them.

Networks are grouped by the parents of the cause and by whether the outcome descends from it. The probabilities of the
groups come from the classes (`credibn.credible.averages`): within a class the parents of a node decide what descends
from it, so nothing is listed. Each group has one effect, by adjusting for the parents; where the outcome does not
descend from the cause it is 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn.data import Dataset
from credibn.data.states import state_code
from credibn.effects.adjusting import Adjustment, Drawn, EffectPosterior
from credibn.effects.effect import Effect, Effects, Mixture
from credibn.errors import Option, OptionError
from credibn.models.averaging_networks import default_sample_size, training_data, training_table
from credibn.posterior import Posterior
from credibn.posterior.parent_sets import CauseProbabilities, pair_frame
from credibn.scores.constraints import position_of
from credibn.scores.table import parent_positions

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

    from credibn.credible import CredibleSet


@dataclass(frozen=True)
class Query:
    """Which effect is asked for, and how it is answered: see `CredibleSet.effects`."""

    cause: str | int
    outcome: str | int
    change: tuple[object, object] | None = None
    state: object | None = None
    level: float = 0.95
    priors: tuple[float, float] = (1.0, 1.0)
    n_draws: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise OptionError.refusing("level", self.level, "it must be a number between 0 and 1, such as 0.95")
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws, 100))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))


def check_pair(cause: str | int | None, outcome: str | int | None) -> None:
    """Refuse one half of a pair."""
    if (cause is None) is not (outcome is None):
        raise OptionError(
            "{} is missing; give cause and outcome, or neither for all pairs",
            Option("outcome" if outcome is None else "cause"),
        )


CausesOf = Callable[[int], CauseProbabilities]


def effect_of(sources: Sequence[tuple[CausesOf, Dataset]], query: Query) -> Effect:
    """Return the effect of one variable on another, over networks and, where there are several, over tables.

    All tables have the same variables and states, and the same weight.
    """
    data, level = sources[0][1], query.level
    x, y = position_of(data.names, query.cause, "cause"), position_of(data.names, query.outcome, "outcome")
    if x == y:
        raise OptionError(f"cause and outcome are both {data.names[x]!r}; give two variables")
    random = np.random.default_rng(query.seed)
    steps, target = _change(data, x, query.change), _state(data, y, query.state)
    answers = [_answer(causes_of(x), table, x, y, steps, target, query, random) for causes_of, table in sources]
    share = 1.0 / len(answers)
    mixture = Mixture(
        tuple(itertools.chain.from_iterable(one.mixture.parents for one in answers)),
        share * np.concatenate([one.mixture.weights for one in answers]),
        tuple(itertools.chain.from_iterable(one.mixture.effects for one in answers)),
    )
    tail = (1 - level) / 2
    variance = mixture.variance_of_parameters + mixture.variance_of_structure
    at_most, nil = mixture.below(0.0), mixture.nil
    labels_x, labels_y = data.states[x], data.states[y]
    ratios = [ratio for one in answers for ratio in one.ratios]
    return Effect(
        cause=data.names[x],
        outcome=data.names[y],
        change=None if steps is None or labels_x is None else (labels_x[steps[0]], labels_x[steps[1]]),
        state=None if target is None or labels_y is None else labels_y[target],
        mean=mixture.mean,
        sd=math.sqrt(variance),
        interval=(mixture.quantile(tail), mixture.quantile(1 - tail)),
        level=level,
        nil=nil,
        positive=max(0.0, 1.0 - at_most),
        negative=max(0.0, at_most - nil),
        structure_share=mixture.variance_of_structure / variance if variance else 0.0,
        unsupported=share * math.fsum(one.unsupported for one in answers),
        ratio=None if steps is None or target is None else _ratio(mixture.weights, ratios, nil, tail),
        do=_do_frame([one.do for one in answers], data, x, y),
        parts=_parts(mixture),
        n_draws=query.n_draws if any(isinstance(effect, Drawn) for effect in mixture.effects) else 0,
        n_sampled=sum(one.n_sampled for one in answers),
        standard_error=share * math.sqrt(math.fsum(one.squared_error for one in answers)),
    )


@dataclass(frozen=True, eq=False)
class _Answer:
    """What one table says of an effect."""

    mixture: Mixture
    ratios: list[NDArray[np.float64]]
    unsupported: float
    do: NDArray[np.float64] | None
    n_sampled: int

    @property
    def squared_error(self) -> float:
        """The variance of the mean from taking random networks: each has its own effect."""
        return self.mixture.variance_of_structure / self.n_sampled if self.n_sampled else 0.0


def _answer(
    causes: CauseProbabilities,
    data: Dataset,
    x: int,
    y: int,
    steps: tuple[int, int] | None,
    target: int | None,
    query: Query,
    random: Generator,
) -> _Answer:
    adjustment = Adjustment(data, x, *query.priors)
    own = np.flatnonzero((causes.nodes == x) & (causes.paths[:, y] > 0))
    own = own[np.argsort(-causes.paths[own, y], kind="stable")]
    weights = causes.paths[own, y]
    sets = [tuple(parents) for parents in parent_positions(causes.masks[own])]
    for parents in sets:
        why = adjustment.refusal(parents, y)
        if why is not None:
            raise OptionError(
                f"the effect of {data.names[x]!r} on {data.names[y]!r} has no closed form: {why}; make numbers "
                "categories, or categories numbers, when learning"
            )
    effects, ratios = list[EffectPosterior](), list[NDArray[np.float64]]()
    for parents in sets:
        if steps is None:
            effects.append(adjustment.slope(parents, y, random, query.n_draws))
        elif target is None:
            effects.append(adjustment.mean_difference(parents, y, steps, random, query.n_draws))
        else:
            drawn, ratio = adjustment.risk_difference(parents, y, steps, target, random, query.n_draws)
            effects.append(drawn)
            ratios.append(ratio)
    names = tuple(tuple(data.names[v] for v in parents) for parents in sets)
    mixture = Mixture(names, weights, tuple(effects))
    without_match = 0.0
    if steps is not None:
        without_match = math.fsum(w * adjustment.unsupported(z, steps) for w, z in zip(weights, sets, strict=True))
    do = _do(adjustment, sets, weights, mixture.nil, y)
    return _Answer(mixture, ratios, without_match, do, causes.n_sampled)


def _change(data: Dataset, x: int, change: tuple[object, object] | None) -> tuple[int, int] | None:
    """Return the positions of the two states of a categorical cause; the first and the last unless they are given."""
    labels = data.states[x]
    if data.names[x] in data.constant_columns:
        raise OptionError(
            f"{data.names[x]!r} is constant, so the table says nothing of its effects; give another cause"
        )
    if labels is None:
        if change is not None:
            raise OptionError.refusing("change", change, f"{data.names[x]!r} is a number, which rises by one unit")
        return None
    if change is None:
        return 0, len(labels) - 1
    if not isinstance(change, tuple | list) or len(change) != 2:
        raise OptionError.refusing("change", change, "it must be two states of the cause, from and to")
    before, after = (state_code(labels, state, data.names[x], "change") for state in change)
    return before, after


def _state(data: Dataset, y: int, state: object | None) -> int | None:
    labels = data.states[y]
    if labels is None:
        if state is not None:
            raise OptionError.refusing("state", state, f"{data.names[y]!r} is a number and has no states")
        return None
    return len(labels) - 1 if state is None else state_code(labels, state, data.names[y], "state")


def _ratio(
    weights: NDArray[np.float64], ratios: list[NDArray[np.float64]], nil: float, tail: float
) -> tuple[float, float, float]:
    """Return the median and the middle of the risk ratio, which is 1 where there is no effect."""
    values = np.concatenate([np.ones(1), *ratios])
    masses = np.concatenate([[nil], *(np.full(len(of), w / len(of)) for w, of in zip(weights, ratios, strict=True))])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(masses[order])
    at = np.minimum(np.searchsorted(reached, np.array([0.5, tail, 1 - tail]) * reached[-1]), len(values) - 1)
    median, low, high = values[order[at]].tolist()
    return median, low, high


def _do(
    adjustment: Adjustment, sets: list[tuple[int, ...]], weights: NDArray[np.float64], nil: float, y: int
) -> NDArray[np.float64] | None:
    """Return the mean of the outcome's distribution, or of its mean, for each state of a categorical cause."""
    n_states = adjustment.n_states
    if n_states is None:
        return None
    parts = [w * adjustment.means(parents, y) for w, parents in zip(weights, sets, strict=True)]
    alone = nil * adjustment.without(y)
    return sum(parts, np.zeros((n_states, *alone.shape)) + alone)


def _do_frame(found: Sequence[NDArray[np.float64] | None], data: Dataset, x: int, y: int) -> DataFrame | None:
    """Return the average of what tables say, with names; None where the cause is a number."""
    import pandas as pd

    known = [one for one in found if one is not None]
    labels, states = data.states[x], data.states[y]
    if not known or labels is None:
        return None
    columns = ["mean"] if states is None else pd.Index(states, name=data.names[y])
    mean = np.mean(known, axis=0).reshape(len(labels), -1)
    return pd.DataFrame(mean, index=pd.Index(labels, name=data.names[x]), columns=columns)


def _parts(mixture: Mixture) -> DataFrame:
    """Return what each parent set adds, those of several tables together."""
    import pandas as pd

    weights, firsts, seconds = (dict.fromkeys(mixture.parents, 0.0) for _ in range(3))
    for parents, weight, effect in zip(mixture.parents, mixture.weights.tolist(), mixture.effects, strict=True):
        weights[parents] += weight
        firsts[parents] += weight * effect.mean
        seconds[parents] += weight * (effect.variance + effect.mean**2)
    means = {parents: firsts[parents] / weight for parents, weight in weights.items()}
    order = sorted(weights, key=lambda parents: -weights[parents])
    return pd.DataFrame(
        {
            "parents": pd.Series(order, dtype=object),
            "weight": [weights[parents] for parents in order],
            "mean": [means[parents] for parents in order],
            "sd": [math.sqrt(max(0.0, seconds[z] / weights[z] - means[z] ** 2)) for z in order],
        }
    )


def all_effects(causes: CauseProbabilities, data: Dataset, priors: tuple[float, float]) -> Effects:
    """Return how strong the effect of each variable on each other is, on average over networks."""
    n = len(data.names)
    strengths, squares, paths = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    np.add.at(paths, causes.nodes, causes.paths)
    for x in range(n):
        if data.interventions is not None and data.interventions.set_others(x).all():  # no row tells its effects
            strengths[x, paths[x] > 0] = math.nan
            continue
        adjustment = Adjustment(data, x, *priors)
        own = np.flatnonzero(causes.nodes == x)
        for row, parents in zip(own.tolist(), map(tuple, parent_positions(causes.masks[own])), strict=True):
            for y in np.flatnonzero(causes.paths[row]).tolist():
                if adjustment.refusal(parents, y) is None:
                    strength = adjustment.strength(parents, y)
                    strengths[x, y] += causes.paths[row, y] * strength
                    squares[x, y] += causes.paths[row, y] * strength**2
                else:
                    strengths[x, y] = math.nan
    paths, error = np.minimum(paths, 1.0), 0.0
    if causes.n_sampled:
        variances = np.stack([squares - strengths**2, paths * (1 - paths)])
        error = math.sqrt(max(0.0, float(np.nanmax(variances))) / causes.n_sampled)
    return Effects(pair_frame(data.names, strengths), pair_frame(data.names, paths), causes.n_sampled, error)


def table_and_priors(
    source: CredibleSet | Posterior,
    data: Any,
    allow_other_data: bool,
    read_options: dict[str, Any],
    size: float | None,
    pseudo_rows: float,
) -> tuple[Dataset, tuple[float, float]]:
    """Return the table that networks were learned from, and the weights of the priors in rows."""
    if isinstance(source, Posterior):
        table = training_data(source.names, source.provenance, None, data, allow_other_data, read_options)
        return table, priors_of(source.provenance, size, pseudo_rows)
    table = training_table(source, data, allow_other_data, read_options)
    return table, priors_of(source.score_table.provenance, size, pseudo_rows)


def priors_of(provenance: Mapping[str, Any], size: float | None, pseudo_rows: float) -> tuple[float, float]:
    """Return the weights of the priors, in rows."""
    size = default_sample_size(provenance) if size is None else size
    for name, value in (("equivalent_sample_size", size), ("pseudo_rows", pseudo_rows)):
        if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < math.inf:
            raise OptionError.refusing(name, value, "it must be a number above 0")
    return float(size), float(pseudo_rows)
