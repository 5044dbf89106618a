"""The registry of search engines, the choice among them, and the check of what they return.

An engine is an object with the members of `Engine`, entered in `ENGINES` under its name: it inherits the whole test
suite. All engines give the same answer, so the choice is a matter of time and memory only.
"""

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._run.memory import is_out_of_memory, limit_and_fix
from credibn._run.tally import FINISHING, Tally
from credibn.errors import Option, OptionError, Phrase, TooLargeError
from credibn.scores import ScoreTable
from credibn.search.dynamic_programming import DynamicProgramming
from credibn.search.integer_program import IntegerProgram
from credibn.search.memory import within_memory
from credibn.search.problem import Engine, EngineEstimate, Found, SearchProblem, exact_scores

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (DynamicProgramming(), IntegerProgram())}
"""The engines by name, in the order in which equal estimates are preferred."""
PATIENCE = 5.0
"""Listing by the integer program takes longer, but a small part of the memory."""
_TIE = 1e-6


def check_engine_name(name: str) -> None:
    """Refuse the name of an engine that does not exist."""
    if name != "auto" and name not in ENGINES:
        raise OptionError(f"unknown engine {name!r}; choose one of {', '.join(['auto', *ENGINES])}")


def choose_engine(problem: SearchProblem, name: str = "auto") -> Engine:
    """Return the engine of this name, or with ``"auto"`` the one that is predicted to be the fastest.

    An engine whose prediction is firm (dynamic programming) but says more than a moment gives another one, whose time
    cannot be known beforehand, as long a try first.
    """
    check_engine_name(name)
    candidates = list(ENGINES.values()) if name == "auto" else [ENGINES[name]]
    estimates = {engine.name: within_memory(problem, engine.estimate(problem)) for engine in candidates}
    possible = [engine for engine in candidates if estimates[engine.name].possible]
    possible.sort(key=lambda engine: estimates[engine.name].seconds)
    if not possible:
        each = [Phrase("{}: {}", engine, estimate.reason) for engine, estimate in estimates.items()]
        reasons = Phrase("; ".join(["{}"] * len(each)) or "none is installed", *each)
        if name == "auto":
            raise TooLargeError(
                "no engine can search {} variables with {:,} candidate parent sets ({})",
                problem.n_variables,
                len(problem.costs),
                reasons,
            )
        raise TooLargeError(
            "{} cannot take this problem ({}); use {}, or another one",
            Option("engine", name),
            reasons,
            Option("engine", "auto"),
        )
    first, *others = possible
    firm = [engine for engine in others if estimates[engine.name].is_firm]
    if estimates[first.name].is_firm or not firm:
        return first
    return _InTurn(first, firm[0], estimates[firm[0].name].seconds)


@dataclass(frozen=True)
class _InTurn:
    """Gives the first engine as many seconds as the second is predicted to take; then the second decides.

    The first continues where its rest should take less, judged by what it has done; and for `PATIENCE` times as long
    where it has proven the optimum, so that only the listing is left, which the prediction does not count.
    """

    first: Engine
    second: Engine
    seconds: float
    name: str = "auto"

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        return self.second.estimate(problem)

    def search(self, problem: SearchProblem) -> Found:
        begin, share_done, ran_out = time.monotonic(), 0.0, False

        def is_in_time(stage: str, fraction: float) -> bool:
            nonlocal share_done, ran_out
            if stage in FINISHING:  # what the first has found is for nothing once the second takes over
                return not ran_out
            share_done = fraction if stage == "branches" else share_done
            share = max(share_done, fraction if stage == "enumeration" else 0.0)
            allowed = self.seconds * (PATIENCE if _is_proven(problem.run.tally()) else 1.0)
            spent = time.monotonic() - begin
            ran_out = spent > allowed and spent * (1.0 - share) >= self.seconds * share
            return not ran_out

        with problem.run.checking(is_in_time):
            found = self.first.search(problem)
        if not (found.stopped and ran_out):
            return replace(found, engine=self.first.name)
        del found  # it may be large
        return replace(self.second.search(problem), engine=self.second.name)


def _is_proven(tally: Tally | None) -> bool:
    """Whether no network is better than the best one known."""
    return tally is not None and tally.bound - tally.best_score < _TIE


def run_search(problem: SearchProblem, table: ScoreTable, engine: Engine) -> tuple[Found, NDArray[np.float64]]:
    """Search, sum every score again with compensation, and return the rows in order with these scores.

    The order is by score, the best first, then by choices: it does not depend on the engine. What an engine returns is
    checked: a `RuntimeError` is a bug in it.
    """
    try:
        found = engine.search(problem)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise TooLargeError(
            "{} ran out of memory ({}): {}; or lower {} or {}, or set {}",
            engine.name,
            error,
            limit_and_fix(),
            *map(Option, ("bayes_factor", "epsilon", "max_networks")),
        ) from error
    found = replace(found, engine=found.engine or engine.name)
    scores = exact_scores(table, found.choices, problem.run.n_threads)
    if not _core.networks_in_order(scores, found.choices):
        order = np.lexsort((*found.choices.T[::-1], -scores))
        scores = scores[order]
        found = replace(found, choices=found.choices[order], costs=found.costs[order], sizes=found.sizes[order])
    if len(scores):
        found = replace(found, best_cost=min(found.best_cost, float(-scores[0])))
    _check_classes(problem, found)
    _check_credible(problem, found, scores, engine.name)
    return found, scores


def _check_classes(problem: SearchProblem, found: Found) -> None:
    """Refuse scores that are not equivalent: a class was left out that is credible, whatever was not searched."""
    limit = min(found.best_cost, found.unexplored_bound) + problem.epsilon
    if found.is_cut and len(found.costs):
        limit = min(limit, float(found.costs[-1]))
    if math.isfinite(found.class_left_out) and found.class_left_out <= limit + problem.tolerance:
        raise OptionError(
            "a network that is equivalent to one found uses a parent set that the scores do not list, so not all "
            "members of a class are credible: use {} to list networks one by one",
            Option("unit", "networks"),
        )


def _check_credible(problem: SearchProblem, found: Found, scores: NDArray[np.float64], engine: str) -> None:
    best, last = (float(scores[0]), float(scores[-1])) if len(scores) else (-math.inf, math.inf)
    lowest = -found.best_cost - problem.epsilon - 2 * problem.tolerance
    if last < lowest:
        raise RuntimeError(f"{engine} returned a network of score {last}, below {lowest}: please report this bug")
    if -found.best_cost > best + problem.tolerance and not found.stopped:
        raise RuntimeError(
            f"{engine} knows of a network of score {-found.best_cost}, but the best it returned is {best}: please "
            "report this bug"
        )
    if not _core.networks_in_order(scores, found.choices):
        raise RuntimeError(f"{engine} returned a network twice: please report this bug")
