"""Network files that pyAgrum reads, in a process of its own.

pyAgrum trusts its files: some that are damaged keep it busy for ever, and a short one can ask for all memory. Here it
works in a process with a limit on time and memory, where the system has one, and hands the network over as JSON.
XML is checked first, by a parser that says the line and expands no entities of the file's own.

``python -m credibn.models.foreign_files FILE ANSWER`` is that process.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from credibn.errors import FileFormatError, OptionError
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.exchange import from_pyagrum, optional_package
from credibn.models.local_models import TableModel
from credibn.models.text_sources import read_text

__all__ = ["read_foreign_network"]

_XML = (".bifxml", ".xdsl")
_SECONDS, _SECONDS_PER_BYTE = 60.0, 1e-4
_BYTES, _BYTES_PER_BYTE = 1 << 30, 1000
"""What pyAgrum may take, at the least and for each byte of the file."""


def read_foreign_network(path: Path, folder: Path, ending: str) -> BayesianNetwork:
    """Read a network that pyAgrum can read.

    Parameters
    ----------
    path : Path
    folder : Path
        An empty one, for files that pass between the processes.
    ending : str
        The ending by which pyAgrum knows the format.

    Raises
    ------
    FileFormatError
        If it cannot be read.
    """
    text = read_text(path)
    if ending in _XML:
        _check_xml(path, text)
    copy, answer = folder / f"network{ending}", folder / "answer.json"
    copy.write_text(text, encoding="utf-8", newline="\n")
    command = [sys.executable, "-m", __name__, str(copy), str(answer)]
    seconds = _SECONDS + _SECONDS_PER_BYTE * len(text)
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise FileFormatError(_refusal(path, ending, f"pyAgrum was not done after {seconds:.0f} s")) from error
    if not answer.exists():
        raise FileFormatError(_refusal(path, ending, "pyAgrum broke down, or took too much memory"))
    content = json.loads(answer.read_bytes())
    if "error" in content:
        raise FileFormatError(_refusal(path, ending, content["error"]))
    models = [
        TableModel(tuple(parents), np.array(values).reshape(shape)) for parents, shape, values in content["tables"]
    ]
    return BayesianNetwork(tuple(content["names"]), tuple(map(tuple, content["states"])), tuple(models))


def _refusal(path: Path, ending: str, reason: str) -> str:
    shown = reason if len(reason) <= 300 else reason[:297] + "..."
    return f"{path}: cannot be read as {ending[1:]} ({shown}); repair the file, or save the network in another format"


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
            f"{path}, line {error.lineno}: expected well-formed XML, found none ({reason}); repair the file"
        ) from error


def _limit_memory(n_bytes: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # not every system has such a limit
        import resource

        limit = _BYTES + _BYTES_PER_BYTE * n_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _main(path: Path, answer: Path) -> None:
    gum = optional_package("pyagrum", "pyagrum")
    _limit_memory(path.stat().st_size)
    try:
        network = from_pyagrum(gum.loadBN(str(path)))
        tables = [model for model in network.local_models if isinstance(model, TableModel)]
        content = {
            "names": network.names,
            "states": network.states,
            "tables": [(m.parents, m.probabilities.shape, m.probabilities.ravel().tolist()) for m in tables],
        }
    except (gum.GumException, OptionError, UnicodeDecodeError) as error:
        content = {"error": " ".join(str(error).replace(str(path), "").split())}
    answer.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
