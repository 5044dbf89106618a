"""The reader against a naive twin for each kind of table, and every refusal with its message."""

import contextlib
import csv
import dataclasses
import datetime
import gzip
import json
import pickle
import random
import warnings
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import credibn
from credibn.data import Dataset, read_data
from credibn.data.reading_record import ColumnKind, Reading
from credibn.data.sources import workspace
from credibn.data.states import natural_order
from credibn.errors import CredibnWarning, DataError, FileFormatError, OptionError
from profiles import examples
from strategies import tables

FEW = examples(15, HealthCheck.function_scoped_fixture)


def rows_of(data):
    """Return the table of a Dataset as a Counter of label rows."""
    columns = [
        [labels[code] for code in column] if labels is not None else column.tolist()
        for column, labels in zip(data.columns, data.states, strict=True)
    ]
    return Counter(dict(zip(zip(*columns, strict=True), data.weights.tolist(), strict=True)))


def naive(table):
    return Counter(zip(*table.values(), strict=True))


def read_quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)
        return read_data(source, **options)


def write_text(path, table, delimiter=",", line_break="\n", is_packed=False):
    opener = gzip.open if is_packed else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=line_break)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


@contextlib.contextmanager
def as_pandas(table, folder):
    yield pd.DataFrame(table)


@contextlib.contextmanager
def as_polars(table, folder):
    yield pl.DataFrame(table)


@contextlib.contextmanager
def as_arrow(table, folder):
    yield pa.table(table)


@contextlib.contextmanager
def as_record_batch(table, folder):
    yield pa.RecordBatch.from_pydict(table)


@contextlib.contextmanager
def as_records(table, folder):
    kinds = [(name, np.asarray(values).dtype) for name, values in table.items()]
    yield np.array(list(zip(*table.values(), strict=True)), dtype=kinds)


@contextlib.contextmanager
def as_csv(table, folder):
    yield write_text(folder / "t.csv", table)


@contextlib.contextmanager
def as_windows_csv(table, folder):
    yield str(write_text(folder / "t.csv", table, line_break="\r\n"))


@contextlib.contextmanager
def as_tsv(table, folder):
    yield write_text(folder / "t.tsv", table, delimiter="\t")


@contextlib.contextmanager
def as_gzip(table, folder):
    yield write_text(folder / "t.csv.gz", table, is_packed=True)


@contextlib.contextmanager
def as_zstd(table, folder):
    plain = write_text(folder / "plain.csv", table)
    with pa.output_stream(str(folder / "t.csv.zst"), compression="zstd") as stream:
        stream.write(plain.read_bytes())
    yield folder / "t.csv.zst"


@contextlib.contextmanager
def as_parquet(table, folder):
    pq.write_table(pa.table(table), folder / "t.parquet")
    yield folder / "t.parquet"


@contextlib.contextmanager
def as_csv_glob(table, folder):
    n_first = len(next(iter(table.values()))) // 2
    write_text(folder / "part-1.csv", {name: values[:n_first] for name, values in table.items()})
    rest = {name: values[n_first:] for name, values in table.items()}
    write_text(folder / "part-2.csv.gz", rest, line_break="\r\n", is_packed=True)
    yield folder / "part-*.csv*"


@contextlib.contextmanager
def as_parquet_glob(table, folder):
    arrow = pa.table(table)
    pq.write_table(arrow.slice(0, 1), folder / "part-1.parquet")
    pq.write_table(arrow.slice(1), folder / "part-2.parquet")
    yield str(folder / "part-*.parquet")


@contextlib.contextmanager
def as_relation(table, folder):
    # DuckDB has one column where two names differ in case only.
    with duckdb.connect() as connection:
        yield connection.from_arrow(pa.table({f"v{i}": values for i, values in enumerate(table.values())}))


KINDS = [
    as_pandas,
    as_polars,
    as_arrow,
    as_record_batch,
    as_records,
    as_csv,
    as_windows_csv,
    as_tsv,
    as_gzip,
    as_zstd,
    as_parquet,
    as_csv_glob,
    as_parquet_glob,
    as_relation,
]


TEXT_KINDS = (as_csv, as_windows_csv, as_tsv, as_gzip, as_zstd, as_csv_glob)


class TestEveryKindOfTable:
    @pytest.mark.few(5)
    @pytest.mark.parametrize("kind", KINDS)
    @given(table=tables())
    @FEW
    def test_agrees_with_counting(self, kind, table, tmp_path):
        with kind(table, tmp_path) as source:
            data = read_quietly(source, columns="discrete")
        if kind in TEXT_KINDS:  # spaces around a field mean nothing
            table = {name: [value.strip() for value in values] for name, values in table.items()}
        assert rows_of(data) == naive(table)
        assert data.n_rows == len(next(iter(table.values())))
        if kind is not as_relation:
            assert data.names == tuple(table)
        for labels, values in zip(data.states, table.values(), strict=True):
            assert list(labels) == natural_order(list(set(values)))

    @given(table=tables(), seed=st.integers(0, 99))
    @FEW
    def test_any_row_order_gives_the_same_bytes(self, table, seed):
        rows = list(zip(*table.values(), strict=True))
        random.Random(seed).shuffle(rows)
        shuffled = dict(zip(table, map(list, zip(*rows, strict=True)), strict=True))
        first, second = read_quietly(pa.table(table)), read_quietly(pa.table(shuffled))
        assert first.fingerprint == second.fingerprint
        assert all((a == b).all() for a, b in zip(first.columns, second.columns, strict=True))

    @given(table=tables(), counts=st.lists(st.integers(1, 5), min_size=12, max_size=12))
    @FEW
    def test_weights_equal_repeated_rows(self, table, counts):
        n_rows = len(next(iter(table.values())))
        repeated = {
            name: [value for value, count in zip(values, counts, strict=False) for _ in range(count)]
            for name, values in table.items()
        }
        weighted = read_quietly(pa.table({**table, "how many": counts[:n_rows]}), weights="how many")
        assert weighted.fingerprint == read_quietly(pa.table(repeated)).fingerprint

    @given(table=tables(values=st.sampled_from([0.5, -0.0, 0.0, 1e300, 0.1 + 0.2, 0.3])))
    @FEW
    def test_continuous_columns_are_merged_too(self, table):
        data = read_quietly(pd.DataFrame(table), columns="continuous")
        assert data.states == (None,) * len(table)
        assert all(column.dtype == np.float64 for column in data.columns)
        assert rows_of(data) == naive(table)

    @given(table=tables(values=st.sampled_from([0.5, -0.0, 0.0, 1e300, 0.1 + 0.2, 0.3])))
    @FEW
    def test_numbers_as_labels_keep_their_value(self, table):
        assert rows_of(read_quietly(pl.DataFrame(table))) == naive(table)


