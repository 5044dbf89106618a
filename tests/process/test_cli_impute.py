"""Gaps on the command line."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from credibn import impute_and_learn
from credibn.cli.app import app
from credibn.examples import sample_example


@pytest.fixture
def garden(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sample_example("sprinkler", 100).to_pandas()
    table.mask(np.random.default_rng(0).random(table.shape) < 0.1).to_csv("garden.csv", index=False)


def run(*words):
    return CliRunner().invoke(app, words)


def test_impute_prints_a_summary_and_the_pairs_and_writes_them(garden):
    few = "--imputations", "2", "--rounds", "4", "--threads", "1"
    shown = run("impute", "garden.csv", *few)
    assert shown.exit_code == 0, shown.output
    assert "They were filled in 2 times, each in 4 rounds." in shown.stdout
    assert "missing at random" in shown.stdout
    as_json = run("impute", "garden.csv", *few, "--json", "--out", "pairs.csv")
    facts = json.loads(as_json.stdout, parse_constant=lambda text: pytest.fail(text))
    assert (facts["n_imputations"], facts["n_rounds"], facts["out"]) == (2, 4, "pairs.csv")
    assert list(pd.read_csv("pairs.csv").columns)[:5] == ["first", "second", "forward", "backward", "joined"]


def test_impute_writes_tables_and_the_report_to_a_folder(garden):
    shown = run("impute", "garden.csv", "--imputations", "2", "--rounds", "4", "--threads", "1", "--out", "a/garden")
    assert shown.exit_code == 0, shown.output
    assert "report: a/garden/report.html" in shown.stderr
    assert sorted(path.name for path in Path("a/garden").iterdir()) == ["edges.csv", "r_hat.csv", "report.html"]
    assert list(pd.read_csv("a/garden/r_hat.csv").columns) == ["of", "r_hat"]
    page = unescape(Path("a/garden/report.html").read_text(encoding="utf-8"))
    call = re.search(r"<pre.*?>(.*?)</pre>", page, flags=re.DOTALL)[1]
    made = {}
    exec(call, made)
    made["found"].write_report("again.html")
    assert unescape(Path("again.html").read_text(encoding="utf-8")) == page


def test_impute_refuses_a_folder_that_cannot_be_made_before_the_work(garden):
    Path("file").touch()
    refused = run("impute", "garden.csv", "--out", "file/garden")
    assert refused.exit_code != 0
    assert "file/garden" in refused.output


def test_impute_refuses_a_table_of_an_unknown_kind(garden):
    refused = run("impute", "garden.csv", "--out", "pairs.xlsx")
    assert refused.exit_code != 0
    assert "tables are written to .csv, .tsv, .parquet files" in " ".join(refused.output.split())
    assert not Path("pairs.xlsx").exists()


def test_missing_values_are_refused_with_the_command_that_fills_them_in(garden):
    refused = run("learn", "garden.csv")
    assert refused.exit_code != 0
    assert "'credibn impute' in the shell" in " ".join(refused.output.split())


def test_impute_refuses_to_drop_rows(garden):
    refused = run("impute", "garden.csv", "--missing", "drop")
    assert refused.exit_code != 0
    assert "--missing drop leaves no gaps to fill in" in " ".join(refused.output.split())


def test_impute_refuses_interventions_instead_of_taking_their_column_for_a_variable(garden):
    table = pd.read_csv("garden.csv")
    table.assign(set=np.where(table.index % 3, "", "Rain")).to_csv("set.csv", index=False)
    refused = run("impute", "set.csv", "--interventions", "set")
    assert refused.exit_code == 2
    assert (
        "--interventions cannot be combined with gaps to fill in: leave it out, and its column too with --drop set"
        in (" ".join(refused.output.split()))
    )


def test_a_run_that_the_time_limit_ends_has_the_exit_status_of_a_limit(garden, monkeypatch):
    def limited(*args, **options):
        result = impute_and_learn(*args, **{**options, "time_limit": None, "progress": False})
        return replace(result, stopped_because="time_limit")

    monkeypatch.setattr("credibn.cli.impute.impute_and_learn", limited)
    stopped = run("impute", "garden.csv", "--imputations", "2", "--rounds", "4", "--threads", "1", "--json")
    assert json.loads(stopped.stdout)["complete"] is False
    assert stopped.exit_code == 3
