"""The commands that search: ``learn`` and ``kbest``.

Both end with status 0 only if the result is complete: with 3 if a limit struck, with 130 after Ctrl-C or SIGTERM. What
the search had found until then is printed and written all the same, and says that it is partial.
"""

import json
import tempfile
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn.atomic import replacing
from credibn.cli_options import (
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
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.errors import OptionError
from credibn.learning import k_best_classes, k_best_networks
from credibn.learning import learn as find_credible_set
from credibn.learning.runs import settle
from credibn.progress import stage_bars
from credibn.report import write_learning_page
from credibn.scores.scoring import resolve_threads
from credibn.terminal import holding_interrupts, learned_facts, print_learned, run_facts
from credibn.work import Workbench

__all__ = ["kbest", "learn"]

_LIMIT_STRUCK, _INTERRUPTED = 3, 130


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
        help="Folder for result.credibn, summary.json, run.json and report.html. A long run keeps there what it has "
        "done: after a kill, or a limit of time, the same command goes on.",
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
    started = time.perf_counter()
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
        time_limit=time_limit,
    )
    searching = _searching(started, time_limit, memory_limit, threads, unit, score_equivalent, engine, posterior_share)
    bench = _prepare_folder(out, threads)
    reading = time.perf_counter() - started
    with stage_bars() as progress:
        found = find_credible_set(
            **source,
            **searching,
            checkpoint=bench,
            bayes_factor=bayes_factor,
            epsilon=epsilon,
            ratio=ratio,
            max_networks=max_networks,
            max_classes=max_classes,
            progress=progress,
        )
    found = replace(found, settings={**found.settings, "time_limit": time_limit})
    _finish(found, source.get("data"), reading, started, out, bench, as_json)


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
    started = time.perf_counter()
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
        time_limit=time_limit,
    )
    searching = _searching(started, time_limit, memory_limit, threads, unit, score_equivalent, engine, posterior_share)
    bench = _prepare_folder(out, threads)
    reading = time.perf_counter() - started
    with stage_bars() as progress:
        find = k_best_classes if classes else k_best_networks
        found = find(k=k, **source, **searching, checkpoint=bench, progress=progress)
    found = replace(found, settings={**found.settings, "time_limit": time_limit})
    _finish(found, source.get("data"), reading, started, out, bench, as_json)


def _searching(
    started: float,
    time_limit: float | None,
    memory_limit: str | None,
    threads: int | None,
    unit: Unit,
    score_equivalent: bool,
    engine: str,
    posterior_share: bool | None,
) -> dict[str, Any]:
    """Return the options of the library that say how to search; the time for reading is part of the limit."""
    return {
        "time_limit": time_left(time_limit, started),
        "memory_limit": bytes_of(memory_limit),
        "n_threads": threads,
        "unit": unit.value,
        "score_equivalent": True if score_equivalent else None,
        "engine": engine.replace("-", "_"),
        "posterior_share": posterior_share,
    }


def _prepare_folder(out: Path | None, threads: int | None) -> Workbench | None:
    """Make the folder and try to write to it: what would fail does so before the work.

    Returns the workbench that keeps in it what a long run has done.
    """
    if out is None:
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OptionError(f"{out} cannot be written ({error.strerror}); choose another folder") from error
    bench = Workbench(n_threads=resolve_threads(threads), folder=out / "checkpoint")
    for left_by_a_kill in out.glob(".credibn-*.tmp"):
        left_by_a_kill.unlink(missing_ok=True)
    if bench.was_begun:
        typer.echo(f"going on with what {out / 'checkpoint'} keeps", err=True)
    return bench


def _finish(
    found: CredibleSet,
    data: Dataset | None,
    reading: float,
    started: float,
    out: Path | None,
    bench: Workbench | None,
    as_json: bool,
) -> None:
    """Write and print what was found, and end with the status that says whether it is complete."""
    with holding_interrupts():  # what was found is worth more than a quick end
        _write_and_print(found, reading, started, out, as_json)
    if out is not None:
        try:
            write_learning_page(replace(found, engine="", timings={}, statistics={}), out / "report.html", data)
        except KeyboardInterrupt:
            message = f"stopped before the report was written: 'credibn report {out} -o report.html' makes it"
            typer.echo(message, err=True)
            raise typer.Exit(_INTERRUPTED) from None
        typer.echo(f"report: {out / 'report.html'}", err=True)
    if bench is not None and out is not None:
        settle(bench, found.stopped_because)
        if any((folder := out / "checkpoint").glob("*")):
            typer.echo(f"{folder} keeps what is done: the same command goes on from there", err=True)
    if not found.complete:
        raise typer.Exit(_INTERRUPTED if found.stopped_because == "interrupted" else _LIMIT_STRUCK)


def _write_and_print(found: CredibleSet, reading: float, started: float, out: Path | None, as_json: bool) -> None:
    """Write the result and its summary, and print what was found.

    What differs from run to run goes to a file of its own: all others have the same bytes for the same question.
    """
    if out is not None:
        found.save(out / "result.credibn")
    seconds = {
        **found.timings,
        "read": reading + found.timings["read"],
        "total": time.perf_counter() - started,
    }
    facts, how_it_went = learned_facts(found), run_facts(found, seconds)
    if out is not None:
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
        _write_json(out / "summary.json", {**facts, **more})
        _write_json(out / "run.json", {**how_it_went, "statistics": dict(found.statistics)})
    if as_json:
        typer.echo(json.dumps({**facts, **how_it_went}))
    else:
        print_learned(found)
        if out is not None:
            typer.echo(f"written to {out}")
    if not found.complete:
        typer.echo(f"incomplete ({found.stopped_because}): {found.guarantee}", err=True)


def _write_json(path: Path, facts: dict[str, Any]) -> None:
    with replacing(path) as sink:
        sink.write((json.dumps(facts, indent=1) + "\n").encode())
