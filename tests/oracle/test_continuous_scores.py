"""Gaussian BIC, BGe and conditional-Gaussian BIC against naive twins, and what their documents promise."""

import gc
import itertools
import json
import math
import warnings
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from credibn import EdgeLogOdds, read_data, score_parent_sets
from credibn.data.dataset import Dataset
from credibn.errors import CredibnWarning, DataError, OptionError
from credibn.scores import mixed, moments, sets
from credibn.scores.gaussian import BGe, GaussianBIC
from credibn.scores.mixed import ConditionalGaussianBIC
from credibn.scores.moments import COLLINEAR
from credibn.scores.protocol import DataView, SetScore
from naive_scores import (
    naive_aic,
    naive_bdeu,
    naive_bge,
    naive_bic,
    naive_conditional_gaussian,
    naive_gaussian_bic,
)
from profiles import examples, sampled

SCORES = [GaussianBIC(), BGe(), ConditionalGaussianBIC()]
CONTINUOUS = [GaussianBIC(), BGe()]


@dataclass(frozen=True, eq=False)
class Table:
    """The attributes of a data set that scores read, with none of its checks."""

    names: tuple
    columns: tuple
    states: tuple
    arities: np.ndarray
    weights: np.ndarray
    n_rows: int

    def rows(self):
        """Every row of the table, repeated as often as its weight says."""
        distinct = zip(*(column.tolist() for column in self.columns), strict=True)
        return [row for row, n in zip(distinct, self.weights.tolist(), strict=True) for _ in range(n)]


def table(columns, arities=None, weights=None):
    arities = np.zeros(len(columns), np.int64) if arities is None else np.array(arities, np.int64)
    columns = tuple(
        np.asarray(column, np.float64 if arity == 0 else np.uint8)
        for column, arity in zip(columns, arities, strict=True)
    )
    weights = np.ones(len(columns[0]), np.int64) if weights is None else np.asarray(weights, np.int64)
    states = tuple(tuple(range(arity)) if arity else None for arity in arities)
    names = tuple("abcdefghijklmnop"[: len(columns)])
    return Table(names, columns, states, arities, weights, int(weights.sum()))


def set_cost(score, data, variables):
    return float(score.set_costs(data, np.array([sorted(variables)], dtype=np.intp).reshape(1, -1))[0])


def local_cost(score, data, node, parents):
    return set_cost(score, data, [node, *parents]) - set_cost(score, data, parents)


def families(n):
    for node in range(n):
        others = [v for v in range(n) if v != node]
        for size in range(n):
            yield from ((node, list(parents)) for parents in itertools.combinations(others, size))


def assert_agree(ours, naive, data):
    # costs pass through 0: a nat per row is their natural unit
    assert abs(ours - naive) <= 1e-9 * max(abs(naive), data.n_rows), (ours, naive)


@st.composite
def continuous_tables(draw, min_rows=7, max_weight=3, max_columns=4):
    """Linear Gaussian data over a random order, with offsets, units, ties and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(1, max_columns)), draw(st.integers(min_rows, 25))
    mixing = np.eye(n) + np.tril(rng.normal(size=(n, n)), -1) * draw(st.sampled_from([0.0, 1.0, 5.0]))
    values = rng.normal(size=(m, n)) @ mixing.T
    decimals = draw(st.sampled_from([1, 3, 15]))
    values = np.round(values[:, rng.permutation(n)], decimals)
    scales = rng.choice(draw(st.sampled_from([[1.0], [1e-3, 1.0, 1e3]])), size=n)
    values = values * scales + rng.choice([0.0, 1e3], size=n) * scales
    weights = rng.integers(1, max_weight + 1, size=m)
    assume(all(len(np.unique(column)) > 1 for column in values.T))
    return table(values.T, weights=weights)


@st.composite
def mixed_tables(draw, max_columns=4):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(1, max_columns)), draw(st.integers(2, 25))
    arities = rng.choice([0, 0, 1, 2, 3], size=n)
    shift = rng.integers(0, 3, size=m)  # shared by all columns: cells differ in their means
    columns = [
        rng.normal(size=m) * rng.choice([1e-3, 1.0, 50.0]) + shift * rng.choice([0.0, 1.0, 1e3])
        if arity == 0
        else np.where(rng.random(m) < 0.5, np.minimum(shift, arity - 1), rng.integers(0, arity, size=m))
        for arity in arities
    ]
    return table(columns, arities, rng.integers(1, 4, size=m))


def is_well_conditioned(data, limit=1e-6, prior=0.0):
    """Whether a share of 1e-6 of each column's variance is its own: beyond that, 1e-16 / share counts."""
    rows = np.array(data.rows(), dtype=np.float64)
    rows = rows - rows.mean(axis=0)
    scatter = rows.T @ rows + prior * np.eye(rows.shape[1])
    scale = np.sqrt(scatter.diagonal())
    return np.linalg.eigvalsh(scatter / scale / scale[:, None])[0] > limit


