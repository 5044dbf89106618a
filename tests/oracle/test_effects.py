"""Causal effects: against listing all networks and adjusting in each by hand, and against simulated draws."""

import itertools
import math
from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from credibn import Dataset, exact_posterior, learn, read_data, score_parent_sets
from credibn.effects.adjusting import Adjustment, StudentT
from credibn.errors import OptionError
from credibn.examples import sample_asia
from credibn.scores.table import parent_positions
from profiles import examples

CLOSE = 1e-10


def random_categories(seed, n_rows=60, arities=(2, 3, 2, 2)):
    """Columns that depend on those before them."""
    rng = np.random.default_rng(seed)
    columns = []
    for r in arities:
        column = rng.integers(0, r, n_rows)
        if columns:
            copied = rng.random(n_rows) < 0.6
            column[copied] = columns[rng.integers(len(columns))][copied] % r
        columns.append(column)
    return pd.DataFrame({f"v{k}": [f"s{value}" for value in column] for k, column in enumerate(columns)})


def random_numbers(seed, n_rows=40, n=4):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n))
    for k in range(1, n):
        values[:, k] += values[:, rng.integers(k)]
    return pd.DataFrame(values * [1, 10, 0.1, 1][:n] + [0, 5, -3, 1][:n], columns=[f"v{k}" for k in range(n)])


def networks_with_weights(found):
    """Every network as a dict of child to parents, with its weight."""
    listed = [(network.graph["score"], network) for network in found.networks()]
    top = max(score for score, _ in listed)
    total = math.fsum(math.exp(score - top) for score, _ in listed)
    return [(math.exp(score - top) / total, network) for score, network in listed]


def adjusted_by_hand(table, x, parents, y, size):
    """P(y | do(x)) from its definition, cell by cell of all that there are."""
    states = {name: sorted(table[name].unique()) for name in table}
    cells = list(itertools.product(*(states[name] for name in parents)))
    found = {}
    for value in states[x]:
        for target in states[y]:
            total = 0.0
            for cell in cells:
                here = table
                for name, label in zip(parents, cell, strict=True):
                    here = here[here[name] == label]
                weight = (len(here) + size / len(cells)) / (len(table) + size)
                there = here[here[x] == value]
                pseudo = size / (len(cells) * len(states[x]) * len(states[y]))
                risk = ((there[y] == target).sum() + pseudo) / (len(there) + pseudo * len(states[y]))
                total += weight * risk
            found[value, target] = total
    return found


@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.3, 1.0, 20.0]))
@examples(8)
def test_effects_of_categories_are_those_of_every_network_by_hand(seed, size):
    table = random_categories(seed)
    found = learn(table, bayes_factor=20, posterior_share=False)
    x, y = np.random.default_rng(seed).choice(table.columns, 2, replace=False)
    effect = found.effects(table, cause=x, outcome=y, equivalent_sample_size=size)
    means, nil, states = [], 0.0, sorted(table[y].unique())
    marginal = {state: ((table[y] == state).sum() + size / len(states)) / (len(table) + size) for state in states}
    do = dict.fromkeys(itertools.product(sorted(table[x].unique()), states), 0.0)
    for weight, network in networks_with_weights(found):
        if y in oracle_descendants(network, x):
            risks = adjusted_by_hand(table, x, sorted(network.predecessors(x)), y, size)
            means.append((weight, risks[effect.change[1], effect.state] - risks[effect.change[0], effect.state]))
        else:
            risks, nil = {key: marginal[key[1]] for key in do}, nil + weight
        do = {key: do[key] + weight * risks[key] for key in do}
    assert effect.nil == pytest.approx(nil, abs=CLOSE)
    assert effect.mean == pytest.approx(math.fsum(w * mean for w, mean in means), abs=CLOSE)
    assert {key: effect.do.loc[key] for key in do} == pytest.approx(do, abs=CLOSE)
    np.testing.assert_allclose(effect.do.sum(axis=1), 1)
    assert effect.nil + effect.positive + effect.negative == pytest.approx(1)
    between = math.fsum(w * (mean - effect.mean) ** 2 for w, mean in means) + nil * effect.mean**2
    assert effect.structure_share * effect.sd**2 == pytest.approx(between, abs=CLOSE)


