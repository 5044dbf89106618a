"""Table 2: all networks within a Bayes factor of 3, 20 and 150 by BIC, their classes, and the time of the search.

The paper's |M| tells networks apart by all their colliders, shielded ones too; it is reproduced as "patterns" and
stands beside the Markov equivalence classes (Verma & Pearl 1990).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from credibn import Dataset
from paper.counts import (
    CLASSES,
    MACHINES,
    PRINTED_NETWORKS,
    TIMES,
    count_of,
    found_facts,
    networks_column,
    with_least,
)
from paper.experiment import Answer, Experiment, Progress, Task
from paper.marks import mark_count
from paper.plots import MARK, plot_pairs
from paper.printed import BAYES_FACTORS, CAP_OF_TABLE_2, find_printed, printed_rows
from paper.results import Column, ResultTable, Row, text_column
from paper.searching import count_credible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class CountsTask(Task):
    """The credible set of one data set for one Bayes factor."""

    bayes_factor: int
    folder = "table2"

    def compute(self, source: Dataset, deadline: float | None, progress: Progress | None) -> Answer:
        """Score and search the data set."""
        return count_credible(source, deadline, progress, score="bic", bayes_factor=self.bayes_factor)


_TASKS = [CountsTask(str(row["data"]), int(row["bayes_factor"] or 0)) for row in printed_rows("table2")]


def _table(answers: Mapping[Task, Answer]) -> ResultTable:
    rows = []
    for task in _TASKS:
        answer = answers.get(task) and with_least(_by_factor(answers, task.name), task.bayes_factor)
        printed = find_printed("table2", data=task.name, bayes_factor=task.bayes_factor)
        status = printed["seconds"] if isinstance(printed["seconds"], str) else None
        theirs = {what: status or printed[what] for what in ("networks", "classes")}
        is_truncated = printed["networks"] == CAP_OF_TABLE_2
        networks, patterns = count_of(answer, "networks"), count_of(answer, "patterns")
        rows.append(
            {
                "data": task.name,
                "printed_n": printed["n"],
                "printed_N": printed["N"],
                "bayes_factor": task.bayes_factor,
                **found_facts(answer),
                "printed_networks": theirs["networks"],
                "printed_classes": theirs["classes"],
                "printed_seconds": printed["seconds"],
                "is_printed_cut": is_truncated,
                "networks_mark": mark_count(networks, theirs["networks"], is_truncated=is_truncated).value,
                "patterns_mark": mark_count(patterns, theirs["classes"], is_truncated=is_truncated).value,
            }
        )
    return ResultTable("table2", "Table 2: credible networks by BIC", tuple(rows), _COLUMNS, _REMARKS)


def _by_factor(answers: Mapping[Task, Answer], name: str) -> dict[int, Answer]:
    tasks = {factor: CountsTask(name, factor) for factor in BAYES_FACTORS}
    return {factor: answers[task] for factor, task in tasks.items() if task in answers}


def _plot(table: ResultTable) -> Figure:
    """Draw our search time against the printed one, a point for each row that has both."""
    points = [
        (float(row["printed_seconds"]), max(float(row["seconds_search"]), 1e-4))
        for row in table.rows
        if isinstance(row["printed_seconds"], float | int) and row["seconds_search"] and not row["is_printed_cut"]
    ]
    return plot_pairs(points, [MARK] * len(points), "Printed search time (s)", "Our search time (s)")


def _gap(row: Row) -> str:
    if row["is_optimum_proven"] is not False or row["optimum_at_most"] is None:
        return ""
    return f"{row['optimum_at_most'] - row['best_score']:.1f}"


def _limit(row: Row) -> str:
    return "" if row["complete"] is not False or row["time_limit"] is None else f"{row['time_limit']:g}"


_COLUMNS = (
    text_column("data", "data", "the data set"),
    Column("BF", lambda row: f"{row['bayes_factor']}", "the Bayes factor"),
    networks_column("networks within the Bayes factor"),
    Column("gap", _gap, "where the optimum is not proven: nats by which the best network found may fall short"),
    Column("limit (s)", _limit, "where a limit was reached: the seconds allowed for scoring and search"),
    *PRINTED_NETWORKS,
    *CLASSES,
    *TIMES,
)
_REMARKS = (
    f"The paper stopped at {CAP_OF_TABLE_2:,} networks. Ours are counted by class, exactly and without a cap.",
    "The paper's |M| counts shielded colliders as v-structures and so splits classes: our patterns follow its rule, "
    "our classes that of Verma & Pearl (1990).",
    MACHINES,
)
EXPERIMENT = Experiment(
    "table2",
    lambda samples: _TASKS,
    _table,
    _plot,
    "Search times: ours against those printed, where the paper's collection was not truncated.",
)