class TestLabels:
    def test_keep_their_type(self):
        table = {"i": [2, 1], "b": [True, False], "s": ["x", "y"], "f": [1.5, 0.5]}
        expected = ((1, 2), (False, True), ("x", "y"), (0.5, 1.5))
        for frame in (
            pd.DataFrame(table),
            pl.DataFrame(table),
            pa.table(table),
            pa.table(table).to_batches()[0],
        ):
            data = read_data(frame, columns={"f": "categorical"})
            assert data.states == expected
            assert [type(labels[0]) for labels in data.states] == [int, bool, str, float]

    def test_of_text_files_are_text(self, tmp_path):
        (tmp_path / "t.csv").write_text("x,y\n01,True\n1, a\n10,a\n9,a \n")
        data = read_data(tmp_path / "t.csv")
        assert data.states == (("01", "1", "9", "10"), ("True", "a"))

    def test_spaces_around_names_and_fields_of_text_files_mean_nothing(self, tmp_path):
        (tmp_path / "t.csv").write_text('x , y\n yes ,1\n"yes", 2\nno\u00a0,1\n')
        data = read_data(tmp_path / "t.csv")
        assert (data.names, data.states) == (("x", "y"), (("no", "yes"), ("1", "2")))

    def test_dates_and_large_integers(self):
        day = datetime.date(2020, 1, 2)
        table = pa.table({"d": [day, datetime.date(2019, 1, 1)], "i": [2**60, 2**60 + 1]})
        data = read_data(table)
        assert data.states == ((datetime.date(2019, 1, 1), day), (2**60, 2**60 + 1))

    def test_decimals_and_hugeints_of_a_relation(self):
        with duckdb.connect() as connection:
            rows = connection.sql("SELECT 1.5 AS d, 7::HUGEINT AS h UNION ALL SELECT 0.5, 8")
            data = read_quietly(rows, columns="discrete")
        assert data.states == ((0.5, 1.5), (7, 8))

    @pytest.mark.parametrize(
        ("labels", "ordered"),
        [
            (["10", "9", "1e1", "-2"], ["-2", "9", "10", "1e1"]),
            (["b", "B", "10", "9"], ["10", "9", "B", "b"]),
            ([True, False], [False, True]),
            ([2.5, -1.0], [-1.0, 2.5]),
            ([], []),
        ],
    )
    def test_natural_order(self, labels, ordered):
        assert natural_order(labels) == ordered

    def test_columns_of_arrays_are_numbered(self):
        data = read_quietly(np.zeros((2, 11), dtype=int))
        assert data.names[:2] == ("X00", "X01")
        assert read_quietly(np.array([["a"], ["b"]])).names == ("X0",)
        assert read_quietly(np.array([["a", 1], [None, 2]], dtype=object), missing="state").states == (
            ("a", None),
            (1, 2),
        )

    def test_masked_cells_are_missing(self):
        array = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
        assert read_quietly(array, missing="state").states == ((1, 3), (4, None))


class TestDeclaredStates:
    def test_pandas_categories_keep_order_and_unseen_states(self):
        frame = pd.DataFrame({"x": pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"])})
        data = read_data(frame)
        assert data.states == (("lo", "mid", "hi"),)
        assert data.columns[0].tolist() == [0, 2]
        assert data.arities.tolist() == [3]

    def test_pandas_categories_of_other_types(self):
        frame = pd.DataFrame({"x": pd.Categorical([3, 1], categories=[3, 2, 1]), "y": pd.cut([1, 5], [0, 2, 9])})
        assert read_data(frame).states == ((3, 2, 1), ("(0, 2]", "(2, 9]"))

    def test_polars_enum_is_declared_and_categorical_is_not(self):
        frame = pl.DataFrame(
            {
                "e": pl.Series(["a", "b"], dtype=pl.Enum(["b", "z", "a"])),
                "c": pl.Series(["b", "a"], dtype=pl.Categorical),
            }
        )
        data = read_data(frame)
        assert data.states == (("b", "z", "a"), ("a", "b"))
        assert rows_of(data) == {("a", "b"): 1, ("b", "a"): 1}

    def test_arrow_dictionaries_of_several_chunks_are_unified(self):
        chunks = [
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["q", "p"])),
            pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int64()), pa.array(["r"])),
        ]
        data = read_data(pa.table({"x": pa.chunked_array(chunks)}), missing="state")
        assert data.states == (("q", "p", "r", None),)
        assert rows_of(data) == {("q",): 1, ("p",): 1, ("r",): 1, (None,): 1}

    def test_arrow_dictionary_with_repeated_values_is_decoded(self):
        coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["q", "q", "p"]))
        assert rows_of(read_data(pa.table({"x": coded}))) == {("q",): 2, ("p",): 1}

    def test_duckdb_enum(self):
        with duckdb.connect() as connection:
            relation = connection.sql("SELECT unnest(['a', 'c'])::ENUM('c', 'b', 'a') AS x")
            data = read_data(relation)
        assert data.states == (("c", "b", "a"),)
        assert rows_of(data) == {("a",): 1, ("c",): 1}

    def test_state_names_declare_order_and_unseen_states(self, tmp_path):
        (tmp_path / "t.csv").write_text("x,y\nyes,0\nno,1\nno,1\n")
        data = read_data(tmp_path / "t.csv", state_names={"x": ["no", "unknown", "yes"]})
        assert data.states == (("no", "unknown", "yes"), ("0", "1"))
        assert rows_of(data) == {("no", "1"): 2, ("yes", "0"): 1}

    def test_state_names_replace_categories(self):
        frame = pd.DataFrame({"x": pd.Categorical(["b", "a"], categories=["a", "b", "c"])})
        data = read_data(frame, state_names={"x": np.array(["b", "a"])})
        assert data.states == (("b", "a"),)
        assert rows_of(data) == {("a",): 1, ("b",): 1}

    def test_state_names_keep_a_fractional_column_discrete_in_mixed_tables(self):
        data = read_data(pa.table({"x": [0.5, 1.5], "y": [0.1, 0.2]}), columns="mixed", state_names={"x": [0.5, 1.5]})
        assert data.is_discrete == (True, False)

    def test_a_value_outside_is_named(self):
        with pytest.raises(
            DataError, match=r"column 'x' holds 'c', which is not among its state_names \['a', 'b'\]: add"
        ):
            read_data(pa.table({"x": ["a", "c"]}), state_names={"x": ["a", "b"]})

    def test_a_wrong_type_is_explained(self, tmp_path):
        (tmp_path / "t.csv").write_text("x\n0\n1\n")
        with pytest.raises(DataError, match=r"declare '0', not 0 \(the types differ\)"):
            read_data(tmp_path / "t.csv", state_names={"x": [0, 1]})

    @pytest.mark.parametrize("states", ["ab", [], ["a", "a"], ["a", None], [["a"]], 3])
    def test_malformed_state_names(self, states):
        with pytest.raises(OptionError, match="state_names"):
            read_data(pa.table({"x": ["a"]}), state_names={"x": states})

    def test_state_names_must_be_a_mapping(self):
        with pytest.raises(OptionError, match="give a mapping"):
            read_data(pa.table({"x": ["a"]}), state_names=["a"])


