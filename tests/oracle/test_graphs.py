"""The Python face of networks and classes."""

import math
from itertools import combinations, islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from credibn.errors import OptionError
from credibn.graphs import (
    CPDAG,
    class_members,
    class_size,
    cpdag_of,
    network_graph,
    parent_masks,
    same_class,
)

dags_of_four = st.sampled_from(oracle.all_dags(4))
NAMES = ("d", "c", "b", "a")
"""Not in alphabetical order: positions must win."""


def graph_of(dag):
    graph = nx.DiGraph()
    graph.add_nodes_from(NAMES)
    graph.add_edges_from((NAMES[p], NAMES[v]) for p, v in oracle.edges_of(dag))
    return graph


def positions(edges):
    return [(NAMES.index(a), NAMES.index(b)) for a, b in edges]


@given(dag=dags_of_four)
def test_masks_and_graphs_say_the_same(dag):
    masks = parent_masks(graph_of(dag), NAMES)
    assert masks.dtype == np.uint64
    assert masks.tolist() == [[sum(1 << p for p in parents)] for parents in dag]
    back = network_graph(NAMES, masks)
    assert tuple(back) == NAMES
    assert set(back.edges) == set(graph_of(dag).edges)
    edges = [(NAMES[p], NAMES[v]) for p, v in oracle.edges_of(dag)]
    for given_as in (edges, [f"{a}->{b}" for a, b in edges], list(oracle.edges_of(dag)), iter(edges)):
        assert np.array_equal(parent_masks(given_as, NAMES), masks)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129, 255])
def test_masks_of_many_words(n):
    names = [f"v{v}" for v in range(n)]
    chain = nx.DiGraph()
    chain.add_nodes_from(names)
    nx.add_path(chain, names)
    masks = parent_masks(chain, names)
    assert masks.shape == (n, math.ceil(n / 64))
    assert list(network_graph(names, masks).edges) == list(chain.edges)
    assert class_size(chain) == n
    assert len(list(class_members(chain))) == n


def test_a_graph_may_lack_nodes():
    assert parent_masks(nx.DiGraph([("b", "a")]), NAMES).tolist() == [[0], [0], [0], [4]]


@given(dag=dags_of_four)
def test_classes_of_four_nodes(dag):
    members = sorted(oracle.class_of(dag))
    compelled, undirected = oracle.cpdag(members)
    graph = graph_of(dag)
    found = cpdag_of(graph)
    assert found.names == NAMES
    assert positions(found.directed) == sorted(compelled)
    assert positions(found.undirected) == sorted(tuple(sorted(edge)) for edge in undirected)
    assert class_size(graph) == len(members)
    listed = list(class_members(graph))
    assert sorted(positions(sorted(member.edges)) for member in listed) == sorted(
        positions(sorted(graph_of(member).edges)) for member in members
    )
    assert all(tuple(member) == NAMES for member in listed)


@given(first=dags_of_four, second=dags_of_four)
def test_same_class_is_equivalence(first, second):
    expected = oracle.markov_key(first) == oracle.markov_key(second)
    assert same_class(graph_of(first), graph_of(second)) == expected
    turned = list(oracle.covered_reversals(first))
    assert all(same_class(graph_of(first), graph_of(other)) for other in turned)


def test_nodes_in_another_order_are_the_same_nodes():
    first, second = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("c", "b"), ("b", "a")])
    assert same_class(first, second)
    second.add_edge("c", "a")
    assert not same_class(first, second)


def test_nodes_need_not_be_strings():
    graph = nx.DiGraph([(7, (1, 2)), ("x", (1, 2))])
    assert cpdag_of(graph).directed == ((7, (1, 2)), ("x", (1, 2)))
    assert list(cpdag_of(nx.DiGraph([(3, 1), (1, 0)])).undirected) == [(3, 1), (1, 0)]


def test_to_networkx():
    cpdag = CPDAG(("a", "b", "c", "d"), directed=(("c", "a"),), undirected=(("b", "d"),))
    graph = cpdag.to_networkx()
    assert list(graph) == ["a", "b", "c", "d"]
    assert dict(graph.edges) == {
        ("c", "a"): {"directed": True},
        ("b", "d"): {"directed": False},
        ("d", "b"): {"directed": False},
    }


def test_cpdags_are_values():
    first, second = (cpdag_of(nx.DiGraph([edge])) for edge in (("a", "b"), ("a", "b")))
    assert first == second
    assert len({first, second}) == 1
    assert CPDAG(("a",), (), ()) != CPDAG(("b",), (), ())


def test_text():
    assert repr(CPDAG(("a",), (), ())) == "CPDAG of 1 node: no edges"
    assert repr(CPDAG(("a", "b", "c"), (("a", "b"),), (("b", "c"),))) == "CPDAG of 3 nodes: a -> b, b -- c"
    large = cpdag_of(nx.DiGraph(combinations("abcdefgh", 2)))
    assert repr(large).endswith("b -- g, ... (28 edges)")


def test_large_classes_are_counted_exactly_and_listed_lazily():
    names = [f"v{v}" for v in range(25)]
    clique = nx.DiGraph(combinations(names, 2))
    assert class_size(clique) == math.factorial(25)
    first = list(islice(class_members(clique), 700))
    assert len({frozenset(member.edges) for member in first}) == 700


@pytest.mark.parametrize(
    ("edges", "names", "message"),
    [
        (nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")]), "abc", "cycle, 'a' -> 'b' -> 'c' -> 'a'"),
        (["a->b", "b->a"], "ab", "cycle, 'a' -> 'b' -> 'a'"),
        (nx.DiGraph([("a", "a")]), "a", "self-loop at 'a'"),
        (["a->a"], "a", "self-loop"),
        (nx.Graph([("a", "b")]), "ab", "undirected"),
        (nx.DiGraph([("rain", "wett")]), ["rain", "wet"], "unknown node of the graph 'wett': did you mean 'wet'"),
        (nx.DiGraph([("rain", 5)]), ["rain", "wet"], "unknown node of the graph '5'"),
        ([("rain", "wett")], ["rain", "wet"], "did you mean 'wet'"),
        ([("rain",)], ["rain", "wet"], "is not an edge"),
        ("rain->wet", ["rain", "wet"], "give a networkx.DiGraph or a list of edges"),
        (7, ["rain", "wet"], "give a networkx.DiGraph or a list of edges"),
        ([], [], "has 0 nodes"),
        ([], [f"v{v}" for v in range(256)], "has 256 nodes"),
    ],
)
def test_wrong_networks_are_refused(edges, names, message):
    with pytest.raises(OptionError, match=message):
        parent_masks(edges, list(names))


def test_wrong_graphs_are_refused_at_once():
    cycle = nx.DiGraph([("a", "b"), ("b", "a")])
    for function in (cpdag_of, class_size, class_members):
        with pytest.raises(OptionError, match="cycle"):
            function(cycle)
    with pytest.raises(OptionError, match="different nodes: 'c'"):
        same_class(nx.DiGraph([("a", "b")]), nx.DiGraph([("a", "b"), ("b", "c")]))
