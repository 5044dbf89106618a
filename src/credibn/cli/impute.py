"""The command ``impute``."""

import math
from pathlib import Path
from typing import Annotated

import typer

from credibn._base.atomic import unwritable
from credibn._base.text import printable
from credibn.cli.command import INTERRUPTED, LIMIT_REACHED
from credibn.cli.files import check_table_destination, deliver, write_table
from credibn.cli.options import (
    AsJsonOption,
    DataArgument,
    EpsilonFlags,
    ReadFlags,
    RunFlags,
    ScoreFlags,
    grouped,
    output,
)
from credibn.cli.text import pair_table
from credibn.errors import OptionError
from credibn.imputation import impute_and_learn

_PAIRS_SHOWN = 30
_EDGES, _R_HAT, _REPORT = "edges.csv", "r_hat.csv", "report.html"
_Out = Annotated[
    Path | None,
    output(
        "--out",
        "-o",
        metavar="DIR",
        help=f"Folder for {_EDGES}, {_R_HAT} and {_REPORT}; or FILE for the pairs alone: .csv, .tsv or .parquet.",
    ),
]
_Imputations = Annotated[int, typer.Option("--imputations", metavar="M", help="How many tables are completed.")]
_Rounds = Annotated[int, typer.Option("--rounds", metavar="R", help="How often the gaps of each are filled anew.")]
_Seed = Annotated[int, typer.Option(metavar="S", help="The same seed gives the same result.")]


@grouped
def impute(
    data: DataArgument,
    reading: ReadFlags,
    scoring: ScoreFlags,
    gap: EpsilonFlags,
    limits: RunFlags,
    n_imputations: _Imputations = 10,
    n_rounds: _Rounds = 10,
    seed: _Seed = 0,
    out: _Out = None,
    as_json: AsJsonOption = False,
) -> None:
    """Learn from a table with gaps: fill them in several times, and average what is learned."""
    folder = _folder_of(out)
    out = out if folder is None else folder / _EDGES
    check_table_destination(out)
    if reading.missing != "error":
        raise OptionError(f"--missing {reading.missing} leaves no gaps to fill in; leave it out")
    of_limits = limits.options()
    result = impute_and_learn(
        data,
        n_imputations=n_imputations,
        n_rounds=n_rounds,
        seed=seed,
        time_limit=of_limits.time_limit,
        progress=True,
        bayes_factor=gap.bayes_factor,
        epsilon=gap.epsilon,
        memory_limit=of_limits.memory_limit,
        n_threads=of_limits.n_threads,
        **scoring.options().as_dict(),
        **{name: value for name, value in reading.options().as_dict().items() if name != "missing"},
    )
    edges, apart = result.edge_probabilities(), result.r_hat()
    facts = {
        "share_missing": result.share_missing,
        "n_imputations": len(result.sets),
        "n_rounds": result.n_rounds,
        "largest_r_hat": float(apart.max()) if math.isfinite(apart.max()) else None,  # JSON has no infinity
        "complete": result.complete,
        "stopped_because": result.stopped_because,
    }
    if folder is not None:
        facts["report"] = str(folder / _REPORT)
        write_table(apart.rename_axis("of").reset_index(), folder / _R_HAT)
        result.write_report(folder / _REPORT)
    if out is not None or as_json:
        deliver(edges, facts, out, as_json)
    if not as_json:
        typer.echo(result.summary())
        if out is None:
            typer.echo(f"\n{pair_table(edges[:_PAIRS_SHOWN])}")
            if len(edges) > _PAIRS_SHOWN:
                typer.echo(f"... and {len(edges) - _PAIRS_SHOWN:,} more")
    if folder is not None:
        typer.echo(f"report: {printable(str(folder / _REPORT))}", err=True)
    if result.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not result.complete:
        raise typer.Exit(LIMIT_REACHED)


def _folder_of(out: Path | None) -> Path | None:
    """Return the folder to write to, made where it is not there; None for a file."""
    if out is None or (out.suffix and not out.is_dir()):
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error, kind=OptionError) from error
    return out
