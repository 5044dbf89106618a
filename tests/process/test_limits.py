"""Limits honoured and interrupts in good order: however a run ends, its result is valid and says what it lacks."""

import itertools
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pytest

from brute_force_engine import BruteForce
from credibn import ScoreTable, _core, learn, read_data, score_parent_sets
from credibn._run import Run, memory
from credibn._run.memory import MemoryGuard, available_bytes, resident_bytes, total_bytes, usable_bytes
from credibn._run.tally import FINISHING
from credibn.credible.structures import Structures, group, masks_of
from credibn.data.sources import workspace
from credibn.errors import TimeLimitError, TooLargeError
from credibn.report.learning_page import write_learning_page
from credibn.search import ENGINES, Tally, exploration, make_problem
from credibn.search.collection import new_collection
from credibn.search.dynamic_programming import search_subsets

N_NETWORKS_OF_FIVE, N_CLASSES_OF_FIVE = 29_281, 8_782


@pytest.fixture(scope="module")
def every_set():
    """A table of all parent sets of five variables: nothing is pruned, so every network can be listed."""
    data = np.random.default_rng(3).integers(0, 2, (60, 5))
    data[:, 4] = data[:, 0] ^ data[:, 1]
    return score_parent_sets(data, epsilon=1000.0)


@pytest.fixture(scope="module")
def everything(every_set):
    """All networks of five variables, the best first."""
    return learn(every_set, epsilon=1000.0, unit="networks", posterior_share=False)


def assert_valid(found, complete):
    """Some rows of the complete answer, in order, and none missing above the bound."""
    known = {tuple(row): score for row, score in zip(complete.rows.choices.tolist(), complete.rows.scores, strict=True)}
    rows = [tuple(row) for row in found.rows.choices.tolist()]
    assert len(set(rows)) == len(rows)
    assert [known[row] for row in rows] == found.rows.scores.tolist()
    assert sorted(found.rows.scores, reverse=True) == found.rows.scores.tolist()
    assert found.complete is (found.stopped_because is None)
    if found.complete:
        assert len(rows) == len(known)
        return
    missing = max((known[row] for row in known.keys() - set(rows)), default=-math.inf)
    assert missing <= found.unexplored_bound + 1e-9


class StopsIn:
    """Says stop at a call of some stage."""

    def __init__(self, stage, at):
        self.stage, self.at, self.n_calls = stage, at, 0

    def __call__(self, stage, fraction):
        self.n_calls += stage == self.stage
        return not (stage == self.stage and self.n_calls > self.at)


# ------------------------------------------------------------------------------ putting in order what was found


def test_everything_is_sorted_and_grouped(everything):
    assert (everything.n_networks, everything.n_classes) == (N_NETWORKS_OF_FIVE, N_CLASSES_OF_FIVE)
    keys = list(zip(-everything.rows.scores, *everything.rows.choices.T, strict=True))
    assert keys == sorted(keys)


@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
@pytest.mark.parametrize("stage", FINISHING)
@pytest.mark.parametrize("at", range(3))
def test_a_stop_while_finishing_leaves_the_best_part(every_set, everything, monkeypatch, engine, stage, at):
    monkeypatch.setattr("credibn._run.run._GRACE", 0.0)
    stops = StopsIn(stage, at)
    options = {"epsilon": 1000.0, "unit": "networks", "engine": engine, "posterior_share": False}
    found = learn(every_set, **options, progress=stops)
    assert_valid(found, everything)
    assert found.complete is (stops.n_calls <= at)
    assert found.complete or found.stopped_because == "interrupted"


def test_a_moment_is_granted_to_finish(every_set, everything):
    found = learn(every_set, epsilon=1000.0, unit="networks", posterior_share=False, progress=StopsIn("sorting", 0))
    assert_valid(found, everything)
    assert len(found.rows) > 0


@pytest.mark.parametrize("n_threads", [1, 3])
def test_classes_by_choices_are_those_by_masks(every_set, everything, n_threads):
    choices = everything.rows.choices
    numbers = _core.group_choices_by_class(every_set.offsets, every_set.masks, choices, n_threads, None)
    assert np.array_equal(numbers, _core.group_by_class(masks_of(every_set, choices)))
    first = [int(numbers[:k].max(initial=-1)) for k in range(1, 200)]
    assert all(b - a in (0, 1) for a, b in itertools.pairwise(first))


