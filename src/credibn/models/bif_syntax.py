"""The syntax of BIF files: from text to blocks, by recursive descent. What they mean is for `bif_tables`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from credibn.errors import FileFormatError

__all__ = ["QUOTED", "WORD", "BifBlocks", "BifSyntax", "ProbabilityBlock", "Row", "VariableBlock", "Word", "parse_bif"]

WORD = re.compile(r'(?!//|/\*)[^\s{}()\[\],;|"]+')
QUOTED = re.compile(r'"[^"\n]*"')
_COMMENT = re.compile(r'"[^"\n]*"|(?<![^\s{}()\[\],;|"])(?://[^\n]*|/\*.*?(?:\*/|\Z))', re.DOTALL)
_TOKEN = re.compile(r'\s*(?:"([^"\n]*)"|([^\s{}()\[\],;|"]+)|(.))?', re.DOTALL)
_PROPERTY = re.compile(r'(?:"[^"\n]*"|[^";])*+;')
_VALUES = re.compile(r"[^;{}()\[\]|\"]*")
_END = "the end of the file"


class Word(NamedTuple):
    """A name, state, keyword or mark, and where it stands in the text."""

    text: str
    position: int
    is_mark: bool = False


@dataclass(frozen=True)
class Row:
    """The probabilities of one line, and the states of the parents that it is for."""

    cell: tuple[Word, ...]
    values: list[float]
    position: int


@dataclass(frozen=True)
class VariableBlock:
    """A variable with its states."""

    name: Word
    states: tuple[Word, ...]


@dataclass
class ProbabilityBlock:
    """The distribution of a child: a table, or rows with an optional default."""

    child: Word
    parents: tuple[Word, ...]
    rows: list[Row] = field(default_factory=list)
    table: Row | None = None
    default: Row | None = None


@dataclass
class BifBlocks:
    """All blocks of a file, in its order."""

    variables: list[VariableBlock] = field(default_factory=list)
    probabilities: list[ProbabilityBlock] = field(default_factory=list)


class BifSyntax:
    """A text without its comments, and the place that has been read up to."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self.position = 0
        self.text = text
        self.text = _COMMENT.sub(self._blank, text)

    def _blank(self, match: re.Match[str]) -> str:
        """Return blanks for a comment, so that every line keeps its number; strings stay."""
        found = match[0]
        if found.startswith('"'):
            return found
        if found.startswith("/*") and (len(found) < 4 or not found.endswith("*/")):
            self.fail(match.start(), "'*/' at the end of the comment that starts here", _END)
        return re.sub(r"[^\n]", " ", found)

    def fail(self, position: int, expected: str, found: str) -> NoReturn:
        """Raise for what stands at a position."""
        line = self.text.count("\n", 0, position) + 1
        raise FileFormatError(f"{self.source}, line {line}: expected {expected}, found {found}")

    def next(self) -> Word | None:
        """Return the next word or mark, or None at the end."""
        match = _TOKEN.match(self.text, self.position)
        assert match is not None  # every part of the pattern is optional
        self.position = match.end()
        group = match.lastindex
        return None if group is None else Word(match[group], match.start(group), is_mark=group == 3)

    def fail_at(self, word: Word | None, expected: str) -> NoReturn:
        """Raise for a word that is not what it should be."""
        if word is None:
            self.fail(len(self.text.rstrip()), expected, _END)
        self.fail(word.position, expected, repr(word.text if len(word.text) <= 60 else word.text[:57] + "..."))

    def mark(self, mark: str, after: str) -> Word:
        """Read one mark."""
        word = self.next()
        if word is None or not word.is_mark or word.text != mark:
            self.fail_at(word, f"{mark!r} after {after}")
        return word

    def word(self, what: str) -> Word:
        """Read a name, a state or a keyword."""
        word = self.next()
        if word is None or word.is_mark:
            self.fail_at(word, what)
        return word

    def words_until(self, end: str, what: str) -> tuple[Word, ...]:
        """Read words, separated by commas or blanks, up to a mark."""
        words = list[Word]()
        word = self.next()
        while not _is_mark(word, end):
            if word is None or word.is_mark:
                self.fail_at(word, what)
            words.append(word)
            word = self.next()
            if _is_mark(word, ","):
                word = self.next()
                if _is_mark(word, end):
                    self.fail_at(word, what)
            elif word is None or (word.is_mark and word.text != end):
                self.fail_at(word, f"',' or {end!r} after {words[-1].text!r}")
        return tuple(words)

    def skip_property(self, keyword: Word) -> None:
        """Read up to the semicolon that ends a property."""
        match = _PROPERTY.match(self.text, self.position)
        end = self.text.find(";", self.position) + 1 if match is None else match.end()
        if end == 0:
            self.fail(keyword.position, "';' at the end of the property that starts here", _END)
        self.position = end

    def values(self, position: int) -> list[float]:
        """Read probabilities, separated by commas or blanks, and the semicolon after them."""
        match = _VALUES.match(self.text, self.position)
        assert match is not None  # the pattern matches nothing too
        chunk, self.position = match[0], match.end()
        if self.text[self.position : self.position + 1] != ";":
            self.fail_at(self.next(), "';' after the probabilities")
        self.position += 1
        texts = chunk.split(",") if "," in chunk else chunk.split()
        try:
            values = list(map(float, texts))
        except ValueError:
            self._explain_values(match.start(), chunk)
        if "_" in chunk:
            self._explain_values(match.start(), chunk)
        if not values:
            self.fail(position, "probabilities", "none")
        return values

    def _explain_values(self, start: int, chunk: str) -> NoReturn:
        """Raise for the first of some texts that is no number."""
        for part in re.finditer(r"(?:^|,)([^,]*)" if "," in chunk else r"(\S+)", chunk):
            text = part[1].strip()
            if not _is_number(text):
                at = start + part.start(1) + len(part[1]) - len(part[1].lstrip())
                self.fail_at(Word(text, at), "a probability")
        raise AssertionError("some text is no number")