# --------------------------------------------------------------------------------------------- naive twins


@examples(60, HealthCheck.filter_too_much)
@given(continuous_tables())
def test_gaussian_bic_is_the_bic_of_a_regression(data):
    assume(is_well_conditioned(data))
    for node, parents in families(len(data.names)):
        naive = naive_gaussian_bic(data.rows(), node, parents)
        assert_agree(local_cost(GaussianBIC(), data, node, parents), naive, data)


@examples(25, HealthCheck.filter_too_much)
@given(
    continuous_tables(min_rows=2, max_weight=2, max_columns=3),
    st.sampled_from([0.1, 1.0, 7.5]),
    st.sampled_from([None, 1.5, 20.0]),
)
def test_bge_is_the_product_of_sequential_predictions(data, alpha_mu, above):
    alpha_w = None if above is None else len(data.names) + above
    score = BGe(alpha_mu, alpha_w)
    freedom = alpha_mu if above is None else above - 1
    assume(is_well_conditioned(data, prior=alpha_mu * freedom / (alpha_mu + 1)))
    for node, parents in families(len(data.names)):
        naive = naive_bge(data.rows(), node, parents, alpha_mu, alpha_w)
        assert_agree(local_cost(score, data, node, parents), naive, data)


@examples(100)
@given(mixed_tables(), st.sampled_from([0.01, 1.0, 5.0]))
def test_conditional_gaussian_is_the_sum_over_cells(data, pseudo_rows):
    for node, parents in families(len(data.names)):
        naive = naive_conditional_gaussian(data.rows(), data.arities.tolist(), node, parents, pseudo_rows)
        assert_agree(local_cost(ConditionalGaussianBIC(pseudo_rows), data, node, parents), naive, data)


@examples(50)
@given(mixed_tables())
def test_conditional_gaussian_of_discrete_columns_is_bic(data):
    discrete = [v for v in range(len(data.names)) if data.arities[v]]
    score = ConditionalGaussianBIC()
    w = math.log(data.n_rows) / 2
    for size in range(len(discrete)):
        for node, *parents in itertools.permutations(discrete, size + 1):
            naive = naive_bic(data.rows(), data.arities.tolist(), node, parents)
            assert_agree(local_cost(score, data, node, parents), naive, data)
    if discrete:
        counts = np.bincount(data.columns[discrete[0]], weights=data.weights)
        entropy = -sum(n * math.log(n / data.n_rows) for n in counts if n)
        expected = entropy + w * int(data.arities[discrete[0]]) - w
        assert set_cost(score, data, discrete[:1]) == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_conditional_gaussian_tends_to_gaussian_bic():
    rng = np.random.default_rng(4)
    data = table(rng.normal(size=(3, 400)))
    for node, parents in families(3):
        exact = local_cost(GaussianBIC(), data, node, parents)
        assert local_cost(ConditionalGaussianBIC(1e-6), data, node, parents) == pytest.approx(exact, abs=1e-6)
        assert local_cost(ConditionalGaussianBIC(), data, node, parents) == pytest.approx(exact, abs=0.01)


def test_naive_discrete_scores_by_hand():
    rows = [(0, 0), (0, 0), (0, 1), (1, 1)]
    likelihood = -(2 * math.log(2 / 3) + math.log(1 / 3))
    assert naive_bic(rows, [2, 2], 1, [0]) == pytest.approx(likelihood + math.log(4))
    assert naive_aic(rows, [2, 2], 1, [0]) == pytest.approx(likelihood + 2)
    # prior counts 1/2 each: (1/2 * 3/2 * 1/2) / (1 * 2 * 3) for the first configuration, 1/2 for the second
    assert naive_bdeu(rows, [2, 2], 1, [0], ess=2.0) == pytest.approx(-math.log(1 / 16 * 1 / 2))


# --------------------------------------------------------------------------------------- score equivalence


def random_network(rng, n):
    """Parent lists of a random network, later nodes of a random order below earlier ones."""
    order = rng.permutation(n)
    parents = [[] for _ in range(n)]
    for later, node in enumerate(order):
        parents[node] = [int(p) for p in order[:later] if rng.random() < 0.6]
    return parents


def network_cost(score, data, parents):
    return math.fsum(local_cost(score, data, node, above) for node, above in enumerate(parents))


def covered_edges(parents):
    return [(u, v) for v, above in enumerate(parents) for u in above if set(above) == {*parents[u], u}]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@examples(40, HealthCheck.filter_too_much)
