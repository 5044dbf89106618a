"""Networks and classes of real data, by the counts of the reference table; real data lies beside the repository."""

import functools
import math
from collections import Counter

import numpy as np
import pytest

from credibn import CredibnWarning, ScoreTable, k_best_classes, learn, read_data, read_network, score_parent_sets
from credibn.credible import factored_structures
from credibn.errors import OptionError

BIC = {
    # optimal score, then networks and classes at Bayes factors 3, 20 and 150
    "tictactoe": (-9396.375858, (192, 8), (192, 8), (544, 40)),
    "wine": (-1258.445909, (308, 7), (3449, 101), (26153, 950)),
    "voting": (-4642.631030, (27, 2), (441, 33), (2222, 170)),
    "hepatitis": (-1322.584220, (580, 102), (87169, 14225), None),
    "parkinsons": (-1598.013261, (1088, 336), (261704, 58184), None),
    "msnbc": (-367846.277176, (24, 1), None, (1938, 6)),
    "insurance": (-14350.471361, (10, 1), (117, 12), (348, 37)),
    "flag": (-2748.105209, (773, 163), (171162, 37094), None),
    "alarm": (-14390.784302, (1508, 32), (123566, 2506), None),
    "mildew": (-57238.020352, (1026, 2), (1026, 2), None),
    "sponge": (-2072.611511, (1102, 65), (146097, 7898), None),
    "barley": (-67699.727490, (182, 1), (364, 2), None),
    "hailfinder100": (-6414.534202, (432624, 46), (33318144, 1862), None),
    "hailfinder500": (-27777.554383, (891813888, 1966080), None, None),
    "bands": (-5133.006858, None, None, None),
}
BDEU = {
    "tictactoe": (-9423.068333, (104, 16), (152, 24), (152, 24)),
    "wine": (-1255.358103, None, (8734, 1877), None),
    "voting": (-4615.928424, None, (621, 187), None),
}
BY_SUBSETS = {"tictactoe", "wine", "voting", "hepatitis", "parkinsons", "msnbc", "insurance"}
"""Few enough variables for dynamic programming in seconds."""
TAKES_TOO_LONG = {("msnbc", "integer_program"), ("msnbc", "factored")}
"""Some 50,000 candidates: minutes were not enough."""
COUNTED = {
    "alarm-150": (6_763_458, 124_877),
    "bands-20": (5_282_162, 615_916),
    "hailfinder100-150": (735_148_848, 40_344),
    "hailfinder500-20": (21_757_427_712, 13_107_200),
    "hailfinder500-150": (100_204_019_712, 70_189_056),
}
"""Networks and classes of sets that are too large to list, or take long to."""
COUNTED_SLOWLY = {("alarm", 150), ("bands", 20), ("flag", 20)}


def rows():
    for score, table in (("bic", BIC), ("bdeu", BDEU)):
        for name, (optimum, *counts) in table.items():
            for bayes_factor, expected in zip((3, 20, 150), counts, strict=True):
                for engine in ("dynamic_programming", "integer_program", "factored"):
                    if engine == "factored":
                        expected = COUNTED.get(f"{name}-{bayes_factor}", expected)
                    is_beyond = engine == "dynamic_programming" and name not in BY_SUBSETS
                    if expected is None or is_beyond or (name, engine) in TAKES_TOO_LONG:
                        continue
                    is_slow = engine == "factored" and (name, bayes_factor) in COUNTED_SLOWLY
                    group = pytest.mark.xdist_group(f"{name}-{score}-{bayes_factor}")  # one worker scores it
                    yield pytest.param(
                        name,
                        score,
                        bayes_factor,
                        engine,
                        optimum,
                        expected,
                        marks=[group, pytest.mark.slow] if is_slow else group,
                        id=f"{name}-{score}-{bayes_factor}-{engine}",
                    )


@pytest.fixture(scope="module")
def scored(shared_data):
    """Score each data set once for each Bayes factor."""
    return functools.cache(
        lambda name, score, bayes_factor: score_parent_sets(
            shared_data / f"{name}.csv", score=score, bayes_factor=bayes_factor
        )
    )


@pytest.mark.parametrize(("name", "score", "bayes_factor", "engine", "optimum", "expected"), list(rows()))
def test_reference_counts(scored, name, score, bayes_factor, engine, optimum, expected):
    found = learn(scored(name, score, bayes_factor), bayes_factor=bayes_factor, engine=engine)
    assert found.complete
    assert found.engine == engine
    assert found.optimal_score == pytest.approx(optimum, abs=1e-6)
    assert (found.n_networks, found.n_classes) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ties", "expected"),
    [
        ("hepar2", None, (558_609_800, 9_655_018)),
        ("win95pts", (84_276_412_416, 859_963_392), (4_597_076_253_671_424, 10_319_059_058_688)),
    ],
)
def test_samples_are_counted_in_branches(shared_data, name, ties, expected):
    rows = read_network(shared_data / "networks" / f"{name}.bif").sample(100, seed=7)
    with pytest.warns(CredibnWarning, match="constant"):
        data = read_data(rows.astype(str))
    found = learn(data, bayes_factor=3, engine="factored")
    assert found.complete
    assert found.statistics["n_branches"] > 50
    assert (found.n_networks, found.n_classes) == expected
    assert ties is None or found.count_within(0.0) == ties


