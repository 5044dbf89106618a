"""The pages: true words, safe markup, the same bytes, all or nothing."""

import math
import re
from collections import defaultdict
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from credibn import CPDAG, CredibleSet, k_best_classes, k_best_networks, learn, read_data, score_parent_sets
from credibn.credible.rows import Rows
from credibn.errors import CredibnWarning, OptionError
from credibn.examples import sample_asia, tic_tac_toe
from credibn.report import learning_headline, scoring_headline, write_learning_page, write_scoring_page
from credibn.report.drawing import MOST_NODES_DRAWN, draw
from credibn.scores import ScoreTable

GOLDEN = Path(__file__).parent / "golden"


def small():
    """Return a data set and a table whose numbers do not depend on the machine."""
    data = read_data(pa.table({"rain": ["no", "no", "yes"], "<wet>": ["no", "yes", "yes"]}))
    provenance = {
        "score": "bic",
        "epsilon": math.log(20),
        "n_rows": 3,
        "data_fingerprint": data.fingerprint,
        "version": "0",
        "constraints": {},
        "prior": {"kind": "uniform"},
        "complete": True,
    }
    candidates = [[(-2.5, ()), (-2.0, (1,))], [(-1.25, ())]]
    return data, ScoreTable.from_candidates(data.names, candidates, provenance)


def with_provenance(table, **changed):
    return ScoreTable(table.names, table.offsets, table.scores, table.masks, {**table.provenance, **changed})


def page_of(data, table, path):
    write_scoring_page(data, table, path)
    return path.read_text(encoding="utf-8")


