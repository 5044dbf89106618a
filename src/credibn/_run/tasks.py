"""Independent pieces of work on any executor.

A piece is a call ``work(common, piece, goes_on)`` of a function that a worker can import: it depends on its arguments
alone, and gives named arrays. Who does it, in which order and how often changes nothing, so that pieces may be kept in
a folder, left out when the work is taken up again, and done twice after a worker has died.

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
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from credibn._base.atomic import why_unwritable
from credibn._run.memory import explaining_shortage
from credibn._run.store import Arrays, KeptFolder, digest_of
from credibn.errors import CredibnError, CredibnWarning, OptionError, WorkerError

__all__ = ["GoesOn", "OutOfTime", "Stopped", "Work", "Workbench", "aligned"]

GoesOn = Callable[[float], bool]
"""Told the fraction done, says whether to go on."""
Work = Callable[[Any, Any, GoesOn], Arrays | None]
"""What is done with a piece: (common, piece, goes_on) to arrays, or None if `goes_on` said no."""

_SECONDS_BEFORE_KEEPING = 3.0
_SECONDS_BETWEEN_FILES = 1.0
_SECONDS_BETWEEN_QUESTIONS = 0.1
_SECONDS_BETWEEN_COUNTS = 2.0
"""How often an executor is asked for the number of its workers: those of a cluster come and go."""
_IN_FLIGHT = 3
"""Pieces submitted for each worker: enough that none waits, few since each carries what is common to all."""


class Stopped(Exception):  # noqa: N818 - no error: somebody asked for it
    """The work was stopped before all pieces were done."""


class OutOfTime(Stopped):
    """The deadline of a task on an executor passed before it was done."""


class Workbench:
    """Where pieces of work are done, and kept once they are done.

    Parameters
    ----------
    executor : Executor, optional
        Does the pieces; by default threads of this process do.
    n_threads : int
        How many threads, where there is no executor.
    folder : Path, optional
        Where finished pieces are kept. One run at a time may hold it, until `forget`, `close` or the end of the
        process.

    Attributes
    ----------
    seconds_before_keeping : float
        Nothing is written before the work has lasted so long, from the making of the workbench: 3, or what the
        environment variable ``CREDIBN_CHECKPOINT_SECONDS`` says. Then all that is finished is.
    seconds_per_row : float
        What the caller needs for each row found, once the work is done and within its time limit; 0 unless set.

    Raises
    ------
    OptionError
        For an executor without ``submit``, and for a folder that cannot be used or that another run holds.

    Examples
    --------
    >>> import numpy as np
    >>> def square(common, piece, goes_on):
    ...     return {"square": np.array(piece**2 + common)}
    >>> bench = Workbench(n_threads=2)
    >>> done = bench.do("squares", "of 1 to 3, plus 10", square, 10, [1, 2, 3], lambda fraction: True)
    >>> sorted((piece, int(arrays["square"])) for piece, arrays in done)
    [(0, 11), (1, 14), (2, 19)]
    """

    def __init__(self, executor: Executor | None = None, n_threads: int = 1, folder: Path | None = None) -> None:
        if executor is not None and hasattr(executor, "get_executor"):
            executor = executor.get_executor()  # a Dask client
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise OptionError(
                f"executor is {_shown(executor)}; give an object with a method submit, such as a ProcessPoolExecutor "
                "or the answer of Dask's Client.get_executor()"
            )
        self.seconds_before_keeping = _seconds_before_keeping()
        self.seconds_per_row = 0.0
        self._executor = executor
        self._n_threads = n_threads
        self._folder = None if folder is None else KeptFolder(Path(folder))
        self._states: dict[tuple[str, str], Arrays] = {}
        self._batches: list[_Batch] = []  # of stages that were over before it was time to keep anything
        self._began = time.monotonic()
        self._has_failed = False

    @property
    def is_embedded(self) -> bool:
        """Whether there is neither an executor nor a folder: callers then use the threads of the compiled core."""
        return self._executor is None and self._folder is None

    @property
    def has_executor(self) -> bool:
        """Whether pieces are done by an executor."""
        return self._executor is not None

    @property
    def has_folder(self) -> bool:
        """Whether there is a folder for what is done."""
        return self._folder is not None

    @property
    def is_keeping(self) -> bool:
        """Whether what is done is kept: there is a folder, and it could be written so far."""
        return self._folder is not None and not self._has_failed

    @property
    def was_begun(self) -> bool:
        """Whether the folder holds what an earlier run has done."""
        return self._folder is not None and self._folder.is_filled()

    @property
    def n_workers(self) -> int:
        """How many pieces are done at a time, as far as the executor tells; else the number of processors here."""
        return self._n_threads if self._executor is None else _count_workers(self._executor)

    def do(
        self,
        stage: str,
        question: str | None,
        work: Work,
        common: Any,
        pieces: Sequence[Any],
        goes_on: GoesOn,
        time_left: float | None = None,
        *,
        one_at_a_time: bool = False,
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield the index and the result of each piece as it is done, in any order; those kept from a run before first.

        The arrays cannot be changed.

        Parameters
        ----------
        stage : str
            A short name, for the files.
        question : str
            All that the results depend on: version, data, options, and how the pieces were cut. None: pieces are
            not kept, and those that the caller adds to `pieces` while it takes results are done too.
        work : callable
            A function of a module, so that workers can import it.
        common, pieces
            Its arguments: what all calls share, and what each has to itself.
        goes_on : callable
            Asked about ten times a second, in this thread, with the fraction done.
        time_left : float, optional
            Seconds after which a worker of an executor tells a task to stop: nobody else can reach it. In threads of
            this process `goes_on` alone decides.
        one_at_a_time : bool
            In threads of this process, do one piece after the other: for code that may not be safe there.

        Raises
        ------
        Stopped
            When `goes_on` said no, after all that was done by then has been yielded. Pieces that have not begun are
            cancelled. Those at work on an executor are not waited for; threads are.
        OutOfTime
            When `time_left` has passed in a worker, likewise.
        WorkerError
            When the executor has lost a worker and does not try again by itself, or returns anything but the result of
            the task.
        Exception
            What a piece raised, as it is.
        """
        digest = digest_of(f"{question}\n{len(pieces)} pieces")
        done: set[int] = set()
        for index, arrays in self._kept_pieces(stage, digest) if question is not None else ():
            if 0 <= index < len(pieces) and index not in done:
                done.add(index)
                yield index, _read_only(arrays)
        batch = _Batch(stage, digest)
        rest = [index for index in range(len(pieces)) if index not in done]
        run = _Run(work, common, pieces, rest, goes_on, None if self._executor is None else time_left)
        own = None if self._executor is not None else ThreadPoolExecutor(1 if one_at_a_time else self._n_threads)
        try:
            for index, arrays in run.results(own or self._executor, lambda: self._write_in_time(batch)):
                if self.is_keeping and question is not None:
                    batch.pieces[index] = arrays
                yield index, _read_only(arrays)
        except BrokenExecutor as error:
            self._give_up(error)
        finally:
            run.stop.set()
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
            if batch.pieces:
                self._batches.append(batch)
            if self._is_time_to_keep():
                self._write()

    def keep(self, stage: str, question: str, name: str, arrays: Arrays) -> None:
        """Keep one named state in place of an older one: once the work has lasted long enough, if a folder is given."""
        if not self.is_keeping:
            return
        key = f"{stage}-{name}", digest_of(question)
        self._states.pop(key, None)  # what is kept later is written later: it may refer to what came before
        self._states[key] = arrays
        if self._is_time_to_keep():
            self._write()

    def kept(self, stage: str, question: str, name: str) -> Arrays | None:
        """Return the state of this name; None where there is none, or it is damaged or of another question."""
        key = f"{stage}-{name}", digest_of(question)
        if self._folder is None or key in self._states:
            return self._states.get(key)
        return self._folder.read(*key).get(0)

    def forget(self) -> None:
        """Remove all that is kept, and let go of the folder: the work is over."""
        self._states.clear()
        self._batches.clear()
        if self._folder is not None:
            try:
                self._folder.forget()
            except OSError as error:
                self._warn(f"{self._folder.path} cannot be removed ({why_unwritable(error)}); remove it yourself")
            self._folder = None

    def close(self) -> None:
        """Write what is finished, and let go of the folder without removing what is kept."""
        if self._folder is not None:
            if self._is_time_to_keep():
                self._write()
            self._folder.close()
            self._folder = None

    def _is_time_to_keep(self) -> bool:
        return self.is_keeping and time.monotonic() - self._began >= self.seconds_before_keeping

    def _kept_pieces(self, stage: str, digest: str) -> Iterator[tuple[int, Arrays]]:
        for batch in self._batches:
            if (batch.stage, batch.digest) == (stage, digest):
                yield from batch.pieces.items()
        if self._folder is not None:
            for file in self._folder.read_all(stage, digest):
                yield from file.items()

    def _write_in_time(self, batch: "_Batch") -> None:
        if self._is_time_to_keep() and time.monotonic() - batch.written >= _SECONDS_BETWEEN_FILES:
            self._write(batch)

    def _write(self, batch: "_Batch | None" = None) -> None:
        """Write all states, the pieces of stages that are over, and those of the batch at hand.

        Where that fails, also for lack of memory, the run continues without: what it finds is worth more than what
        would save time after a kill. Files that were written before stay, and a run that resumes starts from them.
        """
        assert self._folder is not None
        batches = [*self._batches, *([] if batch is None else [batch])]
        try:
            for (name, digest), arrays in self._states.items():
                self._folder.write(name, digest, {0: arrays})
            for one in batches:
                if one.pieces:  # no piece is in two files, so the least of them names a file of its own
                    self._folder.write(f"{one.stage}-piece-{min(one.pieces)}", one.digest, one.pieces)
        except (OSError, CredibnError, MemoryError) as error:
            self._has_failed = True
            reason = why_unwritable(error) or "too little memory"
            self._warn(
                f"the checkpoint in {self._folder.path} cannot be written ({reason}). The result does not need it, but "
                "a run that resumes starts from what was written before. To have a checkpoint, start again with a "
                "folder that can be written"
            )
        self._states.clear()
        self._batches.clear()
        for one in batches:
            one.pieces, one.written = {}, time.monotonic()

    def _warn(self, message: str) -> None:
        warnings.warn(message, CredibnWarning, stacklevel=2)

    def _give_up(self, error: BaseException) -> NoReturn:
        if self._executor is None:  # a thread of this process could not be started
            raise error.__cause__ or error
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        fate = "is lost"
        if self._folder is not None and not self._has_failed:
            fate = f"is kept in {self._folder.path}: start again to go on"
        raise WorkerError(
            f"the executor {type(self._executor).__name__} can do no more work ({reason}). Workers die "
            "when they are killed, run out of memory, or cannot import what they are sent (your own classes must be in "
            f"a module, and a script needs 'if __name__ == \"__main__\":'). What was done so far {fate}"
        ) from error


