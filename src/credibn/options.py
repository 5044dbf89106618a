"""The options of `learn` and its kin, in four groups; each is named, documented and checked here and nowhere else.

The public functions take options as keywords and hand them inwards as groups: `ReadOptions` say how a table is read,
`ScoreOptions` how networks are scored, `SearchOptions` which networks are wanted, and `Limits` what they may take. What
can be checked without the table is checked when a group is made; names of columns are checked once the table is open.
"""

import codecs
import difflib
import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any, Literal, ParamSpec, Self, TypeVar, cast, get_args

import numpy as np

from credibn._base.checks import whole_number
from credibn.errors import Option, OptionError, Phrase

__all__ = ["Edges", "Limits", "Progress", "ReadOptions", "ScoreOptions", "SearchOptions"]

Edges = Iterable[tuple[str, str] | str]
"""Edges as a user gives them: (parent, child), or "parent->child"."""
Progress = Callable[[str, float], bool | None]
"""Called with the stage and the fraction done; the work stops if it returns False."""

Columns = Literal["discrete", "continuous", "mixed"]
ColumnType = Literal["numeric", "categorical"]
Missing = Literal["error", "drop", "state"]
ScoreName = Literal["auto", "bic", "bdeu", "aic", "gaussian-bic", "bge", "conditional-gaussian-bic"]
Unit = Literal["auto", "classes", "networks"]

DEFAULT_BAYES_FACTOR = 20.0
MAX_STATES = 65_535
"""The most states that a column can have."""
MOST_THREADS = 256
"""More are of no use, and each costs memory; the result is the same."""

_RENAMED = {"continuous": "write columns={'age': 'numeric'}"}
"""Options of earlier versions, and what became of them."""

