"""The command line: read, call one function, write.

Results go to standard output, everything else (progress, warnings, errors) to standard error. Exit statuses:

- 0: done.
- 1: an unexpected error inside credibn; the traceback is worth a report.
- 2: wrong usage or bad input; the message says what to change.
- 130: interrupted (Ctrl-C); nothing was written.
"""

import json
import tempfile
import time
from dataclasses import asdict
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pyarrow.csv
import typer
from typer.core import TyperGroup

from credibn.data import Dataset, read_data
from credibn.data.states import MAX_STATES
from credibn.errors import CredibnError, OptionError
from credibn.examples import sample_asia, tic_tac_toe
from credibn.report import scoring_headline, write_scoring_page
from credibn.scores import (
    EdgePenalty,
    ScoreTable,
    estimate_scoring,
    read_scores,
    read_tiers,
    score_parent_sets,
    write_scores,
)
from credibn.scores.epsilon import resolve_epsilon
from credibn.terminal import (
    in_shell_words,
    print_estimate,
    print_result,
    print_summary,
    progress_bar,
    warnings_as_lines,
)

__all__ = ["app", "main"]


class ScoreName(StrEnum):
    """The scores that have a name."""

    BIC = "bic"
    BDEU = "bdeu"
    AIC = "aic"
    GAUSSIAN_BIC = "gaussian-bic"
    BGE = "bge"
    CONDITIONAL_GAUSSIAN_BIC = "conditional-gaussian-bic"


class Columns(StrEnum):
    """What the columns of a table hold."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"
    MIXED = "mixed"


class Missing(StrEnum):
    """What to do with missing values."""

    ERROR = "error"
    DROP = "drop"
    STATE = "state"


class Engine(StrEnum):
    """The engines of the scoring stage; the answer is the same."""

    AUTO = "auto"
    TABLE = "table"
    DESCENT = "descent"


class ScoreFormat(StrEnum):
    """The formats of score files."""

    JKL = "jkl"
    PSS = "pss"
    SCORES = "scores"


class Example(StrEnum):
    """The data that the demonstration can use."""

    ASIA = "asia"
    TIC_TAC_TOE = "tic-tac-toe"


class _Shell(TyperGroup):
    """Every command, with the user's mistakes and Ctrl-C turned into a line and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings_as_lines():
                return super().invoke(ctx)
        except CredibnError as error:
            typer.echo(f"error: {in_shell_words(str(error))}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("stopped; nothing was written", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="credibn",
    cls=_Shell,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Every Bayesian network structure that your data cannot rule out. So far: data and scoring.",
    epilog="Exit status: 0 done; 1 unexpected internal error; 2 wrong usage or bad input; 130 interrupted.",
)

