"""Bad files: every reader gives something valid or an error that helps; and each gap that was found stays closed."""

import ast
import contextlib
import json
import zlib
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibn
import fuzzing
from credibn import CredibleSet, learn, read_data, read_network, read_scores, read_tiers
from credibn.data.new_rows import read_rows
from credibn.errors import CredibnError, CredibnWarning, DataError, FileFormatError, OptionError
from credibn.graphs.formats import parse_model_string
from fuzzing import READERS, damage, judge, seeds, spoil
from profiles import examples

BY_DUCKDB = ("csv", "tsv", "csv.gz", "csv.zst", "parquet", "new rows")
FAST = [name for name in READERS if name not in BY_DUCKDB]


@pytest.fixture
def folder(tmp_path):
    return tmp_path


# ------------------------------------------------------------------------------------------------- spoiled files


def judge_spoiled(name, number, folder):
    judge(name, spoil(name, Random(f"{name} {number}")), folder)


@pytest.mark.parametrize("name", FAST)
@examples(50)
@given(number=st.integers(0, 10**6))
def test_spoiled_files_are_read_or_refused(name, number, tmp_path_factory):
    judge_spoiled(name, number, tmp_path_factory.mktemp("spoiled"))


@pytest.mark.parametrize("name", BY_DUCKDB)
@examples(8)
@given(number=st.integers(0, 10**6))
def test_spoiled_tables_are_read_or_refused(name, number, tmp_path_factory):
    judge_spoiled(name, number, tmp_path_factory.mktemp("spoiled"))


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_spoiled_files(name, tmp_path):
    for number in range(1000):
        judge_spoiled(name, number, tmp_path)


@pytest.mark.parametrize(
    ("name", "n_files"),
    [
        ("credibn", 200),
        ("scores", 100),
        pytest.param("credibn", 3000, marks=pytest.mark.slow),
        pytest.param("scores", 600, marks=pytest.mark.slow),
    ],
)
def test_no_damaged_file_is_read(name, n_files, folder):
    for number in range(n_files):
        random = Random(f"damaged {name} {number}")
        assert judge(name, damage(random.choice(seeds(name)), random), folder) == "refused"


@examples(60)
@given(content=st.binary(max_size=200), name=st.sampled_from(FAST))
def test_any_bytes(content, name, tmp_path_factory):
    judge(name, content, tmp_path_factory.mktemp("bytes"))


@pytest.mark.parametrize("name", FAST)
def test_what_starts_valid_is_read(name, folder):
    """Otherwise the spoiled files would test nothing but the first line."""
    for content in seeds(name):
        assert judge(name, content, folder) == "valid"


# ------------------------------------------------------------------------------------------------- small files


def refuse(read, kind=FileFormatError):
    """Return the message of an error that must come, without much memory."""
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(kind) as caught:
            read()
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    return str(caught.value)


