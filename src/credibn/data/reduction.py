"""Reduce a table to its distinct rows with counts, in one pass and out of core.

Everything later (missing values, states, bins, codes) is worked out on the distinct rows, so that the
table itself is scanned once and its rows never become Python objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from duckdb import DuckDBPyConnection as Connection

from credibn.data.files import sql_text
from credibn.data.sources import Source, reading
from credibn.errors import DataError, Option, Phrase

TABLE = "distinct_rows"
"""The table of distinct rows: columns ``c0, c1, ...`` and the number of rows ``n``."""

_NUMBERS = {"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
_AS_THEY_ARE = {*_NUMBERS, "varchar", "boolean"}
_COARSER = {"timestamp_s", "timestamp_ms", "timestamp_ns"}
_ENOUGH_ROWS = 0.5
"""Rows that are left without those that have missing values: with fewer, columns go first."""
_FIRST_DAY, _DAY_AFTER_LAST = "0001-01-01", "10000-01-01"


def reduce_rows(
    connection: Connection, source: Source, variables: Sequence[int], weights: int | None, missing_values: Sequence[str]
) -> tuple[str, ...]:
    """Create the table of distinct rows from the columns ``variables``, counted by the column ``weights``.

    Returns the texts among ``missing_values`` that occur.
    """
    kinds = source.relation.types
    columns = [f"{cleaned_column(source.names[i], f'c{i}', kinds[i])} AS c{i}" for i in variables]
    if source.count is not None:
        columns.append(source.count)
    if weights is not None:
        columns.append(f"{_weight_text(source, weights)} AS weight_text")
        columns.append(f"TRY_CAST(c{weights}::VARCHAR AS DOUBLE) AS weight")
    keys = ", ".join(f"c{i}" for i in variables)
    counts = _counts(source.count, is_weighted=weights is not None)
    with reading(source.is_text_file, source.where):
        source.fetch()
        grouped = source.relation.project(", ".join(columns)).aggregate(f"{keys}, {counts}", keys)
        if source.is_foreign:
            # The caller's connection groups and streams the result: nothing is left behind in it.
            grouped = connection.from_arrow(grouped.to_arrow_reader())
        grouped.create(TABLE)
    marks = _blank_missing_texts(connection, variables, missing_values) if missing_values else ()
    if weights is not None:
        _check_weights(connection, source.names[weights])
    n_rows = _one_row(connection, f"SELECT sum(n) FROM {TABLE}")[0]
    if n_rows is None:
        raise DataError("the table has no rows: give at least one")
    if n_rows >= 1 << 63:
        raise DataError(
            f"the weights add up to {n_rows}, which does not fit in 64 bits: divide them by a common factor"
        )
    return marks


def cleaned_column(name: str, column: str, kind: Any) -> str:
    """Return SQL that gives the column one of a few types, and NULL for each missing value."""
    if kind.id == "date":
        return _within(name, column, f"DATE '{_FIRST_DAY}'", f"DATE '{_DAY_AFTER_LAST}'")
    if kind.id == "timestamp" or kind.id in _COARSER:
        moment = column if kind.id == "timestamp" else f"{column}::TIMESTAMP"
        return _within(name, moment, f"TIMESTAMP '{_FIRST_DAY}'", f"TIMESTAMP '{_DAY_AFTER_LAST}'")
    if kind.id == "time":
        return _within(name, column, "TIME '00:00:00'", "TIME '24:00:00'")
    if kind.id in _AS_THEY_ARE:
        return column
    if kind.id in ("float", "double"):
        # Adding zero turns -0.0, a second spelling of the same number, into 0.0.
        return f"CASE WHEN isnan({column}) THEN NULL ELSE {column}::DOUBLE + 0.0 END"
    if kind.id == "decimal":
        return column if dict(kind.children)["scale"] == 0 else f"{column}::DOUBLE + 0.0"
    if kind.id == "hugeint":
        return f"{column}::DECIMAL(38, 0)"
    if kind.id in ("uuid", "null"):
        return f"{column}::VARCHAR"
    raise DataError(
        "column {!r} has the type {}, which is neither a category nor a number: convert it to text, numbers or "
        "booleans, or leave it out with {}",
        name,
        kind,
        Option("drop", [name]),
    )


def _within(name: str, column: str, first: str, end: str) -> str:
    """Return SQL that refuses days and times that Python has no object for: the years 1 to 9999, hours to 23."""
    message = sql_text(
        f"column {name!r} holds a day outside the years 1 to 9999, or a time outside 0 to 24 hours; convert the column "
        "to text, or correct the value"
    )
    is_known = f"{column} IS NULL OR ({column} >= {first} AND {column} < {end})"
    return f"CASE WHEN {is_known} THEN {column} ELSE error({message}) END"


def _blank_missing_texts(
    connection: Connection, variables: Sequence[int], missing_values: Sequence[str]
) -> tuple[str, ...]:
    # On the distinct rows: inside the grouping query it is slower, most of all for wide tables.
    # Rows that become equal are merged at the end.
    types = dict(zip(connection.table(TABLE).columns, connection.table(TABLE).types, strict=True))
    texts = [i for i in variables if types[f"c{i}"].id == "varchar"]
    if not texts:
        return ()
    marks: set[str] = set()
    listed = ", ".join(map(sql_text, missing_values))
    tests = ", ".join(f"bool_or(c{i} IN ({listed}))" for i in texts)
    for i, is_found in zip(texts, _one_row(connection, f"SELECT {tests} FROM {TABLE}"), strict=True):
        if is_found:
            found = connection.execute(f"SELECT DISTINCT c{i} FROM {TABLE} WHERE c{i} IN ({listed})").fetchall()
            marks |= {mark for (mark,) in found}
            connection.execute(f"UPDATE {TABLE} SET c{i} = NULL WHERE c{i} IN ({listed})")
    return tuple(sorted(marks))


def _weight_text(source: Source, weights: int) -> str:
    kind = source.relation.types[weights].id
    is_number = kind in _NUMBERS or kind in ("float", "double", "decimal", "hugeint", "null")
    if source.declared[weights] is not None or not (is_number or (source.is_text_file and kind == "varchar")):
        raise DataError(
            f"weights column {source.names[weights]!r} holds "
            f"{kind if source.declared[weights] is None else 'categories'}: give a column of positive whole numbers"
        )
    return f"coalesce(c{weights}::VARCHAR, 'missing')"


def _counts(count: str | None, is_weighted: bool) -> str:
    """Return the SQL of the number of rows ``n``, where each row stands for ``count`` rows, or for one."""
    number = "count(*)" if count is None else f"CAST(sum({count}) AS DECIMAL(38, 0))"
    if not is_weighted:
        return f"{number} AS n"
    # NaN compares as the largest number, so the upper limit also refuses it. 2**53: exact as a double.
    is_count = "coalesce(weight >= 1 AND weight <= 9007199254740992 AND weight = floor(weight), false)"
    times = "1" if count is None else count
    return (
        f"CAST(sum(CASE WHEN {is_count} THEN weight::HUGEINT * {times} ELSE 0 END) AS DECIMAL(38, 0)) AS n, "
        f"sum(CASE WHEN {is_count} THEN 0 ELSE {times} END) AS n_refused, "
        f"min(weight_text) FILTER (WHERE NOT {is_count}) AS refused"
    )


def _check_weights(connection: Connection, name: str) -> None:
    n_refused, example = _one_row(connection, f"SELECT sum(n_refused), min(refused) FROM {TABLE}")
    if n_refused:
        raise DataError(
            f"weights column {name!r} has {n_refused:,} row(s) that are not counts, for example {example}: "
            "each weight must be a whole number of at least 1; drop rows with weight 0, scale fractions up"
        )


@dataclass(frozen=True)
class MissingValues:
    """The rows of the table, and how many of them have no value, for each column where there are some."""

    n_rows: int
    counts: Mapping[int, int]

    @property
    def empty(self) -> list[int]:
        """The columns without any value."""
        return [i for i, count in self.counts.items() if count == self.n_rows]

    def without(self, columns: Iterable[int]) -> MissingValues:
        """Return the same for a table without some columns."""
        return replace(self, counts={i: count for i, count in self.counts.items() if i not in set(columns)})

    def listed(self, names: Sequence[str]) -> str:
        """Return the columns with their counts, as text."""
        shown = ", ".join(f"{names[i]!r}: {count:,}" for i, count in list(self.counts.items())[:10])
        return shown + (f" and {len(self.counts) - 10} more columns" if len(self.counts) > 10 else "")


def count_missing(connection: Connection, variables: Sequence[int]) -> MissingValues:
    """Count the missing values of each column."""
    # Not by FILTER, which copies every column of the table for each one that is counted.
    sums = ", ".join(f"sum(CASE WHEN c{i} IS NULL THEN n ELSE 0 END)" for i in variables)
    n_rows, *counts = (int(count) for count in _one_row(connection, f"SELECT sum(n), {sums} FROM {TABLE}"))
    return MissingValues(n_rows, {i: count for i, count in zip(variables, counts, strict=True) if count})


def columns_to_drop(connection: Connection, missing: MissingValues, n_columns: int) -> tuple[list[int], int]:
    """Return columns without which at least half of the rows are complete, and how many rows these are.

    The columns with the most missing values go first. One column always stays.
    """
    dropped: list[int] = []
    while True:
        left = missing.without(dropped).counts
        tests = " OR ".join([f"c{i} IS NULL" for i in left] or ["false"])
        n_complete = int(_one_row(connection, f"SELECT coalesce(sum(n), 0) FROM {TABLE} WHERE NOT ({tests})")[0])
        if n_complete >= _ENOUGH_ROWS * missing.n_rows or len(dropped) == n_columns - 1:
            return dropped, n_complete
        dropped.append(max(left, key=lambda i: left[i]))


def refuse_missing(
    connection: Connection,
    names: Sequence[str],
    missing: MissingValues,
    n_columns: int,
    has_numbers: bool,
    how_to_drop: Option | Phrase,
) -> NoReturn:
    """Say where values are missing and what to do; among numbers "missing" cannot be a state."""
    dropped, n_complete = columns_to_drop(connection, missing, n_columns)
    fix = Phrase("pass {} to leave out these rows", how_to_drop)
    if dropped and n_complete:
        fix = Phrase(
            "few rows are complete: pass {} with {}",
            Option("drop", [names[i] for i in dropped]),
            Option("missing", "drop"),
        )
        if len(dropped) == len(missing.counts):
            fix = Phrase("few rows are complete: pass {}", Option("drop", [names[i] for i in dropped]))
    if not has_numbers:
        fix = Phrase("{}, {} to count 'missing' as a state", fix, Option("missing", "state"))
    raise DataError(
        "missing values in {} of {} columns, of {:,} rows ({}): {}, or fill them in (impute_and_learn in Python, "
        "'credibn impute' in the shell)",
        len(missing.counts),
        n_columns,
        missing.n_rows,
        missing.listed(names),
        fix,
    )


def drop_rows(connection: Connection, names: Sequence[str], missing: MissingValues, n_columns: int) -> int:
    """Leave out the rows with missing values; return how many these are."""
    dropped, _ = columns_to_drop(connection, missing, n_columns)
    tests = " OR ".join(f"c{i} IS NULL" for i in missing.counts)
    connection.execute(f"DELETE FROM {TABLE} WHERE {tests}")
    n_left = int(_one_row(connection, f"SELECT coalesce(sum(n), 0) FROM {TABLE}")[0])
    if not n_left:
        raise DataError(
            "each of the {:,} rows has a missing value ({}), so dropping rows leaves none: leave columns out with {}",
            missing.n_rows,
            missing.listed(names),
            Option("drop", [names[i] for i in dropped]),
        )
    return missing.n_rows - n_left


def _one_row(connection: Connection, query: str) -> tuple[int, ...]:
    row: tuple[int, ...] | None = connection.execute(query).fetchone()
    assert row is not None, "an aggregate gives one row"
    return row
