"""Files written all or nothing: beside their destination first, then moved into place."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO

from credibn.checks import file_path
from credibn.errors import OptionError

__all__ = ["replacing", "why_unwritable"]


def why_unwritable(error: BaseException) -> str:
    """Say in a few words why something could not be written.

    Examples
    --------
    >>> why_unwritable(OSError(errno.ENOSPC, "No space left on device"))
    'the disk is full'
    >>> why_unwritable(PermissionError(errno.EACCES, "Permission denied"))
    'Permission denied'
    """
    if isinstance(error, OptionError) and error.__cause__ is not None:  # of `replacing`
        error = error.__cause__
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return "the disk is full"
    return (isinstance(error, OSError) and error.strerror) or str(error)


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file in the same folder, and move it to `path` only when everything has been written.

    A failure or an interruption leaves no file, and an older file at `path` as it was.

    Raises
    ------
    OptionError
        When the file cannot be written there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "greeting.txt"
    ...     with replacing(path) as sink:
    ...         _ = sink.write(b"hello")
    ...     path.read_text()
    'hello'
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
            remedy = "check the folder and its permissions"
            if error.errno in _NO_SPACE:
                remedy = "free some space, or choose a folder on another disk"
            raise OptionError(f"{path} cannot be written ({why_unwritable(error)}); {remedy}") from error
        raise
