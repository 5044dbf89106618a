"""Long listings give the networks near the optimum first, so that a search that is stopped promises something.

What a stopped search states is compared with all networks, also where the bound lies beyond the optimum.
"""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracle
from credibn import _core, learn
from credibn._run import Store
from credibn.search import distribution, exploration, listing_stages
from credibn.search.branches import Branch, Listing
from credibn.search.listing_stages import after_stage, next_stage
from profiles import sampled
from searching import TOLERANCE, arrays, class_of, dags_of, equivalent_costs, search

EPSILON = 5.0


@pytest.fixture
def in_stages(monkeypatch):
    """Treat every listing as a long one, and stop at the first step or at any other."""
    changes = {
        "LONG_LISTING": 1,
        "STEPS_BEFORE_SPREADING": 30,
        "FIRST_STEPS": 5,
        "MOST_SUBSET_SECONDS": -1.0,
        "MOST_SPREAD": 0,
        "LEAST_STEPS": 5,
        "OVERESTIMATE": 1.0,
        "STAGE_GROWTH": 3.0,
        "STAGE_SHARE": 0.5,
        "LISTING_TASKS": 3,
    }
    for name, value in changes.items():
        for module in (exploration, listing_stages):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(distribution, "SECONDS_PER_TASK", 0.0)


@pytest.fixture
def bands(monkeypatch):
    """The band of each listing, with whether it finished."""
    seen, list_range = [], exploration.Exploration.list_range

    def watched(self, branch, plan, max_steps=None):
        is_complete = list_range(self, branch, plan, max_steps)
        seen.append((plan.above, plan.up_to, is_complete))
        return is_complete

    monkeypatch.setattr(exploration.Exploration, "list_range", watched)
    return seen


def expected_of(costs):
    return oracle.credible_dags(5, costs, EPSILON + TOLERANCE)


def assert_true_statement(found, costs, expected, by_class):
    """Check what is said of a search that may have been stopped; return how far its bound lies beyond the optimum."""
    dags = dags_of(found, costs)
    members = {member for dag in dags for member in (class_of(dag) if by_class else [dag])}
    optimum = min(oracle.network_cost(dag, costs) for dag in expected)
    missing = [oracle.network_cost(dag, costs) for dag in set(expected) - members]
    assert len(dags) == len(set(dags))
    assert members <= set(expected)
    assert min(missing, default=math.inf) >= found.unexplored_bound - TOLERANCE
    assert found.stopped or not missing
    return found.unexplored_bound - optimum


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", sampled(2, range(5)))
def test_stages_find_each_network_once(seed, by_class, bands):
    costs = equivalent_costs(5, np.random.default_rng(seed))
    expected = expected_of(costs)
    found = search(costs, EPSILON, by_class=by_class)
    assert_true_statement(found, costs, expected, by_class)
    assert not found.stopped
    assert np.all(np.diff([above for above, _, _ in bands[1:]]) >= 0)
    if seed != 3:  # ten networks only
        done = [(above, up_to) for above, up_to, is_complete in bands if is_complete]
        assert len(done) > 2
        assert done[0][0] == -math.inf
        assert done[-1][1] == math.inf
        assert all(before[1] == after[0] for before, after in itertools.pairwise(done))


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("by_class", [False, True])
def test_a_search_stopped_late_promises_networks_beyond_the_optimum(by_class, monkeypatch):
    """Stopped wherever it asks: the bound rises, from below the optimum to well beyond it."""
    monkeypatch.setattr(listing_stages, "STAGE_GROWTH", 2.0)
    costs = equivalent_costs(5, np.random.default_rng(0))
    expected = expected_of(costs)
    beyond = []
    for n_calls in itertools.count():
        calls = itertools.count()
        found = search(costs, EPSILON, by_class=by_class, n_threads=1, watch=lambda *_, c=calls, n=n_calls: next(c) < n)
        if not found.stopped:
            break
        beyond.append(assert_true_statement(found, costs, expected, by_class))
    assert beyond[0] < 0
    assert beyond[-1] > 0.4
    assert len({round(gap, 6) for gap in beyond if gap > TOLERANCE}) >= 2, beyond
    assert np.diff(beyond).min() > -TOLERANCE


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", sampled(2, range(3)))
def test_stages_on_an_executor(seed, by_class):
    costs = equivalent_costs(5, np.random.default_rng(seed))
    expected = expected_of(costs)
    beyond = []
    for n_calls in (10, 20, 30, 50, 10**9):
        calls = itertools.count()
        with ThreadPoolExecutor(2) as executor:
            found = search(
                costs,
                EPSILON,
                by_class=by_class,
                executor=executor,
                watch=lambda *_, c=calls, n=n_calls: next(c) < n,
            )
        beyond.append(assert_true_statement(found, costs, expected, by_class))
    assert not found.stopped


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("step", [7, 11])
def test_stages_resume_after_an_interruption(step, by_class, tmp_path, monkeypatch):
    monkeypatch.setattr(exploration, "STEPS_PER_TASK", 0.1)
    costs = equivalent_costs(5, np.random.default_rng(0))
    expected = expected_of(costs)
    beyond = []
    for n_calls in range(step, 1000, step):
        calls = itertools.count()
        store = Store(tmp_path)
        store.seconds_before_writing = 0.0
        found = search(
            costs,
            EPSILON,
            by_class=by_class,
            n_threads=1,
            checkpoint=store,
            watch=lambda *_, c=calls, n=n_calls: next(c) < n,
        )
        store.close()
        beyond.append(assert_true_statement(found, costs, expected, by_class))
        if not found.stopped:
            break
    assert not found.stopped
    assert max(gap for gap in beyond if gap < math.inf) > 1.0


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("quota", [{"max_rows": 1}, {"max_rows": 20}, {"max_networks": 12}])
@pytest.mark.parametrize("has_ties", [False, True])
def test_stages_with_quotas(quota, has_ties, monkeypatch):
    costs = equivalent_costs(5, np.random.default_rng(1), has_ties)
    staged = search(costs, EPSILON, by_class=True, **quota)
    monkeypatch.setattr(exploration, "LONG_LISTING", math.inf)
    plain = search(costs, EPSILON, by_class=True, **quota)
    assert np.array_equal(staged.choices, plain.choices)
    assert np.array_equal(staged.costs, plain.costs)
    assert (staged.is_cut, staged.stopped) == (plain.is_cut, plain.stopped)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("has_ties", [False, True])
