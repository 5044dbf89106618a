"""Figure 1: how far the k-th best network is from the optimum, by BDeu.

The paper plots the 1,000 best of KBest for some data sets of table 3, with lines at Bayes factors. Ours are the 1,000
best by `k_best_networks`, and beyond these all networks within a Bayes factor of 150, where the time suffices. Networks
of a class share their score, so the curve has a step for each score.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from credibn import CredibleSet, Dataset, k_best_networks, learn
from paper.experiment import Answer, Experiment, Progress, Task, attempt
from paper.plots import plot_deviations
from paper.printed import BAYES_FACTORS, printed_names
from paper.results import ResultTable
from paper.searching import search

_K = 1000
_MOST_STEPS = 1000
"""Steps that are recorded of the credible set, evenly spaced in the logarithm of k."""


@dataclass(frozen=True)
class DeviationsTask(Task):
    """The curve of one data set."""

    folder = "figure1"

    def compute(self, source: Dataset, deadline: float | None, progress: Progress | None) -> Answer:
        """Find the best networks and then all within a Bayes factor of 150, as far as the time goes."""
        best = search(k_best_networks, source, deadline, progress, k=_K, score="bdeu")
        if not best.complete:
            return {"complete": False, "stopped_because": best.stopped_because, "message": best.guarantee}

        def credible() -> Answer:
            found = search(learn, source, deadline, progress, bayes_factor=max(BAYES_FACTORS), score="bdeu")
            steps = _thinned(_steps(found)) if found.complete else []
            message = None if found.complete else found.guarantee
            told = {"complete": found.complete, "stopped_because": found.stopped_because, "message": message}
            return {**told, "credible": steps}

        beyond = attempt(credible)
        return {
            "credible": [],
            **beyond,
            "best_score": best.optimal_score,
            "k_best": _steps(best),
        }


_TASKS = [DeviationsTask(name) for name in printed_names("table3")]


def _steps(found: CredibleSet) -> list[list[float]]:
    """Return [first k, last k, deviation] for each score, the best first."""
    rows = found.structures
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


def _table(answers: Mapping[Task, Answer]) -> ResultTable:
    """Return the steps of the curves; beyond the k best those of the credible set."""
    rows = []
    for task in _TASKS:
        answer = answers.get(task, {})
        steps = [(*step, "k best") for step in answer.get("k_best", [])]
        beyond = [step for step in answer.get("credible", []) if step[1] > _K]
        steps += [(max(first, _K + 1), last, deviation, "credible set") for first, last, deviation in beyond]
        names = ("first_k", "last_k", "deviation", "source")
        rows += [{"data": task.name, **dict(zip(names, step, strict=True))} for step in steps]
    return ResultTable("figure1", "Figure 1: deviation from the optimum by k", tuple(rows), (), _REMARKS)


_REMARKS = (
    f"Steps of the credible set are thinned to about {_MOST_STEPS:,}. The paper gives this figure without numbers, so "
    "there is nothing to mark.",
)
EXPERIMENT = Experiment(
    "figure1",
    lambda samples: _TASKS,
    _table,
    plot_deviations,
    "The deviation of the k-th best network from the optimum, by BDeu.",
)
