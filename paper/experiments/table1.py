"""Table 1: how many candidate parent sets are left after pruning.

Ours are those that no subset beats by more than ln of the Bayes factor, which is what completeness needs. The printed
numbers come from another rule, given beside ours to show where they come from; see `paper.printed_rule`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from credibn import Dataset
from paper.experiment import Answer, Experiment, Progress, Task, attempt
from paper.marks import Count, mark_count
from paper.printed import find_printed, printed_rows
from paper.printed_rule import PRINTED_EPSILONS, printed_candidates
from paper.results import Column, ResultTable, count_text, printed_text, seconds_text, text_column
from paper.searching import score_for, scoring_until

_SCORES = {"bic": "BIC", "bdeu": "BDeu"}


@dataclass(frozen=True)
class CandidatesTask(Task):
    """The candidates of one data set by one score for one Bayes factor."""

    score: str
    bayes_factor: int
    folder = "table1"

    def compute(self, source: Dataset, deadline: float | None, progress: Progress | None) -> Answer:
        """Count the candidates by our rule, and by the printed one where that is feasible."""
        before = time.perf_counter()
        table = score_for(source, self.score, self.bayes_factor, deadline, progress)
        seconds = time.perf_counter() - before
        epsilon = PRINTED_EPSILONS[self.score][self.bayes_factor]

        def by_printed_rule() -> Answer:
            with scoring_until(deadline, progress) as follow:
                printed = printed_candidates(source, self.score, epsilon, progress=follow)
            return {"complete": True, "by_printed_rule": None if printed is None else printed.n_candidates}

        return {
            **attempt(by_printed_rule),
            "candidates": table.n_candidates,
            "n_variables": source.n_variables,
            "n_rows": source.n_rows,
            "seconds": {"score": seconds},
        }


_TASKS = [
    CandidatesTask(str(row["data"]), str(row["score"]), int(row["bayes_factor"] or 0)) for row in printed_rows("table1")
]


def _table(answers: Mapping[Task, Answer]) -> ResultTable:
    rows = []
    for task in _TASKS:
        answer = answers.get(task)
        seen = answer or {}
        printed = find_printed("table1", data=task.name, score=task.score, bayes_factor=task.bayes_factor)
        ours, by_rule = (_count(answer, what) for what in ("candidates", "by_printed_rule"))
        rows.append(
            {
                "data": task.name,
                "n": seen.get("n_variables"),
                "N": seen.get("n_rows"),
                "printed_n": printed["n"],
                "printed_N": printed["N"],
                "score": task.score,
                "bayes_factor": task.bayes_factor,
                "candidates": seen.get("candidates"),
                "by_printed_rule": seen.get("by_printed_rule"),
                "printed": printed["candidates"],
                "candidates_mark": mark_count(ours, printed["candidates"]).value,
                "by_printed_rule_mark": mark_count(by_rule, printed["candidates"]).value,
                "seconds_score": seen.get("seconds", {}).get("score"),
                "message": seen.get("message"),
            }
        )
    return ResultTable("table1", "Table 1: candidate parent sets", tuple(rows), _COLUMNS, _REMARKS)


def _count(answer: Answer | None, what: str) -> Count | None:
    """Return a number of candidates, at least one where it is not known."""
    if answer is None:
        return None
    return Count(1, is_exact=False) if answer.get(what) is None else Count(answer[what])


_COLUMNS = (
    text_column("data", "data", "the data set"),
    Column("score", lambda row: _SCORES[row["score"]], "the score", is_number=False),
    Column("BF", lambda row: f"{row['bayes_factor']}", "the Bayes factor"),
    Column("ours", lambda row: count_text(row["candidates"]), "candidates that our rule keeps, at ln BF"),
    Column("by printed rule", lambda row: count_text(row["by_printed_rule"]), "candidates that the paper's rule keeps"),
    Column("printed", lambda row: printed_text(row["printed"]), "the paper's number"),
    text_column("mark", "candidates_mark", "ours against the printed number"),
    text_column("mark of rule", "by_printed_rule_mark", "the paper's rule against it"),
    Column("scoring (s)", lambda row: seconds_text(row["seconds_score"]), "seconds of our scoring"),
)
_REMARKS = (
    "Our rule compares with all subsets at ln BF and so keeps no more than the printed one, which compares with the "
    "stored scores of immediate subsets at 1.1, 3.1 and 5.1 nats (BDeu: 3.0): different numbers are expected. Where "
    "the printed rule would have to look at too many sets, or time ran out, its number is left out and its mark is "
    "'unfinished'.",
)
EXPERIMENT = Experiment("table1", lambda samples: _TASKS, _table)
