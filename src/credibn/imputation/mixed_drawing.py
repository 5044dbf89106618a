"""Draw missing values of tables with both numbers and categories, from conditional-Gaussian networks.

Parameters have no simple posterior here, so they are fitted to rows drawn from the completed table with replacement:
the bootstrap, which stands for a draw from their posterior (Rubin and Schenker 1986). Each missing value is drawn given
all others of its row, in turn (Gibbs sampling): a category by its states, a number from the normal distribution that
its own regression and those of its children give. The probability of a category is not normal in the numbers among its
parents; then that distribution proposes values, which are taken or not (Metropolis and Hastings).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credibn.credible.families import CountedFamilies
from credibn.data import Dataset
from credibn.data.gaps import GappedTable
from credibn.models.blanket_inference import gaussian_part
from credibn.models.fitting import fit_local_model
from credibn.models.local_models import LinearGaussian, LocalModel, log_conditional

Floats = NDArray[np.float64]
SWEEPS = 5
"""How often each missing value is drawn anew, given the others of its row."""
_PROPOSALS = 5
"""In each sweep, for a number that is a parent of a category."""


def draw_models(data: Dataset, parents: Sequence[tuple[int, ...]], size: float, random: Generator) -> list[LocalModel]:
    """Return the local model of each variable, fitted to as many rows as there are, drawn with replacement."""
    counts = random.multinomial(data.n_rows, data.weights / data.weights.sum())
    is_drawn = counts > 0
    columns = [column[is_drawn] for column in data.columns]
    drawn = CountedFamilies(Dataset.of_rows(data.names, columns, data.states, counts[is_drawn], data.cuts))
    return [fit_local_model(drawn, v, above, equivalent_sample_size=size) for v, above in enumerate(parents)]


def draw_mixed(
    table: GappedTable, rows: list[NDArray[Any]], models: Sequence[LocalModel], random: Generator
) -> list[NDArray[Any]]:
    """Return the rows with gaps, each gap drawn anew given all others of its row, some times in turn."""
    rows = [column.copy() for column in rows]
    children = [[c for c, model in enumerate(models) if v in model.parents] for v in range(len(models))]
    changing = [v for v in range(len(rows)) if table.gaps[v].any() and np.ptp(table.observed(v)[0]) > 0]
    for _ in range(SWEEPS):
        for v in changing:
            column, at = rows[v], np.flatnonzero(table.gaps[v])
            values = [other[at] for other in rows]
            if table.states[v] is None:
                column[at] = _draw_numbers(values, v, models, children[v], random)
            else:
                spread = [value[:, None] for value in values]
                spread[v] = np.arange(len(table.states[v] or ()))[None]
                logs = sum(log_conditional(models[c], c, spread) for c in (v, *children[v]))
                column[at] = draw_states(np.broadcast_to(logs, (len(at), spread[v].shape[1])), random)
    return rows


def draw_states(logs: Floats, random: Generator) -> NDArray[np.intp]:
    """Return a state for each row, from the logarithms of numbers that probabilities are proportional to."""
    shares = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    drawn = (random.random((len(shares), 1)) * shares[:, -1:] >= shares).sum(axis=1)
    states: NDArray[np.intp] = np.minimum(drawn, shares.shape[1] - 1)
    return states


def _draw_numbers(
    values: list[NDArray[Any]], v: int, models: Sequence[LocalModel], children: Sequence[int], random: Generator
) -> Floats:
    precision, information = np.zeros(len(values[v])), np.zeros(len(values[v]))
    categories = []
    for c in (v, *children):
        model = models[c]
        if isinstance(model, LinearGaussian):
            more = gaussian_part(model, c, values, v)
            precision, information = precision + more[0], information + more[1]
        else:
            categories.append(c)
    mean, sd = information / precision, 1 / np.sqrt(precision)

    def log_factor(numbers: Floats) -> Floats:
        changed = [numbers if u == v else value for u, value in enumerate(values)]
        return np.asarray(sum(log_conditional(models[c], c, changed) for c in categories))

    if not categories:
        return mean + sd * random.standard_normal(len(mean))
    now: Floats = values[v]
    log_now = log_factor(now)
    for _ in range(_PROPOSALS):
        proposed = mean + sd * random.standard_normal(len(mean))
        log_proposed = log_factor(proposed)
        is_taken = np.log(random.random(len(mean))) < log_proposed - log_now
        now, log_now = np.where(is_taken, proposed, now), np.where(is_taken, log_proposed, log_now)
    return now
