"""Scores of continuous columns: Gaussian BIC and BGe.

Each is one set function F in costs (lower is better, natural logarithms), `cost(i, P) = F(P + i) - F(P)`, and F of the
empty set is 0. Both need the determinant of a sub-matrix of one n by n matrix for every set: about k^3/3 operations for
k columns, whatever the number of rows (see `credibn.scores.moments`).

References
----------
G. Schwarz (1978), Estimating the dimension of a model. Annals of Statistics 6, 461-464.
D. Geiger and D. Heckerman (2002), Parameter priors for directed acyclic graphical models and the
characterization of several probability distributions. Annals of Statistics 30, 1412-1440.
J. Kuipers, G. Moffa and D. Heckerman (2014), Addendum on the scoring of Gaussian directed acyclic graphical
models. Annals of Statistics 42, 1689-1691.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError, OptionError
from credibn.scores.moments import (
    COLLINEAR,
    LOG_2PI,
    Moments,
    log_determinants,
    moments_of,
    refuse_collinear,
    refuse_constant,
    refuse_discrete,
    warn_of_rounding,
)
from credibn.scores.protocol import DataView

_UNIT = 2.0**-53


@dataclass(frozen=True)
class GaussianBIC:
    """Bayesian information criterion of linear Gaussian networks.

    With Sigma_S the maximum likelihood covariance of the columns S and w = ln(N)/2::

        F(S) = N/2 (|S| ln 2pi + ln det Sigma_S + |S|) + w |S|(|S| + 3)/2
        cost(i, P) = N/2 (ln 2pi + 1 + ln sigma^2) + w (|P| + 2)

    where sigma^2 is the residual variance of the regression of i on P; the parameters are the coefficients, the
    intercept and the variance (Schwarz, 1978; N is the number of rows).

    Changing the location or unit of a column changes every network's score by the same amount.

    Raises
    ------
    DataError
        When scoring: for discrete columns, constant columns, collinear columns (see `COLLINEAR`) or columns so nearly
        collinear that rounding could change F by more than 0.01 nats, and sets larger than `max_set_size`. The columns
        are named. A constant column is refused only when a set contains it.

    Warns
    -----
    CredibnWarning
        If rounding could change F by more than 0.001 nats.

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
        refuse_discrete(data, sets, "Gaussian BIC")
        moments = self._moments(data)
        refuse_constant(data, sets, moments.log_sd)
        if size > moments.max_set_size:
            raise DataError(
                f"a set of {size} columns cannot be scored on {moments.n_distinct} different rows; a "
                f"Gaussian score exists for at most {moments.max_set_size} columns here. Allow at most "
                f"{moments.max_set_size - 1} parents, add rows, or use BGe, whose prior needs no minimum"
            )
        log_dets = log_determinants(data, moments.correlation, sets)
        log_dets += 2 * moments.log_sd[sets].sum(axis=1)
        penalty = math.log(data.n_rows) / 2 * (size * (size + 3) / 2)
        costs: NDArray[np.float64] = data.n_rows / 2 * (size * (LOG_2PI + 1) + log_dets) + penalty
        return costs

    def set_cost_error(self, data: DataView) -> float:
        """Return a bound on the rounding error of F over all sets that can be scored: docs/guarantees.md, "Numbers"."""
        moments, N = moments_of(data), data.n_rows
        size = moments.max_set_size
        largest = size * (LOG_2PI + 1 - math.log(COLLINEAR)) + 2 * float(np.abs(moments.log_sd[moments.varies]).sum())
        largest = N / 2 * largest + math.log(N) / 2 * size * (size + 3) / 2
        return self._condition_error(data) + 8 * _UNIT * largest

    def _condition_error(self, data: DataView) -> float:
        moments = moments_of(data)
        return data.n_rows / 2 * moments.log_det_error(moments.max_set_size)

    def _moments(self, data: DataView) -> Moments:
        """Return the moments; refuse collinear columns, and warn of rounding."""
        moments = moments_of(data)
        refuse_collinear(data, moments)
        warn_of_rounding(data, moments, self._condition_error(data))
        return moments

    def max_set_size(self, data: DataView) -> int:
        """Return the size of the largest set that can be scored.

        A covariance of r different rows has rank at most r - 1: with few rows, a node and its parents are at most r - 1
        columns, and otherwise all columns that vary. The caller limits the number of parents to one less.
        """
        return self._moments(data).max_set_size

    def cost_floor(self, data: DataView) -> NDArray[np.float64]:
        """Return a lower bound on the data part of each node's cost, whatever its parents.

        ``cost(i, T) >= cost_floor(data)[i] + size_penalty(data, len(T))`` for every T, up to rounding. Proof: the
        residual variance is a minimum over the coefficients, and coefficients for T are coefficients for all other
        columns with zeros filled in; so sigma^2(i | T) >= sigma^2(i | all others), and ln is increasing.

        Columns that cannot be scored (constant, discrete), and all columns if there are too few rows to regress on all
        others, have the floor -inf.
        """
        moments = self._moments(data)
        floor = np.full(len(data.names), -np.inf)
        varying = np.flatnonzero(moments.varies)
        if 0 < varying.size == moments.max_set_size:
            others = np.array([np.delete(varying, i) for i in range(varying.size)], dtype=np.intp)
            everything = log_determinants(data, moments.correlation, varying[None])
            residual = everything - log_determinants(data, moments.correlation, others) + 2 * moments.log_sd[varying]
            floor[varying] = data.n_rows / 2 * (LOG_2PI + 1 + residual)
        return floor

    def size_penalty(self, data: DataView, n_parents: int) -> float:
        """Return the part of a local cost that depends on the number of parents only: w (n_parents + 2)."""
        return math.log(data.n_rows) / 2 * (n_parents + 2)