def test_grouping_many_nodes_and_no_rows():
    """Two words of masks; and 64 nodes exactly."""
    for n in (1, 64, 65, 130):
        words = -(-n // 64)
        masks = np.zeros((2 * n - 1, words), dtype=np.uint64)
        masks[2::2, 0] = 1  # each node but the first may have the first as its parent
        offsets = np.array([0, *range(1, 2 * n, 2)])
        choices = np.zeros((3, n), dtype=np.uint32)
        choices[1:, 1:] = 1
        expected = [0, 0, 0] if n == 1 else [0, 1, 1]
        assert _core.group_choices_by_class(offsets, masks, choices, 2, None).tolist() == expected
        assert _core.group_choices_by_class(offsets, masks, choices[:0], 2, None).tolist() == []


def test_grouping_checks_what_it_is_given():
    offsets, masks = np.array([0, 2, 4]), np.array([[0], [2], [0], [1]], dtype=np.uint64)
    assert _core.group_choices_by_class(
        offsets, masks, np.array([[1, 0], [0, 1]], dtype=np.uint32), 1, None
    ).tolist() == [0, 0]
    for choices, message in (([[1, 1]], "directed cycle"), ([[2, 0]], "does not exist")):
        with pytest.raises(ValueError, match=message):
            _core.group_choices_by_class(offsets, masks, np.array(choices, dtype=np.uint32), 1, None)
    with pytest.raises(ValueError, match="offsets"):
        _core.group_choices_by_class(offsets[:2], masks, np.zeros((1, 2), dtype=np.uint32), 1, None)
    with pytest.raises(ValueError, match="its own child"):
        _core.group_choices_by_class(offsets, masks[::-1].copy(), np.zeros((1, 2), dtype=np.uint32), 1, None)


def test_grouping_that_is_stopped_gives_the_first_rows(every_set, everything):
    rows = group(every_set, everything.rows.choices, everything.rows.scores, 1, lambda stage, fraction: False)
    assert len(rows) == 0
    few = everything.rows.choices[:100], everything.rows.scores[:100]
    assert len(group(every_set, *few, 1, lambda stage, fraction: False)) == 100, "a few are grouped unasked"


@pytest.mark.parametrize("unit", ["classes", "networks"])
@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
def test_wherever_it_is_stopped_the_answer_is_valid(engine, unit):
    data = np.random.default_rng(1).integers(0, 2, (40, 5))
    table = score_parent_sets(data, epsilon=6.0)
    options = {"epsilon": 6.0, "unit": unit, "engine": engine, "posterior_share": False}
    complete = learn(table, **options)
    n_partial = 0
    for n_calls in range(200):
        calls = itertools.count()
        try:
            found = learn(table, **options, progress=lambda *_, calls=calls, n=n_calls: next(calls) < n)
        except KeyboardInterrupt:
            continue  # nothing was known
        assert_valid(found, complete)
        n_partial += not found.complete
        if found.complete:
            break
    assert found.complete
    assert n_partial > 0 or engine == "dynamic_programming"


def test_the_best_network_of_an_abandoned_listing_is_recorded(monkeypatch):
    """Its cost alone was kept: a result could know of a better network than it held."""

    def poor(self, order, effort):
        row = np.array([len(self.costs[a:b]) - 1 for a, b in itertools.pairwise(self.offsets)], dtype=np.uint32)
        empty = [np.flatnonzero(~self.masks[a:b].any(axis=1))[0] for a, b in itertools.pairwise(self.offsets)]
        row[:] = empty
        self.best_row, self.best_cost = row, float(self.costs[self.offsets[:-1] + row].sum())
        self.collection.update_incumbent(self.best_cost + self.problem.rounding(), row)

    monkeypatch.setattr(exploration.Exploration, "improve", poor)
    monkeypatch.setattr(exploration, "FIRST_STEPS", 300)
    monkeypatch.setattr(exploration, "STEPS_BEFORE_SPREADING", 300)
    monkeypatch.setattr(exploration, "MOST_SUBSET_SECONDS", -1.0)
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2, (80, 6))
    data[:, 3] = data[:, 0] ^ (rng.random(80) < 0.2)
    table = score_parent_sets(data, epsilon=12.0)
    empty_cost = -sum(score for node in range(6) for score, parents in table.parent_sets(node) if not parents)
    n_better = 0
    for n_calls in range(0, 400, 5):
        calls = itertools.count()
        run = Run(lambda *_, calls=calls, n=n_calls: next(calls) < n)
        problem = make_problem(table, epsilon=12.0, unit="networks", run=run)
        found = ENGINES["integer_program"].search(problem)
        assert found.costs[0] <= found.best_cost + problem.tolerance
        n_better += found.stopped and found.costs[0] < empty_cost - 1e-6
        if not found.stopped:
            break
    assert n_better > 0


