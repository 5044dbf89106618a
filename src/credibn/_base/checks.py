"""Checks of plain options that several stages share."""

import os
from numbers import Integral
from pathlib import Path

from credibn.errors import FileFormatError, OptionError


def file_path(path: object) -> Path:
    """Return the path of a file, which need not exist."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"the path is {path!r}; give a string or a pathlib.Path")
    text = os.fspath(path)
    try:
        is_possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise OptionError(
            f"the path is {text!r}, which cannot be the name of a file; remove the characters that are not allowed"
        )
    return Path(text)


def whole_number(name: str, value: object, least: int) -> int:
    """Return an option that must be a whole number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OptionError.refusing(name, value, f"it must be a whole number, {least} or more")
    return int(value)


def decoded(path: object, content: bytes) -> str:
    """Return the text of a file in UTF-8, without a byte order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = content[error.start : error.start + 4]
        raise FileFormatError(
            f"{path}, line {line}: expected UTF-8 text, found the bytes {found!r}; save the file as UTF-8"
        ) from error