_Source = Annotated[str, typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file, or a quoted glob of several.")]
_Weights = Annotated[str | None, typer.Option(metavar="COL", help="Column that holds counts of rows.")]
_Discretise = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COL=]RULE",
        help="Cut numbers: equal_width:3, equal_frequency:4, mean, median, or points such as 18,65. "
        "COL=RULE may be repeated; RULE alone cuts all columns of fractional numbers.",
    ),
]
_Continuous = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column to read as numbers; may be repeated.")
]
_Score = Annotated[ScoreName, typer.Option(help="Score of a network.")]
_BayesFactor = Annotated[
    float | None,
    typer.Option(metavar="B", help="Keep networks within this factor of the best, by default 20."),
]
_Epsilon = Annotated[float | None, typer.Option(metavar="E", help="The same as a gap in nats: ln of the Bayes factor.")]
_SampleSize = Annotated[float | None, typer.Option(metavar="A", help="Equivalent sample size of bdeu, by default 1.")]
_MaxParents = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME=]K", help="Most parents, of all or of one; may be repeated."),
]
_Forbid = Annotated[
    list[str] | None,
    typer.Option(metavar="A->B", help="Edge that no network has; may be repeated. Quote it."),
]
_Require = Annotated[
    list[str] | None,
    typer.Option(metavar="A->B", help="Edge that each network has; may be repeated. Quote it."),
]
_Tiers = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A tier a line, names separated by commas; no edge points up."),
]
_EdgePenalty = Annotated[float | None, typer.Option(metavar="X", help="Prior: each edge costs this many nats.")]
_Engine = Annotated[Engine, typer.Option(help="How to score; the answer is the same.")]
_Threads = Annotated[int | None, typer.Option(metavar="T", help="By default all cores.")]
_Missing = Annotated[Missing, typer.Option(help="What to do with missing values.")]
_MaxStates = Annotated[int, typer.Option(metavar="K", help="Refuse columns with more categories.")]
_Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Score file to write: .jkl, .pss or .scores."),
]
_Estimate = Annotated[bool, typer.Option("--estimate", help="Predict work and memory; do not score.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
_Format = Annotated[ScoreFormat | None, typer.Option(help="By default the ending of the file's name.")]


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


@app.command()
def score(
    data: _Source,
    score: _Score = ScoreName.BIC,
    bayes_factor: _BayesFactor = None,
    epsilon: _Epsilon = None,
    ess: _SampleSize = None,
    max_parents: _MaxParents = None,
    forbid: _Forbid = None,
    require: _Require = None,
    tiers: _Tiers = None,
    edge_penalty: _EdgePenalty = None,
    engine: _Engine = Engine.AUTO,
    threads: _Threads = None,
    weights: _Weights = None,
    missing: _Missing = Missing.ERROR,
    discretise: _Discretise = None,
    continuous: _Continuous = None,
    max_states: _MaxStates = 100,
    out: _Out = None,
    format: _Format = None,
    estimate: _Estimate = False,
    as_json: _AsJson = False,
) -> None:
    """Score every candidate parent set that a credible network could use."""
    started = time.perf_counter()
    gap = resolve_epsilon(bayes_factor, epsilon)
    columns = _columns_of(score, continuous)
    prior = None if edge_penalty is None else EdgePenalty(edge_penalty)
    layers = None if tiers is None else read_tiers(tiers)
    dataset = _read(data, columns, weights, missing, discretise, continuous, max_states)
    seconds = {"read": time.perf_counter() - started}
    options: dict[str, Any] = {
        "score": score.value,
        "epsilon": gap,
        "equivalent_sample_size": ess,
        "forbidden_edges": forbid,
        "required_edges": require,
        "tiers": layers,
        "max_parents": _parent_limits(max_parents, dataset.names),
        "prior": prior,
        "engine": engine.value,
    }
    if estimate:
        print_estimate(estimate_scoring(dataset, **options), as_json)
        return
    if out is not None:
        _rehearse_writing(dataset.names, out, format)
    before = time.perf_counter()
    with progress_bar("scoring") as progress:
        table = score_parent_sets(dataset, **options, n_threads=threads, progress=progress)
    seconds["score"] = time.perf_counter() - before
    if out is not None:
        write_scores(table, out, format=format)
    seconds["total"] = time.perf_counter() - started
    print_result(dataset, table, out, seconds, as_json)


@app.command("data")
def describe(
    data: _Source,
    columns: Annotated[Columns, typer.Option(help="How to read the columns.")] = Columns.MIXED,
    weights: _Weights = None,
    missing: _Missing = Missing.STATE,
    discretise: _Discretise = None,
    continuous: _Continuous = None,
    max_states: _MaxStates = MAX_STATES,
    as_json: _AsJson = False,
) -> None:
    """Describe a file: rows, distinct rows, and the states, missing values or range of each column."""
    summary = _read(data, columns, weights, missing, discretise, continuous, max_states).describe()
    if as_json:
        typer.echo(json.dumps(asdict(summary), default=str))
    else:
        print_summary(summary)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="SCORES_IN", help="Score file to read.")],
    destination: Annotated[Path, typer.Argument(metavar="SCORES_OUT", help="Score file to write.")],
    from_format: Annotated[ScoreFormat | None, typer.Option("--from", help="By default the file's ending.")] = None,
    to_format: Annotated[ScoreFormat | None, typer.Option("--to", help="By default the file's ending.")] = None,
    as_json: _AsJson = False,
) -> None:
    """Convert a score file between the formats jkl, pss and scores."""
    table = read_scores(source, format=from_format)
    write_scores(table, destination, format=to_format)
    if as_json:
        facts = {
            "n_variables": table.n_variables,
            "n_candidates": table.n_candidates,
            "out": str(destination),
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"{table.n_candidates:,} candidate parent sets written to {destination}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files; made if need be.")],
    example: Annotated[Example, typer.Option(help="Which data to make.")] = Example.ASIA,
) -> None:
    """Make example data, score it, write data, scores and an HTML page; the last line is the page's path."""
    rows = sample_asia() if example is Example.ASIA else tic_tac_toe()
    dataset = read_data(rows)
    table = score_parent_sets(dataset)
    paths = {ending: out.resolve() / f"{example.value}.{ending}" for ending in ("csv", "pss", "html")}
    try:
        out.mkdir(parents=True, exist_ok=True)
        pyarrow.csv.write_csv(rows, paths["csv"])
    except OSError as error:
        raise OptionError(f"{out} cannot be written ({error.strerror}); choose another folder") from error
    write_scores(table, paths["pss"])
    write_scoring_page(dataset, table, paths["html"])
    typer.echo(scoring_headline(dataset, table))
    typer.echo(f"data:   {paths['csv']}\nscores: {paths['pss']}\npage:")
    typer.echo(paths["html"])


