"""What an experiment is: tasks, each with an answer that is recorded, and a table that is made of the answers."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from credibn.errors import CredibnError, CredibnWarning, TimeLimitError
from paper.results import ResultTable
from paper.sources import Need, Sources

if TYPE_CHECKING:  # matplotlib takes a while to import
    from matplotlib.figure import Figure

Answer = dict[str, Any]
"""JSON. ``complete`` says whether it is exact; where it is not, ``stopped_because`` and ``message`` say why."""
Progress = Callable[[str, float], bool | None]
"""As for `credibn.learn`: called with a stage and the fraction done."""


@dataclass(frozen=True)
class Samples:
    """Which samples of known networks to draw: their sizes, and how many of each."""

    sizes: tuple[int, ...] = (50, 100, 500, 1000)
    number: int = 10


@dataclass(frozen=True)
class Task(ABC):
    """One unit of work: one number of a table, or a few that come from one search.

    Tasks are frozen dataclasses, so that they can be keys of a mapping and arguments of any executor.
    """

    name: str
    """The data set or network."""
    folder: ClassVar[str]
    """Where its record is, below the folder of records."""
    need: ClassVar[Need] = "data"

    @property
    def key(self) -> str:
        """The path of its record."""
        return f"{self.folder}/{'-'.join(str(field) for field in astuple(self) if field is not None)}"

    @property
    def label(self) -> str:
        """What it is, for people."""
        settings = [f"{name.replace('_', ' ')} {value}" for name, value in asdict(self).items() if value is not None]
        return f"{self.folder}: {', '.join(settings).removeprefix('name ')}"

    @abstractmethod
    def compute(self, source: Any, deadline: float | None, progress: Progress | None) -> Answer:
        """Return the answer from the data set or network, where possible before the deadline, a monotonic time."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: what is computed, and how it is shown.

    Attributes
    ----------
    tasks : callable
        Gives the tasks, in the paper's order.
    table : callable
        Makes the table from the answers there are; those to other experiments are ignored.
    plot : callable, optional
        Draws the table, with `caption` below.
    recorded : callable, optional
        Gives the tasks that have a record in a folder, where these may be others than `tasks` gives by default.
    """

    name: str
    tasks: Callable[[Samples], Sequence[Task]]
    table: Callable[[Mapping[Task, Answer]], ResultTable]
    plot: Callable[[ResultTable], Figure] | None = None
    caption: str = ""
    recorded: Callable[[Path], Sequence[Task]] | None = None


def compute(task: Task, sources: Sources, time_limit: float | None = None, progress: Progress | None = None) -> Answer:
    """Return the answer of a task; its time limit is for scoring and search, not for reading."""

    def work() -> Answer:
        source = sources.read(task.name, task.need)
        return task.compute(source, None if time_limit is None else time.monotonic() + time_limit, progress)

    with warnings.catch_warnings():
        # A sample may well miss a state, and files of networks round their probabilities: neither is news here.
        warnings.simplefilter("ignore", CredibnWarning)
        return attempt(work)


def attempt(work: Callable[[], Answer]) -> Answer:
    """Return an answer; where credibn refuses the work, an answer that says why."""
    try:
        return work()
    except TimeLimitError as error:
        reason, message = "time_limit", str(error)
    except MemoryError as error:
        reason, message = "memory_limit", f"out of memory ({error})"
    except CredibnError as error:
        reason, message = "refused", str(error)
    return {"complete": False, "stopped_because": reason, "message": message}
