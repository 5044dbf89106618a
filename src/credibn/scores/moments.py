"""Second moments of continuous columns, and the refusal of columns that no score could use.

The data are read once, whatever the number of sets. Columns are centred and scaled before anything is squared, and the
logarithms of the scales are added back: neither large offsets (1e9 plus noise) nor extreme units lose digits. What
limits the accuracy is collinearity: where other columns explain all but a share u of a column's variance, the logarithm
of its residual variance is accurate to about 1e-16 / u. `Moments.log_det_error` bounds this (docs/guarantees.md,
"Numbers"); where doubles are too coarse, C's long doubles are used. Data with u below `COLLINEAR` are refused.
Determinants are found by eliminating thousands of sub-matrices in step.
"""

import math
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError, Option, warn
from credibn.scores.protocol import DataView

COLLINEAR = 1e-10
"""Columns are collinear when the smallest eigenvalue of their correlation matrix is at most this.

By Cauchy's interlacing theorem no subset of the columns has a smaller one, so that one test covers every set; and no
column then has less than this share of its variance left unexplained by others. Exact dependence comes out near 1e-15.
"""

MUST_EXTEND, MUST_WARN, MUST_REFUSE = 1e-4, 1e-3, 0.01
"""Errors of a score, in nats, above which long doubles are used, the user is warned and the data are refused."""

LOG_2PI = math.log(2 * math.pi)
_T = TypeVar("_T")
_DOUBLE = np.dtype(np.float64)
_ROWS_AT_ONCE = 64  # products that one matrix product adds up
_SETS_AT_ONCE = 4096  # sub-matrices eliminated in step: their stack stays in the cache


@dataclass(frozen=True)
class Moments:
    """Second moments of the columns; a constant one has log_sd = -inf and no correlations."""

    log_sd: NDArray[np.float64]
    correlation: NDArray[Any]  # of float64, or of long doubles
    max_set_size: int  # numerical rank of the columns that vary
    n_distinct: int  # different rows; counted only where the rank is not full
    eigenvalues: NDArray[np.float64]  # of the correlations
    entry_error: float  # bound on the rounding error of a correlation, that of eliminating it included

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column is continuous and not constant."""
        return np.isfinite(self.log_sd)

    @property
    def is_collinear(self) -> bool:
        """Whether the rank is not full although there are enough rows."""
        n_varying = int(self.varies.sum())
        return self.max_set_size < n_varying < self.n_distinct

    def log_det_error(
        self, size: int, eigenvalues: NDArray[np.float64] | None = None, more_error: float = 0.0
    ) -> float:
        """Return a bound on the error of ln det of any set of up to `size` columns, and of twice the sum of log_sd.

        `eigenvalues` are those of the correlations, unless a prior was added, with `more_error` in each entry. Those
        below `COLLINEAR` count as this: sets with such an eigenvalue are refused.
        """
        eigenvalues = np.maximum((self.eigenvalues if eigenvalues is None else eigenvalues)[:size], COLLINEAR)
        error = (self.entry_error + more_error) * size
        share = error / float(eigenvalues.min(initial=1.0))
        return math.inf if share >= 0.5 else error * (float((1 / eigenvalues).sum()) / (1 - share) + 2)


_known_moments: dict[int, dict[object, Any]] = {}


def moments_of(data: DataView) -> Moments:
    """Return the moments of the data, computed once in the lifetime of a data set."""
    return computed_once(data, Moments, lambda: _compute_moments(data))


def computed_once(data: DataView, key: object, compute: Callable[[], _T]) -> _T:
    """Return what `compute` returns, cached under the key for the lifetime of the data."""
    known = _known_moments.get(id(data))
    if known is None:
        try:
            weakref.finalize(data, _known_moments.pop, id(data), None).atexit = False
        except TypeError:  # not weakly referable: we would not learn when to drop it from the cache
            return compute()
        known = _known_moments[id(data)] = {}
    if key not in known:
        known[key] = compute()
    found: _T = known[key]
    return found


def _compute_moments(data: DataView) -> Moments:
    moments = _moments_in(data, _DOUBLE)
    if data.n_rows / 2 * moments.log_det_error(len(data.names)) <= MUST_EXTEND:
        return moments
    return _moments_in(data, np.dtype(np.longdouble))


def _moments_in(data: DataView, dtype: np.dtype[Any]) -> Moments:
    standardised, log_sd = standardise_columns(data, dtype)
    rows = np.stack(standardised)
    correlation = _gram(rows, data.weights) / data.n_rows
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    n_varying = int(np.isfinite(log_sd).sum())
    eigenvalues = np.linalg.eigvalsh(correlation.astype(np.float64))
    n_dependent = int((eigenvalues <= COLLINEAR).sum())
    n_distinct = len(np.unique(rows, axis=1).T) if n_dependent else len(data.weights)
    entry_error = (2 * n_additions(len(data.weights)) + len(data.names) + 14) * float(np.finfo(dtype).eps) / 2
    return Moments(log_sd, correlation, n_varying - n_dependent, n_distinct, eigenvalues, entry_error)


def _gram(rows: NDArray[Any], weights: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sums of products of all pairs of rows, each term of a sum passing `n_additions` operations."""
    weighted = rows * weights
    parts = [
        weighted[:, start : start + _ROWS_AT_ONCE] @ rows[:, start : start + _ROWS_AT_ONCE].T
        for start in range(0, rows.shape[1], _ROWS_AT_ONCE)
    ]
    while len(parts) > 1:
        parts = [sum(parts[k + 1 : k + 2], start=parts[k]) for k in range(0, len(parts), 2)]
    gram: NDArray[Any] = parts[0]
    return gram


