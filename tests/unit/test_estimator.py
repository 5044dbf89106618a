"""The estimators: scikit-learn's own checks, and the same answers as `learn` and `average_models`."""

import pickle
import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import credibn
import credibn.sklearn.estimator
import strategies
from credibn import (
    CredibleNetworks,
    CredibleNetworksClassifier,
    CredibleNetworksRegressor,
    CredibnWarning,
    average_models,
    learn,
    read_data,
)
from credibn.errors import DataError, OptionError, TimeLimitError
from credibn.examples import sample_asia
from profiles import examples

ASIA = sample_asia(400).to_pandas()
FEATURES = ["smoke", "bronc", "xray", "dysp"]
X, Y = ASIA[FEATURES], ASIA["lung"]


@pytest.fixture(scope="module")
def fitted():
    return CredibleNetworksClassifier(bayes_factor=3).fit(X, Y)


# ----------------------------------------------------------------- scikit-learn's own checks

MISSING = "fit refuses missing values in words of its own; rows to be predicted may have some: they are summed out"

DICTIONARY = "a dictionary in a cell is refused with a DataError that names the column, and not with a TypeError"


def expected_failures(estimator):
    if is_regressor(estimator):
        return {"check_estimators_nan_inf": MISSING, "check_dtype_object": DICTIONARY}
    return {"check_estimators_nan_inf": MISSING}


# One parent, and the best only: noise in 30 columns has very many credible networks.
SMALL = {"bayes_factor": 1, "max_parents": 1, "n_jobs": 1}


