"""Draw rows from a network: each variable in turn, given the parents already drawn (Henrion 1988)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn.errors import OptionError
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.local_models import GaussianDiscriminant, LinearGaussian, TableModel, log_conditionals_of_states

if TYPE_CHECKING:  # pandas is slow to import: it is loaded when needed
    from pandas import DataFrame

_MAX_ROWS = 1 << 48
"""Well below the longest array of NumPy; far fewer rows exceed any memory."""
_NUMBERS_AT_ONCE = 1 << 20


def sample_frame(network: BayesianNetwork, n_rows: int, seed: int) -> DataFrame:
    """Draw rows from a network: see `BayesianNetwork.sample`."""
    import pandas as pd

    n_rows, seed = whole_number("n_rows", n_rows, 1), whole_number("seed", seed, 0)
    if n_rows > _MAX_ROWS:
        raise OptionError.refusing("n_rows", n_rows, f"at most {_MAX_ROWS:,} rows can be drawn at once")
    generator = np.random.default_rng(seed)
    nothing = np.zeros(0)
    columns: list[NDArray[Any]] = [nothing] * network.n_variables
    for child in network.topological_order:
        model = network.local_models[child]
        if isinstance(model, LinearGaussian):
            columns[child] = _draw_values(model, columns, generator.standard_normal(n_rows))
        else:
            columns[child] = _draw_states(model, columns, generator.random(n_rows))
    drawn = zip(network.names, network.states, columns, strict=True)
    return pd.DataFrame({n: column if labels is None else _categorical(labels, column) for n, labels, column in drawn})


def _draw_values(model: LinearGaussian, columns: list[NDArray[Any]], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    cell = tuple(columns[v] for v in model.discrete_parents)
    values: NDArray[np.float64] = model.intercepts[cell] + np.sqrt(model.variances[cell]) * noise
    for at, v in enumerate(model.continuous_parents):
        values += model.coefficients[(*cell, at)] * columns[v]
    return values


def _draw_states(
    model: TableModel | GaussianDiscriminant, columns: list[NDArray[Any]], uniform: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return for each row the first state whose cumulative probability exceeds the uniform draw.

    A state with probability 0 is never drawn: it adds nothing to the cumulative probability, and draws are below 1.
    """
    states = np.empty(len(uniform), dtype=np.intp)
    step = max(1, _NUMBERS_AT_ONCE // model.probabilities.shape[-1])
    for start in range(0, len(uniform), step):
        rows = slice(start, start + step)
        here = [column[rows] for column in columns]
        if isinstance(model, TableModel):
            probabilities = model.probabilities[tuple(here[v] for v in model.parents)]
        else:
            probabilities = np.exp(log_conditionals_of_states(model, here))
        cumulative = np.cumsum(probabilities, axis=-1)
        cumulative /= cumulative[..., -1:]
        states[rows] = (cumulative <= uniform[rows, None]).sum(axis=-1)
    return states


def _categorical(labels: tuple[object, ...], codes: NDArray[np.intp]) -> Any:
    import pandas as pd

    known = [label for label in labels if label is not None]
    if len(known) < len(labels):  # pandas has no category None: a missing value takes its place
        renumbered = np.array([-1 if label is None else known.index(label) for label in labels])
        codes = renumbered[codes]
    return pd.Categorical.from_codes(codes, categories=pd.Index(known, tupleize_cols=False))
