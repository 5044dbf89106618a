"""ScoreTable: what it refuses, how it orders, and what it answers, against plain Python."""

import copy
import doctest
import math
import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn.errors import OptionError
from credibn.scores import table as table_module
from credibn.scores.table import MAX_VARIABLES, ScoreTable, parent_positions

SCORES = st.floats(-1e9, 1e9) | st.sampled_from([-1.0, 0.0, -0.0])


@st.composite
def candidate_lists(draw, scores=SCORES, names=st.sampled_from("abcdef")):  # noqa: B008
    """Names, and per node a list of (score, parent positions) without repeated sets.

    Few variables are drawn in full; many, for masks of several words, by a seeded generator.
    """
    n = draw(st.integers(1, 5) | st.sampled_from([63, 64, 65, 130, 201]))
    if n > 5:
        random = Random(draw(st.integers(0, 2**32)))
        values = draw(st.lists(scores, min_size=1, max_size=4))
        labels = [f"v{i}" for i in range(n)]
        sets = [{frozenset(random.sample(range(n), random.randrange(4))) - {v} for _ in range(3)} for v in range(n)]
        return labels, [[(random.choice(values), sorted(s)) for s in sorted(unique, key=sorted)] for unique in sets]
    labels = draw(st.lists(names, min_size=n, max_size=n, unique=True))
    candidates = []
    for node in range(n):
        others = [v for v in range(n) if v != node]
        sets = st.frozensets(st.sampled_from(others)) if others else st.just(frozenset())
        unique = draw(st.lists(sets, min_size=1, max_size=5, unique=True))
        candidates.append([(draw(scores), sorted(parents)) for parents in unique])
    return labels, candidates


def small(provenance=None):
    return ScoreTable.from_candidates(
        ["a", "b", "c"],
        [[(-5.0, []), (-3.0, [2]), (-3.0, [1])], [(-2.0, [])], [(-9.0, [0, 1]), (-1.0, [])]],
        provenance or {},
    )


def arrays(**changes):
    table = small()
    fields = {name: getattr(table, name) for name in ("names", "offsets", "scores", "masks", "provenance")}
    return ScoreTable(**{**fields, **changes})


def test_examples_in_docstrings():
    assert doctest.testmod(table_module).failed == 0


@given(candidate_lists())
def test_order_is_score_then_mask_as_integer(case):
    names, candidates = case
    table = ScoreTable.from_candidates(names, candidates, {})
    assert table.n_variables == len(names)
    assert table.masks.shape == (sum(map(len, candidates)), math.ceil(len(names) / 64))
    for node, listed in enumerate(candidates):
        expected = sorted(listed, key=lambda c: (-c[0], sum(1 << v for v in c[1])))
        found = list(table.parent_sets(node))
        assert found == [(score, tuple(names[v] for v in parents)) for score, parents in expected]
        assert list(table.parent_sets(names[node])) == found
        assert table.counts[node] == len(listed)
        for score, parents in listed:
            assert table.local_score(names[node], [names[v] for v in parents]) == score
            assert table.local_score(node, parents) == score
    assert len(table) == table.n_candidates == table.counts.sum()
    assert table.best_possible_score == math.fsum(max(s for s, _ in listed) for listed in candidates)


@given(candidate_lists(), st.integers(0, 99))
def test_the_order_of_the_input_does_not_matter(case, seed):
    names, candidates = case
    random = Random(seed)
    table = ScoreTable.from_candidates(names, candidates, {})
    shuffled = [random.sample(listed, len(listed)) for listed in candidates]
    again = ScoreTable.from_candidates(names, shuffled, {})
    assert again.masks.tobytes() == table.masks.tobytes()
    assert np.array_equal(again.scores, table.scores)
    rows = list(range(len(table)))
    random.shuffle(rows)
    nodes = np.repeat(np.arange(len(names)), table.counts)
    mixed = ScoreTable.from_arrays(names, nodes[rows], table.scores[rows], table.masks[rows])
    assert mixed.same_as(table)
    assert mixed.masks.tobytes() == table.masks.tobytes()


@given(candidate_lists())
def test_parent_positions_are_the_set_bits(case):
    names, candidates = case
    table = ScoreTable.from_candidates(names, candidates, {})
    words = [[int(word) for word in row] for row in table.masks]
    integers = [sum(word << 64 * at for at, word in enumerate(row)) for row in words]
    assert list(parent_positions(table.masks)) == [[v for v in range(len(names)) if mask >> v & 1] for mask in integers]


def test_parent_positions_in_several_blocks():
    masks = np.arange(2**17, dtype=np.uint64)[:, np.newaxis]
    for mask, members in enumerate(parent_positions(masks)):
        assert sum(1 << v for v in members) == mask