def _is_mark(word: Word | None, mark: str) -> bool:
    return word is not None and word.is_mark and word.text == mark


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def parse_bif(syntax: BifSyntax) -> BifBlocks:
    """Return the blocks of a BIF file.

    Raises
    ------
    FileFormatError
        Naming the file, the line, what was expected and what was found.

    Examples
    --------
    >>> blocks = parse_bif(BifSyntax("coin.bif", "variable coin { type discrete [2] { heads, tails }; }"))
    >>> [state.text for state in blocks.variables[0].states]
    ['heads', 'tails']
    """
    blocks = BifBlocks()
    while (keyword := syntax.next()) is not None:
        if keyword.is_mark or keyword.text not in ("network", "variable", "probability"):
            syntax.fail_at(keyword, "'network', 'variable' or 'probability'")
        if keyword.text == "network":
            _skip_network(syntax)
        elif keyword.text == "variable":
            blocks.variables.append(_variable(syntax))
        else:
            blocks.probabilities.append(_probability(syntax))
    return blocks


def _skip_network(syntax: BifSyntax) -> None:
    while (word := syntax.next()) is not None and not word.is_mark and word.text != "variable":
        pass  # the name may have several words
    if not _is_mark(word, "{"):
        syntax.fail_at(word, "'{' after the network's name")
    while (word := syntax.next()) is not None and not word.is_mark and word.text == "property":
        syntax.skip_property(word)
    if not _is_mark(word, "}"):
        syntax.fail_at(word, "'property' or '}' in the network block")


def _variable(syntax: BifSyntax) -> VariableBlock:
    name = syntax.word("the name of a variable")
    syntax.mark("{", f"'variable {name.text}'")
    states: tuple[Word, ...] | None = None
    while (word := syntax.next()) is not None and not word.is_mark:
        if word.text == "property":
            syntax.skip_property(word)
        elif word.text == "type" and states is None:
            states = _states(syntax, name)
        else:
            syntax.fail_at(word, f"one 'type', 'property' or '}}' in the block of variable {name.text!r}")
    if not _is_mark(word, "}"):
        syntax.fail_at(word, f"'}}' at the end of the block of variable {name.text!r}")
    if states is None:
        syntax.fail_at(word, f"'type discrete [ k ] {{ state, ... }};' of variable {name.text!r}")
    return VariableBlock(name, states)


def _states(syntax: BifSyntax, name: Word) -> tuple[Word, ...]:
    kind = syntax.word("'discrete' after 'type'")
    if kind.text != "discrete":
        syntax.fail_at(kind, f"'discrete' after 'type' of {name.text!r}: a BIF file holds discrete variables only")
    syntax.mark("[", "'discrete'")
    count = syntax.word("the number of states")
    syntax.mark("]", "the number of states")
    syntax.mark("{", "the number of states")
    states = syntax.words_until("}", f"a state of {name.text!r}")
    syntax.mark(";", "the states")
    if not states or not (count.text.isascii() and count.text.isdigit()) or count.text.lstrip("0") != str(len(states)):
        expected = f"the number of states of {name.text!r}, of which {len(states)} are listed and at least 1 is needed"
        syntax.fail_at(count, expected)
    seen = set[str]()
    for state in states:
        if state.text in seen:
            syntax.fail_at(state, f"each state of {name.text!r} once; rename one")
        seen.add(state.text)
    return states


def _probability(syntax: BifSyntax) -> ProbabilityBlock:
    syntax.mark("(", "'probability'")
    child = syntax.word("the name of a variable")
    before = syntax.position
    if not _is_mark(syntax.next(), "|"):
        syntax.position = before
    block = ProbabilityBlock(child, syntax.words_until(")", f"a parent of {child.text!r}"))
    syntax.mark("{", "the variables of a probability block")
    while (word := syntax.next()) is not None:
        if word.is_mark and word.text == "(":
            cell = syntax.words_until(")", "a state")
            block.rows.append(Row(cell, syntax.values(word.position), word.position))
        elif word.is_mark:
            break
        elif word.text == "property":
            syntax.skip_property(word)
        elif word.text == "table" and block.table is None:
            block.table = Row((), syntax.values(word.position), word.position)
        elif word.text == "default" and block.default is None:
            block.default = Row((), syntax.values(word.position), word.position)
        else:
            break
    if not _is_mark(word, "}"):
        syntax.fail_at(word, f"'(state, ...)', one 'table', one 'default' or '}}' in the block of {child.text!r}")
    return block
