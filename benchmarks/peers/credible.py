"""All credible networks: credibn beside programs that can list every network of a few variables, or the k best.

Listing all 29,281 networks of five variables and keeping those within the Bayes factor is how pgmpy and deal could
answer; pygobnilp lists the k best networks, so it is asked for as many as there are. The sets must be the same.
"""

import math
from collections.abc import Callable

from networkx import DiGraph

from benchmarks.peers.deal import networks_by_deal
from benchmarks.peers.gobnilp import learned_by_gobnilp, model_class
from benchmarks.peers.peer import Table, attempt, close, graph_of, network_score, print_versions, table_of
from benchmarks.runs import cpu_timed
from credibn import BIC, BDeu, CredibleSet, SetScore, learn

BAYES_FACTOR = 20
OPTIONS = {"bayes_factor": BAYES_FACTOR, "posterior_share": False}
Scored = list[tuple[float, DiGraph]]


def pgmpy_all(table: Table, _: int) -> tuple[Scored, float]:
    from pgmpy.estimators import ExhaustiveSearch

    listed, seconds = cpu_timed(lambda: ExhaustiveSearch(table.frame, scoring_method="bic-d").all_scores())
    return [(score, graph_of(table.data.names, network.edges)) for score, network in listed], seconds


def deal_all(table: Table, _: int) -> tuple[Scored, float]:
    return networks_by_deal(table, 1.0, "all")


def pygobnilp_k_best(table: Table, k: int) -> tuple[Scored, float]:
    model_class()
    model, seconds = cpu_timed(lambda: learned_by_gobnilp(table, pruning=False, nsols=k, kbest=True))
    networks = [graph_of(table.data.names, network.edges) for network in model.learned_bns]
    return [(network_score(table.data, BIC(), network), network) for network in networks], seconds


RUNS: tuple[tuple[str, SetScore, str, Callable[[Table, int], tuple[Scored, float]]], ...] = (
    ("sprinkler", BIC(), "pgmpy, all networks", pgmpy_all),
    ("cancer", BIC(), "pgmpy, all networks", pgmpy_all),
    ("sprinkler", BDeu(1.0), "deal, all networks", deal_all),
    ("cancer", BDeu(1.0), "deal, all networks", deal_all),
    ("sprinkler", BIC(), "pygobnilp, k best", pygobnilp_k_best),
    ("cancer", BIC(), "pygobnilp, k best", pygobnilp_k_best),
    ("asia", BIC(), "pygobnilp, k best", pygobnilp_k_best),
)


def edges_of(network: DiGraph) -> frozenset[tuple[str, str]]:
    return frozenset(network.edges)


def check(ours: CredibleSet, listed: Scored) -> None:
    best = max(score for score, _ in listed)
    assert close(best, ours.optimal_score), f"its best is {best}, the optimum {ours.optimal_score}"
    last = ours.optimal_score - math.log(BAYES_FACTOR) - 1e-9 * abs(ours.optimal_score)
    theirs = {edges_of(network) for score, network in listed if score >= last}
    assert theirs == {edges_of(network) for network in ours.networks()}, "other networks"


def main() -> None:
    print("\n## All credible networks\n")
    print_versions(("pgmpy", "pygobnilp", "gurobipy"))
    print("| data | n | score | networks | program | it lists | its s | credibn s | ratio |")
    print("|---|--:|---|--:|---|--:|--:|--:|--:|")
    for name, score, peer, ask in RUNS:
        table = table_of(name)
        ours, seconds = cpu_timed(lambda table=table, score=score: learn(table.frame, score=score, **OPTIONS))
        assert ours.complete
        answer = attempt(f"{peer} on {name}", lambda ask=ask, table=table, ours=ours: ask(table, ours.n_networks))
        if answer is None:
            continue
        listed, their_seconds = answer
        check(ours, listed)
        print(
            f"| {name} | {table.n_variables} | {score.name} | {ours.n_networks} | {peer} | {len(listed):,} "
            f"| {their_seconds:.2f} | {seconds:.3f} | {their_seconds / seconds:,.0f} |",
            flush=True,
        )
