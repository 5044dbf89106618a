"""Tasks: each is done once, by any worker; results are saved, resumed, stopped, and never read from a wrong file."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worker_tasks
from credibn._run import OutOfTime, Run, Stopped, Store, split_evenly
from credibn.errors import DataError, OptionError, TooLargeError, WorkerError

TASKS = [0, 1, 2, 3, 4, 5, 6, 7]


def always(fraction):
    return True


def eager(folder, **options):
    """A run that writes everything at once."""
    run = Run(store=Store(folder), **options)
    run.store.seconds_before_writing = 0.0
    return run


def doubles(run, key="doubles", work=worker_tasks.double, common=0, should_continue=always):
    """What each task gave; fails where one is given twice."""
    found = {}
    for index, arrays in run.do("test", key, work, common, TASKS, should_continue):
        assert index not in found
        found[index] = int(arrays["double"][0])
        assert arrays["nothing"].shape == (0, 3)
        assert arrays["nothing"].dtype == np.uint16
    return found


def make_processes(n_workers):
    return ProcessPoolExecutor(n_workers, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module")
def processes():
    with make_processes(2) as executor:
        yield executor


class Immediate:
    """An executor of the plainest kind: `submit` does the work."""

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


EXPECTED = {index: 2 * task + 1 for index, task in enumerate(TASKS)}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_every_task_once(n_threads):
    run = Run(n_threads=n_threads)
    assert run.n_workers == n_threads
    assert doubles(run, common=1) == EXPECTED


@pytest.mark.parametrize("kind", [Immediate, ThreadPoolExecutor])
def test_any_executor_does(kind):
    run = Run(executor=kind())
    assert run.n_workers >= 1
    assert doubles(run, common=1) == EXPECTED


def test_processes_do_every_task_once(processes):
    run = Run(executor=processes)
    assert run.n_workers == 2
    assert doubles(run, common=1) == EXPECTED


def test_an_error_in_another_process_arrives_as_it_is(processes):
    with pytest.raises(DataError, match="3 cannot be done; leave it out"):
        doubles(Run(executor=processes), work=worker_tasks.refuse_three)


def test_what_cannot_travel_is_explained(processes):
    with pytest.raises(OptionError, match="a task cannot be sent to the workers"):
        doubles(Run(executor=processes), common=lambda: 0)


def test_no_tasks_are_done_at_once(tmp_path):
    assert list(eager(tmp_path).do("test", "none", worker_tasks.double, 0, [], always)) == []


def test_results_cannot_be_changed():
    arrays = next(Run().do("test", "", worker_tasks.double, 0, [1], always))[1]
    with pytest.raises(ValueError, match="read-only"):
        arrays["double"][0] = 0


@pytest.mark.parametrize("executor", [7, "dask", object()])
def test_what_is_no_executor_is_refused(executor):
    with pytest.raises(OptionError, match="give an object with a submit method"):
        Run(executor=executor)


def test_a_client_stands_for_its_executor():
    class Client:
        def get_executor(self):
            return Immediate()

    assert doubles(Run(executor=Client()), common=1) == EXPECTED


def test_few_tasks_are_on_their_way_at_a_time():
    class Slow:
        """Does nothing before six tasks have come, or all."""

        _max_workers = 2

        def __init__(self):
            self.waiting, self.n_submitted, self.most = [], 0, 0

        def submit(self, function, *arguments):
            future = Future()
            self.waiting.append((future, function, arguments))
            self.n_submitted += 1
            self.most = max(self.most, len(self.waiting))
            if len(self.waiting) == 6 or self.n_submitted == len(TASKS):
                for each, call, given_arguments in self.waiting:
                    each.set_result(call(*given_arguments))
                self.waiting.clear()
            return future

    executor = Slow()
    assert doubles(Run(executor=executor), common=1) == EXPECTED
    assert executor.most == 6


# ---- checkpoints ----


def test_saved_tasks_are_not_done_again(tmp_path):
    calls, saved = tmp_path / "calls", tmp_path / "saved"
    calls.mkdir()

    def stop_at_half(fraction):
        return fraction < 0.5

    def slowly(run):
        for index, arrays in run:
            time.sleep(0.12)  # time for the next call
            yield index, arrays

    first = eager(saved)
    found = {}
    with pytest.raises(Stopped):
        found.update(slowly(first.do("test", "q", worker_tasks.count_calls, calls, TASKS, stop_at_half)))
    first.store.close()
    assert 4 <= len(found) < len(TASKS)
    second = eager(saved)
    again = dict(second.do("test", "q", worker_tasks.count_calls, calls, TASKS, always))
    assert list(again)[: len(found)] == sorted(found)  # those that were saved come first
    assert {index: int(arrays["double"][0]) for index, arrays in again.items()} == {i: 2 * i for i in TASKS}
    counts = [len(list(calls.glob(f"{task}-*"))) for task in TASKS]
    assert all(counts[index] == 1 for index in found)
    assert sum(counts) <= len(TASKS) + 1  # one may have been at work when the first run was stopped
    second.store.remove()
    assert not saved.exists()


def test_an_exception_saves_what_was_done(tmp_path):
    run = eager(tmp_path)
    with pytest.raises(DataError):
        doubles(run, work=worker_tasks.refuse_three)
    run.store.close()
    again = eager(tmp_path)
    saved = []
    with pytest.raises(DataError):
        saved.extend(index for index, _ in again.do("test", "doubles", worker_tasks.refuse_three, 0, [3] * 8, always))
    assert saved == [0, 1, 2]


def test_nothing_is_written_in_the_first_seconds(tmp_path):
    run = Run(store=Store(tmp_path))
    run.store.save("test", "q", "state", {"x": np.arange(3)})
    assert doubles(run, common=1) == EXPECTED
    assert doubles(run, common=5) == EXPECTED  # known all the same
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]
    saved = run.store.load("test", "q", "state")
    assert saved is not None
    assert saved["x"].tolist() == [0, 1, 2]
    run.store.seconds_before_writing = 0.0
    run.store.save("test", "q", "another state", {})
    assert (
        len(list(tmp_path.glob("test-task-*.checkpoint"))) == 1
    )  # all that was finished before; quick tasks share a file
    assert len(list(tmp_path.glob("test-*state-*.checkpoint"))) == 2
    assert run.store.load("test", "q", "another state") == {}
    assert doubles(run, common=7) == EXPECTED  # as it was saved


def test_the_environment_says_when_to_write(monkeypatch, tmp_path):
    monkeypatch.setenv("CREDIBN_CHECKPOINT_SECONDS", "0.25")
    assert Store(tmp_path).seconds_before_writing == 0.25
    monkeypatch.setenv("CREDIBN_CHECKPOINT_SECONDS", "soon")
    with pytest.raises(OptionError, match="'soon'; it must be a number of seconds"):
        Store(tmp_path)


def test_another_cache_key_is_computed_anew(tmp_path):
    run = eager(tmp_path)
    assert doubles(run, key="plus 0") == {i: 2 * i for i in TASKS}
    assert doubles(run, key="plus 1", common=1) == EXPECTED
    found = dict(run.do("test", "plus 1", worker_tasks.double, 5, TASKS[:4], always))  # cut into fewer tasks
    assert [int(found[i]["double"][0]) for i in range(4)] == [5, 7, 9, 11]
    assert dict(run.do("test", "plus 1", worker_tasks.double, 100, TASKS, always))[0]["double"] == 1  # as saved
    assert dict(run.do("task", "plus 1", worker_tasks.double, 100, TASKS, always))[0]["double"] == 100


def test_a_file_under_the_name_of_another_cache_key_is_not_read(tmp_path):
    run = eager(tmp_path)
    doubles(run, key="first")
    doubles(run, key="second", common=1)
    one, other = sorted(tmp_path.glob("*.checkpoint"))
    one_bytes = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(one_bytes)
    assert doubles(run, key="first", common=7) == {i: 2 * i + 7 for i in TASKS}


def test_a_file_copied_over_another_of_the_same_cache_key_is_not_read(tmp_path):
    run = eager(tmp_path)
    run.store.save("test", "q", "one", {"x": np.arange(1)})
    run.store.save("test", "q", "two", {"x": np.arange(2)})
    (one,), (two,) = tmp_path.glob("test-one-*.checkpoint"), tmp_path.glob("test-two-*.checkpoint")
    two.write_bytes(one.read_bytes())
    assert run.store.load("test", "q", "two") is None
    found = run.store.load("test", "q", "one")
    assert found is not None
    assert found["x"].tolist() == [0]


@given(st.data())
def test_a_damaged_file_is_not_taken(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("saved")
    run = eager(folder)
    run.store.save("test", "q", "state", {"x": np.arange(5), "y": np.ones((2, 2), dtype=np.float32)})
    (path,) = folder.glob("*.checkpoint")
    whole = path.read_bytes()
    kind = data.draw(st.sampled_from(["cut", "flip", "more", "empty"]))
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytes([whole[at] ^ data.draw(st.integers(1, 255))])
    damaged = {
        "cut": whole[:at],
        "flip": whole[:at] + flipped + whole[at + 1 :],
        "more": whole + b"\0",
        "empty": b"",
    }[kind]
    path.write_bytes(damaged)
    assert run.store.load("test", "q", "state") is None
    run.store.save("test", "q", "state", {"x": np.arange(2)})
    replaced = run.store.load("test", "q", "state")
    assert replaced is not None
    assert list(replaced) == ["x"]
    run.store.remove()


def test_damaged_tasks_are_done_again(tmp_path):
    run = eager(tmp_path)
    doubles(run, common=1)
    (path,) = tmp_path.glob("*.checkpoint")
    path.write_bytes(path.read_bytes()[:-1])
    assert doubles(run, common=3) == {i: 2 * i + 3 for i in TASKS}
    assert doubles(run, common=4) == {i: 2 * i + 3 for i in TASKS}  # the new ones are saved


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3),
        st.tuples(st.lists(st.integers(0, 3), max_size=3), st.sampled_from([np.int64, np.uint8, np.float64, np.bool_])),
    )
)
def test_arrays_come_back_as_they_were(tmp_path_factory, shapes):
    rng = np.random.default_rng(1)
    arrays = {name: rng.integers(0, 2, shape).astype(kind) for name, (shape, kind) in shapes.items()}
    run = eager(tmp_path_factory.mktemp("saved"))
    run.store.save("test", "q", "state", arrays)
    found = run.store.load("test", "q", "state")
    run.store.remove()
    assert found is not None
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_objects_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match="it must return numbers"):
        eager(tmp_path).store.save("test", "q", "state", {"x": np.array([object()])})


def test_files_of_an_interrupted_write_are_swept_and_others_left_alone(tmp_path):
    (tmp_path / ".credibn-0123.tmp").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    run = eager(tmp_path)
    assert not (tmp_path / ".credibn-0123.tmp").exists()
    doubles(run)
    run.store.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# ---- one run at a time ----


def test_a_folder_in_use_is_refused(tmp_path):
    run = Run(store=Store(tmp_path))
    with pytest.raises(
        OptionError, match=rf"{tmp_path} is in use by another run.*wait for it to finish, or choose another folder"
    ):
        Run(store=Store(tmp_path))
    run.store.close()
    second = Run(store=Store(tmp_path))
    second.store.remove()
    Store(tmp_path).remove()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match=r"cannot be written .*choose another folder"):
        Run(store=Store(tmp_path / "file"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_run_releases_the_folder_and_its_tasks_are_reused(tmp_path):
    calls, saved = tmp_path / "calls", tmp_path / "saved"
    calls.mkdir()
    script = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(worker_tasks.__file__).parent)!r})
import worker_tasks
from credibn._run import Run, Store
run = Run(store=Store({str(saved)!r}))
n = 0
for index, arrays in run.do("test", "q", worker_tasks.count_calls, {str(calls)!r}, {TASKS!r}, lambda fraction: True):
    n += 1
    if n == 4:
        time.sleep(1.2)  # the next look at the clock writes a file
    if n == 6:
        print("six", flush=True)
        time.sleep(60)
"""
    environment = {**os.environ, "CREDIBN_CHECKPOINT_SECONDS": "0"}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"six\n"
        process.send_signal(signal.SIGKILL)
    run = eager(saved)
    found = dict(run.do("test", "q", worker_tasks.count_calls, calls, TASKS, always))
    assert {i: int(arrays["double"][0]) for i, arrays in found.items()} == {i: 2 * i for i in TASKS}
    counts = [len(list(calls.glob(f"{task}-*"))) for task in TASKS]
    assert counts[:4] == [1, 1, 1, 1]
    run.store.remove()


