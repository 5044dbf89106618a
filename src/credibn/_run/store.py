"""Checkpoints in a folder: the arrays of a long run, so that the same call can resume after any interruption.

A file is moved into place only when it is whole. Its first line holds the SHA-256 of the cache key that the arrays
belong to, and that of the file's own name and of all that follows, the bytes of an .npz file without pickle: a file of
another key, one that is damaged, or one copied over another counts as missing. Nothing in a file is executed.
"""

import hashlib
import io
import os
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.atomic import replacing, unwritable, why_unwritable
from credibn.errors import CredibnError, OptionError, warn

if TYPE_CHECKING:
    from filelock import FileLock

Arrays = Mapping[str, NDArray[Any]]
"""The result of a task: named arrays only, so that it can be stored without pickle."""

_LOCK, _ENDING = "run.lock", ".checkpoint"
_MARK = "credibn-checkpoint-3"
_SECONDS_BEFORE_WRITING = 3.0
_SECONDS_TO_LOCK = 0.2
"""Long enough for a second attempt, where a run that ended has just removed the file."""
_SECONDS_BETWEEN_FILES = 1.0


class Store:
    """A folder of checkpoints that one process holds at a time, until `remove`, `close` or the end of the process.

    Nothing is written in the first seconds: 3, or what the environment variable ``CREDIBN_CHECKPOINT_SECONDS`` says.
    After that, all that is finished is.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.seconds_before_writing = _seconds_before_writing()
        if not isinstance(folder, str | os.PathLike):
            raise OptionError.refusing("checkpoint", folder, "give the path of a folder")
        self.path = Path(folder)
        self._lock = _hold(self.path)
        self._release = weakref.finalize(self, self._lock.release)
        self._states: dict[tuple[str, str], Arrays] = {}
        self._done: list[_Results] = []  # of stages that ended before the first write
        self._began = time.monotonic()
        self._has_failed = False
        for stale in self.path.glob(".credibn-*.tmp"):
            stale.unlink(missing_ok=True)

    @property
    def is_writable(self) -> bool:
        """Whether what is saved gets written: the folder is held, and no write has failed."""
        return self._release.alive and not self._has_failed

    @property
    def is_resuming(self) -> bool:
        """Whether the folder holds checkpoints."""
        return any(self.path.glob(f"*{_ENDING}"))

    def save(self, stage: str, key: str, name: str, arrays: Arrays) -> None:
        """Save a named state in place of an older one."""
        if not self.is_writable:
            return
        at = f"{stage}-{name}", digest_of(key)
        self._states.pop(at, None)  # what is saved later is written later: it may refer to what came before
        self._states[at] = arrays
        self._write_if_due()

    def load(self, stage: str, key: str, name: str) -> Arrays | None:
        """Return the state of this name; None where it is missing, damaged or of another key."""
        at = f"{stage}-{name}", digest_of(key)
        return self._states[at] if at in self._states else _read(self._file(*at), at[1]).get(0)

    def results(self, stage: str, digest: str) -> "_Results":
        """Return where the results of a stage's tasks are collected from now on."""
        return _Results(stage, digest)

    def load_results(self, stage: str, digest: str) -> Iterator[tuple[int, Arrays]]:
        """Yield the index and the result of each task of a stage that is done."""
        for results in self._done:
            if (results.stage, results.digest) == (stage, digest):
                yield from results.by_task.items()
        for path in sorted(self.path.glob(self._file(f"{stage}-task-*", digest).name)):
            yield from _read(path, digest).items()

    def add(self, results: "_Results", index: int, arrays: Arrays) -> None:
        """Save the result of a task."""
        if self.is_writable:
            results.by_task[index] = arrays

    def write_in_time(self, results: "_Results") -> None:
        """Write the results of the stage at hand, unless that was done a moment ago."""
        if time.monotonic() - results.written >= _SECONDS_BETWEEN_FILES:
            self._write_if_due(results)

    def end_stage(self, results: "_Results") -> None:
        """Write the rest of a stage, or remember it until the first write."""
        if results.by_task:
            self._done.append(results)
        self._write_if_due()

    def remove(self) -> None:
        """Remove the checkpoints, and the folder too if it is empty then: the run is over."""
        self._states.clear()
        self._done.clear()
        if not self._release.alive:
            return
        try:
            for path in (*self.path.glob(f"*{_ENDING}"), *self.path.glob(".credibn-*.tmp")):
                path.unlink(missing_ok=True)
            self.close()
        except OSError as error:
            self._release()
            _warn(f"{self.path} could not be removed ({why_unwritable(error)}); please remove it")

    def close(self) -> None:
        """Write what is finished and let go of the folder; remove it only if it is empty."""
        self._write_if_due()
        if not self._release.alive:
            return
        is_empty = not self.is_resuming
        if is_empty:
            with suppress(OSError):
                (self.path / _LOCK).unlink()
        self._release()
        if is_empty:
            with suppress(OSError):
                self.path.rmdir()

    def _file(self, name: str, digest: str) -> Path:
        return self.path / f"{name}-{digest[:16]}{_ENDING}"

    def _write_if_due(self, current: "_Results | None" = None) -> None:
        """Write the states and results that are not written yet, once the run has lasted long enough.

        Where that fails, also for lack of memory, the run continues without: what it finds is worth more than the time
        that a checkpoint would save after a kill. Older files stay, and a run that resumes starts from them.
        """
        if not self.is_writable or time.monotonic() - self._began < self.seconds_before_writing:
            return
        unwritten = [*self._done, *([] if current is None else [current])]
        try:
            for (name, digest), arrays in self._states.items():
                self._write_file(name, digest, {0: arrays})
            for results in unwritten:
                if results.by_task:  # no task is in two files, so the least index names a file of its own
                    self._write_file(f"{results.stage}-task-{min(results.by_task)}", results.digest, results.by_task)
        except (OSError, CredibnError, MemoryError) as error:
            self._has_failed = True
            reason = why_unwritable(error) or "not enough memory"
            _warn(
                f"no checkpoint can be written to {self.path} ({reason}). The result does not need it; a run that "
                "resumes starts from the last checkpoint written. To get checkpoints, start again with a writable "
                "folder"
            )
        self._states.clear()
        self._done.clear()
        for results in unwritten:
            results.by_task, results.written = {}, time.monotonic()

    def _write_file(self, name: str, digest: str, arrays: Mapping[int, Arrays]) -> None:
        content, path = _pack(arrays), self._file(name, digest)
        self.path.mkdir(parents=True, exist_ok=True)
        with replacing(path) as sink:
            sink.write(_first_line(path, digest, content))
            sink.write(content)