class TestSizes:
    def test_sixty_states(self):
        data = read_data(pa.table({"x": list(range(60)) * 2}), columns="discrete")
        assert data.states == (tuple(range(60)),)
        assert data.columns[0].dtype == np.uint8
        assert (data.weights == 2).all()

    def test_codes_take_the_smallest_type(self):
        table = pa.table({"x": list(range(300)) * 2})
        assert read_data(table, columns="discrete", max_states=300).columns[0].dtype == np.uint16
        declared = read_data(pa.table({"x": [0, 255]}), state_names={"x": list(range(256))})
        assert declared.columns[0].dtype == np.uint8

    def test_one_row_one_column(self):
        with pytest.warns(CredibnWarning, match="every column is constant, so no network has an edge: give rows that"):
            data = read_data(pa.table({"x": ["a"]}))
        assert (data.n_rows, data.n_distinct, data.n_variables) == (1, 1, 1)

    def test_constant_columns_are_kept_and_named(self):
        table = pa.table({"x": [1, 1], "y": [1, 2], "z": [0.5, 0.5]})
        with pytest.warns(CredibnWarning, match="columns 'x', 'z' are constant"):
            data = read_data(table, columns="mixed")
        assert data.constant_columns == ("x", "z")
        assert data.names == ("x", "y", "z")

    def test_a_declared_second_state_is_not_constant(self):
        assert read_data(pa.table({"x": [1]}), state_names={"x": [0, 1]}).constant_columns == ()

    @pytest.mark.parametrize("make", [pa.table, pd.DataFrame])
    def test_too_many_values_name_column_number_examples_and_remedies(self, make):
        message = (
            r"column 'id' has 101 different values \(such as 0, 1, 2\), more than max_states=100: pass "
            r"columns=\{'id': 'numeric'\} to read numbers or discretise=\{'id': 'equal_frequency:4'\} for bins, leave "
            r"the column out with drop=\['id'\], or pass max_states=101 if each value is a category"
        )
        with pytest.raises(DataError, match=message):
            read_data(make({"id": list(range(101))}), columns="discrete")

    def test_too_many_categories(self):
        frame = pd.DataFrame({"id": pd.Categorical([f"u{i:03}" for i in range(101)])})
        with pytest.raises(DataError, match=r"column 'id' has 101 different values .such as 'u000'"):
            read_data(frame)

    def test_more_states_than_fit(self):
        table = pa.table({"x": np.arange(65_536)})
        with pytest.raises(DataError, match=r"65,536 different values .*65,535 states are the most that fit"):
            read_data(table, columns="discrete", max_states=65_535)
        with pytest.warns(CredibnWarning, match=r"'x' has a different value in almost every row.*drop=\['x'\]"):
            data = read_data(table.slice(1), columns="discrete", max_states=65_535)
        assert data.arities.tolist() == [65_535]
        with pytest.raises(DataError, match="column 'x' has 65,536 states, more than 65,535"):
            read_data(pa.table({"x": [1]}), state_names={"x": list(range(65_536))})

    def test_one_hundred_columns(self):
        data = read_data(np.random.default_rng(0).integers(0, 3, (50, 100)))
        assert data.names[-1] == "X99"
        assert data.n_rows == 50


KINDS = {
    "fraction": ([0.5, 1.5, 2.0] * 10, "numeric", "fractions"),
    "few": ([1, 2, 3] * 10, "categorical", "whole numbers, 3 different"),
    "few_floats": ([1.0, 2.0, 3.0] * 10, "categorical", "whole numbers, 3 different"),
    "twenty": (list(range(20)) * 3, "categorical", "whole numbers, 20 different"),
    "many": (list(range(21)) * 3, "numeric", "whole numbers, 21 different"),
    "half_of_rows": ([*range(2, 14), 2, 3, 4, 5], "numeric", "whole numbers, 12 different"),
    "text": (["a", "b"] * 10, "categorical", "text"),
    "boolean": ([True, False] * 10, "categorical", "booleans"),
    "date": ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)] * 10, "categorical", "dates"),
}


