"""The credible set as arrays and as graphs."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn import CPDAG, CredibleSet, ScoreTable, _core, learn
from credibn.credible.structures import (
    Structures,
    best_classes,
    best_networks,
    choices_of,
    expand,
    group,
    is_acyclic,
    masks_of,
    network_batches,
)
from credibn.errors import OptionError
from networks import assert_sound, dag_of


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 60)
    return np.column_stack([x, x, rng.integers(0, 2, 60), (x + (rng.random(60) < 0.2)) % 2])


@pytest.fixture(scope="module", params=["classes", "networks"])
def credible(request, data, engine):
    return learn(data, epsilon=6, engine=engine, unit=request.param)


def pairs(n):
    """n pairs of variables, joined by an edge or not: classes of 2, 4, 8, ... members, more than a word can count."""
    names = [f"{end}{k}" for k in range(n) for end in "ab"]
    candidates = [[(-2.0, []), (-1.0, [v ^ 1])] for v in range(2 * n)]
    return ScoreTable.from_candidates(names, candidates, {"score_equivalent": True, "epsilon": 1.0})


def class_rows(table, choices):
    masks = masks_of(table, choices)
    sizes = _core.class_forms(masks, np.arange(table.n_variables))[3]
    scores = np.array([table.network_score(parents_of(table, row)) for row in masks])
    return Structures(choices, scores, sizes, None)


def parents_of(table, masks):
    bits = [sum(int(word) << 64 * k for k, word in enumerate(mask)) for mask in masks]
    return {
        name: [other for v, other in enumerate(table.names) if bit >> v & 1]
        for name, bit in zip(table.names, bits, strict=True)
    }


@pytest.fixture(scope="module")
def huge():
    """Two classes of 2**100 and 2**99 members on 200 variables."""
    table = pairs(100)
    choices = np.tile(np.array([1, 0], dtype=np.uint32), (2, 100))  # the second of each pair has the first as parent
    choices[1, 1] = 1
    rows = class_rows(table, choices)
    return CredibleSet(table, rows, float(rows.scores[0]), 1.0, True, "none")


def test_counts_are_exact_at_any_size(huge):
    assert huge.n_networks == 2**100 + 2**99
    assert [member.size for member in huge.classes()] == [2**100, 2**99]
    assert json.loads(json.dumps(huge.n_networks)) == huge.n_networks
    first, second = huge.classes()
    assert first.weight / second.weight == pytest.approx(2 * math.e)
    assert first.weight + second.weight == pytest.approx(1)
    assert "1,901,475,900,342,344,102,245,054,808,064 networks" in repr(huge)


def test_members_of_a_huge_class_come_lazily(huge):
    networks = huge.networks()
    some = [next(networks) for _ in range(300)]
    assert len({frozenset(graph.edges) for graph in some}) == 300
    assert all(len(graph.edges) == 100 for graph in some)
    masks, scores = next(huge.networks_masks(7))
    assert masks.shape == (7, 200, 4)
    assert np.array_equal(choices_of(huge.score_table, masks), choices_of(huge.score_table, masks.copy()))
    assert (scores == huge.optimal_score).all()
    first = expand(huge.score_table, huge.rows, 1000)
    assert len(np.unique(first.choices, axis=0)) == len(first) == 1000
    assert first.n_classes == 1


def test_the_best_of_a_huge_class(huge):
    assert best_networks(huge.score_table, huge.rows, 2**100).n_networks == 2**100
    assert best_networks(huge.score_table, huge.rows, 2**101).n_networks == 2**100 + 2**99
    assert best_networks(huge.score_table, huge.rows, 10).n_networks == 10
    assert len(best_classes(huge.rows, 1, 1e-9)) == 1
    assert len(best_classes(huge.rows, 1, 2.0)) == 2


def test_classes_are_a_sequence(credible):
    classes = credible.classes()
    assert len(classes) == credible.n_classes > 3
    assert [member.score for member in classes] == [classes[k].score for k in range(len(classes))]
    assert classes[-1].score == classes[len(classes) - 1].score
    assert [member.size for member in classes[1:3]] == [classes[1].size, classes[2].size]
    with pytest.raises(IndexError):
        classes[len(classes)]
    assert sum(member.weight for member in classes) == pytest.approx(1)
    assert repr(classes) == f"CredibleClasses({len(classes)} classes)"


def test_a_class_has_its_graphs(credible):
    best = credible.classes()[0]
    assert isinstance(best.representative, nx.DiGraph)
    assert nx.is_directed_acyclic_graph(best.representative)
    assert best.representative.graph["score"] == best.score == credible.optimal_score
    assert isinstance(best.cpdag, CPDAG)
    assert best.cpdag.to_networkx().to_undirected().edges == best.representative.to_undirected().edges
    assert repr(best).startswith(f"CredibleClass(size {best.size}, score ")


@pytest.mark.parametrize("batch", [1, 2, 3, 1000])
def test_masks_in_batches_are_the_networks(credible, batch):
    parts = list(credible.networks_masks(batch))
    assert all(len(masks) == batch for masks, _ in parts[:-1])
    assert all(0 < len(masks) <= batch for masks, _ in parts)
    masks, scores = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    listed = list(credible.networks())
    assert [graph.graph["score"] for graph in listed] == scores.tolist()
    for graph, row in zip(listed, masks, strict=True):
        assert [sum(1 << p for p in parents) for parents in dag_of(graph)] == row[:, 0].tolist()
    assert np.array_equal(masks_of(credible.score_table, choices_of(credible.score_table, masks)), masks)


@pytest.mark.parametrize("batch", [0, -1, 1.5, True, None])
def test_a_wrong_batch_is_refused(credible, batch):
    with pytest.raises(OptionError, match="batch is"):
        next(credible.networks_masks(batch))


def test_expanding_is_listing(data, engine):
    credible = learn(data, epsilon=6, engine=engine)
    expanded = expand(credible.score_table, credible.rows, credible.n_networks + 5)
    assert expanded.n_networks == credible.n_networks
    assert expanded.n_classes == credible.n_classes
    grouped = group(credible.score_table, expanded.choices, expanded.scores)
    assert np.array_equal(grouped.class_of, expanded.class_of)
    assert_sound(replace(credible, structures=expanded))


def test_frozen_and_read_only(credible):
    with pytest.raises(FrozenInstanceError):
        credible.epsilon = 1.0
    with pytest.raises(ValueError, match="read-only"):
        credible.rows.scores[0] = 0.0
    with pytest.raises(TypeError):
        credible.settings["score"] = "aic"


def test_words(credible):
    assert "\n" not in repr(credible)
    assert "complete" in repr(credible)
    summary = credible.summary()
    assert f"{credible.n_networks} networks in {credible.n_classes} Markov equivalence classes" in summary
    assert "within 6 nats (a Bayes factor of 403.4) of the optimal score" in summary
    assert f"No network that scores at least {credible.optimal_score - 6:,.6f} is missing." in summary
    assert ("listed one by one" in summary) is (credible.rows.class_of is not None)


def test_words_of_partial_sets(credible):
    partial = replace(credible, complete=False, stopped_because="time_limit", unexplored_bound=math.inf)
    assert not partial.is_optimum_proven
    assert "Networks that score higher than these may exist" in partial.summary()
    assert "best known score" in partial.summary()
    bounded = replace(partial, unexplored_bound=partial.optimal_score + 1)
    assert "Better networks may exist. No network that scores above" in bounded.guarantee
    proven = replace(partial, unexplored_bound=partial.optimal_score)
    assert proven.guarantee.startswith("The optimum is proven.")


def test_a_set_without_networks(credible):
    none = replace(
        credible,
        structures=credible.rows.first(0),
        complete=False,
        stopped_because="time_limit",
        unexplored_bound=credible.optimal_score,
    )
    assert (none.n_networks, none.n_classes, list(none.networks()), list(none.classes())) == (0, 0, [], [])
    assert len(none.class_weights) == 0
    assert none.is_optimum_proven
    assert none.summary().startswith("0 networks in 0 Markov equivalence classes")


@pytest.mark.parametrize(
    "change",
    [
        {"complete": False},
        {"stopped_because": "time_limit"},
        {"unexplored_bound": 0.0},
        {"complete": False, "stopped_because": "boredom", "unexplored_bound": 0.0},
    ],
)
def test_contradictions_are_refused(credible, change):
    with pytest.raises(OptionError):
        replace(credible, **change)


@given(st.data())
def test_cycles_are_seen(draws):
    n = draws.draw(st.sampled_from([2, 3, 5, 70]))
    names = [f"v{v}" for v in range(n)]
    edges = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    graph = nx.DiGraph([edge for edge in draws.draw(st.lists(edges, max_size=2 * n)) if edge[0] != edge[1]])
    graph.add_nodes_from(range(n))
    table = ScoreTable.from_candidates(names, [[(-1.0, sorted(graph.predecessors(v)))] for v in range(n)])
    choices = np.zeros((3, n), dtype=np.uint32)
    assert is_acyclic(table, choices) is nx.is_directed_acyclic_graph(graph)


def test_parent_sets_that_are_no_candidates_are_not_found():
    table = pairs(2)
    masks = masks_of(table, np.zeros((1, 4), dtype=np.uint32)).copy()
    masks[0, 0, 0] = 4
    with pytest.raises(KeyError, match="'a0'"):
        choices_of(table, masks)


def test_batches_of_no_rows():
    table = pairs(2)
    none = Structures(np.zeros((0, 4), dtype=np.uint32), np.zeros(0), np.zeros((0, 1), dtype=np.uint64), None)
    assert list(network_batches(table, none, 5)) == []
    assert len(expand(table, none, 5)) == 0
    assert len(group(table, none.choices, none.scores)) == 0
