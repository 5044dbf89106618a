"""Gaps that are filled in: draws against the distributions that they are from, and what is learned from them."""

import itertools

import numpy as np
import pandas as pd
import pytest

from credibn import CredibnWarning, impute_and_learn, learn
from credibn.data.reading import read_gapped
from credibn.errors import DataError, OptionError, TimeLimitError, TooLargeError
from credibn.examples import sample_example
from credibn.imputation.drawing import _draw_categories, _draw_normal, _draw_numbers, _draw_tables, fill_at_random
from credibn.imputation.imputed import _r_hat
from credibn.imputation.mixed_drawing import draw_mixed, draw_models
from credibn.models.local_models import GaussianDiscriminant, LinearGaussian, TableModel, log_conditional
from credibn.options import ReadOptions

PARENTS = ((), (0,), (0,), (1, 2))
"""Of each variable: a diamond."""


def with_gaps(table, share, seed=0):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share)


@pytest.fixture(scope="module")
def sprinkler():
    return sample_example("sprinkler", 300, 1).to_pandas()


def test_missing_categories_are_drawn_from_their_joint_distribution_given_the_rest():
    rng = np.random.default_rng(0)
    arities = 2, 3, 2, 2
    frame = pd.DataFrame({f"v{v}": [f"s{k}" for k in rng.integers(0, r, 40)] for v, r in enumerate(arities)})
    tables = [rng.dirichlet(np.full(r, 2.0), [arities[p] for p in PARENTS[v]]) for v, r in enumerate(arities)]
    row = pd.DataFrame({"v0": [None], "v1": [None], "v2": ["s1"], "v3": ["s0"]})
    gapped = read_gapped(pd.concat([frame, *[row] * 20_000]), ReadOptions())
    drawn = _draw_categories(gapped, fill_at_random(gapped, rng), tables, PARENTS, rng)
    found = np.zeros((2, 3))
    np.add.at(found, (drawn[0], drawn[1]), 1 / len(drawn[0]))
    joint = np.array(
        [[tables[0][a] * tables[1][a, b] * tables[2][a, 1] * tables[3][b, 1, 0] for b in range(3)] for a in range(2)]
    )
    np.testing.assert_allclose(found, joint / joint.sum(), atol=0.015)
    assert set(drawn[2].tolist()) == {1}
    assert set(drawn[3].tolist()) == {0}


def test_parameters_of_categories_have_their_dirichlet_posterior():
    frame = pd.DataFrame({"a": ["x"] * 6 + ["y"] * 4, "b": ["u"] * 5 + ["w"] * 5})
    data = read_gapped(pd.concat([frame, pd.DataFrame({"a": ["x"], "b": [None]})]), ReadOptions())
    completed = data.filled([np.zeros(1, np.uint8), np.zeros(1, np.uint8)])  # (x, u)
    rng = np.random.default_rng(1)
    drawn = np.array([_draw_tables(completed, ((), (0,)), 1.0, rng)[1] for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(axis=0), [[6.25 / 7.5, 1.25 / 7.5], [0.25 / 4.5, 4.25 / 4.5]], atol=0.01)


def test_missing_numbers_have_the_mean_and_the_covariance_of_a_regression():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3000, 3))
    values[:, 1] += 2 * values[:, 0]
    values[:, 2] += values[:, 1]
    frame = pd.DataFrame(values * [1, 5, 1] + [10, 0, -3], columns=list("abc"))
    holes = pd.DataFrame({"a": [11.0] * 4000, "b": [None] * 4000, "c": [0.5] * 4000}).astype(float)
    gapped = read_gapped(pd.concat([frame, holes]), ReadOptions(columns="continuous"))
    data = read_gapped(pd.concat([frame, holes[:1]]), ReadOptions(columns="continuous"))
    completed = data.filled([np.array([11.0]), np.array([9.0]), np.array([0.5])])
    drawn = _draw_numbers(gapped, gapped.rows_with_gaps(), completed, ((), (0,), (0, 1)), rng)
    design = np.column_stack([np.ones(3000), frame["a"], frame["c"]])
    beta, residual, *_ = np.linalg.lstsq(design, frame["b"], rcond=None)
    assert drawn[1].mean() == pytest.approx(beta @ [1, 11.0, 0.5], abs=0.3)
    assert drawn[1].std() == pytest.approx(np.sqrt(residual[0] / 3000), rel=0.05)
    assert set(drawn[0].tolist()) == {11.0}


def test_a_drawn_normal_distribution_has_the_scatter_it_came_from():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(100_000, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]])
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    mean, covariance = _draw_normal(values.T @ values, 100_000.0, ((), (0,), (0, 1)), rng)
    np.testing.assert_allclose(mean, 0, atol=0.02)
    np.testing.assert_allclose(covariance, values.T @ values / 100_000, atol=0.03)


