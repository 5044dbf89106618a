"""Files written all or nothing: beside their destination first, then moved into place."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO

from credibn.checks import file_path
from credibn.errors import OptionError

__all__ = ["replacing"]


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
            reason = error.strerror or error
            raise OptionError(f"{path} cannot be written ({reason}); check the folder and its permissions") from error
        raise
