"""Rows with experiments on the command line."""

import json

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn.cli.app import app
from credibn.examples import sample_experiments


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(sample_experiments(), tmp_path / "cells.csv")


def run(*words):
    return CliRunner().invoke(app, words)


def test_learn_and_effects_read_what_was_set_from_a_column(cells):
    learned = run("learn", "cells.csv", "--interventions", "set", "--out", "cells", "--threads", "1")
    assert learned.exit_code == 0, learned.output
    assert "1 network in 1 interventional equivalence class over 7 variables" in learned.output
    assert (
        "pkc -> pka, pkc -> raf, pkc -> p38, pka -> raf, pka -> erk, raf -> mek, mek -> erk, erk -> akt"
        in learned.output
    )
    effects = run("effects", "cells", "--cause", "mek", "--outcome", "erk", "--json")
    assert effects.exit_code == 0, effects.output
    assert json.loads(effects.stdout)["mean"] == pytest.approx(0.5118, abs=1e-4)


def test_the_error_for_an_unknown_column_names_the_flag(cells):
    learned = run("learn", "cells.csv", "--interventions", "sets")
    assert learned.exit_code != 0
    assert "--interventions names 'sets', which is not a column: did you mean 'set'" in learned.output
