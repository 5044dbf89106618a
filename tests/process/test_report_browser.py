"""The report in a real browser: what it draws, keys and taps, small screens, paper, and that nothing is loaded."""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from browsers import browser, needs_browser  # noqa: F401
from credibn import CredibleSet, impute_and_learn, learn, read_data
from credibn.credible.structures import group
from credibn.examples import sample_asia
from credibn.report import write_learning_page
from credibn.scores import ScoreTable

pytestmark = [needs_browser, pytest.mark.xdist_group("browser"), pytest.mark.slow]  # they share a browser and its pages
EVIL = "</script><img src=x onerror='window.wasHacked = 1'><script>window.wasHacked = 1</script>"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The files of a report on few variables, on many, and of nothing at all."""
    folder = tmp_path_factory.mktemp("pages")
    few = read_data(sample_asia().select(["asia", "tub", "lung", "either", "xray"]))
    found = learn(few, bayes_factor=150)
    write_learning_page(found, folder / "few.html", few)
    write_learning_page(many_variables(), folder / "many.html")
    nothing = replace(
        found, structures=found.rows.first(0), complete=False, stopped_because="time_limit", unexplored_bound=math.inf
    )
    write_learning_page(nothing, folder / "nothing.html", few)
    gapped = sample_asia(200).select(["tub", "lung", "either"]).to_pandas()
    gapped.loc[::5, "tub"] = None
    impute_and_learn(gapped, n_imputations=2, n_rounds=4, n_threads=1).write_report(folder / "imputed.html")
    return folder


def many_variables(n=76, n_networks=300):
    """A made set: each variable has one of three parent sets among those before it, mostly the first."""
    rng = np.random.default_rng(7)
    names = [f"a rather long name of variable {v}" if v % 10 == 0 else f"v{v}" for v in range(n)]
    names[3], names[4] = EVIL, "long " * 100
    candidates = [[(-1.0, ())]]
    for v in range(1, n):
        first, second = rng.choice(np.arange(max(0, v - 12), v), 2, replace=v < 3).tolist()
        candidates.append([(-1.0, (first,)), (-1.5, ()), (-1.7, tuple({first, second}))][: 3 if first != second else 2])
    table = ScoreTable.from_candidates(names, candidates, {"score": "bic", "epsilon": 20.0})
    choices = np.zeros((n_networks, n), dtype=np.uint32)
    for row in choices[1:]:
        for v in rng.choice(np.arange(1, n), 4, replace=False):
            row[v] = rng.integers(0, table.counts[v])
    choices = np.unique(choices, axis=0)
    scores = table.scores[table.offsets[:-1] + choices].sum(axis=1)
    order = np.argsort(-scores, kind="stable")
    rows = group(table, choices[order], scores[order])
    return CredibleSet(table, rows, float(scores.max()), 20.0, complete=True, engine="made")


@pytest.fixture
def show(browser, pages):  # noqa: F811
    """Opens a page; at the end nothing was asked from elsewhere, and no error was told."""
    contexts, troubles = [], []

    def opened(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        address = (pages / f"{name}.html").as_uri()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        inside = (address, "data:", "blob:")  # the page itself, and what it makes
        page.on("request", lambda request: request.url.startswith(inside) or troubles.append(request.url))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def drawn(page):
    return json.loads(page.locator("#drawn").text_content())


def n_edges(page, viewer="#graph-view"):
    return page.locator(f"{viewer} .edge").count()


@pytest.mark.parametrize("name", ["few", "many", "imputed"])
def test_the_slider_shows_and_hides_edges(show, name):
    page = show(name)
    joined = [pair["joined"] for pair in drawn(page)["pairs"]]

    def expected(percent):
        return sum(value >= percent / 100 - 1e-6 for value in joined)

    assert n_edges(page) == expected(10)
    slider = page.get_by_label("Show edges with a probability of at least")
    slider.focus()
    page.keyboard.press("End")
    assert page.inner_text("#threshold-shown") == "100 %"
    assert n_edges(page) == expected(100)
    page.keyboard.press("Home")
    assert n_edges(page) == expected(1) == len(joined) > expected(100)
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#threshold-shown") == "2 %"
    slider.fill("30")
    assert n_edges(page) == expected(30)
    assert page.inner_text("#n-drawn") == f"{expected(30)} of {len(joined)} shown"


@pytest.mark.parametrize("name", ["few", "many"])
def test_nodes_and_edges_stay_inside_the_drawing(show, name):
    page = show(name)
    page.locator("#threshold").fill("1")
    assert page.locator("#graph-view .node").count() == len(drawn(page)["names"])
    outside = page.evaluate(
        """() => [...document.querySelectorAll("#graph-view .canvas svg")].flatMap((svg) => {
          const view = svg.viewBox.baseVal;
          return [...svg.querySelectorAll(".node rect, .line")].filter((part) => {
            const box = part.getBBox();
            return box.x < 0 || box.y < 0 || box.x + box.width > view.width || box.y + box.height > view.height;
          });
        }).length"""
    )
    assert outside == 0
    overlapping = page.evaluate(
        """() => { const boxes = [...document.querySelectorAll("#graph-view .node rect")].map((part) => part.getBBox());
          return boxes.filter((a, at) => boxes.slice(at + 1).some((b) => a.x < b.x + b.width && b.x < a.x + a.width &&
            a.y < b.y + b.height && b.y < a.y + a.height)).length; }"""
    )
    assert overlapping == 0


def test_directions_are_drawn_as_they_are_known(show):
    page = show("few")
    page.locator("#threshold").fill("1")
    for at, pair in enumerate(drawn(page)["pairs"]):
        edge = page.locator("#graph-view .edge").nth(at)
        assert edge.locator(".line.open").count() == (pair["direction"] == 0)
        assert edge.locator(".head").count() == abs(pair["direction"])


def test_numbers_are_told_on_hover_focus_and_keys(show):
    page = show("few")
    drawing = drawn(page)
    first, second = (drawing["names"][end] for end in drawing["pairs"][0]["ends"])
    readout = page.locator("#graph-view .readout")
    page.locator("#graph-view .edge .hit").first.hover(force=True)
    page.locator("#graph-view .edge").first.focus()
    assert readout.inner_text().startswith(f"{first} and {second} are joined: {drawing['pairs'][0]['words']['joined']}")
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == page.locator("#graph-view .edge").nth(1).get_attribute("aria-label")
    page.keyboard.press("End")
    assert readout.inner_text() == page.locator("#graph-view .edge").last.get_attribute("aria-label")
    page.keyboard.press("ArrowDown")
    assert readout.inner_text() == page.locator("#graph-view .edge").first.get_attribute("aria-label")
    page.locator("#graph-view .node").first.hover()
    assert readout.inner_text().startswith(f"{drawing['names'][0]}: ")


def test_numbers_are_told_on_tap(show):
    page = show("few", has_touch=True, viewport={"width": 360, "height": 740})
    page.locator("#graph-view .node").nth(1).tap()
    assert page.locator("#graph-view .readout").inner_text().startswith(f"{drawn(page)['names'][1]}: ")


@pytest.mark.parametrize("name", ["few", "many"])
def test_classes_can_be_gone_through(show, name):
    page = show(name)
    classes = drawn(page)["classes"]

    def check(at):
        assert page.inner_text("#class-number") == f"{at + 1} of {len(classes)}"
        assert n_edges(page, "#class-view") == len(classes[at]["directed"]) + len(classes[at]["undirected"])
        assert classes[at]["words"] in page.inner_text("#class-words")
        assert page.is_disabled("#previous-class") is (at == 0)
        assert page.is_disabled("#next-class") is (at == len(classes) - 1)
        differences = page.locator("#class-table tbody tr").nth(at).locator("td").last.text_content()
        assert differences == "(the best)" if at == 0 else differences in page.inner_text("#class-words")
        gained = differences.count("with ") + differences.count(" instead of ")
        assert page.locator("#class-view .line.changed").count() == gained

    assert len(classes) > 3
    check(0)
    page.click("#next-class")
    check(1)
    page.click("#previous-class")
    check(0)
    page.locator("#class-view .edge").first.focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    check(2)
    page.keyboard.press("PageUp")
    check(1)
    page.evaluate("for (let k = 0; k < 100; k++) document.getElementById('next-class').click()")
    check(len(classes) - 1)


def test_zoom(show):
    page = show("many")
    width = "document.querySelector('#graph-view .canvas svg').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.click("#graph-view [data-zoom=in]")
    assert page.evaluate(width) > before
    page.click("#graph-view [data-zoom=fit]")
    room = page.evaluate("document.querySelector('#graph-view .canvas').clientWidth")
    assert page.evaluate(width) <= room


@pytest.mark.parametrize("name", ["few", "many"])
def test_the_heat_map_answers_keys_and_the_pointer(show, name):
    page = show(name)
    table = page.locator("#heat-map")
    table.locator("td[tabindex='0']").focus()
    names = [cell.get_attribute("title") for cell in table.locator("thead th").all()]
    assert page.inner_text("#cell-shown") == " ".join(f"{names[0]} → {names[0]}: 0 %".split())
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    cell = table.locator("tbody tr").first.locator("td").nth(1).text_content() or "0 %"
    assert page.inner_text("#cell-shown") == f"{names[0]} → {names[1]}: {cell}"
    strong = table.locator("td[style]").first
    strong.hover()
    assert page.inner_text("#cell-shown").endswith(f": {strong.text_content()}")


def test_pairs_can_be_sorted(show):
    page = show("few")

    def column(at):
        return [row.locator("td, th").nth(at).text_content() for row in page.locator("#pair-table tbody tr").all()]

    def numbers(at):
        cells = page.locator(f"#pair-table tbody tr :nth-child({at + 1})").all()
        return [float(cell.get_attribute("data-value")) for cell in cells]

    assert numbers(2) == sorted(numbers(2), reverse=True)
    page.get_by_role("button", name="A → B, in the set").click()
    assert numbers(4) == sorted(numbers(4), reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("A → B, in the set")
    page.get_by_role("button", name="A → B, in the set").press("Enter")
    assert numbers(4) == sorted(numbers(4))
    page.get_by_role("button", name="Joined, over all networks").click()
    assert numbers(3) == sorted(numbers(3), reverse=True)
    page.get_by_role("button", name="A", exact=True).click()
    assert column(0) == sorted(column(0))


@pytest.mark.parametrize("name", ["few", "many", "nothing"])
@pytest.mark.parametrize("width", [360, 400, 800, 1400])
def test_the_page_never_scrolls_sideways(show, name, width):
    page = show(name, viewport={"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for folded in page.locator("details").all():
        folded.evaluate("element => { element.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["few", "many"])
def test_print(show, name):
    page = show(name, viewport={"width": 700, "height": 900})
    assert page.is_visible("#threshold")
    page.emulate_media(media="print")
    assert not page.is_visible("#threshold")
    assert not page.is_visible("#next-class")
    assert page.inner_text("#threshold-printed") == "Edges with a probability of at least 10 % in the set."
    box = page.locator("#graph-view svg").last.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 700
    for detail in ("#heat-map", "#pair-table", "#class-view", "#parents"):
        assert not page.is_visible(detail)
    assert page.locator("#class-table tbody tr:visible").count() <= 6


@pytest.mark.parametrize("name", ["few", "many"])
def test_a_printed_page_has_the_graph_on_a_sheet_of_its_own_and_at_most_four_sheets(show, name):
    pdf = show(name).pdf(format="A4")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 4


def test_the_report_of_alarm_takes_at_most_four_sheets(show, pages, shared_data):
    found = learn(shared_data / "alarm.csv", bayes_factor=20, max_parents=3)
    write_learning_page(found, pages / "alarm.html", read_data(shared_data / "alarm.csv"))
    assert len(re.findall(rb"/Type\s*/Page\b", show("alarm").pdf(format="A4"))) <= 4


@pytest.mark.parametrize("name", ["few", "many"])
def test_the_graph_is_saved_as_it_is_shown(show, name, tmp_path):
    page = show(name, color_scheme="dark")
    page.locator("#threshold").fill("100")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    assert saved.value.suggested_filename == "graph.svg"
    saved.value.save_as(tmp_path / "graph.svg")
    root = ET.parse(tmp_path / "graph.svg").getroot()
    lines = [part for part in root.iter("{http://www.w3.org/2000/svg}path") if "line" in part.get("class", "")]
    assert len(lines) == n_edges(page)
    assert {line.get("stroke") for line in lines} <= {"#0a6aa6", "#b84a00"}  # readable on paper, whatever the screen
    assert len(list(root.iter("{http://www.w3.org/2000/svg}text"))) == len(drawn(page)["names"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG").click()
    saved.value.save_as(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_a_variable_is_found_and_shown_with_its_neighbours(show):
    page = show("many")
    names, pairs = drawn(page)["names"], drawn(page)["pairs"]
    near = {end for pair in pairs for end in pair["ends"] if 20 in pair["ends"] and pair["joined"] >= 0.1} | {20}
    page.get_by_label("Find a variable").fill(names[20])
    assert "chosen" in page.locator("#graph-view .node").nth(20).get_attribute("class")
    assert page.locator("#graph-view .readout").inner_text().startswith(names[20])
    page.get_by_label("and show").select_option("its neighbours")
    shown = [at for at in range(len(names)) if page.locator("#graph-view .node").nth(at).is_visible()]
    assert set(shown) == near
    assert (
        page.evaluate(
            "document.querySelector('#graph-view svg').getBoundingClientRect().width /"
            " document.querySelector('#graph-view svg').viewBox.baseVal.width"
        )
        > 0.9
    )  # names are readable
    page.get_by_label("Find a variable").fill("nobody")
    assert page.inner_text("#find-told") == "No variable has this name."
    assert page.locator("#graph-view .node:visible").count() == len(names)


def test_what_is_certain_can_be_hidden(show):
    page = show("many")
    pairs = [pair for pair in drawn(page)["pairs"] if pair["joined"] >= 0.1]
    page.get_by_label("Hide edges of 95 % or more").check()
    assert n_edges(page) == sum(pair["dashes"] != "" or pair["direction"] == 0 for pair in pairs) < len(pairs)


def test_few_variables_need_no_box_to_find_one(show):
    assert show("few").locator("#find").count() == 0


def test_without_scripts_everything_is_in_tables(show):
    page = show("few", java_script_enabled=False)
    assert page.is_visible("noscript")
    assert not page.is_visible("#graph-view")
    assert not page.is_visible("#class-view")
    for table in ("#heat-map", "#class-table", "#pair-table", ".curve svg"):
        assert page.is_visible(table)


def test_a_set_without_networks_is_told(show):
    page = show("nothing")
    assert "better ones may exist" in page.inner_text(".agreement")
    assert page.get_by_text("No network was listed before the search ended.").is_visible()
    assert page.locator("svg").count() == 0


def test_names_are_text(show):
    page = show("many")
    page.locator("#graph-view .node").nth(3).hover()
    assert page.locator("#graph-view .readout").inner_text().startswith(EVIL)
    assert page.evaluate("window.wasHacked") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(show, scheme):
    """The contrast of text is at least 4.5 to 1 (WCAG 2.1, 1.4.3), on the shades of the heat map at least 4."""
    page = show("few", color_scheme=scheme)
    script = """(selector) => {
      const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
      const paper = numbers(getComputedStyle(document.body).backgroundColor);
      const over = ([r, g, b, a = 1]) => [r, g, b].map((part, at) => a * part + (1 - a) * paper[at]);
      const light = (colour) => over(colour).map((part) => part / 255)
        .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
      return [...document.querySelectorAll(selector)].map((element) => {
        let ground = element;
        while (ground && numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
        const behind = ground ? numbers(getComputedStyle(ground).backgroundColor) : paper;
        const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      });
    }"""
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (body == "rgb(255, 255, 255)") is (scheme == "light")
    for selector in ("h1", "p", "dt", "dd", "a", "li", "button:enabled", "thead th", "figcaption", "label"):
        assert min(page.evaluate(script, selector)) >= 4.5, selector
    assert min(page.evaluate(script, "#heat-map tbody td[style]")) >= 4


def test_the_keyboard_finds_its_way(show):
    page = show("few")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.classList[0]"))
    assert {"threshold", "edge", "next-class"} <= reached
