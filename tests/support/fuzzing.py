"""Spoiled files, and what every reader must make of them: something valid, or an error that helps.

`READERS` lists the readers with valid files to start from; `spoil` changes a file at random, in ways that are likely to
find a gap; `judge` reads it and checks the error. Used by the tests (few inputs) and by `fuzz_campaign` (many).
"""

import contextlib
import gzip
import io
import json
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from credibn import CredibleSet, k_best_networks, learn, read_data, read_scores, read_tiers
from credibn.data.new_rows import read_rows
from credibn.errors import CredibnError, CredibnWarning, FileFormatError
from credibn.graphs.formats import parse_model_string
from credibn.models import read_network
from credibn.scores import write_scores
from credibn.scores.arrow_files import write_arrow
from paper.experiments.table2 import CountsTask
from paper.records import Record, is_current, read_record, record_path, write_record

__all__ = ["READERS", "Reader", "damage", "judge", "seeds", "spoil"]

LONGEST_MESSAGE = 3000
NUMBERS = [
    *("0", "-0", "1", "-1", "2", "3", "4096", "4097", "65535", "65536", "99999999", "999999999999", "2147483647"),
    *("2147483648", "4294967296", "9223372036854775807", "18446744073709551616", "1e5", "1e308", "1e309", "1e999"),
    *("-1e999", "5e-324", "1e-999", "1e99999999999999999999", "nan", "NaN", "inf", "-inf", "Infinity", "0x10", "1_0"),
    *("٣", "３", ".5", "5.", "+1", "1e", "9" * 5000, "0." + "3" * 400, "1" + "0" * 400),
]
FRAGMENTS = [
    *(
        b"\x00",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\r",
        b"\n",
        b"\xff",
        b"\xc3(",
        b"\xed\xa0\x80",
        b"\xe2\x80\xa8",
        b"\xc2\xa0",
    ),
    *(
        b"\x1a",
        b"\x1f\x8b",
        b",",
        b";",
        b"\t",
        b"|",
        b"'",
        b'"',
        b'""',
        b"#",
        b"//",
        b"/*",
        b"*/",
        b"{",
        b"}",
        b"[",
        b"]",
    ),
    *(b"(", b")", b"=", b":", b"->", b"META ", b"VAR ", b"variable", b"probability", b"table", b"default", b"property"),
    *(b"network", b"NA", b"?", b"null", b"<!DOCTYPE", b"<!ENTITY a 'a'>", b"&lol;", b"&#0;", b"%s"),
    *(b"a" * 3000, b"[" * 3000, b'{"a":' * 2000, b"\n" * 500, b"a," * 500, b" " * 2000),
]


@dataclass(frozen=True)
class Reader:
    """A reader of files with this ending; a text format tells the line of a fault."""

    ending: str
    read: Callable[[Path], object]
    is_text: bool = True


# ------------------------------------------------------------------------------------------------- readers


READ_OPTIONS = [
    {},
    {"missing": "drop"},
    {"missing": "state", "columns": "mixed"},
    {"columns": "continuous", "missing": "drop"},
    {"weights": "w"},
    {"discretise": "equal_width:3", "missing": "drop"},
    {"discretise": {"x": "equal_frequency:2"}, "missing": "state"},
    {"discretise": "mean", "missing": "drop"},
    {"state_names": {"a": ["yes", "no"]}, "missing_values": ["?", "\x00"]},
    {"columns": "mixed", "continuous": ["x"], "max_states": 2, "missing": "drop"},
]


def read_with_options(path):
    """Read a table with options that the content itself selects, so that one file is always read alike."""
    content = path.read_bytes()
    return read_data(path, **READ_OPTIONS[sum(content) % len(READ_OPTIONS)])


def read_new_rows(path):
    return read_rows(path, ["a", "x"], [("no", "yes"), None], ignore_extra=True)


def read_string(path):
    return parse_model_string(path.read_bytes().decode("utf-8", "surrogateescape"))


TASK = CountsTask("wine", 20)