class TestWhatAColumnIs:
    @pytest.mark.parametrize("name", KINDS)
    def test_follows_from_its_content(self, name):
        values, kind, why = KINDS[name]
        assert read_data(pa.table({name: values})).reading.columns == (ColumnKind(name, kind, why),)

    @pytest.mark.parametrize("name", ["fraction", "few", "twenty", "many", "half_of_rows", "text"])
    def test_is_the_same_in_a_text_file(self, name, tmp_path):
        values, kind, _ = KINDS[name]
        (tmp_path / "t.csv").write_text("\n".join(["x", *map(str, values)]))
        assert read_data(tmp_path / "t.csv").reading.columns[0].kind == kind

    def test_numbers_with_leading_zeros_are_codes(self, tmp_path):
        (tmp_path / "t.csv").write_text("zip\n" + "".join(f"{i % 30:05}\n" for i in range(90)))
        assert read_data(tmp_path / "t.csv").reading.columns == (
            ColumnKind("zip", "categorical", "codes with leading zeros"),
        )

    def test_a_table_of_codes_stays_categorical(self):
        few, many = np.arange(120) % 3, np.arange(120) % 30
        assert all(read_data(np.column_stack([few, few, few, few, many])).is_discrete)
        assert read_data(np.column_stack([few, many])).is_discrete == (True, False)
        assert read_data(np.column_stack([few, few, few, few, many + 18])).is_discrete[4] is False

    def test_options_come_first(self):
        table = pa.table({"a": [1, 2, 3] * 9, "b": [0.5, 1.5, 2.5] * 9, "c": ["x", "y", "z"] * 9})
        data = read_data(table, columns={"a": "numeric", "b": "categorical"}, drop=["c"])
        assert (data.names, data.is_discrete) == (("a", "b"), (False, True))
        assert [column.kind for column in data.reading.columns] == ["numeric", "categorical", "dropped"]
        assert read_data(table, only="a,c").names == read_data(table, only=["c", "a"]).names == ("a", "c")

    def test_a_comma_in_a_name_is_part_of_it(self):
        table = pa.table({"a": [0, 1], "b": [0, 1], "a,b": [0, 1]})
        assert read_data(table, drop=["a,b"]).names == ("a", "b")
        assert read_data(table.drop_columns("a,b"), drop="a").names == ("b",)

    def test_the_record_survives_json_and_pickling_and_changes_no_fingerprint(self):
        table = pa.table({"a": [1, 2, 3] * 9, "b": [0.5, 1.5, 2.5] * 9})
        data = read_data(table, columns={"a": "numeric"})
        again = Reading.of_json(json.loads(json.dumps(data.reading.as_json())))
        assert again.as_json() == pickle.loads(pickle.dumps(data)).reading.as_json() == data.reading.as_json()
        assert again.source == "an Arrow table"
        assert str(again) == "2 numeric columns (a, b)"
        assert dataclasses.replace(data, reading=None).fingerprint == data.fingerprint


class TestNotes:
    @pytest.mark.parametrize(
        "values", [[f"u{i}" for i in range(30)], list(range(1, 31))], ids=["text", "numbers of rows"]
    )
    def test_an_identifier_is_named_with_the_option_to_drop_it(self, values):
        table = pa.table({"id": values, "x": [0, 1, 2] * 10})
        with pytest.warns(CredibnWarning, match=r"'id' has a different value in almost every row.*drop=\['id'\]"):
            data = read_data(table)
        assert len(data.reading.notes) == 1
        assert read_data(table, drop=["id"]).reading.notes == ()

    def test_fractions_as_categories_are_what_was_asked_and_warned_of(self):
        table = pa.table({"x": [0.5, 1.5, 2.5] * 10, "y": [0, 1, 2] * 10})
        with pytest.warns(CredibnWarning, match=r"'x' holds fractional numbers.*pass score='auto' to read numbers, or"):
            found = credibn.learn(table, score="bic")
        assert found.settings["score"] == "bic"
        assert credibn.learn(table).settings["score"] == "conditional-gaussian-bic"


class TestKindsOfColumns:
    def test_mixed(self):
        table = pa.table({"f": [0.5, 1.5], "i": [1, 2], "s": ["a", "b"], "b": [True, False]})
        data = read_data(table, columns="mixed")
        assert data.is_discrete == (False, True, True, True)
        assert data.arities.tolist() == [0, 2, 2, 2]
        assert read_data(table, columns={"i": "numeric"}).is_discrete == (False, False, True, True)

    def test_mixed_text_file(self, tmp_path):
        (tmp_path / "t.csv").write_text("f,i,s,m\n0.5,01,a,1.5\n1e1,2,b,x\n")
        data = read_data(tmp_path / "t.csv", columns="mixed")
        assert data.states == (None, ("01", "2"), ("a", "b"), ("1.5", "x"))
        assert data.columns[0].tolist() == [0.5, 10.0]

    def test_continuous_text_file(self, tmp_path):
        (tmp_path / "t.tsv").write_text("f\ti\n0.5\t3\n1\t2\n")
        data = read_data(tmp_path / "t.tsv", columns="continuous")
        assert [column.tolist() for column in data.columns] == [[0.5, 1.0], [3.0, 2.0]]

    def test_text_cannot_be_continuous(self):
        with pytest.raises(DataError, match="column 's' cannot be continuous: it holds 'a', which is not a number"):
            read_data(pa.table({"s": ["a"]}), columns="continuous")
        frame = pd.DataFrame({"s": pd.Categorical([1, 2])})
        with pytest.raises(DataError, match="it holds categories"):
            read_data(frame, columns="continuous")

    @pytest.mark.parametrize("value", [float("inf"), float("-inf")])
    def test_continuous_numbers_are_finite(self, value):
        with pytest.raises(DataError, match=r"column 'x' holds -?inf in 2 row\(s\): numbers must be finite"):
            read_data(pa.table({"x": [value, value, 1.0]}), columns="continuous")

    @pytest.mark.parametrize(
        ("values", "kind"),
        [([[1], [2]], "BIGINT"), ([{"a": 1}, {"a": 2}], "STRUCT"), ([b"x", b"y"], "BLOB")],
    )
    def test_nested_types_are_refused(self, values, kind):
        with pytest.raises(DataError, match=f"column 'x' has the type .*{kind}.*convert it to text"):
            read_data(pa.table({"x": values}))

    def test_a_column_of_two_types(self):
        with pytest.raises(DataError, match=r"column 'x' cannot be read as one type .*convert it to text"):
            read_data(pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)}))