@dataclass
class _Batch:
    """Finished pieces that are not written yet."""

    stage: str
    digest: str
    pieces: dict[int, Arrays] = field(default_factory=dict)
    written: float = field(default_factory=time.monotonic)


class _Run:
    """Pieces on their way through an executor."""

    def __init__(
        self,
        work: Work,
        common: Any,
        pieces: Sequence[Any],
        rest: list[int],
        goes_on: GoesOn,
        time_left: float | None,
    ) -> None:
        self.stop = threading.Event()
        self._work, self._common, self._pieces, self._goes_on = work, common, pieces, goes_on
        self._waiting = rest[::-1]
        self._n_known = len(pieces)
        self._n_done = len(pieces) - len(rest)
        self._deadline = None if time_left is None else time.monotonic() + time_left
        self._parts: dict[int, float] = {}  # fractions done of pieces at work in this process
        self._flying: dict[int, tuple[str, Future[_Sealed]]] = {}  # with the token of the task
        self._landed: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._asked = -1.0
        self._executor: Any = None

    def results(self, executor: Any, keep: Callable[[], None]) -> Iterator[tuple[int, Arrays]]:
        """Yield results until all pieces are done; raise Stopped after the last that was done in time."""
        self._executor = executor
        n_wanted, counted, is_out_of_time = 0, 0.0, False
        try:
            self._ask()
            while self._waiting or self._flying or self._n_known < len(self._pieces):
                self._waiting[:0] = range(len(self._pieces) - 1, self._n_known - 1, -1)
                self._n_known = len(self._pieces)
                if is_out_of_time:
                    self._waiting.clear()
                if n_wanted == 0 or time.monotonic() - counted > _SECONDS_BETWEEN_COUNTS:
                    n_wanted, counted = _IN_FLIGHT * _count_workers(executor), time.monotonic()
                while self._waiting and len(self._flying) < n_wanted:
                    self._submit(executor, self._waiting.pop())
                index = self._wait()
                if index is not None:
                    arrays = self._result(index)
                    if arrays is not None:
                        yield index, arrays
                    # Nobody has told it to stop, so its own deadline has passed; others may yet hand in.
                    is_out_of_time = is_out_of_time or arrays is None
                keep()
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
        if now - self._asked < _SECONDS_BETWEEN_QUESTIONS:
            return
        self._asked = now
        if not self._goes_on((self._n_done + sum(list(self._parts.values()))) / max(1, len(self._pieces))):
            raise Stopped("the work was stopped before all pieces were done")

    def _submit(self, executor: Any, index: int) -> None:
        left = None if self._deadline is None else self._deadline - time.monotonic()
        task = _Task(self._work, self._common, self._pieces[index], left, index, self.stop, self._parts)
        try:
            future = executor.submit(_do, task)
        except RuntimeError as error:  # broken, or shut down
            raise BrokenExecutor(str(error)) from error
        if not all(callable(getattr(future, name, None)) for name in ("add_done_callback", "result", "cancel")):
            raise _nonsense(executor, _shown(future), "a future with add_done_callback, result and cancel")
        self._flying[index] = task.token, future
        future.add_done_callback(lambda _: self._landed.put(index))

    def _wait(self) -> int | None:
        try:
            return self._landed.get(timeout=_SECONDS_BETWEEN_QUESTIONS)
        except queue.Empty:
            return None

    def _result(self, index: int) -> Arrays | None:
        token, future = self._flying.pop(index)
        try:
            returned = future.result()
        except CancelledError as error:  # not by us
            raise BrokenExecutor("a piece was cancelled") from error
        except Exception as error:
            _explain(error)
            raise
        if not _is_sealed(returned):
            raise _nonsense(self._executor, _shown(returned), "the task's result")
        seal, arrays = returned
        if seal != _seal(token, arrays):
            raise _nonsense(self._executor, "arrays of another task, or changed ones,", "the task's result")
        self._parts.pop(index, None)
        self._n_done += arrays is not None
        return arrays

    def _done_already(self) -> Iterator[tuple[int, Arrays]]:
        """Yield what was finished by the time that something ended the work."""
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
    piece: Any
    seconds: float | None
    index: int
    stop: threading.Event | None  # stays in this process, like what follows
    parts: dict[int, float] | None
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"stop": None, "parts": None}

    def __dask_tokenize__(self) -> str:
        """Spare Dask the look at all that is common to the pieces, once for each."""
        return self.token


