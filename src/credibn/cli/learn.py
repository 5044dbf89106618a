"""The commands that search: ``learn``, ``kbest`` and ``optimum``.

All end with status 0 only if the result is complete: with 3 if a limit was reached, with 130 after Ctrl-C or SIGTERM.
What the search had found until then is written and printed all the same, and says that it is partial. Files come first:
they do not depend on standard output.
"""

import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn._base.atomic import replacing, unwritable
from credibn._base.text import printable
from credibn._run import Store
from credibn._run.progress import stage_bars
from credibn.cli.files import RESULT
from credibn.cli.options import (
    AsJsonOption,
    CountFlags,
    GapFlags,
    LimitFlags,
    ReadFlags,
    ScoreFlags,
    SearchFlags,
    SourceFlags,
    grouped,
    output,
    time_left,
)
from credibn.cli.text import Words, flags_of, holding_interrupts, learned_facts, print_error, print_learned, run_facts
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.errors import CredibnError, OptionError
from credibn.learning.all_credible import find_credible_set
from credibn.learning.k_best import find_k_best
from credibn.learning.options import Kind
from credibn.learning.runs import Learning, start
from credibn.options import NO_OPTIONS, Limits, SearchOptions
from credibn_command import start_time
from credibn_command.streams import NOT_WRITTEN

_LIMIT_REACHED, _INTERRUPTED = 3, 130
_REPORT, _CHECKPOINT = "report.html", "checkpoint"
_SECONDS_TO_WRITE, _MOST_TO_WRITE = 1.0, 0.2
"""To write the files of a small result, and the largest share of a short limit that is reserved for it."""
_SECONDS_PER_ROW = 1e-6
"""To write a class to a file, to weigh it and to draw the curve of all: measured with two million of 20 variables."""


@dataclass(frozen=True)
class _OutputFlags:
    """Where the result goes."""

    out: Annotated[
        Path | None,
        output(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for result.credibn, summary.json, run.json and report.html. A long run writes a checkpoint "
            "there: after a kill or a time limit, run the same command to resume.",
        ),
    ] = None
    as_json: AsJsonOption = False


@dataclass(frozen=True)
class _BestFlags:
    """Which networks are the best."""

    k: Annotated[int, typer.Option("-k", metavar="K", help="How many.", rich_help_panel="Search")] = 100
    classes: Annotated[
        bool, typer.Option("--classes", help="The k best classes instead of networks.", rich_help_panel="Search")
    ] = False


@grouped
def learn(
    context: typer.Context,
    source: SourceFlags,
    reading: ReadFlags,
    scoring: ScoreFlags,
    gap: GapFlags,
    search: SearchFlags,
    counts: CountFlags,
    limits: LimitFlags,
    to: _OutputFlags,
) -> None:
    """Find every network within a Bayes factor of the best, by Markov equivalence class."""
    wanted, allowed = search.options(gap), limits.options(counts)
    _search(context, find_credible_set, source, reading, scoring, wanted, allowed, to)


@grouped
def kbest(
    context: typer.Context,
    source: SourceFlags,
    reading: ReadFlags,
    scoring: ScoreFlags,
    best: _BestFlags,
    search: SearchFlags,
    limits: LimitFlags,
    to: _OutputFlags,
) -> None:
    """Find the k best networks, or the k best Markov equivalence classes."""
    k_best: tuple[int, Kind] = (best.k, "classes" if best.classes else "networks")
    _search(context, find_k_best, source, reading, scoring, search.options(), limits.options(), to, k_best)


@grouped
def optimum(
    context: typer.Context,
    source: SourceFlags,
    reading: ReadFlags,
    scoring: ScoreFlags,
    search: SearchFlags,
    limits: LimitFlags,
    to: _OutputFlags,
) -> None:
    """Find one optimal network, with its Markov equivalence class, and prove it; do not list what ties with it."""
    one: tuple[int, Kind] = (1, "classes")
    _search(context, find_k_best, source, reading, scoring, search.options(), limits.options(), to, one)


def _search(
    context: typer.Context,
    find: Callable[[Learning], CredibleSet],
    source: SourceFlags,
    reading: ReadFlags,
    scoring: ScoreFlags,
    wanted: SearchOptions,
    allowed: Limits,
    to: _OutputFlags,
    k_best: tuple[int, Kind] | None = None,
) -> None:
    """Read, search, write and print."""
    started, before = start_time(), time.perf_counter()
    dataset, scored = source.read(reading, scoring, time_left(allowed.seconds, started))
    with _prepared_folder(to.out) as store:
        seconds_to_read = time.perf_counter() - before
        with stage_bars() as progress:
            call = start(
                dataset,
                source.scores,
                NO_OPTIONS,
                scored,
                wanted,
                allowed,
                k_best=k_best,
                checkpoint=store,
                progress=progress,
                seconds=_seconds_to_search(allowed.seconds, started, to.out),
            )
            found = find(call)
        _finish(found, dataset, seconds_to_read, started, allowed.seconds, to, store, flags_of(context))


def _seconds_to_search(time_limit: float | None, started: float, out: Path | None) -> float | None:
    """Return the rest of the time limit: reading is part of it, and so is writing the files."""
    left = time_left(time_limit, started)
    if left is None or time_limit is None or out is None:
        return left
    return max(left - min(_SECONDS_TO_WRITE, _MOST_TO_WRITE * time_limit), 1e-9)


