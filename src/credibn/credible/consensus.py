"""One graph for a whole credible set: edges above a threshold, or the DAG that agrees best with all networks.

An edge that points one way in most networks may still be reversible in all their classes: its direction is decided
only by the classes whose networks agree on it. So a threshold graph decides two things for each pair: is it joined, and
if so, is its direction decided?

Two networks agree on a pair of variables when both have the edge one way, both the other way, or both have none. The
expected agreement of a DAG with a random network is a sum over pairs of the probability of what the DAG has there, so
only edge probabilities matter: taking u -> v instead of nothing gains P(u -> v) - P(no edge). The best DAG takes, for
some order of the nodes, every gain that points forward: the linear ordering problem (Grötschel, Jünger & Reinelt
1984), solved exactly as an integer program for each strongly connected component of the positive gains.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credibn.credible.averages import Averages
from credibn.posterior.parent_sets import ParentSetProbabilities

if TYPE_CHECKING:  # networkx takes a while to import: only those who ask for a graph wait for it
    from networkx import DiGraph

_ROUNDING = 1e-12  # of sums of probabilities


def direction_of(joined: float, compelled_forward: float, compelled_backward: float, threshold: float) -> int:
    """Return 1 for an edge that is decided to point forward, -1 for backward, 0 where its direction is open.

    Decided: of the probability that the pair is joined, classes that agree on this direction hold at least the
    threshold, and more than those that agree on the other.
    """
    forward, backward = compelled_forward, compelled_backward
    if max(forward, backward) < threshold * joined - _ROUNDING or abs(forward - backward) <= _ROUNDING:
        return 0
    return 1 if forward > backward else -1


def threshold_graph(averages: Averages, threshold: float, direction_threshold: float) -> DiGraph:
    """Return the pairs that are joined with at least this probability; arrows may form a directed cycle."""
    import networkx as nx

    names, edges, joined = averages.names, averages.parent_sets.edges, averages.parent_sets.adjacencies
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for a, b in np.argwhere(np.triu((joined >= threshold - _ROUNDING) & (joined > 0))).tolist():
        compelled = averages.compelled[a, b], averages.compelled[b, a]
        way = direction_of(joined[a, b], *compelled, direction_threshold)
        for parent, child in ((a, b), (b, a)):
            if way == 0 or (way == 1) is (parent == a):
                graph.add_edge(
                    names[parent],
                    names[child],
                    directed=way != 0,
                    probability=float(edges[parent, child]),
                    joined=float(joined[a, b]),
                )
    return graph


def agreement_graph(parent_sets: ParentSetProbabilities) -> DiGraph:
    """Return the DAG of maximum expected agreement; the agreement, a share of all pairs, is in its attributes."""
    import networkx as nx

    edges = parent_sets.edges
    absent = 1 - parent_sets.adjacencies
    gains = edges - absent
    gains[gains < _ROUNDING] = 0.0
    np.fill_diagonal(gains, 0.0)
    rank = np.zeros(len(gains), dtype=np.int64)
    positive = nx.DiGraph()
    positive.add_nodes_from(range(len(gains)))
    positive.add_edges_from(np.argwhere(gains).tolist())
    condensed = nx.condensation(positive)
    order = [
        v
        for component in nx.topological_sort(condensed)
        for v in _best_order(gains, sorted(condensed.nodes[component]["members"]))
    ]
    rank[order] = np.arange(len(order))
    chosen = [(u, v) for u, v in np.argwhere(gains).tolist() if rank[u] < rank[v]]
    graph = _graph(parent_sets, chosen)
    pairs = list(itertools.combinations(range(len(gains)), 2))
    agreement = sum(absent[a, b] for a, b in pairs) + sum(gains[u, v] for u, v in chosen)
    graph.graph["expected_agreement"] = float(agreement / len(pairs)) if pairs else 1.0
    return graph


def _graph(parent_sets: ParentSetProbabilities, chosen: Sequence[Sequence[int]]) -> DiGraph:
    import networkx as nx

    names = parent_sets.names
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for parent, child in chosen:
        graph.add_edge(names[parent], names[child], probability=float(parent_sets.edges[parent, child]))
    return graph


def _best_order(gains: NDArray[np.float64], nodes: Sequence[int]) -> list[int]:
    """Return the order of nodes with the largest sum of gains that point forward."""
    if len(nodes) <= 1:
        return list(nodes)
    from pyscipopt import Model, quicksum  # takes a while: only for those who need it

    model = Model()
    model.hideOutput()
    is_before = {pair: model.addVar(vtype="B") for pair in itertools.combinations(nodes, 2)}
    for a, b, c in itertools.combinations(nodes, 3):  # no cycle of three is no cycle at all in a tournament
        around = is_before[a, b] + is_before[b, c] - is_before[a, c]
        model.addCons(around <= 1)
        model.addCons(around >= 0)
    terms = ((gains[a, b] - gains[b, a]) * variable for (a, b), variable in is_before.items())
    model.setObjective(quicksum(terms), "maximize")
    model.optimize()
    n_before = dict.fromkeys(nodes, 0)
    for (a, b), variable in is_before.items():
        n_before[b if model.getVal(variable) > 0.5 else a] += 1
    return sorted(nodes, key=lambda v: n_before[v])
