"""The script ``credibn``: a package of its own, so that Ctrl-C is in good hands before anything large is imported."""

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

from credibn_command.streams import NOT_WRITTEN, guard_streams, why_not_written

__all__ = ["main", "start_time"]

_LIMIT_REACHED, _INTERRUPTED = 3, 130
_MESSAGE = "stopped; nothing was written\n"
_began: float | None = None


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it with status 130, and what was found is kept where possible."""
    global _began
    _began = time.perf_counter()
    guard_streams()
    heeded = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    ]
    for number in heeded:
        signal.signal(number, _leave)
    try:
        from credibn.cli import main as run

        for number in heeded:
            signal.signal(number, signal.default_int_handler)
        run()
    except SystemExit as end:
        if end.code in (None, 0, _LIMIT_REACHED) and (reason := why_not_written()) is not None:
            sys.stderr.write(f"error: standard output cannot be written ({reason}); redirect it to a writable file\n")
            sys.exit(NOT_WRITTEN)
        raise
    except KeyboardInterrupt:
        sys.stderr.write(_MESSAGE)
        sys.exit(_INTERRUPTED)
    finally:  # all is done: a late signal has nothing to say
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def start_time() -> float:
    """Return when the script began, by `time.perf_counter`: its imports count too. Now, where there is no script."""
    return time.perf_counter() if _began is None else _began


def _leave(number: int, frame: FrameType | None) -> None:
    # Modules that are half imported may turn an exception into another one; nothing is open yet that wants closing.
    with suppress(OSError):
        os.write(sys.stderr.fileno(), _MESSAGE.encode())
    os._exit(_INTERRUPTED)
