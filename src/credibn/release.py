"""Which release of credibn this is."""

from functools import cache
from importlib.metadata import version

__all__ = ["release"]


@cache
def release() -> str:
    """Return the version of the installed package; looked up once, for each look-up leaves something in memory.

    Examples
    --------
    >>> release()[0].isdigit()
    True
    """
    return version("credibn")
