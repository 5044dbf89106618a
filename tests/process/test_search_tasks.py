"""A search in tasks: cuts derived again elsewhere, listings in tasks, workers, and resuming after an interruption."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import oracle
from credibn import _core, learn
from credibn._run import Run, Store
from credibn.errors import CredibnWarning, OptionError
from credibn.search import SearchProblem, checkpoints, distribution, exploration
from credibn.search.branches import Branch, Listing, pack, unpack
from credibn.search.checkpoints import Checkpoints
from credibn.search.collection import new_collection
from credibn.search.relaxation import Relaxation
from profiles import sampled
from searching import (
    TOLERANCE,
    arrays,
    class_of,
    dags_of,
    equivalent_costs,
    leave_a_gap,
    random_costs,
    search,
)


@pytest.fixture(params=["branches", "listings"])
def in_many_tasks(request, monkeypatch):
    """Make every search branch, or list in tasks, and return after each task."""
    leave_a_gap(
        monkeypatch, STAGE=1 if request.param == "branches" else 1000, MOST_STEPS=3, LISTING_TASKS=7, STEPS_PER_TASK=0.1
    )
    monkeypatch.setattr(distribution, "SECONDS_PER_TASK", 0.0)


def same_answer(left, right):
    return (
        np.array_equal(left.choices, right.choices)
        and np.array_equal(left.costs, right.costs)
        and np.array_equal(left.sizes, right.sizes)
        and (left.best_cost, left.is_cut, left.stopped) == (right.best_cost, right.is_cut, right.stopped)
    )


def problem_with_cuts(seed, n=6):
    """A problem with cluster cuts and zero-half cuts in its pool, of which some are derived from others."""
    offsets, flat, masks = arrays(random_costs(n, np.random.default_rng(seed)))
    problem = _core.SearchProblem(offsets, flat, masks)
    relaxation = Relaxation(problem, offsets, flat)
    for _ in range(12):
        bound = relaxation.solve()
        new = problem.separate_diverse_cuts(
            bound.values[np.newaxis], relaxation.columns_in_use(), relaxation.cuts, 3, 5, 10, 0.99, 0.001
        )
        relaxation.add(new)
    return (offsets, flat, masks), problem, relaxation.solve()


def cut_of(problem, number):
    at, coefficients, rhs = problem.cut(int(number))
    return at.tolist(), coefficients.tolist(), rhs


@pytest.mark.parametrize("seed", sampled(1, range(8)))
def test_cuts_are_derived_again_from_their_definitions(seed):
    costs, problem, _ = problem_with_cuts(seed)
    everything = np.arange(problem_size(problem))
    wanted = np.random.default_rng(seed).permutation(everything)[: 1 + len(everything) // 2]
    definitions, places = problem.cut_definitions(wanted)
    other = _core.SearchProblem(*costs)
    other.add_cluster_cut([0, 1], 1)  # its pool need not be empty
    made = other.make_cuts(definitions)
    assert [cut_of(other, made[place]) for place in places] == [cut_of(problem, row) for row in wanted]


def problem_size(problem):
    size = 0
    while True:
        try:
            problem.cut(size)
        except ValueError:
            return size
        size += 1


def test_some_cuts_are_derived_from_zero_half_cuts():
    kinds = set()
    for seed in range(8):
        _, problem, _ = problem_with_cuts(seed)
        definitions, _ = problem.cut_definitions(np.arange(problem_size(problem)))
        halves, at, number = set(), 0, 0
        while at < len(definitions):
            kind, first, second = definitions[at : at + 3].tolist()
            if kind == 0:
                at += 3 + second
            else:
                halves.add(number)
                kinds.add(bool(halves & set(definitions[at + 3 : at + 3 + first].tolist())))
                at += 3 + first + second
            number += 1
    assert kinds == {False, True}


@pytest.mark.parametrize(
    "definitions",
    [
        [2],
        [0],
        [0, 1],
        [0, 1, 2, 0],
        [0, 2, 2, 0, 1],
        [0, 0, 2, 0, 1],
        [0, 1, 2, 0, 0],
        [0, 1, 2, 0, 5],
        [0, 1, 2, 0, -1],
        [1, 1, 0, 0],
        [0, 1, 2, 0, 1, 1, 1, 0, 1],
        [0, 1, 2, 0, 1, 1, 1, 1, 0, 9],
        [0, 1, 2, 0, 1, 1, 10**12, 0],
    ],
)
def test_a_wrong_definition_is_refused(definitions):
    problem = _core.SearchProblem(*arrays(random_costs(5, np.random.default_rng(0))))
    with pytest.raises(ValueError, match="definition"):
        problem.make_cuts(np.array(definitions, dtype=np.int64))


def test_definitions_cannot_grow_numbers_without_end():
    """Each cut is the sum of many copies of the one before, halved."""
    problem = _core.SearchProblem(*arrays(random_costs(5, np.random.default_rng(0))))
    definitions = [0, 1, 2, 0, 1]
    for row in range(40):
        definitions += [1, row + 1, 0, *[row] * (row + 1)]
    with pytest.raises(ValueError, match="definition"):
        problem.make_cuts(np.array(definitions, dtype=np.int64))


@pytest.mark.parametrize("seed", sampled(1, range(4)))
def test_branches_travel(seed):
    costs, problem, bound = problem_with_cuts(seed)
    random = np.random.default_rng(seed)
    branches = [
        Branch((random.random(len(costs[1])) < 0.5).astype(np.uint8), 1.5, bound.cuts[::-1].copy(), 0.25),
        Branch(np.ones(len(costs[1]), np.uint8), -2.0, bound.cuts, 0.5, Listing(bound.dual_values, 7.25, 3, 9)),
        Branch(np.zeros(len(costs[1]), np.uint8), 0.0, np.empty(0, np.int64), 0.25),
    ]
    other = _core.SearchProblem(*costs)
    for before, after in zip(branches, unpack(pack(branches, problem), other, len(costs[1])), strict=True):
        assert np.array_equal(before.is_open, after.is_open)
        assert (before.lower, before.share) == (after.lower, after.share)
        assert [cut_of(problem, row) for row in before.cuts] == [cut_of(other, row) for row in after.cuts]
        assert (before.listing is None) is (after.listing is None)
        if before.listing is not None:
            assert np.array_equal(before.listing.dual_values, after.listing.dual_values)
            assert (before.listing.limit, before.listing.first, before.listing.last) == (7.25, 3, 9)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", sampled(1, range(4)))
def test_the_tasks_of_a_listing_give_the_whole_listing(seed, by_class):
    """Also when a better limit is known by the time a later task is done."""
    costs = equivalent_costs(5, np.random.default_rng(seed))
    offsets, flat, masks = arrays(costs)
    problem = _core.SearchProblem(offsets, flat, masks)
    rows, prices, everything = np.empty(0, np.int64), np.empty(0), np.ones(len(flat), np.uint8)
    optimum = min(oracle.network_cost(dag, costs) for dag in oracle.all_dags(5))
    size_words, limit = int(by_class), optimum + 6.0

    def listed(tasks):
        collection = _core.Collection(5, size_words, 4.0, TOLERANCE, None, None, None)
        for first, last in tasks:
            args = collection, rows, prices, everything, list(range(5)), by_class, limit, None, first, last, 1, None
            assert problem.search_depth_first(*args)[0]
        return collection.finish(1, None)[:3]

    collection = _core.Collection(5, size_words, 4.0, TOLERANCE, None, None, None)
    n_tasks = problem.count_tasks(collection, rows, prices, everything, list(range(5)), by_class, limit)
    assert n_tasks > 10
    whole = listed([(0, None)])
    assert len(whole[1]) > 0
    cuts = sorted({0, n_tasks, *np.random.default_rng(seed).integers(1, n_tasks, 6).tolist()})
    for tasks in (list(itertools.pairwise(cuts)), list(itertools.pairwise(cuts))[::-1]):
        for left, right in zip(whole, listed(tasks), strict=True):
            assert np.array_equal(left, right)


@pytest.mark.slow
@pytest.mark.usefixtures("in_many_tasks")
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", sampled(1, range(4)))
def test_workers_find_what_one_search_finds(seed, by_class):
    costs = equivalent_costs(5, np.random.default_rng(seed))
    alone = search(costs, 4.0, by_class=by_class)
    with ThreadPoolExecutor(2) as executor:
        shared = search(costs, 4.0, by_class=by_class, executor=executor)
    assert same_answer(alone, shared)
    expected = oracle.credible_dags(5, costs, 4.0 + TOLERANCE)
    assert len(shared.costs) == (len({class_of(dag) for dag in expected}) if by_class else len(expected))


@pytest.mark.slow
@pytest.mark.usefixtures("in_many_tasks")
@pytest.mark.parametrize("quota", [{"max_rows": 5}, {"max_networks": 12}, {"max_rows": 10**6}])
@pytest.mark.parametrize("has_ties", [False, True])
def test_workers_obey_quotas(quota, has_ties):
    for seed in range(1 if quota.get("max_rows") == 10**6 else 2):
        costs = equivalent_costs(4 if has_ties else 5, np.random.default_rng(seed), has_ties)
        alone = search(costs, 4.0, by_class=True, **quota)
        with ThreadPoolExecutor(2) as executor:
            shared = search(costs, 4.0, by_class=True, executor=executor, **quota)
        assert same_answer(alone, shared)


@pytest.mark.slow
@pytest.mark.usefixtures("in_many_tasks")
@pytest.mark.parametrize("by_class", [False, True])
def test_workers_that_are_stopped_say_what_is_known(by_class):
    costs = equivalent_costs(5, np.random.default_rng(2))
    expected = set(oracle.credible_dags(5, costs, 5.0 + TOLERANCE))
    outcomes = set()
    for n_calls in (0, 2, 4, 6, 8, 12, 20, 40):
        calls = itertools.count()
        with ThreadPoolExecutor(2) as executor:
            found = search(
                costs,
                5.0,
                by_class=by_class,
                executor=executor,
                watch=lambda *_, c=calls, n=n_calls: next(c) < n,
            )
        dags = dags_of(found, costs)
        members = {member for dag in dags for member in (class_of(dag) if by_class else [dag])}
        missing = [oracle.network_cost(dag, costs) for dag in expected - members]
        assert len(set(dags)) == len(dags)
        assert members <= expected
        assert min(missing, default=math.inf) >= found.unexplored_bound - TOLERANCE
        outcomes.add(found.stopped)
    assert True in outcomes


class Killed(BaseException):
    """Ends a run as a kill does: nothing is done about it."""


def interrupted_runs(costs, folder, seed, *, is_stop, **options):
    """Search again and again, each run cut off after some calls of the watch, until one comes to its end."""
    random = np.random.default_rng(seed)
    n_runs, found = 0, None
    while found is None or found.stopped:
        n_runs += 1
        store = Store(folder)
        store.seconds_before_writing = 0.0
        calls, last = itertools.count(), 8 * n_runs + int(random.integers(0, 8))

        def watch(stage, fraction, calls=calls, last=last):
            if next(calls) < last:
                return True
            if is_stop:
                return False
            raise Killed

        try:
            found = search(costs, 4.0, checkpoint=store, watch=watch, **options)
        except Killed:
            found = None
        store.close()
    return found, n_runs


@pytest.mark.slow
@pytest.mark.usefixtures("in_many_tasks")
@pytest.mark.parametrize("is_stop", [False, True])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", sampled(1, range(3)))
def test_a_search_resumes_where_it_was_interrupted(seed, by_class, is_stop, tmp_path):
    costs = equivalent_costs(5, np.random.default_rng(seed))
    found, n_runs = interrupted_runs(costs, tmp_path, seed, is_stop=is_stop, by_class=by_class)
    assert n_runs > 1
    assert same_answer(search(costs, 4.0, by_class=by_class), found)


@pytest.mark.slow
@pytest.mark.usefixtures("in_many_tasks")
@pytest.mark.parametrize("quota", [{"max_rows": 5}, {"max_networks": 12}])
@pytest.mark.parametrize("seed", sampled(1, range(3)))
def test_a_search_with_quotas_resumes_where_it_was_interrupted(seed, quota, tmp_path):
    costs = equivalent_costs(4 if seed == 1 else 5, np.random.default_rng(seed), has_ties=seed == 1)
    found, n_runs = interrupted_runs(costs, tmp_path, seed, is_stop=seed % 2 == 0, by_class=True, **quota)
    assert n_runs > 1
    assert same_answer(search(costs, 4.0, by_class=True, **quota), found)


@pytest.mark.usefixtures("in_many_tasks")
def test_resuming_saves_work(tmp_path):
    """The last run does only what the others have left."""
    costs = equivalent_costs(5, np.random.default_rng(3))
    whole = search(costs, 4.0)
    found, n_runs = interrupted_runs(costs, tmp_path, 3, is_stop=True)
    assert n_runs > 1
    assert found.statistics["n_steps"] < whole.statistics["n_steps"]


@pytest.mark.usefixtures("in_many_tasks")
def test_the_checkpoint_of_another_search_is_not_used(tmp_path):
    first, second = (equivalent_costs(5, np.random.default_rng(seed)) for seed in (1, 2))
    for costs in (first, second):
        store = Store(tmp_path)
        store.seconds_before_writing = 0.0
        search(costs, 4.0, checkpoint=store)  # complete; the checkpoints stay
        store.close()
    store = Store(tmp_path)
    assert same_answer(search(first, 3.0, checkpoint=store), search(first, 3.0))
    store.close()


@pytest.mark.usefixtures("in_many_tasks")
def test_damaged_files_are_not_used(tmp_path):
    costs = equivalent_costs(5, np.random.default_rng(1))
    store = Store(tmp_path / "whole")
    store.seconds_before_writing = 0.0
    search(costs, 4.0, checkpoint=store)  # its checkpoints stay
    store.close()
    saved = sorted((tmp_path / "whole").glob("*.checkpoint"))
    assert saved
    for at, path in enumerate([saved[0], saved[-1]]):
        content = bytearray(path.read_bytes())
        content[len(content) // 2 + at] ^= 0x55
        damaged = tmp_path / f"copy-{at}"
        damaged.mkdir()
        for other in saved:
            (damaged / other.name).write_bytes(content if other == path else other.read_bytes())
        store = Store(damaged)
        assert same_answer(search(costs, 4.0, checkpoint=store), search(costs, 4.0))
        store.close()


@pytest.mark.usefixtures("in_many_tasks")
def test_files_copied_over_one_another_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_MOST_OF_THE_TIME", 1e9)  # whatever writing takes, there are many files
    costs = equivalent_costs(5, np.random.default_rng(1))
    store = Store(tmp_path / "whole")
    store.seconds_before_writing = 0.0
    search(costs, 4.0, checkpoint=store)
    store.close()
    saved = sorted((tmp_path / "whole").glob("*rows-*.checkpoint"))
    assert len(saved) > 1
    copies = tmp_path / "copies"
    copies.mkdir()
    for path in (tmp_path / "whole").glob("*.checkpoint"):
        (copies / path.name).write_bytes((saved[0] if path in saved else path).read_bytes())
    store = Store(copies)
    assert same_answer(search(costs, 4.0, checkpoint=store), search(costs, 4.0))
    store.close()


def test_a_folder_is_free_after_an_error(tmp_path):
    data = np.random.default_rng(0).integers(0, 2, (50, 4))
    with pytest.raises(OptionError) as caught:
        learn(data, weights="X9", checkpoint=tmp_path / "checkpoint")
    with pytest.warns(CredibnWarning, match="the run was stopped"):
        stopped = learn(data, checkpoint=tmp_path / "checkpoint", progress=lambda stage, fraction: False)
    assert not stopped.complete
    assert learn(data, checkpoint=tmp_path / "checkpoint").complete  # while the error and its frames exist
    assert caught.value.__traceback__ is not None
    assert not (tmp_path / "checkpoint").exists()


def test_a_search_stopped_at_its_root_resumes_there(monkeypatch, tmp_path):
    """A stop in the search over subsets at the root: the bound of that run is not that of the next."""
    costs = equivalent_costs(5, np.random.default_rng(4))
    optimum = min(oracle.network_cost(dag, costs) for dag in oracle.all_dags(5))
    leave_a_gap(monkeypatch, MOST_SUBSET_SECONDS=100.0, FIRST_STEPS=1, STEPS_BEFORE_SPREADING=1)
    with monkeypatch.context() as patch:
        patch.setattr(exploration, "search_subsets", lambda *_: (optimum + 2.0, {}))  # stopped; lists nothing here
        store = Store(tmp_path)
        store.seconds_before_writing = 0.0
        first = search(costs, 4.0, checkpoint=store)
        store.close()
    assert first.stopped
    assert first.unexplored_bound == optimum + 2.0
    store, calls = Store(tmp_path), itertools.count()
    second = search(costs, 4.0, checkpoint=store, watch=lambda *_: next(calls) < 1)
    store.close()
    assert second.stopped
    assert second.unexplored_bound <= optimum + TOLERANCE
    store = Store(tmp_path)
    last = search(costs, 4.0, checkpoint=store)
    store.close()
    assert last.statistics["is_by_subsets"]
    assert same_answer(last, search(costs, 4.0))


def exploration_of(costs):
    names = tuple(f"v{v}" for v in range(len(costs)))
    problem = SearchProblem(names, *arrays(costs), 4.0, TOLERANCE, "networks", max_rows=1)
    return exploration.Exploration(problem, new_collection(problem))


def test_what_a_quota_of_a_worker_left_out_is_known():
    """A worker that keeps its best row only says so, though one row does not fill the quota here."""
    run = exploration_of(equivalent_costs(3, np.random.default_rng(0)))
    row = {"choices": np.zeros((1, 3), np.uint32), "costs": np.array([5.0]), "sizes": np.zeros((1, 0), np.uint64)}
    told = {**run.state([]), **row, "counted": np.zeros(3, np.int64)}
    distribution._take(run, {**told, "cut": np.array(math.inf)})
    assert not run.collection.is_truncated()
    distribution._take(run, {**told, "cut": np.array(5.5)})
    assert run.collection.is_truncated()
    assert run.collection.limit() == 5.5


def test_what_a_quota_left_out_before_an_interruption_is_known(tmp_path):
    row = np.zeros((1, 3), np.uint32), np.array([5.0]), np.zeros((1, 0), np.uint64)
    before, after = (exploration_of(equivalent_costs(3, np.random.default_rng(0))).collection for _ in range(2))
    before.take(*row)
    before.truncate(5.5)
    problem = replace(
        exploration_of(equivalent_costs(3, np.random.default_rng(0))).asked_for, run=Run(store=Store(tmp_path))
    )
    Checkpoints(problem, before).save(dict)
    assert Checkpoints(problem, after).restore() is not None
    assert after.is_truncated()
    assert after.count() == 1
    assert after.limit() == 5.5
