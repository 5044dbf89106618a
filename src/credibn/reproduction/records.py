"""Finished cells, each a small JSON file, so that a run can be taken up where it ended.

A record is used again if it was made by the same version from the same file and is complete; or is not complete, but
the time limit is no longer than it was. Anything else is computed again.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from credibn.atomic import replacing
from credibn.errors import FileFormatError, OptionError
from credibn.reproduction.measuring import Cell, Limits

__all__ = ["Record", "is_current", "read_record", "record_path", "write_record"]

_FOLDER = "records"


@dataclass(frozen=True)
class Record:
    """An answer and what it was made with.

    Attributes
    ----------
    key : str
        Of the cell.
    answer : mapping
    version : str
        Of credibn.
    fingerprint : str or None
        Of the file that was read.
    time_limit : float or None
    made : str
        When, as text.
    """

    key: str
    answer: Mapping[str, Any]
    version: str
    fingerprint: str | None
    time_limit: float | None
    made: str


def record_path(out: Path, cell: Cell) -> Path:
    """Return where the record of a cell is kept.

    Examples
    --------
    >>> from credibn.reproduction.credible_counts import CountsCell
    >>> record_path(Path("reproduction"), CountsCell("wine", 20)).as_posix()
    'reproduction/records/table2/wine-20.json'
    """
    return out / _FOLDER / f"{cell.key}.json"


def write_record(out: Path, cell: Cell, record: Record) -> None:
    """Write a record, all or nothing.

    Raises
    ------
    OptionError
        When it cannot be written.
    """
    path = record_path(out, cell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{path.parent} cannot be made ({error.strerror}); choose another folder") from error
    with replacing(path) as sink:
        sink.write((json.dumps(asdict(record), indent=1, allow_nan=False) + "\n").encode())


def read_record(out: Path, cell: Cell) -> Record | None:
    """Return the record of a cell, or None where there is none.

    Raises
    ------
    FileFormatError
        When the file is damaged; the message says that it will be computed again.
    """
    path = record_path(out, cell)
    try:
        record = Record(**json.loads(path.read_bytes()))
        is_sound = record.key == cell.key and isinstance(record.answer["complete"], bool)
        is_sound = is_sound and isinstance(record.time_limit, (int, float, type(None)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileFormatError(f"{path} is damaged ({_reason(error)}), so it is not used and computed again") from error
    if not is_sound:
        raise FileFormatError(f"{path} is damaged (it belongs to another cell), so it is not used and computed again")
    return record


def _reason(error: Exception) -> str:
    return (error.strerror or "unreadable") if isinstance(error, OSError) else f"no record: {error}"


def is_current(record: Record, version: str, fingerprint: str | None, limits: Limits) -> bool:
    """Whether a record answers the same question as a new computation would, or better.

    Examples
    --------
    >>> partial = Record("table2/wine-20", {"complete": False}, "1.0", "ab", 60.0, "2026")
    >>> is_current(partial, "1.0", "ab", Limits(60.0)), is_current(partial, "1.0", "ab", Limits(None))
    (True, False)
    """
    if (record.version, record.fingerprint) != (version, fingerprint):
        return False
    before, now = (math.inf if limit is None else limit for limit in (record.time_limit, limits.time_limit))
    return bool(record.answer["complete"]) or now <= before
