"""Runs that are killed (SIGKILL) at random moments until they come to their end, compared with runs that are not.

Each round makes a random table, runs ``credibn learn ... --out`` to its end, then again in another folder where it is
killed after random times and started again until it ends. Asserted: the result, its summary and the report have the
same bytes, and nothing else is left. Rounds cover scoring and both ways to list (classes, networks one by one).

    python -m benchmarks.kills [ROUNDS]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

KILLING = Path(__file__).parents[1] / "tests" / "killing.py"
SAME_BYTES = ("result.credibn", "summary.json", "report.html")
KINDS = {
    "classes": (28, ["--bayes-factor", "3", "--engine", "integer-program"]),
    "networks": (20, ["--bayes-factor", "3", "--max-parents", "1", "--engine", "integer-program"]),
    "dynamic programming": (16, ["--bayes-factor", "5", "--engine", "dynamic-programming"]),
    "scoring": (34, ["--bayes-factor", "1.5", "--score", "bdeu"]),
    "k best": (22, ["-k", "300"]),
}


def main(n_rounds: int) -> None:
    print("| what | rounds | runs killed | same bytes |\n|---|--:|--:|--:|")
    total = 0
    for kind, (n_variables, options) in KINDS.items():
        n_killed = sum(_round(n_variables, options, seed) for seed in range(n_rounds))
        total += n_killed
        print(f"| {kind} | {n_rounds} | {n_killed} | {n_rounds} |", flush=True)
    print(f"| all | {n_rounds * len(KINDS)} | {total} | {n_rounds * len(KINDS)} |")


def _round(n_variables: int, options: list[str], seed: int) -> int:
    """Return how many runs were killed before one came to its end."""
    with tempfile.TemporaryDirectory() as folder:
        data, whole, killed = Path(folder) / "data.csv", Path(folder) / "whole", Path(folder) / "killed"
        values = np.random.default_rng(seed).integers(0, 2, (60, n_variables))
        header = ",".join(f"V{v}" for v in range(n_variables))
        np.savetxt(data, values, fmt="%d", delimiter=",", header=header, comments="")
        command = "kbest" if "-k" in options else "learn"
        done = subprocess.run(
            [sys.executable, KILLING, str(seed), whole, killed, command, data, *options],
            env={**os.environ, "CREDIBN_CHECKPOINT_SECONDS": "0"},
            capture_output=True,
            text=True,
            check=True,
        )
        for name in SAME_BYTES:
            assert (whole / name).read_bytes() == (killed / name).read_bytes(), (options, seed, name)
        left = sorted(path.name for path in killed.iterdir())
        assert left == ["report.html", "result.credibn", "run.json", "summary.json"], left
        return int(done.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
