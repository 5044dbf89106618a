"""The commands that take a result or a network, and `posterior`: what the library answers, in every format."""

import csv
import io
import json
import re

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from credibn import (
    CredibleSet,
    average_models,
    exact_posterior,
    learn,
    read_data,
    read_network,
    read_scores,
)
from credibn.cli import files as cli_files
from credibn.cli import text as terminal
from credibn.cli.app import app
from credibn.examples import sample_asia
from credibn.graphs.formats import to_dot, to_graphml
from credibn.models import fit_network
from credibn.report import write_learning_page

KEYS = ["n_variables", "n_networks", "n_classes", "complete", "posterior_share", "prior", "threshold", "format"]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def succeed(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, the result of learning from it, a network, and rows with gaps."""
    folder = tmp_path_factory.mktemp("clinic")
    pyarrow.csv.write_csv(sample_asia(), folder / "clinic.csv")
    succeed("learn", folder / "clinic.csv", "--out", folder / "result")
    (folder / "gaps.csv").write_text("id,lung,smoke,xray\n7,,yes,yes\n8,no,,\n9,yes,no,\n")
    (folder / "new.csv").write_text("smoke,xray\nyes,yes\nno,\n")
    succeed("fit", folder / "clinic.csv", folder / "result", "-o", folder / "clinic.bif")
    return folder


@pytest.fixture(scope="module")
def found(folder):
    return CredibleSet.load(folder / "result" / "result.credibn")


@pytest.fixture(scope="module")
def model(found):
    return average_models(found, sample_asia())


def read_csv(text):
    return pd.read_csv(io.StringIO(text))


# Edges.


@pytest.mark.parametrize("prior", ["networks", "classes"])
def test_edges_as_csv_and_json(folder, found, prior):
    expected = found.pair_probabilities(prior)
    frame = read_csv(succeed("edges", folder / "result", "--prior", prior, "--format", "csv"))
    pd.testing.assert_frame_equal(frame, expected)
    facts = json.loads(succeed("edges", folder / "result" / "result.credibn", "--prior", prior, "--json"))
    assert list(facts) == [*KEYS, "pairs"]
    assert (facts["n_networks"], facts["n_classes"], facts["complete"]) == (found.n_networks, found.n_classes, True)
    assert (facts["prior"], facts["posterior_share"]) == (prior, found.posterior_share)
    pd.testing.assert_frame_equal(pd.DataFrame(facts["pairs"]), expected)


def test_edges_as_a_table(folder, found):
    caption, _, *lines = succeed("edges", folder / "result").splitlines()
    assert caption == "Probabilities within the set (35 networks, 68.2 % of the posterior), and over all networks."
    assert len(lines) == len(found.pair_probabilities()) + 1
    assert lines[0].endswith("reversible  forward over all  backward over all  absent over all")
    assert lines[0].split()[:5] == ["first", "second", "forward", "backward", "absent"]
    assert lines[1].split()[:6] == ["tub", "either", "0.931", "0.069", "0", "0.882"]
    certain = succeed("edges", folder / "result", "--threshold", 1).splitlines()[3:]
    assert len(certain) == (found.pair_probabilities()["absent"] == 0).sum()
    assert all(line.split()[4] == "0" for line in certain)
    assert succeed("edges", folder / "result", "--format", "table", "--threshold", 0.5).count("\n") == 10


def test_edges_of_independent_variables(tmp_path):
    values = np.random.default_rng(0).integers(0, 2, (400, 2))
    learn(values, epsilon=0, posterior_share=False).save(tmp_path / "none.credibn")
    assert (
        succeed("edges", tmp_path / "none.credibn") == "no pair of variables is joined with at least this probability\n"
    )
    assert json.loads(succeed("edges", tmp_path / "none.credibn", "--json"))["pairs"] == []
    assert succeed("edges", tmp_path / "none.credibn", "--format", "csv").startswith("first,second,")
    learn(values, epsilon=0).save(tmp_path / "some.credibn")
    (pair,) = json.loads(succeed("edges", tmp_path / "some.credibn", "--json"))["pairs"]
    assert (pair["absent"], round(pair["absent_over_all"], 3)) == (1.0, 0.902)


def test_edges_as_strengths(folder, found):
    pd.testing.assert_frame_equal(
        read_csv(succeed("edges", folder / "result", "--format", "strength")), found.edge_strengths()
    )
    strong = read_csv(succeed("edges", folder / "result", "--format", "strength", "--threshold", 0.9))
    assert len(strong) == 2 * (found.pair_probabilities()["absent"] <= 0.1).sum()


def test_edges_as_graphs(folder, found, tmp_path):
    graph = found.threshold_graph(0.3)
    parsed = nx.parse_graphml(succeed("edges", folder / "result", "--format", "graphml", "--threshold", 0.3))
    assert set(parsed.edges) == set(graph.edges)
    for edge in graph.edges:
        assert parsed.edges[edge] == graph.edges[edge]
    dot = succeed("edges", folder / "result", "--format", "dot")
    assert len(re.findall(" -> ", dot)) == found.threshold_graph(0.5).to_undirected().number_of_edges()
    assert re.search(r'"smoke" -> "lung" \[.*"label"="1.00", "dir"="none"\]', dot)  # 0.61 one way, and reversible
    assert re.search(r'"bronc" -> "dysp" \[.*"label"="1.00"\]', dot)
    loose = succeed("edges", folder / "result", "--format", "dot", "--direction-threshold", 0.005)
    assert re.search(r'"lung" -> "smoke" \[.*"label"="1.00"\]', loose)  # compelled in 0.9 %, never the other way
    matrix = pd.read_csv(io.StringIO(succeed("edges", folder / "result", "--format", "adjacency")), index_col=0)
    expected = nx.to_pandas_adjacency(found.threshold_graph(0.5), nodelist=found.names, weight=None)
    assert (matrix.to_numpy() == expected.to_numpy()).all()
    assert list(matrix) == list(matrix.index) == list(found.names)


@pytest.mark.parametrize(
    ("name", "start"),
    [("e.csv", "first,"), ("e.json", "{"), ("e.dot", "digraph"), ("e.graphml", "<"), ("e.txt", "Probabilities ")],
)
def test_edges_take_the_format_from_the_ending(folder, tmp_path, name, start):
    assert succeed("edges", folder / "result", "-o", tmp_path / name) == f"written to {tmp_path / name}\n"
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith(start)
    assert text.endswith("\n")
    facts = json.loads(succeed("edges", folder / "result", "-o", tmp_path / name, "--json"))
    assert list(facts) == [*KEYS, "out"]
    assert (tmp_path / name).read_text(encoding="utf-8") == text


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "start"), [("e.png", b"\x89PNG"), ("e.svg", b"<?xml"), ("e.pdf", b"%PDF")])
def test_edges_are_drawn_where_the_file_is_a_picture(folder, tmp_path, name, start):
    assert succeed("edges", folder / "result", "-o", tmp_path / name) == f"written to {tmp_path / name}\n"
    picture = (tmp_path / name).read_bytes()
    assert picture.startswith(start)
    succeed("edges", folder / "result", "-o", tmp_path / name)
    assert (tmp_path / name).read_bytes() == picture


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["-o", "e.jpg"],
            "'e.jpg' ends in '.jpg'; edges are written to .csv, .json, .dot, .gv, .graphml, .txt, .png, ",
        ),
        (["-o", "e"], "'e' ends in ''; edges are written to .csv"),
        (["-o", "e.png", "--format", "table"], "'e.png' ends in '.png' and --format is table; edges are"),
        (["-o", "e.csv", "--format", "picture"], "'e.csv' ends in '.csv' and --format is picture; edges are"),
        (["--format", "picture"], "a picture needs a file; give its name with -o"),
    ],
    ids=str,
)
def test_edges_are_not_written_under_a_name_that_says_something_else(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = run("edges", folder / "result", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []
    succeed("edges", folder / "result", "--format", "table", "-o", "e")  # as the message says


def test_edges_of_a_result_that_knows_nothing_of_all_networks(folder, tmp_path):
    succeed("learn", folder / "clinic.csv", "--no-posterior-share", "--out", tmp_path)
    caption = succeed("edges", tmp_path).splitlines()[0]
    assert caption.startswith(
        "Probabilities within the set (35 networks, an unknown share of the posterior); over all "
    )
    assert "networks unknown. --posterior-share computes it, in about a second. Find more networks with " in caption
    assert "--bayes-factor 150" in caption
    succeed("learn", folder / "clinic.csv", "--posterior-share", "--out", tmp_path)
    assert "and over all networks." in succeed("edges", tmp_path).splitlines()[0]


def test_an_incomplete_result_says_so(folder, tmp_path):
    run("learn", folder / "clinic.csv", "--max-networks", 1, "--out", tmp_path)
    for words in (["edges", tmp_path], ["report", tmp_path, "-o", tmp_path / "page.html"]):
        result = run(*words)
        assert result.exit_code == 0
        assert result.stderr.startswith("the result is incomplete (max_networks): ")
    assert json.loads(succeed("edges", tmp_path, "--json"))["complete"] is False


# Pictures.


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<svg xmlns"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")])
def test_draw_writes_each_format_and_the_same_bytes_again(folder, tmp_path, ending, start):
    path = tmp_path / f"graph.{ending}"
    assert succeed("draw", folder / "result", "-o", path, "--labels").endswith(f"written to {path}\n")
    first = path.read_bytes()
    assert first.startswith(start)
    succeed("draw", folder / "result", "-o", path, "--labels")
    assert path.read_bytes() == first


def test_draw_draws_what_python_draws(folder, found, tmp_path):
    options = ("--threshold", "0.3", "--highlight", "lung", "--highlight", "smoke", "--layout", folder / "result")
    facts = json.loads(succeed("draw", folder / "result", "-o", tmp_path / "graph.svg", *options, "--json"))
    assert facts == {"n_variables": 8, "threshold": 0.3, "complete": True, "out": str(tmp_path / "graph.svg")}
    drawn = found.graph_svg(0.3, highlight=["lung", "smoke"], layout=found.graph_layout(0.3))
    assert (tmp_path / "graph.svg").read_text() == drawn + "\n"


def test_draw_refuses_what_it_cannot_draw(folder, tmp_path):
    assert (
        "a graph is drawn to .svg, .pdf, .png files" in run("draw", folder / "result", "-o", tmp_path / "g.gif").stderr
    )
    wrong = run("draw", folder / "result", "-o", tmp_path / "g.svg", "--highlight", "lang")
    assert (wrong.exit_code, "'lang'" in wrong.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


# The page.


def test_report_is_the_page_of_the_library(folder, found, tmp_path):
    data = read_data(folder / "clinic.csv")
    write_learning_page(found, tmp_path / "expected.html", data)
    text = succeed("report", folder / "result", "-o", tmp_path / "page.html", "--data", folder / "clinic.csv")
    assert text == f"written to {tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "expected.html").read_bytes()
    write_learning_page(found, tmp_path / "expected.html")
    facts = json.loads(succeed("report", folder / "result", "-o", tmp_path / "page.html", "--json"))
    assert list(facts) == ["n_networks", "n_classes", "complete", "out"]
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "expected.html").read_bytes()


# Predictions.


def test_predict(folder, model):
    result = run("predict", folder / "result", folder / "new.csv", "--target", "lung")
    assert result.exit_code == 0, result.output
    expected = model.predict(folder / "new.csv", "lung")
    assert result.stdout == "lung\n" + "".join(f"{state}\n" for state in expected)
    assert result.stderr == "averaged over 7 networks, 99.13 % of the posterior of the result\n"


def test_probabilities_of_several_targets(folder, model, tmp_path):
    words = ["predict", folder / "result", folder / "new.csv"]
    words += ["--target", "lung", "--target", "dysp", "--proba"]
    expected = model.predict_proba(folder / "new.csv", ["lung", "dysp"])
    frame = read_csv(succeed(*words))
    assert list(frame) == ["lung=no", "lung=yes", "dysp=no", "dysp=yes"]
    np.testing.assert_allclose(frame.to_numpy(), expected.to_numpy())
    result = run(*words, "--json")
    assert result.stderr == ""
    facts = json.loads(result.stdout)
    assert list(facts) == ["share", "n_networks", "n_classes", "targets", "complete", "n_rows", "out", "columns"]
    assert (facts["share"], facts["n_networks"], facts["n_rows"]) == (model.share, 7, 2)
    np.testing.assert_allclose(pd.DataFrame(facts["columns"]).to_numpy(), expected.to_numpy())
    for name, read in (("p.csv", pd.read_csv), ("p.parquet", pd.read_parquet), ("p.tsv", pd.read_table)):
        assert succeed(*words, "-o", tmp_path / name) == f"2 rows written to {tmp_path / name}\n"
        pd.testing.assert_frame_equal(read(tmp_path / name), frame)
        assert json.loads(succeed(*words, "-o", tmp_path / name, "--json"))["out"] == str(tmp_path / name)


def test_options_of_averaging_reach_the_function(folder, found):
    words = ["predict", folder / "result", folder / "new.csv", "--target", "lung", "--json"]
    facts = json.loads(succeed(*words, "--share", 0.5, "--prior", "classes"))
    expected = average_models(found, sample_asia(), share=0.5, prior="classes")
    assert (facts["share"], facts["n_networks"]) == (expected.share, expected.n_networks)


def test_impute_keeps_the_columns_of_the_table(folder, model):
    words = ["predict", folder / "result", folder / "gaps.csv", "--impute", "--ignore-extra"]
    frame = read_csv(succeed(*words))
    assert list(frame)[:4] == ["id", "lung", "smoke", "xray"]
    assert set(frame) == {"id", *model.names}
    assert frame["id"].tolist() == [7, 8, 9]
    expected = model.impute(folder / "gaps.csv", ignore_extra=True)
    pd.testing.assert_frame_equal(frame[list(model.names)], expected, check_dtype=False)
    assert frame["lung"].tolist()[1:] == ["no", "yes"]
    assert json.loads(succeed(*words, "--json"))["targets"] is None


def test_predict_from_another_table(folder, tmp_path):
    pyarrow.csv.write_csv(sample_asia(200, seed=5), tmp_path / "other.csv")
    words = ["predict", folder / "result", folder / "new.csv", "--data", tmp_path / "other.csv", "--target", "lung"]
    result = run(*words)
    assert result.exit_code == 2
    assert "or pass --allow-other-data" in result.stderr
    assert succeed(*words, "--allow-other-data").count("\n") == 3


def test_predict_numbers(tmp_path):
    x = np.random.default_rng(1).normal(size=(80, 2))
    table = pd.DataFrame({"x": x[:, 0], "y": x[:, 0] + 0.1 * x[:, 1], "kind": np.where(x[:, 0] > 0, "a", "b")})
    table.to_csv(tmp_path / "numbers.csv", index=False)
    words = ["--score", "conditional-gaussian-bic", "--out", tmp_path / "result"]
    succeed("learn", tmp_path / "numbers.csv", *words)
    table.head(3).to_csv(tmp_path / "new.csv", index=False)
    words = [tmp_path / "result", tmp_path / "new.csv"]
    result = run("predict", *words, "--target", "y", "--proba")
    assert result.exit_code == 2
    assert "leave out --proba to get its mean" in result.stderr
    found = CredibleSet.load(tmp_path / "result" / "result.credibn")
    expected = average_models(found, tmp_path / "numbers.csv").predict(tmp_path / "new.csv", "y")
    np.testing.assert_allclose(read_csv(succeed("predict", *words, "--target", "y"))["y"], expected)
    result = run("fit", tmp_path / "numbers.csv", tmp_path / "result", "-o", tmp_path / "x.bif")
    assert result.exit_code == 2
    assert "network files hold categories only" in result.stderr


def test_predict_reads_new_rows_as_learn_read_the_table(tmp_path):
    x = np.random.default_rng(1).normal(size=80)
    pd.DataFrame({"x": x, "y": x > 0, "n": 2, "id": range(80)}).to_csv(tmp_path / "t.csv", index=False)
    reading = ["--discretise", "x=-0.5,0.5", "--weights", "n", "--drop", "id"]
    succeed("learn", tmp_path / "t.csv", *reading, "--out", tmp_path / "result")
    (tmp_path / "new.csv").write_text("x,n,id\n-2,1,81\n2,1,82\n")
    words = ["predict", tmp_path / "result", tmp_path / "new.csv", "--target", "y"]
    assert read_csv(succeed(*words))["y"].tolist() == [False, True]
    assert succeed(*words, "--data", tmp_path / "t.csv", *reading) == succeed(*words)
    result = run(*words, "--drop", "id")
    assert result.exit_code == 2
    assert "given without --data" in result.stderr
    (tmp_path / "new.csv").write_text("x,other\n-2,1\n")
    result = run(*words)
    assert result.exit_code == 2
    assert "the model has no column 'other'" in result.stderr
    assert "--ignore-extra" in result.stderr


def test_predict_without_counts_needs_the_table(folder, tmp_path):
    succeed("learn", folder / "clinic.csv", "--no-counts", "--out", tmp_path / "result")
    words = ["predict", tmp_path / "result", folder / "new.csv", "--target", "lung"]
    result = run(*words)
    assert result.exit_code == 2
    assert "the result holds no counts of its training table" in result.stderr
    assert "give the table as --data" in " ".join(result.stderr.split())
    assert succeed(*words, "--data", folder / "clinic.csv").startswith("lung\n")


def test_predict_refuses_or_ignores_categories_that_learn_has_not_seen(folder, tmp_path):
    (tmp_path / "new.csv").write_text("smoke,xray\nnow and then,yes\n,yes\n")
    words = ["predict", folder / "result", tmp_path / "new.csv", "--target", "lung", "--proba"]
    result = run(*words)
    assert result.exit_code == 2
    assert "pass --handle-unknown ignore to take such cells as missing" in " ".join(result.stderr.split())
    unknown, missing = succeed(*words, "--handle-unknown", "ignore").splitlines()[1:]
    assert unknown == missing


# Networks.


def test_fit_the_most_probable_class(folder, found):
    expected = fit_network(found.most_probable_class().representative, sample_asia())
    fitted = read_network(folder / "clinic.bif")
    assert fitted.names == expected.names
    assert set(fitted.graph.edges) == set(expected.graph.edges)
    pd.testing.assert_frame_equal(fitted.conditional_table("dysp"), expected.conditional_table("dysp"))


def test_fit_needs_a_result_alone(folder, tmp_path):
    succeed("fit", folder / "result", "-o", tmp_path / "alone.bif")
    assert (tmp_path / "alone.bif").read_bytes() == (folder / "clinic.bif").read_bytes()


def test_fit_a_given_structure(folder, tmp_path):
    string = "[asia][tub|asia][smoke][lung|smoke][bronc|smoke][either|tub:lung][xray|either][dysp|bronc:either]"
    out = tmp_path / "fitted.bif.gz"
    words = ["--method", "maximum-likelihood", "--json", "-o", out]
    facts = json.loads(succeed("fit", folder / "clinic.csv", string, *words))
    assert facts == {"n_variables": 8, "n_edges": 8, "n_parameters": 18, "out": str(out)}
    expected = fit_network(read_network(out).graph, sample_asia(), method="maximum_likelihood")
    pd.testing.assert_frame_equal(read_network(out).conditional_table("tub"), expected.conditional_table("tub"))
    text = succeed("fit", folder / "clinic.csv", out, "--ess", 5, "-o", tmp_path / "again.bif")
    assert text == f"18 parameters of 8 variables written to {tmp_path / 'again.bif'}\n"
    expected = fit_network(read_network(out).graph, sample_asia(), equivalent_sample_size=5)
    again = read_network(tmp_path / "again.bif")
    pd.testing.assert_frame_equal(again.conditional_table("tub"), expected.conditional_table("tub"))


def test_fit_takes_the_sample_size_of_the_score(folder, tmp_path):
    succeed("learn", folder / "clinic.csv", "--score", "bdeu", "--ess", 9, "--bayes-factor", 1, "--out", tmp_path / "r")
    succeed("fit", folder / "clinic.csv", tmp_path / "r", "-o", tmp_path / "r.bif")
    found = CredibleSet.load(tmp_path / "r" / "result.credibn")
    expected = fit_network(found.most_probable_class().representative, sample_asia(), equivalent_sample_size=9)
    fitted = read_network(tmp_path / "r.bif")
    pd.testing.assert_frame_equal(fitted.conditional_table("dysp"), expected.conditional_table("dysp"))


def test_sample(folder, tmp_path):
    expected = read_network(folder / "clinic.bif").sample(50, seed=3)
    words = ["sample", folder / "clinic.bif", "-n", 50, "--seed", 3]
    assert succeed(*words) == expected.to_csv(index=False)
    assert succeed(*words, "-o", tmp_path / "rows.csv") == f"50 rows written to {tmp_path / 'rows.csv'}\n"
    assert (tmp_path / "rows.csv").read_text() == expected.to_csv(index=False)
    facts = json.loads(succeed(*words, "-o", tmp_path / "rows.parquet", "--json"))
    assert facts == {"n_variables": 8, "seed": 3, "n_rows": 50, "out": str(tmp_path / "rows.parquet")}
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), expected)
    columns = json.loads(succeed(*words, "--json"))["columns"]
    assert columns == {name: expected[name].tolist() for name in expected}


def test_sample_refuses_more_rows_than_memory_holds(folder):
    result = run("sample", folder / "clinic.bif", "-n", 10**12)
    assert result.exit_code == 2
    assert "1,000,000,000,000 rows of 8 variables need about 466 TiB" in " ".join(result.stderr.split())
    assert "draw fewer at a time, with other seeds" in " ".join(result.stderr.split())


def test_convert_networks(folder, tmp_path):
    network = read_network(folder / "clinic.bif")
    for name in ("c.xdsl", "c.bif.gz", "c.net"):
        facts = json.loads(succeed("convert", folder / "clinic.bif", tmp_path / name, "--json"))
        assert list(facts) == ["n_variables", "n_edges", "n_parameters", "out"]
        assert set(read_network(tmp_path / name).graph.edges) == set(network.graph.edges)
    sentence = f"8 variables with {facts['n_edges']} edges written to {tmp_path / 'c.dot'}\n"
    assert succeed("convert", tmp_path / "c.bif.gz", tmp_path / "c.dot") == sentence
    assert (tmp_path / "c.dot").read_text() == to_dot(network.graph) + "\n"
    succeed("convert", tmp_path / "c.bif.gz", tmp_path / "c.graphml")
    assert (tmp_path / "c.graphml").read_text() == to_graphml(network.graph) + "\n"


def test_convert_a_result_to_its_scores(folder, found, tmp_path):
    succeed("convert", folder / "result", tmp_path / "clinic.scores")
    assert read_scores(tmp_path / "clinic.scores").same_as(found.score_table)


# The posterior of all networks.


def test_posterior(folder):
    expected = exact_posterior(folder / "clinic.csv")
    facts = json.loads(succeed("posterior", folder / "clinic.csv", "--json"))
    assert list(facts) == [
        "n_variables",
        "n_rows",
        "score",
        "log_mass",
        "log_mass_bound",
        "rounding_error",
        "seconds",
        "pairs",
    ]
    assert (facts["n_variables"], facts["n_rows"], facts["score"]) == (8, 1000, "bic")
    assert facts["log_mass"] == expected.log_mass
    edges = expected.edge_probabilities()
    assert len(facts["pairs"]) == 28
    for pair in facts["pairs"]:
        assert pair["forward"] == edges.loc[pair["first"], pair["second"]]
        assert pair["backward"] == edges.loc[pair["second"], pair["first"]]
        assert pair["forward"] + pair["backward"] + pair["absent"] == pytest.approx(1)
    text = succeed("posterior", folder / "clinic.csv")
    total = "The scores of all networks over 8 variables sum to exp(-2293.350866)."
    assert text.startswith(f"{total}\nProbabilities over all networks:\n\nfirst ")
    assert len(text.splitlines()) == 3 + 1 + 28
    total = json.loads(succeed("posterior", folder / "clinic.csv", "--total", "--json"))
    assert total["pairs"] is None
    assert total["log_mass"] == pytest.approx(expected.log_mass)


def test_posterior_within_limits(folder, tmp_path):
    result = run("posterior", folder / "clinic.csv", "--time-limit", 1e-9, "--json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "raise --time-limit" in result.stderr
    values = np.random.default_rng(0).integers(0, 2, (20, 25))
    pd.DataFrame(values).add_prefix("v").to_csv(tmp_path / "wide.csv", index=False)
    result = run("posterior", tmp_path / "wide.csv")
    assert result.exit_code == 2
    assert "\nerror: 25 variables can have edges" in result.stderr


# What learning would take.


def test_data_predicts_the_cost(folder, tmp_path):
    costs = json.loads(succeed("data", folder / "clinic.csv", "--json"))["predicted"]
    assert list(costs) == ["score", "scoring", "scoring_refused", "posterior"]
    assert (costs["score"], costs["scoring"]["n_sets"], costs["posterior"]["n_steps"]) == ("bic", 256, 3**8)
    text = succeed("data", folder / "clinic.csv")
    assert "takes about a second. 'credibn score --estimate' predicts it for other options." in text
    assert "takes 3^8 steps, less than a second" in text
    values = np.random.default_rng(0).normal(size=(30, 26))
    pd.DataFrame(values).add_prefix("v").to_csv(tmp_path / "wide.csv", index=False)
    costs = json.loads(succeed("data", tmp_path / "wide.csv", "--json"))["predicted"]
    assert (costs["score"], costs["posterior"]) == ("gaussian-bic", None)
    assert "takes too long for 26 variables" in succeed("data", tmp_path / "wide.csv")


def test_demo_in_json(tmp_path):
    facts = json.loads(succeed("demo", "--out", tmp_path, "--json"))
    assert {name: path.rpartition(".")[2] for name, path in facts.items()} == {
        "data": "csv",
        "scores": "pss",
        "result": "credibn",
        "page": "html",
    }


# Mistakes.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("edges none.credibn", r"none.credibn was not found .*'credibn learn DATA --out DIR' writes a result"),
        ("edges {}/resul", r"did you mean 'result'\?"),
        ("edges nowhere/none.credibn", r"there is no folder nowhere"),
        ("edges {}", r"has no result.credibn; give a folder that 'credibn learn --out' wrote"),
        (
            "edges {}/clinic.csv",
            r"expected a credible set of credibn; the file is damaged or of another kind",
        ),
        ("edges {}/result --threshold 2", r"--threshold is 2.0"),
        ("edges {}/result --json --format dot", r"--json and --format dot cannot be combined"),
        ("edges {}/result --format svg", r"'svg' is not one of"),
        ("edges {}/result --prior edges", r"'edges' is not one of"),
        ("edges {}/result -o none/edges.csv", r"none/edges.csv cannot be written \(No such file"),
        ("edges {}/result -o {}", r"is a folder; give the name of a file in it"),
        ("report {}/result", r"Missing option '--out'"),
        ("report {}/result -o {}", r"is a folder"),
        ("report {}/result -o page.html --data {}/new.csv --missing drop", r"does not belong to the data"),
        ("report {}/result -o page.html --missing drop", r"without --data"),
        ("predict {}/result {}/new.csv", r"give either --target NAME or --impute; neither was given"),
        ("predict {}/result {}/new.csv --impute --target lung", r"--impute; both were given"),
        ("predict {}/result {}/new.csv --impute --proba", r"--proba was given with --impute"),
        ("predict {}/result {}/new.csv --target lungs", r"unknown target 'lungs': did you mean 'lung'"),
        ("predict {}/result {}/new.csv --target lung -o x.txt", r"'x.txt' ends in '.txt'; tables are"),
        ("predict {}/result {}/new.csv --target lung -o none/x.csv", r"cannot be written"),
        ("predict {}/result {}/new.csv --target lung --share 2", r"share is 2.0"),
        ("predict {}/result {}/gaps.csv --target lung", r"no column 'id'.*or pass --ignore-extra"),
        ("predict {}/result none.csv --target lung", r"'none.csv' was not found"),
        ("predict {}/result {}/new.csv --data {}/new.csv --target lung", r"pass --missing drop"),
        ("sample none.bif", r"none.bif: cannot be read"),
        ("sample {}/clinic.csv", r"does not have the extension of a network file"),
        ("sample {}/broken.bif", r"broken.bif, line 3: expected a probability, found 'half'"),
        ("sample {}/clinic.bif -n 0", r"--rows is 0"),
        ("sample {}/clinic.bif -n many", r"Invalid value for '--rows'"),
        ("fit {}/clinic.csv nothing -o x.bif", r"'nothing' is neither a file nor a model string"),
        ("fit {}/clinic.csv [A -o x.bif", r"the model string has '\[A'"),
        ("fit {}/clinic.csv [A] -o x.bif", r"unknown node of the graph 'A'"),
        ("fit {}/clinic.csv {}/result -o x.txt", r"'x.txt' does not have the extension of a network file"),
        ("fit {}/clinic.csv {}/none.bif -o x.bif", r"cannot be read"),
        ("fit {}/clinic.csv -o x.bif", r"clinic.csv' is not a result; give DATA and STRUCTURE, or a RESULT alone"),
        ("fit {}/result --missing drop -o x.bif", r"options for reading a table were given with a result alone"),
        ("convert {}/clinic.bif x.jkl", r"is a network and x.jkl would be a score file"),
        ("convert {}/result x.bif", r"'credibn fit RESULT -o FILE' fits"),
        ("convert {}/result x.dot", r"'credibn edges RESULT -o FILE' draws"),
        ("convert {}/clinic.bif x.html", r"'x.html' does not have the extension of a network file"),
        ("convert {}/clinic.bif {}", r"is a folder; give the name of a file in it"),
        ("convert x.dot x.bif", r"x.dot is a drawing"),
        ("convert {}/broken.bif x.xdsl", r"broken.bif, line 3"),
        ("posterior", r"give either DATA or --scores; neither was given"),
        ("posterior {}/clinic.csv --memory-limit 0", r"--memory-limit is '0'; give an amount"),
    ],
)
def test_mistakes_are_explained_without_a_traceback(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    broken = "variable a { type discrete [2] { y, n }; }\nprobability (a) {\n  table half, half;\n}\n"
    (folder / "broken.bif").write_text(broken)
    result = run(*(word.replace("{}", str(folder)) for word in words.split()))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.search(message, " ".join(result.stderr.split())), result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_table_that_cannot_be_written_is_noticed_before_the_work(folder, monkeypatch):
    monkeypatch.setattr("credibn.cli.models.open_result", lambda _: pytest.fail("worked before the check"))
    words = ["predict", folder / "result", folder / "new.csv", "--target", "lung"]
    assert run(*words, "-o", folder / "none" / "x.csv").exit_code == 2


def test_probabilities_are_never_rounded_to_certainty():
    assert terminal.probability_text(1 - 1e-6) == ">0.999"
    assert terminal.probability_text(1e-6) == "<0.001"
    assert terminal.probability_text(1 - 1e-15) == "1"
    assert [terminal.probability_text(value) for value in (0.0, 0.25, 1.0)] == ["0", "0.250", "1"]


# Text of others.

HOSTILE = ["\x1b]0;owned\x07a", "b\x9b2J", "c\u202e\x08", "=cmd|'/c calc'!A1"]
"""Names that set the title of a terminal, wipe it, turn text round, and run a program from a spreadsheet."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with a table of hostile names and states, and its result."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, 60)
    states = np.array(["\x1b[2Jon\x07", "-x"])
    table = {name: states[(x + (rng.random(60) < 0.1 * at)) % 2] for at, name in enumerate(HOSTILE)}
    pyarrow.csv.write_csv(pa.table(table), folder / "table.csv")
    succeed("learn", folder / "table.csv", "--out", folder / "result")
    return folder


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "words",
    [
        "data {}/table.csv",
        "score {}/table.csv",
        "score {}/table.csv --estimate",
        "learn {}/table.csv",
        "kbest {}/table.csv -k 3",
        "posterior {}/table.csv",
        "edges {}/result",
        "learn {}/table.csv --forbid a->b",
        "learn {}/table.csv --score gaussian-bic",
        "data {}/table.csv --max-states 1",
        "data {}/table.csv --weights b\x9b2J",
        "predict {}/result {}/table.csv --target none",
        "data {}/\x1b]0;none\x07.csv",
        "edges {}/\x1b]0;none\x07",
    ],
)
def test_no_command_prints_what_controls_a_terminal(words, hostile):
    result = run(*(word.format(hostile) for word in words.split()))
    assert result.output
    assert not CONTROLS.findall(result.output)


def test_warnings_show_no_controls(hostile, tmp_path):
    table = pyarrow.csv.read_csv(hostile / "table.csv")
    pyarrow.csv.write_csv(table.append_column("\x1b]0;constant\x07", pa.array(["1"] * 60)), tmp_path / "table.csv")
    result = run("learn", tmp_path / "table.csv")
    assert r"\x1b]0;constant\x07" in result.stderr
    assert not CONTROLS.findall(result.output)


@pytest.mark.parametrize("words", ["edges {}/result --format csv", "predict {0}/result {0}/table.csv"])
def test_a_terminal_gets_tables_without_controls_and_a_pipe_gets_them_as_they_are(words, hostile, monkeypatch):
    words = words.format(hostile).split()
    words += ["--target", HOSTILE[0]] if words[0] == "predict" else []
    assert "\x1b]0;owned\x07a" in succeed(*words)
    monkeypatch.setattr("credibn.cli.files.is_terminal", lambda stream: True)
    shown = succeed(*words)
    assert r"\x1b]0;owned\x07a" in shown
    assert not CONTROLS.findall(shown)


def test_tables_in_a_pipe_have_the_bytes_of_the_file(hostile, tmp_path):
    succeed("fit", hostile / "table.csv", hostile / "result", "-o", tmp_path / "net.bif")
    sample = ["sample", tmp_path / "net.bif", "-n", 50]
    for words, ending in ((sample, "csv"), (["edges", hostile / "result", "--format", "dot"], "dot")):
        succeed(*words, "-o", tmp_path / f"out.{ending}")
        assert succeed(*words) == (tmp_path / f"out.{ending}").read_text()
    assert "\x1b[2Jon\x07" in succeed(*sample)


