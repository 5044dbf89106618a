"""Inference for rows with missing cells: the posterior of one variable, and the likelihood of the rows.

Rows are grouped by the columns that they lack. If only the target is missing, its Markov blanket decides
(`credibn.models.blanket_inference`), whatever the kinds of the variables. Otherwise elimination is used for discrete
networks and the joint normal distribution for Gaussian ones; for networks with both kinds of variables no exact method
is implemented, and these rows are refused.

Each network answers by itself, p(t | rest, network), and the answers are averaged with the posterior weights of the
networks, which come from the training table: new rows do not change them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError
from credibn.models.blanket_inference import blanket_means, blanket_probabilities
from credibn.models.components import Component, component_around, mask_of
from credibn.models.elimination import eliminate
from credibn.models.gaussian_inference import conditional_means, joint_normal, log_density_of_observed
from credibn.models.local_models import TableModel
from credibn.models.mixture import Mixture, row_blocks

Columns = Sequence[NDArray[Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of some rows."""

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]  # codes or numbers of each variable
    is_missing: NDArray[np.bool_]  # the cells that are no evidence, shape (rows, n)
    row_numbers: NDArray[np.intp]  # in the table, from 1, for messages

    def __len__(self) -> int:
        return len(self.is_missing)

    def values(self, rows: NDArray[np.intp]) -> list[NDArray[Any]]:
        """Return the columns of some rows."""
        return [column[rows] for column in self.columns]


def target_probabilities(mixture: Mixture, evidence: Evidence, target: int) -> Floats:
    """Return the averaged probability of each state of a discrete target in each row, shape (rows, states).

    The target's own cells are never evidence.
    """
    labels = mixture.states[target]
    assert labels is not None, "the target is discrete"
    probabilities, weights = np.zeros((len(evidence), len(labels))), np.zeros(len(evidence))
    for rows, missing in _patterns(evidence.is_missing, target):
        if missing:
            _refuse_mixed(mixture, evidence, rows, missing, target)
        if not (mixture.has_zeros and mixture.is_discrete):
            probabilities[rows], weights[rows] = _of_pattern(mixture, evidence, rows, missing, target)
            continue
        # A network that rules the row out says nothing about the target, wherever in the network it does so.
        for network, weight in enumerate(mixture.weights.tolist()):
            one = mixture.only(network)
            found, is_answered = _of_pattern(one, evidence, rows, missing, target)
            logs = _log_evidences(one, evidence.values(rows), {*missing, target})[0]
            is_possible = (logs > -np.inf) & (is_answered > 0)
            probabilities[rows] += weight * np.where(is_possible[:, np.newaxis], found, 0.0)
            weights[rows] += weight * is_possible
    for row in np.flatnonzero(weights == 0)[:1].tolist():
        raise DataError(
            f"row {evidence.row_numbers[row]}: its observed values have probability 0 in every network, so they say "
            f"nothing about {evidence.names[target]!r}; fit with method='posterior_mean', which rules nothing out"
        )
    averaged: Floats = probabilities / weights[:, np.newaxis]
    return averaged


def _of_pattern(
    mixture: Mixture, evidence: Evidence, rows: NDArray[np.intp], missing: Sequence[int], target: int
) -> tuple[Floats, Floats]:
    """Return, for rows that lack the same cells, the sum of weight times posterior, and the sum of these weights."""
    if not missing:
        return blanket_probabilities(mixture, evidence.values(rows), target)
    hidden = {*missing, target}
    chosen, place = _distinct_rows(evidence, rows, hidden)
    found = _eliminated(mixture, evidence.values(chosen), hidden, target)
    return found[0][place], found[1][place]


