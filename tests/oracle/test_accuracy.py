"""Rounding never changes an answer: each stage's measured error, against costs to 50 digits, is within its bound."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibn
import exact_costs
import networks
import strategies
from credibn.data import Dataset
from credibn.errors import DataError, OptionError, TooLargeError
from credibn.scores import score_parent_sets
from credibn.search import tolerance_of

MOST_ROWS = 2**32 - 1


@st.composite
def adversarial_tables(draw):
    """Two to four columns, some copies of others, with skewed counts up to the largest that can be counted."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_rows = draw(st.integers(2, 4)), draw(st.integers(1, 10))
    columns = [rng.integers(0, draw(st.integers(2, 4)), n_rows)]
    for _ in range(n - 1):
        source = columns[draw(st.integers(0, len(columns) - 1))]
        kind = draw(st.sampled_from(["free", "copy", "function"]))
        columns.append({"free": rng.integers(0, 3, n_rows), "copy": source, "function": (source + 1) % 3 // 2}[kind])
    codes = np.unique(np.column_stack(columns), axis=0)
    scale = draw(st.sampled_from([1, 100, 65_600, 2**28]))
    weights = rng.integers(1, scale + 1, len(codes))
    if draw(st.booleans()):
        weights[0] = MOST_ROWS - weights[1:].sum()
    arities = tuple(int(top) + 1 + draw(st.integers(1 if top == 0 else 0, 2)) for top in codes.max(axis=0))
    return strategies.CodedTable(codes, arities, weights)


discrete_scores = st.one_of(
    st.just(credibn.BIC()),
    st.just(credibn.AIC()),
    st.floats(-300, 300).map(lambda exponent: credibn.BDeu(min(max(10.0**exponent, 1e-300), 1e300))),
    st.floats(-3, 6).map(lambda exponent: credibn.BDeu(10.0**exponent)),
)


@pytest.mark.parametrize("engine", ["table", "descent"])
@given(adversarial_tables(), discrete_scores, st.sampled_from([0.0, 3.0, 1e4]))
def test_each_local_score_is_within_its_share_of_the_tolerance(engine, table, score, epsilon):
    exact = exact_costs.discrete_costs(table, score)
    found = score_parent_sets(table.dataset(), score=score, epsilon=epsilon, engine=engine)
    n_searched = sum(arity > 1 for arity in table.arities)
    allowed = Decimal(tolerance_of(found)) / (2 * n_searched)
    for node, of_node in enumerate(networks.table_costs(found)):
        for parents, cost in of_node.items():
            assert abs(Decimal(cost) - exact[node][parents]) <= allowed


@given(adversarial_tables(), discrete_scores, st.data())
def test_a_network_exactly_epsilon_below_the_optimum_is_credible(table, score, data):
    costs = exact_costs.discrete_costs(table, score)
    _, by_gap = exact_costs.gaps(costs)
    gap = data.draw(st.sampled_from(sorted({gap for gap, _ in by_gap if gap < 1e6})))
    epsilon = np.nextafter(float(gap), np.inf)
    listed = [
        credibn.learn(table.dataset(), score=score, epsilon=epsilon, unit=unit) for unit in ("classes", "networks")
    ]
    for found in listed:
        exact_costs.assert_true(found, costs, tolerance_of(found.score_table))
    assert listed[0].n_networks == listed[1].n_networks
    assert listed[0].n_classes == listed[1].n_classes


@pytest.mark.parametrize("size", [1.0, 1e6, 1e8, 1e12, 1e15, 1e100, 1e300])
def test_a_large_equivalent_sample_size_leaves_no_network_out(size):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 3))
    rows[:, 1] ^= rows[:, 0] & (rng.random(200) < 0.6)
    found = credibn.learn(rows, score="bdeu", equivalent_sample_size=size, bayes_factor=20)
    assert (found.n_networks, found.complete) == (5 if size == 1 else 25, True)


