"""The command ``reproduce``: the paper's tables and figure, computed again, with the printed numbers beside ours."""

import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn._base.text import plural, printable
from credibn._run.progress import STAGE_TITLES, StageBar, is_terminal, stage_bars
from credibn.cli.options import AsJsonOption
from credibn.cli.text import holding_interrupts, table_text
from credibn.errors import OptionError
from credibn.options import Progress, resolve_seconds
from credibn.reproduction import (
    EXPERIMENTS,
    Followed,
    Limits,
    Outcome,
    Plan,
    Sources,
    circumstances,
    collect_tables,
    make_plan,
    run_plan,
    write_results,
)
from credibn.reproduction.measuring import Answer, Cell
from credibn.reproduction.results import ResultTable
from credibn.reproduction.tables import was_run
from credibn.search import Tally

__all__ = ["reproduce"]

_LIMIT_STRUCK, _INTERRUPTED = 3, 130
_DEFAULT_SIZES = "50,100,500,1000"
_SIZE_DIGITS = 9
_GAP, _FEWEST_COLUMNS = 2, 5
"""Blanks between columns on a terminal, and how many columns are shown however narrow it is."""


class Experiment(StrEnum):
    """What can be computed again."""

    TABLE_1 = "table1"
    TABLE_2 = "table2"
    TABLE_3 = "table3"
    TABLE_4 = "table4"
    TABLE_5 = "table5"
    FIGURE_1 = "figure1"
    ALL = "all"


def reproduce(
    what: Annotated[Experiment, typer.Argument(help="A table or the figure of the paper, or all of them.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="Folder of NAME.csv files, and networks/NAME.bif.")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Data set or network to compute; may be repeated.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds for scoring and search of one cell of a table.")
    ] = None,
    samples: Annotated[int, typer.Option(metavar="M", min=1, help="Samples of each size, for tables 4 and 5.")] = 10,
    sizes: Annotated[str, typer.Option(metavar="N,N", help="Sizes of samples, for tables 4 and 5.")] = _DEFAULT_SIZES,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for records, tables and index.html.")
    ] = Path("reproduction"),
    workers: Annotated[int, typer.Option(metavar="W", min=1, help="Processes that compute cells side by side.")] = 1,
    as_json: AsJsonOption = False,
) -> None:
    """Compute the tables of the paper again, and set the printed numbers beside ours.

    Finished cells are saved in the folder as they come: run the same command to resume.
    """
    limits = Limits(resolve_seconds(time_limit))
    if not os.path.isdir(data):
        raise OptionError(f"--data {data} is no folder; give the one that holds the data sets as NAME.csv")
    sources = Sources(data)
    chosen = EXPERIMENTS if what is Experiment.ALL else (what.value,)
    plan = make_plan(chosen, only or (), _sizes(sizes), samples)
    _check_some_there(plan, sources)
    with stage_bars() as bar, _pool(workers) as pool:
        outcome = run_plan(plan, sources, out, limits, _Shown(bar), pool)
    with holding_interrupts():  # what is finished is worth more than a quick end
        tables = collect_tables(plan, sources, out)
        page = write_results(tables, out, circumstances(limits), outcome.missing)
        _print(plan, tables, outcome, page, as_json)
    if outcome.was_interrupted:
        raise typer.Exit(_INTERRUPTED)
    if outcome.unfinished:
        raise typer.Exit(_LIMIT_STRUCK)


@contextmanager
def _pool(workers: int) -> Iterator[Executor | None]:
    """Give a pool of processes, where there is more than one, and end them with what they are at."""
    if workers == 1:
        yield None
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))  # this process may have threads: no fork
    try:
        yield pool
    finally:
        for process in (pool._processes or {}).values():  # all is done, or the run was stopped
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() and len(part) <= _SIZE_DIGITS and int(part) >= 1 for part in parts):
        raise OptionError(f"--sizes is {text!r:.60}; give whole numbers, 1 to 999999999, such as {_DEFAULT_SIZES}")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _check_some_there(plan: Plan, sources: Sources) -> None:
    """Refuse a folder without any of the files that are needed, and say where they can be had."""
    needed = dict.fromkeys((cell.name, cell.need) for cell in plan.cells)
    missing = sources.missing(needed)
    if len(missing) == len(needed):
        listed = "\n".join(f"  {lack.file}: {lack.where}" for lack in missing)
        raise OptionError(
            f"--data {sources.folder} has none of the files that this needs; put some of these there:\n{listed}"
        )