def target_means(mixture: Mixture, evidence: Evidence, target: int) -> Floats:
    """Return the averaged mean of a continuous target in each row; see `target_probabilities`."""
    means = np.empty(len(evidence))
    joints: list[tuple[Floats, Floats]] | None = None
    for rows, missing in _patterns(evidence.is_missing, target):
        if not missing:
            means[rows] = blanket_means(mixture, evidence.values(rows), target)
            continue
        _refuse_mixed(mixture, evidence, rows, missing, target)
        joints = _joint_normals(mixture) if joints is None else joints
        values = np.column_stack(evidence.values(rows))
        observed = [v for v in range(len(evidence.names)) if v != target and v not in missing]
        means[rows] = sum(
            weight * conditional_means(mean, covariance, values, observed, target)
            for weight, (mean, covariance) in zip(mixture.weights, joints, strict=True)
        )
    return means


def log_likelihoods(mixture: Mixture, evidence: Evidence) -> Floats:
    """Return the log of the averaged probability, or density, of the observed cells of each row."""
    logs = np.empty(len(evidence))
    joints: list[tuple[Floats, Floats]] | None = None
    for rows, missing in _patterns(evidence.is_missing):
        if not missing:
            logs[rows] = _of_complete_rows(mixture, evidence.values(rows))
            continue
        _refuse_mixed(mixture, evidence, rows, missing)
        if mixture.is_discrete:
            chosen, place = _distinct_rows(evidence, rows, set(missing))
            logs[rows] = _of_discrete_rows(mixture, evidence.values(chosen), set(missing))[place]
            continue
        joints = _joint_normals(mixture) if joints is None else joints
        observed = [v for v in range(len(evidence.names)) if v not in missing]
        for part in row_blocks(len(rows), len(joints)):
            values = np.column_stack(evidence.values(rows[part]))
            densities = [log_density_of_observed(mean, covariance, values, observed) for mean, covariance in joints]
            logs[rows[part]] = _log_average(mixture.weights, np.array(densities))
    return logs


def _patterns(
    is_missing: NDArray[np.bool_], target: int | None = None
) -> Iterator[tuple[NDArray[np.intp], tuple[int, ...]]]:
    """Yield the rows that lack the same columns, with these columns; the target is not among them."""
    others = is_missing.copy()
    if target is not None:
        others[:, target] = False
    if not len(others):
        return
    patterns, place = np.unique(others, axis=0, return_inverse=True)
    place = place.reshape(-1)
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(len(patterns) + 1))
    for at, pattern in enumerate(patterns):
        yield order[bounds[at] : bounds[at + 1]], tuple(np.flatnonzero(pattern).tolist())