def test_what_the_listing_remembers_changes_nothing(every_set):
    problem = make_problem(every_set, epsilon=3.0, unit="networks")
    is_open = np.ones(len(problem.costs), dtype=np.uint8)
    answers = []
    for max_bytes in (None, 0):
        collection = new_collection(problem)
        arguments = (
            problem.offsets,
            problem.costs,
            problem.masks,
            is_open,
            collection,
            False,
            max_bytes,
            2,
            None,
            None,
        )
        assert _core.search_subsets(*arguments)[0] == math.inf
        answers.append([array.tobytes() for array in collection.finish(1, None)[:3]])
    assert answers[0] == answers[1]
    assert search_subsets(problem, is_open, new_collection(problem))[0] == math.inf


def test_logarithms_of_sizes_of_several_words():
    """Millions of classes of many variables: no loop in Python over them."""
    numbers = [1, 2, 2**63, 2**64 - 1, 2**64, 2**64 + 2**60, 3**200, math.factorial(60), 7]
    sizes = np.array([[n >> 64 * k & (2**64 - 1) for k in range(5)] for n in numbers], dtype=np.uint64)
    k = len(numbers)
    rows = Structures(np.zeros((k, 1), dtype=np.uint32), np.zeros(k), sizes, None)
    assert rows.log_sizes == pytest.approx([math.log(n) for n in numbers], rel=1e-15, abs=1e-300)
    assert len(rows.first(0).log_sizes) == 0


# ------------------------------------------------------------------------------ time


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_a_search_stops_before_the_limit_by_the_time_that_is_needed_to_finish():
    clock = Clock()
    watch = Run(time_limit=10.0, clock=clock, processor_clock=clock)
    watch.follow(lambda: Tally("networks", 1_000_000, -1.0, seconds_to_finish=4.0))
    clock.now = 105.9
    assert watch("enumeration", 0.5)
    clock.now = 106.1
    assert (watch("enumeration", 0.5), watch.reason) == (False, "time_limit")
    clock.now = 109.0
    assert watch("sorting", 0.5), "the rest of the time is for this"
    clock.now = 110.6
    assert not watch("sorting", 0.6)
    assert watch("grouping", 0.0), "each stage is given a moment"
    clock.now = 111.2
    assert not watch("grouping", 0.5)


@pytest.mark.parametrize(("share", "stops_at"), [(2.0, 108.0), (1.0, 106.0), (0.5, 102.0), (1e-9, 100.0)])
def test_what_others_leave_of_the_processors_counts(share, stops_at):
    clock, processor_clock = Clock(), Clock()
    watch = Run(time_limit=10.0, clock=clock, processor_clock=processor_clock)
    watch.follow(lambda: Tally("networks", 1_000_000, -1.0, seconds_to_finish=4.0))
    continues = True
    while continues:
        clock.now += 0.25
        processor_clock.now += share * 0.25
        continues = watch("enumeration", 0.5)
    assert clock.now == pytest.approx(stops_at, abs=1.0)


@pytest.mark.parametrize(
    ("limit", "for_files", "left"), [(60.0, 1.0, 50.0), (60.0, 0.0, 51.0), (10.0, 2.0, 0.0), (None, 1.0, None)]
)
def test_the_search_leaves_time_for_the_files(limit, for_files, left):
    """Nine seconds have passed since the run began, some of them before it was made."""
    clock = Clock()
    run = Run(time_limit=limit, began=clock.now - 3.0, clock=clock)
    run.leave_to_write(for_files, 0.0)
    clock.now += 6.0
    assert run.seconds_left() == left
    assert run.seconds_to_write() == (None if limit is None else limit - 9.0)


