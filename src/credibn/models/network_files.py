"""Networks as files, in the format given by the ending of the name.

``.bif`` and ``.bif.gz`` are read and written here, to the last bit (see `credibn.models.bif`). ``.bifxml`` (also
``.xmlbif``), ``.xdsl``, ``.net`` and ``.dsl`` go through pyAgrum, if it is installed; it keeps about six digits. All
hold discrete variables only, and their states are text.

pyAgrum trusts its files and reads them in this process: a damaged file can keep it busy for ever, take all memory or
end the process. XML is checked first, by a parser that gives the line and expands no entities.
"""

from __future__ import annotations

import tempfile
from os import PathLike
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from credibn._base.atomic import replacing
from credibn._base.checks import file_path
from credibn.errors import FileFormatError, OptionError
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.bif import read_bif, write_bif
from credibn.models.exchange import from_pyagrum, optional_package, to_pyagrum
from credibn.models.text_sources import read_text

_OWN = (".bif", ".bif.gz")
_PYAGRUM = {".bifxml": "bifxml", ".xmlbif": "bifxml", ".xdsl": "xdsl", ".net": "net", ".dsl": "dsl"}
"""The ending by which pyAgrum knows each format."""


def read_network(path: str | PathLike[str]) -> BayesianNetwork:
    """Read a network of discrete variables from a file.

    Parameters
    ----------
    path : str or path
        A ``.bif`` or ``.bif.gz`` file; with pyAgrum also ``.bifxml``, ``.xmlbif``, ``.xdsl``, ``.net`` and ``.dsl``.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    FileFormatError
        If the file cannot be read in this format; the message gives the line.
    OptionError
        If the ending is unknown, or pyAgrum is needed and not installed.

    Warns
    -----
    CredibnWarning
        If probabilities of a BIF file were scaled to sum to 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "coin.bif"
    ...     _ = path.write_text("variable coin { type discrete [2] { h, t }; } probability (coin) { table .5 .5; }")
    ...     read_network(path)
    BayesianNetwork(1 variable, 0 edges, 1 parameter)
    """
    ending = _ending(path)
    return read_bif(path) if ending in _OWN else _read_by_pyagrum(file_path(path), _PYAGRUM[ending])


def _read_by_pyagrum(path: Path, ending: str) -> BayesianNetwork:
    gum = optional_package("pyagrum", "pyagrum")
    text = read_text(path)
    if ending in ("bifxml", "xdsl"):
        _check_xml(path, text)
    with tempfile.TemporaryDirectory(prefix="credibn-") as folder:
        copy = Path(folder) / f"network.{ending}"  # expanded, in UTF-8, with the ending that pyAgrum knows
        copy.write_text(text, encoding="utf-8", newline="\n")
        try:
            return from_pyagrum(gum.loadBN(str(copy)))
        except (gum.GumException, OptionError, UnicodeDecodeError, MemoryError) as error:
            raise FileFormatError(
                f"{path}: cannot be read as {ending} ({_one_line(error, copy)}); repair the file, or save the network "
                "in another format"
            ) from error


def _check_xml(path: Path, text: str) -> None:
    parser = expat.ParserCreate()

    def refuse_entity(*_: object) -> NoReturn:
        line = parser.CurrentLineNumber
        raise FileFormatError(f"{path}, line {line}: expected a network, found a declaration of an entity; remove it")

    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise FileFormatError(
            f"{path}, line {error.lineno}: expected well-formed XML ({reason}); repair the file"
        ) from error


def write_network(network: BayesianNetwork, path: str | PathLike[str]) -> None:
    """Write a network of discrete variables to a file, all or nothing.

    Parameters
    ----------
    network : BayesianNetwork
    path : str or path
        As `read_network`; replaced if it exists.

    Raises
    ------
    OptionError
        If the ending is unknown or its format cannot hold the network, pyAgrum is needed and not installed, or the file
        cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from credibn.models import TableModel
    >>> coin = BayesianNetwork(("coin",), (("heads", "tails"),), (TableModel((), np.array([0.25, 0.75])),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(coin, Path(folder) / "coin.bif.gz")
    ...     read_network(Path(folder) / "coin.bif.gz").states
    (('heads', 'tails'),)
    """
    ending = _ending(path)
    if ending in _OWN:
        write_bif(network, path)
        return
    converted = to_pyagrum(network)
    gum = optional_package("pyagrum", "pyagrum")
    with tempfile.TemporaryDirectory(prefix="credibn-") as folder:
        written = Path(folder) / f"network.{_PYAGRUM[ending]}"
        try:
            gum.saveBN(converted, str(written))
            read_back = from_pyagrum(gum.loadBN(str(written)))  # some names are written so that nothing can read them
        except (gum.GumException, OptionError) as error:
            reason = _one_line(error, written)
            raise OptionError(
                f"{ending} cannot hold this network ({reason}); rename the variables or states it mentions, or use .bif"
            ) from error
        if _variables(read_back) != _variables(network):
            raise OptionError(
                f"{ending} files cannot represent the names and states of this network; rename them, or use .bif"
            )
        with replacing(path) as sink:
            sink.write(written.read_bytes())


def _variables(network: BayesianNetwork) -> dict[str, list[str]]:
    return {
        name: [str(label) for label in labels or ()] for name, labels in zip(network.names, network.states, strict=True)
    }


def _one_line(error: Exception, path: Path) -> str:
    reason = " ".join(str(error).replace(str(path), "").split())
    return reason if len(reason) <= 300 else reason[:297] + "..."


def _ending(path: str | PathLike[str]) -> str:
    name = file_path(path).name.lower()
    for ending in (*_OWN, *_PYAGRUM):
        if name.endswith(ending):
            return ending
    known = ", ".join((*_OWN, *_PYAGRUM))
    raise OptionError(f"{str(path)!r} does not have the extension of a network file; use one of {known}")
