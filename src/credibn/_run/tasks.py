"""Independent tasks, done in this process or on any executor.

A task is a call ``work(common, task, should_continue)`` of a function that a worker can import. It depends on its
arguments alone, and returns named arrays. Who does it, in which order and how often changes nothing, so that results
may come from a checkpoint, and a task may be done twice after a worker has died.

An executor is any object with ``submit(function, *arguments)`` that returns a future with ``add_done_callback``,
``result`` and ``cancel``: those of `concurrent.futures`, loky, Dask's ``Client.get_executor()``, ``mpi4py.futures``.
"""

import hashlib
import os
import queue
import reprlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from credibn._run.memory import explaining_shortage
from credibn._run.store import Arrays
from credibn.errors import OptionError, WorkerError

ShouldContinue = Callable[[float], bool]
"""Takes the fraction done, and returns whether to continue."""
Work = Callable[[Any, Any, ShouldContinue], Arrays | None]
"""Does a task: (common, task, should_continue) to arrays, or None if told to stop."""

_SECONDS_BETWEEN_CALLS = 0.1
_SECONDS_BETWEEN_COUNTS = 2.0
"""How often an executor is asked for the number of its workers: those of a cluster come and go."""
_IN_FLIGHT = 3
"""Tasks submitted for each worker: enough that none waits, few since each carries what is common to all."""


class Stopped(Exception):  # noqa: N818 - no error: somebody asked for it
    """The stage was stopped before all tasks were done."""


class OutOfTime(Stopped):
    """The deadline of a task on an executor passed before the task was done."""


def split_evenly(weights: Sequence[float], n_tasks: int) -> list[tuple[int, int]]:
    """Return ranges of a list, none heavier than the total / `n_tasks` unless it has a single entry.

    There may be up to twice as many ranges. They depend on the weights alone, never on who does the work, so that a
    checkpoint means the same to a later run on other machines.
    """
    most = sum(weights) / n_tasks
    starts, weight_of_range = [0], 0.0
    for at, weight in enumerate(weights):
        if weight_of_range > 0.0 and weight_of_range + weight > most:
            starts.append(at)
            weight_of_range = 0.0
        weight_of_range += weight
    starts.append(len(weights))
    return [(first, last) for first, last in pairwise(starts) if first < last]


@dataclass
class Tasks:
    """The tasks of a stage that are not done yet; the caller may add to `tasks` while it takes results."""

    work: Work
    common: Any
    tasks: Sequence[Any]
    waiting: list[int]
    should_continue: ShouldContinue
    between_results: Callable[[], None] = lambda: None

    def do_in_turn(self) -> Iterator[tuple[int, Arrays]]:
        """Do one task after the other in this thread."""
        n_done, n_known = len(self.tasks) - len(self.waiting), len(self.tasks)
        while self.waiting or n_known < len(self.tasks):
            self.waiting += range(n_known, len(self.tasks))
            n_known = len(self.tasks)
            index = self.waiting.pop(0)

            def should_continue(fraction: float, n_done: int = n_done) -> bool:
                return self.should_continue((n_done + fraction) / len(self.tasks))

            arrays = self.work(self.common, self.tasks[index], should_continue) if should_continue(0.0) else None
            if arrays is None:
                raise Stopped("the stage was stopped before all tasks were done")
            n_done += 1
            yield index, arrays
            self.between_results()

    def do_in_threads(self, n_threads: int) -> Iterator[tuple[int, Arrays]]:
        """Do tasks in threads of this process; `should_continue` is asked in the calling thread."""
        pool = ThreadPoolExecutor(n_threads)
        flight = _Flight(self, pool, None, is_local=True)
        try:
            yield from flight.results()
        except BrokenExecutor as error:  # no thread could be started
            raise error.__cause__ or error from None
        finally:
            flight.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def do_on(self, executor: Any, seconds: float | None) -> Iterator[tuple[int, Arrays]]:
        """Do tasks on an executor, whose workers stop after `seconds`: nobody else can reach them."""
        yield from _Flight(self, executor, seconds, is_local=False).results()


