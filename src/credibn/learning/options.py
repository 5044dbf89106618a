"""The options of `learn` and its kin that name objects: where the work is done; and all of them as JSON."""

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from credibn._run import Workbench
from credibn.errors import Option, OptionError
from credibn.scores import LocalScore, SetScore

Kind = Literal["networks", "classes"]
"""What the k best are."""
Checkpoint = str | PathLike[str] | Workbench
"""A folder; or, of callers who have more to do before the work is over, the workbench itself."""


def open_bench(executor: Executor | None, checkpoint: Checkpoint | None, n_threads: int) -> Workbench:
    """Return the workbench that the options `executor` and `checkpoint` name."""
    if isinstance(checkpoint, Workbench):
        if executor is not None:
            raise OptionError(
                "{} was given beside a workbench, which has its own; give it to the workbench", Option("executor")
            )
        return checkpoint
    if checkpoint is not None and not isinstance(checkpoint, (str, PathLike)):
        raise OptionError.refusing("checkpoint", checkpoint, "give the path of a folder")
    return Workbench(executor, n_threads, None if checkpoint is None else Path(checkpoint))


def as_json(value: Any) -> Any:
    """Return an option as JSON can hold it; objects by their name and settings, or by their type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(part) for part in value]
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, (SetScore, LocalScore)):
        return {"score": value.name, **value.settings()}
    return type(value).__name__
