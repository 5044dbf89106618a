"""The options that several commands share, and what their words mean."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from credibn.credible import CredibleSet
from credibn.data import Dataset, read_data
from credibn.data.sources import reading_until
from credibn.errors import OptionError
from credibn.learning.options import resolve_bytes
from credibn.scores import EdgePenalty, read_tiers

__all__ = [
    "AsJsonOption",
    "BayesFactorOption",
    "Columns",
    "ContinuousOption",
    "DataArgument",
    "DiscretiseOption",
    "EdgePenaltyOption",
    "EpsilonOption",
    "ForbidOption",
    "MaxParentsOption",
    "MaxStatesOption",
    "MemoryLimitOption",
    "Missing",
    "MissingOption",
    "PriorName",
    "PriorOption",
    "RequireOption",
    "ResultArgument",
    "SampleSizeOption",
    "ScoreName",
    "ScoreOption",
    "ScoresOption",
    "SourceOption",
    "TableOutOption",
    "ThreadsOption",
    "TiersOption",
    "TimeLimitOption",
    "WeightsOption",
    "bytes_of",
    "columns_of",
    "columns_of_result",
    "parent_limits",
    "read",
    "scoring_source",
    "time_left",
]

_COUNT_DIGITS = 9
"""Longer limits mean none, and Python refuses to read those of thousands of digits."""


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


class PriorName(StrEnum):
    """What counts the same beforehand when a set is averaged."""

    NETWORKS = "networks"
    CLASSES = "classes"


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
DataArgument = Annotated[
    str | None,
    typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file, or a quoted glob of several."),
]
ScoresOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Score file to use instead of DATA: .jkl, .pss or .scores.")
]
TimeLimitOption = Annotated[float | None, typer.Option(metavar="S", help="Seconds for everything together.")]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option(metavar="M", help="Memory for the search and what it finds: 300M, 4G; a number alone: GiB."),
]
ResultArgument = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A .credibn file, or the folder that 'learn --out' wrote.")
]
PriorOption = Annotated[PriorName, typer.Option(help="What counts the same beforehand: every network, or every class.")]
TableOutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Table to write: .csv, .tsv or .parquet; else CSV is printed."),
]
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


def columns_of_result(found: CredibleSet, continuous: list[str] | None) -> Columns:
    """Return how the columns are read for the score that a result was found with."""
    score = found.score_table.provenance.get("score")
    if score in list(ScoreName):
        return columns_of(ScoreName(str(score)), continuous)
    return Columns.MIXED if continuous else Columns.DISCRETE


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
        if not number.isdecimal() or len(number) > _COUNT_DIGITS:
            raise OptionError(f"--max-parents has {number!r:.60}; give a whole number, or NAME=K for one variable")
        limits[name] = int(number)
    if "" in limits:
        limits = dict.fromkeys(names, limits.pop("")) | limits
    return limits


def bytes_of(memory_limit: str | None) -> int | None:
    """Return the bytes of ``--memory-limit``: what Python takes, where a number alone is in GiB."""
    return resolve_bytes(memory_limit, "--memory-limit", unit="G")


def time_left(time_limit: float | None, started: float) -> float | None:
    """Return what is left of ``--time-limit``: the time for reading is part of it."""
    if time_limit is None or time_limit <= 0:
        return time_limit
    return max(time_limit - (time.perf_counter() - started), 1e-9)


def scoring_source(
    data: str | None,
    scores: Path | None,
    *,
    score: ScoreName,
    ess: float | None,
    max_parents: list[str] | None,
    forbid: list[str] | None,
    require: list[str] | None,
    tiers: Path | None,
    edge_penalty: float | None,
    weights: str | None,
    missing: Missing,
    discretise: list[str] | None,
    continuous: list[str] | None,
    max_states: int,
    time_limit: float | None = None,
) -> dict[str, Any]:
    """Return the options of the library that say what is scored and searched; the table is read here, in time."""
    if (data is None) is (scores is None):
        raise OptionError(f"give either DATA or --scores FILE; {'neither' if data is None else 'both'} was given")
    if scores is not None:
        given = {
            "--score": score is not ScoreName.BIC,
            "--ess": ess is not None,
            "--max-parents": max_parents,
            "--forbid": forbid,
            "--require": require,
            "--tiers": tiers,
            "--edge-penalty": edge_penalty is not None,
            "--weights": weights,
            "--missing": missing is not Missing.ERROR,
            "--discretise": discretise,
            "--continuous": continuous,
        }
        listed = [flag for flag, is_given in given.items() if is_given]
        if listed:
            raise OptionError(f"{', '.join(listed)} cannot change the finished scores of --scores; leave it out")
        return {"scores": scores}
    assert data is not None
    prior = None if edge_penalty is None else EdgePenalty(edge_penalty)
    layers = None if tiers is None else read_tiers(tiers)
    with reading_until(time.monotonic() + time_limit if time_limit and time_limit > 0 else None):
        dataset = read(data, columns_of(score, continuous), weights, missing, discretise, continuous, max_states)
    return {
        "data": dataset,
        "score": score.value,
        "equivalent_sample_size": ess,
        "forbidden_edges": forbid,
        "required_edges": require,
        "tiers": layers,
        "max_parents": parent_limits(max_parents, dataset.names),
        "prior": prior,
    }