class _Shown(Followed):
    """Shows a run on standard error: a bar for the cell at hand, and a line for each that is done."""

    def __init__(self, bar: StageBar | None) -> None:
        self._bar = bar

    def begin(self, number: int, total: int, cell: Cell) -> Progress | None:
        return None if self._bar is None else _CellBar(self._bar, f"{number + 1}/{total} {cell.label}")

    def end(self, number: int, total: int, cell: Cell, answer: Answer) -> None:
        typer.echo(f"{number + 1}/{total} {cell.label}: {_told(answer)}", err=True)

    def note(self, text: str) -> None:
        typer.echo(f"note: {text}", err=True)


class _CellBar:
    """Shows a stage of one cell."""

    def __init__(self, bar: StageBar, label: str) -> None:
        self._bar, self._label = bar, label

    def __call__(self, stage: str, fraction: float) -> None:
        self._bar(f"{self._label}: {STAGE_TITLES.get(stage, stage)}", fraction)

    def tally(self, tally: Tally) -> None:
        self._bar.tally(tally)


def _told(answer: Answer) -> str:
    """Return an answer in a few words."""
    if not answer["complete"]:
        return f"not complete; {answer.get('message') or answer.get('stopped_because')}"
    if "levels" in answer:
        levels = answer["levels"].items()
        return "; ".join(f"{level['networks']:,} networks within {factor}" for factor, level in levels)
    if "networks" in answer:
        return f"{plural(answer['networks'], 'network')} in {plural(answer['classes'], 'class')}"
    return plural(answer["candidates"], "candidate") if "candidates" in answer else "done"


def _print(plan: Plan, tables: Mapping[str, ResultTable], outcome: Outcome, page: Path, as_json: bool) -> None:
    """Print the rows that were asked for, what is missing and where the page is."""
    names = {cell.name for cell in plan.cells}
    shown = {name: _rows(tables[name], names) for name in plan.experiments}
    if as_json:
        facts = {
            "tables": {name: [dict(row) for row in rows] for name, rows in shown.items()},
            "n_computed": outcome.n_computed,
            "n_reused": outcome.n_reused,
            "unfinished": outcome.unfinished,
            "missing": [{"file": lack.file, "where": lack.where} for lack in outcome.missing],
            "was_interrupted": outcome.was_interrupted,
            "page": str(page),
        }
        typer.echo(json.dumps(facts))
    else:
        for name, rows in shown.items():
            typer.echo(f"{tables[name].title}\n")
            typer.echo(f"{_text(tables[name], rows)}\n")
        typer.echo(f"page: {printable(str(page))}")
    for lack in outcome.missing:
        typer.echo(f"missing: {lack.file} ({lack.where})", err=True)
    if outcome.was_interrupted:
        typer.echo("stopped; the finished cells are saved; run the same command to resume", err=True)
    elif outcome.unfinished:
        typer.echo(
            f"not complete: {plural(len(outcome.unfinished), 'cell')}; the tables say why. A longer --time-limit tries "
            "those again that ran out of time, and the same command all others",
            err=True,
        )


def _rows(table: ResultTable, names: set[str]) -> list[Mapping[str, Any]]:
    return [row for row in table.rows if row.get("data", row.get("network")) in names]


def _text(table: ResultTable, rows: Sequence[Mapping[str, Any]]) -> str:
    if table.name == "figure1":
        counts = [
            (name, f"{sum(row['data'] == name for row in rows):,}")
            for name in dict.fromkeys(row["data"] for row in rows)
        ]
        return table_text(("data", "steps"), counts, right=(1,))
    shown = [row for row in rows if was_run(row)]
    columns = table.columns
    cells = [[column.show(row) for column in columns] for row in shown]
    titles = [column.title for column in columns]
    kept = _fitting([titles, *cells])
    right = [at for at, column in enumerate(columns[:kept]) if column.is_number]
    text = table_text(titles[:kept], [line[:kept] for line in cells], right)
    return text if kept == len(columns) else f"{text}\n({table.name}.md has {len(columns) - kept} more columns)"


def _fitting(lines: Sequence[Sequence[str]]) -> int:
    """Return how many columns fit side by side where somebody looks; a pipe has no width."""
    room = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else math.inf
    ends = accumulate(max(map(len, column)) + _GAP for column in zip(*lines, strict=True))
    return max(_FEWEST_COLUMNS, sum(end - _GAP <= room for end in ends))
