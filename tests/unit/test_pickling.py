"""Results travel: through pickle and copy they keep their content, and stay read-only."""

import copy
import math
import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd
import pytest

from credibn import (
    average_models,
    exact_posterior,
    fit_network,
    k_best_classes,
    learn,
    read_data,
)
from credibn.credible.structures import Structures
from credibn.examples import sample_asia
from credibn.posterior import posterior_of_scores

ASIA = sample_asia(300)
WAYS = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def same(a, b):
    """Whether both hold the same, field by field, and arrays may be written to in both or in neither."""
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.flags.writeable == b.flags.writeable and np.array_equal(a, b)
    return a == b


def mixed_table():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 120)
    size = 170 + 8 * sex + rng.normal(size=120)
    weight = size - 100 + rng.normal(size=120)
    return pd.DataFrame({"sex": np.array(["f", "m"])[sex], "size": size, "weight": weight})


def results():
    """Each kind of result, with its caches filled: these must not get in the way."""
    found = learn(ASIA, bayes_factor=10)
    found.edge_probabilities(), found.ancestor_probabilities(), found.class_weights, found.log_mass
    yield "set", found
    yield "set of single networks", learn(ASIA, bayes_factor=10, forbidden_edges=["smoke->lung"])
    yield "set of k best", k_best_classes(ASIA, 3)
    yield "set that is cut", learn(ASIA, bayes_factor=10, max_classes=1)
    yield (
        "empty set",
        replace(
            found,
            structures=found.rows.first(0),
            complete=False,
            stopped_because="interrupted",
            unexplored_bound=math.inf,
        ),
    )
    yield "rows", found.rows
    yield "score table", found.score_table
    yield "averages", found.averages()
    yield "parent sets", found.averages().parent_sets
    best = found.classes()[0]
    repr(best)
    yield "class", best
    yield "cpdag", best.cpdag
    yield "feature", found.feature_probability(lambda network: network.has_edge("smoke", "lung"))
    yield "posterior", exact_posterior(ASIA)
    yield "sum only", posterior_of_scores(found.score_table, marginals=False)
    model = average_models(found, ASIA)
    model.predict_proba(ASIA.to_pandas().drop(columns=["xray"]), "lung")
    yield "model", model
    yield "data set", read_data(mixed_table(), discretise={"size": [175.0]}, columns="mixed")
    mixed = mixed_table()
    networks = learn(mixed, score="conditional-gaussian-bic")
    yield "mixed model", average_models(networks, mixed)
    network = fit_network(["size->sex", "size->weight", "sex->weight"], mixed, columns="mixed")
    network.topological_order  # noqa: B018
    yield "network", network


@pytest.fixture(scope="module")
def made():
    return dict(results())


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_results_keep_their_content(made, way):
    for result in made.values():
        again = way(result)
        assert again is not result
        assert same(again, result)
        shown, expected = (repr(one).replace(", dtype=int64", "") for one in (again, result))  # one type, two names
        assert shown == expected


def test_what_tells_results_apart(made):
    found = made["set"]
    assert not same(found, replace(found, settings={}))
    assert not same(found.rows, found.rows.first(1))
    written = pickle.loads(pickle.dumps(found.rows))
    written.scores.flags.writeable = True
    assert not same(written, found.rows)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copied_set_answers_the_same(made, way):
    found = made["set"]
    again = way(found)
    pd.testing.assert_frame_equal(again.edge_probabilities(), found.edge_probabilities())
    pd.testing.assert_frame_equal(again.ancestor_probabilities(), found.ancestor_probabilities())
    assert [sorted(network.edges) for network in again.networks()] == [sorted(one.edges) for one in found.networks()]
    assert again.summary() == found.summary()
    with pytest.raises(TypeError):
        again.settings["score"] = "none"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", ["model", "mixed model"])
def test_a_copied_model_answers_the_same(made, way, name):
    model = made[name]
    table, target = (ASIA.to_pandas(), "lung") if name == "model" else (mixed_table(), "sex")
    pd.testing.assert_frame_equal(way(model).predict_proba(table, target), model.predict_proba(table, target))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_sizes_of_many_words(way):
    size = 3**80
    words = np.array([[size >> 64 * k & (1 << 64) - 1 for k in range(3)]], dtype=np.uint64)
    rows = Structures(np.zeros((1, 2), dtype=np.uint32), np.zeros(1), words, None)
    assert way(rows).n_networks == size


def test_old_caches_do_not_travel(made):
    found = made["set"]
    assert "_known_averages" in vars(found)
    assert "_known_averages" not in vars(pickle.loads(pickle.dumps(found)))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_sequence_of_classes_travels(made, way):
    classes = made["set"].classes()[1:]
    again = way(classes)
    assert len(again) == len(classes) > 0
    assert all(map(same, again, classes))
