"""How a list of tasks is cut into pieces of about equal work."""

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["cut_evenly"]


def cut_evenly(weights: Sequence[float], n_pieces: int) -> list[tuple[int, int]]:
    """Cut a list of tasks into ranges, none heavier than the total / `n_pieces` unless it is a single task.

    There may be up to twice as many ranges. They depend on the weights alone, never on who does the work, so that a
    piece that was kept means the same to a later run on other machines.

    Examples
    --------
    >>> cut_evenly([5.0, 1.0, 1.0, 1.0, 2.0], 2)
    [(0, 1), (1, 5)]
    """
    most = sum(weights) / n_pieces
    cuts, held = [0], 0.0
    for task, weight in enumerate(weights):
        if held > 0.0 and held + weight > most:
            cuts.append(task)
            held = 0.0
        held += weight
    cuts.append(len(weights))
    return [(first, last) for first, last in pairwise(cuts) if first < last]