_SAME_AS = {
    "n_threads": "n_jobs n_workers num_threads nthreads threads cores n_cores cpus jobs workers",
    "forbidden_edges": "blacklist black_list forbidden forbidden_arcs banned_edges not_allowed_edges",
    "required_edges": "whitelist white_list required fixed_edges mandatory_arcs must_have_edges",
    "max_parents": "max_indegree max_in_degree maxp max_number_of_parents parent_limit",
    "score": "scoring scoring_method score_type metric criterion local_score scorer",
    "equivalent_sample_size": "ess iss sample_size imaginary_sample_size",
    "tiers": "temporal_order temporal_tiers layers order ordering",
    "prior": "structure_prior graph_prior",
    "bayes_factor": "bf factor",
    "share": "mass probability coverage credibility posterior_mass cumulative_probability",
    "max_networks": "n_networks max_dags limit n_best",
    "max_classes": "n_classes max_cpdags",
    "time_limit": "timeout max_time max_seconds timelimit seconds",
    "memory_limit": "max_memory memory max_ram",
    "progress": "verbose show_progress progress_bar progressbar debug callback",
    "checkpoint": "resume cache cache_dir checkpoint_dir",
    "executor": "client pool backend",
    "weights": "sample_weight weight count counts freq",
    "interventions": "intervention targets intervention_targets do exp_index INT",
    "missing_values": "na_values na missing_symbol null_values",
    "missing": "na_action dropna handle_missing",
    "discretise": "discretize discretizer bins n_bins",
    "state_names": "states categories levels node_values",
    "columns": "dtypes types variable_types",
    "only": "usecols variables nodes features",
    "drop": "exclude ignore drop_columns",
    "encoding": "charset",
}
_SCORE_NAMES = {name.replace("-", ""): name for name in get_args(ScoreName)} | {
    "bde": "bdeu",
    "bicd": "bic",
    "aicd": "aic",
    "bicg": "gaussian-bic",
    "biccg": "conditional-gaussian-bic",
}
_WORDS_OF_OTHERS = {word: name for name, words in _SAME_AS.items() for word in words.split()}
"""What other packages call our options."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Group:
    """What the groups share: each is a frozen dataclass."""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the group that the keyword arguments of a public function fill; other arguments are left out."""
        return cls(**{name: arguments[name] for name in cls.names() if name in arguments})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]  # a subclass is a dataclass

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: getattr(self, name) for name in self.names()}

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their default."""
        # By text too: a default equals no array, and 100 is not True.
        default = type(self)().as_dict()
        return {
            name: value
            for name, value in self.as_dict().items()
            if (type(value), str(value)) != (type(default[name]), str(default[name]))
        }


@dataclass(frozen=True, eq=False)
class ReadOptions(_Group):
    """How a table is read.

    Parameters
    ----------
    columns : {"discrete", "continuous", "mixed"} or mapping of str to {"numeric", "categorical"}, optional
        ``"discrete"``: the values of each column are categories, even if they look like numbers. ``"continuous"``: each
        column is numeric. ``"mixed"``: the content of a column decides. A mapping says it for some columns. By default
        what the score takes; with the score "auto", the content decides.
    drop : iterable of str, optional
        Columns to leave out.
    only : iterable of str, optional
        The columns to use; all others are left out.
    encoding : str, optional
        The encoding of text files, such as "cp1252"; by default UTF-8, UTF-16 with a byte order mark, or what the bytes
        suggest.
    decimal, thousands : str, optional
        The characters of numbers in text files, such as ``decimal=","``; by default found in each column.
    comment : str, optional
        Lines of a text file that begin with it are left out; by default "#" where the file begins so.
    state_names : mapping of str to list, optional
        The states of a column in order, also those that the data does not show.
    weights : str, optional
        A column that holds the number of rows that each row stands for.
    interventions : str, boolean table, or mapping, optional
        What was set from outside in each row: the column that names it; True or False for each row and variable; or,
        for a label in the index of a DataFrame, the names of the variables.
    missing : {"error", "drop", "state"}
        Refuse missing values, drop the rows that have some, or make "missing" a state.
    missing_values : iterable of str, optional
        Strings that represent a missing value.
    discretise : mapping of str to rule, or a rule, optional
        How to cut numeric columns into intervals.
    max_states : int
        Refuse a discrete column with more distinct values.

    Examples
    --------
    >>> ReadOptions(missing="drop").given()
    {'missing': 'drop'}
    """

    columns: str | Mapping[str, str] | None = None
    drop: Iterable[str] | None = None
    only: Iterable[str] | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    comment: str | None = None
    state_names: Mapping[str, Sequence[object]] | None = None
    weights: str | None = None
    interventions: Any = None
    missing: str = "error"
    missing_values: Iterable[str] | None = None
    discretise: Any = None
    max_states: int = 100

    def __post_init__(self) -> None:
        if isinstance(self.columns, Mapping):
            object.__setattr__(self, "columns", _checked_kinds(self.columns))
        elif self.columns is not None:
            check_choice("columns", self.columns, get_args(Columns))
        if self.missing == "impute":
            raise OptionError(
                "{} completes a table several times, so it has a function of its own: call impute_and_learn in Python, "
                "'credibn impute' in the shell",
                Option("missing", "impute"),
            )
        check_choice("missing", self.missing, get_args(Missing))
        _check_text_options(self)
        is_count = isinstance(self.max_states, int) and not isinstance(self.max_states, bool)
        if not is_count or not 1 <= self.max_states <= MAX_STATES:
            raise OptionError.refusing("max_states", self.max_states, f"give a whole number from 1 to {MAX_STATES:,}")
        for name in ("drop", "only"):
            object.__setattr__(self, name, _names_of(name, getattr(self, name)))
        if self.state_names is not None and not isinstance(self.state_names, Mapping):
            raise OptionError.refusing(
                "state_names", self.state_names, "give a mapping of column name to list of states"
            )
        if self.weights is not None and not isinstance(self.weights, str):
            raise OptionError.refusing("weights", self.weights, "give the name of the column that holds the counts")
        is_table = isinstance(self.interventions, str | Mapping) or np.ndim(self.interventions) == 2
        if self.interventions is not None and not is_table:
            raise OptionError.refusing(
                "interventions",
                self.interventions,
                "give the name of a column, True or False for each row and variable, or a mapping from the labels of "
                "rows to names of variables",
            )
        object.__setattr__(self, "missing_values", checked_texts(self.missing_values))


@dataclass(frozen=True, eq=False)
class ScoreOptions(_Group):
    """How networks are scored, and which are allowed.

    Parameters
    ----------
    score : str or score object
        One of "bic", "bdeu", "aic" (categorical), "gaussian-bic", "bge" (continuous), "conditional-gaussian-bic"
        (both); or an object with the members of `SetScore` or `LocalScore`. By default "auto": the BIC that the kinds
        of the columns call for.
    equivalent_sample_size : float, optional
        For "bdeu", 1 by default.
    forbidden_edges, required_edges : iterable of (parent, child) or "parent->child", optional
    tiers : sequence of groups of names, optional
        Edges may not point from a later tier to an earlier one.
    max_parents : int or mapping of name to int, optional
        The largest number of parents, of all variables or of some; in a mapping, the entry "" is for all others.
    prior : UniformPrior, EdgePenalty or EdgeLogOdds, optional
        Log prior of a structure, added to its score.
    """

    score: Any = "auto"
    equivalent_sample_size: float | None = None
    forbidden_edges: Edges | None = None
    required_edges: Edges | None = None
    tiers: Iterable[Iterable[str]] | None = None
    max_parents: int | Mapping[str, int] | None = None
    prior: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.score, str):
            object.__setattr__(self, "score", score_name(self.score))
        for name in ("forbidden_edges", "required_edges", "tiers"):
            object.__setattr__(self, name, _as_lists(getattr(self, name)))


@dataclass(frozen=True, eq=False)
class SearchOptions(_Group):
    """Which networks are wanted, and how they are searched for.

    Parameters
    ----------
    bayes_factor, epsilon, ratio : float, optional
        Give one of them: how much worse than the best a network may score: epsilon = ln(bayes_factor), by default of a
        factor of 20; with a ratio rho >= 1, a network may cost rho times the optimum.
    share : float, optional
        Instead of these: find the smallest epsilon whose networks hold this share of the posterior probability of all.
    score_equivalent : bool, optional
        For scores of unknown origin: True asserts that Markov equivalent networks score the same.
    unit : {"auto", "classes", "networks"}
        Whether classes are searched for, or networks one by one.
    engine : str
        The search engine, by default chosen by predicted cost; the answer is the same.
    posterior_share : bool, optional
        Whether to compute the share of the posterior of all networks that the set holds; by default if it is predicted
        to take at most ten seconds. With more than 24 variables, True asks for an estimate with its error.

    Examples
    --------
    >>> SearchOptions(bayes_factor=1).gap, SearchOptions(ratio=1.5).gap
    (0.0, None)
    """

    bayes_factor: float | None = None
    epsilon: float | None = None
    ratio: float | None = None
    share: float | None = None
    score_equivalent: bool | None = None
    unit: str = "auto"
    engine: str = "auto"
    posterior_share: bool | None = None

    def __post_init__(self) -> None:
        if self.ratio is None:
            resolve_epsilon(self.bayes_factor, self.epsilon)
        else:
            for name in ("bayes_factor", "epsilon"):
                _refuse_both(Option(name, getattr(self, name)), Option("ratio", self.ratio))
            _factor("ratio", self.ratio)
        if self.share is not None:
            for name in ("bayes_factor", "epsilon", "ratio"):
                _refuse_both(Option(name, getattr(self, name)), Option("share", self.share))
            if not 0 < _number("share", self.share) < 1:
                raise OptionError.refusing("share", self.share, "it must be above 0 and below 1, such as 0.95")
            if self.posterior_share is not None and not self.posterior_share:
                raise OptionError(
                    "{} needs the posterior of all networks; leave out {}", Option("share"), Option("posterior_share")
                )
        check_choice("unit", self.unit, get_args(Unit))
        for name in ("score_equivalent", "posterior_share"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool | np.bool_):
                raise OptionError.refusing(name, value, "it must be True, False or None, which lets credibn decide")

    @property
    def gap(self) -> float | None:
        """Epsilon; None where a ratio or a share was given: the one needs the optimum first, the other the networks."""
        if self.ratio is not None or self.share is not None:
            return None
        return resolve_epsilon(self.bayes_factor, self.epsilon)


@dataclass(frozen=True, eq=False)
class Limits(_Group):
    """What a run may take, and how much of its answer is wanted.

    Parameters
    ----------
    max_networks : int, optional
        Return at most this many networks: complete classes, best first.
    max_classes : int, optional
        Return this many of the best classes, and all that tie with the last.
    time_limit : float, optional
        Seconds for the whole run.
    memory_limit : int or str, optional
        Bytes, or text such as "4G" (GiB).
    n_threads : int, optional
        All cores by default; the result is the same for any number.
    keep_counts : bool
        Whether the result holds the counts of the table that its networks need for prediction.

    Examples
    --------
    >>> Limits(memory_limit="1.5G").max_bytes
    1610612736
    """

    max_networks: int | None = None
    max_classes: int | None = None
    time_limit: float | None = None
    memory_limit: int | str | None = None
    n_threads: int | None = None
    keep_counts: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.keep_counts, bool | np.bool_):
            raise OptionError.refusing("keep_counts", self.keep_counts, "it must be True or False")
        for name in ("max_networks", "max_classes"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else whole_number(name, value, 1))
        resolve_seconds(self.time_limit)
        resolve_bytes(self.memory_limit)
        resolve_threads(self.n_threads)

    @property
    def seconds(self) -> float | None:
        """The time limit as a number; None is no limit."""
        return resolve_seconds(self.time_limit)

    @property
    def max_bytes(self) -> int | None:
        """The memory limit in bytes; None is no limit."""
        return resolve_bytes(self.memory_limit)

    @property
    def threads(self) -> int:
        """The number of threads to use."""
        return resolve_threads(self.n_threads)


def suggesting(function: Callable[_P, _R], instead: Mapping[str, str] | None = None) -> Callable[_P, _R]:
    """Make a function refuse an unknown keyword with the name of the nearest one; its signature stays the same.

    `instead` says what to do for keywords that have a reason not to be there.
    """
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    reasons, renamed = instead or {}, _RENAMED
    error = UnknownOptionError  # a local name: the globals below are those of `function`

    def call(*args: Any, **options: Any) -> Any:
        for name in options:
            if name not in names:
                raise error(function.__name__, name, names, reasons.get(name, renamed.get(name)))
        return function(*args, **options)

    # With the globals of `function`, tools such as doctest find the wrapper where the function is.
    made = FunctionType(call.__code__, function.__globals__, function.__name__, None, call.__closure__)
    return cast("Callable[_P, _R]", functools.update_wrapper(made, function))


class UnknownOptionError(OptionError, TypeError):
    """A keyword that a function does not take; a `TypeError` too, as Python has it."""

    def __init__(self, function: str, name: str, known: Iterable[str], reason: str | None = None) -> None:
        if reason is None:
            known = list(known)
            same = our_word(name)
            close = [same] if same in known else difflib.get_close_matches(name.lower(), known, n=3)
            reason = f"did you mean {' or '.join(close)}?" if close else f"help({function}) lists the options"
        OptionError.__init__(self, "{}() takes no {}: {}", function, Option(name), reason)

    def __reduce__(self) -> Any:
        return OptionError, self.args


def score_name(name: str) -> str:
    """Return our name of a score that may be written as elsewhere: "BDeu", "gaussian_bic", "bic-g".

    Examples
    --------
    >>> score_name("BDeu"), score_name("GaussianBIC"), score_name("k2")
    ('bdeu', 'gaussian-bic', 'k2')
    """
    return str(_SCORE_NAMES.get(re.sub(r"[\s_-]|score$", "", name.lower()), name))


def our_word(name: str) -> str | None:
    """Return the option that another package calls so; None where it is no word of theirs."""
    return _WORDS_OF_OTHERS.get(name.lower())


def check_choice(option: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is none of these words."""
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        raise OptionError.refusing(option, value, f"choose {', '.join(others)} or {last}")


