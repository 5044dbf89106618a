"""Text files of networks: UTF-8, compressed or not, of bounded size."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from credibn._base.checks import decoded
from credibn.errors import FileFormatError

__all__ = ["compressed", "read_text"]

_EXPANDED, _EXPANSION = 1 << 22, 100
"""The longest compressed text: so many bytes, and so many times its length. A few bytes can stand for very many."""


def read_text(path: Path) -> str:
    r"""Return the text of a file, which may be compressed by gzip, with line feeds at the ends of lines.

    Raises
    ------
    FileFormatError
        If it cannot be read, expands to an absurd length or is not UTF-8; the message gives the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.bif.gz"
    ...     _ = path.write_bytes(compressed("\ufeffone\r\ntwo".encode()))
    ...     read_text(path)
    'one\ntwo'
    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = _expanded(path, content)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path}: cannot be read ({error}); check the path and that the file is whole") from error
    text = decoded(path, content)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _expanded(path: Path, content: bytes) -> bytes:
    limit = _EXPANDED + _EXPANSION * len(content)
    with gzip.open(io.BytesIO(content)) as stream:
        expanded = stream.read(limit + 1)
    if len(expanded) > limit:
        raise FileFormatError(f"{path}: expands to more than {limit:,} bytes; expand it, and read that if it is sound")
    return expanded


def compressed(content: bytes) -> bytes:
    """Return the content compressed by gzip: the same bytes at any time.

    Examples
    --------
    >>> gzip.decompress(compressed(b"abc"))
    b'abc'
    """
    sink = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as stream:
        stream.write(content)
    return sink.getvalue()