def read_a_record(path):
    """A record is found by its task, so the file is put where that of the task would be."""
    place = record_path(path.parent / "records of one", TASK)
    place.parent.mkdir(parents=True, exist_ok=True)
    path.replace(place)
    record = read_record(path.parent / "records of one", TASK)
    return is_current(record, "credibn", None, 10.0)


READERS = {
    "csv": Reader(".csv", read_with_options),
    "tsv": Reader(".tsv", read_with_options),
    "csv.gz": Reader(".csv.gz", read_with_options),
    "csv.zst": Reader(".csv.zst", read_with_options),
    "parquet": Reader(".parquet", read_with_options, is_text=False),
    "new rows": Reader(".csv", read_new_rows),
    "jkl": Reader(".jkl", read_scores),
    "pss": Reader(".pss", read_scores),
    "scores": Reader(".scores", read_scores, is_text=False),
    "tiers": Reader(".txt", read_tiers),
    "bif": Reader(".bif", read_network),
    "bif.gz": Reader(".bif.gz", read_network),
    "credibn": Reader(".credibn", CredibleSet.load, is_text=False),
    "record": Reader(".json", read_a_record, is_text=False),
    "model string": Reader(".txt", read_string, is_text=False),
}
"""Not the formats that pyAgrum reads: a damaged file can keep it busy for ever (docs/reliability.md)."""


# ------------------------------------------------------------------------------------------------- valid files


