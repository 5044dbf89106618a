"""The optimum alone, without a list of what ties with it: against brute force and against dynamic programming."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from credibn import k_best_classes, k_best_networks, learn, score_parent_sets
from credibn.learning import runs
from credibn.search import SearchProblem, exploration
from credibn.search.collection import new_collection
from credibn.search.dynamic_programming import DynamicProgramming
from profiles import examples
from searching import TOLERANCE, arrays, dags_of, equivalent_costs, leave_a_gap, random_costs, search

ENGINES = ["integer_program", "dynamic_programming"]


def by_subsets(costs, **options):
    names = tuple(f"v{v}" for v in range(len(costs)))
    return DynamicProgramming().search(SearchProblem(names, *arrays(costs), 0.0, TOLERANCE, **options))


def least_cost(costs):
    return min(
        oracle.network_cost(dag, costs)
        for dag in oracle.all_dags(len(costs))
        if all(parents in of_child for parents, of_child in zip(dag, costs, strict=True))
    )


def assert_optimal(found, costs, optimum):
    assert not found.stopped
    assert found.unexplored_bound == math.inf
    assert found.best_cost == pytest.approx(optimum, abs=TOLERANCE)
    dags = dags_of(found, costs)
    assert dags
    assert all(oracle.is_acyclic(dag) for dag in dags)
    assert all(oracle.network_cost(dag, costs) == pytest.approx(optimum, abs=TOLERANCE) for dag in dags)


@examples(40)
@given(st.integers(1, 5), st.integers(0, 2**32), st.booleans(), st.sampled_from([1.0, 0.6]))
def test_the_optimum_equals_brute_force(n, seed, has_ties, share):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties, share=share)
    for find in (search, by_subsets):
        options = {"epsilon": 0.0} if find is search else {"unit": "networks"}
        assert_optimal(find(costs, optimum_only=True, **options), costs, least_cost(costs))


@examples(20)
@given(st.integers(2, 5), st.integers(0, 2**32), st.booleans())
def test_the_optimal_class_equals_brute_force(n, seed, has_ties):
    costs = equivalent_costs(n, np.random.default_rng(seed), has_ties)
    found = search(costs, 0.0, by_class=True, optimum_only=True)
    assert_optimal(found, costs, least_cost(costs))
    (dag, *_), (size, *_) = dags_of(found, costs), found.sizes[:, 0].tolist()
    assert size == len(oracle.class_of(dag))


@examples(15)
@given(st.integers(6, 9), st.integers(0, 2**32), st.booleans())
def test_the_optimum_equals_dynamic_programming(n, seed, has_ties):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties, share=0.2)
    assert_optimal(search(costs, 0.0, optimum_only=True), costs, by_subsets(costs, unit="networks").best_cost)


@pytest.mark.parametrize("seed", range(6))
def test_branches_find_the_optimum(seed, monkeypatch):
    leave_a_gap(monkeypatch, EFFORT=0)
    costs = random_costs(7, np.random.default_rng(seed), share=0.3)
    found = search(costs, 0.0, optimum_only=True)
    assert_optimal(found, costs, by_subsets(costs, unit="networks").best_cost)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_wherever_it_is_stopped_the_bound_holds(seed, by_class, monkeypatch):
    leave_a_gap(monkeypatch)
    costs = equivalent_costs(5, np.random.default_rng(seed))
    optimum = least_cost(costs)
    for n_calls in range(1, 40, 3):
        left = n_calls

        def watch(stage, fraction):
            nonlocal left
            left -= 1
            return left > 0

        found = search(costs, 0.0, by_class=by_class, optimum_only=True, watch=watch)
        assert found.best_cost >= optimum - TOLERANCE
        if not found.stopped:
            assert_optimal(found, costs, optimum)
            return
        assert found.unexplored_bound <= optimum + TOLERANCE


@pytest.fixture(scope="module")
def copies():
    """Twelve columns that are all the same: 12**11 networks tie, one with each rooted tree."""
    return np.repeat(np.arange(60) % 2, 12).reshape(60, 12)


@pytest.mark.parametrize("engine", ENGINES)
def test_billions_of_ties_are_not_listed(copies, engine):
    best = k_best_networks(copies, k=1, engine=engine, unit="networks")
    assert best.complete
    assert best.n_networks == 1
    assert best.n_tied_at_boundary is None
    assert best.guarantee.endswith("none scores higher; others may score the same.")
    assert best.optimal_score == k_best_classes(copies, k=1, engine=engine).optimal_score


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_one_network_of_billions_is_a_limit_reached(copies, engine, epsilon):
    found = learn(copies, epsilon=epsilon, max_networks=1, engine=engine, unit="networks")
    assert found.n_networks == 1
    assert not found.complete
    assert found.stopped_because == "max_networks"
    assert found.is_optimum_proven
    assert found.unexplored_bound == found.optimal_score


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_number_of_threads_changes_nothing(copies, n_threads):
    one, other = (
        k_best_networks(copies, k=1, engine="integer_program", unit="networks", n_threads=k) for k in (1, n_threads)
    )
    assert np.array_equal(one.structures.choices, other.structures.choices)


def test_few_ties_are_counted():
    x = np.arange(80) // 40
    best = k_best_networks(np.column_stack([x, x, np.arange(80) % 2]), k=1, engine="integer_program")
    assert (best.n_networks, best.n_tied_at_boundary) == (1, 1)


def test_the_optimum_needs_no_scores_beyond_it():
    random = np.random.default_rng(3)
    data = random.integers(0, 2, (50, 5))
    assert k_best_networks(data, k=1).score_table.epsilon == 0.0
    assert len(k_best_networks(data, k=1).score_table) == len(score_parent_sets(data, epsilon=0.0))


def test_ties_beyond_the_steps_leave_one_row(monkeypatch):
    monkeypatch.setattr(exploration, "MOST_TIE_STEPS", 0)
    costs = random_costs(4, np.random.default_rng(1), has_ties=True)
    found = search(costs, 0.0, optimum_only=True)
    assert_optimal(found, costs, least_cost(costs))
    assert len(found.costs) == 1
    assert found.is_cut


@pytest.mark.parametrize("engine", ENGINES)
def test_one_network_with_epsilon_zero_is_searched_for_once(engine, monkeypatch):
    searches = []
    run_search = runs.run_search
    monkeypatch.setattr(runs, "run_search", lambda *args: searches.append(args[0]) or run_search(*args))
    data = np.column_stack([np.arange(40) % 2, np.arange(40) // 2 % 2])  # independent: one network is the best
    found = learn(data, epsilon=0.0, max_networks=1, engine=engine)
    assert found.complete
    assert found.n_networks == 1
    assert [problem.optimum_only for problem in searches] == [True]


@pytest.mark.parametrize(
    ("optimum_only", "most_seconds", "is_done"), [(True, 20.0, True), (True, -1.0, False), (False, -1.0, True)]
)
def test_large_tables_of_subsets_are_not_made_for_the_optimum(optimum_only, most_seconds, is_done, monkeypatch):
    monkeypatch.setattr(exploration, "MOST_OPTIMUM_SUBSET_SECONDS", most_seconds)
    costs = random_costs(4, np.random.default_rng(0))
    problem = SearchProblem(("a", "b", "c", "d"), *arrays(costs), 0.0, TOLERANCE, optimum_only=optimum_only)
    started = exploration.Exploration(problem, new_collection(problem))
    assert started.enumerate_subsets(np.ones(len(problem.costs), dtype=np.uint8)) is is_done
