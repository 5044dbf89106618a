"""Local costs to 50 digits, and what a credible set must hold by them: the truth that rounding is judged by.

The definitions are those of naive_scores.py, in `decimal`; nothing is shared with the package.
"""

import math
from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

import naive_scores as naive
import networks
import oracle
import strategies
from credibn import BIC, BDeu

DIGITS = 60
_LOG_2PI = Decimal("1.83787706640934548356065947281123527972279494727556682563430308096553139")


# ----------------------------------------------------------------- functions


@cache
def _bernoulli(k):
    """The Bernoulli number B(2k), by the recurrence."""
    smaller = sum((math.comb(2 * k + 1, 2 * j) * _bernoulli(j) for j in range(1, k)), Fraction(0))
    return (Fraction(2 * k - 1, 2) - smaller) / (2 * k + 1)


def _decimal(number):
    """A fraction, rounded to the precision at hand."""
    return Decimal(number.numerator) / Decimal(number.denominator)


@lru_cache(maxsize=1000)
def log_gamma(x):
    """By Stirling's series where it converges fast, and by the recurrence from below; to `DIGITS` after the point."""
    with localcontext() as context:
        context.prec = DIGITS + 10 + max(0, x.adjusted() + 4)  # the leading term is x ln x
        shift = max(0, DIGITS - int(min(x, DIGITS)))
        below = math.prod((x + j for j in range(shift)), start=Decimal(1))
        y = x + shift
        total, k = (y - Decimal("0.5")) * y.ln() - y + _LOG_2PI / 2, 1
        while True:
            term = _decimal(_bernoulli(k) / (2 * k * (2 * k - 1))) / y ** (2 * k - 1)
            if abs(term) < Decimal(10) ** -(DIGITS + 5):
                return total - below.ln()
            total, k = total + term, k + 1


def log_rising(a, n):
    """ln of a (a + 1) ... (a + n - 1)."""
    with localcontext() as context:
        context.prec = DIGITS + 20 + max(0, a.adjusted() + 4)
        return log_gamma(a + n) - log_gamma(a)


# ----------------------------------------------------------------- local costs


def _counts(table, node, parents):
    """Counts of the node's states for each parent configuration that occurs."""
    counts = defaultdict(Counter)
    for row, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        counts[tuple(row[p] for p in parents)][row[node]] += weight
    return [list(states.values()) for states in counts.values()]


def _penalised(table, node, parents, weight):
    counts = _counts(table, node, parents)
    likelihood = sum(n * (Decimal(n) / sum(states)).ln() for states in counts for n in states)
    return (table.arities[node] - 1) * math.prod(table.arities[p] for p in parents) * weight - likelihood


def _bdeu(table, node, parents, ess):
    prior = Fraction(ess) / math.prod(table.arities[p] for p in parents)
    with localcontext() as context:
        context.prec = DIGITS + 20 + max(0, Decimal(ess).adjusted())
        a, cell = _decimal(prior), _decimal(prior / table.arities[node])
        return sum(
            log_rising(a, sum(states)) - sum(log_rising(cell, n) for n in states)
            for states in _counts(table, node, parents)
        )


def discrete_costs(table, score, prior=None):
    """Local costs of a `CodedTable`, exact."""
    n, n_rows = table.n, int(table.weights.sum())

    def cost(child, parents):
        if isinstance(score, BDeu):
            return _bdeu(table, child, parents, score.equivalent_sample_size)
        return _penalised(table, child, parents, Decimal(n_rows).ln() / 2 if isinstance(score, BIC) else Decimal(1))

    log_prior = np.vectorize(Decimal, otypes=[object])(strategies.log_prior(prior, n))
    with localcontext() as context:
        context.prec = DIGITS + 20
        return oracle.local_costs(table.arities, cost, None, log_prior)


def gaussian_bic_costs(values):
    """Local costs of columns of numbers under the Gaussian BIC: covariances as fractions, then one logarithm."""
    columns = [[Fraction(value) for value in column] for column in values.T.tolist()]
    n_rows = len(columns[0])
    means = [sum(column) / n_rows for column in columns]
    centred = [[x - mean for x in column] for column, mean in zip(columns, means, strict=True)]
    covariance = [[sum(x * y for x, y in zip(a, b, strict=True)) / n_rows for b in centred] for a in centred]

    @cache
    def determinant(members):
        return naive.determinant([[covariance[a][b] for b in members] for a in members])

    def cost(child, parents):
        variance = determinant(tuple(sorted((child, *parents)))) / determinant(parents)
        return n_rows * (_LOG_2PI + 1 + _decimal(variance).ln()) / 2 + Decimal(n_rows).ln() / 2 * (len(parents) + 2)

    n = len(columns)
    with localcontext() as context:
        context.prec = DIGITS + 20
        return oracle.local_costs([0] * n, cost, None, np.full((n, n), Decimal(0)))


# ----------------------------------------------------------------- networks


def gaps(costs):
    """The optimum, and how much more each network costs to 50 places, the cheapest first: ties have equal gaps."""
    with localcontext() as context:
        context.prec = DIGITS + 20
        listed = sorted(
            (sum(of_node[parents] for of_node, parents in zip(costs, dag, strict=True)), dag)
            for dag in oracle.all_dags(len(costs))
            if all(parents in of_node for of_node, parents in zip(costs, dag, strict=True))
        )
        return listed[0][0], [(round(cost - listed[0][0], 50), dag) for cost, dag in listed]


def assert_true(credible, costs, tolerance):
    """Every network that costs at most OPT + epsilon is there, and none beyond what the tolerance allows.

    A computed gap that errs by at most the tolerance is accepted up to epsilon + tolerance: so a network that is there
    exceeds epsilon by at most twice the tolerance.
    """
    dags = set(networks.assert_sound(credible, tolerance))
    tolerance, epsilon = Decimal(tolerance), Decimal(credible.epsilon)
    optimum, by_gap = gaps(costs)
    missing = [(float(gap - epsilon), dag) for gap, dag in by_gap if gap <= epsilon and dag not in dags]
    beyond = [(float(gap - epsilon), dag) for gap, dag in by_gap if gap > epsilon + 2 * tolerance and dag in dags]
    assert not missing, f"{len(missing)} networks are missing, such as {missing[:3]} (gap - epsilon, parents)"
    assert not beyond, f"{len(beyond)} networks are not credible, such as {beyond[-3:]} (gap - epsilon, parents)"
    error = abs(Decimal(-credible.optimal_score) - optimum)
    assert error <= tolerance, f"the optimal score errs by {float(error):.3g}, more than {float(tolerance):.3g}"
