"""The command ``effects``: one pair, all pairs, where it finds the table, and what it refuses."""

import json

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn import learn
from credibn.cli.app import app
from credibn.examples import sample_asia


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("effects")
    pyarrow.csv.write_csv(sample_asia(), folder / "clinic.csv")
    learn(folder / "clinic.csv").save(folder / "clinic.credibn")
    return folder


def run(*words):
    return CliRunner().invoke(app, ["effects", *map(str, words)])


def test_a_pair_is_answered_as_in_python(folder):
    result = run(folder / "clinic.credibn", "--cause", "smoke", "--outcome", "dysp", "--json")
    assert result.exit_code == 0, result.output
    found = learn(folder / "clinic.csv")
    expected = found.effects(folder / "clinic.csv", cause="smoke", outcome="dysp")
    assert json.loads(result.stdout) == {**expected.as_json(), "complete": True}
    shown = run(folder / "clinic.credibn", "--cause", "smoke", "--outcome", "dysp")
    assert shown.stdout == expected.summary() + "\n"


def test_states_can_be_chosen(folder):
    words = ("--cause", "smoke", "--outcome", "dysp", "--from", "yes", "--to", "no", "--state", "no", "--json")
    answer = json.loads(run(folder / "clinic.credibn", *words).stdout)
    assert (answer["change"], answer["state"]) == (["yes", "no"], "no")
    assert answer["mean"] == pytest.approx(0.1533, abs=1e-4)


def test_all_pairs_are_a_table(folder, tmp_path):
    result = run(folder / "clinic.credibn", "-o", tmp_path / "effects.csv")
    assert result.exit_code == 0, result.output
    assert pyarrow.csv.read_csv(tmp_path / "effects.csv").column_names == ["cause", "outcome", "strength", "path"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cause", "smoke"), "--outcome is missing"),
        (("--cause", "smoke", "--outcome", "dysp", "--from", "no"), "one of --from and --to is missing"),
        (
            ("--cause", "smoke", "--outcome", "dysp", "--from", "none", "--to", "yes"),
            "--from or --to is 'none'; the states of 'smoke' are no, yes",
        ),
        (("--cause", "smoke", "--outcome", "dysp", "--state", "maybe"), "--state is 'maybe'; the states of 'dysp' are"),
    ],
)
def test_what_cannot_be_asked_is_refused(folder, words, message):
    result = run(folder / "clinic.credibn", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_table_that_is_not_at_hand_is_asked_for_by_name(folder, tmp_path):
    result = run(
        (folder / "clinic.credibn").rename(tmp_path / "moved.credibn"), "--cause", "smoke", "--outcome", "dysp"
    )
    (tmp_path / "moved.credibn").rename(folder / "clinic.credibn")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: 'clinic.csv' that the result was learned from is not in this folder or beside it; give --data TABLE\n"
    )


def test_predict_sets_a_variable(folder):
    (folder / "rows.csv").write_text("asia\nno\nyes\n", encoding="utf-8")
    words = ["predict", str(folder / "clinic.credibn"), str(folder / "rows.csv"), "--target", "dysp", "--proba"]
    table = "--data", str(folder / "clinic.csv")
    predicted = CliRunner().invoke(app, [*words, "--do", "smoke=no", *table, "--json"])
    assert predicted.exit_code == 0, predicted.output
    answer = json.loads(predicted.stdout)["columns"]
    assert answer["dysp=yes"] == pytest.approx([0.354, 0.387], abs=1e-3)
    for value, message in {
        "smoke": "give NAME=VALUE",
        "smoke=often": "the states of 'smoke' are",
        "smok=no": "unknown variable in --do 'smok': did you mean 'smoke'",
    }.items():
        refused = CliRunner().invoke(app, [*words, "--do", value, *table])
        assert refused.exit_code == 2
        assert message in " ".join(refused.output.split())


def test_the_sign_that_flips_is_the_one_that_the_mean_has_not():
    table = sample_asia()
    found = learn(table)
    up = found.effects(table, cause="smoke", outcome="dysp")
    down = found.effects(table, cause="smoke", outcome="dysp", change=("yes", "no"))
    assert up.mean > 0 > down.mean
    assert up.sign_flip == up.negative == pytest.approx(0.032, abs=0.005)
    assert down.sign_flip == down.positive


def test_experiments_are_listed_without_a_table(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run(folder / "clinic.credibn", "--experiments", "--json")
    assert shown.exit_code == 0, shown.output
    answer = json.loads(shown.stdout)["columns"]
    assert answer["variable"][:2] == ["smoke", "lung"]
    assert answer["share"][0] == pytest.approx(0.80, abs=0.01)
    assert run(folder / "clinic.credibn", "--experiments", "--cause", "smoke").exit_code == 2
