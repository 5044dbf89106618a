"""The command ``convert``: other formats for score files, networks and results.

The ending of a file says what it is. A score file becomes another score file; a network becomes another network file,
or a drawing of its structure; a result becomes a file of its scores.
"""

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn._base.text import printable
from credibn.cli.files import check_destination, open_result, write_text
from credibn.cli.options import AsJsonOption
from credibn.errors import OptionError
from credibn.graphs.formats import to_dot, to_graphml
from credibn.models import read_network, write_network
from credibn.scores import read_scores, write_scores


class ScoreFormat(StrEnum):
    """The formats of score files."""

    JKL = "jkl"
    PSS = "pss"
    SCORES = "scores"


_ENDINGS = {
    "scores": (".jkl", ".pss", ".scores"),
    "network": (".bif", ".bif.gz", ".bifxml", ".xmlbif", ".xdsl", ".net", ".dsl"),
    "drawing": (".dot", ".gv", ".graphml"),
    "result": (".credibn",),
}
_REMEDIES = {
    ("scores", "network"): "'credibn learn --scores' finds networks, and 'credibn fit' gives one its parameters",
    ("scores", "drawing"): "'credibn learn --scores' finds networks, and 'credibn edges' draws them",
    ("scores", "result"): "'credibn learn --scores SCORES --out DIR' searches it",
    ("network", "scores"): "'credibn score' scores a table; 'credibn sample' makes one from a network",
    ("network", "result"): "'credibn sample' makes a table from a network, and 'credibn learn' searches that",
    ("result", "network"): "'credibn fit DATA RESULT -o FILE' fits the most probable class to the table",
    ("result", "drawing"): "'credibn edges RESULT -o FILE' draws the probable edges",
    ("result", "result"): "copy the file instead",
}


def convert(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="Score file, network file or RESULT.")],
    destination: Annotated[Path, typer.Argument(metavar="TO", help="File to write.")],
    from_format: Annotated[
        ScoreFormat | None, typer.Option("--from", help="Format of FROM, a score file; by default by its extension.")
    ] = None,
    to_format: Annotated[
        ScoreFormat | None, typer.Option("--to", help="Format of TO, a score file; by default by its extension.")
    ] = None,
    as_json: AsJsonOption = False,
) -> None:
    """Convert score files (jkl, pss, scores) and networks (bif, xdsl, net, ...; also to dot and graphml)."""
    check_destination(destination)
    given = "scores" if from_format is not None else _kind(source)
    wanted = "scores" if to_format is not None else _kind(destination)
    if (given, wanted) in _REMEDIES:
        what = {"scores": "a score file", "network": "a network", "result": "a result", "drawing": "a drawing"}
        raise OptionError(
            f"{source} is {what[given]} and {destination} would be {what[wanted]}: credibn cannot convert one into the "
            f"other. {_REMEDIES[given, wanted]}"
        )
    if given == "drawing":
        raise OptionError(
            f"{source} is a drawing, which credibn writes but cannot read; give a score file or a network"
        )
    if given == "network":
        facts, sentence = _convert_network(source, destination, wanted)
    else:
        table = open_result(source).score_table if given == "result" else read_scores(source, format=from_format)
        write_scores(table, destination, format=to_format)
        facts = {"n_variables": table.n_variables, "n_candidates": table.n_candidates}
        sentence = f"{table.n_candidates:,} candidate parent sets"
    typer.echo(
        json.dumps({**facts, "out": str(destination)})
        if as_json
        else f"{sentence} written to {printable(str(destination))}"
    )


def _kind(path: Path) -> str:
    """Return what a file is by its name."""
    name = path.name.lower()
    for kind, endings in _ENDINGS.items():
        if name.endswith(endings):
            return kind
    return "result" if os.path.isdir(path) else "unknown"


def _convert_network(source: Path, destination: Path, wanted: str) -> tuple[dict[str, Any], str]:
    network = read_network(source)
    if wanted == "drawing":
        is_xml = destination.suffix.lower() == ".graphml"
        write_text(to_graphml(network.graph) if is_xml else to_dot(network.graph), destination)
    else:
        write_network(network, destination)
    n_edges = network.graph.number_of_edges()
    facts = {"n_variables": network.n_variables, "n_edges": n_edges, "n_parameters": network.n_parameters}
    return facts, f"{network.n_variables:,} variables with {n_edges:,} edges"
