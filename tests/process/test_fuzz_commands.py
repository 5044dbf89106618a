"""Commands with odd values end with a message and a status, never with a traceback."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from credibn.cli.app import app
from fuzz_commands import judge_command, prepare, random_command
from profiles import examples


@examples(25)
@given(number=st.integers(0, 10**6))
def test_any_command(number, tmp_path_factory):
    judge_command(random_command(Random(f"command line {number}")), tmp_path_factory.mktemp("commands"))


@pytest.mark.slow
def test_many_commands(tmp_path):
    for number in range(500):
        judge_command(random_command(Random(f"command line {number}")), tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["learn", "data.csv", "--max-parents", "9" * 5000],
        ["learn", "data.csv", "--max-parents", "a=" + "9" * 5000],
        ["learn", "data.csv", "--memory-limit", "inf"],
        ["learn", "data.csv", "--memory-limit", "1e300"],
        ["learn", "data.csv", "--discretise", "a=equal_width:" + "9" * 5000],
        ["sample", "net.bif", "--rows", str(2**64)],
        ["edges", "x" * 300],
        ["report", "x" * 300, "-o", "report.html"],
        ["convert", "x" * 300, "y.jkl"],
        ["convert", "scores.jkl", "x" * 300],
        ["fit", "data.csv", "x" * 300, "-o", "out.bif"],
        ["edges", "result.credibn", "-o", "x" * 300 + ".dot"],
        ["edges", "a\x00b"],
        ["convert", "a\x00.jkl", "b.pss"],
    ],
    ids=lambda words: " ".join(words)[:60].replace("\x00", "NUL"),
)
def test_values_that_once_ended_with_a_traceback(words, tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.exception
    assert "error" in done.output.lower()
