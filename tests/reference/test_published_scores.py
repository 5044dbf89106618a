"""Candidate counts and scores of real data, as published or as counted by brute force beforehand."""

import numpy as np
import pytest

from credibn import BIC, read_data, read_scores, score_parent_sets

ENGINES = ("table", "descent")
COUNTS = [
    ("tictactoe", "bic", {3: 96, 20: 110, 150: 118}),
    ("tictactoe", "bdeu", {3: 66, 20: 70, 150: 78}),
    ("wine", "bic", {3: 591, 20: 921, 150: 1439}),
    ("voting", "bic", {3: 429, 20: 495, 150: 580}),
    ("insurance", "bic", {20: 601}),
    ("parkinsons", "bic", {3: 3212, 20: 5275}),
]
TABLE_IS_QUICK = ("tictactoe", "wine", "voting")
CASES = [
    pytest.param(name, score, engine, factor, count, id=f"{name}-{score}-{factor}-{engine}")
    for name, score, counts in COUNTS
    for factor, count in counts.items()
    for engine in ENGINES
    if engine == "descent" or name in TABLE_IS_QUICK
]


@pytest.mark.parametrize(("name", "score", "engine", "bayes_factor", "count"), CASES)
def test_candidate_counts(shared_data, name, score, engine, bayes_factor, count):
    scored = score_parent_sets(shared_data / f"{name}.csv", score=score, bayes_factor=bayes_factor, engine=engine)
    assert scored.n_candidates == count


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("wine", "bic"),
        ("voting", "bic"),
        pytest.param("voting", "bdeu", marks=pytest.mark.slow),
        pytest.param("insurance", "bic", marks=pytest.mark.slow),
        pytest.param("parkinsons", "bic", marks=pytest.mark.slow),
    ],
)
def test_engines_agree_on_real_data(shared_data, name, score):
    data = read_data(shared_data / f"{name}.csv")
    by_table, by_descent = (score_parent_sets(data, score=score, engine=engine, bayes_factor=20) for engine in ENGINES)
    assert by_table.same_as(by_descent)


@pytest.mark.slow
def test_candidate_counts_of_alarm(shared_data):
    scored = score_parent_sets(shared_data / "alarm.csv", bayes_factor=20, engine="descent")
    assert scored.n_candidates == 1476


def test_published_wine_scores(shared_data, published):
    """All 592 agree; one of them rule 1 against all subsets puts out, and it is evaluated by itself."""
    theirs = read_scores(published / "wine.BIC.3.jkl")
    data = read_data(shared_data / "wine.csv")
    ours = score_parent_sets(data, bayes_factor=3)
    assert theirs.n_candidates == 592
    matched, direct = 0, 0
    for node in range(theirs.n_variables):
        kept = {frozenset(map(data.index, parents)): score for score, parents in ours.parent_sets(node)}
        for score, parents in theirs.parent_sets(node):
            members = sorted(map(theirs.names.index, parents))
            if frozenset(members) in kept:
                assert kept[frozenset(members)] == pytest.approx(score, rel=0, abs=1e-8)
                matched += 1
            else:
                sets = [np.array([sorted([*members, node])]), np.array([members], dtype=np.intp)]
                cost = BIC().set_costs(data, sets[0])[0] - BIC().set_costs(data, sets[1])[0]
                assert -cost == pytest.approx(score, rel=0, abs=1e-8)
                direct += 1
    assert (matched, direct) == (591, 1)
