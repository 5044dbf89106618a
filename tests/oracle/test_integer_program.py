"""The search by integer programming against brute force, its rows and bounds against all DAGs, and known counts."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import oracle
from credibn import _core
from credibn.search import SearchProblem, relaxation
from credibn.search.collection import new_collection
from credibn.search.exploration import Exploration
from credibn.search.relaxation import Relaxation
from profiles import sampled
from searching import (
    TOLERANCE,
    arrays,
    class_of,
    complete_problem,
    dag_positions,
    dags_of,
    dense_row,
    equivalent_costs,
    leave_a_gap,
    random_costs,
    search,
)

ANYWHERE = np.empty(0, dtype=np.int64)


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("seed", sampled(3, range(8)))
def test_networks_equal_brute_force(seed, has_ties):
    random = np.random.default_rng([seed, has_ties])
    n = int(random.integers(1, 6))
    costs = random_costs(n, random, has_ties=has_ties, share=[1.0, 0.5, 0.3][seed % 3])
    epsilon = 1.0 if has_ties else [0.0, 0.5, 3.0][seed % 3]
    expected = oracle.credible_dags(n, costs, epsilon + TOLERANCE)
    found = search(costs, epsilon)
    assert sorted(dags_of(found, costs)) == sorted(expected)
    assert not found.stopped
    assert not found.is_cut
    assert found.unexplored_bound == math.inf
    assert np.all(np.diff(found.costs) >= 0)


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("seed", sampled(3, range(6)))
def test_classes_equal_brute_force(seed, has_ties):
    random = np.random.default_rng([seed, has_ties])
    n = int(random.integers(2, 6))
    costs = equivalent_costs(n, random, has_ties)
    epsilon = 1.0 if seed % 2 else 0.3
    expected = {class_of(dag) for dag in oracle.credible_dags(n, costs, epsilon + TOLERANCE)}
    found = search(costs, epsilon, by_class=True)
    members = [class_of(dag) for dag in dags_of(found, costs)]
    assert len(members) == len(set(members)) == len(expected)
    assert set(members) == expected
    assert [int(size) for size in found.sizes[:, 0]] == [len(networks) for networks in members]


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", sampled(3, range(6)))
@pytest.mark.parametrize("by_subsets", [False, True])
def test_what_a_gap_leaves_is_found_once(seed, by_subsets, monkeypatch):
    """By branching, or by dynamic programming over what remains open."""
    leave_a_gap(monkeypatch, MOST_SUBSET_SECONDS=100.0 if by_subsets else -1.0)
    random = np.random.default_rng(seed)
    costs = equivalent_costs(5, random)
    expected = oracle.credible_dags(5, costs, 4.0 + TOLERANCE)
    found = search(costs, 4.0)
    assert sorted(dags_of(found, costs)) == sorted(expected)
    assert (found.statistics["n_branches"] > 1) is not by_subsets
    assert found.statistics["is_by_subsets"] is by_subsets
    classes = search(costs, 4.0, by_class=True)
    assert len(classes.costs) == len({class_of(dag) for dag in expected})


def test_no_network_at_all():
    costs = [{(1,): 1.0}, {(0,): 1.0}]
    found = search(costs, 1.0)
    assert len(found.costs) == 0
    assert found.best_cost == math.inf
    assert not found.stopped


def test_required_edges_leave_no_empty_parent_set():
    costs = [{(): 0.0, (1,): -6.0}, {(2,): 1.0}, {(): 0.0, (0,): -5.0}]
    assert dags_of(search(costs, 0.0), costs) == [((1,), (2,), ())]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_every_cluster_cut_holds_for_every_dag(n):
    _, offsets, flat, masks, problem = complete_problem(n, np.random.default_rng(n))
    positions = dag_positions(n, offsets, masks)
    for size in range(2, n + 1):
        for nodes in itertools.combinations(range(n), size):
            for k in range(1, size):
                dense, rhs = dense_row(problem, problem.add_cluster_cut(nodes, k), len(flat))
                activity = dense[positions].sum(axis=1)
                assert rhs == k
                assert activity.min() == k


def diverse_cuts(problem, relaxation, values, max_cuts=100, max_cosine=1.1):
    everywhere = np.ones(len(values), dtype=np.uint8)
    return problem.separate_diverse_cuts(
        values[np.newaxis], everywhere, relaxation.cuts, 3, 100, max_cuts, max_cosine, 0.01
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 5])  # elsewhere there are too few cuts to leave any out
def test_cuts_that_differ_are_deep_and_not_alike(seed):
    n = 6
    _, offsets, flat, _, problem = complete_problem(n, np.random.default_rng(seed))
    relaxation = Relaxation(problem, offsets, flat)
    relaxation.add(problem.separate_cluster_cuts(relaxation.solve().values, 3, 10, 0.01))
    values = relaxation.solve().values
    everything = diverse_cuts(problem, relaxation, values)
    chosen = diverse_cuts(problem, relaxation, values, max_cosine=0.2)
    assert 0 < len(chosen) < len(set(everything))
    assert set(chosen) <= set(everything)
    assert diverse_cuts(problem, relaxation, values, max_cuts=2, max_cosine=0.2) == chosen[:2]

    def centred(cut):
        dense, rhs = dense_row(problem, cut, len(flat))
        parts = np.split(dense.astype(float), offsets[1:-1])
        return np.concatenate([part - part.mean() for part in parts]), rhs - dense @ values

    rows, violations = map(np.array, zip(*map(centred, everything), strict=True))
    norms = np.linalg.norm(rows, axis=1)
    depths = dict(zip(everything, violations / norms, strict=True))
    assert [depths[cut] for cut in chosen] == sorted((depths[cut] for cut in chosen), reverse=True)
    assert depths[chosen[0]] == pytest.approx(max(depths.values()))
    unit = dict(zip(everything, rows / norms[:, np.newaxis], strict=True))
    for first, second in itertools.combinations(chosen, 2):
        assert unit[first] @ unit[second] < 0.2 + 1e-6
    for cut in set(everything) - set(chosen):  # one that is as deep says nearly the same
        assert any(unit[cut] @ unit[other] > 0.2 - 1e-6 and depths[other] >= depths[cut] - 1e-9 for other in chosen)


@pytest.mark.parametrize("seed", sampled(3, range(10)))
def test_found_rows_are_violated_and_valid(seed):
    random = np.random.default_rng(seed)
    n = 5
    _, offsets, flat, masks, problem = complete_problem(n, random)
    positions = dag_positions(n, offsets, masks)
    relaxation = Relaxation(problem, offsets, flat)
    for _ in range(10):
        values = relaxation.solve().values
        rows = problem.separate_cluster_cuts(values, 3, 100, 0.01)
        rows += diverse_cuts(problem, relaxation, values)
        for row in rows:
            dense, rhs = dense_row(problem, row, len(flat))
            assert dense @ values < rhs - 0.009
            assert np.all(dense[positions].sum(axis=1) >= rhs)
        if not relaxation.add(rows):
            break


@pytest.mark.parametrize("seed", sampled(3, range(5)))
def test_any_duals_give_a_bound_and_the_identity_holds(seed):
    random = np.random.default_rng(seed)
    n = 5
    _, offsets, flat, masks, problem = complete_problem(n, random)
    everywhere = np.ones(len(flat), dtype=np.uint8)
    ids = [
        problem.add_cluster_cut(nodes, k)
        for size in range(2, n + 1)
        for nodes in itertools.combinations(range(n), size)
        for k in range(1, size)
    ]
    duals = random.exponential(1.0, len(ids)) * (random.random(len(ids)) < 0.4)
    lower, margin, reduced = problem.bound(np.array(ids), duals, everywhere)
    assert 0 < margin < 1e-6
    assert reduced.min() == 0
    positions = dag_positions(n, offsets, masks)
    true_costs = flat[positions].sum(axis=1)
    assert lower <= true_costs.min() + margin
    slack = np.zeros(len(positions))
    for row, y in zip(ids, duals, strict=True):
        dense, rhs = dense_row(problem, row, len(flat))
        slack += y * (dense[positions].sum(axis=1) - rhs)
    assert np.allclose(lower + reduced[positions].sum(axis=1) + slack, true_costs, atol=1e-9)


@pytest.mark.parametrize("unusable", [math.inf, -math.inf, math.nan, 1e308, -1.0, -1e308])
def test_unusable_dual_values_count_as_zero(unusable):
    _, _, flat, _, problem = complete_problem(4, np.random.default_rng(0))
    ids = np.array([problem.add_cluster_cut([0, 1], 1), problem.add_cluster_cut([1, 2, 3], 2)])
    everything = np.ones(len(flat), dtype=np.uint8)
    lower, margin, reduced = problem.bound(ids, np.array([unusable, 0.5]), everything)
    as_expected = problem.bound(ids, np.array([0.0, 0.5]), everything)
    assert (lower, margin) == as_expected[:2]
    assert np.array_equal(reduced, as_expected[2])


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("first", [math.inf, math.nan, 1e308, 1e300, 1e150, 1e120, 1e30, 1e17, 1e15, 1e9])
@pytest.mark.parametrize("second", [0.0, 1e308, 1e120, 1e16, 3.0])
def test_no_dual_values_lose_a_network(first, second, by_class):
    """All 25 networks on three nodes cost at most 1; they make 11 classes."""
    costs = [{parents: 0.1 * len(parents) for parents in oracle.all_parent_sets(3, v)} for v in range(3)]
    offsets, flat, masks = arrays(costs)
    problem = _core.SearchProblem(offsets, flat, masks)
    ids = np.array([problem.add_cluster_cut([0, 1], 1), problem.add_cluster_cut([0, 1, 2], 1)])
    duals, everything = np.array([first, second]), np.ones(len(flat), np.uint8)
    lower, margin, reduced = problem.bound(ids, duals, everything)
    assert math.isfinite(lower)
    assert math.isfinite(margin)
    assert np.isfinite(reduced).all()
    collection = _core.Collection(3, int(by_class), 1.0, TOLERANCE, None, None, None)
    collection.update_incumbent(1e-9)
    search = problem.search_depth_first(
        collection, ids, duals, everything, [0, 1, 2], by_class, None, None, 0, None, 1, None
    )
    assert search is not None
    assert search[0]
    assert collection.count() == (11 if by_class else 25)


@pytest.mark.parametrize("trouble", [math.inf, math.nan, 1e308])
def test_a_solver_that_returns_nonsense_costs_no_network(trouble, monkeypatch):
    costs = equivalent_costs(4, np.random.default_rng(3))
    expected = oracle.credible_dags(4, costs, 2.0 + TOLERANCE)
    solve = Relaxation.solve

    def wrong(self):
        bound = solve(self)
        duals = np.where(np.arange(len(bound.cuts)) % 2, bound.dual_values, trouble)
        core = self._problem.bound(bound.cuts, duals, self._open)
        return replace(bound, dual_values=duals, lower=core[0], margin=core[1], reduced=core[2])

    monkeypatch.setattr(Relaxation, "solve", wrong)
    assert sorted(dags_of(search(costs, 2.0), costs)) == sorted(expected)


@pytest.mark.parametrize("seed", sampled(3, range(5)))
def test_local_search_gives_a_network_of_the_cost_it_says(seed):
    random = np.random.default_rng(seed)
    costs = random_costs(5, random)
    offsets, flat, masks = arrays(costs)
    row, cost = _core.SearchProblem(offsets, flat, masks).find_network(ANYWHERE, 1, 100_000)
    dag = tuple(
        tuple(p for p in range(5) if int(masks[offsets[v] + k, 0]) >> p & 1) for v, k in enumerate(row.tolist())
    )
    assert oracle.is_acyclic(dag)
    assert cost == pytest.approx(oracle.network_cost(dag, costs), abs=1e-12)


def test_stopping_gives_a_valid_bound():
    costs = equivalent_costs(5, np.random.default_rng(0))
    found = search(costs, 1.0, watch=lambda stage, progress: False)
    assert found.stopped
    assert found.unexplored_bound <= min(oracle.network_cost(dag, costs) for dag in oracle.all_dags(5))


def test_quota_keeps_the_best_and_says_so():
    costs = random_costs(5, np.random.default_rng(3))
    everything = search(costs, 6.0)
    found = search(costs, 6.0, max_rows=5)
    assert found.is_cut
    assert np.array_equal(found.costs, everything.costs[: len(found.costs)])
    assert len(found.costs) >= 5


def test_more_than_64_nodes():
    n = 70
    costs = [{(): 1.0, **({(v - 1,): 0.0} if v else {}), **({(v + 1,): 0.2} if v < n - 1 else {})} for v in range(n)]
    found = search(costs, 0.1)
    assert found.best_cost == pytest.approx(1.0)
    assert len(found.costs) == 1


def test_a_solver_gets_twice_as_many_iterations_each_time(monkeypatch):
    _, offsets, flat, _, problem = complete_problem(3, np.random.default_rng(0))
    program = Relaxation(problem, offsets, flat)

    limits: list[int] = []
    lost = SimpleNamespace(  # a solver that never arrives
        setIntParam=lambda _, value: limits.append(value),
        solve=lambda dual: None,
        isOptimal=lambda: False,
        getNIterations=lambda: limits[-1],
    )
    monkeypatch.setattr(program, "_lp", lost)
    monkeypatch.setattr(relaxation, "MOST_ITERATIONS", 1000)
    assert not program._is_solved(dual=True)
    assert limits == [100, 200, 400, 300]


def test_a_network_and_a_bound_are_known_from_the_start():
    costs = equivalent_costs(4, np.random.default_rng(3))
    problem = SearchProblem(("a", "b", "c", "d"), *arrays(costs), 1.0, TOLERANCE, "networks")
    start = Exploration(problem, new_collection(problem))
    start.begin()
    optimum = min(oracle.network_cost(dag, costs) for dag in oracle.all_dags(4))
    assert -math.inf < start.lowest_cost <= optimum <= start.collection.best() + TOLERANCE < math.inf


def test_the_solution_stays_when_idle_cuts_leave():
    _, offsets, flat, _, problem = complete_problem(6, np.random.default_rng(0))
    program = Relaxation(problem, offsets, flat)
    for _ in range(20):
        values = program.solve().values
        if not program.add(problem.separate_cluster_cuts(values, 2, 30, 0.01)):
            break
    before = len(program.cuts)
    program._idle = [relaxation.IDLE_SOLUTIONS] * before  # even those that are tight
    program.drop_idle()
    assert 0 < len(program.cuts) < before
    np.testing.assert_array_equal(program.solve().values, values)
    assert program._lp.getNIterations() == 0
