"""Exact inference in discrete networks by variable elimination, many rows at once.

p(q | e) is the sum, over the states of all other variables, of the product of the local tables. Variables are summed
out one by one, each where it is cheapest (Zhang & Poole 1994; Dechter 1999); the variable with the smallest table comes
first (Kjaerulff 1990, minimum weight). What cannot matter is left out before: see `credibn.models.components`.

Rows with the same observed columns share order and shapes, so a table has one axis for the rows and one for each
variable left in it. Tables are rescaled on the way and the logarithms of the scales are added up, so that no evidence
is too improbable. Cost: exponential in the number of variables of the largest table, whose size is known beforehand and
limited.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.errors import TooLargeError
from credibn.models.components import Component
from credibn.models.local_models import TableModel
from credibn.models.mixture import row_blocks

MAX_CELLS = 1 << 25
"""The largest table that elimination makes: 256 MiB."""
_PRODUCTS_AT_ONCE = 8  # tables multiplied before the product is rescaled

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Factor:
    """A table over the rows, the first axis, and the variables of its scope; that axis has length 1 if rows agree."""

    scope: tuple[int, ...]
    table: Floats


def eliminate(
    models: Mapping[int, TableModel],
    component: Component,
    evidence: Mapping[int, Codes],
    n_rows: int,
    query: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the posterior of a free variable in each row, shape (n_rows, states), and the log of the component's sum.

    Without a query the posterior has one column. It is NaN in rows whose evidence has probability 0. The logs, added up
    over all components, are those of the probability of the evidence.
    """
    arity_of = _arities(models, component)
    order, largest = _plan(models, component, arity_of, query)
    if largest > MAX_CELLS:
        raise TooLargeError(
            f"elimination would make a table of {largest:,} cells, more than {MAX_CELLS:,}: observe more of the "
            "columns, or use networks with fewer parents"
        )
    posterior = np.empty((n_rows, 1 if query is None else arity_of[query]))
    log_sum = np.empty(n_rows)
    for rows in row_blocks(n_rows, largest, MAX_CELLS):
        factors = [_factor(models[child], child, evidence, rows) for child in component.children]
        posterior[rows], log_sum[rows] = _sum_out(factors, order, query, rows.stop - rows.start)
    return posterior, log_sum


def _arities(models: Mapping[int, TableModel], component: Component) -> dict[int, int]:
    arity_of = dict[int, int]()
    for child in component.children:
        for v, arity in zip((*models[child].parents, child), models[child].probabilities.shape, strict=True):
            arity_of[v] = arity
    return arity_of


def _factor(model: TableModel, child: int, evidence: Mapping[int, Codes], rows: slice) -> Factor:
    """Return the local table with the observed variables fixed, one slice for each row."""
    members = (*model.parents, child)
    observed = [v for v in members if v in evidence]
    free = tuple(v for v in members if v not in evidence)
    if not observed:
        return Factor(free, model.probabilities[np.newaxis])
    axes = [members.index(v) for v in observed]
    table = np.moveaxis(model.probabilities, axes, range(len(axes)))
    return Factor(free, table[tuple(evidence[v][rows] for v in observed)])


def _plan(
    models: Mapping[int, TableModel], component: Component, arity_of: Mapping[int, int], query: int | None
) -> tuple[list[int], int]:
    """Return the order in which the free variables are summed out, and the size of the largest table on the way."""
    neighbours: dict[int, set[int]] = {v: set() for v in component.free}
    largest = 1
    for child in component.children:
        scope = component.free.intersection((child, *models[child].parents))
        largest = max(largest, math.prod(arity_of[v] for v in scope))
        for v in scope:
            neighbours[v] |= scope - {v}
    order = list[int]()
    left = set(component.free) - {query}
    while left:
        weight_of = {v: math.prod(arity_of[u] for u in neighbours[v]) * arity_of[v] for v in left}
        v = min(left, key=lambda u: (weight_of[u], u))
        largest = max(largest, weight_of[v])
        for u in neighbours[v]:
            neighbours[u] |= neighbours[v]
            neighbours[u] -= {u, v}
        order.append(v)
        left.remove(v)
    return order, largest


def _sum_out(factors: Sequence[Factor], order: Sequence[int], query: int | None, n_rows: int) -> tuple[Floats, Floats]:
    """Return the posterior of the query, shape (n_rows, states), and the log of the sum over everything."""
    pool, log_sum = list(factors), np.zeros(n_rows)
    for v in order:
        touched = [factor for factor in pool if v in factor.scope]
        pool = [factor for factor in pool if v not in factor.scope]
        scope = tuple(sorted({u for factor in touched for u in factor.scope} - {v}))
        pool.append(Factor(scope, _product(touched, (*scope, v), log_sum).sum(axis=-1)))
    table = _product(pool, () if query is None else (query,), log_sum)
    table = np.broadcast_to(table.reshape(len(table), -1), (n_rows, table[0].size))
    total = table.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return table / total[:, np.newaxis], log_sum + np.log(total)


def _product(factors: Sequence[Factor], scope: tuple[int, ...], log_sum: Floats) -> Floats:
    """Return the product of tables, its axes after that of the rows in the order of `scope`.

    Each row is divided by its largest entry, whose logarithm is added to `log_sum`: a product of many small
    probabilities would vanish otherwise. A row of zeros stays as it is.
    """
    product: Floats = np.ones([1] * (1 + len(scope)))
    for at, factor in enumerate(factors, start=1):
        places = sorted(range(len(factor.scope)), key=lambda axis: scope.index(factor.scope[axis]))
        table = factor.table.transpose(0, *(axis + 1 for axis in places))
        length = dict(zip(factor.scope, factor.table.shape[1:], strict=True))
        product = product * table.reshape(len(table), *(length.get(v, 1) for v in scope))
        if at % _PRODUCTS_AT_ONCE == 0 or at == len(factors):
            scale = product.reshape(len(product), -1).max(axis=1)
            scale = np.where(scale > 0, scale, 1.0)
            log_sum += np.log(scale)
            product /= scale.reshape(-1, *[1] * len(scope))
    return product
