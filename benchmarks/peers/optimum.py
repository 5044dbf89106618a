"""The best network: credibn's proof beside exact searches and heuristics of other programs.

Each program gets the same table and the same score, or one that differs from it by a constant, which is checked. An
exact search must reach the optimum; a heuristic may not, and the gap is printed in nats. credibn's seconds are for all
optimal networks with the proof (`learn` at a Bayes factor of 1), from the frame to the answer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from networkx import DiGraph

from benchmarks.peers.deal import networks_by_deal
from benchmarks.peers.gobnilp import learned_by_gobnilp, model_class
from benchmarks.peers.peer import (
    Table,
    attempt,
    close,
    codes_of,
    graph_of,
    network_score,
    print_versions,
    table_of,
)
from benchmarks.runs import cpu_timed
from credibn import BIC, BDeu, CredibleSet, GaussianBIC, SetScore, learn
from credibn.graphs import same_class

OPTIONS = {"bayes_factor": 1, "posterior_share": False}


@dataclass(frozen=True)
class Found:
    """A peer's best network; its score as the peer reports it, in nats and without a constant, where it does."""

    network: DiGraph
    seconds: float
    score: float | None = None


def pgmpy_exhaustive(table: Table) -> Found:
    from pgmpy.estimators import ExhaustiveSearch

    network, seconds = cpu_timed(lambda: ExhaustiveSearch(table.frame, scoring_method="bic-d").estimate())
    return Found(graph_of(table.data.names, network.edges), seconds)


def pgmpy_hill_climbing(table: Table) -> Found:
    from pgmpy.estimators import HillClimbSearch

    options = {"scoring_method": "bic-d", "show_progress": False}
    network, seconds = cpu_timed(lambda: HillClimbSearch(table.frame).estimate(**options))
    return Found(graph_of(table.data.names, network.edges), seconds)


def _pyagrum(table: Table, algorithm: str) -> Found:
    import pyagrum

    def work() -> list[tuple[str, str]]:
        learner = pyagrum.BNLearner(table.frame)
        learner.useNoPrior()
        learner.useScoreBIC()
        getattr(learner, algorithm)()
        names = learner.names()
        return [(names[parent], names[child]) for parent, child in learner.learnDAG().arcs()]

    edges, seconds = cpu_timed(work)
    return Found(graph_of(table.data.names, edges), seconds)


def pyagrum_hill_climbing(table: Table) -> Found:
    return _pyagrum(table, "useGreedyHillClimbing")


def pyagrum_tabu(table: Table) -> Found:
    return _pyagrum(table, "useLocalSearchWithTabuList")


def pomegranate_exact(table: Table) -> Found:
    from pomegranate.bayesian_network import BayesianNetwork

    codes = codes_of(table)
    # An empty cell makes its score not a number unless a little is added to each count.
    model = BayesianNetwork(algorithm="exact", max_parents=table.n_variables - 1, pseudocount=1e-9)
    fitted, seconds = cpu_timed(lambda: model.fit(codes))
    names = table.data.names
    edges = [(names[parent], names[child]) for child, parents in enumerate(fitted.structure) for parent in parents]
    return Found(graph_of(names, edges), seconds)


def pygobnilp_exact(table: Table) -> Found:
    model_class()
    model, seconds = cpu_timed(lambda: learned_by_gobnilp(table))
    return Found(graph_of(table.data.names, model.learned_bn.edges), seconds, model.ObjVal)


def _causal_learn(table: Table, method: str) -> Found:
    from causallearn.search.ScoreBased.ExactSearch import bic_exact_search, bic_score_node

    values = table.frame.to_numpy()
    centred = values - values.mean(axis=0)  # its regressions have no intercept
    (adjacency, _), seconds = cpu_timed(lambda: bic_exact_search(centred, search_method=method))
    names, n_rows = table.data.names, len(values)
    parents = [np.flatnonzero(adjacency[:, child]) for child in range(len(names))]
    # Its cost is twice ours without the constant of a normal density, a mean and a variance for each variable.
    constant = n_rows / 2 * (math.log(2 * math.pi) + 1) + math.log(n_rows)
    score = -sum(bic_score_node(centred, child, inside) / 2 + constant for child, inside in enumerate(parents))
    edges = [(names[parent], names[child]) for child, inside in enumerate(parents) for parent in inside]
    return Found(graph_of(names, edges), seconds, score)


