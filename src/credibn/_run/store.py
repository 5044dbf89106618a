"""Arrays kept in a folder while a long work lasts, so that it can be continued after any interruption.

A file is moved into place only when it is whole. Its first line holds the SHA-256 of the question that the arrays
answer, and that of the file's own name and of all that follows, the bytes of an .npz file without pickle: a file of
another question, one that is damaged, or one copied over another counts as not there. Nothing in a file is executed.
"""

import hashlib
import io
import os
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.atomic import replacing
from credibn.errors import OptionError

if sys.platform != "win32":
    import fcntl

__all__ = ["Arrays", "KeptFolder", "digest_of"]

Arrays = Mapping[str, NDArray[Any]]
"""What a piece gives: named arrays only, so that it can be kept without pickle."""

_LOCK, _ENDING = "work.lock", ".kept"
_MARK = "credibn-kept-2"


def digest_of(question: str) -> str:
    """Return the SHA-256 of a question.

    Examples
    --------
    >>> digest_of("which candidates?")[:8]
    '9321db1b'
    """
    return hashlib.sha256(question.encode()).hexdigest()


class KeptFolder:
    """A folder of kept arrays, held by one process at a time.

    Raises
    ------
    OptionError
        When the folder cannot be made, or another process holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = _hold(path / _LOCK)
        except OSError as error:
            reason = error.strerror or error
            raise OptionError(
                f"{path} cannot hold what is done so far ({reason}); check the folder and its permissions"
            ) from error
        if lock is None:
            raise OptionError(
                f"{path} is in use by another run that is still going on; wait for it, or give another folder"
            )
        _HELD.add(lock)
        self._release = weakref.finalize(self, _let_go, lock)
        for stale in path.glob(".credibn-*.tmp"):
            stale.unlink(missing_ok=True)

    def write(self, name: str, digest: str, arrays: Mapping[int, Arrays]) -> None:
        """Write the arrays of some pieces, all or nothing, in place of an older file of this name."""
        content = _pack(arrays)
        path = self._file(name, digest)
        self.path.mkdir(parents=True, exist_ok=True)
        with replacing(path) as sink:
            sink.write(_first_line(path, digest, content))
            sink.write(content)

    def read(self, name: str, digest: str) -> dict[int, Arrays]:
        """Return the arrays of each piece in a file: nothing where it is missing, damaged or of another question."""
        return _read(self._file(name, digest), digest)

    def read_all(self, stage: str, digest: str) -> Iterator[dict[int, Arrays]]:
        """Yield what each file of a stage holds for this question."""
        for path in sorted(self.path.glob(self._file(f"{stage}-piece-*", digest).name)):
            yield _read(path, digest)

    def is_filled(self) -> bool:
        """Whether anything is kept here."""
        return any(self.path.glob(f"*{_ENDING}"))

    def forget(self) -> None:
        """Remove what is kept, and the folder with it where nothing else is in there."""
        for path in (*self.path.glob(f"*{_ENDING}"), *self.path.glob(".credibn-*.tmp")):
            path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let go of the folder; what is kept stays, and the folder where anything is in there."""
        if not self._release.alive:
            return
        is_empty = not self.is_filled()
        if is_empty:
            with suppress(OSError):
                (self.path / _LOCK).unlink()
        self._release()
        if is_empty:
            with suppress(OSError):
                self.path.rmdir()

    def _file(self, name: str, digest: str) -> Path:
        return self.path / f"{name}-{digest[:16]}{_ENDING}"


_HELD: set[int] = set()
"""Descriptors of the locks that this process holds."""


def _let_go(lock: int) -> None:
    if lock in _HELD:
        _HELD.remove(lock)
        os.close(lock)


def _let_go_of_all() -> None:
    """Close a forked process's copies of the locks: they would outlive the process that holds them."""
    for lock in tuple(_HELD):
        _let_go(lock)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_of_all)


def _hold(path: Path) -> int | None:
    """Return the descriptor of a lock file that no other process holds; None if one does.

    The system lets go of the lock when the process ends, however it ends.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if sys.platform == "win32" or _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.close(descriptor)  # a run that ended has removed the file in between: take the new one


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _pack(arrays: Mapping[int, Arrays]) -> memoryview:
    """Return the bytes of an .npz file, each array under the number of its piece and its name."""
    named: dict[str, NDArray[Any]] = {}
    for piece, given in arrays.items():
        named[f"{piece}:"] = np.zeros(0)  # also a piece that gives nothing is done
        named |= {f"{piece}:{name}": np.asarray(array) for name, array in given.items()}
    if any(array.dtype.hasobject for array in named.values()):
        raise TypeError("an array holds Python objects; a piece gives numbers only")
    buffer = io.BytesIO()
    np.savez(buffer, **named)  # type: ignore[arg-type]
    return buffer.getbuffer()


def _first_line(path: Path, digest: str, content: bytes | memoryview) -> bytes:
    checksum = hashlib.sha256(f"{path.name}\n".encode())
    checksum.update(content)
    return f"{_MARK} {digest} {checksum.hexdigest()}\n".encode()


def _read(path: Path, digest: str) -> dict[int, Arrays]:
    """Return what a file holds for a question; its content is looked at only once the checksum has proved right."""
    try:
        with open(path, "rb") as source:
            first_line, content = source.readline(256), source.read()
    except OSError:
        return {}
    if first_line != _first_line(path, digest, content):
        return {}
    found: dict[int, dict[str, NDArray[Any]]] = {}
    with np.load(io.BytesIO(content)) as stored:
        for key in stored.files:
            piece, _, name = key.partition(":")
            arrays = found.setdefault(int(piece), {})
            if name:
                arrays[name] = stored[key]
    return dict(found)
