"""Scan CSV, TSV and Parquet files, compressed or several at once, as one DuckDB query.

The header of a text file is read here, and DuckDB gets the whole dialect: where it has to guess, it renames repeated
columns, and takes the first line break, even inside a quoted name, for the end of every line.
"""

from __future__ import annotations

import csv
import glob
import io
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from credibn.data.number_forms import given_form
from credibn.data.suggesting import suggestion
from credibn.data.text_files import (
    RecordLines,
    TextFile,
    copy_as_utf8,
    delimiter_of_most,
    first_lines,
    is_irregular,
    lacks_first_name,
    lines_above,
    look_at,
    records_in,
)
from credibn.errors import DataError, FileFormatError, Option, Phrase
from credibn.options import ReadOptions

_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_ENDINGS = "'.csv', '.txt', '.tsv', '.tab' (each also with '.gz' or '.zst'), '.parquet' or '.pq'"
_FACT = re.compile("^Expected Number of Columns|^Value with unterminated quote|^Invalid unicode|^Maximum line size")
_NAMES_SHOWN = 5
_LONGEST_LINE = 2_000_000
"""Bytes, as in DuckDB; a compressed file of some kilobytes can hold a line of gigabytes."""
_FRACTION = re.compile(r"[-+]?[0-9]+[.,][0-9]+")
_LINE_BREAKS = {"\n": r"\n", "\r\n": r"\r\n", "\r": r"\r"}


@dataclass(frozen=True)
class FileScan:
    """A query over files: its SQL gives the columns ``c0, c1, ...``, called ``names`` in the files."""

    sql: str
    names: tuple[str, ...]
    is_text: bool
    notes: tuple[Phrase, ...] = ()


@dataclass(frozen=True)
class _Dialect:
    delimiter: str
    line_break: str
    compression: str


def scan_files(path: str | os.PathLike[str], given: ReadOptions, folder: str) -> FileScan:
    """Return the query that reads the file, or every file that the glob pattern ``path`` matches.

    Text that DuckDB cannot read as it is gets a copy in the folder.
    """
    files = [_local(file) for file in _find(os.path.expanduser(os.fspath(path)))]
    kinds = {_ending(file)[0] in (".parquet", ".pq") for file in files}
    if len(kinds) > 1:
        raise DataError(f"{os.fspath(path)!r} matches text and Parquet files: read one kind at a time")
    scan = _scan_parquet(files) if kinds == {True} else _scan_text(files, given, folder)
    if not scan.names:
        raise DataError(f"{files[0]!r} is empty: its first line must name the columns")
    return scan


