"""The command line: ``python -m paper table2 --data DIR``."""

import argparse
import json
import math
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path

from credibn.errors import CredibnError, OptionError, WriteError
from paper.experiment import Progress, Samples
from paper.experiments import EXPERIMENTS
from paper.page import write_results
from paper.results import ResultTable, Row, plural, was_run
from paper.run import Outcome, Plan, circumstances, collect_tables, make_plan, run_plan
from paper.sources import Sources

_WRONG_USAGE, _LIMIT_REACHED, _NOT_WRITTEN, _INTERRUPTED = 2, 3, 4, 130
_COUNT_DIGITS = 9
_GAP, _FEWEST_COLUMNS = 2, 5
"""Blanks between columns, and how many columns are shown however narrow the terminal is."""
_SECONDS_BETWEEN_UPDATES = 0.1
_WIPE = "\r\x1b[K"
"""To the start of the line, which is deleted."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Compute the tables and the figure of Liao, Sharma, Cussens & van Beek (2020) again, and set the "
        "printed numbers beside ours. Each finished task is recorded in the folder: run the same command to resume.",
        epilog="Exit status: 0 everything that could be computed is complete; 2 wrong usage or bad input; 3 a limit "
        "was reached, so some tasks are not complete; 4 a file could not be written; 130 interrupted.",
    )
    add = parser.add_argument
    names = [*EXPERIMENTS, "all"]
    add("what", choices=names, metavar="WHAT", help=f"a table, the figure, or everything: {', '.join(names)}")
    add("--data", type=Path, required=True, metavar="DIR", help="folder of NAME.csv files, and networks/NAME.bif")
    add("--only", action="append", default=[], metavar="NAME", help="data set or network to compute; may be repeated")
    add("--time-limit", type=_seconds, metavar="S", help="seconds for scoring and search of one task")
    add("--samples", type=_count, metavar="M", help="samples of each size, in tables 4 and 5 (10)")
    add("--sizes", type=_sizes, metavar="N,N", help="sizes of samples, in tables 4 and 5 (50,100,500,1000)")
    add("--out", "-o", type=Path, default="reproduction", metavar="DIR", help="folder for all files (%(default)s)")
    add("--workers", type=_count, default=1, metavar="W", help="processes that compute tasks side by side (1)")
    add("--json", action="store_true", help="print one JSON object instead of tables")
    parser.set_defaults(sizes=Samples().sizes, samples=Samples().number)
    return parser


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if (seconds := float(text)) > 0:
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r:.60} is not possible; give a number of seconds above 0")


def _count(text: str) -> int:
    if not (text.isdecimal() and len(text) <= _COUNT_DIGITS and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not possible; give a whole number, 1 to 999999999")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_count(part.strip()) for part in text.split(",")))


def main(words: Sequence[str] | None = None) -> None:
    """Run a command, and end with its exit status."""
    options = _parser().parse_args(words)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(_reproduce(options))
    except CredibnError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(_NOT_WRITTEN if isinstance(error, WriteError) else _WRONG_USAGE)
    except BrokenPipeError:  # who reads the output has seen enough; the files are complete
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("stopped; the finished tasks are recorded", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    finally:
        signal.signal(signal.SIGTERM, before)


def _reproduce(options: argparse.Namespace) -> int:
    if not os.path.isdir(options.data):
        raise OptionError(f"--data {options.data} is not a folder; give the one that holds the data sets as NAME.csv")
    sources = Sources(options.data)
    chosen = EXPERIMENTS if options.what == "all" else (options.what,)
    plan = make_plan(chosen, options.only, Samples(options.sizes, options.samples))
    _check_some_there(plan, sources)
    with _pool(options.workers) as pool:
        outcome = run_plan(plan, sources, options.out, options.time_limit, _tell, _watch, pool)
    with _ignoring_signals():  # what is finished is worth more than a quick end
        tables = collect_tables(plan, sources, options.out)
        page = write_results(tables, options.out, circumstances(options.time_limit), outcome.missing)
        _print(plan, tables, outcome, page, options.json)
    if outcome.was_interrupted:
        return _INTERRUPTED
    return _LIMIT_REACHED if outcome.unfinished else 0


@contextmanager
def _ignoring_signals() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _pool(workers: int) -> Iterator[Executor | None]:
    """Give a pool of processes, where there is more than one, and end them whatever they are doing."""
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


def _check_some_there(plan: Plan, sources: Sources) -> None:
    """Refuse a folder without any of the files that are needed, and say where they are available."""
    needed = dict.fromkeys((task.name, task.need) for task in plan.tasks)
    missing = sources.missing(needed)
    if len(missing) == len(needed):
        listed = "\n".join(f"  {lack.file}: {lack.where}" for lack in missing)
        raise OptionError(
            f"--data {sources.folder} has none of the files that this needs; put some of these there:\n{listed}"
        )


def _tell(line: str) -> None:
    print(f"{_WIPE if sys.stderr.isatty() else ''}{line}", file=sys.stderr, flush=True)


def _watch(label: str) -> Progress | None:
    """Return what shows how far a task is, in a line of a terminal; None where nobody is watching."""
    if not sys.stderr.isatty():
        return None
    shown = -math.inf

    def show(stage: str, fraction: float) -> None:
        nonlocal shown
        if time.monotonic() - shown > _SECONDS_BETWEEN_UPDATES:
            shown = time.monotonic()
            print(f"{_WIPE}{label}: {stage} {fraction:.0%}", end="", file=sys.stderr, flush=True)

    return show


def _print(plan: Plan, tables: Mapping[str, ResultTable], outcome: Outcome, page: Path, as_json: bool) -> None:
    """Print the rows that were asked for, what is missing and where the page is."""
    names = {task.name for task in plan.tasks}
    shown = {
        name: [row for row in tables[name].rows if row.get("data", row.get("network")) in names]
        for name in plan.experiments
    }
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
        print(json.dumps(facts), flush=True)
    else:
        for name, rows in shown.items():
            print(f"{tables[name].title}\n\n{_text(tables[name], rows)}\n")
        print(f"page: {page}", flush=True)
    for lack in outcome.missing:
        print(f"missing: {lack.file} ({lack.where})", file=sys.stderr)
    if outcome.was_interrupted:
        print("stopped; the finished tasks are recorded: run the same command to resume", file=sys.stderr)
    elif outcome.unfinished:
        print(
            f"not complete: {plural(len(outcome.unfinished), 'task')}; the tables say why. A longer --time-limit tries "
            "those again that ran out of time, and the same command tries all others again",
            file=sys.stderr,
        )


def _text(table: ResultTable, rows: Sequence[Row]) -> str:
    """Return rows in aligned columns; of a table without columns, how many rows each data set has."""
    if not table.columns:
        steps = Counter(row["data"] for row in rows)
        return "\n".join(f"{name}: {count:,} steps" for name, count in steps.items())
    lines = [[column.title for column in table.columns]]
    lines += [[column.show(row) for column in table.columns] for row in rows if was_run(row)]
    n_shown = _fitting(lines)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)][:n_shown]
    align = [">" if column.is_number else "<" for column in table.columns]
    text = "\n".join(
        (" " * _GAP)
        .join(f"{cell:{side}{width}}" for cell, side, width in zip(line, align, widths, strict=False))
        .rstrip()
        for line in lines
    )
    more = len(table.columns) - n_shown
    return f"{text}\n({table.name}.md has {more} more columns)" if more else text


def _fitting(lines: Sequence[Sequence[str]]) -> int:
    """Return how many columns fit side by side on a terminal; a pipe has no width."""
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    ends = accumulate(max(map(len, column)) + _GAP for column in zip(*lines, strict=True))
    return max(_FEWEST_COLUMNS, sum(end - _GAP <= room for end in ends))