@given(st.data(), st.integers(0, 2**32 - 1))
def test_reversing_a_covered_edge_changes_nothing(score, draws, seed):
    data = draws.draw(mixed_tables() if score.columns == "mixed" else continuous_tables())
    assume(score.name != "gaussian-bic" or is_well_conditioned(data, COLLINEAR * 2))
    parents = random_network(np.random.default_rng(seed), len(data.names))
    cost = network_cost(score, data, parents)
    for u, v in covered_edges(parents):
        turned = [list(above) for above in parents]
        turned[v].remove(u)
        turned[u].append(v)
        assert_agree(network_cost(score, data, turned), cost, data)


# ----------------------------------------------------------------------------- weights, location and scale


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@examples(40, HealthCheck.filter_too_much)
@given(st.data())
def test_weights_are_repeated_rows(score, draws):
    data = draws.draw(mixed_tables() if score.columns == "mixed" else continuous_tables())
    assume(score.name != "gaussian-bic" or is_well_conditioned(data))
    repeated = table(list(zip(*data.rows(), strict=True)), data.arities)
    assert repeated.n_rows == data.n_rows == len(repeated.weights)
    for node, parents in families(len(data.names)):
        assert_agree(local_cost(score, repeated, node, parents), local_cost(score, data, node, parents), data)


def test_few_rows_are_limited_alike_whether_weighted_or_repeated():
    rng = np.random.default_rng(0)
    data = table(rng.normal(size=(6, 4)), weights=[3, 1, 2, 5])
    repeated = table(list(zip(*data.rows(), strict=True)))
    assert GaussianBIC().max_set_size(data) == GaussianBIC().max_set_size(repeated) == 3


def moved(data, scales, offsets):
    columns = [
        column * scale + offset if arity == 0 else column
        for column, arity, scale, offset in zip(data.columns, data.arities, scales, offsets, strict=True)
    ]
    return table(columns, data.arities, data.weights)


@pytest.mark.parametrize("score", [GaussianBIC(), ConditionalGaussianBIC()], ids=lambda score: score.name)
def test_units_add_a_constant_per_node(score):
    rng = np.random.default_rng(1)
    data = table([rng.normal(size=30), rng.normal(size=30), rng.normal(size=30)])
    if score.columns == "mixed":
        data = table([*data.columns[:2], rng.integers(0, 3, size=30)], [0, 0, 3])
    scales, offsets = [2.0**40, -(2.0**-30), 1.0], [2.0**41, 2.0**-31, 0.0]
    other = moved(data, scales, offsets)
    for node, parents in families(3):
        shift = 30 * math.log(abs(scales[node]))
        assert_agree(local_cost(score, other, node, parents), local_cost(score, data, node, parents) + shift, data)


def test_bge_ignores_location_and_follows_units():
    rng = np.random.default_rng(2)
    data = table(np.round(rng.normal(size=(3, 30)), 3))
    assert_agree(
        local_cost(BGe(), moved(data, [1] * 3, [64.0, -8.0, 0]), 0, [1, 2]),
        local_cost(BGe(), data, 0, [1, 2]),
        data,
    )
    gain = local_cost(BGe(), data, 0, [1]) - local_cost(BGe(), data, 0, [])
    scaled = moved(data, [100, 1, 1], [0, 0, 0])
    assert local_cost(BGe(), scaled, 0, [1]) - local_cost(BGe(), scaled, 0, []) != pytest.approx(gain)


