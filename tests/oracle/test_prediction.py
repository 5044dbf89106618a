"""Averaged prediction against its definition: every network fitted and answered by itself, from its whole joint."""

import dataclasses
import itertools
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies
from credibn import AveragedModel, CredibleSet, Dataset, EdgeLogOdds, average_models, learn, read_data, read_network
from credibn.errors import CredibnWarning, DataError, OptionError
from credibn.examples import sample_asia
from credibn.graphs import class_members
from credibn.models import (
    BayesianNetwork,
    GaussianDiscriminant,
    LinearGaussian,
    TableModel,
    fit_local_model,
    fit_network,
    log_conditional,
)
from credibn.models.prediction import model_of_network
from credibn.models.quadrature import posterior_means
from credibn.scores.table import parent_positions
from profiles import examples, sampled

EVERYTHING = {"share": 1.0, "max_classes": 10**6}


def members(found):
    """Every network of the set: its parents, and its weight by exp(score)."""
    listed = [
        (list(parent_positions(masks)), score)
        for batch, scores in found.networks_masks()
        for masks, score in zip(batch, scores.tolist(), strict=True)
    ]
    total = sum(math.exp(score - found.optimal_score) for _, score in listed)
    return [(parents, math.exp(score - found.optimal_score) / total) for parents, score in listed]


def joint_of(data, parents, **options):
    """The joint probability table of one fitted network, cell by cell."""
    models = [fit_local_model(data, v, above, **options) for v, above in enumerate(parents)]
    joint = np.empty(data.arities)
    for cell in np.ndindex(*data.arities):
        joint[cell] = math.prod(
            model.probabilities[(*(cell[p] for p in model.parents), cell[v])] for v, model in enumerate(models)
        )
    return joint


def marginal(joint, row, keep=None):
    """The sum of the joint table where the observed codes of the row hold; -1 is missing."""
    at = tuple(slice(None) if code < 0 or v == keep else code for v, code in enumerate(row))
    part = joint[at]
    if keep is None:
        return float(part.sum())
    free = [v for v, index in enumerate(at) if isinstance(index, slice)]
    return part.sum(axis=tuple(axis for axis, v in enumerate(free) if v != keep))


def learned(table, **options):
    states = {f"X{v}": list(range(arity)) for v, arity in enumerate(table.arities)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)  # constant columns
        data = read_data(pd.DataFrame(table.repeated, columns=list(states)), state_names=states)
    return learn(data, **options), data


@st.composite
def rows_of(draw, arities, is_complete=False):
    cell = [st.integers(0 if is_complete else -1, int(arity) - 1) for arity in arities]
    return np.array(draw(st.lists(st.tuples(*cell), min_size=1, max_size=5)))


def frame_of(rows, names):
    return pd.DataFrame(rows, columns=list(names), dtype="Int64").mask(rows < 0)


@examples(25)
@given(st.data())
def test_discrete_prediction_is_the_average_over_all_members(data):
    table = data.draw(strategies.coded_tables(max_columns=4, max_arity=3, min_rows=4))
    score = data.draw(st.sampled_from(["bic", "bdeu"]))
    found, training = learned(table, score=score, bayes_factor=data.draw(st.sampled_from([1.5, 20])))
    assume(found.n_networks <= 60)
    model = average_models(found, training, **EVERYTHING)
    rows = data.draw(rows_of(training.arities))
    joints = [(joint_of(training, parents), weight) for parents, weight in members(found)]
    frame = frame_of(rows, training.names)
    likelihood = [sum(weight * marginal(joint, row) for joint, weight in joints) for row in rows]
    np.testing.assert_allclose(model.log_likelihood(frame), np.log(likelihood), rtol=1e-9, atol=1e-9)
    labels = {}
    for target, name in enumerate(training.names):
        expected = [
            sum(weight * marginal(joint, row, target) / marginal(joint, row, target).sum() for joint, weight in joints)
            for row in rows
        ]
        found_frame = model.predict_proba(frame, name)
        assert list(found_frame.columns) == list(training.states[target])
        np.testing.assert_allclose(found_frame.to_numpy(), expected, rtol=0, atol=1e-9)
        labels[name] = pd.Series([training.states[target][code] for code in found_frame.to_numpy().argmax(axis=1)])
    assert model.predict(frame, name).tolist() == labels[name].tolist()
    imputed = model.impute(frame)
    for target, name in enumerate(training.names):
        is_missing = rows[:, target] < 0
        assert (imputed[name][~is_missing] == frame[name][~is_missing]).all()
        assert imputed[name][is_missing].tolist() == labels[name][is_missing].tolist()