def test_a_search_leaves_time_to_deliver_what_it_has_found():
    """Half a second for each of four rows, however many processors there are, besides the four that finishing takes."""
    clock = Clock()
    watch = Run(time_limit=10.0, clock=clock, processor_clock=clock)
    watch.leave_to_write(0.0, per_row=0.5)
    watch.follow(lambda: Tally("networks", 4, -1.0, seconds_to_finish=4.0))
    clock.now = 103.9
    assert watch("enumeration", 0.5)
    clock.now = 104.1
    assert (watch("enumeration", 0.5), watch.reason) == (False, "time_limit")


def test_finishing_too_late_is_the_time_limit():
    clock = Clock()
    watch = Run(time_limit=10.0, clock=clock)
    assert watch("sorting", 0.0)
    clock.now = 111.0
    assert (watch("sorting", 0.5), watch.reason) == (False, "time_limit")


def test_after_an_interruption_finishing_has_a_moment():
    clock = Clock()
    continues = True
    watch = Run(lambda *_: continues, clock=clock)
    assert watch("enumeration", 0.5)
    assert watch("sorting", 0.0)
    clock.now = 500.0
    assert watch("sorting", 0.5), "nothing hurries"
    continues = False
    assert watch("sorting", 0.6)
    clock.now = 501.0
    assert (watch("sorting", 0.7), watch.reason) == (False, "interrupted")


def test_a_search_is_told_how_long_finishing_takes(every_set):
    seen = []

    class Listener:
        def __call__(self, stage, fraction):
            return True

        def tally(self, tally):
            seen.append(tally)

    learn(every_set, epsilon=1000.0, unit="networks", posterior_share=False, progress=Listener())
    most = max(seen, key=lambda tally: tally.n_found)
    assert most.n_found > 0
    assert 0 < most.seconds_to_finish < 60


def test_reading_ends_with_the_time():
    endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    deadline = time.monotonic() + 0.2
    with pytest.raises(TimeLimitError, match="while the data were read"), workspace(deadline) as connection:
        connection.sql(endless).fetchall()
    assert read_data(np.eye(2, dtype=int)).n_rows == 2, "other tables have no deadline"


def test_a_local_score_is_stopped_between_sets():
    class Slow:
        name, columns = "slow", "discrete"

        def settings(self):
            return {}

        def local_cost(self, data, node, parents):
            return float(len(parents))

    calls = itertools.count()
    with pytest.raises(KeyboardInterrupt):
        score_parent_sets(
            np.random.default_rng(0).integers(0, 2, (9, 9)),
            score=Slow(),
            progress=lambda stage, fraction: next(calls) < 12,
        )
    assert next(calls) == 13, "256 sets of each node take five looks, one for each 64"


# ------------------------------------------------------------------------------ memory


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def pages(n_bytes):
    return n_bytes // os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def machine(tmp_path):
    """The files of a machine of 8 GiB, 6 of which are available; this process takes 1."""
    write(tmp_path, "proc/meminfo", f"MemTotal: {8 << 20} kB\nMemFree: 1 kB\nMemAvailable: {6 << 20} kB\n")
    write(tmp_path, "proc/self/statm", f"{pages(4 << 30)} {pages(1 << 30)} 0 0 0 0 0\n")
    return tmp_path


def test_without_a_control_group(machine, monkeypatch):
    monkeypatch.setattr(memory, "_physical_bytes", lambda: 8.0 * 2**30)
    assert total_bytes(machine) == 8 << 30
    assert available_bytes(machine) == 6 << 30
    assert resident_bytes(machine) == 1 << 30
    write(machine, "proc/self/cgroup", "9:name=systemd:/\n4:cpu:/\n")
    assert available_bytes(machine) == 6 << 30


@pytest.mark.parametrize("shown", ["box/inner", ""], ids=["own group", "seen from inside"])
def test_control_groups_of_version_two(machine, monkeypatch, shown):
    monkeypatch.setattr(memory, "_physical_bytes", lambda: 8.0 * 2**30)
    write(machine, "proc/self/cgroup", "0::/box/inner\n")
    group = Path("sys/fs/cgroup") / shown
    write(machine, group / "memory.max", f"{3 << 30}\n")
    write(machine, group / "memory.current", f"{2 << 30}\n")
    write(machine, group / "memory.stat", f"anon 5\ninactive_file {1 << 29}\n")
    assert total_bytes(machine) == 3 << 30
    assert available_bytes(machine) == 1.5 * 2**30
    write(machine, group / "memory.max", "max\n")
    assert total_bytes(machine) == 8 << 30
    assert available_bytes(machine) == 6 << 30


