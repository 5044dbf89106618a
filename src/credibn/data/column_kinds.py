"""Decide what each column is: categorical or numeric.

One rule for every caller, on what the column holds (docs/guide/reading-data.md has it as a table):

- fractional numbers are numeric;
- whole numbers are numeric if there are more than `FEW` different ones, or more than `HALF_OF_ROWS_FROM` that are more
  than half as many as the rows; otherwise they are categories. Where all columns count from 0 or 1 and most have few
  values, the table is one of codes, and all of them are categories;
- everything else is categorical: text, booleans, dates and times, categorical types, and numbers with leading zeros.

An option of the caller, and the kind of columns that a score takes, come first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from duckdb import DuckDBPyConnection as Connection

from credibn.data.options import ColumnOptions
from credibn.data.reading_record import ColumnKind
from credibn.data.reduction import TABLE
from credibn.data.sources import Source

FEW = 20
"""Whole numbers with at most this many different values are categories."""
HALF_OF_ROWS_FROM = 10
"""From more values than this on, whole numbers are numeric where half of the rows have a value of their own."""
IN_BINS, AS_ASKED = "in bins, as asked", "as asked"
_NUMBERS_AMONG_TEXT, _MOST_STRAYS = 0.8, 3
"""The share of rows that are numbers in a column where a few other texts are marks."""
_MARKS = {-9.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0}
"""Numbers that often mark missing values."""
_CODED_SHARE = 0.8
"""Of the columns of a table of codes, those with few values."""

_COUNTED_AT_ONCE = 1_000_000
"""Values, all columns together, whose distinct ones are counted in one query: each needs memory."""
_COLUMNS_AT_ONCE = 50
"""Columns in one such query: DuckDB limits how deep a query is nested."""

Form = Literal["fractions", "whole numbers", "text", "dates", "booleans", "categories", "nothing"]
_FORM_OF_TYPE: Mapping[str, Form] = {
    "boolean": "booleans",
    "date": "dates",
    "time": "dates",
    "timestamp": "dates",
    "double": "fractions",
    "varchar": "text",
}


@dataclass(frozen=True)
class Content:
    """What a column holds, missing values aside."""

    form: Form
    n_rows: int
    n_distinct: int
    low: float | None = None
    high: float | None = None
    is_padded: bool = False  # numbers in a text file with leading zeros: codes
    strays: tuple[str, ...] = ()  # the few texts among numbers that may mark missing values

    @property
    def is_numeric(self) -> bool:
        """Whether each value is a number."""
        return self.form in ("fractions", "whole numbers")

    @property
    def is_few(self) -> bool:
        """Whether the whole numbers have few different values."""
        is_sparse = self.n_distinct > HALF_OF_ROWS_FROM and 2 * self.n_distinct > self.n_rows
        return self.n_distinct <= FEW and not is_sparse


def look_at_columns(connection: Connection, source: Source, variables: Sequence[int]) -> dict[int, Content]:
    """Return what each column of the distinct rows holds."""
    types = dict(zip(connection.table(TABLE).columns, connection.table(TABLE).types, strict=True))
    forms: dict[int, Form] = {
        i: "categories" if source.declared[i] is not None else _FORM_OF_TYPE.get(types[f"c{i}"].id, "whole numbers")
        for i in variables
    }
    texts = [i for i in variables if forms[i] == "text"] if source.is_text_file else []
    padded = _numbers_in_text(connection, texts, forms)
    numeric = [i for i in variables if forms[i] in ("fractions", "whole numbers")]
    ends = _ends(connection, numeric, forms)
    as_numbers = set(numeric) - padded
    counts = _counts(connection, {i: f"TRY_CAST(c{i} AS DOUBLE)" if i in as_numbers else f"c{i}" for i in variables})
    contents = {}
    for i in variables:
        low, high = ends.get(i, (None, None))
        form = forms[i] if counts[i][0] else "nothing"
        contents[i] = Content(form, counts[i][1], counts[i][0], low, high, i in padded)
    return contents


def _numbers_in_text(connection: Connection, texts: Sequence[int], forms: dict[int, Form]) -> set[int]:
    """Correct the forms of text columns in which each value is a number; return those with leading zeros."""
    # Most columns of text fail on their first value: the others are few.
    firsts = ", ".join(f"TRY_CAST(any_value(c{i}) AS DOUBLE) IS NOT NULL" for i in texts)
    is_likely = (connection.execute(f"SELECT {firsts} FROM {TABLE}").fetchone() or ()) if texts else ()
    texts = [i for i, likely in zip(texts, is_likely, strict=True) if likely]
    tests = ", ".join(
        # A missing value gives NULL, which bool_and leaves out; FILTER would copy every column for each one tested.
        f"bool_and(CASE WHEN c{i} IS NULL THEN NULL ELSE TRY_CAST(c{i} AS DOUBLE) IS NOT NULL END), "
        rf"bool_or(regexp_full_match(c{i}, '\s*[+-]?0[0-9]+\s*'))"
        for i in texts
    )
    found = (connection.execute(f"SELECT {tests} FROM {TABLE}").fetchone() or ()) if texts else ()
    for i, is_number in zip(texts, found[::2], strict=True):
        if is_number:
            forms[i] = "fractions"
    return {i for i, is_padded in zip(texts, found[1::2], strict=True) if is_padded and forms[i] == "fractions"}


def find_strays(connection: Connection, contents: Mapping[int, Content]) -> dict[int, Content]:
    """Return the text columns in which few values are not numbers, or one number is far from all others, with these."""
    found = {}
    for i, content in contents.items():
        number = f"TRY_CAST(c{i} AS DOUBLE)"
        if content.n_distinct <= FEW:
            continue
        if content.form == "text":
            shares = f"SELECT sum(CASE WHEN {number} IS NULL THEN 0 ELSE n END) / sum(n) FROM {TABLE}"
            ((share,),) = connection.execute(f"{shares} WHERE c{i} IS NOT NULL").fetchall()
            if share < _NUMBERS_AMONG_TEXT:
                continue
            query = f"SELECT DISTINCT c{i} FROM {TABLE} WHERE c{i} IS NOT NULL AND {number} IS NULL ORDER BY 1"
            texts = [text for (text,) in connection.execute(f"{query} LIMIT {_MOST_STRAYS + 1}").fetchall()]
        elif content.is_numeric and {content.low, content.high} & _MARKS:
            rest = f"FROM {TABLE} WHERE {number} NOT IN ({', '.join(map(str, sorted(_MARKS)))})"
            ((low, high),) = connection.execute(f"SELECT min({number}), max({number}) {rest}").fetchall()
            ends = [end for end in (content.low, content.high) if end in _MARKS]
            far = [
                end
                for end in ends
                if low is not None and (end < 0 <= low or not 2 * low - high <= end <= 2 * high - low)
            ]
            texts = []
            for end in far:
                query = f"SELECT DISTINCT c{i}::VARCHAR FROM {TABLE} WHERE {number} = {end} ORDER BY 1"
                texts += [text for (text,) in connection.execute(query).fetchall()]
        else:
            continue
        if 0 < len(texts) <= _MOST_STRAYS:
            found[i] = replace(content, strays=tuple(texts))
    return found


def strays_in(contents: Mapping[int, Content]) -> list[str]:
    """Return the texts of all columns that may mark missing values."""
    return sorted({text for content in contents.values() for text in content.strays})


def _ends(
    connection: Connection, numeric: Sequence[int], forms: dict[int, Form]
) -> dict[int, tuple[float | None, float | None]]:
    """Return the smallest and the largest number of each column; numbers that are all whole get their form."""
    if not numeric:
        return {}
    tests = ", ".join(
        f"bool_and(TRY_CAST(c{i} AS DOUBLE) = floor(TRY_CAST(c{i} AS DOUBLE))), "
        f"min(TRY_CAST(c{i} AS DOUBLE)), max(TRY_CAST(c{i} AS DOUBLE))"
        for i in numeric
    )
    found = connection.execute(f"SELECT {tests} FROM {TABLE}").fetchone() or ()
    for i, is_whole, low, high in zip(numeric, found[::3], found[1::3], found[2::3], strict=True):
        is_finite = low is not None and math.isfinite(low) and math.isfinite(high)
        forms[i] = "whole numbers" if is_whole and is_finite else "fractions"
    return {i: (low, high) for i, low, high in zip(numeric, found[1::3], found[2::3], strict=True)}


def _counts(connection: Connection, values: Mapping[int, str]) -> dict[int, tuple[int, int]]:
    """Return how many different values and how many rows each column has; missing ones do not count."""
    (n_distinct_rows,) = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchone() or (1,)
    at_once = min(_COLUMNS_AT_ONCE, max(1, _COUNTED_AT_ONCE // n_distinct_rows))
    n_distinct: dict[int, int] = {}
    for first in range(0, len(values), at_once):
        # Not by count(DISTINCT), which takes up to ten times as long for text in a small table.
        query = " UNION ALL ".join(
            f"SELECT {i}, count(*) FROM (SELECT DISTINCT {value} AS v FROM {TABLE}) WHERE v IS NOT NULL"
            for i, value in list(values.items())[first : first + at_once]
        )
        n_distinct |= dict(connection.execute(query).fetchall())
    sums = ", ".join(f"CAST(sum(CASE WHEN c{i} IS NULL THEN 0 ELSE n END) AS BIGINT)" for i in values)
    n_rows = (connection.execute(f"SELECT {sums} FROM {TABLE}").fetchone() or ()) if values else ()
    return {i: (n_distinct[i], n) for i, n in zip(values, n_rows, strict=True)}


def names_rows(
    connection: Connection, source: Source, contents: Mapping[int, Content], n_rows: int, options: ColumnOptions
) -> bool:
    """Whether the first column has no name and holds the names or the numbers of rows, as R and pandas save them.

    `n_rows` is the number of rows in the file, of which some may have been dropped.
    """
    name, first = source.names[0], contents.get(0)
    if not source.is_first_unnamed or first is None or len(contents) == 1:
        return False
    if name in options.only or options.names_in_particular(name):
        return False
    ((n_distinct_rows,),) = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchall()
    if first.n_distinct < (n_distinct_rows if options.weights is not None else first.n_rows):
        return False
    if first.form == "whole numbers" and first.low is not None and first.high is not None:
        return first.high - first.low < n_rows
    return first.form == "text"


def decide_kinds(
    names: Sequence[str], contents: Mapping[int, Content], options: ColumnOptions, units: Mapping[int, str]
) -> dict[int, ColumnKind]:
    """Return the kind of each column, with the reason."""
    is_coded = _is_coded(list(contents.values()), options.max_states)
    kinds = {}
    for i, content in contents.items():
        kind, why = _asked(names[i], content, options) or _typed(content, is_coded)
        kinds[i] = ColumnKind(names[i], kind, why, units.get(i, ""))
    return kinds


def _asked(name: str, content: Content, options: ColumnOptions) -> tuple[Literal["numeric", "categorical"], str] | None:
    if name in options.rules:
        return "categorical", IN_BINS
    if name in options.state_names:
        return "categorical", "its states are given"
    if name in options.kinds:
        return ("numeric" if options.kinds[name] == "numeric" else "categorical"), AS_ASKED
    if options.rule_for_floats is not None and _typed(content, is_coded=False)[0] == "numeric":
        return "categorical", IN_BINS
    if options.columns == "mixed":
        return None
    return ("numeric" if options.columns == "continuous" else "categorical"), "the score takes nothing else"


def _typed(content: Content, is_coded: bool) -> tuple[Literal["numeric", "categorical"], str]:
    """Return what a column is by its content."""
    n = content.n_distinct
    if not content.is_numeric:
        return "categorical", content.form
    if content.is_padded:
        return "categorical", "codes with leading zeros"
    if content.form == "fractions":
        return "numeric", "fractions"
    if is_coded and not content.is_few:
        return "categorical", "a code, as all columns are"
    return ("categorical" if content.is_few else "numeric"), f"whole numbers, {n:,} different"


def _is_coded(contents: Sequence[Content], max_states: int) -> bool:
    """Whether all columns are codes from 0 or 1 on, as programs write categories; most have few values."""
    known = [content for content in contents if content.form != "nothing"]
    whole = [content for content in known if content.form == "whole numbers" and not content.is_padded]
    if not whole or len(whole) < len(known):
        return False
    from_start = all(content.low in (0, 1) and (content.high or 0) <= max_states for content in whole)
    return from_start and sum(content.is_few for content in whole) >= _CODED_SHARE * len(whole)
