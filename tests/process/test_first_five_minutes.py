"""The first five minutes, with tables as people have them: `data`, `learn`, `report`, `edges`, `predict`.

The visitor below knows nothing. Where a command refuses a table, the visitor takes the options that the message
names, as they stand there, and repeats the command with them: what a message advises is done, not read.
"""

import json
import re
import shlex
from functools import cache

import numpy as np
import pandas as pd
import pytest
import typer.main
from typer.testing import CliRunner

from credibn import CredibleSet
from credibn.cli.app import app
from messy_tables import TABLES, MessyTable

pytestmark = pytest.mark.xdist_group("first five minutes")  # they share what was learned
COMMANDS = typer.main.get_command(app).commands
SECONDS = 60
FINISHED = (0, 3)
"""The exit statuses of an answer that is complete, and of one that a limit cut short."""


def parameters(tables=TABLES):
    """The tables as parameters of a test; some are slow."""
    return [pytest.param(table, marks=[pytest.mark.slow] * table.is_slow, id=table.file) for table in tables]


# ---------------------------------------------------------------------------- following advice

_WORD = r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+"""
_FLAG = re.compile(rf"(?<![\w-])(--[a-z][a-z-]*)(?: ({_WORD}))?")
_COMMAND = re.compile(r"\bcredibn (?:learn|predict|report|edges|data) [^\n]+")


def takes_value(flag):
    options = {word: option for command in COMMANDS.values() for option in command.params for word in option.opts}
    assert flag in options, f"{flag} is no option of any command"
    return not options[flag].is_flag


def remedies(message):
    """Return the ways out that a message names, after what is wrong: options, which stand together or alone."""
    message = re.split(r"(?<=[\w')])[:;] ", re.sub("^(error|warning): ", "", message), maxsplit=1)[-1]
    ways, end = [], None
    for found in _FLAG.finditer(message):
        flag, word = found.groups()
        if message[: found.start()].endswith("more than "):
            continue  # a limit, not a way out
        words = [flag]
        if takes_value(flag):
            bare = re.sub(r"(?<=.)[.,;:)]+$", "", word or "")
            if not bare or bare in ("and", "or", "to", "for", "if", "with"):
                continue  # it is named without a value
            words += shlex.split(bare)
        stop = found.start(1) + len(flag if len(words) == 1 else f"{flag} {bare}")
        if end is not None and message[end : found.start()] in (" ", " with "):
            ways[-1] += words
        else:
            ways.append(words)
        end = stop
    return ways


def suggested_commands(text):
    """Return the commands that a text shows, split as the shell splits them."""
    return [shlex.split(found[0])[1:] for found in _COMMAND.finditer(text)]


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code in (0, 2, 3), f"{words}\n{result.output}\n{result.exception!r}"
    return result


class Visitor:
    """Someone who runs commands, and obeys the first error that occurs to the letter."""

    def __init__(self):
        self.advice, self.words = None, []

    def __call__(self, *words):
        result = run(*words, *self.words)
        if result.exit_code not in FINISHED:
            assert self.advice is None, f"a second error, after {self.advice}: {result.stderr}"
            ways = remedies(result.stderr)
            assert ways, f"nothing to follow: {result.stderr}"
            self.advice = self.words = ways[0]
            result = run(*words, *self.words)
            assert result.exit_code in FINISHED, f"the advice {self.advice} does not help: {result.stderr}"
        return result


def test_options_of_one_remedy_stand_together():
    message = (
        "error: a: b is more than --max-states 2: pass --forbid 'a b' --forbid c, --missing drop, or raise --ratio."
    )
    assert remedies(message) == [["--forbid", "a b", "--forbid", "c"], ["--missing", "drop"]]
    assert remedies("use --target 'it'\"'\"'s', or --estimate.") == [["--target", "it's"], ["--estimate"]]
    assert remedies("error: '1,5' is unclear: pass --epsilon , or --ratio ,") == [["--epsilon", ","], ["--ratio", ","]]
    assert suggested_commands("Next:\n  credibn learn 'a b.csv' --drop id\n") == [["learn", "a b.csv", "--drop", "id"]]


# ---------------------------------------------------------------------------- from the table to predictions


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A function that learns from a table without knowing it: the folder, the outcome and the visitor."""

    @cache
    def learn(table: MessyTable):
        folder = tmp_path_factory.mktemp(table.name)
        table.save(folder / table.file, table.columns())
        visitor = Visitor()
        result = visitor("learn", folder / table.file, *limits(folder / "out"))
        visitor.words = []  # a result remembers how its table was read
        return folder, result, visitor

    return learn


def limits(out):
    return "--out", out, "--time-limit", SECONDS, "--threads", 1


def probabilities(folder):
    """The probability that each pair of variables is joined."""
    pairs = json.loads(run("edges", folder, "--json").stdout)["pairs"]
    return {frozenset((pair["first"], pair["second"])): 1 - pair["absent"] for pair in pairs}


