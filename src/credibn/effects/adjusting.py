"""The effect of a variable on another where the parents of the first are known: adjust for them (Pearl 2009, 3.3).

With z the parents of the cause x, and y a descendant of x,

    P(y | do(x)) = sum over z of P(y | x, z) P(z).

Parameters have the conjugate priors of `credibn.models.fitting`, so that they are worth the same few rows here. All
three factors have posteriors that are independent of each other; hence the mean of the effect is that of the formula
with the means of the factors in place, and its variance has a closed form. Quantiles come from independent draws, but
for one case: a t distribution.

- Everything categorical: P(z) and P(y | x, z) have Dirichlet posteriors, with ``equivalent_sample_size`` spread evenly
  over the cells of (z, x, y).
- Cause and outcome continuous: in each cell c of the categorical parents, the slope of x in the regression of y on x
  and the continuous parents has a t distribution; the effect of one more unit of x is the mean of the slopes, weighted
  by P(c). Without categorical parents it is a t distribution.
- A categorical cause of a continuous outcome, where all parents are categorical: the mean of y in each cell has a t
  distribution.

No other combination has a closed form in these models: a category that depends on numbers, or a categorical cause with
continuous parents. They are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import stdtr

from credibn.data import Dataset
from credibn.errors import OptionError
from credibn.scores.moments import standardise

Floats = NDArray[np.float64]
_MOST_EMPTY_CELLS = 1000
"""More cells without a row stay at their mean when draws are made: together they weigh at most as the prior does."""


class EffectPosterior(Protocol):
    """What the data say of an effect where the parents of the cause are known."""

    @property
    def mean(self) -> float:
        """The mean."""
        ...

    @property
    def variance(self) -> float:
        """The variance."""
        ...

    def below(self, value: float) -> float:
        """Return the probability that the effect is at most `value`."""
        ...


@dataclass(frozen=True)
class StudentT:
    """A t distribution with a location and a scale, and more than two degrees of freedom."""

    mean: float
    scale: float
    df: float

    @property
    def variance(self) -> float:
        """The variance."""
        return self.scale**2 * self.df / (self.df - 2)

    def below(self, value: float) -> float:
        """Return the probability that the effect is at most `value`."""
        return float(stdtr(self.df, (value - self.mean) / self.scale))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Independent draws of an effect, and its exact mean and variance."""

    mean: float
    variance: float
    draws: Floats  # increasing

    def below(self, value: float) -> float:
        """Return the share of the draws that are at most `value`."""
        return float(np.searchsorted(self.draws, value, side="right") / len(self.draws))


