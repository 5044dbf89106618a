"""The errors that a user's input can cause.

Each message names the value received, the rule it breaks and the remedy, so that it can be shown as it is: the
command line prints it without a traceback. All are `ValueError`s too, so that callers who know nothing of credibn
can still catch them.

A message names options by `Option` objects, not by text, so that each caller can write them in its own way: Python
reads ``raise time_limit``, the shell ``raise --time-limit``. Code that needs to know what an error is about asks its
fields, never its text.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "CredibnError",
    "CredibnWarning",
    "DataError",
    "FileFormatError",
    "Option",
    "OptionError",
    "Phrase",
    "TimeLimitError",
    "TooLargeError",
    "WorkerError",
    "WriteError",
]


_PASSED = {"credibn", "contextlib"}
"""Modules whose lines no warning is about."""


@dataclass(frozen=True)
class Option:
    """An option as a message names it, alone or with a value.

    Examples
    --------
    >>> print(Option("time_limit"), "and", Option("missing", "drop"))
    time_limit and missing='drop'
    """

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


class Phrase:
    """A part of a message that names options: a template of `str.format`, and what fills it.

    Examples
    --------
    >>> fix = Phrase("raise {} or set {}", Option("time_limit"), Option("max_parents", 3))
    >>> print(fix)
    raise time_limit or set max_parents=3
    >>> fix.worded(lambda option: f"<{option.name}>")
    'raise <time_limit> or set <max_parents>'
    """

    def __init__(self, text: str, *details: object) -> None:
        self.text, self.details = text, details

    def __str__(self) -> str:
        return self.worded(str)

    def worded(self, word: Callable[[Option], str]) -> str:
        """Return the text with each option as `word` writes it."""
        if not self.details:
            return self.text  # it may hold braces of its own
        return self.text.format(*(_worded(detail, word) for detail in self.details))

    @property
    def option(self) -> Option | None:
        """The first option that the phrase names."""
        inside = (detail.option if isinstance(detail, Phrase) else detail for detail in self.details)
        return next((detail for detail in inside if isinstance(detail, Option)), None)


def _worded(detail: object, word: Callable[[Option], str]) -> object:
    if isinstance(detail, Option):
        return word(detail)
    return detail.worded(word) if isinstance(detail, Phrase | CredibnError) else detail


class CredibnError(ValueError):
    """Base of every error that credibn raises for a user's input.

    Parameters
    ----------
    text : str
        The message; with details, a template of `str.format` that they fill.
    *details : object
        An `Option` is written as the reader knows it.
    value : object, optional
        What was given for the option.

    Attributes
    ----------
    option : str or None
        The name of the first option that the message names.
    value : object
        What was given for it; None where that is not the point.

    Examples
    --------
    >>> error = CredibnError("{} is {!r}; it must be positive", Option("time_limit"), -1, value=-1)
    >>> print(error)
    time_limit is -1; it must be positive
    >>> error.option, error.value
    ('time_limit', -1)
    """

    def __init__(self, text: str = "", *details: object, value: object = None) -> None:
        super().__init__(text, *details)
        named = self._phrase.option
        self.option = None if named is None else named.name
        self.value = named.value if value is None and named is not None and named.value is not ... else value

    def __str__(self) -> str:
        return self.worded(str)

    def worded(self, word: Callable[[Option], str]) -> str:
        """Return the message with each option as `word` writes it."""
        return self._phrase.worded(word)

    @property
    def _phrase(self) -> Phrase:
        return Phrase(*self.args)


class DataError(CredibnError):
    """The table itself cannot be used as it is."""


class OptionError(CredibnError):
    """An option names something unknown, contradicts another or is out of range."""

    @classmethod
    def refusing(cls, option: str, value: object, rule: str | Phrase) -> "OptionError":
        """Return the error for a value that an option cannot have.

        Examples
        --------
        >>> print(OptionError.refusing("k", 0, "it must be a whole number, 1 or more"))
        k is 0; it must be a whole number, 1 or more
        """
        return cls("{} is {!r:.200}; {}", Option(option), value, rule, value=value)


class FileFormatError(CredibnError):
    """A file cannot be read in the format it should have; the message gives the line."""


class NotListedError(CredibnError):
    """A credible set that is counted, not listed, was asked for something that needs its networks one by one."""


class TooLargeError(CredibnError):
    """The work or memory predicted exceeds the limit; nothing was started."""


class TimeLimitError(CredibnError):
    """The time limit was reached before anything exact could be said; there is no partial result."""


class WorkerError(CredibnError):
    """The executor that was given lost a worker, so that the work could not be finished."""


class WriteError(OptionError):
    """A file cannot be written where it was asked for; the disk may be full."""


class CredibnWarning(UserWarning):
    """Something in the input was handled in a way the user should know of; its options are written as in an error."""

    def __str__(self) -> str:
        return self.worded(str)

    def worded(self, word: Callable[[Option], str]) -> str:
        """Return the message with each option as `word` writes it."""
        return Phrase(*self.args).worded(word)


def warn(message: str | Warning, *details: object) -> None:
    """Issue a warning, by default a `CredibnWarning`, about the line outside credibn that led here."""
    warning = message if isinstance(message, Warning) else CredibnWarning(message, *details)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
