"""Standard output and standard error that never end a run: one that is closed, full or without a reader is ignored.

What a run writes to files must not depend on who listens. So a write that fails raises nothing here: the first failure
is remembered, and what comes after it is dropped. `main` asks at the end whether the output was needed.
"""

import errno
import io
import os
import select
import sys
from typing import IO, Any

NOT_WRITTEN = 4
"""The exit status where a result could not be written where it was asked for."""
_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_output: "Guarded | None" = None
_is_needed = True


class Guarded(io.RawIOBase):
    """A descriptor to write to, up to the first write that fails; `failure` says why there is no more."""

    def __init__(self, descriptor: int, failure: OSError | None = None) -> None:
        self._descriptor = descriptor
        self.failure = failure

    def writable(self) -> bool:
        """Tell that this is for writing."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether somebody is watching."""
        return self.failure is None and os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        """Write some bytes, or drop them."""
        while self.failure is None:
            try:
                return os.write(self._descriptor, data)
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


def guard_streams() -> None:
    """Put guards in place of `sys.stdout` and `sys.stderr`, which are None where the caller has closed them."""
    global _output, _is_needed
    _is_needed = True
    if sys.platform == "win32":  # a console there takes text, and no bytes
        return
    given = {_OUTPUT: sys.stdout, _ERRORS: sys.stderr}
    for descriptor in (_INPUT, _OUTPUT, _ERRORS):
        _occupy(descriptor)
    _output, errors = (Guarded(at, _closed() if stream is None else None) for at, stream in given.items())
    sys.stdout, sys.stderr = _text(_output, given[_OUTPUT]), _text(errors, given[_ERRORS])


def _occupy(descriptor: int) -> None:
    """Fill a standard descriptor that is closed: else a file of the run gets its number, and stray output with it."""
    try:
        os.fstat(descriptor)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != descriptor:
            os.dup2(opened, descriptor)
            os.close(opened)
        os.set_inheritable(descriptor, True)  # workers want it filled too


def _closed() -> OSError:
    return OSError(errno.EBADF, "it is closed")


def _text(raw: Guarded, like: IO[str] | None) -> io.TextIOWrapper:
    encoding, errors = getattr(like, "encoding", None), getattr(like, "errors", None)
    is_by_line = bool(getattr(like, "line_buffering", True))
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding or "utf-8", errors or "replace", line_buffering=is_by_line)


def need_output(is_needed: bool) -> None:
    """Say whether standard output carries a result: files that were asked for may tell all instead."""
    global _is_needed
    _is_needed = is_needed


def why_not_written() -> str | None:
    """Return why a result that was asked for on standard output is not there.

    None where it is, where files have it, and where the reader closed the pipe.
    """
    if _output is None:
        return None
    sys.stdout.flush()
    failure = _output.failure
    if failure is None or not _is_needed or failure.errno == errno.EPIPE:
        return None
    return "the disk is full" if failure.errno == errno.ENOSPC else failure.strerror or str(failure)