def mixed_models():
    """d -> x, (d, x) -> y, x -> c: d and c are categories, so x has a number and a category below it."""
    return [
        TableModel((), np.array([0.3, 0.7])),
        LinearGaussian((0,), (), np.array([0.0, 1.0]), np.zeros((2, 0)), np.array([1.0, 0.5])),
        LinearGaussian((0,), (1,), np.array([1.0, 0.0]), np.array([[0.8], [-0.5]]), np.array([1.0, 2.0])),
        GaussianDiscriminant(
            (),
            (1,),
            np.array([0.2, 0.5, 0.3]),
            np.array([[-1.0], [0.5], [2.0]]),
            np.array([[[1.0]], [[0.5]], [[1.5]]]),
        ),
    ]


def mixed_rows(rng, n_gapped=0, **row):
    frame = pd.DataFrame({"d": ["a", "b"] * 30, "x": rng.normal(size=60), "y": rng.normal(size=60)})
    frame["c"] = ["p", "q", "r"] * 20
    return pd.concat([frame, *[pd.DataFrame({name: [value] for name, value in row.items()})] * n_gapped])


@pytest.mark.few(1)
@pytest.mark.parametrize("state", [0, 1, 2])
def test_missing_values_of_both_kinds_are_drawn_from_their_joint_distribution_given_the_rest(state):
    rng, models, n = np.random.default_rng(state), mixed_models(), 20_000
    holes = mixed_rows(rng, n, d=None, x=np.nan, y=0.7, c="pqr"[state])
    gapped = read_gapped(holes, ReadOptions(columns="mixed"))
    drawn = fill_at_random(gapped, rng)
    for _ in range(4):  # forget the beginning
        drawn = draw_mixed(gapped, drawn, models, rng)
    x = np.linspace(-8, 9, 3401)
    exact = np.zeros((2, len(x)))
    for d in range(2):
        columns = [np.full(len(x), d), x, np.full(len(x), 0.7), np.full(len(x), state)]
        exact[d] = np.exp(sum(log_conditional(model, v, columns) for v, model in enumerate(models)))
    exact /= exact.sum()
    assert (drawn[0] == 1).mean() == pytest.approx(exact[1].sum(), abs=0.015)
    for d in range(2):
        found, density = drawn[1][drawn[0] == d], exact[d] / exact[d].sum()
        mean = density @ x
        assert found.mean() == pytest.approx(mean, abs=0.04)
        assert found.std() == pytest.approx(np.sqrt(density @ (x - mean) ** 2), abs=0.04)
    assert set(drawn[2].tolist()) == {0.7}
    assert set(drawn[3].tolist()) == {state}


def test_a_missing_category_above_and_below_numbers_is_drawn_from_its_conditional():
    rng, models, n = np.random.default_rng(5), mixed_models(), 20_000
    gapped = read_gapped(mixed_rows(rng, n, d="a", x=0.4, y=0.7, c=None), ReadOptions(columns="mixed"))
    drawn = draw_mixed(gapped, fill_at_random(gapped, rng), models, rng)
    numerator = [
        p * np.exp(-((0.4 - m) ** 2) / (2 * s)) / s**0.5 for p, m, s in [(0.2, -1, 1), (0.5, 0.5, 0.5), (0.3, 2, 1.5)]
    ]
    np.testing.assert_allclose(np.bincount(drawn[3]) / n, np.array(numerator) / sum(numerator), atol=0.012)


def test_parameters_of_both_kinds_vary_as_rows_drawn_with_replacement_do():
    rng = np.random.default_rng(6)
    table = mixed_rows(rng, 1, d="a", x=np.nan, y=0.0, c="p")
    gapped = read_gapped(table, ReadOptions(columns="mixed"))
    data = gapped.filled([*fill_at_random(gapped, rng)])
    means = [float(draw_models(data, ((), (), (), ()), 1.0, rng)[2].intercepts) for _ in range(2000)]
    y = table["y"].to_numpy()
    assert np.mean(means) == pytest.approx(y.mean(), abs=0.02)
    assert np.std(means) == pytest.approx(y.std() / np.sqrt(61), rel=0.1)


def test_gaps_of_a_constant_number_get_its_value_beside_categories():
    table = pd.DataFrame({"d": ["u", "w", None, "u"] * 10, "k": [3.5, 3.5, None, 3.5] * 10, "x": np.arange(40) / 7})
    with pytest.warns(CredibnWarning, match="'k' is constant"):
        result = impute_and_learn(table, columns={"k": "numeric"}, n_imputations=2, n_rounds=4, n_threads=1)
    assert all(set(one.columns[one.index("k")].tolist()) == {3.5} for one in result.tables)


