"""Fit the parameters of a network to a table.

Two methods. *Maximum likelihood*: relative frequencies, regressions. *Posterior mean*: the mean of the parameters given
the data under conjugate priors that are worth a few rows, so that nothing is impossible just because it did not occur.

Discrete children have Dirichlet priors with ``equivalent_sample_size / (q r)`` pseudo-counts for each of the q cells of
the parents and r states of the child (Buntine 1991; Heckerman, Geiger & Chickering 1995): those of the BDeu score.

Continuous variables have, in each cell of discrete variables, a normal-inverse-Wishart prior centred on the whole
table: with m and V the means and the diagonal matrix of variances in the table, kappa = ``pseudo_rows`` and p
variables::

    mu | Sigma ~ Normal(m, Sigma / kappa),    Sigma ~ inverse-Wishart(kappa V, kappa + p + 1)

The posterior means after n rows with mean x and centred scatter matrix SS are (Gelman et al. 2013, Bayesian Data
Analysis, section 3.6) ::

    mean  = (n x + kappa m) / (n + kappa)
    Sigma = (SS + kappa V + n kappa / (n + kappa) (x - m)(x - m)') / (n + kappa)

which are the moments of the rows together with kappa more rows that have the table's means and variances and no
correlation. Regressions and discriminants follow from these moments. With a single cell, x = m and Sigma is that of the
conditional-Gaussian score.

The moments of a set of variables are part of those of a larger set, and so are the pseudo-counts: a network of discrete
variables only, or of continuous ones only, is thus the projection of one smoothed distribution onto its structure, and
Markov equivalent networks get the same joint distribution. This does not hold with both kinds: equivalent
conditional-Gaussian networks differ in the joint distributions that they can express.

Cost: for each child one pass over the distinct rows for each pair of its continuous variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn.credible import CredibleSet
from credibn.credible.families import CountedFamilies, Families, number_of_cells
from credibn.data import Dataset, read_data
from credibn.errors import Option, OptionError, TooLargeError
from credibn.graphs import CPDAG, parent_masks
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.gaussian_fitting import cell_counts, fit_regression, moments_in_cells
from credibn.models.local_models import GaussianDiscriminant, LocalModel, TableModel
from credibn.scores.table import parent_positions

if TYPE_CHECKING:
    from networkx import DiGraph

METHODS = ("posterior_mean", "maximum_likelihood")
MAX_CELLS = 1 << 27
"""The size limit of one child's table: a gigabyte."""
_MIN_PSEUDO_ROWS = 1e-6


def fit_network(
    network: DiGraph | CPDAG | Iterable[object],
    data: Any,
    *,
    method: str = "posterior_mean",
    equivalent_sample_size: float = 1.0,
    pseudo_rows: float = 1.0,
    **read_options: Any,
) -> BayesianNetwork:
    """Fit the parameters of a network to a table.

    Parameters
    ----------
    network : networkx.DiGraph, list of edges or CPDAG
        The structure, over names of the table's columns; columns that it lacks have no edges. Of a CPDAG one member is
        fitted: see the notes.
    data : Dataset, path, DataFrame, ... or CredibleSet
        Whatever `read_data` reads. A credible set stands for its training table: it holds the counts of its own
        networks.
    method : {"posterior_mean", "maximum_likelihood"}
        See `credibn.models.fitting` for the definitions. With maximum likelihood, a cell of discrete parents that does
        not occur in the data gets the uniform distribution.
    equivalent_sample_size : float
        The number of rows that the Dirichlet prior of discrete children is worth in all; positive.
    pseudo_rows : float
        The number of rows that the prior of continuous variables is worth in each cell of discrete ones; at least 1e-6.
    **read_options
        Passed to `read_data`, for example ``columns="mixed"``.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    DataError
        With maximum likelihood, if a cell has too few rows for a regression; and as `read_data`.
    OptionError
        If an option is out of range, or the structure is not a network over the columns.
    TooLargeError
        If the table of one child would have more than 2**27 numbers.

    Notes
    -----
    The posterior means of all members of an equivalence class have the same joint distribution if the variables are all
    discrete or all continuous. A constant continuous column gets its value as mean, with a standard deviation of 1.5e-8
    times its size.

    Examples
    --------
    >>> table = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> fitted = fit_network(["X0->X1"], table, method="maximum_likelihood")
    >>> fitted.conditional_table("X1").round(3)  # doctest: +NORMALIZE_WHITESPACE
    X1      0      1
    X0
    0   0.667  0.333
    1   0.000  1.000
    >>> fit_network(["X0->X1"], table).conditional_table("X1").round(3)  # doctest: +NORMALIZE_WHITESPACE
    X1      0      1
    X0
    0   0.643  0.357
    1   0.167  0.833
    """
    table = families_of(data, **read_options) if isinstance(data, CredibleSet) else _counted(data, read_options)
    edges = _member(network) if isinstance(network, CPDAG) else network
    parents = list(parent_positions(parent_masks(edges, table.names)))
    models = tuple(
        fit_local_model(
            table,
            child,
            parents[child],
            method=method,
            equivalent_sample_size=equivalent_sample_size,
            pseudo_rows=pseudo_rows,
        )
        for child in range(len(table.names))
    )
    return BayesianNetwork(table.names, table.states, models, table.cuts)


