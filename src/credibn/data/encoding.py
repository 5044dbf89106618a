"""Encode each column of the distinct rows as states, bins or numbers, and fetch the arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from credibn._base.text import quoted
from credibn.data.dataset import Dataset
from credibn.data.discretising import BinRule, bin_edges, bin_labels
from credibn.data.options import ColumnOptions
from credibn.data.reduction import TABLE
from credibn.data.sources import Source
from credibn.data.states import CodedColumn, check_number_of_states, code_declared, code_observed, code_sql
from credibn.errors import DataError

_FLOAT, _WHOLE, _TEXT, _OTHER = "float", "whole", "text", "other"


def column_kinds(
    connection: Connection, source: Source, options: ColumnOptions, variables: Sequence[int]
) -> dict[int, str]:
    """Return for each column whether it holds fractional numbers, whole numbers, text or something else.

    In a text file a column is numeric if each of its values is a number, and whole if all are written as integers.
    """
    types = dict(zip(connection.table(TABLE).columns, connection.table(TABLE).types, strict=True))
    kinds = {i: _kind(types[f"c{i}"].id, source.declared[i] is not None) for i in variables}
    is_asked = options.columns != "discrete" or options.rules or options.rule_for_floats
    if not source.is_text_file or not is_asked:
        return kinds
    tests = ", ".join(
        # A missing value gives NULL, which bool_and leaves out; FILTER would copy every column for each one tested.
        f"bool_and(CASE WHEN c{i} IS NULL THEN NULL ELSE TRY_CAST(c{i} AS DOUBLE) IS NOT NULL END), "
        rf"bool_and(regexp_full_match(c{i}, '\s*[+-]?[0-9]+\s*'))"
        for i in variables
    )
    found = connection.execute(f"SELECT {tests} FROM {TABLE}").fetchone() or ()
    for i, is_number, is_whole in zip(variables, found[::2], found[1::2], strict=True):
        if is_number:
            kinds[i] = _WHOLE if is_whole else _FLOAT
    return kinds


def _kind(type_id: str, is_declared: bool) -> str:
    if is_declared or type_id in ("date", "time", "timestamp", "boolean"):
        return _OTHER
    return {"double": _FLOAT, "varchar": _TEXT}.get(type_id, _WHOLE)


def encode_column(
    connection: Connection, source: Source, options: ColumnOptions, position: int, kind: str, keeps_missing: bool
) -> tuple[CodedColumn, str | None]:
    """Return one column as it goes into the Dataset, and a note for the caller."""
    name, column = source.names[position], f"c{position}"
    declared, states = source.declared[position], options.state_names.get(name)
    is_free_float = kind == _FLOAT and states is None and name not in options.continuous
    rule = options.rules.get(name) or (options.rule_for_floats if is_free_float else None)
    if rule is not None:
        return _discretised(connection, name, column, kind, rule, keeps_missing)
    is_listed = options.columns == "continuous" or name in options.continuous
    if is_listed or (options.columns == "mixed" and is_free_float):
        return _continuous(connection, name, column, kind, keeps_missing), None
    if states is not None:
        return code_declared(connection, name, column, states, declared, keeps_missing), None
    if declared is None:
        return code_observed(connection, name, column, options.max_states, keeps_missing), None
    check_number_of_states(name, len(declared), declared[:3], options.max_states)
    return code_sql(name, column, declared, keeps_missing), None


def _discretised(
    connection: Connection, name: str, column: str, kind: str, rule: BinRule, keeps_missing: bool
) -> tuple[CodedColumn, str | None]:
    if kind not in (_FLOAT, _WHOLE):
        raise DataError(
            f"column {name!r} cannot be discretised: it holds {_example(connection, column)}, and only numbers can be; "
            "leave it out of discretise, or correct the value"
        )
    _check_finite(connection, name, column)
    seen = _fetch_arrays(
        connection,
        f"SELECT {column}::DOUBLE + 0.0 AS v, CAST(sum(n) AS BIGINT) AS n FROM {TABLE} "
        f"WHERE {column} IS NOT NULL GROUP BY ALL ORDER BY v",
    )
    if not seen["v"].size:
        raise DataError(f"column {name!r} has only missing values and cannot be discretised: drop the column")
    edges, note = bin_edges(rule, seen["v"], seen["n"])
    tests = " ".join(f"WHEN {column}::DOUBLE < CAST('{edge!r}' AS DOUBLE) THEN {k}" for k, edge in enumerate(edges))
    sql = f"CASE WHEN {column} IS NULL THEN NULL {tests} ELSE {len(edges)} END"
    coded = code_sql(name, sql, bin_labels(edges), keeps_missing)
    return dataclasses.replace(coded, bin_edges=edges), f"column {name!r} {note}" if note else None


def _continuous(connection: Connection, name: str, column: str, kind: str, keeps_missing: bool) -> CodedColumn:
    if kind not in (_FLOAT, _WHOLE):
        raise DataError(
            f"column {name!r} cannot be continuous: it holds {_example(connection, column)}, which is "
            "not a number; pass columns='mixed' to keep it as categories, or recode it"
        )
    if keeps_missing:
        raise DataError(
            f"continuous column {name!r} has missing values, which cannot be a state among numbers: "
            "pass missing='drop', impute them, or discretise the column"
        )
    _check_finite(connection, name, column)
    return CodedColumn(f"{column}::DOUBLE + 0.0")


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
            f"column {name!r} holds {found[1]!s:.60} in {int(found[0]):,} row(s): numbers must be finite; "
            "drop these rows or replace the value"
        )


def fetch_dataset(connection: Connection, names: Sequence[str], columns: Sequence[CodedColumn]) -> Dataset:
    """Return the Dataset of the encoded columns: rows that became equal are merged, then sorted."""
    selected = ", ".join(f"{column.sql} AS v{i}" for i, column in enumerate(columns))
    arrays = _fetch_arrays(
        connection,
        f"SELECT {selected}, CAST(sum(n) AS BIGINT) AS weight FROM {TABLE} GROUP BY ALL ORDER BY ALL",
    )
    return Dataset(
        names=tuple(names),
        columns=tuple(arrays[f"v{i}"] for i in range(len(columns))),
        states=tuple(column.states for column in columns),
        weights=arrays["weight"],
        cuts={
            name: column.bin_edges for name, column in zip(names, columns, strict=True) if column.bin_edges is not None
        },
    )


def _fetch_arrays(connection: Connection, query: str) -> dict[str, NDArray[Any]]:
    arrays = connection.execute(query).fetchnumpy()
    assert not any(np.ma.is_masked(array) for array in arrays.values()), "NULL where each row has a value"
    return {name: np.asarray(array) for name, array in arrays.items()}
