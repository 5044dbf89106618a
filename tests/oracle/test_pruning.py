"""Rule 1 applied to a table gives what scoring for the smaller epsilon gives."""

from dataclasses import replace

import numpy as np
import pytest

from credibn import BDeu, ScoreTable, score_parent_sets
from credibn.examples import sample_asia
from credibn.scores.pruning import prune_for
from credibn.search import choose_unit


@pytest.mark.parametrize("score", ["bic", BDeu(10.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("constraints", [{}, {"max_parents": 2, "required_edges": [("smoke", "lung")]}])
def test_pruning_gives_the_table_of_the_smaller_epsilon(score, epsilon, constraints):
    data = sample_asia(n_rows=300)
    expected = score_parent_sets(data, score=score, epsilon=epsilon, **constraints)
    larger = score_parent_sets(data, score=score, epsilon=8.0, **constraints)
    pruned = prune_for(larger, epsilon)
    assert larger.n_candidates > pruned.n_candidates or constraints
    assert pruned.same_as(expected, tolerance=1e-9)  # the grid of costs depends on epsilon
    assert pruned.epsilon == epsilon


def test_many_candidates_of_many_variables_are_compared():
    random = np.random.default_rng(5)
    data = random.integers(0, 2, (60, 70))
    data[:, 65:] = data[:, :5] ^ (random.random((60, 5)) < 0.1)
    larger = score_parent_sets(data, epsilon=14.0, max_parents=2)
    assert larger.counts.max() > 600
    assert prune_for(larger, 1.0).same_as(score_parent_sets(data, epsilon=1.0, max_parents=2), tolerance=1e-9)


def test_a_table_of_unknown_origin_is_not_pruned():
    table = score_parent_sets(sample_asia(n_rows=300), epsilon=3.0)
    unknown = replace(table, provenance={})
    assert prune_for(unknown, 0.0) is unknown
    assert prune_for(table, 3.0) is table


def test_pruning_ends_when_the_run_does():
    table = score_parent_sets(sample_asia(n_rows=300), epsilon=3.0)
    reports = iter([True, True, False])
    assert prune_for(table, 0.0, lambda: next(reports)) is table


def test_a_table_that_is_judged_by_all_its_sets_is_not_pruned():
    costs = {(): 8.0, (0,): 0.0, (1,): 0.0, (2,): 2.0, (0, 1): 0.0, (0, 2): 13.0, (1, 2): 10.0, (0, 1, 2): 12.0}
    candidates = [
        [(costs[tuple(sorted((*rest, v)))] - score, rest) for rest, score in costs.items() if v not in rest]
        for v in range(3)
    ]
    table = ScoreTable.from_candidates(["a", "b", "c"], candidates, {"epsilon": 100.0, "tolerance": 1e-9})
    assert choose_unit(table, "classes", score_equivalent=True) == "classes"
    assert choose_unit(prune_for(table, 1.0), "classes", score_equivalent=True) == "classes"
