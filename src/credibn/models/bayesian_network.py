"""Bayesian networks with parameters."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import plural
from credibn.errors import OptionError
from credibn.models.local_models import GaussianDiscriminant, LinearGaussian, LocalModel, TableModel
from credibn.scores.constraints import find_cycle, position_of

if TYPE_CHECKING:  # networkx and pandas are slow to import: they are loaded when needed
    from networkx import DiGraph
    from pandas import DataFrame, Series

    from credibn.models.prediction import AveragedModel


@dataclass(frozen=True, eq=False, repr=False)
class BayesianNetwork:
    """A network and its parameters: the distribution of each variable given its parents.

    Made by `fit_network` or `read_network`; the constructor checks its arguments and does not repair them.

    Attributes
    ----------
    names : tuple of str
        The variables, in order.
    states : tuple
        For each variable its state labels in code order, or None for a continuous one.
    local_models : tuple of TableModel, LinearGaussian or GaussianDiscriminant
        The distribution of each variable given its parents, which are positions in `names`.
    cuts : mapping of str to tuple of float
        Bin edges of the variables that were discretised; new rows are discretised with them.

    Examples
    --------
    >>> from credibn.models import TableModel
    >>> rain, wet = TableModel((), np.array([0.8, 0.2])), TableModel((0,), np.array([[0.9, 0.1], [0.25, 0.75]]))
    >>> network = BayesianNetwork(("rain", "wet"), (("no", "yes"), ("no", "yes")), (rain, wet))
    >>> network
    BayesianNetwork(2 variables, 1 edge, 3 parameters)
    >>> network.conditional_table("wet")  # doctest: +NORMALIZE_WHITESPACE
    wet     no   yes
    rain
    no    0.90  0.10
    yes   0.25  0.75
    """

    names: tuple[str, ...]
    states: tuple[tuple[object, ...] | None, ...]
    local_models: tuple[LocalModel, ...]
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", MappingProxyType(dict(self.cuts)))
        object.__setattr__(self, "names", tuple(self.names))
        states = tuple(None if labels is None else tuple(labels) for labels in self.states)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "local_models", tuple(self.local_models))
        _check_variables(self)
        for child in range(self.n_variables):
            _check_local_model(self, child)
        cycle = find_cycle(dict(enumerate(self.parents)))
        if cycle is not None:
            path = " -> ".join(repr(self.names[v]) for v in cycle)
            raise OptionError(f"the parents form a directed cycle, {path}; a network has none: drop one of them")

    __reduce__ = rebuilt_from_fields

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The positions of each variable's parents, increasing."""
        return tuple(model.parents for model in self.local_models)

    @property
    def is_discrete(self) -> tuple[bool, ...]:
        """Whether each variable is discrete."""
        return tuple(labels is not None for labels in self.states)

    @cached_property
    def arities(self) -> tuple[int, ...]:
        """Number of states of each variable; 0 for a continuous one."""
        return tuple(0 if labels is None else len(labels) for labels in self.states)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return sum(model.n_parameters for model in self.local_models)

    @cached_property
    def topological_order(self) -> tuple[int, ...]:
        """The positions with parents before children, and otherwise in order."""
        sorter = TopologicalSorter(dict(enumerate(self.parents)))
        sorter.prepare()
        order = list[int]()
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            order += ready
            sorter.done(*ready)
        return tuple(order)

    @property
    def graph(self) -> DiGraph:
        """The structure: a new graph of the names, with an edge from each parent."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(
            (self.names[parent], name) for name, above in zip(self.names, self.parents, strict=True) for parent in above
        )
        return graph

    def index(self, name: str | int) -> int:
        """Return the position of a variable.

        Raises
        ------
        OptionError
            If there is no such variable; the message names close matches.
        """
        return position_of(self.names, name)

    def sample(self, n_rows: int, seed: int = 0) -> DataFrame:
        """Draw rows from the network.

        Parameters
        ----------
        n_rows : int
            At least 1.
        seed : int
            The same seed gives the same rows; more rows are not a continuation of fewer.

        Returns
        -------
        pandas.DataFrame
            A discrete column is a Categorical that declares all states in order, so that `read_data` also knows those
            that were not drawn; the state None, which represents a missing value, is missing. Others are float64.

        Examples
        --------
        >>> from credibn.models import TableModel
        >>> coin = BayesianNetwork(("coin",), (("heads", "tails"),), (TableModel((), np.array([0.0, 1.0])),))
        >>> coin.sample(2)
            coin
        0  tails
        1  tails
        """
        from credibn.models.sampling import sample_frame

        return sample_frame(self, n_rows, seed)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the network to a file; see `write_network`."""
        from credibn.models.network_files import write_network

        write_network(self, path)

    def to_networkx(self) -> DiGraph:
        """Return the structure, its nodes with the attributes ``states`` and ``local_model``."""
        graph = self.graph
        for name, labels, model in zip(self.names, self.states, self.local_models, strict=True):
            graph.nodes[name].update(states=labels, local_model=model)
        return graph

    def to_pgmpy(self) -> Any:
        """Return a ``pgmpy.models.DiscreteBayesianNetwork``; all variables must be discrete."""
        from credibn.models.exchange import to_pgmpy

        return to_pgmpy(self)

    def to_pyagrum(self) -> Any:
        """Return a ``pyagrum.BayesNet``; all variables must be discrete, and states become text."""
        from credibn.models.exchange import to_pyagrum

        return to_pyagrum(self)

    def conditional_table(self, node: str | int) -> DataFrame:
        """Return the parameters of one variable as a frame with a row for each cell of its discrete parents.

        The columns are the probabilities of the states of a discrete variable, or the intercept, the coefficients of
        the continuous parents and the variance of a continuous one.

        Raises
        ------
        OptionError
            If there is no such variable, or it is discrete with continuous parents and has no table.
        """
        import pandas as pd

        child = self.index(node)
        model = self.local_models[child]
        if isinstance(model, GaussianDiscriminant):
            raise OptionError(
                f"{self.names[child]!r} is discrete and has continuous parents, so it has no table; see the "
                f"probabilities, means and covariances of local_models[{child}]"
            )
        if isinstance(model, TableModel):
            discrete, values = model.parents, model.probabilities.reshape(-1, model.probabilities.shape[-1])
            columns = pd.Index(list(self.states[child] or ()), name=self.names[child], tupleize_cols=False)
        else:
            discrete, n_coefficients = model.discrete_parents, len(model.continuous_parents)
            parts = (model.intercepts[..., None], model.coefficients, model.variances[..., None])
            values = np.concatenate(parts, axis=-1).reshape(-1, n_coefficients + 2)
            labels = ["intercept", *(self.names[v] for v in model.continuous_parents), "variance"]
            columns = pd.Index(labels, name=self.names[child])
        return pd.DataFrame(np.array(values), index=self._cells(discrete), columns=columns)

    def predict_proba(self, data: Any, target: str | int | Iterable[str | int], **row_options: Any) -> DataFrame:
        """Return the probability of each state of a target given the other columns: see `AveragedModel`."""
        return self._model.predict_proba(data, target, **row_options)

    def predict(
        self, data: Any, target: str | int | Iterable[str | int], **row_options: Any
    ) -> Series[Any] | DataFrame:
        """Return the most probable state, or the mean, of a target given the other columns: see `AveragedModel`."""
        return self._model.predict(data, target, **row_options)

    def impute(self, data: Any, **row_options: Any) -> DataFrame:
        """Return the rows with each missing cell filled: see `AveragedModel`."""
        return self._model.impute(data, **row_options)

    def log_likelihood(self, data: Any, **row_options: Any) -> NDArray[np.float64]:
        """Return the natural log of the probability, or density, of each row: see `AveragedModel`."""
        return self._model.log_likelihood(data, **row_options)

    @cached_property
    def _model(self) -> AveragedModel:
        from credibn.models.prediction import model_of_network  # which imports this class

        return model_of_network(self)

    def _cells(self, discrete: tuple[int, ...]) -> Any:
        """Return the cells of discrete variables as an index, the last variable changing fastest."""
        import pandas as pd

        labels = [list(self.states[v] or ()) for v in discrete]
        if len(discrete) > 1:
            return pd.MultiIndex.from_product(labels, names=[self.names[v] for v in discrete])
        if discrete:
            return pd.Index(labels[0], name=self.names[discrete[0]], tupleize_cols=False)
        return pd.RangeIndex(1)

    def __repr__(self) -> str:
        n_edges = sum(map(len, self.parents))
        return (
            f"BayesianNetwork({plural(self.n_variables, 'variable')}, {plural(n_edges, 'edge')}, "
            f"{plural(self.n_parameters, 'parameter')})"
        )

    def _repr_html_(self) -> str:
        from credibn.report.notebook import network_html

        return network_html(self)