def test_bands_share_no_network_and_hold_all(by_class, has_ties):
    costs = equivalent_costs(4, np.random.default_rng(0), has_ties)
    offsets, flat, masks = arrays(costs)
    problem = _core.SearchProblem(offsets, flat, masks)
    optimum = min(oracle.network_cost(dag, costs) for dag in oracle.all_dags(4))

    def listed(limits):
        collection = _core.Collection(4, int(by_class), 4.0, TOLERANCE, None, None, None)
        for above, up_to in itertools.pairwise(limits):
            rows = np.empty(0, np.int64), np.empty(0), np.ones(len(flat), np.uint8)
            done = problem.search_depth_first(
                collection, *rows, list(range(4)), by_class, optimum + 4, None, 0, None, 1, None, above, up_to
            )
            assert done is not None
            assert done[0]
        return collection.finish(1, None)[:3]

    whole = listed([-math.inf, math.inf])
    assert len(whole[1]) > 5
    in_bands = listed([-math.inf, optimum, optimum + 1.0, optimum + 1.0, optimum + 2.5, math.inf])
    assert all(np.array_equal(one, other) for one, other in zip(whole, in_bands, strict=True))


def test_a_stage_takes_a_small_share_of_what_is_expected():
    """1,000 steps at 1 nat and four million at 6: a stage that may take 20,000 goes to 2.8 nats."""
    best, limit = 100.0, 106.0
    listing = Listing(np.empty(0), limit, 0, 0, above=101.0, n_steps=1_000.0, n_expected=4_000_000.0)
    up_to, n_steps = next_stage(listing, best, limit, TOLERANCE)
    assert (round(up_to, 2), n_steps) == (102.81, 20_000.0)
    branch = Branch(np.ones(1, np.uint8), best, np.empty(0, np.int64), 1.0)
    left = after_stage(branch, listing, up_to, 30_000.0, limit)
    assert left.lower == left.listing.above == up_to
    # From 1,000 to 30,000 steps over 1.81 nats: over 3.19 more, 30 ** (3.19 / 1.81) times as many; a sixteenth of that.
    assert left.listing.n_expected == pytest.approx(30_000 / 16 * 30 ** (3.19 / 1.81), rel=0.05)
    assert next_stage(left.listing, best, limit, TOLERANCE)[0] == math.inf  # 30,000 is too large a share of that


def test_a_time_limit_leaves_a_promise_to_users(monkeypatch):
    """The words and numbers of a result whose bound lies beyond the optimum, against the complete result."""
    for name, value in {"LONG_LISTING": 1, "STEPS_BEFORE_SPREADING": 30, "FIRST_STEPS": 5, "MOST_SPREAD": 0}.items():
        monkeypatch.setattr(exploration, name, value)
    data = np.random.default_rng(0).integers(0, 2, (60, 6))
    options = {"epsilon": 6.0, "engine": "integer_program", "posterior_share": False, "n_threads": 1}
    complete = learn(data, **options)
    n_promises = 0
    for n_calls in range(5, 200, 3):
        calls = itertools.count()
        found = learn(data, **options, progress=lambda *_, c=calls, n=n_calls: next(c) < n)
        if found.complete:
            break
        if found.unexplored_bound < found.optimal_score - 0.1:
            n_promises += 1
            assert found.is_optimum_proven
            assert found.optimal_score == complete.optimal_score
            assert found.guarantee.startswith("The optimum is proven. No network that scores above")
            assert sum(found.rows.scores > found.unexplored_bound) == sum(complete.rows.scores > found.unexplored_bound)
    assert found.complete
    assert n_promises > 0


@pytest.mark.parametrize("unit", ["networks", "classes"])
def test_dynamic_programming_with_a_time_limit_lists_the_nearest_networks_first(unit):
    """Stopped ever later: nothing above the bound is missing, and the bound falls below the optimum."""
    data = np.random.default_rng(3).integers(0, 2, (60, 5))
    options = {"epsilon": EPSILON, "unit": unit, "engine": "dynamic_programming", "n_threads": 1}
    whole, n_beyond = learn(data, **options), 0
    for n_calls in range(1, 50):
        calls = itertools.count()

        def should_continue(stage, _, calls=calls, n_calls=n_calls):
            return stage != "enumeration" or next(calls) < n_calls

        try:
            found = learn(data, time_limit=1e6, progress=should_continue, **options)
        except KeyboardInterrupt:
            continue  # before a network was found
        if found.complete:
            break
        bound = found.unexplored_bound
        assert np.count_nonzero(found.rows.scores > bound) == np.count_nonzero(whole.rows.scores > bound)
        n_beyond += bound < whole.optimal_score - 1.0
    assert found.rows.scores.tolist() == whole.rows.scores.tolist()
    assert n_beyond > 0
