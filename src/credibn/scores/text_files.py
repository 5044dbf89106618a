"""The text formats of score tables.

``.jkl``
    The first line is the number of variables. Then, for each, a line ``name count`` and `count` lines ``score k parent
    ... parent``. No comments, and no provenance.
``.pss``
    Lines ``META key = value``, then for each variable ``VAR name`` and lines ``score parent ... parent``; ``#`` starts
    a comment line. Provenance goes to META lines, each value as JSON (text that cannot be mistaken for it is written
    bare). META lines below a VAR line, as other programs write them, become the provenance "variables". The counts META
    n_variables and n_candidates reveal a truncated file.

Scores are log scores, written as the shortest decimal that reads back as the same number. A file is read as one Arrow
array of words, so that only the nodes' own lines take Python time.
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credibn.errors import FileFormatError, OptionError
from credibn.scores.table import MAX_VARIABLES, ScoreTable, is_gap

_COUNT_KEYS = ("n_variables", "n_candidates")
_BLANK = np.isin(np.arange(256), np.frombuffer(b" \t\n\r\x0b\x0c", dtype=np.uint8))
_BIT_COUNT = np.array([octet.bit_count() for octet in range(256)], dtype=np.uint8)


class _TextLines:
    """The words of a text file and the lines that they are on, without blank lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Blanks at both ends avoid special cases there.
        self.content = b" " + path.read_bytes().removeprefix(b"\xef\xbb\xbf") + b"\n"
        letters = np.frombuffer(self.content, dtype=np.uint8)
        solid = ~_BLANK[letters]
        edges = np.flatnonzero(solid[1:] != solid[:-1]) + 1
        self.starts, ends = edges[::2], edges[1::2]
        bounds = np.concatenate([[0], np.cumsum(ends - self.starts)])
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(letters[solid])]
        self.words = pa.Array.from_buffers(pa.large_binary(), len(ends), buffers)
        breaks = np.flatnonzero(letters == ord("\n"))
        n_words = np.diff(np.searchsorted(self.starts, breaks), prepend=0)
        self.numbers = np.flatnonzero(n_words) + 1
        self.n_words = n_words[self.numbers - 1]
        self.first = np.cumsum(self.n_words) - self.n_words
        self.n_lines = len(breaks) - self.content.endswith(b"\n\n")
        self.line_of = dict[str, int]()

    def __len__(self) -> int:
        return len(self.first)

    def text(self, line: int) -> bytes:
        start = int(self.starts[self.first[line]])
        return self.content[start : self.content.index(b"\n", start)].strip()

    def fail(self, line: int, expected: str, found: bytes | str) -> NoReturn:
        """Raise for a line, or for the end of the file when there is no such line."""
        number = self.numbers[line] if line < len(self) else self.n_lines
        if isinstance(found, bytes):
            text = found.decode("utf-8", "backslashreplace")
            found = repr(text if len(text) <= 60 else text[:57] + "...")
        raise FileFormatError(f"{self.path}, line {number}: expected {expected}, found {found}")

    def fail_at_end(self, expected: str) -> NoReturn:
        self.fail(len(self), expected, "the end of the file")

    def add_name(self, line: int, word: bytes) -> str:
        try:
            name = word.decode()
        except UnicodeDecodeError:
            self.fail(line, "a name in UTF-8", word)
        if name in self.line_of:
            self.fail(line, f"a new name ({name!r} is already on line {self.line_of[name]})", word)
        if len(self.line_of) == MAX_VARIABLES:
            self.fail(line, f"at most {MAX_VARIABLES} variables", "one more")
        self.line_of[name] = int(self.numbers[line])
        return name