# ---- stopped ----


@pytest.mark.parametrize("with_executor", [False, True])
def test_threads_are_told_to_stop(tmp_path, with_executor):
    asked = []

    def stop_soon(fraction):
        asked.append((fraction, threading.current_thread()))
        return not list(tmp_path.glob("began-*")) or len(asked) < 3

    executor = ThreadPoolExecutor(2) if with_executor else None
    run = Run(executor=executor, n_threads=2)
    with pytest.raises(Stopped):
        list(run.do("test", "q", worker_tasks.wait_for_the_end, tmp_path, TASKS, stop_soon))
    if executor is not None:
        executor.shutdown()
    began, ended = (sorted(path.name[6:] for path in tmp_path.glob(f"{what}-*")) for what in ("began", "ended"))
    assert began == ended
    assert 1 <= len(began) <= 2
    assert {thread for _, thread in asked} == {threading.current_thread()}
    assert asked[-1][0] > 0.0  # half of a task is done


def test_a_stop_before_anything_begins(tmp_path):
    with pytest.raises(Stopped):
        list(Run().do("test", "q", worker_tasks.count_calls, tmp_path, TASKS, lambda fraction: False))
    assert not list(tmp_path.iterdir())


def test_the_deadline_passes_in_a_worker(tmp_path, processes):
    run = Run(executor=processes, time_limit=0.3)
    with pytest.raises(OutOfTime):
        list(run.do("test", "q", worker_tasks.wait_for_the_end, tmp_path, [0], always))


def test_what_was_done_is_given_before_the_stop():
    class AllAtOnce(Immediate):
        _max_workers = 8

    found = []
    with pytest.raises(Stopped):
        found.extend(Run(executor=AllAtOnce()).do("test", "q", worker_tasks.double, 0, TASKS, stop_at_the_second()))
    assert len(found) == len(TASKS)


def stop_at_the_second():
    answers = iter([True, False])

    def should_continue(fraction):
        time.sleep(0.12)
        return next(answers)

    return should_continue


def test_an_abandoned_run_ends_its_threads(tmp_path):
    before = threading.active_count()
    run = Run(n_threads=3).do("test", "q", worker_tasks.double, 0, TASKS, always)
    next(run)
    run.close()
    assert threading.active_count() == before


def test_an_error_of_the_caller_reaches_the_caller():
    def fail(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Run(n_threads=2).do("test", "q", worker_tasks.double, 0, TASKS, fail))


# ---- broken ----


def test_a_dead_worker_is_explained(tmp_path):
    with make_processes(1) as executor:
        run = eager(tmp_path / "saved", executor=executor)
        with pytest.raises(
            WorkerError, match=r"ProcessPoolExecutor is broken .* Finished tasks are saved in .*: start again"
        ):
            doubles(run, work=worker_tasks.die)
        with pytest.raises(WorkerError, match="is broken"):  # a broken pool takes nothing more
            doubles(run, key="more")
        run.store.close()
    again = eager(tmp_path / "saved")
    first = next(again.do("test", "doubles", worker_tasks.double, 100, TASKS, always))
    assert first[0] == 0
    assert first[1]["double"] == 0  # as it was saved
    again.store.remove()


def test_an_executor_that_is_shut_down_is_explained():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(WorkerError, match=r"shutdown.*Finished tasks are lost"):
        doubles(Run(executor=executor))


def test_a_cancelled_task_is_explained():
    class Cancelling:
        def submit(self, function, *arguments):
            future = Future()
            future.cancel()
            return future

    with pytest.raises(WorkerError, match="a task was cancelled"):
        doubles(Run(executor=Cancelling()))


class Returning:
    """An executor whose submit returns something."""

    def __init__(self, value):
        self.value = value

    def submit(self, function, *arguments):
        return self.value


def finished(value):
    future = Future()
    future.set_result(value)
    return future


@pytest.mark.parametrize("value", [None, 5, "done", {"double": 1}])
def test_an_executor_that_returns_no_future_is_named(value):
    with pytest.raises(
        WorkerError, match=r"the executor Returning returned .* instead of a future with add_done_callback, result and"
    ) as caught:
        doubles(Run(executor=Returning(value)))
    assert repr(value) in str(caught.value)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


def test_an_executor_that_returns_what_has_no_text_is_named():
    with pytest.raises(WorkerError, match=r"the executor Returning returned <Unprintable .* \(Unprintable\) instead"):
        doubles(Run(executor=Returning(Unprintable())))
    with pytest.raises(OptionError, match=r"executor is <Unprintable .*; give an object with a submit method"):
        Run(executor=Unprintable())


