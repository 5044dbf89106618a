"""Rows beyond memory: a hundred million generated rows, read in bounded memory; seconds, rows a second, peak memory.

``python -m benchmarks.rows`` lets DuckDB draw rows of a small known network (each cell from a hash of the row's
number, so that the same rows come again) and reads them as a DuckDB relation and as an Ibis table, which are drawn as
they are read, and as a folder of Parquet files; then it learns from them. Each run has a process of its own.
``--rows`` and ``--file-rows`` change how many; names of sources select some.

Asserted: the counts are those of a second query that DuckDB answers alone, the answer is that of these counts with
``weights=``, the best class is that of the network which the rows were drawn from, and the peak stays below 2 GiB.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx

from benchmarks.runs import cpu_timed, in_own_process, peak_memory_mb, timed
from credibn import learn, read_data
from credibn.graphs import same_class

# For each variable its parents, and how many of 1000 rows are "yes" for each combination of their values.
NETWORK: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "travel": ((), (100,)),
    "smoke": ((), (500,)),
    "infection": (("travel",), (40, 250)),
    "cancer": (("smoke",), (20, 130)),
    "bronchitis": (("smoke",), (300, 600)),
    "xray": (("infection", "cancer"), (50, 900, 850, 980)),
    "breath": (("cancer", "bronchitis"), (100, 750, 650, 900)),
    "fever": (("infection", "breath"), (60, 300, 700, 850)),
}
SOURCES = ("relation", "ibis", "files")
MOST_MEMORY_MB = 2048


def rows_query(first: int, last: int) -> str:
    """SQL that draws the rows with the numbers ``first`` to ``last - 1``; nested, since a cell depends on others."""
    query = f"SELECT range AS number FROM range({first}, {last})"
    for at, (name, (parents, yes)) in enumerate(NETWORK.items()):
        values = [f"({parent} = 'yes')::INTEGER" for parent in parents]
        combination = " + ".join(f"{1 << (len(values) - 1 - k)} * {value}" for k, value in enumerate(values)) or "0"
        drawn = f"hash(number * {len(NETWORK)} + {at}) % 1000 < ({list(yes)})[{combination} + 1]"
        query = f"SELECT *, CASE WHEN {drawn} THEN 'yes' ELSE 'no' END AS {name} FROM ({query})"
    return f"SELECT * EXCLUDE number FROM ({query})"


def counts_query(n_rows: int) -> str:
    return f"SELECT *, count(*) AS n FROM ({rows_query(0, n_rows)}) GROUP BY ALL"


def write_files(folder: Path, n_rows: int, n_files: int = 10) -> None:
    for part in range(n_files):
        first, last = part * n_rows // n_files, (part + 1) * n_rows // n_files
        path = folder / f"part-{part:02}.parquet"
        duckdb.sql(f"COPY ({rows_query(first, last)}) TO '{path}' (FORMAT parquet)")


def open_rows(source: str, n_rows: int, folder: str) -> Any:
    """Return what is given to credibn."""
    if source == "files":
        return os.path.join(folder, "*.parquet")
    if source == "relation":
        return duckdb.connect().sql(rows_query(0, n_rows))
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.execute(f"CREATE VIEW drawn AS {rows_query(0, n_rows)}")
    return connection.table("drawn")


def run_one(source: str, n_rows: int, folder: str) -> dict[str, Any]:
    if source == "counts":
        data, weights = duckdb.sql(counts_query(n_rows)), "n"
    else:
        data, weights = open_rows(source, n_rows, folder), None
    (table, cpu_seconds), seconds = timed(lambda: cpu_timed(lambda: read_data(data, weights=weights)))
    found, learn_seconds = timed(lambda: learn(table, bayes_factor=20))
    truth = nx.DiGraph([(parent, child) for child, (parents, _) in NETWORK.items() for parent in parents])
    assert table.n_rows == n_rows, f"{source}: {table.n_rows} rows, {n_rows} were drawn"
    assert found.complete, f"{source}: {found.guarantee}"
    assert same_class(found.classes()[0].representative, truth), f"{source}: another network is best"
    return {
        "fingerprint": table.fingerprint,
        "distinct": table.n_distinct,
        "answer": [found.n_networks, found.n_classes, found.optimal_score],
        "seconds": seconds,
        "cpu": cpu_seconds,
        "learn": learn_seconds,
        "memory": peak_memory_mb(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", choices=[*SOURCES, []], default=[])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--file-rows", type=int, default=10_000_000)
    options = parser.parse_args()
    print("| source | rows | distinct | networks | read s | CPU s | rows/s | learn s | peak MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        expected: dict[int, dict[str, Any]] = {}
        for source in options.sources or SOURCES:
            n_rows = options.file_rows if source == "files" else options.rows
            if source == "files":
                write_files(Path(folder), n_rows)
            if n_rows not in expected:
                arguments = {"source": "counts", "n_rows": n_rows, "folder": folder}
                expected[n_rows] = in_own_process("benchmarks.rows", arguments)
            arguments = {"source": source, "n_rows": n_rows, "folder": folder}
            got = in_own_process("benchmarks.rows", arguments)
            print(
                f"| {source} | {n_rows:,} | {got['distinct']} | {got['answer'][0]} | {got['seconds']:.1f} "
                f"| {got['cpu']:.1f} | {n_rows / got['seconds']:,.0f} | {got['learn']:.2f} | {got['memory']:.0f} |",
                flush=True,
            )
            for part in ("fingerprint", "answer"):
                assert got[part] == expected[n_rows][part], f"{source}: not the {part} of the counts"
            assert got["memory"] < MOST_MEMORY_MB, f"{source}: {got['memory']:.0f} MiB, at most {MOST_MEMORY_MB}"


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
