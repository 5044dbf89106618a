"""Counting without a list against brute force over all DAGs and against the engines that list."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from brute_force_engine import members_of
from credibn import _core
from credibn._run import Run
from credibn.factored import count_credible
from credibn.factored.bounds import completions, refined, whole
from credibn.search import SearchProblem
from credibn.search.collection import new_collection
from credibn.search.dynamic_programming import DynamicProgramming
from credibn.search.exploration import Exploration
from profiles import examples
from searching import TOLERANCE, arrays, dags_of, random_costs


def equivalent_costs_on_a_grid(n, random, has_ties):
    """Differences of one set function, which takes multiples of 1 or of 2^-20."""
    F = random.integers(0, 3, 1 << n).astype(float) if has_ties else random.integers(0, 5 << 20, 1 << n) / (1 << 20)
    mask = {parents: sum(1 << p for p in parents) for child in range(n) for parents in oracle.all_parent_sets(n, child)}
    return [
        {parents: F[mask[parents] | 1 << child] - F[mask[parents]] for parents in oracle.all_parent_sets(n, child)}
        for child in range(n)
    ]


def problem_of(costs, epsilon, unit, watch=None, n_threads=1, **options):
    names = tuple(f"v{v}" for v in range(len(costs)))
    return SearchProblem(
        names, *arrays(costs), epsilon, TOLERANCE, unit, **options, run=Run(watch, n_threads=n_threads)
    )


def count(costs, epsilon, unit="networks", max_steps=1 << 20, **options):
    return count_credible(problem_of(costs, epsilon, unit, **options), max_steps, 4 * max_steps)


def core_count(costs, width, *, with_classes=False, max_bytes=1 << 30, watch=None):
    """Count in the core, from costs that are whole numbers, with no bound but the costs themselves."""
    offsets, floats, masks = arrays(costs)
    beyond = (floats - np.repeat(floats[offsets[:-1]], np.diff(offsets))).astype(np.int64)
    is_empty_set = ~masks.any(axis=1)
    known = beyond[is_empty_set] if is_empty_set.sum() == len(costs) else np.maximum.reduceat(beyond, offsets[:-1])
    counter = _core.NetworkCounter(offsets, beyond, masks, int(known.sum()), width, with_classes, max_bytes)
    no_reduced = np.zeros((0, len(beyond)), dtype=np.int64)
    ends, no_lowers = np.array([0, len(beyond)]), np.zeros((1, 0), dtype=np.int64)
    outcome, *_ = counter.add_whole(np.arange(len(beyond)), ends, no_lowers, no_reduced, 1 << 62, False, watch)
    return counter.count(None if outcome == "complete" else 0, outcome == "stopped", watch)


def integer(words):
    return int.from_bytes(words.tobytes(), "little", signed=True)


def cost_of(dag, costs):
    return math.fsum(costs[child][parents] for child, parents in enumerate(dag))


@given(st.integers(1, 5), st.integers(0, 2**32), st.booleans(), st.sampled_from([0.0, 0.5, 2.0, 6.0]), st.data())
@examples(150)
def test_networks_and_averages_equal_brute_force(n, seed, has_ties, epsilon, data):
    random = np.random.default_rng(seed)
    costs = random_costs(n, random, has_ties=has_ties, share=data.draw(st.sampled_from([0.3, 1.0])))
    expected = oracle.credible_dags(n, costs, epsilon + TOLERANCE)
    found = count(costs, epsilon)
    assert found.is_complete
    assert found.networks.n_networks() == len(expected)
    assert found.networks.n_classes() is None
    weights = np.exp([found.networks.best_cost - cost_of(dag, costs) for dag in expected])
    assert found.networks.log_mass == pytest.approx(math.log(weights.sum()) - found.networks.best_cost, abs=1e-12)
    problem = problem_of(costs, epsilon, "networks")
    shares = dict.fromkeys(range(len(problem.costs)), 0.0)
    shares.update(zip(found.networks.candidates.tolist(), found.networks.shares.tolist(), strict=True))
    for child in range(n):
        for k in range(problem.offsets[child], problem.offsets[child + 1]):
            parents = tuple(p for p in range(n) if int(problem.masks[k, 0]) >> p & 1)
            has = [dag[child] == parents for dag in expected]
            assert shares[k] == pytest.approx(weights[has].sum() / weights.sum(), abs=1e-12)
    for part in (0.0, epsilon / 3):
        assert found.networks.n_networks(part) == len(oracle.credible_dags(n, costs, part + TOLERANCE))


@given(st.integers(1, 5), st.integers(0, 2**32), st.booleans(), st.sampled_from([0.0, 1.0, 3.0, 20.0]))
@examples(150)
def test_classes_equal_brute_force(n, seed, has_ties, epsilon):
    costs = equivalent_costs_on_a_grid(n, np.random.default_rng(seed), has_ties)
    found = count(costs, epsilon, "classes")
    for part in (epsilon, epsilon / 2, 0.0):
        expected = set(oracle.credible_dags(n, costs, part + TOLERANCE))
        classes = {frozenset(members_of(dag)) for dag in expected}
        assert found.networks.n_networks(part) == len(expected)
        assert found.networks.n_classes(part) == len(classes)


@pytest.mark.parametrize(
    ("n", "n_networks", "n_classes"), [(3, 25, 11), (4, 543, 185), (5, 29281, 8782), (6, 3781503, 1067825)]
)
def test_with_equal_costs_all_networks_and_classes_are_counted(n, n_networks, n_classes):
    """Robinson (1977); Gillispie and Perlman (2002)."""
    costs = [dict.fromkeys(oracle.all_parent_sets(n, child), 1.0) for child in range(n)]
    found = core_count(costs, 0, with_classes=True)
    assert integer(found.count_up_to(0)) == n_networks
    assert integer(found.classes_up_to(0)) == n_classes


@pytest.mark.parametrize("epsilon", [1e6, 1e300])
@pytest.mark.parametrize("max_steps", [20, 1 << 20])
def test_with_an_epsilon_beyond_all_costs_all_networks_are_counted(epsilon, max_steps):
    costs = random_costs(4, np.random.default_rng(1), has_ties=False)
    found = count(costs, epsilon, max_steps=max_steps)
    assert found.is_complete
    assert found.networks.n_networks() == found.networks.n_networks(epsilon) == 543
    assert found.networks.within(epsilon).n_networks() == 543


def test_counts_do_not_overflow():
    """60 pairs of nodes, each pair in one of three ways: 3^60 networks in 2^60 classes, more than a word holds."""
    n = 120
    costs = [{(): 0.0, (child ^ 1,): 0.0} for child in range(n)]
    found = core_count(costs, 0, with_classes=True)
    assert integer(found.count_up_to(0)) == 3**60
    assert integer(found.classes_up_to(0)) == 2**60


@pytest.mark.parametrize("seed", range(3))
def test_networks_equal_those_listed_by_dynamic_programming(seed):
    random = np.random.default_rng(seed)
    costs = equivalent_costs_on_a_grid(8, random, has_ties=seed == 2)
    epsilon = [0.5, 2.0, 0.0][seed]
    found = count(costs, epsilon, "classes").networks
    listed = DynamicProgramming().search(problem_of(costs, epsilon, "classes"))
    assert found.n_classes() == len(listed.costs)
    assert found.n_networks() == int(listed.sizes[:, 0].sum())


def test_samples_are_networks_of_the_set_in_proportion_to_their_weights():
    costs = random_costs(4, np.random.default_rng(5))
    problem, epsilon, n_samples = problem_of(costs, 3.0, "networks"), 3.0, 20_000
    found = count_credible(problem).networks
    expected = oracle.credible_dags(4, costs, epsilon + TOLERANCE)
    for weighted in (True, False):
        choices = found.sample(n_samples, np.random.default_rng(7), weighted=weighted)
        drawn = dags_of(type("Drawn", (), {"choices": choices}), costs)
        weights = np.array([math.exp(-cost_of(dag, costs)) if weighted else 1.0 for dag in expected])
        assert set(drawn) <= set(expected)
        for dag, share in zip(expected, weights / weights.sum(), strict=True):
            spread = math.sqrt(share * (1 - share) / n_samples)
            assert abs(drawn.count(dag) / n_samples - share) < 5 * spread + 1e-9


@given(st.integers(2, 5), st.integers(0, 2**32), st.booleans(), st.sampled_from([0.0, 0.7, 2.0]), st.integers(1, 20))
@examples(60)
def test_branches_hold_each_network_once(n, seed, has_ties, epsilon, max_steps):
    random = np.random.default_rng(seed)
    costs = random_costs(n, random, has_ties=has_ties, share=0.4 if n == 5 else 1.0)
    expected = oracle.credible_dags(n, costs, epsilon + TOLERANCE)
    found = count(costs, epsilon, max_steps=max_steps)
    assert found.is_complete
    assert found.networks.n_networks() == len(expected)
    assert found.networks.n_networks(epsilon / 2) == len(oracle.credible_dags(n, costs, epsilon / 2 + TOLERANCE))
    whole = count(costs, epsilon).networks
    assert found.networks.log_mass == pytest.approx(whole.log_mass, abs=1e-12)
    shares = [
        dict(zip(some.candidates.tolist(), some.shares.tolist(), strict=True)) for some in (found.networks, whole)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=1e-12)
    drawn = dags_of(type("Drawn", (), {"choices": found.networks.sample(50, np.random.default_rng(1))}), costs)
    assert set(drawn) <= set(expected)


@given(st.integers(2, 5), st.integers(0, 2**32), st.booleans(), st.sampled_from([0.0, 1.0, 2.0]), st.integers(1, 20))
@examples(60)
def test_signed_weights_count_classes_across_branches(n, seed, has_ties, epsilon, max_steps):
    costs = equivalent_costs_on_a_grid(n, np.random.default_rng(seed), has_ties)
    epsilon = epsilon if n < 5 else epsilon / 4
    found = count(costs, epsilon, "classes", max_steps=max_steps if n < 5 else 20 * max_steps)
    for part in (epsilon, 0.0):
        expected = set(oracle.credible_dags(n, costs, part + TOLERANCE))
        assert found.networks.n_networks(part) == len(expected)
        assert found.networks.n_classes(part) == len({frozenset(members_of(dag)) for dag in expected})


def test_equal_costs_are_counted_in_many_branches():
    """As above: all networks on four nodes and their classes."""
    costs = [dict.fromkeys(oracle.all_parent_sets(4, child), 1.0) for child in range(4)]
    found = count(costs, 0.0, "classes", max_steps=20)
    assert found.statistics["n_branches"] > 10
    assert (found.networks.n_networks(), found.networks.n_classes()) == (543, 185)


def test_branches_give_the_same_bytes_with_any_number_of_threads():
    costs = equivalent_costs_on_a_grid(5, np.random.default_rng(9), has_ties=False)
    alone, together = (count(costs, 2.0, "classes", max_steps=20, n_threads=n_threads) for n_threads in (1, 3))
    assert alone.statistics == together.statistics
    assert alone.statistics["n_branches"] > 10
    assert alone.networks.shares.tobytes() == together.networks.shares.tobytes()
    draws = [some.networks.sample(20, np.random.default_rng(1)).tobytes() for some in (alone, together)]
    assert draws[0] == draws[1]


@given(st.integers(3, 5), st.integers(0, 2**32), st.integers(0, 12), st.sampled_from([None, 3000, 20_000]))
@examples(60)
def test_cut_short_among_branches_all_networks_up_to_a_smaller_limit_are_counted(n, seed, n_calls, max_bytes):
    costs = random_costs(n, np.random.default_rng(seed))
    calls = []

    def stop(stage, fraction):
        calls.extend([stage] * (stage == "counting"))
        return len(calls) <= n_calls or max_bytes is not None

    found = count(costs, 2.0, max_steps=10, watch=stop, max_bytes=max_bytes)
    if found.networks is None:
        assert not found.is_complete
        assert found.unexplored_bound <= min(cost_of(dag, costs) for dag in oracle.credible_dags(n, costs, 0.0)) + 1e-9
        return
    reached = 2.0 if found.is_complete else found.networks.last_cost - found.networks.best_cost
    expected = oracle.credible_dags(n, costs, reached + 1e-9)
    assert found.networks.n_networks() == len(expected)
    assert found.is_complete == (found.unexplored_bound == math.inf)


def begun(costs, epsilon):
    """A search with its root, and a way to a state for each candidate of the first two nodes."""
    problem = problem_of(costs, epsilon, "networks")
    search = Exploration(problem, new_collection(problem))
    root = whole(search)
    if root is None:
        return search, None, None
    firsts = [np.flatnonzero(root.is_open & (search.nodes == v)) for v in (0, 1)]
    prefixes = [[a, b, *[-1] * (len(costs) - 2)] for a in firsts[0] for b in firsts[1]]
    return search, root, np.array(prefixes)


def bound_on(search, branch, prefix):
    """The best of the bounds on networks that begin so."""
    reduced = np.where(completions(search, branch.is_open, prefix), branch.reduced, np.inf)
    return (branch.lowers + np.minimum.reduceat(reduced, search.offsets[:-1], axis=1).sum(axis=1)).max()


@given(st.integers(2, 5), st.integers(0, 2**32), st.booleans(), st.sampled_from([0.0, 1.0, 3.0]))
@examples(40)
def test_bounds_learned_from_states_hold_for_all_networks(n, seed, has_ties, epsilon):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties, share=0.4 if n == 5 else 1.0)
    search, root, prefixes = begun(costs, epsilon)
    credible = oracle.credible_dags(n, costs, epsilon)
    if root is None:
        assert not credible
        return
    branch, _ = refined(search, root, prefixes)
    known = [dict(zip(parent_sets_of(search, v), range(*search.offsets[v : v + 2]), strict=True)) for v in range(n)]
    for dag in credible:
        taken = np.array([known[v][frozenset(parents)] for v, parents in enumerate(dag)])
        assert branch.is_open[taken].all()
        assert (branch.lowers + branch.reduced[:, taken].sum(axis=1) <= cost_of(dag, costs) + branch.margins).all()
        for prefix in prefixes:
            if (prefix[:2] == taken[:2]).all():
                assert completions(search, branch.is_open, prefix)[taken].all()


def parent_sets_of(search, v):
    """The parent sets of a node's candidates."""
    masks = search.masks[search.offsets[v] : search.offsets[v + 1], 0].tolist()
    return [frozenset(p for p in range(search.n) if mask >> p & 1) for mask in masks]


