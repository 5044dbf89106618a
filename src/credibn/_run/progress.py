"""A progress bar on standard error, for the command line and for whoever asks for one in Python."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import IO, TYPE_CHECKING

from credibn._base.text import duration_text
from credibn._run.tally import Tally
from credibn.errors import OptionError
from credibn.options import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

STAGE_TITLES = {
    "small": "scoring small parent sets",
    "score": "scoring",
    "improving": "looking for a good network",
    "relaxation": "bounding",
    "enumeration": "listing networks",
    "counting": "counting networks",
    "branches": "searching branches",
    "sorting": "putting them in order",
    "grouping": "grouping them by class",
    "posterior": "summing over all networks",
    "impute": "filling gaps and learning",
}
"""How a progress bar calls the stages."""
_SECONDS_BEFORE_BAR, _SECONDS_UNASKED = 0.5, 2.0
"""How long the work takes before a bar appears: where a bar is wanted, and where nobody said anything."""


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal; it may be closed, and is None where the process began without one."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def is_notebook() -> bool:
    """Whether this is the process of a Jupyter notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def stage_bars(
    titles: Mapping[str, str] = STAGE_TITLES, seconds: float = _SECONDS_BEFORE_BAR
) -> Iterator[StageBar | None]:
    """Yield what shows a stage, its fraction done and what was found so far; None where nobody is watching.

    Somebody watches a terminal or a notebook. A stage that has no title is shown by its own name. The bar appears when
    the work has taken some seconds.
    """
    if not (is_terminal(sys.stderr) or is_notebook()):
        yield None
        return
    bar = StageBar(titles, seconds)
    try:
        yield bar
    finally:
        bar.stop()


@contextmanager
def watching(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Yield what the option `progress` asks for: a function as it is, a bar for True and by default, for False none."""
    if progress is False:
        yield None
    elif progress is None or progress is True:
        with stage_bars(seconds=_SECONDS_BEFORE_BAR if progress else _SECONDS_UNASKED) as bar:
            yield bar
    elif callable(progress):
        yield progress
    else:
        raise OptionError.refusing(
            "progress", progress, "give True, False, or a function of the stage and the fraction"
        )


class StageBar:
    """A line on standard error, drawn only once the work takes long, and erased at the end."""

    def __init__(self, titles: Mapping[str, str], seconds: float = _SECONDS_BEFORE_BAR) -> None:
        self._bar: RichProgress | None = None
        self._titles = titles
        self._begins = time.monotonic() + seconds
        self._found = ""
        self._expected: dict[str, str] = {}

    def __call__(self, stage: str, fraction: float) -> None:
        """Show how far a stage is."""
        if self._bar is None and time.monotonic() > self._begins:
            self._bar = _new_bar()
        if self._bar is None:
            return
        (task,) = self._bar.tasks
        task.finished_time = None  # the time shown is that of the whole run: it does not stop with a stage
        task.total = 1.0 if fraction > 0.0 else None  # where the length is not known, the bar moves without a share
        title = self._titles.get(stage, stage) + self._expected.get(stage, "")
        self._bar.update(task.id, description=title, completed=fraction, found=self._found)
        self._found = ""

    def tally(self, tally: Tally) -> None:
        """Show what the search has found so far, with the next call."""
        self._found = tally_text(tally)

    def expect(self, stage: str, seconds: float) -> None:
        """Show how long a stage should take, beside its title."""
        self._expected[stage] = f" (about {duration_text(seconds)})"

    def stop(self) -> None:
        """Erase the line."""
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> RichProgress:
    from rich.console import Console  # only those who see a bar wait for it
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # On a narrow terminal the bar becomes shorter, and the numbers do not.
    share = TaskProgressColumn(table_column=Column(no_wrap=True, min_width=4))
    elapsed = TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7))
    parts = (TextColumn("{task.description}"), BarColumn(None), share, elapsed)
    bar = Progress(*parts, TextColumn("{task.fields[found]}"), console=Console(stderr=True), transient=True)
    bar.add_task("", total=1.0, found="")
    bar.start()
    return bar


def tally_text(tally: Tally) -> str:
    """Return what a search has found so far, such as '1,200 classes, best -2,295.75, bound -2,295.50, gap 0.25'."""
    parts = [f"{tally.n_found:,} {tally.unit}"] if tally.n_found else []
    scores = {"best": tally.best_score, "bound": tally.bound}
    parts += [f"{name} {score:,.2f}" for name, score in scores.items() if isfinite(score)]
    gap = tally.bound - tally.best_score
    parts += [f"gap {max(0.0, gap):,.2f}"] if isfinite(gap) else []
    return ", ".join(parts)