def checked_texts(missing_values: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the texts that stand for a missing value; None leaves the choice to the kind of table."""
    if missing_values is None:
        return None
    is_list = isinstance(missing_values, Iterable) and not isinstance(missing_values, str)
    texts = tuple(missing_values) if is_list else ()
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise OptionError.refusing("missing_values", missing_values, "give a list of strings such as ['NA', '-9']")
    return texts


def resolve_epsilon(bayes_factor: float | None = None, epsilon: float | None = None) -> float:
    """Return epsilon from whichever of the two was given; a Bayes factor of 20 if neither was.

    Examples
    --------
    >>> resolve_epsilon(bayes_factor=1.0), resolve_epsilon(epsilon=2.5)
    (0.0, 2.5)
    """
    _refuse_both(Option("bayes_factor", bayes_factor), Option("epsilon", epsilon))
    if epsilon is not None:
        value = _number("epsilon", epsilon)
        if not 0 <= value < math.inf:
            raise OptionError.refusing("epsilon", epsilon, "it must be 0 or more, and finite")
        return value
    return math.log(_factor("bayes_factor", DEFAULT_BAYES_FACTOR if bayes_factor is None else bayes_factor))


def epsilon_of_ratio(ratio: float, optimal_score: float) -> float:
    """Return (ratio - 1) * OPT, the epsilon of a ratio of costs (Liao et al., equation 1).

    Costs are minus log scores; positive optimal log scores, which densities can have, are refused.
    """
    factor = _factor("ratio", ratio)
    if optimal_score > 0:
        raise OptionError(
            "{} was given, but the optimal log score is {:.6g}, above 0, where a ratio of costs has no meaning; give "
            "{} or {} instead",
            Option("ratio", ratio),
            optimal_score,
            Option("bayes_factor"),
            Option("epsilon"),
        )
    return (factor - 1.0) * -optimal_score + 0.0


def resolve_seconds(time_limit: float | None) -> float | None:
    """Return a time limit in seconds; None is no limit."""
    if time_limit is None:
        return None
    if isinstance(time_limit, bool) or not isinstance(time_limit, int | float | np.number) or not time_limit > 0:
        raise OptionError.refusing("time_limit", time_limit, "it must be a number of seconds above 0")
    return float(time_limit)


def resolve_bytes(memory_limit: int | str | None, unit: str = "B") -> int | None:
    """Return a memory limit in bytes; text without a unit is in `unit`, "B" or "G".

    Examples
    --------
    >>> resolve_bytes("1.5G"), resolve_bytes("200 MB"), resolve_bytes(4096), resolve_bytes("2", unit="G")
    (1610612736, 209715200, 4096, 2147483648)
    """
    if memory_limit is None:
        return None
    value = math.nan
    if isinstance(memory_limit, str):
        match = re.fullmatch(r"\s*(\d*\.?\d*(?:e[+-]?\d+)?)\s*(|B|[KMGT](?:i?B)?)\s*", memory_limit, re.IGNORECASE)
        with suppress(ValueError):
            value = (
                math.nan if match is None else float(match[1]) * 1024 ** "BKMGT".index((match[2] or unit)[0].upper())
            )
    elif isinstance(memory_limit, int | np.integer) and not isinstance(memory_limit, bool):
        value = memory_limit
    if not 1 <= value < 2**63:
        raise OptionError.refusing(
            "memory_limit",
            memory_limit,
            f"give an amount such as '500M' or '4G', where a number alone is in {'bytes' if unit == 'B' else 'GiB'}",
        )
    return int(value)


def resolve_threads(n_threads: int | None) -> int:
    """Return the number of threads: all cores by default, at most `MOST_THREADS`."""
    if n_threads is None:
        n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(n_cores, MOST_THREADS)
    return min(whole_number("n_threads", n_threads, 1), MOST_THREADS)


def _refuse_both(first: Option, second: Option) -> None:
    if first.value is not None and second.value is not None:
        raise OptionError("both {} and {} were given; give one of them", first, second)


def _number(option: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError.refusing(option, value, "give a number") from None


def _factor(option: str, value: object) -> float:
    """Return a factor of at least 1."""
    factor = _number(option, value)
    if not 1 <= factor < math.inf:
        raise OptionError.refusing(
            option, value, "it must be 1 or more, and finite (1 gives only the optimal networks)"
        )
    return factor


def _names_of(option: str, value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    if not all(isinstance(name, str) for name in names):
        raise OptionError.refusing(option, value, "give a list of column names")
    return cast("tuple[str, ...]", names)


def _check_text_options(options: ReadOptions) -> None:
    for name in ("decimal", "thousands", "comment"):
        value = getattr(options, name)
        if value is not None and (not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in '+-"\n'):
            raise OptionError.refusing(name, value, "give one character that is not a letter, digit, sign or quote")
    if options.decimal is not None and options.decimal == options.thousands:
        raise OptionError("{} and {} are the same: give two characters", Option("decimal"), Option("thousands"))
    if options.encoding is not None:
        try:
            codecs.lookup(options.encoding)
        except (LookupError, TypeError):
            rule = "give a name that Python knows, such as 'utf-8', 'cp1252' or 'utf-16'"
            raise OptionError.refusing("encoding", options.encoding, rule) from None


def _checked_kinds(columns: Mapping[Any, Any]) -> dict[str, str]:
    for name, kind in columns.items():
        if not isinstance(name, str) or kind not in get_args(ColumnType):
            rule = Phrase(
                "{!r} is {!r}; give each column as 'numeric' or 'categorical', such as {}",
                name,
                kind,
                Option("columns", {"age": "numeric"}),
            )
            raise OptionError.refusing("columns", columns, rule)
    return dict(columns)


def _as_lists(value: Any) -> Any:
    """Return an iterable of edges or tiers as lists, so that it can be read more than once; the rest as it is."""
    if value is None or isinstance(value, str | Mapping | tuple) or not isinstance(value, Iterable):
        return value
    return [_as_lists(part) for part in value]


NO_OPTIONS = ReadOptions()
"""A table that is read as it is."""
