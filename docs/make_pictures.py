"""Make the pictures of the documents in docs/images, each by the code that the page shows.

    make pictures

The pages of the gallery are run in a temporary folder, and what they write there is copied. Of each graph, Chromium
photographs the cell of a notebook and the report, side by side. The picture of the report shows that of the example
data: its headline and, below, its graph; what stands between the two is left out. The browser is found on the path, or
named by the environment variable CHROMIUM. Data that are not part of the project are looked for in the folders of
CREDIBN_DATA, separated as on the search path; a page whose data are not there is left as it is.
"""

import doctest
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import credibn
from credibn.examples import sample_asia
from credibn.report import write_learning_page

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
PICTURE = IMAGES / "report.png"
PAGES = {
    "gallery.md": (),
    "gallery-networks.md": ("alarm.csv", "hailfinder500.csv", "networks"),
    "gallery-mushroom.md": ("mushroom.csv",),
}
"""Pages that make pictures, and the data that they read."""
SCREEN = 700
"""The width of a notebook and of a report, side by side in one picture."""
WIDTH = 1000
MARGIN = 12
N_COLOURS = 64


def main() -> None:
    """Make all pictures."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # PDF files have no other date
    with chromium() as browser:
        for page, needed in PAGES.items():
            make_gallery(page, needed, browser)
        photograph_report(browser)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise SystemExit("no chromium on the path; install it, or name it in the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def make_gallery(page: str, needed: tuple[str, ...], browser: Browser) -> None:
    """Run the code of a page, and keep the pictures that it writes."""
    folders = os.environ.get("CREDIBN_DATA", str(DOCS.parent.parent / "shared" / "data")).split(os.pathsep)
    found = {name: file for name in needed for folder in folders if (file := Path(folder) / name).exists()}
    if len(found) < len(needed):
        print(f"{page}: its data are not here; its pictures stay as they are")
        return
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, file in found.items():
            os.symlink(file, Path(folder) / name)
        os.chdir(folder)
        try:
            text = (DOCS / page).read_text(encoding="utf-8")
            test = doctest.DocTestParser().get_doctest(text.replace("```", ""), {}, page, page, 0)
            if doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed:
                raise SystemExit(f"the code of {page} does not give what it shows")
        finally:
            os.chdir(here)
        for picture in sorted(Path(folder).glob("gallery-*")):
            target = IMAGES / picture.name
            if picture.name.endswith("-notebook.html"):
                target = IMAGES / picture.name.replace("-notebook.html", "-screens.png")
                save(screens(picture, browser), target)
            elif picture.suffix == ".png":
                save(Image.open(picture).convert("RGB"), target)
            elif picture.suffix in (".svg", ".pdf"):
                target.write_bytes(picture.read_bytes())
            else:
                continue
            print(f"{target} ({target.stat().st_size:,} bytes)")


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture with few colours, which takes little room."""
    picture.quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def screens(notebook: Path, browser: Browser) -> Image.Image:
    """Return a notebook and the report that lies beside it, as they show the graph, side by side."""
    page = browser.new_page(viewport={"width": SCREEN, "height": 900}, color_scheme="light")
    page.goto(notebook.as_uri())
    page.add_style_tag(content="body { font: 14px sans-serif; margin: 12px; } svg { max-width: 100%; height: auto; }")
    parts = [photograph(page, "div", "svg", SCREEN)]
    page.goto(notebook.with_name(notebook.name.replace("-notebook", "-report")).as_uri())
    parts.append(photograph(page, "#graph", "#graph-view .readout", SCREEN))
    page.close()
    picture = Image.new("RGB", (2 * SCREEN + 2 * MARGIN, max(part.height for part in parts)), "white")
    picture.paste(parts[0], (0, 0))
    picture.paste(parts[1], (SCREEN + 2 * MARGIN, 0))
    return picture


def photograph_report(browser: Browser) -> None:
    """Write the report to a temporary folder, photograph two parts of it and join them."""
    data = credibn.read_data(sample_asia())
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        write_learning_page(credibn.learn(data, bayes_factor=20), report, data)
        page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, color_scheme="light")
        page.goto(report.as_uri())
        parts = [photograph(page, "h1", ".tiles"), photograph(page, "#graph", "#graph-view .canvas")]
        page.close()
    picture = Image.new("RGB", (WIDTH, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        picture.paste(part, (0, top))
        top += part.height
    PICTURE.parent.mkdir(exist_ok=True)
    save(picture, PICTURE)
    print(f"{PICTURE} ({PICTURE.stat().st_size:,} bytes)")


def photograph(page: Page, first: str, last: str, width: int = WIDTH) -> Image.Image:
    """Return the part of the page from the top of one element to the bottom of another."""
    start, end = (page.locator(chosen).first.bounding_box() for chosen in (first, last))
    assert start is not None
    assert end is not None
    top = max(start["y"] - MARGIN, 0)
    clip = {"x": 0, "y": top, "width": width, "height": end["y"] + end["height"] + 2 - top}
    shot = page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
    return Image.open(io.BytesIO(shot)).convert("RGB")


if __name__ == "__main__":
    main()
