"""How much memory there is for this process: of the machine, of its container, and by its own limits.

A container (a control group of Linux, version 1 or 2) may have far less than the machine, and the system ends a process
that takes more without a word. So everything large is planned against `usable_bytes`, and a `MemoryGuard` is asked
during the run.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from credibn._base.text import byte_text
from credibn.errors import TooLargeError

SHARE = 0.8
"""Of the memory that this process has or could have, the most that it plans to use."""
_LIBRARIES = 128 << 20
"""Bytes for the interpreter and libraries that load on the way: they are not counted against a limit."""
_LEAST_TO_LOAD = 64 << 20
"""Bytes that must be left where DuckDB starts or the libraries for figures load: with less they end the process."""
_LEAST_LEFT = 0.02
"""Of all memory; when less is left, whoever has it, the system is about to end a process."""
_SECONDS_BETWEEN_MEASUREMENTS = 0.1
_BYTES_OF_A_THREAD = 72 << 20
"""Of address space that a thread may reserve: its stack, and 64 MiB for its share of the allocator."""
_NO_THREAD = ("can't start new thread", "Resource temporarily unavailable")
_UNLIMITED = 1 << 60
"""Control groups of version 1 without a limit state a number above this."""
_ROOT = Path("/")


def total_bytes(root: Path = _ROOT) -> float:
    """Return the memory that this process could have if nothing else ran; infinite where the system does not tell."""
    limits = [_physical_bytes(), _address_space()]
    limits += [limit for limit, _ in _control_groups(root)]
    return min(limits)


def available_bytes(root: Path = _ROOT) -> float:
    """Return the memory that can still be had, besides what this process has; infinite where the system does not tell.

    Files that the system keeps in memory count as free, since it gives them up.
    """
    left = [_machine_available(root), _address_space() - _virtual_bytes(root)]
    left += [limit - used for limit, used in _control_groups(root)]
    return max(0.0, min(left))


def resident_bytes(root: Path = _ROOT) -> int:
    """Return the memory that this process has now; 0 where the system does not tell."""
    return _statm(root, 1)


def usable_bytes() -> float:
    """Return how much memory may be planned for, besides what this process has: a share of what can be had."""
    return max(0.0, SHARE * (resident_bytes() + available_bytes()) - resident_bytes())


def room_for_threads(least: int) -> int:
    """Return how many threads the limit on address space allows if `least` bytes must stay free; at least 1."""
    room = SHARE * (_address_space() - _virtual_bytes(_ROOT)) - least
    return max(1, int(min(room, 2.0**60) / _BYTES_OF_A_THREAD))


def limit_and_fix(root: Path = _ROOT) -> str:
    """Return which limit leaves this process the least memory, and how to raise it."""
    limits = [
        (
            _machine_available(root),
            f"the machine has {byte_text(_physical_bytes())}; use a larger one, or end other work",
        ),
        (
            _address_space() - _virtual_bytes(root),
            f"the limit on address space, 'ulimit -v', is {byte_text(_address_space())}; start from a shell "
            "where it is higher, or unlimited",
        ),
    ]
    limits += [
        (limit - used, f"the container, or control group, has {byte_text(limit)}; give it more")
        for limit, used in _control_groups(root)
    ]
    return min(limits)[1]


def need_room_for_libraries() -> None:
    """Refuse to load libraries that would end the process because an allocation fails."""
    left = available_bytes()
    if left < _LEAST_TO_LOAD:
        raise MemoryError(f"{byte_text(left)} is available, but {byte_text(_LEAST_TO_LOAD)} is needed")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error says that memory could not be had.

    Once DuckDB is loaded, a failed allocation in the compiled core arrives as DuckDB's error, which translates
    ``std::bad_alloc`` for all modules.
    """
    is_unloadable = isinstance(error, ImportError) and "failed to map segment" in str(error)  # of a library
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException" or is_unloadable


@contextmanager
def explaining_shortage() -> Iterator[None]:
    """Turn the failure to get memory, or a thread, into a `TooLargeError` that names the limit and what to do."""
    try:
        yield
    except Exception as error:
        is_memory = is_out_of_memory(error)
        is_thread = isinstance(error, RuntimeError) and any(text in str(error) for text in _NO_THREAD)
        if not (is_memory or is_thread):
            raise
        what = "memory" if is_memory else "memory, or room for threads,"
        lines = str(error).splitlines() or [type(error).__name__]
        raise TooLargeError(f"there is not enough {what} for this ({lines[0]}): {limit_and_fix()}") from error


class MemoryGuard:
    """Tells whether the process has taken more memory than it may, or the system is short of it.

    The process may take `max_bytes` more than it has now; by default `usable_bytes`.
    """

    def __init__(self, max_bytes: int | None = None) -> None:
        usable = usable_bytes()
        allowed = usable if max_bytes is None else min(usable, max_bytes + _LIBRARIES)
        self._most = resident_bytes() + allowed
        self._least_left = _LEAST_LEFT * total_bytes()
        self._measured = -math.inf
        self._is_reached = False

    def is_reached(self) -> bool:
        """Whether to stop now; memory is measured a few times per second, however often this is called."""
        now = time.monotonic()
        if now >= self._measured + _SECONDS_BETWEEN_MEASUREMENTS:
            self._measured = now
            self._is_reached = resident_bytes() > self._most or available_bytes() < self._least_left
        return self._is_reached


def _physical_bytes() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def _address_space() -> float:
    """Return the limit that was set on this process (``ulimit -v``)."""
    if sys.platform == "win32":
        return math.inf
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else float(soft)


def _virtual_bytes(root: Path) -> int:
    return _statm(root, 0)


def _statm(root: Path, field: int) -> int:
    try:
        return int((root / "proc/self/statm").read_text().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _machine_available(root: Path) -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return _physical_bytes()


def _control_groups(root: Path) -> Iterator[tuple[float, float]]:
    """Yield the limit and the use of each group that this process is in, from its own up to the outermost."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            yield from _limits_along(root / "sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            files = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _limits_along(root / "sys/fs/cgroup/memory", path, *files)


def _limits_along(
    mount: Path, path: str, limit_file: str, usage_file: str, reclaimable: str
) -> Iterator[tuple[float, float]]:
    # Inside a container the path may name a group of the host that is not visible: then its own is the mount.
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        folder = mount.joinpath(*parts[:depth])
        with suppress(OSError, ValueError):
            limit = float((folder / limit_file).read_text())  # "max" is no number: no limit
            if limit < _UNLIMITED:
                yield limit, max(0.0, float((folder / usage_file).read_text()) - _reclaimable(folder, reclaimable))


def _reclaimable(folder: Path, name: str) -> float:
    """Return the bytes of files that a group keeps in memory and has not used lately."""
    with suppress(OSError, ValueError, IndexError):
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.split()[0] == name:
                return float(line.split()[1])
    return 0.0