@examples(10)
@given(st.data())
def test_several_targets_are_no_evidence_for_each_other(data):
    table = data.draw(strategies.functional_tables(max_columns=4, max_rows=80))
    found, training = learned(table, bayes_factor=3)
    assume(found.n_networks <= 60)
    model = average_models(found, training, **EVERYTHING)
    rows = data.draw(rows_of(training.arities, is_complete=True))
    together = model.predict_proba(frame_of(rows, training.names), ["X1", "X0"])
    assert list(dict.fromkeys(together.columns.get_level_values(0))) == ["X1", "X0"]
    hidden = rows.copy()
    hidden[:, :2] = -1
    for name in ("X0", "X1"):
        np.testing.assert_allclose(together[name], model.predict_proba(frame_of(hidden, training.names), name))
    labels = model.predict(frame_of(rows, training.names), ["X1", "X0"])
    assert list(labels.columns) == ["X1", "X0"]
    assert labels["X0"].tolist() == model.predict(frame_of(hidden, training.names), "X0").tolist()


@examples(10)
@given(st.data())
def test_networks_that_are_listed_one_by_one(data):
    """With constraints a class counts only its members in the set."""
    table = data.draw(strategies.functional_tables(max_columns=4, max_rows=80))
    found, training = learned(table, bayes_factor=20, forbidden_edges=[("X0", "X1")])
    assume(found.n_networks <= 60)
    assert found.rows.class_of is not None
    model = average_models(found, training, **EVERYTHING)
    assert model.n_classes_used == found.n_classes
    rows = data.draw(rows_of(training.arities, is_complete=True))
    joints = [(joint_of(training, parents), weight) for parents, weight in members(found)]
    expected = [
        sum(weight * marginal(joint, row, 2) / marginal(joint, row, 2).sum() for joint, weight in joints)
        for row in rows
    ]
    np.testing.assert_allclose(model.predict_proba(frame_of(rows, training.names), "X2"), expected, atol=1e-9)


# ----------------------------------------------------------------- Gaussian networks


def gaussian_data(seed, n_rows=40):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    b = 2 * a + rng.normal(size=n_rows)
    c = 100 + 50 * (b - rng.normal(size=n_rows))
    d = rng.normal(size=n_rows) * 0.01 + 0.01 * a
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def normal_of(data, parents):
    """Mean and covariance from x = intercepts + B x + noise: (I - B)^-1 does it all at once."""
    models = [fit_local_model(data, v, above) for v, above in enumerate(parents)]
    slopes = np.zeros((len(models), len(models)))
    for v, model in enumerate(models):
        slopes[v, list(model.continuous_parents)] = model.coefficients
    inverse = np.linalg.inv(np.eye(len(models)) - slopes)
    mean = inverse @ [float(model.intercepts) for model in models]
    return mean, inverse @ np.diag([float(model.variances) for model in models]) @ inverse.T