def test_bge_by_default_does_not_depend_on_other_columns():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(5, 20))
    assert set_cost(BGe(), table(values), [0, 2]) == pytest.approx(set_cost(BGe(), table(values[[0, 2]]), [0, 1]))


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_large_offsets_lose_nothing(score):
    rng = np.random.default_rng(5)
    noise = rng.integers(-(2**20), 2**20, size=(3, 40)) / 2.0**20  # exact beside 2^30
    near, far = table(noise), table(noise + 2.0**30)
    for node, parents in families(3):
        assert_agree(local_cost(score, far, node, parents), local_cost(score, near, node, parents), near)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_extreme_values_and_weights_stay_finite(score):
    rng = np.random.default_rng(6)
    values = rng.normal(size=(4, 50))
    units = np.array([[1e308 / np.abs(values[0]).max()], [1e-310], [1e9], [1e-200]])
    for weights in (np.ones(50, np.int64), np.full(50, 10**7)):
        data = table(values * units, weights=weights)
        costs = [local_cost(score, data, node, parents) for node, parents in families(4)]
        assert np.isfinite(costs).all()


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_large_counts_scale_the_fit(score):
    """With every row 10^7 times, the gain of a parent per row is the gain of the fit."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(2, 50))
    values[1] += values[0]
    data, many = table(values), table(values, weights=np.full(50, 10**7))
    fit = -math.log(1 - np.corrcoef(values)[0, 1] ** 2) / 2
    gain = local_cost(score, many, 1, []) - local_cost(score, many, 1, [0])
    assert gain / many.n_rows == pytest.approx(fit, rel=1e-6)
    assert local_cost(score, data, 1, []) > local_cost(score, data, 1, [0])


# --------------------------------------------------------------------------------------- floor of the cost


@examples(40, HealthCheck.filter_too_much)
@given(continuous_tables(max_columns=5))
def test_no_gaussian_cost_is_below_the_floor(data):
    assume(is_well_conditioned(data))
    score = GaussianBIC()
    floor = score.cost_floor(data)
    n = len(data.names)
    for node, parents in families(n):
        slack = local_cost(score, data, node, parents) - floor[node] - score.size_penalty(data, len(parents))
        assert slack >= -1e-9 * data.n_rows
        if len(parents) == n - 1:
            assert slack <= 1e-9 * data.n_rows  # tight


def mixed_dataset(columns, arities):
    frame = pd.DataFrame({f"v{v}": column for v, column in enumerate(columns)})
    kinds = {f"v{v}": "categorical" if arity else "numeric" for v, arity in enumerate(arities)}
    states = {f"v{v}": list(range(arity)) for v, arity in enumerate(arities) if arity}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)
        return read_data(frame, columns=kinds, state_names=states)


@examples(30)
@given(
    seed=st.integers(0, 2**32 - 1), epsilon=st.sampled_from([0.0, 3.0, 40.0]), pseudo_rows=st.sampled_from([0.01, 1, 9])
)
def test_no_candidate_of_mixed_columns_is_lost_by_the_limit_on_categories(seed, epsilon, pseudo_rows):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(3, 30))
    arities = rng.choice([0, 2, 3, 12, 40], size=n)
    arities[:2] = [0, 40]
    columns = [rng.normal(size=m) if arity == 0 else rng.integers(0, min(arity, 5), size=m) for arity in arities]
    data = mixed_dataset(columns, arities.tolist())
    options = {"score": ConditionalGaussianBIC(pseudo_rows), "epsilon": epsilon, "n_threads": 1}
    if rng.random() < 0.5:
        options["required_edges"] = [(data.names[1], data.names[0])]
    if rng.random() < 0.3:
        options["prior"] = EdgeLogOdds(np.full((n, n), 2.0) - 2.0 * np.eye(n))
    limited = score_parent_sets(data, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "_mixed_limits", lambda problem, score: problem.max_parents)
        free = score_parent_sets(data, **options)
    assert limited.same_as(free, tolerance=1e-6 + 2 * free.tolerance)


def test_many_categories_in_few_rows_leave_a_small_tolerance():
    rng = np.random.default_rng(2)
    columns = [rng.normal(size=20), *(rng.integers(0, 8, size=20) for _ in range(19))]
    data = mixed_dataset(columns, [0] + [8] * 19)
    found = score_parent_sets(data, score="conditional-gaussian-bic", bayes_factor=20, n_threads=1)
    assert max(mask.bit_count() for mask in found.masks.ravel().tolist()) <= 1
    assert found.tolerance < 1e-6


def test_floor_is_minus_infinity_where_rows_are_few_or_columns_constant():
    rng = np.random.default_rng(8)
    assert np.isneginf(GaussianBIC().cost_floor(table(rng.normal(size=(4, 4))))).all()
    assert np.isfinite(GaussianBIC().cost_floor(table(rng.normal(size=(4, 5))))).all()
    values = rng.normal(size=(3, 9))
    floor = GaussianBIC().cost_floor(table([*values, np.full(9, 0.1)]))
    assert np.isneginf(floor).tolist() == [False, False, False, True]
    assert floor[:3] == pytest.approx(GaussianBIC().cost_floor(table(values)))


# ----------------------------------------------------------------------------------- what cannot be scored


def test_collinear_columns_are_named():
    rng = np.random.default_rng(9)
    a, b, c, d, e = rng.normal(size=(5, 40)) * 1e3
    data = table([a, b, c, 2 * a - b + 7, d, e])
    for ask in (
        lambda: set_cost(GaussianBIC(), data, [2]),
        lambda: GaussianBIC().cost_floor(data),
        lambda: GaussianBIC().max_set_size(data),
    ):
        with pytest.raises(DataError, match=r"columns 'a', 'b', 'd' are linearly dependent.*Leave one of them out"):
            ask()


def test_equal_columns_and_shares_are_named():
    rng = np.random.default_rng(10)
    a, b, c = rng.normal(size=(3, 40))
    with pytest.raises(DataError, match="columns 'a', 'c' are linearly dependent"):
        set_cost(GaussianBIC(), table([a, b, -3 * a]), [1])
    parts = rng.dirichlet(np.ones(4), size=50).T
    with pytest.raises(DataError, match="columns 'a', 'b', 'c', 'd' are linearly dependent"):
        set_cost(GaussianBIC(), table(parts), [0])
    assert math.isfinite(set_cost(GaussianBIC(), table([a, b, a + 1e-4 * c]), [0, 1, 2]))


def test_collinear_columns_among_few_rows_are_named_when_met():
    rng = np.random.default_rng(11)
    a, b, c, d, e = rng.normal(size=(5, 5))
    data = table([a, b, c, a + b, d, e])
    assert math.isfinite(set_cost(GaussianBIC(), data, [0, 1, 2, 4]))
    with pytest.raises(DataError, match="columns 'a', 'b', 'd' are linearly dependent"):
        set_cost(GaussianBIC(), data, [0, 1, 2, 3])


def test_bge_takes_collinear_columns_and_few_rows():
    rng = np.random.default_rng(12)
    a, b = rng.normal(size=(2, 4))
    data = table([a, b, a + b, a])
    for node, parents in families(4):
        naive = naive_bge(data.rows(), node, parents)
        assert_agree(local_cost(BGe(), data, node, parents), naive, data)
    huge = table([a * 1e9, b, b, a * 1e9])
    assert math.isfinite(set_cost(BGe(), huge, [0, 1, 2]))
    with pytest.raises(DataError, match="columns 'a', 'd' are linearly dependent"):
        set_cost(BGe(), huge, [0, 1, 3])


def test_set_size_is_limited_by_rows():
    rng = np.random.default_rng(13)
    data = table(rng.normal(size=(6, 4)))
    assert GaussianBIC().max_set_size(data) == 3
    assert GaussianBIC().max_set_size(table(rng.normal(size=(6, 40)))) == 6
    assert math.isfinite(set_cost(GaussianBIC(), data, [1, 3, 5]))
    with pytest.raises(DataError, match=r"set of 4 columns .* 4 different rows.*at most 2 parents"):
        set_cost(GaussianBIC(), data, [0, 1, 3, 5])


@pytest.mark.parametrize("score", [GaussianBIC(), ConditionalGaussianBIC()], ids=lambda score: score.name)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e300])
def test_constant_columns_are_refused_only_when_used(score, value):
    rng = np.random.default_rng(14)
    data = table([*rng.normal(size=(2, 20)), np.full(20, value)])
    assert math.isfinite(set_cost(score, data, [0, 1]))
    with pytest.raises(DataError, match=r"column 'c' is constant .* leave it out"):
        set_cost(score, data, [0, 2])


def test_bge_takes_constant_columns():
    data = table([[0.0, 1.0, 5.0], [2.0, 2.0, 2.0]])
    assert_agree(local_cost(BGe(), data, 1, [0]), naive_bge(data.rows(), 1, [0]), data)


@pytest.mark.parametrize("score", [GaussianBIC(), ConditionalGaussianBIC()], ids=lambda score: score.name)
@pytest.mark.parametrize("weight", [1, 5])
def test_equal_rows_are_refused(score, weight):
    with pytest.raises(DataError, match=rf"all rows .* equal \(N = {weight}\).*'a'.*two different"):
        set_cost(score, table([[1.0], [2.0]], weights=[weight]), [0])


def test_one_row_is_fine_for_bge_and_for_discrete_columns():
    data = table([[1.5], [1]], [0, 2])
    assert set_cost(ConditionalGaussianBIC(), data, [1]) == 0.0
    assert math.isfinite(set_cost(BGe(), table([[1.5], [2.0]]), [0, 1]))


@pytest.mark.parametrize("score", CONTINUOUS, ids=lambda score: score.name)
def test_discrete_columns_are_refused_only_when_used(score):
    rng = np.random.default_rng(15)
    data = table([rng.normal(size=9), rng.integers(0, 2, size=9), rng.normal(size=9)], [0, 2, 0])
    assert math.isfinite(set_cost(score, data, [0, 2]))
    with pytest.raises(DataError, match="column 'b' is discrete"):
        set_cost(score, data, [0, 1])


@pytest.mark.parametrize("alpha_mu", [0.0, -1.0, math.nan, math.inf])
def test_alpha_mu_is_positive(alpha_mu):
    with pytest.raises(OptionError, match="alpha_mu"):
        BGe(alpha_mu=alpha_mu)


@pytest.mark.parametrize("alpha_w", [0.0, 2.0, math.nan])
def test_alpha_w_is_checked_early_where_possible(alpha_w):
    with pytest.raises(OptionError, match="alpha_w"):
        BGe(alpha_w=alpha_w)


def test_alpha_w_is_compared_with_the_columns():
    data = table(np.random.default_rng(16).normal(size=(3, 9)))
    assert math.isfinite(set_cost(BGe(alpha_w=4.1), data, [0, 1]))
    with pytest.raises(OptionError, match=r"alpha_w is 4\.0 and the data have 3 columns; alpha_w must exceed 4"):
        set_cost(BGe(alpha_w=4.0), data, [0])


@pytest.mark.parametrize("pseudo_rows", [0.0, -1.0, 1e-9, math.nan, math.inf])
def test_pseudo_rows_is_positive(pseudo_rows):
    with pytest.raises(OptionError, match="pseudo_rows"):
        ConditionalGaussianBIC(pseudo_rows)


# ------------------------------------------------------------------------------------------------ rounding


def exact_scatter(data, columns, rows=None):
    """The centred scatter matrix of some columns, in fractions: what the doubles of the table say exactly."""
    rows = range(len(data.weights)) if rows is None else rows
    weights = [int(data.weights[r]) for r in rows]
    values = [[Fraction(float(data.columns[v][r])) for r in rows] for v in columns]
    means = [sum(w * x for w, x in zip(weights, column, strict=True)) / sum(weights) for column in values]
    centred = [[x - mean for x in column] for column, mean in zip(values, means, strict=True)]
    return [[sum(w * x * y for w, x, y in zip(weights, a, b, strict=True)) for b in centred] for a in centred]


def exact_determinant(matrix):
    matrix, determinant = [list(row) for row in matrix], Fraction(1)
    for j in range(len(matrix)):
        determinant *= matrix[j][j]
        for i in range(j + 1, len(matrix)):
            factor = matrix[i][j] / matrix[j][j]
            matrix[i] = [x - factor * y for x, y in zip(matrix[i], matrix[j], strict=True)]
    return determinant


def exact_log(fraction):
    return Decimal(fraction.numerator).ln() - Decimal(fraction.denominator).ln()


def exact_gaussian_bic(data, columns):
    """F of a set with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        n, size = Decimal(data.n_rows), len(columns)
        log_det = exact_log(exact_determinant(exact_scatter(data, columns))) - size * n.ln()
        return n / 2 * (size * (LOG_2PI_50 + 1) + log_det) + n.ln() / 2 * size * (size + 3) / 2


