"""Runs a command again and again, killed each time at some moment, until it comes to its end.

As a program: ``python killing.py SEED N_LATE WHOLE KILLED ARGUMENT...`` runs ``credibn ARGUMENT... --out WHOLE`` to its
end, then ``credibn ARGUMENT... --out KILLED`` in forked processes that are killed within about the time of the first
run, until one comes to its end. After that, N_LATE runs are killed in what should be their last 200 ms: a copy of what
the last kill left, KILLED-1 and so on, is first resumed to its end, which tells how long that takes. As times vary,
every other one is killed when it has just written its last file. Prints as JSON how many were killed, how many of them
late, and what the kills had left behind. No thread is started before the first fork.
"""

import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from credibn.cli.app import main as credibn

for name in ("matplotlib.backends.backend_svg", "networkx", "pandas", "pyscipopt"):
    importlib.import_module(name)  # not in each run: the kills should come while it works, not while it imports

LATE = 0.2
"""Seconds before the expected end."""
LAST_FILES = {"report.html", "index.html"}
"""Written by a run before it removes its checkpoint and ends."""


def start(arguments: list[str]) -> int:
    """Run a command in a forked process, and return its number; ``paper ARGUMENT...`` is ``python -m paper ...``."""
    name, command = "credibn", credibn
    if arguments[0] == "paper":
        from paper.cli import main as command  # imported once, before the fork

        name, *arguments = arguments
    child = os.fork()
    if child:
        return child
    sys.argv = [name, *arguments]
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    try:
        command()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    os._exit(0)


def run(arguments: list[str], folder: Path) -> float:
    """Run a command to its end, and return the seconds that it took."""
    began = time.monotonic()
    _, state = os.waitpid(start([*arguments, "--out", str(folder)]), 0)
    status = os.waitstatus_to_exitcode(state)
    if status:
        sys.exit(f"{arguments} ended with status {status}")
    return time.monotonic() - began


def killed_after(seconds: float, arguments: list[str], folder: Path, *, awaits_last: bool = False) -> bool:
    """Run a command, and return whether it was killed before it came to its end.

    The seconds count from its start, or from the moment when its last file is seen.
    """
    began, until = time.time(), time.monotonic() + seconds
    child = start([*arguments, "--out", str(folder)])
    while awaits_last or time.monotonic() < until:
        if awaits_last and LAST_FILES & written(folder, began):
            awaits_last, until = False, time.monotonic() + seconds
        pid, state = os.waitpid(child, os.WNOHANG)
        if pid:
            status = os.waitstatus_to_exitcode(state)
            if status:
                sys.exit(f"{arguments} ended with status {status} after a kill")
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def written(folder: Path, began: float) -> set[str]:
    """The names of the files that are newer than this, while a run may be at work."""
    names = set()
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                if os.stat(os.path.join(place, name)).st_mtime >= began:
                    names.add(name)
    return names


def left_behind(folder: Path, began: float) -> str:
    """What a killed run had written since it began: the phase in which the kill came."""
    new = written(folder, began)
    if new & {"result.credibn", "index.html"}:
        return "a result"
    return "a part" if any(name.endswith((".checkpoint", ".json")) for name in new) else "nothing"


def kill_until_done(arguments: list[str], folder: Path, seconds: float, rng: random.Random) -> Counter[str]:
    """Kill at random moments until a run comes to its end; return what the kills left behind."""
    phases = Counter[str]()
    # The later runs get more and more time, so that some run comes to its end.
    began = time.time()
    while killed_after(rng.uniform(0.0, seconds * (0.3 + phases.total() / 20)), arguments, folder):
        phases[left_behind(folder, began)] += 1
        began = time.time()
    return phases


def kill_late(arguments: list[str], folder: Path, n_times: int, rng: random.Random) -> Counter[str]:
    """Kill shortly before the end, again and again, then let a run come to its end; return what the kills left."""
    phases = Counter[str]()
    shutil.rmtree(folder)
    for number in range(1, n_times + 1):
        copy = folder.with_name(f"{folder.name}-{number}")
        if folder.exists():
            shutil.copytree(folder, copy)
        seconds, began = run(arguments, copy), time.time()
        awaits_last = number % 2 == 0
        wait = rng.uniform(0.0, LATE / 20) if awaits_last else max(0.0, seconds - rng.uniform(0.0, LATE))
        if killed_after(wait, arguments, folder, awaits_last=awaits_last):
            phases[left_behind(folder, began)] += 1
        else:
            shutil.rmtree(folder)
    run(arguments, folder)
    return phases


def main() -> None:
    seed, n_late, whole, killed, *arguments = sys.argv[1:]
    rng = random.Random(int(seed))
    phases = kill_until_done(arguments, Path(killed), run(arguments, Path(whole)), rng)
    late = kill_late(arguments, Path(killed), int(n_late), rng) if int(n_late) else Counter[str]()
    print(json.dumps({"killed": (phases + late).total(), "late": late.total(), "left": phases + late}))


if __name__ == "__main__":
    main()