@pytest.mark.parametrize("size", [0.0, 1e-301, 1e301, float("inf"), float("nan"), "1"])
def test_an_equivalent_sample_size_beyond_the_proven_range_is_refused(size):
    with pytest.raises(OptionError, match="between 1e-300 and 1e\\+300"):
        credibn.BDeu(size)


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_deterministic_columns_keep_networks_at_the_edge(unit):
    columns = ([0, 0], [0, 1], [0, 1], [0, 0])
    states = tuple(tuple(range(k)) for k in (4, 2, 4, 2))
    data = Dataset(tuple("abcd"), tuple(np.array(c, np.uint8) for c in columns), states, np.array([35000, 45000]))
    assert credibn.learn(data, score="bdeu", epsilon=12.177067886314102, unit=unit).n_networks == 331


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_skewed_counts_near_the_largest_total_keep_networks_at_the_edge(unit):
    counts = np.array([4294957180, 936, 2607, 1270, 820, 2483, 771, 1228])
    cells = np.indices((2, 2, 2)).reshape(3, 8).astype(np.uint8)
    data = Dataset(tuple("abc"), tuple(cells), ((0, 1),) * 3, counts)
    assert credibn.learn(data, score="bic", epsilon=9978.131303853743, unit=unit).n_networks == 9


class Noisy:
    """A set function with an error that it states."""

    name, columns = "noisy", "discrete"

    def __init__(self, error):
        self.error = error

    def settings(self):
        return {}

    def set_costs(self, data, sets):
        return np.array([float(len(members)) ** 2 for members in sets])

    def set_cost_error(self, data):
        return self.error


def test_scores_serve_no_larger_epsilon_than_they_were_pruned_for():
    table = score_parent_sets(np.indices((2, 2, 2)).reshape(3, 8).T, score=Noisy(0.01), epsilon=1.0)
    assert tolerance_of(table) == pytest.approx(0.12)
    assert credibn.learn(scores=table, epsilon=1.0).complete
    with pytest.raises(OptionError, match=r"score again with epsilon=1\.1"):
        credibn.learn(scores=table, epsilon=1.1)


@pytest.mark.parametrize("error", [-1.0, float("nan"), float("inf"), 1e308])
def test_an_impossible_error_of_a_score_is_refused(error):
    with pytest.raises(DataError, match="'noisy' has a set_cost_error of"):
        score_parent_sets(np.indices((2, 2, 2)).reshape(3, 8).T, score=Noisy(error))


@pytest.mark.few(1)
@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_more_configurations_than_a_double_holds_are_refused(score):
    n = 69
    states = tuple(tuple(range(60_000)) for _ in range(n))
    data = Dataset(tuple(f"v{v}" for v in range(n)), (np.zeros(1, np.uint16),) * n, states, np.array([1]))
    required = [(f"v{v}", f"v{n - 1}") for v in range(60)]
    limits = {f"v{v}": 0 for v in range(n - 1)}
    options = {"engine": "descent", "epsilon": 1e3, "required_edges": required, "max_parents": limits}
    with pytest.raises(TooLargeError, match="require fewer parents, set max_parents"):
        score_parent_sets(data, score=score, **options)


class RulesOut:
    """A local score that allows no more than one parent, by infinite costs."""

    name = "rules-out"
    columns = "discrete"

    def __init__(self, most=1):
        self.most = most

    def settings(self):
        return {}

    def local_cost(self, data, node, parents):
        return float(node + len(parents)) if len(parents) <= self.most else float("inf")


def test_an_infinite_local_cost_rules_a_parent_set_out():
    rows = np.random.default_rng(1).integers(0, 2, (20, 4))
    found = credibn.learn(rows, score=RulesOut(), epsilon=10.0)
    limited = credibn.learn(rows, score=RulesOut(9), epsilon=10.0, max_parents=1)
    assert found.n_networks == limited.n_networks == 125  # forests of rooted trees on four nodes


def test_a_node_without_any_finite_cost_is_named():
    with pytest.raises(DataError, match="'X0'"):
        credibn.learn(np.random.default_rng(1).integers(0, 2, (20, 3)), score=RulesOut(-1))