def _table_of(
    text: _TextLines,
    lines: NDArray[np.int64],
    nodes: NDArray[np.int64],
    lead: int,
    provenance: dict[str, object],
) -> ScoreTable:
    """Read candidates from these lines: a score first, and the parents after `lead` words."""
    names = tuple(text.line_of)
    first, n_parents = text.first[lines], text.n_words[lines] - lead
    scores = _numbers(text.words.take(first))
    wrong = ~np.isfinite(scores) | (n_parents < 0)
    n_parents = np.maximum(n_parents, 0)
    is_parent = np.zeros(len(text), dtype=bool)
    is_parent[lines] = True
    is_parent = np.repeat(is_parent, text.n_words)
    is_parent[first] = False
    if lead == 2:
        second = np.minimum(first + 1, len(text.words) - 1)
        wrong |= _positions(text.words.take(second), map(str, range(len(names)))) != n_parents
        is_parent[second[text.n_words[lines] > 1]] = False
    parents = _positions(text.words, names)[is_parent]
    rows = np.repeat(np.arange(len(lines)), n_parents)
    wrong[rows[(parents < 0) | (parents == nodes[rows])]] = True
    masks = np.zeros((len(lines), -(-len(names) // 64)), dtype=np.uint64)
    np.bitwise_or.at(masks, (rows, parents // 64), np.uint64(1) << (parents % 64).astype(np.uint64))
    wrong |= _BIT_COUNT[masks.view(np.uint8)].sum(axis=1) != n_parents
    if wrong.any():
        at = int(wrong.argmax())
        _explain(text, int(lines[at]), int(nodes[at]), lead)
    try:
        return ScoreTable.from_arrays(names, nodes, scores, masks, provenance)
    except OptionError:
        _explain_repeated(text, lines, nodes, masks)
        raise


def _numbers(words: Any) -> NDArray[np.float64]:
    """Return the words as numbers, correctly rounded; NaN for those that are none."""
    try:
        numbers: NDArray[np.float64] = words.view(pa.large_string()).cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return np.array([_number(word) for word in words.to_pylist()])
    return numbers


def _number(word: bytes) -> float:
    try:
        return math.nan if b"_" in word else float(word)
    except ValueError:
        return math.nan


def _positions(words: Any, listed: Iterable[str]) -> NDArray[np.int32]:
    """Return the position of each word in the list, -1 for those that are not in it."""
    import pyarrow.compute as pc  # takes a while to import: only those who read text wait for it

    values = pa.array([word.encode() for word in listed], type=pa.large_binary())
    found: NDArray[np.int32] = pc.fill_null(pc.index_in(words, value_set=values), -1).to_numpy()
    return found


def _explain(text: _TextLines, line: int, node: int, lead: int) -> NoReturn:
    """Say what is wrong with a candidate's line."""
    names = [name.encode() for name in text.line_of]
    words = text.text(line).split()
    parents = words[lead:]
    if not math.isfinite(_number(words[0])):
        text.fail(line, "a finite score", words[0])
    if lead == 2 and (len(words) < 2 or words[1] != b"%d" % len(parents)):
        text.fail(line, "'score k parent ... parent' with k parents (or a count before is wrong)", text.text(line))
    for at, parent in enumerate(parents):
        if parent not in names:
            text.fail(line, "the name of a variable in this file", parent)
        if parent == names[node]:
            text.fail(line, "parents other than the node itself", parent)
        if parent in parents[:at]:
            text.fail(line, "each parent once", parent)
    text.fail(line, "a score and parents", text.text(line))


def _explain_repeated(
    text: _TextLines, lines: NDArray[np.int64], nodes: NDArray[np.int64], masks: NDArray[np.uint64]
) -> None:
    seen = dict[tuple[int, bytes], int]()
    for line, node, mask in zip(lines.tolist(), nodes.tolist(), masks, strict=True):
        earlier = seen.setdefault((node, mask.tobytes()), line)
        if earlier != line:
            where = f"the same is on line {text.numbers[earlier]}"
            text.fail(line, f"a new parent set ({where})", text.text(line))


def read_jkl(path: Path) -> ScoreTable:
    """Read a ``.jkl`` file."""
    text = _TextLines(path)
    if not len(text):
        text.fail_at_end("the number of variables")
    n = _whole(text.text(0))
    if n is None or not 1 <= n <= MAX_VARIABLES:
        text.fail(0, f"the number of variables, 1 to {MAX_VARIABLES}", text.text(0))
    headers, at = list[int](), 1
    for node in range(n):
        if at >= len(text):
            text.fail_at_end(f"'name count' of variable {node + 1} of {n}")
        words = text.text(at).split()
        count = _whole(words[1]) if len(words) == 2 else None
        if not count:
            expected = f"'name count' of variable {node + 1} of {n}, count at least 1 (or the count before is wrong)"
            text.fail(at, expected, text.text(at))
        name = text.add_name(at, words[0])
        if at + count >= len(text):
            text.fail_at_end(f"{count} parent sets of {name!r}, not {len(text) - at - 1}")
        headers.append(at)
        at += count + 1
    if at < len(text):
        text.fail(at, f"the end of the file after {n} variables (or a count is wrong)", text.text(at))
    is_header = np.zeros(len(text), dtype=bool)
    is_header[[0, *headers]] = True
    lines = np.flatnonzero(~is_header)
    return _table_of(text, lines, np.searchsorted(headers, lines) - 1, 2, {})


def _whole(word: bytes) -> int | None:
    return int(word) if word.isdigit() and len(word) <= 18 else None


def read_pss(path: Path) -> ScoreTable:
    """Read a ``.pss`` file."""
    text = _TextLines(path)
    keywords = _positions(text.words.take(text.first), ["META", "VAR"])
    provenance, per_variable = dict[str, object](), dict[str, dict[str, object]]()
    target, headers = provenance, list[int]()
    for line in np.flatnonzero(keywords >= 0).tolist():
        words = text.text(line).split(None, 1)
        if keywords[line] == 0:
            _add_meta(text, line, words[-1], target)
            continue
        if text.n_words[line] != 2:
            text.fail(line, "'VAR name'", text.text(line))
        target = per_variable[text.add_name(line, words[1])] = {}
        headers.append(line)
    is_comment = np.frombuffer(text.content, dtype=np.uint8)[text.starts[text.first]] == ord("#")
    lines = np.flatnonzero((keywords < 0) & ~is_comment)
    nodes = np.searchsorted(headers, lines) - 1
    if len(lines) and nodes[0] < 0:
        text.fail(int(lines[0]), "'META key = value' or 'VAR name' before the first score", text.text(lines[0]))
    if not headers:
        text.fail_at_end("'VAR name'")
    for node in np.flatnonzero(np.bincount(nodes, minlength=len(headers)) == 0).tolist():
        text.fail(headers[node], "at least one parent set of this variable", "none")
    for key, found in zip(_COUNT_KEYS, (len(headers), len(lines)), strict=True):
        if provenance.pop(key, found) != found:
            text.fail_at_end(f"as many as META {key} says, not {found} (a truncated file?)")
    described = {name: about for name, about in per_variable.items() if about}
    if described and provenance.setdefault("variables", described) is not described:
        text.fail_at_end("either META variables or META lines below VAR lines, not both")
    return _table_of(text, lines, nodes, 1, provenance)


def _add_meta(text: _TextLines, line: int, content: bytes, target: dict[str, object]) -> None:
    try:
        key, equals, value = (part.strip() for part in content.decode().partition("="))
    except UnicodeDecodeError:
        text.fail(line, "UTF-8 text", content)
    if not key or not equals:
        text.fail(line, "'META key = value'", content)
    if key in target:
        text.fail(line, f"META {key} only once", content)
    target[key] = _meta_value(value)
    if key == "epsilon" and not text.line_of and not is_gap(target[key]):
        text.fail(line, "a finite number, 0 or more, as META epsilon", content)


def _meta_value(text: str) -> object:
    """Return the text read as JSON, or the text itself if it is not JSON, as other programs write it."""
    try:
        value: object = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value


def _meta_text(value: object) -> str:
    if isinstance(value, str) and value.isprintable() and value == value.strip() and _meta_value(value) == value:
        return value
    return json.dumps(value)


def write_jkl(table: ScoreTable, sink: BinaryIO) -> None:
    """Write a table in the format ``.jkl``, without its provenance."""
    names = _writable_names(table, "jkl")
    sink.write(f"{len(names)}\n".encode())
    for node, count in enumerate(table.counts.tolist()):
        sink.write(f"{names[node]} {count}\n".encode())
        lines = [f"{score!r} {len(parents)}{_spaced(parents)}\n" for score, parents in table.parent_sets(node)]
        sink.write("".join(lines).encode())


def write_pss(table: ScoreTable, sink: BinaryIO) -> None:
    """Write a table in the format ``.pss``."""
    names = _writable_names(table, "pss")
    sink.write(f"META n_variables = {len(names)}\nMETA n_candidates = {len(table)}\n".encode())
    for key, value in table.provenance.items():
        if not key.isprintable() or "=" in key or key != key.strip() or not key or key in _COUNT_KEYS:
            raise OptionError(f"provenance key {key!r} cannot be a META key of a pss file; use the .scores format")
        sink.write(f"META {key} = {_meta_text(value)}\n".encode())
    for node, name in enumerate(names):
        sink.write(f"VAR {name}\n".encode())
        sink.write("".join([f"{score!r}{_spaced(p)}\n" for score, p in table.parent_sets(node)]).encode())


def _spaced(names: tuple[str, ...]) -> str:
    return " " + " ".join(names) if names else ""


def _writable_names(table: ScoreTable, format: str) -> tuple[str, ...]:
    for name in table.names:
        if not name or any(map(str.isspace, name)) or any("\ud800" <= letter <= "\udfff" for letter in name):
            raise OptionError(
                f"{name!r} cannot be written to a {format} file, whose names are UTF-8 text without spaces; "
                "rename the variable or use the .scores format, which can hold any name"
            )
    return table.names