def test_gaps_of_both_kinds_leave_the_edges_that_the_full_table_shows():
    rng = np.random.default_rng(7)
    d = rng.integers(0, 2, 300)
    x = rng.normal(size=300) + 2 * d
    table = pd.DataFrame(
        {"d": np.array(["u", "w"])[d], "x": x, "y": x + rng.normal(size=300), "z": rng.normal(size=300)}
    )
    gapped = with_gaps(table, 0.15)
    full = learn(table, posterior_share=False)
    first, second = (impute_and_learn(gapped, n_imputations=2, n_rounds=6, seed=3, n_threads=1) for _ in range(2))
    edges = full.averages().parent_sets.edges
    pooled = first.edges_by_table.mean(axis=(0, 1))
    np.testing.assert_allclose(pooled + pooled.T, edges + edges.T, atol=0.15)
    assert [one.fingerprint for one in first.tables] == [one.fingerprint for one in second.tables]
    for completed in first.tables:
        assert set(gapped["x"].dropna()) <= set(completed.columns[completed.index("x")].tolist())


def test_one_gap_changes_little(sprinkler):
    full = learn(sprinkler, posterior_share=False)
    gapped = sprinkler.copy()
    gapped.loc[7, "Rain"] = None
    result = impute_and_learn(gapped, n_imputations=2, n_rounds=4, n_threads=1)
    edges = full.averages().parent_sets.edges
    np.testing.assert_allclose(result.edges_by_table.mean(axis=(0, 1)), edges, atol=0.1)
    assert result.share_missing == pytest.approx(1 / 1200)
    assert {table.n_rows for table in result.tables} == {300}
    assert result.complete


def test_observed_values_stay_and_the_same_seed_gives_the_same_result(sprinkler):
    gapped = with_gaps(sprinkler, 0.2)
    first, second = (impute_and_learn(gapped, n_imputations=2, n_rounds=4, seed=5, n_threads=1) for _ in range(2))
    assert [table.fingerprint for table in first.tables] == [table.fingerprint for table in second.tables]
    assert first.tables[0].fingerprint != first.tables[1].fingerprint
    for name in sprinkler:
        counts = gapped[name].value_counts()
        for table in first.tables:
            v = table.index(name)
            codes = np.bincount(table.columns[v], weights=table.weights)
            assert all(codes[table.states[v].index(label)] >= count for label, count in counts.items())


def test_edges_and_effects_are_averages_over_imputations(sprinkler):
    result = impute_and_learn(with_gaps(sprinkler, 0.1), n_imputations=3, n_rounds=4, n_threads=1)
    last = np.array([found.averages().parent_sets.edges for found in result.sets])
    edges = result.edges_by_table
    assert edges.shape == (3, 2, 4, 4)
    np.testing.assert_array_equal(edges[:, -1], last)
    line = result.edge_probabilities().set_index(["first", "second"]).loc[("Rain", "WetGrass")]
    a, b = result.names.index("Rain"), result.names.index("WetGrass")
    joined = edges[:, :, a, b] + edges[:, :, b, a]
    assert line["forward"] == pytest.approx(edges[:, :, a, b].mean())
    assert line["joined"] == pytest.approx(joined.mean())
    assert line["spread"] == pytest.approx(joined.std(), abs=1e-9)
    assert line["error"] == pytest.approx(joined.mean(axis=1).std(ddof=1) / np.sqrt(3), abs=1e-9)
    pooled = result.effects(cause="Rain", outcome="WetGrass")
    single = [
        found.effects(table, cause="Rain", outcome="WetGrass", allow_other_data=True)
        for found, table in zip(result.sets, result.tables, strict=True)
    ]
    assert pooled.mean == pytest.approx(np.mean([one.mean for one in single]))
    assert pooled.nil == pytest.approx(np.mean([one.nil for one in single]))
    second_moment = np.mean([one.sd**2 + one.mean**2 for one in single])
    assert pooled.sd**2 == pytest.approx(second_moment - pooled.mean**2)
    assert pooled.parts["weight"].sum() == pytest.approx(1 - pooled.nil)
    np.testing.assert_allclose(pooled.do, np.mean([one.do for one in single], axis=0))
    every = result.effects()
    paths = np.mean([found.ancestor_probabilities().to_numpy() for found in result.sets], axis=0)
    np.testing.assert_allclose(every.paths, paths, atol=1e-12)


def test_r_hat_is_one_where_chains_agree_and_large_where_they_do_not():
    assert _r_hat(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])) == pytest.approx(np.sqrt(2 / 3))
    assert _r_hat(np.array([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])) == pytest.approx(np.sqrt(2 / 3 + 8))
    assert _r_hat(np.zeros((3, 4))) == 1.0
    assert _r_hat(np.array([[0.0, 0.0], [1.0, 1.0]])) == np.inf


