"""Effects averaged over structures: a mixture of what each parent set of the cause says, and of no effect at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credibn.effects.adjusting import EffectPosterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

ASSUMPTIONS = (
    "A causal reading assumes that no hidden variable is a common cause of two others, that the causes form no cycle, "
    "and that the rows are independent."
)
_HALVINGS = 200
_WORTH_SAYING = 0.01


@dataclass(frozen=True, eq=False)
class Mixture:
    """Effects for each parent set of the cause, with their probabilities; what is missing from 1 is on no effect."""

    parents: tuple[tuple[str, ...], ...]
    weights: NDArray[np.float64]  # that the cause has these parents and the outcome descends from it
    effects: tuple[EffectPosterior, ...]

    @property
    def nil(self) -> float:
        """The probability that the outcome does not descend from the cause."""
        return max(0.0, 1.0 - math.fsum(self.weights))

    @property
    def mean(self) -> float:
        """The mean effect; networks where there is none count as 0."""
        return math.fsum(w * effect.mean for w, effect in zip(self.weights, self.effects, strict=True))

    @property
    def variance_of_parameters(self) -> float:
        """The mean of the variance within networks: what more rows would reduce, were the structure known."""
        return math.fsum(w * effect.variance for w, effect in zip(self.weights, self.effects, strict=True))

    @property
    def variance_of_structure(self) -> float:
        """The variance of the mean effects of networks: what would remain with known parameters."""
        mean = self.mean
        between = math.fsum(w * (effect.mean - mean) ** 2 for w, effect in zip(self.weights, self.effects, strict=True))
        return between + self.nil * mean**2

    def below(self, value: float) -> float:
        """Return the probability that the effect is at most `value`."""
        known = math.fsum(w * effect.below(value) for w, effect in zip(self.weights, self.effects, strict=True))
        return min(1.0, known + (self.nil if value >= 0 else 0.0))

    def quantile(self, probability: float) -> float:
        """Return the smallest value that the effect is at most with this probability, up to rounding."""
        deviation = math.sqrt(self.variance_of_parameters + self.variance_of_structure)
        low = high = self.mean
        step = deviation or 1.0
        while self.below(low) >= probability:
            low, step = low - step, 2 * step
        step = deviation or 1.0
        while self.below(high) < probability:
            high, step = high + step, 2 * step
        if low < 0.0 <= high:  # where the jump is: a half that ends there is exact
            low, high = (low, 0.0) if self.below(0.0) >= probability else (0.0, high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (low, middle) if self.below(middle) >= probability else (middle, high)
        return high


def sampling_sentence(n_sampled: int, standard_error: float, of_what: str) -> str:
    """Say that random networks stand for all, and what error that makes."""
    return f"From {n_sampled:,} random networks: the standard error of {of_what} is at most {standard_error:.2g}."


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a cause on an outcome, averaged over the networks of a credible set.

    Attributes
    ----------
    cause, outcome : str
    change : tuple of two states, or None
        From which state of a categorical cause to which; None for a continuous one, which rises by one unit.
    state : object or None
        The state of a categorical outcome whose probability changes.
    mean : float
        The posterior mean: the risk difference P(state | do(to)) - P(state | do(from)), the difference of the means of
        a continuous outcome, or its rise with one unit of the cause. Networks in which the outcome does not descend
        from the cause count with an effect of exactly 0.
    sd : float
    interval : tuple of float
        The middle `level` of the posterior.
    level : float
    nil : float
        The probability that there is no effect, since no directed path leads from the cause to the outcome.
    positive, negative : float
        The probabilities that the effect is above and below 0.
    structure_share : float
        The share of the variance that comes from not knowing the structure; the rest comes from the parameters.
    unsupported : float
        The share of rows, on average over networks, for which no row with the same parents of the cause has one of the
        two states of `change`: there the prior speaks, not the table. 0 for a continuous cause.
    ratio : tuple of float or None
        The median of the risk ratio, and its interval; None unless cause and outcome are categorical.
    do : DataFrame or None
        The mean of P(outcome | do(cause)), rows states of the cause; of E(outcome | do(cause)) where the outcome is
        continuous; None where the cause is.
    parts : DataFrame
        For each parent set of the cause, what it adds: weight, mean and sd, the largest weight first.
    n_draws : int
        Draws for each parent set where quantiles and signs are found by drawing; 0 where they are exact.
    n_sampled : int
        Random networks that stand for the set where it is counted, not listed; 0 where all networks count.
    standard_error : float
        Of the mean, at most, from taking random networks; 0 where all networks count.
    """

    cause: str
    outcome: str
    change: tuple[object, object] | None
    state: object | None
    mean: float
    sd: float
    interval: tuple[float, float]
    level: float
    nil: float
    positive: float
    negative: float
    structure_share: float
    unsupported: float
    ratio: tuple[float, float, float] | None
    do: DataFrame | None
    parts: DataFrame
    n_draws: int
    n_sampled: int = 0
    standard_error: float = 0.0

    @property
    def sign_flip(self) -> float:
        """The probability of the sign that the mean does not have."""
        return self.negative if self.mean >= 0 else self.positive

    @property
    def meaning(self) -> str:
        """What the number is the answer to, in one line."""
        if self.change is None:
            return f"rise of {self.outcome} with one unit of {self.cause}"
        what = f"the mean of {self.outcome}" if self.state is None else f"P({self.outcome} = {self.state})"
        return f"change of {what} when {self.cause} is set to {self.change[1]} instead of {self.change[0]}"

    def summary(self) -> str:
        """Return the answer as text, with what it assumes."""
        low, high = self.interval
        lines = [
            f"{self.meaning[0].upper()}{self.meaning[1:]}:",
            f"{self.mean:+.4g} on average, {self.level:.0%} between {low:+.4g} and {high:+.4g}.",
            f"No effect: {self.nil:.1%}. Above 0: {self.positive:.1%}, below 0: {self.negative:.1%}.",
        ]
        if self.sd > 0:
            lines.append(f"{self.structure_share:.0%} of the variance comes from not knowing the structure.")
        if self.ratio is not None:
            median, low, high = self.ratio
            lines.append(f"Risk ratio: {median:.4g}, {self.level:.0%} between {low:.4g} and {high:.4g}.")
        if self.unsupported >= _WORTH_SAYING:
            lines.append(
                f"For {self.unsupported:.0%} of the rows the table has none to compare with, with the same parents of "
                f"{self.cause} and its other state. There the prior decides."
            )
        if self.n_sampled:
            lines.append(sampling_sentence(self.n_sampled, self.standard_error, "the average"))
        return "\n".join([*lines, ASSUMPTIONS])

    def as_json(self) -> Mapping[str, object]:
        """Return the numbers, ready for JSON."""
        return {
            "cause": self.cause,
            "outcome": self.outcome,
            "change": None if self.change is None else [str(state) for state in self.change],
            "state": None if self.state is None else str(self.state),
            "mean": self.mean,
            "sd": self.sd,
            "interval": list(self.interval),
            "level": self.level,
            "probability_nil": self.nil,
            "probability_positive": self.positive,
            "probability_negative": self.negative,
            "structure_share": self.structure_share,
            "unsupported": self.unsupported,
            "risk_ratio": None if self.ratio is None else list(self.ratio),
            "n_draws": self.n_draws,
            "n_sampled": self.n_sampled,
            "standard_error": self.standard_error,
            "assumptions": ASSUMPTIONS,
        }

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Effect({self.meaning}: {self.mean:+.4g} [{low:+.4g}, {high:+.4g}], no effect {self.nil:.1%})"


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of all pairs of variables, averaged over the networks of a credible set.

    Attributes
    ----------
    strengths : DataFrame
        How strong the effect of each cause (row) on each outcome (column) is on average over networks, without its
        sign: the total variation between the outcome's distributions for the two states of the cause that differ
        most; standard deviations of a continuous outcome, for the same or for one standard deviation of a continuous
        cause. Parameters are at their posterior means. NaN where the effect has no closed form.
    paths : DataFrame
        The probability that a directed path leads from the cause to the outcome.
    n_sampled : int
        Random networks that stand for the set where it is counted, not listed; 0 where all networks count.
    standard_error : float
        Of each strength and each path, at most, from taking random networks; 0 where all networks count.
    """

    strengths: DataFrame
    paths: DataFrame
    n_sampled: int = 0
    standard_error: float = 0.0

    def strongest(self, count: int = 10) -> DataFrame:
        """Return the strongest effects: cause, outcome, strength, and the probability of a path.

        Last come those of which the strength is unknown: the models have no closed form for it, or no row tells it.
        """
        import pandas as pd

        strengths, paths = self.strengths.to_numpy(), self.paths.to_numpy()
        order = np.argsort(-strengths, axis=None, kind="stable")  # NaN comes last
        causes, outcomes = np.unravel_index(order[strengths.flat[order] != 0][:count], strengths.shape)
        return pd.DataFrame(
            {
                "cause": self.strengths.index[causes],
                "outcome": self.strengths.columns[outcomes],
                "strength": strengths[causes, outcomes],
                "path": paths[causes, outcomes],
            }
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the heat map of strengths, causes down and outcomes across, on these axes or on those of a new figure.

        Examples
        --------
        >>> from credibn import learn
        >>> from credibn.examples import sample_asia
        >>> table = sample_asia()
        >>> learn(table).effects(table).plot().get_xlabel()
        'Outcome'
        """
        from credibn.report.effects import plot_effects

        return plot_effects(self, axes)

    def __repr__(self) -> str:
        return f"Effects({len(self.strengths)} variables; the strongest:\n{self.strongest(5)})"
