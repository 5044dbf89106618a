"""A progress bar on standard error, for the command line and for whoever asks for one in Python."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import IO

from credibn._base.text import duration_text
from credibn._run.tally import Tally

STAGE_TITLES = {
    "small": "scoring small parent sets",
    "score": "scoring",
    "improving": "looking for a good network",
    "relaxation": "bounding",
    "enumeration": "listing networks",
    "branches": "searching branches",
    "sorting": "putting them in order",
    "grouping": "grouping them by class",
    "posterior": "summing over all networks",
}
"""How a progress bar calls the stages."""
_SECONDS_BEFORE_BAR = 0.5


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal; it may be closed, and is None where the process began without one."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


@contextmanager
def stage_bars(titles: Mapping[str, str] = STAGE_TITLES) -> Iterator[StageBar | None]:
    """Yield what shows a stage, its fraction done and what was found so far; None where nobody is watching.

    Somebody watches a terminal or a notebook. A stage that has no title is shown by its own name.
    """
    from rich.console import Console  # only those who want a bar wait for it

    if not (is_terminal(sys.stderr) or Console(stderr=True).is_jupyter):
        yield None
        return
    bar = StageBar(titles)
    try:
        yield bar
    finally:
        bar.stop()


class StageBar:
    """A line on standard error, drawn only once the work takes long, and erased at the end."""

    def __init__(self, titles: Mapping[str, str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        parts = (TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn(), TimeElapsedColumn())
        found = TextColumn("{task.fields[found]}")
        self._bar = Progress(*parts, found, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=1.0, found="")
        self._titles = titles
        self._started = time.monotonic()
        self._stage: str | None = None
        self._found = ""
        self._expected: dict[str, str] = {}

    def __call__(self, stage: str, fraction: float) -> None:
        """Show how far a stage is."""
        if not self._bar.live.is_started and time.monotonic() - self._started > _SECONDS_BEFORE_BAR:
            self._bar.start()
        if stage != self._stage:
            title = self._titles.get(stage, stage) + self._expected.get(stage, "")
            self._bar.reset(self._task, description=title)
            self._stage = stage
        self._bar.update(self._task, completed=fraction, found=self._found)
        self._found = ""

    def tally(self, tally: Tally) -> None:
        """Show what the search has found so far, with the next call."""
        self._found = tally_text(tally)

    def expect(self, stage: str, seconds: float) -> None:
        """Show how long a stage should take, beside its title."""
        self._expected[stage] = f" (about {duration_text(seconds)})"

    def stop(self) -> None:
        """Erase the line."""
        if self._bar.live.is_started:
            self._bar.stop()


def tally_text(tally: Tally) -> str:
    """Return what a search has found so far, such as '1,200 classes, best -2,295.75, bound -2,295.50'."""
    parts = [f"{tally.n_found:,} {tally.unit}"] if tally.n_found else []
    scores = {"best": tally.best_score, "bound": tally.bound}
    parts += [f"{name} {score:,.2f}" for name, score in scores.items() if isfinite(score)]
    return ", ".join(parts)
