"""An estimate, with its error, of the share of the posterior that the networks near the optimum hold.

Where the sum over all networks is too large, Markov chains visit networks as often as the posterior says. The share is
that of the visits. Half of the chains start in the set, the others far from it. They are independent, so the spread of
their averages gives the standard error, however slowly each of them moves.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn.errors import OptionError
from credibn.posterior.chains import Chains
from credibn.scores import ScoreTable

LEAST_EPSILON = 12.0
"""Parent sets that score worse than one of their subsets by more are left out: they hold little of the posterior."""
N_CHAINS = 32
_T = 2.04
"""The 97.5 % quantile of Student's distribution with 31 degrees of freedom."""
_FIRST, _MOST = 128, 2048
"""Sweeps after which the error is looked at for the first time, and after which it is the last."""
_DISCARDED = 1 / 2
"""Of the sweeps: until then the chains forget where they started."""
_SMALL_ERROR, _SMALL_R_HAT = 0.01, 1.02
"""It is enough when both are reached."""
LARGEST_R_HAT = 1.05
"""Above this the chains disagree, and the estimate is not to be trusted."""
_RARE = 0.01
"""A share so near to 0 or 1 that single visits would look like chains that disagree."""
_WORST_R_HAT = 1e3
_POWER, _SWEEPS_ASIDE = 0.1, 10
"""How chains get far from the set: that power of the posterior, for some sweeps."""
SHARES = (0.5, 0.9, 0.95, 0.99)
"""Shares for which an epsilon is estimated too."""


@dataclass(frozen=True)
class ShareEstimate:
    """The share of the posterior that a set holds, as Markov chains estimate it.

    Attributes
    ----------
    value : float
    low, high : float
        An interval that should cover the true share 19 times in 20, if the chains have mixed.
    standard_error : float
        From the differences between chains.
    r_hat : float
        How much the chains disagree (Gelman & Rubin 1992): 1 where they do not, and above 1.05 the estimate is not to
        be trusted.
    n_chains, n_networks : int
        How many chains there were, and how many networks they visited, without those at their beginning.
    n_effective : float
        About as many independent networks would say as much.
    epsilons : tuple of float
        The epsilon whose networks hold 0.5, 0.9, 0.95 and 0.99 of the posterior, estimated from the same visits.
    scored_for : float or None
        The share is one of all networks made of the parent sets that were scored for this epsilon; None where scores
        were given that do not say.

    Examples
    --------
    >>> estimate = ShareEstimate(0.28, 0.26, 0.3, 0.01, 1.01, 32, 2000, 1500.0, (4.4, 8.8, 10.5, 14.2), 12.0)
    >>> estimate.are_chains_agreed, estimate.epsilon_for(0.95)
    (True, 10.5)
    >>> estimate.text
    'an estimated 28.0 % (26.0 % to 30.0 % with 95 % confidence)'
    """

    value: float
    low: float
    high: float
    standard_error: float
    r_hat: float
    n_chains: int
    n_networks: int
    n_effective: float
    epsilons: tuple[float, ...]
    scored_for: float | None

    @property
    def are_chains_agreed(self) -> bool:
        """Whether the chains agree as far as can be seen."""
        return self.r_hat <= LARGEST_R_HAT

    def epsilon_for(self, share: float) -> float:
        """Return the epsilon whose networks hold a share of 0.5, 0.9, 0.95 or 0.99, as estimated."""
        if share not in SHARES:
            raise OptionError.refusing("share", share, f"it must be one of {', '.join(map(str, SHARES))}")
        return self.epsilons[SHARES.index(share)]

    @property
    def text(self) -> str:
        """The estimate in words, to be followed by "of the posterior probability"."""
        if self.value == 0.0:
            found = f"an estimated share below {_percent(self.high)} (with 95 % confidence)"
        else:
            interval = f"{_percent(self.low)} to {_percent(self.high)} with 95 % confidence"
            found = f"an estimated {_percent(self.value)} ({interval})"
        return found if self.are_chains_agreed else f"{found}, which is unsure because the Markov chains disagree,"

    def as_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {**vars(self), "epsilons": list(self.epsilons)}

    @classmethod
    def of_json(cls, facts: Mapping[str, Any]) -> "ShareEstimate":
        """Return the estimate with these fields; a `ValueError` says which of them cannot be."""
        names = set(cls.__dataclass_fields__)
        if set(facts) != names:
            raise ValueError(f"missing or unknown fields of the estimate: {sorted(names ^ set(facts))}")
        made = cls(**{**facts, "epsilons": tuple(facts["epsilons"])})
        numbers = [value for name, value in vars(made).items() if name not in ("epsilons", "scored_for")]
        scored_for = 0.0 if made.scored_for is None else made.scored_for
        if not all(_is_number(value) for value in (*numbers, *made.epsilons, scored_for)):
            raise ValueError("a field of the estimate is not a number")
        if not 0 <= made.low <= made.value <= made.high <= 1 or len(made.epsilons) != len(SHARES):
            raise ValueError(f"the estimate cannot be {made.value!r} in {made.low!r} to {made.high!r}")
        return made


