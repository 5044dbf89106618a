"""Second moments of continuous columns, and the refusal of columns that no score could use.

The data are read once, whatever the number of sets. Columns are centred and scaled before anything is squared,
and the logarithms of the scales are added back: neither large offsets (1e9 plus noise) nor extreme units lose
digits. What limits the accuracy is collinearity: where a column's variance is explained up to a share u by other
columns, the logarithm of its residual variance is accurate to about 1e-16 / u, and data with u below `COLLINEAR`
are refused. Determinants are found by eliminating thousands of sub-matrices in step.
"""

import math
import weakref
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError
from credibn.scores.protocol import DataView

__all__ = [
    "COLLINEAR",
    "LOG_2PI",
    "Moments",
    "log_determinants",
    "moments_of",
    "refuse_collinear",
    "refuse_constant",
    "refuse_discrete",
    "standardise_columns",
]

COLLINEAR = 1e-10
"""Columns are collinear when the smallest eigenvalue of their correlation matrix is at most this.

By Cauchy's interlacing theorem no subset of the columns has a smaller one, so that one test covers every
set; and no column then has a share of less than this of its variance left when others explain it. Exact
dependence comes out near 1e-15.
"""

LOG_2PI = math.log(2 * math.pi)
_SETS_AT_ONCE = 4096  # sub-matrices eliminated in step: their stack stays in the cache


@dataclass(frozen=True)
class Moments:
    """Second moments of the columns; one that does not vary has log_sd = -inf and no correlations."""

    log_sd: NDArray[np.float64]
    correlation: NDArray[np.float64]
    max_set_size: int  # numerical rank of the columns that vary
    n_distinct: int  # different rows; counted only where the rank is not full

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Mark the continuous columns that are not constant."""
        return np.isfinite(self.log_sd)

    @property
    def is_collinear(self) -> bool:
        """Whether there are rows enough for full rank, and yet it is not reached."""
        n_varying = int(self.varies.sum())
        return self.max_set_size < n_varying < self.n_distinct


_known_moments: dict[int, Moments] = {}


def moments_of(data: DataView) -> Moments:
    """Return the moments of the data, computed once in the lifetime of a data set."""
    found = _known_moments.get(id(data))
    if found is None:
        found = _compute_moments(data)
        try:
            weakref.finalize(data, _known_moments.pop, id(data), None).atexit = False
        except TypeError:  # not weakly referable: nothing would tell when to forget it
            return found
        _known_moments[id(data)] = found
    return found


def _compute_moments(data: DataView) -> Moments:
    standardised, log_sd = standardise_columns(data)
    rows = np.stack(standardised)
    correlation = (rows * data.weights) @ rows.T / data.n_rows
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    n_varying = int(np.isfinite(log_sd).sum())
    n_dependent = int((np.linalg.eigvalsh(correlation) <= COLLINEAR).sum())
    n_distinct = len(np.unique(rows, axis=1).T) if n_dependent else len(data.weights)
    return Moments(log_sd, correlation, n_varying - n_dependent, n_distinct)


def standardise_columns(data: DataView) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return each continuous column with mean 0 and variance 1, and the logarithm of its standard deviation.

    Discrete and constant columns become zeros with a logarithm of -inf. A column is constant when its
    values differ by no more than the last two bits of the largest.
    """
    nothing = np.broadcast_to(0.0, len(data.weights))
    standardised = [nothing] * len(data.names)
    log_sd = np.full(len(data.names), -np.inf)
    for i, (column, states) in enumerate(zip(data.columns, data.states, strict=True)):
        if states is not None:
            continue
        exponent = int(np.frexp(np.abs(column).max())[1])
        values = np.ldexp(column, -exponent)  # exact; the largest is now between 1/2 and 1
        values -= values.min()
        spread = float(values.max())
        if spread <= 4 * np.finfo(np.float64).eps:
            continue
        values /= spread
        values -= data.weights @ values / data.n_rows
        values -= data.weights @ values / data.n_rows  # what the first mean lost to rounding
        sd = math.sqrt(data.weights @ (values * values) / data.n_rows)
        standardised[i] = values / sd
        log_sd[i] = exponent * math.log(2) + math.log(spread) + math.log(sd)
    return standardised, log_sd