def causal_learn_astar(table: Table) -> Found:
    return _causal_learn(table, "astar")


def causal_learn_dp(table: Table) -> Found:
    return _causal_learn(table, "dp")


def deal_greedy(table: Table) -> Found:
    ((score, network),), seconds = networks_by_deal(table, 1.0, "search")
    return Found(network, seconds, score)


Ask = Callable[[Table], Found]
EXHAUSTIVE: tuple[tuple[str, bool, Ask], ...] = (("pgmpy, all networks", True, pgmpy_exhaustive),)
EXACT: tuple[tuple[str, bool, Ask], ...] = (
    ("pomegranate, dynamic programming", True, pomegranate_exact),
    ("pygobnilp, integer program", True, pygobnilp_exact),
)
HEURISTIC: tuple[tuple[str, bool, Ask], ...] = (
    ("pgmpy, hill climbing", False, pgmpy_hill_climbing),
    ("pyAgrum, hill climbing", False, pyagrum_hill_climbing),
    ("pyAgrum, tabu search", False, pyagrum_tabu),
)
GAUSSIAN: tuple[tuple[str, bool, Ask], ...] = (
    ("causal-learn, A*", True, causal_learn_astar),
    ("causal-learn, dynamic programming", True, causal_learn_dp),
)
DEAL: tuple[tuple[str, bool, Ask], ...] = (("deal, greedy search", False, deal_greedy),)
# A table, its score, and whom to ask; whether each one's search is exact stands beside its name.
RUNS = (
    ("sprinkler", BIC(), EXHAUSTIVE + EXACT + HEURISTIC),
    ("asia", BIC(), EXACT + HEURISTIC),
    ("tic-tac-toe", BIC(), EXACT + HEURISTIC),
    ("wine", BIC(), EXACT[1:] + HEURISTIC),
    ("insurance", BIC(), EXACT[1:] + HEURISTIC),
    ("alarm", BIC(), HEURISTIC),
    ("asia", BDeu(1.0), DEAL),
    ("tic-tac-toe", BDeu(1.0), DEAL),
    ("gaussian8", GaussianBIC(), GAUSSIAN),
    ("gaussian12", GaussianBIC(), GAUSSIAN),
)


def check(ours: CredibleSet, table: Table, score: SetScore, is_exact: bool, found: Found) -> float:
    """Return the gap to the optimum, having asserted that the scores are the same and the optimum is one."""
    value = network_score(table.data, score, found.network)
    assert found.score is None or close(found.score, value), f"it reports {found.score}, the definition gives {value}"
    gap = ours.optimal_score - value
    reached = close(ours.optimal_score, value)
    assert reached or gap > 0, f"it found {value}, above the optimum {ours.optimal_score}"
    assert reached or not is_exact, f"it found {value}, below the optimum {ours.optimal_score}"
    if reached:
        classes = [found_class.representative for found_class in ours.classes()]
        assert any(same_class(found.network, best) for best in classes), "its network is in no optimal class"
    return 0.0 if reached else gap


def main() -> None:
    print("\n## The best network\n")
    print_versions(("pgmpy", "pyagrum", "pomegranate", "torch", "pygobnilp", "gurobipy", "causal-learn"))
    print("| data | n | N | score | program | exact | its s | credibn s | ratio | below the optimum, nats |")
    print("|---|--:|--:|---|---|---|--:|--:|--:|--:|")
    for name, score, peers in RUNS:
        table = table_of(name)
        ours, seconds = cpu_timed(lambda table=table, score=score: learn(table.frame, score=score, **OPTIONS))
        assert ours.complete
        for peer, is_exact, ask in peers:
            found = attempt(f"{peer} on {name}", lambda ask=ask, table=table: ask(table))
            if found is None:
                continue
            gap = check(ours, table, score, is_exact, found)
            print(
                f"| {name} | {table.n_variables} | {table.data.n_rows:,} | {score.name} | {peer} "
                f"| {'yes' if is_exact else 'no'} | {found.seconds:.3f} | {seconds:.3f} "
                f"| {found.seconds / seconds:,.1f} | {gap:.3f} |",
                flush=True,
            )
