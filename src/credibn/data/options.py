"""Check the options of `read_data` against each other and against the column names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from credibn.data.discretising import BinRule, parse_bin_rule
from credibn.data.states import check_declared
from credibn.data.suggesting import suggestion
from credibn.errors import Option, OptionError
from credibn.options import ReadOptions, checked_texts

MISSING_TEXTS = ("NA", "NaN", "nan", "null", "NULL", "?")
"""Fields of a text file that are missing values, beside the empty field."""


@dataclass(frozen=True)
class ColumnOptions:
    """The options of `read_data` for one table: the columns that they name exist."""

    columns: str
    continuous: frozenset[str]
    state_names: Mapping[str, tuple[object, ...]]
    weights: str | None
    missing: str
    missing_values: tuple[str, ...]
    rules: Mapping[str, BinRule]
    max_states: int
    rule_for_floats: BinRule | None = None


def check_options(names: Sequence[str], is_text_file: bool, given: ReadOptions) -> ColumnOptions:
    """Return the options for a table with these columns; refuse unknown columns, and options that contradict."""
    rules, rule_for_floats = _cut_rules(given.discretise)
    options = ColumnOptions(
        "discrete" if given.columns is None else given.columns,
        frozenset(given.continuous or ()),
        {name: check_declared(name, states) for name, states in (given.state_names or {}).items()},
        given.weights,
        given.missing,
        missing_texts(given.missing_values, is_text_file),
        rules,
        given.max_states,
        rule_for_floats,
    )
    _check_names(options, names)
    _check_agreement(options)
    return options


def missing_texts(missing_values: Iterable[str] | None, is_text_file: bool) -> tuple[str, ...]:
    """Return the texts that stand for a missing value: by default, those that are common in text files."""
    texts = checked_texts(missing_values)
    if texts is None:
        return MISSING_TEXTS if is_text_file else ()
    return texts


def _cut_rules(discretise: object) -> tuple[dict[str, BinRule], BinRule | None]:
    if discretise is None:
        return {}, None
    if isinstance(discretise, Mapping):
        return {name: parse_bin_rule(spec, name) for name, spec in discretise.items()}, None
    return {}, parse_bin_rule(discretise)


def _check_names(options: ColumnOptions, names: Sequence[str]) -> None:
    used = {
        "continuous": options.continuous,
        "state_names": options.state_names,
        "discretise": options.rules,
        "weights": () if options.weights is None else (options.weights,),
    }
    for option, wanted in used.items():
        for name in sorted(wanted, key=str):
            if name not in names:
                near = suggestion(str(name), names)
                raise OptionError("{} names {!r}, which is no column: {}", Option(option), name, near, value=name)


def _check_agreement(options: ColumnOptions) -> None:
    groups = {
        "weights": {options.weights} - {None},
        "continuous": options.continuous,
        "state_names": set(options.state_names),
        "discretise": set(options.rules),
    }
    kinds = list(groups.items())
    for position, (option, names) in enumerate(kinds):
        for other, others in kinds[position + 1 :]:
            for name in sorted(str(name) for name in names & others):
                raise OptionError(
                    "column {!r} is in both {} and {}: keep it in one of them", name, Option(option), Option(other)
                )
    if options.columns == "discrete" and options.continuous:
        raise OptionError(
            "{} lists columns while {}: pass {}",
            Option("continuous"),
            Option("columns", "discrete"),
            Option("columns", "mixed"),
        )
    if options.columns == "continuous" and (options.state_names or options.rules or options.rule_for_floats):
        raise OptionError(
            "{} and {} make a column discrete while {}: pass {}",
            Option("state_names"),
            Option("discretise"),
            Option("columns", "continuous"),
            Option("columns", "mixed"),
        )
