"""The numbers that the paper prints, as facts: Liao, Sharma, Cussens & van Beek (2020), tables 1 to 5.

The files in ``published/`` hold one line for each experiment. Instead of a number stands "OT" (out of time, 24 hours),
"OM" (out of memory, 64 GB) or "ES" (error in scoring); nothing where the paper has a dash.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from credibn._base.text import plural

__all__ = [
    "BAYES_FACTORS",
    "CAP_OF_SAMPLES",
    "CAP_OF_TABLE_2",
    "SAMPLES_PRINTED",
    "STATUSES",
    "Value",
    "find_printed",
    "other_data",
    "printed_names",
    "printed_rows",
]

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
    """Return the lines of a printed table, in the paper's order.

    Parameters
    ----------
    table : {"table1", "table2", "table3", "table4", "table5"}

    Examples
    --------
    >>> dict(printed_rows("table2")[0])  # doctest: +NORMALIZE_WHITESPACE
    {'data': 'tictactoe', 'n': 10, 'N': 958, 'bayes_factor': 3, 'seconds': 1.9, 'networks': 192, 'classes': 64}
    """
    text = files("credibn.reproduction").joinpath(f"published/{table}.csv").read_text(encoding="utf-8")
    lines = csv.DictReader(text.splitlines())
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
    """Return the data sets or networks of a printed table, in the paper's order.

    Examples
    --------
    >>> printed_names("table4")[:3]
    ('cancer', 'earthquake', 'survey')
    """
    key = "network" if table in ("table4", "table5") else "data"
    return tuple(dict.fromkeys(str(row[key]) for row in printed_rows(table)))


def find_printed(table: str, **conditions: Value) -> Mapping[str, Value]:
    """Return the line of a printed table that meets the conditions; an empty one where the paper has none.

    Examples
    --------
    >>> find_printed("table2", data="wine", bayes_factor=150)["networks"]
    26197
    >>> find_printed("table4", network="asia", bayes_factor=3, size=77)
    {}
    """
    for row in printed_rows(table):
        if all(row[name] == value for name, value in conditions.items()):
            return row
    return {}


def other_data(name: str, answer: Mapping[str, Any]) -> str | None:
    """Say where a file has another number of variables or rows than the paper prints; None where it has not.

    Examples
    --------
    >>> other_data("wine", {"n_variables": 2, "n_rows": 1})
    'wine: the file has 2 variables and 1 row, the paper prints 14 and 178'
    >>> other_data("wine", {"n_variables": 14, "n_rows": 178}) is None
    True
    """
    n, n_rows = answer.get("n_variables"), answer.get("n_rows")
    printed = find_printed("table1", data=name, score="bic", bayes_factor=3)
    if n is None or n_rows is None or not printed or (n, n_rows) == (printed["n"], printed["N"]):
        return None
    there = f"{plural(n, 'variable')} and {plural(n_rows, 'row')}"
    return f"{name}: the file has {there}, the paper prints {printed['n']:,} and {printed['N']:,}"