def test_arrays_are_read_only_and_apart_from_the_input():
    scores = np.array([-1.0, -2.0])
    table = ScoreTable(("a", "b"), np.array([0, 1, 2]), scores, np.zeros((2, 1), np.uint64), {})
    scores[0] = 7.0
    assert table.scores[0] == -1.0
    for array in (table.offsets, table.scores, table.masks):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        table.provenance["score"] = "aic"
    with pytest.raises(AttributeError):
        table.names = ("x", "y")


def test_provenance_is_what_json_makes_of_it():
    table = small({"score": "bic", "epsilon": np.float64(3.0), "n_rows": np.int64(7), "tiers": ((1, 2), None)})
    assert dict(table.provenance) == {"score": "bic", "epsilon": 3.0, "n_rows": 7, "tiers": [[1, 2], None]}
    assert table.epsilon == 3.0
    assert small().epsilon is None
    assert small({"epsilon": None}).epsilon is None


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_are_whole(copied):
    table = small({"score": "bic"})
    again = copied(table)
    assert again.same_as(table)
    assert again.provenance == table.provenance
    assert not again.scores.flags.writeable


def test_repr():
    assert (
        repr(small({"score": "bic", "epsilon": 3.0})) == "ScoreTable(3 variables, 6 candidates, score bic, epsilon 3.0)"
    )
    assert repr(ScoreTable.from_candidates(["a"], [[(0.0, [])]])) == "ScoreTable(1 variable, 1 candidate)"


def test_network_score():
    table = small()
    assert table.network_score({}) == -8.0
    assert table.network_score({"a": ["b"]}) == -6.0
    assert table.network_score({"c": ["a", "b"], "b": []}) == -16.0
    with pytest.raises(OptionError, match=r"directed cycle 'a' -> 'c' -> 'a'"):
        table.network_score({"a": ["c"], "c": ["a", "b"]})
    with pytest.raises(OptionError, match=r"'b' has no candidate parent set \{'a'\}.*pruned"):
        table.network_score({"b": ["a"]})
    with pytest.raises(OptionError, match="give a list of names"):
        table.network_score({"a": "b"})


def test_network_score_is_the_correctly_rounded_sum():
    table = ScoreTable.from_candidates(["a", "b", "c"], [[(1e16, [])], [(1.0, [])], [(-1e16, [])]])
    assert table.network_score({}) == 1.0


@pytest.mark.parametrize("node", ["x", 3, -1, True, None, 1.0])
def test_unknown_nodes(node):
    with pytest.raises(OptionError, match="unknown variable"):
        small().parent_sets(node)
    with pytest.raises(OptionError, match="unknown parent"):
        small().local_score("a", [node])