def test_bounds_learned_from_states_prove_more_of_them():
    costs = equivalent_costs_on_a_grid(7, np.random.default_rng(3), has_ties=False)
    search, root, prefixes = begun(costs, 2.0)
    branch, _ = refined(search, root, prefixes)
    before, after = (np.array([bound_on(search, some, prefix) for prefix in prefixes]) for some in (root, branch))
    assert (after > before + 0.1).sum() > len(prefixes) / 4
    assert (after >= np.minimum(before, search.collection.limit()) - 1e-6).all()


@given(st.integers(2, 4), st.integers(0, 2**32), st.integers(0, 50), st.integers(0, 400))
@examples(60)
def test_bounds_in_coarse_steps_lose_no_network(n, seed, n_bits, place):
    """The limit is the cost of a network, to the last bit, and bounds beside the costs are as large as they may be."""
    random = np.random.default_rng(seed)
    costs = [
        {parents: float(random.integers(0, 2**n_bits, endpoint=True)) for parents in oracle.all_parent_sets(n, v)}
        for v in range(n)
    ]
    totals = sorted(int(cost_of(dag, costs)) for dag in oracle.credible_dags(n, costs, math.inf))
    limit = totals[min(place, len(totals) - 1)]
    offsets, floats, masks = arrays(costs)
    least = np.repeat(floats[offsets[:-1]], np.diff(offsets)).astype(np.int64)
    beyond, base = floats.astype(np.int64) - least, int(floats[offsets[:-1]].sum())
    counter = _core.NetworkCounter(offsets, beyond, masks, totals[0] - base, limit - totals[0], False, 1 << 30)
    lowers = np.array([[totals[0] - base, 0, -(1 << 50)]])
    reduced = np.array([beyond * 0, (beyond * random.random(len(beyond))).astype(np.int64), beyond])
    ends = np.array([0, len(beyond)])
    for max_steps in (1, 2, 4, 1 << 62):  # what is too large is tried again, with orders that may be better
        outcome, *_ = counter.add_whole(np.arange(len(beyond)), ends, lowers, reduced, max_steps, True, None)
        if outcome == "complete":
            break
    found = counter.count(None, False, None)
    assert (found.best, found.limit) == (totals[0] - base, limit - base)
    for part in (limit, limit - 1, totals[0]):
        assert integer(found.count_up_to(part - base)) == sum(total <= part for total in totals)


