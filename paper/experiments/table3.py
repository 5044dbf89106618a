"""Table 3: by BDeu, everything within a Bayes factor of 20 against the k best networks and the k best classes.

The paper ran KBest (Tian, He & Ram 2010) and KBestEC (Chen & Tian 2014); ours are `k_best_networks` and
`k_best_classes`, proven to be the best. The equivalent sample size is 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from credibn import Dataset, k_best_classes, k_best_networks
from paper.counts import CLASSES, MACHINES, PRINTED_NETWORKS, TIMES, count_of, found_facts, networks_column
from paper.experiment import Answer, Experiment, Progress, Task
from paper.marks import mark_count
from paper.printed import CAP_OF_TABLE_2, Value, find_printed, printed_names
from paper.results import Column, ResultTable, text_column
from paper.searching import count_credible, outcome, search

_BAYES_FACTOR = 20
_NUMBERS = (10, 100, 1000)
_METHODS = {"credible": f"Bayes factor {_BAYES_FACTOR}", "networks": "k best networks", "classes": "k best classes"}


@dataclass(frozen=True)
class KBestTask(Task):
    """One way to collect networks from one data set: all credible ones, the k best, or those of the k best classes."""

    method: str
    k: int | None = None
    folder = "table3"

    def compute(self, source: Dataset, deadline: float | None, progress: Progress | None) -> Answer:
        """Score and search the data set by the method."""
        if self.k is None:
            return count_credible(source, deadline, progress, score="bdeu", bayes_factor=_BAYES_FACTOR)
        find = k_best_networks if self.method == "networks" else k_best_classes
        found = search(find, source, deadline, progress, k=self.k, score="bdeu")
        return outcome(found, source) | {
            "networks": found.n_networks if found.complete else 1,
            "classes": found.n_classes if found.complete else 1,
            "n_tied": found.n_tied_at_boundary,
            "epsilon": found.epsilon,
        }


_TASKS = [
    task
    for name in printed_names("table3")
    for task in (
        KBestTask(name, "credible"),
        *(KBestTask(name, method, k) for k in _NUMBERS for method in ("networks", "classes")),
    )
]


def _table(answers: Mapping[Task, Answer]) -> ResultTable:
    rows = []
    for task in _TASKS:
        answer, printed = answers.get(task), _printed(task)
        status = printed["seconds"] if isinstance(printed["seconds"], str) else None
        theirs = {what: status or printed[what] for what in ("networks", "classes")}
        is_truncated = printed["networks"] == CAP_OF_TABLE_2
        n_tied = None if answer is None else answer.get("n_tied")
        networks, patterns = count_of(answer, "networks"), count_of(answer, "patterns")
        mark = mark_count(networks, theirs["networks"], is_truncated=is_truncated, is_tied=bool(n_tied))
        mark_of_patterns = mark_count(patterns, theirs["classes"], is_truncated=is_truncated)
        rows.append(
            {
                "data": task.name,
                "printed_n": printed["n"],
                "printed_N": printed["N"],
                "method": task.method,
                "k": task.k,
                **found_facts(answer),
                "n_tied": n_tied,
                "printed_networks": theirs["networks"],
                "printed_classes": theirs["classes"] if task.k is None else None,
                "printed_seconds": printed["seconds"],
                "networks_mark": mark.value,
                "patterns_mark": mark_of_patterns.value if task.k is None else None,
            }
        )
    return ResultTable("table3", "Table 3: credible networks and the k best by BDeu", tuple(rows), _COLUMNS, _REMARKS)


def _printed(task: KBestTask) -> Mapping[str, Value]:
    """Return the printed line; where a program failed for all k, or for k = 1, that holds for this k too."""
    for k in (task.k, 1, None):
        row = find_printed("table3", data=task.name, method=task.method, k=k)
        if row and (k == task.k or isinstance(row["seconds"], str)):
            return row
    return {**find_printed("table3", data=task.name), "seconds": None, "networks": None, "classes": None}


_COLUMNS = (
    text_column("data", "data", "the data set"),
    Column("method", lambda row: _METHODS[row["method"]], "what was collected", is_number=False),
    Column("k", lambda row: "–" if row["k"] is None else f"{row['k']:,}", "how many"),
    networks_column("networks that this covers"),
    *PRINTED_NETWORKS,
    *CLASSES,
    *TIMES,
)
_REMARKS = (
    "How many networks the k best classes cover depends on an arbitrary choice where more classes tie with the last: "
    "such rows are marked 'tied' instead of 'different'.",
    MACHINES,
)
EXPERIMENT = Experiment("table3", lambda samples: _TASKS, _table)
