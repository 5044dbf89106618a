"""Check the options of `read_data` against each other and against the column names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from credibn.data.discretising import BinRule, parse_bin_rule
from credibn.data.states import check_declared
from credibn.data.suggesting import suggestion
from credibn.errors import Option, OptionError
from credibn.options import ReadOptions, checked_texts

MISSING_TEXTS = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")
"""Fields of a text file that are missing values, beside the empty field."""


@dataclass(frozen=True)
class ColumnOptions:
    """The options of `read_data` for one table: the columns that they name exist."""

    columns: str
    kinds: Mapping[str, str]
    is_kind_given: bool
    drop: frozenset[str]
    state_names: Mapping[str, tuple[object, ...]]
    weights: str | None
    interventions: str | None
    missing: str
    missing_values: tuple[str, ...]
    rules: Mapping[str, BinRule]
    max_states: int
    rule_for_floats: BinRule | None = None
    only: frozenset[str] = frozenset()
    marks_found: tuple[str, ...] = ()  # texts that mark missing values, or may do so

    def names_in_particular(self, name: str) -> bool:
        """Whether an option says what a column is."""
        return any(name in named for named in (self.kinds, self.state_names, self.rules))


def check_options(names: Sequence[str], is_text_file: bool, given: ReadOptions, takes: str) -> ColumnOptions:
    """Return the options for a table with these columns; refuse unknown columns, and options that contradict.

    `takes` is the kind of columns that are wanted where the options do not say it.
    """
    only, drop = _listed(given.only or (), names), _listed(given.drop or (), names)
    _check_names(names, {"only": only, "drop": drop})
    left_out = {name for name in names if name in drop or (only and name not in only)} - {
        given.weights,
        given.interventions,
    }
    kinds = given.columns if isinstance(given.columns, Mapping) else {}
    rules, rule_for_floats = _cut_rules(given.discretise)
    options = ColumnOptions(
        given.columns if isinstance(given.columns, str) else takes,
        {name: kind for word, kind in kinds.items() for name in _listed([word], names)},
        isinstance(given.columns, str),
        frozenset(left_out),
        {name: check_declared(name, states) for name, states in (given.state_names or {}).items()},
        given.weights,
        given.interventions,
        given.missing,
        missing_texts(given.missing_values, is_text_file),
        rules,
        given.max_states,
        rule_for_floats,
        frozenset(only),
    )
    used = {
        "weights": () if options.weights is None else (options.weights,),
        "interventions": () if options.interventions is None else (options.interventions,),
        "columns": options.kinds,
        "state_names": options.state_names,
        "discretise": options.rules,
    }
    _check_names(names, used)
    _check_agreement(options, used, set(drop))
    return options


def _listed(words: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the columns that words name; a word that is no column may list some, separated by commas."""
    listed = []
    for word in words:
        parts = word.split(",")
        listed += parts if word not in names and all(part in names for part in parts) else [word]
    return listed


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


def _check_names(names: Sequence[str], used: Mapping[str, Iterable[str]]) -> None:
    for option, wanted in used.items():
        for name in sorted(wanted, key=str):
            if name not in names:
                near = suggestion(str(name), names)
                given = _as_given(option, name, wanted)
                raise OptionError("{} names {!r}, which is not a column: {}", given, name, near, value=name)


def _as_given(option: str, name: str, named: Iterable[str]) -> Option:
    """Return an option as a message names it; kinds of columns are flags of their own in the shell."""
    return Option(option, {name: named[name]}) if option == "columns" and isinstance(named, Mapping) else Option(option)


def _check_agreement(options: ColumnOptions, used: Mapping[str, Iterable[str]], dropped: set[str]) -> None:
    groups = {option: set(names) for option, names in used.items()} | {"drop": dropped}
    numeric = {name for name, kind in options.kinds.items() if kind == "numeric"}
    groups["columns"] = numeric if not dropped & set(options.kinds) else set(options.kinds)
    for (option, names), (other, others) in itertools.combinations(groups.items(), 2):
        for name in sorted(str(name) for name in names & others):
            raise OptionError(
                "column {!r} is in both {} and {}: keep it in one of them",
                name,
                *(_as_given(word, name, options.kinds) for word in (option, other)),
            )
    if options.columns == "continuous" and (options.state_names or options.rules or options.rule_for_floats):
        raise OptionError(
            "{} and {} make a column discrete while {}: pass {}",
            Option("state_names"),
            Option("discretise"),
            "columns are continuous" if not options.is_kind_given else Option("columns", "continuous"),
            Option("columns", "mixed") if options.is_kind_given else Option("score", "auto"),
        )
    for name, kind in options.kinds.items():
        taken = {"discrete": "categorical", "continuous": "numeric"}.get(options.columns, kind)
        if kind != taken:
            raise OptionError(
                "{} was given with a score that takes {} columns only: pass {}, or leave it out",
                Option("columns", {name: kind}),
                taken,
                Option("score", "auto"),
            )
