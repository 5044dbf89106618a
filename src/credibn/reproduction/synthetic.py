"""Tables 4 and 5: samples of known networks, and how many networks and classes are credible by BIC.

The paper drew ten samples of each size from each network; ours are other samples, drawn from seeds that follow from the
name of the cell alone (`sample_seed`), so that they are the same in any order of work. All states of the network count,
also those that a sample does not show: with these small samples of mildew and barley, which have many states, give
numbers like the printed ones, and with the states seen they do not. A sample is scored once, for a Bayes factor of 150,
and searched for 3, 20 and 150 in turn, until a limit strikes.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from credibn.data import Dataset, read_data
from credibn.models import BayesianNetwork
from credibn.options import Progress
from credibn.reproduction.marks import Count, Spread, could_be_cut, mark_mean, spread
from credibn.reproduction.measuring import (
    Answer,
    Cell,
    Deadline,
    Limits,
    attempt,
    count_of,
    score_for,
    search_facts,
    with_least,
)
from credibn.reproduction.printed import (
    BAYES_FACTORS,
    CAP_OF_SAMPLES,
    SAMPLES_PRINTED,
    Value,
    find_printed,
    printed_names,
    printed_rows,
)
from credibn.reproduction.records import record_folder
from credibn.reproduction.results import Column, ResultTable, spread_text
from credibn.reproduction.sources import Need, Sources

__all__ = [
    "PRINTED_SIZES",
    "SampleCell",
    "compute_sample",
    "draw_sample",
    "recorded_samples",
    "sample_cells",
    "sample_seed",
    "samples_table",
]

PRINTED_SIZES = (50, 100, 500, 1000)
_MOST_ROWS = 100_000
"""Collider patterns are counted for no more classes than this: there are many samples."""


@dataclass(frozen=True)
class SampleCell:
    """One sample of one network."""

    name: str
    size: int
    sample: int
    need: Need = "network"

    @property
    def key(self) -> str:
        """The path of its record."""
        return f"samples/{self.name}-{self.size}-{self.sample}"

    @property
    def label(self) -> str:
        """What it is, for people."""
        return f"tables 4 and 5, {self.name}, {self.size} rows, sample {self.sample}"


def sample_cells(sizes: Sequence[int] = PRINTED_SIZES, n_samples: int = SAMPLES_PRINTED) -> list[SampleCell]:
    """Return the cells of tables 4 and 5, network by network."""
    return [
        SampleCell(name, size, sample)
        for name in printed_names("table4")
        for size in sizes
        for sample in range(n_samples)
    ]


def recorded_samples(out: Path) -> list[SampleCell]:
    """Return the samples that have a record in a folder, in order: of any size and number."""
    names = printed_names("table4")
    paths = (
        re.fullmatch(r"(.+)-(\d{1,9})-(\d{1,9})", path.stem) for path in record_folder(out, "samples").glob("*.json")
    )
    found = [SampleCell(match[1], int(match[2]), int(match[3])) for match in paths if match and match[1] in names]
    return sorted(found, key=lambda cell: (names.index(cell.name), cell.size, cell.sample))


def sample_seed(cell: SampleCell) -> int:
    """Return the seed of a sample: the first 63 bits of the SHA-256 of "NETWORK SIZE SAMPLE".

    Examples
    --------
    >>> sample_seed(SampleCell("asia", 50, 0))
    8555509583412391628
    """
    digest = hashlib.sha256(f"{cell.name} {cell.size} {cell.sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def draw_sample(network: BayesianNetwork, cell: SampleCell) -> Dataset:
    """Return the sample of a cell; the states are those of the network."""
    return read_data(network.sample(cell.size, seed=sample_seed(cell)))


def compute_sample(cell: SampleCell, sources: Sources, limits: Limits, progress: Progress | None) -> Answer:
    """Draw, score once, and search for each Bayes factor until one is not complete."""
    dataset = draw_sample(sources.read_network(cell.name), cell)
    deadline = Deadline(limits.time_limit)
    table = score_for(dataset, "bic", max(BAYES_FACTORS), deadline, progress)
    levels = dict[str, Answer]()
    for bayes_factor in BAYES_FACTORS:
        search = partial(search_facts, table, deadline, progress, most_rows=_MOST_ROWS, bayes_factor=bayes_factor)
        levels[str(bayes_factor)] = attempt(search)
        if not levels[str(bayes_factor)]["complete"]:
            break
    last = levels[str(bayes_factor)]
    return {
        "complete": last["complete"],
        "stopped_because": last["stopped_because"],
        "message": last["message"],
        "candidates": table.n_candidates,
        "levels": levels,
    }


def samples_table(answers: Mapping[Cell, Answer], *, of: str) -> ResultTable:
    """Return table 4 (of networks) or 5 (of classes) from the answers there are.

    Parameters
    ----------
    answers : mapping
        Those of other cells are passed over.
    of : {"networks", "classes"}
    """
    name = "table4" if of == "networks" else "table5"
    by_size: dict[tuple[str, int], list[Answer]] = {}
    for cell, answer in answers.items():
        if isinstance(cell, SampleCell):
            by_size.setdefault((cell.name, cell.size), []).append(answer)
    sizes = sorted({*PRINTED_SIZES, *(size for _, size in by_size)})
    rows = [
        _row(name, of, network, size, bayes_factor, by_size.get((network, size), []))
        for network in printed_names(name)
        for bayes_factor in BAYES_FACTORS
        for size in sizes
    ]
    title = f"Table {name[-1]}: {of} credible by BIC in samples of known networks"
    return ResultTable(name, title, tuple(rows), _columns(of), _remarks(of))


def _row(name: str, of: str, network: str, size: int, bayes_factor: int, answers: Sequence[Answer]) -> dict[str, Any]:
    levels = [with_least(_by_factor(answer), bayes_factor) or {"complete": False} for answer in answers]
    ours = spread([_known(level, of) for level in levels])
    patterns = spread([_known(level, "patterns") for level in levels])
    where: dict[str, Value] = {"network": network, "bayes_factor": bayes_factor, "size": size}
    printed, networks = find_printed(name, **where), find_printed("table4", **where)
    is_cut = could_be_cut(networks.get("mean"), networks.get("deviation"))
    theirs = (printed.get("mean"), printed.get("deviation"))
    row = {
        "network": network,
        "n": next(line["n"] for line in printed_rows(name) if line["network"] == network),
        "bayes_factor": bayes_factor,
        "size": size,
        "n_samples": len(levels),
        "n_complete": 0 if ours is None else ours.n_complete,
        **_spread_facts(of, ours),
        "printed_mean": theirs[0],
        "printed_deviation": theirs[1],
        "is_printed_cut": is_cut,
        "mark": mark_mean(ours, *theirs, is_cut=is_cut).value,
    }
    if of == "classes":
        row |= {
            **_spread_facts("patterns", patterns),
            "patterns_mark": mark_mean(patterns, *theirs, is_cut=is_cut).value,
        }
    return row


def _by_factor(answer: Answer) -> dict[int, Answer]:
    return {int(factor): level for factor, level in answer.get("levels", {}).items()}


def _known(level: Answer, what: str) -> Count:
    count = count_of(level, what)
    assert count is not None
    return count


def _spread_facts(of: str, ours: Spread | None) -> dict[str, Any]:
    return {
        f"{of}_mean": None if ours is None else ours.mean,
        f"{of}_deviation": None if ours is None else ours.deviation,
        f"is_{of}_exact": None if ours is None else ours.is_exact,
    }


def _columns(of: str) -> tuple[Column, ...]:
    columns = [
        Column("network", lambda row: row["network"], "the network that samples were drawn from", is_number=False),
        Column("BF", lambda row: f"{row['bayes_factor']}", "the Bayes factor"),
        Column("rows", lambda row: f"{row['size']:,}", "the size of each sample"),
        Column("ours", partial(_shown, of), f"mean ± standard deviation of the number of {of}, over our samples"),
    ]
    if of == "classes":
        columns.append(Column("patterns", partial(_shown, "patterns"), "the same of collider patterns"))
    columns += [
        Column(
            "complete", lambda row: f"{row['n_complete']}/{row['n_samples']}", "complete samples, of those computed"
        ),
        Column(
            "printed",
            lambda row: spread_text(row["printed_mean"], row["printed_deviation"]),
            "the paper's mean ± standard deviation over ten other samples",
        ),
        Column("mark", lambda row: row["mark"], "ours against the printed mean", is_number=False),
    ]
    if of == "classes":
        columns.append(
            Column("mark of patterns", lambda row: row["patterns_mark"], "patterns against it", is_number=False)
        )
    return tuple(columns)


def _shown(of: str, row: Mapping[str, Any]) -> str:
    return spread_text(row[f"{of}_mean"], row[f"{of}_deviation"], row[f"is_{of}_exact"] is not False)


def _remarks(of: str) -> tuple[str, ...]:
    return (
        f"The samples are random and ours are others than the paper's. It stopped at {CAP_OF_SAMPLES:,} networks for "
        "each sample; a mean behind which a stopped sample may be, which follows from mean and deviation, is marked "
        "'beyond' and not compared.",
        f"Where a limit struck, the number of {of} found by then enters the mean as a lower bound, marked ≥.",
    )
