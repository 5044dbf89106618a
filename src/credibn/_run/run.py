"""One call from its first to its last stage: limits, the reason to stop, progress, tasks and checkpoints."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from os import PathLike
from types import FrameType
from typing import Any

import numpy as np

from credibn._run.memory import MemoryGuard
from credibn._run.store import Arrays, Memory, Store, digest_of
from credibn._run.tally import FINISHING, Tally
from credibn._run.tasks import OutOfTime, ShouldContinue, Tasks, Work, count_workers, shown
from credibn.errors import OptionError, WorkerError

_GRACE = 0.5
"""Seconds that each stage that puts what was found in order may take, however late it is."""
_SECONDS_BETWEEN_MEASUREMENTS = 0.5
_FEWEST_PROCESSORS = 0.1


class Run:
    """Passes progress on, says whether to continue, and does the tasks of each stage; `reason` says why it stopped.

    What is found must be put in order (the stages `FINISHING`), so a search is told to stop so early that the predicted
    time for this is left. Where it takes longer, or after Ctrl-C, it gets a moment, and then only the best part stays.

    Parameters
    ----------
    progress : callable, optional
        Called with the stage and the fraction done; the run stops if it returns False. If it has a method ``tally``,
        that is called before with the `Tally` of a search; a method ``expect``, with a stage and how many seconds it
        should take.
    time_limit : float, optional
        Seconds for the whole run.
    max_bytes : int, optional
        How much memory the process may take besides what it has; by default most of what can be had.
    n_threads : int
        Of this process.
    executor : Executor, optional
        Does the tasks; by default threads of this process do.
    store : Store, optional
        Where to save what is done, until the caller closes it; see also `saving_to`.
    began : float, optional
        The time of `clock` from which the time limit counts; by default now.
    clock, processor_clock : callable
        Return seconds, and the seconds that all threads have spent.
    """

    def __init__(
        self,
        progress: Callable[[str, float], bool | None] | None = None,
        time_limit: float | None = None,
        max_bytes: int | None = None,
        n_threads: int = 1,
        executor: Executor | None = None,
        store: Store | None = None,
        began: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        processor_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.reason: str | None = None
        self.done: dict[str, float] = {}
        """How far each stage has come, as a fraction."""
        self.time_limit, self.max_bytes, self.n_threads = time_limit, max_bytes, n_threads
        self.executor = _checked(executor)
        self.store, self.can_resume = store, True
        self.memory: Memory | None = None
        """What searches leave to the next, while `remembering`."""
        self.deadline = None if time_limit is None else (clock() if began is None else began) + time_limit
        self._last_write, self._per_row = self.deadline, 0.0
        self._progress = progress
        self._count: Callable[[], Tally] | None = None
        self._tell: Callable[[Tally], None] | None = getattr(progress, "tally", None)
        self._reserved = 0.0
        self._check: Callable[[str, float], bool] | None = None
        self._clock, self._processor_clock = clock, processor_clock
        self._processors, self._measured = 1.0, (clock(), processor_clock())
        self._guard = MemoryGuard(max_bytes)
        self._reached_at = self._began_at = clock()
        self._finishing: str | None = None
        self._started = time.perf_counter()
        self._seconds = {"read": 0.0, "score": 0.0, "search": 0.0, "posterior": 0.0}

    # ---- limits and progress ----

    def __call__(self, stage: str, fraction: float) -> bool:
        """Report progress, and return whether to continue."""
        self.done[stage] = fraction
        should_continue = self._should_continue(stage, fraction)
        return should_continue and (self._check is None or self._check(stage, fraction))

    def reach(self, reason: str) -> None:
        """Note that a limit is reached, or that somebody asked to stop; the first reason counts."""
        if self.reason is None:
            self.reason, self._reached_at = reason, self._clock()

    def end_after(self, seconds: float) -> None:
        """Set a time limit, counted from now."""
        self.time_limit, self.deadline = seconds, self._clock() + seconds

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit; None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - self._clock())

    def leave_to_write(self, seconds: float, per_row: float) -> None:
        """Let the search end this many seconds before the time limit, and sooner by some for each row found."""
        self._per_row = per_row
        if self.deadline is not None:
            self.deadline -= seconds

    def seconds_to_write(self) -> float | None:
        """Return the seconds until the time limit, with those left for files; None without a limit."""
        return None if self._last_write is None else max(0.0, self._last_write - self._clock())

    def expect(self, stage: str, seconds: float) -> None:
        """Tell whoever watches how long a stage should take, if they want to know."""
        tell = getattr(self._progress, "expect", None)
        if tell is not None:
            tell(stage, seconds)

    def follow(self, count: Callable[[], Tally] | None) -> None:
        """Note how to count what the search has found so far; None once it is over."""
        self._count = count

    def tally(self) -> Tally | None:
        """Return what the search has found so far; None where there is none."""
        return None if self._count is None else self._count()

    @contextmanager
    def checking(self, check: Callable[[str, float], bool]) -> Iterator[None]:
        """Stop also where `check`, called with each report of progress, returns False."""
        before = self._check

        def both(stage: str, fraction: float) -> bool:
            return (before is None or before(stage, fraction)) and check(stage, fraction)

        self._check = both
        try:
            yield
        finally:
            self._check = before

    @contextmanager
    def reserving(self, seconds: float) -> Iterator[None]:
        """Leave at least this many seconds of the time limit when the block ends."""
        before, self._reserved = self._reserved, seconds
        try:
            yield
        finally:
            self._reserved = before

    def aside(self, seconds: float) -> "Run":
        """Return a run for something that this one does besides, or still does after it was stopped.

        It has as many threads and the same executor, but no checkpoint, and ends after some seconds. While this run is
        not stopped, the other reports to it.
        """

        def report(stage: str, fraction: float) -> bool:
            return self("small", fraction)

        progress = report if self.reason is None else None
        return Run(
            progress,
            seconds,
            self.max_bytes,
            self.n_threads,
            self.executor,
            clock=self._clock,
            processor_clock=self._processor_clock,
        )

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time of the block to that of a stage."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] += time.perf_counter() - before

    def timings(self) -> dict[str, float]:
        """Return the seconds of each stage and in total."""
        return {**self._seconds, "total": time.perf_counter() - self._started}

    @contextmanager
    def handling_interrupts(self) -> Iterator[None]:
        """Let the first Ctrl-C or SIGTERM end the run in good order, so that what was found is returned.

        The second raises KeyboardInterrupt. Only in the main thread, and only where nobody else handles the signal.
        """

        def stop(number: int, frame: FrameType | None) -> None:
            if self.reason is not None:
                raise KeyboardInterrupt
            self.reach("interrupted")

        before = {}
        if threading.current_thread() is threading.main_thread():
            defaults = (signal.SIG_DFL, signal.default_int_handler)
            before = {
                number: handler
                for number in (signal.SIGINT, signal.SIGTERM)
                if (handler := signal.getsignal(number)) in defaults
            }
        for number in before:
            signal.signal(number, stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _should_continue(self, stage: str, fraction: float) -> bool:
        try:
            is_told = self.reason is None and self._tell is not None
            tally = self.tally() if is_told or self.deadline is not None else None
            if is_told and self._tell is not None and tally is not None:
                self._tell(tally)
            if self.reason is None and self._progress is not None and self._progress(stage, fraction) is False:
                self.reach("interrupted")
        except KeyboardInterrupt:
            self.reach("interrupted")
        if stage in FINISHING:
            return self._may_finish(stage)
        self._finishing = None
        if self.deadline is not None and self._clock() >= self.deadline - self._reserved - self._seconds_after(tally):
            self.reach("time_limit")
        if self.reason is None and self._guard.is_reached():
            self.reach("memory_limit")
        return self.reason is None

    def _seconds_after(self, tally: Tally | None) -> float:
        """Return how long it takes to put in order and to deliver what is found so far."""
        if tally is None:
            return 0.0
        return tally.seconds_to_finish / self._processors_lately() + tally.n_found * self._per_row

    def _processors_lately(self) -> float:
        """Return how many processors the run has had lately: others may want them too."""
        now, spent = self._clock(), self._processor_clock()
        seconds = now - self._measured[0]
        if seconds >= _SECONDS_BETWEEN_MEASUREMENTS:
            self._processors = max((spent - self._measured[1]) / seconds, _FEWEST_PROCESSORS)
            self._measured = now, spent
        return self._processors

    def _may_finish(self, stage: str) -> bool:
        now = self._clock()
        if stage != self._finishing:
            self._finishing, self._began_at = stage, now
        if self.reason == "interrupted":
            return now < max(self._began_at, self._reached_at) + _GRACE
        if self.deadline is None or now < max(self.deadline, self._began_at + _GRACE):
            return True
        self.reach("time_limit")
        return False

    # ---- tasks and checkpoints ----

    @property
    def n_workers(self) -> int:
        """How many tasks are done at a time."""
        return self.n_threads if self.executor is None else count_workers(self.executor)

    def do(
        self,
        stage: str,
        key: str | None,
        work: Work,
        common: Any,
        tasks: Sequence[Any],
        should_continue: ShouldContinue,
        *,
        margin: float = 0.0,
        one_at_a_time: bool = False,
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield the index and the result of each task as it is done, in any order; those in the store first.

        The arrays cannot be changed.

        Parameters
        ----------
        stage : str
            A short name, for the files.
        key : str
            The cache key, all that the results depend on: version, data, options, and how the tasks were cut. None:
            results are not stored.
        work : callable
            A function of a module, so that workers can import it.
        common, tasks
            Its arguments: what all calls share, and what each has to itself. The caller may add tasks while it takes
            results.
        should_continue : callable
            Called about ten times a second, in this thread, with the fraction done.
        margin : float
            Seconds before the time limit at which workers of an executor stop, which cannot be told to.
        one_at_a_time : bool
            In this process, do one task after the other: for code that may not be safe in threads.

        Raises
        ------
        Stopped
            When `should_continue` returned False, after all that was done by then has been yielded. Tasks that have not
            begun are cancelled. Those at work on an executor are not waited for; threads are.
        OutOfTime
            When the time limit passed in a worker, likewise.
        WorkerError
            If the executor has lost a worker and does not retry, or returns anything but the result of
            the task.
        Exception
            What a task raised, as it is.
        """
        digest = digest_of(f"{key}\n{len(tasks)} tasks")
        store = self.store if key is not None else None
        done: set[int] = set()
        for index, arrays in () if store is None else store.load_results(stage, digest):
            if 0 <= index < len(tasks) and index not in done:
                done.add(index)
                yield index, _read_only(arrays)
        rest = [index for index in range(len(tasks)) if index not in done]
        todo, results = Tasks(work, common, tasks, rest, should_continue), None
        if store is not None:
            results = store.results(stage, digest)
            todo.between_results = lambda: store.write_in_time(results)
        try:
            for index, arrays in self._scheduled(todo, margin, one_at_a_time):
                if store is not None and results is not None:
                    store.add(results, index, arrays)
                yield index, _read_only(arrays)
        except OutOfTime:
            self.reach("time_limit")
            raise
        except BrokenExecutor as error:
            raise self._lost(error) from error
        finally:
            if store is not None and results is not None:
                store.end_stage(results)

    def _scheduled(self, todo: Tasks, margin: float, one_at_a_time: bool) -> Iterator[tuple[int, Arrays]]:
        if self.executor is not None:
            left = self.seconds_left()
            return todo.do_on(self.executor, None if left is None else max(0.0, left - max(margin, self._reserved)))
        if one_at_a_time or self.n_threads == 1 or len(todo.tasks) == 1:
            return todo.do_in_turn()
        return todo.do_in_threads(self.n_threads)

    @contextmanager
    def remembering(self, memory: Memory | None = None) -> Iterator[None]:
        """Let each search inside pass on to the next what it has computed, in this memory if given."""
        before = self.memory
        self.memory = memory or before or Memory()
        try:
            yield
        finally:
            self.memory = before

    @contextmanager
    def saving_to(self, folder: str | PathLike[str] | None) -> Iterator[None]:
        """Save what is done inside to a folder, and remove that at the end.

        After a failure, or if the run `can_resume`, it stays, so that the same call can come again.
        """
        if folder is None:
            yield
            return
        self.store = Store(folder)
        try:
            yield
            if not self.can_resume:
                self.store.remove()
        finally:
            self.store.close()

    def _lost(self, error: BaseException) -> WorkerError:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        fate = "are lost"
        if self.store is not None and self.store.is_writable:
            fate = f"are saved in {self.store.path}: start again to resume"
        return WorkerError(
            f"the executor {type(self.executor).__name__} is broken ({reason}). Workers die when they are "
            "killed, run out of memory, or cannot import what they are sent (your own classes must be in a module, and "
            f"a script needs 'if __name__ == \"__main__\":'). Finished tasks {fate}"
        )


def _checked(executor: Any) -> Any:
    if executor is not None and hasattr(executor, "get_executor"):
        executor = executor.get_executor()  # a Dask client
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise OptionError(
            f"executor is {shown(executor)}; give an object with a submit method, such as a ProcessPoolExecutor or "
            "Dask's Client.get_executor()"
        )
    return executor


def _read_only(arrays: Arrays) -> Arrays:
    """Return views that cannot be changed: what is stored is written later."""
    views = {name: np.require(array, requirements=["A"]).view() for name, array in arrays.items()}
    for view in views.values():
        view.flags.writeable = False
    return views
