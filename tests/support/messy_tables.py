"""Tables as people have them: the same patients, each time with another kind of mess.

Every table is made from a fixed seed. Smokers cough, whom a treatment is given responds, pressure rises with age, and
nothing depends on the region: who reads the table rightly finds these edges again, whatever else is in the file.
"""

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

Columns = dict[str, Sequence[Any]]
Pair = tuple[str, str]
CATEGORIES = ("smoker", "cough")
NUMBERS = ("age", "pressure")


@dataclass(frozen=True, eq=False)
class MessyTable:
    """A file, and what a sensible person expects of it.

    `joined` and `apart` are pairs of variables with and without an edge between them, `kinds` how columns are used,
    `warned` the columns that a warning names, and `target` what is predicted for the first rows.
    """

    file: str
    expected: str
    columns: Callable[[], Columns]
    save: Callable[[Path, Columns], None] = field(repr=False)
    target: str | None = "cough"
    joined: tuple[Pair, ...] = (CATEGORIES,)
    apart: tuple[Pair, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    warned: tuple[str, ...] = ()
    is_slow: bool = False

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return self.file.split(".")[0]


# ---------------------------------------------------------------------------- the patients


def patients(n: int = 300, seed: int = 15) -> Columns:
    """Return three categories and three numbers: smoker - cough, treated - response, age - pressure; region alone."""
    random = np.random.default_rng(seed)
    smoker = random.random(n) < 0.4
    cough = random.random(n) < np.where(smoker, 0.95, 0.05)
    treated = random.random(n) < 0.5
    age = random.normal(50, 12, n).round(1)
    return {
        "smoker": np.where(smoker, "yes", "no").tolist(),
        "cough": np.where(cough, "yes", "no").tolist(),
        "region": random.choice(["north", "south", "west"], n).tolist(),
        "age": age.tolist(),
        "pressure": (90 + 0.8 * age + random.normal(0, 3, n)).round(1).tolist(),
        "treated": np.where(treated, "verum", "placebo").tolist(),
        "response": (10 + 5 * treated + random.normal(0, 1, n)).round(2).tolist(),
    }


def some(*names: str, n: int = 300, **more: Sequence[Any]) -> Columns:
    """Return some columns of the patients, and more."""
    known = patients(n)
    return {name: known[name] for name in names} | more


def renamed(names: Mapping[str, str], columns: Columns) -> Columns:
    return {names.get(name, name): values for name, values in columns.items()}


def with_gaps(columns: Columns, share: float = 0.04, mark: str = "") -> Columns:
    """Leave out a share of the cells of each column."""
    random = np.random.default_rng(4)
    return {
        name: [mark if gone else value for value, gone in zip(values, random.random(len(values)) < share, strict=True)]
        for name, values in columns.items()
    }


def texts(values: Iterable[Any], pattern: str) -> list[str]:
    return [pattern.format(value) for value in values]


def days(n: int = 300) -> list[date]:
    random = np.random.default_rng(7)
    return [date(2019, 1, 1) + timedelta(days=int(day)) for day in random.integers(0, 900, n)]


def moments(n: int = 300) -> list[datetime]:
    random = np.random.default_rng(8)
    return [datetime(2020, 1, 1) + timedelta(seconds=int(second)) for second in random.integers(0, 10**8, n)]


def spelled(values: Iterable[str], no: str, yes: str) -> list[str]:
    return [yes if value == "yes" else no for value in values]


def chain(n_columns: int, n: int) -> Columns:
    """Return binary columns, each a noisy copy of the one before."""
    random = np.random.default_rng(2)
    columns = [random.integers(0, 2, n)]
    for _ in range(n_columns - 1):
        columns.append(columns[-1] ^ (random.random(n) < 0.1))
    return {f"q{k}": column.tolist() for k, column in enumerate(columns)}


def remarks(n: int = 300) -> list[str]:
    """Return a sentence or two for each row, with commas, quotes and line breaks."""
    random = np.random.default_rng(9)
    words = ["felt better", 'said "no, thanks"', "came late,", "slept well;", "no complaints", "was told\nto rest"]
    return [f"{k}: " + " ".join(random.choice(words, random.integers(3, 25))) for k in range(n)]


# ---------------------------------------------------------------------------- ways to save a table


def text_of(columns: Columns, *, delimiter: str = ",", line_end: str = "\n", quoting: Any = csv.QUOTE_MINIMAL) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return sink.getvalue()


def as_text(path: Path, columns: Columns, *, encoding: str = "utf-8", above: str = "", **dialect: Any) -> None:
    """Save as text; `above` stands before the header."""
    content = (above + text_of(columns, **dialect)).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def with_another_header_end(path: Path, columns: Columns) -> None:
    """End the header with a line feed, and each row with a carriage return and a line feed."""
    header, rows = text_of(columns).split("\n", 1)
    path.write_bytes((header + "\n" + rows.replace("\n", "\r\n")).encode())


def with_repeated_names(path: Path, columns: Columns) -> None:
    """Save `smoker` twice, under the same name."""
    as_text(path, {**columns, "smoker again": columns["smoker"]})
    path.write_text(path.read_text(encoding="utf-8").replace("smoker again", "smoker", 1), encoding="utf-8")


def with_every_line_changed(path: Path, columns: Columns, change: Callable[[str], str]) -> None:
    path.write_text("".join(change(line) + "\n" for line in text_of(columns).splitlines()), encoding="utf-8")


def with_blank_lines(path: Path, columns: Columns) -> None:
    lines = text_of(columns).splitlines()
    path.write_text("\n".join([*lines[:50], "", *lines[50:], "", ""]), encoding="utf-8")


def with_index(path: Path, columns: Columns) -> None:
    """Save as pandas does by default: the first column is the index, and has no name."""
    pd.DataFrame(columns).to_csv(path)


def as_parquet(path: Path, columns: Columns) -> None:
    """Save with the types that pandas has: categories, booleans, dates and numbers that may be missing."""
    frame = pd.DataFrame(columns).astype({"smoker": "category"})
    frame["cough"] = frame["cough"] == "yes"
    frame["visit"] = pd.to_datetime(frame["visit"])
    frame["age"] = frame["age"].round().astype("Int64")
    frame.to_parquet(path)


def by_arrow(path: Path, columns: Columns) -> None:
    """Save many rows quickly."""
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    pq.write_table(table, path) if path.suffix == ".parquet" else pyarrow.csv.write_csv(table, path)


def million_rows() -> Columns:
    """Return a million rows, with a time stamp in each."""
    n = 1_000_000
    random = np.random.default_rng(6)
    smoker = random.random(n) < 0.4
    start = np.datetime64("2020-01-01T00:00:00")
    return {
        "time": start + random.integers(0, 10**8, n).astype("timedelta64[s]"),
        "smoker": np.where(smoker, "yes", "no"),
        "cough": np.where(random.random(n) < np.where(smoker, 0.95, 0.05), "yes", "no"),
        "region": random.choice(np.array(["north", "south", "west"]), n),
    }


# ---------------------------------------------------------------------------- the tables

ALL_EDGES = (CATEGORIES, NUMBERS, ("treated", "response"))
ALONE = (("region", "smoker"), ("region", "cough"), ("region", "age"))
ALL_KINDS = {"smoker": "categorical", "region": "categorical", "age": "numeric", "response": "numeric"}
EUROPEAN = {"region": "Großstadt", "age": "Alter in Jahren", "pressure": "Blutdruck (Ø)"}


def _decimal_commas() -> Columns:
    columns = patients()
    return columns | {
        name: [str(value).replace(".", ",") for value in columns[name]] for name in (*NUMBERS, "response")
    }


def _thousands(mark: str) -> Columns:
    income = [round(1000 * value + 20_000) for value in patients()["age"]]
    spent = [
        round(0.5 * value + 10 * float(noise)) for value, noise in zip(income, patients()["response"], strict=True)
    ]
    return some(*CATEGORIES) | {
        "income": [f"{value:,}".replace(",", mark) for value in income],
        "spent": [f"{value:,}".replace(",", mark) for value in spent],
    }


def _sums() -> Columns:
    random = np.random.default_rng(5)
    parts = random.integers(0, 21, (300, 3))
    effort = parts[:, 0] * 2.0 + random.normal(0, 2, 300).round(2)
    named = {name: parts[:, k].tolist() for k, name in enumerate(("reading", "writing", "maths"))}
    return named | {"total": parts.sum(axis=1).tolist(), "effort": effort.tolist()}


def _whole_numbers() -> Columns:
    return some(*CATEGORIES) | {name: [round(value) for value in patients()[name]] for name in NUMBERS}


def _ratings() -> Columns:
    random = np.random.default_rng(3)
    liked = random.integers(1, 6, 300)
    again = np.clip(liked + random.choice([-1, 1, *[0] * 18], 300), 1, 5)
    return {"liked": liked.tolist(), "again": again.tolist(), "shop": random.integers(1, 4, 300).tolist()}


def _skewed() -> Columns:
    rare = ["other"] * 300
    rare[17] = rare[211] = "rare"
    codes = [f"code {k}" if k < 40 else "none" for k in range(300)]
    return some(*CATEGORIES, diagnosis=rare, finding=codes)


def _lists_of_missing_marks() -> Columns:
    known = patients()
    marks = {"smoker": "NA", "cough": ".", "age": "-9", "pressure": "n/a", "region": "-"}
    return {name: next(iter(with_gaps({name: known[name]}, mark=mark).values())) for name, mark in marks.items()}


TABLES = (
    MessyTable(
        "mixed.csv",
        "Categories and numbers, each used as what it is.",
        patients,
        as_text,
        joined=ALL_EDGES,
        apart=ALONE,
        kinds=ALL_KINDS,
    ),
    MessyTable(
        "numbers.csv",
        "Measurements are numbers, not as many categories as values.",
        partial(some, *NUMBERS, "response"),
        as_text,
        target="pressure",
        joined=(NUMBERS,),
        apart=(("age", "response"),),
        kinds=dict.fromkeys((*NUMBERS, "response"), "numeric"),
    ),
    MessyTable(
        "whole_numbers.csv",
        "Whole numbers with many values are numbers.",
        _whole_numbers,
        as_text,
        target="pressure",
        joined=(CATEGORIES, NUMBERS),
        kinds=dict.fromkeys(NUMBERS, "numeric"),
    ),
    MessyTable(
        "ratings.csv",
        "Ratings from 1 to 5 depend on each other, not on the number of the shop.",
        _ratings,
        as_text,
        target="again",
        joined=(("liked", "again"),),
        apart=(("liked", "shop"),),
    ),
    MessyTable(
        "gaps_in_categories.csv",
        "Empty cells cost rows or become a state; the option is named.",
        lambda: with_gaps(some(*CATEGORIES, "region")),
        as_text,
    ),
    MessyTable(
        "gaps_in_numbers.csv",
        "Empty cells in a column of fractions are described, and learning goes the way that the message names.",
        lambda: with_gaps(some(*NUMBERS, "response")),
        as_text,
        target="pressure",
        joined=(NUMBERS,),
    ),
    MessyTable(
        "dates.csv",
        "A date is no category of its own.",
        lambda: some(*CATEGORIES, "region", visit=days()),
        as_text,
        warned=("visit",),
    ),
    MessyTable(
        "german_dates.csv",
        "A date in another order is no category either.",
        lambda: some(*CATEGORIES, visit=[day.strftime("%d.%m.%Y") for day in days()]),
        as_text,
        warned=("visit",),
    ),
    MessyTable(
        "time_stamps.csv",
        "A time stamp is no category.",
        lambda: some(*CATEGORIES, *NUMBERS, measured=moments()),
        as_text,
        joined=(CATEGORIES, NUMBERS),
        warned=("measured",),
    ),
    MessyTable(
        "identifiers.csv",
        "A column that names the rows is left out, or the option that drops it is named.",
        lambda: {"patient": texts(range(300), "MUS-{:04}"), **some(*CATEGORIES, *NUMBERS)},
        as_text,
        joined=(CATEGORIES, NUMBERS),
        kinds={"patient": "dropped"},
        warned=("patient",),
    ),
    MessyTable(
        "numbered_rows.csv",
        "A running number tells nothing.",
        lambda: {"id": range(1, 301), **some(*CATEGORIES, *NUMBERS)},
        as_text,
        joined=(CATEGORIES, NUMBERS),
        warned=("id",),
    ),
    MessyTable(
        "index_of_pandas.csv",
        "The index that pandas writes has no name, and is no variable.",
        partial(some, *CATEGORIES, *NUMBERS),
        with_index,
        joined=(CATEGORIES, NUMBERS),
    ),
    MessyTable(
        "unicode_names.csv",
        "Names may have letters of any script.",
        lambda: renamed({"smoker": "raucher·größe", "cough": "咳嗽", "region": "😀 é"}, some(*CATEGORIES, "region")),
        as_text,
        target="咳嗽",
        joined=(("raucher·größe", "咳嗽"),),
    ),
    MessyTable(
        "awkward_names.csv",
        "Names may have commas, quotes, equals signs and line breaks.",
        lambda: renamed(
            {"age": "age, years", "pressure": 'so-called "pressure"', "region": "a=b->c", "cough": "it's\na cough"},
            patients(),
        ),
        as_text,
        target="it's\na cough",
        joined=(("smoker", "it's\na cough"), ("age, years", 'so-called "pressure"')),
    ),
    MessyTable(
        "semicolons_and_decimal_commas.csv",
        "What a European spreadsheet saves: 1,5 is a number.",
        _decimal_commas,
        partial(as_text, delimiter=";"),
        joined=ALL_EDGES,
        kinds=ALL_KINDS,
    ),
    MessyTable("tabs.csv", "Tabs may separate cells.", patients, partial(as_text, delimiter="\t"), joined=ALL_EDGES),
    MessyTable("tabs.tsv", "The usual ending for tabs.", patients, partial(as_text, delimiter="\t"), joined=ALL_EDGES),
    MessyTable("bars.csv", "So may vertical bars.", patients, partial(as_text, delimiter="|"), joined=ALL_EDGES),
    MessyTable(
        "latin_1.csv",
        "Bytes that are not UTF-8 are read as Latin-1, or the option that reads them is named.",
        lambda: renamed(EUROPEAN, patients()) | {"Straße": ["Überweg", "Café", "Søndergade"] * 100},
        partial(as_text, encoding="latin-1", delimiter=";"),
        joined=(CATEGORIES, ("Alter in Jahren", "Blutdruck (Ø)")),
    ),
    MessyTable(
        "utf_16.csv",
        "What a spreadsheet calls Unicode text.",
        lambda: renamed(EUROPEAN, patients()),
        partial(as_text, encoding="utf-16", delimiter="\t"),
        joined=(CATEGORIES, ("Alter in Jahren", "Blutdruck (Ø)")),
    ),
    MessyTable(
        "byte_order_mark.csv",
        "The mark is no part of the first name.",
        patients,
        partial(as_text, encoding="utf-8-sig", line_end="\r\n"),
        joined=ALL_EDGES,
    ),
    MessyTable("crlf.csv", "Line ends of Windows.", patients, partial(as_text, line_end="\r\n"), joined=ALL_EDGES),
    MessyTable("cr.csv", "Line ends of old Macs.", patients, partial(as_text, line_end="\r"), joined=ALL_EDGES),
    MessyTable(
        "lf_over_crlf.csv",
        "A header put before the rows of another system.",
        patients,
        with_another_header_end,
        joined=ALL_EDGES,
    ),
    MessyTable(
        "thousands.csv",
        "1,234 in quotes is a number.",
        partial(_thousands, ","),
        as_text,
        target="spent",
        joined=(CATEGORIES, ("income", "spent")),
    ),
    MessyTable(
        "thousands_with_blanks.csv",
        "1 234 is a number.",
        partial(_thousands, " "),
        as_text,
        target="spent",
        joined=(CATEGORIES, ("income", "spent")),
    ),
    MessyTable(
        "units.csv",
        "Numbers with a unit are numbers.",
        lambda: some(*CATEGORIES) | {"age": texts(patients()["age"], "{} y"), "pressure": patients()["pressure"]},
        as_text,
        joined=(CATEGORIES, NUMBERS),
    ),
    MessyTable(
        "comments.csv",
        "Lines above the header that begin with # are comments.",
        patients,
        partial(as_text, above="# exported on 2021-03-04\n# by the clinic, room 5\n"),
        joined=ALL_EDGES,
    ),
    MessyTable(
        "booleans.csv",
        "True and false in several spellings are two states.",
        lambda: {
            "smoker": spelled(patients()["smoker"], "FALSE", "TRUE"),
            "cough": spelled(patients()["cough"], "0", "1"),
            "male": ["t", "f", "f", "t", "t", "f"] * 50,
        },
        as_text,
    ),
    MessyTable(
        "constants.csv",
        "A column with one value has no edges, and is named.",
        lambda: some(*CATEGORIES, *NUMBERS, country=["DE"] * 300, version=[2.5] * 300),
        as_text,
        joined=(CATEGORIES, NUMBERS),
        apart=(("country", "smoker"), ("version", "age")),
        warned=("country", "version"),
    ),
    MessyTable(
        "repeated_rows.csv",
        "Rows that occur several times count several times.",
        lambda: {name: [*values] * 3 for name, values in patients(100).items()},
        as_text,
        joined=ALL_EDGES,
    ),
    MessyTable(
        "repeated_column.csv",
        "Two columns with the same numbers: the copy is named.",
        lambda: some(*CATEGORIES, *NUMBERS, copy_of_age=patients()["age"]),
        as_text,
        joined=(CATEGORIES,),
        warned=("copy_of_age",),
    ),
    MessyTable(
        "repeated_names.csv",
        "Two columns of the same name: the second is renamed.",
        partial(some, *CATEGORIES, *NUMBERS),
        with_repeated_names,
        target="pressure",
        joined=(NUMBERS,),
    ),
    MessyTable(
        "sums.csv",
        "A total is named as the sum of the others, with the option that drops it.",
        _sums,
        as_text,
        target="effort",
        joined=(("reading", "effort"),),
        warned=("total",),
    ),
    MessyTable(
        "skewed.csv",
        "States that are rare make no edges.",
        _skewed,
        as_text,
        apart=(("diagnosis", "smoker"), ("finding", "smoker")),
    ),
    MessyTable(
        "one_row.csv",
        "One row supports no edge.",
        lambda: {name: values[:1] for name, values in patients().items()},
        as_text,
        target=None,
        joined=(),
    ),
    MessyTable(
        "two_rows.csv",
        "Two rows support hardly anything.",
        lambda: {name: values[:2] for name, values in patients().items()},
        as_text,
        target=None,
        joined=(),
    ),
    MessyTable(
        "empty_column.csv",
        "A column without a value is no variable, and does not cost all rows.",
        lambda: some(*CATEGORIES, *NUMBERS, remark=[""] * 300),
        as_text,
        joined=(CATEGORIES, NUMBERS),
        warned=("remark",),
    ),
    MessyTable(
        "missing_marks.csv",
        "NA, n/a, ., - and -9 mark missing values.",
        _lists_of_missing_marks,
        as_text,
        joined=(CATEGORIES, NUMBERS),
    ),
    MessyTable(
        "text.csv",
        "Free text is no category.",
        lambda: some(*CATEGORIES, *NUMBERS, remark=remarks()),
        as_text,
        joined=(CATEGORIES, NUMBERS),
        kinds={"remark": "dropped"},
        warned=("remark",),
    ),
    MessyTable(
        "blanks_around_cells.csv",
        "' yes' and 'yes ' are the same state, and ' cough' is called cough.",
        patients,
        partial(with_every_line_changed, change=lambda line: line.replace(",", " , ")),
        joined=ALL_EDGES,
        kinds=ALL_KINDS,
    ),
    MessyTable(
        "blank_lines.csv",
        "Blank lines are no rows.",
        patients,
        with_blank_lines,
        joined=ALL_EDGES,
    ),
    MessyTable(
        "comma_at_line_ends.csv",
        "A comma at the end of each line makes an empty column without a name.",
        patients,
        partial(with_every_line_changed, change=lambda line: line + ","),
        joined=ALL_EDGES,
    ),
    MessyTable(
        "all_quoted.csv",
        "Numbers in quotes are numbers.",
        patients,
        partial(as_text, quoting=csv.QUOTE_ALL),
        joined=ALL_EDGES,
        kinds=ALL_KINDS,
    ),
    MessyTable(
        "postal_codes.csv",
        "Codes with leading zeros are categories, and keep their zeros.",
        lambda: some(*CATEGORIES, code=["01067", "00501", "10115", "80331"] * 75),
        as_text,
        kinds={"code": "categorical"},
    ),
    MessyTable("CAPITALS.CSV", "The ending may have capital letters.", patients, as_text, joined=ALL_EDGES),
    MessyTable("packed.csv.gz", "Packed by gzip.", patients, as_text, joined=ALL_EDGES),
    MessyTable(
        "typed.parquet",
        "Parquet has types: categories, booleans, dates, whole numbers.",
        lambda: some(*CATEGORIES, *NUMBERS, visit=days()),
        as_parquet,
        joined=(CATEGORIES, NUMBERS),
        kinds={"cough": "categorical", "age": "numeric", "pressure": "numeric"},
    ),
    MessyTable("million_rows.csv", "A million rows take seconds.", million_rows, by_arrow, is_slow=True),
    MessyTable("million_rows.parquet", "Also as Parquet, with time stamps.", million_rows, by_arrow, is_slow=True),
    MessyTable(
        "two_hundred_columns.csv",
        "200 columns get an answer in the time allowed, complete or not.",
        partial(chain, 200, 400),
        as_text,
        target="q7",
        joined=(("q6", "q7"), ("q150", "q151")),
        apart=(("q0", "q199"),),
        is_slow=True,
    ),
)