def test_same_as():
    table = small()
    assert table.same_as(small({"score": "other"}))
    renamed = arrays(names=("a", "b", "d"))
    assert not table.same_as(renamed)
    moved = ScoreTable.from_candidates(
        ["a", "b", "c"],
        [[(-5.0, []), (-3.0, [2]), (-3.0 - 1e-9, [1])], [(-2.0, [])], [(-9.0, [0, 1]), (-1.0, [])]],
    )
    assert list(moved.masks[:2, 0]) == [4, 2]
    assert not table.same_as(moved)
    assert table.same_as(moved, tolerance=1e-8)
    other_sets = ScoreTable.from_candidates(
        ["a", "b", "c"],
        [[(-5.0, []), (-3.0, [2]), (-3.0, [1, 2])], [(-2.0, [])], [(-9.0, [0, 1]), (-1.0, [])]],
    )
    assert not table.same_as(other_sets, tolerance=9.0)
    other_counts = ScoreTable.from_candidates(["a", "b", "c"], [[(0.0, [])], [(0.0, [])], [(0.0, [])]])
    assert not table.same_as(other_counts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("a", "b", "a")}, "'a' appears twice"),
        ({"names": ("a", "b")}, "shapes"),
        ({"names": ()}, "0 variables"),
        ({"names": "abc"}, "give a list of names"),
        ({"names": ("a", "b", 3)}, "names are strings"),
        ({"names": tuple(map(str, range(MAX_VARIABLES + 1)))}, "it needs 1 to"),
        ({"offsets": [0, 3, 4]}, "shapes"),
        ({"offsets": [0, 3, 4, 5]}, "offsets run from 0 to 5"),
        ({"offsets": [1, 3, 4, 6]}, "offsets run from 1"),
        ({"offsets": [0, 4, 4, 6]}, "'b' has no candidate"),
        ({"offsets": [0, 5, 4, 6]}, "'b' has no candidate"),
        ({"offsets": [0.0, 3.0, 4.0, 6.0]}, "without loss"),
        ({"scores": [-3, -3, -5, -2, -1, math.nan]}, r"\{'a', 'b'\} of 'c' has score nan"),
        ({"scores": [math.inf, -3, -5, -2, -1, -9]}, "has score inf"),
        ({"scores": [-3, -3, -5, -2, -1]}, "shapes"),
        ({"scores": [[-3, -3, -5, -2, -1, -9]]}, "shapes"),
        ({"scores": ["x"] * 6}, "without loss"),
        ({"scores": [-5, -3, -3, -2, -1, -9]}, "out of order"),
        ({"masks": [[4], [2], [0], [0], [0], [3]]}, "out of order"),
        ({"masks": [[2], [4], [0], [2], [0], [3]]}, "'b' is listed among its own parents"),
        ({"masks": [[2], [4], [0], [8], [0], [3]]}, "beyond the last"),
        ({"masks": [[2], [4], [2], [0], [0], [3]]}, r"\{'b'\} of 'a' appears twice"),
        ({"masks": [[2], [2], [0], [0], [0], [3]]}, r"\{'b'\} of 'a' appears twice"),
        ({"masks": [[-2], [4], [0], [0], [0], [3]]}, "without loss"),
        ({"masks": [[2, 0], [4, 0], [0, 0], [0, 0], [0, 0], [3, 0]]}, "shapes"),
        ({"provenance": {"epsilon": -1}}, "epsilon -1"),
        ({"provenance": {"epsilon": True}}, "epsilon True"),
        ({"provenance": {"epsilon": "3"}}, "epsilon '3'"),
        ({"provenance": {"epsilon": math.inf}}, "cannot be written as JSON"),
        ({"provenance": {"data": {1, 2}}}, "cannot be written as JSON"),
        ({"provenance": {1: 2}}, "strings as keys"),
        ({"provenance": None}, "give a mapping"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(OptionError, match=message):
        arrays(**changes)


def test_ties_compare_the_highest_word_first():
    names = [f"v{i}" for i in range(70)]
    masks = np.array([[2, 0], [1, 1 << 5], [0, 1 << 5]], dtype=np.uint64)
    fill = np.zeros((69, 2), np.uint64)
    table = ScoreTable.from_arrays(names, [0, 1, 0, *range(1, 70)], [-1.0] * 72, np.vstack([masks, fill]))
    assert table.masks[:2].tolist() == [[2, 0], [0, 32]]
    assert list(table.parent_sets(0)) == [(-1.0, ("v1",)), (-1.0, ("v69",))]
    swapped = table.masks.copy()
    swapped[:2] = swapped[1::-1]
    with pytest.raises(OptionError, match="out of order"):
        ScoreTable(table.names, table.offsets, table.scores, swapped, {})


def test_repeated_sets_are_found_even_when_every_hash_collides(monkeypatch):
    monkeypatch.setattr(table_module, "_hashes", lambda masks, nodes: np.zeros(len(nodes), np.uint64))
    small()
    with pytest.raises(OptionError, match=r"\{'b'\} of 'a' appears twice"):
        arrays(masks=[[2], [4], [2], [0], [0], [3]])


@given(candidate_lists(), st.data())
def test_repeated_sets_are_always_found(case, data):
    names, candidates = case
    listed = data.draw(st.sampled_from(candidates))
    listed.append((data.draw(SCORES), data.draw(st.sampled_from(listed))[1]))
    with pytest.raises(OptionError, match="appears twice"):
        ScoreTable.from_candidates(names, candidates)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([[(0.0, [1, 1])], [(0.0, [])]], "listed twice"),
        ([[(0.0, [2])], [(0.0, [])]], "unknown parent 2"),
        ([[(0.0, [])]], "'b' has no candidate"),
        ([[(0.0, [])], [(0.0, [])], [(0.0, [])]], "nodes range from 0 to 2"),
        ([], "'a' has no candidate"),
        ([[("x", [])], [(0.0, [])]], "scores of type"),
    ],
)
def test_candidates_refused(candidates, message):
    with pytest.raises(OptionError, match=message):
        ScoreTable.from_candidates(["a", "b"], candidates)


def test_from_arrays_refuses_what_does_not_fit():
    with pytest.raises(OptionError, match="shapes"):
        ScoreTable.from_arrays(["a"], [0], [0.0, 1.0], [[0], [0]])
    with pytest.raises(OptionError, match="nodes range"):
        ScoreTable.from_arrays(["a"], [-1], [0.0], [[0]])


def test_large_table_is_checked_quickly():
    """A million candidates of 128 variables: a few passes, not a Python loop per candidate."""
    n, per_node = 128, 7813
    nodes = np.repeat(np.arange(n), per_node)
    masks = np.zeros((len(nodes), 2), np.uint64)
    masks[:, 0] = np.tile(np.arange(per_node, dtype=np.uint64) << np.uint64(20), n)
    masks[nodes < 64, 0] &= ~(np.uint64(1) << nodes[nodes < 64].astype(np.uint64))
    masks[:, 1] = np.tile(np.arange(per_node, dtype=np.uint64) << np.uint64(30), n)
    masks[nodes >= 64, 1] &= ~(np.uint64(1) << (nodes[nodes >= 64] - 64).astype(np.uint64))
    table = ScoreTable.from_arrays(list(map(str, range(n))), nodes, -np.arange(len(nodes)) / 3, masks)
    assert len(table) == n * per_node
