"""The commands that search: ``learn``, ``kbest`` and ``optimum``.

All end with status 0 only if the result is complete: with 3 if a limit was reached, with 130 after Ctrl-C or SIGTERM.
What the search had found until then is written and printed all the same, and says that it is partial. Files come first:
they do not depend on standard output.
"""

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn._base.atomic import replacing
from credibn._base.text import printable
from credibn.cli.command import INTERRUPTED, LIMIT_REACHED
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
)
from credibn.cli.text import flags_of, holding_interrupts, learned_facts, print_error, print_learned, run_facts
from credibn.credible import CredibleSet
from credibn.errors import CredibnError
from credibn.learning.all_credible import find_credible_set
from credibn.learning.k_best import find_k_best
from credibn.learning.start import Kind, Learning, start
from credibn.options import Limits, SearchOptions
from credibn_command import start_time
from credibn_command.streams import NOT_WRITTEN

_REPORT, _CHECKPOINT = "report.html", "checkpoint"


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

    k: Annotated[
        int,
        typer.Option(
            "-k", metavar="K", help="Number of networks (with --classes, of classes).", rich_help_panel="Search"
        ),
    ] = 100
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
    """Search, write and print, and end with the status that says whether the result is complete."""
    out, started = to.out, start_time()
    with _noting_checkpoint(out):
        with start(
            source.data,
            source.scores,
            reading.options(),
            scoring.options(),
            wanted,
            allowed,
            k_best=k_best,
            checkpoint=None if out is None else out / _CHECKPOINT,
            progress=True,
            began=started,
            writes_files=out is not None,
        ) as call:
            if call.summary is not None:
                typer.echo(printable(call.summary), err=True)
            if call.is_resuming and out is not None:
                typer.echo(f"resuming from {printable(str(out / _CHECKPOINT))}", err=True)
            found = find(call)
            plain = found.without_run()  # the same bytes for any run
            facts = learned_facts(plain)
            written = _Written() if out is None else _write_files(found, plain, facts, call, started, out)
            if not written.all:
                call.keep_checkpoint()
        with holding_interrupts():
            if to.as_json:
                typer.echo(json.dumps({**facts, **_how_it_went(found, started)}))
            else:
                print_learned(plain, flags_of(context))
                if out is not None and written.all:
                    typer.echo(f"written to {printable(str(out))}")
            _print_notes(found, out, written)
    if not written.all:
        raise typer.Exit(NOT_WRITTEN)
    if written.is_interrupted or found.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not found.complete:
        raise typer.Exit(LIMIT_REACHED)


@contextmanager
def _noting_checkpoint(out: Path | None) -> Iterator[None]:
    """Say at the end whether there is a checkpoint to resume from."""
    try:
        yield
    finally:
        if out is not None and any((folder := out / _CHECKPOINT).glob("*")):
            typer.echo(
                f"finished tasks are saved in {printable(str(folder))}; run the same command to resume", err=True
            )


@dataclass(frozen=True)
class _Written:
    """Which files are there."""

    all: bool = True
    has_report: bool = False
    is_interrupted: bool = False


def _write_files(
    found: CredibleSet, plain: CredibleSet, facts: dict[str, Any], call: Learning, started: float, out: Path
) -> _Written:
    """Write the result, its summary, how the run went, and the report."""
    with holding_interrupts():  # what was found is worth more than a quick end
        with suppress(OSError):
            out.mkdir(parents=True, exist_ok=True)  # somebody may have removed it meanwhile
            for left_by_a_kill in out.glob(".credibn-*.tmp"):
                left_by_a_kill.unlink(missing_ok=True)
        is_written = _write_result(plain, facts, out)
        how_it_went = {**_how_it_went(found, started), "statistics": dict(found.statistics)}
        is_written = _try(lambda: _write_json(out / "run.json", how_it_went)) and is_written
    try:
        from credibn.report import write_learning_page  # templates and figures: only a page needs them

        has_report = _try(lambda: write_learning_page(plain, out / _REPORT, call.source.data, call.seconds_to_write()))
    except KeyboardInterrupt:
        return _Written(is_written, is_interrupted=True)
    return _Written(is_written and has_report, has_report)


def _print_notes(found: CredibleSet, out: Path | None, written: _Written) -> None:
    """Say on standard error what the result lacks, and where to find what else there is."""
    if not found.complete:
        typer.echo(f"incomplete ({found.stopped_because}): {found.guarantee}", err=True)
    if out is None:
        return
    if written.is_interrupted:
        message = f"stopped before the report was written: 'credibn report {out} -o report.html' makes it"
        typer.echo(printable(message), err=True)
    if written.has_report:
        typer.echo(f"report: {printable(str(out / _REPORT))}", err=True)


def _how_it_went(found: CredibleSet, started: float) -> dict[str, Any]:
    """Return what differs from run to run; the total is from the start of the script until now."""
    return run_facts(found, {**found.timings, "total": time.monotonic() - started})


def _write_result(found: CredibleSet, facts: dict[str, Any], out: Path) -> bool:
    """Write the result and its summary; tell whether both are there.

    What differs from run to run is in neither: the same call gives the same bytes. A result that cannot be
    written where it was asked for is written to the current folder.
    """
    more = {
        "bayes_factor": found.bayes_factor if found.epsilon < 709 else None,
        "is_optimum_proven": found.is_optimum_proven,
        "guarantee": found.guarantee,
        "log_mass": found.log_mass if found.n_networks else None,
        "log_total_mass": found.log_total_mass,
        "grouping": found.grouping,
        "names": found.names,
        "settings": dict(found.settings),
        "provenance": dict(found.provenance),
    }
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
    _write_text(path, json.dumps(facts, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    with replacing(path) as sink:
        sink.write(text.encode())
