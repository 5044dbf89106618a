"""The options that several commands share, and what their words mean."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from credibn.data import Dataset, read_data
from credibn.errors import OptionError

__all__ = [
    "AsJsonOption",
    "BayesFactorOption",
    "Columns",
    "ContinuousOption",
    "DiscretiseOption",
    "EdgePenaltyOption",
    "EpsilonOption",
    "ForbidOption",
    "MaxParentsOption",
    "MaxStatesOption",
    "Missing",
    "MissingOption",
    "RequireOption",
    "SampleSizeOption",
    "ScoreName",
    "ScoreOption",
    "SourceOption",
    "ThreadsOption",
    "TiersOption",
    "WeightsOption",
    "columns_of",
    "parent_limits",
    "read",
]


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


SourceOption = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file, or a quoted glob of several.")
]
WeightsOption = Annotated[str | None, typer.Option(metavar="COL", help="Column that holds counts of rows.")]
DiscretiseOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COL=]RULE",
        help="Cut numbers: equal_width:3, equal_frequency:4, mean, median, or points such as 18,65. "
        "COL=RULE may be repeated; RULE alone cuts all columns of fractional numbers.",
    ),
]
ContinuousOption = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column to read as numbers; may be repeated.")
]
ScoreOption = Annotated[ScoreName, typer.Option(help="Score of a network.")]
BayesFactorOption = Annotated[
    float | None,
    typer.Option(metavar="B", help="Keep networks within this factor of the best, by default 20."),
]
EpsilonOption = Annotated[
    float | None, typer.Option(metavar="E", help="The same as a gap in nats: ln of the Bayes factor.")
]
SampleSizeOption = Annotated[
    float | None, typer.Option(metavar="A", help="Equivalent sample size of bdeu, by default 1.")
]
MaxParentsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME=]K", help="Most parents, of all or of one; may be repeated."),
]
ForbidOption = Annotated[
    list[str] | None,
    typer.Option(metavar="A->B", help="Edge that no network has; may be repeated. Quote it."),
]
RequireOption = Annotated[
    list[str] | None,
    typer.Option(metavar="A->B", help="Edge that each network has; may be repeated. Quote it."),
]
TiersOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A tier a line, names separated by commas; no edge points up."),
]
EdgePenaltyOption = Annotated[float | None, typer.Option(metavar="X", help="Prior: each edge costs this many nats.")]
ThreadsOption = Annotated[int | None, typer.Option(metavar="T", help="By default all cores.")]
MissingOption = Annotated[Missing, typer.Option(help="What to do with missing values.")]
MaxStatesOption = Annotated[int, typer.Option(metavar="K", help="Refuse columns with more categories.")]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def columns_of(score: ScoreName, continuous: list[str] | None) -> Columns:
    """Return how the columns are read for a score."""
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


def read(
    data: str,
    columns: Columns,
    weights: str | None,
    missing: Missing,
    discretise: list[str] | None,
    continuous: list[str] | None,
    max_states: int,
) -> Dataset:
    """Read the table that the words of a command name."""
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


def parent_limits(specs: list[str] | None, names: tuple[str, ...]) -> dict[str, int] | None:
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
