"""The search stage on the authors' data sets: seconds, memory, and the networks and classes found, which are asserted.

``python -m benchmarks.search`` runs the rows of the paper's table 2 whose data are there, at Bayes factors 3, 20 and
150; names select data sets; ``--long`` adds the rows that take minutes; ``--engines`` runs, on the short rows, every
engine that can take them and asserts the same bytes. Each run has a process of its own and scores its own table, at its
own Bayes factor. ``--listing`` measures how fast the networks of the classes are listed.
"""

import argparse
import hashlib
import json
import sys
from typing import Any

from benchmarks.runs import data_folder, in_own_process, peak_memory_mb, timed
from credibn import learn, read_data, score_parent_sets
from credibn.errors import TooLargeError
from credibn.search import ENGINES

BAYES_FACTORS = (3, 20, 150)
# (networks, classes) at Bayes factors 3, 20 and 150; None where it is not known.
BIC: dict[str, tuple[tuple[int, int] | None, ...]] = {
    "tictactoe": ((192, 8), (192, 8), (544, 40)),
    "wine": ((308, 7), (3449, 101), (26153, 950)),
    "msnbc": ((24, 1), (960, 3), (1938, 6)),
    "voting": ((27, 2), (441, 33), (2222, 170)),
    "hepatitis": ((580, 102), (87169, 14225), (5591502, 893305)),
    "parkinsons": ((1088, 336), (261704, 58184), (14456664, 2767116)),
    "autos": ((560, 200), (50374, 17186), (2453952, 794504)),
    "insurance": ((10, 1), (117, 12), (348, 37)),
    "flag": ((773, 163), (171162, 37094), None),
    "mildew": ((1026, 2), (1026, 2), (2052, 4)),
    "alarm": ((1508, 32), (123566, 2506), (6763458, 124877)),
    "bands": ((7092, 810), (5282162, 615916), None),
    "sponge": ((1102, 65), (146097, 7898), (8817939, 457060)),
    "barley": ((182, 1), (364, 2), (1274, 5)),
    "hailfinder100": ((432624, 46), (33318144, 1862), (735148848, 40344)),
    "hailfinder500": ((891813888, 1966080), None, None),
}
LONG: dict[str, tuple[tuple[int, int] | None, ...]] = {
    "sensors": ((8, 4), (70, 16), (130, 28)),
    "flag": (None, None, (14072036, 2986155)),
    "wdbc": ((398, 63), None, None),
    "soybean": ((1284984, 454680), None, None),
}
BDEU = {"tictactoe": ((104, 16), (152, 24), (152, 24)), "wine": (None, (8734, 1877), None)}
BDEU |= {"voting": (None, (621, 187), None)}


def run_one(name: str, score: str, bayes_factor: float, engine: str) -> dict[str, Any]:
    data = read_data(data_folder() / f"{name}.csv", columns="discrete")
    table, score_seconds = timed(lambda: score_parent_sets(data, score=score, bayes_factor=bayes_factor))
    try:
        found = learn(table, bayes_factor=bayes_factor, engine=engine)
    except TooLargeError as error:
        return {"refused": str(error)}
    return {
        "n": data.n_variables,
        "candidates": table.n_candidates,
        "engine": found.engine,
        "counts": (found.n_networks, found.n_classes),
        "complete": found.complete,
        "score": score_seconds,
        "search": found.timings["search"],
        "memory": peak_memory_mb(),
        "fingerprint": hashlib.sha256(found.rows.choices.tobytes() + found.rows.scores.tobytes()).hexdigest(),
    }


def list_networks(name: str, bayes_factor: float) -> dict[str, Any]:
    found = learn(read_data(data_folder() / f"{name}.csv", columns="discrete"), bayes_factor=bayes_factor)
    n_listed, seconds = timed(lambda: sum(len(scores) for _, scores in found.networks_masks(1 << 16)))
    assert n_listed == found.n_networks
    return {"networks": n_listed, "per_second": n_listed / seconds}


def show(name: str, score: str, bayes_factor: float, engine: str, expected: tuple[int, int]) -> str | None:
    answer = in_own_process(
        "benchmarks.search", {"name": name, "score": score, "bayes_factor": bayes_factor, "engine": engine}
    )
    if "refused" in answer:
        print(f"{name:14} {score:5} {bayes_factor:4} {engine} refused: {answer['refused']}", flush=True)
        return None
    networks, classes = answer["counts"]
    print(
        f"{name:14} {score:5} {bayes_factor:4} {answer['n']:3} {answer['candidates']:8} {answer['engine']:20} "
        f"{networks:12} {classes:8} {answer['score']:8.3f} {answer['search']:8.3f} {answer['memory']:6.0f}",
        flush=True,
    )
    assert answer["complete"], f"{name} {score} {bayes_factor}: not complete"
    assert (networks, classes) == expected, f"{name} {score} {bayes_factor}: {networks}, {classes}, not {expected}"
    fingerprint: str = answer["fingerprint"]
    return fingerprint


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--long", action="store_true", help="also the rows that take minutes")
    parser.add_argument("--engines", action="store_true", help="every engine that can take the row")
    parser.add_argument("--listing", action="store_true", help="only networks listed per second")
    options = parser.parse_args()
    if options.listing:
        for name, bayes_factor in (("wine", 150), ("hepatitis", 150), ("alarm", 150)):
            print(name, in_own_process("benchmarks.search", {"name": name, "bayes_factor": bayes_factor}), flush=True)
        return
    tables = [("bic", BIC), ("bdeu", BDEU)] + [("bic", LONG)] * options.long
    header = ("data", "score", "BF", "n", "cands", "engine", "networks", "classes", "score s", "search s", "MiB")
    print("{:14} {:5} {:>4} {:>3} {:>8} {:20} {:>12} {:>8} {:>8} {:>8} {:>6}".format(*header))
    for score, table in tables:
        for name, row in table.items():
            if options.names and name not in options.names:
                continue
            for bayes_factor, expected in zip(BAYES_FACTORS, row, strict=True):
                if expected is None:
                    continue
                engines = list(ENGINES) if options.engines else ["auto"]
                prints = {show(name, score, bayes_factor, engine, expected) for engine in engines}
                assert len(prints - {None}) <= 1, f"{name} {score} {bayes_factor}: the engines differ"


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        arguments = json.loads(sys.argv[1])
        print(json.dumps(run_one(**arguments) if "engine" in arguments else list_networks(**arguments)))
    else:
        main()