class TestMissing:
    TABLE = pa.table({"x": ["a", None, "b", "a"], "y": [1, 2, None, 1], "z": [1, 2, 1, 2]})

    def test_is_refused_with_counts(self):
        message = r"missing values in 2 of 3 columns, of 4 rows \('x': 1, 'y': 1\): pass missing='drop'"
        with pytest.raises(DataError, match=message):
            read_data(self.TABLE)

    def test_counts_follow_the_weights(self):
        table = pa.table({"x": ["a", None], "n": [2, 5]})
        with pytest.raises(DataError, match=r"of 7 rows \('x': 5\)"):
            read_data(table, weights="n")

    def test_rows_are_dropped_with_a_warning(self):
        with pytest.warns(
            CredibnWarning, match=r"dropped 2 of 4 rows with missing values \('x': 1, 'y': 1\)"
        ) as caught:
            data = read_quietly_but_dropped(self.TABLE)
        assert caught[0].filename == __file__
        assert rows_of(data) == {("a", 1, 1): 1, ("a", 1, 2): 1}

    def test_all_rows_dropped(self):
        table = pa.table({"x": ["a", None, "b"], "y": [None, "c", None]})
        with pytest.raises(DataError, match=r"each of the 3 rows has a missing value .*: leave columns out with drop="):
            read_data(table, missing="drop")
        assert read_quietly(table, missing="drop", drop=["y"]).n_rows == 2

    def test_becomes_the_last_state(self):
        data = read_data(self.TABLE, missing="state")
        assert data.states == (("a", "b", None), (1, 2, None), (1, 2))
        assert rows_of(data) == naive(self.TABLE.to_pydict())

    def test_no_missing_adds_no_state(self):
        assert read_data(pa.table({"x": ["a", "b"]}), missing="state").states == (("a", "b"),)

    @pytest.mark.parametrize("missing", ["error", "drop", "state"])
    def test_a_column_without_values_is_left_out_with_a_note(self, missing):
        table = pa.table({"x": [None, None], "y": [1, 2]})
        with pytest.warns(CredibnWarning, match=r"column 'x' has no values: left out, as by drop=\['x'\]"):
            data = read_data(table, missing=missing)
        assert (data.names, data.states) == (("y",), ((1, 2),))
        assert [(column.name, column.kind) for column in data.reading.columns] == [
            ("x", "dropped"),
            ("y", "categorical"),
        ]

    def test_a_state_is_not_offered_for_numbers(self):
        table = pa.table({"x": [0.5, None, 1.5, 2.5], "y": ["a", "b", None, "a"]})
        with pytest.raises(DataError, match=r": pass missing='drop' to leave out these rows, or fill them in"):
            read_data(table)
        with pytest.raises(DataError, match=r"missing='state' to count"):
            read_data(table, drop=["x"])

    def test_columns_go_first_where_few_rows_are_complete(self):
        table = pa.table({"x": [1, 2, 1, 2], "y": [None, None, None, "a"], "z": ["b", "c", "b", None]})
        with pytest.raises(DataError, match=r"pass drop=\['y'\] with missing='drop', missing='state' to count"):
            read_data(table)
        assert read_quietly(table, drop=["y"], missing="drop").n_rows == 3

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"x": [1.0, np.nan]}),
            pd.DataFrame({"x": pd.array([1.0, None], dtype="Float64")}),
            pd.DataFrame({"x": pd.Series(["a", pd.NA], dtype=object)}),
            pd.DataFrame({"x": ["a", None]}),
            pd.DataFrame({"x": pd.Categorical(["a", None])}),
            pd.DataFrame({"x": pd.array([True, None], dtype="boolean")}),
            pd.DataFrame({"x": pd.to_datetime(["2020-01-01", None])}),
            pl.DataFrame({"x": [1.0, float("nan")]}),
            pl.DataFrame({"x": ["a", None]}),
            np.array([[1.0], [np.nan]], dtype=np.float32),
        ],
    )
    def test_every_spelling(self, frame):
        with pytest.raises(DataError, match=r"missing values in 1 of 1 columns, of 2 rows"):
            read_data(frame)

    def test_spellings_of_text_files(self, tmp_path):
        (tmp_path / "t.csv").write_text('x,y\nNA,1\n?,2\n,3\n"",4\nnull,5\nNULL,6\nnan,7\nNaN,8\nna,9\nn/a,0\n')
        with pytest.raises(DataError, match=r"\('x': 9\)"):
            read_data(tmp_path / "t.csv")
        data = read_data(tmp_path / "t.csv", missing="state", missing_values=["na", "it's"])
        assert data.states[0] == ("?", "NA", "NULL", "NaN", "n/a", "nan", "null", None)
        assert rows_of(data)[(None, "9")] == 1
        assert rows_of(data)[(None, "3")] == 1

    def test_spellings_can_be_given_for_frames(self):
        table = pa.table({"x": ["NA", "a"], "y": [1, 2]})
        assert read_data(table).states[0] == ("NA", "a")
        assert read_data(table, missing="state", missing_values=["NA"]).states[0] == ("a", None)
        assert read_data(pa.table({"y": [1, 2]}), missing_values=["NA"]).states == ((1, 2),)

    def test_rows_that_differ_in_the_spelling_are_merged(self, tmp_path):
        (tmp_path / "t.csv").write_text("x,y\nNA,1\n?,1\na,2\n")
        data = read_data(tmp_path / "t.csv", missing="state")
        assert data.weights.tolist() == [1, 2]

    def test_cannot_be_a_state_among_numbers(self):
        with pytest.raises(DataError, match="numeric column 'x' has missing values"):
            read_data(pa.table({"x": [0.5, None]}), columns="continuous", missing="state")

    @pytest.mark.parametrize("values", ["NA", [1]])
    def test_malformed_missing_values(self, values):
        with pytest.raises(OptionError, match="give a list of strings"):
            read_data(pa.table({"x": ["a"]}), missing_values=values)


def read_quietly_but_dropped(table):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*constant", category=CredibnWarning)
        return read_data(table, missing="drop")


class TestWeights:
    @pytest.mark.parametrize(
        ("weights", "example", "n_rows"),
        [
            ([0, 1, 0], "0", 2),
            ([-3, 1, 1], "-3", 1),
            ([0.5, 1.0, 2.0], "0.5", 1),
            ([None, 1, 1], "missing", 1),
            ([float("nan"), 1.0, 1.0], "nan", 1),
            ([float("inf"), 1.0, 1.0], "inf", 1),
        ],
    )
    def test_must_be_positive_whole_numbers(self, weights, example, n_rows):
        message = rf"weights column 'n' has {n_rows} row\(s\) that are not counts, for example {example}: each weight"
        with pytest.raises(DataError, match=message):
            read_data(pa.table({"x": [1, 2, 3], "n": weights}), weights="n")

    @pytest.mark.parametrize("weight", ["two", "", "NA", "1.5"])
    def test_in_text_files(self, tmp_path, weight):
        (tmp_path / "t.csv").write_text(f"x,n\na,2\nb,{weight}\n")
        with pytest.raises(DataError, match=rf"1 row\(s\) that are not counts, for example {weight or 'missing'}"):
            read_data(tmp_path / "t.csv", weights="n")
        (tmp_path / "t.csv").write_text("x,n\na,2\nb,3.0\n")
        assert read_data(tmp_path / "t.csv", weights="n").weights.tolist() == [2, 3]

    @pytest.mark.parametrize("values", [["a", "b"], [True, True], pd.Categorical([1, 2])])
    def test_must_be_numbers(self, values):
        with pytest.raises(DataError, match=r"weights column 'n' holds .*: give a column of positive whole numbers"):
            read_data(pd.DataFrame({"x": [1, 2], "n": values}), weights="n")

    def test_must_fit(self):
        table = pa.table({"x": [1] * 1025, "n": [2**53] * 1025})
        with pytest.raises(DataError, match="which does not fit in 64 bits"):
            read_data(table, weights="n")

    def test_are_not_a_variable(self):
        with pytest.raises(DataError, match="no column is left to learn from"):
            read_data(pa.table({"n": [1]}), weights="n")

    def test_of_a_relation(self):
        with duckdb.connect() as connection:
            relation = connection.sql("SELECT 'a' AS x, 2 AS n UNION ALL SELECT 'b', 5 UNION ALL SELECT 'a', 1")
            data = read_data(relation, weights="n")
            assert connection.sql("SHOW TABLES").fetchall() == [], "nothing is left in the caller's database"
        assert rows_of(data) == {("a",): 3, ("b",): 5}


