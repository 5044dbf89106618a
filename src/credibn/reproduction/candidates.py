"""Table 1: how many candidate parent sets are left after pruning.

Ours are those that no subset beats by more than ln of the Bayes factor, which is what completeness needs. The printed
numbers come from another rule, given beside ours to show where they come from; see `credibn.reproduction.printed_rule`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from credibn.options import Progress
from credibn.reproduction.marks import Count, mark_count
from credibn.reproduction.measuring import Answer, Cell, Deadline, Limits, attempt, score_for, scoring_until
from credibn.reproduction.printed import find_printed, printed_rows
from credibn.reproduction.printed_rule import count_printed_candidates
from credibn.reproduction.results import Column, ResultTable, count_text, printed_text, seconds_text
from credibn.reproduction.sources import Need, Sources

__all__ = ["CandidatesCell", "candidates_cells", "candidates_table", "compute_candidates"]


@dataclass(frozen=True)
class CandidatesCell:
    """The candidates of one data set by one score for one Bayes factor."""

    name: str
    score: str
    bayes_factor: int
    need: Need = "data"

    @property
    def key(self) -> str:
        """The path of its record."""
        return f"table1/{self.name}-{self.score}-{self.bayes_factor}"

    @property
    def label(self) -> str:
        """What it is, for people."""
        return f"table 1, {self.name}, {_SCORES[self.score]}, Bayes factor {self.bayes_factor}"


_SCORES = {"bic": "BIC", "bdeu": "BDeu"}


def candidates_cells() -> list[CandidatesCell]:
    """Return the cells of table 1, in the paper's order."""
    return [
        CandidatesCell(str(row["data"]), str(row["score"]), int(row["bayes_factor"] or 0))
        for row in printed_rows("table1")
    ]


def compute_candidates(cell: CandidatesCell, sources: Sources, limits: Limits, progress: Progress | None) -> Answer:
    """Count the candidates by our rule, and by the printed one where that is feasible."""
    dataset = sources.read_table(cell.name)
    before = time.perf_counter()
    deadline = Deadline(limits.time_limit)
    table = score_for(dataset, cell.score, cell.bayes_factor, deadline, progress)
    seconds = time.perf_counter() - before

    def by_printed_rule() -> Answer:
        with scoring_until(deadline, progress) as follow:
            count = count_printed_candidates(dataset, score=cell.score, bayes_factor=cell.bayes_factor, progress=follow)
        return {"complete": True, "by_printed_rule": count}

    return {
        **attempt(by_printed_rule),
        "candidates": table.n_candidates,
        "n_variables": dataset.n_variables,
        "n_rows": dataset.n_rows,
        "seconds": {"score": seconds},
    }


def candidates_table(answers: Mapping[Cell, Answer]) -> ResultTable:
    """Return table 1 from the answers there are."""
    rows = []
    for cell in candidates_cells():
        answer = answers.get(cell)
        printed = find_printed("table1", data=cell.name, score=cell.score, bayes_factor=cell.bayes_factor)
        ours = _count(answer, "candidates")
        by_rule = _count(answer, "by_printed_rule")
        rows.append(
            {
                "data": cell.name,
                "n": None if answer is None else answer.get("n_variables"),
                "N": None if answer is None else answer.get("n_rows"),
                "printed_n": printed["n"],
                "printed_N": printed["N"],
                "score": cell.score,
                "bayes_factor": cell.bayes_factor,
                "candidates": None if ours is None or not ours.is_exact else ours.value,
                "by_printed_rule": None if by_rule is None or not by_rule.is_exact else by_rule.value,
                "printed": printed["candidates"],
                "candidates_mark": mark_count(ours, printed["candidates"]).value,
                "by_printed_rule_mark": mark_count(by_rule, printed["candidates"]).value,
                "seconds_score": None if answer is None else answer.get("seconds", {}).get("score"),
                "message": None if answer is None else answer.get("message"),
            }
        )
    return ResultTable("table1", "Table 1: candidate parent sets", tuple(rows), _COLUMNS, _REMARKS)


def _count(answer: Answer | None, what: str) -> Count | None:
    """Return a number of candidates; at least one where it is not known, which is no number to show."""
    if answer is None:
        return None
    return Count(1, is_exact=False) if answer.get(what) is None else Count(answer[what])


_COLUMNS = (
    Column("data", lambda row: row["data"], "the data set", is_number=False),
    Column("score", lambda row: _SCORES[row["score"]], "the score", is_number=False),
    Column("BF", lambda row: f"{row['bayes_factor']}", "the Bayes factor"),
    Column("ours", lambda row: count_text(row["candidates"]), "candidates that our rule keeps, at ln BF"),
    Column("by printed rule", lambda row: count_text(row["by_printed_rule"]), "candidates that the paper's rule keeps"),
    Column("printed", lambda row: printed_text(row["printed"]), "the paper's number"),
    Column("mark", lambda row: row["candidates_mark"], "ours against the printed number", is_number=False),
    Column("mark of rule", lambda row: row["by_printed_rule_mark"], "the paper's rule against it", is_number=False),
    Column("scoring (s)", lambda row: seconds_text(row["seconds_score"]), "seconds of our scoring"),
)
_REMARKS = (
    "Our rule compares with all subsets at ln BF and so keeps no more than the printed one, which compares with the "
    "stored scores of immediate subsets at 1.1, 3.1 and 5.1 nats (BDeu: 3.0): different numbers are expected. Where "
    "the printed rule would have to look at too many sets, or time ran out, its number is left out and its mark is "
    "'unfinished'.",
)
