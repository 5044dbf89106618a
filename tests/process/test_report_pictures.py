"""The report looks as it did: on a phone, a tablet and a desk, in the dark and on paper.

Each look is compared with a picture in golden/, in cells of 16 pixels: everything must be in its place, while the shape
of a letter does not matter. After a change that is meant, CREDIBN_WRITE_GOLDEN=1 writes the pictures anew; view them.
"""

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from browsers import browser, needs_browser  # noqa: F401
from credibn import learn, read_data
from credibn.examples import sample_asia
from credibn.report import write_learning_page

pytestmark = [needs_browser, pytest.mark.xdist_group("browser"), pytest.mark.slow]
GOLDEN = Path(__file__).parent / "golden"
LOOKS = {
    "400": {"viewport": {"width": 400, "height": 800}},
    "800": {"viewport": {"width": 800, "height": 1000}},
    "1400": {"viewport": {"width": 1400, "height": 1000}},
    "dark": {"viewport": {"width": 800, "height": 1000}, "color_scheme": "dark"},
    "print": {"viewport": {"width": 680, "height": 1000}},  # as wide as the text on A4
}
CELL = 16
"""Pixels on each side of a cell; a cell is compared by its mean colour."""
LEAST_DIFFERENCE = 24
"""A cell differs when red, green or blue does by more than this, of 255."""
MOST_DIFFERENT = 0.03
"""The share of cells that may differ, in the worst screen of the page."""
SCREEN = 40
"""Cells from the top to the bottom of a screen."""
MOST_SHIFT = 1
"""Cells by which a part may stand higher or lower."""
MOST_TALLER = 0.02
SMALLER = 3
N_COLOURS = 16
"""Golden pictures are a third as wide and have few colours: small files in which a reader still sees what is where."""
FACES = {"text": "16px system-ui, sans-serif", "headline": "600 28px system-ui, sans-serif", "code": "14px monospace"}
BREAKAGES = {
    "the numbers stand below each other": ".tiles { display: block }",
    "the graph is small": "#graph-view svg { width: 30%; height: auto }",
    "nothing has a margin": "body { padding: 0; margin: 0 } h2, p, figure { margin: 0 }",
    "letters are small": "html { font-size: 11px }",
    "boxes of nodes are black": ".node rect { fill: #000 }",
    "tables run together": "td, th { padding: 0 }",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of the example data, and its look in this browser."""
    path = tmp_path_factory.mktemp("report") / "asia.html"
    data = read_data(sample_asia())
    write_learning_page(learn(data, bayes_factor=20, n_threads=1), path, data)
    return path


@pytest.fixture(scope="module")
def letters(browser):  # noqa: F811
    """How wide a sentence is in each face, in pixels; skips where the letters are not those of the golden pictures."""
    page = browser.new_page()
    script = """(font) => { const pen = document.createElement("canvas").getContext("2d"); pen.font = font;
      return pen.measureText("Which networks do my data support? 0123456789").width; }"""
    widths = {name: round(page.evaluate(script, font), 1) for name, font in FACES.items()}
    page.close()
    stored = GOLDEN / "letters.json"
    if "CREDIBN_WRITE_GOLDEN" in os.environ:
        stored.write_text(json.dumps(widths, indent=2) + "\n", encoding="utf-8")
    for name, golden in json.loads(stored.read_text(encoding="utf-8")).items():
        if abs(widths[name] / golden - 1) > 0.01:
            pytest.skip(
                f"the golden pictures were made with other fonts: a line of {name} is {widths[name]} pixels wide here "
                f"and {golden} there; install fonts-dejavu-core, or compare with main on this machine"
            )


def photograph(browser, report, look, extra=""):  # noqa: F811
    """Return the page as it looks down to its settings, which have timings."""
    context = browser.new_context(**LOOKS[look])
    page = context.new_page()
    page.goto(report.as_uri())
    if look == "print":
        page.emulate_media(media="print")
    page.evaluate(
        """(text) => { const style = new CSSStyleSheet(); style.replaceSync(text);
          document.adoptedStyleSheets = [style]; }""",
        extra,
    )
    height = page.evaluate("document.getElementById('settings').getBoundingClientRect().top + window.scrollY")
    clip = {"x": 0, "y": 0, "width": LOOKS[look]["viewport"]["width"], "height": int(height)}
    shot = page.screenshot(full_page=True, clip=clip)
    context.close()
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    small = picture.resize((picture.width // SMALLER, picture.height // SMALLER), Image.Resampling.BOX)
    return small.quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def stored_picture(look):
    with Image.open(GOLDEN / f"report-{look}.png") as picture:
        return picture.convert("RGB")


def cells(picture):
    """Return the mean colour of each cell of the page."""
    size = picture.width * SMALLER // CELL, picture.height * SMALLER // CELL
    return np.asarray(picture.convert("RGB").resize(size, Image.Resampling.BOX), dtype=np.float64)


def share_different(picture, golden):
    """Return how much of the worst screen has no like in the golden picture at its place or just above or below."""
    one, other = cells(picture), cells(golden)
    height = max(len(one), len(other))
    one, other = (np.pad(side, ((0, height - len(side)), (0, 0), (0, 0)), mode="edge") for side in (one, other))

    def unlike(a, b):
        framed = np.pad(b, ((MOST_SHIFT, MOST_SHIFT), (0, 0), (0, 0)), mode="edge")
        shifted = [framed[shift : shift + height] for shift in range(2 * MOST_SHIFT + 1)]
        return np.min([np.abs(a - moved).max(axis=2) for moved in shifted], axis=0) > LEAST_DIFFERENCE

    different = (unlike(one, other) | unlike(other, one)).mean(axis=1)
    return float(max(different[top : top + SCREEN].sum() / SCREEN for top in range(0, height, SCREEN // 2)))


def is_like(picture, golden):
    is_as_tall = abs(picture.height / golden.height - 1) <= MOST_TALLER
    return is_as_tall and share_different(picture, golden) <= MOST_DIFFERENT


@pytest.mark.parametrize("look", LOOKS)
def test_the_report_looks_as_it_did(browser, report, letters, look, tmp_path):  # noqa: F811
    picture, stored = photograph(browser, report, look), GOLDEN / f"report-{look}.png"
    if "CREDIBN_WRITE_GOLDEN" in os.environ:
        picture.save(stored, optimize=True)
    golden = stored_picture(look)
    picture.save(tmp_path / stored.name)
    assert is_like(picture, golden), (
        f"{tmp_path / stored.name} ({picture.height} high) differs from {stored} ({golden.height} high) in "
        f"{share_different(picture, golden):.1%} of a screen; if the change is meant, run the test with "
        "CREDIBN_WRITE_GOLDEN=1"
    )


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_report_is_noticed(browser, report, letters, breakage):  # noqa: F811
    picture = photograph(browser, report, "800", BREAKAGES[breakage])
    assert not is_like(picture, stored_picture("800"))
