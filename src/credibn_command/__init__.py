"""The script ``credibn``: a package of its own, so that it can answer before anything large is imported.

That is Ctrl-C, and a limit on address space (``ulimit -v``) in which the libraries cannot be loaded.
"""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 130
_MESSAGE = "stopped; nothing was written\n"
_WRONG_USAGE = 2
_LEAST_MEBIBYTES = 448
"""Of address space: with less, libraries cannot be loaded or nothing can be read, and some end the process."""


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it with status 130, and what was found is kept where possible."""
    heeded = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    ]
    for number in heeded:
        signal.signal(number, _leave)
    try:
        run = _load()
        for number in heeded:
            signal.signal(number, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.stderr.write(_MESSAGE)
        sys.exit(_INTERRUPTED)
    finally:  # all is done: a late signal has nothing to say
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _load() -> Callable[[], None]:
    """Import the command line, or say which limit is in the way."""
    limit = _address_space()
    try:
        if limit is not None and limit < _LEAST_MEBIBYTES << 20:
            raise MemoryError
        from credibn.cli import main as run
    except (ImportError, MemoryError, OSError, SystemError):
        if limit is None:
            raise
        sys.stderr.write(
            f"error: the limit on address space, 'ulimit -v', is {limit >> 20} MiB, too little to load credibn's "
            f"libraries: {_LEAST_MEBIBYTES} MiB are needed, and about 40 for each core above two; start from a shell "
            "where it is higher, or unlimited\n"
        )
        sys.exit(_WRONG_USAGE)
    return run


def _address_space() -> int | None:
    """Return the limit in bytes; None where there is none."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _leave(number: int, frame: FrameType | None) -> None:
    # Modules that are half imported may turn an exception into another one; nothing is open yet that wants closing.
    os.write(sys.stderr.fileno(), _MESSAGE.encode())
    os._exit(_INTERRUPTED)
