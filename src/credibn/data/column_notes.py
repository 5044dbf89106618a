"""What a user should know of columns before learning from them: each note names the columns and the option to use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from credibn._base.text import quoted
from credibn.data.column_kinds import AS_ASKED, IN_BINS, Content
from credibn.data.options import ColumnOptions
from credibn.data.reading_record import ColumnKind
from credibn.errors import Option, Phrase

Note = Phrase | str

FEWEST_ROWS = 20
"""In a smaller table a column may have a value of its own in each row by chance."""
ALMOST_ALL = 0.9
_NAMES_SHOWN = 10
_NAME_OF_IDENTIFIER = re.compile(r"(^|[^a-z])(id|key|uuid|index|rownum(ber)?)$|[a-z]ID$|^id([^a-z]|$)", re.IGNORECASE)


def identifies_rows(name: str, content: Content) -> bool:
    """Whether a column looks like an identifier: text that differs from row to row, or numbers that count the rows."""
    if content.n_rows < FEWEST_ROWS or content.form in ("fractions", "booleans"):
        return False
    if content.form != "whole numbers" or content.is_padded:
        return content.n_distinct >= ALMOST_ALL * content.n_rows
    if content.n_distinct < content.n_rows or content.low is None or content.high is None:
        return False
    return content.high - content.low == content.n_rows - 1 or _NAME_OF_IDENTIFIER.search(name) is not None


def column_notes(
    kinds: Mapping[int, ColumnKind], contents: Mapping[int, Content], options: ColumnOptions
) -> list[Note]:
    """Return the notes on columns whose kind may mislead."""
    identifiers, fractions = [], []
    for i, kind in kinds.items():
        if kind.why == IN_BINS or kind.name in options.state_names:
            continue
        if identifies_rows(kind.name, contents[i]):
            identifiers.append(kind.name)
        elif kind.kind == "categorical" and contents[i].form == "fractions" and kind.why != AS_ASKED:
            fractions.append(kind.name)
    notes: list[Note] = []
    if identifiers:
        notes.append(
            Phrase(
                "{} a different value in almost every row, as an identifier has: leave {} out with {}",
                listed(identifiers, "has", "have"),
                "it" if len(identifiers) == 1 else "them",
                Option("drop", identifiers[:_NAMES_SHOWN]),
            )
        )
    strays = [kinds[i].name for i in kinds if contents[i].strays and kinds[i].why not in (IN_BINS, AS_ASKED)]
    if strays:
        texts = sorted({text for i in kinds if kinds[i].name in strays for text in contents[i].strays})
        notes.append(
            Phrase(
                "{} numbers and {}: pass {} if that marks missing values",
                listed(strays, "holds", "hold"),
                " or ".join(map(quoted, texts)),
                missing_marks(options),
            )
        )
    if fractions:
        numbers = Option("columns", "mixed") if options.is_kind_given else Option("score", "auto")
        notes.append(
            Phrase(
                "{} fractional numbers, and each different number is a category: pass {} to read numbers, or {} for "
                "bins",
                listed(fractions, "holds", "hold"),
                numbers,
                Option("discretise", dict.fromkeys(fractions[:_NAMES_SHOWN], "equal_frequency:4")),
            )
        )
    return notes


def missing_marks(options: ColumnOptions) -> Phrase:
    """Return the options that read what may mark missing values so."""
    marks = Option("missing_values", list(options.marks_found))
    return Phrase("{} with {}", marks, Option("missing", "drop")) if options.missing == "error" else Phrase("{}", marks)


def empty_note(empty: Sequence[str]) -> Note | None:
    """Return the note on columns that are left out because they have no values."""
    if not empty:
        return None
    dropped = Option("drop", list(empty[:_NAMES_SHOWN]))
    return Phrase("{} no values: left out, as by {}", listed(empty, "has", "have"), dropped)


def row_names_note(name: str) -> Note:
    """Return the note on a first column that is left out because it names the rows."""
    return Phrase(
        "the first column has no name and a different value in each row, as names and numbers of rows have: left out, "
        "as by {}; give it a name to keep it",
        Option("drop", [name]),
    )


def constant_note(constant: Sequence[str], n_columns: int) -> Note | None:
    """Return the note on columns with a single state or no variance."""
    if not constant:
        return None
    if len(constant) == n_columns:
        return Phrase("every column is constant, so no network has an edge: give rows that differ")
    one = len(constant) == 1
    return Phrase(
        "{} constant: {} in the data and {} no part in the search; {} leaves {} out",
        listed(constant, "is", "are"),
        "it stays" if one else "they stay",
        "takes" if one else "take",
        Option("drop", list(constant[:_NAMES_SHOWN])),
        "it" if one else "them",
    )


def listed(names: Sequence[str], verb: str, verbs: str) -> str:
    """Return the subject of a sentence about columns, and its verb."""
    shown = ", ".join(map(quoted, names[:_NAMES_SHOWN]))
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"column {shown} {verb}" if len(names) == 1 else f"columns {shown}{more} {verbs}"
