"""Local scores per second: credibn against pgmpy and pyAgrum, on the same families, with the same answers.

The peers evaluate one family at a time; credibn scores all that its engine visits. So two rates are given for it: over
the local scores evaluated, and over the families that the peers were given alone (`BIC().set_costs`, plain Python).
Families: a sample of those that survive at a Bayes factor of 20, at most 3 parents.
"""

import random
from collections.abc import Callable

import numpy as np

from benchmarks.peers.peer import Table, attempt, local_score, print_versions, table_of
from benchmarks.runs import cpu_timed
from credibn import BIC, Dataset
from credibn._run import Run
from credibn.options import ScoreOptions, resolve_epsilon
from credibn.scores.estimate import estimate_problem
from credibn.scores.scoring import _score
from credibn.scores.setup import make_problem

Family = tuple[str, tuple[str, ...]]
Score = Callable[[str, list[str]], float]
NAMES = ("wine", "insurance", "alarm")
N_FAMILIES = 400


def families_of(data: Dataset, nodes: np.ndarray, masks: np.ndarray) -> list[Family]:
    bits = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little")
    listed = [
        (data.names[node], tuple(data.names[v] for v in np.flatnonzero(row)))
        for node, row in zip(nodes, bits, strict=True)
    ]
    small = [family for family in listed if len(family[1]) <= 3]
    return random.Random(0).sample(small, min(N_FAMILIES, len(small)))


def scores_of(score: Score, families: list[Family]) -> tuple[np.ndarray, float]:
    """Return the score of each family, and how many a CPU second gives."""
    values, seconds = cpu_timed(lambda: [score(node, list(parents)) for node, parents in families])
    return np.array(values), len(families) / seconds


def with_pgmpy(table: Table) -> Score:
    from pgmpy import structure_score

    scorer = structure_score.BIC(table.frame)
    return lambda node, parents: float(scorer.local_score(node, tuple(parents)))


def with_pyagrum(table: Table) -> Score:
    import pyagrum

    learner = pyagrum.BNLearner(table.frame)
    learner.useNoPrior()
    learner.useScoreBIC()
    return lambda node, parents: float(learner.score(node, parents)) * np.log(2)  # it reports bits


PEERS = (("pgmpy", with_pgmpy), ("pyAgrum", with_pyagrum))


def main() -> None:
    print("\n## Local scores per CPU second\n")
    print_versions(("pgmpy", "pyagrum"))
    print("| data | families | program | local scores a CPU second | credibn's engine: times as many | difference |")
    print("|---|--:|---|--:|--:|--:|")
    for name in NAMES:
        table = table_of(name)
        problem = make_problem(table.data, ScoreOptions(), resolve_epsilon())
        (nodes, _, masks, n_scored), seconds = cpu_timed(
            lambda problem=problem: _score(problem, estimate_problem(problem, "descent"), Run(n_threads=2)).candidates
        )
        engine = n_scored / seconds
        families = families_of(table.data, nodes, masks)
        expected, ours = scores_of(
            lambda node, parents, data=table.data: local_score(data, BIC(), node, parents), families
        )
        print(f"| {name} | {n_scored:,} | credibn, engine | {engine:,.0f} | | |")
        print(f"| {name} | {len(families)} | credibn, one family at a time in Python | {ours:,.0f} | | |")
        for peer, make in PEERS:
            answer = attempt(
                f"{peer} on {name}", lambda make=make, table=table, families=families: scores_of(make(table), families)
            )
            if answer is None:
                continue
            values, theirs = answer
            difference = float(np.abs(values - expected).max())
            assert difference < 1e-6, f"{peer} differs on {name}"
            print(f"| {name} | {len(families)} | {peer} | {theirs:,.0f} | {engine / theirs:,.0f} | {difference:.1e} |")
