"""Scores of continuous and mixed columns: Gaussian BIC, BGe and the conditional-Gaussian BIC.

Each is one set function F in costs (lower is better, natural logarithms), `cost(i, P) = F(P + i) - F(P)`, and
F of the empty set is 0. All three rest on sums of squares of a few columns, so that the data are read once:

- *GaussianBIC* and *BGe* need the determinant of a sub-matrix of one n by n matrix for every set, found by
  eliminating thousands of sub-matrices in step: about k^3/3 operations for k columns, whatever the rows.
- *ConditionalGaussianBIC* splits the rows by the cells of the discrete columns; sets that share these
  columns share the split and the sums of squares. Cost: one pass over the distinct rows for each discrete
  part and pair of continuous columns, then k^3 operations for each set and cell.

Columns are centred and scaled before anything is squared, and the logarithms of the scales are added back:
neither large offsets (1e9 plus noise) nor extreme units lose digits. What limits the accuracy is
collinearity: where a column's variance is explained up to a share u by other columns, the logarithm of its
residual variance is accurate to about 1e-16 / u, and data with u below `COLLINEAR` are refused.

References
----------
G. Schwarz (1978), Estimating the dimension of a model. Annals of Statistics 6, 461-464.
D. Geiger and D. Heckerman (2002), Parameter priors for directed acyclic graphical models and the
characterization of several probability distributions. Annals of Statistics 30, 1412-1440.
J. Kuipers, G. Moffa and D. Heckerman (2014), Addendum on the scoring of Gaussian directed acyclic graphical
models. Annals of Statistics 42, 1689-1691.
S. Lauritzen and N. Wermuth (1989), Graphical models for associations between variables, some of which are
qualitative and some quantitative. Annals of Statistics 17, 31-57.
B. Andrews, J. Ramsey and G. Cooper (2018), Scoring Bayesian networks of mixed variables. International
Journal of Data Science and Analytics 6, 3-18.
"""

import math
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError, OptionError
from credibn.scores.protocol import DataView

__all__ = ["COLLINEAR", "BGe", "ConditionalGaussianBIC", "GaussianBIC"]

COLLINEAR = 1e-10
"""Columns are collinear when the smallest eigenvalue of their correlation matrix is at most this.

By Cauchy's interlacing theorem no subset of the columns has a smaller one, so that one test covers every
set; and no column then has a share of less than this of its variance left when others explain it. Exact
dependence comes out near 1e-15.
"""

LOG_2PI = math.log(2 * math.pi)
_SETS_AT_ONCE = 4096  # sub-matrices eliminated in step: their stack stays in the cache
_CELLS_AT_ONCE = 1 << 17  # numbers in one stack of the mixed score
_MIN_PSEUDO_ROWS = 1e-6  # less would leave small cells singular to rounding