def gzip_of(unit, n_megabytes, head=b""):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = unit * ((1 << 20) // len(unit))
    return packer.compress(head) + b"".join(packer.compress(block) for _ in range(n_megabytes)) + packer.flush()


@pytest.mark.parametrize("unit", [b"a", b"a,", b'"a'])
def test_a_header_of_many_megabytes(unit, folder):
    path = folder / "table.csv.gz"
    path.write_bytes(gzip_of(unit, 50))
    assert "line 1: the header cannot be read" in refuse(lambda: read_data(path))


def test_a_last_line_that_duckdb_would_leave_out(folder):
    path = folder / "table.csv"
    path.write_bytes(b"a,b\nx,1\ny,2\n" + b"z" * (40 << 20))
    with pytest.raises(FileFormatError, match="the last line: it is longer than 2,000,000 bytes"):
        read_data(path)


def test_a_short_last_line_of_a_long_file(folder):
    path = folder / "table.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 600_000 + b"y,2")
    assert read_data(path).n_rows == 600_001


@pytest.mark.slow
def test_more_columns_than_can_be_read(folder):
    path = folder / "table.csv"
    path.write_text(",".join(f"v{i}" for i in range(5000)) + "\n")
    assert "has 5,000 columns, but at most 4,096" in refuse(lambda: read_data(path), DataError)
    path.write_text("a," * 100_000 + "a\n")
    assert "columns" in refuse(lambda: read_data(path), DataError)
    path.write_text("a," + "b" * 1001 + "\n1,2\n")
    assert "column 2 has a name of 1,001 characters" in refuse(lambda: read_data(path), DataError)


def test_a_compressed_network_that_expands_to_very_much(folder):
    path = folder / "net.bif.gz"
    path.write_bytes(gzip_of(b"a ", 20, b"variable a { type discrete [9] { "))
    assert "expands to more than" in refuse(lambda: read_network(path))


def test_default_lines_that_stand_for_very_much(folder):
    def variable(name, n_states):
        return (
            f"variable {name} {{ type discrete [ {n_states} ] {{ {' '.join(f's{i}' for i in range(n_states))} }}; }}\n"
        )

    flat = " ".join(["0.001"] * 1000)
    text = variable("a", 1000) + variable("b", 1000) + f"probability (a) {{ table {flat}; }}\n"
    text += f"probability (b) {{ table {flat}; }}\n"
    text += "".join(variable(f"c{i}", 2) + f"probability (c{i} | a b) {{ default .5 .5; }}\n" for i in range(3))
    path = folder / "net.bif"
    path.write_text(text)
    message = refuse(lambda: read_network(path))
    assert "line 10: expected default lines that stand for at most 4,194,304 probabilities" in message
    assert "found 6,000,000" in message


def test_more_parents_than_a_table_has_axes(folder):
    path = folder / "net.bif"
    names = [f"p{i}" for i in range(32)]
    text = "".join(f"variable {name} {{ type discrete [1] {{ s }}; }}\n" for name in [*names, "c"])
    text += "".join(f"probability ({name}) {{ table 1; }}\n" for name in names)
    path.write_text(text + f"probability (c | {' '.join(names[:31])}) {{ table 1; }}\n")
    assert read_network(path).n_variables == 33
    path.write_text(text + f"probability (c | {' '.join(names)}) {{ table 1; }}\n")
    assert "line 66: expected at most 31 parents of 'c'; drop some, found 'p31'" in refuse(lambda: read_network(path))


def arrow_bomb(path, n_items):
    """A saved set whose candidates are very many zeros, which zstd packs to almost nothing."""
    content = seeds("credibn")[0]
    reader = pa.ipc.open_file(pa.py_buffer(content))
    columns = [column.chunk(0) for column in reader.read_all().columns]
    items = pa.array(np.zeros(n_items, dtype=np.uint32))
    at = reader.schema.get_field_index("choices")
    columns[at] = pa.LargeListArray.from_arrays(pa.array([0, n_items], pa.int64()), items, type=columns[at].type)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path), reader.schema, options=options) as writer:
        writer.write_batch(pa.record_batch(columns, schema=reader.schema))


def test_a_saved_set_that_expands_to_very_much(folder):
    path = folder / "set.credibn"
    arrow_bomb(path, 80 << 20)
    before = pa.total_allocated_bytes()
    assert path.stat().st_size < 30_000
    assert "expands to 335" in refuse(lambda: CredibleSet.load(path))
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize("name", ["credibn", "scores"])
def test_sizes_inside_arrow_files(name, folder):
    """The sum of the declared lengths is what the buffers take."""
    from credibn.scores import arrow_sizes

    for content in seeds(name):
        batch = pa.ipc.open_file(pa.py_buffer(content)).get_batch(0)
        declared = sum(arrow_sizes._unpacked_lengths(memoryview(content)))
        held = sum(buffer.size for column in batch.columns for buffer in _buffers(column) if buffer is not None)
        assert abs(declared - held) <= 64 * 4 * batch.num_columns  # lengths are padded


def _buffers(column):
    return column.buffers()


@pytest.mark.slow
def test_a_wide_table_takes_no_more_than_its_columns(folder):
    """Aggregates with FILTER once copied every column for each one."""
    path = folder / "wide.csv"
    n = 100
    path.write_text("\n".join(",".join(row) for row in ([f"v{i}" for i in range(n)], ["1"] * n, ["2"] * n, [""] * n)))
    with pytest.warns(CredibnWarning, match="dropped 1 of 3 rows"):
        data = read_data(path, missing="drop", columns="mixed")
    assert (data.n_rows, data.n_variables) == (2, n)


# ------------------------------------------------------------------------------------------------- gaps that were found


@pytest.mark.parametrize("text", ["1e99999999999999999999", "-1E+9999999999999999999999"])
def test_numbers_beyond_all_decimals_are_labels(text, folder):
    (folder / "table.csv").write_text(f"a,b\n{text},1\n7,2\n")
    assert set(read_data(folder / "table.csv", columns={"a": "categorical"}).states[0]) == {text, "7"}


