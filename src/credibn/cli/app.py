"""The command line: read, call one function, write.

Results go to standard output, everything else (progress, warnings, errors) to standard error. Exit statuses:

- 0: done.
- 1: an unexpected error inside credibn; the traceback is worth a report.
- 2: wrong usage or bad input; the message says what to change.
- 3: a limit was reached; what was found and is certain was written, if anything was.
- 4: a result could not be written where it was asked for: to standard output, a file, or the folder of ``--out``.
- 130: interrupted (Ctrl-C or SIGTERM); nothing was written, or what the search had found, which the result says.

A closed pipe is not an error, and the files are complete.
"""

import json
import os
import shlex
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow.csv
import typer
from typer.core import TyperCommand

from credibn._base.atomic import replacing, unwritable
from credibn._base.text import printable
from credibn._run.memory import explaining_shortage
from credibn._run.progress import stage_bars
from credibn.cli.convert import ScoreFormat, convert
from credibn.cli.learn import kbest, learn, optimum
from credibn.cli.models import fit, predict, sample
from credibn.cli.options import (
    AsJsonOption,
    DataArgument,
    EpsilonFlags,
    ReadFlags,
    ScoreFlags,
    ThreadFlags,
    grouped,
    output,
)
from credibn.cli.posterior import posterior
from credibn.cli.results import edges, report
from credibn.cli.text import (
    Words,
    flags_of,
    print_costs,
    print_description,
    print_error,
    print_estimate,
    print_result,
    warnings_as_lines,
)
from credibn.data import Dataset, read_data
from credibn.data.describing import TableDescription, describe_table
from credibn.data.reading import read_table
from credibn.errors import CredibnError, CredibnWarning, Option, OptionError, Phrase, TimeLimitError, WriteError
from credibn.examples import sample_asia, tic_tac_toe
from credibn.learning import learn as find_credible_set
from credibn.options import Limits, ReadOptions, ScoreName, our_word, resolve_epsilon
from credibn.posterior import MOST_VARIABLES, estimate_posterior
from credibn.report import learning_headline, write_learning_page
from credibn.scores import ScoreTable, estimate_scoring, score_parent_sets, write_scores
from credibn.scores.moments import find_dependent
from credibn.scores.scoring import LONG, columns_taken, score_for
from credibn_command.streams import NOT_WRITTEN, need_output


