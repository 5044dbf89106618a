"""Numbers of things, and of bytes, in words; and text from outside that is safe to show."""

import re
import unicodedata

_NOT_PRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters of terminals, text direction and line breaks, and lone surrogates."""
_YEAR = 31_557_600
"""Seconds."""
_FORMULA = "=+-@\t\r"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def quoted(value: object, most: int = 60) -> str:
    """Return a value of the data as it would be written in Python, without the middle where it is long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 3 :]}"


def plural(number: int, noun: str) -> str:
    """Return a number of things: "1 class", "2,000 classes"."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def byte_text(n_bytes: float) -> str:
    """Return an amount of memory in the unit that fits its size, with three digits: "6.00 KiB", "300 MiB"."""
    if n_bytes < 1024:
        return plural(int(n_bytes), "byte")
    value, unit = n_bytes / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} {unit}"


def duration_text(seconds: float) -> str:
    """Return how long something takes, roughly: "a second", "40 seconds", "3 minutes", "2 hours", "5 days"."""
    if seconds >= 1000 * _YEAR:
        return "1,000 years or more"
    for unit, size in (("year", _YEAR), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * size:
            return plural(round(seconds / size), unit)
    return "a second" if seconds < 1.5 else plural(round(seconds), "second")


def printable(text: str, keep: str = "") -> str:
    """Return a text with control characters escaped, except those to `keep`.

    Names and values come from files of others, and an escape sequence can hide lines, or set a terminal's title.
    """
    return _NOT_PRINTABLE.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(), text
    )


def plain_cell(text: str) -> str:
    """Return the text of a cell; text that a spreadsheet would run as a formula gets a leading apostrophe.

    That is text that is longer than one character, starts with =, +, -, @, a tab or a carriage return and is not a
    number.
    """
    is_formula = len(text) > 1 and text[0] in _FORMULA and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
