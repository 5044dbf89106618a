"""Look at a text file before DuckDB reads it: its encoding, line ends and comments; copy it where DuckDB could not.

DuckDB reads UTF-8 with one kind of line end, and very fast. Any other file is decoded here, line by line, into a
copy that DuckDB can read.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from credibn.errors import FileFormatError, Option, Phrase

_SURVEYED = 1 << 28
"""Bytes of a file that are looked at; DuckDB reports what is wrong further down."""
_CHUNK = 1 << 23
_FALLBACK = "cp1252"
"""What text that is not UTF-8 most often is; it includes the printable characters of Latin-1."""
_COMMENT = "#"
_LINES_LOOKED_AT, _MOST_LOOKED_AT = 40, 1 << 20
"""Lines, and characters, at the beginning of a file, among which the header is."""
_FEWEST_RECORDS = 4
_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")


@dataclass(frozen=True)
class TextFile:
    """What is known of a text file."""

    path: str
    compression: str
    encoding: str
    comment: str | None
    needs_copy: bool
    note: Phrase | None
    skipped: int = 0  # lines above the header

    def open(self, errors: str = "strict") -> io.TextIOWrapper:
        """Open the decoded text; line ends stay as they are."""
        stream = io.BufferedReader(open_bytes(self.path, self.compression))
        return io.TextIOWrapper(stream, encoding=self.encoding, errors=errors, newline="")


def open_bytes(path: str, compression: str) -> Any:
    """Open the unpacked bytes of a file."""
    if compression == "none":
        return open(path, "rb")
    import pyarrow as pa  # takes a while to import: only those who have a compressed file wait for it

    return pa.input_stream(path, compression=compression)


def look_at(path: str, compression: str, encoding: str | None, comment: str | None) -> TextFile:
    """Find out what a text file is, as far as the caller does not say it."""
    with open_bytes(path, compression) as stream:
        start = stream.read(1 << 12)
    note, needs_copy = None, encoding is not None or comment is not None
    if encoding is None:
        encoding = _by_first_bytes(start)
        is_utf8, is_mixed = (True, False) if encoding != "utf-8-sig" else _survey(path, compression)
        if not is_utf8:
            encoding = _FALLBACK
        if encoding != "utf-8-sig":
            note = Phrase("{!r} is not UTF-8 text and was read as {}", os.path.basename(path), encoding)
            if encoding == _FALLBACK:  # any bytes are text in it
                note = Phrase("{}: pass {} if characters look wrong", note, Option("encoding", "latin-1"))
        needs_copy = needs_copy or encoding != "utf-8-sig" or is_mixed
    elif codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"
    if comment is None and start.decode(encoding, "replace").startswith(_COMMENT):
        comment = _comment_of(TextFile(path, compression, encoding, None, needs_copy, None))
    return TextFile(path, compression, encoding, comment, needs_copy or comment is not None, note)


def _by_first_bytes(start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) > len(start) // 4 and min(even, odd) == 0:  # letters of one byte, in two
        return "utf-16-le" if odd else "utf-16-be"
    return "utf-8-sig"


def _survey(path: str, compression: str) -> tuple[bool, bool]:
    """Return whether the bytes are UTF-8, and whether more than one kind of line end occurs."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_cr = n_lf = n_both = n_read = 0
    last = b""
    try:
        with open_bytes(path, compression) as stream:
            while n_read < _SURVEYED and (chunk := stream.read(_CHUNK)):
                n_read += len(chunk)
                decoder.decode(chunk)
                n_cr, n_lf = n_cr + chunk.count(b"\r"), n_lf + chunk.count(b"\n")
                n_both += chunk.count(b"\r\n") + (last == b"\r" and chunk[:1] == b"\n")
                last = chunk[-1:]
    except UnicodeDecodeError:
        return False, False
    except (OSError, ValueError):
        pass  # a damaged file: DuckDB says where
    return True, not (n_cr == 0 or n_lf == 0 or n_cr == n_lf == n_both)


def _comment_of(file: TextFile) -> str | None:
    """Return "#" where the lines that begin the file are comments, and not a header that begins so."""
    with file.open(errors="replace") as text:
        for number, line in enumerate(text):
            if number == 0:
                first = _n_fields(line)
            elif not line.startswith(_COMMENT):
                return None if _n_fields(line) == first else _COMMENT
    return None


def _n_fields(line: str) -> int:
    return 1 + max(line.count(delimiter) for delimiter in ",;\t|")


