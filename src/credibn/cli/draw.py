"""The command ``draw``: the graph of edge probabilities of a result, as a picture."""

import json
from pathlib import Path
from typing import Annotated

import typer

from credibn._base.text import printable
from credibn.cli.files import check_destination, note_incomplete, open_result, write_text
from credibn.cli.options import AsJsonOption, PriorOption, ResultArgument, output
from credibn.errors import OptionError
from credibn.report.figures import figure_of, write_figure

_ENDINGS = (".svg", ".pdf", ".png")

_Threshold = Annotated[
    float, typer.Option(metavar="P", help="Edges that have at least this probability within the set.")
]
_Labels = Annotated[bool, typer.Option("--labels", help="Write the probability on each edge.")]
_Highlight = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A variable to draw with a thick border; may be given several times."),
]
_SameLayout = Annotated[
    Path | None,
    typer.Option(
        "--layout",
        metavar="RESULT",
        help="Another result: variables stand where they stand in its picture, so that the two can be compared.",
    ),
]
_Picture = Annotated[Path, output("--out", "-o", metavar="FILE", help="Picture to write: .svg, .pdf or .png.")]


def draw(
    result: ResultArgument,
    out: _Picture,
    prior: PriorOption = "networks",
    threshold: _Threshold = 0.1,
    labels: _Labels = False,
    highlight: _Highlight = None,
    layout: _SameLayout = None,
    as_json: AsJsonOption = False,
) -> None:
    """Draw the graph of edge probabilities: an SVG, PDF or PNG file."""
    check_destination(out)
    ending = out.suffix.lower()
    if ending not in _ENDINGS:
        raise OptionError(f"the file '{out}' ends in '{out.suffix}'; a graph is drawn to {', '.join(_ENDINGS)} files")
    found = open_result(result)
    places = None if layout is None else open_result(layout).graph_layout(threshold, prior)
    named = tuple(highlight or ())
    if ending == ".svg":
        write_text(found.graph_svg(threshold, prior, labels=labels, highlight=named, layout=places), out)
    else:
        axes = found.plot_graph(threshold, prior, labels=labels, highlight=named, layout=places)
        write_figure(figure_of(axes), out)
    if as_json:
        facts = {"n_variables": len(found.names), "threshold": threshold, "complete": found.complete}
        typer.echo(json.dumps({**facts, "out": str(out)}))
        return
    note_incomplete(found)
    typer.echo(f"written to {printable(str(out))}")
