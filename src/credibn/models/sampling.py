"""Draw rows from a network: each variable in turn, given the parents already drawn (Henrion 1988)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn.errors import OptionError
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.local_models import GaussianDiscriminant, LinearGaussian, TableModel, log_conditionals_of_states

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

__all__ = ["sample_columns", "sample_network"]

_MOST_ROWS = 1 << 48
"""Well below the longest array of NumPy; far fewer rows fill any memory."""
_NUMBERS_AT_ONCE = 1 << 20


def sample_network(network: BayesianNetwork, n_rows: int, seed: int = 0) -> DataFrame:
    """Draw rows from a network; also `BayesianNetwork.sample`.

    Parameters
    ----------
    network : BayesianNetwork
    n_rows : int
        How many rows, at least 1.
    seed : int
        The same seed gives the same rows; more rows are not a continuation of fewer.

    Returns
    -------
    pandas.DataFrame
        A discrete column is a Categorical that declares all states in order, so that `read_data` knows also those that
        were not drawn; the state None, which stands for a missing value, is missing. Others are float64.

    Examples
    --------
    >>> rain, wet = TableModel((), np.array([0.8, 0.2])), TableModel((0,), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> network = BayesianNetwork(("rain", "wet"), (("no", "yes"), ("no", "yes")), (rain, wet))
    >>> sample_network(network, 4, seed=1)
      rain  wet
    0   no   no
    1  yes  yes
    2   no   no
    3  yes  yes
    """
    import pandas as pd

    columns = sample_columns(network, n_rows, seed)
    frame = dict[str, Any]()
    for name, labels, column in zip(network.names, network.states, columns, strict=True):
        frame[name] = column if labels is None else _categorical(labels, column)
    return pd.DataFrame(frame)


def sample_columns(network: BayesianNetwork, n_rows: int, seed: int = 0) -> tuple[NDArray[Any], ...]:
    """Draw rows from a network as arrays, one for each variable: codes of states, or float64.

    Examples
    --------
    >>> coin = BayesianNetwork(("coin",), (("heads", "tails"),), (TableModel((), np.array([0.0, 1.0])),))
    >>> sample_columns(coin, 3)
    (array([1, 1, 1]),)
    """
    for name, value, least in (("n_rows", n_rows, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise OptionError.refusing(name, value, f"give a whole number, {least} or more")
    if n_rows > _MOST_ROWS:
        raise OptionError.refusing("n_rows", n_rows, f"at most {_MOST_ROWS:,} rows can be drawn at once")
    generator = np.random.default_rng(seed)
    nothing = np.zeros(0)
    columns: list[NDArray[Any]] = [nothing] * network.n_variables
    for child in network.topological_order:
        model = network.local_models[child]
        if isinstance(model, LinearGaussian):
            columns[child] = _draw_values(model, columns, generator.standard_normal(n_rows))
        else:
            columns[child] = _draw_states(model, columns, generator.random(n_rows))
    return tuple(columns)


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

    One with probability 0 is never drawn: it adds nothing to the sum before it, and draws are below 1.
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
