"""How seconds and memory grow with the number of variables, of rows, and with the Bayes factor.

``python -m benchmarks.growth`` samples one random network (see `random_networks`), writes rows of it as CSV, and runs
reading, scoring and search on each file in a process of its own: CPU seconds of all threads together and the peak
resident size, as Markdown tables. ``variables``, ``rows`` or ``factor`` selects tables.
Every answer is complete and has the recorded numbers of networks and classes; ``--engines`` asserts that each engine
that can take the row finds them.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from benchmarks.random_networks import random_network
from benchmarks.runs import cpu_timed, in_own_process, peak_memory_mb
from credibn import learn, read_data, score_parent_sets
from credibn.errors import TooLargeError
from credibn.search import ENGINES

# Variables, rows, Bayes factor; then the networks and classes that are found.
TABLES: dict[str, list[tuple[int, int, int, int, int]]] = {
    "variables": [
        (5, 200, 20, 2, 1),
        (10, 200, 20, 21, 2),
        (15, 200, 20, 153, 8),
        (20, 200, 20, 184, 5),
        (25, 200, 20, 2_760, 54),
        (30, 200, 20, 1_984, 23),
        (40, 200, 20, 14_204, 36),
        (50, 200, 20, 51_548, 155),
        (60, 200, 20, 24_812_939, 2_857),
        (80, 200, 20, 253_185_936, 4_030),
        (100, 200, 20, 15_581_173_896, 19_069),
    ],
    "rows": [
        (10, 50, 20, 28, 9),
        (10, 100, 20, 19, 3),
        (10, 200, 20, 21, 2),
        (10, 500, 20, 12, 1),
        (10, 1_000, 20, 27, 2),
        (10, 10_000, 20, 15, 1),
        (10, 100_000, 20, 15, 1),
        (10, 1_000_000, 20, 15, 1),
    ],
    "factor": [
        (20, 200, 1, 48, 1),
        (20, 200, 3, 112, 2),
        (20, 200, 10, 140, 3),
        (20, 200, 20, 184, 5),
        (20, 200, 100, 252, 9),
        (20, 200, 1_000, 2_392, 58),
        (20, 200, 10_000, 11_646, 286),
        (20, 200, 100_000, 32_390, 962),
        (20, 200, 1_000_000, 114_239, 3_344),
    ],
}


def write_rows(folder: Path, n_variables: int, n_rows: int) -> Path:
    """The first columns of one network: its parents stand before their children."""
    path = folder / f"{n_variables}_{n_rows}.csv"
    if not path.exists():
        frame = random_network(n_variables).sample(n_rows, seed=1)
        csv.write_csv(pa.Table.from_pandas(frame), path)
    return path


def run_one(path: str, bayes_factor: float, engine: str) -> dict[str, Any]:
    data, read_seconds = cpu_timed(lambda: read_data(path))
    table, score_seconds = cpu_timed(lambda: score_parent_sets(data, bayes_factor=bayes_factor))
    options = {"bayes_factor": bayes_factor, "engine": engine, "posterior_share": False}
    try:
        found, search_seconds = cpu_timed(lambda: learn(table, **options))
    except TooLargeError as error:
        return {"refused": str(error)}
    return {
        "read": read_seconds,
        "score": score_seconds,
        "search": search_seconds,
        "memory": peak_memory_mb(),
        "engine": found.engine,
        "complete": found.complete,
        "counts": (found.n_networks, found.n_classes),
        "candidates": table.n_candidates,
    }


def check(answer: dict[str, Any], expected: tuple[int, int], what: str) -> None:
    assert answer["complete"], f"{what}: not complete"
    assert tuple(answer["counts"]) == expected, f"{what}: {answer['counts']}, not {expected}"


def show(row: tuple[int, int, int, int, int], folder: Path, engines: list[str]) -> None:
    n, n_rows, bayes_factor, *expected = row
    work = {"path": str(write_rows(folder, n, n_rows)), "bayes_factor": bayes_factor}
    answer = in_own_process("benchmarks.growth", work | {"engine": "auto"})
    networks, classes = answer["counts"]
    print(
        f"| {n} | {n_rows:,} | {bayes_factor:,} | {answer['candidates']:,} | {networks:,} | {classes:,} "
        f"| {answer['read']:.2f} | {answer['score']:.3f} | {answer['search']:.3f} | {answer['memory']:.0f} "
        f"| {answer['engine']} |",
        flush=True,
    )
    check(answer, tuple(expected), f"{n} variables, {n_rows} rows, factor {bayes_factor}")
    for engine in engines:
        again = in_own_process("benchmarks.growth", work | {"engine": engine})
        if "refused" not in again:
            check(again, tuple(expected), f"{n} variables, {n_rows} rows, factor {bayes_factor}, {engine}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--engines", action="store_true", help="also every engine that can take the row")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tables or TABLES:
            print(f"\nGrowth with {name}:\n")
            print("| n | N | BF | candidates | networks | classes | read s | score s | search s | MiB | engine |")
            print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")
            for row in TABLES[name]:
                show(row, Path(folder), list(ENGINES) if options.engines else [])


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
