"""Collider patterns, counted class by class, against listing every network; and the printed numbers."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies
from credibn import CredibleSet, EdgeLogOdds, ScoreTable, learn
from credibn.credible.structures import Structures, choices_of
from credibn.errors import TooLargeError
from credibn.graphs import class_members, class_size, parent_masks
from networks import dag_of
from paper.collider_patterns import count_collider_patterns
from profiles import examples

PRINTED = {
    "bic": {
        "tictactoe": (64, 64, 160),
        "wine": (51, 576, None),
        "voting": (2, 33, 170),
        "hepatitis": (105, 15358, None),
        "sponge": (65, None, None),
    },
    "bdeu": {"tictactoe": (None, 24, None), "wine": (None, 6262, None), "voting": (None, 207, None)},
}


def pattern_of(dag):
    """Skeleton and all colliders, shielded or not."""
    skeleton = frozenset(frozenset((p, v)) for v, parents in enumerate(dag) for p in parents)
    return skeleton, frozenset((v, pair) for v, parents in enumerate(dag) for pair in combinations(parents, 2))


def count_by_listing(found):
    return len({pattern_of(dag_of(graph)) for graph in found.networks()})


def all_tied(n):
    """A table in which every network on n nodes has the score 0."""
    sets = [(child, parents) for child in range(n) for parents in oracle.all_parent_sets(n, child)]
    masks = [[sum(1 << p for p in parents)] for _, parents in sets]
    names = [f"v{v}" for v in range(n)]
    nodes = [child for child, _ in sets]
    return ScoreTable.from_arrays(names, nodes, np.zeros(len(sets)), masks, {"score_equivalent": True, "epsilon": 1})


def one_class(graph, members):
    """A credible set of one class, made of the graph and the parent sets of these members."""
    names = tuple(graph)
    masks = np.stack([parent_masks(member, names) for member in members])
    sets = [np.unique(of_node, axis=0) for of_node in masks.transpose(1, 0, 2)]
    nodes = np.repeat(np.arange(len(names)), [len(distinct) for distinct in sets])
    table = ScoreTable.from_arrays(tuple(map(str, names)), nodes, np.zeros(len(nodes)), np.concatenate(sets))
    size = class_size(graph)
    sizes = np.array([[size >> 64 * k & (1 << 64) - 1 for k in range(40)]], dtype=np.uint64)
    chosen = choices_of(table, parent_masks(graph, names)[np.newaxis])
    return CredibleSet(table, Structures(chosen, np.zeros(1), sizes, None), 0.0, 0.0, True, "made up")


def random_network(rng, n, width, n_colliders):
    """Connected and without v-structures: each new node joins part of a clique; then colliders at further nodes."""
    graph, cliques = nx.DiGraph(), [[0]]
    graph.add_nodes_from(rng.permutation(n + n_colliders).tolist())
    for v in range(1, n):
        clique = cliques[rng.integers(len(cliques))]
        chosen = rng.permutation(clique)[: rng.integers(1, width + 1)].tolist()
        graph.add_edges_from((p, v) for p in chosen)
        cliques.append([*chosen, v])
    for v in range(n, n + n_colliders):
        graph.add_edges_from((p, v) for p in rng.choice(v, size=min(v, 2), replace=False).tolist())
    return graph


@pytest.mark.parametrize(("n", "n_networks"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29281)])
def test_all_networks_on_few_nodes(n, n_networks):
    found = learn(all_tied(n), epsilon=0)
    assert found.n_networks == n_networks
    assert count_collider_patterns(found) == len({pattern_of(dag) for dag in oracle.all_dags(n)})


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 4), st.integers(0, 2))
def test_one_class(seed, n, width, n_colliders):
    """Larger components than all networks on five nodes have, with and without compelled parents."""
    graph = random_network(np.random.default_rng(seed), n, width, n_colliders)
    members = list(class_members(graph))
    expected = {pattern_of(dag_of(member)) for member in members}
    assert count_collider_patterns(one_class(graph, members)) == len(expected)


@examples(30)
@given(strategies.coded_tables(max_columns=5), st.sampled_from([0.0, 1.1, 3.1, 20.0]))
def test_sets_learned_from_data(table, epsilon):
    by_class = learn(table.dataset(), epsilon=epsilon, unit="classes")
    by_network = learn(table.dataset(), epsilon=epsilon, unit="networks")
    expected = count_by_listing(by_class)
    assert count_collider_patterns(by_class) == count_collider_patterns(by_network) == expected


@examples(30)
@given(strategies.coded_tables(min_columns=2, max_columns=4), st.integers(0, 2**32 - 1))
def test_classes_that_are_credible_in_part(table, seed):
    """With a prior that tells the members of a class apart, networks are listed one by one."""
    odds = np.random.default_rng(seed).normal(size=(table.n, table.n))
    np.fill_diagonal(odds, 0.0)
    found = learn(table.dataset(), epsilon=2.0, prior=EdgeLogOdds(odds))
    assert count_collider_patterns(found) == count_by_listing(found)


def test_more_rows_than_allowed_are_not_counted():
    by_class, by_network = (learn(all_tied(3), epsilon=0, unit=unit) for unit in ("classes", "networks"))
    for found, n_rows in ((by_class, 11), (by_network, 25)):
        assert count_collider_patterns(found, most_rows=n_rows - 1) is None
        assert count_collider_patterns(found, most_rows=n_rows) == 13


def counted(n, edges):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    return count_collider_patterns(one_class(graph, [graph]))


def test_components_beyond_one_word():
    """A clique on k nodes has k! orientations, and the order of the first two leaves no trace in the pattern."""
    assert counted(70, combinations(range(61, 67), 2)) == 720 // 2
    assert counted(130, [*combinations((3, 64, 128), 2), *combinations((0, 65, 129, 127), 2)]) == 3 * 12
    assert counted(70, [*combinations((1, 66, 69), 2), (0, 1), (2, 1)]) == 2  # 0 -> 1 <- 2 compels 1 -> 66, 69


def test_largest_components():
    path = [(v, v + 1) for v in range(254)]
    assert counted(255, path) == 1
    assert counted(66, [*path[:65], (0, 2)]) == 3  # which node of the triangle has two parents
    with pytest.raises(TooLargeError, match="253 variables"):
        counted(253, [*path[:252], (0, 2)])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "score", "bayes_factor", "printed"),
    [
        pytest.param(
            name, score, factor, number, id=f"{name}-{score}-{factor}", marks=[pytest.mark.slow] if factor > 3 else []
        )
        for score, by_name in PRINTED.items()
        for name, numbers in by_name.items()
        for factor, number in zip((3, 20, 150), numbers, strict=True)
        if number is not None
    ],
)
def test_printed_numbers(shared_data, name, score, bayes_factor, printed):
    found = learn(shared_data / f"{name}.csv", score=score, bayes_factor=bayes_factor)
    assert count_collider_patterns(found) == printed
