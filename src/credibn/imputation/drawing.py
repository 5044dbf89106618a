"""Draw the missing values of a table from a network whose parameters are drawn too.

Parameters come from their posterior given a completed table: Dirichlet distributions of a category given its parents,
with `size` pseudo-rows spread over the cells of the family; for numbers the regression on the parents, with the weight
of `_PRIOR_ROWS` rows on no dependence. Drawing them, instead of using their means, lets completed tables differ as much
as what is unknown demands. Tables with both have a module of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credibn.data import Dataset
from credibn.data.gaps import GappedTable
from credibn.imputation.mixed_drawing import SWEEPS, draw_mixed, draw_models, draw_states
from credibn.scores.moments import standardise

Floats = NDArray[np.float64]
Parents = Sequence[tuple[int, ...]]
_PRIOR_ROWS = 1.0
_LEAST = 1e-12
"""A probability of 0 would leave no value possible where the others of a row have changed."""


def fill_at_random(table: GappedTable, random: Generator) -> list[NDArray[Any]]:
    """Return the rows with gaps, each gap filled with a value of its column that is there in another row."""
    rows = table.rows_with_gaps()
    for v, column in enumerate(rows):
        values, weights = table.observed(v)
        column[table.gaps[v]] = random.choice(values, int(table.gaps[v].sum()), p=weights / weights.sum())
    return rows


def draw_missing(
    table: GappedTable, rows: list[NDArray[Any]], completed: Dataset, parents: Parents, size: float, random: Generator
) -> list[NDArray[Any]]:
    """Return the rows with gaps, with new values in the gaps, from a network with these parents of each variable."""
    kinds = {labels is None for labels in completed.states}
    if len(kinds) > 1:
        return draw_mixed(table, rows, draw_models(completed, parents, size, random), random)
    if kinds == {False}:
        return _draw_categories(table, rows, _draw_tables(completed, parents, size, random), parents, random)
    return _draw_numbers(table, rows, completed, parents, random)


def _draw_tables(data: Dataset, parents: Parents, size: float, random: Generator) -> list[Floats]:
    """Return P(v | parents) for each variable, axes the parents and the variable."""
    tables = []
    for v, above in enumerate(parents):
        family = (*above, v)
        shape = tuple(int(data.arities[u]) for u in family)
        cells = np.ravel_multi_index([data.columns[u].astype(np.intp) for u in family], shape)
        counts = np.bincount(cells, weights=data.weights, minlength=math.prod(shape)) + size / math.prod(shape)
        drawn = np.maximum(random.standard_gamma(counts).reshape(shape), _LEAST)
        tables.append(drawn / drawn.sum(axis=-1, keepdims=True))
    return tables


def _draw_categories(
    table: GappedTable, rows: list[NDArray[Any]], tables: list[Floats], parents: Parents, random: Generator
) -> list[NDArray[Any]]:
    """Draw each missing category given all others of its row, some times in turn (Gibbs sampling)."""
    logs = [np.log(np.maximum(one, _LEAST)) for one in tables]
    children = [[c for c, above in enumerate(parents) if v in above] for v in range(len(parents))]
    rows = [column.copy() for column in rows]
    for _ in range(SWEEPS):
        for v, column in enumerate(rows):
            at = np.flatnonzero(table.gaps[v])
            if not len(at):
                continue
            states = np.arange(tables[v].shape[-1])[None]
            total = np.zeros((len(at), states.shape[1]))
            for c in (v, *children[v]):
                family = (*parents[c], c)
                total += logs[c][tuple(states if u == v else rows[u][at].astype(np.intp)[:, None] for u in family)]
            column[at] = draw_states(total, random)
    return rows


def _draw_numbers(
    table: GappedTable, rows: list[NDArray[Any]], data: Dataset, parents: Parents, random: Generator
) -> list[NDArray[Any]]:
    """Draw the missing numbers of each row together, given those that are there: a normal distribution."""
    n, weights = len(parents), data.weights.astype(np.float64)
    scaled = np.stack([standardise(column, data.weights)[0] for column in data.columns])
    means = np.array([column[0] + weights @ (column - column[0]) / weights.sum() for column in data.columns])
    sds = np.array([_deviation(column, mean, weights) for column, mean in zip(data.columns, means, strict=True)])
    mean, covariance = _draw_normal((scaled * weights) @ scaled.T, float(weights.sum()), parents, random)
    values = np.stack(rows).astype(np.float64)
    known = (values - means[:, None]) / np.where(sds > 0, sds, 1.0)[:, None]
    patterns, of_row = np.unique(table.gaps, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        at, gaps = np.flatnonzero(of_row.ravel() == number), patterns[:, number]
        there = ~gaps
        gain = np.linalg.solve(covariance[np.ix_(there, there)], covariance[np.ix_(there, gaps)])
        centre = mean[gaps][:, None] + gain.T @ (known[np.ix_(there, at)] - mean[there][:, None])
        spread = covariance[np.ix_(gaps, gaps)] - gain.T @ covariance[np.ix_(there, gaps)]
        root = np.linalg.cholesky(spread + _LEAST * np.eye(len(spread)))
        drawn = centre + root @ random.standard_normal(centre.shape)
        values[np.ix_(gaps, at)] = means[gaps][:, None] + sds[gaps][:, None] * drawn
    return [values[v] for v in range(n)]


def _deviation(column: Floats, mean: float, weights: Floats) -> float:
    return math.sqrt(float(weights @ (column - mean) ** 2) / float(weights.sum()))


def _draw_normal(scatter: Floats, n_rows: float, parents: Parents, random: Generator) -> tuple[Floats, Floats]:
    """Return the mean and the covariance of standardised columns, drawn for a network from their scatter."""
    n = len(parents)
    moments = scatter + _PRIOR_ROWS * np.eye(n)
    slopes, means, variances = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for v, above in enumerate(parents):
        up = list(above)
        gram = moments[np.ix_(up, up)]
        fitted = np.linalg.solve(gram, moments[up, v]) if up else np.zeros(0)
        rest = max(float(moments[v, v] - fitted @ moments[up, v]), _LEAST)
        variances[v] = rest / random.chisquare(n_rows + _PRIOR_ROWS)
        if up:
            root = np.linalg.cholesky(np.linalg.inv(gram))
            slopes[up, v] = fitted + math.sqrt(variances[v]) * root @ random.standard_normal(len(up))
        means[v] = math.sqrt(variances[v] / (n_rows + _PRIOR_ROWS)) * random.standard_normal()
    through = np.linalg.inv(np.eye(n) - slopes)  # rows: what one unit at the source adds to each variable
    return means @ through, through.T @ np.diag(variances) @ through
