"""The scoring stage on the authors' data sets: seconds, memory, and the number of candidates, which is asserted.

``python -m benchmarks.scoring`` runs all; names select data sets; ``--long`` adds BDeu on flag and alarm; ``--engines``
runs both engines wherever both can and asserts that they agree. Each run has a process of its own. Times are for
scoring alone; reading is listed beside them.
"""

import argparse
import hashlib
import json
import sys
from typing import Any

from benchmarks.random_networks import rows_of_factors, rows_of_kinds
from benchmarks.runs import data_folder, in_own_process, peak_memory_mb, timed
from credibn import Dataset, estimate_scoring, read_data, read_network, score_parent_sets

# Candidates under rule 1 at a Bayes factor of 20.
BIC = {
    "tictactoe": 110, "wine": 921, "voting": 495, "hepatitis": 1305, "parkinsons": 5275, "autos": 6838,
    "insurance": 601, "flag": 3247, "msnbc": 49537, "soybean": 13219, "mildew": 128, "sponge": 1189, "barley": 246,
    "hailfinder100": 252, "hailfinder500": 455, "wdbc": 23350, "bands": 4215, "alarm": 1476, "sensors": 1010209,
}  # fmt: skip
BDEU = {"tictactoe": 70, "wine": 1210, "voting": 721, "hepatitis": 3641, "parkinsons": 11420, "insurance": 1228}
BDEU_LONG = {"flag": 275587, "alarm": 2600}

# Drawn from a network, and made: 45 binary variables with six hidden causes, 23 variables like those of mushrooms.
SAMPLES = {"hepar2_500": 2637, "factors45": 35235, "kinds23": 30407}


def read_table(name: str) -> Dataset:
    if name == "factors45":
        return read_data(rows_of_factors(45, 267), columns="discrete")
    if name == "kinds23":
        return read_data(rows_of_kinds(8124), columns="discrete")
    if name == "hepar2_500":
        network = read_network(data_folder() / "networks" / "hepar2.bif")
        return read_data(network.sample(500, seed=7), columns="discrete")
    return read_data(data_folder() / f"{name}.csv", columns="discrete")


def run_one(name: str, score: str, engine: str) -> dict[str, Any]:
    data, read_seconds = timed(lambda: read_table(name))
    estimate = estimate_scoring(data, score=score, engine=engine)
    table, seconds = timed(lambda: score_parent_sets(data, score=score, bayes_factor=20, engine=engine))
    return {
        "n": data.n_variables,
        "N": data.n_rows,
        "engine": estimate.engine,
        "candidates": table.n_candidates,
        "read": read_seconds,
        "score": seconds,
        "memory": peak_memory_mb(),
        "fingerprint": hashlib.sha256(table.scores.tobytes() + table.masks.tobytes()).hexdigest(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--long", action="store_true", help="also BDeu on flag and alarm")
    parser.add_argument("--engines", action="store_true", help="both engines, where the table engine can")
    options = parser.parse_args()
    rows = [(name, "bic", expected) for name, expected in (BIC | SAMPLES).items()]
    rows += [(name, "bdeu", expected) for name, expected in BDEU.items()]
    rows += [(name, "bdeu", expected) for name, expected in BDEU_LONG.items() if options.long]
    header = ("data", "score", "n", "N", "engine", "candidates", "read s", "score s", "MiB")
    print("{:14} {:5} {:>3} {:>6} {:8} {:>10} {:>7} {:>8} {:>6}".format(*header))
    for name, score, expected in rows:
        if options.names and name not in options.names:
            continue
        fingerprints = set()
        for engine in ("table", "descent") if options.engines else ("auto",):
            answer = in_own_process("benchmarks.scoring", {"name": name, "score": score, "engine": engine})
            print(
                f"{name:14} {score:5} {answer['n']:3} {answer['N']:6} {answer['engine']:8} {answer['candidates']:10} "
                f"{answer['read']:7.3f} {answer['score']:8.3f} {answer['memory']:6.0f}",
                flush=True,
            )
            assert answer["candidates"] == expected, f"{name} {score}: {answer['candidates']}, expected {expected}"
            fingerprints.add(answer["fingerprint"])
        assert len(fingerprints) == 1, f"{name} {score}: the engines differ"


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(run_one(**json.loads(sys.argv[1]))))
    else:
        main()
