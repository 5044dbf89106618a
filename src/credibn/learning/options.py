"""The options of `learn` and its kin, checked and in one form; and as JSON, to be echoed in the result."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from os import PathLike
from typing import Any

import numpy as np

from credibn._base.checks import whole_number
from credibn._run import Store
from credibn.errors import OptionError
from credibn.scores import LocalScore, SetScore
from credibn.scores.epsilon import resolve_epsilon, resolve_ratio

__all__ = [
    "Checkpoint",
    "Edges",
    "Progress",
    "as_json",
    "as_lists",
    "check_flag",
    "resolve_bytes",
    "resolve_count",
    "resolve_gap",
    "resolve_seconds",
]

Edges = Iterable[tuple[str, str] | str]
Progress = Callable[[str, float], bool | None]
Checkpoint = str | PathLike[str] | Store
"""A folder; or, of callers who have more to do before the work is over, the workbench itself."""


def resolve_gap(bayes_factor: float | None, epsilon: float | None, ratio: float | None) -> float | None:
    """Return epsilon, or None where a ratio was given: then it depends on the optimum."""
    if ratio is None:
        return resolve_epsilon(bayes_factor, epsilon)
    if bayes_factor is not None or epsilon is not None:
        other = f"bayes_factor={bayes_factor!r}" if bayes_factor is not None else f"epsilon={epsilon!r}"
        raise OptionError(f"both {other} and ratio={ratio!r} were given; give one of them")
    resolve_ratio(ratio)
    return None


def resolve_count(option: str, value: int | None) -> int | None:
    """Return a limit on a number of things; None is no limit."""
    return None if value is None else whole_number(option, value, 1)


def resolve_seconds(time_limit: float | None) -> float | None:
    """Return a time limit in seconds; None is no limit."""
    if time_limit is None:
        return None
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float, np.number)) or not time_limit > 0:
        raise OptionError(f"time_limit is {time_limit!r}; it must be a number of seconds above 0")
    return float(time_limit)


def resolve_bytes(memory_limit: int | str | None, option: str = "memory_limit", unit: str = "B") -> int | None:
    """Return a memory limit in bytes.

    Parameters
    ----------
    memory_limit : int, str or None
        Bytes, or text with a unit; None is no limit.
    option : str
        What an error calls it.
    unit : {"B", "G"}
        What text without a unit means: the command line has always counted in GiB.

    Examples
    --------
    >>> resolve_bytes("1.5G"), resolve_bytes("200 MB"), resolve_bytes(4096), resolve_bytes("2", unit="G")
    (1610612736, 209715200, 4096, 2147483648)
    """
    if memory_limit is None:
        return None
    value = math.nan
    if isinstance(memory_limit, str):
        match = re.fullmatch(r"\s*(\d*\.?\d*(?:e[+-]?\d+)?)\s*(|B|[KMGT](?:i?B)?)\s*", memory_limit, re.IGNORECASE)
        with suppress(ValueError):
            value = (
                math.nan if match is None else float(match[1]) * 1024 ** "BKMGT".index((match[2] or unit)[0].upper())
            )
    elif isinstance(memory_limit, (int, np.integer)) and not isinstance(memory_limit, bool):
        value = memory_limit
    if not 1 <= value < 2**63:
        raise OptionError(
            f"{option} is {memory_limit!r:.60}; give an amount such as '500M' or '4G', where a number alone is in "
            f"{'bytes' if unit == 'B' else 'GiB'}"
        )
    return int(value)


def check_flag(option: str, value: object) -> None:
    """Refuse what is neither None, True nor False."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{option} is {value!r}; it must be True, False or None, which lets credibn decide")


def as_lists(value: Any) -> Any:
    """Return an iterable of edges or tiers as lists, so that it can be read more than once; the rest as it is."""
    if value is None or isinstance(value, (str, Mapping, tuple)) or not isinstance(value, Iterable):
        return value
    return [as_lists(part) for part in value]


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