class _Flight:
    """Tasks on their way through an executor."""

    def __init__(self, stage: Tasks, executor: Any, seconds: float | None, is_local: bool) -> None:
        self.stop = threading.Event()
        self._stage, self._executor, self._is_local = stage, executor, is_local
        self._waiting = stage.waiting[::-1]
        self._n_known = len(stage.tasks)
        self._n_done = len(stage.tasks) - len(stage.waiting)
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._fractions: dict[int, float] = {}  # done of tasks at work in this process
        self._flying: dict[int, tuple[str, Future[_Sealed]]] = {}  # with the token of the task
        self._landed: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._asked = -1.0
        self._n_wanted, self._counted = 0, 0.0

    def results(self) -> Iterator[tuple[int, Arrays]]:
        """Yield results until all tasks are done; raise Stopped after the last that was done in time."""
        is_out_of_time = False
        tasks = self._stage.tasks
        try:
            self._ask()
            while self._waiting or self._flying or self._n_known < len(tasks):
                self._waiting[:0] = range(len(tasks) - 1, self._n_known - 1, -1)
                self._n_known = len(tasks)
                if is_out_of_time:
                    self._waiting.clear()
                self._count_workers()
                while self._waiting and len(self._flying) < self._n_wanted:
                    self._submit(self._waiting.pop())
                index = self._wait()
                if index is not None:
                    arrays = self._result(index)
                    if arrays is not None:
                        yield index, arrays
                    # Nobody has told it to stop, so its own deadline has passed; others may still return results.
                    is_out_of_time = is_out_of_time or arrays is None
                self._stage.between_results()
                self._ask()
            if is_out_of_time:
                raise OutOfTime("the deadline of a task passed before it was done")
        except (BrokenExecutor, Stopped):
            yield from self._done_already()
            raise
        finally:
            self.stop.set()
            for _, future in self._flying.values():
                future.cancel()

    def _ask(self) -> None:
        now = time.monotonic()
        if now - self._asked < _SECONDS_BETWEEN_CALLS:
            return
        self._asked = now
        n_done = self._n_done + sum(list(self._fractions.values()))
        if not self._stage.should_continue(n_done / max(1, len(self._stage.tasks))):
            raise Stopped("the stage was stopped before all tasks were done")

    def _count_workers(self) -> None:
        if self._n_wanted == 0 or time.monotonic() - self._counted > _SECONDS_BETWEEN_COUNTS:
            self._n_wanted, self._counted = _IN_FLIGHT * count_workers(self._executor), time.monotonic()

    def _submit(self, index: int) -> None:
        left = None if self._deadline is None else self._deadline - time.monotonic()
        stage = self._stage
        task = _Task(stage.work, stage.common, stage.tasks[index], left, index, self.stop, self._fractions)
        try:
            future = self._executor.submit(_do_here if self._is_local else _do, task)
        except RuntimeError as error:  # broken, or shut down; or one more thread cannot be started
            if self._is_local and self._flying:
                self._waiting.append(index)
                self._n_wanted, self._counted = len(self._flying), time.monotonic()
                return
            raise BrokenExecutor(str(error)) from error
        if not all(callable(getattr(future, name, None)) for name in ("add_done_callback", "result", "cancel")):
            raise _nonsense(self._executor, shown(future), "a future with add_done_callback, result and cancel")
        self._flying[index] = task.token, future
        future.add_done_callback(lambda _: self._landed.put(index))

    def _wait(self) -> int | None:
        try:
            return self._landed.get(timeout=_SECONDS_BETWEEN_CALLS)
        except queue.Empty:
            return None

    def _result(self, index: int) -> Arrays | None:
        token, future = self._flying.pop(index)
        try:
            returned = future.result()
        except CancelledError as error:  # not by us
            raise BrokenExecutor("a task was cancelled") from error
        except Exception as error:
            _explain(error)
            raise
        if not _is_sealed(returned):
            raise _nonsense(self._executor, shown(returned), "the task's result")
        seal, arrays = returned
        if not self._is_local and seal != _seal(token, arrays):
            raise _nonsense(self._executor, "arrays of another task, or changed ones,", "the task's result")
        self._fractions.pop(index, None)
        self._n_done += arrays is not None
        return arrays

    def _done_already(self) -> Iterator[tuple[int, Arrays]]:
        """Yield what was done by the time that the stage was stopped."""
        while not self._landed.empty():
            index = self._landed.get()
            with suppress(Exception):
                if (arrays := self._result(index)) is not None:
                    yield index, arrays


