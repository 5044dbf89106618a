"""How large the content of an Arrow IPC file will be once it is unpacked.

Buffers may be compressed, and a few bytes can expand to gigabytes: Arrow unpacks all of them at once, without a limit.
Each compressed buffer starts with its unpacked length, which Arrow enforces, so the lengths can be added up beforehand.
They are found from the end of the file: its last bytes locate the footer, the footer the record batches, and each batch
its buffers (Arrow columnar format 1.5, "IPC file format"; the tables in it are FlatBuffers).
"""

import struct
from collections.abc import Iterator
from os import PathLike

from credibn.errors import FileFormatError

_EXPANDED, _EXPANSION = 1 << 28, 1000
"""A file may expand to this many bytes plus this many times its length."""
_MAGIC = b"ARROW1"
_DICTIONARIES, _RECORD_BATCHES = 2, 3  # fields of the table Footer
_HEADER = 2  # of the table Message
_BUFFERS, _COMPRESSION = 2, 3  # of the table RecordBatch


def check_expansion(path: str | PathLike[str], content: memoryview) -> None:
    """Refuse an IPC file that would take an absurd amount of memory; ValueError if it is not such a file."""
    limit = _EXPANDED + _EXPANSION * len(content)
    try:
        expanded = sum(_unpacked_lengths(content))
    except struct.error as error:
        raise ValueError(f"it is not a complete Arrow file ({error})") from error
    if expanded > limit:
        raise FileFormatError(
            f"{path}: expands to {expanded:,} bytes, and at most {limit:,} are allowed for a file of its length; "
            "create it again"
        )


def footer_start(content: memoryview) -> int:
    """Return where the footer of an IPC file starts; ValueError if the end of the file is not that of one."""
    if len(content) < 16 or content[-6:] != _MAGIC:
        raise ValueError("it is not a complete Arrow file (the end is missing)")
    (length,) = _read("<i", content, len(content) - 10)
    start = len(content) - 10 - length
    if not 0 <= start <= len(content) - 10:
        raise ValueError("it is not a complete Arrow file (its footer is longer than the file)")
    return start


def _unpacked_lengths(content: memoryview) -> Iterator[int]:
    """Yield the length of each buffer of each record batch."""
    footer = _root(content, footer_start(content))
    if any(_vector(content, footer, _DICTIONARIES, 24)):
        raise struct.error("it has dictionaries")
    for block in _vector(content, footer, _RECORD_BATCHES, 24):
        offset, metadata_length, _ = _read("<qi4xq", content, block)
        (continuation,) = _read("<I", content, offset)
        message = _root(content, offset + (8 if continuation == 0xFFFFFFFF else 4))
        header = _field(content, message, _HEADER)
        if header is None:
            raise struct.error("a message is empty")
        batch = header + _read("<I", content, header)[0]
        is_compressed = _field(content, batch, _COMPRESSION) is not None
        for buffer in _vector(content, batch, _BUFFERS, 16):
            start, size = _read("<qq", content, buffer)
            if size >= 8:
                # A buffer that is not compressed may start with any number; its size is that in the file.
                (unpacked,) = _read("<q", content, offset + metadata_length + start)
                yield unpacked if is_compressed and unpacked >= 0 else size


def _read(format: str, content: memoryview, at: int) -> tuple[int, ...]:
    if not 0 <= at <= len(content) - struct.calcsize(format):  # struct counts negative offsets from the end
        raise struct.error("an offset points outside the file")
    return struct.unpack_from(format, content, at)


def _root(content: memoryview, at: int) -> int:
    return at + _read("<I", content, at)[0]


def _field(content: memoryview, table: int, number: int) -> int | None:
    """Return the offset of a field of a table, or None if it is absent."""
    fields = table - _read("<i", content, table)[0]
    if 4 + 2 * number + 2 > _read("<H", content, fields)[0]:
        return None
    offset = _read("<H", content, fields + 4 + 2 * number)[0]
    return table + offset if offset else None


def _vector(content: memoryview, table: int, number: int, width: int) -> range:
    """Return the offset of each item of a field that is a vector."""
    field = _field(content, table, number)
    if field is None:
        return range(0)
    start = _root(content, field)
    (count,) = _read("<I", content, start)
    if start + 4 + count * width > len(content):
        raise struct.error("a list is longer than the file")
    return range(start + 4, start + 4 + count * width, width)
