"""Make the pictures of the documents in docs/images, each by the code that the page shows.

    make pictures

The pages of the gallery are run in a temporary folder, and what they write there is copied. The picture of the report
shows the example data's as Chromium does: its headline and, below, its graph; what stands between the two is left out.
The browser is found on the path, or named by the environment variable CHROMIUM. Published networks are looked for in
the folder CREDIBN_DATA; without it, their page is left as it is.
"""

import doctest
import io
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import credibn
from credibn.examples import sample_asia
from credibn.report import write_learning_page

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
PICTURE = IMAGES / "report.png"
PAGES = {"gallery.md": (), "gallery-networks.md": ("alarm.csv", "networks")}
"""Pages that make pictures, and the reference data that they read."""
WIDTH = 1000
MARGIN = 12
N_COLOURS = 64


def main() -> None:
    """Make all pictures."""
    for page, needed in PAGES.items():
        make_gallery(page, needed)
    photograph_report()


def make_gallery(page: str, needed: tuple[str, ...]) -> None:
    """Run the code of a page, and keep the pictures that it writes."""
    data = Path(os.environ.get("CREDIBN_DATA", DOCS.parent.parent / "shared" / "data"))
    if needed and not data.is_dir():
        print(f"{page}: its data are not here; its pictures stay as they are")
        return
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in needed:
            os.symlink(data / name, Path(folder) / name)
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
            if picture.suffix == ".png":
                Image.open(picture).convert("RGB").quantize(N_COLOURS).save(target, optimize=True)
            else:
                target.write_bytes(picture.read_bytes())
            print(f"{target} ({target.stat().st_size:,} bytes)")


def photograph_report() -> None:
    """Write the report to a temporary folder, photograph two parts of it and join them."""
    browser_path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if browser_path is None:
        raise SystemExit("no chromium on the path; install it, or name it in the environment variable CHROMIUM")
    data = credibn.read_data(sample_asia())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        write_learning_page(credibn.learn(data, bayes_factor=20), report, data)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, color_scheme="light")
        page.goto(report.as_uri())
        parts = [photograph(page, "h1", ".tiles"), photograph(page, "#graph", "#graph-view .canvas")]
        browser.close()
    picture = Image.new("RGB", (WIDTH, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        picture.paste(part, (0, top))
        top += part.height
    PICTURE.parent.mkdir(exist_ok=True)
    picture.quantize(N_COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE} ({PICTURE.stat().st_size:,} bytes)")


def photograph(page: Page, first: str, last: str) -> Image.Image:
    """Return the part of the page from the top of one element to the bottom of another."""
    start, end = (page.locator(chosen).first.bounding_box() for chosen in (first, last))
    assert start is not None
    assert end is not None
    top = max(start["y"] - MARGIN, 0)
    clip = {"x": 0, "y": top, "width": WIDTH, "height": end["y"] + end["height"] + 2 - top}
    shot = page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
    return Image.open(io.BytesIO(shot)).convert("RGB")


if __name__ == "__main__":
    main()
