"""The command ``posterior``: the sum over all networks."""

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from credibn._base.text import printable
from credibn.cli.options import AsJsonOption, ReadFlags, RunFlags, ScoreFlags, SourceFlags, grouped, output
from credibn.cli.text import pair_table
from credibn.learning.all_networks import sum_over_networks
from credibn.learning.start import start
from credibn.options import SearchOptions
from credibn.posterior import Posterior
from credibn_command import start_time

if TYPE_CHECKING:  # pandas takes a while to import: the other commands do not wait for it
    from pandas import DataFrame

_PAIRS_SHOWN = 30
_Total = Annotated[bool, output("--total", help="Only the sum, without probabilities: a third of the work.")]


@grouped
def posterior(
    source: SourceFlags,
    reading: ReadFlags,
    scoring: ScoreFlags,
    limits: RunFlags,
    total: _Total = False,
    as_json: AsJsonOption = False,
) -> None:
    """Compute exact averages over all networks, for up to 24 variables: the log mass and every edge."""
    started = start_time()
    with start(
        source.data,
        source.scores,
        reading.options(),
        scoring.options(),
        SearchOptions(),
        limits.options(),
        progress=True,
        began=started,
        limits_parents=False,
    ) as call:
        if call.summary is not None:
            typer.echo(printable(call.summary), err=True)
        summed = sum_over_networks(call.source, not total, call.run)
    pairs = None if total else _pairs(summed)
    if as_json:
        facts = {
            "n_variables": summed.n_variables,
            "n_rows": summed.provenance.get("n_rows"),
            "score": summed.provenance.get("score"),
            "log_mass": summed.log_mass,
            "log_mass_bound": summed.log_mass_bound,
            "rounding_error": summed.rounding_error,
            "seconds": round(time.monotonic() - started, 6),
            "pairs": None if pairs is None else pairs.to_dict("records"),
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(f"The scores of all networks over {summed.n_variables:,} variables sum to exp({summed.log_mass:.6f}).")
    if pairs is not None and len(pairs):
        typer.echo(f"Probabilities over all networks:\n\n{pair_table(pairs[:_PAIRS_SHOWN])}")
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
