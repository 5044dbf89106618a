"""Ibis tables: the same Dataset as from the rows themselves, whatever the backend, and every refusal."""

import contextlib
import warnings

import ibis
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from credibn import CredibleNetworks, average_models, learn, read_data
from credibn.data import ibis_tables
from credibn.errors import CredibnWarning, DataError, OptionError
from credibn.examples import sample_asia
from profiles import examples, sampled
from strategies import tables

FEW = examples(6, HealthCheck.function_scoped_fixture)


@contextlib.contextmanager
def on_duckdb(table):
    connection = ibis.duckdb.connect()
    connection.con.register("rows", table)
    yield connection.table("rows")
    connection.disconnect()


@contextlib.contextmanager
def in_memory(table):
    yield ibis.memtable(table)


@contextlib.contextmanager
def on_polars(table):
    yield ibis.polars.connect({"rows": pl.from_arrow(table)}).table("rows")


@contextlib.contextmanager
def on_sqlite(table):
    kinds = {pa.string(): "TEXT", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN"}
    connection = ibis.sqlite.connect()
    columns = ", ".join(f'"{field.name}" {kinds[field.type]}' for field in table.schema)
    connection.con.execute(f"CREATE TABLE rows ({columns})")
    marks = ", ".join("?" * table.num_columns)
    records = [tuple(record.values()) for record in table.to_pylist()]
    connection.con.executemany(f"INSERT INTO rows VALUES ({marks})", records)
    connection.con.commit()
    yield connection.table("rows")
    connection.disconnect()


BACKENDS = sampled(2, [on_duckdb, on_polars, on_sqlite, in_memory])


def read_quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)
        return read_data(source, **options)


def named_apart(table):
    """The table without names that differ only in case, which SQL takes for one."""
    return pa.table({f"{name}{i}": values for i, (name, values) in enumerate(table.items()) if '"' not in name})


CELLS = {
    "c1": (st.sampled_from(["a", "b", "A", " ", "NA", None]), pa.string()),
    "n_equal": (st.sampled_from([1, 10, 9, -3, None]), pa.int64()),
    "n": (st.sampled_from([0.5, -0.0, 0.0, 1e300, 0.1 + 0.2, 0.3, None]), pa.float64()),
    "c0": (st.booleans(), pa.bool_()),
    "weight": (st.integers(1, 4), pa.int64()),
}


@st.composite
def rich_tables(draw):
    """Few distinct rows of several types with missing values, each several times; options to read them with."""
    distinct = draw(st.lists(st.tuples(*(cells for cells, _ in CELLS.values())), min_size=1, max_size=5))
    rows = draw(st.lists(st.sampled_from(distinct), min_size=len(distinct), max_size=12))
    columns = zip(CELLS, zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(values, CELLS[name][1]) for name, values in columns})
    options = {
        "missing": draw(st.sampled_from(["drop", "state"])),
        "weights": draw(st.sampled_from([None, "weight"])),
        "missing_values": draw(st.sampled_from([None, ["NA"]])),
    }
    options |= draw(
        st.sampled_from(
            [
                {},
                {"discretise": {"n": "equal_frequency:3"}},
                {"discretise": {"n": [0.25], "n_equal": "mean"}},
                {"state_names": {"c1": ["b", "a", "A", " ", "NA", "unseen"]}},
                {"columns": "mixed", "missing": "drop"},
                {"columns": {"n_equal": "numeric"}, "missing": "drop"},
            ]
        )
    )
    return table, options


