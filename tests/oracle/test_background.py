"""Classes of which some directions are known: what Meek's rules add is what brute force finds, no more and no less."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import networks
import oracle
import strategies
from credibn import CPDAG, learn
from credibn.graphs.background import orient
from profiles import examples


def class_graph(members):
    """The CPDAG of a class from its definition."""
    directed, undirected = oracle.cpdag(members)
    return CPDAG(
        tuple(range(len(members[0]))),
        tuple(sorted(directed)),
        tuple(sorted(tuple(sorted(edge)) for edge in undirected)),
    )


def common(members):
    """The directions that all of these networks share, and the pairs that they join in both directions."""
    edges = [oracle.edges_of(member) for member in members]
    shared = set.intersection(*edges)
    joined = {tuple(sorted(edge)) for edge in edges[0]}
    return shared, {pair for pair in joined if pair not in shared and pair[::-1] not in shared}


def check(members, known):
    found = orient(class_graph(members), known)
    consistent = [member for member in members if set(known) <= oracle.edges_of(member)]
    shared, differing = common(consistent)
    assert (set(found.directed), set(found.undirected)) == (shared, differing)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_all_that_follows_from_known_directions_is_found(n):
    """Every class, with each single direction, and with random sets of directions that some member has."""
    rng = np.random.default_rng(n)
    for members in oracle.all_classes(n):
        check(members, [])
        undirected = class_graph(members).undirected
        for edge in (edge for a, b in undirected for edge in ((a, b), (b, a))):
            check(members, [edge])
        for _ in range(2 if undirected else 0):
            member = members[rng.integers(len(members))]
            check(members, [edge for edge in oracle.edges_of(member) if rng.random() < 0.5])


@examples(60)
@given(st.integers(0, 29_280), st.data())
def test_all_that_follows_is_found_for_five_variables(number, draws):
    member = oracle.all_dags(5)[number]
    members = sorted(oracle.class_of(member))
    chosen = draws.draw(st.sets(st.sampled_from(sorted(oracle.edges_of(member)) or [(0, 1)])))
    check(members, sorted(chosen & oracle.edges_of(member)))


def test_rule_four_is_needed_with_knowledge_of_directions():
    """a -- b, a -- c, a -- d, d -> c -> b where d and b are not joined: only rule 4 gives a -> b."""
    whole = CPDAG(("a", "b", "c", "d"), (), (("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("c", "d")))
    assert ("a", "b") in orient(whole, [("d", "c"), ("c", "b")]).directed


@examples(60)
@given(strategies.coded_tables(max_columns=4), strategies.epsilons(), st.data())
def test_the_graph_of_a_class_is_what_its_credible_networks_share(table, epsilon, draws):
    limits = draws.draw(strategies.constraints(table))
    found = learn(table.dataset(), epsilon=epsilon, posterior_share=False, **limits)
    assume(found.n_networks <= 2000)
    by_class = networks.classes_of([networks.dag_of(graph) for graph in found.networks()])
    assert len(by_class) == found.n_classes
    position = {name: v for v, name in enumerate(found.names)}
    for one in found.classes():
        (members,) = [group for group in by_class if networks.dag_of(one.representative) in group]
        shared, differing = common(sorted(members))
        assert {(position[a], position[b]) for a, b in one.graph.directed} == shared
        assert {tuple(sorted((position[a], position[b]))) for a, b in one.graph.undirected} == differing


@examples(30)
@given(strategies.coded_tables(max_columns=4), st.data())
def test_meeks_rules_and_the_list_give_the_same_graph(table, draws):
    """For constraints on edges; a limit on parents may decide more."""
    limits = draws.draw(strategies.constraints(table))
    limits.pop("max_parents", None)
    found = learn(table.dataset(), epsilon=1.0, posterior_share=False, unit="networks", **limits)
    unfinished = replace(found, complete=False, stopped_because="time_limit", unexplored_bound=found.optimal_score)
    for listed, derived in zip(found.classes(), unfinished.classes(), strict=True):
        assert derived.graph == listed.graph


@examples(30)
@given(strategies.coded_tables(max_columns=4), st.data())
def test_a_part_of_a_set_claims_no_direction_that_the_whole_leaves_open(table, draws):
    limits = draws.draw(strategies.constraints(table))
    whole = learn(table.dataset(), epsilon=2.0, posterior_share=False, unit="networks", **limits)
    count = draws.draw(st.integers(1, whole.n_networks))
    part = learn(table.dataset(), epsilon=2.0, posterior_share=False, unit="networks", max_networks=count, **limits)
    wholes = {frozenset(one.cpdag.edges_as_text): one for one in whole.classes()}
    for one in part.classes():
        assert set(one.graph.directed) <= set(wholes[frozenset(one.cpdag.edges_as_text)].graph.directed)