class Memory:
    """What the searches of one call leave to the next, in memory: by name, the newest state with its cache key."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[str, Arrays]] = {}

    def save(self, name: str, key: str, arrays: Arrays) -> None:
        """Save a named state in place of an older one, also one of another key."""
        self._states[name] = key, arrays

    def load(self, name: str, key: str) -> Arrays | None:
        """Return the state of this name; None where there is none, or that of another key."""
        found_key, arrays = self._states.get(name, (None, None))
        return arrays if found_key == key else None

    def take(self, name: str, key: str) -> Arrays | None:
        """Return a state likewise, and forget it."""
        arrays = self.load(name, key)
        if arrays is not None:
            del self._states[name]
        return arrays


@dataclass
class _Results:
    """Results of a stage's tasks that are not written yet."""

    stage: str
    digest: str
    by_task: dict[int, Arrays] = field(default_factory=dict)
    written: float = field(default_factory=time.monotonic)


def digest_of(key: str) -> str:
    """Return the SHA-256 of a cache key."""
    return hashlib.sha256(key.encode()).hexdigest()


def _warn(message: str) -> None:
    warn(message)


def _seconds_before_writing() -> float:
    text = os.environ.get("CREDIBN_CHECKPOINT_SECONDS")
    if text is None:
        return _SECONDS_BEFORE_WRITING
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"CREDIBN_CHECKPOINT_SECONDS is {text!r}; it must be a number of seconds") from None


def _hold(folder: Path) -> "FileLock":
    """Make the folder and lock it; the lock ends with its process."""
    from filelock import FileLock, Timeout  # only those who store something wait for it

    lock = FileLock(folder / _LOCK, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=_SECONDS_TO_LOCK)
    except Timeout:
        raise OptionError(
            f"{folder} is in use by another run; wait for it to finish, or choose another folder"
        ) from None
    except OSError as error:
        raise unwritable(folder, error, "choose another folder", OptionError) from error
    return lock


def _pack(arrays: Mapping[int, Arrays]) -> memoryview:
    """Return the bytes of an .npz file, each array under the index of its task and its name."""
    named: dict[str, NDArray[Any]] = {}
    for index, given in arrays.items():
        named[f"{index}:"] = np.zeros(0)  # also a task without arrays is done
        named |= {f"{index}:{name}": np.asarray(array) for name, array in given.items()}
    if any(array.dtype.hasobject for array in named.values()):
        raise TypeError("a task returned an array of Python objects; it must return numbers")
    buffer = io.BytesIO()
    np.savez(buffer, **named)  # type: ignore[arg-type]
    return buffer.getbuffer()


def _first_line(path: Path, digest: str, content: bytes | memoryview) -> bytes:
    checksum = hashlib.sha256(f"{path.name}\n".encode())
    checksum.update(content)
    return f"{_MARK} {digest} {checksum.hexdigest()}\n".encode()


def _read(path: Path, digest: str) -> dict[int, Arrays]:
    """Return what a file holds for a cache key; its content is read only once the checksum has proved right."""
    try:
        with open(path, "rb") as source:
            first_line, content = source.readline(256), source.read()
    except OSError:
        return {}
    if first_line != _first_line(path, digest, content):
        return {}
    found: dict[int, dict[str, NDArray[Any]]] = {}
    with np.load(io.BytesIO(content)) as stored:
        for entry in stored.files:
            index, _, name = entry.partition(":")
            arrays = found.setdefault(int(index), {})
            if name:
                arrays[name] = stored[entry]
    return dict(found)
