"""The script ``credibn``: a package of its own, so that it can answer before anything large is imported.

That is Ctrl-C, and a limit on address space (``ulimit -v``) in which the libraries cannot be loaded.
"""

import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from credibn_command.streams import NOT_WRITTEN, guard_streams, why_not_written

__all__ = ["main", "start_time"]

_LIMIT_REACHED, _INTERRUPTED = 3, 130
_MESSAGE = "stopped; nothing was written\n"
_began: float | None = None
_WRONG_USAGE = 2
_LEAST_MEBIBYTES = 448
"""Of address space: with less, libraries cannot be loaded or nothing can be read, and some end the process."""
_BLAS_TIMEOUT = "20"
"""Each thread of NumPy's OpenBLAS waits busily for 2 to this power cycles before it sleeps; by default 2**26, 25 ms."""


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it with status 130, and save what was found where possible."""
    global _began
    _began = time.monotonic()
    # Python would look for garbage once more, among all that was imported. It still does as it unloads the modules;
    # gc.freeze would prevent that too, but then nanobind reports the objects in DuckDB's cycles as leaks.
    atexit.register(gc.disable)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _BLAS_TIMEOUT)
    guard_streams()
    handled = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    ]
    for number in handled:
        signal.signal(number, _leave)
    try:
        run = _load()
        for number in handled:
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
    finally:  # all is done: a late signal changes nothing
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def start_time() -> float:
    """Return when the script began, by `time.monotonic`: its imports count too. Now, where there is no script."""
    return time.monotonic() if _began is None else _began


def _load() -> Callable[[], None]:
    """Import the command line, or say which limit is in the way."""
    limit = _address_space()
    try:
        if limit is not None and limit < _LEAST_MEBIBYTES << 20:
            raise MemoryError
        from credibn.cli.app import main as run
    except (ImportError, MemoryError, OSError, SystemError):
        if limit is None:
            raise
        sys.stderr.write(
            f"error: the limit on address space, 'ulimit -v', is {limit >> 20} MiB, too little to load credibn's "
            f"libraries: they need at least {_LEAST_MEBIBYTES} MiB, and small tables about 1 GiB, with 40 MiB more for "
            "each core above two; start from a shell where it is higher, or unlimited\n"
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
    with suppress(OSError):
        os.write(sys.stderr.fileno(), _MESSAGE.encode())
    os._exit(_INTERRUPTED)
