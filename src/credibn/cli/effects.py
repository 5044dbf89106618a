"""The command ``effects``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn.cli.files import check_table_destination, deliver, note_incomplete, open_result
from credibn.cli.options import (
    AsJsonOption,
    PriorOption,
    ReadFlags,
    ResultArgument,
    TableOutOption,
    columns_of_result,
    grouped,
)
from credibn.credible import CredibleSet
from credibn.effects.averaging import check_pair
from credibn.effects.effect import ASSUMPTIONS, sampling_sentence
from credibn.errors import OptionError
from credibn.models.averaging_networks import reading_of

_Cause = Annotated[str | None, typer.Option(metavar="NAME", help="The variable that is set.")]
_Outcome = Annotated[str | None, typer.Option(metavar="NAME", help="The variable that answers.")]
_From = Annotated[
    str | None, typer.Option("--from", metavar="STATE", help="A state of a categorical cause; by default the first.")
]
_To = Annotated[
    str | None, typer.Option("--to", metavar="STATE", help="The state it is set to instead; by default the last.")
]
_State = Annotated[
    str | None, typer.Option(metavar="STATE", help="The state of a categorical outcome; by default the last.")
]
_Level = Annotated[float, typer.Option(metavar="P", help="The posterior probability of the interval.")]
_Draws = Annotated[int, typer.Option(metavar="N", help="Draws for each parent set, where there is no closed form.")]
_Seed = Annotated[int, typer.Option(metavar="S", help="The same seed gives the same draws.")]
_Table = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="TABLE",
        help="The table of 'learn'; by default the file of that name in this folder or beside RESULT. It is read as "
        "'learn' read it, unless options say otherwise.",
        rich_help_panel="Data",
    ),
]


_Experiments = Annotated[
    bool,
    typer.Option(
        "--experiments", help="Instead: what setting each variable would tell about directions. Needs no table."
    ),
]


@grouped
def effects(
    result: ResultArgument,
    reading: ReadFlags,
    cause: _Cause = None,
    outcome: _Outcome = None,
    from_state: _From = None,
    to_state: _To = None,
    state: _State = None,
    level: _Level = 0.95,
    prior: PriorOption = "networks",
    n_draws: _Draws = 2000,
    seed: _Seed = 0,
    experiments: _Experiments = False,
    data: _Table = None,
    out: TableOutOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Find what setting one variable does to another, averaged over networks; all pairs without --cause."""
    check_table_destination(out)
    if (from_state is None) is not (to_state is None):
        raise OptionError("one of --from and --to is missing; give both states, or neither for the first and the last")
    found = open_result(result)
    if experiments:
        if cause is not None or outcome is not None:
            raise OptionError("--experiments is about all variables; leave out --cause and --outcome")
        if not as_json and out is None:
            note_incomplete(found)
        deliver(found.most_informative_interventions(prior), {"complete": found.complete}, out, as_json)
        return
    check_pair(cause, outcome)
    table: Any = _training_file(found, result) if data is None else data
    if reading != ReadFlags():
        table = reading.read(table, columns_of_result(found))
    if cause is None or outcome is None:
        answer = found.effects(table, prior=prior)
        if not as_json and out is None:
            typer.echo(f"The strongest effects, on average over networks. {ASSUMPTIONS}", err=True)
            if answer.n_sampled:
                typer.echo(sampling_sentence(answer.n_sampled, answer.standard_error, "each number"), err=True)
            note_incomplete(found)
        everything = answer.strongest(len(found.names) ** 2)
        error = {"n_sampled": answer.n_sampled, "standard_error": answer.standard_error}
        deliver(everything, {"assumptions": ASSUMPTIONS, **error, "complete": found.complete}, out, as_json)
        return
    change = None if from_state is None else (from_state, to_state)
    effect = found.effects(
        table,
        cause=cause,
        outcome=outcome,
        change=change,
        state=state,
        level=level,
        prior=prior,
        n_draws=n_draws,
        seed=seed,
    )
    if out is not None:
        deliver(effect.parts, {**effect.as_json(), "complete": found.complete}, out, as_json)
    elif as_json:
        typer.echo(json.dumps({**effect.as_json(), "complete": found.complete}))
    if not as_json:
        typer.echo(effect.summary())
        note_incomplete(found)


def _training_file(found: CredibleSet, result: Path) -> Path:
    """Return the file that a result was learned from, if one of its name is at hand; its content is checked later."""
    reading = reading_of(found)
    if reading is not None:
        for folder in (Path(), result.parent, result.parent.parent):
            if (folder / reading.source).is_file():
                return folder / reading.source
    name = "the table" if reading is None else repr(reading.source)
    raise OptionError(f"{name} that the result was learned from is not in this folder or beside it; give --data TABLE")