EXTREMES = {
    "date": pa.array([3_000_000, 0], pa.int32()).view(pa.date32()),
    "date before": pa.array([-(2**31), 0], pa.int32()).view(pa.date32()),
    "infinite date": pa.array([2**31 - 1, 0], pa.int32()).view(pa.date32()),
    "timestamp": pa.array([253402300800000000, 0], pa.timestamp("us")),
    "timestamp before": pa.array([-(2**63) + 2, 0], pa.timestamp("us")),
    "seconds": pa.array([253402300800, 0], pa.timestamp("s")),
    "midnight": pa.array([86_400_000_000, 2], pa.time64("us")),
    "time": pa.array([2**62, -5], pa.time64("us")),
}


@pytest.mark.parametrize("kind", EXTREMES)
def test_days_and_times_that_python_does_not_know(kind):
    table = pa.table({"w": EXTREMES[kind], "x": ["p", "q"]})
    for options in ({}, {"columns": "mixed", "missing": "state"}, {"missing": "drop"}):
        with pytest.raises(DataError, match="column 'w' holds a day outside the years 1 to 9999"):
            read_data(table, **options)
    with pytest.raises(DataError, match="column 'w'"):
        read_rows(table, ["w", "x"], [("a",), ("p", "q")])


def test_days_and_times_that_python_knows():
    days = pa.array([-719162, 2932896], pa.int32()).view(pa.date32())
    times = pa.array([0, 86_399_999_999], pa.time64("us"))
    moments = pa.array([-62135596800000000, 253402300799999999], pa.timestamp("us"))
    data = read_data(pa.table({"a": days, "b": times, "c": moments}))
    assert [str(label) for label in data.states[0]] == ["0001-01-01", "9999-12-31"]
    assert data.n_rows == 2


def test_columns_of_types_that_duckdb_does_not_read():
    assert read_data(np.array([[1, 2], [3, 4]], dtype=np.float16)).n_variables == 2
    wide = pa.array([10**60, 1], pa.decimal256(70, 0))
    with pytest.raises(DataError, match=r"column 'a' has the type decimal256\(70, 0\)"):
        read_data(pa.table({"a": wide}))
    with pytest.raises(DataError, match="column 'X0' cannot be read as one type"):
        read_data(np.ma.masked_array(np.array([[1j, 2]]), mask=[[True, False]]))
    masked = read_data(np.ma.masked_array([[1, 2], [3, 4]], mask=[[True, False], [False, False]]), missing="state")
    assert masked.states[0] == (3, None)


def test_polars_types_that_arrow_does_not_read():
    pl = pytest.importorskip("polars")
    with pytest.raises(DataError, match="Int128"):
        read_data(pl.DataFrame({"a": pl.Series([2**100, 1], dtype=pl.Int128)}))


@pytest.mark.parametrize(
    "options",
    [
        {"continuous": 5, "columns": "mixed"},
        {"continuous": [["a"]], "columns": "mixed"},
        {"missing_values": 5},
        {"missing_values": [5]},
        {"columns": np.array([1, 2])},
        {"missing": ["error"]},
        {"discretise": {"a": "equal_width:" + "9" * 5000}},
        {"discretise": {"a": [10**400]}},
        {"discretise": {"a": b"ab"}},
        {"discretise": {"a": []}},
        {"state_names": {1: ["a"]}},
        {"state_names": {"a": np.zeros((2, 2))}},
        {"max_states": 10**30},
        {"weights": ["b"]},
    ],
    ids=lambda options: str(options)[:40],
)
def test_options_of_the_wrong_kind(options):
    with pytest.raises(OptionError):
        read_data(pa.table({"a": [1.5, 2.5], "b": [1, 2]}), **options)


ODD_OPTIONS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**30, 1.5, float("nan"), "a", "b", "none", "", "equal_width:3", "equal_frequency:99", "mean"]),
    st.lists(st.sampled_from(["a", "b", 1, None, float("inf"), "\x00", ["a"]]), max_size=3),
    st.dictionaries(st.sampled_from(["a", "b", 1]), st.sampled_from(["mean", [1, 2], ["x"], None, 5, "equal_width:0"])),
)


@examples(25)
@given(
    options=st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(["continuous", "state_names", "weights", "missing_values", "discretise"], ODD_OPTIONS),
            "columns": st.one_of(st.sampled_from(["discrete", "continuous", "mixed"]), ODD_OPTIONS),
            "missing": st.one_of(st.sampled_from(["error", "drop", "state"]), ODD_OPTIONS),
            "max_states": st.one_of(st.integers(0, 5), ODD_OPTIONS),
        },
    )
)
@pytest.mark.filterwarnings("ignore::credibn.errors.CredibnWarning")
def test_any_options(options):
    with contextlib.suppress(CredibnError):
        assert read_data(pa.table({"a": [1.5, 2.5, 1.5], "b": [1, 2, 2]}), **options).n_rows >= 1


