"""Numbers in words, text that is safe to show, and the checks that every stage shares."""

import errno

import pytest

from credibn._base.atomic import unwritable, why_unwritable
from credibn._base.checks import decoded, file_path, whole_number
from credibn._base.text import byte_text, plain_cell, plural, printable, quoted
from credibn.data.files import sql_text
from credibn.data.suggesting import suggestion
from credibn.errors import FileFormatError, OptionError, WriteError


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "class", "1 class"), (2000, "class", "2,000 classes"), (0, "network", "0 networks")],
)
def test_numbers_of_things_have_their_plural(number, noun, text):
    assert plural(number, noun) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (1, "1 byte"),
        (900, "900 bytes"),
        (6144, "6.00 KiB"),
        (314_572_800, "300 MiB"),
        (1.5 * 2**30, "1.50 GiB"),
        (2**42, "4.00 TiB"),
    ],
)
def test_memory_is_written_in_the_unit_that_fits(n_bytes, text):
    assert byte_text(n_bytes) == text


def test_control_characters_are_escaped():
    assert printable("age\x1b[2J") == "age\\x1b[2J"
    assert (printable("a\nb"), printable("a\nb", keep="\n")) == ("a\\nb", "a\nb")


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=cmd()", "'=cmd()"), ("@a", "'@a"), ("-x", "'-x"), ("-3.5", "-3.5"), ("-", "-"), ("a=b", "a=b")],
)
def test_formulas_get_an_apostrophe(text, cell):
    assert plain_cell(text) == cell


def test_the_nearest_name_is_suggested():
    assert suggestion("smoker", ["smoke", "age"]) == "did you mean 'smoke'?"
    assert suggestion("weight", ["smoke", "age"]) == "known names: 'smoke', 'age'"


def test_sql_text_is_quoted():
    assert sql_text("it's") == "'it''s'"


def test_why_a_file_cannot_be_written():
    assert why_unwritable(OSError(errno.ENOSPC, "No space left on device")) == "the disk is full"
    denied = PermissionError(errno.EACCES, "Permission denied")
    assert why_unwritable(denied) == "Permission denied"
    error = unwritable("a.csv", denied)
    assert type(error) is WriteError
    assert str(error) == "a.csv cannot be written (Permission denied); check the folder and its permissions"


def test_paths_and_numbers_are_checked():
    assert file_path("scores.jkl").suffix == ".jkl"
    assert whole_number("seed", 7, 0) == 7
    for value in (True, 0.5, "7", -1):
        with pytest.raises(OptionError, match=f"seed is {value!r}; it must be a whole number, 0 or more"):
            whole_number("seed", value, 0)
    for path in (7, "a\0b"):
        with pytest.raises(OptionError, match="the path is"):
            file_path(path)


def test_a_byte_order_mark_is_no_text():
    assert decoded("a.txt", b"\xef\xbb\xbfage") == "age"
    with pytest.raises(FileFormatError, match="line 2: expected UTF-8 text"):
        decoded("a.txt", b"age\n\xff\xfe")


def test_long_values_are_quoted_without_their_middle():
    assert quoted("yes") == "'yes'"
    assert quoted("9" * 5000) == "'" + 29 * "9" + "..." + 19 * "9" + "'"
