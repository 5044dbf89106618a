"""Numbers that are written otherwise than in Python: "1.234,5", "1,234.5", "12,5", "45 y", "$12", "3 %"."""

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

    @property
    def is_plain(self) -> bool:
        """Whether it is Python's."""
        return self.decimal == "." and not self.thousands


PLAIN = NumberForm(".", "")
COMMA_DECIMAL, COMMA_THOUSANDS = NumberForm(",", "."), NumberForm(".", ",")
_FORMS = (COMMA_DECIMAL, COMMA_THOUSANDS, NumberForm(".", " '\u00a0\u202f"), NumberForm(",", " '\u00a0\u202f"))


_CURRENCIES = "$€£¥"
_BEFORE = rf"^[-+]?([{_CURRENCIES}])"
_AFTER = rf"[0-9]\s*((?:%|°|µ|[A-Za-z{_CURRENCIES}/²³]){{1,12}})$"
_FEWEST_WITH_UNIT = 10
"""Whole numbers with a unit that have no more different values than this stay labels."""


@dataclass(frozen=True)
class Rewritten:
    """How the numbers of a column were written; `unit` stood before or after each."""

    form: NumberForm
    unit: str = ""


def given_form(decimal: str | None, thousands: str | None) -> NumberForm | None:
    """Return the form that a caller names; None where neither separator is named."""
    return None if decimal is None and thousands is None else NumberForm(decimal or ".", thousands or "")


def rewrite_numbers(
    connection: Connection, table: str, texts: Mapping[int, str], given: NumberForm | None = None
) -> dict[int, Rewritten]:
    """Rewrite the columns of a text file in which each value is a number in another form; return these.

    `texts` are the columns that hold text, by position. Where a comma could be either, the other columns decide. Where
    the caller names a form, the cells in it are rewritten already, and only units are left.
    """
    found = _possible_forms(connection, table, list(texts), given)
    both = {COMMA_DECIMAL, COMMA_THOUSANDS}
    decided = {form for _, forms in found.values() for form in forms if len(both & set(forms)) == 1}
    rewritten = {}
    for i, (unit, forms) in found.items():
        if both <= set(forms):
            forms = [form for form in forms if form in both & decided]
            if len(forms) != 1:
                _refuse_ambiguous(connection, table, i, texts[i])
        form = forms[0]
        if form.thousands:
            separated = f"SELECT bool_or(regexp_matches(c{i}, {_literal(form.group)})) FROM {table}"
            if not connection.execute(separated).fetchall()[0][0]:
                form = NumberForm(form.decimal, "")
        number = f"trim({form.plain(_without(unit, f'c{i}'))})"
        connection.execute(f"UPDATE {table} SET c{i} = {number} WHERE c{i} IS NOT NULL")
        rewritten[i] = Rewritten(form, unit)
    return rewritten


def _possible_forms(
    connection: Connection, table: str, columns: Sequence[int], given: NumberForm | None
) -> dict[int, tuple[str, list[NumberForm]]]:
    """Return the unit of each column of numbers, and the forms that fit all values; other columns are left out."""
    if not columns:
        return {}
    # Most columns of text fail on their first value: the others are few.
    firsts = ", ".join(f"any_value(c{i})" for i in columns)
    example = connection.execute(f"SELECT {firsts} FROM {table}").fetchone() or ()
    likely = [
        i
        for i, value in zip(columns, example, strict=True)
        if value is not None and value.strip(f" +-{_CURRENCIES}")[:1].isdigit()
    ]
    found = {}
    for i in likely:
        unit = _unit(connection, table, i)
        allowed = _FORMS if given is None else (given,)
        if unit:
            allowed = (PLAIN, *allowed)
        elif given is not None:
            continue
        cell = _without(unit, f"c{i}")
        tests = ", ".join(f"bool_and({form.matches(cell)})" for form in allowed)
        fits = connection.execute(f"SELECT {tests} FROM {table} WHERE c{i} IS NOT NULL").fetchone() or ()
        forms = [form for form, is_fit in zip(allowed, fits, strict=True) if is_fit]
        if forms:
            found[i] = unit, [PLAIN] if PLAIN in forms else forms
    return found


def _unit(connection: Connection, table: str, i: int) -> str:
    """Return the unit that stands before or after each number of a column; empty where there is none."""
    before = f"regexp_extract(c{i}, {_literal(_BEFORE)}, 1)"
    after = f"regexp_extract(c{i}, {_literal(_AFTER)}, 1)"
    query = (
        f"SELECT min({before}), max({before}), min({after}), max({after}), count(DISTINCT c{i}) > {_FEWEST_WITH_UNIT} "
        f"OR bool_or(regexp_matches(c{i}, '[0-9][.,][0-9]')) FROM {table} WHERE c{i} IS NOT NULL"
    )
    ((prefix, last_prefix, suffix, last_suffix, is_measured),) = connection.execute(query).fetchall()
    if prefix != last_prefix or suffix != last_suffix or not is_measured or (prefix and suffix):
        return ""
    return str(prefix or suffix)


def _without(unit: str, column: str) -> str:
    return f"trim(replace({column}, {_literal(unit)}, ''))" if unit else column


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
