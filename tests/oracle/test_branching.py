"""How the search by integer programming splits its parts: against all networks, and against plain solutions."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import oracle
from credibn import _core, learn, score_parent_sets
from credibn.search import branching, exploration, relaxation
from credibn.search.branches import Branch
from credibn.search.branching import EdgeSplitter
from credibn.search.relaxation import Relaxation
from profiles import sampled
from searching import (
    TOLERANCE,
    arrays,
    class_of,
    dag_positions,
    dags_of,
    equivalent_costs,
    leave_a_gap,
    random_costs,
    search,
)


def relaxation_of(costs, n_rounds=3):
    """A relaxation with some rows, its splitter, and its last solution."""
    offsets, flat, masks = arrays(costs)
    problem = _core.SearchProblem(offsets, flat, masks)
    program = Relaxation(problem, offsets, flat)
    splitter = EdgeSplitter(np.repeat(np.arange(len(costs)), np.diff(offsets)), masks, len(costs))
    for _ in range(n_rounds):
        bound = program.solve()
        program.add(problem.separate_cluster_cuts(bound.values, 3, 5, 0.01))
    return program, splitter, program.solve()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_network_is_on_one_side_of_each_edge(n):
    offsets, flat, masks = arrays(equivalent_costs(n, np.random.default_rng(n)))
    splitter = EdgeSplitter(np.repeat(np.arange(n), np.diff(offsets)), masks, n)
    positions = dag_positions(n, offsets, masks)
    dags = oracle.all_dags(n)
    for child in range(n):
        for parent in set(range(n)) - {child}:
            without, with_edge = splitter.sides(np.ones(len(flat), dtype=np.uint8), child, parent)
            has_edge = np.array([parent in dag[child] for dag in dags])
            assert np.array_equal(with_edge[positions].all(axis=1), has_edge)
            assert np.array_equal(without[positions].all(axis=1), ~has_edge)


def test_sides_beyond_the_first_word_of_a_mask():
    n = 70
    costs = [{(): 1.0, **({(v - 1,): 0.0} if v else {}), **({(v + 1,): 0.2} if v < n - 1 else {})} for v in range(n)]
    offsets, flat, masks = arrays(costs)
    splitter = EdgeSplitter(np.repeat(np.arange(n), np.diff(offsets)), masks, n)
    without, with_edge = splitter.sides(np.ones(len(flat), dtype=np.uint8), 66, 65)
    at = {parents: offsets[66] + k for k, parents in enumerate(sorted(costs[66], key=costs[66].get))}
    assert (without[at[65,]], without[at[67,]], without[at[()]]) == (0, 1, 1)
    assert (with_edge[at[65,]], with_edge[at[67,]], with_edge[at[()]]) == (1, 0, 0)
    assert without.sum() == len(flat) - 1
    assert with_edge.sum() == len(flat) - 3  # 65 cannot have 66 as a parent


@pytest.mark.parametrize("seed", sampled(2, range(5)))
def test_both_sides_are_smaller(seed):
    random = np.random.default_rng(seed)
    _, splitter, bound = relaxation_of(random_costs(5, random, share=0.6))
    is_open = (random.random(len(bound.values)) < 0.7).astype(np.uint8)
    for child, parent in splitter.edges_to_try(bound.values, is_open):
        without, with_edge = splitter.sides(is_open, child, parent)
        assert without.sum() < is_open.sum()
        assert with_edge.sum() < is_open.sum()
        assert np.all(without <= is_open)
        assert np.all(with_edge <= is_open)


def test_the_edge_nearest_to_one_half_is_tried_first():
    costs = [{(): 0.0, (1,): 0.0, (1, 2): 0.0}, {(): 0.0, (0,): 0.0}, {(): 0.0}]
    offsets, flat, masks = arrays(costs)
    splitter = EdgeSplitter(np.repeat(np.arange(3), np.diff(offsets)), masks, 3)
    values = np.array([0.1, 0.4, 0.5, 0.2, 0.8, 1.0])  # 0: {}, {1}, {1, 2}; 1: {}, {0}; 2: {}
    edges = splitter.edges_to_try(values, np.ones(len(flat), dtype=np.uint8))
    assert edges == [(0, 2), (1, 0), (0, 1)]


@pytest.mark.parametrize("seed", sampled(2, range(5)))
def test_trying_out_ranks_by_the_bound_and_leaves_no_trace(seed):
    costs = equivalent_costs(5, np.random.default_rng(seed))
    program, splitter, bound = relaxation_of(costs)
    everything = np.ones(len(bound.values), dtype=np.uint8)
    edges = splitter.edges_to_try(bound.values, everything)
    sides = [side for edge in edges for side in splitter.sides(everything, *edge)]
    with program.trying_out() as bound_of:
        tried = [bound_of(side) for side in [*sides, everything]]
    assert tried[-1] == pytest.approx(bound.lower, abs=1e-6)
    assert min(tried) > bound.lower - 1e-6
    after = program.solve()
    assert after.lower == pytest.approx(bound.lower, abs=1e-9)
    assert np.array_equal(np.isinf(after.reduced), np.zeros(len(everything), dtype=bool))
    for side, rough in zip(sides, tried, strict=False):
        program.restrict(side)
        assert program.solve().lower <= rough + 1e-6  # more columns may come in


def test_the_side_of_the_least_bound_comes_last():
    costs = equivalent_costs(5, np.random.default_rng(1))
    program, splitter, bound = relaxation_of(costs)
    whole = Branch(np.ones(len(bound.values), dtype=np.uint8), bound.lower, bound.cuts, 1.0)
    parts = splitter.split(whole, whole.is_open, bound, bound.lower + 10.0, program)
    with program.trying_out() as bound_of:
        first, last = (bound_of(part.is_open) for part in parts)
    assert last <= first
    assert [part.share for part in parts] == [0.5, 0.5]
    assert all(np.array_equal(part.cuts, bound.cuts) for part in parts)


@pytest.mark.parametrize("seed", sampled(2, range(4)))
@pytest.mark.parametrize("n_tried", [1, 3])
def test_listings_in_stages_find_each_network_once(seed, n_tried, monkeypatch):
    monkeypatch.setattr(branching, "TRIED_EDGES", n_tried)
    monkeypatch.setattr(exploration, "MOST_SUBSET_SECONDS", -1.0)
    monkeypatch.setattr(exploration, "FIRST_STEPS", 2)
    monkeypatch.setattr(exploration, "STEPS_BEFORE_SPREADING", 5)
    monkeypatch.setattr(exploration, "STAGE", 4)
    monkeypatch.setattr(exploration, "MOST_STEPS", 40)
    monkeypatch.setattr(exploration, "ROOT_ROUNDS", 1)
    monkeypatch.setattr(exploration, "WIDE_GAP", -1.0 if seed % 2 else 1.0)
    costs = equivalent_costs(5, np.random.default_rng(seed))
    expected = oracle.credible_dags(5, costs, 4.0 + TOLERANCE)
    assert sorted(dags_of(search(costs, 4.0), costs)) == sorted(expected)


@pytest.mark.parametrize("seed", sampled(2, range(4)))
@pytest.mark.parametrize("n_iterations", [0, 1, 4])
def test_a_solver_that_is_cut_short_costs_no_network(seed, n_iterations, monkeypatch):
    monkeypatch.setattr(relaxation, "MOST_ITERATIONS", n_iterations)
    monkeypatch.setattr(relaxation, "TRIAL_ITERATIONS", n_iterations)
    monkeypatch.setattr(exploration, "MOST_SUBSET_SECONDS", -1.0)
    monkeypatch.setattr(exploration, "FIRST_STEPS", 3)
    monkeypatch.setattr(exploration, "STEPS_BEFORE_SPREADING", 3)
    monkeypatch.setattr(exploration, "STAGE", 1)
    costs = equivalent_costs(4, np.random.default_rng(seed))
    expected = oracle.credible_dags(4, costs, 2.0 + TOLERANCE)
    assert sorted(dags_of(search(costs, 2.0), costs)) == sorted(expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("by_class", [False, True])
def test_wherever_it_is_stopped_the_answer_says_what_is_known(by_class, monkeypatch):
    leave_a_gap(monkeypatch)
    costs = equivalent_costs(5, np.random.default_rng(2))
    expected = oracle.credible_dags(5, costs, 5.0 + TOLERANCE)
    optimum = min(oracle.network_cost(dag, costs) for dag in expected)
    n_found = []
    for n_calls in (int(60 * 1.2**k) - 60 for k in range(50)):
        calls = itertools.count()
        found = search(costs, 5.0, by_class=by_class, n_threads=1, watch=lambda *_, c=calls, n=n_calls: next(c) < n)
        dags = dags_of(found, costs)
        members = {member for dag in dags for member in (class_of(dag) if by_class else [dag])}
        missing = [oracle.network_cost(dag, costs) for dag in set(expected) - members]
        assert len(set(dags)) == len(dags) > 0
        assert found.best_cost == found.costs[0] == pytest.approx(oracle.network_cost(dags[0], costs), abs=1e-9)
        assert members <= set(expected)
        assert min(missing, default=math.inf) >= found.unexplored_bound - TOLERANCE
        assert optimum >= min(found.best_cost, found.unexplored_bound) - TOLERANCE
        assert not by_class or found.sizes.sum() == len(members)
        n_found.append(len(dags))
        if not found.stopped:
            break
    assert not found.stopped
    assert len(members) == len(expected)
    assert len(set(n_found)) > 3, n_found


def test_a_best_network_whose_class_is_not_in_the_table_is_not_made_up(monkeypatch):
    """Where the best network known is not credible, the member that stands for its class may be no candidate."""

    def poor(self, order, effort):
        """Greedy along an order that fits badly: a network far from the best."""
        row, before = np.zeros(self.n, dtype=np.uint32), 0
        for v in reversed(range(self.n)):
            masks = self.masks[self.offsets[v] : self.offsets[v + 1], 0]
            row[v] = np.flatnonzero((masks & ~np.uint64(before)) == 0)[0]
            before |= 1 << v
        self.best_row, self.best_cost = row, float(self.costs[self.offsets[:-1] + row].sum())
        self.collection.update_incumbent(self.best_cost + self.problem.rounding(), row)

    monkeypatch.setattr(exploration.Exploration, "improve", poor)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = rng.integers(0, 2, size=(100, 6))
        data[:, 2] = data[:, 0] ^ data[:, 1] ^ (rng.random(100) < 0.1)
        data[:, 4] = data[:, 3] ^ data[:, 2] ^ (rng.random(100) < 0.1)
        table = score_parent_sets(data, epsilon=0.0)
        optimum = learn(table, epsilon=0.0, posterior_share=False).optimal_score
        options = {"epsilon": 0.0, "engine": "integer_program", "posterior_share": False}
        stopped = learn(table, **options, progress=lambda stage, fraction: False)
        assert stopped.optimal_score <= optimum + 1e-9
        assert all(nx.is_directed_acyclic_graph(network) for network in stopped.networks())
        assert stopped.n_networks >= 1
