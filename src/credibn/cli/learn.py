"""The commands that search: ``learn`` and ``kbest``.

Both end with status 0 only if the result is complete: with 3 if a limit was reached, with 130 after Ctrl-C or SIGTERM.
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
from dataclasses import replace
from enum import StrEnum
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
    BayesFactorOption,
    ContinuousOption,
    DataArgument,
    DiscretiseOption,
    EdgePenaltyOption,
    EpsilonOption,
    ForbidOption,
    MaxParentsOption,
    MaxStatesOption,
    MemoryLimitOption,
    Missing,
    MissingOption,
    RequireOption,
    SampleSizeOption,
    ScoreName,
    ScoreOption,
    ScoresOption,
    ThreadsOption,
    TiersOption,
    TimeLimitOption,
    WeightsOption,
    bytes_of,
    scoring_source,
    time_left,
)
from credibn.cli.text import holding_interrupts, learned_facts, print_error, print_learned, run_facts
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.errors import CredibnError, OptionError
from credibn.learning import k_best_classes, k_best_networks
from credibn.learning import learn as find_credible_set
from credibn.report import write_learning_page
from credibn_command import start_time
from credibn_command.streams import NOT_WRITTEN

__all__ = ["kbest", "learn"]

_LIMIT_REACHED, _INTERRUPTED = 3, 130
_REPORT, _CHECKPOINT = "report.html", "checkpoint"
_SECONDS_TO_WRITE, _MOST_TO_WRITE = 1.0, 0.2
"""To write the files of a small result, and the share of a short limit that is kept for it at most."""
_SECONDS_PER_ROW = 1e-6
"""To write a class to a file, to weigh it and to draw the curve of all: measured with two million of 20 variables."""


class Unit(StrEnum):
    """What is searched for."""

    AUTO = "auto"
    CLASSES = "classes"
    NETWORKS = "networks"


_Ratio = Annotated[
    float | None, typer.Option(metavar="R", help="Keep networks that cost at most this many times the optimum.")
]
_Unit = Annotated[Unit, typer.Option(help="Search by class, where possible, or list networks one by one.")]
_ScoreEquivalent = Annotated[
    bool, typer.Option("--score-equivalent", help="Assert that equivalent networks score the same in --scores.")
]
_Engine = Annotated[str, typer.Option(metavar="NAME", help="How to search; the answer is the same.")]
_PosteriorShare = Annotated[
    bool | None,
    typer.Option(
        "--posterior-share/--no-posterior-share",
        help="Compute which share of the posterior of all networks these hold; by default where it is cheap.",
    ),
]
_MaxNetworks = Annotated[int | None, typer.Option(metavar="M", help="Keep at most this many networks.")]
_MaxClasses = Annotated[int | None, typer.Option(metavar="M", help="Keep this many classes, and ties with the last.")]
_Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Folder for result.credibn, summary.json, run.json and report.html. A long run writes a checkpoint "
        "there: after a kill or a time limit, run the same command to resume.",
    ),
]


def learn(
    data: DataArgument = None,
    scores: ScoresOption = None,
    score: ScoreOption = ScoreName.BIC,
    bayes_factor: BayesFactorOption = None,
    epsilon: EpsilonOption = None,
    ratio: _Ratio = None,
    ess: SampleSizeOption = None,
    max_parents: MaxParentsOption = None,
    forbid: ForbidOption = None,
    require: RequireOption = None,
    tiers: TiersOption = None,
    edge_penalty: EdgePenaltyOption = None,
    max_networks: _MaxNetworks = None,
    max_classes: _MaxClasses = None,
    time_limit: TimeLimitOption = None,
    memory_limit: MemoryLimitOption = None,
    threads: ThreadsOption = None,
    unit: _Unit = Unit.AUTO,
    score_equivalent: _ScoreEquivalent = False,
    engine: _Engine = "auto",
    posterior_share: _PosteriorShare = None,
    weights: WeightsOption = None,
    missing: MissingOption = Missing.ERROR,
    discretise: DiscretiseOption = None,
    continuous: ContinuousOption = None,
    max_states: MaxStatesOption = 100,
    out: _Out = None,
    as_json: AsJsonOption = False,
) -> None:
    """Find every network within a Bayes factor of the best, by Markov equivalence class."""
    started, before = start_time(), time.perf_counter()
    source = scoring_source(
        data,
        scores,
        score=score,
        ess=ess,
        max_parents=max_parents,
        forbid=forbid,
        require=require,
        tiers=tiers,
        edge_penalty=edge_penalty,
        weights=weights,
        missing=missing,
        discretise=discretise,
        continuous=continuous,
        max_states=max_states,
        time_limit=time_left(time_limit, started),
    )
    seconds = _seconds_to_search(time_limit, started, out)
    searching = _searching(seconds, memory_limit, threads, unit, score_equivalent, engine, posterior_share)
    with _prepared_folder(out) as store:
        reading = time.perf_counter() - before
        with stage_bars() as progress:
            found = find_credible_set(
                **source,
                **searching,
                checkpoint=store,
                bayes_factor=bayes_factor,
                epsilon=epsilon,
                ratio=ratio,
                max_networks=max_networks,
                max_classes=max_classes,
                progress=progress,
            )
        found = replace(found, settings={**found.settings, "time_limit": time_limit})
        _finish(found, source.get("data"), reading, started, time_limit, out, store, as_json)


def kbest(
    data: DataArgument = None,
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many.")] = 100,
    classes: Annotated[bool, typer.Option("--classes", help="The k best classes instead of networks.")] = False,
    scores: ScoresOption = None,
    score: ScoreOption = ScoreName.BIC,
    ess: SampleSizeOption = None,
    max_parents: MaxParentsOption = None,
    forbid: ForbidOption = None,
    require: RequireOption = None,
    tiers: TiersOption = None,
    edge_penalty: EdgePenaltyOption = None,
    time_limit: TimeLimitOption = None,
    memory_limit: MemoryLimitOption = None,
    threads: ThreadsOption = None,
    unit: _Unit = Unit.AUTO,
    score_equivalent: _ScoreEquivalent = False,
    engine: _Engine = "auto",
    posterior_share: _PosteriorShare = None,
    weights: WeightsOption = None,
    missing: MissingOption = Missing.ERROR,
    discretise: DiscretiseOption = None,
    continuous: ContinuousOption = None,
    max_states: MaxStatesOption = 100,
    out: _Out = None,
    as_json: AsJsonOption = False,
) -> None:
    """Find the k best networks, or the k best Markov equivalence classes."""
    started, before = start_time(), time.perf_counter()
    source = scoring_source(
        data,
        scores,
        score=score,
        ess=ess,
        max_parents=max_parents,
        forbid=forbid,
        require=require,
        tiers=tiers,
        edge_penalty=edge_penalty,
        weights=weights,
        missing=missing,
        discretise=discretise,
        continuous=continuous,
        max_states=max_states,
        time_limit=time_left(time_limit, started),
    )
    seconds = _seconds_to_search(time_limit, started, out)
    searching = _searching(seconds, memory_limit, threads, unit, score_equivalent, engine, posterior_share)
    with _prepared_folder(out) as store:
        reading = time.perf_counter() - before
        with stage_bars() as progress:
            find = k_best_classes if classes else k_best_networks
            found = find(k=k, **source, **searching, checkpoint=store, progress=progress)
        found = replace(found, settings={**found.settings, "time_limit": time_limit})
        _finish(found, source.get("data"), reading, started, time_limit, out, store, as_json)


def _seconds_to_search(time_limit: float | None, started: float, out: Path | None) -> float | None:
    """Return what is left of the time limit: reading is part of it, and so is writing the files."""
    left = time_left(time_limit, started)
    if left is None or time_limit is None or out is None:
        return left
    return max(left - min(_SECONDS_TO_WRITE, _MOST_TO_WRITE * time_limit), 1e-9) if time_limit > 0 else left


def _searching(
    time_limit: float | None,
    memory_limit: str | None,
    threads: int | None,
    unit: Unit,
    score_equivalent: bool,
    engine: str,
    posterior_share: bool | None,
) -> dict[str, Any]:
    """Return the options of the library that say how to search."""
    return {
        "time_limit": time_limit,
        "memory_limit": bytes_of(memory_limit),
        "n_threads": threads,
        "unit": unit.value,
        "score_equivalent": True if score_equivalent else None,
        "engine": engine.replace("-", "_"),
        "posterior_share": posterior_share,
    }


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
    out: Path | None,
    store: Store | None,
    as_json: bool,
) -> None:
    """Write what was found, then print it, and end with the status that says whether it is complete."""
    plain = replace(found, engine="", timings={}, statistics={})  # the same bytes for any run
    facts, is_written, has_report, is_interrupted = learned_facts(plain), True, False, False
    if out is not None:
        with holding_interrupts():  # what was found is worth more than a quick end
            is_written = _write_result(plain, facts, out)
            how_it_went = {**_how_it_went(found, reading, started), "statistics": dict(found.statistics)}
            is_written = _try(lambda: _write_json(out / "run.json", how_it_went)) and is_written
        try:
            has_report = _try(lambda: write_learning_page(plain, out / _REPORT, data, time_left(time_limit, started)))
            is_written = is_written and has_report
        except KeyboardInterrupt:
            is_interrupted = True
    if store is not None and is_written:
        store.settle(found.stopped_because)
    elif store is not None:
        store.close()  # what is done may yet serve
    with holding_interrupts():
        if as_json:
            typer.echo(json.dumps({**facts, **_how_it_went(found, reading, started)}))
        else:
            print_learned(plain)
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

    What differs from run to run is in neither: they have the same bytes for the same question. A result that cannot be
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