LOG_2PI_50 = Decimal("1.8378770664093454835606594728112352797227949472756")


def error_of(score, data, exact):
    """The largest error of F over all sets, and its bound."""
    n = len(data.names)
    sets = [list(columns) for size in range(1, n + 1) for columns in itertools.combinations(range(n), size)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)
        errors = [abs(Decimal(set_cost(score, data, columns)) - exact(data, columns)) for columns in sets]
    return float(max(errors)), score.set_cost_error(data)


ADVERSARIAL = {
    "three rows": lambda rng: table(rng.normal(size=(2, 3))),
    "nearly collinear": lambda rng: nearly_equal(rng, 400, 1e-4),
    "sum of two": lambda rng: nearly_equal(rng, 300, 1e-3, of_two=True),
    "offset 1e8": lambda rng: table(1e8 + rng.normal(size=(3, 200))),
    "offset and collinear": lambda rng: moved(nearly_equal(rng, 200, 1e-3), [1, 1, 1], [1e8, 1e8, 1e8]),
    "tiny and huge": lambda rng: moved(nearly_equal(rng, 200, 1e-2), [1e-150, 1e150, 1e-300], [0, 0, 0]),
    "outlier": lambda rng: table(np.concatenate([rng.normal(size=(3, 199)), [[1e6], [1e6], [-1e6]]], axis=1)),
    "weights": lambda rng: table(rng.normal(size=(3, 60)), weights=rng.integers(1, 10**8, size=60)),
    "weights and collinear": lambda rng: table(
        nearly_equal(rng, 60, 1e-3).columns, weights=rng.integers(1, 10**4, size=60)
    ),
    "more columns than rows": lambda rng: table(rng.normal(size=(4, 5))),
    "many rows": lambda rng: nearly_equal(rng, 5000, 1e-3),
}


