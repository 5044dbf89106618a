"""Moments of continuous variables in the cells of discrete ones, shrunk towards the table's, and regressions from them.

The prior and the posterior means are defined in `credibn.models.fitting`; `credibn.credible.families` counts what they
are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.credible.families import (
    Families,
    categorical_members,
    continuous_members,
    number_of_cells,
)
from credibn.errors import DataError
from credibn.models.local_models import LinearGaussian
from credibn.scores.moments import COLLINEAR

_LOST = 1e-13
"""If others leave a smaller share of a variable's variance unexplained, no digit of that share is certain."""


def cell_counts(table: Families, child: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the number of rows in each cell of the categorical members of a family, the last changing fastest."""
    found = table.statistics(child, parents)
    counts = np.zeros(number_of_cells(table.states, categorical_members(table.states, child, parents)))
    counts[found.cells] = found.counts
    return counts


@np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite are refused at the end
def fit_regression(table: Families, child: int, parents: tuple[int, ...], kappa: float) -> LinearGaussian:
    """Derive the regression of the child on its continuous parents from their joint moments in each cell.

    `kappa` is the number of pseudo-rows: 0 for maximum likelihood.
    """
    discrete = categorical_members(table.states, child, parents)
    members = continuous_members(table.states, child, parents)
    continuous = members[:-1]
    shape = tuple(len(table.states[v] or ()) for v in discrete)
    units = _units(table, members)
    coefficients = np.zeros((number_of_cells(table.states, discrete), len(continuous)))
    used = np.flatnonzero(units.varies[:-1])  # a constant parent explains nothing
    if not units.varies[-1]:
        intercepts = np.full(len(coefficients), units.means[-1])
        variances = np.full(len(coefficients), units.sds[-1] ** 2)
    else:
        means, covariances = _shrunk_moments(table, child, parents, np.append(used, len(continuous)), kappa)
        factors = _factors(table, child, covariances)
        inner = np.swapaxes(factors[:, :-1, :-1], -1, -2)
        slopes = np.linalg.solve(inner, factors[:, -1, :-1, None])[..., 0]
        sd = units.sds[-1]
        coefficients[:, used] = slopes * sd / units.sds[used]
        offsets = means[:, -1] - (slopes * means[:, :-1]).sum(axis=1)
        intercepts = units.means[-1] + sd * offsets - coefficients @ units.means[:-1]
        variances = (sd * factors[:, -1, -1]) ** 2
    if not (variances > 0).all() or not all(np.isfinite(part).all() for part in (variances, intercepts, coefficients)):
        raise _unit_error(table, members)
    return LinearGaussian(
        discrete,
        continuous,
        intercepts.reshape(shape),
        coefficients.reshape(*shape, len(continuous)),
        variances.reshape(shape),
    )


@np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite are refused at the end
def moments_in_cells(
    table: Families, child: int, parents: tuple[int, ...], kappa: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and covariances of the continuous parents of a categorical child, in the columns' own units."""
    continuous = continuous_members(table.states, child, parents)
    units = _units(table, continuous)
    n_cells = number_of_cells(table.states, categorical_members(table.states, child, parents))
    k = len(continuous)
    means, covariances = np.zeros((n_cells, k)), np.tile(np.eye(k), (n_cells, 1, 1))
    used = np.flatnonzero(units.varies)
    if used.size:
        found = _shrunk_moments(table, child, parents, used, kappa)
        _factors(table, child, found[1])
        means[:, used], covariances[:, used[:, None], used] = found
    covariances *= units.sds[:, None] * units.sds
    means = units.means + units.sds * means
    diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
    if not (diagonal > 0).all() or not (np.isfinite(covariances).all() and np.isfinite(means).all()):
        raise _unit_error(table, continuous)
    return means, covariances


@dataclass(frozen=True)
class _Units:
    """The units of some continuous columns."""

    means: NDArray[np.float64]
    sds: NDArray[np.float64]
    varies: NDArray[np.bool_]


def _units(table: Families, columns: Sequence[int]) -> _Units:
    units = [table.unit(v) for v in columns]
    return _Units(
        np.array([unit.mean for unit in units]),
        np.array([unit.sd for unit in units]),
        np.array([unit.varies for unit in units], dtype=np.bool_),
    )


def _shrunk_moments(
    table: Families, child: int, parents: tuple[int, ...], used: NDArray[np.intp], kappa: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and covariances in each cell, in units where the table has means 0 and V the identity.

    `used` are positions among the continuous members of the family.
    """
    found = table.statistics(child, parents)
    n_cells, k = number_of_cells(table.states, categorical_members(table.states, child, parents)), len(used)
    n, means, scatters = np.zeros(n_cells), np.zeros((n_cells, k)), np.zeros((n_cells, k, k))
    n[found.cells], means[found.cells] = found.counts, found.means[:, used]
    scatters[found.cells] = found.scatters[:, used[:, None], used]
    if kappa == 0:
        _refuse_singular(table, child, parents, used, n, scatters)
        return means, scatters / n[:, None, None]
    scatters += kappa * np.eye(k)
    scatters += (n * kappa / (n + kappa))[:, None, None] * means[:, :, None] * means[:, None]
    return means * (n / (n + kappa))[:, None], scatters / (n + kappa)[:, None, None]


def _factors(table: Families, child: int, covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Cholesky factors of covariances in units where the table's variances are 1."""
    try:
        factors: NDArray[np.float64] = np.linalg.cholesky(covariances).astype(np.float64)
        shares = np.diagonal(factors, axis1=-2, axis2=-1) ** 2 / np.diagonal(covariances, axis1=-2, axis2=-1)
        is_sound = shares.min() > _LOST
    except np.linalg.LinAlgError:
        is_sound = False
    if not is_sound:
        raise DataError(
            f"the continuous variables of {table.names[child]!r} and its parents determine each other, and with "
            f"{table.n_rows:,} rows the prior is lost to rounding: use more pseudo_rows, or give fewer parents"
        )
    return factors


def _refuse_singular(
    table: Families,
    child: int,
    parents: tuple[int, ...],
    used: NDArray[np.intp],
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
    discrete = categorical_members(table.states, child, parents)
    members = continuous_members(table.states, child, parents)
    codes = np.unravel_index(cell, [len(table.states[v] or ()) for v in discrete]) if discrete else ()
    labels = [
        f"{table.names[v]!r} = {(table.states[v] or ())[code]!r}" for v, code in zip(discrete, codes, strict=True)
    ]
    where = f" where {', '.join(labels)}" if labels else ""
    raise DataError(
        f"maximum likelihood of {table.names[child]!r}: the {int(counts[cell]):,} rows{where} do not determine the "
        f"covariance of {', '.join(repr(table.names[members[at]]) for at in used)} (too few, or one follows from the "
        "others). Use method='posterior_mean', or give fewer parents"
    )


def _unit_error(table: Families, columns: Iterable[int]) -> DataError:
    return DataError(
        f"a variance of {', '.join(repr(table.names[v]) for v in columns)} is outside the range of floating-point "
        "numbers; change the unit of the column"
    )
