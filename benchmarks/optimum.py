"""The optimum alone, without a list of what ties with it: CPU seconds and memory; the optimal scores are asserted.

``python -m benchmarks.optimum`` scores each table for a Bayes factor of 3, in a process of its own, and proves the
optimum on one thread; then SCIP's own branch and cut does, with the same cuts (``branch_and_cut.py``), for at most
``--scip`` CPU seconds. Samples are drawn from the networks in the data folder. Names select rows of the table.
"""

import argparse
import json
import sys
from typing import Any

from benchmarks import branch_and_cut
from benchmarks.runs import cpu_timed, data_folder, in_own_process, peak_memory_mb
from credibn import k_best_classes, read_data, read_network, score_parent_sets

SEED = 7
SCIP_SECONDS = 120.0
# The table, or the network and the number of rows drawn from it; and the optimal score.
OPTIMA: dict[str, tuple[str, int | None, float]] = {
    "win95pts50": ("win95pts", 50, -653.291724),
    "win95pts100": ("win95pts", 100, -1195.874717),
    "hepar2_100": ("hepar2", 100, -3371.358262),
    "hailfinder500": ("hailfinder500", None, -27777.554383),
    "alarm": ("alarm", None, -14390.784302),
    "bands": ("bands", None, -5133.006858),
    "win95pts500": ("win95pts", 500, -5267.709041),
    "soybean": ("soybean", None, -3122.063799),
    "wdbc": ("wdbc", None, -6602.118072),
}


def run_one(source: str, n_rows: int | None, scip_seconds: float) -> dict[str, Any]:
    folder = data_folder()
    if n_rows is None:
        data = read_data(folder / f"{source}.csv")
    else:
        rows = read_network(folder / "networks" / f"{source}.bif").sample(n_rows, seed=SEED)
        data = read_data(rows.astype(str))  # as a file has them: the states that were drawn
    table = score_parent_sets(data, bayes_factor=3, n_threads=1)
    best, seconds = cpu_timed(lambda: k_best_classes(scores=table, k=1, n_threads=1, engine="integer_program"))
    answer = {
        "n": data.n_variables,
        "candidates": table.n_candidates,
        "optimum": best.optimal_score,
        "proven": best.complete,
        "seconds": seconds,
        "memory": peak_memory_mb(),
        "branches": best.statistics["n_branches"],
    }
    if scip_seconds > 0:
        solved, seconds = cpu_timed(lambda: branch_and_cut.solve(table, scip_seconds))
        answer |= {"scip": vars(solved), "scip_seconds": seconds}
    return answer


def told(answer: dict[str, Any]) -> str:
    """Return SCIP's CPU seconds, its nodes, and how many times longer it took; or how far apart its bounds are."""
    scip = answer.get("scip")
    if scip is None:
        return ""
    ratio = answer["scip_seconds"] / answer["seconds"]
    if scip["is_optimal"]:
        return f"{answer['scip_seconds']:8.2f} {scip['n_nodes']:6} {ratio:6.1f}"
    gap = scip["bound"] - scip["score"]
    return f"{answer['scip_seconds']:8.2f} {scip['n_nodes']:6} >{ratio:5.1f}  not proven, gap {gap:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--scip", type=float, default=SCIP_SECONDS, help="CPU seconds for SCIP; 0 leaves it out")
    options = parser.parse_args()
    header = ("data", "n", "cands", "optimum", "branches", "CPU s", "MiB", "SCIP s", "nodes", "ratio")
    print("{:14} {:>3} {:>7} {:>14} {:>8} {:>7} {:>5} {:>8} {:>6} {:>6}".format(*header))
    for name, (source, n_rows, expected) in OPTIMA.items():
        if options.names and name not in options.names:
            continue
        task = {"source": source, "n_rows": n_rows, "scip_seconds": options.scip}
        answer = in_own_process("benchmarks.optimum", task)
        print(
            f"{name:14} {answer['n']:3} {answer['candidates']:7} {answer['optimum']:14.6f} {answer['branches']:8} "
            f"{answer['seconds']:7.2f} {answer['memory']:5.0f} {told(answer)}",
            flush=True,
        )
        assert answer["proven"], f"{name}: not proven"
        assert abs(answer["optimum"] - expected) < 1e-6, f"{name}: {answer['optimum']}, not {expected}"
        if "scip" in answer:
            score, bound = answer["scip"]["score"], answer["scip"]["bound"]
            assert score - 1e-6 < expected < bound + 1e-6, f"{name}: SCIP found {score}, and nothing above {bound}"
            assert not answer["scip"]["is_optimal"] or abs(score - expected) < 1e-6, f"{name}: SCIP claims {score}"


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