@dataclass(frozen=True)
class GaussianBIC:
    """Bayesian information criterion of linear Gaussian networks.

    With Sigma_S the maximum likelihood covariance of the columns S and w = ln(N)/2::

        F(S) = N/2 (|S| ln 2pi + ln det Sigma_S + |S|) + w |S|(|S| + 3)/2
        cost(i, P) = N/2 (ln 2pi + 1 + ln sigma^2) + w (|P| + 2)

    where sigma^2 is the residual variance of the regression of i on P; the parameters counted are the
    coefficients, the intercept and the variance (Schwarz, 1978; N is the number of rows).

    Changing the location or unit of a column changes every network's score by the same amount.

    Raises
    ------
    DataError
        When scoring: for discrete columns, constant columns, collinear columns (see `COLLINEAR`), and sets
        larger than `max_set_size`. The columns are named. A constant column is refused only when a set
        contains it.

    Examples
    --------
    >>> from credibn.data import Dataset
    >>> a, b = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.0, 2.0, 3.0])
    >>> data = Dataset(("a", "b"), (a, b), states=(None, None), weights=np.ones(4, np.int64))
    >>> score = GaussianBIC()
    >>> f_a, f_b = score.set_costs(data, np.array([[0], [1]]))
    >>> f_ab = score.set_costs(data, np.array([[0, 1]]))[0]
    >>> print(f"cost of b alone {f_b:.4f}, with parent a {f_ab - f_a:.4f}")
    cost of b alone 7.5083, with parent a 5.8499
    """

    name: ClassVar[str] = "gaussian-bic"
    columns: ClassVar[Literal["continuous"]] = "continuous"

    def settings(self) -> dict[str, object]:
        """Return the options that define the score: none."""
        return {}

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate F of every row of `sets`."""
        size = sets.shape[1]
        if sets.size == 0:
            return np.zeros(len(sets))
        _refuse_discrete(data, sets, "Gaussian BIC")
        moments = _moments(data)
        _refuse_constant(data, sets, moments.log_sd)
        _refuse_collinear(data, moments)
        if size > moments.max_set_size:
            raise DataError(
                f"a set of {size} columns was to be scored on {moments.n_distinct} different rows; a "
                f"Gaussian score exists for at most {moments.max_set_size} columns here. Allow at most "
                f"{moments.max_set_size - 1} parents, add rows, or use BGe, whose prior needs no minimum"
            )
        log_dets = _log_dets(data, moments.correlation, sets)
        log_dets += 2 * moments.log_sd[sets].sum(axis=1)
        penalty = math.log(data.n_rows) / 2 * (size * (size + 3) / 2)
        costs: NDArray[np.float64] = data.n_rows / 2 * (size * (LOG_2PI + 1) + log_dets) + penalty
        return costs

    def max_set_size(self, data: DataView) -> int:
        """Return the size of the largest set that can be scored.

        A covariance of r different rows has rank at most r - 1: with few rows, a node and its parents are
        at most r - 1 columns, and otherwise all columns that vary. The caller limits the parents to one
        less.
        """
        moments = _moments(data)
        _refuse_collinear(data, moments)
        return moments.max_set_size

    def cost_floor(self, data: DataView) -> NDArray[np.float64]:
        """Return a lower bound on the data part of each node's cost, whatever its parents.

        ``cost(i, T) >= cost_floor(data)[i] + size_penalty(data, len(T))`` for every T, up to rounding.
        Proof: the residual variance is a minimum over the coefficients, and coefficients for T are
        coefficients for all other columns with zeros filled in; so sigma^2(i | T) >= sigma^2(i | all
        others), and ln is increasing.

        Columns that cannot be scored (constant, discrete), and all columns where there are too few rows to
        regress on all others, have the floor -inf.
        """
        moments = _moments(data)
        _refuse_collinear(data, moments)
        floor = np.full(len(data.names), -np.inf)
        varying = np.flatnonzero(moments.varies)
        if 0 < varying.size == moments.max_set_size:
            others = np.array([np.delete(varying, i) for i in range(varying.size)], dtype=np.intp)
            everything = _log_dets(data, moments.correlation, varying[None])
            residual = everything - _log_dets(data, moments.correlation, others) + 2 * moments.log_sd[varying]
            floor[varying] = data.n_rows / 2 * (LOG_2PI + 1 + residual)
        return floor

    def size_penalty(self, data: DataView, n_parents: int) -> float:
        """Return the part of a local cost that depends on the number of parents only: w (n_parents + 2)."""
        return math.log(data.n_rows) / 2 * (n_parents + 2)


@dataclass(frozen=True)
class BGe:
    """Bayesian Gaussian equivalent score: marginal likelihood under a normal-Wishart prior.

    ``F(S) = -ln p(d^S)`` with l = |S| and a = alpha_w - n + l (Kuipers, Moffa and Heckerman, 2014, equation
    2, the correction of Geiger and Heckerman, 2002, equation 18)::

        p(d^S) = (alpha_mu / (N + alpha_mu))^(l/2) Gamma_l((N + a)/2) / (pi^(l N/2) Gamma_l(a/2))
                 |T_SS|^(a/2) / |R_SS|^((N + a)/2)

    T = t I with t = alpha_mu (alpha_w - n - 1) / (alpha_mu + 1), and R = T + S_N with S_N the centred
    scatter matrix of the data. The prior mean nu is set to the sample means (as bnlearn does by default; a
    fixed nu would make the answer depend on the zero of each scale), which removes the third term of their
    equation 4.

    Changing the location of a column changes nothing. **The unit matters**: T assumes columns of comparable
    scale, so standardise them first unless their units are meant.

    Parameters
    ----------
    alpha_mu
        Rows that the prior mean is worth; positive.
    alpha_w
        Degrees of freedom of the Wishart prior; above n + 1, so that T is positive definite. By default
        n + alpha_mu + 1, which makes F(S) independent of the other columns. n counts all columns of the data.

    Raises
    ------
    OptionError
        For values out of range; alpha_w is compared with n when scoring.
    DataError
        When scoring: for discrete columns, and for collinear columns whose prior variance is lost to
        rounding.

    Examples
    --------
    >>> from credibn.data import Dataset
    >>> a, b = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.0, 2.0, 3.0])
    >>> data = Dataset(("a", "b"), (a, b), states=(None, None), weights=np.ones(4, np.int64))
    >>> score = BGe()
    >>> f_a, f_b = score.set_costs(data, np.array([[0], [1]]))
    >>> f_ab = score.set_costs(data, np.array([[0, 1]]))[0]
    >>> print(f"cost of b alone {f_b:.4f}, with parent a {f_ab - f_a:.4f}")
    cost of b alone 8.7788, with parent a 7.3551
    """

    alpha_mu: float = 1.0
    alpha_w: float | None = None

    name: ClassVar[str] = "bge"
    columns: ClassVar[Literal["continuous"]] = "continuous"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha_mu) and self.alpha_mu > 0):
            raise OptionError(f"alpha_mu is {self.alpha_mu!r}; it must be a positive number, such as 1")
        if self.alpha_w is not None and not (math.isfinite(self.alpha_w) and self.alpha_w > 2):
            raise OptionError(
                f"alpha_w is {self.alpha_w!r}; it must exceed the number of columns + 1: leave it out for "
                "the default"
            )

    def settings(self) -> dict[str, object]:
        """Return the options that define the score; alpha_w is None where the default holds."""
        return {"alpha_mu": self.alpha_mu, "alpha_w": self.alpha_w}

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate F of every row of `sets`."""
        size, n, N = sets.shape[1], len(data.names), data.n_rows
        alpha_w = n + self.alpha_mu + 1 if self.alpha_w is None else self.alpha_w
        if not alpha_w > n + 1:
            raise OptionError(
                f"alpha_w is {alpha_w!r} and the data have {n} columns; alpha_w must exceed {n + 1} "
                "for the prior to be proper: leave it out for the default"
            )
        if sets.size == 0:
            return np.zeros(len(sets))
        _refuse_discrete(data, sets, "BGe")
        moments = _moments(data)
        log_t = math.log(self.alpha_mu * (alpha_w - n - 1) / (self.alpha_mu + 1))
        # R = E C E with unit diagonal C: S_N shrinks every correlation, and nothing overflows
        log_r = np.logaddexp(log_t, math.log(N) + 2 * moments.log_sd)
        shrunk = np.exp((math.log(N) - log_r) / 2 + moments.log_sd)
        correlation = moments.correlation * shrunk[:, None] * shrunk
        np.fill_diagonal(correlation, 1.0)
        log_det_r = _log_dets(data, correlation, sets)
        log_det_r += log_r[sets].sum(axis=1)
        dof = alpha_w - n + size
        constant = (
            size / 2 * math.log1p(N / self.alpha_mu)
            + size * N / 2 * math.log(math.pi)
            + _log_multigamma(size, dof)
            - _log_multigamma(size, N + dof)
            - dof / 2 * size * log_t
        )
        costs: NDArray[np.float64] = constant + (N + dof) / 2 * log_det_r
        return costs