def sql_text(text: str) -> str:
    """Return ``text`` as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _find(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        raise DataError(f"{path!r} is a folder: give a file, or a pattern such as {os.path.join(path, '*.parquet')!r}")
    if glob.has_magic(path):
        files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
        if files:
            return files
        raise DataError(f"no file matches the pattern {path!r}: check the folder and the ending")
    if "://" in path:
        raise DataError(
            f"{path!r} is not a local file: download it first, or in Python open it with duckdb and pass the relation"
        )
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise DataError(f"{path!r} was not found: there is no folder {folder!r}")
    near = suggestion(os.path.basename(path), sorted(os.listdir(folder)), limit=5)
    raise DataError(f"{path!r} was not found in {folder!r}: {near}")


def _local(file: str) -> str:
    """Return a path that no library takes for an address: a folder can be called 'http:'."""
    return os.path.join(".", file) if ":" in file and not os.path.isabs(file) else file


def _ending(file: str) -> tuple[str, str]:
    """Return the ending that tells the format, and the compression."""
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1], "none") if suffixes else "none"
    kinds = suffixes[:-1] if compression != "none" else suffixes
    kind = kinds[-1] if kinds else ""
    if kind in (".parquet", ".pq"):
        if compression != "none":
            raise FileFormatError(f"{file!r} is Parquet compressed as a whole: unpack it (Parquet compresses inside)")
    elif kind not in _TEXT_ENDINGS:
        raise FileFormatError(f"{file!r} has an unknown extension: rename or convert it to one of {_ENDINGS}")
    return kind, compression


def _file_list(files: list[str]) -> str:
    # Escaped, because DuckDB would expand a bracket or a star inside a file's own name.
    return "[" + ", ".join(sql_text(glob.escape(file)) for file in files) + "]"


def _scan_parquet(files: list[str]) -> FileScan:
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    headers = []
    for file in files:
        try:
            headers.append(tuple(pq.read_schema(file).names))
        except (ArrowException, OSError) as error:
            raise FileFormatError(f"{file!r} is not a readable Parquet file: {str(error).splitlines()[0]}") from error
    _check_same_columns(files, headers)
    aliases = ", ".join(f"c{i}" for i in range(len(headers[0])))
    sql = f"SELECT * FROM read_parquet({_file_list(files)}, hive_partitioning=false) AS t({aliases})"
    return FileScan(sql, headers[0], is_text=False)


def _scan_text(files: list[str], given: ReadOptions, folder: str) -> FileScan:
    headers: list[tuple[str, ...]] = []
    notes: list[Phrase] = []
    files_of: dict[_Dialect, list[str]] = {}
    for number, file in enumerate(files):
        header, dialect, text = _read_header(file, given)
        if text.note is not None:
            notes.append(text.note)
        notes += _header_notes(file, header, text)
        if text.needs_copy and header:
            copy = os.path.join(folder, f"copy-{number}.csv")
            copy_as_utf8(text, dialect.delimiter, header, copy)
            file, dialect = copy, _Dialect(dialect.delimiter, "\n", "none")
        _check_end(file, dialect)
        headers.append(header)
        files_of.setdefault(dialect, []).append(file)
    _check_same_columns(files, headers)
    names, repeated = _unique(headers[0])
    if repeated:
        shown = ", ".join(map(repr, repeated[:_NAMES_SHOWN])) + (", ..." if len(repeated) > _NAMES_SHOWN else "")
        notes.append(Phrase("column names repeat, so these are new: {}", shown))
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(headers[0])))
    values = ", ".join(f"{_plain_cell(f'c{i}', given)} AS c{i}" for i in range(len(headers[0])))
    scans = [
        f"SELECT {values} FROM read_csv({_file_list(group)}, columns={{{columns}}}, header=true, auto_detect=false, "
        f"delim={sql_text(dialect.delimiter)}, quote='\"', escape='\"', nullstr='', hive_partitioning=false, "
        f"new_line={sql_text(_LINE_BREAKS[dialect.line_break])}, compression={sql_text(dialect.compression)})"
        for dialect, group in files_of.items()
    ]
    return FileScan(" UNION ALL ".join(scans), names, is_text=True, notes=tuple(notes))


def _header_notes(file: str, header: tuple[str, ...], text: TextFile) -> list[Phrase]:
    """Return the notes on a line that may not be the header, and on those above it."""
    name, shown = os.path.basename(file), ", ".join(map(repr, header[:3]))
    if text.skipped:
        return [
            Phrase(
                "line {} of {!r} is the header ({}, ...); lines above it are left out", text.skipped + 1, name, shown
            )
        ]
    if header and all(_FRACTION.fullmatch(field) for field in header):
        return [
            Phrase("the names of all columns are numbers ({}, ...): add a header line if {!r} has none", shown, name)
        ]
    return []


def _unique(names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Return names that differ, and which of them are new: those that occur again get a number, from 2 on."""
    taken, numbers, made = set(names), Counter[str](), list[str]()
    for name in names:
        new = name
        while name and numbers[name] and new in taken:
            numbers[name] += 1
            new = f"{name}_{numbers[name]}"
        numbers[name] = max(numbers[name], 1)
        taken.add(new)
        made.append(new)
    return tuple(made), [new for new, name in zip(made, names, strict=True) if new != name]


def _plain_cell(column: str, given: ReadOptions) -> str:
    """Return the SQL of a cell without spaces around it, and of a number without the separators that are given."""
    cell = f"nullif(trim({column}), '')"
    form = given_form(given.decimal, given.thousands)
    if form is None or form.is_plain:
        return cell
    return f"CASE WHEN {form.matches(column)} THEN trim({form.plain(column)}) ELSE {cell} END"


def _check_same_columns(files: list[str], headers: list[tuple[str, ...]]) -> None:
    for file, header in zip(files, headers, strict=True):
        if header != headers[0]:
            different = sorted(set(header) ^ set(headers[0]))
            what = f"not in both: {', '.join(map(repr, different[:5]))}" if different else "in another order"
            raise DataError(
                f"{file!r} and {files[0]!r} differ in their columns ({what}): "
                "give files with the same header, or read them one by one"
            )