@pytest.mark.few(1)
@pytest.mark.parametrize("score", ["gaussian-bic", "bge"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gaussian_prediction_is_the_average_over_all_members(score, seed):
    from scipy.stats import multivariate_normal

    table = gaussian_data(seed)
    data = read_data(table, columns="continuous")
    found = learn(data, score=score, bayes_factor=20)
    model = average_models(found, table, **EVERYTHING)
    new = gaussian_data(seed + 10, n_rows=12)
    hidden = np.random.default_rng(seed).random(new.shape) < 0.3
    hidden[0], hidden[1] = False, True
    new = new.mask(hidden)
    normals = [(*normal_of(data, parents), weight) for parents, weight in members(found)]
    likelihoods = model.log_likelihood(new)
    predicted = {name: model.predict(new, name) for name in new}
    for row, values in enumerate(new.to_numpy()):
        known = np.flatnonzero(~np.isnan(values))
        if len(known):
            density = sum(
                weight * multivariate_normal(mean[known], covariance[np.ix_(known, known)]).pdf(values[known])
                for mean, covariance, weight in normals
            )
            assert likelihoods[row] == pytest.approx(math.log(density), abs=1e-8)
        else:
            assert likelihoods[row] == pytest.approx(0.0)
        for target, name in enumerate(new):
            given_ = known[known != target]
            expected = sum(
                weight
                * (
                    mean[target]
                    + covariance[target, given_]
                    @ np.linalg.solve(covariance[np.ix_(given_, given_)], values[given_] - mean[given_])
                )
                for mean, covariance, weight in normals
            )
            assert predicted[name][row] == pytest.approx(expected, rel=1e-8, abs=1e-10)
    imputed = model.impute(new)
    for name in new:
        pd.testing.assert_series_equal(imputed[name], new[name].fillna(predicted[name]))


# ----------------------------------------------------------------- mixed networks


def mixed_data(seed, n_rows=80):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n_rows)
    height = 165 + 13 * sex + rng.normal(0, 7, n_rows)
    weight = height - 100 + rng.normal(0, 6, n_rows)
    size = np.digitize(weight + rng.normal(0, 3, n_rows), [62, 74])
    return pd.DataFrame(
        {"sex": np.array(["f", "m"])[sex], "height": height, "weight": weight, "size": np.array(["S", "M", "L"])[size]}
    )


def mixed_model(seed=0, **options):
    table = mixed_data(seed)
    found = learn(table, score="conditional-gaussian-bic", bayes_factor=20)
    return average_models(found, table, **EVERYTHING, **options), table


def log_joint(model, network, row):
    """The log density of one complete row in one network of the model, term by term."""
    values = [np.array([value]) for value in row]
    return float(sum(model.mixture.log_conditional(at, values)[0] for at in model.mixture.networks[network]))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_discrete_targets_of_mixed_networks(seed):
    model, _ = mixed_model(seed)
    new = mixed_data(seed + 10, n_rows=6)
    columns = [
        new["sex"].map({"f": 0, "m": 1}),
        new["height"],
        new["weight"],
        new["size"].map({"L": 0, "M": 1, "S": 2}),
    ]
    for target, name in ((0, "sex"), (3, "size")):
        found = model.predict_proba(new, name)
        for row in range(len(new)):
            cells = [column[row] for column in columns]
            expected = np.zeros(len(model.states[target]))
            for network, weight in enumerate(model.weights):
                logs = [
                    log_joint(model, network, [*cells[:target], state, *cells[target + 1 :]])
                    for state in range(len(expected))
                ]
                expected += weight * np.exp(logs) / np.exp(logs).sum()
            np.testing.assert_allclose(found.iloc[row], expected, atol=1e-12)
    likelihoods = model.log_likelihood(new)
    for row in range(len(new)):
        cells = [column[row] for column in columns]
        logs = [log_joint(model, network, cells) for network in range(model.n_networks)]
        assert likelihoods[row] == pytest.approx(math.log(model.weights @ np.exp(logs)))


def test_continuous_targets_with_discrete_children():
    """The mean has no closed form where a discrete variable depends on the target: compare with an integrator."""
    from scipy.integrate import quad

    table = mixed_data(3)
    new = mixed_data(4, n_rows=5)
    chain = ["sex->height", "height->weight", "weight->size", "sex->size"]
    model = model_of_network(fit_network(chain, table, columns="mixed"))
    assert any(isinstance(local, GaussianDiscriminant) for local in model.mixture.local_models)
    codes = [new["sex"].map({"f": 0, "m": 1}), new["height"], new["weight"], new["size"].map({"L": 0, "M": 1, "S": 2})]
    for target, name in ((1, "height"), (2, "weight")):
        found = model.predict(new, name)
        for row in range(len(new)):
            cells = [column[row] for column in codes]

            def density(x, cells=cells, target=target):
                return math.exp(log_joint(model, 0, [*cells[:target], x, *cells[target + 1 :]]) + 20)

            low, high = found[row] - 60, found[row] + 60
            total = quad(density, low, high, points=[found[row]], limit=200, epsabs=0)[0]
            mean = quad(lambda x: x * density(x), low, high, points=[found[row]], limit=200, epsabs=0)[0] / total
            assert found[row] == pytest.approx(mean, rel=1e-7)


@pytest.mark.parametrize(("threshold", "width"), [(0.0, 1.0), (3.0, 0.01), (25.0, 0.1), (-30.0, 2.0)])
def test_quadrature_finds_the_mass_in_the_tails(threshold, width):
    """A normal above a soft threshold: the logistic factor moves the mass up to 30 standard deviations."""
    from scipy.integrate import quad

    sign = 1 if threshold >= 0 else -1

    def log_factor(x):
        return -np.logaddexp(0.0, -sign * (x - threshold) / width)

    centre = sign * max(abs(threshold) - 5 * width, 0.0)
    peak = max((log_factor(x) - x**2 / 2, x) for x in np.linspace(-45, 45, 90_001))[0]

    def density(x):
        return math.exp(log_factor(x) - x**2 / 2 - peak)

    ends = {"a": -45.0, "b": 45.0, "points": [centre, threshold], "limit": 500, "epsabs": 0}
    expected = quad(lambda x: x * density(x), **ends)[0] / quad(density, **ends)[0]
    found = posterior_means(np.zeros(1), np.ones(1), lambda rows, values: log_factor(values))
    assert found[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_mixed_networks_take_no_other_missing_cells():
    model, table = mixed_model()
    new = table.head(3).copy()
    new.loc[1, "height"] = np.nan
    with pytest.raises(DataError, match=r"row 2 has no value for 'height' beside 'size': .* one unknown cell"):
        model.predict_proba(new, "size")
    with pytest.raises(DataError, match=r"row 2 has no value for 'height': .* no missing cell"):
        model.log_likelihood(new)
    assert model.impute(new)["height"][1] == model.predict(table.head(3), "height")[1]
    new.loc[1, "sex"] = None
    with pytest.raises(DataError, match="row 2 has no value for 'height' beside 'sex'"):
        model.impute(new)


# ----------------------------------------------------------------- which networks


def test_classes_are_taken_by_weight_not_by_score():
    found, data = learned_asia()
    weights = found.class_weights
    order = np.argsort(-weights)
    assert order.tolist() != list(range(len(order)))  # or this test shows nothing
    for count in range(1, len(order) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CredibnWarning)  # of a share that is not reached
            model = average_models(found, data, share=1.0, max_classes=count)
        assert model.n_classes_used == model.n_networks == count
        assert model.share == pytest.approx(weights[order[:count]].sum())
        np.testing.assert_allclose(model.weights, weights[order[:count]] / weights[order[:count]].sum())
        for network, number in enumerate(order[:count]):
            parents = list(parent_positions(found.classes()[int(number)].masks))
            assert model.mixture.parents(network) == [tuple(above) for above in parents]
        by_share = average_models(found, data, share=float(weights[order[:count]].sum()) - 1e-9)
        assert by_share.n_classes_used == count
    families = {(child, local.parents) for child, local in model.mixture._families}
    assert len(families) == len(model.mixture.local_models)  # each fitted once


def test_networks_weigh_by_the_prior():
    found, data = learned_asia()
    by_class = average_models(found, data, prior="classes", **EVERYTHING)
    assert sorted(by_class.weights) == pytest.approx(sorted(found.averages("classes").weighted.weights))
    against = EdgeLogOdds({("smoke", "lung"): -3.0})  # tells members of a class apart: one still stands for the class
    model = average_models(found, data, prior=against, **EVERYTHING)
    masses = np.zeros(found.n_classes)
    for number, item in enumerate(found.classes()):
        for network in class_members(item.representative):
            log_prior = -3.0 * network.has_edge("smoke", "lung")
            masses[number] += math.exp(item.score - found.optimal_score + log_prior)
    assert sorted(model.weights) == pytest.approx(sorted(masses / masses.sum()))
    with pytest.raises(OptionError, match='give "networks"'):
        average_models(found, data, prior="both")


def test_mixed_networks_that_are_listed_one_by_one_are_used_one_by_one():
    table = mixed_data(0)
    found = learn(table, score="conditional-gaussian-bic", bayes_factor=20, forbidden_edges=[("size", "sex")])
    assert found.n_classes < found.n_networks  # or this test shows nothing
    model = average_models(found, table, **EVERYTHING)
    assert (model.n_networks, model.n_classes_used) == (found.n_networks, found.n_classes)
    listed = {tuple(map(tuple, parents)): weight for parents, weight in members(found)}
    for network, weight in enumerate(model.weights):
        assert listed.pop(tuple(model.mixture.parents(network))) == pytest.approx(weight)
    assert not listed


def learned_asia(**options):
    data = read_data(sample_asia(400, seed=3))
    return learn(data, bayes_factor=30, **options), data


def test_the_equivalent_sample_size_is_that_of_the_score():
    found, data = learned_asia(score="bdeu", equivalent_sample_size=7.5)
    model = average_models(found, data, share=0.5)
    explicit = average_models(found, data, equivalent_sample_size=7.5, share=0.5)
    other = average_models(found, data, equivalent_sample_size=1.0, share=0.5)
    rows = sample_asia(20, seed=9)
    np.testing.assert_array_equal(model.log_likelihood(rows), explicit.log_likelihood(rows))
    assert not np.allclose(model.log_likelihood(rows), other.log_likelihood(rows))
    bic, data = learned_asia()
    np.testing.assert_array_equal(
        average_models(bic, data).log_likelihood(rows),
        average_models(bic, data, equivalent_sample_size=1.0).log_likelihood(rows),
    )


def test_another_table_is_refused_unless_wanted():
    found, _ = learned_asia()
    other = sample_asia(400, seed=4)
    with pytest.raises(OptionError, match="allow_other_data=True"):
        average_models(found, other)
    assert average_models(found, other, allow_other_data=True).names == found.names
    with pytest.raises(OptionError, match="'asia' is in one only"):
        average_models(found, sample_asia(400, seed=3).drop_columns(["asia"]))
    with pytest.raises(OptionError, match="another order"):
        average_models(found, sample_asia(400, seed=3).select(found.names[::-1]))


def test_options_out_of_range():
    found, data = learned_asia()
    for share in (0, 1.5, True, "all"):
        with pytest.raises(OptionError, match="share is"):
            average_models(found, data, share=share)
    for count in (0, 2.5, True):
        with pytest.raises(OptionError, match="max_classes is"):
            average_models(found, data, max_classes=count)
    with pytest.raises(OptionError, match="method is 'mle'"):
        average_models(found, data, method="mle")
    with pytest.raises(OptionError, match="give the CredibleSet"):
        average_models(data, data)
    empty = dataclasses.replace(found, structures=found.rows.first(0))
    with pytest.raises(OptionError, match="empty"):
        average_models(empty, data)


# ----------------------------------------------------------------- rows and targets


@pytest.fixture(scope="module")
def asia() -> AveragedModel:
    found, data = learned_asia()
    return average_models(found, data)


def test_the_target_column_is_not_looked_at(asia):
    rows = sample_asia(30, seed=5).to_pandas()
    expected = asia.predict_proba(rows.drop(columns="lung"), "lung")
    pd.testing.assert_frame_equal(asia.predict_proba(rows, "lung"), expected)
    rows["lung"] = "nonsense"
    pd.testing.assert_frame_equal(asia.predict_proba(rows, "lung"), expected)
    pd.testing.assert_frame_equal(asia.predict_proba(rows, asia.names.index("lung")), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)


def test_rows_come_back_in_their_order_from_any_table(asia, tmp_path):
    rows = sample_asia(50, seed=6).to_pandas()
    expected = asia.predict_proba(rows, "dysp").to_numpy()
    shuffled = rows.sample(frac=1, random_state=1)[list(rows.columns[::-1])]
    found = asia.predict_proba(shuffled, "dysp")
    assert list(found.index) == list(shuffled.index)
    np.testing.assert_array_equal(found.sort_index().to_numpy(), expected)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for table in (tmp_path / "rows.csv", pl.DataFrame(rows.to_dict("list")), rows.to_numpy()):
        np.testing.assert_array_equal(asia.predict_proba(table, "dysp").to_numpy(), expected)
        assert asia.predict(table, "dysp").tolist() == asia.predict(rows, "dysp").tolist()


def test_no_rows_give_no_answers(asia):
    rows = sample_asia(3).to_pandas().iloc[:0]
    assert asia.predict_proba(rows, "lung").shape == (0, 2)
    assert asia.predict(rows, "lung").shape == (0,)
    assert asia.predict(rows, ["lung", "tub"]).shape == (0, 2)
    assert asia.impute(rows).shape == rows.shape
    assert asia.log_likelihood(rows).shape == (0,)


def test_one_row_with_everything_missing_is_the_prior(asia):
    rows = pd.DataFrame({name: [None] for name in asia.names})
    training = sample_asia(400, seed=3).to_pandas()
    share = (training["smoke"] == "yes").mean()
    assert asia.predict_proba(rows, "smoke")["yes"][0] == pytest.approx(share, abs=0.01)
    assert asia.log_likelihood(rows).tolist() == pytest.approx([0.0], abs=1e-12)


def test_wrong_targets_and_rows(asia):
    rows = sample_asia(3)
    with pytest.raises(OptionError, match=r"unknown target 'smoker': did you mean 'smoke'\?"):
        asia.predict(rows, "smoker")
    with pytest.raises(OptionError, match="target 'lung' is named twice"):
        asia.predict_proba(rows, ["lung", "tub", asia.names.index("lung")])
    with pytest.raises(OptionError, match="empty list"):
        asia.predict(rows, [])
    with pytest.raises(OptionError, match="unknown option 'missing'"):
        asia.predict(rows, "lung", missing="drop")
    with pytest.raises(DataError, match="the model has no column 'weight'"):
        asia.predict(rows.append_column("weight", [[1, 1, 1]]), "lung")
    assert len(asia.predict(rows.append_column("weight", [[1, 1, 1]]), "lung", ignore_extra=True)) == 3
    with pytest.raises(DataError, match="row 1, column 'lung': 'perhaps' is not among the states"):
        asia.impute(pd.DataFrame({"lung": ["perhaps"]}))
    model, table = mixed_model()
    with pytest.raises(OptionError, match="'height' is continuous and has no states: use predict"):
        model.predict_proba(table, "height")


def test_what_maximum_likelihood_rules_out():
    table = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 5, "b": ["p"] * 5 + ["q"] * 5, "c": ["s", "t"] * 5})
    found = learn(table, bayes_factor=1.5)
    strict = average_models(found, table, method="maximum_likelihood")
    row = pd.DataFrame({"a": ["x"], "b": ["q"], "c": ["s"]})
    assert strict.log_likelihood(row).tolist() == [-math.inf]
    assert np.isfinite(average_models(found, table).log_likelihood(row)).all()
    network = BayesianNetwork(
        ("a", "b", "c"),
        (("x", "y"),) * 3,
        (
            TableModel((), np.array([0.5, 0.5])),
            TableModel((0,), np.eye(2)),
            TableModel((0,), np.eye(2)),
        ),
    )
    impossible = pd.DataFrame({"b": ["x", "x"], "c": ["x", "y"]})
    with pytest.raises(DataError, match="row 2: its observed values have probability 0 in every network"):
        network.predict_proba(impossible, "a")
    impossible["a"] = ["x", None]
    with pytest.raises(DataError, match=r"row 2: .* probability 0"):
        network.impute(impossible)


