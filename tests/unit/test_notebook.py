"""What results look like in a notebook: true, escaped, self-contained, the same every time."""

import math
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from credibn import CPDAG, CredibleNetworks, average_models, exact_posterior, fit_network, k_best_classes, learn
from credibn.examples import sample_asia
from credibn.posterior import posterior_of_scores
from credibn.report import notebook
from credibn.report.notebook import _MOST_NODES

GOLDEN = Path(__file__).parent / "golden"
NASTY = '<script>alert("x")</script>'
VOID = ("circle", "path", "polygon", "rect")


class Page(HTMLParser):
    """Checks that tags nest, and collects them, their attributes and the text of table cells."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.cells, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1][-1] += data


def page_of(result):
    text = result._repr_html_()
    assert text == result._repr_html_()
    page = Page(text)
    assert {"script", "style", "link", "img", "iframe"}.isdisjoint(page.tags)
    assert not [name for name in page.attributes if name.startswith("on") or name in ("href", "src", "id")]
    assert "http" not in text
    assert "url(" not in text
    return page


def table_with_nasty_names():
    x = np.arange(80) // 40
    return pd.DataFrame({NASTY: np.where(x, NASTY, "&amp;"), "b": x, "a' \"<c>": np.arange(80) % 2})


@pytest.mark.parametrize(
    "make",
    [
        learn,
        lambda table: learn(table).classes()[0],
        lambda table: learn(table).classes()[0].cpdag,
        lambda table: average_models(learn(table), table),
        lambda table: fit_network([(NASTY, "b")], table),
        exact_posterior,
    ],
    ids=["set", "class", "cpdag", "model", "network", "posterior"],
)
def test_names_and_states_are_text_and_never_markup(make):
    result = make(table_with_nasty_names())
    page = page_of(result)
    assert NASTY not in result._repr_html_()
    assert any("<script>alert(" in text for text in page.texts)


def test_set_shows_its_summary_and_best_classes():
    found = k_best_classes(sample_asia(300), 13)
    page = page_of(found)
    header, *rows = page.cells
    assert header == ["score", "gap", "networks", "of the set", "of all networks", "edges of the class"]
    assert len(rows) == 10
    assert f"and {found.n_classes - 10} more" in page.texts
    assert all(line in page.texts for line in found.summary().splitlines())
    for row, one in zip(rows, found.classes()[:10], strict=True):
        assert float(row[0].replace(",", "")) == pytest.approx(one.score, abs=1e-6)
        assert float(row[1]) == pytest.approx(found.optimal_score - one.score, abs=2e-6)
        assert row[2] == str(one.size)
        assert float(row[3].rstrip(" %")) == pytest.approx(100 * one.weight, abs=0.006)
        assert float(row[4].rstrip(" %")) == pytest.approx(100 * one.weight * found.posterior_share, abs=0.006)
        assert row[5] == ", ".join(one.graph.edges_as_text)


def test_set_shows_its_graph_where_that_is_quick(monkeypatch):
    found = learn(sample_asia(300))
    assert page_of(found).tags.count("svg") == 1
    assert {"smoke", "dysp", "direction open"} <= set(page_of(found).texts)
    monkeypatch.setattr(notebook, "_MOST_AVERAGED", len(found.structures) - 1)
    assert page_of(found).tags.count("svg") == 0


def test_set_without_networks_and_edges():
    found = learn(np.arange(8).reshape(-1, 1) % 2)
    assert page_of(found).cells[1][5] == "(none)"
    empty = replace(
        found, structures=found.rows.first(0), complete=False, stopped_because="time_limit", unexplored_bound=math.inf
    )
    assert page_of(empty).cells == []


def test_long_lists_of_edges_are_cut():
    x = np.random.default_rng(0).integers(0, 2, 40)
    edges = [(f"X{a}", f"X{b}") for a in range(8) for b in range(a + 1, 8)]
    found = learn(np.column_stack([x] * 8), required_edges=edges)
    assert page_of(found).cells[1][5].endswith(", ... (28 edges)")


def test_class_is_drawn():
    cpdag = CPDAG(("rain", "sprinkler", "wet", "month"), (("rain", "wet"), ("sprinkler", "wet")), (("rain", "month"),))
    page = page_of(cpdag)
    assert (page.tags.count("path"), page.tags.count("polygon")) == (3 + 2, 2 + 1)  # three edges, and the legend
    assert set(cpdag.names) <= set(page.texts)
    golden = GOLDEN / "cpdag.html"
    if "CREDIBN_WRITE_GOLDEN" in os.environ:
        golden.write_text(f"{cpdag._repr_html_()}\n", encoding="utf-8")
    assert cpdag._repr_html_() == golden.read_text(encoding="utf-8").rstrip("\n")


def test_large_class_is_listed():
    names = tuple(f"v{k}" for k in range(_MOST_NODES + 1))
    page = page_of(CPDAG(names, (("v0", "v1"),), (("v2", "v3"),)))
    assert "svg" not in page.tags
    assert page.cells == [["edge"], ["v0 -> v1"], ["v2 -- v3"]]


def test_posterior_shows_the_most_probable_edges():
    posterior = exact_posterior(sample_asia(300))
    page = page_of(posterior)
    edges = posterior.edge_probabilities()
    shown = [(cell[0].split(" -> "), float(cell[1])) for cell in page.cells[1:]]
    assert len(shown) == 10
    assert [value for _, value in shown] == sorted((value for _, value in shown), reverse=True)
    for (parent, child), value in shown:
        assert value == pytest.approx(edges.loc[parent, child], abs=1e-4)
    assert shown[0][1] == pytest.approx(edges.to_numpy().max(), abs=1e-4)
    sum_only = posterior_of_scores(learn(sample_asia(300)).score_table, marginals=False)
    assert page_of(sum_only).cells == []


def test_network_shows_parents_states_and_parameters():
    table = pd.DataFrame({"a": list("xyz") * 10, "n": np.linspace(0, 1, 30), "many": np.arange(30) % 8})
    network = fit_network(["a->n"], table, columns="mixed")
    page = page_of(network)
    assert page.cells == [
        ["variable", "states", "parents", "parameters"],
        ["a", "x, y, z", "", "2"],
        ["n", "continuous", "a", "6"],
        ["many", "0, 1, 2, 3, 4, 5, ... (8 states)", "", "7"],
    ]
    assert page.tags.count("polygon") == 1


def test_model_shows_its_variables():
    table = pd.DataFrame({"a": ["x", None, "y"] * 10, "b": ["u", "v", "v"] * 10})
    model = average_models(learn(table, missing="state"), table, missing="state")
    page = page_of(model)
    assert repr(model) in page.texts
    assert page.cells == [["variable", "states"], ["a", "x, y, (missing)"], ["b", "u, v"]]


def test_estimator_shows_itself_before_and_after_fit():
    estimator = CredibleNetworks(score="aic", bayes_factor=3)
    before = estimator._repr_html_()
    after = estimator.fit(np.arange(40).reshape(20, 2) % 3)._repr_html_()
    for text in (before, after):
        assert re.search(r"CredibleNetworks", text)
        assert "aic" in text