def answer(source, options):
    """The fingerprint and the warnings, or the message of the error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = read_data(source, **options).fingerprint
        except DataError as error:
            result = str(error)
    return result, [str(warning.message) for warning in seen if warning.category is CredibnWarning]


class TestTheSameDataset:
    @pytest.mark.parametrize("backend", [on_duckdb, on_polars, on_sqlite])
    @given(table=tables())
    @FEW
    def test_of_any_table(self, backend, table):
        rows = named_apart({name.replace('"', "''"): values for name, values in table.items()})
        with backend(rows) as expression:
            assert read_quietly(expression).fingerprint == read_quietly(rows).fingerprint

    @pytest.mark.parametrize("backend", [on_duckdb, on_polars, on_sqlite])
    @given(given=rich_tables())
    @FEW
    def test_with_any_options(self, backend, given):
        rows, options = given
        with backend(rows) as expression:
            assert answer(expression, options) == answer(rows, options)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_of_an_expression(self, backend):
        rows = pa.table({"smoke": ["yes", "no", "no", "yes"], "age": [17, 40, 70, 41]})
        sexes = pa.table({"age": [17, 40, 41], "sex": ["f", "m", "f"]})
        with backend(rows) as table:
            grown = table.filter(table.age > 18).mutate(is_old=table.age >= 65).drop("age")
            assert (
                read_data(grown).fingerprint
                == read_data(pa.table({"smoke": ["no", "no", "yes"], "is_old": [False, True, False]})).fingerprint
            )
            if backend is not on_sqlite:  # Ibis 12 cannot make a table of SQLite from one in memory
                joined = table.join(ibis.memtable(sexes), "age").select("smoke", "sex")
                assert (
                    read_data(joined).fingerprint
                    == read_data(pa.table({"smoke": ["yes", "no", "yes"], "sex": ["f", "m", "f"]})).fingerprint
                )

    def test_of_names_that_differ_in_case(self):
        rows = pa.table({"a": ["x", "y"], "A": [1, 2]})
        with on_polars(rows) as table:
            assert read_data(table).fingerprint == read_data(rows).fingerprint

    def test_enum_of_duckdb_keeps_its_states(self):
        connection = ibis.duckdb.connect()
        connection.con.execute("CREATE TABLE t AS SELECT unnest(['a', 'c'])::ENUM('c', 'b', 'a') AS x")
        assert read_data(connection.table("t")).states == (("c", "b", "a"),)

    def test_in_several_batches(self, monkeypatch):
        rows = pa.table({"x": list(range(90)) * 2, "y": ["a", "b", "c"] * 60})
        fetch = ibis.expr.types.Table.to_pyarrow_batches
        monkeypatch.setattr(ibis.expr.types.Table, "to_pyarrow_batches", lambda table: fetch(table, chunk_size=7))
        with on_polars(rows) as table:
            assert read_data(table).fingerprint == read_data(rows).fingerprint


class TestOnlyDistinctRowsLeaveTheBackend:
    def test_they_are_counted_there(self):
        with on_sqlite(pa.table({"x": ["a", "b", "a"] * 50, "w": [2, 3, 2] * 50})) as table:
            (fetched,) = ibis_tables.DistinctRows(table).batches()
        assert sorted(fetched.to_pylist(), key=str) == [
            {"c0": "a", "c1": 2, "n_equal": 100},
            {"c0": "b", "c1": 3, "n_equal": 50},
        ]

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_learning_is_the_same(self, backend):
        rows = sample_asia(200)
        with backend(rows) as table:
            found = learn(table, bayes_factor=3)
            model = average_models(found, table)
        assert found.n_networks == learn(rows, bayes_factor=3).n_networks
        assert model.names == tuple(rows.column_names)

    def test_nothing_is_asked_before_the_options_are_right(self, monkeypatch):
        monkeypatch.setattr(ibis.expr.types.Table, "to_pyarrow_batches", lambda table: pytest.fail("asked"))
        with on_polars(pa.table({"x": ["a"]})) as table, pytest.raises(OptionError, match="weights names 'n'"):
            read_data(table, weights="n")

    def test_large_weights_are_exact(self):
        rows = pa.table({"x": ["a", "a", "b"], "w": [2**53, 2**53, 2**53 - 1]})
        with on_sqlite(rows) as table:
            assert read_data(table, weights="w").weights.tolist() == [2**54, 2**53 - 1]


class TestRefusals:
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_no_rows(self, backend):
        rows = pa.table({"x": ["a"]})
        with backend(rows) as table, pytest.raises(DataError, match="the table has no rows: give at least one"):
            read_data(table.filter(table.x == "b"))

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_weights_that_are_no_counts(self, backend):
        rows = pa.table({"x": ["a", "a", "b"], "w": [0, 0, 2]})
        with backend(rows) as table, pytest.raises(DataError, match=r"'w' has 2 row\(s\) that are not counts"):
            read_data(table, weights="w")

    @pytest.mark.parametrize("backend", [on_polars, on_duckdb])
    def test_types_that_are_no_category(self, backend):
        with backend(pa.table({"x": [[1, 2]]})) as table, pytest.raises(DataError, match=r"column 'x' has the type"):
            read_data(table)

    def test_a_type_without_a_counterpart_in_arrow(self):
        with on_polars(pa.table({"x": ["a"]})) as table:
            with_place = table.mutate(y=ibis.null("point"))
            with pytest.raises(DataError, match=r"column 'y' has the type point.*cast it to text"):
                read_data(with_place)

    def test_a_number_too_wide_for_duckdb(self):
        with on_polars(pa.table({"x": ["1"]})) as table:
            wide = table.mutate(y=table.x.cast("decimal(60, 2)"))
            with pytest.raises(DataError, match=r"[Dd]ecimal"):
                read_data(wide)

    def test_a_table_of_no_backend(self):
        with pytest.raises(DataError, match=r"IbisError: Expression contains unbound tables.*head\(\)\.execute"):
            read_data(ibis.table({"x": "string"}, name="t"))

    def test_a_table_of_two_backends(self):
        with on_polars(pa.table({"x": ["a"]})) as one, on_sqlite(pa.table({"x": ["a"]})) as other:
            both = one.join(other, "x")
            with pytest.raises(DataError, match="Multiple backends"):
                read_data(both)

    @pytest.mark.parametrize("backend", [on_duckdb, on_sqlite])
    def test_a_backend_that_fails(self, backend):
        with backend(pa.table({"x": ["a"]})) as table:
            connection = table.get_backend().con
            connection.unregister("rows") if backend is on_duckdb else connection.execute("DROP TABLE rows")
            with pytest.raises(DataError, match=r"the backend \w+ cannot run the Ibis table \(.*rows"):
                read_data(table)

    def test_integers_that_the_backend_rounds(self):
        rows = pa.table({"x": [2**60 + 1, 2**60, None]})
        with on_sqlite(rows) as table:
            with pytest.raises(DataError, match=r"column 'x' holds missing values and integers beyond 2\*\*53"):
                read_data(table, missing="drop")
            whole = read_quietly(table.filter(table.x.notnull()))
        assert whole.states == ((2**60, 2**60 + 1),)

    def test_a_column_is_no_table(self):
        with on_polars(pa.table({"x": ["a"]})) as table, pytest.raises(DataError, match="is not a table that can be"):
            read_data(table.x)

    def test_rows_to_be_predicted_have_an_order(self):
        rows = pa.table({"x": ["a", "b"] * 9, "y": ["a", "b"] * 9})
        model = average_models(learn(rows), rows)
        with on_polars(rows) as table, pytest.raises(DataError, match=r"have no order.*to_pyarrow\(\)"):
            model.predict(table, "x")

    def test_an_estimator_takes_tables_in_memory(self):
        with on_polars(pa.table({"x": ["a", "b"]})) as table, pytest.raises(DataError, match=r"not in memory"):
            CredibleNetworks().fit(table)


def test_a_lazy_frame_is_told_to_be_collected():
    with pytest.raises(DataError, match="collect a LazyFrame"):
        read_data(pl.DataFrame({"x": ["a"]}).lazy())