class TestOptions:
    TABLE = pa.table({"age": [0.5, 1.5], "sex": ["f", "m"], "n": [1, 2]})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"weights": "N"}, "weights names 'N', which is not a column: did you mean 'n'?"),
            ({"columns": {"agee": "numeric"}}, r"columns=\{'agee': 'numeric'\} names 'agee', .* did you mean 'age'?"),
            ({"drop": ["agee"]}, "drop names 'agee', .* did you mean 'age'?"),
            ({"only": "agee"}, "only names 'agee', .* did you mean 'age'?"),
            ({"columns": {"age": "number"}}, "'age' is 'number'; give each column as 'numeric' or 'categorical'"),
            (
                {"columns": {"age": "numeric"}, "drop": ["age"]},
                "column 'age' is in both columns={'age': 'numeric'} and drop",
            ),
            ({"state_names": {"six": ["f"]}}, "state_names names 'six', .* did you mean 'sex'?"),
            ({"discretise": {"zzz": "mean"}}, "discretise names 'zzz', .* known names: 'age', 'sex', 'n'"),
            ({"columns": "numeric"}, "columns is 'numeric'; choose 'discrete', 'continuous' or 'mixed'"),
            ({"missing": "ignore"}, "missing is 'ignore'; choose 'error', 'drop' or 'state'"),
            ({"max_states": 0}, "max_states is 0; give a whole number from 1 to 65,535"),
            ({"max_states": 70_000}, "max_states is 70000"),
            ({"max_states": 2.5}, "max_states is 2.5"),
            ({"weights": 3}, "weights is 3; give the name"),
            ({"continuous": ["age"]}, r"takes no continuous: write columns=\{'age': 'numeric'\}"),
            ({"columns": "continuous", "discretise": "mean"}, "while columns='continuous'"),
            (
                {"columns": {"age": "numeric"}, "discretise": {"age": "mean"}},
                "column 'age' is in both columns={'age': 'numeric'} and discretise: keep it in one",
            ),
            ({"weights": "n", "state_names": {"n": [1, 2]}}, "column 'n' is in both weights and state_names"),
            ({"discretise": {"age": "halves"}}, r"discretise of 'age': 'halves' is not a rule for bins"),
        ],
    )
    def test_are_checked(self, options, message):
        with pytest.raises(OptionError, match=message):
            read_data(self.TABLE, **options)


class TestNamesAndShapes:
    def test_repeated_names_of_a_file_get_a_number(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,a_2,a,a\n1,2,3,4\n2,2,3,5\n")
        with pytest.warns(CredibnWarning) as said:
            assert read_data(tmp_path / "t.csv").names == ("a", "a_2", "a_3", "a_4")
        assert str(said[0].message) == "column names repeat, so these are new: 'a_3', 'a_4'"

    def test_repeated_names(self):
        frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
        arrow = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
        for source in (frame, arrow, duckdb.sql("SELECT 1 AS a, 2 AS a")):
            with pytest.raises(DataError, match=r"column names repeat \('a'\): rename"):
                read_data(source)

    def test_names_of_a_relation_that_differ_in_case(self):
        with pytest.raises(DataError, match="differ only in case"):
            read_data(duckdb.sql("SELECT 1 AS a, 2 AS A"))

    def test_nameless_columns(self, tmp_path):
        (tmp_path / "t.csv").write_text(",b\n1,2\n2,2\n")
        assert read_data(tmp_path / "t.csv", drop="b").names == ("column 1",)

    @pytest.mark.parametrize(
        "source",
        [
            pa.table({"x": pa.array([], pa.int64())}),
            pd.DataFrame({"x": []}),
            pd.DataFrame({"x": pd.Categorical([])}),
            pa.table({"x": pa.array([], pa.dictionary(pa.int8(), pa.string()))}),
            np.zeros((0, 2)),
        ],
    )
    def test_no_rows(self, source):
        with pytest.raises(DataError, match="the table has no rows: give at least one"):
            read_data(source)

    def test_no_rows_in_files(self, tmp_path):
        (tmp_path / "t.csv").write_text("x,y\n")
        pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "t.parquet")
        for name in ("t.csv", "t.parquet"):
            with pytest.raises(DataError, match="has no rows"):
                read_data(tmp_path / name)

    @pytest.mark.parametrize("source", [pa.table({}), pd.DataFrame(), np.zeros((2, 0))])
    def test_no_columns(self, source):
        with pytest.raises(DataError, match="the table has no columns"):
            read_data(source)

    @pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
    def test_arrays_have_two_dimensions(self, shape):
        with pytest.raises(DataError, match=r"is not a table: give two dimensions.*reshape"):
            read_data(np.zeros(shape))

    def test_other_objects_are_refused(self):
        with pytest.raises(DataError, match=r"a builtins.dict is not a table that can be read: give a path"):
            read_data({"x": [1]})
        with pytest.raises(DataError, match="LazyFrame"):
            read_data(pl.LazyFrame({"x": [1]}))


