"""Runs a command again and again, killed each time after a random while, until it comes to its end.

As a program: ``python killing.py SEED WHOLE KILLED ARGUMENT...`` runs ``credibn ARGUMENT... --out WHOLE`` to its end,
then ``credibn ARGUMENT... --out KILLED`` in forked processes that are killed within about the time of the first run,
until one comes to its end; prints how many were killed. Nothing is started before the first fork that a process could
not do without.
"""

import os
import random
import signal
import sys
import time


def start(arguments: list[str]) -> int:
    """Run a command in a forked process, and return its number."""
    from credibn.cli import main

    child = os.fork()
    if child:
        return child
    sys.argv = ["credibn", *arguments]
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    try:
        main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    os._exit(0)


def run_until_done(arguments: list[str], seconds: float, seed: int) -> tuple[int, int]:
    """Return how many runs were killed, and the exit status of the one that was not."""
    chance = random.Random(seed)
    n_killed = 0
    while True:
        child = start(arguments)
        # The later runs get more and more time, so that some run comes to its end.
        until = time.monotonic() + chance.uniform(0.0, seconds * (0.3 + n_killed / 20))
        status = None
        while time.monotonic() < until and status is None:
            pid, state = os.waitpid(child, os.WNOHANG)
            status = os.waitstatus_to_exitcode(state) if pid else None
            time.sleep(0.002)
        if status is not None:
            return n_killed, status
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        n_killed += 1


if __name__ == "__main__":
    seed, whole, killed, *arguments = sys.argv[1:]
    began = time.monotonic()
    _, state = os.waitpid(start([*arguments, "--out", whole]), 0)
    if state == 0:
        n_killed, status = run_until_done([*arguments, "--out", killed], time.monotonic() - began, int(seed))
        print(n_killed)
        sys.exit(status)
    sys.exit(os.waitstatus_to_exitcode(state))