def _distinct_rows(
    evidence: Evidence, rows: NDArray[np.intp], hidden: set[int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one row for each distinct combination of observed codes, and which of them each row has."""
    codes = [column[rows] for v, column in enumerate(evidence.columns) if v not in hidden]
    if not codes:
        return rows[:1], np.zeros(len(rows), dtype=np.intp)
    _, first, place = np.unique(np.column_stack(codes), axis=0, return_index=True, return_inverse=True)
    return rows[first], place.reshape(-1)


def _refuse_mixed(
    mixture: Mixture, evidence: Evidence, rows: NDArray[np.intp], missing: Sequence[int], target: int | None = None
) -> None:
    if mixture.is_discrete or mixture.is_continuous:
        return
    names = evidence.names
    listed = ", ".join(repr(names[v]) for v in missing)
    beside, rule = ("", "no missing cell") if target is None else (f" beside {names[target]!r}", "one unknown cell")
    raise DataError(
        f"row {evidence.row_numbers[rows.min()]} has no value for {listed}{beside}: where discrete and continuous "
        f"variables occur together, a row may have {rule}; complete the row, or leave it out"
    )


# ----------------------------------------------------------------- discrete networks


def _eliminated(mixture: Mixture, columns: Columns, hidden: set[int], target: int) -> tuple[Floats, Floats]:
    """Return the sum of weight times posterior over the networks, and the weight of those that have one."""
    observed = [v for v in range(len(columns)) if v not in hidden]
    known, asked = mask_of(observed), mask_of([target])
    parts = dict[tuple[int, ...], tuple[Component, float]]()
    for network, weight in enumerate(mixture.weights.tolist()):
        component = component_around(mixture.structures[network], target, known, asked)
        key = tuple(mixture.networks[network, list(component.children)].tolist())
        parts[key] = (component, weight + (parts[key][1] if key in parts else 0.0))
    labels = mixture.states[target]
    assert labels is not None, "the target is discrete"
    n_rows = len(columns[0])
    evidence = {v: columns[v] for v in observed}
    probabilities, weights = np.zeros((n_rows, len(labels))), np.zeros(n_rows)
    for key, (component, weight) in parts.items():
        posterior, log_sum = eliminate(_tables(mixture, key), component, evidence, n_rows, target)
        is_possible = log_sum > -np.inf
        probabilities += weight * np.where(is_possible[:, np.newaxis], posterior, 0.0)
        weights += weight * is_possible
    return probabilities, weights


def _of_discrete_rows(mixture: Mixture, columns: Columns, hidden: set[int]) -> Floats:
    """Return the log of the averaged probability of the observed codes of each row."""
    logs = np.empty(len(columns[0]))
    for rows in row_blocks(len(logs), 2 * len(mixture.weights)):
        of_networks = _log_evidences(mixture, [column[rows] for column in columns], hidden)
        logs[rows] = _log_average(mixture.weights, of_networks)
    return logs


def _log_evidences(mixture: Mixture, columns: Columns, hidden: set[int]) -> Floats:
    """Return the log probability of the observed codes in each network, shape (networks, rows)."""
    observed = [v for v in range(len(columns)) if v not in hidden]
    evidence = {v: columns[v] for v in observed}
    known, n_rows = mask_of(observed), len(columns[0])
    log_sums = dict[tuple[int, ...], Floats]()
    logs = np.zeros((len(mixture.weights), n_rows))
    for network, structure in enumerate(mixture.structures):
        alone = set(observed)
        left = {v for v in hidden if structure.descendants[v] & known}  # the others are barren
        keys = list[tuple[int, ...]]()
        while left:
            component = component_around(structure, min(left), known, 0)
            left -= component.free
            alone -= set(component.children)
            keys.append(tuple(mixture.networks[network, list(component.children)].tolist()))
            if keys[-1] not in log_sums:
                tables = _tables(mixture, keys[-1])
                log_sums[keys[-1]] = eliminate(tables, component, evidence, n_rows)[1]
        for at in mixture.networks[network, sorted(alone)].tolist():
            keys.append((at,))
            if keys[-1] not in log_sums:  # a component with free variables has two tables or more
                log_sums[keys[-1]] = mixture.log_conditional(at, columns)
        logs[network] = sum(log_sums[key] for key in keys)
    return logs


def _tables(mixture: Mixture, key: tuple[int, ...]) -> dict[int, TableModel]:
    tables = dict[int, TableModel]()
    for at in key:
        model = mixture.local_models[at]
        assert isinstance(model, TableModel), "all variables are discrete"
        tables[mixture.children[at]] = model
    return tables


# ----------------------------------------------------------------- Gaussian networks, complete rows


def _joint_normals(mixture: Mixture) -> list[tuple[Floats, Floats]]:
    return [joint_normal([mixture.local_models[at] for at in network]) for network in mixture.networks]


def _of_complete_rows(mixture: Mixture, columns: Columns) -> Floats:
    n_rows = len(columns[0])
    logs = np.empty(n_rows)
    for rows in row_blocks(n_rows, len(mixture.local_models) + len(mixture.weights)):
        here = [column[rows] for column in columns]
        families = np.array([mixture.log_conditional(at, here) for at in range(len(mixture.local_models))])
        of_networks = np.array([families[network].sum(axis=0) for network in mixture.networks])
        logs[rows] = _log_average(mixture.weights, of_networks)
    return logs


def _log_average(weights: Floats, logs: Floats) -> Floats:
    """Return the log of the weighted sum of exp(logs) over the first axis."""
    largest = logs.max(axis=0)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        averaged: Floats = np.log(weights @ np.exp(logs - shift)) + shift
    return averaged
