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
from credibn.cli.text import pair_table
from credibn.credible import CredibleSet
from credibn.errors import OptionError
from credibn.graphs.formats import adjacency_matrix, to_dot, to_graphml
from credibn.report import write_learning_page

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


_ENDINGS = {
    ".csv": EdgeFormat.CSV,
    ".json": EdgeFormat.JSON,
    ".dot": EdgeFormat.DOT,
    ".gv": EdgeFormat.DOT,
    ".graphml": EdgeFormat.GRAPHML,
}
_GRAPHS = (EdgeFormat.DOT, EdgeFormat.GRAPHML, EdgeFormat.ADJACENCY)

_Format = Annotated[
    EdgeFormat | None,
    typer.Option(
        help="By default the ending of FILE, or a table to read. strength: the columns of bnlearn's bn.strength."
    ),
]
_Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="dot, graphml, adjacency: edges of at least this probability, by default 0.5. The others: pairs that are "
        "joined with at least this probability, by default all.",
    ),
]
_Out = Annotated[Path | None, output("--out", "-o", metavar="FILE", help="File to write; otherwise standard output.")]
_Page = Annotated[Path, output("--out", "-o", metavar="FILE", help="HTML file to write.")]
_Table = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DATA",
        help="The table that was searched: with it the page describes the variables too.",
        rich_help_panel="Data",
    ),
]


def edges(
    result: ResultArgument,
    prior: PriorOption = "networks",
    format: _Format = None,
    threshold: _Threshold = None,
    out: _Out = None,
    as_json: AsJsonOption = False,
) -> None:
    """How probable is each edge? For each pair of variables: forward, backward, absent, compelled."""
    chosen = _format(format, out, as_json)
    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionError(f"--threshold is {threshold}; it must be a probability, 0 to 1")
    if out is not None:
        check_destination(out)
    found = open_result(result)
    facts = {
        "n_variables": len(found.names),
        "n_networks": found.n_networks,
        "n_classes": found.n_classes,
        "complete": found.complete,
        "posterior_share": found.posterior_share,
        "prior": prior,
        "threshold": _USUAL_THRESHOLD if threshold is None and chosen in _GRAPHS else threshold,
        "format": chosen.value,
    }
    text = _graph(found, prior, chosen, threshold) if chosen in _GRAPHS else _pairs(found, prior, chosen, facts)
    write_text(text, out)
    if not as_json:
        note_incomplete(found)
    if out is not None:
        typer.echo(json.dumps({**facts, "out": str(out)}) if as_json else f"written to {printable(str(out))}")


def _format(format: EdgeFormat | None, out: Path | None, as_json: bool) -> EdgeFormat:
    """Return the format that is asked for; ``--json`` is one too, where no file takes the edges."""
    if as_json and out is None:
        if format not in (None, EdgeFormat.JSON):
            raise OptionError(f"--json and --format {format} were given; give one of them, or a file with -o")
        return EdgeFormat.JSON
    if format is not None:
        return format
    return EdgeFormat.TABLE if out is None else _ENDINGS.get(out.suffix.lower(), EdgeFormat.TABLE)


def _pairs(found: CredibleSet, prior: PriorName, format: EdgeFormat, facts: dict[str, Any]) -> str:
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
    return pair_table(frame) if len(frame) else "no pair of variables is joined with at least this probability"


def _graph(found: CredibleSet, prior: PriorName, format: EdgeFormat, threshold: float | None) -> str:
    """Return the edges of at least some probability as one graph."""
    graph: DiGraph = found.threshold_graph(_USUAL_THRESHOLD if threshold is None else threshold, prior)
    if format is EdgeFormat.ADJACENCY:
        return str(adjacency_matrix(graph).to_csv(lineterminator="\n"))
    if format is EdgeFormat.GRAPHML:
        return to_graphml(graph)
    for _, _, attributes in graph.edges(data=True):
        attributes["label"] = f"{attributes['probability']:.2f}"
    return to_dot(graph)


@grouped
def report(
    result: ResultArgument,
    *,
    data: _Table = None,
    reading: ReadFlags,
    out: _Page,
    as_json: AsJsonOption = False,
) -> None:
    """Write the HTML page of a result."""
    check_destination(out)
    found = open_result(result)
    dataset = None
    if data is not None:
        dataset = reading.read(data, columns_of_result(found))
    elif reading != ReadFlags():
        raise OptionError("options for reading a table were given without --data; give the table too")
    write_learning_page(found, out, dataset)
    if as_json:
        facts = {"n_networks": found.n_networks, "n_classes": found.n_classes, "complete": found.complete}
        typer.echo(json.dumps({**facts, "out": str(out)}))
        return
    typer.echo(f"written to {printable(str(out))}")
    note_incomplete(found)
