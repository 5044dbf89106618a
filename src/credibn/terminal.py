"""What the command line shows: tables, the progress bar, warnings and errors in the shell's words."""

import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from credibn.data import Dataset
from credibn.data.summary import ColumnSummary, DataSummary
from credibn.errors import CredibnWarning
from credibn.report import scoring_headline
from credibn.scores import ScoreTable, ScoringEstimate

__all__ = [
    "in_shell_words",
    "print_estimate",
    "print_result",
    "print_summary",
    "progress_bar",
    "warnings_as_lines",
]

_SECONDS_BEFORE_BAR = 0.5
_STATES_SHOWN = 6


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show each CredibnWarning as one line on standard error."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, CredibnWarning):
            typer.echo(f"warning: {in_shell_words(str(message))}", err=True)
        else:
            show_others(message, category, *where, **more)

    with warnings.catch_warnings():
        show_others = warnings.showwarning
        warnings.simplefilter("always", CredibnWarning)
        warnings.showwarning = show
        yield


def in_shell_words(message: str) -> str:
    """Name options as the command line does.

    Examples
    --------
    >>> in_shell_words("12 values are missing: pass missing='drop'")
    '12 values are missing: pass --missing drop'
    """
    message = re.sub(r"discretise=\{'(.*?)': '(.*?)'\}", r"--discretise '\1=\2'", message)
    flags = {
        "missing": "--missing",
        "columns": "--columns",
        "max_states": "--max-states",
        "bayes_factor": "--bayes-factor",
        "epsilon": "--epsilon",
        "equivalent_sample_size": "--ess",
    }
    pattern = rf"\b({'|'.join(flags)})=('?)([\w.+-]*\w)\2"
    message = re.sub(pattern, lambda found: f"{flags[found[1]]} {found[3]}", message)
    return message.replace(" or format=", " or --format")


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None] | None]:
    """Give a function that shows the fraction done once the work is long; None where nobody is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    parts = (TextColumn(title), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Progress(*parts, console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=1.0)
    started = time.monotonic()

    def show(fraction: float) -> None:
        if not bar.live.is_started and time.monotonic() - started > _SECONDS_BEFORE_BAR:
            bar.start()
        bar.update(task, completed=fraction)

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def print_result(
    dataset: Dataset, table: ScoreTable, out: Path | None, seconds: Mapping[str, float], as_json: bool
) -> None:
    """Print what scoring found, as one JSON object or as text; the best sets only where no file has them."""
    if as_json:
        facts = {
            "n_variables": dataset.n_variables,
            "n_rows": dataset.n_rows,
            "score": table.provenance["score"],
            "epsilon": table.epsilon,
            "n_candidates": table.n_candidates,
            "engine": table.provenance["engine"],
            "seconds": {stage: round(time_taken, 6) for stage, time_taken in seconds.items()},
            "out": None if out is None else str(out),
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(scoring_headline(dataset, table))
    if out is not None:
        typer.echo(f"written to {out}")
        return
    rows = []
    for node, (name, count) in enumerate(zip(table.names, table.counts.tolist(), strict=True)):
        best, parents = next(table.parent_sets(node))
        rows.append((name, f"{count:,}", f"{best:,.3f}", ", ".join(parents) or "(none)"))
    _print_table(("variable", "candidates", "best score", "best parents"), rows, right=(1, 2))


def print_estimate(estimate: ScoringEstimate, as_json: bool) -> None:
    """Print what scoring will take."""
    if as_json:
        typer.echo(json.dumps(asdict(estimate)))
        return
    rows = [
        ("engine", estimate.engine),
        ("rows", f"{estimate.n_rows:,} ({estimate.n_distinct:,} distinct)"),
        ("variables", f"{estimate.n_variables:,} ({estimate.n_searched:,} that vary)"),
        ("largest parent set", f"{estimate.largest_parent_set:,}"),
        ("sets, at most", f"{estimate.n_sets:,}"),
        ("local scores, at most", f"{estimate.n_local_scores:,}"),
        ("memory", f"{estimate.memory_bytes / 2**20:,.1f} MiB"),
    ]
    _print_table(("predicted", ""), rows)


def print_summary(summary: DataSummary) -> None:
    """Print what a table holds, a line for each column."""
    typer.echo(f"{summary.n_rows:,} rows, {summary.n_distinct:,} distinct; {len(summary.columns):,} columns")
    rows = [(column.name, column.kind, *_content(column)) for column in summary.columns]
    _print_table(("column", "kind", "states", "missing", "content"), rows, right=(2, 3))


def _content(column: ColumnSummary) -> tuple[str, str, str]:
    """Return the number of states, the number of missing values, and the states or the range, as text."""
    if column.kind == "continuous":
        return "", "0", f"{column.minimum:.6g} to {column.maximum:.6g}, mean {column.mean:.6g}"
    pairs = dict(zip(column.states, column.counts, strict=True))
    n_missing = pairs.pop(None, 0)
    shown = [f"{state}: {count:,}" for state, count in list(pairs.items())[:_STATES_SHOWN]]
    more = ["..."] if len(pairs) > _STATES_SHOWN else []
    return f"{len(pairs):,}", f"{n_missing:,}", ", ".join(shown + more)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    # A pipe has no width: lines are wrapped only where a person would see them cut.
    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, title in enumerate(header):
        table.add_column(title, justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as captured:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
