"""Moments of continuous variables in the cells of discrete ones, shrunk towards the table's, and regressions from them.

The prior and the posterior means are defined in `credibn.models.fitting`. Columns are centred and scaled before they
are squared, so that neither large offsets nor extreme units lose digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.data import Dataset
from credibn.errors import DataError
from credibn.models.local_models import LinearGaussian
from credibn.scores.moments import COLLINEAR, standardise

_CONSTANT_SD = 2.0**-26
"""Standard deviation of a constant column, relative to its value: the smallest whose square survives rounding."""
_LOST = 1e-13
"""If others leave a smaller share of a variable's variance unexplained, no digit of that share is certain."""


@dataclass(frozen=True)
class Cells:
    """The cell of discrete variables of each distinct row, and the number of rows in each cell."""

    codes: NDArray[np.intp]
    counts: NDArray[np.float64]


def cells_of(data: Dataset, discrete: Sequence[int]) -> Cells:
    """Return the cells of some discrete variables, the last changing fastest."""
    codes, n_cells = np.zeros(data.n_distinct, dtype=np.intp), 1
    for v in discrete:
        codes = codes * int(data.arities[v]) + data.columns[v]
        n_cells *= int(data.arities[v])
    counts: NDArray[np.float64] = np.bincount(codes, weights=data.weights, minlength=n_cells).astype(np.float64)
    return Cells(codes, counts)


@np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite are refused at the end
def fit_regression(
    data: Dataset, child: int, discrete: tuple[int, ...], continuous: tuple[int, ...], kappa: float
) -> LinearGaussian:
    """Derive the regression of the child on its continuous parents from their joint moments in each cell.

    `kappa` is the number of pseudo-rows: 0 for maximum likelihood.
    """
    shape = tuple(int(data.arities[v]) for v in discrete)
    units = _standardise(data, (*continuous, child))
    coefficients = np.zeros((math.prod(shape), len(continuous)))
    used = np.flatnonzero(units.varies[:-1])  # a constant parent explains nothing
    if not units.varies[-1]:
        intercepts = np.full(len(coefficients), units.means[-1])
        variances = np.full(len(coefficients), units.sds[-1] ** 2)
    else:
        means, covariances = _shrunk_moments(data, child, discrete, units.take(np.append(used, len(continuous))), kappa)
        factors = _factors(data, child, covariances)
        inner = np.swapaxes(factors[:, :-1, :-1], -1, -2)
        slopes = np.linalg.solve(inner, factors[:, -1, :-1, None])[..., 0]
        sd = units.sds[-1]
        coefficients[:, used] = slopes * sd / units.sds[used]
        offsets = means[:, -1] - (slopes * means[:, :-1]).sum(axis=1)
        intercepts = units.means[-1] + sd * offsets - coefficients @ units.means[:-1]
        variances = (sd * factors[:, -1, -1]) ** 2
    if not (variances > 0).all() or not all(np.isfinite(part).all() for part in (variances, intercepts, coefficients)):
        raise _unit_error(data, (*continuous, child))
    return LinearGaussian(
        discrete,
        continuous,
        intercepts.reshape(shape),
        coefficients.reshape(*shape, len(continuous)),
        variances.reshape(shape),
    )