@pytest.mark.few(15)
@parametrize_with_checks([CredibleNetworksClassifier(**SMALL)], expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_a_classifier_follows_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [CredibleNetworks(**SMALL), CredibleNetworksRegressor(score="bge", **SMALL)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_other_estimators_follow_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_scikit_learn_knows_classifier_regressor_and_structure_learner():
    estimators = CredibleNetworksClassifier(), CredibleNetworksRegressor(), CredibleNetworks()
    assert [is_classifier(one) for one in estimators] == [True, False, False]
    assert [is_regressor(one) for one in estimators] == [False, True, False]
    assert [hasattr(one, "predict_proba") for one in estimators] == [True, False, False]
    assert [hasattr(one, "predict") for one in estimators] == [True, True, False]
    assert not is_regressor(CredibleNetworksClassifier(score="?"))


def test_iris_is_classified_in_stratified_folds():
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(CredibleNetworksClassifier(n_jobs=1), X, y, cv=3)
    assert scores.round(2).tolist() == [1.0, 0.94, 0.96]


# ----------------------------------------------------------------- the option and the method called score


def test_score_is_an_option_and_a_method():
    estimator = CredibleNetworksClassifier(score="aic").fit(X, Y)
    assert estimator.get_params()["score"] == "aic"
    assert estimator.credible_set_.score_table.provenance["score"] == "aic"
    assert 0.5 < estimator.score(X, Y) <= 1
    estimator.set_params(score="bdeu", equivalent_sample_size=5.0)
    assert estimator.get_params()["score"] == "bdeu"
    assert "score='bdeu'" in repr(estimator)
    assert clone(estimator).get_params() == estimator.get_params()
    provenance = estimator.fit(X, Y).credible_set_.score_table.provenance
    assert (provenance["score"], provenance["equivalent_sample_size"]) == ("bdeu", 5.0)
    estimator.score = "bic"
    assert CredibleNetworksClassifier.score(estimator.fit(X, Y), X, Y) == estimator.score(X, Y)
    assert estimator.credible_set_.score_table.provenance["score"] == "bic"


def test_sample_size_of_bdeu_is_no_concern_of_other_scores():
    assert CredibleNetworks(equivalent_sample_size=-1).fit(X).complete_
    with pytest.raises(OptionError, match="-1"):
        CredibleNetworks(score="bdeu", equivalent_sample_size=-1).fit(X)


# ----------------------------------------------------------------- the same as learn


def same_sets(a, b):
    return (
        a.score_table.same_as(b.score_table)
        and np.array_equal(a.rows.choices, b.rows.choices)
        and np.array_equal(a.rows.scores, b.rows.scores)
        and a.score_table.provenance["constraints"] == b.score_table.provenance["constraints"]
    )


@pytest.mark.parametrize(
    ("options", "of_learn"),
    [
        ({}, {"bayes_factor": 20}),
        ({"bayes_factor": 3, "n_jobs": -1}, {"bayes_factor": 3}),
        ({"max_parents": 1, "n_jobs": 1}, {"max_parents": 1}),
        ({"max_parents": {"dysp": 1}, "max_networks": 3}, {"max_parents": {"dysp": 1}, "max_networks": 3}),
        (
            {"forbidden_edges": ["smoke->bronc"], "required_edges": [("bronc", "dysp")]},
            {"forbidden_edges": [("smoke", "bronc")], "required_edges": ["bronc->dysp"]},
        ),
        ({"tiers": [["smoke"], ["bronc", "dysp"]]}, {"tiers": [["smoke"], ["bronc", "dysp"]]}),
        ({"state_names": {"smoke": ["yes", "no", "?"]}}, {"state_names": {"smoke": ["yes", "no", "?"]}}),
        ({"score": "bdeu", "equivalent_sample_size": 2.0}, {"score": "bdeu", "equivalent_sample_size": 2.0}),
        ({"time_limit": 100.0, "show_progress": True}, {}),
    ],
)
def test_fit_finds_what_learn_finds(options, of_learn):
    estimator = CredibleNetworks(**options)
    assert estimator.fit(X) is estimator
    found = learn(X, **of_learn)
    assert same_sets(estimator.credible_set_, found)
    assert estimator.optimal_score_ == found.optimal_score
    assert (estimator.n_networks_, estimator.n_classes_) == (found.n_networks, found.n_classes)
    assert estimator.complete_ is found.complete
    pd.testing.assert_frame_equal(estimator.edge_probabilities_, found.edge_probabilities())
    pd.testing.assert_frame_equal(estimator.adjacency_probabilities_, found.adjacency_probabilities())


def test_target_is_one_more_column(fitted):
    table = ASIA[[*FEATURES, "lung"]]
    found = learn(table, bayes_factor=3)
    assert same_sets(fitted.credible_set_, found)
    model = average_models(found, table)
    expected = model.predict_proba(X, "lung")
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.to_numpy())
    assert fitted.classes_.tolist() == list(expected.columns) == ["no", "yes"]
    assert fitted.predict(X).tolist() == model.predict(X, "lung").tolist()
    assert fitted.score(X, Y) == np.mean(model.predict(X, "lung") == Y)
    assert (fitted.target_, fitted.n_features_in_, list(fitted.feature_names_in_)) == ("lung", 4, FEATURES)


def test_classes_frame_lists_every_class():
    frame = CredibleNetworks().fit(ASIA).classes_frame_
    found = learn(ASIA)
    assert list(frame.columns) == ["score", "gap", "size", "weight", "edges"]
    assert frame["size"].sum() == found.n_networks
    assert len(frame) == found.n_classes > 1
    assert frame["weight"].sum() == pytest.approx(1)
    np.testing.assert_allclose(frame["gap"], found.optimal_score - frame["score"], atol=1e-9)
    assert [edges.split(", ") for edges in frame["edges"]] == [list(one.cpdag.edges_as_text) for one in found.classes()]


@examples(10)
@given(strategies.tables(max_rows=8, max_columns=3), st.data())
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_small_tables_with_weights(table, data):
    frame = pd.DataFrame(table)
    target = data.draw(st.lists(st.sampled_from("abc"), min_size=len(frame), max_size=len(frame)))
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(frame), max_size=len(frame)).filter(any))
    estimator = CredibleNetworksClassifier(n_jobs=1).fit(frame, target, sample_weight=counts)
    repeated = CredibleNetworksClassifier(n_jobs=1).fit(
        frame.loc[np.repeat(frame.index, counts)], np.repeat(target, counts)
    )  # the index repeats
    assert same_sets(estimator.credible_set_, repeated.credible_set_)
    seen = frame[np.array(counts) > 0]
    probabilities = estimator.predict_proba(seen)
    np.testing.assert_array_equal(probabilities, repeated.predict_proba(seen))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert estimator.classes_.tolist() == sorted({label for label, count in zip(target, counts, strict=True) if count})
    np.testing.assert_array_equal(estimator.predict(seen), estimator.classes_[probabilities.argmax(axis=1)])