@contextmanager
def _prepared_folder(out: Path | None) -> Iterator[Store | None]:
    """Make the folder and try to write to it: what would fail does so before the work.

    Yields the store of the checkpoint in it. After an error, the checkpoint is closed, and a line says
    whether it holds anything.
    """
    if out is None:
        yield None
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise unwritable(out, error, "choose another folder", OptionError) from error
    store = Store(out / _CHECKPOINT)
    store.seconds_per_row = _SECONDS_PER_ROW
    for left_by_a_kill in out.glob(".credibn-*.tmp"):
        left_by_a_kill.unlink(missing_ok=True)
    if store.is_resuming:
        typer.echo(f"resuming from {printable(str(out / _CHECKPOINT))}", err=True)
    try:
        yield store
    except (CredibnError, KeyboardInterrupt):
        store.close()
        _note_checkpoint(out)
        raise


def _note_checkpoint(out: Path) -> None:
    if any((folder := out / _CHECKPOINT).glob("*")):
        typer.echo(f"{printable(str(folder))} holds the finished work; run the same command to resume", err=True)


def _finish(
    found: CredibleSet,
    data: Dataset | None,
    reading: float,
    started: float,
    time_limit: float | None,
    to: _OutputFlags,
    store: Store | None,
    words: Words,
) -> None:
    """Write what was found, then print it, and end with the status that says whether it is complete."""
    out, plain = to.out, found.without_run()  # the same bytes for any run
    facts, is_written, has_report, is_interrupted = learned_facts(plain), True, False, False
    if out is not None:
        with holding_interrupts():  # what was found is worth more than a quick end
            is_written = _write_result(plain, facts, out)
            how_it_went = {**_how_it_went(found, reading, started), "statistics": dict(found.statistics)}
            is_written = _try(lambda: _write_json(out / "run.json", how_it_went)) and is_written
        try:
            from credibn.report import write_learning_page  # templates and figures: only a page needs them

            has_report = _try(lambda: write_learning_page(plain, out / _REPORT, data, time_left(time_limit, started)))
            is_written = is_written and has_report
        except KeyboardInterrupt:
            is_interrupted = True
    if store is not None and is_written:
        store.settle(found.stopped_because)
    elif store is not None:
        store.close()  # what is done may yet serve
    with holding_interrupts():
        if to.as_json:
            typer.echo(json.dumps({**facts, **_how_it_went(found, reading, started)}))
        else:
            print_learned(plain, words)
            if out is not None and is_written:
                typer.echo(f"written to {printable(str(out))}")
        _print_notes(found, out, has_report, is_interrupted)
    if not is_written:
        raise typer.Exit(NOT_WRITTEN)
    if is_interrupted or found.stopped_because == "interrupted":
        raise typer.Exit(_INTERRUPTED)
    if not found.complete:
        raise typer.Exit(_LIMIT_REACHED)


def _print_notes(found: CredibleSet, out: Path | None, has_report: bool, is_interrupted: bool) -> None:
    """Say on standard error what the result lacks, and where to find what else there is."""
    if not found.complete:
        typer.echo(f"incomplete ({found.stopped_because}): {found.guarantee}", err=True)
    if out is None:
        return
    if is_interrupted:
        message = f"stopped before the report was written: 'credibn report {out} -o report.html' makes it"
        typer.echo(printable(message), err=True)
    if has_report:
        typer.echo(f"report: {printable(str(out / _REPORT))}", err=True)
    _note_checkpoint(out)


def _how_it_went(found: CredibleSet, reading: float, started: float) -> dict[str, Any]:
    """Return what differs from run to run; reading was done here, and the total is until now."""
    total = time.perf_counter() - started
    return run_facts(found, {**found.timings, "read": reading + found.timings["read"], "total": total})


def _write_result(found: CredibleSet, facts: dict[str, Any], out: Path) -> bool:
    """Write the result and its summary; tell whether both are there.

    What differs from run to run is in neither: the same call gives the same bytes. A result that cannot be
    written where it was asked for is written to the current folder.
    """
    more = {
        "bayes_factor": found.bayes_factor if found.epsilon < 709 else None,
        "is_optimum_proven": found.is_optimum_proven,
        "guarantee": found.guarantee,
        "log_mass": found.log_mass if len(found.rows) else None,
        "log_total_mass": found.log_total_mass,
        "grouping": found.grouping,
        "names": found.names,
        "settings": dict(found.settings),
        "provenance": dict(found.provenance),
    }
    with suppress(OSError):
        out.mkdir(parents=True, exist_ok=True)  # somebody may have removed it meanwhile
    if not _try(lambda: found.save(out / RESULT)):
        spare = _spare_path(out)
        if _try(lambda: found.save(spare)):
            typer.echo(f"the result is in {printable(str(spare))} instead", err=True)
        return False
    return _try(lambda: _write_json(out / "summary.json", {**facts, **more}))


def _try(write: Callable[[], None]) -> bool:
    """Write something; say so where that fails, and return whether it did not."""
    try:
        write()
    except CredibnError as error:
        print_error(error)
        return False
    return True


def _spare_path(out: Path) -> Path:
    """Return a name in the current folder that no file has."""
    folder, stem = Path.cwd(), f"{out.resolve().name or 'credibn'}-result"
    names = (f"{stem}.credibn" if at == 0 else f"{stem}-{at}.credibn" for at in itertools.count())
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _write_json(path: Path, facts: dict[str, Any]) -> None:
    with replacing(path) as sink:
        sink.write((json.dumps(facts, indent=1) + "\n").encode())
