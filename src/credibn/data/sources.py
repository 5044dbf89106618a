"""Every kind of table as a DuckDB relation with columns ``c0, c1, ...``.

Inside DuckDB columns go by position, because its names ignore case and ours do not.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from credibn._run.memory import limit_and_fix, need_room_for_libraries, room_for_threads, usable_bytes
from credibn.data.files import repair_of_text, scan_files, shorten
from credibn.errors import DataError, FileFormatError, Option, Phrase, TimeLimitError, TooLargeError
from credibn.options import NO_OPTIONS, ReadOptions

_LEAST_MEBIBYTES = 128
"""With less, DuckDB cannot work."""
_SECONDS_BETWEEN_INTERRUPTS = 0.1

_FETCHED = "fetched_rows"
"""The table of rows that an Ibis backend has grouped."""

_LONGEST_NAME = 1000
_MOST_COLUMNS = 4096
"""The most variables of a score table; each column takes queries of its own."""


@dataclass(frozen=True)
class Source:
    """A table to be read."""

    relation: duckdb.DuckDBPyRelation  # columns c0, c1, ...; a declared column holds codes into its states
    names: tuple[str, ...]
    declared: tuple[tuple[object, ...] | None, ...]  # the states that the type of each column declares
    is_text_file: bool = False  # CSV or TSV, where numbers are text too
    is_foreign: bool = False  # the relation belongs to the caller's own connection
    count: str | None = None  # the column with the number of rows that each row stands for; None: one each
    fetch: Callable[[], None] = lambda: None  # fills the relation; called once, when the options are checked
    where: str = "the table"  # its name in messages: the path of a file
    notes: tuple[Phrase, ...] = ()
    is_first_unnamed: bool = False  # the first column had no name, or the one that pandas gives such a column


@contextlib.contextmanager
def reading(is_text_file: bool, where: str = "the table") -> Iterator[None]:
    """Turn DuckDB's errors while a table is read into ours; ``where`` names what is read."""
    try:
        yield
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise  # the workspace knows what they mean
    except duckdb.Error as error:
        if is_text_file and isinstance(error, duckdb.IOException):
            fix = "restore it from a complete copy, and compress it again where it is compressed"
            raise FileFormatError(f"{where} cannot be read: {shorten(error)}; {fix}") from error
        if is_text_file:
            raise FileFormatError("{}; {}", shorten(error), repair_of_text(error)) from error
        fix = "repair or save it again, with columns of text, numbers or booleans"
        raise DataError(f"{where} cannot be read: {shorten(error)}; {fix}") from error


