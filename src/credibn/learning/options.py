"""The options of `learn` and its kin that name objects: where the work is done; and all of them as JSON."""

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal

import numpy as np

from credibn._run import Store
from credibn.scores import LocalScore, SetScore

Kind = Literal["networks", "classes"]
"""What the k best are."""
Checkpoint = str | PathLike[str] | Store
"""A folder; or, of callers who have more to do before the work is finished, the store itself."""


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