def _check_variables(network: BayesianNetwork) -> None:
    names, states, models = network.names, network.states, network.local_models
    if not names or not len(names) == len(states) == len(models):
        raise OptionError(
            f"{len(names)} names, {len(states)} entries of states and {len(models)} local models: give one of each for "
            "every variable, and at least one variable"
        )
    seen = set[str]()
    for name, labels in zip(names, states, strict=True):
        if not isinstance(name, str) or not name or name in seen:
            raise OptionError(f"a variable is called {name!r}; names must be non-empty strings, each different")
        seen.add(name)
        if labels is not None and (
            not labels or not all(isinstance(label, Hashable) for label in labels) or len(set(labels)) < len(labels)
        ):
            raise OptionError(f"the states of {name!r} are {labels!r}; give at least one, and each once")


def _check_local_model(network: BayesianNetwork, child: int) -> None:
    model, name = network.local_models[child], network.names[child]
    if not isinstance(model, TableModel | LinearGaussian | GaussianDiscriminant):
        raise OptionError(f"the local model of {name!r} is a {type(model).__name__}; give one of credibn.models")
    if (network.states[child] is None) != isinstance(model, LinearGaussian):
        kind = "continuous" if network.states[child] is None else "discrete"
        fit = "a LinearGaussian" if kind == "continuous" else "a TableModel or a GaussianDiscriminant"
        raise OptionError(f"{name!r} is {kind} and has a {type(model).__name__}; give {fit}")
    if model.parents and (model.parents[-1] >= network.n_variables or child in model.parents):
        raise OptionError(f"the parents of {name!r} are at {model.parents}; give positions of other variables")
    discrete = model.parents if isinstance(model, TableModel) else model.discrete_parents
    for v in model.parents:
        if (network.states[v] is not None) != (v in discrete):
            kind = "continuous" if network.states[v] is None else "discrete"
            raise OptionError(f"{network.names[v]!r} is {kind}, but the model of {name!r} uses it as the other kind")
    expected = tuple(network.arities[v] for v in discrete)
    if isinstance(model, LinearGaussian):
        found = model.intercepts.shape
    else:
        found, expected = model.probabilities.shape, (*expected, network.arities[child])
    if found != expected:
        raise OptionError(f"the model of {name!r} has the shape {found}; the numbers of states are {expected}")
