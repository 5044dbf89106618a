"""Score files: what is written reads back as the same table, and nothing malformed gets through."""

import doctest
import json
import math
import os
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from credibn.errors import FileFormatError, OptionError
from credibn.scores import files as files_module
from credibn.scores.files import read_scores, write_scores
from credibn.scores.table import MAX_VARIABLES, ScoreTable
from profiles import examples
from test_score_table import candidate_lists

FORMATS = ["jkl", "pss", "scores"]
in_one_folder = examples(50, HealthCheck.function_scoped_fixture)

PLAIN = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: not any(map(str.isspace, name))
)
ANY = st.text(max_size=8)
SCORES = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-1.0, 0.0, 5e-324, 1e308])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["score", "n_rows", "version", "constraints", "prior", "complete", "a b", "VAR", "#", "Ω"])
LOOKALIKES = st.sampled_from(["1", "NaN", "Infinity", "1e999", "null", " x ", "", '"q"', "a = b", "# no", "9" * 5000])


@st.composite
def tables(draw, names=PLAIN):
    labels, candidates = draw(candidate_lists(SCORES, names))
    provenance = draw(st.dictionaries(KEYS, JSON | LOOKALIKES, max_size=3))
    return ScoreTable.from_candidates(labels, candidates, provenance)


def assert_identical(found, expected):
    assert found.names == expected.names
    for name in ("offsets", "scores", "masks"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        assert mine.dtype == theirs.dtype
        assert mine.tobytes() == theirs.tobytes()
        assert not mine.flags.writeable
        assert mine.flags.c_contiguous
        assert mine.flags.aligned


def small(provenance=None):
    candidates = [[(-3.25, [1]), (-5.0, [])], [(-2.0, [])], [(-1.0, []), (-9.0, [0, 1])]]
    return ScoreTable.from_candidates(["a", "b", "c"], candidates, provenance)


SMALL_JKL = "3\na 2\n-3.25 1 b\n-5.0 0\nb 1\n-2.0 0\nc 2\n-1.0 0\n-9.0 2 a b\n"
SMALL_PSS = "META n_variables = 3\nMETA n_candidates = 5\nVAR a\n-3.25 b\n-5.0\nVAR b\n-2.0\nVAR c\n-1.0\n-9.0 a b\n"


def test_examples_in_docstrings():
    assert doctest.testmod(files_module).failed == 0


@pytest.mark.parametrize("format", FORMATS)
@given(table=tables())
@in_one_folder
def test_round_trip(tmp_path, format, table):
    path = tmp_path / f"table.{format}"
    write_scores(table, path)
    found = read_scores(path)
    assert_identical(found, table)
    assert dict(found.provenance) == ({} if format == "jkl" else dict(table.provenance))
    first = path.read_bytes()
    write_scores(found, path)
    assert path.read_bytes() == first


@given(table=tables(names=ANY), more=st.dictionaries(ANY, JSON, max_size=2))
@in_one_folder
def test_binary_carries_any_name_and_key(tmp_path, table, more):
    table = ScoreTable(table.names, table.offsets, table.scores, table.masks, {**table.provenance, **more})
    write_scores(table, tmp_path / "any.scores")
    found = read_scores(tmp_path / "any.scores")
    assert_identical(found, table)
    assert found.provenance == table.provenance


@given(table=tables())
@in_one_folder
def test_formats_agree(tmp_path, table):
    found = []
    for format in FORMATS:
        write_scores(table, tmp_path / "same", format=format)
        found.append(read_scores(tmp_path / "same", format=format))
    assert_identical(found[1], found[0])
    assert_identical(found[2], found[0])


def test_a_table_from_a_file_works_like_a_computed_one(tmp_path):
    table = small({"score": "bic", "epsilon": 3.0})
    for format in FORMATS:
        write_scores(table, tmp_path / f"x.{format}")
        found = read_scores(tmp_path / f"x.{format}")
        assert found.network_score({"a": ["b"]}) == -6.25
        assert list(found.parent_sets("c")) == [(-1.0, ()), (-9.0, ("a", "b"))]
        assert found.best_possible_score == table.best_possible_score
        assert found.epsilon == (None if format == "jkl" else 3.0)


def test_the_authors_wine_scores(published, tmp_path):
    path = published / "wine.BIC.3.jkl"
    if not path.is_file():
        pytest.skip(f"no file {path}")
    table = read_scores(path)
    assert table.names == tuple(map(str, range(14)))
    assert len(table) == 592
    assert table.counts.tolist() == [96, 37, 50, 14, 46, 13, 57, 71, 33, 26, 35, 19, 52, 43]
    assert next(table.parent_sets(0)) == (-89.09382988, ("1", "7"))
    assert table.local_score("0", ["1", "2", "6"]) == -104.43818678
    for format in FORMATS:
        write_scores(table, tmp_path / f"wine.{format}")
        assert_identical(read_scores(tmp_path / f"wine.{format}"), table)
    # The same candidates as a plain reading of the authors' lines gives, node by node.
    lines = iter(path.read_text().splitlines()[1:])
    for header in lines:
        name, count = header.split()
        rows = [next(lines).split() for _ in range(int(count))]
        expected = {(float(row[0]), frozenset(row[2:])) for row in rows}
        assert {(score, frozenset(parents)) for score, parents in table.parent_sets(name)} == expected


def test_the_text_formats_as_text(tmp_path):
    write_scores(small(), tmp_path / "x.jkl")
    assert (tmp_path / "x.jkl").read_text() == SMALL_JKL
    write_scores(small(), tmp_path / "x.pss")
    assert (tmp_path / "x.pss").read_text() == SMALL_PSS
    provenance = {
        "score": "bic",
        "epsilon": 3.5,
        "complete": True,
        "prior": {"kind": "uniform"},
        "version": "1",
    }
    write_scores(small(provenance), tmp_path / "x.pss")
    meta = [line for line in (tmp_path / "x.pss").read_text().splitlines() if line.startswith("META")]
    assert meta[2:] == [
        "META score = bic",
        "META epsilon = 3.5",
        "META complete = true",
        'META prior = {"kind": "uniform"}',
        'META version = "1"',
    ]


def test_foreign_text_is_read_generously(tmp_path):
    path = tmp_path / "x.jkl"
    path.write_bytes(b"\xef\xbb\xbf 2 \r\n\r\n x 2\r\n\t+1e0  1 y\r\n2 0\r\n\r\ny 1\r\n-.5\t0")
    table = read_scores(path)
    assert list(table.parent_sets("x")) == [(2.0, ()), (1.0, ("y",))]
    assert list(table.parent_sets("y")) == [(-0.5, ())]
    path = tmp_path / "x.pss"
    path.write_text(
        "# made elsewhere\nMETA input_file=some file.csv\nMETA ess=1.0\n\nVAR x\nMETA arity=2\n"
        "META values=no yes\n-3 y\n  # a remark\n-4\n\nVAR y\n-2 \n"
    )
    table = read_scores(path)
    assert list(table.parent_sets("x")) == [(-3.0, ("y",)), (-4.0, ())]
    expected = {
        "input_file": "some file.csv",
        "ess": 1.0,
        "variables": {"x": {"arity": 2, "values": "no yes"}},
    }
    assert dict(table.provenance) == expected
    write_scores(table, path)
    assert dict(read_scores(path).provenance) == expected


def test_endings(tmp_path):
    write_scores(small(), tmp_path / "X.JKL")
    assert (tmp_path / "X.JKL").read_text() == SMALL_JKL
    write_scores(small(), str(tmp_path / "x.txt"), format="pss")
    assert read_scores(str(tmp_path / "x.txt"), format="pss").same_as(small())
    for wrong in ("x.txt", "x"):
        with pytest.raises(OptionError, match=r"score files are jkl, pss, scores"):
            read_scores(tmp_path / wrong)
        with pytest.raises(OptionError, match=r"use such an extension, or format"):
            write_scores(small(), tmp_path / wrong)
    with pytest.raises(OptionError, match="format is 'csv'"):
        read_scores(tmp_path / "x.txt", format="csv")


@pytest.mark.parametrize("format", ["jkl", "pss"])
@pytest.mark.parametrize("name", ["two words", "", "tab\there", "no\u00a0break", "line\u2028", "half\ud800"])
def test_names_that_text_cannot_carry(tmp_path, format, name):
    table = ScoreTable.from_candidates([name, "b"], [[(0.0, [])], [(0.0, [])]])
    with pytest.raises(OptionError, match=r"cannot be written to a .* use the \.scores format"):
        write_scores(table, tmp_path / f"x.{format}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["", "a=b", " a", "a\nb", "n_variables", "n_candidates"])
def test_keys_that_pss_cannot_carry(tmp_path, key):
    with pytest.raises(OptionError, match="META key"):
        write_scores(small({key: 1}), tmp_path / "x.pss")
    assert list(tmp_path.iterdir()) == []


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "x.jkl"
    write_scores(small(), path)
    before = path.read_bytes()

    def interrupted(table, node):
        raise KeyboardInterrupt

    monkeypatch.setattr(ScoreTable, "parent_sets", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_scores(ScoreTable.from_candidates(["z"], [[(0.0, [])]]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    write_scores(small(), tmp_path / "x.scores")
    assert (tmp_path / "x.scores").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("format", FORMATS)
def test_places_that_cannot_be_used(tmp_path, format):
    with pytest.raises(OptionError, match="cannot be written"):
        write_scores(small(), tmp_path / "nowhere" / f"x.{format}")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_scores(tmp_path / f"x.{format}")
    folder = tmp_path / f"folder.{format}"
    folder.mkdir()
    with pytest.raises(FileFormatError):
        read_scores(folder)
    with pytest.raises(OptionError, match="cannot be written"):
        write_scores(small(), folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_replacing_a_file_that_is_mapped(tmp_path):
    path = tmp_path / "x.scores"
    write_scores(small(), path)
    mapped = read_scores(path)
    write_scores(ScoreTable.from_candidates(["z"], [[(0.0, [])]]), path)
    path.unlink()
    assert_identical(mapped, small())


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected the number of variables, found the end of the file"),
        ("\n\n", 2, "found the end of the file"),
        ("three\n", 1, "the number of variables, 1 to 4096, found 'three'"),
        ("0\n", 1, "found '0'"),
        ("-1\n", 1, "found '-1'"),
        ("3 3\n", 1, "found '3 3'"),
        ("1.0\n", 1, "found '1.0'"),
        ("4097\n", 1, "1 to 4096, found '4097'"),
        ("9" * 5000, 1, "found '9999"),
        ("1000\na 1\n-1 0\n", 3, "'name count' of variable 2 of 1000, found the end of the file"),
        ("1\n", 1, "'name count' of variable 1 of 1, found the end"),
        ("1\na\n-1 0\n", 2, "'name count' of variable 1 of 1"),
        ("1\na b 1\n-1 0\n", 2, "found 'a b 1'"),
        ("1\na x\n-1 0\n", 2, "found 'a x'"),
        ("1\na 0\n", 2, "count at least 1"),
        ("1\na -1\n", 2, "found 'a -1'"),
        ("1\na 1_0\n", 2, "found 'a 1_0'"),
        ("1\na 999999999999999999\n-1 0\n", 3, "999999999999999999 parent sets of 'a', not 1"),
        ("1\na 2\n-1 0\n", 3, "2 parent sets of 'a', not 1, found the end"),
        ("2\na 1\n-1 0\n-2 1 b\nb 1\n-1 0\n", 4, "(or the count before is wrong), found '-2 1 b'"),
        ("2\na 2\n-1 0\nb 1\n-1 0\n", 5, "'name count' of variable 2 of 2"),
        ("2\na 2\n-1 0\nb 1\nc 1\n-1 0\n", 4, "a finite score, found 'b'"),
        ("1\na 1\n-1 0\n-2 0\n", 4, "the end of the file after 1 variables"),
        ("2\na 1\n-1 0\na 1\n-1 0\n", 4, "a new name ('a' is already on line 2)"),
        ("1\na 1\nx 0\n", 3, "a finite score, found 'x'"),
        ("1\na 1\nnan 0\n", 3, "a finite score, found 'nan'"),
        ("1\na 1\n-inf 0\n", 3, "a finite score, found '-inf'"),
        ("1\na 1\n1e999 0\n", 3, "a finite score, found '1e999'"),
        ("1\na 1\n1_0 0\n", 3, "a finite score, found '1_0'"),
        ("1\na 1\n0x10 0\n", 3, "a finite score, found '0x10'"),
        ("1\na 1\n-1\n", 3, "'score k parent ... parent'"),
        ("2\na 1\n-1 b\nb 1\n-1 0\n", 3, "'score k parent ... parent'"),
        ("2\na 1\n-1 2 b\nb 1\n-1 0\n", 3, "found '-1 2 b'"),
        ("2\na 1\n-1 0 b\nb 1\n-1 0\n", 3, "with k parents"),
        ("2\na 1\n-1 -1 b\nb 1\n-1 0\n", 3, "with k parents"),
        ("2\na 1\n-1 " + "9" * 5000 + " b\nb 1\n-1 0\n", 3, "with k parents"),
        ("2\na 1\n-1 1 z\nb 1\n-1 0\n", 3, "the name of a variable in this file, found 'z'"),
        ("2\na 1\n-1 1 a\nb 1\n-1 0\n", 3, "parents other than the node itself, found 'a'"),
        ("2\na 1\n-1 1 b\nb 1\n-1 1 b\n", 5, "parents other than the node itself, found 'b'"),
        ("3\na 1\n-1 2 b b\nb 1\n-1 0\nc 1\n-1 0\n", 3, "each parent once, found 'b'"),
        ("2\na 2\n-1 1 b\n-2 1 b\nb 1\n-1 0\n", 4, "a new parent set (the same is on line 3)"),
        ("3\na 2\n-1 2 b c\n\n-2 2 c b\nb 1\n-1 0\nc 1\n-1 0\n", 5, "(the same is on line 3)"),
        (b"1\na\xff 1\n-1 0\n", 2, "a name in UTF-8"),
        (b"\x00\x01\x02\xff\xfe", 1, "found '\\x00\\x01\\x02\\\\xff\\\\xfe'"),
        ("x" * 500, 1, "xxx...'"),
        ("# comment\n1\na 1\n-1 0\n", 1, "found '# comment'"),
    ],
)
def test_malformed_jkl(tmp_path, text, line, message):
    refuse(tmp_path / "x.jkl", text, line, message)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "'VAR name', found the end of the file"),
        ("# nothing\n", 1, "'VAR name', found the end of the file"),
        ("META a = 1\n", 1, "'VAR name', found the end of the file"),
        ("-1\nVAR a\n", 1, "before the first score, found '-1'"),
        ("var a\n-1\n", 1, "before the first score, found 'var a'"),
        ("VAR\n-1\n", 1, "'VAR name', found 'VAR'"),
        ("VAR a b\n-1\n", 1, "'VAR name', found 'VAR a b'"),
        ("VAR a\n", 1, "at least one parent set of this variable, found none"),
        ("VAR a\nVAR b\n-1\n", 1, "at least one parent set"),
        ("VAR a\n-1\nVAR b\n# end\n", 3, "at least one parent set"),
        ("VAR a\n-1\nVAR a\n-1\n", 3, "a new name ('a' is already on line 1)"),
        ("META\nVAR a\n-1\n", 1, "'META key = value', found 'META'"),
        ("META a\nVAR a\n-1\n", 1, "'META key = value', found 'a'"),
        ("META = 3\nVAR a\n-1\n", 1, "'META key = value'"),
        ("META a = 3\nMETA a = 3\nVAR a\n-1\n", 2, "META a only once"),
        ("VAR a\nMETA a = 3\nMETA a = 3\n-1\n", 3, "META a only once"),
        ("META variables = 3\nVAR a\nMETA a = 3\n-1\n", 4, "not both"),
        (b"META a = \xff\nVAR a\n-1\n", 1, "UTF-8"),
        (b"VAR \xff\n-1\n", 1, "a name in UTF-8"),
        ("META n_candidates = 2\nVAR a\n-1\n", 3, "as many as META n_candidates says, not 1"),
        ("META n_variables = 2\nVAR a\n-1\n", 3, "as many as META n_variables says, not 1"),
        ("META n_variables = many\nVAR a\n-1\n", 3, "n_variables"),
        ("VAR a\nx\n", 2, "a finite score, found 'x'"),
        ("VAR a\nnan\n", 2, "a finite score, found 'nan'"),
        ("VAR a\n-1 b\n", 2, "the name of a variable in this file, found 'b'"),
        ("VAR a\n-1 a\n", 2, "parents other than the node itself"),
        ("VAR a\n-1 b b\nVAR b\n-1\n", 2, "each parent once"),
        ("VAR a\n-1 b\n-2 b\nVAR b\n-1\n", 3, "a new parent set (the same is on line 2)"),
        ("VAR a\n-1 b # remark\nVAR b\n-1\n", 2, "found '#'"),
        (
            "".join(f"VAR {i}\n0\n" for i in range(MAX_VARIABLES + 1)),
            2 * MAX_VARIABLES + 1,
            "at most 4096 variables",
        ),
        ("METAL a = 3\n", 1, "before the first score"),
    ],
)
def test_malformed_pss(tmp_path, text, line, message):
    refuse(tmp_path / "x.pss", text, line, message)


def refuse(path, content, line, message):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError) as caught:
        read_scores(path)
    assert str(caught.value).startswith(f"{path}, line {line}: expected ")
    assert message in str(caught.value)


