"""New rows keep their order and get the codes of the training states, from every kind of table; every refusal."""

import datetime
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from credibn import read_data
from credibn.data.new_rows import read_rows
from credibn.errors import CredibnWarning, DataError, FileFormatError, OptionError
from profiles import examples

NAMES = ("smoke", "age", "dose")
STATES = (("yes", "no"), ("<18", "18..65", ">=65"), None)
CUTS = {"age": (18.0, 65.0)}
TABLE = {"smoke": ["no", None, "yes", "no"], "age": [17, 18, None, 65], "dose": [0.5, 2.0, -1.0, None]}


def read(data, **options):
    return read_rows(data, NAMES, STATES, CUTS, **options)


def as_csv(folder):
    path = folder / "rows.csv"
    path.write_text("dose,smoke,age\n0.5,no,17\n2.0,NA,18\n-1.0,yes,?\n,no,65\n")
    return path


def as_parquet(folder):
    path = folder / "rows.parquet"
    pq.write_table(pa.table(TABLE), path)
    return path


def as_categorical(folder):
    # The codes of this type are not those of the training: 0 is "no" here.
    return pd.DataFrame(TABLE).astype({"smoke": pd.CategoricalDtype(["no", "maybe", "yes"])})


def as_relation(folder):
    frame = pa.table(TABLE)
    return duckdb.connect().from_arrow(frame).project("dose, age, smoke")


def as_records(folder):
    table = [("no", 17, 0.5), (None, 18, 2.0), ("yes", np.nan, -1.0), ("no", 65, np.nan)]
    return np.array(table, dtype=[("smoke", object), ("age", float), ("dose", float)])


def as_array(folder):
    return np.array(list(zip(*TABLE.values(), strict=True)), dtype=object)


KINDS = {
    "pandas": lambda folder: pd.DataFrame(TABLE),
    "categorical": as_categorical,
    "polars": lambda folder: pl.DataFrame(TABLE),
    "polars categorical": lambda folder: pl.DataFrame(TABLE).with_columns(pl.col("smoke").cast(pl.Categorical)),
    "arrow": lambda folder: pa.table(TABLE),
    "dictionary": lambda folder: pa.table({**TABLE, "smoke": pa.array(TABLE["smoke"]).dictionary_encode()}),
    "csv": as_csv,
    "csv, as text": lambda folder: str(as_csv(folder)),
    "parquet": as_parquet,
    "relation": as_relation,
    "records": as_records,
    "array": as_array,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_every_kind_of_table_gives_the_same_rows(make, tmp_path):
    rows = read(make(tmp_path))
    np.testing.assert_array_equal(rows.columns[0], [1, -1, 0, 1])
    np.testing.assert_array_equal(rows.columns[1], [0, 1, -1, 2])
    np.testing.assert_array_equal(rows.columns[2], [0.5, 2.0, -1.0, np.nan])
    assert [column.dtype for column in rows.columns] == [np.int64, np.int64, np.float64]
    assert rows.is_given == (True, True, True)
    assert len(rows) == 4
    assert rows.is_missing.tolist() == [[False] * 3, [True, False, False], [False, True, False], [False, False, True]]


@examples(30)
@given(strategies.tables(max_rows=12), st.randoms(use_true_random=False))
def test_rows_decode_to_themselves(table, random):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)  # constant columns
        data = read_data(pa.table(table))
    order = list(range(len(next(iter(table.values())))))
    random.shuffle(order)
    shuffled = {name: [values[at] for at in order] for name, values in table.items()}
    rows = read_rows(pa.table(shuffled), data.names, data.states)
    for name, column, states in zip(rows.names, rows.columns, rows.states, strict=True):
        assert [states[code] for code in column] == shuffled[name]


def test_order_is_kept_in_many_rows_and_files(tmp_path):
    values = np.random.default_rng(0).integers(0, 3, 200_000)
    table = pa.table({"a": values})
    assert np.array_equal(read_rows(table, ["a"], [(0, 1, 2)]).columns[0], values)
    for part in range(4):
        pd.DataFrame({"a": values[part * 50_000 : (part + 1) * 50_000]}).to_csv(tmp_path / f"{part}.csv", index=False)
    assert np.array_equal(read_rows(tmp_path / "*.csv", ["a"], [("0", "1", "2")]).columns[0], values)
    relation = duckdb.connect().from_arrow(table)
    assert np.array_equal(read_rows(relation, ["a"], [(0, 1, 2)]).columns[0], values)


def test_index_of_a_data_frame_is_kept():
    frame = pd.DataFrame(TABLE, index=["d", "a", "a", "c"])
    assert list(read(frame).index) == ["d", "a", "a", "c"]
    assert read(pl.DataFrame(TABLE)).index is None


def test_absent_and_unread_columns_are_missing():
    rows = read(pa.table({"age": [70]}))
    assert [column.tolist() for column in rows.columns[:2]] == [[-1], [2]]
    assert np.isnan(rows.columns[2]).all()
    assert rows.is_given == (False, True, False)
    unread = read(pa.table({"age": [70], "smoke": ["whatever"]}), unread=["smoke"])
    assert unread.columns[0].tolist() == [-1]
    assert unread.is_given == (True, True, False)


