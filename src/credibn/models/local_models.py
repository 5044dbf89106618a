"""The conditional distributions that a network is made of, one for each child.

A discrete child with discrete parents has a table; a continuous child has a regression on its continuous parents in
each cell of the discrete ones, where a cell is one combination of their states (Lauritzen & Wermuth 1989, "Graphical
models for associations between variables, some of which are qualitative and some quantitative", Annals of Statistics
17); a discrete child with continuous parents has Bayes' rule on Gaussians, which is what the conditional-Gaussian score
assumes (Andrews, Ramsey & Cooper 2018).

A node is a position. Columns of values are codes (discrete) or floats (continuous), one array for each node; a model
reads only those that it uses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.errors import OptionError

SUM_TOLERANCE = 1e-5
"""Probabilities may miss the sum 1 by this much: network files print six or seven digits."""
_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class TableModel:
    """A discrete child with discrete parents: one distribution for each cell of the parents.

    Attributes
    ----------
    parents : tuple of int
        Their positions, increasing.
    probabilities : ndarray of float64
        The last axis is the child's states and sums to 1; the axes before are the states of each parent.

    Examples
    --------
    >>> rain, wet = TableModel((), np.array([0.8, 0.2])), TableModel((0,), np.array([[0.9, 0.1], [0.25, 0.75]]))
    >>> columns = [np.array([0, 1]), np.array([1, 1])]
    >>> np.exp(log_conditional(wet, 1, columns))
    array([0.1 , 0.75])
    """

    parents: tuple[int, ...]
    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        _set(self, "parents", _increasing(self.parents))
        _set_array(self, "probabilities")
        if self.probabilities.ndim != len(self.parents) + 1:
            raise OptionError(
                f"the table of a child with {len(self.parents)} parents has {self.probabilities.ndim} axes; give one "
                "for each parent, and the child's states last"
            )
        _check_probabilities(self.probabilities)

    __reduce__ = rebuilt_from_fields

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities."""
        n_states = self.probabilities.shape[-1]
        return int(self.probabilities.size // n_states * (n_states - 1))


@dataclass(frozen=True, eq=False)
class _TwoKindsOfParents:
    discrete_parents: tuple[int, ...]
    continuous_parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("discrete_parents", "continuous_parents"):
            _set(self, name, _increasing(getattr(self, name)))
        shared = set(self.discrete_parents) & set(self.continuous_parents)
        if shared:
            raise OptionError(f"node {min(shared)} is both a discrete and a continuous parent; name it once")

    __reduce__ = rebuilt_from_fields

    @property
    def parents(self) -> tuple[int, ...]:
        """Positions of all parents, increasing."""
        return tuple(sorted(self.discrete_parents + self.continuous_parents))


@dataclass(frozen=True, eq=False)
class LinearGaussian(_TwoKindsOfParents):
    """A continuous child: a regression on its continuous parents in each cell of the discrete ones.

    Attributes
    ----------
    discrete_parents, continuous_parents : tuple of int
        Their positions, increasing.
    intercepts, variances : ndarray of float64, shape (*cells,)
        With one axis for each discrete parent; variances are positive.
    coefficients : ndarray of float64, shape (*cells, k)
        One for each continuous parent.

    Examples
    --------
    >>> weight = LinearGaussian((), (0,), np.array(-100.0), np.array([1.0]), np.array(25.0))
    >>> log_conditional(weight, 1, [np.array([170.0, 180.0]), np.array([70.0, 85.0])]).round(3)
    array([-2.528, -3.028])
    """

    intercepts: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    variances: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("intercepts", "coefficients", "variances"):
            _set_array(self, name)
        cells = self.intercepts.shape
        if len(cells) != len(self.discrete_parents) or self.variances.shape != cells:
            raise OptionError(
                f"intercepts have shape {cells} and variances {self.variances.shape}; both need one axis for each of "
                f"the {len(self.discrete_parents)} discrete parents"
            )
        if self.coefficients.shape != (*cells, len(self.continuous_parents)):
            raise OptionError(
                f"coefficients have shape {self.coefficients.shape}; it must be "
                f"{(*cells, len(self.continuous_parents))}, with the continuous parents last"
            )
        if not (self.variances > 0).all():
            raise OptionError(f"a variance is {float(self.variances.min())!r}; each must be positive")

    @property
    def n_parameters(self) -> int:
        """Number of intercepts, coefficients and variances."""
        return self.intercepts.size + self.coefficients.size + self.variances.size


@dataclass(frozen=True, eq=False)
class GaussianDiscriminant(_TwoKindsOfParents):
    """A discrete child with continuous parents: Bayes' rule on a Gaussian of these parents for each state.

    The probability of state s given the cell d of the discrete parents and the values x of the continuous ones is
    proportional to ``probabilities[d, s]`` times the Gaussian density of x with ``means[d, s]``, ``covariances[d, s]``.

    Attributes
    ----------
    discrete_parents, continuous_parents : tuple of int
        Their positions, increasing; at least one is continuous.
    probabilities : ndarray of float64, shape (*cells, r)
        The last axis is the child's states and sums to 1.
    means : ndarray of float64, shape (*cells, r, k)
    covariances : ndarray of float64, shape (*cells, r, k, k)
        Symmetric and positive definite.

    Examples
    --------
    >>> means, covariances = np.array([[165.0], [178.0]]), np.full((2, 1, 1), 49.0)
    >>> sex = GaussianDiscriminant((), (0,), np.array([0.5, 0.5]), means, covariances)
    >>> np.exp(log_conditionals_of_states(sex, [np.array([171.5, 180.0])])).round(3)
    array([[0.5  , 0.5  ],
           [0.095, 0.905]])
    """

    probabilities: NDArray[np.float64]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("probabilities", "means", "covariances"):
            _set_array(self, name)
        shape, k = self.probabilities.shape, len(self.continuous_parents)
        if len(shape) != len(self.discrete_parents) + 1:
            raise OptionError(
                f"probabilities have {len(shape)} axes; give one for each of the {len(self.discrete_parents)} discrete "
                "parents, and the child's states last"
            )
        if k == 0:
            raise OptionError("a discriminant has no continuous parent; use a TableModel")
        if self.means.shape != (*shape, k) or self.covariances.shape != (*shape, k, k):
            raise OptionError(
                f"means have shape {self.means.shape} and covariances {self.covariances.shape}; they must be "
                f"{(*shape, k)} and {(*shape, k, k)}"
            )
        _check_probabilities(self.probabilities)
        if not np.allclose(self.covariances, np.swapaxes(self.covariances, -1, -2), rtol=1e-9, atol=0):
            raise OptionError("a covariance matrix is not symmetric; give symmetric ones")
        self._whitening  # noqa: B018 - refuses matrices that are not positive definite

    @property
    def n_parameters(self) -> int:
        """Number of free probabilities, means, variances and covariances."""
        r, k = self.means.shape[-2:]
        return int(self.probabilities.size // r * (r - 1 + r * k * (k + 3) // 2))

    @cached_property
    def _whitening(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each cell and state, a matrix that makes the covariance the identity, and its log determinant."""
        variances = np.diagonal(self.covariances, axis1=-2, axis2=-1)
        if not (variances > 0).all():
            raise OptionError(f"a variance of a discriminant is {float(variances.min())!r}; each must be positive")
        scales = np.sqrt(variances)  # units may be far apart
        correlations = self.covariances / scales[..., :, None] / scales[..., None, :]
        try:
            factors = np.linalg.cholesky(correlations)
        except np.linalg.LinAlgError:
            raise OptionError("a covariance matrix is not positive definite; give positive definite matrices") from None
        whitening = np.linalg.inv(factors) / scales[..., None, :]
        diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
        return whitening, -(np.log(diagonal) + np.log(scales)).sum(axis=-1)


LocalModel = TableModel | LinearGaussian | GaussianDiscriminant


def table_in_order(parents: Sequence[int], probabilities: NDArray[np.float64]) -> TableModel:
    """Return a table whose parents may come in any order, each with its axis."""
    order = np.argsort(parents, kind="stable")
    return TableModel(tuple(sorted(parents)), np.ascontiguousarray(probabilities.transpose(*order, len(order))))


def log_conditional(model: LocalModel, child: int, columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the natural logarithm of the probability, or density, of a child's values given its parents' values.

    The columns of the child and its parents must broadcast against each other. What is impossible has -inf.
    """
    if isinstance(model, LinearGaussian):
        cell = tuple(columns[v] for v in model.discrete_parents)
        residual = columns[child] - model.intercepts[cell]
        for at, v in enumerate(model.continuous_parents):
            residual = residual - model.coefficients[(*cell, at)] * columns[v]
        variance = model.variances[cell]
        density: NDArray[np.float64] = np.asarray(-(_LOG_2PI + np.log(variance) + residual**2 / variance) / 2)
        return density
    if isinstance(model, TableModel):
        return _log(model.probabilities[(*(columns[v] for v in model.parents), columns[child])])
    logs = log_conditionals_of_states(model, columns)
    codes = np.broadcast_to(columns[child], np.broadcast_shapes(logs.shape[:-1], np.shape(columns[child])))
    logs = np.broadcast_to(logs, (*codes.shape, logs.shape[-1]))
    return np.take_along_axis(logs, codes[..., None].astype(np.intp), axis=-1)[..., 0]


def log_conditionals_of_states(
    model: TableModel | GaussianDiscriminant, columns: Sequence[NDArray[Any]]
) -> NDArray[np.float64]:
    """Return the natural logarithm of the probability of each state of a discrete child, given its parents' values.

    The shape is that to which the parents' columns broadcast, none without parents, and the states last.
    """
    if isinstance(model, TableModel):
        return _log(model.probabilities[tuple(columns[v] for v in model.parents)])
    cell = tuple(columns[v] for v in model.discrete_parents)
    values = [columns[v] for v in model.continuous_parents]
    whitening, log_determinants = model._whitening
    logs = []
    for state in range(model.probabilities.shape[-1]):
        at: tuple[Any, ...] = (*cell, state)
        log_joint = _log(model.probabilities[at]) + log_determinants[at]
        centred = [value - model.means[(*at, j)] for j, value in enumerate(values)]
        for i in range(len(values)):  # the matrices are lower triangular
            white = sum(whitening[(*at, i, j)] * centred[j] for j in range(i + 1))
            log_joint = log_joint - white**2 / 2
        logs.append(log_joint)
    stacked = np.stack(np.broadcast_arrays(*logs), axis=-1)
    largest = stacked.max(axis=-1, keepdims=True)
    normalised: NDArray[np.float64] = stacked - largest - np.log(np.exp(stacked - largest).sum(axis=-1, keepdims=True))
    return normalised


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):  # what is impossible has log probability -inf
        return np.asarray(np.log(probabilities))


def _set(model: object, name: str, value: object) -> None:
    object.__setattr__(model, name, value)


def _set_array(model: object, name: str) -> None:
    """Store a read-only view: the flags of the caller's own array do not change."""
    try:
        view = np.asarray(getattr(model, name), dtype=np.float64).view()
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be an array of numbers") from None
    if not np.isfinite(view).all():
        raise OptionError(f"{name} has a value that is not finite; give finite numbers")
    view.flags.writeable = False
    _set(model, name, view)


def _increasing(parents: Sequence[int]) -> tuple[int, ...]:
    positions = tuple(int(v) for v in parents)
    if any(v < 0 for v in positions) or any(a >= b for a, b in itertools.pairwise(positions)):
        raise OptionError(f"the parents are {positions}; give positions in increasing order, each once")
    return positions


def _check_probabilities(probabilities: NDArray[np.float64]) -> None:
    if probabilities.size == 0:
        raise OptionError("a table of probabilities is empty; give at least one state of the child and each parent")
    if probabilities.min() < 0:
        raise OptionError(f"a probability is {float(probabilities.min())!r}; it must be 0 or more")
    sums = probabilities.sum(axis=-1)
    worst = float(sums.flat[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > SUM_TOLERANCE:
        raise OptionError(f"the probabilities of a child sum to {worst!r} in some cell; they must sum to 1")
