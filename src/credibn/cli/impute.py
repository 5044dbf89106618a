"""The command ``impute``."""

import math
from typing import Annotated

import typer

from credibn.cli.command import INTERRUPTED, LIMIT_REACHED
from credibn.cli.files import check_table_destination, deliver
from credibn.cli.options import (
    AsJsonOption,
    DataArgument,
    EpsilonFlags,
    LimitFlags,
    ReadFlags,
    ScoreFlags,
    TableOutOption,
    grouped,
)
from credibn.cli.text import pair_table
from credibn.errors import OptionError
from credibn.imputation import impute_and_learn

_PAIRS_SHOWN = 30
_Imputations = Annotated[int, typer.Option("--imputations", metavar="M", help="How many tables are completed.")]
_Rounds = Annotated[int, typer.Option("--rounds", metavar="R", help="How often the gaps of each are filled anew.")]
_Seed = Annotated[int, typer.Option(metavar="S", help="The same seed gives the same result.")]


@grouped
def impute(
    data: DataArgument,
    reading: ReadFlags,
    scoring: ScoreFlags,
    gap: EpsilonFlags,
    limits: LimitFlags,
    n_imputations: _Imputations = 10,
    n_rounds: _Rounds = 10,
    seed: _Seed = 0,
    out: TableOutOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Learn from a table with gaps: fill them in several times, and average what is learned."""
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
    if out is not None or as_json:
        deliver(edges, facts, out, as_json)
    if not as_json:
        typer.echo(result.summary())
        if out is None:
            typer.echo(f"\n{pair_table(edges[:_PAIRS_SHOWN])}")
            if len(edges) > _PAIRS_SHOWN:
                typer.echo(f"... and {len(edges) - _PAIRS_SHOWN:,} more")
    if result.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not result.complete:
        raise typer.Exit(LIMIT_REACHED)