@np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite are refused at the end
def moments_in_cells(
    data: Dataset, child: int, family: tuple[int, ...], continuous: tuple[int, ...], kappa: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and covariances of continuous variables in each cell of the family, in the columns' own units."""
    units = _standardise(data, continuous)
    n_cells, k = math.prod(int(data.arities[v]) for v in family), len(continuous)
    means, covariances = np.zeros((n_cells, k)), np.tile(np.eye(k), (n_cells, 1, 1))
    used = np.flatnonzero(units.varies)
    if used.size:
        found = _shrunk_moments(data, child, family, units.take(used), kappa)
        _factors(data, child, found[1])
        means[:, used], covariances[:, used[:, None], used] = found
    covariances *= units.sds[:, None] * units.sds
    means = units.means + units.sds * means
    diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
    if not (diagonal > 0).all() or not (np.isfinite(covariances).all() and np.isfinite(means).all()):
        raise _unit_error(data, continuous)
    return means, covariances


@dataclass(frozen=True)
class _Standardised:
    """Continuous columns with mean 0 and variance 1, if they vary, and their original moments."""

    names: tuple[str, ...]
    rows: tuple[NDArray[np.float64], ...]
    means: NDArray[np.float64]
    sds: NDArray[np.float64]
    varies: NDArray[np.bool_]

    def take(self, chosen: NDArray[np.intp]) -> _Standardised:
        names, rows = tuple(self.names[at] for at in chosen), tuple(self.rows[at] for at in chosen)
        return _Standardised(names, rows, self.means[chosen], self.sds[chosen], self.varies[chosen])


def _standardise(data: Dataset, columns: Sequence[int]) -> _Standardised:
    found = [standardise(data.columns[v], data.weights) for v in columns]
    log_sds = np.array([log_sd for _, log_sd in found])
    varies = np.isfinite(log_sds)
    values = [data.columns[v] for v in columns]
    means = np.array([column[0] + data.weights @ (column - column[0]) / data.n_rows for column in values])
    smallest = _CONSTANT_SD * np.maximum(1.0, np.abs(means))
    sds = np.where(varies, np.exp(log_sds), smallest)
    return _Standardised(tuple(data.names[v] for v in columns), tuple(rows for rows, _ in found), means, sds, varies)


def _shrunk_moments(
    data: Dataset, child: int, discrete: Sequence[int], continuous: _Standardised, kappa: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and covariances in each cell, in units where the table has means 0 and V the identity."""
    rows, cells, k = continuous.rows, cells_of(data, discrete), len(continuous.rows)
    n_cells, n = len(cells.counts), cells.counts
    means = np.zeros((n_cells, k))
    for a in range(k):
        means[:, a] = np.bincount(cells.codes, weights=data.weights * rows[a], minlength=n_cells)
    means /= np.maximum(n, 1.0)[:, None]
    centred = [row - means[cells.codes, a] for a, row in enumerate(rows)]
    scatters = np.zeros((n_cells, k, k))
    for a in range(k):
        weighted = data.weights * centred[a]
        for b in range(a + 1):
            products = np.bincount(cells.codes, weights=weighted * centred[b], minlength=n_cells)
            scatters[:, a, b] = scatters[:, b, a] = products
    if kappa == 0:
        _refuse_singular(data, child, discrete, continuous.names, n, scatters)
        return means, scatters / n[:, None, None]
    scatters += kappa * np.eye(k)
    scatters += (n * kappa / (n + kappa))[:, None, None] * means[:, :, None] * means[:, None]
    return means * (n / (n + kappa))[:, None], scatters / (n + kappa)[:, None, None]


def _factors(data: Dataset, child: int, covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Cholesky factors of covariances in units where the table's variances are 1."""
    try:
        factors: NDArray[np.float64] = np.linalg.cholesky(covariances).astype(np.float64)
        shares = np.diagonal(factors, axis1=-2, axis2=-1) ** 2 / np.diagonal(covariances, axis1=-2, axis2=-1)
        is_sound = shares.min() > _LOST
    except np.linalg.LinAlgError:
        is_sound = False
    if not is_sound:
        raise DataError(
            f"the continuous variables of {data.names[child]!r} and its parents determine each other, and against "
            f"{data.n_rows:,} rows the prior is lost to rounding: use more pseudo_rows, or give fewer parents"
        )
    return factors


def _refuse_singular(
    data: Dataset,
    child: int,
    discrete: Sequence[int],
    continuous: Sequence[str],
    counts: NDArray[np.float64],
    scatters: NDArray[np.float64],
) -> None:
    """Raise for the first cell whose rows do not determine a covariance matrix."""
    variances = np.diagonal(scatters, axis1=-2, axis2=-1) / np.maximum(counts, 1.0)[:, None]
    is_singular = np.asarray((variances <= COLLINEAR).any(axis=1))  # the table's own variance is 1
    scales = np.sqrt(np.where(is_singular[:, None], 1.0, variances * np.maximum(counts, 1.0)[:, None]))
    correlations = scatters / scales[:, :, None] / scales[:, None]
    is_singular |= np.linalg.eigvalsh(correlations)[:, 0] <= COLLINEAR
    if not is_singular.any():
        return
    cell = int(is_singular.argmax())
    codes = np.unravel_index(cell, data.arities[list(discrete)]) if discrete else ()
    labels = [f"{data.names[v]!r} = {(data.states[v] or ())[code]!r}" for v, code in zip(discrete, codes, strict=True)]
    where = f" where {', '.join(labels)}" if labels else ""
    n_rows = int(counts[cell])
    raise DataError(
        f"maximum likelihood of {data.names[child]!r}: the {n_rows:,} rows{where} do not determine the covariance of "
        f"{', '.join(map(repr, continuous))} (too few, or one follows from the others). Use "
        "method='posterior_mean', or give fewer parents"
    )


def _unit_error(data: Dataset, columns: Iterable[int]) -> DataError:
    return DataError(
        f"a variance of {', '.join(repr(data.names[v]) for v in columns)} is too large or too small for a number; "
        "change the unit of the column"
    )