def test_provenance_that_makes_no_sense_names_the_line(tmp_path):
    path = tmp_path / "x.pss"
    path.write_text("META epsilon = -3\nVAR a\n-1\n")
    with pytest.raises(FileFormatError, match=r"x\.pss, line 1: expected a finite number.*found 'epsilon = -3'"):
        read_scores(path)


@pytest.mark.parametrize("format", FORMATS)
def test_every_truncation_is_noticed_or_harmless(tmp_path, format):
    path = tmp_path / f"x.{format}"
    write_scores(small({"score": "bic"}), path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            table = read_scores(path)
        except FileFormatError:
            continue
        # Text without its last characters can still be whole: then only the last line may differ.
        assert format != "scores"
        assert length >= len(whole) - len(" a b\n")
        assert table.n_candidates == 5


FRAGMENTS = st.sampled_from(
    ["1", "2", "a", "b", "0", "-1.5", "nan", "META", "VAR", "=", "#", "\n", " ", "k = 1", "\t", "\r"]
)
TEXTS = st.text() | st.lists(FRAGMENTS, max_size=40).map(" ".join) | st.lists(FRAGMENTS, max_size=40).map("".join)


@pytest.mark.parametrize("format", FORMATS)
@given(content=st.binary() | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(content=b"META a = " + b"[" * 100_000 + b"\nVAR a\n1\n")
@example(content=b'META a = {"a":' * 5000 + b"\nVAR a\n1\n")
@in_one_folder
def test_arbitrary_bytes_raise_nothing_else(tmp_path, format, content):
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    try:
        table = read_scores(path, format=format)
    except FileFormatError:
        return
    assert table.n_candidates >= table.n_variables


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
@in_one_folder
def test_damaged_files_raise_nothing_else(tmp_path, format, data):
    path = tmp_path / f"damaged.{format}"
    write_scores(small({"score": "bic", "epsilon": 3.0}), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(content)
    try:
        table = read_scores(path)
    except FileFormatError:
        return
    list(table.parent_sets(0))


def test_every_changed_byte_of_a_binary_file_is_noticed(tmp_path):
    path = tmp_path / "x.scores"
    write_scores(ScoreTable.from_candidates(["a", "b"], [[(-1.5, [1])], [(-2.0, [])]]), path)
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"x\.scores: .*the file is damaged"):
            read_scores(path)


def test_a_binary_file_without_its_checksum_is_damaged(tmp_path):
    path = tmp_path / "x.scores"
    write_arrow(path, metadata={"credibn.score_table": "2"})
    with pytest.raises(
        FileFormatError, match=r"x\.scores: the file is damaged .*\(its checksum is missing\); restore it"
    ):
        read_scores(path)


def write_arrow(path, columns=None, metadata=None, batches=1, **replaced):
    fields = {
        "node": pa.array([0, 1], pa.int32()),
        "score": pa.array([-1.0, -2.0], pa.float64()),
        "mask": pa.array([bytes(8), bytes(8)], pa.binary(8)),
    }
    fields = {**fields, **replaced} if columns is None else columns
    described = {"credibn.score_table": "1", "credibn.names": '["a", "b"]', "credibn.provenance": "{}"}
    schema = pa.schema(
        [pa.field(name, column.type, nullable=column.null_count > 0) for name, column in fields.items()],
        metadata={key: value for key, value in {**described, **(metadata or {})}.items() if value is not None},
    )
    with pa.ipc.new_file(str(path), schema) as writer:
        for _ in range(batches):
            writer.write_batch(pa.record_batch(list(fields.values()), schema=schema))


def test_a_binary_file_of_version_1_is_read(tmp_path):
    write_arrow(tmp_path / "x.scores")
    table = read_scores(tmp_path / "x.scores")
    assert table.same_as(ScoreTable.from_candidates(["a", "b"], [[(-1.0, [])], [(-2.0, [])]]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"metadata": {"credibn.score_table": None}},
            "expected version 1 or 2 of credibn's score tables, found none",
        ),
        ({"metadata": {"credibn.score_table": "3"}}, "found '3'; upgrade credibn"),
        ({"metadata": {"credibn.names": None}}, "names and provenance as JSON"),
        ({"metadata": {"credibn.names": "[1"}}, "names and provenance as JSON"),
        ({"metadata": {"credibn.names": "3"}}, "names and provenance as JSON"),
        ({"metadata": {"credibn.names": "[1, 2]"}}, "names are strings"),
        ({"metadata": {"credibn.names": '["a", "a"]'}}, "'a' appears twice"),
        ({"metadata": {"credibn.names": "[]"}}, "expected 1 to 4096 variables, found 0"),
        ({"metadata": {"credibn.names": json.dumps([str(i) for i in range(5000)])}}, "found 5000"),
        ({"metadata": {"credibn.names": '["a"]'}}, "expected nodes 0 to 0"),
        ({"metadata": {"credibn.names": '["a", "b", "c"]'}}, "'c' has no candidate"),
        ({"metadata": {"credibn.provenance": "[]"}}, "give a mapping"),
        ({"metadata": {"credibn.provenance": "[" * 100_000}}, "as JSON"),
        ({"metadata": {"credibn.provenance": '{"epsilon": -1}'}}, "epsilon -1"),
        ({"columns": {"x": pa.array([1])}}, "expected the columns"),
        ({"node": pa.array([0, 1], pa.int64())}, "expected the columns"),
        ({"mask": pa.array([bytes(16)] * 2, pa.binary(16))}, "expected the columns"),
        ({"score": pa.array([1.0, None])}, "expected the columns"),
        ({"node": pa.array([1, 0], pa.int32())}, "in increasing order"),
        ({"node": pa.array([-1, 0], pa.int32())}, "expected nodes 0 to 1"),
        ({"node": pa.array([0, 2], pa.int32())}, "expected nodes 0 to 1"),
        ({"node": pa.array([0, 0], pa.int32())}, "'b' has no candidate"),
        ({"score": pa.array([1.0, math.nan])}, "scores must be finite"),
        ({"mask": pa.array([b"\1" + bytes(7), bytes(8)], pa.binary(8))}, "its own parents"),
        ({"mask": pa.array([b"\4" + bytes(7), bytes(8)], pa.binary(8))}, "beyond the last"),
        ({"batches": 0}, "expected one record batch, found 0"),
        ({"batches": 2}, "expected one record batch, found 2"),
        (
            {
                "node": pa.array([], pa.int32()),
                "score": pa.array([], pa.float64()),
                "mask": pa.array([], pa.binary(8)),
            },
            "found no rows",
        ),
    ],
)
def test_malformed_binary(tmp_path, changes, message):
    path = tmp_path / "x.scores"
    write_arrow(path, **changes)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_scores(path)
    assert str(path) in str(caught.value)


