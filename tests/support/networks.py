"""Credible sets from the definitions, for tests of the search and of what is made of it; see oracle.py."""

import math

import naive_scores as naive
import oracle
import strategies
from brute_force_engine import members_of
from credibn import BIC, BDeu

BOUNDARY = 1e-7
"""Naive costs round otherwise: networks this close to OPT + epsilon may be in or out."""


def naive_costs(table, score, constraints=None, prior=None):
    """Local costs of a `CodedTable` from the definition of a score object."""
    rows, arities = table.rows, table.arities

    def cost(child, parents):
        if isinstance(score, BDeu):
            return naive.naive_bdeu(rows, arities, child, parents, score.equivalent_sample_size)
        definition = naive.naive_bic if isinstance(score, BIC) else naive.naive_aic
        return definition(rows, arities, child, parents)

    return oracle.local_costs(arities, cost, constraints, strategies.log_prior(prior, table.n))


def table_costs(table):
    """Local costs that a `ScoreTable` lists."""
    return [
        {tuple(table.names.index(p) for p in parents): -score for score, parents in table.parent_sets(node)}
        for node in range(table.n_variables)
    ]


def networks_by_cost(n, costs):
    """Every network that the costs allow, the cheapest first."""
    listed = ((oracle.network_cost(dag, costs), dag) for dag in oracle.all_dags(n))
    return sorted((cost, dag) for cost, dag in listed if cost < math.inf)


def classes_of(dags):
    """The networks by class."""
    left, classes = set(dags), []
    for dag in dags:
        if dag in left:
            classes.append(members_of(dag) & left)
            left -= classes[-1]
    return classes


def dag_of(graph):
    """A networkx graph as the tuple of its parent sets."""
    names = list(graph)
    return tuple(tuple(sorted(names.index(p) for p in graph.predecessors(name))) for name in names)


def by_name(limits):
    """Options in positions as options in names."""
    named = dict(limits)
    for option in ("forbidden_edges", "required_edges"):
        if option in named:
            named[option] = [(f"v{p}", f"v{c}") for p, c in named[option]]
    if "tiers" in named:
        named["tiers"] = [[f"v{v}" for v in tier] for tier in named["tiers"]]
    if isinstance(named.get("max_parents"), dict):
        named["max_parents"] = {f"v{v}": k for v, k in named["max_parents"].items()}
    return named


def assert_sound(credible, tolerance=0.0):
    """What holds for every set: each network once, in order of score, grouped and weighted as it says.

    What is at the edge may be off by the tolerance.
    """
    listed = list(credible.networks())
    dags = [dag_of(graph) for graph in listed]
    scores = [graph.graph["score"] for graph in listed]
    assert len(set(dags)) == len(dags) == credible.n_networks
    assert scores == sorted(scores, reverse=True)
    for graph, dag, score in zip(listed, dags, scores, strict=True):
        assert tuple(graph) == credible.names
        assert oracle.is_acyclic(dag)
        parents = {name: list(graph.predecessors(name)) for name in graph}
        assert math.isclose(credible.score_table.network_score(parents), score, rel_tol=1e-12, abs_tol=1e-9)
        assert score >= credible.optimal_score - credible.epsilon - 1e-6 - 2 * tolerance
    grouped = classes_of(dags)
    found = credible.classes()
    assert len(found) == credible.n_classes == len(grouped)
    by_member = {dag: group for group in grouped for dag in group}
    masses = {dag: math.exp(score - credible.optimal_score) for dag, score in zip(dags, scores, strict=True)}
    for member in found:
        group = by_member.pop(dag_of(member.representative))
        assert member.size == len(group)
        weight = sum(masses[dag] for dag in group) / sum(masses.values())
        assert math.isclose(member.weight, weight, rel_tol=1e-9, abs_tol=1e-300)  # tiny ones have few digits
        assert member.score == member.representative.graph["score"]
        by_member = {dag: other for dag, other in by_member.items() if other is not group}
    assert not by_member
    assert [member.score for member in found] == sorted((member.score for member in found), reverse=True)
    return dags


def assert_all_within(credible, costs, epsilon):
    """The set holds exactly the networks within epsilon of the optimum of these costs."""
    dags = set(assert_sound(credible))
    n = len(credible.names)
    listed = networks_by_cost(n, costs)
    optimum = listed[0][0]
    assert math.isclose(-credible.optimal_score, optimum, rel_tol=1e-9, abs_tol=1e-8)
    assert {dag for cost, dag in listed if cost <= optimum + epsilon - BOUNDARY} <= dags
    assert dags <= {dag for cost, dag in listed if cost <= optimum + epsilon + BOUNDARY}
    return dags
