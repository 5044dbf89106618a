"""Which variable to set next: what an experiment would tell about the directions that the data leave open.

Rows in which nothing is set, however many, tell the class of a network and no more. Rows in which x is set tell the
direction of each edge at x too (Hauser and Buehlmann 2012), that is the parents of x, and what follows from them. So
within a class an experiment on x splits the members by the parents of x, and is expected to reduce their entropy by
that of the parents:

    gain(x) = sum over classes of weight * H(parents of x | class).

It needs the probability of each parent set in each class alone, not the members.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn.credible.averages import Averages
from credibn.credible.factored_averages import N_SAMPLES
from credibn.credible.weights import WeightedStructures

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

_BIT = math.log(2.0)


def informative_frame(averages: Averages) -> DataFrame:
    """Return what setting each variable is expected to tell, the most first: see `CredibleSet`."""
    import pandas as pd

    edges = averages.reversible.sum(axis=0)  # refused where classes of a counted set are not whole
    gains, squares, doubt = _gains(averages, averages.listed)
    frame = pd.DataFrame(
        {
            "variable": list(averages.names),
            "bits": np.round(gains / _BIT, 12) + 0.0,
            "share": np.round(gains / doubt, 12) + 0.0 if doubt > 0 else np.zeros(len(gains)),
            "edges": edges,
        }
    )
    if not averages.weighted.structures.is_listed:
        error = math.sqrt(max(0.0, float((squares - gains**2).max())) / N_SAMPLES) / _BIT
        frame.attrs.update({"method": "sampling", "n_networks": N_SAMPLES, "standard_error": error})
    return frame.sort_values("bits", ascending=False, kind="stable", ignore_index=True)


def _gains(averages: Averages, weighted: WeightedStructures) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the expected reduction for each variable, its mean square, and the entropy within classes, in nats."""
    table, structures, weights = averages.table, weighted.structures, weighted.weights
    n = table.n_variables
    gains, squares, doubt = np.zeros(n), np.zeros(n), 0.0
    if structures.class_of is None:
        offsets, masks = table.offsets, table.masks
        for number, weight in enumerate(weights.tolist()):
            if structures.log_sizes[number] == 0.0:
                continue
            one = np.ascontiguousarray(structures.choices[number : number + 1])
            nodes, _, probabilities, *_ = _core.average_structure(offsets, masks, one, np.ones(1), True)
            told = np.bincount(nodes, weights=_terms(probabilities), minlength=n)
            gains, squares = gains + weight * told, squares + weight * told**2
            doubt += weight * float(structures.log_sizes[number])
        return gains, squares, doubt
    for number in range(structures.n_classes):
        members = structures.members_of(number)
        total = math.fsum(weights[members])
        if len(members) == 1 or total == 0.0:
            continue
        shares = weights[members] / total
        doubt += total * float(_terms(shares).sum())
        for v in range(n):
            _, place = np.unique(structures.choices[members, v], return_inverse=True)
            gain = float(_terms(np.bincount(place, weights=shares).astype(np.float64)).sum())
            gains[v], squares[v] = gains[v] + total * gain, squares[v] + total * gain**2
    return gains, squares, doubt


def _terms(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -p ln p, 0 where p is 0."""
    return -probabilities * np.log(np.where(probabilities > 0, probabilities, 1.0))
