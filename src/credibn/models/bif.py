r"""Networks of discrete variables in the Bayesian interchange format, ``.bif``.

The format of the Bayesian Network Repository and of many programs (Cozman 1998, version 0.15)::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    variable lung { type discrete [ 2 ] { yes, no }; }
    probability ( smoke ) { table 0.5, 0.5; }
    probability ( lung | smoke ) {
      (yes) 0.1, 0.9;
      (no) 0.01, 0.99;
    }

Read: comments (``//`` to the end of the line, ``/* */``) where a word could start; ``property ...;`` in any block, left
out; names and states as words or in double quotes; blanks instead of commas and of the bar; ``default`` for the cells
without a line of their own; ``table`` with parents, where the child's states change slowest and those of the last
parent fastest. A word is whatever has no blank and none of ``{ } ( ) [ ] , ; | "`` in it. Values are kept as printed
when they sum to 1 up to 1e-5, scaled to sum to 1 with a warning when they are off by up to 0.01, and refused otherwise.

Written: probabilities as the shortest decimals that read back as the same number, states as text, whatever does not
make a word in quotes. There is no way to write a double quote or a line break in a name.
"""

from __future__ import annotations

import itertools
import warnings
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from credibn._base.atomic import replacing
from credibn._base.checks import file_path
from credibn.errors import CredibnWarning, OptionError
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.bif_syntax import QUOTED, WORD, BifSyntax, parse_bif
from credibn.models.bif_tables import network_of
from credibn.models.local_models import TableModel
from credibn.models.text_sources import compressed, read_text

__all__ = ["bif_network", "read_bif", "write_bif"]


def read_bif(path: str | PathLike[str]) -> BayesianNetwork:
    """Read a network from a BIF file, which may be compressed by gzip.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    BayesianNetwork
        Its variables in the order of the file; all states are text.

    Raises
    ------
    FileFormatError
        Naming the file, the line, what was expected and what was found.

    Warns
    -----
    CredibnWarning
        If probabilities were scaled to sum to 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "coin.bif"
    ...     _ = path.write_text("variable coin { type discrete [2] { h, t }; } probability (coin) { table .5 .5; }")
    ...     read_bif(path).conditional_table("coin")
    coin    h    t
    0     0.5  0.5
    """
    network, note = bif_network(path)
    if note is not None:
        warnings.warn(note, CredibnWarning, stacklevel=2)
    return network


def bif_network(path: str | PathLike[str]) -> tuple[BayesianNetwork, str | None]:
    """Return the network in a BIF file, and the note to warn with if probabilities were scaled; as `read_bif`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "coin.bif"
    ...     _ = path.write_text("variable coin { type discrete [2] { h, t }; } probability (coin) { table .5 .5; }")
    ...     bif_network(path)
    (BayesianNetwork(1 variable, 0 edges, 1 parameter), None)
    """
    syntax = BifSyntax(str(path), read_text(file_path(path)))
    return network_of(syntax, parse_bif(syntax))


def write_bif(network: BayesianNetwork, path: str | PathLike[str]) -> None:
    """Write a network of discrete variables to a BIF file, all or nothing; compressed if its name ends in ``.gz``.

    Raises
    ------
    OptionError
        If a variable is continuous, a name or state cannot be written, or the file cannot.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> coin = BayesianNetwork(("coin",), (("heads", "on edge"),), (TableModel((), np.array([0.75, 0.25])),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bif(coin, Path(folder) / "coin.bif")
    ...     print((Path(folder) / "coin.bif").read_text())
    network unknown {
    }
    variable coin {
      type discrete [ 2 ] { heads, "on edge" };
    }
    probability ( coin ) {
      table 0.75, 0.25;
    }
    <BLANKLINE>
    """
    content = _text_of(network).encode()
    with replacing(path) as sink:
        sink.write(compressed(content) if str(path).lower().endswith(".gz") else content)


def _text_of(network: BayesianNetwork) -> str:
    names = [_written(name, f"the name {name!r}") for name in network.names]
    states = [_written_states(name, labels) for name, labels in zip(network.names, network.states, strict=True)]
    parts = ["network unknown {\n}\n"]
    for name, labels in zip(names, states, strict=True):
        parts.append(f"variable {name} {{\n  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};\n}}\n")
    for name, model in zip(names, network.local_models, strict=True):
        assert isinstance(model, TableModel)  # for the type checker: all variables are discrete
        if not model.parents:
            parts.append(f"probability ( {name} ) {{\n  table {_row(model.probabilities)};\n}}\n")
            continue
        parts.append(f"probability ( {name} | {', '.join(names[v] for v in model.parents)} ) {{\n")
        cells = itertools.product(*(states[v] for v in model.parents))
        rows = model.probabilities.reshape(-1, model.probabilities.shape[-1])
        for cell, row in zip(cells, rows, strict=True):
            parts.append(f"  ({', '.join(cell)}) {_row(row)};\n")
        parts.append("}\n")
    return "".join(parts)


def _row(probabilities: NDArray[np.float64]) -> str:
    return ", ".join(map(repr, probabilities.tolist()))


def _written_states(name: str, labels: tuple[object, ...] | None) -> list[str]:
    if labels is None:
        raise OptionError(f"{name!r} is continuous; a BIF file holds discrete variables only: discretise it first")
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        raise OptionError(f"the states of {name!r} are {labels!r}, of which two read the same as text; rename one")
    return [_written(text, f"the state {text!r} of {name!r}") for text in texts]


def _written(text: str, what: str) -> str:
    """Return a name or state as it stands in the file."""
    is_text = "\r" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
    written = text if WORD.fullmatch(text) else f'"{text}"'
    if not is_text or not (WORD.fullmatch(written) or QUOTED.fullmatch(written)):
        raise OptionError(f"{what} cannot be written to a BIF file: it has a double quote or a line break; rename it")
    return written