class _Command(TyperCommand):
    """A command, with the user's mistakes and Ctrl-C turned into a line and an exit status."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The parser finds flags that are spelt almost alike; this one adds the words of other programs.
            name = getattr(error, "option_name", "").lstrip("-").replace("-", "_")
            flags = [flag for own in self.params if own.name == our_word(name) for flag in own.opts if flag[:2] == "--"]
            if hasattr(error, "possibilities") and flags:
                error.possibilities = flags
            raise

    def invoke(self, ctx: Any) -> Any:
        writes_files = any(ctx.params.get(name) is not None for name in ("out", "destination"))
        need_output(bool(ctx.params.get("as_json")) or not writes_files)
        words = flags_of(ctx)
        try:
            with warnings_as_lines(words), explaining_shortage():
                return super().invoke(ctx)
        except CredibnError as error:
            print_error(error, words)
            raise typer.Exit(_status(error)) from None
        except KeyboardInterrupt:
            typer.echo("stopped; nothing was written", err=True)
            raise typer.Exit(130) from None


def _status(error: CredibnError) -> int:
    if isinstance(error, WriteError):
        return NOT_WRITTEN
    return 3 if isinstance(error, TimeLimitError) else 2


app = typer.Typer(
    name="credibn",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Every Bayesian network structure that your data cannot rule out.",
    epilog="Exit status: 0 done and complete; 1 unexpected internal error; 2 wrong usage or bad input; "
    "3 a limit was reached, so the result is not complete; 4 a result could not be written where it was asked for; "
    "130 interrupted.\n\n'credibn --install-completion' teaches your "
    "shell (bash, zsh, fish, PowerShell) to complete commands and options with the tab key.",
)
for _command in (learn, kbest, optimum, edges, report, predict, fit, sample, posterior, convert):
    app.command(cls=_Command)(_command)

_Engine = Annotated[
    Literal["auto", "table", "descent"],
    typer.Option(help="How to score; the answer is the same.", rich_help_panel="Score"),
]
_Out = Annotated[Path | None, output("--out", "-o", metavar="FILE", help="Score file to write: .jkl, .pss or .scores.")]
_Estimate = Annotated[bool, output("--estimate", help="Predict work and memory; do not score.")]
_Format = Annotated[ScoreFormat | None, output(help="Format of the score file; by default the ending of its name.")]
_Score = Annotated[ScoreName, typer.Option(metavar="NAME", help="The score that columns are read for.")]
Example = Literal["asia", "tic-tac-toe"]


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"credibn {version('credibn')}")
        raise typer.Exit


@app.callback()
def _credibn(
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, help="Print the version and stop.", callback=_version),
    ] = False,
) -> None:
    pass


@app.command(cls=_Command)
@grouped
def score(
    data: DataArgument,
    reading: ReadFlags,
    scoring: ScoreFlags,
    gap: EpsilonFlags,
    limits: ThreadFlags,
    engine: _Engine = "auto",
    out: _Out = None,
    format: _Format = None,
    estimate: _Estimate = False,
    as_json: AsJsonOption = False,
) -> None:
    """Score every candidate parent set that a credible network could use."""
    started = time.perf_counter()
    threads, epsilon = Limits(n_threads=limits.n_threads).threads, resolve_epsilon(gap.bayes_factor, gap.epsilon)
    options = scoring.options()
    dataset = reading.read(data, columns_taken(scoring.score))
    options = replace(options, max_parents=scoring.parent_limits(dataset.names))
    seconds = {"read": time.perf_counter() - started}
    if estimate:
        print_estimate(estimate_scoring(dataset, **options.as_dict(), epsilon=epsilon, engine=engine), as_json)
        return
    if out is not None:
        _rehearse_writing(dataset.names, out, format)
    before = time.perf_counter()
    with stage_bars() as progress:
        table = score_parent_sets(
            dataset, **options.as_dict(), epsilon=epsilon, engine=engine, n_threads=threads, progress=progress
        )
    seconds["score"] = time.perf_counter() - before
    if out is not None:
        write_scores(table, out, format=format)
    seconds["total"] = time.perf_counter() - started
    print_result(dataset, table, out, seconds, as_json)


@app.command("data", cls=_Command)
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
    """Return the limit on the number of parents that a long prediction names; None where scoring is short."""
    if scoring is None or (scoring["seconds"] is not None and scoring["seconds"] <= LONG):
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


@app.command(cls=_Command)
def demo(
    out: Annotated[Path, output(metavar="DIR", help="Folder for the files; made if need be.")],
    example: Annotated[Example, typer.Option(help="Which data to make.")] = "asia",
    as_json: AsJsonOption = False,
) -> None:
    """Make example data, find every credible network, write an HTML page; the last line is the page's path."""
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
    found = find_credible_set(rows, bayes_factor=20)
    write_scores(found.score_table, paths["pss"])
    found.save(paths["credibn"])
    write_learning_page(found, paths["html"], read_data(rows))
    if as_json:
        names = {"data": "csv", "scores": "pss", "result": "credibn", "page": "html"}
        typer.echo(json.dumps({name: str(paths[ending]) for name, ending in names.items()}))
        return
    typer.echo(learning_headline(found))
    shown = {ending: printable(str(path)) for ending, path in paths.items()}
    typer.echo(f"data:   {shown['csv']}\nscores: {shown['pss']}\nresult: {shown['credibn']}\npage:\n{shown['html']}")


def main() -> None:
    """Run the command line; the script ``credibn`` calls this, see ``credibn_command``."""
    app(prog_name="credibn")


def _rehearse_writing(names: tuple[str, ...], out: Path, format: ScoreFormat | None) -> None:
    """Write an empty table of these names beside the destination: what would fail does so before the work."""
    try:
        if os.path.isdir(out):
            raise OptionError(f"{out} is a folder; give the name of a file in it")
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".credibn-") as folder:
            rehearsal = ScoreTable.from_candidates(names, [[(0.0, ())]] * len(names))
            write_scores(rehearsal, Path(folder) / out.name, format=format)
    except (OSError, WriteError) as error:  # either names the file beside it
        raise unwritable(out, error, kind=OptionError) from error
