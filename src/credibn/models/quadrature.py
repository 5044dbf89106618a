"""The mean of a density on the line that is a Gaussian times bounded smooth factors, for many rows at once.

The trapezoidal rule on a grid that covers all of the mass converges faster than any power of the step for smooth
functions (Trefethen & Weideman 2014), so it only remains to find where the mass is. The factors are probabilities, at
most 1, but may move the mass far into the tails of the Gaussian: a wide grid finds it, finer ones close in on it, and
the step is halved until the mean no longer changes. The wide grid could miss a peak narrower than a tenth of the
Gaussian's standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credibn.models.mixture import row_blocks

_POINTS = 801
_HALF_WIDTH = 40.0  # standard deviations of the Gaussian that the first grid reaches to each side
_NEGLIGIBLE = -40.0  # a log density this far below the largest is 4e-18 of it
_ROUNDS = 8
_DOUBLINGS = 30
_MAX_POINTS = (_POINTS - 1) * 16 + 1
_ACCURACY = 1e-10  # of the width of the range: halving the step must not change the mean by more

Floats = NDArray[np.float64]


def posterior_means(centres: Floats, precisions: Floats, log_factor: Callable[[slice, Floats], Floats]) -> Floats:
    """Return the mean, for each row, of the density proportional to a Gaussian times a factor.

    `log_factor` takes a range of the rows and values of shape (rows in it, points).
    """
    means = np.empty_like(centres)
    for rows in row_blocks(len(centres), 4 * _MAX_POINTS):
        centre, precision = centres[rows, np.newaxis], precisions[rows, np.newaxis]

        def log_density(values: Floats, rows: slice = rows, at: Floats = centre, by: Floats = precision) -> Floats:
            return log_factor(rows, values) - by * (values - at) ** 2 / 2

        reach = _HALF_WIDTH / np.sqrt(precision)
        low, high = _range_of_mass(log_density, *_widened(log_density, centre - reach, centre + reach))
        n_points, found, before = _POINTS, _mean(log_density, low, high, _POINTS), np.full(len(centre), np.inf)
        while n_points < _MAX_POINTS and (np.abs(found - before) > _ACCURACY * (high - low)[:, 0]).any():
            n_points = 2 * n_points - 1
            found, before = _mean(log_density, low, high, n_points), found
        means[rows] = found
    return means


def _widened(log_density: Callable[[Floats], Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return ends far enough apart that the density is largest between them: a factor may outweigh 40 deviations."""
    for _ in range(_DOUBLINGS):
        largest = log_density(low + (high - low) * np.linspace(0.0, 1.0, _POINTS)).argmax(axis=1, keepdims=True)
        width = high - low
        low, high = np.where(largest == 0, low - width, low), np.where(largest == _POINTS - 1, high + width, high)
        if ((largest > 0) & (largest < _POINTS - 1)).all():
            break
    return low, high


def _range_of_mass(log_density: Callable[[Floats], Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return ends for each row that enclose all mass that is not negligible, and not much else."""
    for _ in range(_ROUNDS):
        values = low + (high - low) * np.linspace(0.0, 1.0, _POINTS)
        logs = log_density(values)
        is_mass = logs > logs.max(axis=1, keepdims=True) + _NEGLIGIBLE
        first = np.maximum(is_mass.argmax(axis=1) - 1, 0)
        last = np.minimum(_POINTS - is_mass[:, ::-1].argmax(axis=1), _POINTS - 1)
        low, high = (np.take_along_axis(values, end[:, np.newaxis], axis=1) for end in (first, last))
        if (last - first > _POINTS // 4).all():
            break
    return low, high


def _mean(log_density: Callable[[Floats], Floats], low: Floats, high: Floats, n_points: int) -> Floats:
    values = low + (high - low) * np.linspace(0.0, 1.0, n_points)
    logs = log_density(values)
    density = np.exp(logs - logs.max(axis=1, keepdims=True))
    mean: Floats = (density * values).sum(axis=1) / density.sum(axis=1)
    return mean