def estimate_share(
    table: ScoreTable,
    starts: NDArray[np.integer],
    optimal_score: float,
    epsilon: float,
    *,
    seed: int = 0,
    proceed: Callable[[float], bool] = lambda _: True,
) -> ShareEstimate | None:
    """Estimate which share of the posterior the networks hold that score at least ``optimal_score - epsilon``.

    Parameters
    ----------
    table : ScoreTable
        The parent sets of all networks.
    starts : ndarray of uint32, shape (`N_CHAINS`, n)
        Networks to start from, as positions among the candidates of each node.
    optimal_score, epsilon : float
        With the tolerance of scores added to epsilon.
    seed : int
    proceed : callable
        Gets the fraction done; the work stops if it returns False.

    Returns
    -------
    ShareEstimate or None
        None where it was stopped too early.
    """
    found = None
    for gaps in _visits(table, starts, optimal_score, seed, proceed):
        found = _estimate(gaps, epsilon, table.epsilon)
        if found.standard_error <= _SMALL_ERROR and found.r_hat <= _SMALL_R_HAT:
            break
    return found


def forecast_share(
    table: ScoreTable,
    starts: NDArray[np.integer],
    optimal_score: float,
    share: float,
    log_total: float,
    *,
    seed: int = 0,
    proceed: Callable[[float], bool] = lambda _: True,
) -> tuple[float, float] | None:
    """Estimate the epsilon whose networks hold a share of the posterior, and log10 of how many these are.

    The arguments are those of `estimate_share`; `log_total` is the logarithm of the mass of all networks. None where
    the chains disagree to the end, or were stopped too early.
    """
    for gaps in _visits(table, starts, optimal_score, seed, proceed):
        if _r_hat(gaps) > LARGEST_R_HAT:
            continue
        epsilon = max(0.0, float(np.quantile(gaps, share, method="inverted_cdf")))
        # A network that is `gap` worse than the best is visited with probability exp(-gap) times that of the best.
        weights = np.where(gaps <= epsilon, gaps - epsilon, -np.inf)
        log_number = log_total - optimal_score + epsilon + math.log(float(np.exp(weights).mean()))
        return epsilon, max(0.0, log_number / math.log(10))
    return None


def _visits(
    table: ScoreTable,
    starts: NDArray[np.integer],
    optimal_score: float,
    seed: int,
    proceed: Callable[[float], bool],
) -> Iterator[NDArray[np.float64]]:
    """Yield how much worse than the best the networks visited are, shape (sweeps, chains), each time twice as many."""
    random = np.random.default_rng(seed)
    aside = Chains(table, starts[: N_CHAINS // 2], random, _POWER)
    for _ in range(_SWEEPS_ASIDE):
        aside.sweep()
    chains = Chains(table, np.concatenate([aside.choices, starts[N_CHAINS // 2 :]]), random)
    best_possible = math.fsum(table.scores[table.offsets[:-1]])
    gaps, n_wanted = list[NDArray[np.float64]](), _FIRST
    while n_wanted <= _MOST and proceed(len(gaps) / _MOST):
        chains.sweep()
        gaps.append(chains.gaps - (best_possible - optimal_score))
        if len(gaps) == n_wanted:
            yield np.array(gaps[int(n_wanted * _DISCARDED) :])
            n_wanted *= 2


def _estimate(gaps: NDArray[np.float64], epsilon: float, scored_for: float | None) -> ShareEstimate:
    """Return the estimate from the gaps of the networks visited, shape (sweeps, chains)."""
    is_within = (gaps <= epsilon).astype(np.float64)
    value, error, of_share = _mean(is_within)
    _, _, of_gaps = _mean(gaps)
    n_effective = min(of_gaps, of_share, float(gaps.size))
    low, high = _interval(value, n_effective)
    quantiles = np.maximum(0.0, np.quantile(gaps, SHARES, method="inverted_cdf"))
    return ShareEstimate(
        value=value,
        low=low,
        high=high,
        standard_error=error,
        r_hat=max(_r_hat(gaps), _r_hat(is_within) if _RARE <= value <= 1 - _RARE else 1.0),
        n_chains=gaps.shape[1],
        n_networks=gaps.size,
        n_effective=n_effective,
        epsilons=tuple(quantiles.tolist()),
        scored_for=scored_for,
    )


def _mean(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean over chains, its standard error, and how many independent values would have this error."""
    means = values.mean(axis=0)
    error = float(means.std(ddof=1)) / math.sqrt(len(means))
    spread = float(values.var())
    return float(means.mean()), error, spread / error**2 if error > 0 else math.inf


def _interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval for a share of n independent values, with Student's quantile."""
    middle, width = share + _T**2 / (2 * n), _T * math.sqrt(share * (1 - share) / n + _T**2 / (4 * n**2))
    scale = 1 + _T**2 / n
    return min(share, max(0.0, (middle - width) / scale)), max(share, min(1.0, (middle + width) / scale))


def _r_hat(values: NDArray[np.float64]) -> float:
    """Return the potential scale reduction of chains, each split into halves (Gelman & Rubin 1992)."""
    half = len(values) // 2
    halves = np.concatenate([values[:half], values[half : 2 * half]], axis=1)
    within, between = float(halves.var(axis=0, ddof=1).mean()), float(halves.mean(axis=0).var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else _WORST_R_HAT
    return min(_WORST_R_HAT, math.sqrt((half - 1) / half + between / within))


def _percent(share: float) -> str:
    return "0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
