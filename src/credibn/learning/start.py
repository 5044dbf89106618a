"""Where a call of `learn` or of its kin begins: one `Run` for all stages, the table read, the scores opened.

The public functions and the command line start here alike. The run reads, scores, searches and saves checkpoints; its
deadline counts from the beginning.
"""

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from credibn._base.checks import whole_number
from credibn._run import Run
from credibn._run.memory import explaining_shortage
from credibn._run.progress import watching
from credibn.errors import Option, OptionError, Phrase, TooLargeError, warn
from credibn.learning.estimated_share import refuse_pruned
from credibn.learning.score_source import ScoreSource, open_source
from credibn.options import Limits, Progress, ReadOptions, ScoreOptions, SearchOptions
from credibn.posterior import MOST_VARIABLES
from credibn.scores import LocalScore, SetScore
from credibn.scores.setup import score_for
from credibn.search import FACTORED, check_engine_name

Kind = Literal["networks", "classes"]
"""What the k best are."""
_SECONDS_TO_WRITE, _MOST_TO_WRITE = 1.0, 0.2
"""To write the files of a small result, and the largest share of a short limit that is reserved for it."""
_SECONDS_PER_ROW = 1e-6
"""To write a class to a file, to weigh it and to draw the curve of all: measured with two million of 20 variables."""
_SECONDS_BY_DEFAULT = 30.0
"""For a run without any limit, where not all parent sets can be scored: few such searches come to an end."""


class UnknownShareError(TooLargeError):
    """A share of a sum that cannot be computed was asked for; `instead` is what to give then."""

    def __init__(self, n_searched: int, instead: Phrase) -> None:
        super().__init__(
            "{} is known only where the sum over all networks is, which takes 3^n steps: up to {} variables, and here "
            "{} can have edges; choose {} of them with {}, or {}",
            Option("share"),
            MOST_VARIABLES,
            n_searched,
            MOST_VARIABLES,
            Option("only"),
            instead,
        )
        self.n_searched, self.instead = n_searched, instead

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.n_searched, self.instead)


@dataclass(frozen=True, eq=False)
class Learning:
    """What stays the same from the first to the last search of one call."""

    run: Run
    source: ScoreSource
    settings: dict[str, Any]
    search: SearchOptions
    limits: Limits
    k_best: tuple[int, Kind] | None

    @property
    def summary(self) -> str | None:
        """What was read, and how it is scored, in one line; None where scores were given."""
        data = self.source.data
        return None if data is None else f"{data.reading}; score {score_for(self.settings['score'], data)}"

    @property
    def is_resuming(self) -> bool:
        """Whether there are checkpoints of an earlier run."""
        return self.run.store is not None and self.run.store.is_resuming

    def seconds_to_write(self) -> float | None:
        """Return the rest of the time limit, with the part that the search leaves for files."""
        return self.run.seconds_to_write()

    def keep_checkpoint(self) -> None:
        """Keep the checkpoint although the run is finished: its result could not be written."""
        self.run.can_resume = True


@contextmanager
def start(
    data: Any,
    scores: Any,
    reading: ReadOptions,
    scoring: ScoreOptions,
    search: SearchOptions,
    limits: Limits,
    *,
    k_best: tuple[int, Kind] | None = None,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    began: float | None = None,
    writes_files: bool = False,
    limits_parents: bool = True,
) -> Iterator[Learning]:
    """Read the table or the scores, and yield what the search needs; afterwards the checkpoint is closed or removed.

    `k_best` asks for this many networks or classes, however far they reach. The time limit counts from `began`, a time
    of `time.monotonic`, by default from here; `writes_files` leaves some of it for files. With
    `limits_parents`, a limit is set where nobody did and all parent sets are too many.
    """
    check_engine_name(search.engine)
    if search.engine == FACTORED:
        _refuse_quotas(limits, k_best)
    if k_best is not None:
        k_best = whole_number("k", k_best[0], 1), k_best[1]
    seconds = limits.seconds
    with watching(progress) as shown, explaining_shortage():
        run = Run(shown, seconds, limits.max_bytes, limits.threads, executor, began=began)
        if writes_files:
            run.leave_to_write(min(_SECONDS_TO_WRITE, _MOST_TO_WRITE * (seconds or 0.0)), _SECONDS_PER_ROW)
        source = open_source(data, scores, reading, scoring, run)
        if search.share is not None:
            _refuse_share(source, limits)
        if search.posterior_share and source.n_searched() > MOST_VARIABLES:
            refuse_pruned(source)  # before the search
        if limits_parents and scoring.max_parents is None:
            scoring, limits = _limited(source, scoring, limits, run)
        # Of a path only the record of reading names the file: a result is the same wherever its table is.
        given = {"data": source.data if isinstance(data, str | PathLike) else data, "scores": scores}
        given |= _echoed(reading, scoring, search, limits, k_best)
        settings = {name: as_json(value) for name, value in given.items()}
        with run.saving_to(checkpoint):
            yield Learning(run, source, settings, search, limits, k_best)


