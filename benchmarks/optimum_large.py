"""The optimum of large samples, from networks in the data folder and from random ones: the best known, and its bound.

``python -m benchmarks.optimum_large`` draws each sample with a fixed seed, scores it in a process of its own, and
proves the optimum on one thread, as far as ``--seconds`` allow. It asserts that the answer agrees with the best known
score and bound, and says where it improves one of them. Names select rows of the table.
"""

import argparse
import json
import re
import sys
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.random_networks import random_network, rows_of_factors
from benchmarks.runs import cpu_timed, data_folder, in_own_process, peak_memory_mb
from credibn import k_best_classes, read_data, read_network, score_parent_sets

SEED = 7
SECONDS = 600.0
SAME = 1e-6


@dataclass(frozen=True)
class Instance:
    """A sample: from a network of this name, or from a random one with this many variables, as in random100.

    Variables such as those of factors60 depend on hidden ones.
    """

    source: str
    n_rows: int
    score: str
    max_parents: int | None
    best: float
    """The best score known."""
    bound: float
    """No network scores above this; the best score itself where that is proven."""

    @property
    def name(self) -> str:
        return f"{self.source}-{self.n_rows}-{self.score}-{self.max_parents or 'all'}"


INSTANCES = (
    Instance("win95pts", 1000, "bic", None, -10137.821089, -10137.821089),
    Instance("hepar2", 1000, "bic", None, -33322.669372, -33322.669372),
    Instance("hailfinder", 1000, "bic", None, -53275.105103, -53275.105103),
    Instance("win95pts", 1000, "bic", 3, -10193.115369, -10193.115369),
    Instance("random60", 10000, "bic", 2, -487858.131509, -487858.131509),
    Instance("random100", 1000, "bic", 2, -84294.651737, -84294.651737),
    Instance("random100", 200, "bdeu", 2, -17905.756806, -17905.756806),
    Instance("random150", 500, "bic", 2, -65923.409655, -65923.409655),
    Instance("random200", 200, "bic", 2, -36364.844401, -36364.844401),
    Instance("factors60", 1000, "bic", 3, -30138.320569, -29671.534421),
    Instance("factors95", 1000, "bic", 3, -45993.783953, -45141.898741),
)


def sample(task: Instance) -> Any:
    at_random = re.fullmatch(r"(random|factors)(\d+)", task.source)
    if at_random and at_random[1] == "factors":
        return rows_of_factors(int(at_random[2]), task.n_rows, SEED)
    path = data_folder() / "networks" / f"{task.source}.bif"
    network = random_network(int(at_random[2]), SEED) if at_random else read_network(path)
    return network.sample(task.n_rows, seed=SEED).astype(str)  # as a file has them: the states drawn


def run_one(instance: dict[str, Any], seconds: float) -> dict[str, Any]:
    task = Instance(**instance)
    data = read_data(sample(task))
    table, scoring = cpu_timed(
        lambda: score_parent_sets(data, score=task.score, max_parents=task.max_parents, bayes_factor=3, n_threads=1)
    )
    best, searching = cpu_timed(
        lambda: k_best_classes(scores=table, k=1, n_threads=1, engine="integer_program", time_limit=seconds)
    )
    return {
        "n": data.n_variables,
        "candidates": table.n_candidates,
        "best": best.optimal_score,
        "bound": best.optimal_score if best.complete else best.unexplored_bound,
        "branches": best.statistics["n_branches"],
        "scoring": scoring,
        "searching": searching,
        "memory": peak_memory_mb(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each search, by the clock")
    options = parser.parse_args()
    header = ("sample", "n", "cands", "best", "gap", "branches", "score s", "search s", "MiB")
    print("{:26} {:>3} {:>7} {:>15} {:>9} {:>8} {:>8} {:>8} {:>5}".format(*header))
    for instance in INSTANCES:
        if options.names and instance.name not in options.names:
            continue
        task = {"instance": asdict(instance), "seconds": options.seconds}
        found = in_own_process("benchmarks.optimum_large", task)
        print(
            f"{instance.name:26} {found['n']:3} {found['candidates']:7} {found['best']:15.6f} "
            f"{found['bound'] - found['best']:9.6f} {found['branches']:8} {found['scoring']:8.2f} "
            f"{found['searching']:8.2f} {found['memory']:5.0f}",
            flush=True,
        )
        assert found["best"] <= instance.bound + SAME, f"{instance.name}: better than the known bound {instance.bound}"
        assert found["bound"] >= instance.best - SAME, f"{instance.name}: excludes the known score {instance.best}"
        if found["best"] > instance.best + SAME or found["bound"] < instance.bound - SAME:
            print(f"{instance.name}: better than known; best {found['best']!r}, bound {found['bound']!r}")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