# ----------------------------------------------------------------- what comes in


def test_the_kind_of_table_does_not_matter(fitted):
    expected = fitted.predict_proba(X)
    for table, target in [
        (pl.from_pandas(X), pl.Series("lung", Y.to_list())),
        (pa.Table.from_pandas(X), Y.to_list()),
        (X.astype("category"), Y.astype("category")),
        (X.set_index(np.arange(len(X))[::-1]), Y),  # labels of rows mean nothing
    ]:
        estimator = CredibleNetworksClassifier(bayes_factor=3).fit(table, target)
        assert estimator.target_ == ("y" if isinstance(target, list) else "lung")
        np.testing.assert_allclose(estimator.predict_proba(table), expected, rtol=1e-12)
    for table in (X.to_numpy(), X.to_numpy().tolist()):
        estimator = CredibleNetworksClassifier(bayes_factor=3).fit(table, Y)
        assert estimator.credible_set_.names == ("X0", "X1", "X2", "X3", "lung")
        assert not hasattr(estimator, "feature_names_in_")
        np.testing.assert_allclose(estimator.predict_proba(table), expected, rtol=1e-12)


def test_nested_lists_keep_numbers_as_numbers():
    rows = [["a", 1], ["b", 2]] * 10
    estimator = CredibleNetworksClassifier().fit(rows, [True, False] * 10)
    assert estimator.model_.states == (("a", "b"), (1, 2), (False, True))
    assert estimator.predict(rows[:2]).tolist() == [True, False]
    assert estimator.classes_.dtype == bool


def test_declared_categories_of_a_polars_enum_are_states():
    table = pl.DataFrame({"a": pl.Series(["x", "y"] * 5, dtype=pl.Enum(["y", "x", "z"]))})
    estimator = CredibleNetworksClassifier().fit(
        table, pd.Series(["p", "q"] * 5, dtype=pd.CategoricalDtype(["q", "p", "r"]))
    )
    assert estimator.model_.states == (("y", "x", "z"), ("q", "p", "r"))
    assert estimator.classes_.tolist() == ["q", "p", "r"]
    assert estimator.predict_proba(table).shape == (10, 3)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Y, "lung"),
        (Y.rename("smoke"), "smoke_"),
        (Y.rename(None), "y"),
        (Y.rename(7), "y"),
        (Y.to_numpy(), "y"),
    ],
)
def test_name_of_the_target(target, name):
    estimator = CredibleNetworksClassifier(forbidden_edges=[("smoke", name)]).fit(X, target)
    assert estimator.target_ == name
    assert estimator.credible_set_.names == (*FEATURES, name)
    assert estimator.credible_set_.edge_probabilities().loc["smoke", name] == 0


def test_rows_to_predict_may_have_missing_cells(fitted):
    rows = X[:5].copy()
    rows.loc[rows.index[0], "xray"] = None
    np.testing.assert_array_equal(fitted.predict_proba(rows), fitted.model_.predict_proba(rows, "lung").to_numpy())


def test_categories_that_fit_has_not_seen_are_refused_declared_or_ignored(fitted):
    rows = X[:2].assign(smoke="now and then")
    with pytest.raises(DataError, match=r"'now and then' is not among .* pass handle_unknown='ignore'"):
        fitted.predict(rows)
    told = CredibleNetworksClassifier(state_names={"smoke": ["no", "now and then", "yes"]}).fit(X, Y)
    assert told.predict(rows).shape == (2,)
    ignoring = CredibleNetworksClassifier(bayes_factor=3, handle_unknown="ignore").fit(X, Y)
    expected = fitted.predict_proba(rows.assign(smoke=None))
    np.testing.assert_array_equal(ignoring.predict_proba(rows), expected)
    density = CredibleNetworks(handle_unknown="ignore").fit(X)
    assert density.score(rows) == density.score(rows.assign(smoke=None))
    with pytest.raises(OptionError, match="handle_unknown is 'skip'; choose 'error' or 'ignore'"):
        CredibleNetworksClassifier(handle_unknown="skip").fit(X, Y)


