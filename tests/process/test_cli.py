"""The command line: thin, quiet on standard output, and no traceback for a user's mistake."""

import contextlib
import json
import math
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn import CredibleSet, read_scores, score_parent_sets
from credibn.cli.app import app
from credibn.cli.text import flag_text
from credibn.errors import CredibnError, Option
from credibn.examples import sample_asia, tic_tac_toe
from credibn.options import ScoreName
from credibn.report import learning_headline
from credibn.scores import AIC, BIC, BDeu, BGe, ConditionalGaussianBIC, GaussianBIC
from credibn.scores.setup import SCORES, columns_taken

SCRIPT = Path(sys.executable).with_name("credibn")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def run_script(*words, **options):
    command = [str(word) for word in (SCRIPT, *words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="module")
def asia(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "asia.csv"
    pyarrow.csv.write_csv(sample_asia(), path)
    return path


@pytest.fixture(scope="module")
def long_work(tmp_path_factory):
    """Random data that takes far longer to score than any test waits."""
    path = tmp_path_factory.mktemp("data") / "long.csv"
    values = np.random.default_rng(0).integers(0, 2, (1000, 40))
    pyarrow.csv.write_csv(pa.table({f"v{i}": values[:, i] for i in range(40)}), path)
    return path


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    x = np.random.default_rng(1).normal(size=(60, 2))
    kind = ["a" if value > 0 else "b" for value in x[:, 0]]
    pyarrow.csv.write_csv(pa.table({"x": x[:, 0], "y": x[:, 0] + x[:, 1], "kind": kind}), path)
    return path


# Scoring.


@pytest.mark.parametrize("ending", ["jkl", "pss", "scores"])
def test_score_writes_what_the_function_returns(asia, tmp_path, ending):
    out = tmp_path / f"asia.{ending}"
    result = run("score", asia, "--score", "bic", "--bayes-factor", 20, "-o", out)
    assert result.exit_code == 0, result.output
    assert read_scores(out).same_as(score_parent_sets(asia, bayes_factor=20))
    assert "113 candidate parent sets survive" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_score_takes_the_format_from_the_option(asia, tmp_path):
    out = tmp_path / "scores.txt"
    assert run("score", asia, "-o", out, "--format", "pss").exit_code == 0
    assert read_scores(out, format="pss").n_candidates == 113


def test_score_without_a_file_prints_the_best_sets(asia):
    result = run("score", asia)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["xray", "16", "-199.273", "either"] in lines
    assert ["asia", "6", "-64.002", "(none)"] in lines


def test_options_reach_the_function(asia, tmp_path):
    tiers = tmp_path / "tiers.txt"
    tiers.write_text("asia, smoke\ntub, lung, bronc, either, xray, dysp\n")
    out = tmp_path / "asia.scores"
    words = ["--score", "bdeu", "--ess", 2, "--epsilon", 1.5, "--edge-penalty", 0.5, "--engine", "descent"]
    words += [
        "--max-parents",
        2,
        "--max-parents",
        "dysp=3",
        "--forbid",
        "xray->dysp",
        "--require",
        "smoke->lung",
    ]
    result = run("score", asia, *words, "--tiers", tiers, "--threads", 1, "-o", out)
    assert result.exit_code == 0, result.output
    provenance = read_scores(out).provenance
    assert provenance["score"] == "bdeu"
    assert provenance["equivalent_sample_size"] == 2
    assert provenance["epsilon"] == 1.5
    assert provenance["engine"] == "descent"
    assert provenance["prior"] == {"kind": "edge penalty", "log_penalty": 0.5}
    limits = dict.fromkeys(sample_asia().column_names, 2) | {"dysp": 3}
    assert provenance["constraints"] == {
        "forbidden_edges": [["xray", "dysp"]],
        "required_edges": [["smoke", "lung"]],
        "tiers": [["asia", "smoke"], ["tub", "lung", "bronc", "either", "xray", "dysp"]],
        "max_parents": limits,
    }


@pytest.mark.parametrize(
    ("words", "score"),
    [
        (["--score", "gaussian-bic"], "gaussian-bic"),
        (["--score", "bge"], "bge"),
        (["--score", "conditional-gaussian-bic"], "conditional-gaussian-bic"),
        (["--discretise", "median"], "bic"),
        (["--discretise", "x=equal_frequency:3", "--discretise", "y=-0.5,0.5"], "aic"),
    ],
)
def test_numbers_can_be_scored(numbers, tmp_path, words, score):
    if score in ("gaussian-bic", "bge"):
        table = pyarrow.csv.read_csv(numbers).drop_columns(["kind"])
        pyarrow.csv.write_csv(table, numbers)
    result = run("score", numbers, "--score", score, *words, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["score"] == score


def test_weights_and_missing_values(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("a,b,n\nx,u,5\ny,v,4\nx,,1\ny,u,2\n")
    assert run("score", path, "--weights", "n").exit_code == 2
    dropped = run("score", path, "--weights", "n", "--missing", "drop", "--json")
    assert json.loads(dropped.stdout)["n_rows"] == 11
    assert dropped.stderr.startswith("warning: dropped 1 of 12 rows")
    kept = run("score", path, "--weights", "n", "--missing", "state", "--json")
    assert json.loads(kept.stdout)["n_rows"] == 12


def test_json_is_all_of_standard_output(asia, tmp_path):
    out = tmp_path / "asia.jkl"
    done = run_script("score", asia, "--bayes-factor", 20, "-o", out, "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    seconds = facts.pop("seconds")
    assert facts == {
        "n_variables": 8,
        "n_rows": 1000,
        "score": "bic",
        "epsilon": math.log(20),
        "n_candidates": 113,
        "engine": "table",
        "out": str(out),
    }
    assert set(seconds) == {"read", "score", "total"}
    assert 0 < seconds["read"] + seconds["score"] <= seconds["total"] + 1e-5


def test_warnings_go_to_standard_error(tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("a,b,c\nx,u,k\ny,v,k\nx,v,k\n")
    done = run_script("score", path, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["out"] is None
    assert done.stderr.startswith("warning: column 'c' is constant")
    assert len(done.stderr.splitlines()) == 1


def test_estimate_does_not_score(long_work, tmp_path):
    result = run("score", long_work, "--score", "bdeu", "--estimate")
    assert result.exit_code == 0
    assert "1,099,511,627,776" in result.stdout
    facts = json.loads(run("score", long_work, "--max-parents", 2, "--estimate", "--json").stdout)
    assert facts["n_searched"] == 40
    assert facts["n_local_scores"] == 40 * (1 + 39 + 39 * 38 // 2)


def test_names_agree_with_the_library():
    scores = (BIC(), BDeu(1.0), AIC(), GaussianBIC(), BGe(), ConditionalGaussianBIC())
    assert ("auto", *(score.name for score in scores)) == SCORES == get_args(ScoreName)
    for score in scores:
        assert columns_taken(score.name) == score.columns


# The other commands.


def test_data_describes_a_file(asia, numbers):
    result = run("data", asia)
    assert result.exit_code == 0
    assert result.stdout.startswith("1,000 rows, 39 distinct; 8 columns\n")
    assert re.search(r"^asia +categorical +text +2 +0 +no: 989, yes: 11$", result.stdout, flags=re.M)
    assert result.stdout.splitlines()[-1] == f"credibn learn {shlex.quote(str(asia))}"
    summary = json.loads(run("data", numbers, "--json").stdout)
    assert summary["n_rows"] == 60
    assert [column["kind"] for column in summary["columns"]] == ["numeric", "numeric", "categorical"]
    assert re.search(r"^x +numeric +fractions +60 +0 +-\d.* to \d", run("data", numbers).stdout, flags=re.M)


def test_data_counts_missing_values_and_cuts_long_lists(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("id,b\n" + "".join(f"r{k},{'' if k < 3 else 'u'}\n" for k in range(150)))
    stdout = run("data", path).stdout
    assert re.search(r"^b +categorical +text +1 +3 +u: 147$", stdout, flags=re.M)
    assert re.search(r"^id +categorical +text +150 +0 +r0: 1, .*, \.\.\.$", stdout, flags=re.M)


MESSY = {
    "identifiers, dates, gaps, a constant and a sum": lambda: {
        "id": [f"M-{row:03}" for row in range(60)],
        "day": [f"2024-01-01 {row // 60:02}:{row % 60:02}:00" for row in range(60)],
        "age": [18 + row * 7 % 59 for row in range(60)],
        "kg": [None if row == 7 else 50 + row * 11 % 60 / 10 for row in range(60)],
        "both": [None if row == 7 else 18 + row * 7 % 59 + 50 + row * 11 % 60 / 10 for row in range(60)],
        "sex": ["fm"[row // 3 % 2] for row in range(60)],
        "land": ["DE"] * 60,
        "note": [None] * 55 + ["x"] * 5,
    },
    "a fractional column with gaps": lambda: {
        "x, y": [None if row % 5 == 0 else row * 7 % 30 / 4 for row in range(60)],
        "k": [row % 3 for row in range(60)],
    },
    "only gaps in half of the rows": lambda: {
        "a": [None if row % 2 else "u" for row in range(60)],
        "b": [row % 3 for row in range(60)],
        "c": [row // 7 % 2 for row in range(60)],
    },
}


@pytest.mark.parametrize("content", MESSY)
def test_data_describes_any_table_and_ends_with_a_command_that_works(content, tmp_path):
    path = tmp_path / "a table.csv"
    pyarrow.csv.write_csv(pyarrow.table(MESSY[content]()), path)
    result = run("data", path)
    assert result.exit_code == 0
    command = result.stdout.splitlines()[-1]
    assert command.startswith("credibn learn '")
    learned = run(*shlex.split(command)[1:], "--threads", 1)
    assert learned.exit_code == 0, learned.stderr
    assert "No network that scores at least" in learned.stdout
    assert json.loads(run("data", path, "--json").stdout)["command"] == command


def test_data_prints_any_name_as_it_is(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(f"[bold]a[/bold],{'long' * 50}\n[red],:smile:\n[/],x\n")
    stdout = run("data", path).stdout
    assert "[bold]a[/bold]" in stdout
    assert "[red]: 1" in stdout
    assert "long" * 50 in stdout
    assert ":smile:: 1" in stdout


def test_convert_keeps_the_scores(asia, tmp_path):
    first, second, third = (tmp_path / name for name in ("a.scores", "b.txt", "c.jkl"))
    assert run("score", asia, "-o", first).exit_code == 0
    assert run("convert", first, second, "--to", "pss").exit_code == 0
    result = run("convert", second, third, "--from", "pss", "--json")
    assert json.loads(result.stdout) == {"n_variables": 8, "n_candidates": 113, "out": str(third)}
    assert read_scores(third).same_as(read_scores(first))


@pytest.mark.parametrize(("example", "rows"), [("asia", sample_asia()), ("tic-tac-toe", tic_tac_toe())])
def test_demo_ends_with_the_page(tmp_path, example, rows):
    out = tmp_path / "new" / "demo"
    result = run("demo", "--out", out, "--example", example)
    assert result.exit_code == 0
    page = Path(result.stdout.splitlines()[-1])
    assert page.is_absolute()
    assert page == (out / f"{example}.html").resolve()
    assert "candidate parent sets survive" in page.read_text(encoding="utf-8")
    found = CredibleSet.load(out / "result.credibn")
    assert found.complete
    assert found.bayes_factor == pytest.approx(20)
    assert result.stdout.splitlines()[0] == learning_headline(found)
    assert learning_headline(found) in page.read_text(encoding="utf-8")
    assert pyarrow.csv.read_csv(out / f"{example}.csv").equals(rows)
    assert read_scores(out / f"{example}.pss").same_as(score_parent_sets(out / f"{example}.csv"))


@pytest.mark.slow
def test_demo_script_takes_a_relative_folder(tmp_path):
    done = run_script("demo", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == str((tmp_path / "here" / "asia.html").resolve())


def test_version_help_and_completion():
    assert re.fullmatch(r"credibn \d+\.\d+.*\n", run("--version").stdout)
    stdout = " ".join(run("--help").stdout.split())
    assert "3 a limit was reached, so the result is not complete; 4 a result could not be written" in stdout
    assert "130 interrupted" in stdout
    assert "'credibn --install-completion' teaches your shell" in stdout
    results = ["edges", "report", "predict", "fit", "sample", "posterior"]
    for command in ("score", "learn", "kbest", "optimum", "data", "convert", "demo", *results):
        assert command in stdout
        assert run(command, "--help").exit_code == 0
    environment = {
        **os.environ,
        "_CREDIBN_COMPLETE": "complete_bash",
        "COMP_WORDS": "credibn sc",
        "COMP_CWORD": "1",
    }
    assert run_script(env=environment).stdout.split() == ["score"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(shell):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = run_script("--show-completion", shell, env=environment)
    assert shown.returncode == 0
    assert "_CREDIBN_COMPLETE" in shown.stdout


def test_completion_of_the_options_of_a_command():
    environment = {
        **os.environ,
        "_CREDIBN_COMPLETE": "complete_bash",
        "COMP_WORDS": "credibn edges result --fo",
        "COMP_CWORD": "3",
    }
    assert run_script(env=environment).stdout.split() == ["--format"]


# Mistakes.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "none.csv"], r"^error: 'none.csv' was not found"),
        (["score", "{asia}", "--bayes-factor", "0.5"], r"^error: .*must be 1 or more"),
        (
            ["score", "{asia}", "--bayes-factor", "3", "--epsilon", "1"],
            r"^error: both --bayes-factor 3.0 and --eps",
        ),
        (["score", "{asia}", "--ess", "2"], r"^error: --ess 2.0 was given with score 'bic'"),
        (["score", "{asia}", "--max-parents", "many"], r"^error: --max-parents is 'many'"),
        (
            ["score", "{asia}", "--max-parents", "1", "--max-parents", "2"],
            r"^error: --max-parents is given twice",
        ),
        (
            ["score", "{asia}", "--max-parents", "nobody=2"],
            r"^error: unknown variable in --max-parents 'nobody'",
        ),
        (["score", "{asia}", "--forbid", "asia"], r"^error: --forbid: 'asia' is not an edge"),
        (["score", "{asia}", "--tiers", "none.txt"], r"^error: .*none.txt"),
        (["score", "{asia}", "--edge-penalty", "-1"], r"^error: the edge penalty is -1.0"),
        (["score", "{asia}", "--threads", "0"], r"^error: --threads is 0"),
        (
            ["score", "{asia}", "--score", "bic", "--numeric", "asia"],
            r"^error: --numeric asia was given with a score that takes categorical columns only: pass --score auto",
        ),
        (
            ["score", "{asia}", "--discretise", "mean", "--discretise", "asia=mean"],
            r"^error: --discretise mean applies to",
        ),
        (
            ["score", "{asia}", "--discretise", "x=mean", "--discretise", "x=mean"],
            r"^error: --discretise names 'x' tw",
        ),
        (["score", "{asia}", "--discretise", "thirds"], r"^error: --discretise: 'thirds' is not a rule for bins"),
        (["score", "{asia}", "--weights", "nobody"], r"^error: --weights names 'nobody'"),
        (["score", "{asia}", "-o", "scores.txt"], r"^error: 'scores.txt' ends in '.txt'; .* or --format$"),
        (
            ["score", "{asia}", "-o", "none/asia.jkl"],
            r"^error: none/asia.jkl cannot be written \(No such file",
        ),
        (["score", "{asia}", "-o", "."], r"^error: \. is a folder"),
        (["score", "{asia}", "--score", "best"], r"'best' is not one of"),
        (["score"], r"Missing argument"),
        (["data", "none.csv"], r"^error: 'none.csv' was not found"),
        (["convert", "none.jkl", "out.pss"], r"^error: none.jkl: cannot be read"),
        (["convert", "{asia}", "out.pss"], r"^error: 'asia.csv' ends in '.csv'"),
        (["demo", "--out", "{asia}"], r"^error: .*asia.csv cannot be written \(File exists\)"),
        (["search"], r"No such command"),
    ],
)
def test_mistakes_are_explained_without_a_traceback(asia, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = run(*(str(asia) if word == "{asia}" else word for word in words))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(message, result.stderr, flags=re.M), result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_script_reports_mistakes_alike(asia, tmp_path):
    done = run_script("score", "none.csv", "--json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'none.csv' was not found")
    assert "Traceback" not in done.stderr


def test_a_name_that_the_file_cannot_carry_is_noticed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "credibn.cli.scoring.score_parent_sets", lambda *_, **__: pytest.fail("scored before the check")
    )
    path = tmp_path / "blank.csv"
    path.write_text("a b,c\nx,u\ny,v\n")
    result = run("score", path, "-o", tmp_path / "out.jkl")
    assert result.exit_code == 2
    assert "'a b' cannot be written to a jkl file" in result.stderr


def test_unexpected_errors_are_not_hidden(asia, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr("credibn.cli.options.read_table", fail)
    result = run("score", asia)
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


@pytest.mark.parametrize(
    ("option", "python", "shell"),
    [
        (Option("n_threads"), "n_threads", "--threads"),
        (Option("missing", "state"), "missing='state'", "--missing state"),
        (Option("max_states", 435), "max_states=435", "--max-states 435"),
        (Option("discretise", {"a b": "mean"}), "discretise={'a b': 'mean'}", "--discretise 'a b=mean'"),
        (Option("ignore_extra", True), "ignore_extra=True", "--ignore-extra"),
        (Option("state_names"), "state_names", "state_names"),
    ],
)
def test_an_option_in_a_message_is_written_for_its_reader(option, python, shell):
    flags = {
        "n_threads": "--threads",
        "missing": "--missing",
        "max_states": "--max-states",
        "discretise": "--discretise",
        "ignore_extra": "--ignore-extra",
    }
    error = CredibnError("pass {} to max_parents.csv", option)
    assert str(error) == f"pass {python} to max_parents.csv"
    assert error.worded(lambda named: flag_text(flags, named)) == f"pass {shell} to max_parents.csv"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["score", "{asia}", "--max-states", "1"],
            "more than --max-states 1: leave the column out with --drop asia, or pass --max-states 2 if each",
        ),
        (["score", "{asia}", "--forbid", "zz->lung"], "unknown variable in --forbid 'zz'"),
        (["score", "{asia}", "--require", "max_parents->b"], "unknown variable in --require 'max_parents'"),
        (["data", "{asia}", "--categorical", "lung", "--drop", "lung"], "in both --categorical lung and --drop"),
        (["learn", "{asia}", "--posterior-share", "--memory-limit", "1B"], "raise --memory-limit or set --max-parents"),
    ],
)
def test_errors_of_the_library_name_the_flags_of_the_shell(asia, words, message):
    result = run(*(asia if word == "{asia}" else word for word in words))
    assert result.exit_code == 2
    assert message in result.stderr


# Ctrl-C and the progress bar.


@contextlib.contextmanager
def started(*words, **streams):
    """Start the script so that it obeys SIGINT, even where this process was told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen([str(word) for word in (SCRIPT, *words)], **streams)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until_it_works(process):
    """Wait until it has spent processor time on scoring: more than on starting and reading."""
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(600):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks > 3 or process.poll() is not None:
            return
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see the work begin")
def test_ctrl_c_stops_soon_and_leaves_no_file(long_work, tmp_path):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started("score", long_work, "--score", "bdeu", "-o", tmp_path / "long.jkl", "--json", **pipes) as process:
        wait_until_it_works(process)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)  # the work itself takes far longer
    assert (process.returncode, stdout, stderr) == (130, "", "stopped; nothing was written\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_ctrl_c_while_reading(asia, monkeypatch, kind):
    def fail(*_, **__):
        raise kind("Query interrupted")  # as DuckDB does

    monkeypatch.setattr("credibn.data.reading.open_source", fail)
    result = run("score", asia)
    assert result.exit_code == 130
    assert result.stderr == "stopped; nothing was written\n"


def read_terminal(reader, enough):
    seen = b""
    while not enough(seen):
        try:
            chunk = os.read(reader, 1 << 16)
        except OSError:  # The other end is closed.
            break
        if not chunk:
            break
        seen += chunk
    return seen.decode()


def test_progress_bar_only_on_a_terminal(long_work, asia, tmp_path):
    reader, terminal_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    streams = {"stdout": subprocess.PIPE, "stderr": terminal_end, "env": environment}
    with started("score", long_work, "--score", "bdeu", "--json", **streams) as process:
        os.close(terminal_end)
        seen = read_terminal(reader, lambda text: b"%" in text and text.count(b"0:00:0") >= 2)
        assert "scoring" in seen
        assert re.search(r"\d+%", seen)
        process.send_signal(signal.SIGINT)
        rest = read_terminal(reader, lambda _: False)
        assert process.wait(timeout=30) == 130
        assert process.stdout.read() == b""
        process.stdout.close()
    os.close(reader)
    assert rest.endswith("stopped; nothing was written\r\n")
    assert "\x1b[?25h" in rest, "the cursor is shown again"


@pytest.mark.slow
def test_short_work_shows_no_bar(asia):
    reader, terminal_end = pty.openpty()
    with started("score", asia, "--json", stdout=subprocess.PIPE, stderr=terminal_end) as process:
        os.close(terminal_end)
        assert read_terminal(reader, lambda _: False) == ""
        assert process.wait(timeout=30) == 0
        assert json.loads(process.stdout.read())["n_candidates"] == 113
        process.stdout.close()
    os.close(reader)
