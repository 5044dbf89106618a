"""Text files of networks: UTF-8, compressed or not, of bounded size."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from credibn._base.checks import decoded
from credibn.errors import FileFormatError

_EXPANDED, _EXPANSION = 1 << 22, 100
"""A compressed text may expand to this many bytes plus this many times its length: a bomb is a few bytes long."""


def read_text(path: Path) -> str:
    """Return the text of a file, expanded if it is compressed by gzip, with line feeds at the ends of lines."""
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = _expanded(path, content)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(
            f"{path}: cannot be read ({error}); check the path and that the file is complete"
        ) from error
    return decoded(path, content).replace("\r\n", "\n").replace("\r", "\n")


def _expanded(path: Path, content: bytes) -> bytes:
    limit = _EXPANDED + _EXPANSION * len(content)
    with gzip.open(io.BytesIO(content)) as stream:
        expanded = stream.read(limit + 1)
    if len(expanded) > limit:
        raise FileFormatError(
            f"{path}: expands to more than {limit:,} bytes; if you trust the file, decompress it yourself and "
            "read the decompressed file"
        )
    return expanded


def compressed(content: bytes) -> bytes:
    """Return the content compressed by gzip, without the time: the same content gives the same bytes."""
    sink = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as stream:
        stream.write(content)
    return sink.getvalue()