def log_determinants(data: DataView, correlation: NDArray[np.float64], sets: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return ln det of the sub-matrix of every set, by Gaussian elimination of many of them in step."""
    log_dets = np.empty(len(sets))
    for start in range(0, len(sets), _SETS_AT_ONCE):
        columns = np.ascontiguousarray(sets[start : start + _SETS_AT_ONCE].T)
        stack = correlation[columns[:, None], columns[None]]
        pivots = np.ones(columns.shape)
        for j in range(len(columns)):
            # a pivot is the variance that the columns before it leave unexplained
            pivots[j] = np.maximum(stack[j, j], COLLINEAR)
            below = stack[j + 1 :, j]
            stack[j + 1 :, j + 1 :] -= below[:, None] * (below / pivots[j])
        if (pivots <= COLLINEAR).any():
            culprit = columns[:, int(np.argmax((pivots <= COLLINEAR).any(axis=0)))]
            dependent = culprit[_dependent_columns(correlation[np.ix_(culprit, culprit)])]
            raise _collinear_error(data, dependent)
        log_dets[start : start + _SETS_AT_ONCE] = np.log(pivots).sum(axis=0)
    return log_dets


def _dependent_columns(correlation: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return one column that others explain, and those others, by pivoted Cholesky factorisation.

    The pivots are independent, hence the column has one expression in them: no column named can be spared.
    """
    residual, chosen = correlation.copy(), list[int]()
    while True:
        variances = residual.diagonal().copy()
        variances[chosen] = -np.inf
        pivot = int(np.argmax(variances))
        if len(chosen) == len(residual) - 1 or variances[pivot] <= len(residual) * COLLINEAR:
            break
        residual -= np.outer(residual[pivot], residual[pivot]) / residual[pivot, pivot]
        chosen.append(pivot)
    coefficients = np.abs(np.linalg.lstsq(correlation[np.ix_(chosen, chosen)], correlation[chosen, pivot])[0])
    needed = np.array(chosen, dtype=np.intp)[coefficients > 1e-3 * coefficients.max()]
    return np.sort(np.append(needed, pivot))


def refuse_discrete(data: DataView, sets: NDArray[np.intp], score: str) -> None:
    """Raise for discrete columns in the sets; `score` is named in the message."""
    discrete = [v for v in _columns_in(sets) if data.states[v] is not None]
    if discrete:
        raise DataError(
            f"{_listed(data, discrete)} discrete, and {score} takes continuous columns only: use the "
            "conditional-Gaussian BIC, or leave the column out"
        )


def refuse_constant(data: DataView, sets: NDArray[np.intp], log_sd: NDArray[np.float64]) -> None:
    """Raise for constant columns in the sets."""
    constant = [v for v in _columns_in(sets) if np.isneginf(log_sd[v])]
    if constant and len(data.weights) == 1:
        raise DataError(
            f"all rows of the table are equal (N = {data.n_rows}): the variance of {_quoted(data, constant)} "
            "is zero. A score of continuous columns needs at least two different rows"
        )
    if constant:
        raise DataError(
            f"{_listed(data, constant)} constant (every value of {data.names[constant[0]]!r} is "
            f"{data.columns[constant[0]][0]:g}, up to rounding), so that the variance is zero: leave it out"
        )


def refuse_collinear(data: DataView, moments: Moments) -> None:
    """Raise if some columns are determined by others; they are named."""
    if moments.is_collinear:
        raise _collinear_error(data, _dependent_columns(moments.correlation))


def _collinear_error(data: DataView, dependent: NDArray[np.intp]) -> DataError:
    return DataError(
        f"{_listed(data, dependent)} linearly dependent: one is determined by the others (up to a share of "
        f"{COLLINEAR:g} of its variance), so that their covariance matrix is singular. Drop one of them"
    )


def _columns_in(sets: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.flatnonzero(np.bincount(sets.ravel()))


def _listed(data: DataView, columns: list[np.intp] | NDArray[np.intp]) -> str:
    return f"column {_quoted(data, columns)} is" if len(columns) == 1 else f"columns {_quoted(data, columns)} are"


def _quoted(data: DataView, columns: Iterable[np.intp]) -> str:
    return ", ".join(repr(data.names[v]) for v in columns)
