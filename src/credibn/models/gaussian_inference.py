"""Exact inference in Gaussian networks: the joint distribution is normal, and so is every conditional.

The mean and covariance follow from the regressions, parents before children (Shachter & Kenley 1989). Cost: n^3 for
each network and each set of observed columns, whatever the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError
from credibn.models.local_models import LinearGaussian, LocalModel

Floats = NDArray[np.float64]


def joint_normal(models: Sequence[LocalModel]) -> tuple[Floats, Floats]:
    """Return the mean and the covariance of a Gaussian network, given by the local model of each node."""
    n = len(models)
    mean, covariance = np.zeros(n), np.zeros((n, n))
    is_done = np.zeros(n, dtype=np.bool_)
    while not is_done.all():
        for child, model in enumerate(models):
            parents = list(model.parents)
            if is_done[child] or not is_done[parents].all():
                continue
            assert isinstance(model, LinearGaussian), "each variable is continuous"
            assert not model.discrete_parents, "and so are its parents"
            mean[child] = model.intercepts + model.coefficients @ mean[parents]
            covariance[child] = covariance[:, child] = model.coefficients @ covariance[parents]
            covariance[child, child] = model.variances + model.coefficients @ covariance[parents, child]
            is_done[child] = True
    return mean, covariance


def conditional_means(mean: Floats, covariance: Floats, values: Floats, observed: Sequence[int], target: int) -> Floats:
    """Return the mean of one variable given the observed ones, for each row of values of shape (rows, n)."""
    known = list(observed)
    scales, factor = _scaled_factor(covariance, known)
    weights = np.linalg.solve(factor.T, np.linalg.solve(factor, covariance[known, target] / scales)) / scales
    means: Floats = mean[target] + (values[:, known] - mean[known]) @ weights
    return means


def log_density_of_observed(mean: Floats, covariance: Floats, values: Floats, observed: Sequence[int]) -> Floats:
    """Return the log density of the observed variables in each row of values of shape (rows, n)."""
    known = list(observed)
    scales, factor = _scaled_factor(covariance, known)
    white = np.linalg.solve(factor, ((values[:, known] - mean[known]) / scales).T)
    log_determinant = 2 * (np.log(np.diagonal(factor)).sum() + np.log(scales).sum())
    logs: Floats = -(len(known) * math.log(2 * math.pi) + log_determinant + (white**2).sum(axis=0)) / 2
    return logs


def _scaled_factor(covariance: Floats, known: list[int]) -> tuple[Floats, Floats]:
    """Return standard deviations and the Cholesky factor of the correlations: units may be far apart."""
    scales: Floats = np.sqrt(np.diagonal(covariance)[known])
    correlations = covariance[np.ix_(known, known)] / scales[:, np.newaxis] / scales
    try:
        factor: Floats = np.linalg.cholesky(correlations).astype(np.float64)
    except np.linalg.LinAlgError:
        raise DataError(
            "the observed columns determine each other exactly, so they have no density: drop one of them"
        ) from None
    return scales, factor