def test_no_column_of_the_model_still_counts_the_rows():
    rows = read(pa.table({"other": [1, 2, 3]}), ignore_extra=True)
    assert [len(column) for column in rows.columns] == [3, 3, 3]
    assert rows.is_missing.all()


@pytest.mark.parametrize("empty", [pd.DataFrame(TABLE).iloc[:0], pa.table(TABLE).slice(0, 0), np.empty((0, 3))])
def test_no_rows(empty):
    rows = read(empty)
    assert [column.tolist() for column in rows.columns] == [[], [], []]
    assert rows.is_missing.shape == (0, 3)


def test_whole_numbers_with_gaps_are_states_too():
    # pandas makes floats of a column of integers with missing values.
    frame = pd.DataFrame({"a": [1, None, 0]})
    assert read_rows(frame, ["a"], [(0, 1)]).columns[0].tolist() == [1, -1, 0]
    assert read_rows(np.array([[1.0], [np.nan]]), ["a"], [(0, 1)]).columns[0].tolist() == [1, -1]


def test_text_files_know_states_by_their_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c\n1,2020-01-02,True\n,,\n")
    states = [(0, 1), (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)), (False, True)]
    rows = read_rows(path, ["a", "b", "c"], states)
    assert [column.tolist() for column in rows.columns] == [[1, -1]] * 3


def test_labels_of_intervals_are_known():
    assert read(pa.table({"age": [">=65", None, "<18"]})).columns[1].tolist() == [2, -1, 0]


def test_cuts_are_those_of_the_training():
    table = pd.DataFrame({"x": np.random.default_rng(1).normal(size=50).round(1)})
    data = read_data(table, discretise={"x": "equal_frequency:4"})
    rows = read_rows(table, data.names, data.states, data.cuts)
    codes = np.bincount(rows.columns[0], minlength=4)
    assert codes.tolist() == [int(data.weights[data.columns[0] == code].sum()) for code in range(4)]
    at_cuts = read_rows(pd.DataFrame({"x": data.cuts["x"]}), data.names, data.states, data.cuts)
    assert at_cuts.columns[0].tolist() == [1, 2, 3]


def test_a_missing_value_that_was_a_state_stays_one(tmp_path):
    data = read_data(pa.table({"a": ["x", None, "y"]}), missing="state")
    assert read_rows(pa.table({"a": [None, "x"]}), data.names, data.states).columns[0].tolist() == [2, 0]
    path = tmp_path / "rows.csv"
    path.write_text("a,b\nNA,1\nx,1\n")
    assert read_rows(path, data.names, data.states, ignore_extra=True).columns[0].tolist() == [2, 0]


def test_a_state_that_looks_missing_is_a_state(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("country\nNA\n?\n")
    assert read_rows(path, ["country"], [("NA", "ZA")]).columns[0].tolist() == [0, -1]


def test_missing_values_are_chosen_as_in_read_data():
    table = pa.table({"smoke": ["-9", "no"]})
    assert read(table, missing_values=["-9"]).columns[0].tolist() == [-1, 1]
    with pytest.raises(OptionError, match="missing_values is 'NA'"):
        read(table, missing_values="NA")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"smoke": ["no", "maybe"]}, r"row 2, column 'smoke': 'maybe' is not among the states 'yes', 'no'"),
        ({"smoke": ["no", "nope"]}, r"did you mean 'no'\?"),
        ({"smok": ["no"]}, r"the model has no column 'smok' \(did you mean 'smoke'\?\): .* ignore_extra=True"),
        ({"age": ["17", "old"]}, r"row 1, column 'age': '17' is not a finite number"),
        ({"dose": [0.0, np.inf]}, r"row 2, column 'dose': inf is not a finite number, but the column is continuous"),
        ({"dose": [True]}, r"True is not a finite number"),
        ({"dose": ["0.5"]}, r"'0.5' is not a finite number"),
    ],
)
def test_what_the_model_does_not_know_is_refused(table, message):
    with pytest.raises(DataError, match=message):
        read(pa.table(table))


@pytest.mark.parametrize(("states", "value", "kind"), [((0, 1), "1", "int"), (("0", "1"), 1, "str")])
def test_a_value_of_another_type_is_explained(states, value, kind):
    with pytest.raises(DataError, match=f"of another type; convert the column to {kind}"):
        read_rows(pa.table({"a": [value]}), ["a"], [states])


def test_numbers_in_text_files(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,dose\n 40,1e3\nNA,x\n")
    with pytest.raises(DataError, match="row 2, column 'dose': 'x' is not a finite number"):
        read(path)


def test_other_refusals(tmp_path):
    with pytest.raises(DataError, match="a Dataset does not preserve the order of rows"):
        read(read_data(pa.table({"a": [1, 2]})))
    with pytest.raises(DataError, match="the array has 2 columns and the model 3 variables"):
        read(np.zeros((1, 2)))
    with pytest.raises(DataError, match="is not a table that can be read"):
        read([1, 2])
    with pytest.raises(DataError, match="has the type"):
        read(pa.table({"smoke": [[1]]}))
    path = tmp_path / "rows.csv"
    path.write_text("smoke,age\nno\n")
    with pytest.raises(FileFormatError, match="line 2"):
        read(path)
