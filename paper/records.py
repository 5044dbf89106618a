"""Answers, each in a small JSON file, so that a run can be resumed.

A record is used again if it was made by the same program from the same file and is complete; or is not complete because
the time limit was reached, and the time limit is no longer than it was. Anything else is computed again. A task is
always computed as a whole, so that its seconds are those of one search.
"""

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from credibn._base.atomic import replacing, unwritable
from credibn.errors import FileFormatError, OptionError
from paper.experiment import Task

_FOLDER = "records"
_SECONDS_TO_WRITE = 60.0
_ANSWERS = 1
"""To be raised when an answer says something else than before, within one version of credibn."""


@dataclass(frozen=True)
class Record:
    """An answer and what it was made with."""

    key: str
    answer: Mapping[str, Any]
    program: str
    fingerprint: str | None
    """Of the file that was read."""
    time_limit: float | None
    made: str
    """When, as text."""

    @property
    def checksum(self) -> str:
        """Of everything in it: what was changed by hand or by accident is noticed."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, allow_nan=False).encode()).hexdigest()


def this_program() -> str:
    """Return what tells records of this program from those of another, whose numbers may mean something else."""
    return f"credibn {version('credibn')}, answers {_ANSWERS}"


def record_folder(out: Path, folder: str) -> Path:
    """Return where records of a kind are."""
    return out / _FOLDER / folder


def record_path(out: Path, task: Task) -> Path:
    """Return where the record of a task is."""
    return out / _FOLDER / f"{task.key}.json"


def check_folder(out: Path) -> None:
    """Refuse a folder in which records cannot be written, before anything is computed."""
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


def write_record(out: Path, task: Task, record: Record) -> None:
    """Write a record, all or nothing."""
    path = record_path(out, task)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path.parent, error, "choose another folder") from error
    with replacing(path) as sink:
        content = {"checksum": record.checksum, **asdict(record)}
        sink.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read_record(out: Path, task: Task) -> Record | None:
    """Return the record of a task, or None where there is none; a damaged one is a `FileFormatError`."""
    path = record_path(out, task)
    try:
        content = json.loads(path.read_bytes())
        checksum = content.pop("checksum")
        record = Record(**content)
        is_sound = record.checksum == checksum and _is_whole(record)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or "unreadable"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"no record: {str(error)[:200]}"
    else:
        if is_sound and record.key == task.key:
            return record
        reason = "it belongs to another task" if is_sound else "its checksum does not fit"
    raise FileFormatError(f"{path} is damaged ({reason}); it is not used, and computed again")


def _is_whole(record: Record) -> bool:
    """Whether the fields are of the types that they should be."""
    limit = record.time_limit
    is_time = limit is None or (isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0)
    are_texts = all(isinstance(text, str) for text in (record.key, record.program, record.fingerprint or ""))
    return is_time and are_texts and isinstance(record.answer, dict) and isinstance(record.answer.get("complete"), bool)


def is_current(record: Record, program: str, fingerprint: str | None, time_limit: float | None) -> bool:
    """Whether a record says as much as a new computation would, or more."""
    if (record.program, record.fingerprint) != (program, fingerprint):
        return False
    before, now = (math.inf if limit is None else limit for limit in (record.time_limit, time_limit))
    was_time = record.answer.get("stopped_because") == "time_limit"
    return bool(record.answer["complete"]) or (was_time and now <= before)