def test_gaps_that_depend_on_what_is_there_do_not_hide_an_edge():
    """Nine of ten values of b are missing where a is high: complete rows alone hardly show that c follows a."""
    rng = np.random.default_rng(4)
    n = 600
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.9, a, 1 - a)
    c = np.where(rng.random(n) < 0.65, a, 1 - a)
    table = pd.DataFrame({"a": a, "b": b, "c": c}).astype(str)
    gapped = table.copy()
    gapped.loc[(a == 1) & (rng.random(n) < 0.97), "b"] = None
    with pytest.warns(CredibnWarning, match="dropped"):
        full, dropped = learn(table), learn(gapped, missing="drop")
    imputed = impute_and_learn(gapped, n_imputations=4, n_rounds=6, n_threads=1)
    pairs = np.triu_indices(3, 1)
    truth, alone, filled = (
        (edges + edges.T)[pairs]
        for edges in (
            full.averages().parent_sets.edges,
            dropped.averages().parent_sets.edges,
            imputed.edges_by_table.mean(axis=(0, 1)),
        )
    )
    assert np.abs(filled - truth).mean() < 0.5 * np.abs(alone - truth).mean()


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        ({"a": ["x", "y"], "b": ["u", "w"]}, {}, OptionError, "no value is missing"),
        ({"a": ["x", None], "b": ["u", "w"]}, {"n_imputations": 1}, OptionError, "n_imputations"),
        ({"a": ["x", None], "b": ["u", "w"]}, {"n_round": 5}, OptionError, "did you mean n_rounds"),
        ({"a": ["x", None], "b": ["u", "w"]}, {"missing": "drop"}, OptionError, "takes no missing"),
        ({"a": [None, None], "b": [None, None]}, {}, DataError, "no column has a value"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(table, options, error, message):
    with pytest.raises(error, match=message):
        impute_and_learn(pd.DataFrame(table), **options)


def test_a_share_of_the_posterior_may_be_the_goal():
    table = pd.DataFrame({"a": ["x", "x", "y", "y"] * 6, "b": ["u", "u", "w", None] * 6})
    result = impute_and_learn(table, share=0.9, n_imputations=2, n_rounds=4)
    assert all(found.posterior_share >= 0.9 for found in result.sets)
    with pytest.raises(OptionError, match=r"^share is 2; it must be above 0 and below 1"):
        impute_and_learn(table, share=2)


def test_a_share_of_too_many_variables_is_refused_with_advice_that_works():
    values = np.random.default_rng(2).choice(["x", "y"], (12, 25))
    table = pd.DataFrame(values, columns=[f"v{v}" for v in range(25)])
    table.iloc[0, 0] = None
    with pytest.raises(TooLargeError) as refused:
        impute_and_learn(table, share=0.9)
    assert "here 25 can have edges; choose 24 of them with only, or give bayes_factor in its place" in str(
        refused.value
    )
    options = {"n_imputations": 2, "n_rounds": 4, "n_threads": 1, "max_parents": 1}
    assert len(impute_and_learn(table, bayes_factor=1.5, **options).sets) == 2


def test_learn_says_where_imputation_is():
    with pytest.raises(OptionError, match="call impute_and_learn"):
        learn(pd.DataFrame({"a": ["x", None]}), missing="impute")


def test_a_time_limit_or_a_stop_ends_after_whole_rounds(sprinkler):
    gapped = with_gaps(sprinkler, 0.1)
    with pytest.raises(TimeLimitError, match="before one round"):
        impute_and_learn(gapped, time_limit=1e-6)
    with pytest.raises(KeyboardInterrupt):
        impute_and_learn(gapped, progress=lambda stage, fraction: False)
    with pytest.warns(CredibnWarning, match="after 2 of 10 rounds"):
        result = impute_and_learn(
            gapped, n_imputations=2, n_threads=1, progress=lambda stage, fraction: None if fraction < 0.21 else False
        )
    assert (result.n_rounds, result.stopped_because, result.complete) == (2, "interrupted", False)
    assert "Stopped early" in result.summary()
    assert result.trace_scores.shape == (2, 2)


def test_counted_rows_are_filled_in_one_by_one():
    frame = pd.DataFrame(itertools.product(["x", "y"], ["u", "w"], [30]), columns=["a", "b", "n"])
    frame = pd.concat([frame, pd.DataFrame({"a": ["x"], "b": [None], "n": [50]})])
    result = impute_and_learn(frame, weights="n", n_imputations=2, n_rounds=4)
    assert {table.n_rows for table in result.tables} == {170}
    assert all(table.n_distinct == 4 for table in result.tables)
