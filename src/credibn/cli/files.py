"""The files that commands share: a result to open, a table or a text to write."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from credibn._base.atomic import replacing, unwritable
from credibn._base.checks import file_path
from credibn._base.text import plain_cell, printable
from credibn._run.progress import is_terminal
from credibn.credible import CredibleSet
from credibn.data.suggesting import suggestion
from credibn.errors import FileFormatError, OptionError

if TYPE_CHECKING:  # pandas takes a while to import: commands without a frame do not wait for it
    from pandas import DataFrame

RESULT = "result.credibn"
"""The name of the credible set in the folder that ``learn --out`` writes."""
_TABLES = {".csv": ",", ".tsv": "\t", ".parquet": None}


def open_result(path: Path) -> CredibleSet:
    """Return the credible set of a file, or of the folder that ``learn --out`` wrote."""
    if os.path.isdir(path):
        if not os.path.isfile(path / RESULT):
            raise FileFormatError(
                f"the folder {path} has no {RESULT}; give a folder that 'credibn learn --out' wrote, or a .credibn file"
            )
        return CredibleSet.load(path / RESULT)
    if not os.path.exists(path):
        folder = path.parent
        near = f"there is no folder {folder}"
        if os.path.isdir(folder):
            near = suggestion(path.name, sorted(entry.name for entry in folder.iterdir()), limit=5)
        raise FileFormatError(f"{path} was not found ({near}); 'credibn learn DATA --out DIR' writes a result")
    return CredibleSet.load(path)


def note_incomplete(found: CredibleSet) -> None:
    """Say on standard error that a set is only a part, if it is one."""
    if not found.complete:
        typer.echo(f"the result is incomplete ({found.stopped_because}): {found.guarantee}", err=True)


def check_destination(out: Path) -> None:
    """Refuse a file that cannot be written, before the work."""
    if os.path.isdir(out):
        raise OptionError(f"{out} is a folder; give the name of a file in it")
    try:
        with tempfile.TemporaryFile(dir=out.parent), suppress(FileNotFoundError):
            os.lstat(file_path(out))  # fails for a name that is too long
    except OSError as error:
        raise unwritable(out, error, kind=OptionError) from error


def check_table_destination(out: Path | None) -> None:
    """Refuse a file that cannot be written, or has no ending of a table, before the work."""
    if out is None:
        return
    if out.suffix.lower() not in _TABLES:
        raise OptionError(f"'{out}' ends in '{out.suffix}'; tables are written to {', '.join(_TABLES)} files")
    check_destination(out)


def write_text(text: str, out: Path | None) -> None:
    """Write a text to a file, all or nothing, or to standard output; a terminal gets nothing that controls it."""
    if out is None:
        text = text.removesuffix("\n")
        # Without color=True, echo would take escape sequences out of names and values.
        typer.echo(printable(text, keep="\n\t") if is_terminal(sys.stdout) else text, color=True)
        return
    with replacing(out) as sink:
        sink.write(text.removesuffix("\n").encode() + b"\n")


def deliver(
    frame: "DataFrame", facts: Mapping[str, Any], out: Path | None, as_json: bool, is_data: bool = False
) -> None:
    """Write a table to a file, or to standard output as CSV or within one JSON object, beside the facts.

    With `is_data`, credibn can read the table again: CSV has each cell as it is, and not as `plain_cell` shows it.
    """
    if out is not None:
        write_table(frame, out, is_data)
    if as_json:
        content = {"out": str(out)} if out is not None else {"out": None, "columns": _as_lists(frame)}
        typer.echo(json.dumps({**facts, "n_rows": len(frame), **content}, default=str))
    elif out is None:
        write_text(_csv(frame, ",", is_data), None)
    else:
        typer.echo(f"{len(frame):,} rows written to {printable(str(out))}")


def plain_frame(frame: "DataFrame") -> "DataFrame":
    """Return a table in which no cell and no name is a formula, see `plain_cell`."""
    plain = frame.map(lambda value: plain_cell(value) if isinstance(value, str) else value)
    for axis in (0, 1):
        names = [plain_cell(name) if isinstance(name, str) else name for name in plain.axes[axis]]
        plain = plain.set_axis(names, axis=axis)
    return plain


def _csv(frame: "DataFrame", delimiter: str, is_data: bool) -> str:
    shown = frame if is_data else plain_frame(frame)
    return str(shown.to_csv(index=False, sep=delimiter, lineterminator="\n"))


def write_table(frame: "DataFrame", out: Path, is_data: bool = False) -> None:
    """Write a table to a file, all or nothing; its ending says how."""
    delimiter = _TABLES[out.suffix.lower()]
    with replacing(out) as sink:
        if delimiter is None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), sink)
        else:
            sink.write(_csv(frame, delimiter, is_data).encode())


def _as_lists(frame: "DataFrame") -> dict[str, list[Any]]:
    """Return the columns as JSON can hold them: null where missing."""
    return {
        str(name): [None if is_missing else value for value, is_missing in zip(values, values.isna(), strict=True)]
        for name, values in ((name, frame[name]) for name in frame.columns)
    }
