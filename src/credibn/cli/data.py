"""The command that describes a file: ``data``."""

import json
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from credibn._base.text import printable
from credibn.cli.options import AsJsonOption, DataArgument, ReadFlags, grouped
from credibn.cli.text import Words, flags_of, print_costs, print_description
from credibn.data import Dataset
from credibn.data.describing import TableDescription, describe_table
from credibn.data.reading import read_table
from credibn.errors import CredibnError, CredibnWarning, Option, Phrase
from credibn.options import ReadOptions, ScoreName
from credibn.posterior import MOST_VARIABLES, estimate_posterior
from credibn.scores import estimate_scoring
from credibn.scores.estimate import LONG
from credibn.scores.moments import find_dependent
from credibn.scores.setup import columns_taken, score_for

_Score = Annotated[ScoreName, typer.Option(metavar="NAME", help="The score that columns are read for.")]


@grouped
def describe(
    context: typer.Context,
    data: DataArgument,
    reading: ReadFlags,
    score: _Score = "auto",
    as_json: AsJsonOption = False,
) -> None:
    """Describe a file: what each column is read as and holds, what learning would cost, and the command to learn."""
    words = flags_of(context)
    table = describe_table(data, reading.options(), columns_taken(score))
    command: str | None = None
    costs: dict[str, Any]
    try:
        dataset, table = _as_advised(data, table, score)
    except CredibnError as error:
        costs = {"score": score, "scoring": None, "scoring_refused": error.worded(words), "posterior": None}
    else:
        costs = _predicted_costs(dataset, str(score_for(score, dataset)), str if as_json else words)
        command = _learn_command(data, score, table.advice, _parent_limit(costs["scoring"]), words)
    if as_json:
        facts = {name: value for name, value in asdict(replace(table, notes=())).items() if name != "advice"}
        said = {"notes": list(map(str, table.notes)), "predicted": costs, "command": command}
        typer.echo(json.dumps({**facts, **said}, default=str))
        return
    print_description(table, words)
    print_costs(costs)
    if command is not None:
        typer.echo(f"\nTo learn from it:\n{printable(command)}")


def _as_advised(data: str, table: TableDescription, score: str) -> tuple[Dataset, TableDescription]:
    """Read a table as advised; columns that others determine are left out too, since scores of numbers refuse them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredibnWarning)
        while True:
            dataset = read_table(data, table.advice, columns_taken(score))
            dependent = find_dependent(dataset)
            if not dependent:
                return dataset, table
            *others, last = dependent
            shown = ", ".join(map(repr, others))
            note = Phrase(
                "column {!r} is a sum of others ({}): leave it out with {}", last, shown, Option("drop", [last])
            )
            advice = replace(table.advice, drop=[*(table.advice.drop or ()), last])
            table = replace(table, notes=(*table.notes, note), advice=advice)


def _parent_limit(scoring: Mapping[str, Any] | None) -> int | None:
    """Return the limit on parents that a long prediction names; None where scoring is short, or `learn` sets one."""
    if scoring is None or scoring["default_parents"] is not None:
        return None
    if scoring["seconds"] is not None and scoring["seconds"] <= LONG:
        return None
    most: int | None = scoring["feasible_parents"]
    return most


def _learn_command(data: str, score: str, advice: ReadOptions, max_parents: int | None, words: Words) -> str:
    """Return the command that learns from a table as it is described."""
    options = [Option(name, value) for name, value in advice.given().items()]
    if score != "auto":
        options.insert(0, Option("score", score))
    if max_parents is not None:
        options.append(Option("max_parents", max_parents))
    return " ".join(["credibn learn", shlex.quote(data), *map(words, options)])


def _predicted_costs(dataset: Dataset, score: str, words: Words) -> dict[str, Any]:
    """Return what scoring for a Bayes factor of 20, and summing over all networks, would take at most."""
    costs: dict[str, Any] = {"score": score, "scoring": None, "scoring_refused": None, "posterior": None}
    try:
        scoring = estimate_scoring(dataset, score=score)
        costs["scoring"] = asdict(scoring)
        if scoring.n_searched <= MOST_VARIABLES:
            costs["posterior"] = asdict(estimate_posterior(scoring.n_searched))
    except CredibnError as error:
        costs["scoring_refused"] = error.worded(words)
    return costs
