"""Checks of plain options that several stages share."""

from numbers import Integral

from credibn.errors import OptionError

__all__ = ["whole_number"]


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
        raise OptionError(f"{name} is {value!r}; it must be a whole number, {least} or more")
    return int(value)