def test_columns_must_be_those_of_fit(fitted):
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X[FEATURES[::-1]])
    with pytest.warns(UserWarning, match="names"), pytest.raises(ValueError, match="expecting 4 features"):
        fitted.predict(X.to_numpy()[:, :3])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        by_position = fitted.predict_proba(X.to_numpy())
    np.testing.assert_array_equal(by_position, fitted.predict_proba(X))


def test_numbers_with_many_values_are_no_categories():
    numbers = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(DataError, match="200 different values") as refused:
        CredibleNetworks(score="bic").fit(numbers)
    assert "read_options" in refused.value.__notes__[0]
    cut = CredibleNetworks(read_options={"discretise": "equal_frequency:3"}).fit(numbers)
    assert [len(states) for states in cut.model_.states] == [3, 3]
    assert np.isfinite(cut.score(numbers))
    with pytest.raises(ValueError, match="Unknown label type"):
        CredibleNetworksClassifier().fit(X, np.linspace(0, 1, len(X)))


def test_missing_values_are_refused_dropped_or_a_state():
    holey = X.copy()
    holey.loc[holey.index[:3], "smoke"] = None
    with pytest.raises(DataError, match="missing='drop'"):
        CredibleNetworks().fit(holey)
    with pytest.warns(CredibnWarning, match="dropped 3 of 400"):
        dropped = CredibleNetworks(read_options={"missing": "drop"}).fit(holey)
    assert same_sets(dropped.credible_set_, learn(X[3:], bayes_factor=20))
    kept = CredibleNetworks(read_options={"missing": "state"}).fit(holey)
    assert kept.model_.states[0] == ("no", "yes", None)


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({"n_jobs": -2}, None, "n_jobs is -2"),
        ({"read_options": {"weights": "smoke"}}, None, "sample_weight of fit"),
        ({"read_options": 7}, None, "read_options has 7"),
        ({"read_options": {"discretise": {"lung": [0.5]}}}, None, "for columns of X only"),
        ({"bayes_factor": 0.5}, None, "0.5"),
        ({"score": "bix"}, None, "'bix'"),
        ({"forbidden_edges": ["smoke->lnug"]}, None, "'lung'"),
        ({}, np.full(len(X), 0.5), "whole number"),
        ({}, np.full(len(X), -1), "whole number"),
        ({}, [1, 2], "400 rows"),
        ({}, np.zeros(len(X)), "zero for every row"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(options, weights, message):
    with pytest.raises((OptionError, DataError), match=message):
        CredibleNetworksClassifier(**options).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        (X, Y.where(Y == "no"), "missing values"),
        (X, [None, *Y[1:]], "1 missing values"),
        (X, pd.Series([1, *Y[1:]]), "several types"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X, [np.nan] * len(X), "contains NaN"),
        ("clinic.csv", None, "'clinic.csv'"),
        (X["smoke"], None, "2D|2-dimensional"),
        (X.rename(columns={"smoke": "xray"}), None, "'xray'"),
        (X.iloc[:, :0], None, "no columns"),
        (X[:0], None, "no rows"),
    ],
)
def test_unusable_tables_and_targets_are_refused(table, target, message):
    with pytest.raises(ValueError, match=message):
        CredibleNetworks().fit(table) if target is None else CredibleNetworksClassifier().fit(table, target)


