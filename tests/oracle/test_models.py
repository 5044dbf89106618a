"""Networks with parameters: fitting by definition, equivalence of joint distributions, sampling."""

import itertools
import math
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import model_strategies as ms
import oracle
import strategies
from credibn import BIC, Dataset, GaussianBIC, read_data
from credibn.errors import DataError, OptionError, TooLargeError
from credibn.graphs import CPDAG, cpdag_of
from credibn.models import (
    BayesianNetwork,
    GaussianDiscriminant,
    LinearGaussian,
    TableModel,
    fit_local_model,
    fit_network,
    log_conditional,
    log_conditionals_of_states,
)

METHODS = ("posterior_mean", "maximum_likelihood")


def edges_of(dag, names):
    return [(names[p], names[v]) for v, parents in enumerate(dag) for p in parents]


def fit_dag(dag, data, **options):
    return fit_network(edges_of(dag, data.names), data, **options)


def mixed_data(seed=0, n_rows=200, n_states=3):
    """Discrete 0 and 1; continuous 2, 3 and 4, which depend on them and on each other."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, n_states, n_rows), rng.integers(0, 2, n_rows)
    x = a + rng.standard_normal(n_rows)
    y = 100 + 5 * b * x + rng.standard_normal(n_rows)
    z = 10 * (x - y) + 20 * rng.standard_normal(n_rows)
    frame = pd.DataFrame({"a": a, "b": b, "x": x, "y": y, "z": z})
    return read_data(frame, columns="mixed"), frame


@cache
def gaussian_data(seed=0, n_rows=50, n=4):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n)) @ rng.standard_normal((n, n)) * 10.0 ** np.arange(n) + 7
    return read_data(rows, columns="continuous"), rows


# ----------------------------------------------------------------- tables


@given(strategies.coded_tables(max_columns=4, max_weight=3), st.data(), st.sampled_from([0.0, 0.1, 1.0, 20.0]))
def test_tables_are_counts_and_pseudo_counts(table, data, ess):
    dag = data.draw(ms.dags(table.n))
    options = {"equivalent_sample_size": ess} if ess else {"method": "maximum_likelihood"}
    fitted = fit_dag(dag, table.dataset(), **options)
    rows = table.rows
    for child, parents in enumerate(dag):
        assert fitted.parents[child] == parents
        q, r = math.prod(table.arities[p] for p in parents), table.arities[child]
        for cell in itertools.product(*(range(table.arities[p]) for p in parents)):
            inside = [row for row in rows if tuple(row[p] for p in parents) == cell]
            for state in range(r):
                count = sum(row[child] == state for row in inside) + ess / (q * r)
                total = len(inside) + ess / q
                expected = count / total if total else 1 / r
                assert math.isclose(fitted.local_models[child].probabilities[(*cell, state)], expected, rel_tol=1e-12)


@given(strategies.coded_tables(min_columns=3, max_columns=4, max_arity=3), st.data())
def test_equivalent_discrete_networks_have_the_same_joint_distribution(table, data):
    members = sorted(data.draw(st.sampled_from(oracle.all_classes(table.n))))
    dataset = table.dataset()
    for method in METHODS:
        joints = [ms.joint_table(fit_dag(dag, dataset, method=method)) for dag in members[:6]]
        if (
            method == "maximum_likelihood"
        ):  # cells without rows are filled by a convention, which depends on the network
            joints = [{codes: p for codes, p in joint.items() if tuple(codes) in set(table.rows)} for joint in joints]
        for joint in joints[1:]:
            np.testing.assert_allclose(list(joint.values()), list(joints[0].values()), rtol=1e-10, atol=1e-300)


@given(strategies.coded_tables(max_columns=4, max_weight=3), st.data())
def test_maximum_likelihood_is_the_likelihood_part_of_bic(table, data):
    dag, dataset = data.draw(ms.dags(table.n)), table.dataset()
    fitted = fit_dag(dag, dataset, method="maximum_likelihood")
    cost = 0.0
    for child in range(table.n):
        logs = log_conditional(fitted.local_models[child], child, dataset.columns)
        cost -= float(dataset.weights @ logs)
    cost += math.log(dataset.n_rows) / 2 * fitted.n_parameters
    by_score = 0.0
    for child, parents in enumerate(dag):
        family = np.array([sorted((child, *parents))])
        above = np.array([parents], dtype=np.intp).reshape(1, -1)
        by_score += BIC().set_costs(dataset, family)[0] - BIC().set_costs(dataset, above)[0]
    assert math.isclose(cost, by_score, rel_tol=1e-9, abs_tol=1e-7)


def test_unseen_cells_are_uniform_and_a_constant_column_is_fine():
    data = read_data(
        pd.DataFrame({"p": ["x", "x"], "c": ["u", "v"]}), state_names={"p": ["x", "y"], "c": ["u", "v", "w"]}
    )
    for method in METHODS:
        model = fit_local_model(data, 1, [0], method=method)
        np.testing.assert_allclose(model.probabilities[1], 1 / 3)
    one = Dataset(("k",), (np.zeros(1, np.uint8),), (("only",),), np.array([1]))
    assert fit_network([], one).local_models[0].probabilities.tolist() == [1.0]


def test_the_last_axis_sums_to_one_for_the_smallest_prior():
    data = read_data(np.array([[0, 0], [1, 1]]))
    model = fit_local_model(data, 1, [0], equivalent_sample_size=5e-324)
    assert np.isfinite(model.probabilities).all()
    np.testing.assert_allclose(model.probabilities.sum(axis=-1), 1)


@pytest.mark.parametrize("method", METHODS)
def test_tables_that_are_too_large_are_refused_before_they_are_made(method):
    n, arity = 12, 100
    rows = np.random.default_rng(0).integers(0, arity, (300, n))
    data = read_data(rows, state_names={f"X{v:02}": list(range(arity)) for v in range(n)})
    with pytest.raises(TooLargeError, match=r"'X00' given 'X01' \(100 states\), .*100,000,000,000,000,000,000 cells"):
        fit_network([(f"X{v:02}", "X00") for v in range(1, 10)], data, method=method)


# ----------------------------------------------------------------- regressions


@pytest.mark.parametrize("parents", [(), (0,), (2,), (2, 3), (0, 1, 2), (0, 1, 2, 3)])
def test_maximum_likelihood_is_least_squares_in_each_cell(parents):
    data, frame = mixed_data(n_rows=300)
    model = fit_local_model(data, 4, parents, method="maximum_likelihood")
    assert isinstance(model, LinearGaussian)
    assert model.parents == parents
    discrete, continuous = [v for v in parents if v < 2], [v for v in parents if v >= 2]
    values = frame.to_numpy(dtype=float)
    for cell in itertools.product(*(range(int(data.arities[v])) for v in discrete)):
        rows = values[(values[:, discrete] == cell).all(axis=1)]
        design = np.column_stack([np.ones(len(rows)), rows[:, continuous]])
        solution = np.linalg.lstsq(design, rows[:, 4], rcond=None)[0]
        residual = rows[:, 4] - design @ solution
        np.testing.assert_allclose(model.intercepts[cell], solution[0], rtol=1e-8)
        np.testing.assert_allclose(model.coefficients[cell], solution[1:], rtol=1e-8)
        np.testing.assert_allclose(model.variances[cell], (residual**2).mean(), rtol=1e-8)


def with_pseudo_rows(rows, table, kappa):
    """Rows, and kappa rows' worth of points with the table's means and variances and no correlation, with weights."""
    k = table.shape[1]
    offsets = np.sqrt(k) * np.diag(table.std(axis=0))
    points = np.concatenate([table.mean(axis=0) + offsets, table.mean(axis=0) - offsets])
    weights = np.concatenate([np.ones(len(rows)), np.full(2 * k, kappa / (2 * k))])
    return np.concatenate([rows, points]), weights


@pytest.mark.few(9)
@pytest.mark.parametrize("kappa", [1e-3, 1.0, 25.0])
@pytest.mark.parametrize("parents", [(), (1,), (3,), (0, 1, 2, 3)])
@pytest.mark.parametrize("n_rows", [2, 9, 200])
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_posterior_mean_is_least_squares_with_pseudo_rows(parents, kappa, n_rows):
    data, frame = mixed_data(n_rows=n_rows, seed=3)
    model = fit_local_model(data, 4, parents, pseudo_rows=kappa)
    discrete, continuous = [v for v in parents if v < 2], [v for v in parents if v >= 2]
    values = frame.to_numpy(dtype=float)
    family = [*continuous, 4]
    seen = {v: sorted(set(frame.iloc[:, v])) for v in discrete}
    for cell in itertools.product(*(range(int(data.arities[v])) for v in discrete)):
        labels = [seen[v][code] for v, code in zip(discrete, cell, strict=True)]
        inside = (values[:, discrete] == labels).all(axis=1)
        rows, weights = with_pseudo_rows(values[inside][:, family], values[:, family], kappa)
        design = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
        root = np.sqrt(weights)[:, None]
        solution = np.linalg.lstsq(design * root, rows[:, -1] * root[:, 0], rcond=None)[0]
        residual = rows[:, -1] - design @ solution
        np.testing.assert_allclose(model.coefficients[cell], solution[1:], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(model.intercepts[cell], solution[0], rtol=1e-6)
        np.testing.assert_allclose(model.variances[cell], weights @ residual**2 / weights.sum(), rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@given(st.sampled_from(oracle.all_classes(4)), st.integers(0, 4))
def test_equivalent_gaussian_networks_have_the_same_joint_distribution(method, members, seed):
    data, _ = gaussian_data(seed)
    found = [ms.joint_gaussian(fit_dag(dag, data, method=method)) for dag in sorted(members)[:6]]
    scale = np.sqrt(np.diag(found[0][1]))
    for mean, covariance in found:
        np.testing.assert_allclose(mean, found[0][0], rtol=1e-9)
        np.testing.assert_allclose(covariance / np.outer(scale, scale), found[0][1] / np.outer(scale, scale), atol=1e-9)


def test_a_complete_gaussian_network_has_the_moments_of_the_data():
    data, rows = gaussian_data()
    dag = tuple(tuple(range(v)) for v in range(4))
    mean, covariance = ms.joint_gaussian(fit_dag(dag, data, method="maximum_likelihood"))
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    np.testing.assert_allclose(covariance, np.cov(rows.T, bias=True), rtol=1e-9, atol=1e-9)


def test_gaussian_likelihood_is_that_of_the_score():
    data, _ = gaussian_data()
    fitted = fit_dag(((), (0,), (0, 1), (1,)), data, method="maximum_likelihood")
    for child, parents in enumerate(fitted.parents):
        log_likelihood = data.weights @ log_conditional(fitted.local_models[child], child, data.columns)
        family = np.array([sorted((child, *parents))])
        cost = GaussianBIC().set_costs(data, family)[0]
        if parents:
            cost -= GaussianBIC().set_costs(data, np.array([parents]))[0]
        n_parameters = fitted.local_models[child].n_parameters
        assert math.isclose(-log_likelihood + math.log(data.n_rows) / 2 * n_parameters, cost, rel_tol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_location_and_unit_of_columns_change_nothing_else(method):
    _, rows = gaussian_data(n=3)
    shift, unit = np.array([1e6, -3.0, 0.0]), np.array([1.0, 1e-5, 1e8])
    dag = ((), (0,), (0, 1))
    here = fit_dag(dag, read_data(rows, columns="continuous"), method=method)
    there = fit_dag(dag, read_data(rows * unit + shift, columns="continuous"), method=method)
    mean, covariance = ms.joint_gaussian(here)
    moved_mean, moved_covariance = ms.joint_gaussian(there)
    np.testing.assert_allclose(moved_mean, mean * unit + shift, rtol=1e-7)
    np.testing.assert_allclose(moved_covariance, covariance * np.outer(unit, unit), rtol=1e-5)


def test_weights_are_repeated_rows():
    _, frame = mixed_data(n_rows=40)
    frame = frame.round(1)
    counted = frame.assign(n=np.arange(40) % 3 + 1)
    repeated = frame.loc[frame.index.repeat(counted["n"])]
    edges = ["a->x", "b->y", "x->y", "y->z", "z->b", "x->z"]
    edges.remove("b->y")
    first = fit_network(edges, counted, columns="mixed", weights="n")
    second = fit_network(edges, repeated, columns="mixed")
    for one, two in zip(first.local_models, second.local_models, strict=True):
        for name in one.__dataclass_fields__:
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("child", "parents"), [(2, (3,)), (2, (0,)), (4, (2, 3)), (0, (2,)), (4, (0, 1, 2, 3)), (1, (0, 3, 4))]
)
def test_too_few_rows_for_maximum_likelihood_name_the_remedy(child, parents):
    data, _ = mixed_data(n_rows=3, seed=1)
    if (child, parents) == (2, (3,)):
        data = data_with_copies()
    with pytest.raises(DataError, match=r"maximum likelihood of .* rows.*do not determine .*method='posterior_mean'"):
        fit_local_model(data, child, parents, method="maximum_likelihood")
    model = fit_local_model(data, child, parents)
    assert np.isfinite(log_conditional(model, child, data.columns)).all()


def data_with_copies():
    """Columns 2 and 3 are equal up to unit and location."""
    x = np.arange(6.0)
    return read_data(
        pd.DataFrame({"a": [0, 1] * 3, "b": [0, 0, 1] * 2, "x": x, "y": 3 * x - 1}),
        columns={"x": "numeric", "y": "numeric"},
    )


@pytest.mark.parametrize(("child", "parents"), [(2, (3,)), (0, (2, 3))])
def test_a_prior_that_is_lost_to_rounding_is_refused(child, parents):
    few = data_with_copies()
    many = Dataset(few.names, few.columns, few.states, few.weights * 10**12)
    with pytest.raises(DataError, match="use more pseudo_rows"):
        fit_local_model(many, child, parents, pseudo_rows=1e-6)
    fit_local_model(few, child, parents, pseudo_rows=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_constant_continuous_columns_are_kept(method):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"k": 5.5, "zero": 0.0, "x": rng.standard_normal(30), "d": rng.integers(0, 2, 30)})
    data = read_data(frame, columns=dict.fromkeys(["k", "zero", "x"], "numeric"))
    fitted = fit_network(["k->x", "zero->x", "x->d", "k->d"], data, method=method)
    constant, regression = fitted.local_models[0], fitted.local_models[2]
    assert constant.intercepts == 5.5
    assert 0 < constant.variances < 1e-13
    assert regression.coefficients.tolist() == [0.0, 0.0]
    alone = fit_local_model(data, 2, (), method=method)
    assert (regression.intercepts, regression.variances) == (alone.intercepts, alone.variances)
    with_constant, without = fitted.local_models[3], fit_local_model(data, 3, (2,), method=method)
    np.testing.assert_allclose(
        log_conditionals_of_states(with_constant, data.columns), log_conditionals_of_states(without, data.columns)
    )
    np.testing.assert_allclose(fitted.sample(5)["k"], 5.5, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_one_row_is_enough_for_posterior_means():
    fitted = fit_network(["x->y"], pd.DataFrame({"x": [1.5], "y": [2.5]}), columns="continuous")
    assert [float(model.intercepts) for model in fitted.local_models] == [1.5, 2.5]


def test_units_that_no_number_holds_are_refused():
    data = read_data(np.array([[1e200], [-1e200], [0.0]]), columns="continuous")
    with pytest.raises(DataError, match="change the unit"):
        fit_network([], data)


# ----------------------------------------------------------------- discriminants


@pytest.mark.parametrize("kappa", [None, 0.5, 4.0])
@pytest.mark.parametrize(("child", "parents"), [(0, (2,)), (0, (2, 4)), (1, (0, 3)), (1, (0, 2, 3, 4))])
def test_discriminants_are_bayes_rule(child, parents, kappa):
    data, frame = mixed_data(n_rows=150)
    options = {"method": "maximum_likelihood"} if kappa is None else {"pseudo_rows": kappa}
    model = fit_local_model(data, child, parents, equivalent_sample_size=2.0, **options)
    assert isinstance(model, GaussianDiscriminant)
    discrete, continuous = [v for v in parents if v < 2], [v for v in parents if v >= 2]
    values = frame.to_numpy(dtype=float)
    table = values[:, continuous]
    arities = [int(data.arities[v]) for v in (*discrete, child)]
    mass = 0.0 if kappa is None else 2.0 / math.prod(arities)
    joint = np.zeros((len(values), arities[-1]))
    for state in range(arities[-1]):
        for cell in itertools.product(*map(range, arities[:-1])):
            inside = (values[:, discrete] == cell).all(axis=1)
            here = inside & (values[:, child] == state)
            rows, weights = values[here][:, continuous], np.ones(here.sum())
            if kappa is not None:
                rows, weights = with_pseudo_rows(rows, table, kappa)
            mean, covariance = weights @ rows / weights.sum(), np.cov(rows.T, aweights=weights, ddof=0)
            density = stats.multivariate_normal(mean, covariance).pdf(table[inside])
            prior = (here.sum() + mass) / (inside.sum() + mass * arities[-1])
            joint[inside, state] = prior * density
    expected = joint / joint.sum(axis=1, keepdims=True)
    columns = list(values.T[:2].astype(int)) + list(values.T[2:])
    logs = log_conditionals_of_states(model, columns)
    np.testing.assert_allclose(np.exp(logs), expected, rtol=1e-6, atol=1e-12)
    picked = log_conditional(model, child, columns)
    np.testing.assert_array_equal(picked, np.take_along_axis(logs, columns[child][:, None], axis=1)[:, 0])


def test_far_away_values_still_have_probabilities():
    means, covariances = np.array([[0.0], [1.0]]), np.ones((2, 1, 1))
    model = GaussianDiscriminant((), (0,), np.array([0.0, 1.0]), means, covariances)
    logs = log_conditionals_of_states(model, [np.array([1e6, -1e6])])
    assert logs[:, 1].tolist() == [0.0, 0.0]
    assert np.isneginf(logs[:, 0]).all()


def test_columns_broadcast_against_each_other():
    data, _ = mixed_data()
    for child, parents in [(1, (0,)), (4, (0, 1, 2)), (1, (0, 3))]:
        model = fit_local_model(data, child, parents)
        columns = [
            np.arange(3)[:, None],
            np.arange(2),
            np.array(0.5),
            np.linspace(0, 1, 4)[:, None, None],
            np.array(9.0),
        ]
        full = [column.ravel() for column in np.broadcast_arrays(*columns)]
        whole = np.broadcast_arrays(log_conditional(model, child, columns), *columns)[0]
        np.testing.assert_allclose(whole.ravel(), log_conditional(model, child, full))


# ----------------------------------------------------------------- the network


def test_a_class_is_fitted_by_one_of_its_members():
    data = read_data(np.random.default_rng(0).integers(0, 3, (60, 4)))
    for members in oracle.all_classes(4)[::7]:
        shown = fit_dag(members[0], data)
        class_form = cpdag_of(shown.graph)
        assert isinstance(class_form, CPDAG)
        by_class = fit_network(class_form, data)
        assert by_class.parents in members
        expected = ms.joint_table(shown)
        np.testing.assert_allclose(list(ms.joint_table(by_class).values()), list(expected.values()), rtol=1e-10)


def test_properties_and_frames():
    data, _ = mixed_data()
    fitted = fit_network(["a->b", "a->x", "x->y", "z->b"], data)
    assert fitted.is_discrete == (True, True, False, False, False)
    assert fitted.arities == (3, 2, 0, 0, 0)
    assert fitted.parents == ((), (0, 4), (0,), (2,), ())
    assert list(fitted.graph.edges) == [("a", "b"), ("a", "x"), ("x", "y"), ("z", "b")]
    assert list(fitted.graph) == list(fitted.names)
    assert fitted.topological_order == (0, 4, 1, 2, 3)
    assert [model.n_parameters for model in fitted.local_models] == [2, 3 * (1 + 2 * 2), 6, 3, 2]
    assert repr(fitted) == "BayesianNetwork(5 variables, 4 edges, 28 parameters)"
    frame = fitted.conditional_table("x")
    assert list(frame.columns) == ["intercept", "variance"]
    assert list(frame.index) == [0, 1, 2]
    assert list(fitted.conditional_table("y").columns) == ["intercept", "x", "variance"]
    with pytest.raises(OptionError, match="'b' is discrete and has continuous parents"):
        fitted.conditional_table("b")
    with pytest.raises(OptionError, match="'q'"):
        fitted.conditional_table("q")
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.names == fitted.names
    assert copy.topological_order == fitted.topological_order


def test_conditional_tables_of_several_parents():
    rows = np.random.default_rng(0).integers(0, 2, (50, 3))
    fitted = fit_network(["X0->X2", "X1->X2"], rows)
    frame = fitted.conditional_table("X2")
    assert frame.index.names == ["X0", "X1"]
    assert frame.loc[(1, 0), 1] == fitted.local_models[2].probabilities[1, 0, 1]


COIN = TableModel((), np.array([0.5, 0.5]))
TWO = (("h", "t"), ("h", "t"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TableModel((0,), np.array([0.5, 0.5])), "1 axes; give one for each parent"),
        (lambda: TableModel((), np.array([0.5, 0.6])), "sum to 1.1"),
        (lambda: TableModel((), np.array([1.5, -0.5])), "a probability is"),
        (lambda: TableModel((), np.array([math.nan, 1.0])), "not finite"),
        (lambda: TableModel((), np.array([])), "is empty"),
        (lambda: TableModel((), "text"), "must be an array of numbers"),
        (lambda: TableModel((1, 0), np.full((2, 2, 2), 0.5)), "increasing order"),
        (lambda: TableModel((1, 1), np.full((2, 2, 2), 0.5)), "increasing order"),
        (lambda: LinearGaussian((), (), np.array(0.0), np.zeros(0), np.array(0.0)), "a variance is"),
        (lambda: LinearGaussian((0,), (), np.array(0.0), np.zeros(0), np.array(1.0)), "one axis for each"),
        (lambda: LinearGaussian((), (0,), np.array(0.0), np.zeros(0), np.array(1.0)), "coefficients have shape"),
        (lambda: LinearGaussian((0,), (0,), np.zeros(2), np.zeros((2, 1)), np.ones(2)), "both a discrete"),
        (lambda: GaussianDiscriminant((), (), np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0))), "no continuous"),
        (lambda: GaussianDiscriminant((), (0,), np.ones(1), np.zeros(1), np.ones((1, 1, 1))), "means have shape"),
        (lambda: GaussianDiscriminant((), (0,), np.ones(1), np.zeros((1, 1)), np.zeros((1, 1, 1))), "positive"),
        (lambda: GaussianDiscriminant((), (0,), np.ones(1), np.zeros((1, 1)), -np.ones((1, 1, 1))), "positive"),
        (
            lambda: GaussianDiscriminant(
                (), (0, 1), np.ones(1), np.zeros((1, 2)), np.array([[[1.0, 2.0], [2.0, 1.0]]])
            ),
            "definite",
        ),
        (
            lambda: GaussianDiscriminant(
                (), (0, 1), np.ones(1), np.zeros((1, 2)), np.array([[[1.0, 0.5], [0.0, 1.0]]])
            ),
            "symmetric",
        ),
        (lambda: BayesianNetwork((), (), ()), "at least one variable"),
        (lambda: BayesianNetwork(("a", "a"), TWO, (COIN, COIN)), "each different"),
        (lambda: BayesianNetwork(("",), TWO[:1], (COIN,)), "non-empty"),
        (lambda: BayesianNetwork(("a",), (("h", "h"),), (COIN,)), "each once"),
        (lambda: BayesianNetwork(("a",), (([], "h"),), (COIN,)), "each once"),
        (lambda: BayesianNetwork(("a",), (("h", "t", "u"),), (COIN,)), "shape"),
        (lambda: BayesianNetwork(("a",), (None,), (COIN,)), "is continuous and has a TableModel"),
        (lambda: BayesianNetwork(("a",), TWO[:1], ("coin",)), "give one of credibn.models"),
        (lambda: BayesianNetwork(("a",), TWO[:1], (TableModel((0,), np.full((2, 2), 0.5)),)), "other variables"),
        (lambda: BayesianNetwork(("a",), TWO[:1], (TableModel((5,), np.full((2, 2), 0.5)),)), "other variables"),
        (
            lambda: BayesianNetwork(
                ("a", "b"), TWO, (TableModel((1,), np.full((2, 2), 0.5)), TableModel((0,), np.full((2, 2), 0.5)))
            ),
            "directed cycle, 'a' -> 'b' -> 'a'",
        ),
        (
            lambda: BayesianNetwork(
                ("a", "b"),
                (("h", "t"), None),
                (COIN, LinearGaussian((), (0,), np.array(0.0), np.zeros(1), np.array(1.0))),
            ),
            "'a' is discrete, but the model of 'b'",
        ),
    ],
)
def test_wrong_parts_are_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mle"}, "method is 'mle'"),
        ({"equivalent_sample_size": 0}, "equivalent_sample_size is 0"),
        ({"equivalent_sample_size": math.inf}, "equivalent_sample_size is inf"),
        ({"equivalent_sample_size": True}, "equivalent_sample_size is True"),
        ({"pseudo_rows": 0.0}, "at least 1e-06"),
        ({"pseudo_rows": "1"}, "pseudo_rows is '1'"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        fit_network([], np.eye(2, dtype=int), **options)


@pytest.mark.parametrize(("child", "parents"), [(0, [0]), (2, []), (0, [1, 1]), (0, [-1])])
def test_positions_that_are_no_family_are_refused(child, parents):
    with pytest.raises(OptionError, match="must be different positions below 2"):
        fit_local_model(read_data(np.eye(2, dtype=int)), child, parents)


@pytest.mark.parametrize(
    ("edges", "message"), [(["X0->X9"], "X9"), (["X0->X1", "X1->X0"], "cycle"), ("X0->X1", "list of edges")]
)
def test_structures_that_do_not_fit_the_table_are_refused(edges, message):
    with pytest.raises(OptionError, match=message):
        fit_network(edges, np.eye(2, dtype=int))


# ----------------------------------------------------------------- sampling


@given(ms.table_networks(max_variables=3, max_states=3))
def test_samples_of_tables_follow_the_joint_distribution(network):
    n_rows = 2000
    frame = network.sample(n_rows, seed=7)
    codes = np.column_stack([frame[name].cat.codes for name in network.names])
    joint = ms.joint_table(network)
    counts = {cell: int((codes == cell).all(axis=1).sum()) for cell in joint}
    assert sum(counts.values()) == n_rows
    for cell, probability in joint.items():
        if probability < 1e-12:
            assert counts[cell] == 0
        spread = math.sqrt(n_rows * probability * (1 - probability))
        assert abs(counts[cell] - n_rows * probability) <= 6 * spread + 1


def test_samples_of_mixed_networks_are_as_likely_as_their_own_best_fit():
    """Twice the gain of refitting follows a chi-square distribution with as many degrees as parameters (Wilks 1938)."""
    data, _ = mixed_data(n_rows=500)
    fitted = fit_network(["a->x", "a->b", "x->y", "b->y", "y->z", "x->z", "b->z"], data)
    drawn = read_data(fitted.sample(50_000, seed=1), columns="mixed")
    again = fit_network(fitted.graph, drawn, method="maximum_likelihood")
    for child in range(5):
        true, best = (network.local_models[child] for network in (fitted, again))
        gains = log_conditional(best, child, drawn.columns) - log_conditional(true, child, drawn.columns)
        assert 1e-4 < stats.chi2.sf(2 * drawn.weights @ gains, true.n_parameters) < 1 - 1e-4


def test_samples_of_discriminants_follow_them():
    means, covariances = np.array([[-1.0], [1.0]]), np.ones((2, 1, 1))
    x = LinearGaussian((), (), np.array(0.0), np.zeros(0), np.array(2.0))
    c = GaussianDiscriminant((), (0,), np.array([0.3, 0.7]), means, covariances)
    network = BayesianNetwork(("x", "c"), (None, ("no", "yes")), (x, c))
    frame = network.sample(100_000, seed=3)
    for low in (-2.0, -0.5, 0.5):
        chosen = frame[(frame["x"] > low) & (frame["x"] < low + 0.1)]
        expected = np.exp(log_conditionals_of_states(c, [np.array([low + 0.05])]))[0, 1]
        assert abs((chosen["c"] == "yes").mean() - expected) < 5 * math.sqrt(0.25 / len(chosen)) + 0.01


def test_samples_are_the_same_for_a_seed_and_certain_where_the_model_is():
    copy = TableModel((0,), np.eye(3))
    network = BayesianNetwork(("a", "b"), ((3, 1, 2), (3, 1, 2)), (TableModel((), np.array([0.5, 0.0, 0.5])), copy))
    frame = network.sample(1000, seed=5)
    assert frame.equals(network.sample(1000, seed=5))
    assert not frame.equals(network.sample(1000, seed=6))
    assert (frame["a"] == frame["b"]).all()
    assert set(frame["a"]) == {3, 2}


@pytest.mark.parametrize("labels", [(3, 1, 2), ("b", "a"), (True, False), (0.5, -1.5), ("x", None), ("only",)])
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_read_data_sees_all_states_of_a_sample(labels):
    model = TableModel((), np.eye(len(labels))[0] * 0.5 + 0.5 / len(labels))
    network = BayesianNetwork(("v",), (labels,), (model,))
    data = read_data(network.sample(50), missing="state")
    assert data.states == (labels,)
    assert [type(label) for label in data.states[0]] == [type(label) for label in labels]


@pytest.mark.parametrize(("n_rows", "seed"), [(0, 0), (2.5, 0), (True, 0), (5, -1), (5, None)])
def test_odd_numbers_of_rows_and_seeds_are_refused(n_rows, seed):
    network = BayesianNetwork(("a",), TWO[:1], (COIN,))
    with pytest.raises(OptionError, match="must be a whole number"):
        network.sample(n_rows, seed)


def test_many_rows_are_drawn_in_blocks():
    network = BayesianNetwork(("a",), (tuple(range(2000)),), (TableModel((), np.full(2000, 1 / 2000)),))
    counts = network.sample(20_000)["a"].cat.codes.to_numpy()
    assert stats.chisquare(np.bincount(counts, minlength=2000)).pvalue > 1e-4
