"""Checks of plain options that several stages share."""

import os
from numbers import Integral
from pathlib import Path

from credibn.errors import FileFormatError, OptionError

__all__ = ["decoded", "file_path", "whole_number"]


def file_path(path: object) -> Path:
    """Return the path of a file, there or not.

    Raises
    ------
    OptionError
        For what is no path, and for text that no file can be called.

    Examples
    --------
    >>> file_path("scores.jkl").suffix
    '.jkl'
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"the path is {path!r}; give text or a pathlib.Path")
    text = os.fspath(path)
    try:
        is_possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise OptionError(f"the path is {text!r}, and no file can be called so; check its letters")
    return Path(text)


def whole_number(name: str, value: object, least: int) -> int:
    """Return an option that must be a whole number.

    Raises
    ------
    OptionError
        For any other value, True and False included, and for numbers below `least`.

    Examples
    --------
    >>> whole_number("seed", 7, 0)
    7
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OptionError.refusing(name, value, f"it must be a whole number, {least} or more")
    return int(value)


def decoded(path: object, content: bytes) -> str:
    r"""Return the text of a file in UTF-8, without a byte order mark.

    Raises
    ------
    FileFormatError
        Naming the line and the bytes that are no text.

    Examples
    --------
    >>> decoded("a.txt", b"\xef\xbb\xbfage")
    'age'
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = content[error.start : error.start + 4]
        raise FileFormatError(
            f"{path}, line {line}: expected text in UTF-8, found the bytes {found!r}; save the file as UTF-8"
        ) from error
