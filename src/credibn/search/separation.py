"""Cuts that a fractional solution violates.

While cuts raise the bound quickly, all cluster cuts are taken; later, or where there are few, zero-half cuts are looked
for too, and those taken that differ from each other.
"""

from credibn import _core
from credibn.search.relaxation import Floats, Relaxation

LARGEST_K = 3
LEAST_VIOLATION = 0.01
NEW_CUTS = 150
FOUND_CUTS = 300
"""Of each kind, from which those are taken that differ."""
FEW_CUTS = 5
MOST_COSINE = 0.6
"""Of the angle between two cuts that differ."""


def find_cuts(problem: "_core.SearchProblem", relaxation: Relaxation, points: Floats, is_stalling: bool) -> list[int]:
    """Return cuts of the problem's pool that one of the points violates, each point a row."""
    cuts: list[int] = []
    if not is_stalling:
        for point in points:
            cuts += problem.separate_cluster_cuts(point, LARGEST_K, NEW_CUTS, LEAST_VIOLATION)
    if len(cuts) < FEW_CUTS:
        cuts += problem.separate_diverse_cuts(
            points,
            relaxation.columns_in_use(),
            relaxation.cuts,
            LARGEST_K,
            FOUND_CUTS,
            NEW_CUTS,
            MOST_COSINE,
            LEAST_VIOLATION,
        )
    return cuts