def test_networks_that_rule_a_row_out_leave_the_word_to_the_others():
    free = TableModel((0,), np.array([[0.5, 0.5], [0.25, 0.75]]))
    never = TableModel((0,), np.array([[1.0, 0.0], [1.0, 0.0]]))
    root = TableModel((), np.array([0.5, 0.5]))
    base = model_of_network(BayesianNetwork(("a", "b"), (("x", "y"),) * 2, (root, free)))
    mixture = dataclasses.replace(
        base.mixture,
        children=(0, 1, 1),
        local_models=(root, free, never),
        networks=np.array([[0, 1], [0, 2]], dtype=np.intp),
        weights=np.array([0.25, 0.75]),
    )
    both = dataclasses.replace(base, mixture=mixture)
    row = pd.DataFrame({"b": ["y"]})
    np.testing.assert_allclose(both.predict_proba(row, "a"), [[0.4, 0.6]])


# ----------------------------------------------------------------- imputed frames


def test_imputed_columns_keep_their_type():
    rng = np.random.default_rng(0)
    base = rng.integers(0, 3, 60)
    table = pd.DataFrame(
        {
            "whole": base,
            "text": np.array(["low", "middle", "high"])[base],
            "kind": pd.Categorical(np.array(["c", "b", "a"])[base], categories=["c", "b", "a"]),
            "flag": base == 1,
            "cut": base + rng.random(60),
        }
    )
    data = read_data(table, discretise={"cut": [1.0, 2.0]})
    model = average_models(learn(data), data)
    new = table.head(4).copy()
    new.index = ["p", "q", "r", "s"]
    new = new.astype({"whole": "Int64", "flag": "boolean"})
    full = model.impute(new)
    pd.testing.assert_frame_equal(full.drop(columns="cut"), new.drop(columns="cut"))
    assert full["cut"].tolist() == [data.states[4][code] for code in base[:4]]
    holes = new.copy()
    for at, name in enumerate(["whole", "text", "kind", "flag"]):
        holes.loc[holes.index[at], name] = None
    pd.testing.assert_frame_equal(model.impute(holes).drop(columns="cut"), new.drop(columns="cut"))
    empty_column = new.assign(text=np.nan, kind=pd.Categorical([None] * 4, categories=["z"]))
    filled = model.impute(empty_column)
    assert filled["text"].tolist() == new["text"].tolist()
    assert filled["kind"].tolist() == new["kind"].tolist()
    assert filled["kind"].cat.categories[0] == "z"
    absent = model.impute(new[["text"]])
    assert list(absent.columns) == ["text", "whole", "kind", "flag", "cut"]
    assert absent["whole"].tolist() == base[:4].tolist()


