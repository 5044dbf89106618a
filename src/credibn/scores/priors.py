"""Structure priors: a log prior of a network that is a sum over its edges.

Every prior here is one matrix of edge terms in log space: the log prior of a parent set is the sum of the terms of its
edges, and is added to the local log score. The matrix is all that the search needs. A prior preserves score equivalence
(Markov equivalent networks score the same) exactly when it gives an edge and its reverse the same term, that is when
the matrix is symmetric.

An impossible edge is not a prior but a constraint: use forbidden edges instead of a term of minus infinity.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn.errors import OptionError
from credibn.scores.constraints import edge_of, position_of


@dataclass(frozen=True)
class UniformPrior:
    """Every network has the same prior probability.

    Examples
    --------
    >>> resolve_prior(UniformPrior(), ["a", "b"])
    array([[0., 0.],
           [0., 0.]])
    """


@dataclass(frozen=True)
class EdgePenalty:
    """Each edge costs the same: a network with k edges has log prior ``-k * log_penalty``, up to a constant.

    Parameters
    ----------
    log_penalty : float
        0 or more, in nats. ``math.log(10)`` makes each additional edge ten times less probable.

    Examples
    --------
    >>> resolve_prior(EdgePenalty(2.0), ["a", "b"])
    array([[ 0., -2.],
           [-2.,  0.]])
    """

    log_penalty: float

    def __post_init__(self) -> None:
        value = self.log_penalty
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise OptionError(f"the edge penalty is {value!r}; give a number of nats, 0 or more")
        if not math.isfinite(value) or value < 0:
            raise OptionError(f"the edge penalty is {value!r}; it must be finite and 0 or more (a cost per edge)")
        object.__setattr__(self, "log_penalty", float(value))


@dataclass(frozen=True, eq=False)
class EdgeLogOdds:
    """The prior log odds of each edge: positive values favour the edge, negative ones disfavour it.

    Parameters
    ----------
    matrix : array, DataFrame or mapping
        An n x n array with rows for parents and columns for children, in the order of the variables; or a DataFrame
        whose row and column labels are the variables, in any order; or a mapping from edges, ``(parent, child)`` or
        ``"parent->child"``, to log odds, where an absent edge has log odds 0. The diagonal must be 0.

    Examples
    --------
    >>> resolve_prior(EdgeLogOdds({("a", "b"): 1.5}), ["a", "b"])
    array([[0. , 1.5],
           [0. , 0. ]])
    """

    matrix: Any


StructurePrior = UniformPrior | EdgePenalty | EdgeLogOdds


def resolve_prior(prior: StructurePrior | None, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the matrix of edge terms: ``terms[parent, child]`` is added to the log score with that edge."""
    names = tuple(names)
    terms = np.zeros((len(names), len(names)))
    if prior is None or isinstance(prior, UniformPrior):
        return terms
    if isinstance(prior, EdgePenalty):
        terms -= prior.log_penalty
        np.fill_diagonal(terms, 0.0)
        return terms
    if not isinstance(prior, EdgeLogOdds):
        raise OptionError(f"unknown prior {prior!r}; give UniformPrior(), EdgePenalty(...) or EdgeLogOdds(...)")
    if isinstance(prior.matrix, Mapping):
        return _from_mapping(prior.matrix, names)
    if hasattr(prior.matrix, "columns") and hasattr(prior.matrix, "index"):
        rows = _label_order(prior.matrix.index, names, "row")
        columns = _label_order(prior.matrix.columns, names, "column")
        return _checked(_as_square(prior.matrix, names)[np.ix_(rows, columns)], names)
    return _checked(_as_square(prior.matrix, names), names)


def describe_prior(prior: StructurePrior | None, names: Sequence[str]) -> dict[str, object]:
    """Return the prior by name, ready for JSON."""
    terms = resolve_prior(prior, names)
    if isinstance(prior, EdgePenalty):
        return {"kind": "edge penalty", "log_penalty": prior.log_penalty}
    if isinstance(prior, EdgeLogOdds):
        edges = [[names[p], names[c], float(terms[p, c])] for p, c in np.argwhere(terms).tolist()]
        return {"kind": "edge log odds", "edges": edges}
    return {"kind": "uniform"}


def keeps_score_equivalence(edge_terms: NDArray[np.float64]) -> bool:
    """Whether Markov equivalent networks have the same prior: the terms of an edge and its reverse are equal.

    Equivalent networks share their skeleton, so equal terms suffice; and the two orientations of a single edge are
    equivalent networks, so they are necessary.
    """
    return bool(np.array_equal(edge_terms, edge_terms.T))


def _from_mapping(log_odds: Mapping[Any, Any], names: tuple[str, ...]) -> NDArray[np.float64]:
    terms = np.zeros((len(names), len(names)))
    seen = set()
    for edge, value in log_odds.items():
        parent, child = edge_of(names, edge, "edge log odds")
        if (parent, child) in seen:
            raise OptionError(f"edge log odds: {names[parent]!r} -> {names[child]!r} is given twice; give it once")
        seen.add((parent, child))
        try:
            terms[parent, child] = value
        except (TypeError, ValueError):
            raise OptionError(f"edge log odds: the value of {edge!r} is {value!r}; give a number") from None
    return _checked(terms, names)


def _label_order(labels: Any, names: tuple[str, ...], axis: str) -> list[int]:
    """Return, for each variable, the position of its label in the data frame."""
    at = dict[int, int]()
    for where, label in enumerate(labels):
        v = position_of(names, label, f"{axis} of the edge log odds")
        if v in at:
            raise OptionError(f"edge log odds: {axis} {label!r} appears twice; each variable needs one {axis}")
        at[v] = where
    missing = [name for v, name in enumerate(names) if v not in at]
    if missing:
        raise OptionError(f"edge log odds: no {axis} for {', '.join(map(repr, missing))}; each variable needs one")
    return [at[v] for v in range(len(names))]


def _as_square(matrix: Any, names: tuple[str, ...]) -> NDArray[np.float64]:
    n = len(names)
    try:
        terms = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(matrix).__name__
        raise OptionError(f"edge log odds: this {kind} is not a matrix of numbers; give {n} x {n} numbers") from None
    if terms.shape != (n, n):
        raise OptionError(f"edge log odds: the shape is {terms.shape}; {n} variables need ({n}, {n}), rows are parents")
    return terms


def _checked(terms: NDArray[np.float64], names: tuple[str, ...]) -> NDArray[np.float64]:
    for parent, child in np.argwhere(~np.isfinite(terms)).tolist():
        raise OptionError(
            f"edge log odds: {names[parent]!r} -> {names[child]!r} is {terms[parent, child]}; give a finite "
            "number (0 where nothing is known), and forbid or require edges that are impossible or certain"
        )
    for v in np.flatnonzero(terms.diagonal()).tolist():
        raise OptionError(
            f"edge log odds: {names[v]!r} -> {names[v]!r} is {terms[v, v]}; set it to 0, "
            "since no variable is its own parent"
        )
    return terms
