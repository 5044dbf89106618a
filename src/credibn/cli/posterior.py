"""The command ``posterior``: the sum over all networks."""

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from credibn._run.progress import stage_bars
from credibn.cli.options import (
    AsJsonOption,
    ContinuousOption,
    DataArgument,
    DiscretiseOption,
    EdgePenaltyOption,
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
from credibn.cli.text import pair_table
from credibn.learning import exact_posterior
from credibn.posterior import Posterior
from credibn_command import start_time

if TYPE_CHECKING:  # pandas takes a while to import: the other commands do not wait for it
    from pandas import DataFrame

__all__ = ["posterior"]

_PAIRS_SHOWN = 30
_Total = Annotated[bool, typer.Option("--total", help="Only the sum, no probabilities: a third of the work.")]


def posterior(
    data: DataArgument = None,
    scores: ScoresOption = None,
    score: ScoreOption = ScoreName.BIC,
    ess: SampleSizeOption = None,
    max_parents: MaxParentsOption = None,
    forbid: ForbidOption = None,
    require: RequireOption = None,
    tiers: TiersOption = None,
    edge_penalty: EdgePenaltyOption = None,
    total: _Total = False,
    time_limit: TimeLimitOption = None,
    memory_limit: MemoryLimitOption = None,
    threads: ThreadsOption = None,
    weights: WeightsOption = None,
    missing: MissingOption = Missing.ERROR,
    discretise: DiscretiseOption = None,
    continuous: ContinuousOption = None,
    max_states: MaxStatesOption = 100,
    as_json: AsJsonOption = False,
) -> None:
    """Average over all networks there are, exactly, for up to 24 variables: the log mass, and each edge."""
    started = start_time()
    max_bytes = bytes_of(memory_limit)
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
    with stage_bars() as progress:
        summed = exact_posterior(
            **source,
            marginals=not total,
            time_limit=time_left(time_limit, started),
            memory_limit=max_bytes,
            n_threads=threads,
            progress=progress,
        )
    pairs = None if total else _pairs(summed)
    if as_json:
        facts = {
            "n_variables": summed.n_variables,
            "n_rows": summed.provenance.get("n_rows"),
            "score": summed.provenance.get("score"),
            "log_mass": summed.log_mass,
            "log_mass_bound": summed.log_mass_bound,
            "rounding_error": summed.rounding_error,
            "seconds": round(time.perf_counter() - started, 6),
            "pairs": None if pairs is None else pairs.to_dict("records"),
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(f"The scores of all networks over {summed.n_variables:,} variables sum to exp({summed.log_mass:.6f}).")
    if pairs is not None and len(pairs):
        typer.echo(f"\n{pair_table(pairs[:_PAIRS_SHOWN])}")
        if len(pairs) > _PAIRS_SHOWN:
            typer.echo(f"... and {len(pairs) - _PAIRS_SHOWN:,} more")


def _pairs(summed: Posterior) -> "DataFrame":
    """Return how probable each alternative is for each pair of variables, the likeliest to be joined first."""
    import numpy as np
    import pandas as pd

    probability = summed.edge_probabilities().to_numpy()
    first, second = np.triu_indices(summed.n_variables, 1)
    forward, backward = probability[first, second], probability[second, first]
    names = np.array(summed.names, dtype=object)
    frame = pd.DataFrame(
        {
            "first": names[first],
            "second": names[second],
            "forward": forward,
            "backward": backward,
            "absent": np.round(np.clip(1 - forward - backward, 0.0, 1.0), summed.n_decimals),
        }
    )
    return frame.sort_values("absent", kind="stable", ignore_index=True)