def test_one_network_of_a_discretised_table_takes_numbers():
    rng = np.random.default_rng(0)
    size = rng.random(60)
    table = pd.DataFrame({"size": size, "is_large": np.where(size > 0.5, "yes", "no")})
    network = fit_network(["size->is_large"], table, discretise={"size": [0.5]})
    assert network.predict(pd.DataFrame({"size": [0.1, 0.9]}), "is_large").tolist() == ["no", "yes"]
    again = pickle.loads(pickle.dumps(network))
    assert again.cuts == network.cuts == {"size": (0.5,)}


def test_imputing_other_tables(asia):
    rows = sample_asia(5, seed=8).to_pandas()
    rows.loc[2, "xray"] = None
    expected = asia.impute(rows)
    assert expected.drop(columns="xray").equals(rows.drop(columns="xray"))
    pd.testing.assert_frame_equal(asia.impute(pl.from_pandas(rows)), expected, check_dtype=False)


def test_columns_that_are_no_strings():
    table = pd.DataFrame([[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 5, columns=[10, 20, 30])
    model = average_models(learn(table), table)
    new = table.head(3).astype("Int64")
    new.iloc[1, 0] = pd.NA
    pd.testing.assert_frame_equal(model.impute(new), table.head(3).astype("Int64"))


def test_missing_values_that_were_a_state():
    table = pd.DataFrame({"a": ["x", "y", None] * 20, "b": ["p", "q", "r"] * 20})
    found = learn(table, missing="state")
    model = average_models(found, table, missing="state")
    new = pd.DataFrame({"a": [None, "x"], "b": ["q", None]})
    assert model.predict(new, "b").tolist() == ["r", "p"]
    assert model.predict(new, "a").tolist()[0] == "y"
    assert model.predict(pd.DataFrame({"b": ["r"]}), "a").tolist() == [None]
    assert model.impute(new).fillna("none").to_numpy().tolist() == [["none", "q"], ["x", "p"]]
    assert list(model.predict_proba(new, "a").columns) == ["x", "y", None]


def test_a_set_and_a_model_that_were_saved(tmp_path, asia):
    found, data = learned_asia()
    found.save(tmp_path / "set.credibn")
    rows = sample_asia(20, seed=12)
    expected = asia.predict_proba(rows, ["lung", "tub"])
    loaded = average_models(CredibleSet.load(tmp_path / "set.credibn"), data)
    pd.testing.assert_frame_equal(loaded.predict_proba(rows, ("lung", "tub")), expected)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(asia)).predict_proba(rows, ["lung", "tub"]), expected)


