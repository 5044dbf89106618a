"""Local scores per second: credibn against pgmpy and pyAgrum, on the same families, with the same answers, in one run.

The peers evaluate one family at a time; credibn scores all that its engine visits. So two rates are given for it: over
the local scores evaluated, and over the families that the peers were given alone (`BIC().set_costs`, plain Python).
Each peer is optional. Families: a sample of those that survive at a Bayes factor of 20, at most 3 parents.
"""

import random
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.runs import data_folder
from credibn import BIC, Dataset, read_data
from credibn.scores.scoring import RULES, _estimate, _make_problem, _run

Family = tuple[str, tuple[str, ...]]
N_FAMILIES = 400


def families_of(data: Dataset, nodes: np.ndarray, masks: np.ndarray) -> list[Family]:
    bits = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little")
    listed = [
        (data.names[node], tuple(data.names[v] for v in np.flatnonzero(row)))
        for node, row in zip(nodes, bits, strict=True)
    ]
    small = [family for family in listed if len(family[1]) <= 3]
    return random.Random(0).sample(small, min(N_FAMILIES, len(small)))


def rate(score: Callable[[str, list[str]], float], families: list[Family]) -> tuple[list[float], float]:
    start = time.perf_counter()
    values = [score(node, list(parents)) for node, parents in families]
    return values, len(families) / (time.perf_counter() - start)


def with_pgmpy(frame: pd.DataFrame) -> Callable[[str, list[str]], float]:
    from pgmpy import structure_score

    scorer = structure_score.BIC(frame)
    return lambda node, parents: float(scorer.local_score(node, tuple(parents)))


def with_pyagrum(frame: pd.DataFrame) -> Callable[[str, list[str]], float]:
    import pyagrum

    learner = pyagrum.BNLearner(frame)
    learner.useNoPrior()
    learner.useScoreBIC()
    return lambda node, parents: float(learner.score(node, parents)) * np.log(2)  # it reports bits


def with_set_function(data: Dataset) -> Callable[[str, list[str]], float]:
    def score(node: str, parents: list[str]) -> float:
        inside = sorted(data.index(name) for name in parents)
        family = sorted([*inside, data.index(node)])
        sets = [BIC().set_costs(data, np.array([members], dtype=np.intp))[0] for members in (inside, family)]
        return float(sets[0] - sets[1])

    return score


def main() -> None:
    for name in sys.argv[1:] or ["wine", "insurance", "alarm"]:
        data = read_data(data_folder() / f"{name}.csv")
        frame = pd.read_csv(data_folder() / f"{name}.csv", dtype=str).astype("category")
        problem = _make_problem(data, score="bic")
        start = time.perf_counter()
        nodes, _, masks, n_scored = _run(problem, _estimate(problem, "descent"), 2, None, RULES)
        seconds = time.perf_counter() - start
        families = families_of(data, nodes, masks)
        print(f"\n{name}: {len(families)} families, at most 3 parents, BIC")
        engine = n_scored / seconds
        print(f"  {'credibn, engine, 2 threads':28} {engine:12,.0f} local scores/s ({n_scored:,} in {seconds:.2f} s)")
        expected, ours = rate(with_set_function(data), families)
        print(f"  {'credibn, set function alone':28} {ours:12,.0f}")
        for peer, make in (("pgmpy", with_pgmpy), ("pyAgrum", with_pyagrum)):
            try:
                score = make(frame)
            except ImportError as error:
                print(f"  {peer:28} not installed ({error}); make bench-peers installs it")
                continue
            values, theirs = rate(score, families)
            difference = float(np.max(np.abs(np.array(values) - np.array(expected))))
            print(
                f"  {peer:28} {theirs:12,.0f}    engine is {engine / theirs:,.0f} times as fast; "
                f"largest difference {difference:.1e}"
            )
            assert difference < 1e-6, f"{peer} differs on {name}"


if __name__ == "__main__":
    main()
