"""Runs one piece of work in a process of its own, and reports its answer, its seconds and its peak memory."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def peak_memory_mb() -> float:
    """Return the largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
