"""The rule behind the printed candidate counts, against a plain reading of it; and the counts themselves."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import networks
import strategies
from credibn import read_data, read_scores, score_parent_sets
from paper import printed_rule
from paper.printed_rule import PRINTED_EPSILONS, printed_candidates
from profiles import examples

PRINTED = [
    ("tictactoe", "bic", {3: 96, 20: 110, 150: 118}),
    ("tictactoe", "bdeu", {20: 70}),
    ("wine", "bic", {3: 592, 20: 949, 150: 1582}),
    ("wine", "bdeu", {20: 1256}),
    ("voting", "bic", {3: 429, 20: 497, 150: 581}),
    ("hepatitis", "bic", {3: 474, 20: 1485, 150: 4437}),
]


def plain_rule(costs, epsilon):
    """The kept sets of one node, from the costs of all its parent sets."""
    stored, kept = {}, set()
    for parents in sorted(costs, key=len):
        below = [stored[parents[:t] + parents[t + 1 :]] for t in range(len(parents))]
        is_kept = not any(least + epsilon < costs[parents] for least in below)
        stored[parents] = costs[parents] if is_kept else min(below)
        kept |= {parents} if is_kept else set()
    return kept


def sets_of(table):
    return [set(of_node) for of_node in networks.table_costs(table)]


@examples(60)
@given(
    st.one_of(strategies.coded_tables(max_columns=6), strategies.functional_tables(max_columns=6)),
    st.sampled_from(["bic", "bdeu"]),
    st.sampled_from([0.01, 0.3, 1.1, 3.1, 5.1]),
)
def test_the_rule_is_the_plain_one(table, score, epsilon):
    data = table.dataset()
    everything = score_parent_sets(data, score=score, epsilon=1e9)
    expected = [plain_rule(costs, epsilon) for costs in networks.table_costs(everything)]
    found = printed_candidates(data, score, epsilon)
    assert sets_of(found) == expected
    for ours, kept in zip(sets_of(score_parent_sets(data, score=score, epsilon=epsilon)), expected, strict=True):
        assert ours <= kept  # rule 1 compares with more subsets, so it keeps fewer


def climbing_data():
    """Few rows of noise: by BDeu some sets cost 4 nats more than a subset, in steps of less than 2."""
    return read_data(np.random.default_rng(4).integers(0, 2, (12, 6)))


def test_the_list_is_widened_until_it_suffices(monkeypatch):
    widths = []

    def scored(data, **options):
        widths.append(options["epsilon"])
        return score_parent_sets(data, **options)

    monkeypatch.setattr(printed_rule, "score_parent_sets", scored)
    data, epsilon = climbing_data(), 2.0
    found = printed_candidates(data, "bdeu", epsilon)
    assert len(widths) > 1
    assert widths == sorted(set(widths))
    costs = networks.table_costs(score_parent_sets(data, score="bdeu", epsilon=1e9))
    assert sets_of(found) == [plain_rule(of_node, epsilon) for of_node in costs]
    twice = sets_of(score_parent_sets(data, score="bdeu", epsilon=2 * epsilon))
    assert any(kept - listed for kept, listed in zip(sets_of(found), twice, strict=True))


@pytest.mark.filterwarnings("ignore:.*column.*constant")
@pytest.mark.parametrize(
    "rows", [[[0]], [[0, 1]], [[0], [1], [1]], [[0, 0], [0, 1]]], ids=["one", "row", "column", "constant"]
)
def test_smallest_tables(rows):
    data = read_data(np.array(rows))
    for score, epsilons in PRINTED_EPSILONS.items():
        for factor, epsilon in epsilons.items():
            found = printed_candidates(data, score, epsilon)
            assert found.n_candidates == score_parent_sets(data, score=score, bayes_factor=factor).n_candidates


def test_too_many_sets_are_not_looked_at():
    data = climbing_data()
    n_sets = 6 * 2**5
    assert printed_candidates(data, "bic", 5.1, most_sets=n_sets) is not None
    assert printed_candidates(data, "bic", 5.1, most_sets=10) is None
    assert printed_candidates(data, "bic", 5.1, most_sets=0) is None


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "score", "bayes_factor", "count"),
    [(name, score, factor, count) for name, score, counts in PRINTED for factor, count in counts.items()],
)
def test_printed_counts(shared_data, name, score, bayes_factor, count):
    data = read_data(shared_data / f"{name}.csv")
    assert printed_candidates(data, score, PRINTED_EPSILONS[score][bayes_factor]).n_candidates == count


def test_the_authors_own_scores_of_wine(shared_data, published):
    """The same 592 sets with the same scores, to the 8 decimals of the file."""
    theirs = read_scores(published / "wine.BIC.3.jkl")
    ours = printed_candidates(read_data(shared_data / "wine.csv"), "bic", 1.1)
    assert sets_of(ours) == sets_of(theirs)
    for node in range(theirs.n_variables):
        expected, found = networks.table_costs(theirs)[node], networks.table_costs(ours)[node]
        assert all(math.isclose(found[parents], cost, abs_tol=1e-8) for parents, cost in expected.items())
