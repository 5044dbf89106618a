"""Every remedy that an error of reading names, followed literally, leads to a table that can be read."""

import ast
import datetime
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import credibn
from credibn import learn, read_data
from credibn.errors import CredibnError, Option, Phrase

FOLDER = Path(credibn.__file__).parent / "data"
ROWS = range(150)
CODES = [row % 3 for row in ROWS]


def numbers():
    return [row * 37 % 149 / 7 for row in ROWS]


TABLES = {
    "identifier": lambda: pa.table({"id": [f"MUS-{row:04}" for row in ROWS], "x": CODES}),
    "time stamps": lambda: pa.table(
        {"t": [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=row) for row in ROWS], "x": CODES}
    ),
    "gaps": lambda: pa.table({"a": [None, "u", "v"] * 50, "x": CODES}),
    "gaps everywhere": lambda: pa.table({"a": [None, "u"] * 75, "b": ["u", None] * 75, "x": CODES}),
    "only gaps": lambda: pa.table({"a": pa.array([None] * 150, pa.float64()), "x": CODES}),
    "gaps among numbers": lambda: pa.table({"a": [None, *numbers()[1:]], "x": CODES}),
    "measurements": lambda: pa.table({"a": numbers(), "x": CODES}),
    "text": lambda: pa.table({"a": ["u", "v", "w"] * 50, "x": numbers()}),
    "infinite": lambda: pa.table({"a": [np.inf, *numbers()[1:]], "x": CODES}),
    "lists": lambda: pa.table({"a": [[1], [2, 3], []] * 50, "x": CODES}),
}
CASES = [
    ("identifier", {}),
    ("time stamps", {}),
    ("gaps", {}),
    ("gaps everywhere", {"missing": "drop"}),
    ("only gaps", {"missing": "state", "columns": {"a": "numeric"}}),
    ("gaps among numbers", {"missing": "state"}),
    ("measurements", {"columns": "discrete"}),
    ("measurements", {"score": "bic"}),
    ("measurements", {"columns": {"a": "numeric"}, "score": "bic"}),
    ("text", {"columns": "continuous"}),
    ("text", {"score": "gaussian-bic"}),
    ("infinite", {}),
    ("lists", {}),
    ("commas", {}),
    ("comments", {}),
]
FILES = {
    "commas": b"a;x\n" + b"1,234;0\n5,123;1\n" * 20,
    "comments": b"a,x\n" + b"u,0\nv,1\n# none\n" * 20,
}


def options_in(part):
    """The options with a value that a message names."""
    if isinstance(part, Option):
        return [part] if part.value is not ... else []
    inside = part.details if isinstance(part, Phrase) else part.args[1:] if isinstance(part, CredibnError) else ()
    return [option for detail in inside for option in options_in(detail)]


def read(table, options):
    if "score" in options:
        return learn(table, **options)
    return read_data(table, **options)


def remedies(table, options):
    with pytest.raises(CredibnError) as refused:
        read(table, options)
    return refused.value, [option for option in options_in(refused.value) if options.get(option.name) != option.value]


def given_table(name, folder):
    if name not in FILES:
        return TABLES[name]()
    (folder / "t.csv").write_bytes(FILES[name])
    return folder / "t.csv"


@pytest.mark.filterwarnings("ignore::credibn.errors.CredibnWarning")
@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{','.join(given)}" for name, given in CASES])
def test_each_remedy_works_when_followed(name, options, tmp_path):
    table = given_table(name, tmp_path)
    error, named = remedies(table, options)
    limits = [option for option in named if option.name == "max_states" and option.value == 100]
    assert len(named) > len(limits), str(error)
    for option in named:
        if option in limits or (option.name, options.get("columns")) == ("columns", "continuous"):
            continue
        changed = {**options, option.name: option.value}
        if option.name == "drop" and isinstance(options.get("columns"), dict):
            del changed["columns"]  # it names a column that is gone
        assert read(table, changed), f"{option} of: {error}"


def test_every_option_that_an_error_of_reading_advises_is_followed(tmp_path):
    advised = set()
    for path in FOLDER.glob("*.py"):
        for raised in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Raise)):
            for call in (node for node in ast.walk(raised) if isinstance(node, ast.Call)):
                if getattr(call.func, "id", "") == "Option" and len(call.args) == 2:
                    advised.add(call.args[0].value)
    followed = {option.name for name, options in CASES for option in remedies(given_table(name, tmp_path), options)[1]}
    assert advised - {"ignore_extra"} <= followed  # that one is an option of prediction


INDEXED = pd.DataFrame({"x": [0, 1] * 20, "y": [0, 0, 1, 1] * 10})


@pytest.mark.parametrize("index", [range(40), range(1, 41), [f"patient {row}" for row in range(40)]])
def test_names_and_numbers_of_rows_that_pandas_saved_are_left_out(index, tmp_path):
    INDEXED.set_index(pd.Index(index)).to_csv(tmp_path / "t.csv")
    for table in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv")):
        with pytest.warns(credibn.CredibnWarning, match=r"no name and a different value in each row.*: left out"):
            data = read_data(table)
        assert (data.names, data.n_distinct) == (("x", "y"), 4)


def test_names_of_rows_are_kept_on_demand_and_dropped_as_the_note_says(tmp_path):
    path = tmp_path / "t.csv"
    INDEXED.to_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_data(path, drop=["column 1"]).names == ("x", "y")
    with pytest.warns(credibn.CredibnWarning, match="as an identifier has"):
        assert read_data(path, columns={"column 1": "numeric"}).names == ("column 1", "x", "y")
    with pytest.warns(credibn.CredibnWarning, match="as an identifier has"):
        assert read_data(path, only=["column 1", "x"]).names == ("column 1", "x")


def test_names_of_rows_are_left_out_beside_weights(tmp_path):
    INDEXED.assign(n=3).to_csv(tmp_path / "t.csv")
    with pytest.warns(credibn.CredibnWarning, match="left out"):
        assert read_data(tmp_path / "t.csv", weights="n").names == ("x", "y")


@pytest.mark.parametrize("first", [[5, 80] * 20, [3 * row for row in range(40)], [row / 7 for row in range(40)]])
def test_a_column_without_a_name_that_may_be_a_variable_is_kept(first, tmp_path):
    INDEXED.set_index(pd.Index(first)).to_csv(tmp_path / "t.csv")
    assert read_data(tmp_path / "t.csv").names == ("column 1", "x", "y")
