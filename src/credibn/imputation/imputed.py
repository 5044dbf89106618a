"""What several completed tables say together: averages over imputations, and how much these differ."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.credible.weights import Prior
from credibn.data import Dataset
from credibn.effects.averaging import CausesOf, Query, all_effects, check_pair, effect_of, priors_of
from credibn.effects.effect import Effect, Effects
from credibn.posterior.parent_sets import CauseProbabilities

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame, Series

SETTLED = 1.2
"""R-hat above this says that chains have not forgotten where they began."""
ASSUMPTION = "This assumes that values are missing at random: given what is there, not because of what is missing."
_DIGITS = 12
"""Of probabilities: the rest is rounding."""
_WORTH_SAYING = 0.01
"""The smallest spread that a summary names."""
_NOTHING = 1e-9
"""Variances below this are those of a number that does not change."""


@dataclass(frozen=True, eq=False, repr=False)
class ImputedResult:
    """The credible sets of several completed tables; made by `impute_and_learn`.

    Attributes
    ----------
    sets : tuple of CredibleSet
        One for each imputation, from its last round.
    tables : tuple of Dataset
        The completed tables that they were learned from.
    trace_scores : ndarray of float64, shape (imputations, rounds)
        The optimal score in each round.
    trace_edges : ndarray of float64, shape (imputations, rounds, n, n)
        The probability of each directed edge in each round, rows parents.
    trace_compelled : ndarray of float64, shape (imputations, rounds, n, n)
        The part of it that is from classes whose networks agree on the direction.
    n_missing : mapping from str to int
        How many values of each variable are missing.
    n_complete_rows : int
        The rows without a gap.
    n_rounds : int
    stopped_because : str or None
        Why not all rounds were done: "time_limit" or "interrupted".
    settings : mapping
    """

    sets: tuple[CredibleSet, ...]
    tables: tuple[Dataset, ...]
    trace_scores: NDArray[np.float64]
    trace_edges: NDArray[np.float64]
    trace_compelled: NDArray[np.float64]
    n_missing: Mapping[str, int]
    n_complete_rows: int
    n_rounds: int
    stopped_because: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("n_missing", "settings"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    __reduce__ = rebuilt_from_fields

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return self.sets[0].names

    @property
    def n_rows(self) -> int:
        """The rows of the table."""
        return self.tables[0].n_rows

    @property
    def share_missing(self) -> float:
        """The share of the values that are missing."""
        return sum(self.n_missing.values()) / (self.n_rows * len(self.names))

    @property
    def complete(self) -> bool:
        """Whether every credible set is complete, and all rounds were done."""
        return self.stopped_because is None and all(found.complete for found in self.sets)

    @property
    def edges_by_table(self) -> NDArray[np.float64]:
        """The probability of each directed edge in the second half of the rounds, shape (imputations, rounds, n, n)."""
        return self._late(self.trace_edges)

    def _late(self, trace: NDArray[np.float64]) -> NDArray[np.float64]:
        return trace[:, self.n_rounds // 2 :]

    def compelled(self) -> NDArray[np.float64]:
        """Return the mean of `trace_compelled` over the second half of the rounds, rows parents."""
        mean: NDArray[np.float64] = self._late(self.trace_compelled).mean(axis=(0, 1))
        return mean

    def edge_probabilities(self) -> DataFrame:
        """Return each pair of variables that some network joins, with averages over completed tables.

        These are the tables of the second half of the rounds. The columns are first, second, forward, backward, joined
        (the mean probability of either direction), spread (its standard deviation between tables) and error (that of
        the mean, from the means of the chains). The pairs with the largest mean come first.
        """
        import pandas as pd

        edges = self.edges_by_table
        joined = edges + edges.swapaxes(2, 3)
        first, second = np.triu_indices(len(self.names), 1)
        used = joined[:, :, first, second].max(axis=(0, 1)) > 0
        first, second = first[used], second[used]
        joined = joined[:, :, first, second]
        error = joined.mean(axis=1).std(axis=0, ddof=1) / math.sqrt(len(self.sets))
        names = np.array(self.names, dtype=object)
        frame = pd.DataFrame(
            {
                "first": names[first],
                "second": names[second],
                "forward": edges[:, :, first, second].mean(axis=(0, 1)),
                "backward": edges[:, :, second, first].mean(axis=(0, 1)),
                "joined": np.minimum(joined.mean(axis=(0, 1)), 1.0),
                "spread": np.round(joined.std(axis=(0, 1)), _DIGITS),
                "error": np.round(error, _DIGITS),
            }
        )
        return frame.sort_values("joined", ascending=False, kind="stable", ignore_index=True)

    def r_hat(self) -> Series:
        """Return how far apart the chains are, by Gelman and Rubin's R-hat, over the second half of the rounds.

        One value for the optimal score and one for each pair that is joined with a probability that changes. 1 says
        that chains differ as much within as between them; well above, that more rounds are needed. With few rounds it
        is rough.
        """
        import pandas as pd

        traces = {"score": self.trace_scores}
        first, second = np.triu_indices(len(self.names), 1)
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            trace = self.trace_edges[:, :, a, b] + self.trace_edges[:, :, b, a]
            if trace.var() > _NOTHING:
                traces[f"{self.names[a]} -- {self.names[b]}"] = trace
        return pd.Series({name: _r_hat(trace[:, self.n_rounds // 2 :]) for name, trace in traces.items()}, name="r_hat")

    def effects(
        self,
        *,
        cause: str | int | None = None,
        outcome: str | int | None = None,
        change: tuple[object, object] | None = None,
        state: object | None = None,
        level: float = 0.95,
        prior: Prior = "networks",
        equivalent_sample_size: float | None = None,
        pseudo_rows: float = 1.0,
        n_draws: int = 2000,
        seed: int = 0,
    ) -> Effect | Effects:
        """Return an effect over the networks of all imputations, or all pairs: see `CredibleSet.effects`.

        Imputations have the same weight. Their differences count as doubt about the structure.
        """
        check_pair(cause, outcome)
        priors = priors_of(self.sets[0].score_table.provenance, equivalent_sample_size, pseudo_rows)
        causes = [found.averages(prior).causes for found in self.sets]
        if cause is None or outcome is None:
            each = [all_effects(one, table, priors) for one, table in zip(causes, self.tables, strict=True)]
            strengths, paths = (
                sum((getattr(one, name) for one in each[1:]), getattr(each[0], name)) / len(each)
                for name in ("strengths", "paths")
            )
            error = math.sqrt(math.fsum(one.standard_error**2 for one in each)) / len(each)
            return Effects(strengths, paths, sum(one.n_sampled for one in each), error)
        query = Query(cause, outcome, change, state, level, priors, n_draws, seed)
        known: list[CausesOf] = [partial(_same, one) for one in causes]
        return effect_of(list(zip(known, self.tables, strict=True)), query)

    def summary(self) -> str:
        """Return what was done and found, and how sure it is, in a few sentences."""
        return "\n".join([missing_sentence(self), *found_sentences(self), ASSUMPTION])

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file that loads nothing; if that fails, an older file stays as it was.

        It has what was asked of which table, the gaps, the graph and the pairs with their spread, and R-hat.
        """
        from credibn.report import write_imputation_page  # templates and figures: only a page needs them

        write_imputation_page(self, path)

    def __repr__(self) -> str:
        return (
            f"ImputedResult({len(self.sets)} imputations of {100 * self.share_missing:.1f} % missing values, "
            f"{plural(self.n_rounds, 'round')}, {plural(len(self.names), 'variable')})"
        )