def oracle_descendants(network, x):
    names = list(network)
    dag = tuple(tuple(names.index(parent) for parent in network.predecessors(name)) for name in names)
    return {name for v, name in enumerate(names) if oracle.has_path(dag, names.index(x), v)}


@given(seed=st.integers(0, 10**6))
@examples(8)
def test_effects_of_numbers_are_those_of_every_network_by_regression(seed):
    table = random_numbers(seed)
    found = learn(table, bayes_factor=20, posterior_share=False)
    x, y = np.random.default_rng(seed).choice(table.columns, 2, replace=False)
    effect = found.effects(table, cause=x, outcome=y, pseudo_rows=1e-9)
    slopes, nil = [], 0.0
    for weight, network in networks_with_weights(found):
        if y not in oracle_descendants(network, x):
            nil += weight
            continue
        design = np.column_stack([np.ones(len(table)), table[x], *(table[z] for z in network.predecessors(x))])
        slopes.append((weight, np.linalg.lstsq(design, table[y], rcond=None)[0][1]))
    assert effect.nil == pytest.approx(nil, abs=CLOSE)
    assert effect.mean == pytest.approx(math.fsum(w * slope for w, slope in slopes), rel=1e-6, abs=1e-6)
    assert effect.n_draws == 0


def test_a_slope_has_the_t_distribution_of_a_regression():
    """With a prior that is worth nothing: mean, standard error, and n + p + 1 degrees of freedom for p variables."""
    table = random_numbers(3)
    data = read_data(table)
    found = Adjustment(data, 1, 1.0, 1e-12).slope((0,), 3, np.random.default_rng(0), 1)
    design = np.column_stack([np.ones(len(table)), table["v0"], table["v1"]])
    beta, residual, *_ = np.linalg.lstsq(design, table["v3"], rcond=None)
    assert isinstance(found, StudentT)
    assert found.df == pytest.approx(len(table) + 4)
    assert found.mean == pytest.approx(beta[2])
    assert found.scale == pytest.approx(math.sqrt(residual[0] / found.df * np.linalg.inv(design.T @ design)[2, 2]))