class Tags(HTMLParser):
    """Checks that tags nest, and collects their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_golden(page, name):
    golden = GOLDEN / name
    assert page == golden.read_text(encoding="utf-8"), f"if the change is meant, write the page to {golden.name}"


def check_loads_nothing(page):
    """The page is well formed, refers to nothing outside itself, and forbids loading."""
    tags = Tags(page)
    assert tags.open == []
    assert not [found for found in tags.attributes if found[1] in ("src", "href", "srcset", "action", "xlink:href")]
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import|<script|https?:", page)
    assert 'name="viewport"' in page
    assert '<html lang="en">' in page
    regions = [value for _, key, value in tags.attributes if key == "aria-labelledby"]
    marks = [value for _, key, value in tags.attributes if key == "id"]
    assert set(regions) <= set(marks)
    assert len(marks) == len(set(marks))


def test_page_is_the_golden_file(tmp_path):
    check_golden(page_of(*small(), tmp_path / "page.html"), "scoring_page.html")


def test_same_input_gives_the_same_bytes(tmp_path):
    pages = []
    for threads in (1, 2):
        data = read_data(sample_asia())
        pages.append(page_of(data, score_parent_sets(data, n_threads=threads), tmp_path / "page.html"))
    assert pages[0] == pages[1]


def test_page_loads_nothing_and_is_well_formed(tmp_path):
    data = read_data(sample_asia())
    page = page_of(data, score_parent_sets(data), tmp_path / "page.html")
    check_loads_nothing(page)


def test_names_and_states_are_text_not_markup(tmp_path):
    evil = "<script>alert('x')</script>"
    data = read_data(pa.table({evil: [evil, "b"], "{{ 7 * 7 }}": ["&amp;", '"']}))
    page = page_of(data, score_parent_sets(data), tmp_path / "page.html")
    assert "<script" not in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert "{{ 7 * 7 }}" in page
    assert "&amp;amp;" in page


def test_headline_says_what_is_proven():
    data = read_data(sample_asia())
    table = score_parent_sets(data, bayes_factor=20)
    expected = (
        "8 variables, 1,000 rows (39 distinct). 113 candidate parent sets survive; "
        "no network within a Bayes factor of 20 of the best uses any other."
    )
    assert scoring_headline(data, table) == expected
    limited = score_parent_sets(data, bayes_factor=3, max_parents=1)
    assert "no network that obeys the constraints within a Bayes factor of 3 of" in scoring_headline(data, limited)
    assert "within 40 nats of" in scoring_headline(data, score_parent_sets(data, epsilon=40))


@pytest.mark.parametrize("lost", ["epsilon", "complete"])
def test_headline_claims_nothing_without_provenance(lost):
    data, table = small()
    headline = scoring_headline(data, with_provenance(table, **{lost: None}))
    assert headline.endswith("the table does not say for which networks this list is complete.")
    assert "no network" not in headline


def test_page_shows_all_kinds_of_columns(tmp_path):
    rows = pa.table({"age": [1.5, 2.5, 4.0, 8.0], "group": ["a", "b", None, "a"], "one": ["k"] * 4})
    with pytest.warns(CredibnWarning, match="constant"):
        data = read_data(rows, columns="mixed", missing="state")
    page = page_of(data, score_parent_sets(data, score="conditional-gaussian-bic", max_parents=1), tmp_path / "p")
    assert "1.5 to 8, mean 4" in page
    assert "(missing): 1 (25.0%)" in page
    assert re.search(r"constant, takes no part in the\s+search", page)
    assert "max parents: 1" in page


def test_long_lists_are_cut_with_their_number(tmp_path):
    data = read_data(pa.table({"id": [f"s{k:02}" for k in range(30)], "x": [k % 2 for k in range(30)]}))
    names = (*data.names,)
    page = page_of(data, ScoreTable.from_candidates(names, [[(-1.0, ())], [(-1.0, ())]]), tmp_path / "page.html")
    assert "and 18 more" in page
    asia = read_data(sample_asia())
    table = score_parent_sets(asia)
    page = page_of(asia, table, tmp_path / "page.html")
    hidden = sum(max(0, count - 8) for count in table.counts.tolist())
    assert sum(map(int, re.findall(r"and (\d+) more</p>", page))) == hidden > 0


def test_a_table_of_other_data_is_refused(tmp_path):
    data, table = small()
    for wrong in (with_provenance(table, data_fingerprint="0"), score_parent_sets(read_data(sample_asia()))):
        with pytest.raises(OptionError, match="belongs to other data"):
            write_scoring_page(data, wrong, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    data, table = small()
    (tmp_path / "file").write_text("old")
    for path in (tmp_path / "none" / "page.html", tmp_path / "file" / "page.html", tmp_path):
        with pytest.raises(OptionError, match="cannot be written"):
            write_scoring_page(data, table, path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not [path for path in tmp_path.parent.iterdir() if path.name.endswith(".tmp")]


# The page of a search.


@pytest.fixture(scope="module")
def asia():
    return read_data(sample_asia())


@pytest.fixture(scope="module")
def asia_result(asia):
    return learn(asia, bayes_factor=20)


def small_result(**changed):
    """Return a result whose numbers do not depend on the machine: two classes, the best with an edge."""
    data, _ = small()
    provenance = {
        "score": "bic",
        "epsilon": math.log(20),
        "n_rows": 3,
        "data_fingerprint": data.fingerprint,
        "constraints": {},
        "prior": {"kind": "uniform"},
        "complete": True,
        "score_equivalent": True,
    }
    table = ScoreTable.from_candidates(data.names, [[(-2.0, (1,)), (-3.0, ())], [(-1.0, (0,)), (-2.0, ())]], provenance)
    rows = Rows(
        np.array([[1, 0], [1, 1]], dtype=np.uint32), np.array([-4.0, -5.0]), np.array([[2], [1]], dtype=np.uint64), None
    )
    facts = {
        "optimal_score": -4.0,
        "epsilon": math.log(20),
        "complete": True,
        "engine": "by_hand",
        "timings": {"read": 0.25, "score": 0.5, "search": 0.125, "total": 1.0},
        "settings": {"bayes_factor": 20, "epsilon": None, "max_parents": None},
        "provenance": {"version": "0", "unit": "classes"},
        "statistics": {"layers": 3},
    }
    return data, CredibleSet(table, rows, **{**facts, **changed})


def learning_page_of(result, path, data=None):
    write_learning_page(result, path, data)
    return path.read_text(encoding="utf-8")


def stopped(result, reason, bound):
    return replace(result, complete=False, stopped_because=reason, unexplored_bound=bound)


def cells(page, heading):
    """Return the text of the table cells behind a heading, row by row."""
    table = page[page.index(f'id="{heading}"') :].split("<tbody>")[1].split("</tbody>")[0]
    return [
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, flags=re.S) for row in re.findall(r"<tr>.*?</tr>", table, re.S)
    ]


def test_learning_page_is_the_golden_file(tmp_path):
    data, result = small_result()
    check_golden(learning_page_of(result, tmp_path / "page.html", data), "learning_page.html")


def test_learning_page_loads_nothing_and_is_well_formed(tmp_path, asia, asia_result):
    for data in (asia, None):
        check_loads_nothing(learning_page_of(asia_result, tmp_path / "page.html", data))


def test_learning_page_holds_the_numbers_of_the_result(tmp_path, asia, asia_result):
    page = learning_page_of(asia_result, tmp_path / "page.html", asia)
    assert f'<p class="headline">{learning_headline(asia_result)}</p>' in page
    assert asia_result.guarantee in page
    listed = cells(page, "classes")
    assert len(listed) == asia_result.n_classes
    for found, (score, gap, size, weight, edges) in zip(asia_result.classes(), listed, strict=True):
        assert float(score.replace(",", "")) == pytest.approx(found.score, abs=1e-6)
        assert float(gap) == pytest.approx(asia_result.optimal_score - found.score, abs=1e-6)
        assert int(size) == found.size
        assert float(weight.rstrip(" %")) == pytest.approx(100 * found.weight, abs=0.05)
        assert edges.count("→") == len(found.cpdag.directed)
        assert edges.count("—") == len(found.cpdag.undirected)
    for text in ("1,000, of which 39 distinct", asia.fingerprint, "dynamic_programming", "113 candidate parent sets"):
        assert text in page
    assert re.search(r"read: \d+\.\d+; score: \d+\.\d+; search: \d+\.\d+; posterior: \d+\.\d+; total: \d+\.\d+", page)


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_weights_of_adjacencies_are_those_over_all_networks(tmp_path, asia, unit):
    result = learn(asia, bayes_factor=20, unit=unit)
    expected = defaultdict(float)
    for network in result.networks():
        for edge in network.edges:
            expected[frozenset(edge)] += math.exp(network.graph["score"] - result.optimal_score)
    total = sum(math.exp(network.graph["score"] - result.optimal_score) for network in result.networks())
    listed = cells(learning_page_of(result, tmp_path / "page.html"), "adjacencies")
    shown = {frozenset(names.split(" — ")): float(weight.rstrip(" %")) for names, weight, _ in listed}
    assert shown == {pair: pytest.approx(100 * mass / total, abs=0.051) for pair, mass in expected.items()}
    assert [weight for _, weight, _ in listed].count("100 %") == 7
    widths = [float(width) for width in re.findall(r'style="width: ([\d.]+)%"', "".join(bar for _, _, bar in listed))]
    assert widths == sorted(widths, reverse=True)


def test_hostile_names_are_text_in_the_learning_page(tmp_path):
    evil = "</svg><script>alert('x')</script>"
    rows = pa.table({evil: ["a", "b"] * 20, "{{ 7 * 7 }}": ["a", "b"] * 20, 'x" onload="y': ["<b>", "&amp;"] * 20})
    data = read_data(rows)
    page = learning_page_of(learn(data), tmp_path / "page.html", data)
    check_loads_nothing(page)
    assert "<script" not in page
    assert escape(evil).replace("&#x27;", "&#39;") in page
    assert "{{ 7 * 7 }}" in page
    assert not [found for found in Tags(page).attributes if found[1].startswith("on")]


def test_many_classes_are_cut_with_their_number(tmp_path):
    data = read_data(tic_tac_toe())
    result = k_best_classes(data, 60)
    page = learning_page_of(result, tmp_path / "page.html", data)
    assert "The best 50 of 60 classes." in page
    assert len(cells(page, "classes")) == 50


def test_headline_of_a_complete_result(asia, asia_result):
    assert learning_headline(asia_result) == (
        f"{asia_result.n_networks} networks in {asia_result.n_classes} classes fit these data about as well as the "
        "best: no other comes within a Bayes factor of 20 of it."
    )
    limited = learn(asia, bayes_factor=20, max_parents=1)
    assert "no other that obeys the constraints comes within a Bayes factor of 20" in learning_headline(limited)
    assert "within 31 nats" in learning_headline(replace(asia_result, epsilon=31))
    _, two = small_result()
    one = replace(two, rows=two.rows.first(1))
    one = replace(one, rows=replace(one.rows, sizes=np.array([[1]], dtype=np.uint64)))
    assert learning_headline(one) == "1 network fits these data best: no other comes within a Bayes factor of 20 of it."


def test_headline_of_the_k_best(asia):
    assert learning_headline(k_best_networks(asia, 5)).startswith(
        "5 networks in 2 classes are the best, proven: the last"
    )
    assert learning_headline(k_best_classes(asia, 1)).startswith("3 networks in 1 class are the best, proven")


def test_an_incomplete_result_claims_no_more_than_it_knows(tmp_path, asia_result):
    partial = stopped(asia_result, "max_networks", asia_result.optimal_score)
    page = learning_page_of(partial, tmp_path / "page.html")
    assert "At least 35 networks in 8 classes fit these data about as well as the best" in page
    assert "The search ended early (max networks): there may be more." in page
    assert "The list is not complete. The optimum is proven." in page
    assert "no other" not in page.lower()
    lost = stopped(asia_result, "time_limit", math.inf)
    page = learning_page_of(lost, tmp_path / "page.html")
    assert "35 networks in 8 classes were found before the search ended early (time limit): better ones may" in page
    assert "not proven to be the best there is" in page


def test_a_result_without_networks_has_a_page(tmp_path):
    data, result = small_result()
    nothing = stopped(replace(result, rows=result.rows.first(0)), "interrupted", -3.0)
    page = learning_page_of(nothing, tmp_path / "page.html", data)
    assert "No network was listed before the search ended." in page
    assert "No network found has an edge." in page
    assert "<svg" not in page
    check_loads_nothing(page)


def test_scores_of_unknown_origin_confine_the_claim(tmp_path, asia):
    table = score_parent_sets(asia)
    unknown = ScoreTable(table.names, table.offsets, table.scores, table.masks, {})
    with pytest.warns(CredibnWarning, match="do not say for which epsilon"):
        result = learn(scores=unknown)
    page = learning_page_of(result, tmp_path / "page.html")
    assert "no other made of the parent sets given comes" in page
    assert "this holds only among networks made of the parent sets given" in page
    assert "Networks were listed one by one" in page


def test_a_learning_page_of_other_data_is_refused(tmp_path, asia_result):
    data, _ = small()
    with pytest.raises(OptionError, match="belongs to other data"):
        write_learning_page(asia_result, tmp_path / "page.html", data)
    assert not list(tmp_path.iterdir())


# The drawing.


@pytest.mark.parametrize("n", [1, 2, 3, 8, MOST_NODES_DRAWN])
def test_drawing_keeps_nodes_apart_and_edges_off_other_nodes(n):
    names = tuple(f"a rather long name {v}" for v in range(n))
    cpdag = CPDAG(names, tuple((names[v], names[v + 1]) for v in range(n - 1)), tuple(combinations(names, 2))[n:])
    drawing = draw(cpdag)
    places = [(node.x, node.y) for node in drawing.nodes]
    assert all(math.dist(a, b) > 4 * drawing.radius for a, b in combinations(places, 2))
    assert all(len(node.label) <= 20 for node in drawing.nodes)
    assert all(0 < node.x < drawing.width and 0 < node.y < drawing.height for node in drawing.nodes)
    for edge in drawing.edges:
        start, end = (edge.x1, edge.y1), (edge.x2, edge.y2)
        for place in places:
            if place not in (start, end):
                doubled = (end[0] - start[0]) * (place[1] - start[1]) - (end[1] - start[1]) * (place[0] - start[0])
                assert abs(doubled) / math.dist(start, end) > drawing.radius
    assert [bool(edge.head) for edge in drawing.edges] == [True] * len(cpdag.directed) + [False] * len(cpdag.undirected)


def test_drawing_brings_neighbours_together():
    names = tuple("abcdef")
    chain = draw(CPDAG(names, (), (("a", "d"), ("d", "b"), ("b", "e"), ("e", "c"), ("c", "f"))))
    lengths = [math.dist((edge.x1, edge.y1), (edge.x2, edge.y2)) for edge in chain.edges]
    assert max(lengths) == pytest.approx(min(lengths), rel=0.02)


def test_large_classes_are_not_drawn():
    assert draw(CPDAG(tuple(f"v{v}" for v in range(MOST_NODES_DRAWN + 1)), (), ())) is None
