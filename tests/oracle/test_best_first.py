"""The best networks and classes where more tie with the last than a list can hold, against brute force."""

import math
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oracle
from credibn import k_best_classes, k_best_networks, learn
from credibn.learning import any_size, best_first
from profiles import examples
from searching import TOLERANCE, equivalent_costs, random_costs, table_of

pytestmark = pytest.mark.filterwarnings("ignore:these scores do not say for which epsilon")


def networks_in_order(costs):
    """All networks with their costs, the cheapest first."""
    dags = [dag for dag in oracle.all_dags(len(costs)) if all(dag[v] in costs[v] for v in range(len(costs)))]
    return sorted((oracle.network_cost(dag, costs), dag) for dag in dags)


def dag_of(network):
    return tuple(tuple(sorted(int(p[1:]) for p in network.predecessors(f"v{v}"))) for v in range(len(network)))


@contextmanager
def counting_only(most_listed):
    """Let no turn of listing end; if more networks than this tie with the last, they are not listed."""
    take_turn = any_size.take_turn

    def turn(call, table, epsilon, seconds, **quota):
        if call.search.engine != "factored":
            return None, "enumeration"
        return take_turn(call, table, epsilon, math.inf, **quota)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_first, "take_turn", turn)
        patch.setattr(best_first, "MOST_LISTED", most_listed)
        yield


@pytest.mark.parametrize("most_listed", [0, any_size.MOST_LISTED])
@given(st.integers(1, 4), st.integers(0, 2**32), st.booleans(), st.integers(2, 40))
@examples(60)
def test_the_k_best_networks_are_counted_with_their_ties(most_listed, n, seed, has_ties, k):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties)
    ordered = networks_in_order(costs)
    with counting_only(most_listed):
        found = k_best_networks(scores=table_of(costs), k=k)
    n_found = min(k, len(ordered))
    last = ordered[n_found - 1][0]
    n_tied = sum(cost <= last + TOLERANCE for cost, _ in ordered) - n_found
    assert (found.complete, found.n_networks, found.n_tied_at_boundary) == (True, n_found, n_tied)
    found_dags = set(map(dag_of, found.networks()))
    assert len(found_dags) == n_found
    costs_found = sorted(oracle.network_cost(dag, costs) for dag in found_dags)
    assert costs_found == pytest.approx([cost for cost, _ in ordered[:n_found]], abs=TOLERANCE)


@pytest.mark.parametrize("most_listed", [0, any_size.MOST_LISTED])
@given(st.integers(1, 4), st.integers(0, 2**32), st.booleans(), st.integers(2, 12))
@example(n=3, seed=0, has_ties=True, k=4)
@examples(60)
def test_the_k_best_classes_are_counted_with_their_ties(most_listed, n, seed, has_ties, k):
    costs = equivalent_costs(n, np.random.default_rng(seed), has_ties)
    classes = sorted(oracle.network_cost(members[0], costs) for members in oracle.all_classes(n))
    with counting_only(most_listed):
        found = k_best_classes(scores=table_of(costs, score_equivalent=True), k=k)
    n_found = min(k, len(classes))
    n_tied = sum(cost <= classes[n_found - 1] + TOLERANCE for cost in classes) - n_found
    assert (found.complete, found.n_classes, found.n_tied_at_boundary) == (True, n_found, n_tied)
    assert [-each.score for each in found.classes()] == pytest.approx(classes[:n_found], abs=TOLERANCE)
    found_classes = {frozenset(oracle.class_of(dag_of(each.representative))) for each in found.classes()}
    assert len(found_classes) == n_found
    cost_of = {frozenset(members): oracle.network_cost(members[0], costs) for members in oracle.all_classes(n)}
    assert sorted(map(cost_of.__getitem__, found_classes)) == pytest.approx(classes[:n_found], abs=TOLERANCE)


@pytest.mark.parametrize("most_listed", [0, any_size.MOST_LISTED])
@given(st.integers(2, 4), st.integers(0, 2**32), st.booleans(), st.integers(2, 30))
@example(n=2, seed=0, has_ties=False, most=3)  # just as many as there are
@examples(40)
def test_a_limit_on_networks_leaves_the_best_and_a_bound(most_listed, n, seed, has_ties, most):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties)
    ordered = [cost for cost, _ in networks_in_order(costs)]
    credible = sum(cost <= ordered[0] + 3.0 + TOLERANCE for cost in ordered)
    with counting_only(most_listed):
        found = learn(scores=table_of(costs), epsilon=3.0, max_networks=most)
    assert found.n_networks == min(most, credible)
    assert sorted(-found.structures.scores) == pytest.approx(ordered[: found.n_networks], abs=TOLERANCE)
    assert found.complete is (credible <= most)
    if not found.complete:
        assert found.stopped_because == "max_networks"
        # What is missing scores no more than the bound.
        assert found.unexplored_bound >= -ordered[most] - TOLERANCE
        assert found.unexplored_bound <= -ordered[most - 1] + TOLERANCE


def test_billions_that_tie_are_not_listed(monkeypatch):
    # 30 pairs, each with an edge or none at the same cost: 3^30 networks tie, in 2^30 classes.
    monkeypatch.setattr(best_first, "FIRST_TURN", 0.1)
    table = table_of([{(): 0.0, (v ^ 1,): 0.0} for v in range(60)], score_equivalent=True, epsilon=1e3)
    networks, classes = k_best_networks(scores=table, k=10), k_best_classes(scores=table, k=10)
    assert (networks.complete, networks.n_networks, networks.n_tied_at_boundary) == (True, 10, 3**30 - 10)
    assert (classes.complete, classes.n_classes, classes.n_tied_at_boundary) == (True, 10, 2**30 - 10)
    assert "205,891,132,094,639 more tie with the last" in networks.guarantee
    limited = learn(scores=table, epsilon=1.0, max_classes=10)
    assert (limited.n_classes, limited.stopped_because, limited.unexplored_bound) == (10, "max_classes", 0.0)


@pytest.mark.parametrize("stage", ["relaxation", "branches", "counting"])
def test_a_run_that_is_stopped_returns_what_is_certain(stage, monkeypatch):
    monkeypatch.setattr(best_first, "FIRST_TURN", 0.1)
    table = table_of([{(): 0.0, (v ^ 1,): 0.0} for v in range(60)], score_equivalent=True, epsilon=1e3)
    found = k_best_networks(scores=table, k=10, progress=lambda at, _: at != stage)
    assert not found.complete
    assert found.stopped_because == "interrupted"
    assert (found.optimal_score, found.unexplored_bound) == (0.0, 0.0)
