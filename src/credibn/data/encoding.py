"""Encode each column of the distinct rows as states, bins or numbers, and fetch the arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from credibn._base.text import quoted
from credibn.data.column_kinds import IN_BINS, Content
from credibn.data.column_notes import missing_marks
from credibn.data.dataset import Dataset, code_type
from credibn.data.discretising import BinRule, bin_edges, bin_labels
from credibn.data.gaps import GappedTable
from credibn.data.interventions import parse_targets
from credibn.data.options import ColumnOptions
from credibn.data.reading_record import ColumnKind, Reading
from credibn.data.reduction import TABLE
from credibn.data.sources import Source
from credibn.data.states import CodedColumn, check_number_of_states, code_declared, code_observed, code_sql
from credibn.errors import DataError, Option
from credibn.options import MAX_STATES


def encode_column(
    connection: Connection,
    source: Source,
    options: ColumnOptions,
    position: int,
    kind: ColumnKind,
    content: Content,
    keeps_missing: bool,
    as_gaps: bool = False,
) -> tuple[CodedColumn, str | None]:
    """Return one column as it goes into the Dataset, and a note for the caller.

    Where it keeps missing values, they are a state; `as_gaps`, those of numbers are NaN.
    """
    name, column = source.names[position], f"c{position}"
    declared, states = source.declared[position], options.state_names.get(name)
    rule = options.rules.get(name) or (options.rule_for_floats if kind.why == IN_BINS else None)
    if rule is not None:
        return _discretised(connection, name, column, content, rule, keeps_missing)
    if kind.kind == "numeric":
        return _continuous(connection, name, column, content, options, keeps_missing, as_gaps), None
    if states is not None:
        return code_declared(connection, name, column, states, declared, keeps_missing), None
    if declared is None:
        as_numbers = _as_numbers(name, content, options)
        fix = missing_marks(options) if content.strays else as_numbers
        return code_observed(connection, name, column, options.max_states, keeps_missing, fix), None
    check_number_of_states(name, len(declared), declared[:3], options.max_states, None)
    return code_sql(name, column, declared, keeps_missing), None


def code_targets(connection: Connection, source: Source, position: int) -> CodedColumn:
    """Return the column that says what was set in each row; an empty field is a state."""
    name, declared = source.names[position], source.declared[position]
    if declared is not None:
        return code_sql(name, f"c{position}", declared, keeps_missing=True)
    return code_observed(connection, name, f"c{position}", MAX_STATES - 1, True, None)


def _as_numbers(name: str, content: Content, options: ColumnOptions) -> Option | None:
    """Return the option that reads a column of numbers as numbers; None for other columns, and for codes."""
    if not content.is_numeric or content.is_padded:
        return None
    if options.columns == "mixed" or options.is_kind_given:
        return Option("columns", {name: "numeric"})
    return Option("score", "auto")


def _discretised(
    connection: Connection, name: str, column: str, content: Content, rule: BinRule, keeps_missing: bool
) -> tuple[CodedColumn, str | None]:
    if content.form == "nothing":
        raise _nothing_in(name)
    if not content.is_numeric:
        raise DataError(
            "column {!r} cannot be discretised: it holds {}, which is not a number; leave it out of {}, or correct the "
            "value",
            name,
            _example(connection, column),
            Option("discretise"),
        )
    _check_finite(connection, name, column)
    seen = _fetch_arrays(
        connection,
        f"SELECT {column}::DOUBLE + 0.0 AS v, CAST(sum(n) AS BIGINT) AS n FROM {TABLE} "
        f"WHERE {column} IS NOT NULL GROUP BY ALL ORDER BY v",
    )
    edges, note = bin_edges(rule, seen["v"], seen["n"])
    tests = " ".join(f"WHEN {column}::DOUBLE < CAST('{edge!r}' AS DOUBLE) THEN {k}" for k, edge in enumerate(edges))
    sql = f"CASE WHEN {column} IS NULL THEN NULL {tests} ELSE {len(edges)} END"
    coded = code_sql(name, sql, bin_labels(edges), keeps_missing)
    return dataclasses.replace(coded, bin_edges=edges), f"column {name!r} {note}" if note else None


def _continuous(
    connection: Connection,
    name: str,
    column: str,
    content: Content,
    options: ColumnOptions,
    keeps_missing: bool,
    as_gaps: bool,
) -> CodedColumn:
    if content.form == "nothing":
        raise _nothing_in(name)
    if not content.is_numeric:
        as_categories = Option("columns", {name: "categorical"})
        if options.columns == "continuous" and not options.is_kind_given:
            as_categories = Option("score", "auto")
        raise DataError(
            "column {!r} cannot be continuous: it holds {}, which is not a number; pass {} to read it as categories, "
            "or leave it out with {}",
            name,
            _example(connection, column),
            as_categories,
            Option("drop", [name]),
        )
    if keeps_missing and not as_gaps:
        raise DataError(
            "numeric column {!r} has missing values, which cannot be a state of a numeric column: pass {} to leave out "
            "these rows, or {} for bins",
            name,
            Option("missing", "drop"),
            Option("discretise", {name: "equal_frequency:4"}),
        )
    _check_finite(connection, name, column)
    value = f"{column}::DOUBLE + 0.0"
    return CodedColumn(f"coalesce({value}, CAST('NaN' AS DOUBLE))" if keeps_missing else value)


def _nothing_in(name: str) -> DataError:
    return DataError("column {!r} has only missing values: leave it out with {}", name, Option("drop", [name]))


def _example(connection: Connection, column: str) -> str:
    found = connection.execute(
        f"SELECT min({column}::VARCHAR) FROM {TABLE} WHERE TRY_CAST({column}::VARCHAR AS DOUBLE) IS NULL"
    ).fetchone()
    return "categories" if not found or found[0] is None else quoted(found[0])


def _check_finite(connection: Connection, name: str, column: str) -> None:
    found = connection.execute(
        f"SELECT sum(n), min({column}::VARCHAR) FROM {TABLE} WHERE NOT isfinite({column}::DOUBLE)"
    ).fetchone()
    if found and found[0]:
        raise DataError(
            "column {!r} holds {:.60} in {:,} row(s): numbers must be finite; replace the value, or leave the column "
            "out with {}",
            name,
            str(found[1]),
            int(found[0]),
            Option("drop", [name]),
        )


def fetch_dataset(
    connection: Connection,
    names: Sequence[str],
    columns: Sequence[CodedColumn],
    reading: Reading,
    targets: tuple[str, CodedColumn] | None = None,
) -> Dataset:
    """Return the Dataset of the encoded columns: rows that became equal are merged, then sorted.

    `targets` is the name and the content of the column that says what was set in each row.
    """
    *values, weights = _fetch_columns(connection, [*columns, *([] if targets is None else [targets[1]])])
    states, cuts = tuple(column.states for column in columns), _bin_edges(names, columns)
    if targets is None:
        return Dataset(tuple(names), tuple(values), states, weights, cuts, reading)
    *values, labels = values
    named = parse_targets(targets[1].states or (), names, targets[0])
    occurring = sorted({named[label] for label in np.unique(labels).tolist()}, key=lambda one: (len(one), one))
    position = np.array([occurring.index(one) if one in occurring else 0 for one in named], dtype=np.int64)
    found = tuple(occurring), position[labels]
    return Dataset.of_rows(tuple(names), values, states, weights, cuts, reading, found)


def fetch_gapped(
    connection: Connection, names: Sequence[str], columns: Sequence[CodedColumn], reading: Reading
) -> GappedTable:
    """Return the encoded columns where values are missing: None is the last state of some, NaN a number."""
    *values, weights = _fetch_columns(connection, columns)
    states: list[tuple[object, ...] | None] = []
    are_missing = []
    for at, column in enumerate(columns):
        labels = column.states
        if labels is not None and labels[-1:] == (None,):
            labels = labels[:-1]
            is_missing = values[at] == len(labels)
            values[at] = np.where(is_missing, 0, values[at]).astype(code_type(len(labels)))
        else:
            is_missing = np.isnan(values[at]) if labels is None else np.zeros(len(weights), dtype=bool)
        states.append(labels)
        are_missing.append(is_missing)
    cuts = _bin_edges(names, columns)
    return GappedTable(tuple(names), tuple(values), tuple(states), np.array(are_missing), weights, cuts, reading)


def _fetch_columns(connection: Connection, columns: Sequence[CodedColumn]) -> list[NDArray[Any]]:
    """Return the encoded columns over the distinct rows, in order, and the number of rows that each stands for."""
    selected = ", ".join(f"{column.sql} AS v{i}" for i, column in enumerate(columns))
    arrays = _fetch_arrays(
        connection,
        f"SELECT {selected}, CAST(sum(n) AS BIGINT) AS weight FROM {TABLE} GROUP BY ALL ORDER BY ALL",
    )
    return [*(arrays[f"v{i}"] for i in range(len(columns))), arrays["weight"]]


def _bin_edges(names: Sequence[str], columns: Sequence[CodedColumn]) -> dict[str, tuple[float, ...]]:
    return {name: column.bin_edges for name, column in zip(names, columns, strict=True) if column.bin_edges is not None}


def _fetch_arrays(connection: Connection, query: str) -> dict[str, NDArray[Any]]:
    arrays = connection.execute(query).fetchnumpy()
    assert all(type(array) is np.ndarray for array in arrays.values()), "NULL where each row has a value"
    return {name: np.asarray(array) for name, array in arrays.items()}
