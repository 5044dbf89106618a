"""Runs one task in a process of its own, and reports its answer, its seconds and its peak memory."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def data_folder() -> Path:
    """The folder of the authors' data sets: CREDIBN_DATA, or else ../shared/data beside the repository."""
    named = os.environ.get("CREDIBN_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        sys.exit(f"no data folder at {folder}: set CREDIBN_DATA to the folder of the authors' data sets")
    return folder


def in_own_process(module: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run `python -m module JSON`; its last line of output is the JSON answer."""
    done = subprocess.run(
        [sys.executable, "-m", module, json.dumps(arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module} {arguments} failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the answer and the seconds."""
    start = time.perf_counter()
    answer = work()
    return answer, time.perf_counter() - start


def cpu_timed(work: Callable[[], Answer]) -> tuple[Answer, float]:
    """Return the answer and the CPU seconds of all threads of this process and of processes that it started."""
    start = _cpu_seconds()
    answer = work()
    return answer, _cpu_seconds() - start


def _cpu_seconds() -> float:
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def peak_memory_mb() -> float:
    """Return the largest resident size of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: ru_maxrss would count the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