def test_a_target_is_not_put_into_bins():
    numbers = pd.Series(np.arange(len(X)) % 4, name="n")
    by_name = {"discretise": {"n": "mean"}}
    with pytest.raises(OptionError, match="read_options has discretise for the target 'n'"):
        CredibleNetworksClassifier(read_options=by_name).fit(X, numbers)
    with pytest.raises(OptionError, match="discretise"):
        CredibleNetworksRegressor(score="conditional-gaussian-bic", read_options=by_name).fit(X, numbers)
    table = X.assign(age=np.linspace(20, 90, len(X)))
    for_all = {"score": "conditional-gaussian-bic", "read_options": {"discretise": "equal_frequency:3"}, "n_jobs": 1}
    for estimator, labels in ((CredibleNetworksClassifier, (0, 1, 2, 3)), (CredibleNetworksRegressor, None)):
        fitted = estimator(**for_all).fit(table, numbers)
        assert (len(fitted.model_.states[4]), fitted.model_.states[5]) == (3, labels)


@pytest.mark.parametrize(
    ("estimator", "score", "message"),
    [
        (CredibleNetworksClassifier, "gaussian-bic", "CredibleNetworksClassifier needs a score for categories"),
        (CredibleNetworksRegressor, "bic", "CredibleNetworksRegressor needs a score for numbers"),
    ],
)
def test_a_score_for_the_other_kind_of_target_is_refused_with_one_that_works(estimator, score, message):
    target = np.arange(len(X)) % 2
    with pytest.raises(OptionError, match=f"score is '{score}'; {message}: choose 'auto' or"):
        estimator(score=score).fit(X, target)
    estimator(score="conditional-gaussian-bic").fit(X, target)


def test_a_search_that_lists_nothing_is_an_error(monkeypatch):
    found = learn(X)
    empty = replace(
        found, structures=found.rows.first(0), complete=False, stopped_because="time_limit", unexplored_bound=np.inf
    )
    monkeypatch.setattr(credibn.sklearn.estimator, "learn", lambda *_, **__: empty)
    with pytest.raises(TimeLimitError, match="time_limit"):
        CredibleNetworks().fit(X)


# ----------------------------------------------------------------- without a target, or with a continuous one


def test_the_structure_learner_warns_that_it_does_not_use_y():
    with pytest.warns(CredibnWarning, match="does not use y: to predict it, use CredibleNetworksClassifier"):
        estimator = CredibleNetworks().fit(X, Y)
    assert same_sets(estimator.credible_set_, learn(X, bayes_factor=20))
    assert estimator.score(X) == estimator.score(X, Y) == np.mean(estimator.model_.log_likelihood(X))
    weights = np.arange(len(X))
    assert estimator.score(X, sample_weight=weights) == np.average(estimator.model_.log_likelihood(X), weights=weights)


def test_nothing_is_there_before_fit():
    estimator = CredibleNetworks()
    for name in ("optimal_score_", "n_networks_", "complete_", "edge_probabilities_", "classes_frame_"):
        assert not hasattr(estimator, name)
    with pytest.raises(NotFittedError):
        estimator.score(X)
    assert not hasattr(CredibleNetworksClassifier(), "classes_")
    for predictor in (CredibleNetworksClassifier(), CredibleNetworksRegressor()):
        with pytest.raises(NotFittedError):
            predictor.predict(X)


@pytest.mark.parametrize("score", ["gaussian-bic", "conditional-gaussian-bic"])
def test_the_regressor_predicts_the_mean(score):
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(200, 2))
    target = numbers @ [1.0, -2.0] + 0.1 * rng.normal(size=200)
    estimator = CredibleNetworksRegressor(score=score).fit(numbers, target)
    predicted = estimator.predict(numbers)
    table = pd.DataFrame({"X0": numbers[:, 0], "X1": numbers[:, 1], "y": target})
    model = average_models(learn(table, score=score), table)
    np.testing.assert_allclose(predicted, model.predict(table, "y"))
    expected = 1 - np.sum((target - predicted) ** 2) / np.sum((target - target.mean()) ** 2)
    assert estimator.score(numbers, target) == pytest.approx(expected)
    assert expected > 0.95