class TestFiles:
    def test_not_found_names_near_files(self, tmp_path):
        (tmp_path / "wine.csv").write_text("x\n1\n")
        with pytest.raises(DataError, match=r"wines.csv' was not found in .*: did you mean 'wine.csv'\?"):
            read_data(tmp_path / "wines.csv")
        with pytest.raises(DataError, match="there is no folder"):
            read_data(tmp_path / "nowhere" / "wine.csv")
        with pytest.raises(DataError, match="is a folder: give a file, or a pattern"):
            read_data(tmp_path)
        with pytest.raises(DataError, match="no file matches the pattern"):
            read_data(tmp_path / "*.parquet")
        with pytest.raises(DataError, match="not a local file: download it first, or in Python open it with duckdb"):
            read_data("https://example.org/t.csv")

    @pytest.mark.parametrize("name", ["t.xlsx", "t", "t.gz", "t.json.gz"])
    def test_unknown_endings(self, tmp_path, name):
        (tmp_path / name).write_text("x\n1\n")
        with pytest.raises(FileFormatError, match=r"has an unknown extension: rename or convert it to one of '.csv'"):
            read_data(tmp_path / name)

    def test_parquet_compressed_as_a_whole(self, tmp_path):
        (tmp_path / "t.parquet.gz").write_bytes(b"")
        with pytest.raises(FileFormatError, match="unpack it"):
            read_data(tmp_path / "t.parquet.gz")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                b"x,y\na,b\nq\nb,c\n",
                r"t.csv', line 3: Expected Number of Columns: 2 Found: 1 .Original Line: q.; repair",
            ),
            (b"x,y\na,b\nq,r,s\n", "line 3: Expected Number of Columns: 2 Found: 3"),
            (b'x,y\na,b\n"q,r\nb,c\n', "line 3: Value with unterminated quote found"),
            (b'"x,y\na,b\n', "line 1: the header cannot be read"),
        ],
    )
    def test_malformed_lines_are_located(self, tmp_path, text, message):
        (tmp_path / "t.csv").write_bytes(text)
        with pytest.raises(FileFormatError, match=message) as caught:
            read_data(tmp_path / "t.csv")
        assert len(str(caught.value)) < 400 + len(str(tmp_path))

    def test_empty_file(self, tmp_path):
        (tmp_path / "t.csv").write_bytes(b"")
        with pytest.raises(DataError, match="is empty: its first line must name the columns"):
            read_data(tmp_path / "t.csv")

    def test_damaged_files(self, tmp_path):
        (tmp_path / "t.parquet").write_text("hello")
        with pytest.raises(FileFormatError, match="is not a readable Parquet file"):
            read_data(tmp_path / "t.parquet")
        packed = gzip.compress(b"x,y\n" + b"".join(b"%d,%d\n" % (i % 7, i % 5) for i in range(50_000)))
        (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
        with pytest.raises(FileFormatError):
            read_data(tmp_path / "t.csv.gz")
        (tmp_path / "u.csv.gz").write_text("x,y\n1,2\n")
        with pytest.raises(FileFormatError, match="header cannot be read"):
            read_data(tmp_path / "u.csv.gz")

    @pytest.mark.parametrize("delimiter", [";", "\t", "|"])
    def test_other_separators_of_csv(self, tmp_path, delimiter):
        table = {"x": ["1,a", "2"], "y": ["a", "b"]}
        data = read_data(write_text(tmp_path / "t.csv", table, delimiter=delimiter), columns="discrete")
        assert rows_of(data) == naive(table)

    def test_byte_order_mark(self, tmp_path):
        (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfx,y\r\n1,a\r\n2,b\r\n")
        data = read_data(tmp_path / "t.csv")
        assert data.names == ("x", "y")
        assert data.n_rows == 2

    def test_line_break_inside_a_name_loses_no_rows(self, tmp_path):
        # Left to find the line break by itself, DuckDB took the one inside the quotes and returned no rows.
        (tmp_path / "t.csv").write_bytes(b'x,"y\nz"\r\n1,a\r\n2,b\r\n')
        data = read_data(tmp_path / "t.csv")
        assert data.names == ("x", "y\nz")
        assert data.n_rows == 2

    def test_blank_line_is_a_missing_value_of_a_single_column(self, tmp_path):
        (tmp_path / "t.csv").write_text("x\na\n\nb\n")
        assert read_data(tmp_path / "t.csv", missing="state").states == (("a", "b", None),)

    def test_first_row_equal_to_the_header_is_data(self, tmp_path):
        (tmp_path / "t.csv").write_text("x,y\nx,y\nc,d\n")
        assert read_data(tmp_path / "t.csv").n_rows == 2

    def test_special_characters_in_the_file_name(self, tmp_path):
        for name in ("a[1].csv", "it's.csv", "b*.csv"):
            data = read_data(write_text(tmp_path / name, {"x": ["a", "b"]}))
            assert data.n_rows == 2

    def test_home_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        write_text(tmp_path / "t.csv", {"x": ["a", "b"]})
        assert read_data("~/t.csv").n_rows == 2

    def test_globs_need_equal_columns(self, tmp_path):
        write_text(tmp_path / "1.csv", {"x": ["a"], "y": ["b"]})
        write_text(tmp_path / "2.csv", {"y": ["a"], "x": ["b"]})
        with pytest.raises(DataError, match=r"2.csv' and .*1.csv' differ in their columns \(in another order\)"):
            read_data(tmp_path / "*.csv")
        pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
        pq.write_table(pa.table({"x": [1], "z": [2]}), tmp_path / "2.parquet")
        with pytest.raises(DataError, match=r"\(not in both: 'z'\)"):
            read_data(tmp_path / "*.parquet")
        with pytest.raises(DataError, match="matches text and Parquet files"):
            read_data(tmp_path / "1.*")

    def test_nothing_is_left_in_the_working_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        read_data(pa.table({"x": ["a", "b"]}))
        assert list(Path(tmp_path).iterdir()) == []

    @pytest.mark.parametrize(("message", "raised"), [("Query interrupted", KeyboardInterrupt), ("other", RuntimeError)])
    def test_ctrl_c_in_the_middle_of_a_query(self, monkeypatch, message, raised):
        def fail(*_):
            raise RuntimeError(message)  # as DuckDB does

        monkeypatch.setattr("credibn.data.reading.reduce_rows", fail)
        with pytest.raises(raised):
            read_data(pa.table({"x": ["a", "b"]}))


def small(**changes):
    parts = {
        "names": ("x", "y"),
        "columns": (np.array([0, 1], dtype=np.uint8), np.array([0.5, 0.5])),
        "states": (("a", "b"), None),
        "weights": np.array([2, 3], dtype=np.int64),
    }
    return Dataset(**{**parts, **changes})


class TestDataset:
    def test_properties(self):
        data = small()
        assert (data.n_variables, data.n_distinct, data.n_rows) == (2, 2, 5)
        assert data.arities.tolist() == [2, 0]
        assert data.is_discrete == (True, False)
        assert data.constant_columns == ("y",)
        assert repr(data) == "Dataset(5 rows, 2 distinct, 2 variables: x (2 states), y (continuous))"
        assert data.index("y") == 1
        with pytest.raises(OptionError, match=r"no variable is called 'Y': did you mean 'y'\?"):
            data.index("Y")

    def test_long_repr_is_cut(self):
        assert repr(read_quietly(np.zeros((1, 9), dtype=int))).endswith("X5 (1 state), and 3 more)")

    def test_is_read_only(self):
        data = small()
        for array in (*data.columns, data.weights, data.arities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(TypeError):
            data.cuts["x"] = (1.0,)
        with pytest.raises(AttributeError):
            data.names = ()

    def test_fingerprint_depends_on_all_content(self):
        variants = [
            small(),
            small(names=("x", "z")),
            small(states=(("a", "c"), None)),
            small(weights=np.array([3, 2])),
            small(columns=(np.array([0, 1], dtype=np.uint8), np.array([0.5, 0.75]))),
            small(cuts={"x": (1.0,)}),
        ]
        assert len({data.fingerprint for data in variants}) == len(variants)
        assert small().fingerprint == small().fingerprint

    def test_survives_pickling(self):
        copy = pickle.loads(pickle.dumps(small(cuts={"x": (1.0,)})))
        assert copy.fingerprint == small(cuts={"x": (1.0,)}).fingerprint
        assert not copy.weights.flags.writeable

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"names": ("x",)}, "1 names, 2 columns"),
            ({"names": ("x", "x")}, "names repeat"),
            ({"weights": np.array([0, 1])}, "a weight is 0"),
            ({"weights": np.array([1.0, 1.0])}, "weights are float64"),
            ({"weights": np.array([1])}, "differ in length"),
            ({"cuts": {"z": (1.0,)}}, "cuts name 'z'"),
            ({"states": (("a",), None)}, "column 'x' has code 1: codes run from 0 to 0"),
            ({"states": (("a", "a"), None)}, "must be distinct"),
            ({"states": (None, None)}, "must hold finite float64"),
            ({"columns": (np.array([0, 1]), np.array([0.5, 0.5]))}, "2 states need uint8"),
            ({"columns": (np.array([1, 0], dtype=np.uint8), np.array([0.5, 0.5]))}, "lexicographic order"),
            ({"columns": (np.array([1, 1], dtype=np.uint8), np.array([0.5, 0.5]))}, "rows repeat"),
            (
                {"columns": (np.array([0, 1], dtype=np.uint8), np.array([0.5, np.nan]))},
                "must hold finite float64",
            ),
        ],
    )
    def test_checks_its_parts(self, changes, message):
        with pytest.raises(DataError, match=message):
            small(**changes)

    def test_describe(self):
        table = pa.table({"s": ["a", "b", "b", "b"], "f": [1.5, 3.0, 3.0, 4.5], "d": [0.5, 1.5, 1.5, 2.5]})
        summary = read_data(table, columns="mixed", discretise={"d": [1]}).describe()
        text, number, cut = summary.columns
        assert (summary.n_rows, summary.n_distinct) == (4, 3)
        assert (text.kind, text.states, text.counts) == ("discrete", ("a", "b"), (1, 3))
        assert (number.kind, number.minimum, number.maximum, number.mean) == ("continuous", 1.5, 4.5, 3.0)
        assert number.standard_deviation == pytest.approx(np.sqrt(1.125))
        assert (cut.kind, cut.cuts, cut.counts) == ("discretised", (1.0,), (1, 3))

    def test_its_text_controls_no_terminal(self):
        data = read_data(pa.table({"a\x1b]0;owned\x07\n": ["x", "y"]}))
        assert repr(data) == r"Dataset(2 rows, 2 distinct, 1 variable: a\x1b]0;owned\x07\n (2 states))"

    def test_is_read_unchanged(self):
        data = small()
        assert read_data(data) is data
        assert read_data(data, columns="mixed") is data
        with pytest.raises(OptionError, match="a Dataset is already read, so weights, missing cannot change it"):
            read_data(data, weights="x", missing="drop")
        with pytest.raises(OptionError, match="but 'x' of the Dataset is discrete"):
            read_data(data, columns="continuous")


