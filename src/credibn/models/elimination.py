"""Exact inference in discrete networks by variable elimination, many rows at once.

p(q | e) is the sum, over the states of all other variables, of the product of the local tables. Variables are summed
out one by one, each where it is cheapest (Zhang & Poole 1994; Dechter 1999); first goes the variable whose table is
the smallest (Kjaerulff 1990, minimum weight). What cannot matter is left out before: see `credibn.models.components`.

Rows with the same observed columns share order and shapes, so a table has one axis for the rows and one for each
variable left in it. Tables are rescaled on the way and the logarithms of the scales are added up, so that no evidence
is too improbable. Cost: exponential in the size of the largest table made, which is known beforehand and limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError, OptionError, TooLargeError
from credibn.models.components import Component, split_components
from credibn.models.local_models import TableModel

if TYPE_CHECKING:
    from credibn.models.bayesian_network import BayesianNetwork

__all__ = [
    "MAX_CELLS",
    "Factor",
    "component_marginals",
    "log_evidence",
    "posterior_marginals",
]

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


def component_marginals(
    models: Mapping[int, TableModel],
    component: Component,
    evidence: Mapping[int, Codes],
    n_rows: int,
    queries: Iterable[int] = (),
    *,
    max_cells: int | None = None,
) -> tuple[dict[int, Floats], Floats]:
    """Return the posterior of each query within one component, and the log of the component's sum.

    Parameters
    ----------
    models : mapping of int to TableModel
        The local tables of at least the component's children.
    component : Component
    evidence : mapping of int to ndarray of codes, shape (n_rows,)
        The values of the observed variables in each row.
    n_rows : int
    queries : iterable of int
        Free variables of the component.
    max_cells : int, optional
        The largest table allowed, `MAX_CELLS` by default.

    Returns
    -------
    marginals : dict of int to ndarray, shape (n_rows, states)
        NaN in rows whose evidence has probability 0.
    log_sum : ndarray, shape (n_rows,)
        Its sum over all components is the log probability of the evidence.

    Raises
    ------
    TooLargeError
        When a table would have more than `max_cells` cells for a single row.
    """
    limit = MAX_CELLS if max_cells is None else max_cells
    arity_of = _arities(models, component)
    wanted = list(dict.fromkeys(queries))
    asked: list[int | None] = [*wanted] or [None]
    plans = {query: _plan(models, component, arity_of, query) for query in asked}
    largest = max(size for _, size in plans.values())
    if largest > limit:
        raise TooLargeError(
            f"elimination would make a table of {largest:,} cells, more than {limit:,}: observe more of the columns, "
            "or use networks with fewer parents"
        )
    block = max(1, limit // max(largest, 1))
    marginals = {query: np.empty((n_rows, arity_of[query])) for query in wanted}
    log_sum = np.empty(n_rows)
    for start in range(0, n_rows, block):
        rows = slice(start, min(start + block, n_rows))
        factors = [_factor(models[child], child, evidence, rows) for child in component.children]
        for query, (order, _) in plans.items():
            table, log_sum[rows] = _eliminate(factors, order, query, rows.stop - rows.start)
            if query is not None:
                marginals[query][rows] = table
    return marginals, log_sum


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
    """Return the order in which the free variables go, and the size of the largest table made on the way."""
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


def _eliminate(
    factors: Sequence[Factor], order: Sequence[int], query: int | None, n_rows: int
) -> tuple[Floats, Floats]:
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


def posterior_marginals(
    network: BayesianNetwork, evidence: Mapping[int, int], queries: Iterable[int] | None = None
) -> dict[int, Floats]:
    """Return the posterior distribution of single variables of a discrete network, given what is observed.

    Parameters
    ----------
    network : BayesianNetwork
        All variables discrete.
    evidence : mapping of int to int
        The codes of the observed variables, by position.
    queries : iterable of int, optional
        Positions; by default every variable that is not observed. An observed one has probability 1 for its state.

    Returns
    -------
    dict of int to ndarray

    Raises
    ------
    OptionError
        For a continuous variable, a position or a code out of range.
    DataError
        When the evidence has probability 0.
    TooLargeError
        When the network is too dense for the evidence: see `MAX_CELLS`.

    Examples
    --------
    >>> from credibn.models.bayesian_network import BayesianNetwork
    >>> rain = TableModel((), np.array([0.8, 0.2]))
    >>> wet = TableModel((0,), np.array([[0.9, 0.1], [0.25, 0.75]]))
    >>> network = BayesianNetwork(("rain", "wet"), (("no", "yes"), ("no", "yes")), (rain, wet))
    >>> posterior_marginals(network, {1: 1})[0].round(3)
    array([0.348, 0.652])
    """
    models, codes = _checked(network, evidence)
    n = len(network.names)
    wanted = [v for v in range(n) if v not in codes] if queries is None else list(queries)
    for v in wanted:
        _check_position(network, v, "query")
    found = {v: np.eye(models[v].probabilities.shape[-1])[int(evidence[v])] for v in wanted if v in codes}
    hidden = [v for v in wanted if v not in codes]
    for component in split_components([model.parents for model in models.values()], codes, hidden):
        here = [v for v in hidden if v in component.free]
        marginals, log_sum = component_marginals(models, component, codes, 1, here)
        if log_sum[0] == -math.inf:
            raise DataError("the evidence has probability 0 in this network: correct it, or smooth the parameters")
        found |= {v: marginals[v][0] for v in here}
    return {v: found[v] for v in wanted}


def log_evidence(network: BayesianNetwork, evidence: Mapping[int, int]) -> float:
    """Return the natural log of the probability of the evidence in a discrete network; minus infinity for 0.

    Parameters
    ----------
    network, evidence
        See `posterior_marginals`.

    Examples
    --------
    >>> from credibn.models.bayesian_network import BayesianNetwork
    >>> coin = TableModel((), np.array([0.75, 0.25]))
    >>> round(log_evidence(BayesianNetwork(("coin",), (("heads", "tails"),), (coin,)), {0: 1}), 6)
    -1.386294
    """
    models, codes = _checked(network, evidence)
    parts = split_components([model.parents for model in models.values()], codes)
    return float(sum(component_marginals(models, part, codes, 1)[1][0] for part in parts))


def _checked(network: BayesianNetwork, evidence: Mapping[int, int]) -> tuple[dict[int, TableModel], dict[int, Codes]]:
    models = dict[int, TableModel]()
    for v, model in enumerate(network.local_models):
        if not isinstance(model, TableModel):
            raise OptionError(
                f"{network.names[v]!r} is continuous or has continuous parents: elimination takes discrete networks"
            )
        models[v] = model
    codes = dict[int, Codes]()
    for v, code in evidence.items():
        _check_position(network, v, "evidence")
        n_states = models[v].probabilities.shape[-1]
        if not 0 <= code < n_states:
            raise OptionError(f"evidence gives {network.names[v]!r} the code {code!r}: it has 0 to {n_states - 1}")
        codes[v] = np.array([code], dtype=np.int64)
    return models, codes


def _check_position(network: BayesianNetwork, v: int, what: str) -> None:
    if not 0 <= v < len(network.names):
        raise OptionError(f"{what} names the position {v!r}: the network has 0 to {len(network.names) - 1}")
