"""A reproduced table: rows of plain values for a file, and columns of text for people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from credibn.reproduction.marks import Count
from credibn.reproduction.printed import Value

__all__ = [
    "Column",
    "ResultTable",
    "Row",
    "count_text",
    "printed_text",
    "ratio_text",
    "seconds_text",
    "spread_text",
]

Row = Mapping[str, Any]
_NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """A column for people.

    Attributes
    ----------
    title : str
    show : callable
        From a row to the text of the cell.
    meaning : str
        What it tells, for the reader of the table.
    is_number : bool
    """

    title: str
    show: Callable[[Row], str]
    meaning: str
    is_number: bool = True


@dataclass(frozen=True)
class ResultTable:
    """One table of the paper beside ours.

    Attributes
    ----------
    name : str
        As on the command line, and the name of its files.
    title : str
    rows : tuple of mappings
        All with the same keys; ready for JSON. Keys that end in "mark" hold marks.
    columns : tuple of Column
    remarks : tuple of str
        Sentences that a reader needs.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    remarks: tuple[str, ...] = ()


def count_text(value: Count | int | None) -> str:
    """Return a number of ours, with ≥ before a lower bound.

    Examples
    --------
    >>> count_text(Count(26153)), count_text(Count(5000, is_exact=False)), count_text(None)
    ('26,153', '≥ 5,000', '–')
    """
    if value is None:
        return _NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value.value:,}" if value.is_exact else f"≥ {value.value:,}"


def printed_text(value: Value) -> str:
    """Return a printed number or status.

    Examples
    --------
    >>> printed_text(26197), printed_text(143.7), printed_text("OT"), printed_text(None)
    ('26,197', '143.7', 'OT', '–')
    """
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) else f"{value:,}"


def seconds_text(seconds: float | None) -> str:
    """Return a time in seconds, with two digits at least.

    Examples
    --------
    >>> seconds_text(0.00213), seconds_text(12.345), seconds_text(4321.4)
    ('0.0021', '12.3', '4,321.4')
    """
    if seconds is None:
        return _NOTHING
    return f"{seconds:,.1f}" if seconds >= 10 else f"{seconds:.2g}"


def ratio_text(printed: Value, ours: float | None) -> str:
    """Return how many times as long the printed time is.

    Examples
    --------
    >>> ratio_text(143.7, 0.09), ratio_text("OT", 0.1), ratio_text(0.8, 1.6)
    ('1,597', '–', '0.5')
    """
    if not isinstance(printed, (int, float)) or not ours:
        return _NOTHING
    ratio = printed / ours
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def spread_text(mean: float | str | None, deviation: float | None, is_exact: bool = True) -> str:
    """Return a mean with its standard deviation.

    Examples
    --------
    >>> spread_text(25.4, 19.2), spread_text(7.0, None, is_exact=False), spread_text("OT", None)
    ('25 ± 19', '≥ 7.0', 'OT')
    """
    if mean is None:
        return _NOTHING
    if isinstance(mean, str):
        return mean
    digits = 0 if mean >= 10 or (float(mean).is_integer() and isinstance(mean, int)) else 1
    deviated = "" if deviation is None else f" ± {deviation:,.{digits}f}"
    return f"{'' if is_exact else '≥ '}{mean:,.{digits}f}{deviated}"