def test_empty_and_foreign_binary(tmp_path):
    path = tmp_path / "x.scores"
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match="the file is empty"):
        read_scores(path)
    path.write_text(SMALL_JKL)
    with pytest.raises(FileFormatError, match="damaged or of another kind"):
        read_scores(path)
    write_scores(small(), path)
    with pytest.raises(FileFormatError, match=re.escape("x.scores, line 1")):
        read_scores(path, format="jkl")


def test_small_files_with_absurd_counts_take_little_memory(tmp_path):
    tracemalloc = pytest.importorskip("tracemalloc")
    path = tmp_path / "x.jkl"
    tracemalloc.start()
    try:
        for text in (
            "999999999999999999\na 1\n0 0\n",
            "4096\na 999999999999\n0 0\n",
            "4096\na 1\n0 4095 b\n",
        ):
            path.write_text(text)
            with pytest.raises(FileFormatError):
                read_scores(path)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_large_table_in_every_format(tmp_path):
    """Two hundred thousand candidates of 70 variables: every path is vectorised."""
    n, per_node = 70, 2900
    nodes = np.repeat(np.arange(n), per_node)
    low = np.tile(np.arange(per_node, dtype=np.uint64), n) << np.where(nodes < 20, 40, 0).astype(np.uint64)
    masks = np.column_stack([low, np.zeros_like(low)])
    masks[nodes < 60, 1] = 7
    table = ScoreTable.from_arrays([f"v{v}" for v in range(n)], nodes, -np.sqrt(np.arange(len(nodes))), masks)
    for format in FORMATS:
        write_scores(table, tmp_path / f"x.{format}")
        assert_identical(read_scores(tmp_path / f"x.{format}"), table)
        os.remove(tmp_path / f"x.{format}")
