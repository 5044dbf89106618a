"""Table 2: all networks within a Bayes factor of 3, 20 and 150 by BIC, their classes, and the time of the search.

The paper's |M| tells networks apart by all their colliders, shielded ones too; it is reproduced as "patterns" and
stands beside the Markov equivalence classes (Verma & Pearl 1990).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from credibn.options import Progress
from credibn.reproduction.marks import mark_count
from credibn.reproduction.measuring import (
    Answer,
    Cell,
    Deadline,
    Limits,
    count_of,
    search_facts,
    seconds_of,
    with_least,
)
from credibn.reproduction.printed import BAYES_FACTORS, CAP_OF_TABLE_2, find_printed, printed_rows
from credibn.reproduction.results import Column, ResultTable, count_text, printed_text, ratio_text, seconds_text
from credibn.reproduction.sources import Need, Sources

__all__ = ["MACHINES", "CountsCell", "compute_counts", "counts_cells", "counts_table", "found_facts", "shown_count"]

MACHINES = (
    "Times are of the search alone, in seconds, as the paper gives them. The machines differ: the paper's had 2.2 GHz "
    "Intel E7-4850V3 processors and 64 GB, so the ratio is no comparison of methods."
)


@dataclass(frozen=True)
class CountsCell:
    """The credible set of one data set for one Bayes factor."""

    name: str
    bayes_factor: int
    need: Need = "data"

    @property
    def key(self) -> str:
        """The path of its record."""
        return f"table2/{self.name}-{self.bayes_factor}"

    @property
    def label(self) -> str:
        """What it is, for people."""
        return f"table 2, {self.name}, Bayes factor {self.bayes_factor}"


def counts_cells() -> list[CountsCell]:
    """Return the cells of table 2, in the paper's order."""
    return [CountsCell(str(row["data"]), int(row["bayes_factor"] or 0)) for row in printed_rows("table2")]


def compute_counts(cell: CountsCell, sources: Sources, limits: Limits, progress: Progress | None) -> Answer:
    """Score and search one data set for one Bayes factor."""
    dataset = sources.read_table(cell.name)
    deadline = Deadline(limits.time_limit)
    return search_facts(dataset, deadline, progress, score="bic", bayes_factor=cell.bayes_factor)


def counts_table(answers: Mapping[Cell, Answer]) -> ResultTable:
    """Return table 2 from the answers there are."""
    rows = []
    for cell in counts_cells():
        answer = answers.get(cell) and with_least(_by_factor(answers, cell.name), cell.bayes_factor)
        printed = find_printed("table2", data=cell.name, bayes_factor=cell.bayes_factor)
        status = printed["seconds"] if isinstance(printed["seconds"], str) else None
        is_cut = printed["networks"] == CAP_OF_TABLE_2
        networks, patterns = count_of(answer, "networks"), count_of(answer, "patterns")
        rows.append(
            {
                "data": cell.name,
                "printed_n": printed["n"],
                "printed_N": printed["N"],
                "bayes_factor": cell.bayes_factor,
                **found_facts(answer),
                "printed_networks": status or printed["networks"],
                "printed_classes": status or printed["classes"],
                "printed_seconds": printed["seconds"],
                "is_printed_cut": is_cut,
                "networks_mark": mark_count(networks, status or printed["networks"], is_cut=is_cut).value,
                "patterns_mark": mark_count(patterns, status or printed["classes"], is_cut=is_cut).value,
            }
        )
    return ResultTable("table2", "Table 2: credible networks by BIC", tuple(rows), _COLUMNS, _REMARKS)


def _by_factor(answers: Mapping[Cell, Answer], name: str) -> dict[int, Answer]:
    known = ((factor, answers.get(CountsCell(name, factor))) for factor in BAYES_FACTORS)
    return {factor: answer for factor, answer in known if answer is not None}


def found_facts(answer: Answer | None) -> dict[str, object]:
    """Return what the files of tables 2 and 3 say of a search; empty where there is none."""
    seen = answer or {}
    return {
        "n": seen.get("n_variables"),
        "N": seen.get("n_rows"),
        "complete": None if answer is None else answer["complete"],
        "networks": seen.get("networks"),
        "classes": seen.get("classes"),
        "patterns": seen.get("patterns"),
        "networks_found": seen.get("networks_found"),
        "classes_found": seen.get("classes_found"),
        "candidates": seen.get("candidates"),
        "best_score": seen.get("best_score"),
        "is_optimum_proven": seen.get("is_optimum_proven"),
        "optimum_at_most": seen.get("optimum_at_most"),
        "stopped_because": seen.get("stopped_because"),
        "time_limit": seen.get("time_limit"),
        "message": seen.get("message"),
        "seconds_score": seconds_of(answer, "score"),
        "seconds_search": seconds_of(answer, "search"),
    }


def shown_count(row: Mapping[str, object], what: str) -> str:
    """Return a number of networks, classes or patterns of a row as text."""
    if row["complete"] is None or (row["complete"] and row[what] is None and what != "patterns"):
        return count_text(None)
    return count_text(count_of(dict(row), what))


def _shown_gap(row: Mapping[str, Any]) -> str:
    """Return how far the optimum may be above what was found, as text; empty where it is proven or nothing is known.

    Examples
    --------
    >>> _shown_gap({"is_optimum_proven": False, "best_score": -10.0, "optimum_at_most": -8.75})
    '1.2'
    """
    if row["is_optimum_proven"] is not False or row["optimum_at_most"] is None:
        return ""
    return f"{row['optimum_at_most'] - row['best_score']:.1f}"


def _shown_limit(row: Mapping[str, Any]) -> str:
    return "" if row["complete"] is not False or row["time_limit"] is None else f"{row['time_limit']:g}"


_COLUMNS = (
    Column("data", lambda row: row["data"], "the data set", is_number=False),
    Column("BF", lambda row: f"{row['bayes_factor']}", "the Bayes factor"),
    Column("networks", lambda row: shown_count(row, "networks"), "networks within the Bayes factor"),
    Column("gap", _shown_gap, "where the optimum is not proven: nats by which the best network found may fall short"),
    Column("limit (s)", _shown_limit, "where a limit struck: the seconds allowed for scoring and search"),
    Column("printed G", lambda row: printed_text(row["printed_networks"]), "the paper's number of them, |G|"),
    Column("mark", lambda row: row["networks_mark"], "networks against |G|", is_number=False),
    Column("classes", lambda row: shown_count(row, "classes"), "Markov equivalence classes of these networks"),
    Column("patterns", lambda row: shown_count(row, "patterns"), "collider patterns, the paper's rule for classes"),
    Column("printed M", lambda row: printed_text(row["printed_classes"]), "the paper's number of classes, |M|"),
    Column("mark of M", lambda row: row["patterns_mark"], "patterns against |M|", is_number=False),
    Column("scoring (s)", lambda row: seconds_text(row["seconds_score"]), "seconds of our scoring"),
    Column("search (s)", lambda row: seconds_text(row["seconds_search"]), "seconds of our search"),
    Column("printed T (s)", lambda row: printed_text(row["printed_seconds"]), "the paper's search time"),
    Column(
        "ratio",
        lambda row: ratio_text(row["printed_seconds"], row["seconds_search"]),
        "the paper's search time divided by ours",
    ),
)
_REMARKS = (
    f"The paper stopped at {CAP_OF_TABLE_2:,} networks. Ours are counted by class, exactly and without a cap.",
    "The paper's |M| counts shielded colliders as v-structures and so splits classes: our patterns follow its rule, "
    "our classes that of Verma & Pearl (1990).",
    MACHINES,
)
