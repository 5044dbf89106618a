"""Networks and classes of real data, by the counts of the reference table; real data lies beside the repository."""

import math

import pytest

from credibn import k_best_classes, learn

REFERENCE = [
    ("tictactoe", "bic", -9396.375858, 3, 192, 8),
    ("tictactoe", "bic", -9396.375858, 150, 544, 40),
    ("tictactoe", "bdeu", -9423.068333, 3, 104, 16),
    ("tictactoe", "bdeu", -9423.068333, 20, 152, 24),
    ("wine", "bic", -1258.445909, 3, 308, 7),
    ("wine", "bic", -1258.445909, 20, 3449, 101),
    ("wine", "bic", -1258.445909, 150, 26153, 950),
    ("wine", "bdeu", -1255.358103, 20, 8734, 1877),
    ("voting", "bic", -4642.631030, 3, 27, 2),
    ("voting", "bic", -4642.631030, 20, 441, 33),
    ("voting", "bic", -4642.631030, 150, 2222, 170),
    ("voting", "bdeu", -4615.928424, 20, 621, 187),
    ("hepatitis", "bic", -1322.584220, 3, 580, 102),
    ("hepatitis", "bic", -1322.584220, 20, 87169, 14225),
]


@pytest.mark.parametrize(("name", "score", "optimum", "bayes_factor", "n_networks", "n_classes"), REFERENCE)
def test_reference_counts(shared_data, name, score, optimum, bayes_factor, n_networks, n_classes):
    found = learn(shared_data / f"{name}.csv", score=score, bayes_factor=bayes_factor)
    assert found.complete
    assert found.optimal_score == pytest.approx(optimum, abs=1e-6)
    assert (found.n_networks, found.n_classes) == (n_networks, n_classes)


def test_counting_is_listing(shared_data):
    by_class, by_network = (learn(shared_data / "wine.csv", unit=unit) for unit in ("classes", "networks"))
    assert sum(len(masks) for masks, _ in by_class.networks_masks()) == by_class.n_networks == by_network.n_networks
    listed = [
        {
            (score, parents.tobytes())
            for masks, scores in found.networks_masks()
            for parents, score in zip(masks, scores, strict=True)
        }
        for found in (by_class, by_network)
    ]
    assert listed[0] == listed[1]
    assert len(listed[0]) == by_class.n_networks


def test_the_best_classes_lie_within_the_credible_ones(shared_data):
    whole = learn(shared_data / "wine.csv", bayes_factor=20)
    best = k_best_classes(shared_data / "wine.csv", whole.n_classes)
    assert best.rows.choices.shape[0] == whole.n_classes
    assert [member.score for member in best.classes()] == [member.score for member in whole.classes()]
    assert best.epsilon <= math.log(20)
