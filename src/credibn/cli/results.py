"""The commands that show a result: ``edges`` and ``report``."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credibn._base.text import printable
from credibn.cli.files import check_destination, note_incomplete, open_result, plain_frame, write_text
from credibn.cli.options import (
    AsJsonOption,
    PriorName,
    PriorOption,
    ReadFlags,
    ResultArgument,
    columns_of_result,
    grouped,
    output,
)
from credibn.cli.text import Words, flags_of, pair_table, pairs_caption
from credibn.credible import DIRECTION_THRESHOLD, CredibleSet
from credibn.errors import OptionError
from credibn.graphs.formats import adjacency_matrix, to_dot, to_graphml
from credibn.models.averaging_networks import training_table
from credibn.report import edge_heat_map, write_learning_page
from credibn.report.figures import write_figure

if TYPE_CHECKING:  # these take a while to import: the other commands do not wait for them
    from networkx import DiGraph

_USUAL_THRESHOLD = 0.5


class EdgeFormat(StrEnum):
    """How edges are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    STRENGTH = "strength"
    DOT = "dot"
    GRAPHML = "graphml"
    ADJACENCY = "adjacency"
    PICTURE = "picture"


_ENDINGS = {
    ".csv": EdgeFormat.CSV,
    ".json": EdgeFormat.JSON,
    ".dot": EdgeFormat.DOT,
    ".gv": EdgeFormat.DOT,
    ".graphml": EdgeFormat.GRAPHML,
    ".txt": EdgeFormat.TABLE,
    ".png": EdgeFormat.PICTURE,
    ".svg": EdgeFormat.PICTURE,
    ".pdf": EdgeFormat.PICTURE,
}
_GRAPHS = (EdgeFormat.DOT, EdgeFormat.GRAPHML, EdgeFormat.ADJACENCY)

_Format = Annotated[
    EdgeFormat | None,
    typer.Option(
        metavar="NAME",
        help="table, csv, json, strength (the columns of bnlearn's bn.strength), dot, graphml, adjacency or picture "
        "(a heat map, for a .png, .svg or .pdf file); by default by the extension of FILE, or a table to read.",
    ),
]
_Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Pairs that are joined with at least this probability within the set; by default 0.5 for dot, graphml and "
        "adjacency, and all for the others.",
    ),
]
_Direction = Annotated[
    float,
    typer.Option(
        metavar="P",
        help="dot, graphml, adjacency: an arrow only where classes that agree on the direction have at least this part "
        "of the edge's probability; otherwise an undirected edge.",
    ),
]
_Out = Annotated[Path | None, output("--out", "-o", metavar="FILE", help="File to write; otherwise standard output.")]
_Effects = Annotated[
    bool, output("--effects", help="Add a section on causal effects, and on experiments; needs --data.")
]
_Page = Annotated[Path, output("--out", "-o", metavar="FILE", help="HTML file to write.")]
_Table = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DATA",
        help="The table that was learned from: with it the report also describes the variables. It is read as 'learn' "
        "read it, unless options say otherwise.",
        rich_help_panel="Data",
    ),
]


def edges(
    context: typer.Context,
    result: ResultArgument,
    prior: PriorOption = "networks",
    format: _Format = None,
    threshold: _Threshold = None,
    direction_threshold: _Direction = DIRECTION_THRESHOLD,
    out: _Out = None,
    as_json: AsJsonOption = False,
) -> None:
    """How probable is each edge? For each pair of variables: forward, backward, absent, compelled."""
    if out is not None:
        check_destination(out)
    chosen = _format(format, out, as_json)
    for name, value in (("threshold", threshold), ("direction_threshold", direction_threshold)):
        if value is not None and not 0 <= value <= 1:
            raise OptionError.refusing(name, value, "it must be a probability, 0 to 1")
    found = open_result(result)
    facts: dict[str, Any] = {
        "n_variables": len(found.names),
        "n_networks": found.n_networks,
        "n_classes": found.n_classes if found.structures.are_classes_counted else None,
        "complete": found.complete,
        "posterior_share": found.posterior_share,
        "prior": prior,
        "threshold": _USUAL_THRESHOLD if threshold is None and chosen in _GRAPHS else threshold,
        "format": chosen.value,
    }
    if chosen is EdgeFormat.PICTURE:
        assert out is not None
        write_figure(edge_heat_map(found), out)
    elif chosen in _GRAPHS:
        write_text(_graph(found, prior, chosen, facts["threshold"], direction_threshold), out)
    else:
        write_text(_pairs(found, prior, chosen, facts, flags_of(context)), out)
    if not as_json:
        note_incomplete(found)
    if out is not None:
        typer.echo(json.dumps({**facts, "out": str(out)}) if as_json else f"written to {printable(str(out))}")


