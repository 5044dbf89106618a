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

from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.data.summary import ColumnSummary, DataSummary
from credibn.errors import CredibnWarning
from credibn.graphs import CPDAG
from credibn.report import scoring_headline
from credibn.scores import ScoreTable, ScoringEstimate

__all__ = [
    "in_shell_words",
    "learned_facts",
    "print_estimate",
    "print_learned",
    "print_result",
    "print_summary",
    "progress_bar",
    "stage_bars",
    "warnings_as_lines",
]

_SECONDS_BEFORE_BAR = 0.5
_STATES_SHOWN = 6
_CLASSES_SHOWN = 10
_EDGES_SHOWN = 8


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
        "ratio": "--ratio",
        "unit": "--unit",
        "engine": "--engine",
    }
    pattern = rf"\b({'|'.join(flags)})=('?)([\w.+-]*\w)\2"
    message = re.sub(pattern, lambda found: f"{flags[found[1]]} {found[3]}", message)
    message = message.replace("score_equivalent=True", "--score-equivalent")
    message = re.sub(r"\b(memory|time)_limit\b(?! is)", r"--\1-limit", message)
    message = re.sub(r"\bposterior_share\b(?! is)", "--posterior-share", message)
    message = re.sub(r"\bmax_(networks|classes)\b(?! is)", r"--max-\1", message)
    return message.replace(" or format=", " or --format")


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None] | None]:
    """Give a function that shows the fraction done once the work is long; None where nobody is watching."""
    with stage_bars({title: title}) as show:
        yield None if show is None else lambda fraction: show(title, fraction)


@contextmanager
def stage_bars(titles: Mapping[str, str]) -> Iterator[Callable[[str, float], None] | None]:
    """Give a function that shows a stage and its fraction done; None where nobody is watching.

    A stage that has no title is shown by its own name.
    """
    if not sys.stderr.isatty():
        yield None
        return
    parts = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Progress(*parts, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=1.0)
    started = time.monotonic()
    stages = list[str]()

    def show(stage: str, fraction: float) -> None:
        if not bar.live.is_started and time.monotonic() - started > _SECONDS_BEFORE_BAR:
            bar.start()
        if stages[-1:] != [stage]:
            stages.append(stage)
            bar.reset(task, description=titles.get(stage, stage))
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


def learned_facts(credible: CredibleSet, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return what a search found as one JSON object."""
    scoring = credible.score_table.provenance
    facts = {
        "n_variables": len(credible.names),
        "n_rows": scoring.get("n_rows"),
        "score": scoring.get("score"),
        "epsilon": credible.epsilon,
        "optimal_score": credible.optimal_score,
        "n_candidates": credible.score_table.n_candidates,
        "n_networks": credible.n_networks,
        "n_classes": credible.n_classes,
        "posterior_share": credible.posterior_share,
        "complete": credible.complete,
        "stopped_because": credible.stopped_because,
        "engine": credible.engine,
        "seconds": {stage: round(time_taken, 6) for stage, time_taken in seconds.items()},
        "peak_memory_mb": _peak_memory_mb(),
    }
    if credible.n_requested is not None:
        facts["n_tied_at_boundary"] = credible.n_tied_at_boundary
    return facts


def _peak_memory_mb() -> float | None:
    try:
        import resource
    except ImportError:  # not on this system
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def print_learned(credible: CredibleSet) -> None:
    """Print what a search found: a few sentences, and the best classes."""
    typer.echo(credible.summary())
    rows = [
        (f"{found.score:,.6f}", f"{found.size:,}", f"{100 * found.weight:.2f} %", _edges(found.cpdag))
        for found in credible.classes()[:_CLASSES_SHOWN]
    ]
    if rows:
        typer.echo("")
        _print_table(("score", "networks", "weight", "edges of the class"), rows, right=(0, 1, 2))
    if credible.n_classes > len(rows):
        typer.echo(f"... and {credible.n_classes - len(rows):,} more")


def _edges(cpdag: CPDAG) -> str:
    """Return the edges where they are few, and else how many there are."""
    directed, undirected = len(cpdag.directed), len(cpdag.undirected)
    if directed + undirected > _EDGES_SHOWN:
        return f"{directed} directed, {undirected} undirected"
    edges = [f"{a} -> {b}" for a, b in cpdag.directed] + [f"{a} -- {b}" for a, b in cpdag.undirected]
    return ", ".join(edges) or "(none)"


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
