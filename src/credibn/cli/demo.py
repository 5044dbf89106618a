"""The command that shows what credibn does, without data of your own: ``demo``."""

import json
from pathlib import Path
from typing import Annotated, Literal

import pyarrow.csv
import typer

from credibn._base.atomic import replacing, unwritable
from credibn._base.text import printable
from credibn.cli.options import AsJsonOption, output
from credibn.data import read_data
from credibn.errors import OptionError
from credibn.examples import sample_asia, tic_tac_toe
from credibn.learning import learn
from credibn.report import learning_headline, write_learning_page
from credibn.scores import write_scores

Example = Literal["asia", "tic-tac-toe"]


def demo(
    out: Annotated[Path, output(metavar="DIR", help="Folder for the files; created if needed.")],
    example: Annotated[Example, typer.Option(help="Which data to make.")] = "asia",
    as_json: AsJsonOption = False,
) -> None:
    """Make example data, find every credible network and write the HTML report; the last line printed is its path."""
    rows = sample_asia() if example == "asia" else tic_tac_toe()
    folder = out.resolve()
    paths = {ending: folder / f"{example}.{ending}" for ending in ("csv", "pss", "html")}
    paths["credibn"] = folder / "result.credibn"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error, "choose another folder", OptionError) from error
    with replacing(paths["csv"]) as sink:
        pyarrow.csv.write_csv(rows, sink)
    found = learn(rows, bayes_factor=20)
    write_scores(found.score_table, paths["pss"])
    found.save(paths["credibn"])
    write_learning_page(found, paths["html"], read_data(rows))
    if as_json:
        names = {"data": "csv", "scores": "pss", "result": "credibn", "page": "html"}
        typer.echo(json.dumps({name: str(paths[ending]) for name, ending in names.items()}))
        return
    typer.echo(learning_headline(found))
    shown = {ending: printable(str(path)) for ending, path in paths.items()}
    typer.echo(f"data:   {shown['csv']}\nscores: {shown['pss']}\nresult: {shown['credibn']}\nreport:\n{shown['html']}")