def first_lines(file: TextFile) -> list[str]:
    """Return some lines at the beginning of a file, comments as empty lines; none where they are very long."""
    lines, size = list[str](), 0
    with file.open(errors="replace") as text:
        while len(lines) < _LINES_LOOKED_AT and (line := text.readline(_MOST_LOOKED_AT)):
            lines.append(line)
            size += len(line)
            if size > _MOST_LOOKED_AT:
                return []
    return ["\n" if file.comment is not None and line.startswith(file.comment) else line for line in lines]


def delimiter_of_most(lines: Sequence[str]) -> str:
    """Return what separates the fields of most lines."""
    counts = {mark: sorted(line.count(mark) for line in lines if line.strip()) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark][len(counts[mark]) // 2 :][:1])


def records_in(lines: Sequence[str], delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the records of some lines, and the line that each ends with; none where the quotes are wrong."""
    reader = csv.reader(lines, delimiter=delimiter)
    records, ends = list[list[str]](), list[int]()
    try:
        for record in reader:
            records.append([field.strip() for field in record])
            ends.append(reader.line_num)
    except csv.Error:
        return [], []
    return records, ends


def is_irregular(records: Sequence[Sequence[str]]) -> bool:
    """Whether records differ in the number of fields, or the first has one only that is not empty."""
    sizes = {len(record) for record in records if any(record)}
    return len(sizes) > 1 or not any(any(record[1:]) for record in records[:1])


def lines_above(records: list[list[str]], ends: list[int]) -> int:
    """Return how many lines stand above the header: a title has too few fields, or all but one of them are empty.

    A header that lacks one field is not among them: R writes such headers.
    """
    sizes = [len(record) for record in records if any(record)]
    if len(sizes) < _FEWEST_RECORDS:
        return 0
    n = max(set(sizes), key=lambda size: (sizes.count(size), size))
    separator = "".join(records[0][:1]).startswith("sep=")  # a line for the spreadsheet alone
    if not separator and (n < 3 or sizes.count(n) < len(sizes) // 2):
        return 0
    for at, record in enumerate(records[separator:], separator):
        if len(record) == n and sum(map(bool, record)) > 1:
            is_header = all(record) and not any(map(_NUMBER.fullmatch, record))
            return ends[at - 1] if at and (is_header or separator) else 0
        if len(record) == n - 1 or len(record) > n:
            break
    return ends[0] if separator else 0


def lacks_first_name(records: list[list[str]]) -> bool:
    """Whether the header has a field less than every row: R writes the names of rows without one."""
    sizes = [len(record) for record in records if any(record)]
    return len(sizes) >= _FEWEST_RECORDS and set(sizes[1:]) == {sizes[0] + 1} and sizes[0] > 1


class RecordLines(Iterator[str]):
    """The lines of a text without comments: a line within a quoted field is no comment, whatever it begins with."""

    def __init__(self, text: Iterator[str], file: TextFile) -> None:
        self._text, self._comment, self._skipped = text, file.comment, file.skipped
        self.is_start = True  # of a record; the reader's caller sets it
        self.number = 0

    def __next__(self) -> str:
        while True:
            line = next(self._text)
            self.number += 1
            if self.number <= self._skipped:
                continue
            if self.is_start and self._comment is not None and line.startswith(self._comment):
                continue
            self.is_start = False
            return line


def _why(error: csv.Error | UnicodeDecodeError, file: TextFile) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} begins no character of {file.encoding}"
    return str(error)


def copy_as_utf8(file: TextFile, delimiter: str, header: tuple[str, ...], copy: str) -> None:
    """Write the table as UTF-8 text with one kind of line end and without comments."""
    with file.open() as text, open(copy, "w", encoding="utf-8", newline="") as sink:
        lines = RecordLines(text, file)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        writer = csv.writer(sink, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        is_header = True
        while True:
            lines.is_start = True
            try:
                row = next(reader, None)
            except (csv.Error, UnicodeDecodeError) as error:
                raise FileFormatError(
                    "{!r}, line {}: {}; repair the line, or pass the {} of the file",
                    file.path,
                    lines.number + 1,
                    _why(error, file),
                    Option("encoding"),
                ) from error
            if row is None:
                return
            if is_header:
                is_header = False
            elif len(row) == len(header):
                writer.writerow(row)
            elif row:
                fix = Phrase("repair the line, or save the table again with a field for each column")
                if row[0].startswith(_COMMENT):
                    fix = Phrase("pass {} if such lines are comments", Option("comment", _COMMENT))
                counts = f"line {lines.number}: it has {len(row)} fields and the header {len(header)}"
                raise FileFormatError("{!r}, {}; {}", file.path, counts, fix)