@pytest.mark.few(2)
@pytest.mark.parametrize("words", ["learn {}/table.csv", "kbest {}/table.csv -k 3", "score {}/table.csv"])
@pytest.mark.parametrize("is_writable", [True, False])
def test_paths_show_no_controls(words, is_writable, hostile, tmp_path):
    out = tmp_path / "a\x1b]0;owned\x07.scores"
    if not is_writable:
        (out / "report.html").mkdir(parents=True)
    result = run(*words.format(hostile).split(), "-o", out)
    assert (result.exit_code == 0) is is_writable
    assert r"a\x1b]0;owned\x07.scores" in result.output
    assert not CONTROLS.findall(result.output)


@pytest.mark.parametrize("format", ["strength", "adjacency"])
def test_edges_for_other_programs_have_the_exact_names(format, hostile):
    rows = list(csv.reader(io.StringIO(succeed("edges", hostile / "result", "--format", format))))
    assert HOSTILE[3] in {cell for row in rows for cell in row}
    assert HOSTILE[0] in {cell for row in rows for cell in row}


def test_edges_for_spreadsheets_hold_no_formula(hostile):
    rows = list(csv.reader(io.StringIO(succeed("edges", hostile / "result", "--format", "csv"))))
    cells = {cell for row in rows for cell in row}
    assert "'=cmd|'/c calc'!A1" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_predictions_for_spreadsheets_hold_no_formula(hostile, tmp_path):
    words = ["predict", hostile / "result", hostile / "table.csv", "--target", HOSTILE[3]]
    for ending, delimiter in ((".csv", ","), (".tsv", "\t")):
        succeed(*words, "-o", tmp_path / f"out{ending}")
        with open(tmp_path / f"out{ending}", newline="") as file:
            rows = list(csv.reader(file, delimiter=delimiter))
        assert rows[0] == ["'=cmd|'/c calc'!A1"]
        assert {row[0] for row in rows[1:]} == {"\x1b[2Jon\x07", "'-x"}
    succeed(*words, "-o", tmp_path / "out.parquet")  # other programs get the names and states as they are
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column_names == [HOSTILE[3]]


def test_negative_numbers_stay_numbers(tmp_path):
    frame = pd.DataFrame({"=a": [-3.5, 2.0], "b": ["-3.5", "-3,5"]})
    cli_files.deliver(frame, {}, tmp_path / "out.csv", as_json=True)
    assert (tmp_path / "out.csv").read_text() == "'=a,b\n-3.5,-3.5\n2.0,\"'-3,5\"\n"


def test_tables_that_are_read_again_are_written_as_they_are(hostile, tmp_path):
    succeed("fit", hostile / "table.csv", hostile / "result", "-o", tmp_path / "net.bif")
    succeed("sample", tmp_path / "net.bif", "-n", 50, "-o", tmp_path / "sample.csv")
    assert sorted(read_data(tmp_path / "sample.csv").names) == sorted(HOSTILE)
    filled = ["predict", hostile / "result", hostile / "table.csv", "--impute"]
    succeed(*filled, "-o", tmp_path / "filled.csv")
    again, before = read_data(tmp_path / "filled.csv"), read_data(hostile / "table.csv")
    assert (again.names, again.states, again.n_distinct) == (before.names, before.states, before.n_distinct)
