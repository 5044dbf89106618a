"""Which version of credibn this is."""

from functools import cache
from importlib import metadata

__all__ = ["version"]


@cache
def version() -> str:
    """Return the version of the installed package; looked up once, for each look-up leaves something in memory.

    Examples
    --------
    >>> version()[0].isdigit()
    True
    """
    return metadata.version("credibn")