def missing_sentence(result: ImputedResult) -> str:
    """Say how much is missing, and how often it was filled in."""
    return (
        f"{100 * result.share_missing:.1f} % of the values are missing. They were filled in {len(result.sets)} times, "
        f"each in {plural(result.n_rounds, 'round')}."
    )


def found_sentences(result: ImputedResult) -> list[str]:
    """Say how much the completed tables leave open, and whether the chains have settled."""
    edges, apart = result.edge_probabilities(), result.r_hat()
    widest = edges.iloc[int(np.argmax(edges["spread"].to_numpy()))] if len(edges) else None
    lines = [f"The completed tables have {_range([found.n_networks for found in result.sets])} each."]
    if widest is not None and widest["spread"] >= _WORTH_SAYING:
        lines.append(
            f"Most uncertain because of the gaps: {widest['first']} and {widest['second']} are joined with "
            f"probability {widest['joined']:.2f}, which varies by {widest['spread']:.2f} between tables."
        )
    settled = "have settled" if apart.max() <= SETTLED else f"may need more rounds (above {SETTLED})"
    lines.append(f"Largest R-hat: {apart.max():.3f} ({apart.idxmax()}); the chains {settled}.")
    if result.stopped_because is not None:
        lines.append(f"Stopped early ({result.stopped_because}).")
    return lines


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return plural(low, "credible network") if low == high else f"{low:,} to {high:,} credible networks"


def _same(causes: CauseProbabilities, cause: int) -> CauseProbabilities:
    return causes


def _r_hat(trace: NDArray[np.float64]) -> float:
    """Return the square root of the variance of all draws over that within chains; 1 where nothing changes."""
    n = trace.shape[1]
    within = float(trace.var(axis=1, ddof=1).mean()) if n > 1 else 0.0
    between = float(trace.mean(axis=1).var(ddof=1))
    if within < _NOTHING:
        return 1.0 if between < _NOTHING else math.inf
    return math.sqrt((n - 1) / n + between / within)
