"""Text files as other programs write them: line ends, encodings, comments, decimal commas."""

import gzip
import re
import warnings

import pytest

from credibn import read_data
from credibn.data.new_rows import read_rows
from credibn.errors import CredibnWarning, DataError, FileFormatError, OptionError

ROWS = "a,1\r\nb,2\r\n\u00e4,3\r\nb,1\r\n"
STATES = (("a", "b", "\u00e4"), ("1", "2", "3"))


def write(folder, content, name="t.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "text",
    ["x,y\n" + ROWS, "x,y\r\n" + ROWS.replace("\r\n", "\n"), "x,y\n" + ROWS.replace("\r\n", "\n", 2), "x,y\r" + ROWS],
    ids=["LF then CRLF", "CRLF then LF", "changing", "CR then CRLF"],
)
def test_line_ends_may_differ(text, tmp_path):
    data = read_data(write(tmp_path, text))
    assert (data.states, data.n_rows) == (STATES, 4)
    packed = write(tmp_path, gzip.compress(text.encode()), "t.csv.gz")
    assert read_data(packed).fingerprint == data.fingerprint


def test_a_line_break_in_quotes_is_part_of_a_value(tmp_path):
    data = read_data(write(tmp_path, 'x,y\r\n"a\n# b",1\r\nc,2\n'), comment="#")
    assert data.states[0] == ("a\n# b", "c")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_read_with_a_note(encoding, tmp_path):
    path = write(tmp_path, ("x,y\n" + ROWS).encode(encoding))
    with pytest.warns(CredibnWarning, match=r"'t.csv' is not UTF-8 text and was read as "):
        data = read_data(path)
    assert data.states == STATES
    assert ("pass encoding='latin-1'" in data.reading.notes[0]) is not encoding.startswith("utf-16")  # never in doubt
    given = read_data(path, encoding=encoding)
    assert (given.fingerprint, given.reading.notes) == (data.fingerprint, ())


def test_bytes_of_no_encoding_name_the_option(tmp_path):
    with pytest.raises(FileFormatError, match=r"line \d: byte 0x81 begins no character of cp1252; repair"):
        read_data(write(tmp_path, b"x,y\n\x81\x8d,1\n"))
    with pytest.raises(OptionError, match="encoding is 'klingon'; give a name that Python knows"):
        read_data(write(tmp_path, "x\n1\n"), encoding="klingon")


def test_a_byte_order_mark_is_no_letter(tmp_path):
    assert read_data(write(tmp_path, ("x,y\n" + ROWS).encode("utf-8-sig"))).names == ("x", "y")


def table(values, delimiter):
    return "\n".join([f"x{delimiter}y", *(f'"{value}"{delimiter}{row % 2}' for row, value in enumerate(values))])


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize(
    ("values", "numbers", "options"),
    [
        (["5,1", "4,25", "7"], [4.25, 5.1, 7.0], {"decimal": ","}),
        (["1.234,5", "12", "2.345.678"], [12, 1234.5, 2345678], {"decimal": ",", "thousands": "."}),
        (["1,234.5", "12", "2,345,678"], [12, 1234.5, 2345678], {"thousands": ","}),
        (["1 234,5", "12"], [12, 1234.5], {"decimal": ",", "thousands": " "}),
    ],
)
def test_numbers_with_other_separators_are_numbers(values, numbers, options, delimiter, tmp_path):
    path = write(tmp_path, table(values * 6, delimiter))
    with pytest.warns(CredibnWarning, match="column 'x' was read as numbers with " + re.escape(str(options)[2])):
        data = read_data(path)
    assert sorted(set(data.columns[0].tolist())) == numbers
    assert data.reading.options == options
    assert read_data(path, **options).fingerprint == data.fingerprint


def test_a_comma_that_may_be_either_is_refused_with_both_options(tmp_path):
    path = write(tmp_path, table(["1,234", "5,123", "2"] * 6, ";"))
    with pytest.raises(DataError, match=r"holds '1,234', and a comma may .*: pass decimal=',' or thousands=','"):
        read_data(path)
    assert set(read_data(path, decimal=",").columns[0].tolist()) == {1.234, 2.0, 5.123}
    assert read_data(path, thousands=",").states[0] == ("2", "1234", "5123")


def test_another_column_decides_what_a_comma_is(tmp_path):
    text = "x;y\n" + "1,234;0,5\n5,123;1,5\n" * 6
    with pytest.warns(CredibnWarning, match="columns 'x', 'y' were read as numbers with decimal=','"):
        data = read_data(write(tmp_path, text))
    assert data.columns[0].tolist() == [1.234, 5.123]


def test_comment_lines_at_the_top_are_left_out(tmp_path):
    data = read_data(write(tmp_path, "# made by x\n# on a day\na,b\n1,2\n# c\n2,1\n"))
    assert (data.names, data.n_rows) == (("a", "b"), 2)
    assert read_data(write(tmp_path, "#a,b\n1,2\n2,1\n")).names == ("#a", "b")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_other_comment_lines_name_the_option(line_end, tmp_path):
    path = write(tmp_path, f"a,b\n1,2{line_end}# c\n2,1\n")
    with pytest.raises(FileFormatError, match=r"line 3: .*pass comment='#' if such lines are comments"):
        read_data(path)
    assert read_data(path, comment="#").n_rows == 2


