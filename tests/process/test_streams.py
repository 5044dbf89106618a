"""Standard output and standard error do not decide whether a run completes: real processes with real redirections."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest

from credibn import learn
from credibn._run.progress import is_terminal, stage_bars
from credibn.cli.text import table_text
from credibn.examples import sample_asia

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a shell and /dev/full")

FILES = {"result.credibn", "summary.json", "run.json", "report.html"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and its result."""
    path = tmp_path_factory.mktemp("streams")
    pyarrow.csv.write_csv(sample_asia(), path / "asia.csv")
    learn(sample_asia(), bayes_factor=3).save(path / "asia.credibn")
    return path


def shell(folder, words, redirection, **environment):
    """Run a command with a redirection of bash."""
    script = f"{shlex.quote(sys.executable)} -m credibn {words} {redirection}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


LEARN = "learn asia.csv --bayes-factor 3 --out"


@pytest.mark.parametrize(
    "redirection",
    ["| head -1", "> /dev/full", ">&-", "2>&-", "> /dev/full 2>&1", ">&- 2>&- <&-"],
)
def test_a_run_with_a_folder_completes_whoever_listens(folder, tmp_path, redirection):
    done = shell(folder, f"{LEARN} {tmp_path / 'out'}", redirection, CREDIBN_CHECKPOINT_SECONDS="0")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES, "and no checkpoint"
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n_networks"] == 9


@pytest.mark.parametrize(
    ("words", "redirection"),
    [
        ("learn asia.csv --bayes-factor 3 --max-classes 1", "> /dev/full"),
        ("kbest asia.csv -k 2 --json --out {out}", "> /dev/full"),
        ("data asia.csv", ">&-"),
        ("edges asia.credibn", "> /dev/full"),
        ("edges asia.credibn --json", ">&-"),
        ("predict asia.credibn asia.csv --target lung", "> /dev/full"),
        ("--help", ">&-"),
    ],
)
def test_a_result_that_cannot_be_printed_is_an_error_of_one_line(folder, tmp_path, words, redirection):
    done = shell(folder, words.format(out=tmp_path / "out"), redirection)
    reason = "the disk is full" if "full" in redirection else "it is closed"
    assert done.returncode == 4
    assert f"error: standard output cannot be written ({reason}); redirect it to a writable file\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert "--out" not in words or {path.name for path in (tmp_path / "out").iterdir()} == FILES


@pytest.mark.parametrize("words", ["edges asia.credibn --format csv", "--help"])
def test_a_closed_pipe_is_not_an_error(folder, words):
    done = shell(folder, words, "| head -c 1 > /dev/null")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_limit_keeps_its_status_when_the_pipe_is_closed(folder):
    assert shell(folder, "learn asia.csv --max-classes 1", "2> /dev/null | true").returncode == 3


@pytest.mark.slow
def test_results_and_mistakes_do_not_need_standard_error(folder):
    done = shell(folder, "learn asia.csv --bayes-factor 3 --json", "2>&-")
    assert (done.returncode, json.loads(done.stdout)["n_networks"]) == (0, 9)
    assert shell(folder, "learn nowhere.csv", "2> /dev/full").returncode == 2


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_python_without_a_stream(monkeypatch, name):
    monkeypatch.setattr(sys, name, None)
    assert table_text(("a",), [("1",)]) == "a\n1"
    assert table_text(("name", "rows"), [("a", "10"), ("b", "7")], right=(1,)) == "name  rows\na       10\nb        7"
    with stage_bars() as bar:
        assert bar is None


def test_a_closed_stream_is_no_terminal(tmp_path):
    with open(tmp_path / "file", "w") as stream:
        assert not is_terminal(stream)
    assert not is_terminal(stream)
