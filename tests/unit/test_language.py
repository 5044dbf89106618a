"""The project uses the terms of the literature and of the trade, one word for one thing.

Documents and source must be free of the words below.
"""

import re
from functools import cache
from pathlib import Path

import pytest

FILE = Path(__file__).resolve()
ROOT = next(folder for folder in FILE.parents if (folder / "pyproject.toml").exists())

WORDS = {
    r"cluster rows?|half rows?|rows? of the (linear program|relaxation)": "cut, cluster cut, zero-half cut",
    r"multipliers?": "dual values",
    r"what is left": "reduced cost; the rest, what remains",
    r"best known rows?": "incumbent",
    r"walk(s|ed|ing)?": "listing, branch, task",
    r"parts? of (a|the) search|unfinished parts?": "branch",
    r"pieces?|slices|slices? of|segments?": "task",
    r"(table|descend|set|lattice) slice": "task",
    r"kept (arrays|files?|tasks?|work)|what is (done is )?kept|is keeping": "checkpoint, saved, cached",
    r"go(es)? on|going on|went on|tak(en?|ing) up again": "continue, resume",
    r"struck|strikes?": "limit reached",
    r"(limit|search|time|work) is (over|gone)": "limit exceeded, timed out, finished",
    r"cut points?": "bin edges",
    r"questions?": "cache key; the problem",
    r"(work)?bench(es)?": "worker, executor, scheduler",
    r"(another|earlier|exact|later|locked|new|newer|newest|next|older|previous|this) releases?": "version",
    r"dear(er|est)?": "more expensive",
    r"heed(s|ed|ing)?": "checks, obeys",
    r"looks? on|looking on": "watches",
    r"so (many|much)": "at most 64 MB, up to 5 retries",
    r"recipes?": "how a cut is derived",
    r"chances?": "probability",
}
"""What not to write, as a regular expression, and what to write instead.

Block, batch, part, row, held, kept and over are ordinary words, too: only uses that are certainly wrong are listed.
"""

EXCEPTIONS = (
    (r"failed to map segment", "the words of the system's loader"),
    (r"multipliers 0 and 1/2", "the usual name of the weights of a Chvátal-Gomory cut"),
    (r"what is left out", "what is not included"),
    (r"(ast|os|path)\.walk|random walks?", "functions of Python; a term of probability"),
    (r"by chance", "at random"),
    (r"would question", "the verb"),
    (r"`cpp/\S+`", "a file of the source, whose name is checked with its text"),
    (r"make bench|bench-\w+|[`'\"]bench[`'\"]", "names of the Makefile and of the lock files"),
)
"""Right uses of these words, with the reason."""

_WRONG = re.compile("|".join(rf"\b(?:{word})\b" for word in WORDS), flags=re.IGNORECASE)
_RIGHT = re.compile("|".join(words for words, _ in EXCEPTIONS), flags=re.IGNORECASE)
_FENCED = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)
_FOLDERS = ("src", "cpp", "docs", "tests", "benchmarks", "paper")
_SUFFIXES = {".cpp", ".css", ".hpp", ".html", ".j2", ".js", ".py", ".pyi"}


def words_of(text):
    """Return a text with its identifiers taken apart: ``half_rows`` and ``HalfRows`` read as half rows."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", _RIGHT.sub("", text).replace("_", " "))


def wrong_words(text):
    return sorted({match[0].lower() for match in _WRONG.finditer(" ".join(words_of(text).split()))})


@cache
def documents():
    """Return the documents; the source answers for what its programs print there, in fenced blocks."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    return {path.relative_to(ROOT).as_posix(): _FENCED.sub("", path.read_text(encoding="utf-8")) for path in paths}


@cache
def sources():
    """Return the files of the source and of the tests, with their names; not this one, which lists the words."""
    paths = [path for folder in _FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    ours = [path for path in paths if path.suffix in _SUFFIXES and path != FILE]
    return {path.relative_to(ROOT).as_posix(): f"{path.name} {path.read_text(encoding='utf-8')}" for path in ours}


@pytest.mark.parametrize("page", documents())
def test_documents_use_the_right_words(page):
    assert wrong_words(documents()[page]) == []


def test_source_uses_the_right_words():
    wrong = {path: wrong_words(text) for path, text in sources().items()}
    assert {path: words for path, words in wrong.items() if words} == {}


def test_identifiers_and_line_breaks_hide_no_word():
    assert wrong_words("half_rows HalfRow PIECES the search goes\non") == ["goes on", "half row", "half rows", "pieces"]


def test_right_uses_are_not_flagged():
    assert wrong_words("a row of the data, `make bench`, part of it, gil_scoped_release release, a masterpiece") == []