def test_the_narrowest_of_nested_groups_counts(machine, monkeypatch):
    monkeypatch.setattr(memory, "_physical_bytes", lambda: 8.0 * 2**30)
    write(machine, "proc/self/cgroup", "0::/box/inner\n")
    for folder, limit, used in (("box", 2, 1), ("box/inner", 4, 1)):
        write(machine, f"sys/fs/cgroup/{folder}/memory.max", f"{limit << 30}\n")
        write(machine, f"sys/fs/cgroup/{folder}/memory.current", f"{used << 30}\n")
    assert total_bytes(machine) == 2 << 30
    assert available_bytes(machine) == 1 << 30


def test_control_groups_of_version_one(machine, monkeypatch):
    monkeypatch.setattr(memory, "_physical_bytes", lambda: 8.0 * 2**30)
    write(machine, "proc/self/cgroup", "5:cpu:/a\n4:memory,other:/docker/1f\n0::/\n")
    write(machine, "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{2 << 30}\n")
    write(machine, "sys/fs/cgroup/memory/memory.usage_in_bytes", f"{1 << 30}\n")
    write(machine, "sys/fs/cgroup/memory/memory.stat", f"total_inactive_file {1 << 28}\n")
    assert total_bytes(machine) == 2 << 30
    assert available_bytes(machine) == 1.25 * 2**30
    write(machine, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert total_bytes(machine) == 8 << 30


def test_files_that_say_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_physical_bytes", lambda: math.inf)
    assert total_bytes(tmp_path) == available_bytes(tmp_path) == math.inf
    assert resident_bytes(tmp_path) == 0
    write(tmp_path, "proc/self/cgroup", "nonsense\n\n0::/\n")
    write(tmp_path, "sys/fs/cgroup/memory.max", "12 apples\n")
    assert total_bytes(tmp_path) == math.inf


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_the_limit_of_the_address_space_counts(machine, monkeypatch):
    import resource

    monkeypatch.setattr(memory, "_physical_bytes", lambda: 8.0 * 2**30)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5 << 30, 5 << 30))
    assert total_bytes(machine) == 5 << 30
    assert available_bytes(machine) == 1 << 30, "four of them are taken"


def test_the_guard(monkeypatch):
    taken, left = 1 << 30, 10 << 30
    monkeypatch.setattr(memory, "resident_bytes", lambda: taken)
    monkeypatch.setattr(memory, "available_bytes", lambda: left)
    monkeypatch.setattr(memory, "total_bytes", lambda: 11 << 30)
    monkeypatch.setattr(memory, "_SECONDS_BETWEEN_MEASUREMENTS", 0.0)
    assert usable_bytes() == pytest.approx(0.8 * (11 << 30) - (1 << 30))
    by_limit, by_machine = MemoryGuard(1 << 30), MemoryGuard()
    assert not by_limit.is_reached()
    taken, left = 3 << 30, 8 << 30
    assert by_limit.is_reached()
    assert not by_machine.is_reached()
    taken, left = 9 << 30, 2 << 30
    assert by_machine.is_reached()
    taken, left = 1 << 30, 1 << 20
    assert by_machine.is_reached(), "somebody else has taken it"


@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
def test_too_much_memory_stops_a_search(monkeypatch, everything, every_set, engine):
    options = {"epsilon": 1000.0, "unit": "networks", "posterior_share": False, "engine": engine}
    monkeypatch.setattr(MemoryGuard, "is_reached", lambda self: True)
    found = learn(every_set, **options)
    assert (found.complete, found.stopped_because) == (False, "memory_limit")
    assert_valid(found, everything)
    assert found.n_networks > 0


@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
def test_too_much_memory_stops_the_proof_that_a_ratio_needs(monkeypatch, everything, every_set, engine):
    monkeypatch.setattr(MemoryGuard, "is_reached", lambda self: True)
    found = learn(every_set, ratio=1.5, unit="networks", posterior_share=False, engine=engine)
    assert (found.complete, found.stopped_because) == (False, "memory_limit")
    assert_valid(found, everything)


