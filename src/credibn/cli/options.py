"""The options that several commands share: each is defined once, in a group that commands take as one parameter.

A field has the name of the library's option; its flag, its words and its place in ``--help`` stand beside it. The
methods turn the words of the shell into the groups of `credibn.options`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, update_wrapper
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.data.reading import read_table
from credibn.errors import OptionError
from credibn.options import (
    ColumnType,
    Limits,
    Missing,
    ReadOptions,
    ScoreName,
    ScoreOptions,
    SearchOptions,
    Unit,
    resolve_bytes,
)
from credibn.scores import EdgePenalty, read_tiers
from credibn.scores.setup import SCORES, columns_taken

_COUNT_DIGITS = 9
"""Longer limits mean none, and Python refuses to read those of thousands of digits."""

_data, _score, _search, _limit, output = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("Data", "Score", "Search", "Limits", "Output")
)
PriorName = Literal["networks", "classes"]

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file, or a quoted glob of several.")
]
MissingOption = Annotated[Missing, _data(help="What to do with missing values.")]
MaxStatesOption = Annotated[int, _data(metavar="K", help="Reject columns with more categories.")]
ResultArgument = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A .credibn file, or the folder that 'learn --out' wrote.")
]
PriorOption = Annotated[
    PriorName, typer.Option(help="What is equally probable a priori: every network, or every class.")
]
TableOutOption = Annotated[
    Path | None,
    output("--out", "-o", metavar="FILE", help="Table to write: .csv, .tsv or .parquet; else CSV is printed."),
]
AsJsonOption = Annotated[bool, output("--json", help="Print one JSON object on standard output.")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a parameter for each field of the groups that it takes."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        if not is_dataclass(parameter.annotation):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        group = groups[parameter.name] = parameter.annotation
        types = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
            )
            for field in fields(group)
        ]

    def call(**words: Any) -> None:
        made = {
            name: group(**{field.name: words.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **words)

    call = update_wrapper(call, command)
    del call.__wrapped__  # its signature is another one
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


@dataclass(frozen=True)
class TableFlags:
    """How a table of categories is read."""

    weights: Annotated[
        str | None, _data(metavar="COL", help="Column with the number of rows that each row stands for.")
    ] = None
    interventions: Annotated[
        str | None,
        _data(metavar="COL", help="Column that names the variables set from outside in each row; empty for none."),
    ] = None
    missing: MissingOption = "error"
    missing_values: Annotated[
        list[str] | None,
        _data(
            "--missing-value",
            metavar="TEXT",
            help="Text that stands for a missing value, instead of NA, n/a, NaN, null and ?; may be repeated.",
        ),
    ] = None
    discretise: Annotated[
        list[str] | None,
        _data(
            metavar="[COL=]RULE",
            help="Put numbers into bins: equal_width:3, equal_frequency:4, mean, median, or edges such as 18,65. "
            "COL=RULE may be repeated; RULE alone is for all columns of fractional numbers.",
        ),
    ] = None
    max_states: MaxStatesOption = 100
    drop: Annotated[
        list[str] | None, _data(metavar="COL", help="Column to leave out; may be repeated, or a list: a,b.")
    ] = None
    only: Annotated[
        list[str] | None, _data(metavar="COL", help="Column to use, without all others; may be repeated.")
    ] = None
    encoding: Annotated[str | None, _data(metavar="NAME", help="Encoding of the file, such as cp1252.")] = None
    decimal: Annotated[str | None, _data(metavar="C", help="Decimal separator of numbers.")] = None
    thousands: Annotated[str | None, _data(metavar="C", help="Thousands separator of numbers.")] = None
    comment: Annotated[str | None, _data(metavar="C", help="Skip lines that start with this.")] = None

    def options(self) -> ReadOptions:
        """Return the options of the library."""
        kinds = {name: kind for kind in get_args(ColumnType) for name in getattr(self, kind, None) or ()}
        for name in set(getattr(self, "numeric", None) or ()) & set(getattr(self, "categorical", None) or ()):
            raise OptionError(f"column {name!r} is in both --numeric and --categorical: keep it in one of them")
        return ReadOptions(
            columns=kinds or None,
            drop=self.drop or None,
            only=self.only or None,
            encoding=self.encoding,
            decimal=self.decimal,
            thousands=self.thousands,
            comment=self.comment,
            weights=self.weights,
            interventions=self.interventions,
            missing=self.missing,
            missing_values=self.missing_values or None,
            discretise=_cut_rules(self.discretise or []),
            max_states=self.max_states,
        )

    def read(self, data: str, columns: str) -> Dataset:
        """Read a table for a score that takes columns of this kind."""
        return read_table(data, self.options(), columns)


@dataclass(frozen=True)
class ReadFlags(TableFlags):
    """How a table is read."""

    numeric: Annotated[list[str] | None, _data(metavar="COL", help="Column to read as numbers; may be repeated.")] = (
        None
    )
    categorical: Annotated[
        list[str] | None, _data(metavar="COL", help="Column to read as categories; may be repeated.")
    ] = None


def columns_of_result(found: CredibleSet) -> str:
    """Return the kind of columns that the score of a result takes."""
    score = found.score_table.provenance.get("score")
    return columns_taken(score) if isinstance(score, str) and score in SCORES else "mixed"


@dataclass(frozen=True)
class ScoreFlags:
    """How networks are scored, and which are allowed."""

    score: Annotated[
        ScoreName,
        _score(
            metavar="NAME",
            case_sensitive=False,
            help="bic, bdeu, aic (categories), gaussian-bic, bge (numbers), conditional-gaussian-bic (both); by "
            "default the BIC for the kinds of the columns.",
        ),
    ] = "auto"
    equivalent_sample_size: Annotated[
        float | None, _score("--ess", metavar="A", help="Equivalent sample size of bdeu; 1 by default.")
    ] = None
    max_parents: Annotated[
        list[str] | None,
        _score(metavar="[NAME=]K", help="Largest number of parents, of all variables or of NAME; may be repeated."),
    ] = None
    forbidden_edges: Annotated[
        list[str] | None,
        _score("--forbid", metavar="A->B", help="Edge that no network has; may be repeated. Quote it."),
    ] = None
    required_edges: Annotated[
        list[str] | None,
        _score("--require", metavar="A->B", help="Edge that each network has; may be repeated. Quote it."),
    ] = None
    tiers: Annotated[
        Path | None,
        _score(metavar="FILE", help="One tier per line, names separated by commas; no edge points to an earlier tier."),
    ] = None
    edge_penalty: Annotated[float | None, _score(metavar="X", help="Prior: each edge costs this many nats.")] = None

    def options(self) -> ScoreOptions:
        """Return the options of the library; reads the file of tiers."""
        return ScoreOptions(
            score=self.score,
            equivalent_sample_size=self.equivalent_sample_size,
            forbidden_edges=self.forbidden_edges,
            required_edges=self.required_edges,
            tiers=None if self.tiers is None else read_tiers(self.tiers),
            max_parents=_parent_limits(self.max_parents or []),
            prior=None if self.edge_penalty is None else EdgePenalty(self.edge_penalty),
        )


@dataclass(frozen=True)
class SourceFlags:
    """Where scores come from: a table, or finished scores."""

    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file, or a quoted glob of several.")
    ] = None
    scores: Annotated[
        Path | None, _data(metavar="FILE", help="Score file to use instead of DATA: .jkl, .pss or .scores.")
    ] = None


@dataclass(frozen=True)
class EpsilonFlags:
    """How much worse than the best a network may score."""

    bayes_factor: Annotated[
        float | None, _search(metavar="B", help="Keep networks within this factor of the best; 20 by default.")
    ] = None
    epsilon: Annotated[
        float | None, _search(metavar="E", help="The same as a gap in nats: ln of the Bayes factor.")
    ] = None


@dataclass(frozen=True)
class GapFlags(EpsilonFlags):
    """The same, also by a ratio of costs, or by the share of the posterior that they hold."""

    ratio: Annotated[
        float | None, _search(metavar="R", help="Keep networks that cost at most this many times the optimum.")
    ] = None
    share: Annotated[
        float | None,
        _search(metavar="P", help="Keep the best networks that together hold this share of the posterior, as 0.95."),
    ] = None


@dataclass(frozen=True)
class SearchFlags:
    """How networks are searched for."""

    unit: Annotated[
        Unit,
        _search(
            metavar="WHAT", help="auto, classes or networks: search by class if possible, or list networks one by one."
        ),
    ] = "auto"
    score_equivalent: Annotated[
        bool, _search("--score-equivalent", help="Assert that equivalent networks score the same in --scores.")
    ] = False
    engine: Annotated[str, _search(metavar="NAME", help="How to search; the answer is the same.")] = "auto"
    posterior_share: Annotated[
        bool | None,
        _search(
            "--posterior-share/--no-posterior-share",
            help="Compute the share of the posterior of all networks that these hold, and each edge over all networks; "
            "by default if it is predicted to take at most ten seconds. With more than 24 variables: an estimate.",
        ),
    ] = None

    def options(self, gap: GapFlags | None = None) -> SearchOptions:
        """Return the options of the library."""
        gap = GapFlags() if gap is None else gap
        return SearchOptions(
            bayes_factor=gap.bayes_factor,
            epsilon=gap.epsilon,
            ratio=gap.ratio,
            share=gap.share,
            score_equivalent=True if self.score_equivalent else None,
            unit=self.unit,
            engine=self.engine.replace("-", "_"),
            posterior_share=self.posterior_share,
        )


@dataclass(frozen=True)
class CountFlags:
    """How much of the answer is wanted."""

    max_networks: Annotated[int | None, _limit(metavar="M", help="Keep at most this many networks.")] = None
    max_classes: Annotated[int | None, _limit(metavar="M", help="Keep this many classes, and ties with the last.")] = (
        None
    )


@dataclass(frozen=True)
class ThreadFlags:
    """How many threads work."""

    n_threads: Annotated[
        int | None, _limit("--threads", metavar="T", help="Number of threads; by default one for each core.")
    ] = None


@dataclass(frozen=True)
class RunFlags(ThreadFlags):
    """What a run may take."""

    time_limit: Annotated[float | None, _limit(metavar="S", help="Seconds for the whole run.")] = None
    memory_limit: Annotated[
        str | None,
        _limit(metavar="M", help="Memory for the search and what it finds: 300M, 4G; a number alone: GiB."),
    ] = None

    def options(self, counts: CountFlags | None = None) -> Limits:
        """Return the options of the library; here a memory limit without a unit is in GiB."""
        counts = CountFlags() if counts is None else counts
        return Limits(
            max_networks=counts.max_networks,
            max_classes=counts.max_classes,
            time_limit=self.time_limit,
            memory_limit=resolve_bytes(self.memory_limit, unit="G"),
            n_threads=self.n_threads,
        )


@dataclass(frozen=True)
class LimitFlags(RunFlags):
    """The same, and what the result holds."""

    keep_counts: Annotated[
        bool,
        output("--keep-counts/--no-counts", help="Whether the result holds the counts that 'predict' needs."),
    ] = True

    def options(self, counts: CountFlags | None = None) -> Limits:
        """Return the options of the library."""
        return replace(super().options(counts), keep_counts=self.keep_counts)


def _parent_limits(specs: list[str]) -> int | dict[str, int] | None:
    """Return the limits of ``--max-parents``: a number alone is for all variables that are not named."""
    limits: dict[str, int] = {}
    for name, _, number in (spec.rpartition("=") for spec in specs):
        if name in limits:
            raise OptionError(f"--max-parents is given twice for {name or 'all variables'!r}; give it once")
        if not number.isdecimal() or len(number) > _COUNT_DIGITS:
            raise OptionError(f"--max-parents is {number!r:.60}; give a whole number, or NAME=K for one variable")
        limits[name] = int(number)
    return limits[""] if list(limits) == [""] else limits or None


def _cut_rules(specs: list[str]) -> dict[str, str | list[float]] | str | list[float] | None:
    """Return the rules of ``--discretise``: one for all, or one for each column named."""
    rules: dict[str, str | list[float]] = {}
    for spec in specs:
        name, equals, rule = spec.rpartition("=")
        if not equals:
            if len(specs) > 1:
                raise OptionError(
                    f"--discretise {spec} applies to all columns, but other rules were given too; give COL=RULE"
                )
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
