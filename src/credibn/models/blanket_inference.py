"""The posterior of one variable when all others are observed: only its Markov blanket matters.

p(t | rest) is proportional to the local model of t times those of its children (Pearl 1988). Networks that agree on
these are evaluated once, with their weights added up. For a continuous target whose children are all regressions the
product is Gaussian: precisions add up. With a discrete child that has the target among its continuous parents there is
no closed form, and the mean is an integral over the line, computed numerically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn.models.local_models import LinearGaussian
from credibn.models.mixture import Mixture, row_blocks
from credibn.models.quadrature import posterior_means

Floats = NDArray[np.float64]


def blanket_probabilities(
    mixture: Mixture, columns: Sequence[NDArray[Any]], target: int
) -> tuple[Floats, NDArray[np.float64]]:
    """Return the weighted sum of the probabilities of a discrete target's states, and the sum of these weights.

    Networks that rule out what was observed are left out of both. The target's own values are not read.
    """
    labels = mixture.states[target]
    assert labels is not None, "the target is discrete"
    blankets = mixture.blankets(target)
    used = sorted({at for blanket in blankets for at in blanket})
    n_rows = len(columns[0])
    probabilities, weights = np.zeros((n_rows, len(labels))), np.zeros(n_rows)
    for rows in row_blocks(n_rows, len(labels) * (len(used) + 2)):
        spread = [column[rows, np.newaxis] for column in columns]
        spread[target] = np.arange(len(labels))[np.newaxis]
        logs = {at: mixture.log_conditional(at, spread) for at in used}
        for blanket, weight in blankets.items():
            log_joint = sum((logs[at] for at in blanket), np.zeros((rows.stop - rows.start, len(labels))))
            largest = log_joint.max(axis=1, keepdims=True)
            is_possible = np.isfinite(largest)
            joint = np.where(is_possible, np.exp(log_joint - np.where(is_possible, largest, 0.0)), 0.0)
            total = joint.sum(axis=1, keepdims=True)
            probabilities[rows] += weight * np.divide(joint, total, out=np.zeros_like(joint), where=is_possible)
            weights[rows] += weight * is_possible[:, 0]
    return probabilities, weights


def blanket_means(mixture: Mixture, columns: Sequence[NDArray[Any]], target: int) -> Floats:
    """Return the averaged posterior mean of a continuous target in each row."""
    blankets = mixture.blankets(target)
    n_rows = len(columns[0])
    parts = dict[int, tuple[Floats, Floats]]()
    means = np.zeros(n_rows)
    for blanket, weight in blankets.items():
        precision, information = np.zeros(n_rows), np.zeros(n_rows)
        discriminants = list[int]()
        for at in blanket:
            model = mixture.local_models[at]
            if not isinstance(model, LinearGaussian):
                discriminants.append(at)
                continue
            if at not in parts:
                parts[at] = gaussian_part(model, mixture.children[at], columns, target)
            precision = precision + parts[at][0]
            information = information + parts[at][1]
        found = information / precision
        if discriminants:
            found = posterior_means(found, precision, _log_factor(mixture, columns, target, discriminants))
        means += weight * found
    return means


def gaussian_part(
    model: LinearGaussian, child: int, columns: Sequence[NDArray[Any]], target: int
) -> tuple[Floats, Floats]:
    """Return the precision that a regression gives the target in each row, and precision times mean."""
    cell = tuple(columns[v] for v in model.discrete_parents)
    rest = model.intercepts[cell]
    slope: Any = 1.0
    for at, v in enumerate(model.continuous_parents):
        if v == target:
            slope = model.coefficients[(*cell, at)]
        else:
            rest = rest + model.coefficients[(*cell, at)] * columns[v]
    variance = model.variances[cell]
    value = rest if child == target else columns[child] - rest
    shape = columns[target].shape
    return np.broadcast_to(slope**2 / variance, shape), np.broadcast_to(slope * value / variance, shape)


def _log_factor(
    mixture: Mixture, columns: Sequence[NDArray[Any]], target: int, models: Sequence[int]
) -> Callable[[slice, Floats], Floats]:
    """Return the log probability of the observed discrete children, as a function of rows and values of the target."""

    def log_factor(rows: slice, values: Floats) -> Floats:
        spread = [column[rows, np.newaxis] for column in columns]
        spread[target] = values
        return sum((mixture.log_conditional(at, spread) for at in models), np.zeros_like(values))

    return log_factor