def test_too_much_memory_stops_scoring(monkeypatch):
    monkeypatch.setattr(MemoryGuard, "is_reached", lambda self: True)
    values = np.random.default_rng(0).integers(0, 2, (50, 6))
    with pytest.raises(TooLargeError, match="scoring used most of the available memory"):
        score_parent_sets(values)
    with pytest.raises(TooLargeError, match="memory"):
        learn(values)


def test_a_quota_on_memory_keeps_the_best(every_set, everything):
    asked = {"epsilon": 1000.0, "unit": "networks", "posterior_share": False, "memory_limit": 400_000}
    counted = learn(every_set, **asked)
    assert counted.complete
    assert not counted.structures.is_listed
    assert counted.n_networks == everything.n_networks
    found = learn(every_set, engine="dynamic_programming", **asked)
    assert (found.complete, found.stopped_because) == (False, "memory_limit")
    assert 100 < found.n_networks < N_NETWORKS_OF_FIVE
    assert_valid(found, everything)


# ------------------------------------------------------------------------------ interrupts


class Signalled(BruteForce):
    """Gets a signal, and then waits until it is told to stop."""

    name = "signalled"

    def __init__(self, number):
        self.number = number

    def search(self, problem):
        found = super().search(problem)
        os.kill(os.getpid(), self.number)
        while problem.run("enumeration", 0.5):
            time.sleep(0.01)
        return type(found)(
            found.choices[:1], found.costs[:1], found.sizes[:1], found.best_cost, stopped=True, unexplored_bound=-1e9
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_keep_what_was_found(monkeypatch, number):
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        monkeypatch.setitem(ENGINES, "signalled", Signalled(number))
        found = learn(np.arange(12).reshape(6, 2) % 3, engine="signalled")
        assert (found.complete, found.stopped_because, found.n_networks > 0) == (False, "interrupted", True)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for n, handler in handlers.items():
            signal.signal(n, handler)


def test_the_handler_of_somebody_else_stays():
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        own = signal.getsignal(signal.SIGTERM)
        with Run().handling_interrupts():
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


SCRIPT = Path(sys.executable).with_name("credibn")


@pytest.fixture(scope="module")
def long_search(tmp_path_factory):
    """Scores that are read at once, and more networks than can be listed in an hour."""
    rng = np.random.default_rng(0)
    sets = [()] + [(p,) for p in range(24)]
    candidates = [[(-rng.random(), tuple(s)) for s in sets if node not in s] for node in range(24)]
    table = ScoreTable.from_candidates([f"x{v}" for v in range(24)], candidates, {"epsilon": 1000.0})
    path = tmp_path_factory.mktemp("long") / "scores.jkl"
    from credibn import write_scores

    write_scores(table, path)
    return path


def until(process, holds):
    for _ in range(600):
        if holds() or process.poll() is not None:
            return
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see the work begin")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["importing", "searching"])
def test_signals_to_the_command_line(long_search, tmp_path, number, moment):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ["learn", "--scores", long_search, "--epsilon", "1000", "-o", tmp_path / "out", "--json"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [str(word) for word in (SCRIPT, *words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:

        def seconds():
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        def is_importing():  # the script has set its handlers, and imports what is large
            return "numpy" in Path(f"/proc/{process.pid}/maps").read_text()

        until(process, is_importing if moment == "importing" else lambda: seconds() > 2.5)
        assert process.poll() is None
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert not list(scratch.iterdir())
    if moment == "importing":
        assert (stdout, stderr) == ("", "stopped; nothing was written\n")
        return
    assert '"stopped_because": "interrupted"' in stdout
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written - {"checkpoint"} == {"result.credibn", "summary.json", "run.json", "report.html"}


def test_temporary_files_of_reading_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt), workspace():
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


# ---- too little memory for the libraries ----


def run_within(address_space, *words, **environment):
    """Run a command in a process with a limit on its address space, in KiB as ``ulimit -v`` takes it."""
    resource = pytest.importorskip("resource")

    def set_limit():
        resource.setrlimit(resource.RLIMIT_AS, (address_space * 1024, address_space * 1024))

    return subprocess.run(
        [sys.executable, "-c", "from credibn_command import main; main()", *map(str, words)],  # the script credibn
        preexec_fn=set_limit,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2", **environment},  # else each core takes some
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture
def small_table(tmp_path):
    path = tmp_path / "small.csv"
    rows = np.random.default_rng(2).integers(0, 2, (50, 4))
    np.savetxt(path, rows, fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    return path


@pytest.mark.parametrize("address_space", [300_000, 400_000, 440_000, 480_000, 520_000, 560_000, 600_000, 1_000_000])
def test_a_limit_on_address_space_ends_in_an_answer_or_an_error_that_names_it(address_space, small_table):
    done = run_within(address_space, "learn", small_table)
    assert "Traceback" not in done.stderr
    if address_space <= 400_000:
        assert done.returncode == 2
        assert "they need at least 448 MiB, and small tables about 1 GiB" in done.stderr
    if address_space >= 1_000_000:
        assert done.returncode == 0, done.stderr
    if done.returncode == 0:
        assert "networks in" in done.stdout
    elif done.returncode == 3:  # what was found until then
        assert "incomplete (memory_limit)" in done.stderr
    else:
        assert done.returncode == 2, done.stderr
        assert "the limit on address space, 'ulimit -v', is" in done.stderr
        assert "start from a shell where it is higher, or unlimited" in done.stderr


def test_duckdb_takes_no_more_threads_than_there_is_address_space_for(monkeypatch):
    monkeypatch.setattr(memory, "_address_space", lambda: 2.0**30)
    monkeypatch.setattr(memory, "_virtual_bytes", lambda root: 512 << 20)
    assert memory.room_for_threads(128 << 20) == 3  # (0.8 * 512 - 128) / 72
    assert memory.room_for_threads(1 << 40) == 1
    monkeypatch.setattr(memory, "_address_space", lambda: math.inf)
    assert memory.room_for_threads(128 << 20) > 10**6
    with workspace() as connection:
        set_to = dict(connection.sql("SELECT name, value FROM duckdb_settings()").fetchall())
    assert (set_to["threads"], set_to["async_threads"]) == (str(len(os.sched_getaffinity(0))), "0")


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (MemoryError("Unable to allocate 8 GiB"), "not enough memory for this (Unable to allocate 8 GiB): "),
        (
            ImportError("libX.so.6: failed to map segment from shared object"),
            "not enough memory for this (libX.so.6: failed to map segment from shared object): ",
        ),
        (RuntimeError("can't start new thread"), "or room for threads, for this (can't start new thread): "),
    ],
)
def test_a_failure_to_get_memory_or_threads_names_the_limit(error, what, monkeypatch):
    monkeypatch.setattr(memory, "_address_space", lambda: 3.0 * 2**30)
    monkeypatch.setattr(memory, "_virtual_bytes", lambda root: 3 << 30)
    with pytest.raises(TooLargeError) as caught, memory.explaining_shortage():
        raise error
    assert what in str(caught.value)
    assert str(caught.value).endswith(
        "the limit on address space, 'ulimit -v', is 3.00 GiB; start from a shell where it is higher, or unlimited"
    )


def test_other_errors_stay_as_they_are():
    with pytest.raises(RuntimeError, match="please report this bug"), memory.explaining_shortage():
        raise RuntimeError("please report this bug")


def test_duckdb_that_does_not_start_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr("duckdb.connect", lambda *_, **__: (_ for _ in ()).throw(duckdb.IOException("no thread")))
    with pytest.raises(TooLargeError, match=r"there is too little memory to read data \(no thread\): the .*; "):
        read_data(np.zeros((3, 2), dtype=int))
    monkeypatch.undo()
    monkeypatch.setattr("credibn._run.memory.available_bytes", lambda: 10 << 20)
    with pytest.raises(TooLargeError, match=r"10.0 MiB is available, but 64.0 MiB is needed"):
        read_data(np.zeros((3, 2), dtype=int))


def test_a_report_for_which_there_is_too_little_memory_is_an_error_of_ours(monkeypatch, tmp_path):
    """The libraries for figures would end the process."""
    found = learn(np.random.default_rng(2).integers(0, 2, (50, 4)))
    monkeypatch.setattr("credibn._run.memory.available_bytes", lambda: 10 << 20)
    with pytest.raises(TooLargeError, match=r"for this \(10.0 MiB is available, but 64.0 MiB is needed\): the "):
        write_learning_page(found, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
