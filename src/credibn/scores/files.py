"""Score tables as files: the two text formats of the field, ``.jkl`` and ``.pss``, and a binary one, ``.scores``.

The text formats are defined in `credibn.scores.text_files`, the binary one in `credibn.scores.binary_files`. In all
of them scores are log scores, the higher the better. Files are written next to their destination and moved into
place, so that a failure leaves no partial file.
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from credibn._base.atomic import replacing
from credibn._base.checks import file_path
from credibn.errors import FileFormatError, Option, OptionError, Phrase
from credibn.scores.table import ScoreTable

_FORMATS = ("jkl", "pss", "scores")


def read_scores(path: str | PathLike[str], *, format: str | None = None) -> ScoreTable:
    r"""Read a score table; it works exactly like one that was computed.

    Parameters
    ----------
    path : str or path
    format : {"jkl", "pss", "scores"}, optional
        By default the ending of the file's name.

    Returns
    -------
    ScoreTable

    Raises
    ------
    FileFormatError
        Naming the file, the line, what was found and what was expected.
    OptionError
        When the format is unknown.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.jkl"
    ...     _ = path.write_text("2\nrain 2\n-4.5 0\n-3.5 1 wet\nwet 1\n-2.0 0\n")
    ...     list(read_scores(path).parent_sets("rain"))
    [(-3.5, ('wet',)), (-4.5, ())]
    """
    path = file_path(path)
    read, _ = _functions_of(_format_of(path, format))
    try:
        return read(path)
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error}); check the path") from error
    except OptionError as error:
        raise FileFormatError(f"{path}: {error}") from error


def write_scores(table: ScoreTable, path: str | PathLike[str], *, format: str | None = None) -> None:
    """Write a score table, all or nothing: a failure leaves no file, and an older file as it was.

    Parameters
    ----------
    table : ScoreTable
    path : str or path
        The file; replaced if it exists.
    format : {"jkl", "pss", "scores"}, optional
        By default the ending of the file's name.

    Raises
    ------
    OptionError
        When the format is unknown or cannot carry a name, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> table = ScoreTable.from_candidates(["rain"], [[(-4.5, [])]], {"score": "bic"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "one.pss"
    ...     write_scores(table, path)
    ...     print(path.read_text())
    META n_variables = 1
    META n_candidates = 1
    META score = bic
    VAR rain
    -4.5
    <BLANKLINE>
    """
    path = file_path(path)
    _, write = _functions_of(_format_of(path, format))
    with replacing(path) as sink:
        write(table, sink)


def _format_of(path: Path, format: str | None) -> str:
    chosen = path.suffix[1:].lower() if format is None else format
    if not isinstance(chosen, str) or chosen not in _FORMATS:
        named, option = ("{!r} ends in {!r}", path.name, path.suffix), Option("format")
        given = Phrase(*named) if format is None else Phrase("{} is {!r}", option, format)
        raise OptionError("{}; score files are {}: use such an extension, or {}", given, ", ".join(_FORMATS), option)
    return chosen


def _functions_of(format: str) -> tuple[Callable[[Path], ScoreTable], Callable[[ScoreTable, BinaryIO], None]]:
    """Return what reads and what writes a format; they import pyarrow, which takes a while."""
    if format == "scores":
        from credibn.scores.binary_files import read_binary, write_binary

        return read_binary, write_binary
    from credibn.scores.text_files import read_jkl, read_pss, write_jkl, write_pss

    return (read_jkl, write_jkl) if format == "jkl" else (read_pss, write_pss)