KINDS = {
    "categories": (random_categories(5), 0, (1,), 2),
    "categories with empty cells": (random_categories(5, 12, (2, 3, 3, 3)), 0, (1, 3), 2),
    "a category of a number": (
        random_categories(6).assign(v3=lambda frame: np.arange(60) % 7 + 3.0 * (frame["v0"] == "s1")),
        0,
        (1, 2),
        3,
    ),
    "numbers in cells": (
        random_numbers(7, 60).assign(v0=lambda frame: np.where(frame["v1"] > 5, "a", "b")),
        1,
        (0, 2),
        3,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_mean_and_the_variance_in_closed_form(kind):
    table, x, parents, y = KINDS[kind]
    data = read_data(table, columns={name: "numeric" for name in table if table[name].dtype.kind == "f"})
    adjustment, n = Adjustment(data, x, 2.0, 2.0), 200_000
    random = np.random.default_rng(1)
    if data.states[x] is None:
        found = adjustment.slope(parents, y, random, n)
    elif data.states[y] is None:
        found = adjustment.mean_difference(parents, y, (0, 1), random, n)
    else:
        found = adjustment.risk_difference(parents, y, (0, 1), 1, random, n)[0]
    error = math.sqrt(found.variance / n)
    assert abs(found.draws.mean() - found.mean) < 5 * error
    assert found.draws.var() == pytest.approx(found.variance, rel=0.03)
    means = adjustment.means(parents, y)
    if data.states[x] is not None:
        difference = means[1] - means[0] if means.ndim == 1 else means[1, 1] - means[0, 1]
        assert difference == pytest.approx(found.mean)


@pytest.mark.slow
def test_the_interval_of_known_effects_covers_them():
    """Rows from a linear model x -> y with z -> both; 100 tables. 95 of 100 are expected, 88 or fewer in 1 of 250."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(100):
        z = rng.normal(size=80)
        x = z + rng.normal(size=80)
        y = 0.7 * x - z + rng.normal(size=80)
        data = read_data(pd.DataFrame({"x": x, "y": y, "z": z}))
        slope = Adjustment(data, 0, 1.0, 1.0).slope((2,), 1, rng, 1)
        covered += 0.025 < slope.below(0.7) < 0.975
    assert covered > 88


def test_quantiles_are_where_the_probability_says():
    table = random_numbers(11)
    effect = learn(table, posterior_share=False).effects(table, cause="v0", outcome="v3", level=0.8)
    wide = learn(table, posterior_share=False).effects(table, cause="v0", outcome="v3", level=0.95)
    assert wide.interval[0] <= effect.interval[0] <= effect.interval[1] <= wide.interval[1]
    assert wide.interval[0] < wide.mean < wide.interval[1]


def test_no_path_is_no_effect():
    table = sample_asia()
    effect = learn(table).effects(table, cause="dysp", outcome="smoke")
    assert (effect.mean, effect.sd, effect.interval, effect.nil) == (0.0, 0.0, (0.0, 0.0), 1.0)
    assert effect.ratio == (1.0, 1.0, 1.0)
    assert effect.parts.empty


def test_rows_without_a_match_are_told():
    """`either` is lung or tub: with both known, no row has its other state."""
    table = sample_asia()
    effect = learn(table).effects(table, cause="either", outcome="xray")
    assert effect.unsupported > 0.9
    assert "There the prior decides." in effect.summary()


def test_all_pairs_agree_with_each_pair():
    table = sample_asia()
    found = learn(table)
    effects = found.effects(table)
    pd.testing.assert_frame_equal(effects.paths, found.ancestor_probabilities(), atol=1e-12)
    for cause, outcome in [("smoke", "bronc"), ("tub", "xray")]:  # one sign in all networks: strengths are effects
        effect = found.effects(table, cause=cause, outcome=outcome, n_draws=100)
        assert (effect.parts["mean"] >= 0).all()
        assert effects.strengths.at[cause, outcome] == pytest.approx(effect.mean)
    strongest = effects.strongest(3)
    assert strongest["strength"].is_monotonic_decreasing
    assert len(strongest) == 3


def test_the_same_seed_gives_the_same_effect_and_a_file_is_read_as_learned(tmp_path):
    path = tmp_path / "clinic.csv"
    sample_asia().to_pandas().to_csv(path, index=False)
    found = learn(path, drop=["asia"])
    first, second = (found.effects(path, cause="smoke", outcome="dysp", seed=seed) for seed in (4, 4))
    assert first.as_json() == second.as_json()
    assert first.as_json() != found.effects(path, cause="smoke", outcome="dysp", seed=5).as_json()


MIXED = random_categories(6).assign(v3=lambda frame: np.arange(60) % 7 + 3.0 * (frame["v0"] == "s1"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cause": "v0"}, "outcome is missing; give cause and outcome, or neither"),
        ({"cause": "v0", "outcome": "v0"}, "cause and outcome are both 'v0'"),
        ({"cause": "v9", "outcome": "v0"}, "v9"),
        ({"cause": "v0", "outcome": "v1", "change": ("s0", "up")}, "change is 'up'; the states of 'v0' are s0, s1"),
        ({"cause": "v0", "outcome": "v1", "change": "s0"}, "it must be two states of the cause"),
        ({"cause": "v0", "outcome": "v1", "state": "up"}, "state is 'up'; the states of 'v1' are s0, s1, s2"),
        ({"cause": "v0", "outcome": "v3", "state": "up"}, "'v3' is a number and has no states"),
        ({"cause": "v3", "outcome": "v0", "change": ("s0", "s1")}, "'v3' is a number, which rises by one unit"),
        ({"cause": "v0", "outcome": "v1", "level": 1}, "level is 1; it must be a number between 0 and 1"),
        ({"cause": "v0", "outcome": "v1", "pseudo_rows": 0}, "pseudo_rows is 0; it must be a number above 0"),
        ({"cause": "v0", "outcome": "v1", "n_draws": 1}, "n_draws is 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, message):
    data = read_data(MIXED, columns={"v3": "numeric"})
    with pytest.raises(OptionError, match=message.replace("(", r"\(")):
        learn(data).effects(data, **options)


def test_an_effect_without_a_closed_form_is_refused_and_unknown_in_the_matrix():
    rng = np.random.default_rng(0)
    number = rng.normal(size=80)
    table = pd.DataFrame({"n": number, "c": np.where(number + rng.normal(size=80) > 0, "a", "b")})
    data = read_data(table)
    found = learn(data, required_edges=[("n", "c")])
    with pytest.raises(OptionError, match="the effect of 'n' on 'c' has no closed form: 'n' is a number and 'c' a cat"):
        found.effects(data, cause="n", outcome="c")
    strengths = found.effects(data).strengths
    assert math.isnan(strengths.at["n", "c"])
    assert strengths.at["c", "n"] == 0


def test_a_constant_cause_is_refused():
    data = Dataset(
        ("a", "b"), (np.array([0, 0], np.uint8), np.array([0, 1], np.uint8)), (("x",), ("x", "y")), np.array([5, 5])
    )
    with pytest.raises(OptionError, match="'a' is constant, so the table says nothing of its effects"):
        learn(data).effects(data, cause="a", outcome="b")


# Over all networks


@given(seed=st.integers(0, 10**6))
@examples(6)
def test_effects_over_all_networks_are_those_of_every_dag(seed):
    table = random_categories(seed, 40)
    posterior = exact_posterior(table)
    x, y = np.random.default_rng(seed).choice(4, 2, replace=False).tolist()
    scores = [
        {
            tuple(parents): score
            for score, parents in zip(table_of.scores, parent_positions(table_of.masks), strict=True)
        }
        for table_of in map(partial(candidates_of, score_parent_sets(table, epsilon=1e3)), range(4))
    ]
    listed = [(math.fsum(scores[v][parents] for v, parents in enumerate(dag)), dag) for dag in oracle.all_dags(4)]
    top = max(listed)[0]
    total = math.fsum(math.exp(score - top) for score, _ in listed)
    expected = Counter()
    for score, dag in listed:
        expected[dag[x]] += math.exp(score - top) / total * oracle.has_path(dag, x, y)
    causes = posterior.causes(x)
    found = dict(zip(map(tuple, parent_positions(causes.masks)), causes.paths[:, y].tolist(), strict=True))
    assert found == pytest.approx({parents: expected[parents] for parents in found}, abs=1e-12)
    effect = posterior.effects(table, cause=x, outcome=y, n_draws=100)
    assert effect.nil == pytest.approx(1 - math.fsum(expected.values()), abs=1e-12)
    assert 1 - effect.nil == pytest.approx(posterior.ancestors[x, y], abs=1e-12)


def candidates_of(table, v):
    own = slice(table.offsets[v], table.offsets[v + 1])
    return SimpleNamespace(scores=table.scores[own].tolist(), masks=table.masks[own])


def test_a_set_that_holds_nearly_all_networks_gives_the_effects_of_all():
    table = random_categories(1)
    of_set = learn(table, epsilon=60).effects(table, cause="v0", outcome="v2")
    of_all = exact_posterior(table).effects(table, cause="v0", outcome="v2")
    assert (of_set.mean, of_set.sd, of_set.nil) == pytest.approx((of_all.mean, of_all.sd, of_all.nil), abs=1e-9)
