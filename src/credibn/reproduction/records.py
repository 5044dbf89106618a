"""Finished cells, each a small JSON file, so that a run can be taken up where it ended.

A record is used again if it was made by the same program from the same file and is complete; or is not complete because
the time was over, and the time limit is no longer than it was. Anything else is computed again.
"""

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from credibn._base.atomic import replacing, unwritable
from credibn._base.version import version
from credibn.errors import FileFormatError, OptionError
from credibn.reproduction.measuring import Cell, Limits

__all__ = [
    "Record",
    "check_folder",
    "is_current",
    "read_record",
    "record_folder",
    "record_path",
    "this_program",
    "write_record",
]

_FOLDER = "records"
_SECONDS_TO_WRITE = 60.0
_ANSWERS = 1
"""To be raised when an answer says something else than before, within one version of credibn."""


@dataclass(frozen=True)
class Record:
    """An answer and what it was made with.

    Attributes
    ----------
    key : str
        Of the cell.
    answer : mapping
    program : str
        See `this_program`.
    fingerprint : str or None
        Of the file that was read.
    time_limit : float or None
    made : str
        When, as text.
    """

    key: str
    answer: Mapping[str, Any]
    program: str
    fingerprint: str | None
    time_limit: float | None
    made: str

    @property
    def checksum(self) -> str:
        """Of everything in it: what was changed by hand or by accident is noticed."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, allow_nan=False).encode()).hexdigest()


def this_program() -> str:
    """Return what tells records of this program from those of another, whose numbers may mean something else."""
    return f"credibn {version()}, answers {_ANSWERS}"


def record_path(out: Path, cell: Cell) -> Path:
    """Return where the record of a cell is kept.

    Examples
    --------
    >>> from credibn.reproduction.credible_counts import CountsCell
    >>> record_path(Path("reproduction"), CountsCell("wine", 20)).as_posix()
    'reproduction/records/table2/wine-20.json'
    """
    return record_folder(out, f"{cell.key}.json")


def record_folder(out: Path, kind: str) -> Path:
    """Return where records of a kind are kept."""
    return out / _FOLDER / kind


def check_folder(out: Path) -> None:
    """Refuse a folder in which records cannot be written, before anything is computed.

    Raises
    ------
    OptionError
    """
    folder = out / _FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for unfinished in folder.rglob(".credibn-*.tmp"):  # left by a kill, unless another run is writing it now
            if time.time() - unfinished.stat().st_mtime > _SECONDS_TO_WRITE:
                unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error, "choose another folder", OptionError) from error


def write_record(out: Path, cell: Cell, record: Record) -> None:
    """Write a record, all or nothing.

    Raises
    ------
    WriteError
        When it cannot be written.
    """
    path = record_path(out, cell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path.parent, error, "choose another folder") from error
    with replacing(path) as sink:
        content = {"checksum": record.checksum, **asdict(record)}
        sink.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read_record(out: Path, cell: Cell) -> Record | None:
    """Return the record of a cell, or None where there is none.

    Raises
    ------
    FileFormatError
        When the file is damaged; the message says that it will be computed again.
    """
    path = record_path(out, cell)
    try:
        content = json.loads(path.read_bytes())
        checksum = content.pop("checksum")
        record = Record(**content)
        is_sound = record.checksum == checksum and _is_whole(record)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{path} is damaged ({_reason(error)}); it is not used, and computed again") from error
    if not is_sound or record.key != cell.key:
        reason = "it belongs to another cell" if is_sound else "its checksum does not fit"
        raise FileFormatError(f"{path} is damaged ({reason}); it is not used, and computed again")
    return record


def _is_whole(record: Record) -> bool:
    """Whether the parts are of the kinds that they should be."""
    limit = record.time_limit
    is_time = limit is None or (isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0)
    are_texts = all(isinstance(text, str) for text in (record.key, record.program, record.fingerprint or ""))
    return is_time and are_texts and isinstance(record.answer, dict) and isinstance(record.answer.get("complete"), bool)


def _reason(error: Exception) -> str:
    return (error.strerror or "unreadable") if isinstance(error, OSError) else f"no record: {str(error)[:200]}"


def is_current(record: Record, program: str, fingerprint: str | None, limits: Limits) -> bool:
    """Whether a record answers the same question as a new computation would, or better.

    Examples
    --------
    >>> answer = {"complete": False, "stopped_because": "time_limit"}
    >>> partial = Record("table2/wine-20", answer, "1.0", "ab", 60.0, "2026")
    >>> is_current(partial, "1.0", "ab", Limits(60.0)), is_current(partial, "1.0", "ab", Limits(None))
    (True, False)
    """
    if (record.program, record.fingerprint) != (program, fingerprint):
        return False
    before, now = (math.inf if limit is None else limit for limit in (record.time_limit, limits.time_limit))
    was_time = record.answer.get("stopped_because") == "time_limit"
    return bool(record.answer["complete"]) or (was_time and now <= before)