# ----------------------------------------------------------------- one network


def test_a_single_network_predicts_like_a_set_of_one():
    data = read_data(sample_asia(400, seed=3))
    found = learn(data, bayes_factor=1.000001)
    network = fit_network(found.classes()[0].representative, data)
    rows = sample_asia(10, seed=5).to_pandas()
    rows.loc[3, "smoke"] = None
    model = average_models(found, data, max_classes=1)
    pd.testing.assert_frame_equal(network.predict_proba(rows, "dysp"), model.predict_proba(rows, "dysp"))
    pd.testing.assert_series_equal(network.predict(rows, "dysp"), model.predict(rows, "dysp"))
    pd.testing.assert_frame_equal(network.impute(rows), model.impute(rows))
    np.testing.assert_allclose(network.log_likelihood(rows), model.log_likelihood(rows))


def test_one_variable_and_one_state():
    with pytest.warns(CredibnWarning, match="constant"):
        data = read_data(pd.DataFrame({"a": ["x", "x"]}))
    model = average_models(learn(data), data)
    assert model.predict(pd.DataFrame({"a": [None, "x"]}), "a").tolist() == ["x", "x"]
    assert model.log_likelihood(pd.DataFrame({"a": [None, "x"]})).tolist() == [0.0, 0.0]
    assert repr(model) == "AveragedModel(1 network of 1 class, 1 variable, share 1)"