def _format(format: EdgeFormat | None, out: Path | None, as_json: bool) -> EdgeFormat:
    """Return the format that is asked for; ``--json`` is one too, where no file takes the edges."""
    if as_json and out is None:
        if format not in (None, EdgeFormat.JSON):
            raise OptionError(f"--json and --format {format} cannot be combined; give one of them, or a file with -o")
        return EdgeFormat.JSON
    if out is None:
        if format is EdgeFormat.PICTURE:
            raise OptionError("a picture needs a file; give its name with -o, such as -o edges.png")
        return format or EdgeFormat.TABLE
    of_ending = _ENDINGS.get(out.suffix.lower())
    is_picture = of_ending is EdgeFormat.PICTURE
    if (format is None and of_ending is None) or (format is not None and (format is EdgeFormat.PICTURE) != is_picture):
        asked = "" if format is None else f" and --format is {format}"
        raise OptionError(
            f"the file '{out}' ends in '{out.suffix}'{asked}; edges are written to {', '.join(_ENDINGS)} files; with "
            "--format, a text also to a file with another ending"
        )
    return format or of_ending or EdgeFormat.TABLE


def _pairs(found: CredibleSet, prior: PriorName, format: EdgeFormat, facts: dict[str, Any], words: Words) -> str:
    """Return pairs of variables, one a line or as JSON."""
    threshold = facts["threshold"] or 0.0
    if format is EdgeFormat.STRENGTH:
        frame = found.edge_strengths(prior)
        return str(frame[frame["strength"] >= threshold].to_csv(index=False, lineterminator="\n"))  # names must match
    frame = found.pair_probabilities(prior)
    frame = frame[frame["absent"] <= 1 - threshold]
    if format is EdgeFormat.CSV:
        return str(plain_frame(frame).to_csv(index=False, lineterminator="\n"))
    if format is EdgeFormat.JSON:
        return json.dumps({**facts, "pairs": frame.to_dict("records")})
    if not len(frame):
        return "no pair of variables is joined with at least this probability"
    return f"{pairs_caption(found, frame, words)}\n\n{pair_table(frame)}"


def _graph(found: CredibleSet, prior: PriorName, format: EdgeFormat, threshold: float, direction: float) -> str:
    """Return the pairs that are joined with at least some probability as one graph."""
    graph: DiGraph = found.threshold_graph(threshold, prior, direction_threshold=direction)
    if format is EdgeFormat.ADJACENCY:
        return str(adjacency_matrix(graph).to_csv(lineterminator="\n"))
    if format is EdgeFormat.GRAPHML:
        return to_graphml(graph)
    for _, _, attributes in graph.edges(data=True):
        attributes["label"] = f"{attributes['joined']:.2f}"
        del attributes["probability"]  # of this direction alone; an undirected edge is drawn once
    return to_dot(graph)


@grouped
def report(
    result: ResultArgument,
    *,
    data: _Table = None,
    reading: ReadFlags,
    out: _Page,
    effects: _Effects = False,
    as_json: AsJsonOption = False,
) -> None:
    """Write the HTML report of a result."""
    check_destination(out)
    found = open_result(result)
    dataset = None
    if data is not None and reading == ReadFlags():
        dataset = training_table(found, data, True, {})  # the page refuses another table
    elif data is not None:
        dataset = reading.read(data, columns_of_result(found))
    elif reading != ReadFlags():
        raise OptionError("options for reading a table were given without --data; give the table too")
    write_learning_page(found, out, dataset, effects=effects)
    if as_json:
        n_classes = found.n_classes if found.structures.are_classes_counted else None
        facts = {"n_networks": found.n_networks, "n_classes": n_classes, "complete": found.complete}
        typer.echo(json.dumps({**facts, "out": str(out)}))
        return
    typer.echo(f"written to {printable(str(out))}")
    note_incomplete(found)
