"""The states of a discrete column: which labels, in which order, and the SQL that turns values into codes."""

from __future__ import annotations

import contextlib
import decimal
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection

from credibn._base.text import quoted
from credibn.data.dataset import code_type
from credibn.data.files import sql_text
from credibn.data.reduction import TABLE
from credibn.errors import DataError, Option, OptionError, Phrase
from credibn.options import MAX_STATES

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class CodedColumn:
    """A column as it goes into the Dataset: the SQL of its values, its states and the edges of its bins."""

    sql: str
    states: tuple[object, ...] | None = None
    bin_edges: tuple[float, ...] | None = None


def natural_order(labels: Sequence[Any]) -> list[Any]:
    """Return labels in natural order: numbers (also as text) by value, False before True, text by letter."""
    if labels and all(isinstance(label, str) and _NUMBER.fullmatch(label) for label in labels):
        with contextlib.suppress(decimal.InvalidOperation):  # an exponent of 19 digits or more: order the texts
            return sorted(labels, key=lambda text: (decimal.Decimal(text.strip()), text))
    return sorted(labels)


def code_observed(
    connection: Connection,
    name: str,
    column: str,
    max_states: int,
    keeps_missing: bool,
    as_numbers: Option | Phrase | None,
) -> CodedColumn:
    """Return a column whose states are the values seen in the data."""
    texts = _observed(connection, name, column, max_states, as_numbers)
    states = natural_order(list(texts))
    sql = _code_of(column, [texts[state] for state in states], range(len(states)))
    return code_sql(name, sql, states, keeps_missing)


def code_declared(
    connection: Connection,
    name: str,
    column: str,
    states: Sequence[object],
    labels: Sequence[object] | None,
    keeps_missing: bool,
) -> CodedColumn:
    """Return a column whose states the caller has declared; a categorical one holds codes into ``labels``."""
    texts = _observed(connection, name, column, MAX_STATES)
    code_of = {state: code for code, state in enumerate(states)}
    codes = []
    for value in texts:
        label = value if labels is None else labels[value]
        if label not in code_of:
            near = [state for state in states if str(state) == str(label)]
            fix = "add it, or recode the data"
            if near:
                fix = f"declare {quoted(label)}, not {quoted(near[0])} (the types differ)"
            raise DataError(
                f"column {name!r} holds {quoted(label)}, which is not among its state_names "
                f"[{', '.join(map(quoted, states[:10]))}]: {fix}"
            )
        codes.append(code_of[label])
    return code_sql(name, _code_of(column, list(texts.values()), codes), states, keeps_missing)


def code_sql(name: str, sql: str, states: Sequence[object], keeps_missing: bool) -> CodedColumn:
    """Return the column of codes ``sql``, with None as last state for missing values if it keeps some."""
    labels = (*states, None) if keeps_missing else tuple(states)
    if len(labels) > MAX_STATES:
        raise DataError(f"column {name!r} has {len(labels):,} states, more than {MAX_STATES:,}: merge similar ones")
    integer = {np.uint8: "UTINYINT", np.uint16: "USMALLINT"}[code_type(len(labels))]
    code = f"coalesce({sql}, {len(states)})" if keeps_missing else sql
    return CodedColumn(f"CAST({code} AS {integer})", labels)


def _observed(
    connection: Connection, name: str, column: str, max_states: int, as_numbers: Option | Phrase | None = None
) -> dict[Any, str]:
    """Return each value seen in the column with its text in DuckDB."""
    seen = f"FROM {TABLE} WHERE {column} IS NOT NULL"
    rows = connection.execute(
        f"SELECT DISTINCT {column}, {column}::VARCHAR {seen} ORDER BY 1 LIMIT {max_states + 1}"
    ).fetchall()
    if len(rows) > max_states:
        counted = connection.execute(f"SELECT count(DISTINCT {column}) {seen}").fetchone()
        n_states = int(counted[0]) if counted else 0
        check_number_of_states(name, n_states, [_label(value) for value, _ in rows[:3]], max_states, as_numbers)
    return {_label(value): text for value, text in rows}


def check_number_of_states(
    name: str, n_states: int, examples: Sequence[object], max_states: int, as_numbers: Option | Phrase | None
) -> None:
    """Refuse a column with more values than a discrete score can use; an option may read them as numbers."""
    if n_states <= max_states:
        return
    fix: Phrase = Phrase("leave the column out with {}", Option("drop", [name]))
    if isinstance(as_numbers, Phrase):
        fix = Phrase("pass {} to read numbers", as_numbers)
    elif as_numbers is not None:
        bins = Option("discretise", {name: "equal_frequency:4"})
        fix = Phrase("pass {} to read numbers or {} for bins, {}", as_numbers, bins, fix)
    limit = (
        Phrase("or pass {} if each value is a category", Option("max_states", n_states))
        if n_states <= MAX_STATES
        else f"or merge values ({MAX_STATES:,} states are the most that fit)"
    )
    raise DataError(
        "column {!r} has {:,} different values (such as {}), more than {}: {}, {}",
        name,
        n_states,
        ", ".join(map(quoted, examples)),
        Option("max_states", max_states),
        fix,
        limit,
    )


def _label(value: Any) -> Any:
    return int(value) if isinstance(value, decimal.Decimal) else value


def _code_of(column: str, texts: Sequence[str], codes: Sequence[int]) -> str:
    """Return the SQL that gives ``codes[k]`` for the value whose text is ``texts[k]``."""
    if not texts:
        return "NULL"
    enum = f"enum_code(CAST({column}::VARCHAR AS ENUM({', '.join(map(sql_text, texts))})))::INTEGER"
    if list(codes) == list(range(len(texts))):
        return enum
    return f"([{', '.join(map(str, codes))}])[{enum} + 1]"


def check_declared(name: str, declared: Sequence[object]) -> tuple[object, ...]:
    """Return the states that the caller gives for a column, as plain objects."""
    if isinstance(declared, str) or not isinstance(declared, Sequence | np.ndarray):
        raise OptionError(f"state_names[{name!r}] is {declared!r}: give a list of the states in order")
    states = tuple(state.item() if isinstance(state, np.generic) else state for state in declared)
    try:
        n_unique = len(set(states))
    except TypeError:
        raise OptionError(
            f"state_names[{name!r}] holds {states!r}: each state must be text, a number, a boolean or a date"
        ) from None
    if not states or n_unique < len(states) or None in states:
        raise OptionError(
            f"state_names[{name!r}] is {list(states)!r}: list each state once, at least one, and leave None out "
            "(missing='state' adds it)"
        )
    return states


def state_code(labels: Sequence[object], state: object, name: str, option: str) -> int:
    """Return the code of a state of a variable that an option names, also as text."""
    for code, label in enumerate(labels):
        if label == state or str(label) == str(state):
            return code
    known = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
    raise OptionError.refusing(option, state, f"the states of {name!r} are {known}")