class Adjustment:
    """The effects of one cause in a table, whatever its parents are.

    Rows in which another variable was set from outside are left out: there neither P(z) nor P(y | x, z) need be what
    it is where nothing is done. Rows in which only the cause was set stay, since z does not descend from x.

    `size` pseudo-rows are spread over the cells of categorical variables; normal distributions have `kappa`.
    """

    def __init__(self, data: Dataset, cause: int, size: float, kappa: float) -> None:
        self.cause = cause
        if data.interventions is not None:
            is_other_set = data.interventions.set_others(cause)
            if is_other_set.all():
                raise OptionError(
                    "in every row a variable other than {0!r} was set, so the table cannot tell its effects; give "
                    "another cause, or add rows in which nothing or {0!r} alone was set",
                    data.names[cause],
                )
            data = data.rows_where(~is_other_set)[0]
        self._data, self._size, self._kappa = data, size, kappa
        self._is_numeric = [states is None for states in data.states]
        self._cells = lru_cache(4)(self._find_cells)
        self._column = lru_cache(None)(self._standardise)
        self._unit = lru_cache(None)(self._find_unit)

    @property
    def n_states(self) -> int | None:
        """The number of states of the cause; None where it is a number."""
        return None if self._is_numeric[self.cause] else int(self._data.arities[self.cause])

    def refusal(self, parents: tuple[int, ...], outcome: int) -> str | None:
        """Return why the effect has no closed form; None where it has one."""
        names, cause = self._data.names, self._data.names[self.cause]
        if self._is_numeric[self.cause] and not self._is_numeric[outcome]:
            return f"{cause!r} is a number and {names[outcome]!r} a category"
        numeric = [names[v] for v in parents if self._is_numeric[v]]
        if numeric and not self._is_numeric[self.cause]:
            return f"{cause!r} is a category and has the number {numeric[0]!r} among its parents in some networks"
        return None

    def means(self, parents: tuple[int, ...], outcome: int) -> Floats:
        """Return posterior means: P(y | do(x)), a row for each state of x; E(y | do(x)) for each; or the slope."""
        if self._is_numeric[self.cause]:
            categorical = tuple(v for v in parents if not self._is_numeric[v])
            alphas, of_empty = self._weights(categorical)
            total = math.fsum(alphas) + (self._cells(categorical)[0] - len(alphas)) * of_empty
            locations = self._slopes(parents, outcome)[0]
            return np.array(self._unit(outcome)[1] / self._unit(self.cause)[1] * float(alphas @ locations) / total)
        weights, _ = self._weights(parents)
        if self._is_numeric[outcome]:
            locations = self._cell_means(parents, outcome)[0]
            mean, sd = self._unit(outcome)
            return mean + sd * (weights / (self._data.n_rows + self._size) @ locations)
        counts, n_cells, pseudo = self._counts(parents, outcome)
        smoothed = counts + pseudo
        total = self._data.n_rows + self._size
        occurring: Floats = np.einsum("z,zxy->xy", weights / total, smoothed / smoothed.sum(axis=2, keepdims=True))
        found: Floats = occurring + (n_cells - len(counts)) / n_cells * self._size / total / counts.shape[2]
        return found

    def without(self, outcome: int) -> Floats:
        """Return the posterior mean of P(y), or of E(y), where nothing is done to it."""
        data = self._data
        if self._is_numeric[outcome]:
            return np.array(self._unit(outcome)[0])
        counts = self._sums(data.columns[outcome], int(data.arities[outcome]))
        found: Floats = (counts + self._size / len(counts)) / (data.n_rows + self._size)
        return found

    def strength(self, parents: tuple[int, ...], outcome: int) -> float:
        """Return how strong the effect is, without its sign, with the parameters at their posterior means.

        The total variation between the distributions of the outcome for the two states of the cause that differ most;
        for a continuous outcome its means, or its rise with one standard deviation of the cause, in standard
        deviations.
        """
        means = self.means(parents, outcome)
        if not self._is_numeric[outcome]:
            return 0.5 * float(np.abs(means[:, None] - means[None]).sum(axis=2).max())
        sd = self._unit(outcome)[1]
        if sd == 0:
            return 0.0
        if self._is_numeric[self.cause]:
            return abs(float(means)) * self._unit(self.cause)[1] / sd
        return float(means.max() - means.min()) / sd

    def risk_difference(
        self, parents: tuple[int, ...], outcome: int, change: tuple[int, int], state: int, random: Generator, n: int
    ) -> tuple[Drawn, Floats]:
        """Return P(y | do(x1)) - P(y | do(x0)) for one state y of the outcome, and draws of the ratio of the two."""
        counts, n_cells, pseudo = self._counts(parents, outcome)
        weights, of_empty = self._weights(parents)
        hits = [counts[:, x, state] + pseudo for x in change]
        misses = [counts[:, x].sum(axis=1) + pseudo * counts.shape[2] - a for x, a in zip(change, hits, strict=True)]
        n_empty = n_cells - len(counts)
        prior = pseudo, pseudo * (counts.shape[2] - 1)
        moments = [_beta_moments(a, b) for a, b in zip(hits, misses, strict=True)]
        of_prior = 2 * float(_beta_moments(np.array(prior[0]), np.array(prior[1]))[1])
        means, variances = moments[1][0] - moments[0][0], moments[0][1] + moments[1][1]
        mean, variance = _weighted(weights, of_empty, n_empty, means, variances, of_prior)
        n_drawn = n_empty if n_empty <= _MOST_EMPTY_CELLS else 0
        alphas = np.concatenate([weights, np.full(n_drawn, of_empty)])
        shares = random.standard_gamma(alphas, (n, len(alphas)))
        rest = random.standard_gamma(of_empty * (n_empty - n_drawn), n) if n_drawn < n_empty else np.zeros(n)
        total = shares.sum(axis=1) + rest
        risks = [
            (
                (
                    shares
                    * random.beta(np.append(a, [prior[0]] * n_drawn), np.append(b, [prior[1]] * n_drawn), shares.shape)
                ).sum(axis=1)
                + rest / counts.shape[2]
            )
            / total
            for a, b in zip(hits, misses, strict=True)
        ]
        with np.errstate(divide="ignore"):
            return Drawn(mean, variance, np.sort(risks[1] - risks[0])), risks[1] / risks[0]

    def unsupported(self, parents: tuple[int, ...], change: tuple[int, int]) -> float:
        """Return the share of the rows whose cell of the parents lacks a state: there the prior alone speaks."""
        _, counts, place = self._cells(parents)
        data, r = self._data, int(self._data.arities[self.cause])
        seen = np.bincount(place * r + data.columns[self.cause], minlength=len(counts) * r).reshape(-1, r) > 0
        return float(counts[~seen[:, list(change)].all(axis=1)].sum() / counts.sum())

    def mean_difference(
        self, parents: tuple[int, ...], outcome: int, change: tuple[int, int], random: Generator, n: int
    ) -> Drawn:
        """Return E(y | do(x1)) - E(y | do(x0)) of a continuous outcome, for a categorical cause."""
        locations, scales, dfs = self._cell_means(parents, outcome)
        weights, of_empty = self._weights(parents)
        _, sd = self._unit(outcome)
        n_empty = self._cells(parents)[0] - len(weights)
        before, after = change
        variances = scales**2 * dfs / (dfs - 2)
        df = self._kappa + 2
        of_prior = 2 * df / (df - 2) / df  # two means of which the data say nothing
        means = locations[:, after] - locations[:, before]
        mean, variance = _weighted(
            weights, of_empty, n_empty, means, variances[:, after] + variances[:, before], of_prior
        )
        drawn = [
            locations[:, x] + scales[:, x] * random.standard_t(dfs[:, x], (n, len(weights))) for x in (before, after)
        ]
        return Drawn(
            sd * mean,
            sd**2 * variance,
            np.sort(sd * self._draw(weights, of_empty, n_empty, drawn[1] - drawn[0], random)),
        )

    def slope(self, parents: tuple[int, ...], outcome: int, random: Generator, n: int) -> StudentT | Drawn:
        """Return how much a continuous outcome rises with one more unit of a continuous cause."""
        categorical = tuple(v for v in parents if not self._is_numeric[v])
        unit = self._unit(outcome)[1] / self._unit(self.cause)[1]
        locations, scales, dfs = self._slopes(parents, outcome)
        n_cells = self._cells(categorical)[0]
        if n_cells == 1:
            return StudentT(unit * float(locations[0]), unit * float(scales[0]), float(dfs[0]))
        weights, of_empty = self._weights(categorical)
        n_empty, df = n_cells - len(locations), self._kappa + len(parents) - len(categorical) + 3
        mean, variance = _weighted(weights, of_empty, n_empty, locations, scales**2 * dfs / (dfs - 2), 1 / (df - 2))
        drawn = locations + scales * random.standard_t(dfs, (n, len(locations)))
        return Drawn(
            unit * mean, unit**2 * variance, np.sort(unit * self._draw(weights, of_empty, n_empty, drawn, random))
        )

    def _slopes(self, parents: tuple[int, ...], outcome: int) -> tuple[Floats, Floats, Floats]:
        """Return location, scale and degrees of freedom of the slope in each cell, for standardised columns."""
        categorical = tuple(v for v in parents if not self._is_numeric[v])
        members = [*(v for v in parents if self._is_numeric[v]), self.cause, outcome]
        _, counts, place = self._cells(categorical)
        columns = np.stack([self._column(v)[0] for v in members])
        locations, scales = np.zeros(len(counts)), np.zeros(len(counts))
        dfs: Floats = counts + np.float64(self._kappa + len(members) + 1)
        for cell, count in enumerate(counts.tolist()):
            rows = columns[:, place == cell] if len(counts) > 1 else columns
            weights = self._data.weights[place == cell] if len(counts) > 1 else self._data.weights
            means = rows @ weights / count
            deviations = rows - means[:, None]
            moments = (deviations * weights) @ deviations.T + self._kappa * np.eye(len(members))
            moments += count * self._kappa / (count + self._kappa) * np.outer(means, means)
            # The last two pivots of the Cholesky factor: of x given the other parents, of y given all.
            factor = np.linalg.cholesky(moments)
            locations[cell] = factor[-1, -2] / factor[-2, -2]
            scales[cell] = factor[-1, -1] / factor[-2, -2] / math.sqrt(dfs[cell])
        return locations, scales, dfs

    def _draw(self, weights: Floats, of_empty: float, n_empty: int, effects: Floats, random: Generator) -> Floats:
        """Return the means of effects in cells over random weights of the cells; empty cells have none."""
        shares = random.standard_gamma(weights, effects.shape)
        rest = random.standard_gamma(of_empty * n_empty, len(effects)) if n_empty else 0.0
        found: Floats = (shares * effects).sum(axis=1) / (shares.sum(axis=1) + rest)
        return found

    def _sums(self, codes: NDArray[np.integer], length: int, values: Floats | float = 1.0) -> Floats:
        """Return the sum of `values` over the rows with each code."""
        return np.bincount(codes, weights=self._data.weights * values, minlength=length).astype(np.float64)

    def _find_cells(self, columns: tuple[int, ...]) -> tuple[int, NDArray[np.int64], NDArray[np.intp]]:
        """Return how many cells categorical columns have, the rows in those that occur, and where each row is."""
        data = self._data
        place = np.zeros(data.n_distinct, dtype=np.intp)
        n_occurring = 1
        for v in columns:  # renumbered after each column, so that codes stay small
            occurring, place = np.unique(place * int(data.arities[v]) + data.columns[v], return_inverse=True)
            n_occurring = len(occurring)
        counts = self._sums(place, n_occurring).astype(np.int64)
        return math.prod(int(data.arities[v]) for v in columns), counts, place

    def _weights(self, parents: tuple[int, ...]) -> tuple[Floats, float]:
        """Return the Dirichlet parameters of the cells that occur, and that of each other one."""
        n_cells, counts, _ = self._cells(parents)
        return counts + np.float64(self._size / n_cells), self._size / n_cells

    def _counts(self, parents: tuple[int, ...], outcome: int) -> tuple[Floats, int, float]:
        """Return the rows by occurring cell, cause and outcome; the number of cells; the pseudo-count of an entry."""
        data, (n_cells, counts, place) = self._data, self._cells(parents)
        shape = len(counts), int(data.arities[self.cause]), int(data.arities[outcome])
        codes = (place * shape[1] + data.columns[self.cause]) * shape[2] + data.columns[outcome]
        found = self._sums(codes, math.prod(shape))
        return found.reshape(shape), n_cells, self._size / (n_cells * shape[1] * shape[2])

    def _cell_means(self, parents: tuple[int, ...], outcome: int) -> tuple[Floats, Floats, Floats]:
        """Return location, scale and degrees of freedom of the outcome's mean by cell and state of the cause."""
        data, (_, counts, place) = self._data, self._cells(parents)
        shape = len(counts), int(data.arities[self.cause])
        codes, values = place * shape[1] + data.columns[self.cause], self._column(outcome)[0]
        n = self._sums(codes, math.prod(shape))
        means = self._sums(codes, len(n), values) / np.maximum(n, 1)
        squares = self._sums(codes, len(n), (values - means[codes]) ** 2)
        kappa = self._kappa
        dfs = n + kappa + 2
        spread = squares + kappa + n * kappa / (n + kappa) * means**2
        scales = np.sqrt(spread / ((n + kappa) * dfs))
        return (n * means / (n + kappa)).reshape(shape), scales.reshape(shape), dfs.reshape(shape)

    def _standardise(self, v: int) -> tuple[Floats, float]:
        return standardise(self._data.columns[v], self._data.weights)

    def _find_unit(self, v: int) -> tuple[float, float]:
        """Return the mean and the standard deviation of a continuous column; 0 where it is constant."""
        values, weights = self._data.columns[v], self._data.weights
        mean = float(values[0] + weights @ (values - values[0]) / self._data.n_rows)
        return mean, math.exp(self._column(v)[1])


def _beta_moments(hits: Floats, misses: Floats) -> tuple[Floats, Floats]:
    """Return the means and variances of beta distributions."""
    total = hits + misses
    return hits / total, hits * misses / (total**2 * (total + 1))


def _weighted(
    alphas: Floats, of_empty: float, n_empty: int, means: Floats, variances: Floats, of_prior: float
) -> tuple[float, float]:
    """Return mean and variance of sum p_z d_z, p Dirichlet, d independent of it and of each other.

    Empty cells have mean 0 and the variance of the prior. With A the sum of the parameters a_z, E p_z p_w is
    a_z a_w / (A (A + 1)), and for z = w it is a_z (a_z + 1) / (A (A + 1)).
    """
    total = math.fsum(alphas) + n_empty * of_empty
    products = total * (total + 1)
    weighted = float(alphas @ means)
    mean = weighted / total
    spread = float(alphas @ means**2) + float(alphas * (alphas + 1) @ variances)
    spread += n_empty * of_empty * (of_empty + 1) * of_prior
    return mean, max(0.0, (weighted**2 + spread) / products - mean**2)
