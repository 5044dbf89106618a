"""Read the values of options where they are plain; all others are left to typer, which says what is wrong with them.

typer reads each value with pydantic, which takes longer to import than all the rest of the command line.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

_PLAIN_NUMBERS = {int: re.compile(r"-?[0-9]{1,15}"), float: re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")}


def read_plain_values(command: Any, context: Any) -> None:
    """Let a command read the plain values of its parameters itself; one that is not given has nothing to be read."""
    kinds = get_type_hints(command.callback)
    for parameter in command.get_params(context):
        parameter.process_value = _plain_first(parameter, kinds.get(parameter.name))


def _plain_first(parameter: Any, kind: Any) -> Callable[[Any, Any], Any]:
    kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    by_typer: Callable[[Any, Any], Any] = parameter.process_value

    def process(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            return None
        plain = _plain_value(kind, value) if parameter.callback is None else None
        return by_typer(context, value) if plain is None else plain

    return process


def _plain_value(kind: Any, value: Any) -> Any:
    """Return a value as its kind; None where it is not plain."""
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else None
    if get_origin(kind) is list:
        values = [_plain_value(get_args(kind)[0], part) for part in value]
        return None if None in values else values
    if not isinstance(value, str):
        return value if type(value) is kind else None
    if kind in _PLAIN_NUMBERS:
        return kind(value) if _PLAIN_NUMBERS[kind].fullmatch(value) else None
    if kind is Path:
        return Path(value) if value.isprintable() and not _is_unreadable(value) else None
    return value if kind is str and value.isprintable() else None


def _is_unreadable(path: str) -> bool:
    return os.path.exists(path) and not os.access(path, os.R_OK)
