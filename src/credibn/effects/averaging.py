"""Average causal effects over the networks of a credible set, without listing them.

Networks are grouped by the parents of the cause and by whether the outcome descends from it. The probabilities of the
groups come from the classes (`credibn.credible.averages`): within a class the parents of a node decide what descends
from it, so nothing is listed. Each group has one effect, by adjusting for the parents; where the outcome does not
descend from the cause it is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn.data import Dataset
from credibn.effects.adjusting import Adjustment, Drawn, EffectPosterior
from credibn.effects.effect import Effect, Effects, Mixture
from credibn.errors import OptionError
from credibn.models.averaging_networks import default_sample_size
from credibn.posterior.parent_sets import CauseProbabilities, pair_frame
from credibn.scores.constraints import position_of
from credibn.scores.table import parent_positions


def effect_of(
    causes_of: Callable[[int], CauseProbabilities],
    data: Dataset,
    cause: str | int,
    outcome: str | int,
    change: tuple[object, object] | None,
    state: object | None,
    level: float,
    priors: tuple[float, float],
    n_draws: int,
    seed: int,
) -> Effect:
    """Return the effect of one variable on another: see `CredibleSet.effects`."""
    x, y = position_of(data.names, cause, "cause"), position_of(data.names, outcome, "outcome")
    if x == y:
        raise OptionError(f"cause and outcome are both {data.names[x]!r}; give two variables")
    if not 0 < level < 1:
        raise OptionError.refusing("level", level, "it must be a number between 0 and 1, such as 0.95")
    n_draws = whole_number("n_draws", n_draws, 100)
    random = np.random.default_rng(whole_number("seed", seed, 0))
    steps = _change(data, x, change)
    target = _state(data, y, state)
    adjustment, causes = Adjustment(data, x, *priors), causes_of(x)
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
            effects.append(adjustment.slope(parents, y, random, n_draws))
        elif target is None:
            effects.append(adjustment.mean_difference(parents, y, steps, random, n_draws))
        else:
            drawn, ratio = adjustment.risk_difference(parents, y, steps, target, random, n_draws)
            effects.append(drawn)
            ratios.append(ratio)
    names = tuple(tuple(data.names[v] for v in parents) for parents in sets)
    mixture = Mixture(names, weights, tuple(effects))
    tail = (1 - level) / 2
    variance = mixture.variance_of_parameters + mixture.variance_of_structure
    at_most, nil = mixture.below(0.0), mixture.nil
    labels_x, labels_y = data.states[x], data.states[y]
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
        unsupported=_unsupported(adjustment, sets, weights, steps),
        ratio=None if target is None else _ratio(weights, ratios, nil, tail),
        do=_do_frame(adjustment, sets, weights, nil, y, data),
        parts=_parts(mixture),
        n_draws=n_draws if any(isinstance(effect, Drawn) for effect in effects) else 0,
    )


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
    before, after = (_position(data, x, state, "change") for state in change)
    return before, after


def _state(data: Dataset, y: int, state: object | None) -> int | None:
    labels = data.states[y]
    if labels is None:
        if state is not None:
            raise OptionError.refusing("state", state, f"{data.names[y]!r} is a number and has no states")
        return None
    return len(labels) - 1 if state is None else _position(data, y, state, "state")


def _position(data: Dataset, v: int, state: object, option: str) -> int:
    labels = data.states[v] or ()
    for position, label in enumerate(labels):
        if label == state or str(label) == str(state):
            return position
    known = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
    raise OptionError.refusing(option, state, f"the states of {data.names[v]!r} are {known}")


def _unsupported(
    adjustment: Adjustment, sets: list[tuple[int, ...]], weights: NDArray[np.float64], steps: tuple[int, int] | None
) -> float:
    if steps is None:
        return 0.0
    return math.fsum(w * adjustment.unsupported(parents, steps) for w, parents in zip(weights, sets, strict=True))


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


def _do_frame(
    adjustment: Adjustment,
    sets: list[tuple[int, ...]],
    weights: NDArray[np.float64],
    nil: float,
    y: int,
    data: Dataset,
) -> Any:
    """Return the mean of the outcome's distribution, or of its mean, for each state of a categorical cause."""
    import pandas as pd

    labels = data.states[adjustment.cause]
    if labels is None:
        return None
    parts = [w * adjustment.means(parents, y) for w, parents in zip(weights, sets, strict=True)]
    alone = nil * adjustment.without(y)
    found = sum(parts, np.zeros((len(labels), *alone.shape)) + alone)
    index = pd.Index(labels, name=data.names[adjustment.cause])
    states = data.states[y]
    columns = ["mean"] if states is None else pd.Index(states, name=data.names[y])
    return pd.DataFrame(found.reshape(len(labels), -1), index=index, columns=columns)


def _parts(mixture: Mixture) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            "parents": pd.Series(list(mixture.parents), dtype=object),
            "weight": mixture.weights,
            "mean": [effect.mean for effect in mixture.effects],
            "sd": [math.sqrt(effect.variance) for effect in mixture.effects],
        }
    )


def all_effects(causes: CauseProbabilities, data: Dataset, priors: tuple[float, float]) -> Effects:
    """Return how strong the effect of each variable on each other is, on average over networks."""
    n = len(data.names)
    strengths, paths = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(paths, causes.nodes, causes.paths)
    for x in range(n):
        adjustment = Adjustment(data, x, *priors)
        own = np.flatnonzero(causes.nodes == x)
        for row, parents in zip(own.tolist(), map(tuple, parent_positions(causes.masks[own])), strict=True):
            for y in np.flatnonzero(causes.paths[row]).tolist():
                if adjustment.refusal(parents, y) is None:
                    strengths[x, y] += causes.paths[row, y] * adjustment.strength(parents, y)
                else:
                    strengths[x, y] = math.nan
    return Effects(pair_frame(data.names, strengths), pair_frame(data.names, np.minimum(paths, 1.0)))


def priors_of(provenance: Mapping[str, Any], size: float | None, pseudo_rows: float) -> tuple[float, float]:
    """Return the weights of the priors, in rows."""
    size = default_sample_size(provenance) if size is None else size
    for name, value in (("equivalent_sample_size", size), ("pseudo_rows", pseudo_rows)):
        if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < math.inf:
            raise OptionError.refusing(name, value, "it must be a number above 0")
    return float(size), float(pseudo_rows)