@pytest.mark.slow
def test_many_patterns_of_missing_cells(asia):
    """Every pattern of the eight columns, against one elimination for each row."""
    rows = sample_asia(256, seed=11).to_pandas()
    hidden = np.array(list(itertools.product([False, True], repeat=8)))
    rows = rows.mask(hidden)
    found = asia.predict_proba(rows, "lung").to_numpy()
    one_by_one = [asia.predict_proba(rows.iloc[[at]], "lung").to_numpy()[0] for at in range(0, 256, 16)]
    np.testing.assert_allclose(found[::16], one_by_one)
    assert np.isfinite(asia.log_likelihood(rows)).all()


def test_regression_with_all_kinds_of_parents_is_gaussian_in_closed_form():
    """One regression and one child: posterior precision and mean by hand."""
    root = LinearGaussian((), (), np.array(1.0), np.zeros(0), np.array(4.0))
    child = LinearGaussian((), (0,), np.array(0.5), np.array([2.0]), np.array(1.0))
    network = BayesianNetwork(("t", "y"), (None, None), (root, child))
    precision = 1 / 4 + 2**2 / 1
    mean = (1 / 4 + 2 * (3.0 - 0.5)) / precision
    assert network.predict(pd.DataFrame({"y": [3.0]}), "t")[0] == pytest.approx(mean)


def test_a_dataset_is_no_table_of_rows(asia):
    data = read_data(sample_asia(1000))
    assert isinstance(data, Dataset)
    with pytest.raises(DataError, match="order of rows"):
        asia.predict(data, "lung")


# ----------------------------------------------------------------- against another program


def optional_pyagrum():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, at import
        return pytest.importorskip("pyagrum")