TABLES = [
    "a,x,w\nyes,1.5,1\nno,2,2\nyes,-0.25,1\nno,,3\n",
    '"a ""b""","c,d"\r\n"l\nm",01\r\n?,1\r\nNA,2\r\n',
    "a;b\n1;2\n3;4\n",
    "a,x\nyes,1e3\n" + "no,7\n" * 40,
]
BIF = """network asia { property "x;y"; }
// comment
variable "a b" { type discrete [ 2 ] { yes, no }; property p = 1; }
variable c { type discrete [ 3 ] { x, "y z", w }; }
variable d { type discrete [2] { 0 1 }; }
probability ( "a b" ) { table 0.25, 0.75; }
probability ( c | "a b" ) { (yes) 0.1, 0.2, 0.7; (no) .5 .25 .25; }
probability ( d | c, "a b" ) { default 0.5, 0.5; (x, yes) 0.1, 0.9; /* one */ }
"""
PSS = (
    "META n_variables = 2\nMETA epsilon = 2.5\n# note\nMETA list = [1, 2]\n"
    "VAR a\n-1.5\n-1.0 b\nVAR b\nMETA arity=2\n-3e2\n"
)
JKL = "3\na 2\n-4.5 0\n-3.5 2 b c\nb 1\n-2 0\nc 2\n-1 0\n-1.5 1 a\n"


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Return valid files of a kind."""
    reader = READERS[name]
    if name in ("csv", "new rows"):
        return tuple(table.encode() for table in TABLES)
    if name == "tsv":
        return tuple(table.replace(",", "\t").encode() for table in TABLES)
    if name in ("csv.gz", "csv.zst", "bif.gz"):
        plain = [BIF] if name == "bif.gz" else TABLES
        return tuple(packed(name, text.encode()) for text in plain)
    if name in ("jkl", "pss", "bif", "tiers", "model string"):
        texts = {
            "jkl": [JKL],
            "pss": [PSS, PSS.replace("\n", "\r\n")],
            "bif": [BIF],
            "tiers": ["age, sex  # first\n\nincome\n# end\nhealth,#a\n"],
            "model string": ["[rain][sprinkler][wet|rain:sprinkler]", " [a] [b|a] [c|a:b] "],
        }
        return tuple(text.encode() for text in texts[name])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{reader.ending}"
        return tuple(made(name, path))


def packed(name: str, content: bytes) -> bytes:
    return gzip.compress(content, mtime=0) if name.endswith("gz") else pa.compress(content, "zstd", asbytes=True)


def made(name, path):
    """Yield files that are best made by the program itself."""
    rows = np.random.default_rng(1).integers(0, 2, (40, 3))
    if name == "parquet":
        table = pa.table(
            {"a": ["yes", "no", None], "x": [1.5, 2, 3], "w": [1, 2, 3], "d": pa.array([1, 2, 3], pa.date32())}
        )
        for compression in ("none", "zstd"):
            pq.write_table(table, path, compression=compression)
            yield path.read_bytes()
    elif name == "scores":
        write_scores(learn(rows, epsilon=5).score_table, path)
        yield path.read_bytes()
    elif name == "record":
        answer = {"complete": True, "networks": 3, "classes": 1}
        write_record(path.parent, TASK, Record(TASK.key, answer, "credibn", None, 5.0, "2026"))
        yield record_path(path.parent, TASK).read_bytes()
    else:
        for found in (learn(rows, epsilon=5), learn(rows, unit="networks"), k_best_networks(rows, 3)):
            found.save(path)
            yield path.read_bytes()


# ------------------------------------------------------------------------------------------------- spoiling


def spoil(name: str, random: Random) -> bytes:
    """Return a valid file of a kind with one to five changes."""
    content = random.choice(seeds(name))
    if name in ("credibn", "scores", "record") and random.random() < 0.6:
        return spoil_inside(name, content, random)
    is_packed = name.endswith((".gz", ".zst")) and random.random() < 0.7
    if is_packed:
        content = (BIF if name == "bif.gz" else random.choice(TABLES)).encode()
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        content = random.choice(CHANGES)(content, random)
    return packed(name, content) if is_packed else content


def flip(content, random):
    if not content:
        return b"\x00"
    at = random.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :]


def cut(content, random):
    start, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
    return random.choice((content[:start], content[end:], content[:start] + content[end:]))


def insert(content, random):
    at = random.randrange(len(content) + 1)
    return content[:at] + random.choice(FRAGMENTS) + content[at:]


def repeat(content, random):
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.choice((1, 5, 40, 400)))
    return content[:end] + content[start:end] * random.choice((1, 1, 2, 100)) + content[end:]


def change_lines(content, random):
    lines = content.splitlines(keepends=True) or [b""]
    here, there = random.randrange(len(lines)), random.randrange(len(lines))
    lines[here] = random.choice((lines[there], lines[here] * 2, b"", lines[here] + lines[there], lines[here].strip()))
    return b"".join(lines)


def change_number(content, random):
    numbers = list(re.finditer(rb"\d+(?:\.\d+)?", content))
    if not numbers:
        return content
    found = random.choice(numbers)
    return content[: found.start()] + random.choice(NUMBERS).encode() + content[found.end() :]


def change_word(content, random):
    words = list(re.finditer(rb"\w+", content))
    if not words:
        return content
    found, other = random.choice(words), random.choice(words)
    return content[: found.start()] + random.choice((other[0], b"", b'""')) + content[found.end() :]


def change_length(content, random):
    """Overwrite four or eight bytes by a number that lies about a length."""
    width = random.choice((4, 8))
    if len(content) < width:
        return content
    at = random.randrange(len(content) - width + 1)
    number = random.choice((0, 1, 127, 2**15, 2**20, 2**30, 2**31 - 1, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1))
    return content[:at] + (number % 256**width).to_bytes(width, "little") + content[at + width :]


def swap(content, random):
    """Exchange two stretches of the same length."""
    length = random.choice((1, 8, 64, 512))
    one, other = sorted(random.randrange(max(1, len(content) - length)) for _ in range(2))
    if other < one + length:
        return content
    first, second = content[one : one + length], content[other : other + length]
    return content[:one] + second + content[one + length : other] + first + content[other + length :]


def damage(content: bytes, random: Random) -> bytes:
    """Return a file as a bad disk, a bad line or a bad copy leaves it: never as it was."""
    damaged = content
    while damaged == content:
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            damaged = random.choice((flip, cut, repeat, swap))(damaged, random)
    return damaged


CHANGES = (flip, cut, insert, repeat, change_lines, change_number, change_word, change_length)
ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 1.5, -0.0, 1e308, "", "x", "unbounded", "\ud800", "\x00"),
    *([], [[]], {}, {"a": {}}, ["a"], ["X0", "X0", "X1"], [1, 2, 3], "a" * 3000),
)


def spoil_value(value, random):
    """Return a JSON value with something in it changed."""
    inside = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if not inside or random.random() < 0.3:
        return random.choice(ODD_VALUES)
    key = random.choice(list(inside))
    if random.random() < 0.1:
        return (
            [item for at, item in enumerate(value) if at != key]
            if isinstance(value, list)
            else {other: item for other, item in value.items() if other != key}
        )
    changed = value.copy()
    changed[key] = spoil_value(value[key], random)
    return changed


def spoil_inside(name: str, content: bytes, random: Random) -> bytes:
    """Change what a sound file says: its facts, or its arrays."""
    if name == "record":
        facts = spoil_value(json.loads(content), random)
        if isinstance(facts, dict) and random.random() < 0.7:
            with contextlib.suppress(TypeError, ValueError, RecursionError):
                facts["checksum"] = Record(**{key: facts[key] for key in facts if key != "checksum"}).checksum
        return json.dumps(facts).encode()
    reader = pa.ipc.open_file(pa.py_buffer(content))
    metadata, table = dict(reader.schema.metadata), reader.read_all()
    key = random.choice(list(metadata))
    if random.random() < 0.5:
        metadata[key] = json.dumps(spoil_value(json.loads(metadata[key]), random)).encode()
    else:
        at = random.randrange(table.num_columns)
        table = table.set_column(at, table.schema.field(at), [spoil_array(table.column(at).chunk(0), random)])
    batch = table.cast(table.schema.with_metadata(metadata)).combine_chunks().to_batches()[0]
    sink = io.BytesIO()
    write_arrow(batch, sink, random.choice(("zstd", "lz4", None)))
    return sink.getvalue()


def spoil_array(array, random):
    """Return an array of the same type with one item of it changed."""
    items = array.to_pylist()
    row = items[0] if array.type.num_fields and items else items
    if row:
        at = random.randrange(len(row))
        others = [row[-1], row[0], 0 if not isinstance(row[at], bytes) else b"\xff" * len(row[at])]
        odd = [2**31, 1e308, float("nan")] if isinstance(row[at], float) else []
        row[at] = random.choice(others + odd + ([2**32 - 1, 2**31 - 1, 7] if isinstance(row[at], int) else []))
        if random.random() < 0.3 and array.type.num_fields:
            row.pop()
    try:
        return pa.array(items, array.type)
    except (pa.ArrowException, OverflowError, TypeError):
        return array


# ------------------------------------------------------------------------------------------------- judging


WHOLE_FILE = re.compile("cannot be read|expands to|no line is known|found no tier|the last line|is empty")
"""Faults that are in no line."""


def judge(name: str, content: bytes, folder: Path) -> str:
    """Read a file; return "valid", or "refused" if the error is one of ours and helps. Anything else is raised."""
    reader = READERS[name]
    path = folder / f"spoiled{reader.ending}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CredibnWarning)
        try:
            reader.read(path)
        except CredibnError as error:
            check_message(error, path, reader.is_text)
            return "refused"
    return "valid"


def check_message(error: CredibnError, path: Path, is_text: bool) -> None:
    """What is wrong, where and what to do; not what some library thinks about it."""
    message = str(error)
    assert len(message) <= LONGEST_MESSAGE, f"a message of {len(message)} letters: {message[:300]}"
    assert "Traceback" not in message, message
    assert " object at 0x" not in message, message
    assert re.search(r"expected .*found|[;:?(] ", message, re.DOTALL), f"no remedy: {message}"
    if isinstance(error, FileFormatError):
        assert path.name in message or path.suffix == ".json", f"no file: {message}"
        if is_text and not WHOLE_FILE.search(message):
            assert re.search(r"line \d+", message), f"no line: {message}"
