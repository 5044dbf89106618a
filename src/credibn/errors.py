"""The errors that a user's input can cause.

Each message names the value received, the rule it breaks and the remedy, so that it can be shown as it is: the
command line prints it without a traceback. All are `ValueError`s too, so that callers who know nothing of credibn
can still catch them.
"""

__all__ = [
    "CredibnError",
    "CredibnWarning",
    "DataError",
    "FileFormatError",
    "OptionError",
    "TimeLimitError",
    "TooLargeError",
    "WorkerError",
    "WriteError",
]


class CredibnError(ValueError):
    """Base of every error that credibn raises for a user's input."""


class DataError(CredibnError):
    """The table itself cannot be used as it is."""


class OptionError(CredibnError):
    """An option names something unknown, contradicts another or is out of range."""


class FileFormatError(CredibnError):
    """A file cannot be read in the format it should have; the message gives the line."""


class TooLargeError(CredibnError):
    """The work or memory predicted exceeds the limit; nothing was started."""


class TimeLimitError(CredibnError):
    """The time limit struck before anything exact could be said; there is no partial result."""


class WorkerError(CredibnError):
    """The executor that was given lost a worker, so that the work could not be finished."""


class WriteError(OptionError):
    """A file cannot be written where it was asked for; the disk may be full."""


class CredibnWarning(UserWarning):
    """Something in the input was handled in a way the user should know of."""