def nearly_equal(rng, n_rows, noise, of_two=False):
    a, b, c = rng.normal(size=(3, n_rows))
    return table([a, a + c + noise * b if of_two else a + noise * b, c])


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("seed", sampled(1, [1, 2]))
def test_rounding_of_gaussian_bic_is_within_its_bound(name, seed):
    error, bound = error_of(GaussianBIC(), ADVERSARIAL[name](np.random.default_rng(seed)), exact_gaussian_bic)
    assert error <= bound < 0.01


@pytest.mark.slow
def test_rounding_of_gaussian_bic_of_many_rows():
    error, bound = error_of(GaussianBIC(), nearly_equal(np.random.default_rng(0), 100_000, 1e-3), exact_gaussian_bic)
    assert error <= bound < 1e-5


def exact_bge(data, columns):
    """F of a set for alpha_mu = 1 and the default alpha_w, with 50 digits: t = 1/2, a = 2 + size."""
    with localcontext() as context:
        context.prec = 50
        n, size = data.n_rows, len(columns)
        scatter = exact_scatter(data, columns)
        for j in range(size):
            scatter[j][j] += Fraction(1, 2)
        dof = size + 2
        log_det = exact_log(exact_determinant(scatter))
        # Gamma(x + 1/2) / sqrt(pi) and Gamma(x + 1) are products of fractions; the powers of pi cancel but for one
        gammas = sum(exact_log(half_gamma(dof - j)) - exact_log(half_gamma(n + dof - j)) for j in range(size))
        odd = sum((dof - j) % 2 - (n + dof - j) % 2 for j in range(size))
        log_pi = LOG_2PI_50 - Decimal(2).ln()
        return (
            Decimal(size) / 2 * Decimal(n + 1).ln()
            + Decimal(size * n) / 2 * log_pi
            + gammas
            + Decimal(odd) / 2 * log_pi
            + Decimal(dof * size) / 2 * Decimal(2).ln()
            + Decimal(n + dof) / 2 * log_det
        )


