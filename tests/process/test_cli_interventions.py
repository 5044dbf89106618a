"""Rows with experiments on the command line."""

import json
from pathlib import Path

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


def test_predict_and_report_read_the_table_as_learn_read_it(cells):
    learned = run("learn", "cells.csv", "--interventions", "set", "--out", "cells", "--threads", "1")
    assert learned.exit_code == 0, learned.output
    (Path() / "new.csv").write_text("pka\nlow\n")
    words = "--target", "erk", "--do", "mek=low", "--data", "cells.csv"
    predicted = run("predict", "cells", "new.csv", *words)
    assert predicted.exit_code == 0, predicted.output
    page = run("report", "cells", "--data", "cells.csv", "--effects", "--out", "page.html")
    assert page.exit_code == 0, page.output
    assert "What setting a variable does" in Path("page.html").read_text()


def test_names_and_states_of_do_may_have_signs_of_equality(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("a=b,c\n" + "x=1,u\ny,v\n" * 20)
    assert run("learn", "table.csv", "--out", "found", "--threads", "1").exit_code == 0
    words = "--target", "c", "--do", "a=b=x=1", "--data", "table.csv"
    predicted = run("predict", "found", "table.csv", *words)
    assert predicted.exit_code == 0, predicted.output
