"""Read a table of any common kind into a `Dataset`.

The table becomes one DuckDB query, DuckDB reduces it to distinct rows with counts out of core, and states,
bin edges and codes are worked out on the distinct rows. Cost: one scan of the table, memory for its
distinct rows.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from credibn.data.column_kinds import AS_ASKED, decide_kinds, find_strays, look_at_columns, names_rows, strays_in
from credibn.data.column_notes import (
    Note,
    column_notes,
    constant_note,
    empty_note,
    listed,
    missing_marks,
    row_names_note,
)
from credibn.data.dataset import Dataset
from credibn.data.encoding import code_targets, encode_column, fetch_dataset, fetch_gapped
from credibn.data.gaps import GappedTable
from credibn.data.interventions import with_target_column
from credibn.data.number_forms import Rewritten, given_form, rewrite_numbers
from credibn.data.options import ColumnOptions, check_options
from credibn.data.reading_record import ColumnKind, Reading
from credibn.data.reduction import TABLE, count_missing, drop_rows, reduce_rows, refuse_missing
from credibn.data.sources import describe_source, open_source, workspace
from credibn.errors import DataError, Option, OptionError, Phrase, warn
from credibn.options import ReadOptions, suggesting

__all__ = ["read_data"]


@suggesting
def read_data(
    data: str | os.PathLike[str] | Any,
    *,
    columns: str | Mapping[str, str] | None = None,
    drop: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    state_names: Mapping[str, Sequence[object]] | None = None,
    weights: str | None = None,
    interventions: Any = None,
    missing: str = "error",
    missing_values: Iterable[str] | None = None,
    discretise: Any = None,
    max_states: int = 100,
) -> Dataset:
    """Read a table into a `Dataset`: coded columns over its distinct rows with counts.

    Parameters
    ----------
    data : path, DataFrame, Arrow table, NumPy array, DuckDB relation, Ibis table or Dataset
        A path or glob pattern of CSV, TSV (both also ``.gz`` and ``.zst``) or Parquet files with the same
        columns; a text file is UTF-8 with a header line. A pandas or polars DataFrame (the index is
        ignored), a pyarrow Table or RecordBatch, a NumPy array of two dimensions (columns ``X0, X1, ...``)
        or of records, a DuckDB relation, or an Ibis table, whose backend groups and counts the rows: only distinct
        rows leave it. A Dataset is returned as it is.
    columns : {"discrete", "continuous", "mixed"} or mapping of str to {"numeric", "categorical"}, optional
        ``"discrete"``: the values of each column are categories, even if they look like numbers.
        ``"continuous"``: each column is numeric. ``"mixed"``, the default: the content of a column decides.
        Fractional numbers are numeric, and whole numbers with more than 20 different values; whole numbers with
        fewer, text, booleans and dates are categories. A mapping says it for some columns.
    drop : iterable of str, optional
        Columns to leave out.
    only : iterable of str, optional
        The columns to use; all others are left out.
    encoding : str, optional
        The encoding of text files, such as "cp1252"; by default UTF-8, UTF-16 with a byte order mark, or what the bytes
        suggest.
    decimal, thousands : str, optional
        The characters of numbers in text files, such as ``decimal=","``; by default found in each column.
    comment : str, optional
        Lines of a text file that begin with it are left out; by default "#" where the file begins so.
    state_names : mapping of str to list, optional
        The states of a column in order, also those that the data does not show. Without it the states are
        the values seen, in natural order (numbers by value, False before True, text by letter), or the
        categories that a pandas Categorical, polars Enum, Arrow dictionary or DuckDB ENUM declares, in
        their order. Labels keep their type; those of a text file are text, so that "1" and "01" differ.
    weights : str, optional
        A column that holds the number of rows that each row stands for: whole, at least 1. It is no variable.
    interventions : str, boolean table, or mapping, optional
        What was set from outside in each row: the column that names it, with commas between several names and nothing
        where nothing was set; True or False for each row and variable, as an array or a DataFrame; or a mapping from
        labels in the index of a DataFrame to names of variables. A variable is scored on the rows where it was not set.
    missing : {"error", "drop", "state"}
        Refuse missing values, drop the rows that have some, or make "missing" a state with the label None,
        the last. Missing are NULL, None, NaN and pandas' NA; in a text file an empty field and those of
        ``missing_values``.
    missing_values : iterable of str, optional
        Texts that stand for a missing value, in the text columns of any table. By default NA, NaN, nan,
        null, NULL and ? in text files, and none elsewhere.
    discretise : mapping of str to rule, or a rule, optional
        Cut numeric columns into intervals: ``"equal_width:3"``, ``"equal_frequency:4"``, ``"mean"``,
        ``"median"`` or a sequence of bin edges, per column; a single rule applies to all columns of fractional
        numbers. Bins are half-open, ``[a, b)``; `Dataset.cuts` holds the edges.
    max_states : int
        Refuse a discrete column with more distinct values, which is most often a measurement or an
        identifier.

    Returns
    -------
    Dataset
        The same for any order of the rows.

    Raises
    ------
    DataError
        If the table cannot be used as it is.
    FileFormatError
        If a file cannot be read in the format of its ending.
    OptionError
        If an option names an unknown column, contradicts another or is out of range.

    Warns
    -----
    CredibnWarning
        If rows are dropped, bins are merged or empty, or a column is constant.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"smoke": ["no", "yes", "no"], "age": [17, 40, 70]})
    >>> data = read_data(table, discretise={"age": [18, 65]}, state_names={"smoke": ["yes", "no"]})
    >>> data
    Dataset(3 rows, 3 distinct, 2 variables: smoke (2 states), age (3 states))
    >>> data.states[1]
    ('<18', '18..65', '>=65')
    """
    return read_table(data, ReadOptions.of(locals()))


def read_table(data: object, given: ReadOptions, takes: str = "mixed", deadline: float | None = None) -> Dataset:
    """Do what `read_data` does, with the options in their group, until a time of `time.monotonic`.

    A score takes columns of this kind.
    """
    if isinstance(data, Dataset):
        return _unchanged(data, given)
    dataset, notes = _read(data, given, takes, deadline)
    assert isinstance(dataset, Dataset)
    for note in notes:
        warn("{}", note)
    return dataset


def read_gapped(data: object, given: ReadOptions, takes: str = "mixed") -> GappedTable:
    """Read a table and keep its gaps; of the options, `missing` has no say."""
    if isinstance(data, Dataset):
        raise OptionError("a Dataset has no gaps; give the table that it was read from")
    if given.interventions is not None:
        own = Option("drop", [given.interventions]) if isinstance(given.interventions, str) else None
        raise OptionError(
            "{} cannot be combined with gaps to fill in: leave it out{}",
            Option("interventions"),
            "" if own is None else Phrase(", and its column too with {}", own),
        )
    table, notes = _read(data, given, takes, None, as_gaps=True)
    for note in notes:
        warn("{}", note)
    assert isinstance(table, GappedTable)
    return table


def _read(
    data: object, given: ReadOptions, takes: str, deadline: float | None, as_gaps: bool = False
) -> tuple[Dataset | GappedTable, list[Note]]:
    described, original = describe_source(data), given
    if given.interventions is not None and not isinstance(given.interventions, str):
        data, of_targets = with_target_column(data, given.interventions)
        given = replace(given, interventions=of_targets)
    with workspace(deadline) as connection:
        source = open_source(data, connection, given)
        names = source.names
        options = check_options(names, source.is_text_file, given, takes)
        variables = [
            i for i, name in enumerate(names) if name not in (options.weights, options.interventions, *options.drop)
        ]
        if not variables:
            raise DataError("no column is left to learn from: keep at least one besides the weights")
        weights = None if options.weights is None else names.index(options.weights)
        experiment = None if options.interventions is None else names.index(options.interventions)
        grouping = variables if experiment is None else [*variables, experiment]
        marks = reduce_rows(connection, source, grouping, weights, options.missing_values)
        missing = count_missing(connection, variables)
        empty = [i for i in missing.empty if not options.names_in_particular(names[i])]
        variables = [i for i in variables if i not in empty]
        if not variables:
            raise DataError("no column has a value: give at least one that has")
        missing, n_dropped = missing.without(empty), 0
        no_values = [names[i] for i in empty]
        notes: list[Note | None] = [*source.notes, empty_note(no_values)]
        if missing.counts and options.missing == "drop" and not as_gaps:
            n_dropped = drop_rows(connection, names, missing, len(variables))
            said_of = f"({missing.listed(names)})"
            notes.append(f"dropped {n_dropped:,} of {missing.n_rows:,} rows with missing values {said_of}")
        contents = look_at_columns(connection, source, variables)
        if names_rows(connection, source, contents, missing.n_rows, options):
            variables.remove(0)
            del contents[0]
            notes.append(row_names_note(names[0]))
        found: dict[str, str] = {}
        units: dict[int, str] = {}
        if source.is_text_file:
            form = given_form(given.decimal, given.thousands)
            texts = {i: names[i] for i in variables if contents[i].form == "text"}
            rewritten = rewrite_numbers(connection, TABLE, texts, form)
            contents |= look_at_columns(connection, source, list(rewritten)) if rewritten else {}
            units = {i: how.unit for i, how in rewritten.items() if how.unit}
            contents |= find_strays(connection, contents)
            options = replace(options, marks_found=(*marks, *strays_in(contents)))
            found = separators(rewritten.values())
            notes += number_notes({names[i]: how for i, how in rewritten.items()})
        kinds = decide_kinds(names, contents, options, units)
        if missing.counts and options.missing == "error" and not as_gaps:
            strays = strays_in(contents)
            has_numbers = bool(strays) or any(kinds[i].kind == "numeric" for i in missing.counts)
            how = missing_marks(options) if strays else Option("missing", "drop")
            refuse_missing(connection, names, missing, len(variables), has_numbers, how)
        coded = []
        for i in variables:
            column, note = encode_column(
                connection,
                source,
                options,
                i,
                kinds[i],
                contents[i],
                keeps_missing=(options.missing == "state" or as_gaps) and i in missing.counts,
                as_gaps=as_gaps,
            )
            coded.append(column)
            notes.append(note)
        notes += column_notes(kinds, contents, options)
        notes.append(
            constant_note(
                [
                    names[i]
                    for i, column in zip(variables, coded, strict=True)
                    if (contents[i].n_distinct if column.states is None else len(column.states)) == 1
                ],
                len(variables),
            )
        )
        said = [note for note in notes if note is not None]
        reading = Reading(
            described,
            _recorded(original) | found,
            missing.n_rows,
            n_dropped,
            tuple(kinds[i] if i in kinds else left_out(name, options, no_values) for i, name in enumerate(names)),
            tuple(map(str, said)),
        )
        if as_gaps:
            return fetch_gapped(connection, [names[i] for i in variables], coded, reading), said
        targets = None if experiment is None else (names[experiment], code_targets(connection, source, experiment))
        return fetch_dataset(connection, [names[i] for i in variables], coded, reading, targets), said


def _recorded(given: ReadOptions) -> dict[str, Any]:
    """Return the options with which the table can be read again; a boolean table must be given again."""
    options = given.given()
    known = given.interventions
    if not isinstance(known, str) and not (isinstance(known, Mapping) and all(isinstance(key, str) for key in known)):
        options.pop("interventions", None)
    return options


def separators(rewritten: Iterable[Rewritten]) -> dict[str, str]:
    """Return the options that read numbers as they were written."""
    found: dict[str, str] = {}
    for form in (how.form for how in rewritten):
        found |= {"decimal": form.decimal} if form.decimal != "." else {}
        found |= {"thousands": form.thousands[0]} if form.thousands else {}
    return found


def number_notes(rewritten: Mapping[str, Rewritten]) -> list[Note]:
    """Return the notes on columns whose numbers were written otherwise than in Python."""
    notes: list[Note] = []
    names = [name for name, how in rewritten.items() if not how.form.is_plain]
    if names:
        options = [Option(name, value) for name, value in separators(rewritten.values()).items()]
        shown = Phrase(" and ".join(["{}"] * len(options)), *options)
        notes.append(Phrase("{} as numbers with {}", listed(names, "was read", "were read"), shown))
    for unit in sorted({how.unit for how in rewritten.values()} - {""}):
        names = [name for name, how in rewritten.items() if how.unit == unit]
        notes.append(Phrase("{} as numbers, without the unit {!r}", listed(names, "was read", "were read"), unit))
    return notes


def left_out(name: str, options: ColumnOptions, empty: Collection[str]) -> ColumnKind:
    """Return the record of a column that is no variable."""
    if name == options.weights:
        return ColumnKind(name, "weights", AS_ASKED)
    if name == options.interventions:
        return ColumnKind(name, "interventions", AS_ASKED)
    why = "no values" if name in empty else "names the rows"
    return ColumnKind(name, "dropped", AS_ASKED if name in options.drop else why)


def _unchanged(dataset: Dataset, given: ReadOptions) -> Dataset:
    kinds = given.columns if isinstance(given.columns, Mapping) else {}
    known = dict(zip(dataset.names, dataset.is_discrete, strict=True))
    is_same = all(known.get(name) is (kind == "categorical") for name, kind in kinds.items())
    changed = [Option(name) for name in given.given() if name != "columns" or not is_same]
    if changed:
        names = Phrase(", ".join(["{}"] * len(changed)), *changed)
        raise OptionError(
            "a Dataset is already read, so {} cannot change it: pass the options with the table itself", names
        )
    if given.columns == "continuous" and any(dataset.is_discrete):
        name = dataset.names[dataset.is_discrete.index(True)]
        raise OptionError(
            "{}, but {!r} of the Dataset is discrete: read the table again", Option("columns", given.columns), name
        )
    return dataset