@pytest.mark.parametrize("n_missing", [0, 3])
@pytest.mark.parametrize("name", ["asia", "sachs", "alarm"])
def test_predictions_of_one_network_agree_with_pyagrum(name, n_missing, shared_data):
    """Rows drawn from a published network, some cells taken away: the posterior of a target given the rest."""
    pyagrum = optional_pyagrum()
    network = read_network(shared_data / "networks" / f"{name}.bif")
    theirs = network.to_pyagrum()
    rows = network.sample(6, seed=3)
    rng = np.random.default_rng(3)
    for target in rng.choice(list(network.names), 3, replace=False).tolist():
        given = rows.drop(columns=target).astype(object)
        for row in range(len(given)):
            given.iloc[row, rng.choice(given.shape[1], n_missing, replace=False)] = None
        found = network.predict_proba(given, target)
        assert list(found.columns) == list(theirs.variable(target).labels())
        for row in range(len(given)):
            engine = pyagrum.LazyPropagation(theirs)
            engine.setEvidence({column: value for column, value in given.iloc[row].items() if value is not None})
            engine.addTarget(target)
            engine.makeInference()
            np.testing.assert_allclose(found.iloc[row], engine.posterior(target).toarray(), rtol=0, atol=1e-9)


# ----------------------------------------------------------------- found in review


def test_evidence_that_no_network_allows_is_refused_whatever_the_order_of_columns():
    table = pd.DataFrame({"a": [0] * 30 + [1] * 30, "b": [0] * 28 + [1] * 30 + [0] * 2})
    states = {"a": [0, 1, 2], "b": [0, 1]}
    for columns in (["a", "b"], ["b", "a"]):
        found = learn(table[columns], state_names=states)
        model = average_models(found, table[columns], method="maximum_likelihood", state_names=states)
        with pytest.raises(DataError, match="row 1: its observed values have probability 0 in every network"):
            model.predict_proba(pd.DataFrame({"a": [2]}), "b")


@pytest.mark.parametrize("seed", sampled(2, range(6)))
def test_maximum_likelihood_leaves_out_networks_that_rule_a_row_out(seed):
    """Against the joint tables of all members: those that give the observed cells probability 0 say nothing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (14, 3))
    codes[:, 1] = np.where(rng.random(14) < 0.4, codes[:, 1], codes[:, 0])
    states = {f"X{v}": [0, 1, 2] for v in range(3)}
    data = read_data(pd.DataFrame(codes, columns=list(states)), state_names=states)
    found = learn(data, score="aic", bayes_factor=1000)
    model = average_models(found, data, method="maximum_likelihood", **EVERYTHING)
    joints = [(joint_of(data, parents, method="maximum_likelihood"), weight) for parents, weight in members(found)]
    for row in itertools.product(range(-1, 3), repeat=2):
        total, expected = 0.0, np.zeros(3)
        for joint, weight in joints:
            of_states = np.array([marginal(joint, (state, *row)) for state in range(3)])
            if of_states.sum() > 0:
                expected += weight * of_states / of_states.sum()
                total += weight
        new = pd.DataFrame([[None if code < 0 else code for code in row]], columns=["X1", "X2"], dtype=object)
        if total == 0:
            with pytest.raises(DataError, match="probability 0 in every network"):
                model.predict_proba(new, "X0")
        else:
            np.testing.assert_allclose(model.predict_proba(new, "X0").iloc[0], expected / total, rtol=0, atol=1e-9)


def test_a_share_that_is_not_reached_is_told():
    found, data = learned_asia()
    with pytest.warns(CredibnWarning, match=r"most probable classes hold .* raise max_classes"):
        assert average_models(found, data, max_classes=2).share < 0.99


def test_mass_far_from_the_gaussian_is_found():
    """A discrete child that outweighs a regression: the mean lies hundreds of its deviations away."""
    rng = np.random.default_rng(0)
    k = np.arange(400) % 2
    x = np.where(k == 1, 5 + 0.01 * rng.normal(size=400), rng.normal(size=400))
    table = pd.DataFrame({"w": x + 0.01 * rng.normal(size=400), "x": x, "k": k.astype(str)})
    network = fit_network(["w->x", "x->k"], table, columns="mixed", method="maximum_likelihood")
    rows = pd.DataFrame({"w": [4.0, 3.0], "k": ["1", "1"]})
    grid = np.linspace(-5, 15, 200_001)
    for at, mean in enumerate(network.predict(rows, "x")):
        n = len(grid)
        columns = [np.full(n, rows["w"][at]), grid, np.ones(n, dtype=int)]
        logs = sum(log_conditional(network.local_models[v], v, columns) for v in (1, 2))
        density = np.exp(logs - logs.max())
        assert mean == pytest.approx((density * grid).sum() / density.sum(), abs=1e-5)
