"""Describe a table, whatever it holds, and find the options that make it fit to learn from.

Nothing here is refused that concerns a single column: what `read_data` would refuse becomes a note, and an option of
the advice. The columns are not encoded, so that a column of a million different values takes little time and memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from credibn.data.column_kinds import Content, decide_kinds, find_strays, look_at_columns, names_rows, strays_in
from credibn.data.column_notes import Note, column_notes, constant_note, empty_note, identifies_rows, row_names_note
from credibn.data.number_forms import given_form, rewrite_numbers
from credibn.data.options import ColumnOptions, check_options
from credibn.data.reading import left_out, number_notes
from credibn.data.reading_record import ColumnKind
from credibn.data.reduction import TABLE, cleaned_column, columns_to_drop, count_missing, reduce_rows
from credibn.data.sources import Source, open_source, workspace
from credibn.data.states import natural_order
from credibn.errors import DataError, Option, Phrase
from credibn.options import ReadOptions

STATES_SHOWN = 6


@dataclass(frozen=True)
class ColumnDescription:
    """One column: what it is read as and why, and what it holds."""

    name: str
    kind: str
    why: str
    n_values: int = 0
    n_missing: int = 0
    states: tuple[object, ...] = ()  # some of them
    counts: tuple[int, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None


@dataclass(frozen=True)
class TableDescription:
    """A table, what to know of it, and the options to read it with."""

    n_rows: int
    n_distinct: int
    columns: tuple[ColumnDescription, ...]
    notes: tuple[Note, ...]
    advice: ReadOptions


def describe_table(data: object, given: ReadOptions, takes: str = "mixed") -> TableDescription:
    """Describe a table that is read with these options, for a score that takes columns of this kind."""
    with workspace() as connection:
        source = open_source(data, connection, given)
        names = source.names
        options = check_options(names, source.is_text_file, given, takes)
        notes: list[Note | None] = list(source.notes)
        unreadable = _unreadable(source, options, notes)
        variables = [
            i
            for i, name in enumerate(names)
            if name not in {options.weights, options.interventions, *options.drop} and i not in unreadable
        ]
        if not variables:
            raise DataError("no column is left to learn from: keep at least one besides the weights")
        weights = None if options.weights is None else names.index(options.weights)
        marks = reduce_rows(connection, source, variables, weights, options.missing_values)
        missing = count_missing(connection, variables)
        empty = {i for i in missing.empty if not options.names_in_particular(names[i])}
        no_values = [names[i] for i in sorted(empty)]
        notes.append(empty_note(no_values))
        variables, missing = [i for i in variables if i not in empty], missing.without(empty)
        contents = look_at_columns(connection, source, variables)
        if names_rows(connection, source, contents, missing.n_rows, options):
            variables.remove(0)
            del contents[0]
            notes.append(row_names_note(names[0]))
        advice: dict[str, Any] = {}
        units: dict[int, str] = {}
        if source.is_text_file:
            texts = {i: names[i] for i, content in contents.items() if content.form == "text"}
            try:
                rewritten = rewrite_numbers(connection, TABLE, texts, given_form(given.decimal, given.thousands))
            except DataError as error:  # a comma may be either: the advice says which
                table = describe_table(data, replace(given, thousands=","), takes)
                return replace(table, notes=(Phrase("{}", error), *table.notes))
            contents |= look_at_columns(connection, source, list(rewritten))
            contents |= find_strays(connection, contents)
            options = replace(options, marks_found=(*marks, *strays_in(contents)))
            if strays_in(contents) and given.missing_values is None:
                told = column_notes(decide_kinds(names, contents, options, {}), contents, options)
                table = describe_table(data, replace(given, missing_values=options.marks_found), takes)
                return replace(table, notes=(*told, *(note for note in table.notes if str(note) not in map(str, told))))
            units = {i: how.unit for i, how in rewritten.items()}
            notes += number_notes({names[i]: how for i, how in rewritten.items()})
        kinds = decide_kinds(names, contents, options, units)
        described = _describe_columns(connection, source, kinds, contents, missing.counts)
        notes += column_notes(kinds, contents, options)
        notes.append(constant_note([names[i] for i in variables if contents[i].n_distinct == 1], len(variables)))
        dropped = {*unreadable, *_to_drop(kinds, contents, options, notes)}
        missing = missing.without(dropped)
        if options.missing == "error" and missing.counts:
            more, n_complete = columns_to_drop(connection, missing, len(set(variables) - dropped))
            notes += [Phrase("column {!r} has {:,} missing values", names[i], missing.counts[i]) for i in more]
            dropped |= set(more)
            n_gone = missing.n_rows - n_complete
            if n_gone:
                notes.append(Phrase("{:,} of {:,} rows have missing values", n_gone, missing.n_rows))
                advice["missing"] = "drop"
        ((n_distinct,),) = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchall()
    if dropped:
        advice["drop"] = [*(given.drop or ()), *(names[i] for i in sorted(dropped))]
        if isinstance(given.columns, Mapping):
            gone = {names[i] for i in dropped}
            advice["columns"] = {name: kind for name, kind in given.columns.items() if name not in gone} or None
    others = {
        i: ColumnDescription(name, "unknown", "") if i in unreadable else _left_out(name, options, no_values)
        for i, name in enumerate(names)
        if i not in described
    }
    columns = tuple(column for _, column in sorted({**described, **others}.items()))
    said = tuple(note for note in notes if note is not None)
    return TableDescription(missing.n_rows, n_distinct, columns, said, replace(given, **advice))


def _left_out(name: str, options: ColumnOptions, empty: Collection[str]) -> ColumnDescription:
    column = left_out(name, options, empty)
    return ColumnDescription(name, column.kind, column.why)


def _unreadable(source: Source, options: ColumnOptions, notes: list[Note | None]) -> set[int]:
    """Return the columns of types that are neither categories nor numbers."""
    found = set()
    for i, (name, kind) in enumerate(zip(source.names, source.relation.types, strict=True)):
        if name in options.drop or name in (options.weights, options.interventions):
            continue
        try:
            cleaned_column(name, f"c{i}", kind)
        except DataError as error:
            notes.append(Phrase("{}", error))
            found.add(i)
    return found


def _describe_columns(
    connection: Connection,
    source: Source,
    kinds: Mapping[int, ColumnKind],
    contents: Mapping[int, Content],
    n_missing: Mapping[int, int],
) -> dict[int, ColumnDescription]:
    described = {}
    for i, kind in kinds.items():
        column = ColumnDescription(kind.name, kind.kind, kind.why, contents[i].n_distinct, n_missing.get(i, 0))
        if kind.kind == "numeric" and contents[i].is_numeric:
            query = f"SELECT sum(TRY_CAST(c{i} AS DOUBLE) * n) / sum(n) FROM {TABLE} WHERE c{i} IS NOT NULL"
            ((mean,),) = connection.execute(query).fetchall()
            described[i] = replace(column, minimum=contents[i].low, maximum=contents[i].high, mean=mean)
            continue
        query = f"SELECT c{i}, CAST(sum(n) AS BIGINT) AS n FROM {TABLE} WHERE c{i} IS NOT NULL GROUP BY 1"
        rows = connection.execute(f"{query} ORDER BY 2 DESC, 1 LIMIT {STATES_SHOWN}").fetchall()
        declared = source.declared[i]
        counts = {value if declared is None else declared[value]: int(count) for value, count in rows}
        states = list(counts) if contents[i].n_distinct > STATES_SHOWN else natural_order(list(counts))
        described[i] = replace(column, states=tuple(states), counts=tuple(counts[state] for state in states))
    return described


def _to_drop(
    kinds: Mapping[int, ColumnKind],
    contents: Mapping[int, Content],
    options: ColumnOptions,
    notes: list[Note | None],
) -> set[int]:
    """Return the columns that cannot be used, or tell nothing."""
    found = set()
    for i, kind in kinds.items():
        content = contents[i]
        if content.n_distinct == 1 or identifies_rows(kind.name, content):
            found.add(i)
        elif kind.kind == "categorical" and content.n_distinct > options.max_states:
            if kind.name in options.rules or kind.name in options.state_names:
                continue
            found.add(i)
            notes.append(
                Phrase(
                    "column {!r} has {:,} different values, more than {}: leave it out with {}",
                    kind.name,
                    content.n_distinct,
                    Option("max_states", options.max_states),
                    Option("drop", [kind.name]),
                )
            )
        elif kind.kind == "numeric" and not _is_finite(content):
            found.add(i)
            notes.append(Phrase("column {!r} holds values that are not finite numbers", kind.name))
    return found if len(found) < len(kinds) else set()


def _is_finite(content: Content) -> bool:
    ends = (content.low, content.high)
    return content.is_numeric and all(end is not None and abs(end) != float("inf") for end in ends)
