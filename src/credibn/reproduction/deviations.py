"""Figure 1: how far the k-th best network is from the optimum, by BDeu.

The paper plots the 1,000 best of KBest for some data sets of table 3, with lines at Bayes factors. Ours are the 1,000
best by `k_best_networks`, and beyond these all networks within a Bayes factor of 150, where they can be had. Networks
of a class share their score, so the curve has a step for each score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credibn.credible import CredibleSet
from credibn.learning import k_best_networks, learn
from credibn.options import Progress
from credibn.reproduction.measuring import Answer, Cell, Deadline, Limits, attempt, unless_interrupted
from credibn.reproduction.printed import BAYES_FACTORS, printed_names
from credibn.reproduction.results import Column, ResultTable
from credibn.reproduction.sources import Need, Sources

__all__ = ["DeviationsCell", "compute_deviations", "deviations_cells", "deviations_table"]

_K = 1000
_MOST_STEPS = 1000
"""Steps that are kept of the credible set, evenly spaced in the logarithm of k."""


@dataclass(frozen=True)
class DeviationsCell:
    """The curve of one data set."""

    name: str
    need: Need = "data"

    @property
    def key(self) -> str:
        """The path of its record."""
        return f"figure1/{self.name}"

    @property
    def label(self) -> str:
        """What it is, for people."""
        return f"figure 1, {self.name}"


def deviations_cells() -> list[DeviationsCell]:
    """Return the curves: one for each data set of table 3."""
    return [DeviationsCell(name) for name in printed_names("table3")]


def compute_deviations(cell: DeviationsCell, sources: Sources, limits: Limits, progress: Progress | None) -> Answer:
    """Find the best networks and then all within a Bayes factor of 150, as far as the time goes."""
    dataset = sources.read_table(cell.name)
    deadline = Deadline(limits.time_limit)
    options: dict[str, Any] = {"score": "bdeu", "posterior_share": False, "progress": progress}

    def credible() -> Answer:
        found = learn(dataset, bayes_factor=max(BAYES_FACTORS), time_limit=deadline.left(), **options)
        unless_interrupted(found)
        message = None if found.complete else found.guarantee
        steps = _thinned(_steps(found)) if found.complete else []
        return {"complete": found.complete, "networks": found.n_networks, "steps": steps, "message": message}

    best = unless_interrupted(k_best_networks(dataset, k=_K, time_limit=deadline.left(), **options))
    if not best.complete:
        return {"complete": False, "stopped_because": best.stopped_because, "message": best.guarantee}
    beyond = attempt(credible)
    return {
        "complete": beyond["complete"],
        "stopped_because": beyond.get("stopped_because"),
        "message": beyond["message"],
        "best_score": best.optimal_score,
        "k_best": _steps(best),
        "credible": beyond["steps"] if beyond["complete"] else [],
    }


def _steps(found: CredibleSet) -> list[list[float]]:
    """Return [first k, last k, deviation] for each score, the best first."""
    rows = found.rows
    steps = list[list[float]]()
    last = 0
    for row, score in enumerate(rows.scores.tolist()):
        first, last = last + 1, last + (1 if rows.class_of is not None else rows.class_size(row))
        deviation = max(0.0, found.optimal_score - score)
        if steps and steps[-1][2] == deviation:
            steps[-1][1] = last
        else:
            steps.append([first, last, deviation])
    return steps


def _thinned(steps: list[list[float]]) -> list[list[float]]:
    """Return the first and last step and about `_MOST_STEPS` between, evenly spaced in log k."""
    if len(steps) <= _MOST_STEPS:
        return steps
    ends = np.log([float(last) for _, last, _ in steps])
    wanted = np.searchsorted(ends, np.linspace(0.0, ends[-1], _MOST_STEPS)).clip(max=len(steps) - 1)
    return [steps[at] for at in np.unique(np.concatenate([[0], wanted, [len(steps) - 1]])).tolist()]


def deviations_table(answers: Mapping[Cell, Answer]) -> ResultTable:
    """Return the steps of the curves from the answers there are; beyond the k best those of the credible set."""
    rows = []
    for cell in deviations_cells():
        answer = answers.get(cell, {})
        for first, last, deviation in answer.get("k_best", []):
            rows.append(_row(cell.name, first, last, deviation, "k best"))
        for first, last, deviation in answer.get("credible", []):
            if last > _K:
                rows.append(_row(cell.name, max(first, _K + 1), last, deviation, "credible set"))
    return ResultTable("figure1", "Figure 1: deviation from the optimum by k", tuple(rows), _COLUMNS, _REMARKS)


def _row(name: str, first: float, last: float, deviation: float, source: str) -> dict[str, object]:
    return {"data": name, "first_k": first, "last_k": last, "deviation": deviation, "source": source}


_COLUMNS = (
    Column("data", lambda row: row["data"], "the data set", is_number=False),
    Column("first k", lambda row: f"{row['first_k']:,}", "the first network of the step"),
    Column("last k", lambda row: f"{row['last_k']:,}", "the last network of the step"),
    Column("deviation", lambda row: f"{row['deviation']:.6f}", "how far below the optimum it scores, in nats"),
    Column("source", lambda row: row["source"], "the k best, or all within a Bayes factor of 150", is_number=False),
)
_REMARKS = (
    f"Steps of the credible set are thinned to about {_MOST_STEPS:,}. The paper gives this figure without numbers, so "
    "there is nothing to mark.",
)