@dataclass
class _Task:
    """One call of `work` as it travels to a worker."""

    work: Work
    common: Any
    task: Any
    seconds: float | None
    index: int
    stop: threading.Event | None  # stays in this process, like what follows
    fractions: dict[int, float] | None
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"stop": None, "fractions": None}

    def __dask_tokenize__(self) -> str:
        """Spare Dask a look at all that is common to the tasks, once for each."""
        return self.token


def aligned(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with arrays aligned: those that came over a network may stand anywhere in memory."""
    return {
        name: np.require(value, requirements=["C", "A"]) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


_Sealed = tuple[str, Arrays | None]
"""A task's result, None if its deadline passed, as it travels back: with a seal that tells it from all others."""


def _seal(token: str, arrays: Arrays | None) -> str:
    """Return the SHA-256 of a task's token and of the names, types, shapes and bytes of its arrays."""
    seal = hashlib.sha256(token.encode())
    for name, array in sorted((arrays or {}).items()):
        seal.update(f"\n{name!r} {array.dtype.str} {array.shape}\n".encode())
        seal.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return f"{'none' if arrays is None else 'arrays'} {seal.hexdigest()}"


def _is_sealed(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], str):
        return False
    arrays = value[1]
    return arrays is None or (
        isinstance(arrays, Mapping)
        and all(isinstance(name, str) for name in arrays)
        and all(isinstance(array, np.ndarray) and not array.dtype.hasobject for array in arrays.values())
    )


def _nonsense(executor: Any, returned: str, expected: str) -> WorkerError:
    return WorkerError(
        f"the executor {type(executor).__name__} returned {returned} instead of {expected}: fix the executor, or use "
        "one of concurrent.futures, loky, Dask or mpi4py"
    )


def shown(value: object) -> str:
    """Return the start of the value's text, and its type; `reprlib` bears a `__repr__` that raises."""
    return f"{reprlib.repr(value):.80} ({type(value).__name__})"


def _do(task: _Task) -> _Sealed:
    arrays = _do_here(task)[1]
    return _seal(task.token, arrays), arrays


def _do_here(task: _Task) -> _Sealed:
    """Do a task; in this process nobody can change its result, so it needs no seal."""
    deadline = None if task.seconds is None else time.monotonic() + task.seconds

    def should_continue(fraction: float) -> bool:
        if task.fractions is not None:
            task.fractions[task.index] = fraction
        is_stopped = task.stop is not None and task.stop.is_set()
        return not is_stopped and (deadline is None or time.monotonic() < deadline)

    with explaining_shortage():  # here, where the memory is short
        return "", task.work(task.common, task.task, should_continue) if should_continue(0.0) else None


def _explain(error: Exception) -> None:
    """Raise what an executor's own failure means; return if it is none."""
    if type(error).__module__.split(".")[0] == "distributed":  # KilledWorker, a lost connection
        raise BrokenExecutor(f"{type(error).__name__}: {error}") from error
    is_refused = any(kind.__name__ == "PicklingError" for kind in type(error).__mro__)
    if is_refused or (isinstance(error, (AttributeError, TypeError)) and "pickle" in str(error)):
        raise OptionError(
            f"a task cannot be sent to the workers ({error}); define your score in a module that they can import, "
            "without lambdas, or use an executor that also sends code, such as loky or Dask"
        ) from error


def count_workers(executor: Any) -> int:
    """Return how many tasks an executor does at a time, as far as it tells; else the number of processors here."""
    client = getattr(executor, "_client", None)  # of Dask: threads of all workers that have come so far
    if client is not None and callable(getattr(client, "nthreads", None)):
        return max(1, sum(int(n) for n in client.nthreads().values()))
    for name in ("num_workers", "_max_workers"):
        told = getattr(executor, name, None)
        if isinstance(told, int) and told > 0:
            return told
    return os.cpu_count() or 1
