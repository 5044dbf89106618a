"""Fitted models as HTML, for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from credibn.notebook import block, drawing, paragraph, table

if TYPE_CHECKING:
    from credibn.models.bayesian_network import BayesianNetwork
    from credibn.models.prediction import AveragedModel

__all__ = ["averaged_model_html", "network_html"]

_STATES_SHOWN = 6


@dataclass(frozen=True)
class _Structure:
    """A network as `credibn.drawing` takes it."""

    names: tuple[str, ...]
    directed: tuple[tuple[str, str], ...]
    undirected: tuple[tuple[str, str], ...] = ()


def averaged_model_html(model: AveragedModel) -> str:
    """Return what the model is, and its variables.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import average_models, learn
    >>> x = np.arange(80) // 40
    >>> data = np.column_stack([x, x])
    >>> print(averaged_model_html(average_models(learn(data), data)).splitlines()[1])
    <p>AveragedModel(1 network of 1 class, 2 variables, share 1)</p>
    """
    rows = [[name, _states(labels)] for name, labels in zip(model.names, model.states, strict=True)]
    return block(paragraph(repr(model)), table(["variable", "states"], rows))


def network_html(network: BayesianNetwork) -> str:
    """Return the network drawn, and a table of its variables with their parents.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import fit_network
    >>> network = fit_network(["X0->X1"], np.array([[0, 0], [1, 1]]))
    >>> network_html(network).count("<polygon")
    1
    """
    parents = [tuple(network.names[v] for v in above) for above in network.parents]
    edges = tuple((parent, name) for name, above in zip(network.names, parents, strict=True) for parent in above)
    lines = zip(network.names, network.states, parents, network.local_models, strict=True)
    rows = [
        [name, _states(states), ", ".join(above), f"{model.n_parameters:,}"] for name, states, above, model in lines
    ]
    title = repr(network)
    return block(
        paragraph(title),
        drawing(_Structure(network.names, edges), title),
        table(["variable", "states", "parents", "parameters"], rows, numbers=[3]),
    )


def _states(labels: tuple[object, ...] | None) -> str:
    if labels is None:
        return "continuous"
    shown = ["(missing)" if label is None else str(label) for label in labels[:_STATES_SHOWN]]
    return ", ".join(shown) + (f", ... ({len(labels)} states)" if len(labels) > _STATES_SHOWN else "")
