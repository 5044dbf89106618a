"""A diagram as arrays, for files and for other processes, and back: what is read is checked, then counted again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._run.memory import usable_bytes
from credibn.errors import TooLargeError
from credibn.factored.counting import FactoredNetworks
from credibn.factored.grid import grid_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = ("order", "sizes", "degrees", "to", "candidates", "weights")
_KINDS = (np.int32, np.uint32, np.uint32, np.uint32, np.uint32, np.int32)
_WHAT = ("network", "class")
COLUMNS: dict[str, Any] = {f"{what}_{name}": kind for what in _WHAT for name, kind in zip(_NAMES, _KINDS, strict=True)}
"""The arrays of the diagram of networks, and of that of classes, which are empty where classes are not counted."""
_SHARE_OF_MEMORY = 0.5


def as_arrays(networks: FactoredNetworks) -> dict[str, NDArray[Any]]:
    """Return the diagrams as arrays, with candidates as positions among all."""
    found = {name: np.zeros(0, dtype=kind) for name, kind in COLUMNS.items()}
    for what, is_of_classes in zip(_WHAT, (False, True), strict=True):
        arrays = _core.diagram_arrays(networks.counted, is_of_classes)
        if arrays is None:
            continue
        found |= {f"{what}_{name}": array for name, array in zip(_NAMES, arrays, strict=True)}
        found[f"{what}_candidates"] = networks.candidates[arrays[4]].astype(np.uint32)
    return found


def of_arrays(
    arrays: Mapping[str, NDArray[Any]],
    limit: int,
    offsets: NDArray[np.int64],
    costs: NDArray[np.float64],
    masks: NDArray[np.uint64],
    tolerance: float,
) -> FactoredNetworks:
    """Return the networks of a diagram over these candidates.

    Raises
    ------
    ValueError
        When the arrays are no diagram of networks within the limit.
    TooLargeError
        When there is too little memory to count them.
    """
    grid = grid_of(offsets, costs)
    used = np.unique(arrays["network_candidates"].astype(np.int64))
    if not len(used) or used[-1] >= len(costs):
        raise ValueError("a network has a parent set that is not in the score table")
    numbers = np.zeros(len(costs), dtype=np.uint32)
    numbers[used] = np.arange(len(used))
    diagrams: list[Any] = []
    for what in _WHAT:
        of_diagram = [arrays[f"{what}_{name}"] for name in _NAMES]
        if len(of_diagram[4]) and not np.isin(of_diagram[4], used).all():
            raise ValueError("a class has a parent set that no network has")
        of_diagram[4] = numbers[of_diagram[4]]
        diagrams.append(tuple(of_diagram) if len(of_diagram[0]) else None)
    if diagrams[0] is None:
        raise ValueError("there is no diagram of the networks")
    counted = _core.counted_of_arrays(
        np.searchsorted(used, offsets).astype(np.int64),
        grid.costs[used],
        np.ascontiguousarray(masks[used]),
        limit,
        diagrams[0],
        diagrams[1],
        int(_SHARE_OF_MEMORY * usable_bytes()),
        None,
    )
    if counted.outcome != "complete":
        raise TooLargeError("there is too little memory to count the networks of this result; use a larger machine")
    return FactoredNetworks(counted, grid, offsets, used, tolerance)
