"""The posterior of all networks from data, and what a credible set needs of it: the total mass, and the edges."""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import Any

from credibn._run import Run
from credibn._run.memory import explaining_shortage, usable_bytes
from credibn.errors import CredibnError, Option, OptionError, TimeLimitError, TooLargeError, warn
from credibn.learning.score_source import ScoreSource
from credibn.learning.start import started
from credibn.options import Edges, Progress, suggesting
from credibn.posterior import MOST_VARIABLES, Posterior, epsilon_for_all, estimate_posterior, posterior_of_scores
from credibn.scores import LocalScore, ScoreTable, SetScore
from credibn.scores.priors import StructurePrior

SECONDS_BY_DEFAULT = 10.0
"""What the sum over all networks may take, as predicted, where nobody asked for it."""
_NEGLIGIBLE = 1e-6
"""Nats by which pruning may have changed the log of the sum."""


@suggesting
def exact_posterior(
    data: Any = None,
    *,
    scores: ScoreTable | str | PathLike[str] | None = None,
    score: str | SetScore | LocalScore = "auto",
    equivalent_sample_size: float | None = None,
    forbidden_edges: Edges | None = None,
    required_edges: Edges | None = None,
    tiers: Sequence[Iterable[str]] | None = None,
    max_parents: int | Mapping[str, int] | None = None,
    prior: StructurePrior | None = None,
    marginals: bool = True,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    n_threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | bool | None = None,
    columns: str | Mapping[str, str] | None = None,
    drop: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    state_names: Mapping[str, Sequence[object]] | None = None,
    weights: str | None = None,
    interventions: Any = None,
    missing: str = "error",
    missing_values: Iterable[str] | None = None,
    discretise: Any = None,
    max_states: int = 100,
) -> Posterior:
    """Compute the posterior of all networks, exactly, for up to 24 variables.

    Parameters
    ----------
    data, scores, score, equivalent_sample_size, forbidden_edges, required_edges, tiers, max_parents, prior
        As for `learn`. Data are scored for an epsilon so large that the pruned sets are below rounding; given
        scores may have been pruned for a smaller one, see `Posterior.log_mass_bound`.
    marginals : bool
        Whether to compute the probabilities of parent sets, edges and paths as well as the sum, for about three times
        the work.
    time_limit : float, optional
        Seconds for the whole run.
    memory_limit : int or str, optional
        Bytes, or text such as "4G" (GiB).
    n_threads : int, optional
        For scoring; the sum uses one thread.
    executor : concurrent.futures.Executor, optional
        For scoring, as for `learn`.
    progress : callable or bool, optional
        By default a bar where somebody watches a terminal or a notebook, after two seconds; False shows none. A
        function is called a few times per second with the stage and the fraction done; the work stops if it returns
        False.
    columns, drop, only, encoding, decimal, thousands, comment
        How the table is read, see `read_data`; by default the columns are what the score takes.
    state_names, weights, interventions, missing, missing_values, discretise, max_states
        Likewise.

    Returns
    -------
    Posterior

    Raises
    ------
    DataError, OptionError, FileFormatError, TooLargeError
    TimeLimitError
        If the time limit is reached: a partial sum is useless.
    KeyboardInterrupt
        When interrupted, or when `progress` returned False.

    Warns
    -----
    CredibnWarning
        When scores do not say for which epsilon they were pruned.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40) // 20
    >>> posterior = exact_posterior(np.column_stack([x, x, np.arange(40) % 2]))
    >>> posterior.parent_set_probabilities("X1").round(3)
        parents  probability
    0     (X0,)        0.489
    1        ()        0.446
    2     (X2,)        0.054
    3  (X0, X2)        0.011
    """
    with started(locals(), limits_parents=False) as call:
        return sum_over_networks(call.source, marginals, call.run)


def sum_over_networks(source: ScoreSource, marginals: bool, run: Run) -> Posterior:
    """Score for an epsilon that covers all networks, and sum over them."""
    estimate_posterior(source.n_searched(), marginals=marginals)  # refuses too many variables before they are scored
    table = source.table_for(epsilon_for_all(source.n_variables), "posterior")
    try:
        with run.timing("posterior"):
            return posterior_of_scores(
                table,
                marginals=marginals,
                memory_limit=run.max_bytes,
                progress=lambda fraction: run("posterior", fraction),
            )
    except KeyboardInterrupt:
        if run.reason == "time_limit":
            raise TimeLimitError(
                "the time limit was reached during the sum over all networks, and a partial sum is useless; raise "
                "{} or use fewer variables",
                Option("time_limit"),
            ) from None
        if run.reason == "memory_limit":
            raise TooLargeError(
                "the sum over all networks exceeded the memory limit; raise {} or use fewer variables",
                Option("memory_limit"),
            ) from None
        raise


def _marginals_allowed(source: ScoreSource, wanted: bool, run: Run) -> bool | None:
    """Return whether the edges can be had too, or the sum alone; None where even that is predicted to take too much.

    The prediction counts steps. It knows neither the machine nor the threads, so the same call gives the same answer.
    """
    n_searched = source.n_searched()
    if n_searched > MOST_VARIABLES and not wanted:
        return None
    left, most_bytes = run.seconds_left(), usable_bytes() if run.max_bytes is None else run.max_bytes
    most_seconds = min(math.inf if wanted else SECONDS_BY_DEFAULT, math.inf if left is None else left)
    scoring = 0.0 if most_seconds == math.inf else source.seconds_to_score(epsilon_for_all(source.n_variables))
    for marginals in (True, False):
        needed = estimate_posterior(n_searched, marginals=marginals)
        if needed.seconds + scoring <= most_seconds and needed.memory_bytes <= most_bytes:
            return marginals
    return False if wanted else None  # where it is wanted, the limits themselves say what is too much


def sum_beside_search(source: ScoreSource, wanted: bool | None, run: Run) -> Posterior | None:
    """Return the posterior of all networks, or None where it is not wanted or cannot be had.

    It comes after the search, so a limit of time or memory costs the share alone, never the networks found.
    """
    if wanted is False or run.reason is not None:
        return None
    try:
        with explaining_shortage():
            marginals = _marginals_allowed(source, bool(wanted), run)
            if marginals is None:
                return None
            found = sum_over_networks(source, marginals, run)
    except (TimeLimitError, KeyboardInterrupt):
        return None
    except TooLargeError as error:
        if wanted:
            warn("the share of the posterior is unknown: {}", error)
        return None
    except CredibnError:
        if wanted is None:
            return None
        raise
    if _is_exact(found):
        return found
    if wanted is None:
        return None
    raise _pruned(source, Option("posterior_share"))


def _is_exact(posterior: Posterior) -> bool:
    bound = posterior.log_mass_bound
    return bound is None or bound - posterior.log_mass <= _NEGLIGIBLE


def _pruned(source: ScoreSource, option: Option) -> OptionError:
    return OptionError(
        "the share of the posterior cannot be computed from scores that were pruned for epsilon {:.4g}: score with "
        "{}, give the data instead, or leave out {}",
        source.largest_epsilon,
        Option("epsilon", math.ceil(epsilon_for_all(source.n_variables))),
        option,
    )


def sum_before_search(source: ScoreSource, run: Run) -> Posterior:
    """Return the posterior of all networks, where the search needs it: what cannot be had is an error."""
    with explaining_shortage():
        found = sum_over_networks(source, bool(_marginals_allowed(source, False, run)), run)
    if not _is_exact(found):
        raise _pruned(source, Option("share"))
    return found
