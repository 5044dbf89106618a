"""Group and count the rows of an Ibis table where the data live, and fetch the distinct rows with their counts.

An Ibis table (`ibis.expr.types.Table`) is a query of a database or engine that the caller has connected to. On DuckDB
it is read as the DuckDB relation that it stands for. Any other backend groups by all columns and counts; what is
fetched is one row for each distinct row, batch by batch. Cost: one query of the backend, memory for its distinct rows.

Ibis is never imported here: whoever holds one of its tables has imported it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pyarrow as pa

from credibn.errors import DataError

COUNT = "n_equal"
"""Column of the fetched rows: how many rows of the table each stands for."""


def is_ibis_table(data: object) -> bool:
    """Return whether ``data`` is an Ibis table, without importing Ibis."""
    kind = getattr(sys.modules.get("ibis.expr.types"), "Table", None)
    return kind is not None and isinstance(data, kind)


def table_names(table: Any) -> tuple[str, ...]:
    """Return the names of the columns."""
    return tuple(str(name) for name in table.columns)


def duckdb_relation(table: Any) -> duckdb.DuckDBPyRelation | None:
    """Return the relation that an Ibis table on DuckDB stands for; None for another backend."""
    with _asking("of Ibis"):
        backend = table.get_backend()
    if backend.name != "duckdb":
        return None
    with _asking("duckdb"):
        # Ibis makes its tables in memory and its functions known to DuckDB when it runs a query: one without rows.
        table.limit(0).to_pyarrow()
        relation = backend.con.sql(backend.compile(table))
    assert isinstance(relation, duckdb.DuckDBPyRelation), "a SELECT gives a relation"
    return relation


class DistinctRows:
    """The distinct rows of an Ibis table: columns ``c0, c1, ...`` and their number `COUNT`; nothing is run yet.

    All columns are grouped, that of weights too: sums over equal weights are then ours, exact in any backend.
    """

    def __init__(self, table: Any) -> None:
        self._backend = table.get_backend().name
        self._names = table_names(table)
        columns = [table[name].name(f"c{i}") for i, name in enumerate(table.columns)]
        selected = table.select(*columns)
        keys = [selected[f"c{i}"] for i in range(len(columns))]
        with _asking(self._backend):
            self._query = selected.group_by(keys).aggregate(**{COUNT: selected.count()})
        self.schema = pa.schema([self._field(name, kind) for name, kind in self._query.schema().items()])

    def _field(self, column: str, kind: Any) -> Any:
        try:
            arrow = kind.to_pyarrow()
        except Exception as error:
            name = self._names[int(column.removeprefix("c"))]
            raise DataError(
                f"column {name!r} has the type {kind}, which is neither a category nor a number: "
                "cast it to text, numbers or booleans in the expression, or drop it"
            ) from error
        # A column of nothing but NULL would become one of integers in a DuckDB table.
        return pa.field(column, pa.string() if pa.types.is_null(arrow) else arrow)

    def batches(self) -> Iterator[Any]:
        """Run the query and yield its rows as Arrow tables."""
        with_missing: set[int] = set()
        with_large: set[int] = set()
        with _asking(self._backend):
            for batch in self._query.to_pyarrow_batches():
                rows = pa.Table.from_batches([batch]).cast(self.schema)
                whole = [i for i, values in enumerate(rows.columns) if pa.types.is_integer(values.type)]
                with_missing.update(i for i in whole if rows.column(i).null_count)
                with_large.update(i for i in whole if _is_large(rows.column(i)))
                self._check_not_rounded(with_missing & with_large)
                yield rows

    def _check_not_rounded(self, columns: Iterable[int]) -> None:
        # Some backends of Ibis fetch through pandas, where integers beside a NULL become floating-point numbers.
        for i in sorted(columns):
            raise DataError(
                f"column {self._names[i]!r} holds missing values and integers beyond 2**53, which Ibis may round: "
                "cast it to text in the expression, or fill the missing values"
            )


def _is_large(values: Any) -> bool:
    import pyarrow.compute as pc

    ends = pc.min_max(values).as_py()
    return ends["min"] is not None and max(-ends["min"], ends["max"]) >= 1 << 53


@contextlib.contextmanager
def _asking(backend: str) -> Iterator[None]:
    """Turn the errors of a backend, which may be of any kind, into ours."""
    try:
        yield
    except (DataError, MemoryError, duckdb.OutOfMemoryException):
        raise
    except Exception as error:
        lines = str(error).splitlines() or ["no message"]
        raise DataError(
            f"the backend {backend} cannot run the Ibis table ({type(error).__name__}: {lines[0]}): "
            "check that table.head().execute() works, or compute the table into the backend first"
        ) from error