def families_of(found: CredibleSet, **read_options: Any) -> Families:
    """Return the counts that a result holds; refuse one that holds none."""
    if read_options:
        raise OptionError("{} cannot change how the result was read; leave it out", Option(next(iter(read_options))))
    if found.families is None:
        raise OptionError(
            "the result holds no counts of its training table (they were left out, or it comes from a score table or "
            "an earlier version): give the table as {}, read with the options that learn was given",
            Option("data"),
        )
    return found.families


def _counted(data: Any, read_options: dict[str, Any]) -> Families:
    return CountedFamilies(read_data(data, **read_options))


def fit_local_model(
    data: Dataset | Families,
    child: int,
    parents: Sequence[int],
    *,
    method: str = "posterior_mean",
    equivalent_sample_size: float = 1.0,
    pseudo_rows: float = 1.0,
) -> LocalModel:
    """Fit the distribution of one child given its parents, all of them positions; options as for `fit_network`."""
    _check_options(method, equivalent_sample_size, pseudo_rows)
    table = CountedFamilies(data) if isinstance(data, Dataset) else data
    above, n = tuple(sorted(int(v) for v in parents)), len(table.names)
    if len({child, *above}) < len(above) + 1 or not all(0 <= v < n for v in (child, *above)):
        raise OptionError(f"child {child} and parents {above} must be different positions below {n}")
    discrete = tuple(v for v in above if table.states[v] is not None)
    continuous = tuple(v for v in above if table.states[v] is None)
    is_smoothed = method == "posterior_mean"
    kappa = float(pseudo_rows) if is_smoothed else 0.0
    labels = table.states[child]
    if labels is None:
        _refuse_large(table, child, discrete, (len(continuous) + 1) ** 2)
        return fit_regression(table, child, above, kappa)
    _refuse_large(table, child, discrete, len(labels) * max(1, len(continuous) ** 2))
    counts = cell_counts(table, child, above).reshape(*(len(table.states[v] or ()) for v in discrete), len(labels))
    mass = equivalent_sample_size / counts.size if is_smoothed else 0.0
    probabilities = _frequencies(counts, mass)
    if not continuous:
        return TableModel(discrete, probabilities)
    means, covariances = moments_in_cells(table, child, above, kappa)
    return GaussianDiscriminant(
        discrete,
        continuous,
        probabilities,
        means.reshape(*probabilities.shape, len(continuous)),
        covariances.reshape(*probabilities.shape, len(continuous), len(continuous)),
    )


def _check_options(method: object, equivalent_sample_size: object, pseudo_rows: object) -> None:
    if method not in METHODS:
        raise OptionError.refusing("method", method, f"it is one of {', '.join(map(repr, METHODS))}")
    for name, value, least in (
        ("equivalent_sample_size", equivalent_sample_size, 0.0),
        ("pseudo_rows", pseudo_rows, _MIN_PSEUDO_ROWS),
    ):
        is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < least or value == 0:  # type: ignore[arg-type, operator]
            rule = "positive" if least == 0 else f"at least {least:g}"
            raise OptionError.refusing(name, value, f"it must be a finite number, {rule}; the default is 1")


def _refuse_large(table: Families, child: int, discrete: tuple[int, ...], numbers_per_cell: int) -> None:
    n_cells = number_of_cells(table.states, discrete)
    if n_cells * numbers_per_cell > MAX_CELLS:
        listed = ", ".join(f"{table.names[v]!r} ({len(table.states[v] or ())} states)" for v in discrete)
        raise TooLargeError(
            f"the parameters of {table.names[child]!r} given {listed} would take {n_cells * numbers_per_cell:,} cells; "
            f"the limit is {MAX_CELLS:,}. Give it fewer parents, or merge states"
        )


def _frequencies(counts: NDArray[np.float64], mass: float) -> NDArray[np.float64]:
    """Return (counts + mass) / their sum along the last axis; uniform where there are no counts."""
    is_empty = counts.sum(axis=-1) == 0
    probabilities = counts + mass
    probabilities[is_empty] = 1.0
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return probabilities


def _member(cpdag: CPDAG) -> list[tuple[object, object]]:
    """Return the edges of one network of the class.

    Undirected edges point away from the nodes that a maximum cardinality search visits first: in a chordal graph, as
    the undirected part of a CPDAG is, this makes no v-structure (Tarjan & Yannakakis 1984).
    """
    joined: dict[object, set[object]] = {name: set() for name in cpdag.names}
    for a, b in cpdag.undirected:
        joined[a].add(b)
        joined[b].add(a)
    rank = dict[object, int]()
    for position in range(len(cpdag.names)):
        left = [name for name in cpdag.names if name not in rank]
        rank[max(left, key=lambda name: len(joined[name] & rank.keys()))] = position
    turned = [(a, b) if rank[a] < rank[b] else (b, a) for a, b in cpdag.undirected]
    return [*cpdag.directed, *turned]