def whole_costs(n, seed):
    random = np.random.default_rng(seed)
    return [{parents: float(random.integers(0, 400)) for parents in oracle.all_parent_sets(n, v)} for v in range(n)]


@pytest.mark.few(1)
@pytest.mark.parametrize("max_bytes", [1 << 12, 1 << 16, 1 << 18, 1 << 20])
def test_out_of_memory_all_networks_up_to_a_smaller_limit_are_counted(max_bytes):
    costs = whole_costs(7, 3)
    part, whole = core_count(costs, 700, max_bytes=max_bytes), core_count(costs, 700)
    assert whole.outcome == "complete"
    assert part.outcome == "too_large"
    if not part.is_empty:
        assert part.limit < whole.limit
        assert part.best == whole.best
        assert integer(part.count_up_to(part.limit)) == integer(whole.count_up_to(part.limit)) > 0
    assert part.bound <= whole.best


def test_wherever_counting_is_stopped_what_is_counted_is_right():
    """Stopped at the first call of the watch, the second, and so on; a fast machine makes fewer, but always one."""
    costs = whole_costs(8, 4)
    whole = core_count(costs, 300)
    for n_calls in itertools.count():
        calls = itertools.count()
        part = core_count(costs, 300, watch=lambda _, c=calls, n=n_calls: next(c) < n)
        if next(calls) <= n_calls:
            break
        assert part.outcome == "stopped"
        assert part.bound <= whole.best
        assert part.is_empty or integer(part.count_up_to(part.limit)) == integer(whole.count_up_to(part.limit))
    assert n_calls > 0
    assert part.outcome == "complete"
    assert integer(part.count_up_to(part.limit)) == integer(whole.count_up_to(whole.limit))


def test_stopped_while_bounding_nothing_is_counted():
    found = count(whole_costs(5, 1), 3.0, watch=lambda stage, fraction: False)
    assert found.networks is None
    assert found.is_stopped
    assert found.unexplored_bound < math.inf


def test_parent_sets_that_only_make_cycles_give_no_network():
    found = core_count([{(1,): 1.0}, {(0,): 1.0}], 10)
    assert found.is_empty
    assert found.outcome == "complete"


def test_costs_on_no_grid_are_rounded_and_their_classes_not_counted():
    random = np.random.default_rng(2)
    F = random.normal(0, 1, 1 << 4)
    costs = [
        {
            parents: F[sum(1 << p for p in (*parents, child))] - F[sum(1 << p for p in parents)]
            for parents in oracle.all_parent_sets(4, child)
        }
        for child in range(4)
    ]
    found = count(costs, 1.0, "classes")
    assert found.networks.n_networks() == len(oracle.credible_dags(4, costs, 1.0 + TOLERANCE))
    assert found.networks.n_classes() is None
