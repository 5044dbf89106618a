"""Costs as whole numbers of a grid step, so that every sum and comparison of counting is exact.

Scores that this package makes lie on a grid already (docs/guarantees.md, "Numbers"). Costs of another origin are
rounded to the finest grid on which all sums fit: what that changes is far below the tolerance of such scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BITS = 56
"""Sums of costs stay below 2 to this power."""
LARGEST = 2.0**_BITS
LARGEST_OF_NODE = LARGEST / 128
"""The core adds up 256 of these, and has room for four times the largest."""


@dataclass(frozen=True)
class Grid:
    """The costs of candidates beyond the cheapest of their node, in steps; `base` is the sum of the cheapest."""

    costs: NDArray[np.int64]
    base: float
    step: float
    rounding: int  # how many steps the cost of a network may be off

    def cost(self, steps: int) -> float:
        """Return a cost in nats, correct to rounding."""
        return math.fsum((self.base, steps * self.step))

    def width(self, nats: float) -> int:
        """Return how many steps a cost may be above another where they differ by at most this; all sums fit into it."""
        return math.floor(min(nats / self.step, LARGEST)) + self.rounding


def grid_of(offsets: NDArray[np.int64], costs: NDArray[np.float64]) -> Grid:
    """Return the costs on the coarsest grid that holds them, or the nearest on the finest that fits."""
    cheapest = costs[offsets[:-1]]
    n, counts = len(cheapest), np.diff(offsets)
    beyond = costs - np.repeat(cheapest, counts)
    most = max(float(beyond.max(initial=0.0)), 2.0**-60)
    finest = _BITS - math.frexp(most)[1] - n.bit_length()
    exponent = min(_coarsest(costs), finest)
    scaled = np.ldexp(beyond, exponent)
    steps = np.rint(scaled)
    rounding = 0 if (steps == scaled).all() else n
    return Grid(steps.astype(np.int64), math.fsum(cheapest), math.ldexp(1.0, -exponent), rounding)


def _coarsest(costs: NDArray[np.float64]) -> int:
    """Return the least k such that all costs are multiples of 2**-k."""
    fractions, exponents = np.frexp(costs)
    digits = np.ldexp(fractions, 53).astype(np.int64)
    lowest = digits & -digits
    trailing = np.where(digits == 0, 53, np.log2(np.maximum(lowest, 1)).astype(np.int64))
    return int(np.max(np.where(digits == 0, -1000, 53 - trailing - exponents), initial=-1000))
