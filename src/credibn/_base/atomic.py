"""Atomic writes: a file is written beside its destination, then moved into place."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO

from credibn._base.checks import file_path
from credibn.errors import OptionError, WriteError

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def why_unwritable(error: BaseException) -> str:
    """Say in a few words why something could not be written."""
    if isinstance(error, WriteError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return "the disk is full"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def unwritable(
    path: str | PathLike[str],
    error: OSError | WriteError,
    remedy: str = "check the folder and its permissions",
    kind: type[OptionError] = WriteError,
) -> OptionError:
    """Return the error for a file that cannot be written; a full disk is always a `WriteError`, with its own remedy."""
    reason = error.__cause__ if isinstance(error, WriteError) else error
    if isinstance(reason, OSError) and reason.errno in _NO_SPACE:
        kind, remedy = WriteError, "free some space, or choose a folder on another disk"
    return kind(f"{os.fspath(path)} cannot be written ({why_unwritable(error)}); {remedy}")


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file in the same folder, and move it to `path` only when everything has been written.

    A failure or an interruption leaves no file, and an older file at `path` as it was.
    """
    path = file_path(path)
    temporary = path.parent / f".credibn-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise
