"""Networks of discrete variables as objects of pgmpy and pyAgrum, and back.

Both packages are optional: each is imported when it is needed.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn.errors import OptionError
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.local_models import SUM_TOLERANCE, TableModel, table_in_order

_ROUNDED_UP_TO = 1e-2


def to_pgmpy(network: BayesianNetwork) -> Any:
    """Return the network as a ``pgmpy.models.DiscreteBayesianNetwork``."""
    models = _tables(network, "pgmpy")
    pgmpy_models = optional_package("pgmpy.models", "pgmpy")
    factors = optional_package("pgmpy.factors.discrete", "pgmpy")
    converted = pgmpy_models.DiscreteBayesianNetwork()
    converted.add_nodes_from(network.names)
    converted.add_edges_from(network.graph.edges)
    for child, model in enumerate(models):
        family = (child, *model.parents)
        n_states = network.arities[child]
        converted.add_cpds(
            factors.TabularCPD(
                network.names[child],
                n_states,
                np.moveaxis(model.probabilities, -1, 0).reshape(n_states, -1),
                evidence=[network.names[v] for v in model.parents],
                evidence_card=[network.arities[v] for v in model.parents],
                state_names={network.names[v]: list(network.states[v] or ()) for v in family},
            )
        )
    return converted


def from_pgmpy(model: Any) -> BayesianNetwork:
    """Return a ``pgmpy.models.DiscreteBayesianNetwork`` as a network.

    Raises
    ------
    OptionError
        If a variable has no table, or tables do not fit together.

    Examples
    --------
    >>> coin = BayesianNetwork(("coin",), (("heads", "tails"),), (TableModel((), np.array([0.25, 0.75])),))
    >>> from_pgmpy(to_pgmpy(coin)).states
    (('heads', 'tails'),)
    """
    names = tuple(model.nodes())
    position = {name: v for v, name in enumerate(names)}
    cpds = {cpd.variable: cpd for cpd in model.get_cpds()}
    missing = [name for name in names if name not in cpds]
    if missing:
        raise OptionError(f"{missing[0]!r} has no table in the pgmpy network; add its TabularCPD")
    states = {name: tuple(cpds[name].state_names[name]) for name in names}
    models = []
    for name in names:
        cpd = cpds[name]
        parents = list(cpd.variables[1:])
        values = np.moveaxis(np.asarray(cpd.values, dtype=np.float64), 0, -1)
        for axis, parent in enumerate(parents):  # a table may list the states of a parent in an order of its own
            own = list(cpd.state_names[parent])
            if set(own) != set(states[parent]):
                raise OptionError(
                    f"the table of {name!r} and that of {parent!r} list different states of {parent!r}; make them equal"
                )
            values = values.take([own.index(label) for label in states[parent]], axis=axis)
        models.append(_rounded_table([position[parent] for parent in parents], values))
    return BayesianNetwork(names, tuple(states[name] for name in names), tuple(models))


def to_pyagrum(network: BayesianNetwork) -> Any:
    """Return the network as a ``pyagrum.BayesNet``; states become text."""
    models = _tables(network, "pyAgrum")
    gum = optional_package("pyagrum", "pyagrum")
    converted = gum.BayesNet("unknown")
    try:
        for name, labels in zip(network.names, network.states, strict=True):
            converted.add(gum.LabelizedVariable(name, "", state_texts(name, labels or ())))
        for child, model in enumerate(models):
            # Parents in reverse order: the axes of a pyAgrum table are those of NumPy backwards, the child's first.
            for parent in reversed(model.parents):
                converted.addArc(network.names[parent], network.names[child])
            converted.cpt(network.names[child])[:] = model.probabilities
    except gum.GumException as error:
        raise OptionError(
            f"pyAgrum rejects this network ({error}); rename the variables or states it mentions"
        ) from error
    return converted


def from_pyagrum(model: Any) -> BayesianNetwork:
    """Return a ``pyagrum.BayesNet`` as a network; its states are text.

    Examples
    --------
    >>> coin = BayesianNetwork(("coin",), (("heads", "tails"),), (TableModel((), np.array([0.25, 0.75])),))
    >>> from_pyagrum(to_pyagrum(coin)).states
    (('heads', 'tails'),)
    """
    nodes = sorted(model.nodes())
    names = tuple(model.variable(node).name() for node in nodes)
    position = {name: v for v, name in enumerate(names)}
    models = []
    for node in nodes:
        table = model.cpt(node)
        parents = [position[name] for name in reversed(table.names[1:])]
        models.append(_rounded_table(parents, np.array(table.toarray(), dtype=np.float64)))
    states = tuple(tuple(model.variable(node).labels()) for node in nodes)
    return BayesianNetwork(names, states, tuple(models))


def optional_package(module: str, extra: str) -> Any:
    """Import a module of an optional package."""
    try:
        with warnings.catch_warnings():
            # compiled packages crash where a warning of their import is turned into an error
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        raise OptionError(f"this needs {extra}, which cannot be imported: pip install 'credibn[{extra}]'") from error


def _tables(network: BayesianNetwork, target: str) -> tuple[TableModel, ...]:
    """Return the local models, all of which must be tables."""
    tables = []
    for name, labels, model in zip(network.names, network.states, network.local_models, strict=True):
        if labels is None or not isinstance(model, TableModel):
            raise OptionError(f"{name!r} is continuous; {target} takes discrete variables only: discretise it first")
        tables.append(model)
    return tuple(tables)


def state_texts(name: str, labels: tuple[object, ...]) -> list[str]:
    """Return the states as text, all different."""
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        raise OptionError(f"the states of {name!r} are {labels!r}, two of which are the same as text; rename one")
    return texts


def _rounded_table(parents: list[int], values: NDArray[np.float64]) -> TableModel:
    """Return a table; distributions that were rounded to few digits are scaled to sum to 1."""
    values = np.ascontiguousarray(values)
    sums = values.sum(axis=-1, keepdims=True)
    gaps = np.abs(sums - 1)
    values = np.where((gaps > SUM_TOLERANCE) & (gaps <= _ROUNDED_UP_TO), values / np.where(sums > 0, sums, 1.0), values)
    return table_in_order(parents, values)
