"""The costs to 50 digits that rounding is judged by: known values, and that the check of a set can fail."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

import exact_costs
from credibn import AIC, BIC, BDeu, learn
from credibn.search.problem import tolerance_of
from strategies import CodedTable


def noisy_copies():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (200, 3))
    codes[:, 1] ^= codes[:, 0] & (rng.random(200) < 0.6)
    return CodedTable(codes, (2, 2, 2), np.ones(200, dtype=np.int64))


def test_log_gamma_is_exact_to_60_digits():
    assert abs(exact_costs.log_gamma(Decimal(1))) < Decimal("1e-60")
    with localcontext() as context:
        context.prec = 80
        for n in (2, 20, 70, 200):
            factorial = Decimal(math.factorial(n - 1)).ln()
            assert abs(exact_costs.log_gamma(Decimal(n)) - factorial) < Decimal("1e-60")


@pytest.mark.parametrize("a", ["1e-300", "0.125", "3.7", "123456.75", "1e15", "1e300"])
def test_a_rising_factorial_loses_no_digits_where_the_gamma_functions_cancel(a):
    with localcontext() as context:
        context.prec = 400
        product = math.prod((Decimal(a) + j for j in range(7)), start=Decimal(1))
        assert abs(exact_costs.log_rising(Decimal(a), 7) - product.ln()) < Decimal("1e-55")


@pytest.mark.parametrize(
    ("ess", "epsilon", "n_networks"),
    [(1.0, math.log(20), 5), (1e15, math.log(20), 25), (1e-300, math.log(20), 1), (1e300, math.log(20), 25)],
)
def test_networks_within_epsilon_under_any_equivalent_sample_size(ess, epsilon, n_networks):
    _, by_gap = exact_costs.gaps(exact_costs.discrete_costs(noisy_copies(), BDeu(ess)))
    assert sum(gap <= Decimal(epsilon) for gap, _ in by_gap) == n_networks


def test_networks_at_an_exact_gap_of_deterministic_columns():
    codes = np.array([[0, 0, 0, 0], [0, 1, 1, 0]])
    table = CodedTable(codes, (4, 2, 4, 2), np.array([35000, 45000]))
    _, by_gap = exact_costs.gaps(exact_costs.discrete_costs(table, BDeu(1.0)))
    assert sum(gap <= Decimal.from_float(12.177067886314102) for gap, _ in by_gap) == 331


def test_networks_at_an_exact_gap_of_skewed_counts():
    codes = np.array([[cell >> 2 & 1, cell >> 1 & 1, cell & 1] for cell in range(8)])
    table = CodedTable(codes, (2, 2, 2), np.array([4294957180, 936, 2607, 1270, 820, 2483, 771, 1228]))
    _, by_gap = exact_costs.gaps(exact_costs.discrete_costs(table, BIC()))
    assert sum(gap <= Decimal.from_float(9978.131303853743) for gap, _ in by_gap) == 9


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1.0)])
def test_a_set_of_plain_data_is_true_and_one_that_claims_another_epsilon_is_not(score):
    table = noisy_copies()
    costs = exact_costs.discrete_costs(table, score)
    _, by_gap = exact_costs.gaps(costs)
    steps = [float(gap) for gap in sorted({gap for gap, _ in by_gap})]
    found = learn(table.dataset(), score=score, epsilon=steps[1])
    tolerance = tolerance_of(found.score_table)
    exact_costs.assert_true(found, costs, tolerance)
    with pytest.raises(AssertionError, match="are missing"):
        exact_costs.assert_true(replace(found, epsilon=steps[2]), costs, tolerance)
    with pytest.raises(AssertionError):
        exact_costs.assert_true(replace(found, epsilon=steps[0]), costs, tolerance)
