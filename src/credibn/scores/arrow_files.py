"""Arrow IPC files that carry their own checksum.

Between the record batch and the footer, which readers of Arrow files skip, are a mark and the SHA-256 of all other
bytes of the file. So any program that knows Arrow opens the file, and a change of any byte or of the length is
detected.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from credibn._run.memory import explaining_shortage
from credibn.errors import FileFormatError
from credibn.scores.arrow_sizes import check_expansion, footer_start

_MARK = b"credibn-sha-256:"
_LENGTH = len(_MARK) + 64
"""A multiple of 16, so that the footer stays aligned."""


def write_arrow(batch: Any, sink: BinaryIO, compression: str | None = None) -> None:
    """Write one record batch as an IPC file with its checksum; the same batch gives the same bytes."""
    hashed = _HashedSink(sink)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(hashed, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        hashed.end = bytearray()  # what follows is short: the end of the batches, and the footer
    end = bytes(hashed.end)
    at = footer_start(memoryview(end))
    hashed.sha256.update(end)
    sink.write(end[:at] + _MARK + hashed.sha256.hexdigest().encode() + end[at:])


class _HashedSink:
    """Passes on what is written and hashes it; what is written once `end` is set is added to it instead."""

    closed = False

    def __init__(self, sink: BinaryIO) -> None:
        self.sha256 = hashlib.sha256()
        self.end: bytearray | None = None
        self._sink = sink

    def write(self, content: Any) -> int:
        if self.end is None:
            self.sha256.update(content)
            self._sink.write(content)
        else:
            self.end += content
        return len(content)


class ArrowFile(NamedTuple):
    """An open file: Arrow's reader, and whether the file has a checksum, which is then right."""

    reader: Any
    has_checksum: bool


@contextmanager
def opened(path: Path) -> Iterator[ArrowFile]:
    """Open a file as a memory map; its checksum and the size of its content are checked before Arrow reads it."""
    if path.stat().st_size == 0:
        raise ValueError("the file is empty")
    with explaining_shortage(), pa.memory_map(os.fspath(path)) as source:
        content = memoryview(source.read_buffer())
        has_checksum = _check(path, content)
        check_expansion(path, content)
        yield ArrowFile(pa.ipc.open_file(source), has_checksum)


def _check(path: Path, content: memoryview) -> bool:
    """Return whether a file has a checksum, and refuse the file if it is wrong."""
    end = footer_start(content)
    start = end - _LENGTH
    if start < 0 or content[start : start + len(_MARK)] != _MARK:
        return False
    found = hashlib.sha256(content[:start])
    found.update(content[end:])
    if found.hexdigest().encode() != content[start + len(_MARK) : end]:
        raise _damaged(path, "its content does not match its checksum")
    return True


def require_checksum(path: Path, file: ArrowFile) -> None:
    """Refuse a file that has lost its checksum."""
    if not file.has_checksum:
        raise _damaged(path, "its checksum is missing")


def not_valid(path: Path, expected: str, error: Exception) -> FileFormatError:
    """Return the error for a file in which Arrow, or a check of its content, found a fault."""
    return FileFormatError(
        f"{path}: expected {expected}; the file is damaged or of another kind: {error!s:.300}. Restore it from a good "
        "copy, or create it again"
    )


def _damaged(path: Path, reason: str) -> FileFormatError:
    return FileFormatError(
        f"{path}: the file is damaged or was altered ({reason}); restore it from a good copy, or create it again"
    )
