"""Every example of the README and of the documentation gives what is printed there; the site can be built."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pyarrow.csv
import pytest

import credibn
from browsers import browser, needs_browser  # noqa: F401
from credibn.examples import sample_asia
from pages import ROOT, RUN, Reader, blocks_of, pages

PAGES = pages()
PAGES_WITH_EXAMPLES = [name for name, text in PAGES.items() if any(block.tag in RUN for block in blocks_of(text))]
_NETWORKS = tuple(f"networks/{name}.bif" for name in ("child", "alarm", "win95pts"))
REFERENCE_DATA = {
    "docs/errata.md": ("insurance.csv",),
    "docs/gallery-networks.md": ("alarm.csv", "hailfinder500.csv", *_NETWORKS),
    "docs/gallery-mushroom.md": ("mushroom.csv",),
}
"""Files that a page's commands read and that are not part of the project."""


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES)
def test_examples_give_what_the_page_shows(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(sample_asia(), tmp_path / "clinic.csv")
    for name in REFERENCE_DATA.get(page, ()):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        file = request.getfixturevalue("shared_data") / name
        if not file.exists():
            pytest.skip(f"{name} is not in the folder of real data sets, see CREDIBN_DATA")
        shutil.copyfile(file, tmp_path / name)
    reader = Reader()
    for block in blocks_of(PAGES[page]):
        if block.tag in RUN:
            reader.follow(page, block)


@pytest.mark.parametrize("page", ["docs/gallery.md"])
def test_the_graphs_of_the_gallery_are_those_that_its_code_makes(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader = Reader()
    for block in blocks_of(PAGES[page]):
        reader.follow(page, block)
    made = sorted(tmp_path.glob("*.svg"))
    assert len(made) == 4
    for picture in made:
        assert picture.read_text() == (ROOT / "docs" / "images" / picture.name).read_text(), "run make pictures"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    assert all(block.tag for block in blocks_of(PAGES[page]))
    assert PAGES[page].count("\n```") % 2 == 0


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_lead_somewhere(page):
    folder = (ROOT / page).parent
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[page]):
        assert (folder / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_files_of_the_project_that_a_page_names_exist(page):
    for name in re.findall(r"`((?:benchmarks|cpp|docs|paper|report|search|src|tests)/[\w/.-]+\.\w+)`", PAGES[page]):
        assert (ROOT / name).exists() or (ROOT / "src" / "credibn" / name).exists(), name


def test_every_public_name_is_in_the_reference():
    listed = re.findall(r"^::: credibn\.(?:\w+\.)*(\w+)$", PAGES["docs/api.md"], flags=re.M)
    assert sorted(set(listed)) == sorted(listed)
    assert set(credibn.__all__) <= set(listed)


needs_mkdocs = pytest.mark.skipif(
    not (find_spec("mkdocs") and find_spec("mkdocstrings")), reason="mkdocs is not installed: make docs installs it"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.slow
@needs_mkdocs
@pytest.mark.xdist_group("site")
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(site):
    written = sorted(site.rglob("*.html"))
    assert len(written) >= len(PAGES) - 1  # the README is no page of the site
    for path in written:
        loaded = re.findall(r'<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]*)"', path.read_text())
        assert not loaded, (path.name, loaded)


@pytest.mark.slow
@needs_mkdocs
@pytest.mark.xdist_group("site")
@needs_browser
def test_the_search_works_from_a_folder(site, browser):  # noqa: F811
    asked = []
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.locator("input.md-search__input").click()
    page.keyboard.type("bootstrap", delay=20)
    page.get_by_text("matching documents").wait_for(timeout=20_000)
    assert page.locator(".md-search-result__link[href*='bootstrap.html']").count() >= 1
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