def test_the_mean_of_a_range_beyond_all_floats():
    data = read_data(pa.table({"a": [-1.5e308, 1.5e308, 1e308]}), discretise={"a": "mean"})
    assert data.cuts["a"][0] == pytest.approx(1e308 / 3)


@pytest.mark.parametrize("text", ["a\x00.csv", "\ud800.csv", "x" * 5000, "", ".", 5, None, b"a.csv"])
@pytest.mark.parametrize(
    "read",
    [
        read_data,
        read_tiers,
        CredibleSet.load,
        read_network,
        lambda path: read_scores(path, format="jkl"),
        lambda path: read_scores(path, format="scores"),
    ],
)
def test_paths_that_no_file_has(read, text):
    with pytest.raises(CredibnError):
        read(text)


def test_files_that_cannot_be_called_so_are_not_written(data_set):
    for path in ("a\x00.credibn", "\ud800.credibn"):
        with pytest.raises(OptionError, match="cannot be the name of a file"):
            data_set.save(path)


@pytest.fixture(scope="module")
def data_set():
    return learn(np.random.default_rng(1).integers(0, 2, (40, 3)))


def test_an_epsilon_beyond_all_floats(folder):
    path = folder / "table.pss"
    path.write_text(f"META epsilon = 1{'0' * 400}\nVAR a\n-1\n")
    with pytest.raises(FileFormatError, match="line 1: expected a finite number, 0 or more, as META epsilon"):
        read_scores(path)


def test_tiers_that_are_not_utf8(folder):
    path = folder / "tiers.txt"
    path.write_bytes(b"a, b\nc\xff\n")
    with pytest.raises(FileFormatError, match=r"tiers.txt, line 2: expected UTF-8 text, found the bytes b'.xff.n'"):
        read_tiers(path)


def test_a_record_with_parts_of_the_wrong_kind(folder):
    content = json.loads(seeds("record")[0])
    for key, value in (("answer", "text"), ("answer", {}), ("time_limit", "5"), ("program", 5)):
        changed = {name: part for name, part in (content | {key: value}).items() if name != "checksum"}
        changed["checksum"] = fuzzing.Record(**changed).checksum
        assert judge("record", json.dumps(changed).encode(), folder) == "refused"


def test_long_model_strings():
    names = [f"v{i}" for i in range(3000)]
    text = "".join(f"[{name}]" for name in names) + f"[last|{':'.join(names)}]"
    assert parse_model_string(text).in_degree("last") == 3000


# ------------------------------------------------------------------------------------------------- files for pyAgrum


def foreign(folder, text, ending=".bifxml"):
    pytest.importorskip("pyagrum")
    path = folder / f"net{ending}"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_network(path)
    return str(caught.value)


def test_xml_is_checked_before_pyagrum_sees_it(folder):
    assert "line 2: expected well-formed XML (" in foreign(folder, "<BIF>\n<NETWORK></BIF>")
    bomb = '<!DOCTYPE a [\n<!ENTITY b "bbbb">\n<!ENTITY c "&b;&b;">]>\n<BIF>&c;</BIF>'
    assert "line 2: expected a network, found a declaration of an entity" in foreign(folder, bomb)


@pytest.mark.parametrize(
    ("ending", "text"),
    [(".bifxml", "<BIF/>"), (".xdsl", "<smile/>"), (".net", "net {} node a {"), (".dsl", "net x { nonsense };")],
)
def test_files_that_pyagrum_refuses(folder, ending, text):
    assert f"cannot be read as {ending[1:]} (" in foreign(folder, text, ending)


# ------------------------------------------------------------------------------------------------- data, not code


def test_nothing_that_is_read_is_executed():
    """No pickle, eval, exec and the like anywhere in the package: files are data."""
    modules = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "runpy", "code"}
    calls = {"eval", "exec", "compile", "__import__", "read_pickle", "load_module"}
    for path in sorted(Path(credibn.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                assert not modules & {name.split(".")[0] for name in named}, f"{path}, line {node.lineno}"
            if isinstance(node, ast.Call):
                is_plain = isinstance(node.func, ast.Name)
                name = node.func.id if is_plain else getattr(node.func, "attr", "")
                is_method_of_re = isinstance(node.func, ast.Attribute) and name == "compile"
                assert name not in calls or is_method_of_re, f"{path}, line {node.lineno}: {name}"
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                assert "allow_pickle" not in keywords, f"{path}, line {node.lineno}"
