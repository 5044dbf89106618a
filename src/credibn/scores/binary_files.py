"""The binary format of score tables, ``.scores``.

An Arrow IPC file with a checksum, read through a memory map: one record batch with the columns node, score and mask
(fixed-size binary, the words of the mask in little-endian order); names, provenance and format version are JSON in the
schema's metadata. It can hold any name.
"""

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credibn.errors import FileFormatError, TooLargeError
from credibn.scores.arrow_files import ArrowFile, not_valid, opened, require_checksum, write_arrow
from credibn.scores.table import MAX_VARIABLES, ScoreTable

_VERSION = 2  # version 1 had no checksum; it is still read


def write_binary(table: ScoreTable, sink: BinaryIO) -> None:
    """Write a table in the format ``.scores``."""
    words = table.masks.shape[1]
    nodes = np.repeat(np.arange(table.n_variables, dtype=np.int32), table.counts)
    masks = pa.py_buffer(np.ascontiguousarray(table.masks, dtype="<u8"))
    batch = pa.record_batch(
        [
            pa.array(nodes),
            pa.array(table.scores),
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(8 * words), len(table), [None, masks]),
        ],
        schema=_schema(words).with_metadata(
            {
                "credibn.score_table": str(_VERSION),
                "credibn.names": json.dumps(table.names),
                "credibn.provenance": json.dumps(dict(table.provenance)),
            }
        ),
    )
    write_arrow(batch, sink)


def _schema(words: int) -> Any:
    columns = [("node", pa.int32()), ("score", pa.float64()), ("mask", pa.binary(8 * words))]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


def read_binary(path: Path) -> ScoreTable:
    """Read a ``.scores`` file through a memory map."""
    try:
        with opened(path) as file:
            names, provenance = _binary_header(path, file)
            nodes, scores, masks = _binary_columns(path, file.reader, -(-len(names) // 64))
    except (FileFormatError, TooLargeError):
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise not_valid(path, "a credibn score table", error) from error
    offsets = np.searchsorted(nodes, np.arange(len(names) + 1))
    if (nodes[1:] < nodes[:-1]).any() or offsets[0] != 0 or offsets[-1] != len(nodes):
        raise FileFormatError(f"{path}: expected nodes 0 to {len(names) - 1} in increasing order, found others")
    return ScoreTable(names, offsets, scores, masks, provenance)


def _binary_columns(path: Path, reader: Any, words: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return nodes, scores and masks as views of the mapped file."""
    if reader.num_record_batches != 1:
        raise FileFormatError(f"{path}: expected one record batch, found {reader.num_record_batches}")
    batch = reader.get_batch(0)
    batch.validate(full=True)
    if any(column.null_count for column in batch.columns):
        raise FileFormatError(f"{path}: expected a value in every row, found an empty one; write it again")
    nodes, scores, masks = batch.columns
    if not len(masks):
        raise FileFormatError(f"{path}: expected at least one parent set for each variable, found no rows")
    rows = np.frombuffer(masks.buffers()[1], "<u8", len(masks) * words, 8 * words * masks.offset)
    return nodes.to_numpy(), scores.to_numpy(), rows.reshape(-1, words)


def _binary_header(path: Path, file: ArrowFile) -> tuple[tuple[str, ...], dict[str, object]]:
    schema = file.reader.schema
    metadata = schema.metadata or {}
    version = metadata.get(b"credibn.score_table")
    if version not in (b"1", str(_VERSION).encode()):
        found = "none" if version is None else repr(version[:60].decode("utf-8", "backslashreplace"))
        raise FileFormatError(
            f"{path}: expected version 1 or {_VERSION} of credibn's score tables, found {found}; upgrade credibn"
        )
    if version != b"1":
        require_checksum(path, file)
    try:
        names = tuple(json.loads(metadata[b"credibn.names"]))
        provenance: dict[str, object] = json.loads(metadata[b"credibn.provenance"])
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"{path}: expected names and provenance as JSON in the metadata ({error!r})") from error
    if not 1 <= len(names) <= MAX_VARIABLES:
        raise FileFormatError(f"{path}: expected 1 to {MAX_VARIABLES} variables, found {len(names)}")
    expected = _schema(-(-len(names) // 64))
    if not schema.equals(expected, check_metadata=False):
        raise FileFormatError(f"{path}: expected the columns {expected}, found {schema.remove_metadata()}")
    return names, provenance
