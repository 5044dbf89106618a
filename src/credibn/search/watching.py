"""What may end a stage before its time: a time limit, a caller who says stop, Ctrl-C."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from credibn.search.problem import Tally

__all__ = ["Watch"]


class Watch:
    """Passes progress on, and says whether to go on; `reason` tells why not.

    Parameters
    ----------
    progress : callable, optional
        Called with the stage and the fraction done; the work stops if it returns False. If it has a method ``tally``,
        that is called before with the `Tally` of a search.
    time_limit : float, optional
        Seconds from now.

    Examples
    --------
    >>> watch = Watch(time_limit=0.0)
    >>> watch("search", 0.5), watch.reason
    (False, 'time_limit')
    """

    def __init__(
        self, progress: Callable[[str, float], bool | None] | None = None, time_limit: float | None = None
    ) -> None:
        self.reason: str | None = None
        self._progress = progress
        self._count: Callable[[], Tally] | None = None
        self._tell: Callable[[Tally], None] | None = getattr(progress, "tally", None)
        self._deadline = None if time_limit is None else time.monotonic() + time_limit

    def follow(self, count: Callable[[], Tally] | None) -> None:
        """Take note of how to count what the search at hand has found so far; None once it is over."""
        self._count = count

    def seconds_left(self) -> float | None:
        """Return how long the work may go on; None without a limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def __call__(self, stage: str, fraction: float) -> bool:
        """Report progress, and return whether to go on."""
        try:
            if self.reason is None and self._tell is not None and self._count is not None:
                self._tell(self._count())
            if self.reason is None and self._progress is not None and self._progress(stage, fraction) is False:
                self.reason = "interrupted"
        except KeyboardInterrupt:
            self.reason = "interrupted"
        if self.reason is None and self._deadline is not None and time.monotonic() >= self._deadline:
            self.reason = "time_limit"
        return self.reason is None

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Let the first Ctrl-C end the work in good order, so that what was found is kept; the second is not held."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self.reason is not None:
                raise KeyboardInterrupt
            self.reason = "interrupted"

        in_charge = threading.current_thread() is threading.main_thread()
        if not in_charge or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield  # somebody else decides what Ctrl-C means
            return
        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