def test_the_regressor_takes_whole_numbers_as_numbers():
    dose = np.tile([0, 1, 2, 3], 50)
    X = pd.DataFrame({"drug": np.repeat(["a", "b"], 100), "dose": dose.astype(str)})
    y = pd.Series(np.repeat([10, 20], 100) + np.tile([0, 1, 0, 1, 0], 40), name="days")
    estimator = CredibleNetworksRegressor(score="conditional-gaussian-bic", n_jobs=1).fit(X, y)
    assert estimator.model_.states[-1] is None
    assert estimator.predict(X[[True] + [False] * 98 + [True] + [False] * 100]).round(1).tolist() == [10.4, 10.4]
    with pytest.raises(DataError, match="'a', which is not a number; CredibleNetworksClassifier"):
        estimator.fit(X, X["drug"])


# ----------------------------------------------------------------- in company


@pytest.mark.slow
def test_pipeline_search_and_cross_validation():
    rng = np.random.default_rng(2)
    target = np.arange(120) % 2
    numbers = rng.normal(size=(120, 2)) + 3 * target[:, None]
    binned = make_pipeline(
        StandardScaler(),
        KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
        CredibleNetworksClassifier(n_jobs=1),
    )
    assert cross_val_score(binned, numbers, target, cv=3).min() > 0.8
    choices = {"score": ["bic", "aic"], "max_parents": [0, 2]}
    search = GridSearchCV(CredibleNetworksClassifier(n_jobs=1), choices, cv=2).fit(X, Y)
    assert search.best_params_["score"] in ("bic", "aic")
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(GridSearchCV(CredibleNetworks(n_jobs=1), choices, cv=2).fit(X).best_score_)


def test_pickled_estimator_answers_the_same(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.get_params() == fitted.get_params()
    assert same_sets(again.credible_set_, fitted.credible_set_)
    assert again.credible_set_.timings == fitted.credible_set_.timings


def test_the_package_knows_its_estimators_and_nothing_else():
    for name in credibn.sklearn.__all__:
        assert getattr(credibn, name) is getattr(credibn.sklearn.estimator, name)
        assert name in dir(credibn)
    with pytest.raises(AttributeError, match="CredibleNetwerks"):
        _ = credibn.CredibleNetwerks


def test_a_bar_is_shown_only_to_who_watches(capfd):
    CredibleNetworks(show_progress=True).fit(X)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("is_asked", [False, True])
def test_a_bar_follows_the_search(monkeypatch, is_asked):
    def bar(stage, fraction):
        return None

    given = []

    def watched(*data, progress, **options):
        given.append(progress)
        return learn(*data, progress=progress, **options)

    monkeypatch.setattr(credibn.sklearn.estimator, "stage_bars", lambda: nullcontext(bar))
    monkeypatch.setattr(credibn.sklearn.estimator, "learn", watched)
    CredibleNetworks(show_progress=is_asked).fit(X)
    assert given == [bar if is_asked else False]


def test_data_that_was_read_is_the_data_that_is_scored(fitted):
    dataset = read_data(ASIA[[*FEATURES, "lung"]])
    assert fitted.credible_set_.provenance["data_fingerprint"] == dataset.fingerprint


def test_columns_in_another_order_are_refused_whatever_their_names():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 300))
    y = np.where(rng.random(300) < 0.05, 1 - a, a)
    frame = pd.DataFrame({1: a, 0: b})
    fitted = CredibleNetworksClassifier(n_jobs=1).fit(frame, y)
    assert (fitted.predict(frame) == y).mean() > 0.9
    with pytest.raises(ValueError, match="give those of fit, in their order"):
        fitted.predict(frame[[0, 1]])
    table = pa.table({"a": a, "b": b})
    fitted = CredibleNetworksClassifier(n_jobs=1).fit(table.to_pandas(), y)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),  # scikit-learn's, of a RecordBatch
        pytest.raises(ValueError, match="give those of fit, in their order"),
    ):
        fitted.predict(table.to_batches()[0].select(["b", "a"]))


def test_the_target_keeps_the_name_of_its_column():
    rows = np.random.default_rng(0).integers(0, 2, (60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of a y with two dimensions
        fitted = CredibleNetworksClassifier(n_jobs=1).fit(rows, pd.DataFrame({"z": rows[:, 0]}))
    assert fitted.target_ == "z"