@contextlib.contextmanager
def _interrupting(connection: duckdb.DuckDBPyConnection, deadline: float | None) -> Iterator[None]:
    """Interrupt the queries of a connection at the deadline, from another thread: a query cannot be asked to stop."""
    if deadline is None or math.isinf(deadline):
        yield
        return
    is_over = threading.Event()

    def interrupt() -> None:
        wait = max(0.0, deadline - time.monotonic())
        while not is_over.wait(min(wait, threading.TIMEOUT_MAX)):
            connection.interrupt()
            wait = _SECONDS_BETWEEN_INTERRUPTS  # one may fall between two queries

    thread = threading.Thread(target=interrupt, name="credibn-time-limit", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextlib.contextmanager
def workspace(deadline: float | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a private database in memory that spills to a folder of its own, removed at the end.

    The deadline is a time of `time.monotonic`.

    Raises
    ------
    KeyboardInterrupt
        Also for a Ctrl-C that DuckDB received in the middle of a query.
    TimeLimitError
        When the deadline has passed.
    TooLargeError
        When a query does not fit into memory.
    """
    with tempfile.TemporaryDirectory(prefix="credibn-") as folder:
        connection = _connect(folder)
        try:
            with _interrupting(connection, deadline):
                yield connection
        except duckdb.InterruptException as error:
            raise TimeLimitError(
                "the time limit was reached while the data were read, so nothing exact can be said; raise {}",
                Option("time_limit"),
            ) from error
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise TooLargeError(
                f"the data do not fit into memory ({shorten(error)}): {limit_and_fix()}, or read fewer columns"
            ) from error
        except RuntimeError as error:
            if str(error) == "Query interrupted":  # no type of its own tells DuckDB's Ctrl-C from other errors
                raise KeyboardInterrupt from error
            raise
        finally:
            connection.close()


def _connect(folder: str) -> duckdb.DuckDBPyConnection:
    """Open a database that takes no more memory and threads than there is room for, and reads local files only."""
    config: dict[str, Any] = {
        "temp_directory": folder,
        "preserve_insertion_order": False,
        "threads": min(_n_cores(), room_for_threads(_LEAST_MEBIBYTES << 20)),
        "async_threads": 0,  # they serve files over a network; each of the eight reserves address space
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    limit = usable_bytes()
    if math.isfinite(limit):
        config["memory_limit"] = f"{max(_LEAST_MEBIBYTES, int(limit / 2**20))}MiB"
    try:
        need_room_for_libraries()
        return duckdb.connect(":memory:", config=config)
    except (duckdb.Error, MemoryError, RuntimeError) as error:
        raise TooLargeError(f"there is too little memory to read data ({shorten(error)}): {limit_and_fix()}") from error


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_source(data: object) -> str:
    """Return what a table is, in words: the name of its file, without folders, or its type."""
    if isinstance(data, str | os.PathLike):
        return os.path.basename(os.fspath(data))
    library, name = type(data).__module__.split(".")[0], type(data).__name__
    known = {"numpy": "a NumPy array", "duckdb": "a DuckDB relation", "ibis": "an Ibis table"}
    known |= {"_duckdb": "a DuckDB relation", "pyarrow": "an Arrow table"}
    return known.get(library, f"a {library} {name}")


def open_source(data: object, connection: duckdb.DuckDBPyConnection, given: ReadOptions = NO_OPTIONS) -> Source:
    """Return ``data`` as a relation, of ``connection`` or, for a relation, of its own connection."""
    if isinstance(data, str | os.PathLike):
        ((folder,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        scan = scan_files(data, given, folder)
        names = _named(scan.names)
        _check_names(names)
        where = repr(os.fspath(data))
        with reading(scan.is_text, where):
            relation = connection.sql(scan.sql)
        declared = (None,) * len(names)
        unnamed = _is_first_unnamed(scan.names)
        return Source(relation, names, declared, scan.is_text, where=where, notes=scan.notes, is_first_unnamed=unnamed)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return _from_relation(data)
    from credibn.data.frames import arrow_columns, arrow_table  # pyarrow takes a while: no file waits for it
    from credibn.data.ibis_tables import is_ibis_table

    if is_ibis_table(data):
        return _from_ibis(data, connection)
    columns = arrow_columns(data)
    if columns is None:
        raise DataError(
            f"a {type(data).__module__}.{type(data).__qualname__} is not a table that can be read: "
            "give a path, a pandas or polars DataFrame (collect a LazyFrame), an Arrow table, a two-dimensional "
            "NumPy array, a DuckDB relation or an Ibis table"
        )
    given_names = [column.name for column in columns]
    names = _named(given_names)
    _check_names(names)
    with reading(is_text_file=False):
        relation = connection.from_arrow(arrow_table(columns))
    states = tuple(column.states for column in columns)
    return Source(relation, names, states, is_first_unnamed=_is_first_unnamed(given_names))


def _from_relation(relation: duckdb.DuckDBPyRelation) -> Source:
    names = tuple(relation.columns)
    _check_names(names)
    if len({name.casefold() for name in names}) < len(names):
        raise DataError(
            f"column names of the relation differ only in case, which DuckDB ignores: rename one of {list(names)}"
        )
    parts, declared = [], []
    for i, (name, kind) in enumerate(zip(names, relation.types, strict=True)):
        quoted = '"' + name.replace('"', '""') + '"'
        is_enum = kind.id == "enum"
        parts.append(f"enum_code({quoted})::INTEGER AS c{i}" if is_enum else f"{quoted} AS c{i}")
        values: Any = dict(kind.children)["values"] if is_enum else None
        declared.append(tuple(values) if is_enum else None)
    return Source(relation.project(", ".join(parts)), names, tuple(declared), is_foreign=True)


def _from_ibis(table: Any, connection: duckdb.DuckDBPyConnection) -> Source:
    from credibn.data.ibis_tables import COUNT, DistinctRows, duckdb_relation, table_names

    names = table_names(table)
    _check_names(names)
    relation = duckdb_relation(table)
    if relation is not None:
        return _from_relation(relation)
    rows = DistinctRows(table)
    with reading(is_text_file=False):
        connection.from_arrow(rows.schema.empty_table()).create(_FETCHED)

    def fetch() -> None:
        for batch in rows.batches():
            connection.from_arrow(batch).insert_into(_FETCHED)

    return Source(connection.table(_FETCHED), names, (None,) * len(names), count=COUNT, fetch=fetch)


def _is_first_unnamed(names: Sequence[str]) -> bool:
    return bool(names) and (not names[0].strip() or names[0] == "Unnamed: 0")


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """Give columns without a name one."""
    known = set(names)
    made = []
    for position, name in enumerate(names):
        while not name.strip() or (name != names[position] and name in known):
            name = f"column {position + 1}" if not name.strip() else f"{name}_"
        made.append(name)
    return tuple(made)


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise DataError("the table has no columns: give at least one variable")
    if len(names) > _MOST_COLUMNS:
        raise DataError(
            f"the table has {len(names):,} columns, but at most {_MOST_COLUMNS:,} are possible: select those you need"
        )
    for position, name in enumerate(names):
        if len(name) > _LONGEST_NAME:
            raise DataError(
                f"column {position + 1} has a name of {len(name):,} characters, {name[:40]!r}...: give it one of at "
                f"most {_LONGEST_NAME:,}"
            )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise DataError(
            f"column names repeat ({', '.join(map(repr, repeated[:5]))}): rename the columns so that each is unique"
        )
