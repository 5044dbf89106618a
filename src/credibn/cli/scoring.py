"""The command that scores: ``score``."""

import os
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from credibn._base.atomic import unwritable
from credibn._run.progress import stage_bars
from credibn.cli.convert import ScoreFormat
from credibn.cli.options import (
    AsJsonOption,
    DataArgument,
    EpsilonFlags,
    ReadFlags,
    ScoreFlags,
    ThreadFlags,
    grouped,
    output,
)
from credibn.cli.text import print_estimate, print_result
from credibn.errors import OptionError, WriteError
from credibn.options import Limits, resolve_epsilon
from credibn.scores import ScoreTable, estimate_scoring, score_parent_sets, write_scores
from credibn.scores.setup import columns_taken

_Engine = Annotated[
    Literal["auto", "table", "descent"],
    typer.Option(help="How to score; the answer is the same.", rich_help_panel="Score"),
]
_Out = Annotated[Path | None, output("--out", "-o", metavar="FILE", help="Score file to write: .jkl, .pss or .scores.")]
_Estimate = Annotated[bool, output("--estimate", help="Predict work and memory; do not score.")]
_Format = Annotated[ScoreFormat | None, output(help="Format of the score file; by default by its extension.")]


@grouped
def score(
    data: DataArgument,
    reading: ReadFlags,
    scoring: ScoreFlags,
    gap: EpsilonFlags,
    limits: ThreadFlags,
    engine: _Engine = "auto",
    out: _Out = None,
    format: _Format = None,
    estimate: _Estimate = False,
    as_json: AsJsonOption = False,
) -> None:
    """Score every candidate parent set that a credible network could use."""
    started = time.perf_counter()
    threads, epsilon = Limits(n_threads=limits.n_threads).threads, resolve_epsilon(gap.bayes_factor, gap.epsilon)
    options = scoring.options()
    dataset = reading.read(data, columns_taken(scoring.score))
    seconds = {"read": time.perf_counter() - started}
    if estimate:
        print_estimate(estimate_scoring(dataset, **options.as_dict(), epsilon=epsilon, engine=engine), as_json)
        return
    if out is not None:
        _rehearse_writing(dataset.names, out, format)
    before = time.perf_counter()
    with stage_bars() as progress:
        table = score_parent_sets(
            dataset, **options.as_dict(), epsilon=epsilon, engine=engine, n_threads=threads, progress=progress
        )
    seconds["score"] = time.perf_counter() - before
    if out is not None:
        write_scores(table, out, format=format)
    seconds["total"] = time.perf_counter() - started
    print_result(dataset, table, out, seconds, as_json)


def _rehearse_writing(names: tuple[str, ...], out: Path, format: ScoreFormat | None) -> None:
    """Write an empty table of these names beside the destination: what would fail does so before the work."""
    try:
        if os.path.isdir(out):
            raise OptionError(f"{out} is a folder; give the name of a file in it")
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".credibn-") as folder:
            rehearsal = ScoreTable.from_candidates(names, [[(0.0, ())]] * len(names))
            write_scores(rehearsal, Path(folder) / out.name, format=format)
    except (OSError, WriteError) as error:  # either names the file beside it
        raise unwritable(out, error, kind=OptionError) from error