def started(
    arguments: Mapping[str, Any], k_best: tuple[int, Kind] | None = None, limits_parents: bool = True
) -> AbstractContextManager[Learning]:
    """Start with the arguments of a public function, as `locals` has them."""
    return start(
        arguments["data"],
        arguments["scores"],
        ReadOptions.of(arguments),
        ScoreOptions.of(arguments),
        SearchOptions.of(arguments),
        Limits.of(arguments),
        k_best=k_best,
        executor=arguments["executor"],
        checkpoint=arguments.get("checkpoint"),
        progress=arguments["progress"],
        limits_parents=limits_parents,
    )


def _limited(source: ScoreSource, scoring: ScoreOptions, limits: Limits, run: Run) -> tuple[ScoreOptions, Limits]:
    """Limit the parents, and the time, where nobody did and all parent sets are too many; return the options used."""
    most = source.limit_parents()
    if most is None:
        return scoring, limits
    used = Phrase("{}", Option("max_parents", most))
    if run.time_limit is None:
        run.end_after(_SECONDS_BY_DEFAULT)
        limits = replace(limits, time_limit=_SECONDS_BY_DEFAULT)
        used = Phrase("{} and {}", used, Option("time_limit", round(_SECONDS_BY_DEFAULT)))
    warn(
        "{} columns have too many parent sets to score them all: this run uses {}; set {} to choose another limit",
        source.n_searched(),
        used,
        Option("max_parents"),
    )
    return replace(scoring, max_parents=most), limits


def _refuse_quotas(limits: Limits, k_best: tuple[int, Kind] | None) -> None:
    """Refuse what only a list can have: the best of its networks."""
    asked = {"max_networks": limits.max_networks, "max_classes": limits.max_classes, "k": k_best and k_best[0]}
    for name, value in asked.items():
        if value is not None:
            raise OptionError(
                "{} counts networks and lists none, so {} has no effect; leave it out, or use {}",
                Option("engine", FACTORED),
                Option(name),
                Option("engine", "auto"),
            )


def _refuse_share(source: ScoreSource, limits: Limits) -> None:
    """Refuse a share of a sum that cannot be computed, and quotas that would decide instead."""
    for name in ("max_networks", "max_classes"):
        if getattr(limits, name) is not None:
            raise OptionError("both {} and {} were given; give one of them", Option("share"), Option(name))
    n_searched = source.n_searched()
    if n_searched > MOST_VARIABLES:
        raise UnknownShareError(
            n_searched,
            Phrase(
                "give {} with {}: it estimates the share of that set, and the epsilon that holds 95 %",
                Option("bayes_factor"),
                Option("posterior_share", True),
            ),
        )


def _echoed(
    reading: ReadOptions, scoring: ScoreOptions, search: SearchOptions, limits: Limits, k_best: tuple[int, Kind] | None
) -> dict[str, Any]:
    """Return the options that a result names; those of reading only where they were given."""
    wanted = search.as_dict()
    gap = {name: wanted.pop(name) for name in ("bayes_factor", "epsilon", "ratio", "share")}
    asked = gap if k_best is None else {"k": k_best[0], "k_best": k_best[1]}
    allowed = {name: value for name, value in limits.as_dict().items() if name not in ("n_threads", "keep_counts")}
    if not limits.keep_counts:
        allowed["keep_counts"] = False
    return {**asked, **scoring.as_dict(), **wanted, **allowed, **reading.given()}


def as_json(value: Any) -> Any:
    """Return an option as JSON can hold it; objects by their name and settings, or by their type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(part) for part in value]
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, (SetScore, LocalScore)):
        return {"score": value.name, **value.settings()}
    return type(value).__name__
