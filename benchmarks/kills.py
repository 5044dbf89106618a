"""Runs that are killed (SIGKILL) again and again until they come to their end, compared with runs that are not.

Each round makes a random table, runs ``credibn learn ... --out`` to its end, then again in another folder where it is
killed after random times and started again until it ends; after that, runs are killed in what should be their last
200 ms. Asserted: the result, its summary and the report have the same bytes, and nothing else is left. Rounds cover
scoring, both ways to list (classes, networks one by one), the k best, and the paper's experiments, whose records must
say the same but for times. With the default number of rounds, at least 200 runs are killed.

    python -m benchmarks.kills [ROUNDS]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

from credibn import write_network
from credibn.examples import example_network, tic_tac_toe

KILLING = Path(__file__).parents[1] / "tests" / "support" / "killing.py"
SAME_BYTES = ("result.credibn", "summary.json", "report.html")
LATE_KILLS = 6
"""In each round."""
ROUNDS, FEWEST_KILLS = 3, 200
EXPERIMENTS = "the paper's experiments"
KINDS = {
    "classes": (32, ["learn", "--bayes-factor", "3", "--engine", "integer-program"]),
    "networks one by one": (22, ["learn", "--bayes-factor", "3", "--max-parents", "1", "--engine", "integer-program"]),
    "dynamic programming": (20, ["learn", "--bayes-factor", "3", "--engine", "dynamic-programming"]),
    "scoring": (26, ["learn", "--bayes-factor", "1.5", "--score", "bdeu", "--max-parents", "4"]),
    "k best": (20, ["kbest", "-k", "200"]),
    EXPERIMENTS: (0, ["paper", "table4", "--samples", "2", "--sizes", "50"]),
}
PHASES = ("nothing", "a part", "a result")


def main(n_rounds: int) -> None:
    print(
        "| what | rounds | killed | in the last 200 ms | before any save | after a part | after the result | the same |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    total = Counter[str]()
    for kind, (n_variables, arguments) in KINDS.items():
        counts = Counter[str]()
        for seed in range(n_rounds):
            counts += one_round(n_variables, arguments, seed)
        print_row(kind, n_rounds, counts)
        total += counts
    print_row("all", n_rounds * len(KINDS), total)
    assert n_rounds < ROUNDS or total["killed"] >= FEWEST_KILLS, f"only {total['killed']} runs were killed"


def print_row(kind: str, n_rounds: int, counts: Counter[str]) -> None:
    figures = (counts[name] for name in ("killed", "late", *PHASES, "same"))
    print(f"| {kind} | {n_rounds} | {' | '.join(map(str, figures))} |", flush=True)


def one_round(n_variables: int, arguments: list[str], seed: int) -> Counter[str]:
    """Return how many runs were killed, when, and how many folders are the same in the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command, *options = arguments
        source = ["--data", experiments(folder)] if command == "paper" else [noise(folder, n_variables, seed)]
        command_line = [command, *options, *source]
        done = subprocess.run(
            [sys.executable, KILLING, str(seed), str(LATE_KILLS), folder / "whole", folder / "killed", *command_line],
            env={**os.environ, "CREDIBN_CHECKPOINT_SECONDS": "0", "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, seed, done.stderr)
        resumed = sorted(folder.glob("killed*"))
        for other in resumed:
            if command == "paper":
                assert answers(other) == answers(folder / "whole"), (arguments, seed, other)
            else:
                check_bytes(folder / "whole", other)
        facts = json.loads(done.stdout)
        return Counter(facts["left"]) + Counter(killed=facts["killed"], late=facts["late"], same=len(resumed))


def check_bytes(whole: Path, killed: Path) -> None:
    for name in SAME_BYTES:
        assert (whole / name).read_bytes() == (killed / name).read_bytes(), (killed, name)
    left = sorted(path.name for path in killed.iterdir())
    assert left == ["report.html", "result.credibn", "run.json", "summary.json"], left


def answers(folder: Path) -> dict[str, Any]:
    """What the records of experiments say, by their names, without times."""
    records = sorted((folder / "records").rglob("*.json"))
    return {str(path.relative_to(folder)): without_times(json.loads(path.read_bytes())["answer"]) for path in records}


def without_times(answer: Any) -> Any:
    if not isinstance(answer, dict):
        return answer
    return {name: without_times(value) for name, value in answer.items() if name != "seconds"}


def noise(folder: Path, n_variables: int, seed: int) -> Path:
    """Random columns: many networks explain them about as well."""
    values = np.random.default_rng(seed).integers(0, 2, (60, n_variables))
    header = ",".join(f"V{v}" for v in range(n_variables))
    np.savetxt(folder / "data.csv", values, fmt="%d", delimiter=",", header=header, comments="")
    return folder / "data.csv"


def experiments(folder: Path) -> Path:
    """A folder with those data of the paper that the package can make."""
    data = folder / "data"
    (data / "networks").mkdir(parents=True)
    pyarrow.csv.write_csv(tic_tac_toe(), data / "tictactoe.csv")
    for name in ("cancer", "asia", "earthquake"):
        write_network(example_network(name), data / "networks" / f"{name}.bif")
    return data


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
