"""Credible sets that are counted, not listed: CPU seconds and memory; the counts are asserted.

``python -m benchmarks.counting`` scores each table in a process of its own, and counts on one thread. Samples are drawn
from the networks in the data folder, or from random ones: `random57` has 32 rows of 57 variables, and `random60` has as
many variables and rows as carpo100 of the literature. Names select rows of the table.
"""

import argparse
import json
import sys
from typing import Any

from benchmarks.random_networks import random_network
from benchmarks.runs import cpu_timed, data_folder, in_own_process, peak_memory_mb
from credibn import learn, read_data, read_network, score_parent_sets

SEED = 7
# The table, or the network and the number of rows drawn from it; the Bayes factor; networks and classes.
COUNTS: dict[str, tuple[str, int | None, float, tuple[int, int]]] = {
    "hailfinder500-20": ("hailfinder500", None, 20, (21_757_427_712, 13_107_200)),
    "hailfinder500-150": ("hailfinder500", None, 150, (100_204_019_712, 70_189_056)),
    "bands-20": ("bands", None, 20, (5_282_162, 615_916)),
    "bands-150": ("bands", None, 150, (1_348_071_849, 167_199_534)),
    "sponge-150": ("sponge", None, 150, (8_817_939, 457_060)),
    "hepatitis-150": ("hepatitis", None, 150, (5_591_502, 893_305)),
    "random57-3": ("random57", 32, 3, (961_773_602, 56_587)),
    "random57-20": ("random57", 32, 20, (4_311_743_830_614, 230_202_094)),
    "random60-20": ("random60", 100, 20, (41_858_280, 1_565)),
    "random60-150": ("random60", 100, 150, (1_986_319_496, 57_129)),
    "hepar2_100-3": ("hepar2", 100, 3, (558_609_800, 9_655_018)),
    "win95pts100-3": ("win95pts", 100, 3, (4_597_076_253_671_424, 10_319_059_058_688)),
}


def run_one(source: str, n_rows: int | None, bayes_factor: float) -> dict[str, Any]:
    if n_rows is None:
        data = read_data(data_folder() / f"{source}.csv")
    else:
        is_random = source.startswith("random")
        bif = data_folder() / "networks" / f"{source}.bif"
        network = random_network(int(source.removeprefix("random")), 3) if is_random else read_network(bif)
        data = read_data(
            network.sample(n_rows, seed=SEED).astype(str)
        )  # as a file has them: the states that were drawn
    table = score_parent_sets(data, bayes_factor=bayes_factor, n_threads=1)
    found, seconds = cpu_timed(lambda: learn(table, bayes_factor=bayes_factor, n_threads=1, engine="factored"))
    return {
        "n": data.n_variables,
        "counts": (found.n_networks, found.n_classes) if found.complete else None,
        "branches": found.statistics["n_branches"],
        "states": found.statistics["n_states"],
        "seconds": seconds,
        "memory": peak_memory_mb(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    header = ("data", "n", "networks", "classes", "branches", "states", "CPU s", "MiB")
    print("{:18} {:>3} {:>22} {:>18} {:>8} {:>9} {:>7} {:>5}".format(*header))
    for name, (source, n_rows, bayes_factor, expected) in COUNTS.items():
        if options.names and name not in options.names:
            continue
        answer = in_own_process(
            "benchmarks.counting", {"source": source, "n_rows": n_rows, "bayes_factor": bayes_factor}
        )
        assert answer["counts"] == list(expected), (name, answer)
        print(
            f"{name:18} {answer['n']:3} {expected[0]:22,} {expected[1]:18,} {answer['branches']:8} "
            f"{answer['states']:9,} {answer['seconds']:7.2f} {answer['memory']:5.0f}",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