def assert_sensible(table, folder):
    joined = probabilities(folder)
    for pair in table.joined:
        assert joined.get(frozenset(pair), 0.0) > 0.5, f"{pair} is not joined: {joined}"
    for pair in table.apart:
        assert joined.get(frozenset(pair), 0.0) < 0.5, f"{pair} is joined: {joined}"


@pytest.mark.parametrize("table", parameters())
def test_a_visit_ends_with_a_sensible_network(table, learned):
    folder, _, visitor = learned(table)
    assert_sensible(table, folder / "out")
    assert visitor("report", folder / "out", "-o", folder / "page.html").exit_code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert all(name.split("\n")[0] in page for pair in table.joined for name in pair if name.isalpha())


@pytest.mark.parametrize("table", parameters([table for table in TABLES if table.target is not None]))
def test_new_rows_are_predicted_without_the_table(table, learned):
    folder, _, visitor = learned(table)
    rows = {name: values[:40] for name, values in table.columns().items()}
    new = folder / f"new.{table.file.split('.', 1)[1]}"
    table.save(new, rows)
    answer = visitor("predict", folder / "out", new, "--target", table.target, "-o", folder / "answer.parquet")
    assert answer.exit_code == 0, answer.output
    assert_predicts(pd.read_parquet(folder / "answer.parquet")[table.target], rows[table.target])


def assert_predicts(predicted, actual):
    """Most categories agree; numbers, however they were written, rise and fall together."""
    actual = [str(value) for value in actual]
    rows = [row for row, value in enumerate(actual) if value not in ("", "NA", "n/a", "-9", ".", "-")]
    assert len(predicted) == len(actual)
    if pd.api.types.is_float_dtype(predicted):
        numbers = [float(re.sub("[, ](?=[0-9]{3}$)", "", actual[row]).replace(",", ".")) for row in rows]
        assert np.corrcoef(predicted.to_numpy()[rows], numbers)[0, 1] > 0.7
    else:
        states = {"yes": "true", "no": "false"} if predicted.dtype == bool else {}
        agree = [str(predicted[row]).lower() == states.get(actual[row], actual[row]) for row in rows]
        assert np.mean(agree) > 0.75


@pytest.mark.parametrize("table", parameters())
def test_data_suggests_a_command_that_learns(table, learned, tmp_path):
    table.save(tmp_path / table.file, table.columns())
    result = run("data", tmp_path / table.file)
    assert result.exit_code == 0, result.output  # it describes whatever there is
    commands = suggested_commands(result.stdout.strip().splitlines()[-1])
    assert [words[0] for words in commands] == ["learn"], result.stdout
    assert run(*commands[0], *limits(tmp_path / "out")).exit_code in FINISHED
    assert_sensible(table, tmp_path / "out")


@pytest.mark.parametrize("table", parameters())
def test_every_remedy_that_is_named_leads_to_a_network(table, tmp_path):
    """Those of an error, and those of each warning."""
    table.save(tmp_path / table.file, table.columns())
    result = run("learn", tmp_path / table.file, *limits(tmp_path / "out"))
    advice = [line for line in result.stderr.splitlines() if line.startswith(("error: ", "warning: "))]
    for number, way in enumerate(way for line in advice for way in remedies(line)):
        again = run("learn", tmp_path / table.file, *way, *limits(tmp_path / f"out-{number}"))
        assert again.exit_code in FINISHED, f"{way}: {again.stderr}"


@pytest.mark.parametrize("table", parameters([table for table in TABLES if table.kinds]))
def test_columns_are_used_as_what_they_are(table, learned):
    folder, _, _ = learned(table)
    found = CredibleSet.load(folder / "out" / "result.credibn")
    kinds = {column["name"]: column["kind"] for column in found.provenance["reading"]["columns"]}
    assert {name: kinds[name] for name in table.kinds} == table.kinds


@pytest.mark.parametrize("table", parameters([table for table in TABLES if table.warned]))
def test_odd_columns_are_named_with_an_option(table, learned):
    _, result, visitor = learned(table)
    lines = (result.stderr + result.stdout).splitlines()
    for name in table.warned:
        said = [line for line in lines if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) and "--" in line]
        assert said or name in (visitor.advice or []), result.output


# ---------------------------------------------------------------------------- public tables, with defaults

PUBLIC = {
    "iris": ("petal length (cm)", "petal width (cm)"),
    "wine": ("flavanoids", "total_phenols"),
    "diabetes": ("s1", "s2"),
    "breast_cancer": ("mean radius", "mean perimeter"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_public_tables_give_sensible_networks(name, tmp_path):
    import sklearn.datasets

    frame = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    frame.to_csv(tmp_path / f"{name}.csv", index=False)
    result = run("learn", tmp_path / f"{name}.csv", "--out", tmp_path / "out")
    assert result.exit_code in FINISHED, result.output
    assert probabilities(tmp_path / "out")[frozenset(PUBLIC[name])] > 0.5
