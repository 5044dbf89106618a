"""The syntax of BIF files: from text to blocks, by recursive descent. `credibn.models.bif` says what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from credibn.errors import FileFormatError

WORD = re.compile(r'(?!//|/\*)[^\s{}()\[\],;|"]+')
QUOTED = re.compile(r'"[^"\n]*"')
_COMMENT = re.compile(r'"[^"\n]*"|(?<![^\s{}()\[\],;|"])(?://[^\n]*|/\*.*?(?:\*/|\Z))', re.DOTALL)
_TOKEN = re.compile(r'\s*(?:"([^"\n]*)"|([^\s{}()\[\],;|"]+)|(.))?', re.DOTALL)
_PROPERTY = re.compile(r'(?:"[^"\n]*"|[^";])*+;|[^;]*;')
_VALUES = re.compile(r"[^;{}()\[\]|\"]*")
_END = "the end of the file"


class Word(NamedTuple):
    """A name, state, keyword or mark; `mark` is empty unless it is one, and `_END` at the end of the file."""

    text: str
    position: int
    mark: str = ""


class Line(NamedTuple):
    """Probabilities, the word that the line starts with, and the states of the parents that it is for."""

    start: Word
    cell: tuple[Word, ...]
    values: list[float]


class Variable(NamedTuple):
    """A variable with its states."""

    name: Word
    states: tuple[Word, ...]


@dataclass
class Distribution:
    """The distribution of a child: its lines, and those that start with ``table`` or ``default``."""

    child: Word
    parents: tuple[Word, ...]
    lines: list[Line] = field(default_factory=list)
    whole: dict[str, Line] = field(default_factory=dict)


class BifText:
    """A text without its comments, and the position that has been read up to."""

    def __init__(self, source: str, text: str) -> None:
        self.source, self.text, self.position = source, text, 0
        self.text = _COMMENT.sub(self._blank, text)

    def _blank(self, match: re.Match[str]) -> str:
        """Return blanks for a comment, so that every line keeps its number; strings stay."""
        found = match[0]
        if found.startswith('"'):
            return found
        if found.startswith("/*") and (len(found) < 4 or not found.endswith("*/")):
            self.fail(Word(found, match.start()), "'*/' at the end of the comment that starts here", _END)
        return re.sub(r"[^\n]", " ", found)

    def fail(self, word: Word, expected: str, found: str | None = None) -> NoReturn:
        """Raise for a word that is not what was expected, or for something else found there."""
        line = self.text.count("\n", 0, word.position) + 1
        if found is None:
            found = _END if word.mark == _END else repr(word.text if len(word.text) <= 60 else word.text[:57] + "...")
        raise FileFormatError(f"{self.source}, line {line}: expected {expected}, found {found}")

    def end(self) -> Word:
        """Return the word that marks the end of the file."""
        return Word(_END, len(self.text.rstrip()), _END)

    def next(self) -> Word:
        """Read the next word or mark."""
        match = _TOKEN.match(self.text, self.position)
        assert match is not None  # every part of the pattern is optional
        self.position = match.end()
        group = match.lastindex
        if group is None:
            return self.end()
        return Word(match[group], match.start(group), match[group] if group == 3 else "")

    def mark(self, mark: str, after: str) -> None:
        """Read one mark."""
        word = self.next()
        if word.mark != mark:
            self.fail(word, f"{mark!r} after {after}")

    def word(self, what: str) -> Word:
        """Read a name, a state or a keyword."""
        word = self.next()
        if word.mark:
            self.fail(word, what)
        return word

    def words_until(self, end: str, what: str) -> tuple[Word, ...]:
        """Read words, separated by commas or blanks, up to a mark."""
        words, word = list[Word](), self.next()
        while word.mark != end:
            if word.mark:
                self.fail(word, what)
            words.append(word)
            word = self.next()
            if word.mark == ",":
                word = self.word(what)
            elif word.mark not in ("", end):
                self.fail(word, f"',' or {end!r} after {words[-1].text!r}")
        return tuple(words)

    def skip_property(self, keyword: Word) -> None:
        """Read up to the semicolon that ends a property."""
        match = _PROPERTY.match(self.text, self.position)
        if match is None:
            self.fail(keyword, "';' at the end of the property that starts here", _END)
        self.position = match.end()

    def line(self, start: Word, cell: tuple[Word, ...] = ()) -> Line:
        """Read probabilities, separated by commas or blanks, and the semicolon after them."""
        match = _VALUES.match(self.text, self.position)
        assert match is not None  # the pattern also matches no text
        chunk, self.position = match[0], match.end()
        self.mark(";", "the probabilities")
        values = _numbers(chunk)
        if values is None:
            parts = re.finditer(r"(?:^|,)\s*([^,]*)" if "," in chunk else r"(\S+)", chunk)
            wrong = next(part for part in parts if len(_numbers(part[1]) or ()) != 1)
            self.fail(Word(wrong[1].rstrip(), match.start() + wrong.start(1)), "a probability")
        if not values:
            self.fail(start, "probabilities", "none")
        return Line(start, cell, values)


def _numbers(text: str) -> list[float] | None:
    """Return the numbers in a text, separated by commas or by blanks, or None if it holds anything else."""
    try:
        return None if "_" in text else list(map(float, text.split(",") if "," in text else text.split()))
    except ValueError:
        return None


def parse_bif(bif: BifText) -> tuple[list[Variable], list[Distribution]]:
    """Return the blocks of a BIF file, in its order."""
    variables, distributions = list[Variable](), list[Distribution]()
    while (keyword := bif.next()).mark != _END:
        if keyword.text == "network":
            _skip_network(bif)
        elif keyword.text == "variable":
            variables.append(_variable(bif))
        elif keyword.text == "probability":
            distributions.append(_distribution(bif))
        else:
            bif.fail(keyword, "'network', 'variable' or 'probability'")
    return variables, distributions


def _skip_network(bif: BifText) -> None:
    while not (word := bif.next()).mark and word.text != "variable":
        pass  # the name may have several words
    if word.mark != "{":
        bif.fail(word, "'{' after the network's name")
    while (word := bif.next()).text == "property":
        bif.skip_property(word)
    if word.mark != "}":
        bif.fail(word, "'property' or '}' in the network block")


def _variable(bif: BifText) -> Variable:
    name = bif.word("the name of a variable")
    bif.mark("{", f"'variable {name.text}'")
    states = tuple[Word, ...]()
    while not (word := bif.next()).mark:
        if word.text == "property":
            bif.skip_property(word)
        elif word.text == "type" and not states:
            states = _states(bif, name)
        else:
            bif.fail(word, f"one 'type', 'property' or '}}' in the block of variable {name.text!r}")
    if word.mark != "}":
        bif.fail(word, f"'}}' at the end of the block of variable {name.text!r}")
    if not states:
        bif.fail(word, f"'type discrete [ k ] {{ state, ... }};' of variable {name.text!r}")
    return Variable(name, states)


def _states(bif: BifText, name: Word) -> tuple[Word, ...]:
    kind = bif.word("'discrete' after 'type'")
    if kind.text != "discrete":
        bif.fail(kind, f"'discrete' after 'type' of {name.text!r}: a BIF file holds discrete variables only")
    bif.mark("[", "'discrete'")
    count = bif.word("the number of states")
    bif.mark("]", "the number of states")
    bif.mark("{", "the number of states")
    states = bif.words_until("}", f"a state of {name.text!r}")
    bif.mark(";", "the states")
    if not states or count.text.lstrip("0") != str(len(states)):
        expected = f"the number of states of {name.text!r}, of which {len(states)} are listed and at least 1 is needed"
        bif.fail(count, expected)
    seen = set[str]()
    for state in states:
        if state.text in seen:
            bif.fail(state, f"each state of {name.text!r} once; rename one")
        seen.add(state.text)
    return states


def _distribution(bif: BifText) -> Distribution:
    bif.mark("(", "'probability'")
    child = bif.word("the name of a variable")
    before = bif.position
    if bif.next().mark != "|":
        bif.position = before
    found = Distribution(child, bif.words_until(")", f"a parent of {child.text!r}"))
    bif.mark("{", "the variables of a probability block")
    while (word := bif.next()).mark != "}":
        if word.mark == "(":
            found.lines.append(bif.line(word, bif.words_until(")", "a state")))
        elif word.text == "property":
            bif.skip_property(word)
        elif word.text in ("table", "default") and word.text not in found.whole:
            found.whole[word.text] = bif.line(word)
        else:
            bif.fail(word, f"'(state, ...)', one 'table', one 'default' or '}}' in the block of {child.text!r}")
    return found
