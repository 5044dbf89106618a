"""The smallest epsilon whose networks hold a share of the posterior probability of all networks.

The sum over all networks says how much mass is wanted. Epsilon grows until the set has it; then the set is cut where
its best networks have just enough.
"""

import math
from dataclasses import dataclass

import numpy as np

from credibn.credible import CredibleSet
from credibn.learning.all_networks import sum_before_search
from credibn.learning.any_size import counting, find_any_size
from credibn.learning.estimated_share import warn_of_size
from credibn.learning.runs import Answer, best_so_far, collect, why_stopped
from credibn.learning.start import Learning
from credibn.options import DEFAULT_BAYES_FACTOR
from credibn.posterior import epsilon_for_all
from credibn.search import tolerance_of

_LEAST_STEP, _MOST_STEP = 0.4, 3.0
"""Nats by which epsilon grows. Work grows with its exponential: far too long a step costs more than one too many."""
_MARGIN = 0.2
"""Nats beyond the prediction, which is rather short: a step that just misses the share doubles the work."""
_LOOK_BACK = 0.7
_MANY = 10_000
"""Networks: where these have far too little of the posterior, it is estimated how many have enough."""


@dataclass(frozen=True, eq=False)
class _Step:
    """What was found within an epsilon, and why it may not be all."""

    answer: Answer
    epsilon: float
    reason: str | None

    @property
    def bound(self) -> float:
        """No network that scores above this is missing."""
        last = self.answer.optimal_score - self.epsilon
        return last if self.reason is None else max(self.answer.bound, last)

    def epsilon_holding(self, log_mass: float) -> float | None:
        """Return the smallest epsilon whose networks have this mass, of those of which none is missing."""
        answer = self.answer
        gap = answer.rows.smallest_epsilon(log_mass)
        if gap is None or self.reason is None:
            return gap
        return gap if answer.optimal_score - gap > self.bound + tolerance_of(answer.table) else None


def find_share(call: Learning, share: float) -> CredibleSet:
    """Return the networks within the smallest epsilon that holds the share, as far as the limits of the run allow."""
    with call.run.handling_interrupts():
        over_all = sum_before_search(call.source, call.run)
        log_wanted = over_all.log_mass + math.log(share)
        step = _grow(call, log_wanted, over_all.log_mass)
        gap, answer = step.epsilon_holding(log_wanted), step.answer
        if gap is not None:
            rows = answer.rows.within(gap, tolerance_of(answer.table))
            return collect(call, answer, rows, gap, None, None, over_all=over_all)
        bound = None if step.reason is None else step.bound
        return collect(call, answer, answer.rows, step.epsilon, step.reason, bound, over_all=over_all)


def _grow(call: Learning, log_wanted: float, log_total: float) -> _Step:
    """Enlarge epsilon until the networks within it have the mass, or a limit is reached, or there are no more."""
    last = min(epsilon_for_all(call.source.n_variables), call.source.largest_epsilon)
    epsilon, known, is_forecast = min(math.log(DEFAULT_BAYES_FACTOR), last), None, False
    while True:
        table = call.source.try_table_for(epsilon)
        if table is None:
            answer, epsilon = (best_so_far(call), epsilon) if known is None else (known.answer, known.epsilon)
            return _Step(answer, epsilon, call.run.reason)
        answer = find_any_size(call, table, epsilon)
        reason = why_stopped(call, answer.found) or ("memory_limit" if answer.found.is_cut else None)
        step = _Step(answer, epsilon, reason)
        if reason is not None and known is not None and known.bound <= step.bound:
            step = _Step(known.answer, known.epsilon, reason)
        if reason is not None or epsilon >= last or step.epsilon_holding(log_wanted) is not None:
            return step
        if not answer.rows.is_listed:
            call = counting(call)
        growth = _growth(step, log_wanted, log_total)
        if growth > _MOST_STEP and answer.rows.n_networks > _MANY and not is_forecast:
            share = math.exp(log_wanted - log_total)
            warn_of_size(call.source, table, answer.rows, answer.optimal_score, share, log_total, call.run)
            is_forecast = True
        known, epsilon = step, min(last, epsilon + min(_MOST_STEP, max(_LEAST_STEP, growth)))


def _growth(step: _Step, log_wanted: float, log_total: float) -> float:
    """Predict how much larger epsilon must be: the log odds of the share grow about evenly with it."""
    gaps = np.array([max(0.0, step.epsilon - _LOOK_BACK), step.epsilon])
    before, now = map(_log_odds, (step.answer.rows.log_masses(gaps) - log_total).tolist())
    slope = max(now - before, 1e-3) / _LOOK_BACK
    return _MARGIN + (_log_odds(log_wanted - log_total) - now) / slope


def _log_odds(log_share: float) -> float:
    share = min(math.exp(log_share), 1 - 1e-12)
    return log_share - math.log1p(-share)