@pytest.mark.parametrize("folder", ["http:", "https:", "s3:", "hf:", "file:"])
def test_a_folder_with_the_name_of_a_protocol_is_a_folder(folder, tmp_path, monkeypatch):
    (tmp_path / folder / "host").mkdir(parents=True)
    (tmp_path / folder / "host" / "t.csv").write_text("a,b\n1,2\n3,4\n")
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / folder / "host" / "t.parquet")
    monkeypatch.chdir(tmp_path)
    for slashes in ("/", "//"):
        assert read_data(f"{folder}{slashes}host/t.csv").n_rows == 2
        assert read_data(f"{folder}{slashes}host/*.parquet").n_rows == 3


def test_no_extension_is_installed_or_loaded_by_itself():
    with workspace() as connection:
        set_to = dict(connection.sql("SELECT name, value FROM duckdb_settings()").fetchall())
    assert set_to["autoinstall_known_extensions"] == "false"
    assert set_to["autoload_known_extensions"] == "false"


@pytest.mark.slow
def test_two_million_rows_of_parquet_reduce_to_few(tmp_path):
    random_rows = np.random.default_rng(1).integers(0, 3, (2_000_000, 6), dtype=np.int8)
    pq.write_table(pa.table({f"x{j}": random_rows[:, j] for j in range(6)}), tmp_path / "t.parquet")
    data = read_data(tmp_path / "t.parquet")
    assert data.n_rows == 2_000_000
    assert data.n_distinct == 3**6
    expected = np.unique(random_rows, axis=0, return_counts=True)
    assert (np.column_stack(data.columns) == expected[0]).all()
    assert (data.weights == expected[1]).all()


def test_a_truncated_compressed_file_is_named_as_unreadable(tmp_path):
    content = gzip.compress(b"x,y\n" + b"0,1\n" * 50_000)
    (tmp_path / "half.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(FileFormatError, match=r"half.csv.gz' cannot be read: .*restore it from a complete copy"):
        read_data(tmp_path / "half.csv.gz")
