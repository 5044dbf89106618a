"""Multiple imputation: fill the gaps of a table several times, each time as the credible networks say.

Each imputation is a chain of rounds. A round learns the credible set of the completed table, draws one of its networks
by weight, and the network's parameters from their posterior; then it draws the missing values again, given the values
that are there (data augmentation: Tanner and Wong 1987). Once the chains have converged, completed tables come from
their distribution given the observed values, as far as the credible set stands for all networks. The tables of the
second half of the rounds are averaged over.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn._run.progress import watching
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.data.gaps import GappedTable
from credibn.data.reading import read_gapped
from credibn.errors import Option, OptionError, Phrase, TimeLimitError, warn
from credibn.imputation.drawing import draw_missing, fill_at_random
from credibn.imputation.imputed import ImputedResult
from credibn.learning import learn
from credibn.learning.start import UnknownShareError
from credibn.models.averaging_networks import default_sample_size
from credibn.options import Progress, ReadOptions, UnknownOptionError, resolve_seconds
from credibn.scores.setup import columns_taken

_OWN = ("data", "missing", "scores", "checkpoint", "progress", "time_limit", "posterior_share")
"""Options of `learn` that have no meaning here, or that are named by themselves."""
_LEARN = tuple(name for name in inspect.signature(learn).parameters if name not in _OWN)
_ENDED = ("time_limit", "interrupted")


def impute_and_learn(
    data: Any,
    *,
    n_imputations: int = 10,
    n_rounds: int = 10,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> ImputedResult:
    """Fill the gaps of a table several times, learn from each completed table, and average.

    The gaps are filled by the averaged networks themselves, iterated. This assumes that values are missing at random:
    whether one is missing may depend on values that are there, not on the missing one.

    Parameters
    ----------
    data : path, DataFrame, Arrow table, NumPy array, DuckDB relation or Ibis table
        A table of categories, of numbers or of both; missing are the same values as in `read_data`.
    n_imputations : int
        How many tables are completed, each from another start; at least 2.
    n_rounds : int
        How often each of them is learned from and its gaps are filled again; at least 4.
    seed : int
        The same seed gives the same result.
    time_limit : float, optional
        Seconds for the whole run. The result then has the rounds that were finished; one at least must be.
    progress : see `learn`
        The stage is "impute".
    **options
        Those of `learn`: the score, the Bayes factor, constraints, limits, and how the table is read.

    Returns
    -------
    ImputedResult

    Raises
    ------
    OptionError, DataError
    TimeLimitError
        If not one round was finished in time.

    Examples
    --------
    >>> import pandas as pd
    >>> smoke = ["no", "no", "yes", "yes"] * 20
    >>> table = pd.DataFrame({"smoke": smoke, "bronc": ["no", "no", "yes", None] * 20})
    >>> result = impute_and_learn(table, n_imputations=3, n_rounds=4)
    >>> result.edge_probabilities().round(2)["joined"].tolist()
    [1.0]
    """
    for name in options:
        if name not in _LEARN:
            raise UnknownOptionError("impute_and_learn", name, (*_LEARN, "n_imputations", "n_rounds", "seed"))
    n_imputations, n_rounds = whole_number("n_imputations", n_imputations, 2), whole_number("n_rounds", n_rounds, 4)
    random = np.random.default_rng(whole_number("seed", seed, 0)).spawn(n_imputations)
    seconds = resolve_seconds(time_limit)
    deadline = None if seconds is None else time.monotonic() + seconds
    of_table = {name: options.pop(name) for name in ReadOptions.names() if name in options}
    score, size = options.get("score", "auto"), options.get("equivalent_sample_size")
    table = read_gapped(data, ReadOptions(**of_table), columns_taken(score, size))
    _check(table)
    with watching(progress) as shown:
        chains = [_Chain(table, generator, options) for generator in random]
        stopped, n_done = None, 0
        for number in range(n_rounds):
            for at, chain in enumerate(chains):
                done = (number * n_imputations + at) / (n_rounds * n_imputations)
                stopped = chain.advance(shown, done, 1 / (n_rounds * n_imputations), deadline)
                if stopped is not None:
                    break
            if stopped is not None:
                break
            n_done = number + 1
    if n_done == 0:
        if stopped == "interrupted":
            raise KeyboardInterrupt("imputation was stopped before one round was finished")
        raise TimeLimitError(
            "the time limit was reached before one round of {} imputations was finished; raise {}, or lower {}",
            n_imputations,
            Option("time_limit"),
            Option("n_imputations"),
        )
    if stopped is not None:
        ended = "the time limit was reached" if stopped == "time_limit" else "the run was stopped"
        warn("{} after {} of {} rounds: the imputations may not have converged", ended, n_done, n_rounds)
    return ImputedResult(
        sets=tuple(chain.sets[n_done - 1] for chain in chains),
        tables=tuple(chain.tables[n_done - 1] for chain in chains),
        trace_scores=np.array([chain.scores[:n_done] for chain in chains]),
        trace_edges=np.array([chain.edges[:n_done] for chain in chains]),
        trace_compelled=np.array([chain.compelled[:n_done] for chain in chains]),
        n_missing=dict(zip(table.names, (table.are_missing @ table.weights).tolist(), strict=True)),
        n_complete_rows=int(table.weights.sum()) - len(table.gapped),
        n_rounds=n_done,
        stopped_because=stopped,
        settings={"n_imputations": n_imputations, "n_rounds": n_rounds, "seed": seed, "time_limit": seconds},
    )


def _check(table: GappedTable) -> None:
    if not len(table.gapped):
        raise OptionError("no value is missing, so there is nothing to fill in; call learn")


class _Chain:
    """One imputation: the table as it is completed now, and what was learned from it in each round.

    Only the last two tables and sets stay: a round that others did not finish does not count.
    """

    def __init__(self, table: GappedTable, random: Generator, options: Mapping[str, Any]) -> None:
        self._table, self._random, self._options = table, random, options
        self._rows = fill_at_random(table, random)
        self.sets: dict[int, CredibleSet] = {}
        self.tables: dict[int, Dataset] = {}
        self.scores: list[float] = []
        self.edges: list[NDArray[np.float64]] = []
        self.compelled: list[NDArray[np.float64]] = []

    def advance(self, shown: Progress | None, done: float, share: float, deadline: float | None) -> str | None:
        """Learn from the table as it is, and fill its gaps anew; return why that ended too soon, if it did."""
        found, why = self._learn(shown, done, share, deadline)
        if found is None:
            return why
        number = len(self.scores)
        self.scores.append(found.optimal_score)
        averages = found.averages()
        self.edges.append(averages.parent_sets.edges)
        self.compelled.append(averages.decided)
        self.sets[number], self.tables[number] = found, self._completed
        self.sets.pop(number - 2, None)
        self.tables.pop(number - 2, None)
        self._draw(found)
        return None

    def _learn(
        self, shown: Progress | None, done: float, share: float, deadline: float | None
    ) -> tuple[CredibleSet | None, str | None]:
        """Return the credible set of the completed table; None and the reason where it ended too soon."""
        left = None if deadline is None else deadline - time.monotonic()
        self._completed = self._table.filled(self._rows)

        def report(stage: str, fraction: float) -> bool | None:
            return None if shown is None else shown("impute", done + share * 0.5)

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = learn(
                    self._completed,
                    time_limit=None if left is None else max(left, 1e-3),
                    progress=report,
                    # Nothing here asks for it, and it may take longer than the search; a share as the goal needs it.
                    posterior_share=None if self._options.get("share") else False,
                    **self._options,
                )
            except TimeLimitError:
                return None, "time_limit"
            except UnknownShareError as error:  # imputation has no estimate of the share
                instead = Phrase("give {} in its place", Option("bayes_factor"))
                raise UnknownShareError(error.n_searched, instead) from None
        if found.stopped_because in _ENDED:
            return None, found.stopped_because
        if not self.scores and done == 0:  # the others would say the same
            for one in said:
                warn(one.message)
        return found, None

    def _draw(self, found: CredibleSet) -> None:
        (network,) = found.sample_networks(1, seed=int(self._random.integers(1 << 31)))
        position = {name: v for v, name in enumerate(found.names)}
        parents = [tuple(sorted(position[p] for p in network.predecessors(name))) for name in found.names]
        size = default_sample_size(found.score_table.provenance)
        self._rows = draw_missing(self._table, self._rows, self._completed, parents, size, self._random)
