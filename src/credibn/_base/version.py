"""Which version of credibn this is."""

from functools import cache
from importlib import metadata


@cache
def version() -> str:
    """Return the version of the installed package; cached, because each look-up leaks a little memory."""
    return metadata.version("credibn")
