"""The browser of the tests: where it is, and how it is started."""

import shutil

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser found: install chromium")


@pytest.fixture(scope="module")
def browser():
    """A browser without a window, for all tests of a file."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see the test group")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        yield started
        started.close()