@dataclass(frozen=True)
class ConditionalGaussianBIC:
    """BIC of conditional-Gaussian networks, for tables with discrete and continuous columns.

    A set S has discrete columns D and continuous ones C. The rows of each cell d of D (each combination of
    states that occurs), n_d of them, follow a Gaussian of their own (Lauritzen and Wermuth, 1989), and both
    kinds of column may be parents of both kinds: a local cost is a ratio of two such joint densities
    (Andrews, Ramsey and Cooper, 2018). With w = ln(N)/2 and kappa = `pseudo_rows`::

        F(S) = N H(D) + sum_d [n_d (|C| ln 2pi + ln det Sigma_d) + tr(Sigma_d^-1 SS_d)]/2 + w (params(S) - 1)
        Sigma_d = (SS_d + kappa V) / (n_d + kappa)
        params(S) = prod(r_v for v in D) (1 + |C|(|C| + 3)/2)

    H(D) is the entropy in nats, SS_d the centred scatter matrix in the cell, V the diagonal matrix of the
    variances of C in the whole table, r_v the declared number of states. The constant -w makes F of the
    empty set 0 and cancels in every local cost.

    kappa V is part of the definition: a cell with |C| or fewer rows has a singular covariance and an
    unbounded likelihood; kappa rows' worth of the table's own variances keep it finite, and fade as n_d
    grows. Without continuous columns the score is the discrete BIC; without discrete ones it tends to
    `GaussianBIC` as kappa / N vanishes.

    Changing the location or unit of a continuous column changes every network's score by the same amount.

    Parameters
    ----------
    pseudo_rows
        kappa, at least 1e-6.

    Raises
    ------
    OptionError
        For values of `pseudo_rows` out of range.
    DataError
        When scoring: for a set that contains a constant continuous column.

    Examples
    --------
    >>> from credibn.data import Dataset
    >>> sex, height = np.array([0, 0, 1, 1], np.uint8), np.array([1.60, 1.65, 1.80, 1.86])
    >>> data = Dataset(("sex", "height"), (sex, height), (("f", "m"), None), np.array([20, 30, 30, 20]))
    >>> score = ConditionalGaussianBIC()
    >>> f_sex, f_height = score.set_costs(data, np.array([[0], [1]]))
    >>> f_both = score.set_costs(data, np.array([[0, 1]]))[0]
    >>> print(f"cost of height alone {f_height:.2f}, with parent sex {f_both - f_sex:.2f}")
    cost of height alone -83.06, with parent sex -209.44
    """

    pseudo_rows: float = 1.0

    name: ClassVar[str] = "conditional-gaussian-bic"
    columns: ClassVar[Literal["mixed"]] = "mixed"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.pseudo_rows) and self.pseudo_rows >= _MIN_PSEUDO_ROWS):
            raise OptionError(
                f"pseudo_rows is {self.pseudo_rows!r}; it must be a number of at least {_MIN_PSEUDO_ROWS:g}, "
                "such as 1: it keeps the variance of cells with few rows above zero"
            )

    def settings(self) -> dict[str, object]:
        """Return the options that define the score."""
        return {"pseudo_rows": self.pseudo_rows}

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate F of every row of `sets`."""
        costs = np.zeros(len(sets))
        if sets.size == 0:
            return costs
        is_discrete = np.array([states is not None for states in data.states])
        standardised, log_sd = _standardise_columns(data)
        _refuse_constant(data, sets[~is_discrete[sets]], log_sd)
        discrete_parts, part_of = np.unique(
            np.where(is_discrete[sets], sets, -1), axis=0, return_inverse=True
        )
        by_part = np.argsort(part_of.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(part_of.ravel()))
        for part, members in zip(discrete_parts, np.split(by_part, ends[:-1]), strict=True):
            discrete = part[part >= 0]
            continuous = sets[members][~is_discrete[sets[members]]].reshape(members.size, -1)
            cells = _find_cells(data, discrete)
            costs[members] = _discrete_cost(data, discrete, cells, continuous.shape[1])
            if continuous.size:
                costs[members] += self._density_costs(cells, continuous, standardised)
                costs[members] += data.n_rows * log_sd[continuous].sum(axis=1)
        return costs

    def _density_costs(
        self, cells: "_Cells", sets: NDArray[np.intp], standardised: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the sum over cells of the Gaussian part, in units where V is the identity."""
        kappa, size = self.pseudo_rows, sets.shape[1]
        used, sets = _relabel(sets)
        rows = np.stack([standardised[v] for v in used])
        counts, lone_counts, scatter = _cell_scatters(rows, cells, _pairs(sets))
        # a cell with one distinct row has no scatter: Sigma_d = kappa V / (n_d + kappa)
        lone = size / 2 * float(lone_counts @ (LOG_2PI + math.log(kappa) - np.log(lone_counts + kappa)))
        costs = np.full(len(sets), lone)
        step = max(1, _CELLS_AT_ONCE // (size * size * max(1, counts.size)))
        for start in range(0, len(sets) if counts.size else 0, step):
            columns = sets[start : start + step].T
            stack = scatter[columns[:, None], columns[None]]
            stack[np.arange(size), np.arange(size)] += kappa
            log_det, inverse_trace = _sweep(stack, kappa)
            fit = counts * (size * (LOG_2PI - np.log(counts + kappa)) + log_det)
            trace = (counts + kappa) * (size - kappa * inverse_trace)
            costs[start : start + step] += (fit + trace).sum(axis=-1) / 2
        return costs


# ------------------------------------------------------------------------------------- moments of the data


@dataclass(frozen=True)
class _Moments:
    """Second moments of the columns; one that does not vary has log_sd = -inf and no correlations."""

    log_sd: NDArray[np.float64]
    correlation: NDArray[np.float64]
    max_set_size: int  # numerical rank of the columns that vary
    n_distinct: int  # different rows; counted only where the rank is not full

    @property
    def varies(self) -> NDArray[np.bool_]:
        return np.isfinite(self.log_sd)

    @property
    def is_collinear(self) -> bool:
        """Whether there are rows enough for full rank, and yet it is not reached."""
        n_varying = int(self.varies.sum())
        return self.max_set_size < n_varying < self.n_distinct


_known_moments: dict[int, _Moments] = {}


def _moments(data: DataView) -> _Moments:
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


def _compute_moments(data: DataView) -> _Moments:
    standardised, log_sd = _standardise_columns(data)
    rows = np.stack(standardised)
    correlation = (rows * data.weights) @ rows.T / data.n_rows
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    n_varying = int(np.isfinite(log_sd).sum())
    n_dependent = int((np.linalg.eigvalsh(correlation) <= COLLINEAR).sum())
    n_distinct = len(np.unique(rows, axis=1).T) if n_dependent else len(data.weights)
    return _Moments(log_sd, correlation, n_varying - n_dependent, n_distinct)


def _standardise_columns(data: DataView) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
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


# ------------------------------------------------------------------------------------------ linear algebra


def _log_dets(
    data: DataView, correlation: NDArray[np.float64], sets: NDArray[np.intp]
) -> NDArray[np.float64]:
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


def _sweep(stack: NDArray[np.float64], smallest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln det and the trace of the inverse of symmetric matrices, stacked along the later axes.

    Sweeping every pivot turns A into -A^-1 (Dempster, 1969). `smallest` bounds the eigenvalues, hence the
    pivots, from below. The stack is overwritten.
    """
    log_det = np.zeros(stack.shape[2:])
    for j in range(len(stack)):
        pivot = np.maximum(stack[j, j], smallest)
        log_det += np.log(pivot)
        column = stack[:, j].copy()
        scaled = column / pivot
        stack -= column[:, None] * scaled
        stack[:, j] = stack[j] = scaled
        stack[j, j] = -1 / pivot
    return log_det, -np.trace(stack)


def _log_multigamma(size: int, dof: float) -> float:
    """Return ln Gamma_size(dof / 2) (Kuipers, Moffa and Heckerman, 2014, equation 3)."""
    return size * (size - 1) / 4 * math.log(math.pi) + sum(math.lgamma((dof - j) / 2) for j in range(size))


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


# ------------------------------------------------------------------------------------- cells of mixed data


@dataclass(frozen=True)
class _Cells:
    """The cells of some discrete columns: a code below n_codes, and the weight, of every distinct row."""

    codes: NDArray[np.intp]
    n_codes: int
    weights: NDArray[np.float64]


def _find_cells(data: DataView, discrete: NDArray[np.intp]) -> _Cells:
    codes, n_codes = np.zeros(len(data.weights), dtype=np.intp), 1
    for v in discrete:
        arity = int(data.arities[v])
        codes = codes * arity + data.columns[v]
        n_codes *= arity
        if n_codes > 16 * len(codes):  # mostly unseen cells: number the seen ones only
            seen, codes = np.unique(codes, return_inverse=True)
            n_codes = seen.size
    return _Cells(codes, n_codes, data.weights.astype(np.float64))


def _discrete_cost(data: DataView, discrete: NDArray[np.intp], cells: _Cells, n_continuous: int) -> float:
    """Return N H(D) + w (params(S) - 1)."""
    counts = np.bincount(cells.codes, cells.weights, cells.n_codes)
    counts = counts[counts > 0]
    entropy = data.n_rows * math.log(data.n_rows) - float(counts @ np.log(counts))
    n_cells = math.prod(int(arity) for arity in data.arities[discrete])
    params = n_cells * (1 + n_continuous * (n_continuous + 3) // 2)
    return entropy + math.log(data.n_rows) / 2 * (params - 1)


def _relabel(sets: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the columns that occur in any set, and the sets as positions among these."""
    used, positions = np.unique(sets, return_inverse=True)
    return used, positions.reshape(sets.shape)


def _pairs(sets: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mark the pairs of columns that occur together in a set."""
    together = np.zeros((sets.max() + 1, sets.max() + 1), dtype=np.bool_)
    together[sets[:, :, None], sets[:, None]] = True
    return together


def _cell_scatters(
    rows: NDArray[np.float64], cells: _Cells, pairs: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the counts of cells with several distinct rows and with one, and the scatters of the former.

    The scatter matrices have the cells along their last axis; entries of pairs that are not marked stay 0.
    Rows are centred within their cell before they are squared.
    """
    codes = cells.codes.astype(np.uint16) if cells.n_codes <= 1 << 16 else cells.codes  # 16 bits: radix sort
    order = np.argsort(codes, kind="stable")
    n_distinct = np.bincount(cells.codes)
    n_distinct = n_distinct[n_distinct > 0]
    weight = cells.weights[order]
    counts = np.add.reduceat(weight, np.cumsum(n_distinct) - n_distinct)
    several = n_distinct > 1
    scatter = np.zeros((len(rows), len(rows), int(several.sum())))
    if several.any():
        if not several.all():
            kept = np.repeat(several, n_distinct)
            order, weight = order[kept], weight[kept]
        size = n_distinct[several]
        starts = np.cumsum(size) - size
        centred = rows.take(order, axis=1)
        means = np.add.reduceat(centred * weight, starts, axis=1) / counts[several]
        centred -= np.repeat(means, size, axis=1)
        weighted = centred * weight
        for a in range(len(rows)):
            others = np.flatnonzero(pairs[a, : a + 1])
            products = (centred[: a + 1] if others.size == a + 1 else centred[others]) * weighted[a]
            scatter[a, others] = scatter[others, a] = np.add.reduceat(products, starts, axis=1)
    return counts[several], counts[~several], scatter


# ------------------------------------------------------------------------------------------------ refusals


def _refuse_discrete(data: DataView, sets: NDArray[np.intp], score: str) -> None:
    discrete = [v for v in _columns_in(sets) if data.states[v] is not None]
    if discrete:
        raise DataError(
            f"{_listed(data, discrete)} discrete, and {score} takes continuous columns only: use the "
            "conditional-Gaussian BIC, or leave the column out"
        )


def _refuse_constant(data: DataView, sets: NDArray[np.intp], log_sd: NDArray[np.float64]) -> None:
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


def _refuse_collinear(data: DataView, moments: _Moments) -> None:
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
    return (
        f"column {_quoted(data, columns)} is"
        if len(columns) == 1
        else f"columns {_quoted(data, columns)} are"
    )


def _quoted(data: DataView, columns: Iterable[np.intp]) -> str:
    return ", ".join(repr(data.names[v]) for v in columns)
