"""A hook of MkDocs: the theme's offline search loads a script from elsewhere; ours takes its place in each page."""

from pathlib import Path
from typing import Any

_THEIRS = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
_OURS = f"<script>{(Path(__file__).parent / 'offline_search.js').read_text(encoding='utf-8')}</script>"


def on_post_page(output: str, **_: Any) -> str:
    """Return a page with our script."""
    return output.replace(_THEIRS, _OURS)


def on_post_template(output_content: str, **_: Any) -> str:
    """Return a page that is made of a template alone, such as the one for missing pages, with our script."""
    return output_content.replace(_THEIRS, _OURS)
