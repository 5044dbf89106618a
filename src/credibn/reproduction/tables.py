"""Reproduced tables as text: CSV for programs, Markdown for people, aligned columns for a terminal."""

import csv
import io
from collections import Counter
from collections.abc import Iterable

from credibn.reproduction.marks import MEANINGS, Mark
from credibn.reproduction.results import ResultTable, Row

__all__ = ["as_csv", "as_markdown", "mark_counts", "was_run"]


def as_csv(table: ResultTable) -> str:
    """Return the rows as CSV with a header line; an empty field where nothing is known."""
    sink = io.StringIO()
    fields = list(table.rows[0]) if table.rows else [column.title for column in table.columns]
    writer = csv.DictWriter(sink, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return sink.getvalue()


def as_markdown(table: ResultTable, circumstances: str) -> str:
    """Return the table for people, with what the columns and marks mean.

    Parameters
    ----------
    table : ResultTable
    circumstances : str
        When, with which version and on what machine it was made.
    """
    lines = [f"# {table.title}", "", circumstances, ""]
    for remark in table.remarks:
        lines += [remark, ""]
    lines.append(_line(column.title for column in table.columns))
    lines.append(_line("---:" if column.is_number else "---" for column in table.columns))
    lines += [_line(column.show(row) for column in table.columns) for row in table.rows]
    lines += ["", "Columns:", ""]
    lines += [f"- {column.title}: {column.meaning}" for column in table.columns]
    marks = mark_counts(table)
    if marks:
        lines += ["", "Marks:", ""]
        lines += [f"- {mark}: {MEANINGS[mark]}" for mark in marks]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def mark_counts(table: ResultTable) -> dict[Mark, int]:
    """Return how often each mark stands in a table, in the order of `Mark`; those that do not are left out."""
    counts = Counter(mark for row in table.rows for mark in _marks(row))
    return {mark: counts[mark] for mark in Mark if counts[mark]}


def was_run(row: Row) -> bool:
    """Whether something of a row was computed.

    Examples
    --------
    >>> was_run({"data": "wine", "mark": "not run"}), was_run({"data": "wine", "mark": "equal"})
    (False, True)
    """
    return any(mark is not Mark.NOT_RUN for mark in _marks(row))


def _marks(row: Row) -> list[Mark]:
    return [Mark(value) for key, value in row.items() if key.endswith("mark") and value is not None]