def _read_header(file: str, given: ReadOptions) -> tuple[tuple[str, ...], _Dialect, TextFile]:
    kind, compression = _ending(file)
    try:
        look = look_at(file, compression, given.encoding, given.comment)
        sample = first_lines(look)
        delimiter = _delimiter(kind, next((line for line in sample if line.strip()), ""))
        records, _ = records_in(sample, delimiter)
        if is_irregular(records):
            others = delimiter if kind in (".tsv", ".tab") else delimiter_of_most(sample)
            skipped = lines_above(*records_in(sample, others))
            if skipped:
                delimiter, look = others, replace(look, skipped=skipped, needs_copy=True)
        # Escaped, because the buffer reaches beyond the header: DuckDB reports wrong bytes further down.
        with look.open(errors="surrogateescape" if look.encoding == "utf-8-sig" else "replace") as text:
            lines = _HeaderLines(text)
            rows = RecordLines(lines, look)
            first = next(rows, "")
            delimiter = delimiter if look.skipped else _delimiter(kind, first)
            header = next(
                csv.reader(itertools.chain([first] if first else [], rows), delimiter=delimiter, strict=True), []
            )
            "".join(header).encode()
    except (OSError, ValueError, csv.Error) as error:
        raise FileFormatError(
            f"{file!r}, line 1: the header cannot be read ({error}); save the table as UTF-8 text with a header line"
        ) from error
    if not look.skipped and lacks_first_name(records):
        header, look = ["", *header], replace(look, needs_copy=True)
    ending = re.search(r"(\r\n|\n|\r)$", lines.last)
    return (
        tuple(name.strip() for name in header),
        _Dialect(delimiter, ending.group() if ending else "\n", compression),
        look,
    )


def _delimiter(kind: str, header: str) -> str:
    """Return what separates fields: a comma, or what occurs more often in the header, outside of quotes."""
    if kind in (".tsv", ".tab"):
        return "\t"
    plain = re.sub('"[^"]*"', "", header)
    return max(",;\t|", key=plain.count)


def _check_end(file: str, dialect: _Dialect) -> None:
    """Refuse a file whose last line is too long: DuckDB 2.0 silently drops one of more than 32 MB."""
    size = os.path.getsize(file)
    if dialect.compression != "none" or size <= _LONGEST_LINE:
        return
    with open(file, "rb") as stream:
        stream.seek(size - _LONGEST_LINE - 2)
        end = stream.read()
    if dialect.line_break.encode() not in end[:-2]:
        raise FileFormatError(
            f"{file!r}, the last line: it is longer than {_LONGEST_LINE:,} bytes; save the table again with one "
            "line per row"
        )


class _HeaderLines(Iterator[str]):
    """The lines of the header; `last` is the latest, which ends with the line break of the file."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self._left = _LONGEST_LINE
        self.last = ""

    def __next__(self) -> str:
        line = self._text.readline(self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise csv.Error(f"it is longer than {_LONGEST_LINE:,} characters")
        if not line:
            raise StopIteration
        self.last = line
        return line


def shorten(error: Exception) -> str:
    """Return the facts of DuckDB's message: which file and line, and what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no message"]
    file = next((f"{line.removeprefix('file = ')!r}, " for line in lines if line.startswith("file = ")), "")
    place = re.match(r".*CSV Error on Line: (\d+)", lines[0])
    if "invalid state" in lines[0]:
        return f"{file}no line is known: quotes or line ends differ from those of the header"
    if place is None:
        return file + lines[0].split(": ", 1)[-1]
    # The message quotes the line first, which may itself have line breaks: recognise the fact by its words.
    fact = next((line for line in lines[1:] if _FACT.search(line)), "it does not fit the header")
    return f"{file}line {place.group(1)}: {fact.rstrip('.')} ({lines[1][:80]})"


def repair_of_text(error: Exception) -> Phrase:
    """Return what to do about a line that DuckDB cannot read."""
    lines = str(error).splitlines()
    if "invalid state" in lines[0]:
        return Phrase("repair the quotes, or pass {} to read line by line", Option("encoding", "utf-8"))
    if any(line.startswith("Original Line: #") for line in lines):
        return Phrase("pass {} if such lines are comments, or repair the line", Option("comment", "#"))
    if any(line.startswith("Invalid unicode") for line in lines):
        return Phrase("pass the {} of the file, such as {}", Option("encoding"), Option("encoding", "cp1252"))
    return Phrase("repair the line, or save the table again as UTF-8 text with a field for each column")
