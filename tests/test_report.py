"""The page of the scoring stage: true words, safe markup, the same bytes, all or nothing."""

import doctest
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from credibn import read_data, score_parent_sets
from credibn.errors import CredibnWarning, OptionError
from credibn.examples import sample_asia
from credibn.report import scoring_headline, scoring_page, write_scoring_page
from credibn.scores import ScoreTable

GOLDEN = Path(__file__).parent / "golden" / "scoring_page.html"


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


def test_docstrings():
    assert doctest.testmod(scoring_page).failed == 0


def test_page_is_the_golden_file(tmp_path):
    page = page_of(*small(), tmp_path / "page.html")
    assert page == GOLDEN.read_text(encoding="utf-8"), f"if the change is meant, write the page to {GOLDEN.name}"


def test_same_input_gives_the_same_bytes(tmp_path):
    pages = []
    for threads in (1, 2):
        data = read_data(sample_asia())
        pages.append(page_of(data, score_parent_sets(data, n_threads=threads), tmp_path / "page.html"))
    assert pages[0] == pages[1]


def test_page_loads_nothing_and_is_well_formed(tmp_path):
    data = read_data(sample_asia())
    page = page_of(data, score_parent_sets(data), tmp_path / "page.html")
    tags = Tags(page)
    assert tags.open == []
    assert not [found for found in tags.attributes if found[1] in ("src", "href", "srcset", "action")]
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import|<script", page)
    assert 'name="viewport"' in page
    assert '<html lang="en">' in page
    regions = [value for _, key, value in tags.attributes if key == "aria-labelledby"]
    assert set(regions) <= {value for _, key, value in tags.attributes if key == "id"}


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
