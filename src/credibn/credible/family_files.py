"""The counts and moments of a credible set in its file: as JSON and arrays, and back with everything checked."""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn.credible.families import (
    Family,
    FamilyStatistics,
    States,
    StoredFamilies,
    Unit,
    categorical_members,
    continuous_members,
    families_in,
    number_of_cells,
)
from credibn.credible.structures import Structures
from credibn.errors import FileFormatError
from credibn.scores import ScoreTable

COLUMNS = {
    "units": np.float64,  # mean, standard deviation and whether it varies, of each continuous variable
    "n_cells": np.int64,  # of each family of the networks, in the order of the score table
    "cells": np.int64,
    "counts": np.int64,
    "moments": np.float64,  # of each family the means, then the lower triangles of the scatter matrices
}
_LABELS: Mapping[str, Callable[[str], object]] = {
    "float": float,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "text": str,
}
Arrays = dict[str, NDArray[Any]]


def as_file(
    stored: StoredFamilies | None, table: ScoreTable, structures: Structures
) -> tuple[dict[str, Any] | None, Arrays]:
    """Return what a file holds of the training table: JSON, None where it holds nothing, and the arrays."""
    families = families_in(table, structures)
    if stored is None or not families or not stored.families.keys() >= set(families):
        return None, {name: np.zeros(0, dtype=dtype) for name, dtype in COLUMNS.items()}
    training = {
        "states": [None if labels is None else [_label_as_json(label) for label in labels] for labels in stored.states],
        "cuts": {name: list(edges) for name, edges in stored.cuts.items()},
        "n_rows": stored.n_rows,
    }
    found = [stored.families[family] for family in families]
    units = [[unit.mean, unit.sd, float(unit.varies)] for unit in stored.units if unit is not None]
    parts: dict[str, list[NDArray[Any]]] = {
        "units": [np.array(units, dtype=np.float64).reshape(-1)],
        "n_cells": [np.array([len(one.cells) for one in found], dtype=np.int64)],
        "cells": [one.cells for one in found],
        "counts": [one.counts for one in found],
        "moments": [part for one in found for part in (one.means.reshape(-1), _lower(one.scatters))],
    }
    return training, {name: np.concatenate(parts[name]).astype(dtype) for name, dtype in COLUMNS.items()}


def of_file(
    training: Mapping[str, Any] | None,
    arrays: Mapping[str, NDArray[Any]],
    table: ScoreTable,
    structures: Structures,
) -> StoredFamilies | None:
    """Return what a file holds of the training table."""
    if training is None:
        _require(all(not len(arrays[name]) for name in COLUMNS), "it has counts of no table")
        return None
    _require(set(training) == {"states", "cuts", "n_rows"}, "the training table is not described by its parts")
    states, n_rows = _states(training["states"], len(table.names)), training["n_rows"]
    _require(isinstance(n_rows, int) and not isinstance(n_rows, bool) and n_rows > 0, "the number of rows is wrong")
    has_interventions = bool(table.provenance.get("interventions"))
    families = families_in(table, structures)
    n_cells = arrays["n_cells"]
    _require(len(n_cells) == len(families) and bool((n_cells > 0).all()), "it has not the counts of each family")
    found, at, moments = dict[Family, FamilyStatistics](), 0, arrays["moments"]
    _require(len(arrays["cells"]) == len(arrays["counts"]) == n_cells.sum(), "it has not the counts of each cell")
    for family, size in zip(families, n_cells.tolist(), strict=True):
        cells, counts = arrays["cells"][at : at + size], arrays["counts"][at : at + size]
        at += size
        n_all = number_of_cells(states, categorical_members(states, *family))
        _require(cells[0] >= 0 and cells[-1] < n_all and bool((cells[1:] > cells[:-1]).all()), "a cell is wrong")
        n_used = counts.sum() if has_interventions else n_rows  # rows where the child was not set
        _require(bool((counts > 0).all()) and counts.sum() == n_used <= n_rows, "the counts do not add up to the rows")
        k = len(continuous_members(states, *family))
        n_means, n_products = size * k, size * k * (k + 1) // 2
        _require(len(moments) >= n_means + n_products, "it has not the moments of each family")
        means = moments[:n_means].reshape(size, k)
        scatters = _full(moments[n_means : n_means + n_products].reshape(size, -1), k)
        moments = moments[n_means + n_products :]
        _require(bool((np.diagonal(scatters, axis1=1, axis2=2) >= 0).all()), "a sum of squares is negative")
        found[family] = FamilyStatistics(cells.copy(), counts.copy(), means.copy(), scatters)
    _require(not len(moments) and bool(np.isfinite(arrays["moments"]).all()), "the moments are wrong")
    return StoredFamilies(
        table.names,
        states,
        _cuts(training["cuts"], table.names, states),
        n_rows,
        _units(arrays["units"], states),
        found,
    )


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise FileFormatError(what)


def _states(listed: Any, n: int) -> States:
    _require(isinstance(listed, list) and len(listed) == n, "the states are not those of the variables")
    states = tuple(None if labels is None else tuple(map(_label_of_json, labels)) for labels in listed)
    for labels in states:
        _require(labels is None or len(set(labels)) == len(labels) > 0, "a variable has no states, or one twice")
    return states


def _cuts(given: Any, names: tuple[str, ...], states: States) -> dict[str, tuple[float, ...]]:
    _require(isinstance(given, dict), "the bin edges are wrong")
    for name, edges in given.items():
        labels = states[names.index(name)] if name in names else None
        is_sound = labels is not None and len([label for label in labels if label is not None]) == len(edges) + 1
        is_sound &= all(isinstance(edge, float) and math.isfinite(edge) for edge in edges)
        _require(is_sound and all(low < high for low, high in pairwise(edges)), f"the bin edges of {name!r} are wrong")
    return {name: tuple(edges) for name, edges in given.items()}


def _units(numbers: NDArray[np.float64], states: States) -> tuple[Unit | None, ...]:
    rows = numbers.reshape(-1, 3).tolist()
    _require(len(rows) == sum(labels is None for labels in states), "it has not the unit of each variable")
    _require(all(math.isfinite(mean) and sd > 0 and varies in (0, 1) for mean, sd, varies in rows), "a unit is wrong")
    units = iter(rows)
    found = list[Unit | None]()
    for labels in states:
        if labels is None:
            mean, sd, varies = next(units)
            found.append(Unit(mean, sd, bool(varies)))
        else:
            found.append(None)
    return tuple(found)


def _lower(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower triangles of symmetric matrices, one after the other."""
    rows, columns = np.tril_indices(matrices.shape[-1])
    return matrices[:, rows, columns].reshape(-1)


def _full(triangles: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    rows, columns = np.tril_indices(k)
    matrices = np.zeros((len(triangles), k, k))
    matrices[:, rows, columns] = matrices[:, columns, rows] = triangles
    return matrices


def _label_as_json(label: object) -> Any:
    """Return a label as JSON: text, numbers and booleans as they are, all others by their type and text.

    Of a type that is not known here, only the text is read again.
    """
    if label is None or isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    if isinstance(label, float):
        return {"float": repr(label)}
    if type(label) is datetime or type(label) is date:
        return {type(label).__name__: label.isoformat()}
    return {"text": str(label)}


def _label_of_json(label: Any) -> object:
    if not isinstance(label, dict):
        _require(not isinstance(label, list), "a state is a list")
        return label
    _require(len(label) == 1 and isinstance(next(iter(label.values())), str), "a state is wrong")
    ((kind, text),) = label.items()
    _require(kind in _LABELS, f"a state is of the type {kind!r:.40}")
    return _LABELS[kind](text)
