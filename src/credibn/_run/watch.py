"""What may end a stage before its time: a time limit, too much memory, a caller who says stop, Ctrl-C, SIGTERM."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from credibn._run.memory import MemoryGuard
from credibn._run.tally import FINISHING, Tally

__all__ = ["Watch"]

_GRACE = 0.5
"""Seconds that putting what was found in order may take, each of its stages, however late it is."""
_SECONDS_BETWEEN_LOOKS = 0.5
_FEWEST_PROCESSORS = 0.1


class Watch:
    """Passes progress on, and says whether to go on; `reason` tells why not.

    What is found must be put in order (the stages `FINISHING`), so a search is told to stop so much before the time
    limit that the predicted time for this is left. Where it takes longer, or after Ctrl-C, it is allowed a moment, and
    then only the best part is kept.

    Parameters
    ----------
    progress : callable, optional
        Called with the stage and the fraction done; the work stops if it returns False. If it has a method ``tally``,
        that is called before with the `Tally` of a search.
    time_limit : float, optional
        Seconds from now.
    max_bytes : int, optional
        How much memory the process may take besides what it has; by default most of what can be had.
    seconds_per_row : float
        What the caller needs within the limit, after the search, for each row found: to write it, for instance.
    clock, processor_clock : callable
        Give seconds, and the seconds that all threads have spent.

    Examples
    --------
    >>> watch = Watch(time_limit=0.0)
    >>> watch("search", 0.5), watch.reason
    (False, 'time_limit')
    """

    def __init__(
        self,
        progress: Callable[[str, float], bool | None] | None = None,
        time_limit: float | None = None,
        max_bytes: int | None = None,
        seconds_per_row: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        processor_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.reason: str | None = None
        self._progress = progress
        self._count: Callable[[], Tally] | None = None
        self._tell: Callable[[Tally], None] | None = getattr(progress, "tally", None)
        self._clock, self._processor_clock = clock, processor_clock
        self._processors, self._looked = 1.0, (clock(), processor_clock())
        self._deadline = None if time_limit is None else clock() + time_limit
        self._guard = MemoryGuard(max_bytes)
        self._seconds_per_row = seconds_per_row
        self._struck_at = self._began_at = clock()
        self._finishing: str | None = None

    @property
    def deadline(self) -> float | None:
        """When the time limit strikes, by the clock."""
        return self._deadline

    def follow(self, count: Callable[[], Tally] | None) -> None:
        """Take note of how to count what the search at hand has found so far; None once it is over."""
        self._count = count

    def seconds_left(self) -> float | None:
        """Return how long the work may go on; None without a limit."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    def end_time(self) -> None:
        """Take note that a worker has stopped at its own deadline: the time limit is reached."""
        self._strike("time_limit")

    def __call__(self, stage: str, fraction: float) -> bool:
        """Report progress, and return whether to go on."""
        try:
            is_told = self.reason is None and self._tell is not None
            tally = self._count() if self._count is not None and (is_told or self._deadline is not None) else None
            if is_told and self._tell is not None and tally is not None:
                self._tell(tally)
            if self.reason is None and self._progress is not None and self._progress(stage, fraction) is False:
                self._strike("interrupted")
        except KeyboardInterrupt:
            self._strike("interrupted")
        if stage in FINISHING:
            return self._may_finish(stage)
        self._finishing = None
        if self._deadline is not None and self._clock() >= self._deadline - self._seconds_after(tally):
            self._strike("time_limit")
        if self.reason is None and self._guard.is_struck():
            self._strike("memory_limit")
        return self.reason is None

    def _strike(self, reason: str) -> None:
        if self.reason is None:
            self.reason, self._struck_at = reason, self._clock()

    def _seconds_after(self, tally: Tally | None) -> float:
        """Return how long it takes to put in order and to deliver what is found so far."""
        if tally is None:
            return 0.0
        return tally.seconds_to_finish / self._processors_lately() + tally.n_found * self._seconds_per_row

    def _processors_lately(self) -> float:
        """Return how many processors the work has had lately: others may want them too."""
        now, spent = self._clock(), self._processor_clock()
        seconds = now - self._looked[0]
        if seconds >= _SECONDS_BETWEEN_LOOKS:
            self._processors = max((spent - self._looked[1]) / seconds, _FEWEST_PROCESSORS)
            self._looked = now, spent
        return self._processors

    def _may_finish(self, stage: str) -> bool:
        now = self._clock()
        if stage != self._finishing:
            self._finishing, self._began_at = stage, now
        if self.reason == "interrupted":
            return now < max(self._began_at, self._struck_at) + _GRACE
        if self._deadline is None or now < max(self._deadline, self._began_at + _GRACE):
            return True
        self._strike("time_limit")
        return False

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Let the first Ctrl-C or SIGTERM end the work in good order, so that what was found is kept.

        The second is not held. Only in the main thread, and only where nobody else decides what the signal means.
        """

        def stop(number: int, frame: FrameType | None) -> None:
            if self.reason is not None:
                raise KeyboardInterrupt
            self._strike("interrupted")

        before = {}
        if threading.current_thread() is threading.main_thread():
            ours = (signal.SIG_DFL, signal.default_int_handler)
            before = {
                number: handler
                for number in (signal.SIGINT, signal.SIGTERM)
                if (handler := signal.getsignal(number)) in ours
            }
        for number in before:
            signal.signal(number, stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
