"""The share of the posterior beside a search, estimated where the sum over all networks is too large."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from credibn._run import Run
from credibn.credible.sampling import sample_masks
from credibn.credible.structures import Structures, choices_of
from credibn.credible.weights import weigh
from credibn.errors import Option, OptionError, Phrase, TimeLimitError, TooLargeError, warn
from credibn.learning.score_source import ScoreSource
from credibn.posterior import ShareEstimate
from credibn.posterior.share_estimate import LARGEST_R_HAT, LEAST_EPSILON, N_CHAINS, estimate_share, forecast_share
from credibn.scores import ScoreTable
from credibn.search import tolerance_of

_Estimate = TypeVar("_Estimate")

_SEED = 0
_TOO_MANY = 9.0
"""As a power of ten: this number of networks may be too many to be found."""


def refuse_pruned(source: ScoreSource) -> None:
    """Refuse an estimate from scores that leave out too many parent sets."""
    if source.largest_epsilon < LEAST_EPSILON:
        raise OptionError(
            "the share of the posterior cannot be estimated from scores that were pruned for epsilon {:.4g}: score "
            "with {}, give the data instead, or leave out {}",
            source.largest_epsilon,
            Option("epsilon", math.ceil(LEAST_EPSILON)),
            Option("posterior_share"),
        )


def estimate_beside_search(
    source: ScoreSource, table: ScoreTable, rows: Structures, optimal_score: float, certain: float, run: Run
) -> ShareEstimate | None:
    """Return the share that the networks found hold, or None, with a warning, where it cannot be had.

    Of those within `certain` of the optimum none is missing: their share is estimated, and the share of all that were
    found follows from the masses of both.
    """
    tolerance = tolerance_of(table)
    if run.reason is not None or not rows.n_networks or certain < 0:
        _warn_unknown(run, "the search ended before it was certain of any network")
        return None
    try:
        found = _by_chains(estimate_share, source, table, rows, run, optimal_score, certain + tolerance)
    except (TimeLimitError, KeyboardInterrupt):
        found = None
    except TooLargeError as error:
        _warn_unknown(run, error)
        return None
    if found is None:
        _warn_unknown(run, "the run ended too early for an estimate")
        return None
    if not found.are_chains_agreed:
        warn(
            "the share of the posterior is unsure: the Markov chains disagree (R-hat {:.2f}, above {}); rely on "
            "the networks found and their guarantee, not on the estimate",
            found.r_hat,
            LARGEST_R_HAT,
        )
    more = math.exp(rows.log_mass - float(rows.log_masses(np.array([certain]), tolerance)[0]))
    return replace(
        found,
        value=min(1.0, more * found.value),
        low=min(1.0, more * found.low),
        high=min(1.0, more * found.high),
        standard_error=more * found.standard_error,
    )


def warn_of_size(
    source: ScoreSource, table: ScoreTable, rows: Structures, optimal_score: float, share: float, total: float, run: Run
) -> None:
    """Warn how many networks have a share of the posterior, as estimated, where they are too many to be found soon.

    `total` is the logarithm of the mass of all networks. Without an estimate there is no warning.
    """
    try:
        found = _by_chains(forecast_share, source, table, rows, run, optimal_score, share, total)
    except (TimeLimitError, TooLargeError, KeyboardInterrupt):
        return
    if found is None or found[1] < _TOO_MANY:
        return
    epsilon, log_number = found
    warn(
        "{:.4g} % of the posterior takes about 10^{:.0f} networks, those within about {:.0f} nats of the optimum "
        "(estimated by Markov chains): they may be too many to be found. Stop when you like, or set {}, and get "
        "what is certain by then; ask for less; or average over all networks (exact_posterior in Python, 'credibn "
        "posterior' in the shell)",
        100 * share,
        log_number,
        epsilon,
        Option("time_limit"),
    )


def _by_chains(
    estimate: Callable[..., _Estimate], source: ScoreSource, table: ScoreTable, rows: Structures, run: Run, *what: float
) -> _Estimate:
    """Return an estimate from Markov chains that start from networks of a set."""
    wide = source.table_for(max(LEAST_EPSILON, table.epsilon or 0.0), "posterior")
    masks = np.concatenate([found for found, _ in sample_masks(table, weigh(table, rows, "networks"), N_CHAINS, _SEED)])
    with run.timing("posterior"):
        starts = choices_of(wide, masks)
        return estimate(wide, starts, *what, seed=_SEED, proceed=lambda fraction: run("posterior", fraction))


def _warn_unknown(run: Run, why: str | TooLargeError) -> None:
    """Warn that there is no estimate; where a limit ended the run, the result says so itself."""
    if run.reason is None:
        warn("the share of the posterior is unknown: {}", Phrase("{}", why))
