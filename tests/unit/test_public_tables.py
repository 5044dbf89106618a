"""Public tables that nobody tuned for give sensible networks with the default options."""

import pytest
from sklearn import datasets

import credibn

TABLES = {
    "iris": ({}, "conditional-gaussian-bic", ("petal length (cm)", "petal width (cm)")),
    "diabetes": ({"max_parents": 3}, "gaussian-bic", ("s1", "s2")),
    "wine": ({"max_parents": 1}, "conditional-gaussian-bic", ("total_phenols", "flavanoids")),
    "breast_cancer": ({"max_parents": 1}, "conditional-gaussian-bic", ("mean radius", "mean perimeter")),
}


@pytest.mark.parametrize("name", TABLES)
def test_default_options_find_what_belongs_together(name):
    limits, score, pair = TABLES[name]
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    found = credibn.learn(frame, **limits, max_classes=1, posterior_share=False)
    assert found.settings["score"] == score
    best = found.classes()[0].cpdag
    joined = {frozenset(edge) for edge in (*best.directed, *best.undirected)}
    assert frozenset(pair) in joined
    assert len(joined) >= 4


def test_measurements_alone_are_numbers():
    frame = datasets.load_iris(as_frame=True).data
    found = credibn.learn(frame)
    assert found.settings["score"] == "gaussian-bic"
    assert all(len(network.edges) >= 3 for network in found.networks())
