"""The commands `learn` and `kbest`."""

import json
import math
import os
import re
import signal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from brute_force_engine import Waiting
from credibn import CredibleSet, k_best_classes, k_best_networks, learn, score_parent_sets, write_scores
from credibn._run.progress import stage_bars
from credibn.cli.app import app
from credibn.errors import TimeLimitError
from credibn.examples import sample_asia
from credibn.search import ENGINES

KEYS = [
    "n_variables",
    "n_rows",
    "score",
    "epsilon",
    "optimal_score",
    "n_candidates",
    "n_networks",
    "n_classes",
    "posterior_share",
    "complete",
    "stopped_because",
]
COLUMNS = "4 categorical columns (v0, v1, v2, v3); score bic\n"
HOW_IT_WENT = ["engine", "seconds", "peak_memory_mb"]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 60)
    columns = [x, x, rng.integers(0, 2, 60), (x + (rng.random(60) < 0.2)) % 2]
    path = tmp_path_factory.mktemp("data") / "four.csv"
    pyarrow.csv.write_csv(
        pa.table({f"v{k}": [f"s{value}" for value in column] for k, column in enumerate(columns)}), path
    )
    return path


def test_json_is_all_of_standard_output(data, engine):
    result = run("learn", data, "--bayes-factor", 150, "--engine", engine, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == COLUMNS
    facts = json.loads(result.stdout)
    assert list(facts) == [*KEYS, *HOW_IT_WENT]
    expected = learn(data, bayes_factor=150, engine=engine)
    assert facts["n_variables"] == 4
    assert facts["n_rows"] == 60
    assert facts["score"] == "bic"
    assert facts["epsilon"] == math.log(150)
    assert facts["optimal_score"] == expected.optimal_score
    assert facts["n_candidates"] == expected.score_table.n_candidates
    assert facts["n_networks"] == expected.n_networks
    assert facts["n_classes"] == expected.n_classes
    assert facts["complete"] is True
    assert facts["stopped_because"] is None
    assert facts["engine"] == engine
    assert list(facts["seconds"]) == ["read", "score", "search", "posterior", "total"]
    assert sum(facts["seconds"].values()) <= 2 * facts["seconds"]["total"] + 1e-4
    assert facts["peak_memory_mb"] > 1


def test_text_shows_the_best_classes(data, engine):
    result = run("learn", data, "--engine", engine)
    assert result.exit_code == 0, result.output
    expected = learn(data, engine=engine)
    assert result.stdout.startswith(expected.summary())
    assert re.search(
        r"^score +networks +of the set +of all networks +edges of the class$".replace("^", "^ *"),
        result.stdout,
        flags=re.M,
    )
    assert "v0 -- v1" in result.stdout
    many = run("learn", data, "--engine", engine, "--epsilon", 10)
    assert re.search(r"^\.\.\. and \d+ more$", many.stdout, flags=re.M)


def test_options_reach_the_function(data, engine, tmp_path):
    tiers = tmp_path / "tiers.txt"
    tiers.write_text("v0, v1\nv2, v3\n")
    words = ["--score", "bdeu", "--ess", 2, "--epsilon", 4.5, "--edge-penalty", 0.5, "--max-parents", 2]
    words += ["--forbid", "v0->v2", "--require", "v0->v3", "--tiers", tiers, "--threads", 1, "--unit", "networks"]
    words += ["--max-networks", 1000, "--max-classes", 1000, "--time-limit", 100, "--memory-limit", 2]
    out = tmp_path / "new" / "out"
    result = run("learn", data, *words, "--engine", engine.replace("_", "-"), "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found = CredibleSet.load(out / "result.credibn")
    assert found.settings["score"] == "bdeu"
    assert found.settings["equivalent_sample_size"] == 2
    assert found.settings["epsilon"] == found.epsilon == 4.5
    assert found.settings["forbidden_edges"] == ["v0->v2"]
    assert found.settings["required_edges"] == ["v0->v3"]
    assert found.settings["tiers"] == [["v0", "v1"], ["v2", "v3"]]
    assert found.settings["prior"] == {"kind": "edge penalty", "log_penalty": 0.5}
    assert found.settings["max_parents"] == 2
    assert found.settings["memory_limit"] == 2 << 30
    assert found.settings["unit"] == "networks"
    assert found.settings["time_limit"] == 100
    assert all(("v0", "v3") in graph.edges and ("v0", "v2") not in graph.edges for graph in found.networks())


def test_out_writes_the_set_and_a_summary(data, engine, tmp_path):
    out = tmp_path / "out"
    result = run("learn", data, "--engine", engine, "-o", out)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "result.credibn", "run.json", "summary.json"]
    found = CredibleSet.load(out / "result.credibn")
    expected = learn(data, engine=engine)
    assert found.rows.choices.tobytes() == expected.rows.choices.tobytes()
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary)[: len(KEYS)] == KEYS
    assert not set(HOW_IT_WENT) & set(summary)
    assert list(json.loads((out / "run.json").read_text())) == [*HOW_IT_WENT, "statistics"]
    assert summary["n_networks"] == expected.n_networks
    assert summary["guarantee"] == expected.guarantee
    assert summary["names"] == list(expected.names)
    assert result.stdout.endswith(f"written to {out}\n")
    assert result.stderr == f"{COLUMNS}report: {out / 'report.html'}\n"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert '<p class="headline">36 networks in 12 classes hold 90.8 % of the posterior' in page
    assert "60, of which" in page


def test_ratio(data, engine):
    facts = json.loads(run("learn", data, "--ratio", 1.02, "--engine", engine, "--json").stdout)
    assert facts["epsilon"] == pytest.approx(-0.02 * facts["optimal_score"])


def test_scores_instead_of_data(data, engine, tmp_path):
    path = tmp_path / "four.scores"
    write_scores(score_parent_sets(data), path)
    facts = json.loads(run("learn", "--scores", path, "--engine", engine, "--json").stdout)
    assert facts["n_networks"] == learn(data, engine=engine).n_networks
    unknown = tmp_path / "four.jkl"
    write_scores(score_parent_sets(data), unknown)
    result = run("learn", "--scores", unknown, "--engine", engine, "--score-equivalent", "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: these scores do not say")
    facts = json.loads(result.stdout)
    assert (facts["n_rows"], facts["score"]) == (None, None)


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["--max-networks", 1], "max_networks"), (["--max-classes", 1], "max_classes")],
)
def test_reaching_a_limit_has_its_own_status(data, engine, tmp_path, words, reason):
    result = run("learn", data, "--epsilon", 10, "--engine", engine, *words, "--json", "-o", tmp_path)
    assert result.exit_code == 3
    facts = json.loads(result.stdout)
    assert (facts["complete"], facts["stopped_because"]) == (False, reason)
    assert result.stderr.startswith(f"{COLUMNS}incomplete ({reason}): The optimum is proven.")
    assert not CredibleSet.load(tmp_path / "result.credibn").complete


@pytest.mark.slow
def test_time_limit(data, tmp_path, monkeypatch):
    monkeypatch.setitem(ENGINES, "waiting", Waiting())
    result = run("learn", data, "--epsilon", 6, "--engine", "waiting", "--time-limit", 2, "--json", "-o", tmp_path)
    assert result.exit_code == 3, result.output
    assert json.loads(result.stdout)["stopped_because"] == "time_limit"
    monkeypatch.setitem(ENGINES, "waiting", Waiting(has_found=False))
    result = run("learn", data, "--engine", "waiting", "--time-limit", 2, "--json")
    assert result.exit_code == 3
    answer = json.loads(result.stdout)
    assert (answer["engine"], answer["complete"], answer["n_networks"]) == ("local_search", False, 1)


def test_scoring_that_takes_too_much_memory_names_flags(data):
    result = run("learn", data, "--memory-limit", "10B")
    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith("raise --memory-limit or set --max-parents")


def test_a_table_that_cannot_be_read_leaves_no_folder_behind(tmp_path):
    result = run("learn", tmp_path / "none.csv", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_options_of_reading_and_scoring_are_refused_beside_scores_by_their_flags(tmp_path):
    words = ["--numeric", "a", "--drop", "b", "--edge-penalty", "0.5", "--max-parents", "1"]
    result = run("learn", "--scores", tmp_path / "s.jkl", *words)
    assert result.stderr == (
        "error: --max-parents, --edge-penalty, --numeric or --categorical, --drop cannot change given scores: leave it "
        "out, or give the data instead\n"
    )


def test_an_early_time_limit_leaves_no_lock_behind(data, tmp_path, monkeypatch):
    def find(run):
        raise TimeLimitError("the time limit was reached")

    monkeypatch.setattr("credibn.cli.learn.find_credible_set", find)
    result = run("learn", data, "--time-limit", 9, "-o", tmp_path)
    assert (result.exit_code, result.stderr) == (3, f"{COLUMNS}error: the time limit was reached\n")
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_a_run_without_a_result_is_named(data, tmp_path, monkeypatch):
    def find(call):
        call.run.store.seconds_before_writing = 0.0
        call.run.store.save("test", "q", "state", {"a": np.arange(3)})
        raise TimeLimitError("the time limit was reached")

    monkeypatch.setattr("credibn.cli.learn.find_credible_set", find)
    note = f"finished tasks are saved in {tmp_path / 'checkpoint'}; run the same command to resume\n"
    result = run("learn", data, "--time-limit", 9, "-o", tmp_path)
    assert (result.exit_code, result.stderr) == (3, f"{COLUMNS}{note}error: the time limit was reached\n")
    result = run("learn", data, "--time-limit", 9, "-o", tmp_path)
    assert result.stderr.startswith(f"{COLUMNS}resuming from {tmp_path / 'checkpoint'}\n")


def test_files_are_complete_before_anything_is_printed(data, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("credibn.cli.learn.print_learned", lambda *_: seen.extend(p.name for p in tmp_path.iterdir()))
    run("learn", data, "-o", tmp_path)
    assert sorted(seen) == ["report.html", "result.credibn", "run.json", "summary.json"]


@pytest.mark.parametrize(("words", "is_limited"), [((), False), (("--time-limit", 3600), True)])
def test_the_report_is_under_the_time_limit(data, tmp_path, monkeypatch, words, is_limited):
    given = []
    monkeypatch.setattr("credibn.report.write_learning_page", lambda *words: given.append(words[-1]))
    run("learn", data, "-o", tmp_path, *words)
    (seconds,) = given
    assert (seconds is not None) is is_limited
    assert not is_limited or 0 < seconds < 3600


def test_ctrl_c_keeps_the_partial_result(data, tmp_path, monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupt = Waiting(before_waiting=lambda: os.kill(os.getpid(), signal.SIGINT))
        monkeypatch.setitem(ENGINES, "waiting", interrupt)
        result = run("learn", data, "--epsilon", 6, "--engine", "waiting", "--json", "-o", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.exit_code == 130
    assert json.loads(result.stdout)["stopped_because"] == "interrupted"
    partial = CredibleSet.load(tmp_path / "result.credibn")
    assert (partial.complete, partial.stopped_because) == (False, "interrupted")
    assert partial.n_networks > 0


def test_ctrl_c_while_writing_loses_nothing(data, tmp_path, monkeypatch):
    """During the writing of a result it waits; during that of the report it ends the work, and says what is missing."""
    save = CredibleSet.save

    def interrupted_save(self, path):
        os.kill(os.getpid(), signal.SIGINT)
        save(self, path)

    def interrupted_page(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(CredibleSet, "save", interrupted_save)
        result = run("learn", data, "--json", "-o", tmp_path / "one")
        assert result.exit_code == 0, result.output
        assert (tmp_path / "one" / "report.html").is_file()
        monkeypatch.setattr("credibn.report.write_learning_page", interrupted_page)
        result = run("learn", data, "--json", "-o", tmp_path / "two")
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.exit_code == 130
    assert json.loads(result.stdout)["complete"]
    assert "stopped before the report was written: 'credibn report " in result.stderr
    assert CredibleSet.load(tmp_path / "two" / "result.credibn").complete
    assert not (tmp_path / "two" / "report.html").exists()


@pytest.mark.parametrize("kind", ["networks", "classes"])
def test_kbest(data, engine, tmp_path, kind):
    words = ["--classes"] if kind == "classes" else []
    result = run("kbest", data, "-k", 7, *words, "--engine", engine, "--json", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert list(facts) == [*KEYS, "n_tied_at_boundary", *HOW_IT_WENT]
    expected = (k_best_classes if words else k_best_networks)(data, 7, engine=engine)
    assert facts[f"n_{kind}"] == 7
    assert facts["n_networks"] == expected.n_networks
    assert facts["n_tied_at_boundary"] == expected.n_tied_at_boundary
    assert CredibleSet.load(tmp_path / "result.credibn").n_requested == 7
    text = run("kbest", data, "-k", 7, *words, "--engine", engine)
    assert f"These are the best {kind}" in text.stdout


def test_optimum(data, engine, tmp_path):
    result = run("optimum", data, "--engine", engine, "--json", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    facts, expected = json.loads(result.stdout), k_best_classes(data, 1, engine=engine)
    assert (facts["n_classes"], facts["n_networks"]) == (1, expected.n_networks)
    assert facts["optimal_score"] == expected.optimal_score
    assert CredibleSet.load(tmp_path / "result.credibn").n_requested == 1
    assert "none scores higher" in run("optimum", data, "--engine", engine).stdout


def test_kbest_of_scores_that_do_not_reach(data, engine, tmp_path):
    path = tmp_path / "four.scores"
    write_scores(score_parent_sets(data, epsilon=1), path)
    result = run("kbest", "--scores", path, "-k", 500, "--engine", engine, "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["stopped_because"] == "score_table"


def test_counts_beyond_doubles_stay_exact(monkeypatch, data, engine):
    monkeypatch.setattr(CredibleSet, "n_networks", 2**100 + 1)
    stdout = run("learn", data, "--engine", engine, "--json").stdout
    assert f'"n_networks": {2**100 + 1},' in stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["learn"], r"^error: give either DATA or --scores; neither was given"),
        (["learn", "{data}", "--scores", "x.jkl"], r"^error: give either DATA or --scores; both"),
        (["learn", "none.csv"], r"^error: 'none.csv' was not found"),
        (["learn", "--scores", "none.jkl"], r"^error: none.jkl: cannot be read"),
        (["learn", "--scores", "none.jkl", "--ess", "1", "--missing", "drop"], r"^error: --ess, --missing cannot"),
        (["learn", "{data}", "--ratio", "0.5"], r"^error: --ratio is 0.5"),
        (["learn", "{data}", "--ratio", "2", "--epsilon", "1"], r"^error: both --epsilon 1.0 and --ratio 2.0"),
        (
            ["learn", "{data}", "--memory-limit", "-1"],
            r"^error: --memory-limit is '-1'; give an amount such as '500M' or '4G', where a number alone is in GiB",
        ),
        (["learn", "{data}", "--time-limit", "-1"], r"^error: --time-limit is -1"),
        (["learn", "{data}", "--max-networks", "0"], r"^error: --max-networks is 0"),
        (["learn", "{data}", "--engine", "steam"], r"^error: unknown engine 'steam'"),
        (["learn", "{data}", "--unit", "classes", "--max-parents", "1"], r"use --unit auto or --unit networks"),
        (["learn", "{data}", "--unit", "dags"], r"'dags' is not one of"),
        (["learn", "{data}", "--out", "{data}"], r"cannot be written \(Not a directory\); choose another folder"),
        (["kbest", "{data}", "-k", "0"], r"^error: -k is 0"),
        (["kbest", "{data}", "-k", "many"], r"Invalid value for '-k'"),
    ],
)
def test_mistakes_are_explained_without_a_traceback(data, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = run(*(str(data) if word == "{data}" else word for word in words))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.search(message, result.stderr, flags=re.M), result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_no_bar_where_nobody_watches():
    with stage_bars({"score": "scoring"}) as show:
        assert show is None


def test_the_optimum_advises_what_its_command_can_do(tmp_path):
    path = tmp_path / "asia.csv"
    pyarrow.csv.write_csv(sample_asia(), path)
    result = run("optimum", path)
    assert result.exit_code == 0, result.output
    assert "or find more networks with learn." in result.output
    assert " -k" not in result.output