@pytest.mark.parametrize(
    ("header", "names"), [('"a, kg";b', ("a, kg", "b")), ("a|b", ("a", "b")), ("a\tb", ("a", "b"))]
)
def test_the_header_tells_what_separates_fields(header, names, tmp_path):
    separator = header[-2]
    text = f"{header}\n1{separator}2\n2{separator}1\n"
    assert read_data(write(tmp_path, text, "t.txt")).names == names


@pytest.mark.parametrize(
    ("written", "unit", "numbers"),
    [
        (["45 y", "46.5 y"], "y", (45, 46.5)),
        (["$1200", "$12.5"], "$", (12.5, 1200)),
        (["3,5 %", "12,25%"], "%", (3.5, 12.25)),
        (["-1.5°C", "20.0°C"], "°C", (-1.5, 20)),
        (["€ 1.234,50", "€ 12,00"], "€", (12, 1234.5)),
    ],
)
def test_a_unit_beside_each_number_is_left_out(written, unit, numbers, tmp_path):
    path = write(tmp_path, table(written, ";"))
    with pytest.warns(CredibnWarning) as said:
        data = read_data(path)
    assert f"column 'x' was read as numbers, without the unit {unit!r}" in {str(line.message) for line in said}
    column = data.reading.columns[0]
    assert (column.kind, column.unit) == ("numeric", unit)
    assert sorted(data.columns[0].tolist()) == list(numbers)
    options = {name: data.reading.options[name] for name in data.reading.options if name in ("decimal", "thousands")}
    rows = read_rows(path, ("x", "y"), (None, ("0", "1")), units={"x": unit}, text_options=options)
    assert sorted(rows.columns[0].tolist()) == list(numbers)


@pytest.mark.parametrize("written", [["5 mg", "10 mg"], ["1st", "2nd"], ["1.5 kg", "2.5 g"], ["MUS-1.5", "MUS-2.5"]])
def test_labels_that_have_numbers_stay_labels(written, tmp_path):
    assert sorted(read_data(write(tmp_path, table(written, ","))).states[0]) == sorted(written)


BODY = "x,y,z\na,1,u\nb,2,v\na,2,u\nb,1,v\n"


@pytest.mark.parametrize("above", ["Patients 2021\n\n", "Patients,,\n,,\n", "One\nTwo\n", "sep=,\n"])
def test_a_title_above_the_header_is_left_out(above, tmp_path):
    header = 1 + above.count("\n")
    path = write(tmp_path, above + BODY)
    with pytest.warns(
        CredibnWarning, match=rf"^line {header} of 't.csv' is the header \('x', 'y', 'z', ...\); lines above"
    ):
        data = read_data(path)
    assert (data.names, data.n_rows) == (("x", "y", "z"), 4)


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        ",x,y\n0,a,1\n1,b,2\n2,a,1\n3,b,1\n",  # an index without a name
        "x,,\na,1,\nb,2,\na,1,\n,,\n",  # names are missing
        "x\na\nb\na\nb\n",
        "x,y\na,1\nb,2\na,1\nb,1\n",
        "x;y;z\na,b;c,d;e,f\nb,b;c,d;e,f\na,b;d,d;f,f\na,b;c,d;g,f\n",  # commas within fields
        "x;y\na;1,5\nb;2,5\na;1,5\nb;1,5\n",
    ],
)
def test_a_header_in_the_first_line_stays(text, tmp_path):
    notes = quietly(write(tmp_path, text), missing="drop").reading.notes
    assert not any("header" in note for note in notes)


def test_rows_that_r_has_named_need_no_name_in_the_header(tmp_path):
    path = write(tmp_path, '"x","y"\n"1",a,0\n"2",b,1\n"3",a,1\n"4",b,0\n')
    data = quietly(path)
    assert (data.names, data.states) == (("x", "y"), (("a", "b"), ("0", "1")))


def test_numbers_as_names_are_told(tmp_path):
    path = write(tmp_path, "1.5,2.5\n1.5,0.5\n2.5,2.5\n")
    with pytest.warns(
        CredibnWarning, match="names of all columns are numbers .* add a header line if 't.csv' has none"
    ):
        read_data(path)


def marked(mark, n=40):
    return "\n".join(["x,y", *(f"{mark if row % 10 == 3 else row + 0.5},{row % 2}" for row in range(n)), "NA,1"])


@pytest.mark.parametrize("mark", [".", "unknown", "<1", "-999", "-9"])
def test_marks_of_missing_values_among_numbers_are_named_with_an_option(mark, tmp_path):
    path = write(tmp_path, marked(mark))
    message = (
        f"column 'x' holds numbers and '{mark}': pass missing_values=['NA', '{mark}'] if that marks missing values"
    )
    with pytest.warns(CredibnWarning) as said:
        read_data(path, missing="drop")
    assert message in {str(line.message) for line in said}
    with pytest.warns(CredibnWarning, match="dropped 5 of 41 rows"):
        data = read_data(path, missing="drop", missing_values=["NA", mark])
    assert data.reading.columns[0].kind == "numeric"


@pytest.mark.parametrize("values", [range(-9, 30), [*range(970, 999), 999], [*range(30), "a", "b", "c", "d"]])
def test_values_that_fit_in_are_no_marks(values, tmp_path):
    path = write(tmp_path, "\n".join(["x,y", *(f"{value},{row % 2}" for row, value in enumerate(values))]))
    assert not any("marks missing" in note for note in quietly(path).reading.notes)


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)
        return read_data(path, **options)
