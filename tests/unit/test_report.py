"""The pages: true words, safe markup, the same bytes, all or nothing."""

import base64
import hashlib
import json
import math
import os
import re
from collections import defaultdict
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import strategies
from credibn import CredibleSet, _core, k_best_classes, k_best_networks, learn, read_data, score_parent_sets
from credibn.credible.structures import Structures, group
from credibn.effects.effect import ASSUMPTIONS
from credibn.errors import CredibnWarning, OptionError
from credibn.examples import sample_asia, tic_tac_toe
from credibn.imputation import ImputedResult
from credibn.report import class_lines, learning_headline, learning_page, scoring_headline, write_learning_page
from credibn.report.class_lines import MOST_CLASSES, best_classes, edges_text
from credibn.report.pairs import agreement_sentence, pairs_of
from credibn.report.provenance import facts, repeating_call
from credibn.report.sections import share
from credibn.report.shortening import averaged_part, seconds_for_averages, shortened_sentences
from credibn.scores import BDeu, EdgeLogOdds, EdgePenalty, ScoreTable
from profiles import examples

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


class Tags(HTMLParser):
    """Checks that tags nest, and collects their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in ("meta", "link", "img", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def without_assets(page):
    """The page without what golden files need not repeat: style, scripts, and what matplotlib draws."""
    page = re.sub(r"<style>.*?</style>", "<style/>", page, flags=re.DOTALL)
    page = re.sub(r"<script>.*?</script>", "<script/>", page, flags=re.DOTALL)
    page = re.sub(r"'sha256-[^']*'", "'sha256'", page)
    return re.sub(r'<svg role="img".*?</svg>', "<svg/>", page, flags=re.DOTALL)


def check_golden(page, name):
    golden = GOLDEN / name
    page = without_assets(page)
    if "CREDIBN_WRITE_GOLDEN" in os.environ:
        golden.write_text(page, encoding="utf-8")
    assert page == golden.read_text(encoding="utf-8"), (
        f"if the change is meant, run the test with CREDIBN_WRITE_GOLDEN=1 to write {golden.name} anew"
    )


def check_loads_nothing(page, n_scripts=0):
    """The page is well formed, refers to nothing outside itself, and forbids loading; only its own scripts run."""
    tags = Tags(page)
    assert tags.open == []
    links = [found for found in tags.attributes if found[1] in ("src", "href", "srcset", "action", "xlink:href")]
    assert all(key == "href" and value.startswith("#") for _, key, value in links)
    marks = [value for _, key, value in tags.attributes if key == "id"]
    assert {value[1:] for _, _, value in links} <= set(marks)
    assert len(marks) == len(set(marks))
    regions = [value for _, key, value in tags.attributes if key in ("aria-labelledby", "for")]
    assert set(regions) <= set(marks)
    assert not [found for found in tags.attributes if found[1].startswith("on")]
    policy = next(value for _, key, value in tags.attributes if key == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none';")
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert re.findall(r"'sha256-([^']*)'", policy) == hashes
    assert len(scripts) == n_scripts
    assert page.count("<script") == n_scripts + (n_scripts > 0)  # and the data, which do not run
    assert not re.search(r"url\((?!#)|@import|sourceMappingURL", page)
    assert set(re.findall(r"https?:[^\"' ]*", page)) <= {"http://www.w3.org/2000/svg"}
    assert 'name="viewport"' in page
    assert '<html lang="en">' in page


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
    rows = Structures(
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


def drawn(page):
    """What the script of a page draws."""
    return json.loads(re.search(r'<script type="application/json" id="drawn">(.*?)</script>', page)[1])


def percent(text):
    return float(text.rstrip(" %").lstrip("<> "))


def test_learning_page_loads_nothing_and_is_well_formed(tmp_path, asia, asia_result):
    for data in (asia, None):
        check_loads_nothing(learning_page_of(asia_result, tmp_path / "page.html", data), n_scripts=2)


def test_learning_page_has_the_same_bytes_each_time(tmp_path, asia, asia_result):
    pages = [learning_page_of(asia_result, tmp_path / f"{at}.html", asia) for at in range(2)]
    assert pages[0] == pages[1]
    assert "<svg role=" in pages[0]


def test_page_shows_all_kinds_of_columns(tmp_path):
    rows = pa.table({"age": [1.5, 2.5, 4.0, 8.0], "group": ["a", "b", None, "a"], "one": ["k"] * 4})
    with pytest.warns(CredibnWarning, match="constant"):
        data = read_data(rows, columns="mixed", missing="state")
    result = learn(data, score="conditional-gaussian-bic", max_parents=1)
    page = learning_page_of(result, tmp_path / "page.html", data)
    assert "1.5 to 8, mean 4" in page
    assert "(missing): 1 (25.0%)" in page
    assert re.search(r"constant, takes no part in the\s+search", page)
    assert "max parents: 1" in page


def test_long_lists_of_states_are_shortened_with_their_number(tmp_path):
    data = read_data(pa.table({"s": [f"s{k // 2:02}" for k in range(60)], "x": [k % 2 for k in range(60)]}))
    assert "and 18 more" in learning_page_of(learn(data), tmp_path / "page.html", data)


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    data, result = small_result()
    (tmp_path / "file").write_text("old")
    for path in (tmp_path / "none" / "page.html", tmp_path / "file" / "page.html", tmp_path):
        with pytest.raises(OptionError, match="cannot be written"):
            write_learning_page(result, path, data)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not [path for path in tmp_path.parent.iterdir() if path.name.endswith(".tmp")]


@pytest.mark.parametrize(("number", "text"), [(35, "35"), (702_123_456, "702,123,456"), (123_456 * 10**30, "1.23e+35")])
def test_huge_counts_are_shortened(number, text):
    assert learning_page._short(number) == text


def test_shares_are_never_rounded_to_nothing_or_everything():
    assert [share(p) for p in (1.0, 0.99999, 0.251, 1e-9, 0.0)] == ["100 %", "> 99.9 %", "25.1 %", "< 0.1 %", "0 %"]


def test_a_page_of_few_variables_is_light(tmp_path):
    data = read_data(sample_asia().select(range(5)))
    assert len(learning_page_of(learn(data), tmp_path / "page.html", data)) < 300_000


def test_learning_page_holds_the_numbers_of_the_result(tmp_path, asia, asia_result):
    page = learning_page_of(asia_result, tmp_path / "page.html", asia)
    held = "35 networks in 8 classes hold 68.2 % of the posterior probability of all networks."
    assert f'<p class="headline">{held}</p>' in page
    assert f'<p class="agreement">{learning_headline(asia_result)} ' in page
    assert asia_result.guarantee in page
    listed = cells(page, "classes")
    assert len(listed) == asia_result.n_classes
    for at, (found, line) in enumerate(zip(asia_result.classes(), listed, strict=True)):
        number, score, gap, factor, size, weight, over_all, _ = line
        assert int(number) == at + 1
        assert float(score.replace(",", "")) == pytest.approx(found.score, abs=1e-6)
        assert float(gap) == pytest.approx(asia_result.optimal_score - found.score, abs=1e-6)
        assert float(factor) == pytest.approx(math.exp(asia_result.optimal_score - found.score), abs=0.005)
        assert int(size) == found.size
        assert percent(weight) == pytest.approx(100 * found.weight, abs=0.05)
        assert percent(over_all) == pytest.approx(100 * found.weight * asia_result.posterior_share, abs=0.05)
    for text in ("1,000, of which 39 distinct", asia.fingerprint, "dynamic_programming", "113 candidate parent sets"):
        assert text in page
    assert re.search(r"read: \d+\.\d+; score: \d+\.\d+; search: \d+\.\d+; posterior: \d+\.\d+; total: \d+\.\d+", page)
    frame = asia_result.v_structure_probabilities()
    assert len(cells(page, "v-structures")) == len(frame)
    assert cells(page, "v-structures")[0][0] == f"{frame['first'][0]} → {frame['child'][0]} ← {frame['second'][0]}"


def test_the_page_says_how_many_networks_are_within_each_bayes_factor(tmp_path, asia):
    result = learn(asia, bayes_factor=150)
    page = learning_page_of(result, tmp_path / "page.html", asia)
    for factor in (3, 20, 150):
        fewer = learn(asia, bayes_factor=factor)
        words = rf"{factor} of the best: {fewer.n_networks:,} networks in\s+{fewer.n_classes} classes"
        assert re.search(words, page)


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_probabilities_of_pairs_are_those_over_all_networks(tmp_path, asia, unit):
    result = learn(asia, bayes_factor=20, unit=unit)
    masses, total = defaultdict(float), 0.0
    for network in result.networks():
        mass = math.exp(network.graph["score"] - result.optimal_score)
        total += mass
        for edge in network.edges:
            masses[edge] += mass
    page = learning_page_of(result, tmp_path / "page.html")
    listed = cells(page, "pairs")
    shown = {}
    for first, second, joined, _, forward, _, backward, _, _ in listed:
        assert percent(joined) == pytest.approx(percent(forward) + percent(backward), abs=0.16)
        shown[first, second], shown[second, first] = percent(forward), percent(backward)
    expected = {edge: pytest.approx(100 * mass / total, abs=0.051) for edge, mass in masses.items()}
    assert {edge: value for edge, value in shown.items() if value} == expected
    assert [line[2] for line in listed].count("100 %") == 7
    heat = {}
    rows = cells(page, "edges")
    for name, *values in rows:
        for (child, *_), value in zip(rows, values, strict=True):
            if value:
                heat[name, child] = percent(re.sub(r"<.*?>", "", value))
    assert heat == expected
    drawing = drawn(page)
    for pair in drawing["pairs"]:
        a, b = (drawing["names"][end] for end in pair["ends"])
        assert 100 * pair["forward"] == pytest.approx(shown[a, b], abs=0.051)
        assert 100 * pair["backward"] == pytest.approx(shown[b, a], abs=0.051)


@given(table=strategies.functional_tables(max_columns=4))
@examples(25)
def test_pairs_agree_with_a_list_of_all_networks(table):
    result = learn(table.dataset(), bayes_factor=20)
    networks = [set(network.edges) for network in result.networks()]
    in_all = one_way = 0
    pairs = pairs_of(result)
    for pair in pairs:
        a, b = result.names[pair.first], result.names[pair.second]
        forward, backward = (sum(edge in edges for edges in networks) for edge in ((a, b), (b, a)))
        assert pair.is_in_all is (forward + backward == len(networks))
        assert pair.has_one_direction is (forward == 0 or backward == 0)
        assert (pair.forward == 1.0) is (forward == len(networks))
        assert (pair.joined == 1.0) >= pair.is_in_all
        in_all += pair.is_in_all
        one_way += pair.is_in_all and pair.has_one_direction
    joined = [pair for pair in pairs if pair.joined]
    assert len(joined) == len({frozenset(edge) for edges in networks for edge in edges})
    assert all(pair.over_all[0] >= 0.01 for pair in pairs[len(joined) :])
    if len(networks) > 1:
        numbers = [int(word) for word in re.findall(r"\d+", agreement_sentence(result, pairs))]
        assert numbers[:1] == ([in_all] if in_all else [])
        assert numbers[1:] in ([in_all - one_way], [])


def test_the_headline_counts_edges_that_all_networks_share(tmp_path, asia, asia_result):
    page = learning_page_of(asia_result, tmp_path / "page.html", asia)
    networks = [set(network.edges) for network in asia_result.networks()]
    joined = set.intersection(*({frozenset(edge) for edge in edges} for edges in networks))
    n_open = len(joined) - len(set.intersection(*networks))
    assert f"{len(joined)} edges are in all of them; {n_open} have an undecided direction" in page
    assert 0 < n_open < len(joined)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ([[1, 1]], "It has no edge."),
        ([[1, 0]], "It has 1 edge."),
        ([[1, 0], [1, 1]], "No edge is in all of them."),
        ([[1, 0], [0, 1]], "1 edge is in all of them; its direction differs from network to network."),
    ],
)
def test_sentence_of_few_edges(choices, sentence):
    _, result = small_result()
    n = len(choices)
    rows = Structures(
        np.array(choices, dtype=np.uint32), np.full(n, -4.0), np.zeros((n, 0), dtype=np.uint64), np.arange(n) * 0
    )
    result = replace(result, structures=rows)
    assert agreement_sentence(result, pairs_of(result)) == sentence


def test_the_differences_of_a_class_give_its_edges(asia):
    result = learn(asia, bayes_factor=150)
    first = result.classes()[0].cpdag
    for found, line in zip(result.classes(), best_classes(result), strict=False):
        edges = set(edges_text(first).split(", "))
        for change in filter(None, line.differences.split("; ")):
            if change.startswith("without "):
                edges.remove(change.removeprefix("without "))
            elif change.startswith("with "):
                edges.add(change.removeprefix("with "))
            else:
                new, old = change.split(" instead of ")
                edges.remove(old)
                edges.add(new)
        assert edges == set(edges_text(found.cpdag).split(", "))
        names = found.names
        assert [(names[a], names[b]) for a, b in line.directed] == list(found.cpdag.directed)
        assert [(names[a], names[b]) for a, b in line.undirected] == list(found.cpdag.undirected)


def test_the_call_on_the_page_finds_the_same_set(asia):
    for result in (
        learn(asia, bayes_factor=3, max_parents=2, forbidden_edges=["dysp->smoke"], time_limit=100),
        k_best_classes(asia, 4),
        learn(asia),
    ):
        known = {"data": asia}
        exec(repeating_call(result), known)
        assert known["found"].rows.choices.tobytes() == result.rows.choices.tobytes()
        assert known["found"].rows.scores.tobytes() == result.rows.scores.tobytes()
    table = score_parent_sets(asia, bayes_factor=3)
    result, known = learn(table, bayes_factor=3), {"scores": table}
    exec(repeating_call(result), known)
    assert known["found"].n_networks == result.n_networks


GAPS = "age,smoke,lung,id\n" + "".join(
    f"{20.5 + 7 * row % 60},{'yes' if row % 3 else 'no'},{('no', 'yes', '?')[2 if row == 5 else row % 3 == 1]},p{row}\n"
    for row in range(60)
)


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "drop", "drop": ["id"]},
        {"missing": "drop", "only": ["smoke", "lung"], "prior": EdgePenalty(0.5), "keep_counts": False},
        {"missing": "state", "drop": ["id"], "columns": {"age": "numeric"}, "bayes_factor": 3, "max_parents": 2},
        {"missing": "drop", "drop": ["id"], "discretise": {"age": "equal_frequency:3"}, "score": BDeu(2.0)},
        {
            "missing": "drop",
            "only": ["smoke", "lung"],
            "prior": EdgeLogOdds({("smoke", "lung"): 1.5}),
            "tiers": [["smoke"], ["lung"]],
        },
    ],
    ids=lambda options: "-".join(options),
)
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_the_call_on_the_page_gives_the_same_result_when_it_runs(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.csv").write_text(GAPS)
    result = learn("clinic.csv", n_threads=1, **options)
    write_learning_page(result, "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    code = unescape(re.search(r'<pre[^>]*aria-label="Python code">(.*?)</pre>', page, re.S)[1])
    known = {}
    exec(code, known)
    again = known["found"]
    assert again.structures.choices.tobytes() == result.structures.choices.tobytes()
    assert again.structures.scores.tobytes() == result.structures.scores.tobytes()
    assert again.score_table.same_as(result.score_table)
    assert again.provenance["data_fingerprint"] == result.provenance["data_fingerprint"]
    assert again.provenance["reading"]["options"] == result.provenance["reading"]["options"]
    assert (again.families is None) is (result.families is None)
    assert "<title>credibn: credible networks of clinic.csv</title>" in page
    assert "<h1>credibn: credible networks of clinic.csv</h1>" in page
    dropped = "none" if options["missing"] == "state" else "1 row of 60"
    facts_shown = dict(facts(result, None))
    assert (facts_shown["Table"], facts_shown["Dropped for missing values"]) == ("clinic.csv", dropped)
    assert f"missing: {options['missing']}" in facts_shown["Read with"]
    assert facts_shown["Counts for prediction"] == ("not stored" if "keep_counts" in options else "stored")


@pytest.mark.parametrize("reason", ["time_limit", "memory_limit", "interrupted"])
def test_the_page_of_a_stopped_search_does_not_promise_the_same_networks(tmp_path, asia_result, reason):
    stopped = replace(asia_result, complete=False, stopped_because=reason, unexplored_bound=0.0)
    page = learning_page_of(stopped, tmp_path / "page.html")
    assert "This call finds the same networks again" not in page
    assert "the search was stopped, and another run may find more or fewer" in page
    page = learning_page_of(replace(stopped, stopped_because="max_networks"), tmp_path / "page.html")
    assert "This call finds the same networks again" in page


def test_the_page_cites_what_the_citation_file_names(tmp_path, asia_result):
    page = unescape(re.sub(r"\s+", " ", learning_page_of(asia_result, tmp_path / "page.html")))
    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r"title: (Learning .*)", citation)[1]
    assert f"<cite>{title}</cite>" in page
    assert all(name in page for name in re.findall(r"family-names: ([\w ]+)", citation))
    assert re.search(r"- name: (.*)", citation)[1] in page


def test_hostile_names_are_text_in_the_learning_page(tmp_path):
    evil = "</svg></script><script>alert('x')</script><!--"
    names = [evil, "{{ 7 * 7 }}", 'x" onload="y', "Größe µ 性别 🧬 $x_1$", "long " * 200]
    rows = pa.table({name: ["<b>", "&amp;"] * 20 for name in names})
    data = read_data(rows)
    page = learning_page_of(learn(data, max_parents=1), tmp_path / "page.html", data)
    check_loads_nothing(page, n_scripts=2)
    assert "<script>alert" not in page
    assert escape(evil).replace("&#x27;", "&#39;") in page
    assert "{{ 7 * 7 }}" in page
    assert drawn(page)["names"] == list(data.names)


def test_many_classes_are_cut_with_their_number(tmp_path):
    data = read_data(tic_tac_toe())
    result = k_best_classes(data, 60)
    page = learning_page_of(result, tmp_path / "page.html", data)
    assert re.search(r"the best 50 of 60 classes\.", page)
    assert len(cells(page, "classes")) == len(drawn(page)["classes"]) == MOST_CLASSES == 50


def test_classes_do_not_fill_the_page(asia_result, monkeypatch):
    monkeypatch.setattr(class_lines, "_MOST_LETTERS", 200)
    lines = best_classes(asia_result)
    assert 0 < len(lines) < asia_result.n_classes
    monkeypatch.setattr(class_lines, "_MOST_LETTERS", 0)
    assert len(best_classes(asia_result)) == 1


def test_a_known_share_of_the_posterior_is_told(tmp_path, asia_result):
    known = replace(asia_result, log_total_mass=asia_result.log_mass - math.log(0.834))
    page = learning_page_of(known, tmp_path / "page.html")
    assert "They hold 83.4 % of the posterior probability of all networks." in page
    assert "<dd>83.4 %</dd>" in page
    assert 'id="caution"' not in page
    page = learning_page_of(replace(known, log_total_mass=None, edges_over_all=None), tmp_path / "page.html")
    assert "They hold an unknown share of the posterior probability of all networks." in page
    assert "<dt>of the posterior probability of all networks</dt><dd>unknown</dd>" in page
    assert "posterior_share=True (--posterior-share) computes it, in about a second." in page
    assert "bayes_factor=150 (--bayes-factor 150)" in page


def test_a_page_warns_of_a_set_that_holds_little_and_shows_what_it_leaves_out(tmp_path, asia_result):
    known = replace(asia_result, log_total_mass=asia_result.log_mass - math.log(0.019))
    page = unescape(learning_page_of(known, tmp_path / "page.html"))
    assert page.index("hold 1.9 % of the posterior") < page.index('id="caution"') < page.index('class="tiles"')
    assert (
        "This is less than half of the posterior, so what these networks agree on need not hold in the others." in page
    )
    first, second, *numbers = cells(page, "pairs")[0]
    a, b = (known.names.index(name) for name in (first, second))
    assert len(numbers) == 7
    over_all = known.edges_over_all[a, b], known.edges_over_all[b, a]
    assert [percent(text) for text in numbers[3:6:2]] == pytest.approx([100 * value for value in over_all], abs=0.11)
    assert percent(numbers[1]) == pytest.approx(100 * sum(over_all), abs=0.11)


def test_pairs_that_only_networks_outside_the_set_join_are_listed(tmp_path):
    result = learn(np.random.default_rng(0).integers(0, 2, (400, 2)), epsilon=0)
    page = learning_page_of(result, tmp_path / "page.html")
    check_loads_nothing(page, n_scripts=2)
    assert cells(page, "pairs") == [["X0", "X1", "0 %", "9.8 %", "0 %", "4.9 %", "0 %", "4.9 %", "0 %"]]
    assert "heat-map" not in without_assets(page)


def test_a_page_with_constraints_shows_what_they_leave_open(tmp_path, asia):
    """With each variable in a tier of its own no direction is open, though every class has reversible edges."""
    tiers = [["smoke"], ["bronc"], ["lung", "asia"], ["tub"], ["either"], ["xray", "dysp"]]
    result = learn(asia, tiers=tiers)
    assert any(one.cpdag.undirected for one in result.classes())
    page = unescape(learning_page_of(result, tmp_path / "page.html", asia))
    content = drawn(page)
    assert "<dt>of these with an undecided direction</dt><dd>0</dd>" in page
    assert all(not found["undirected"] for found in content["classes"])
    assert {cell for line in cells(page, "pairs") for cell in line[-1:]} == {"0 %"}
    assert "smoke → bronc" in page
    assert " — " not in re.search(r"The best class has the edges (.*?)</p>", page)[1]
    assert "class that the constraints and the gap leave have this direction" in page


def test_the_graph_has_an_arrow_only_where_the_direction_is_decided(tmp_path, asia_result):
    page = learning_page_of(asia_result, tmp_path / "page.html")
    graph = asia_result.threshold_graph(0.01)
    for pair in drawn(page)["pairs"]:
        a, b = (asia_result.names[end] for end in pair["ends"])
        is_both = graph.has_edge(a, b) and graph.has_edge(b, a)
        assert pair["direction"] == (0 if is_both else 1 if graph.has_edge(a, b) else -1)


def test_huge_classes_need_no_list_of_networks(tmp_path):
    data, result = small_result()
    huge = replace(result.rows, sizes=np.array([[0] * 20 + [1], [1] + [0] * 20], dtype=np.uint64))
    page = learning_page_of(replace(result, structures=huge), tmp_path / "page.html", data)
    assert re.search(r"<dd>\d\.\d\de\+385</dd>", page)
    check_loads_nothing(page, n_scripts=2)


def test_one_variable_one_network(tmp_path):
    data = read_data(pa.table({"coin": ["head", "tail"] * 5}))
    page = learning_page_of(learn(data), tmp_path / "page.html", data)
    assert "1 network fits these data best" in page
    assert "It has no edge." in page
    assert "No network found has an edge." in page
    check_loads_nothing(page, n_scripts=2)


def test_headline_of_a_complete_result(asia, asia_result):
    assert learning_headline(asia_result) == (
        f"{asia_result.n_networks} networks in {asia_result.n_classes} classes fit these data about as well as the "
        "best: no other comes within a Bayes factor of 20 of it."
    )
    limited = learn(asia, bayes_factor=20, max_parents=1)
    assert "no other that obeys the constraints comes within a Bayes factor of 20" in learning_headline(limited)
    assert "within 31 nats" in learning_headline(replace(asia_result, epsilon=31))
    _, two = small_result()
    one = replace(two, structures=two.rows.first(1))
    one = replace(one, structures=replace(one.rows, sizes=np.array([[1]], dtype=np.uint64)))
    assert learning_headline(one) == "1 network fits these data best: no other comes within a Bayes factor of 20 of it."


def test_headline_of_the_k_best(asia):
    assert learning_headline(k_best_networks(asia, 5)).startswith(
        "5 networks in 2 classes are proven to be the best: the last"
    )
    assert learning_headline(k_best_classes(asia, 1)).startswith("3 networks in 1 class are proven to be the best")


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
    assert "it is not proven to be optimal" in page


def test_a_result_without_networks_has_a_page(tmp_path):
    data, result = small_result()
    nothing = stopped(replace(result, structures=result.rows.first(0)), "interrupted", -3.0)
    page = learning_page_of(nothing, tmp_path / "page.html", data)
    assert "No network was listed before the search ended." in page
    assert "No network found has an edge." in page
    assert "<svg" not in page
    check_loads_nothing(page, n_scripts=2)


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
    with pytest.raises(OptionError, match="does not belong to the data"):
        write_learning_page(asia_result, tmp_path / "page.html", data)
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------ within a time limit


@pytest.fixture(scope="module")
def large_result():
    """All networks of five variables, listed one by one."""
    values = np.random.default_rng(3).integers(0, 2, (60, 5))
    found = learn(values, epsilon=1000.0, unit="networks", posterior_share=False)
    assert found.n_networks == 29_281
    return found


@pytest.fixture
def averaged_rows(monkeypatch):
    """How many rows each computation of averages took; not even a moment is granted where there is no time."""
    monkeypatch.setattr("credibn.report.shortening._LEAST_SECONDS", 0.0)
    seen, compute = [], _core.average_structure

    def counting(offsets, masks, choices, weights, by_class):
        seen.append(len(choices))
        return compute(offsets, masks, choices, weights, by_class)

    monkeypatch.setattr(_core, "average_structure", counting)
    return seen


class Clock:
    """Tells some seconds more at each call."""

    def __init__(self, seconds):
        self.now, self.seconds = 0.0, seconds

    def __call__(self):
        self.now += self.seconds
        return self.now


@pytest.mark.parametrize(
    ("seconds", "n_rows"), [(0.0, 2_000), (2.0, 2_000), (11.0, 16_000), (13.0, 19_200), (25.0, 29_281), (None, 29_281)]
)
def test_averages_take_as_many_rows_as_the_time_allows(large_result, averaged_rows, seconds, n_rows):
    """The first 2,000 take a second by this clock; the rest may take four fifths of the rest."""
    part = averaged_part(large_result, seconds, Clock(1.0))
    assert len(part.rows) == n_rows
    assert averaged_rows == ([] if seconds is None else [2_000])


def test_a_page_without_time_is_about_the_best_part_and_says_so(tmp_path, large_result, averaged_rows):
    result = replace(large_result)  # nothing is known of it yet
    write_learning_page(result, tmp_path / "short.html", seconds=0.0)
    assert averaged_rows == [2_000]
    short = unescape((tmp_path / "short.html").read_text(encoding="utf-8"))
    assert "This page is shortened to stay within the time limit." in short
    assert "among the best 2,000 networks of 29,281, which hold " in short
    assert "To make the full page: credibn report RESULT --data DATA -o report.html." in short
    assert "edges in the best 2,000 networks" in short
    assert "29,281" in without_assets(short), "the numbers of the whole result are there"
    write_learning_page(result, tmp_path / "whole.html", seconds=3600.0)
    write_learning_page(result, tmp_path / "unlimited.html")
    whole = (tmp_path / "whole.html").read_bytes()
    assert whole == (tmp_path / "unlimited.html").read_bytes()
    assert b'id="shortened"' not in whole


def test_the_weight_left_out_bounds_what_it_could_change(large_result, averaged_rows):
    part = averaged_part(large_result, 0.0)
    left_out = 1 - math.exp(part.log_mass - large_result.log_mass)
    change = np.abs(part.edge_probabilities().to_numpy() - large_result.edge_probabilities().to_numpy()).max()
    assert 0 < change <= left_out + 1e-12
    text = " ".join(shortened_sentences(large_result, part, has_simple_layout=False))
    assert f"hold {share(1 - left_out)} of the weight" in text
    (points,) = re.findall(r"including all networks would change each by at most ([\d.]+) percentage points", text)
    assert 0 <= float(points) - 100 * left_out < 0.1


def chain(n):
    """A set of one network in which each variable is the parent of the next."""
    return one_network([(v - 1,) if v else () for v in range(n)])


def one_network(parents):
    """A set of the one network with these parents of each variable."""
    n, candidates = len(parents), [[(-1.0, above)] for above in parents]
    table = ScoreTable.from_candidates([f"v{v}" for v in range(n)], candidates, {"score": "bic", "epsilon": 1.0})
    choices, scores = np.zeros((1, n), dtype=np.uint32), np.array([-float(n)])
    return CredibleSet(table, group(table, choices, scores), -float(n), 1.0, complete=True, engine="made")


def test_a_page_without_time_has_a_large_graph_in_simple_places_and_says_so(tmp_path):
    told = "The graph has a simple layout: edges may cross each other and run behind variables."
    for n, seconds, is_told in ((60, 0.0, True), (60, 3600.0, False), (60, None, False), (20, 0.0, False)):
        write_learning_page(chain(n), tmp_path / "page.html", seconds=seconds)
        assert (told in (tmp_path / "page.html").read_text(encoding="utf-8")) is is_told


def test_a_wide_graph_is_printed_on_a_landscape_sheet(tmp_path, asia_result):
    star = one_network([(), *[(0,)] * 5])
    for found, is_wide in ((star, True), (asia_result, False)):
        write_learning_page(found, tmp_path / "page.html")
        assert ('<section class="graph-page wide-graph">' in (tmp_path / "page.html").read_text()) is is_wide


def test_averages_leave_half_of_the_time_or_what_a_layout_takes():
    found = chain(100)
    classes = best_classes(found)
    assert seconds_for_averages(found, classes, 6.0) == 3.0
    assert seconds_for_averages(found, classes, 60.0) == pytest.approx(60 - 5e-4 * 100 * 99)
    assert seconds_for_averages(found, [], 60.0) == 60.0
    assert seconds_for_averages(found, classes, None) is None


def test_a_page_has_effects_where_they_are_asked_for(tmp_path, asia, asia_result):
    page = tmp_path / "effects.html"
    write_learning_page(asia_result, page, asia, effects=True)
    text = page.read_text(encoding="utf-8")
    assert ASSUMPTIONS in text
    strongest = asia_result.effects(asia).strongest(3)
    for cause, outcome in strongest[["cause", "outcome"]].itertuples(index=False):
        assert f'<tr><th scope="row">{cause}</th><td>{outcome}</td>' in text
    assert "Which experiment would tell most" in text
    write_learning_page(asia_result, page, asia)
    assert ASSUMPTIONS not in page.read_text(encoding="utf-8")
    with pytest.raises(OptionError, match="effects needs the table"):
        write_learning_page(asia_result, page, effects=True)


def small_imputed(forward=(0.5, 1.0), compelled=(0.0, 0.0), **changed):
    """Two chains of two rounds by hand, of a table of three rows with two gaps; the second round counts."""
    data, result = small_result(settings={"score": "bic", "posterior_share": False, "time_limit": 0.5})
    trace = np.zeros((2, 2, 2, 2))
    agreed = trace.copy()
    trace[:, 1, 0, 1], agreed[:, 1, 0, 1] = forward, compelled
    content = {
        "sets": (result, result),
        "tables": (data, data),
        "trace_scores": np.array([[-5.0, -3.75], [-6.0, -3.75]]),
        "trace_edges": trace,
        "trace_compelled": agreed,
        "n_missing": {"rain": 0, "<wet>": 2},
        "n_complete_rows": 1,
        "n_rounds": 2,
        "settings": {"n_imputations": 2, "n_rounds": 2, "seed": 7, "time_limit": None},
    }
    return ImputedResult(**{**content, **changed})


def imputation_page_of(result, path):
    result.write_report(path)
    return path.read_text(encoding="utf-8")


def test_imputation_page_is_the_golden_file(tmp_path):
    check_golden(imputation_page_of(small_imputed(), tmp_path / "page.html"), "imputation_page.html")


def test_imputation_page_loads_nothing_and_has_the_same_bytes_each_time(tmp_path):
    pages = [imputation_page_of(small_imputed(), tmp_path / f"{at}.html") for at in range(2)]
    check_loads_nothing(pages[0], n_scripts=2)
    assert pages[0] == pages[1]


def test_imputation_page_shows_gaps_pooled_pairs_and_their_spread(tmp_path):
    page = imputation_page_of(small_imputed(), tmp_path / "page.html")
    assert cells(page, "gaps") == [["rain", "0", "0 %"], ["&lt;wet&gt;", "2", "66.7 %"]]
    assert cells(page, "pairs") == [["rain", "&lt;wet&gt;", "75.0 %", "25.0", "25.0", "75.0 %", "0 %", "∞"]]
    assert "33.3 % of the values are missing. They were filled in 2 times, each in 2 rounds." in page
    assert "missing at random" in page


@pytest.mark.parametrize(("compelled", "direction"), [((0.5, 1.0), 1), ((0.5, 0.9), 0), ((0.0, 0.0), 0)])
def test_imputation_page_draws_an_arrow_only_where_completed_tables_decide_the_direction(
    tmp_path, compelled, direction
):
    page = imputation_page_of(small_imputed(compelled=compelled), tmp_path / "page.html")
    (pair,) = drawn(page)["pairs"]
    assert (pair["joined"], pair["forward"], pair["direction"]) == (0.75, 0.75, direction)


def test_imputation_page_says_whether_chains_have_settled(tmp_path):
    traces = {"trace_scores": np.tile([-5.0, -4.0, -3.0, -4.0], (2, 1)), "n_rounds": 4}
    for forward, is_settled in ((0.5, 0.5), True), ((0.5, 1.0), False):
        edges = np.zeros((2, 4, 2, 2))
        edges[:, 2:, 0, 1] = np.array(forward)[:, None]
        result = small_imputed(trace_edges=edges, trace_compelled=0 * edges, **traces)
        page = imputation_page_of(result, tmp_path / "page.html")
        assert ("does not depend on where they began" in page) is is_settled
        assert ("Raise n_rounds (--rounds)" in page) is not is_settled


def test_imputation_page_without_an_edge_has_no_graph(tmp_path):
    page = imputation_page_of(small_imputed(forward=(0.0, 0.0)), tmp_path / "page.html")
    check_loads_nothing(page, n_scripts=2)
    assert "No network of any completed table has an edge." in page
    assert 'id="graph"' not in page


def test_imputation_page_repeats_the_call_of_a_run_that_was_stopped(tmp_path):
    settings = {"n_imputations": 2, "n_rounds": 9, "seed": 7, "time_limit": 60.0}
    page = unescape(
        imputation_page_of(small_imputed(stopped_because="time_limit", settings=settings), tmp_path / "page.html")
    )
    call = re.search(r"<pre.*?>(.*?)</pre>", page, flags=re.S)[1]
    assert "credibn.impute_and_learn(" in call
    assert "    n_imputations=2,\n    n_rounds=9,\n    seed=7,\n    time_limit=60.0,\n    score='bic'," in call
    assert "posterior_share" not in call
    assert "another run may find more or fewer" in page
    assert "2 of 9 (time limit)" in page
