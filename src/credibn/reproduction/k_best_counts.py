"""Table 3: by BDeu, everything within a Bayes factor of 20 against the k best networks and the k best classes.

The paper ran KBest (Tian, He & Ram 2010) and KBestEC (Chen & Tian 2014); ours are `k_best_networks` and
`k_best_classes`, proven to be the best. The equivalent sample size is 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from credibn.learning import k_best_classes, k_best_networks
from credibn.options import Progress
from credibn.reproduction.credible_counts import MACHINES, found_facts, shown_count
from credibn.reproduction.marks import Mark, mark_count
from credibn.reproduction.measuring import (
    Answer,
    Cell,
    Deadline,
    Limits,
    count_of,
    search_facts,
    unless_interrupted,
)
from credibn.reproduction.printed import CAP_OF_TABLE_2, Value, find_printed, printed_names
from credibn.reproduction.results import Column, ResultTable, printed_text, ratio_text, seconds_text
from credibn.reproduction.sources import Need, Sources

__all__ = ["KBestCell", "compute_k_best", "k_best_cells", "k_best_table"]

_BAYES_FACTOR = 20
_NUMBERS = (10, 100, 1000)
_METHODS = {"credible": f"Bayes factor {_BAYES_FACTOR}", "networks": "k best networks", "classes": "k best classes"}


@dataclass(frozen=True)
class KBestCell:
    """One way to collect networks from one data set: all credible ones, the k best, or those of the k best classes."""

    name: str
    method: str
    k: int | None = None
    need: Need = "data"

    @property
    def key(self) -> str:
        """The path of its record."""
        return f"table3/{self.name}-{self.method}{'' if self.k is None else f'-{self.k}'}"

    @property
    def label(self) -> str:
        """What it is, for people."""
        return f"table 3, {self.name}, {_METHODS[self.method]}{'' if self.k is None else f', k = {self.k}'}"


def k_best_cells() -> list[KBestCell]:
    """Return the cells of table 3, in the paper's order."""
    return [
        cell
        for name in printed_names("table3")
        for cell in (
            KBestCell(name, "credible"),
            *(KBestCell(name, method, k) for k in _NUMBERS for method in ("networks", "classes")),
        )
    ]


def compute_k_best(cell: KBestCell, sources: Sources, limits: Limits, progress: Progress | None) -> Answer:
    """Score and search one data set by one of the methods."""
    dataset = sources.read_table(cell.name)
    deadline = Deadline(limits.time_limit)
    if cell.k is None:
        return search_facts(dataset, deadline, progress, score="bdeu", bayes_factor=_BAYES_FACTOR)
    find = k_best_networks if cell.method == "networks" else k_best_classes
    found = unless_interrupted(
        find(
            dataset,
            k=cell.k,
            score="bdeu",
            posterior_share=False,
            time_limit=deadline.left(),
            progress=progress,
        )
    )
    return {
        "complete": found.complete,
        "stopped_because": found.stopped_because,
        "message": None if found.complete else found.guarantee,
        "networks": found.n_networks if found.complete else 1,
        "classes": found.n_classes if found.complete else 1,
        "n_tied": found.n_tied_at_boundary,
        "epsilon": found.epsilon,
        "best_score": found.optimal_score,
        "is_optimum_proven": found.is_optimum_proven,
        "n_variables": dataset.n_variables,
        "n_rows": dataset.n_rows,
        "candidates": found.score_table.n_candidates,
        "engine": found.engine,
        "seconds": {stage: found.timings[stage] for stage in ("score", "search")},
    }


def k_best_table(answers: Mapping[Cell, Answer]) -> ResultTable:
    """Return table 3 from the answers there are."""
    rows = []
    for cell in k_best_cells():
        answer = answers.get(cell)
        printed = _printed(cell)
        status = printed["seconds"] if isinstance(printed["seconds"], str) else None
        is_cut = printed["networks"] == CAP_OF_TABLE_2
        is_tied = bool(answer and answer.get("n_tied"))
        networks = count_of(answer, "networks")
        patterns = count_of(answer, "patterns") if cell.k is None else None
        rows.append(
            {
                "data": cell.name,
                "printed_n": printed["n"],
                "printed_N": printed["N"],
                "method": cell.method,
                "k": cell.k,
                **found_facts(answer),
                "n_tied": None if answer is None else answer.get("n_tied"),
                "printed_networks": status or printed["networks"],
                "printed_classes": (status or printed["classes"]) if cell.k is None else None,
                "printed_seconds": printed["seconds"],
                "networks_mark": mark_count(
                    networks, status or printed["networks"], is_cut=is_cut, is_tied=is_tied
                ).value,
                "patterns_mark": None
                if cell.k is not None
                else mark_count(patterns, status or printed["classes"], is_cut=is_cut).value,
            }
        )
    return ResultTable("table3", "Table 3: credible networks and the k best by BDeu", tuple(rows), _COLUMNS, _REMARKS)


def _printed(cell: KBestCell) -> Mapping[str, Value]:
    """Return the printed line; where a program failed for all k, or for k = 1, that holds for this k too."""
    for k in (cell.k, 1, None):
        row = find_printed("table3", data=cell.name, method=cell.method, k=k)
        if row and (k == cell.k or isinstance(row["seconds"], str)):
            return row
    return {**find_printed("table3", data=cell.name), "seconds": None, "networks": None, "classes": None}


def _mark_of_classes(row: Mapping[str, object]) -> str:
    return "–" if row["patterns_mark"] is None else Mark(str(row["patterns_mark"])).value


_COLUMNS = (
    Column("data", lambda row: row["data"], "the data set", is_number=False),
    Column("method", lambda row: _METHODS[row["method"]], "what was collected", is_number=False),
    Column("k", lambda row: "–" if row["k"] is None else f"{row['k']:,}", "how many"),
    Column("networks", lambda row: shown_count(row, "networks"), "networks that this covers"),
    Column("printed G", lambda row: printed_text(row["printed_networks"]), "the paper's number of them, |G|"),
    Column("mark", lambda row: row["networks_mark"], "networks against |G|", is_number=False),
    Column("classes", lambda row: shown_count(row, "classes"), "Markov equivalence classes of these networks"),
    Column(
        "patterns",
        lambda row: "–" if row["k"] is not None else shown_count(row, "patterns"),
        "collider patterns, the paper's rule for classes",
    ),
    Column("printed M", lambda row: printed_text(row["printed_classes"]), "the paper's number of classes, |M|"),
    Column("mark of M", _mark_of_classes, "patterns against |M|", is_number=False),
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
    "How many networks the k best classes cover depends on an arbitrary choice where more classes tie with the last: "
    "such rows are marked 'tied' instead of 'different'.",
    MACHINES,
)
