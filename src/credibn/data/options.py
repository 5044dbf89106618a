"""Check the options of `read_data` against each other and against the column names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from credibn.data.discretising import BinRule, parse_bin_rule
from credibn.data.states import MAX_STATES, check_declared
from credibn.data.suggesting import suggestion
from credibn.errors import OptionError

__all__ = ["MISSING_TEXTS", "ReadOptions", "check_options", "missing_texts"]

MISSING_TEXTS = ("NA", "NaN", "nan", "null", "NULL", "?")
"""Fields of a text file that are missing values, beside the empty field."""

_COLUMNS = ("discrete", "continuous", "mixed")
_MISSING = ("error", "drop", "state")


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_data`, checked; names of columns are known to exist."""

    columns: str
    continuous: frozenset[str]
    state_names: Mapping[str, tuple[object, ...]]
    weights: str | None
    missing: str
    missing_values: tuple[str, ...]
    rules: Mapping[str, BinRule]
    max_states: int
    rule_for_floats: BinRule | None = None


def check_options(
    names: Sequence[str],
    is_text_file: bool,
    *,
    columns: str,
    continuous: Iterable[str] | None,
    state_names: Mapping[str, Sequence[object]] | None,
    weights: str | None,
    missing: str,
    missing_values: Iterable[str] | None,
    discretise: object,
    max_states: int,
) -> ReadOptions:
    """Return the options in one form.

    Raises
    ------
    OptionError
        If one is out of range, names an unknown column or contradicts another.
    """
    _check_choice("columns", columns, _COLUMNS)
    _check_choice("missing", missing, _MISSING)
    if isinstance(max_states, bool) or not isinstance(max_states, int) or not 1 <= max_states <= MAX_STATES:
        raise OptionError(f"max_states is {max_states!r}: give a whole number from 1 to {MAX_STATES:,}")
    wanted = _names_of("continuous", continuous)
    if state_names is not None and not isinstance(state_names, Mapping):
        raise OptionError(f"state_names is {state_names!r}: give a mapping of column name to list of states")
    declared = {name: check_declared(name, states) for name, states in (state_names or {}).items()}
    rules, rule_for_floats = _cut_rules(discretise)
    if weights is not None and not isinstance(weights, str):
        raise OptionError(f"weights is {weights!r}: give the name of the column that holds the counts")
    options = ReadOptions(
        columns,
        frozenset(wanted),
        declared,
        weights,
        missing,
        missing_texts(missing_values, is_text_file),
        rules,
        max_states,
        rule_for_floats,
    )
    _check_names(options, names)
    _check_agreement(options)
    return options


def _names_of(option: str, value: object) -> tuple[str, ...]:
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    names = tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f"{option} is {value!r}: give a list of column names")
    return names


def _check_choice(option: str, value: object, choices: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option} is {value!r}: choose one of {', '.join(map(repr, choices))}")


def missing_texts(missing_values: Iterable[str] | None, is_text_file: bool) -> tuple[str, ...]:
    """Return the texts that stand for a missing value: by default, those that are common in text files.

    Examples
    --------
    >>> missing_texts(["-9"], is_text_file=True)
    ('-9',)
    """
    if missing_values is None:
        return MISSING_TEXTS if is_text_file else ()
    is_list = isinstance(missing_values, Iterable) and not isinstance(missing_values, str)
    texts = tuple(missing_values) if is_list else ()
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise OptionError(f"missing_values is {missing_values!r}: give a list of strings such as ['NA', '-9']")
    return texts


def _cut_rules(discretise: object) -> tuple[dict[str, BinRule], BinRule | None]:
    if discretise is None:
        return {}, None
    if isinstance(discretise, Mapping):
        return {name: parse_bin_rule(spec, f"discretise[{name!r}]") for name, spec in discretise.items()}, None
    return {}, parse_bin_rule(discretise)


def _check_names(options: ReadOptions, names: Sequence[str]) -> None:
    used = {
        "continuous": options.continuous,
        "state_names": options.state_names,
        "discretise": options.rules,
        "weights": () if options.weights is None else (options.weights,),
    }
    for option, wanted in used.items():
        for name in sorted(wanted, key=str):
            if name not in names:
                raise OptionError(f"{option} names {name!r}, which is no column: {suggestion(str(name), names)}")


def _check_agreement(options: ReadOptions) -> None:
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
                raise OptionError(f"column {name!r} is in both {option} and {other}: keep it in one of them")
    if options.columns == "discrete" and options.continuous:
        raise OptionError("continuous= lists columns while columns='discrete': pass columns='mixed'")
    if options.columns == "continuous" and (options.state_names or options.rules or options.rule_for_floats):
        raise OptionError("state_names and discretise make a column discrete while columns='continuous': pass 'mixed'")