@pytest.mark.parametrize(("name", "bayes_factor"), [("insurance", 150), ("voting", 20), ("sponge", 3), ("barley", 20)])
def test_engines_and_units_agree_network_by_network(scored, name, bayes_factor):
    table = scored(name, "bic", bayes_factor)
    by_class, by_network = (
        learn(table, bayes_factor=bayes_factor, unit=unit, engine="integer_program") for unit in ("classes", "networks")
    )
    listed = [
        sorted(
            (score, parents.tobytes())
            for masks, scores in found.networks_masks()
            for parents, score in zip(masks, scores, strict=True)
        )
        for found in (by_class, by_network)
    ]
    assert listed[0] == listed[1]
    assert len(set(listed[0])) == len(listed[0]) == by_class.n_networks


def test_a_table_for_a_smaller_factor_loses_networks(shared_data, scored):
    """Insurance at 150 has 348 networks; with the candidates for factor 20 only 280 are found, so that is refused."""
    table, smaller = scored("insurance", "bic", 150), scored("insurance", "bic", 20)
    with pytest.raises(OptionError, match="epsilon"):
        learn(smaller, bayes_factor=150)
    known = ScoreTable(smaller.names, smaller.offsets, smaller.scores, smaller.masks, {"score_equivalent": True})
    with pytest.warns(CredibnWarning):
        assert learn(known, bayes_factor=150).n_networks == 280
    data = read_data(shared_data / "insurance.csv")
    columns = {name: data.columns[at] for at, name in enumerate(data.names)}
    found, n_extra = learn(table, bayes_factor=150), 0
    offered = {(name, parents) for name in smaller.names for _, parents in smaller.parent_sets(name)}
    best = naive_bic(data, columns, next(iter(found.classes())).representative)
    for member in found.classes():
        families = {
            (name, tuple(p for p in data.names if p in member.representative.pred[name])) for name in data.names
        }
        if families <= offered:
            continue
        n_extra += member.size
        assert best - naive_bic(data, columns, member.representative) <= math.log(150)
    assert n_extra == 348 - 280


def naive_bic(data, columns, network):
    """The score by counting with the standard library, from the definition."""
    total, N = 0.0, data.n_rows
    arity = dict(zip(data.names, data.arities, strict=True))
    for child in data.names:
        parents = sorted(network.pred[child])
        joint, above = Counter(), Counter()
        for *values, weight in zip(
            *(columns[p].tolist() for p in parents), columns[child].tolist(), data.weights.tolist(), strict=True
        ):
            joint[tuple(values)] += weight
            above[tuple(values[:-1])] += weight
        likelihood = math.fsum(count * math.log(count / above[cell[:-1]]) for cell, count in joint.items())
        total += likelihood - math.log(N) / 2 * (arity[child] - 1) * math.prod(arity[p] for p in parents)
    return total


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


@pytest.mark.parametrize(
    ("name", "bayes_factor"),
    [("insurance", 150), ("sponge", 3), ("wine", 20), pytest.param("voting", 20, marks=pytest.mark.slow)],
)
def test_averages_of_a_diagram_are_those_of_a_list(scored, monkeypatch, name, bayes_factor):
    monkeypatch.setattr(factored_structures, "FEW", 0)  # so that the diagram is never listed
    table = scored(name, "bic", bayes_factor)
    counted, listed = (
        learn(table, bayes_factor=bayes_factor, engine=engine) for engine in ("factored", "integer_program")
    )
    for average in ("edge_probabilities", "adjacency_probabilities"):
        difference = getattr(counted, average)() - getattr(listed, average)()
        assert np.abs(difference.to_numpy()).max() < 1e-12
    for node in listed.names:
        sets = [dict(found.parent_set_probabilities(node).itertuples(index=False)) for found in (counted, listed)]
        assert sets[0] == pytest.approx(sets[1], abs=1e-12)
    frames = [found.v_structure_probabilities().set_index(["first", "child", "second"]) for found in (counted, listed)]
    v_structures = [frame["probability"].to_dict() for frame in frames]
    assert v_structures[0] == pytest.approx(v_structures[1], abs=1e-12)