@dataclass(frozen=True)
class BGe:
    """Bayesian Gaussian equivalent score: marginal likelihood under a normal-Wishart prior.

    ``F(S) = -ln p(d^S)`` with l = |S| and a = alpha_w - n + l (Kuipers, Moffa and Heckerman, 2014, equation 2, the
    correction of Geiger and Heckerman, 2002, equation 18)::

        p(d^S) = (alpha_mu / (N + alpha_mu))^(l/2) Gamma_l((N + a)/2) / (pi^(l N/2) Gamma_l(a/2))
                 |T_SS|^(a/2) / |R_SS|^((N + a)/2)

    T = t I with t = alpha_mu (alpha_w - n - 1) / (alpha_mu + 1), and R = T + S_N with S_N the centred scatter matrix of
    the data. The prior mean nu is set to the sample means (a fixed nu would make the answer depend on the zero of each
    scale), which removes the third term of their equation 4.

    Changing the location of a column changes nothing. **The unit matters**: T assumes columns of comparable scale, so
    standardise them first unless their units are meaningful.

    Parameters
    ----------
    alpha_mu
        Rows that the prior mean is worth; positive.
    alpha_w
        Degrees of freedom of the Wishart prior; above n + 1, so that T is positive definite. By default n + alpha_mu +
        1, which makes F(S) independent of the other columns. n counts all columns of the data.

    Raises
    ------
    OptionError
        For values out of range; alpha_w is compared with n when scoring.
    DataError
        When scoring: for discrete columns, and for collinear columns whose prior variance is lost to
        rounding, or where rounding could change F by more than 0.01 nats.

    Warns
    -----
    CredibnWarning
        If rounding could change F by more than 0.001 nats.

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
                f"alpha_w is {self.alpha_w!r}; it must exceed the number of columns + 1: omit it to use the default"
            )

    def settings(self) -> dict[str, object]:
        """Return the options that define the score; alpha_w is None for the default."""
        return {"alpha_mu": self.alpha_mu, "alpha_w": self.alpha_w}

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate F of every row of `sets`."""
        size, n, N = sets.shape[1], len(data.names), data.n_rows
        alpha_w = self._alpha_w(data)
        if sets.size == 0:
            return np.zeros(len(sets))
        refuse_discrete(data, sets, "BGe")
        moments = moments_of(data)
        log_t, log_r, correlation, _ = self._posterior(data, moments)
        warn_of_rounding(data, moments, self._condition_error(data))
        log_det_r = log_determinants(data, correlation, sets)
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

    def set_cost_error(self, data: DataView) -> float:
        """Return a bound on the rounding error of F over all sets that can be scored: docs/guarantees.md, "Numbers"."""
        n, N, moments, alpha_w = len(data.names), data.n_rows, moments_of(data), self._alpha_w(data)
        log_t, log_r, _, _ = self._posterior(data, moments)
        largest = N + alpha_w
        largest *= n * (2 + math.log(largest) - math.log(COLLINEAR)) + n * abs(log_t) + float(np.abs(log_r).sum())
        return self._condition_error(data) + 8 * _UNIT * largest

    def _condition_error(self, data: DataView) -> float:
        moments = moments_of(data)
        _, _, correlation, error = self._posterior(data, moments)
        eigenvalues = np.linalg.eigvalsh(correlation.astype(np.float64))
        return (data.n_rows + self._alpha_w(data)) / 2 * moments.log_det_error(len(data.names), eigenvalues, error)

    def _alpha_w(self, data: DataView) -> float:
        n = len(data.names)
        alpha_w = n + self.alpha_mu + 1 if self.alpha_w is None else self.alpha_w
        if not alpha_w > n + 1:
            raise OptionError(
                f"alpha_w is {alpha_w!r} and the data have {n} columns; alpha_w must exceed {n + 1} "
                "for the prior to be proper: omit it to use the default"
            )
        return alpha_w

    def _posterior(self, data: DataView, moments: Moments) -> tuple[float, NDArray[np.float64], NDArray[Any], float]:
        """Return ln t, the logarithms of the diagonal of R, R scaled to a unit diagonal, and the error of its entries.

        T shrinks every correlation of S_N, by a factor that is close to 1 where the data outweigh the prior.
        """
        log_t = math.log(self.alpha_mu * (self._alpha_w(data) - len(data.names) - 1) / (self.alpha_mu + 1))
        log_scatter = math.log(data.n_rows) + 2 * moments.log_sd
        log_r = np.logaddexp(log_t, log_scatter)
        dtype = moments.correlation.dtype
        shrunk = 1 / np.sqrt(1 + np.exp(np.minimum(log_t - log_scatter, 700.0).astype(dtype)))
        correlation = moments.correlation * shrunk[:, None] * shrunk
        np.fill_diagonal(correlation, 1.0)
        known = moments.varies
        digits = np.abs(log_scatter[known]) + abs(log_t) + math.log(data.n_rows)
        of_prior = np.minimum(1.0, np.exp(log_t - log_r[known]))
        of_factors = of_prior * np.sqrt(1 - of_prior) * digits
        error = 4 * _UNIT * float(of_factors.max(initial=0.0)) + 8 * float(np.finfo(dtype).eps)
        return log_t, log_r, correlation, error


def _log_multigamma(size: int, dof: float) -> float:
    """Return ln Gamma_size(dof / 2) (Kuipers, Moffa and Heckerman, 2014, equation 3)."""
    return size * (size - 1) / 4 * math.log(math.pi) + sum(math.lgamma((dof - j) / 2) for j in range(size))
