"""From data to the credible set, in one call: read, score, search, collect.

When a limit is reached during the search, the result holds what was found and says so. When the time ends during
scoring, nothing exact can be said yet: the result is the best network that a local search finds, without a bound.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import Any

from credibn.credible import CredibleSet
from credibn.learning.any_size import find_any_size
from credibn.learning.best_first import find_best
from credibn.learning.credible_share import find_share
from credibn.learning.runs import best_so_far, collect, find_optimum, why_stopped, within_limits
from credibn.learning.start import Learning, started
from credibn.options import Edges, Progress, epsilon_of_ratio, suggesting
from credibn.scores import LocalScore, ScoreTable, SetScore
from credibn.scores.priors import StructurePrior


@suggesting
def learn(
    data: Any = None,
    *,
    scores: ScoreTable | str | PathLike[str] | None = None,
    score: str | SetScore | LocalScore = "auto",
    bayes_factor: float | None = None,
    epsilon: float | None = None,
    ratio: float | None = None,
    share: float | None = None,
    equivalent_sample_size: float | None = None,
    forbidden_edges: Edges | None = None,
    required_edges: Edges | None = None,
    tiers: Sequence[Iterable[str]] | None = None,
    max_parents: int | Mapping[str, int] | None = None,
    prior: StructurePrior | None = None,
    score_equivalent: bool | None = None,
    unit: str = "auto",
    engine: str = "auto",
    posterior_share: bool | None = None,
    max_networks: int | None = None,
    max_classes: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    n_threads: int | None = None,
    keep_counts: bool = True,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
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
) -> CredibleSet:
    """Find every network whose score is within epsilon of the optimum, by Markov equivalence class.

    Parameters
    ----------
    data : path, DataFrame, Arrow table, NumPy array, DuckDB relation, Ibis table, Dataset or ScoreTable
        See `read_data`.
    scores : ScoreTable or path of a score file, optional
        Instead of data; then no option of scoring may be given.
    score, equivalent_sample_size, forbidden_edges, required_edges, tiers, max_parents, prior
        See `score_parent_sets`.
    bayes_factor, epsilon, ratio : float, optional
        Give one of them: how much worse than the best a network may score. epsilon = ln(bayes_factor); with a ratio
        rho >= 1, a network may cost rho times the optimum (Liao et al., equation 1; a cost is minus a log score), so
        epsilon = (rho - 1) * OPT. By default a Bayes factor of 20. Scoring needs epsilon, so a ratio takes two
        rounds: scoring and search for epsilon = 0 prove OPT, a second round uses the epsilon that follows.
    share : float, optional
        Instead of these, a share of the posterior probability of all networks, such as 0.95: then epsilon is the
        smallest whose set holds it, and the result says which that is. For up to 24 variables.
    score_equivalent : bool, optional
        For scores of unknown origin: True asserts that Markov equivalent networks score the same.
    unit : {"auto", "classes", "networks"}
        What to search for. By default classes, if all members of a class are credible: one member of each is found,
        the others are counted. With constraints, or a score or prior that distinguishes members, networks are listed
        one by one and grouped afterwards; then a class counts only its credible members.
    engine : str
        The search engine, by default chosen by predicted cost; the answer is the same. "factored" counts the networks
        and lists none: see `CredibleSet.structures`. By default it is taken where listing does not end, or would list
        more than four million networks or classes.
    posterior_share : bool, optional
        Whether to compute the share of the posterior probability of all networks that the set holds, see
        `exact_posterior`, and the probabilities of edges over all networks; by default if it is predicted to take at
        most ten seconds, about 19 variables. It is unknown if a limit is reached first. With more than 24 variables,
        True asks for an estimate with its error, `CredibleSet.share_estimate`; by default there is none.
    max_networks : int, optional
        Return at most this many networks: complete classes, best first.
    max_classes : int, optional
        Return this many of the best classes, and all that tie with the last. If networks are listed one by one, all
        down to the score of the last class.
    time_limit : float, optional
        Seconds for the whole run. The search stops early enough to sort and group what it has found.
    memory_limit : int or str, optional
        Bytes, or text such as "4G" (GiB), for the engine and what it finds, in addition to what the process already
        uses; by default four fifths of what the machine, the container and the limits of the process leave.
    n_threads : int, optional
        All cores by default; the result is the same for any number.
    keep_counts : bool
        Whether the result holds the counts, or moments, of the table that its networks need for prediction, and the
        states of the columns; it never holds rows. They are also left out where they would take more than 32 MiB, or
        longer than the time limit.
    executor : concurrent.futures.Executor, optional
        Runs the work as tasks in other processes or on other machines: Dask's ``Client.get_executor()``,
        ``mpi4py.futures``, loky, a ProcessPoolExecutor. By default threads of this process do it. The answer is the
        same.
    checkpoint : path of a folder, optional
        Where finished tasks are saved from time to time. After a kill or a time limit, the same call with the same
        folder resumes and gives the same answer. Removed when the work is finished.
    progress : callable or bool, optional
        By default a bar where somebody watches a terminal or a notebook, after two seconds; False shows none. A
        function is called a few times per second with the stage and the fraction done; the work stops if it returns
        False. A method ``tally`` of it, if there is one, is called before with what the search has found so far, a
        `credibn.search.Tally`.
    columns, drop, only, encoding, decimal, thousands, comment
        How the table is read, see `read_data`; by default the columns are what the score takes.
    state_names, weights, interventions, missing, missing_values, discretise, max_states
        Likewise.

    Returns
    -------
    CredibleSet
        `complete`, unless a limit was reached, `progress` said stop, or Ctrl-C or SIGTERM came. If that was before
        all parent sets were scored, it holds the best network of a local search, and `unexplored_bound` is infinite.

    Raises
    ------
    DataError, OptionError, FileFormatError, TooLargeError
        Also where ``posterior_share=True`` cannot be had, unless for too little memory after the search.
    TimeLimitError
        When the time limit was reached while the table was read, or before any network was found, which can happen with
        scores that are given.
    KeyboardInterrupt
        When interrupted then, or a second time.

    Warns
    -----
    CredibnWarning
        When the time ended before all parent sets were scored; when scores do not say for which epsilon they were
        pruned; when there is too little memory for the share that ``posterior_share=True`` asks for.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(80) // 40
    >>> found = learn(np.column_stack([x, x, np.arange(80) % 2]), bayes_factor=3)
    >>> [sorted(network.edges) for network in found.networks()]
    [[('X0', 'X1')], [('X1', 'X0')]]
    """
    with started(locals()) as call:
        return find_credible_set(call)


def find_credible_set(call: Learning) -> CredibleSet:
    """Return every network within epsilon of the optimum, as far as the limits of the run allow."""
    limits, gap, ratio = call.limits, call.search.gap, call.search.ratio
    if call.search.share is not None:
        return find_share(call, call.search.share)
    with call.run.handling_interrupts():
        first = None
        if gap is None:  # a ratio needs the optimum first
            assert ratio is not None
            table = call.source.try_table_for(0.0)
            first = best_so_far(call) if table is None else find_optimum(call, table)
            gap = epsilon_of_ratio(ratio, first.optimal_score)
            if first.found.stopped:
                return collect(call, first, first.rows, gap, why_stopped(call, first.found), first.bound)
        table = call.source.try_table_for(gap)
        if table is None and first is not None:
            return collect(call, first, first.rows, gap, call.run.reason, first.optimal_score)
        quotas = limits.max_networks, limits.max_classes
        if table is None:
            answer = best_so_far(call)
        elif quotas == (None, None):
            answer = find_any_size(call, table, gap)
        else:
            answer = find_best(call, table, gap, *quotas)
        rows, reason, bound = within_limits(call, answer, *quotas)
        return collect(call, answer, rows, gap, reason, bound)
