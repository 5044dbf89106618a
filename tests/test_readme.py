"""Every command and example of the README works as it is printed there."""

import doctest
import re
import shlex
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn.cli import app
from credibn.examples import sample_asia

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.S | re.M)


def commands():
    return [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]


def test_python_examples_give_what_they_show():
    text = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_two_commands_come_first_and_are_targets_of_the_makefile():
    assert commands()[:2] == [["make", "demo"], ["make", "test"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for _, target in commands()[:2]:
        assert re.search(rf"^{target}:", makefile, flags=re.M)
    assert "credibn demo --out" in makefile


def test_shell_commands_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(sample_asia(), tmp_path / "clinic.csv")
    run = [words for words in commands() if words and words[0] != "make"]
    assert {words[0] for words in run} == {"credibn"}
    for words in run:
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, (words, result.output)
    for name in (
        "clinic.jkl",
        "clinic.pss",
        "clinic.scores",
        "clinic/report.html",
        "clinic.dot",
        "filled.csv",
        "clinic.html",
        "demo/asia.html",
    ):
        assert (tmp_path / name).is_file()


def test_shell_output_is_what_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(sample_asia(), tmp_path / "clinic.csv")
    assert blocks("console")
    for block in blocks("console"):
        command, output = block.split("\n", 1)
        prompt, program, *words = shlex.split(command)
        assert (prompt, program) == ("$", "credibn")
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0
        assert result.stdout == output


def test_exit_statuses_are_those_of_the_help():
    epilog = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    prose = " ".join(README.split())
    statuses = prose[prose.index("Exit status: ") :].split(". ")[0]
    assert statuses in epilog


@pytest.mark.parametrize("promise", ["estimator"])
def test_stages_that_do_not_exist_are_not_promised(promise):
    assert re.search(rf"^\|.*{promise}.*\| next \|$", README, flags=re.M)