def n_additions(n_terms: int) -> int:
    """Return the number of operations from a term to the sum of all, here and in NumPy's pairwise sums."""
    return _ROWS_AT_ONCE + (n_terms // _ROWS_AT_ONCE).bit_length() + 4


def standardise_columns(
    data: DataView, dtype: np.dtype[Any] = _DOUBLE
) -> tuple[list[NDArray[Any]], NDArray[np.float64]]:
    """Return each continuous column with mean 0 and variance 1, and the logarithm of its standard deviation.

    Discrete and constant columns become zeros with a logarithm of -inf.
    """
    nothing = np.broadcast_to(dtype.type(0), len(data.weights)), -np.inf
    found = [
        nothing if states is not None else standardise(column, data.weights, dtype)
        for column, states in zip(data.columns, data.states, strict=True)
    ]
    return [rows for rows, _ in found], np.array([log_sd for _, log_sd in found])


def standardise(
    column: NDArray[np.float64], weights: NDArray[np.int64], dtype: np.dtype[Any] = _DOUBLE
) -> tuple[NDArray[Any], float]:
    """Return a column with mean 0 and variance 1, and the logarithm of its standard deviation; zeros if it is constant.

    A column is constant when its values differ by no more than the last two bits of the largest.
    """
    exponent, n_rows = int(np.frexp(np.abs(column).max())[1]), int(weights.sum())
    values = np.ldexp(column, -exponent).astype(dtype)  # exact; the largest is now between 1/2 and 1
    if values.max() - values.min() <= 4 * np.finfo(np.float64).eps:
        return np.broadcast_to(dtype.type(0), len(weights)), -np.inf
    # a difference is rounded in proportion to itself: centred first, no offset and no outlier costs digits
    values -= np.sum(weights * values) / n_rows
    values -= np.sum(weights * values) / n_rows  # what the first mean lost to rounding
    sd = np.sqrt(np.sum(weights * values * values) / n_rows)
    return values / sd, exponent * math.log(2) + float(np.log(sd))


def log_determinants(data: DataView, correlation: NDArray[Any], sets: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return ln det of the sub-matrix of every set, by Gaussian elimination of many in step."""
    log_dets = np.empty(len(sets))
    some_collinear = np.linalg.eigvalsh(correlation.astype(np.float64))[0] <= COLLINEAR
    for start in range(0, len(sets), _SETS_AT_ONCE):
        columns = np.ascontiguousarray(sets[start : start + _SETS_AT_ONCE].T)
        stack = correlation[columns[:, None], columns[None]]
        pivots = np.ones(columns.shape, dtype=correlation.dtype)
        for j in range(len(columns)):
            # a pivot is the variance that the columns before it leave unexplained
            pivots[j] = np.maximum(stack[j, j], COLLINEAR)
            below = stack[j + 1 :, j]
            stack[j + 1 :, j + 1 :] -= below[:, None] * (below / pivots[j])
        is_collinear = (pivots <= COLLINEAR).any(axis=0)
        if some_collinear:  # the pivots do not show a small eigenvalue
            stack = correlation[columns.T[:, :, None], columns.T[:, None]].astype(np.float64)
            is_collinear |= np.linalg.eigvalsh(stack)[:, 0] <= COLLINEAR
        if is_collinear.any():
            culprit = columns[:, int(np.argmax(is_collinear))]
            dependent = culprit[_dependent_columns(correlation[np.ix_(culprit, culprit)])]
            raise _collinear_error(data, dependent)
        log_dets[start : start + _SETS_AT_ONCE] = np.log(pivots).sum(axis=0)
    return log_dets


def warn_of_rounding(data: DataView, moments: Moments, error: float) -> None:
    """Warn, or raise, if nearly dependent columns make the rounding error, in nats, too large."""
    if error <= MUST_WARN:
        return
    dependent = _dependent_columns(moments.correlation)
    message = (
        f"{_listed(data, dependent)} so nearly dependent that scores of N = {data.n_rows:,} rows may be off by "
        f"{error:.2g} nats from rounding alone"
    )
    if error > MUST_REFUSE:
        raise DataError(f"{message}, above the limit of {MUST_REFUSE:g}. Drop one of them")
    warn(f"{message}. Drop one of them for exact scores")


def _dependent_columns(correlation: NDArray[Any]) -> NDArray[np.intp]:
    """Return one column that others explain, and those others, by pivoted Cholesky factorisation.

    The pivots are independent, hence the column has one expression in them: every column named is needed.
    """
    correlation = correlation.astype(np.float64)
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
            "score 'conditional-gaussian-bic', or leave the column out"
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
            f"{data.columns[constant[0]][0]:g}, up to rounding), so the variance is zero: leave it out"
        )


def refuse_collinear(data: DataView, moments: Moments) -> None:
    """Raise if some columns determine another, naming them."""
    if moments.is_collinear:
        raise _collinear_error(data, _dependent_columns(moments.correlation))


def _collinear_error(data: DataView, dependent: NDArray[np.intp]) -> DataError:
    return DataError(
        "{} linearly dependent: one is determined by the others (up to a share of {:g} of its variance), so their "
        "covariance matrix is singular. Leave one of them out, such as with {}",
        _listed(data, dependent),
        COLLINEAR,
        Option("drop", [data.names[dependent[-1]]]),
    )


def find_dependent(data: DataView) -> list[str]:
    """Return numeric columns of which one is determined by the others, the last to be left out; none otherwise."""
    columns = [v for v, labels in enumerate(data.states) if labels is None and np.ptp(data.columns[v]) > 0]
    if len(columns) < 2:
        return []
    rows = np.stack([standardise(data.columns[v], data.weights)[0] for v in columns])
    correlation = _gram(rows, data.weights) / data.n_rows
    if np.linalg.eigvalsh(correlation)[0] > COLLINEAR:
        return []
    return [data.names[columns[at]] for at in _dependent_columns(correlation)]


def _columns_in(sets: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.flatnonzero(np.bincount(sets.ravel()))


def _listed(data: DataView, columns: list[np.intp] | NDArray[np.intp]) -> str:
    return f"column {_quoted(data, columns)} is" if len(columns) == 1 else f"columns {_quoted(data, columns)} are"


def _quoted(data: DataView, columns: Iterable[np.intp]) -> str:
    return ", ".join(repr(data.names[v]) for v in columns)