def half_gamma(twice):
    """Gamma(twice / 2), without the factor sqrt(pi) where `twice` is odd."""
    value, x = Fraction(1), Fraction(1, 2) if twice % 2 else Fraction(1)
    while x < Fraction(twice, 2):
        value, x = value * x, x + 1
    return value


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", [name for name in ADVERSARIAL if name not in ("tiny and huge", "weights", "weights and collinear")]
)
def test_rounding_of_bge_is_within_its_bound(name):
    error, bound = error_of(BGe(), ADVERSARIAL[name](np.random.default_rng(3)), exact_bge)
    assert error <= bound < 0.01


def exact_conditional_gaussian(data, columns):
    """F of a set for pseudo_rows = 1, with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        discrete = [v for v in columns if data.arities[v]]
        continuous = [v for v in columns if not data.arities[v]]
        n, size = Decimal(data.n_rows), len(continuous)
        variances = [exact_scatter(data, [v])[0][0] / data.n_rows for v in continuous]
        cells = {}
        for r in range(len(data.weights)):
            cells.setdefault(tuple(int(data.columns[v][r]) for v in discrete), []).append(r)
        cost = Decimal(0)
        for rows in cells.values():
            count = Decimal(int(data.weights[rows].sum()))
            cost -= count * (count / n).ln()
            scatter = exact_scatter(data, continuous, rows)
            ridged = [[x + (variances[i] if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(scatter)]
            determinant = exact_determinant(ridged)
            log_det = exact_log(determinant) - size * (count + 1).ln()
            # tr(Sigma^-1 SS) = (count + 1) (size - tr((SS + V)^-1 V)), by minors
            lost = sum(
                variances[j]
                * exact_determinant(
                    [[x for k, x in enumerate(row) if k != j] for i, row in enumerate(ridged) if i != j]
                )
                for j in range(size)
            )
            trace = (count + 1) * (
                size - Decimal((lost / determinant).numerator) / Decimal((lost / determinant).denominator)
            )
            cost += (count * (size * LOG_2PI_50 + log_det) + trace) / 2
        params = math.prod(int(data.arities[v]) for v in discrete) * (1 + size * (size + 3) // 2)
        return cost + n.ln() / 2 * (params - 1)


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-5])
@pytest.mark.parametrize("n_rows", sampled(2, [3, 60, 400]))
def test_rounding_of_conditional_gaussian_is_within_its_estimate(noise, n_rows):
    rng = np.random.default_rng(n_rows)
    columns = [*nearly_equal(rng, n_rows, noise).columns, rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)]
    data = table(columns, [0, 0, 0, 2, 3], weights=rng.integers(1, 4, size=n_rows))
    error, bound = error_of(ConditionalGaussianBIC(), data, exact_conditional_gaussian)
    assert error <= bound < 0.01


@pytest.mark.slow
def test_nearly_equal_columns_of_many_rows_are_refused_by_name():
    """0.41 nats were lost here, without a word."""
    rng = np.random.default_rng(0)
    data = nearly_equal(rng, 1_000_000, 1.5e-5)
    with pytest.raises(DataError, match=r"columns 'a', 'b' are so nearly dependent .* off by \d.* Drop one of them"):
        set_cost(GaussianBIC(), data, [0, 1])
    assert math.isfinite(set_cost(GaussianBIC(), table([data.columns[0], data.columns[2]]), [0, 1]))


def test_nearly_equal_columns_warn_before_they_are_refused():
    rng = np.random.default_rng(0)
    data = nearly_equal(rng, 100_000, 5e-5)
    assert 1e-3 < GaussianBIC().set_cost_error(data) < 0.01
    with pytest.warns(CredibnWarning, match=r"columns 'a', 'b' .* N = 100,000 rows may be off by 0\.0\d+ nats"):
        set_cost(GaussianBIC(), data, [0, 1])


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_ordinary_data_raise_no_warning(score):
    rng = np.random.default_rng(0)
    data = table(rng.normal(size=(10, 100_000)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_cost(score, data, range(10))
    assert score.set_cost_error(data) < 1e-5


# -------------------------------------------------------------------------------------------- the protocol


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_scores_obey_the_protocol(score):
    assert isinstance(score, SetScore)
    assert score == type(score)(**score.settings())
    assert json.loads(json.dumps(score.settings())) == score.settings()


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_empty_sets_cost_nothing(score):
    data = table(np.random.default_rng(17).normal(size=(3, 9)))
    assert score.set_costs(data, np.empty((2, 0), np.intp)).tolist() == [0.0, 0.0]
    assert score.set_costs(data, np.empty((0, 2), np.intp)).shape == (0,)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_batches_do_not_matter(score, monkeypatch):
    rng = np.random.default_rng(18)
    columns, arities = list(rng.normal(size=(6, 60))), [0] * 6
    if score.columns == "mixed":
        columns += list(rng.integers(0, 3, size=(3, 60)))
        arities += [3] * 3
    data = table(columns, arities)
    sets = np.array(list(itertools.combinations(range(len(columns)), 4)), dtype=np.intp)
    together = score.set_costs(data, sets)
    monkeypatch.setattr(moments, "_SETS_AT_ONCE", 3)
    monkeypatch.setattr(mixed, "_CELLS_AT_ONCE", 5)
    assert (score.set_costs(data, sets) == together).all()
    alone = np.array([set_cost(score, data, row) for row in sets])
    assert together == pytest.approx(alone, rel=1e-13)


def test_many_states_are_numbered_by_seen_cells():
    rng = np.random.default_rng(19)
    arities = [200] * 9 + [0]
    data = table([*rng.integers(0, 200, size=(9, 30)), rng.normal(size=30)], arities)
    ours = local_cost(ConditionalGaussianBIC(), data, 9, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    naive = naive_conditional_gaussian(data.rows(), arities, 9, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert ours == pytest.approx(naive, rel=1e-9)


def test_moments_are_computed_once_and_forgotten_with_the_data(monkeypatch):
    data = table(np.random.default_rng(20).normal(size=(3, 9)))
    key = id(data)
    before = set_cost(GaussianBIC(), data, [0, 1])
    monkeypatch.setattr(moments, "_compute_moments", None)
    assert set_cost(GaussianBIC(), data, [0, 1]) == before
    assert key in moments._known_moments
    del data
    gc.collect()
    assert key not in moments._known_moments


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_a_dataset_is_a_data_view(score):
    a, b = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.0, 2.0, 3.0])
    weights = np.array([1, 2, 1, 3])
    data: DataView = Dataset(("a", "b"), (a, b), states=(None, None), weights=weights)
    expected = set_cost(score, table([a, b], weights=weights), [0, 1])
    assert set_cost(score, data, [0, 1]) == expected


def test_parents_with_too_many_categories_are_refused_with_a_limit_that_works():
    rng = np.random.default_rng(2)
    data = mixed_dataset([rng.normal(size=9), *(rng.integers(0, 5, size=9) for _ in range(8))], [0] + [250] * 8)
    options = {"score": "conditional-gaussian-bic", "epsilon": 1e18, "n_threads": 1}
    with pytest.raises(DataError, match=r"could change a cost by .* nats, because 8 parents .*set max_parents=3"):
        score_parent_sets(data, **options)
    assert score_parent_sets(data, max_parents=3, **options).tolerance < 1.0
    with pytest.raises(DataError, match="set max_parents=3"):
        score_parent_sets(data, max_parents=4, **options)


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu"])
def test_a_score_of_categories_names_the_numbers_of_a_dataset(score):
    rng = np.random.default_rng(1)
    data = mixed_dataset([rng.integers(0, 2, 9), rng.normal(size=9)], [2, 0])
    with pytest.raises(DataError, match=r"column 'v1' is continuous, and this score takes categories: .*score='auto'"):
        score_parent_sets(data, score=score)
