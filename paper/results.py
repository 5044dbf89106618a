"""A table of the paper beside ours: rows of plain values for files, and columns of text for people."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paper.marks import MEANINGS, Count, Mark
from paper.printed import Value

Row = Mapping[str, Any]
_NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """A column for people: its title, the text that it shows of a row, and what it tells."""

    title: str
    show: Callable[[Row], str]
    meaning: str
    is_number: bool = True


def text_column(title: str, key: str, meaning: str) -> Column:
    """Return a column of the texts under a key."""
    return Column(title, lambda row: _NOTHING if row[key] is None else str(row[key]), meaning, is_number=False)


@dataclass(frozen=True)
class ResultTable:
    """One table of the paper beside ours; one without columns is shown by its plot alone.

    All rows have the same keys, and JSON can hold them. Keys that end in "mark" hold marks. Remarks are sentences that
    a reader needs.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...] = ()
    remarks: tuple[str, ...] = ()


def as_csv(table: ResultTable) -> str:
    """Return the rows as CSV with a header line; an empty field where nothing is known."""
    sink = io.StringIO()
    writer = csv.DictWriter(sink, list(table.rows[0]) if table.rows else ["data"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return sink.getvalue()


def as_markdown(table: ResultTable, circumstances: str) -> str:
    """Return the table for people, with what the columns and marks mean."""
    lines = [f"# {table.title}", "", circumstances, ""]
    for remark in table.remarks:
        lines += [remark, ""]
    lines.append(_line(column.title for column in table.columns))
    lines.append(_line("---:" if column.is_number else "---" for column in table.columns))
    lines += [_line(column.show(row) for column in table.columns) for row in table.rows]
    lines += ["", "Columns:", "", *(f"- {column.title}: {column.meaning}" for column in table.columns)]
    if marks := mark_counts(table):
        lines += ["", "Marks:", "", *(f"- {mark}: {MEANINGS[mark]}" for mark in marks)]
    return "\n".join(lines) + "\n"


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"


def mark_counts(table: ResultTable) -> dict[Mark, int]:
    """Return how often each mark stands in a table, in the order of `Mark`; those that do not are left out."""
    counts = Counter(mark for row in table.rows for mark in _marks(row))
    return {mark: counts[mark] for mark in Mark if counts[mark]}


def was_run(row: Row) -> bool:
    """Whether something of a row was computed."""
    return any(mark is not Mark.NOT_RUN for mark in _marks(row))


def _marks(row: Row) -> list[Mark]:
    return [Mark(value) for key, value in row.items() if key.endswith("mark") and value is not None]


def plural(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


def count_text(value: Count | int | None) -> str:
    """Return a number of ours, with ≥ before a lower bound."""
    if value is None:
        return _NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value.value:,}" if value.is_exact else f"≥ {value.value:,}"


def printed_text(value: Value) -> str:
    """Return a printed number or status."""
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) else f"{value:,}"


def seconds_text(seconds: float | None) -> str:
    """Return a time in seconds, with at least two digits."""
    if seconds is None:
        return _NOTHING
    return f"{seconds:,.1f}" if seconds >= 10 else f"{seconds:.2g}"


def ratio_text(printed: Value, ours: float | None) -> str:
    """Return how many times as long the printed time is."""
    if not isinstance(printed, (int, float)) or not ours:
        return _NOTHING
    ratio = printed / ours
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def spread_text(mean: float | str | None, deviation: float | None, is_exact: bool = True) -> str:
    """Return a mean with its standard deviation."""
    if mean is None:
        return _NOTHING
    if isinstance(mean, str):
        return mean
    digits = 0 if mean >= 10 or isinstance(mean, int) else 1
    deviated = "" if deviation is None else f" ± {deviation:,.{digits}f}"
    return f"{'' if is_exact else '≥ '}{mean:,.{digits}f}{deviated}"
