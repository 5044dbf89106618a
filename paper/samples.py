"""Tables 4 and 5: samples of known networks, and how many networks and classes are credible by BIC.

The paper drew ten samples of each size from each network; ours are other samples, drawn from seeds that follow from the
name of the task alone (`sample_seed`), so that they are the same in any order of work. All states of the network count,
also those that a sample does not show: with these small samples of mildew and barley, which have many states, give
numbers like the printed ones, and with the states seen they do not. A sample is scored once, for a Bayes factor of 150,
and searched for 3, 20 and 150 in turn, until a limit is reached.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credibn import BayesianNetwork, Dataset, read_data
from paper.counts import count_of, with_least
from paper.experiment import Answer, Experiment, Progress, Samples, Task, attempt
from paper.marks import Mark, Spread, could_be_truncated, mark_mean, spread
from paper.plots import ALERT, MARK, SOFT, plot_pairs
from paper.printed import BAYES_FACTORS, CAP_OF_SAMPLES, Value, find_printed, printed_names
from paper.records import record_folder
from paper.results import Column, ResultTable, Row, spread_text, text_column
from paper.searching import count_credible, score_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS = 100_000
"""Collider patterns are counted for no more classes than this: there are many samples."""


@dataclass(frozen=True)
class SampleTask(Task):
    """One sample of one network; tables 4 and 5 share it."""

    size: int
    sample: int
    folder = "samples"
    need = "network"

    def compute(self, source: BayesianNetwork, deadline: float | None, progress: Progress | None) -> Answer:
        """Draw, score once, and search for each Bayes factor until one is not complete."""
        table = score_for(draw_sample(source, self), "bic", max(BAYES_FACTORS), deadline, progress)
        levels = dict[str, Answer]()
        for bayes_factor in BAYES_FACTORS:
            count = partial(count_credible, table, deadline, progress, most_rows=_MOST_ROWS, bayes_factor=bayes_factor)
            last = levels[str(bayes_factor)] = attempt(count)
            if not last["complete"]:
                break
        told = {name: last[name] for name in ("complete", "stopped_because", "message")}
        return {**told, "candidates": table.n_candidates, "levels": levels}


def sample_seed(task: SampleTask) -> int:
    """Return the seed of a sample: the first 63 bits of the SHA-256 of "NETWORK SIZE SAMPLE"."""
    digest = hashlib.sha256(f"{task.name} {task.size} {task.sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def draw_sample(network: BayesianNetwork, task: SampleTask) -> Dataset:
    """Return the sample of a task; the states are those of the network."""
    return read_data(network.sample(task.size, seed=sample_seed(task)))


def _tasks(samples: Samples) -> list[SampleTask]:
    names, numbers = printed_names("table4"), range(samples.number)
    return [SampleTask(name, size, sample) for name in names for size in samples.sizes for sample in numbers]


def _recorded(out: Path) -> list[SampleTask]:
    """Return the samples that have a record in a folder, in order: of any size and number."""
    names = printed_names("table4")
    stems = (path.stem for path in record_folder(out, SampleTask.folder).glob("*.json"))
    matches = (re.fullmatch(r"(.+)-(\d{1,9})-(\d{1,9})", stem) for stem in stems)
    found = [SampleTask(match[1], int(match[2]), int(match[3])) for match in matches if match and match[1] in names]
    return sorted(found, key=lambda task: (names.index(task.name), task.size, task.sample))


def sample_experiment(name: str, of: str) -> Experiment:
    """Return the experiment of table 4 or 5, which counts networks or classes."""
    caption = f"Mean numbers of {of}; blue: compatible, vermilion: different, grey: not compared."
    return Experiment(name, _tasks, partial(_table, name, of), partial(_plot, of), caption, _recorded)


def _table(name: str, of: str, answers: Mapping[Task, Answer]) -> ResultTable:
    by_size: dict[tuple[str, int], list[Answer]] = {}
    for task, answer in answers.items():
        if isinstance(task, SampleTask):
            by_size.setdefault((task.name, task.size), []).append(answer)
    sizes = sorted({*Samples().sizes, *(size for _, size in by_size)})
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
    ours, patterns = (
        spread([count for level in levels if (count := count_of(level, what)) is not None]) for what in (of, "patterns")
    )
    where: dict[str, Value] = {"network": network, "bayes_factor": bayes_factor, "size": size}
    printed, networks = find_printed(name, **where), find_printed("table4", **where)
    is_truncated = could_be_truncated(networks.get("mean"), networks.get("deviation"))
    theirs = (printed.get("mean"), printed.get("deviation"))
    row = {
        "network": network,
        "n": find_printed(name, network=network)["n"],
        "bayes_factor": bayes_factor,
        "size": size,
        "n_samples": len(levels),
        "n_complete": 0 if ours is None else ours.n_complete,
        **_spread_facts(of, ours),
        "printed_mean": theirs[0],
        "printed_deviation": theirs[1],
        "is_printed_cut": is_truncated,
        "mark": mark_mean(ours, *theirs, is_truncated=is_truncated).value,
    }
    if of == "classes":
        row |= _spread_facts("patterns", patterns)
        row["patterns_mark"] = mark_mean(patterns, *theirs, is_truncated=is_truncated).value
    return row


def _by_factor(answer: Answer) -> dict[int, Answer]:
    return {int(factor): level for factor, level in answer.get("levels", {}).items()}


def _spread_facts(of: str, ours: Spread | None) -> dict[str, Any]:
    return {
        f"{of}_mean": None if ours is None else ours.mean,
        f"{of}_deviation": None if ours is None else ours.deviation,
        f"is_{of}_exact": None if ours is None else ours.is_exact,
    }


def _plot(of: str, table: ResultTable) -> Figure:
    """Draw the mean size of our credible sets against the printed one, a point for each row that has both."""
    rows = [row for row in table.rows if row[f"{of}_mean"] and isinstance(row["printed_mean"], float | int)]
    points = [(float(row["printed_mean"]), float(row[f"{of}_mean"])) for row in rows]
    colours = [{Mark.COMPATIBLE: MARK, Mark.DIFFERENT: ALERT}.get(Mark(row["mark"]), SOFT) for row in rows]
    return plot_pairs(points, colours, f"Printed mean number of {of}", f"Our mean number of {of}")


def _columns(of: str) -> tuple[Column, ...]:
    is_table_5 = of == "classes"
    patterns = Column("patterns", partial(_shown, "patterns"), "the same of collider patterns")
    complete = "complete samples, of those computed"
    printed = "the paper's mean ± standard deviation over ten other samples"
    return (
        text_column("network", "network", "the network that samples were drawn from"),
        Column("BF", lambda row: f"{row['bayes_factor']}", "the Bayes factor"),
        Column("rows", lambda row: f"{row['size']:,}", "the size of each sample"),
        Column("ours", partial(_shown, of), f"mean ± standard deviation of the number of {of}, over our samples"),
        *([patterns] if is_table_5 else []),
        Column("complete", lambda row: f"{row['n_complete']}/{row['n_samples']}", complete),
        Column("printed", lambda row: spread_text(row["printed_mean"], row["printed_deviation"]), printed),
        text_column("mark", "mark", "ours against the printed mean"),
        *([text_column("mark of patterns", "patterns_mark", "patterns against it")] if is_table_5 else []),
    )


def _shown(of: str, row: Row) -> str:
    return spread_text(row[f"{of}_mean"], row[f"{of}_deviation"], row[f"is_{of}_exact"] is not False)


def _remarks(of: str) -> tuple[str, ...]:
    return (
        f"The samples are random and ours are others than the paper's. It stopped at {CAP_OF_SAMPLES:,} networks for "
        "each sample; a mean behind which a stopped sample may be, which follows from mean and deviation, is marked "
        "'beyond' and not compared.",
        f"Where a limit was reached, the number of {of} found by then enters the mean as a lower bound, marked ≥.",
    )
