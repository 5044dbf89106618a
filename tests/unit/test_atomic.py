"""The one writer of files: everything or nothing."""

import doctest

import pytest

from credibn._base import atomic
from credibn._base.atomic import replacing
from credibn.errors import OptionError


def test_docstring_examples():
    assert doctest.testmod(atomic).failed == 0


def fail_after_writing(sink, error):
    sink.write(b"new")
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, OptionError, ZeroDivisionError])
def test_a_failure_leaves_the_older_file(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), replacing(path) as sink:
        fail_after_writing(sink, error)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_in_plain_words(tmp_path):
    message = r"file cannot be written \(the disk is full\); free some space, or choose a folder on another disk"
    with pytest.raises(OptionError, match=message), replacing(tmp_path / "file"):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["none/file", "old/file", "", "."])
def test_a_place_that_cannot_be_written(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(OptionError, match="cannot be written"), replacing(place):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("語" * 85)
    with replacing(path) as sink:
        sink.write(b"new")
    assert list(tmp_path.iterdir()) == [path]