def main() -> None:
    """Run the command line; the script ``credibn`` calls this."""
    app(prog_name="credibn")


def _columns_of(score: ScoreName, continuous: list[str] | None) -> Columns:
    if score in (ScoreName.GAUSSIAN_BIC, ScoreName.BGE):
        return Columns.CONTINUOUS
    if score is ScoreName.CONDITIONAL_GAUSSIAN_BIC:
        return Columns.MIXED
    if continuous:
        raise OptionError(
            f"--continuous {continuous[0]} was given with --score {score}, which takes categories only; "
            "choose --score conditional-gaussian-bic, or cut the column with --discretise"
        )
    return Columns.DISCRETE


def _read(
    data: str,
    columns: Columns,
    weights: str | None,
    missing: Missing,
    discretise: list[str] | None,
    continuous: list[str] | None,
    max_states: int,
) -> Dataset:
    return read_data(
        data,
        columns=columns.value,
        weights=weights,
        missing=missing.value,
        discretise=_cut_rules(discretise or []),
        continuous=continuous or None,
        max_states=max_states,
    )


def _cut_rules(specs: list[str]) -> dict[str, str | list[float]] | str | list[float] | None:
    """Return the rules of ``--discretise``: one for all, or one for each column named."""
    rules: dict[str, str | list[float]] = {}
    for spec in specs:
        name, equals, rule = spec.rpartition("=")
        if not equals:
            if len(specs) > 1:
                raise OptionError(f"--discretise {spec} is for all columns and stands beside others; give COL=RULE")
            return _cut_rule(spec)
        if name in rules:
            raise OptionError(f"--discretise names {name!r} twice; give one rule for it")
        rules[name] = _cut_rule(rule)
    return rules or None


def _cut_rule(text: str) -> str | list[float]:
    try:
        return [float(point) for point in text.split(",")]
    except ValueError:
        return text


def _parent_limits(specs: list[str] | None, names: tuple[str, ...]) -> dict[str, int] | None:
    """Return the limits of ``--max-parents``: a number alone holds for all variables that are not named."""
    if not specs:
        return None
    limits: dict[str, int] = {}
    for name, _, number in (spec.rpartition("=") for spec in specs):
        if name in limits:
            raise OptionError(f"--max-parents is given twice for {name or 'all variables'!r}; give it once")
        if not number.isdecimal():
            raise OptionError(f"--max-parents has {number!r}; give a whole number, or NAME=K for one variable")
        limits[name] = int(number)
    if "" in limits:
        limits = dict.fromkeys(names, limits.pop("")) | limits
    return limits


def _rehearse_writing(names: tuple[str, ...], out: Path, format: ScoreFormat | None) -> None:
    """Write an empty table of these names beside the destination: what would fail does so before the work."""
    try:
        if out.is_dir():
            raise OptionError(f"{out} is a folder; give the name of a file in it")
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".credibn-") as folder:
            rehearsal = ScoreTable.from_candidates(names, [[(0.0, ())]] * len(names))
            write_scores(rehearsal, Path(folder) / out.name, format=format)
    except OSError as error:
        raise OptionError(
            f"{out} cannot be written ({error.strerror}); check the folder and its permissions"
        ) from error
