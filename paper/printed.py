"""The numbers that the paper prints, as facts: Liao, Sharma, Cussens & van Beek (2020), tables 1 to 5.

The files in ``published/`` hold one line for each experiment. Instead of a number stands "OT" (out of time, 24 hours),
"OM" (out of memory, 64 GB) or "ES" (error in scoring); nothing where the paper has a dash.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

Value = int | float | str | None

BAYES_FACTORS = (3, 20, 150)
STATUSES = {"OT": "out of time", "OM": "out of memory", "ES": "error in scoring"}
"""What stands in place of a number."""
CAP_OF_TABLE_2 = 150_000
"""The most networks that the authors collected from one data set."""
CAP_OF_SAMPLES = 100_000
"""The same for the samples of tables 4 and 5."""
SAMPLES_PRINTED = 10
"""Samples behind each mean of tables 4 and 5."""


@cache
def printed_rows(table: str) -> tuple[Mapping[str, Value], ...]:
    """Return the lines of a printed table, in the paper's order."""
    with open(Path(__file__).parent / "published" / f"{table}.csv", encoding="utf-8", newline="") as source:
        lines = list(csv.DictReader(source))
    return tuple(MappingProxyType({name: _value(field) for name, field in line.items()}) for line in lines)


def _value(field: str) -> Value:
    if not field:
        return None
    for kind in (int, float):
        try:
            return kind(field)
        except ValueError:
            continue
    return field


def printed_names(table: str) -> tuple[str, ...]:
    """Return the data sets or networks of a printed table, in the paper's order."""
    return tuple(dict.fromkeys(str(row.get("data", row.get("network"))) for row in printed_rows(table)))


def known_names() -> tuple[str, ...]:
    """Return all data sets and networks of the paper."""
    return tuple(dict.fromkeys((*printed_names("table1"), *printed_names("table4"))))


def find_printed(table: str, **conditions: Value) -> Mapping[str, Value]:
    """Return the line of a printed table that meets the conditions; an empty one where the paper has none."""
    lines = (row for row in printed_rows(table) if all(row[name] == value for name, value in conditions.items()))
    return next(lines, {})


def other_data(name: str, answer: Mapping[str, Any]) -> str | None:
    """Say where a file has another number of variables or rows than the paper prints; None where it has not."""
    n, n_rows = answer.get("n_variables"), answer.get("n_rows")
    printed = find_printed("table1", data=name, score="bic", bayes_factor=3)
    if n is None or n_rows is None or not printed or (n, n_rows) == (printed["n"], printed["N"]):
        return None
    return f"{name}: the file has n = {n:,} and N = {n_rows:,}, the paper prints {printed['n']:,} and {printed['N']:,}"
