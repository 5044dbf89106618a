"""The posterior of all networks from data, and what a credible set needs of it: the total mass."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import Any

from credibn._run import Run
from credibn._run.memory import explaining_shortage
from credibn.errors import CredibnError, CredibnWarning, OptionError, TimeLimitError, TooLargeError
from credibn.learning.options import Edges, Progress, as_lists, resolve_bytes, resolve_seconds
from credibn.learning.score_source import ScoreSource, open_source
from credibn.posterior import Posterior, epsilon_for_all, estimate_posterior, posterior_of_scores
from credibn.scores import LocalScore, ScoreTable, SetScore
from credibn.scores.priors import StructurePrior
from credibn.scores.scoring import resolve_threads

__all__ = ["exact_posterior", "find_log_total_mass"]

_CHEAP_VARIABLES = 14
"""So many take some hundredths of a second."""
_NEGLIGIBLE = 1e-6
"""Nats by which pruning may have changed the log of the sum."""


def exact_posterior(
    data: Any = None,
    *,
    scores: ScoreTable | str | PathLike[str] | None = None,
    score: str | SetScore | LocalScore = "bic",
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
    progress: Progress | None = None,
    **read_options: Any,
) -> Posterior:
    """Compute the posterior of all networks, exactly, for up to 24 variables.

    Parameters
    ----------
    data, scores, score, equivalent_sample_size, forbidden_edges, required_edges, tiers, max_parents, prior
        As for `learn`, with the ``read_options``. Data are scored for an epsilon so large that what pruning leaves out
        is below rounding; scores that are given may have been pruned for less, see `Posterior.log_mass_bound`.
    marginals : bool
        Whether the probabilities of parent sets, edges and paths are wanted besides the sum: about three times the
        work.
    time_limit : float, optional
        Seconds for everything together.
    memory_limit : int or str, optional
        Bytes, or text such as "4G" (GiB).
    n_threads : int, optional
        For scoring; the sum takes one.
    executor : concurrent.futures.Executor, optional
        For scoring, as for `learn`.
    progress : callable, optional
        Called a few times per second with the stage and the fraction done; the work stops if it returns False.

    Returns
    -------
    Posterior

    Raises
    ------
    DataError, OptionError, FileFormatError, TooLargeError
    TimeLimitError
        When the time limit was reached: a partial sum means nothing.
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
    max_bytes, threads = resolve_bytes(memory_limit), resolve_threads(n_threads)
    run = Run(progress, resolve_seconds(time_limit), max_bytes, threads, executor)
    scoring = {
        "score": score,
        "equivalent_sample_size": equivalent_sample_size,
        "forbidden_edges": forbidden_edges,
        "required_edges": required_edges,
        "tiers": tiers,
        "max_parents": max_parents,
        "prior": prior,
    }
    with explaining_shortage():
        source = open_source(
            data,
            scores,
            scoring={name: as_lists(value) for name, value in scoring.items()},
            reading=read_options,
            run=run,
        )
        return _posterior(source, marginals, run)


def _posterior(source: ScoreSource, marginals: bool, run: Run) -> Posterior:
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
                "the time limit was reached during the sum over all networks, and a partial sum means nothing; raise "
                "time_limit or use fewer variables"
            ) from None
        if run.reason == "memory_limit":
            raise TooLargeError(
                "the sum over all networks took more memory than it may; raise memory_limit or use fewer variables"
            ) from None
        raise


def _is_cheap(source: ScoreSource) -> bool:
    return source.n_searched() <= _CHEAP_VARIABLES and source.is_cheap_to_score(epsilon_for_all(source.n_variables))


def find_log_total_mass(source: ScoreSource, wanted: bool | None, run: Run) -> float | None:
    """Return the log of the sum of exp(score) over all networks, or None where it is not wanted or cannot be had.

    It comes after the search, so a limit of time or memory costs the share alone, never the networks found.

    Raises
    ------
    OptionError
        When it is wanted and the scores given were pruned too much.

    Warns
    -----
    CredibnWarning
        When it is wanted and there is too little memory.
    """
    if wanted is False or run.reason is not None:
        return None
    try:
        with explaining_shortage():
            if wanted is None and not _is_cheap(source):
                return None
            found = _posterior(source, False, run)
    except (TimeLimitError, KeyboardInterrupt):
        return None
    except TooLargeError as error:
        if wanted:
            warnings.warn(f"the share of the posterior is unknown: {error}", CredibnWarning, stacklevel=4)
        return None
    except CredibnError:
        if wanted is None:
            return None
        raise
    bound = found.log_mass_bound
    if bound is not None and bound - found.log_mass > _NEGLIGIBLE:
        if wanted is None:
            return None
        raise OptionError(
            f"the share of the posterior cannot be computed from scores that were pruned for epsilon "
            f"{source.largest_epsilon:.4g}: score with epsilon={math.ceil(epsilon_for_all(source.n_variables))}, give "
            "the data instead, or leave out posterior_share"
        )
    return found.log_mass