def aligned(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with arrays aligned: those that came over a network may stand anywhere in memory.

    Examples
    --------
    >>> aligned({"a": np.zeros(3), "b": 1})["b"]
    1
    """
    return {
        name: np.require(value, requirements=["C", "A"]) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def _read_only(arrays: Arrays) -> Arrays:
    """Return views that cannot be changed: what is kept is written later."""
    views = {name: np.require(array, requirements=["A"]).view() for name, array in arrays.items()}
    for view in views.values():
        view.flags.writeable = False
    return views


_Sealed = tuple[str, Arrays | None]
"""The result of a task, None if its time was over, as it travels back: after the seal that tells it from all others."""


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


def _shown(value: object) -> str:
    """Return the start of the value's text, and its type; `reprlib` bears a `__repr__` that raises."""
    return f"{reprlib.repr(value):.80} ({type(value).__name__})"


def _do(task: _Task) -> _Sealed:
    deadline = None if task.seconds is None else time.monotonic() + task.seconds

    def goes_on(fraction: float) -> bool:
        if task.parts is not None:
            task.parts[task.index] = fraction
        is_stopped = task.stop is not None and task.stop.is_set()
        return not is_stopped and (deadline is None or time.monotonic() < deadline)

    with explaining_shortage():  # here, where the memory is short
        arrays = task.work(task.common, task.piece, goes_on) if goes_on(0.0) else None
        return _seal(task.token, arrays), arrays


def _explain(error: Exception) -> None:
    """Raise what an executor's own failure means; return if it is none."""
    if type(error).__module__.split(".")[0] == "distributed":  # KilledWorker, a lost connection
        raise BrokenExecutor(f"{type(error).__name__}: {error}") from error
    is_refused = any(kind.__name__ == "PicklingError" for kind in type(error).__mro__)
    if is_refused or (isinstance(error, (AttributeError, TypeError)) and "pickle" in str(error)):
        raise OptionError(
            f"the work cannot be sent to the executor's workers ({error}); define your score in a module that they can "
            "import, without lambdas, or use an executor that sends code too, such as loky or Dask"
        ) from error


def _count_workers(executor: Any) -> int:
    client = getattr(executor, "_client", None)  # of Dask: threads of all workers that have come so far
    if client is not None and callable(getattr(client, "nthreads", None)):
        return max(1, sum(int(n) for n in client.nthreads().values()))
    for name in ("num_workers", "_max_workers"):
        told = getattr(executor, name, None)
        if isinstance(told, int) and told > 0:
            return told
    return os.cpu_count() or 1


def _seconds_before_keeping() -> float:
    text = os.environ.get("CREDIBN_CHECKPOINT_SECONDS")
    if text is None:
        return _SECONDS_BEFORE_KEEPING
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"CREDIBN_CHECKPOINT_SECONDS is {text!r}; it must be a number of seconds") from None
