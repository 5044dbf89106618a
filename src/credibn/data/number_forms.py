"""Numbers that are written with other separators than Python's: "1.234,5", "1,234.5", "12,5"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from duckdb import DuckDBPyConnection as Connection

from credibn.errors import DataError, Option


@dataclass(frozen=True)
class NumberForm:
    """The decimal separator, and the characters that may separate thousands."""

    decimal: str
    thousands: str

    def matches(self, column: str) -> str:
        """Return SQL that tells whether a text is a number in this form."""
        whole = f"([0-9]+|[0-9]{{1,3}}({self.group}[0-9]{{3}})+)" if self.thousands else "[0-9]+"
        pattern = rf"\s*[+-]?{whole}({re.escape(self.decimal)}[0-9]+)?([eE][+-]?[0-9]+)?\s*"
        return f"regexp_full_match({column}, {_literal(pattern)})"

    def plain(self, column: str) -> str:
        """Return SQL that writes such a number as Python does."""
        if self.thousands:
            column = f"regexp_replace({column}, {_literal(self.group)}, '', 'g')"
        return column if self.decimal == "." else f"replace({column}, {_literal(self.decimal)}, '.')"

    @property
    def group(self) -> str:
        """The pattern of a character that separates thousands."""
        return "[" + re.escape(self.thousands) + "]"


COMMA_DECIMAL, COMMA_THOUSANDS = NumberForm(",", "."), NumberForm(".", ",")
_FORMS = (COMMA_DECIMAL, COMMA_THOUSANDS, NumberForm(".", " '\u00a0\u202f"), NumberForm(",", " '\u00a0\u202f"))


def rewrite_numbers(connection: Connection, table: str, texts: Mapping[int, str]) -> dict[int, NumberForm]:
    """Rewrite the columns of a text file in which each value is a number in another form; return these.

    `texts` are the columns that hold text, by position. Where a comma could be either, the other columns decide.
    """
    forms = _possible_forms(connection, table, list(texts))
    both = {COMMA_DECIMAL, COMMA_THOUSANDS}
    decided = {form for found in forms.values() for form in found if len(both & set(found)) == 1}
    rewritten = {}
    for i, found in forms.items():
        if both <= set(found):
            found = [form for form in found if form in both & decided]
            if len(found) != 1:
                _refuse_ambiguous(connection, table, i, texts[i])
        form = found[0]
        separated = f"SELECT bool_or(regexp_matches(c{i}, {_literal(form.group)})) FROM {table}"
        if not connection.execute(separated).fetchall()[0][0]:
            form = NumberForm(form.decimal, "")
        connection.execute(f"UPDATE {table} SET c{i} = {form.plain(f'c{i}')} WHERE c{i} IS NOT NULL")
        rewritten[i] = form
    return rewritten


def _possible_forms(connection: Connection, table: str, columns: Sequence[int]) -> dict[int, list[NumberForm]]:
    """Return the forms that fit every value of a column; columns that no form fits are left out."""
    if not columns:
        return {}
    # Most columns of text fail on their first value: the others are few.
    firsts = ", ".join(f"any_value(c{i})" for i in columns)
    example = connection.execute(f"SELECT {firsts} FROM {table}").fetchone() or ()
    likely = [
        i for i, value in zip(columns, example, strict=True) if value is not None and value.strip(" +-")[:1].isdigit()
    ]
    found = {}
    for i in likely:
        tests = ", ".join(f"bool_and({form.matches(f'c{i}')})" for form in _FORMS)
        fits = connection.execute(f"SELECT {tests} FROM {table} WHERE c{i} IS NOT NULL").fetchone() or ()
        forms = [form for form, is_fit in zip(_FORMS, fits, strict=True) if is_fit]
        if forms:
            found[i] = forms
    return found


def _refuse_ambiguous(connection: Connection, table: str, i: int, name: str) -> NoReturn:
    (example,) = connection.execute(f"SELECT min(c{i}) FROM {table} WHERE contains(c{i}, ',')").fetchone() or ("",)
    raise DataError(
        "column {!r} holds {!r}, and a comma may separate decimals or thousands: pass {} or {}",
        name,
        example,
        Option("decimal", ","),
        Option("thousands", ","),
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