NONSENSE = [
    None,  # no time limit was set
    5,
    "done",
    [1, 2],
    {},
    {"double": 1},
    {1: np.zeros(1)},
    {"double": np.array([np.nan])},
    {"double": np.array(["text"])},
    ("seal", None),
    ("seal", {}),
    ("seal", {"double": np.array([object()])}),
    (np.zeros(2), {}),
    Unprintable(),
]


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("time_limit", [None, 60.0])
def test_an_executor_whose_futures_give_something_else_is_named(value, time_limit):
    run = Run(executor=Returning(finished(value)), time_limit=time_limit)
    with pytest.raises(WorkerError, match=r"the executor Returning returned .* instead of the task's result: fix the"):
        list(run.do("test", "q", worker_tasks.double, 0, TASKS, always))


class Tampering(Immediate):
    """An executor that changes what the function returned."""

    def __init__(self, change):
        self.change = change

    def submit(self, function, *arguments):
        future = Immediate.submit(self, function, *arguments)
        return finished(self.change(future.result()))


def changing(change):
    """What changes the arrays inside whatever the function returned."""

    def go_into(value):
        if isinstance(value, tuple):
            return tuple(go_into(part) for part in value)
        return change(dict(value)) if isinstance(value, dict) else value

    return go_into


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: {name: array[:-1] for name, array in arrays.items()},
        lambda arrays: {name: array + 1 for name, array in arrays.items()},
        lambda arrays: {name: array.astype(np.float32) for name, array in arrays.items()},
        lambda arrays: {name: array[np.newaxis] for name, array in arrays.items()},
        lambda arrays: {f"{name}s": array for name, array in arrays.items()},
        lambda arrays: {"double": arrays["double"]},
        lambda arrays: None,
    ],
    ids=["cut", "changed", "converted", "reshaped", "renamed", "left out", "none"],
)
def test_a_result_that_was_changed_on_the_way_is_refused(change):
    with pytest.raises(WorkerError, match=r"the executor Tampering returned .* instead of the task's result"):
        doubles(Run(executor=Tampering(changing(change))))


def test_the_result_of_another_task_is_refused():
    returned = []
    executor = Tampering(lambda value: returned.append(value) or returned[0])
    with pytest.raises(WorkerError, match="returned arrays of another task, or changed ones, instead of the task's"):
        doubles(Run(executor=executor))


def test_a_copy_of_a_result_with_the_names_in_another_order_is_the_result():
    def copied(arrays):
        return {name: arrays[name].copy(order="F") for name in reversed(arrays)}

    assert doubles(Run(executor=Tampering(changing(copied))), common=1) == EXPECTED


def test_a_worker_without_memory_names_its_own_limit(processes):
    with pytest.raises(TooLargeError, match=r"not enough memory for this \(no 8 GiB\): the "):
        doubles(Run(executor=processes), work=worker_tasks.run_out_of_memory)


def test_a_thread_that_cannot_be_started_is_no_fault_of_an_executor(monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", fail)
    with pytest.raises(RuntimeError, match="can't start new thread") as caught:
        doubles(Run(n_threads=2))
    assert not isinstance(caught.value, BrokenExecutor)


# ---- cut ----


@given(st.lists(st.floats(0.0, 1e6), max_size=40), st.integers(1, 20))
def test_weights_are_split_evenly(weights, n_tasks):
    cuts = split_evenly(weights, n_tasks)
    assert [task for first, last in cuts for task in range(first, last)] == list(range(len(weights)))
    assert all(first < last for first, last in cuts)
    assert len(cuts) <= 2 * n_tasks + 1
    for first, last in cuts:
        heavy = [weight for weight in weights[first:last] if weight > 0.0]
        assert len(heavy) <= 1 or sum(heavy) <= sum(weights) / n_tasks * (1 + 1e-9)


def test_a_forked_process_does_not_hold_the_folder(tmp_path):
    """Workers of a pool outlive a process that is killed, and must not block others."""
    run = Run(store=Store(tmp_path))
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads, by later Pythons
        child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)  # until the other side is closed
        os._exit(0)
    os.close(ours)
    try:
        run.store.close()
        Store(tmp_path).close()
    finally:
        os.close(theirs)
        os.waitpid(child, 0)


def test_a_folder_in_which_nothing_is_saved_is_removed(tmp_path):
    Store(tmp_path / "none").close()
    assert not (tmp_path / "none").exists()
