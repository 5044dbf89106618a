"""Averages over credible sets: against looking at every network, against all DAGs, and against their definitions."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import listing
import networks
import oracle
import strategies
from credibn import (
    BIC,
    BDeu,
    EdgeLogOdds,
    EdgePenalty,
    FeatureProbability,
    ScoreTable,
    UniformPrior,
    _core,
    k_best_classes,
    k_best_networks,
    learn,
)
from credibn.credible.consensus import agreement_graph
from credibn.credible.structures import log_sum
from credibn.credible.weights import shares
from credibn.errors import CredibnWarning, OptionError, TooLargeError
from credibn.examples import sample_asia
from credibn.posterior.parent_sets import ParentSetProbabilities
from credibn.scores.table import parent_positions
from profiles import examples, sampled
from test_classes import listed, random_chordal, random_dag, to_masks

CLOSE = 1e-10


def names_of(credible):
    return list(credible.names)


def check_averages(credible, weights, edges, prior="networks"):
    """Everything that a set averages, against the same from its networks one by one."""
    expected = listing.averages(edges, weights)
    names = names_of(credible)
    frame = credible.edge_probabilities(prior)
    assert list(frame.index) == list(frame.columns) == names
    np.testing.assert_allclose(frame.to_numpy(), expected["edges"], atol=CLOSE)
    np.testing.assert_allclose(
        credible.adjacency_probabilities(prior), expected["edges"] + expected["edges"].T, atol=CLOSE
    )
    np.testing.assert_allclose(credible.ancestor_probabilities(prior), expected["paths"], atol=CLOSE)
    np.testing.assert_allclose(credible.markov_blanket_probabilities(prior), expected["blankets"], atol=CLOSE)
    found = {
        (names.index(row.first), names.index(row.second), names.index(row.child)): row.probability
        for row in credible.v_structure_probabilities(prior).itertuples()
    }
    assert found == pytest.approx(expected["v_structures"], abs=CLOSE)
    sets = {
        (v, tuple(sorted(names.index(p) for p in row.parents))): row.probability
        for v, name in enumerate(names)
        for row in credible.parent_set_probabilities(name, prior).itertuples()
    }
    assert sets == pytest.approx(expected["parent_sets"], abs=CLOSE)
    check_pairs(credible, prior, expected["edges"])


def check_pairs(credible, prior, edges):
    names = names_of(credible)
    pairs = credible.pair_probabilities(prior)
    pairs = pairs[pairs["forward"] + pairs["backward"] > 0]  # the others are joined by networks outside the set alone
    assert {(names.index(a), names.index(b)) for a, b in zip(pairs["first"], pairs["second"], strict=True)} == {
        (a, b) for a, b in itertools.combinations(range(len(names)), 2) if edges[a, b] + edges[b, a] > 0
    }
    np.testing.assert_allclose(pairs["forward"] + pairs["backward"] + pairs["absent"], 1, atol=CLOSE)
    compelled = pairs["compelled_forward"] + pairs["compelled_backward"]
    np.testing.assert_allclose(compelled + pairs["reversible"], 1 - pairs["absent"], atol=CLOSE)
    assert (pairs["compelled_forward"] <= pairs["forward"] + CLOSE).all()
    assert pairs["absent"].round(12).is_monotonic_increasing
    strengths = credible.edge_strengths(prior)
    assert list(strengths.columns) == ["from", "to", "strength", "direction"]
    for row in strengths.itertuples(index=False):
        a, b = names.index(row[0]), names.index(row[1])
        assert row.strength == pytest.approx(edges[a, b] + edges[b, a])
        assert row.strength * row.direction == pytest.approx(edges[a, b], abs=CLOSE)
    assert len(strengths) == 2 * len(pairs)


def compelled_by_class(edges, classes, weights):
    """The probability that an edge is there and shared by all networks of its class in the set."""
    compelled = np.zeros(edges.shape[1:])
    for number in range(classes.max() + 1):
        compelled += weights[classes == number].sum() * edges[classes == number].all(axis=0)
    return compelled


# Within a class


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_probabilities_in_every_class(n):
    for members in oracle.all_classes(n):
        check_class(members[0], members)


@pytest.mark.parametrize("seed", range(60))
def test_probabilities_in_random_classes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    dag = random_dag(rng, n, 3) if seed % 2 else random_chordal(rng, n, 1 + seed % 4)
    check_class(dag, listed(dag))


def check_class(dag, members):
    n = len(dag)
    arrays = (np.arange(n + 1), to_masks([dag])[0], np.zeros((1, n), np.uint32), np.ones(1), True)
    edges = listing.adjacency(to_masks(members))
    expected = listing.averages(edges, np.full(len(members), 1 / len(members)))
    nodes, masks, probabilities, *_ = _core.average_structure(*arrays)
    parents = listing.adjacency(np.broadcast_to(masks[:, None], (len(masks), n, masks.shape[1])))[:, :, 0]
    found = {
        (int(v), tuple(np.flatnonzero(row).tolist())): p
        for v, row, p in zip(nodes, parents, probabilities, strict=True)
    }
    assert found == pytest.approx(expected["parent_sets"], abs=1e-12)
    np.testing.assert_allclose(_core.average_ancestors(*arrays), expected["paths"], atol=1e-12)
    check_causes(arrays, members)


def check_causes(arrays, members):
    """The parents of a node together with each descendant, from the list of the members of a class."""
    expected = Counter()
    for dag in members:
        for u, parents in enumerate(dag):
            expected[u, parents] += 1 / len(members)
            for v in range(len(dag)):
                expected[u, parents, v] += oracle.has_path(dag, u, v) / len(members)
    nodes, masks, probabilities, paths = _core.average_causes(*arrays)
    found = {}
    for u, parents, probability, row in zip(nodes.tolist(), parent_positions(masks), probabilities, paths, strict=True):
        found[u, tuple(parents)] = probability
        found.update({(u, tuple(parents), v): p for v, p in enumerate(row)})
    assert found == pytest.approx(dict(expected), abs=1e-12)


@pytest.mark.parametrize("n", [64, 65, 130])
def test_probabilities_in_wide_masks(n):
    """A chain: each node is the source with probability 1 / n, and reaches whatever lies on its side of the source."""
    dag = tuple((v - 1,) if v else () for v in range(n))
    arrays = (np.arange(n + 1), to_masks([dag])[0], np.zeros((1, n), np.uint32), np.ones(1), True)
    nodes, masks, probabilities, *_ = _core.average_structure(*arrays)
    names = tuple(f"v{v}" for v in range(n))
    edges = ParentSetProbabilities(names, nodes, masks, probabilities).edges
    for v in range(n - 1):
        assert edges[v, v + 1] == pytest.approx((v + 1) / n)
        assert edges[v + 1, v] == pytest.approx((n - v - 1) / n)
    paths = _core.average_ancestors(*arrays)
    assert paths[0, n - 1] == pytest.approx(1 / n)
    assert paths[n // 2, n - 1] == pytest.approx((n // 2 + 1) / n)


def test_probabilities_in_a_clique_with_more_members_than_a_word_holds():
    n = 23
    dag = tuple(tuple(range(v)) for v in range(n))
    disjoint = tuple((v - 1,) if v % 2 else () for v in range(200))  # 2^100 members
    arrays = (np.arange(201), to_masks([disjoint])[0], np.zeros((1, 200), np.uint32), np.ones(1), True)
    assert set(_core.average_structure(*arrays)[2].tolist()) == {0.5}
    k = 10  # a clique of 10: each parent set of size s has probability s! (9 - s)! / 10!
    arrays = (np.arange(k + 1), to_masks([dag[:k]])[0], np.zeros((1, k), np.uint32), np.ones(1), True)
    nodes, masks, probabilities, *_ = _core.average_structure(*arrays)
    assert len(nodes) == k * 2 ** (k - 1)
    for mask, p in zip(masks[:, 0].tolist(), probabilities.tolist(), strict=True):
        size = bin(mask).count("1")
        assert p == pytest.approx(math.factorial(size) * math.factorial(k - 1 - size) / math.factorial(k))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.ones(2)}, "a weight for each network"),
        ({"weights": np.array([np.nan])}, "between 0 and 1"),
        ({"weights": np.array([1.5])}, "between 0 and 1"),
        ({"choices": np.array([[0, 1]], np.uint32)}, "candidate that does not exist"),
        ({"offsets": np.array([0, 2, 1])}, "offsets must run"),
        ({"masks": np.array([[2], [1]], np.uint64)}, "directed cycle"),
    ],
)
def test_wrong_arrays_are_refused(change, message):
    given = {
        "offsets": np.array([0, 1, 2]),
        "masks": np.zeros((2, 1), np.uint64),
        "choices": np.zeros((1, 2), np.uint32),
        "weights": np.ones(1),
        "are_classes": True,
        **change,
    }
    for average in (_core.average_structure, _core.average_ancestors):
        with pytest.raises(ValueError, match=message):
            average(**given)


# Over a set


@examples(60)
@given(strategies.coded_tables(max_columns=5), strategies.epsilons(), st.data())
def test_averages_are_those_of_the_networks(table, epsilon, draws):
    limits = draws.draw(st.one_of(st.just({}), strategies.constraints(table)))
    credible = learn(table.dataset(), epsilon=epsilon, **limits)
    assume(credible.n_networks <= 3000)
    edges, scores, classes = listing.all_networks(credible)
    check_averages(credible, listing.weights_of(scores), edges)
    by_class = listing.weights_of(scores, classes)
    check_averages(credible, by_class, edges, "classes")
    compelled = compelled_by_class(edges, classes, by_class)
    np.testing.assert_allclose(credible.averages("classes").compelled, compelled, atol=CLOSE)


@examples(40)
@given(strategies.coded_tables(max_columns=4), strategies.epsilons(), st.data())
def test_averages_under_a_structure_prior(table, epsilon, draws):
    prior = draws.draw(strategies.priors(table.n)) or UniformPrior()
    limits = draws.draw(st.one_of(st.just({}), strategies.constraints(table)))
    credible = learn(table.dataset(), epsilon=epsilon, **limits)
    edges, scores, _ = listing.all_networks(credible)
    terms = strategies.log_prior(prior, table.n)
    weights = listing.weights_of(scores, log_prior=np.einsum("kpc,pc->k", edges, terms))
    check_averages(credible, weights, edges, prior)


@examples(25)
@given(strategies.coded_tables(max_columns=4), st.sampled_from([BIC(), BDeu(1.0), BDeu(30.0)]))
def test_a_wide_set_is_the_posterior_of_all_networks(table, score):
    """Epsilon beyond any difference: the averages are those over all DAGs, from naive scores."""
    costs = networks.naive_costs(table, score)
    dags = networks.networks_by_cost(table.n, costs)
    credible = learn(table.dataset(), score=score, epsilon=dags[-1][0] - dags[0][0] + 1)
    assert credible.n_networks == len(dags)
    weights = listing.weights_of([-cost for cost, _ in dags])
    expected = np.zeros((table.n, table.n))
    for weight, (_, dag) in zip(weights, dags, strict=True):
        for edge in oracle.edges_of(dag):
            expected[edge] += weight
    np.testing.assert_allclose(credible.edge_probabilities(), expected, atol=1e-7)


def small_set(shift=0.0):
    """Three nodes: the chain a - b - c, the network without c's edge, and a v-structure, a few nats apart."""
    sets = {
        "a": {(): -1.0, ("b",): 0.0},
        "b": {(): -1.0, ("a",): 0.0, ("c",): -0.5, ("a", "c"): -2.0},
        "c": {(): -1.5, ("b",): -1.0},
    }
    names = list(sets)
    rows = [
        (child, score + shift, [sum(1 << names.index(p) for p in parents)])
        for child, of_child in enumerate(sets.values())
        for parents, score in of_child.items()
    ]
    nodes, scores, masks = (np.array(column) for column in zip(*rows, strict=True))
    table = ScoreTable.from_arrays(names, nodes, scores, masks.astype(np.uint64), {"epsilon": 5.0})
    return learn(scores=table, epsilon=5.0)


@pytest.mark.parametrize("shift", [-1e7 / 3, 1e7 / 3])
def test_the_size_of_the_scores_does_not_matter(shift):
    shifted, plain = small_set(round(shift)), small_set()
    assert shifted.optimal_score == pytest.approx(3 * round(shift) + plain.optimal_score)
    for prior in ("networks", "classes", EdgePenalty(1.0), EdgeLogOdds({("a", "b"): 2.0})):
        np.testing.assert_allclose(shifted.edge_probabilities(prior), plain.edge_probabilities(prior), atol=1e-8)
        edges, scores, classes = listing.all_networks(plain)
        assert classes.max() == plain.n_classes - 1
    check_averages(plain, listing.weights_of(scores), edges)


def test_weights_of_millions_add_up():
    """A sum of very unequal terms keeps the small ones."""
    logs = np.concatenate([[0.0], np.full(10**6, math.log(1e-16))])
    assert log_sum(logs) == pytest.approx(math.log1p(1e-10), rel=1e-9)
    assert math.fsum(shares(logs)) == pytest.approx(1.0, abs=1e-15)


LISTED = [
    ("tictactoe", 150),
    ("wine", 20),
    ("voting", 20),
    ("hepatitis", 3),
    pytest.param("msnbc", 150, marks=pytest.mark.slow),
    ("insurance", 150),
    pytest.param("flag", 3, marks=pytest.mark.slow),
    pytest.param("alarm", 3, marks=pytest.mark.slow),
    pytest.param("mildew", 3, marks=pytest.mark.slow),
    pytest.param("sponge", 3, marks=pytest.mark.slow),
    pytest.param("barley", 3, marks=pytest.mark.slow),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "bayes_factor"), LISTED)
def test_averages_on_published_data(shared_data, name, bayes_factor):
    credible = learn(shared_data / f"{name}.csv", score="bic", bayes_factor=bayes_factor)
    edges, scores, classes = listing.all_networks(credible)
    check_averages(credible, listing.weights_of(scores), edges)
    check_averages(credible, listing.weights_of(scores, classes), edges, "classes")


@pytest.mark.slow
def test_averages_over_many_networks_of_few_classes(shared_data):
    credible = learn(shared_data / "hailfinder100.csv", bayes_factor=3)
    expected = np.zeros((56, 56, 2))
    size = credible.n_networks
    weights = {}
    for number, item in enumerate(credible.classes()):
        weights[number] = item.weight / item.size
    sizes = [item.size for item in credible.classes()]
    of_network = np.repeat([weights[k] for k in range(len(sizes))], sizes)
    at = 0
    for masks, _ in credible.networks_masks(2048):
        edges = listing.adjacency(masks)
        some = of_network[at : at + len(masks)]
        expected[..., 0] += np.einsum("k,kpc->pc", some, edges)
        expected[..., 1] += np.einsum("k,kpc->pc", some, listing.paths(edges))
        at += len(masks)
    assert at == size == 432_624
    np.testing.assert_allclose(credible.edge_probabilities(), expected[..., 0], atol=1e-9)
    np.testing.assert_allclose(credible.ancestor_probabilities(), expected[..., 1], atol=1e-9)


# Any feature


def test_a_feature_by_listing_and_by_sampling():
    credible = small_set()
    edges = credible.edge_probabilities()
    exact = credible.feature_probability(lambda network: network.has_edge("a", "b"))
    assert exact.method == "listing"
    assert exact.n_networks == credible.n_networks
    assert float(exact) == pytest.approx(edges.loc["a", "b"])
    assert exact.standard_error == 0
    drawn = credible.feature_probability(lambda network: network.has_edge("a", "b"), max_listed=0, n_samples=4000)
    assert drawn.method == "sampling"
    assert drawn.n_networks == 4000
    assert drawn.standard_error == pytest.approx(math.sqrt(drawn.value * (1 - drawn.value) / 4000))
    assert abs(drawn.value - exact.value) < 5 * drawn.standard_error
    assert credible.feature_probability(lambda _: True).value == 1
    assert credible.feature_probability(lambda _: False, max_listed=0) == FeatureProbability(0.0, "sampling", 10_000, 0)


def test_a_feature_of_classes_of_different_sizes():
    """Each member has its part of the weight of its class."""
    credible = learn(sample_asia(), bayes_factor=20)
    assert len({item.size for item in credible.classes()}) > 1  # or this test shows nothing
    edges = credible.edge_probabilities()
    for parent, child in [("smoke", "lung"), ("xray", "asia"), ("either", "asia"), ("tub", "either")]:
        found = credible.feature_probability(lambda network, edge=(parent, child): network.has_edge(*edge))
        assert (found.method, found.n_networks) == ("listing", 35)
        assert found.value == pytest.approx(edges.loc[parent, child])


def test_a_feature_under_a_prior_is_weighted_so():
    credible = small_set()
    prior = EdgeLogOdds({("a", "b"): 3.0})
    value = credible.feature_probability(lambda network: network.has_edge("a", "b"), prior=prior).value
    assert value == pytest.approx(credible.edge_probabilities(prior).loc["a", "b"])
    assert value > credible.edge_probabilities().loc["a", "b"]


# Random networks


def frequencies(credible, n_samples, **options):
    counts = Counter(frozenset(graph.edges) for graph in credible.sample_networks(n_samples, **options))
    assert sum(counts.values()) == n_samples
    return counts


@pytest.mark.few(2)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("prior", ["networks", "classes", EdgeLogOdds({("a", "b"): 1.0})])
def test_every_network_is_drawn_as_often_as_it_weighs(weighted, prior):
    credible = small_set()
    listed_networks = [frozenset(graph.edges) for graph in credible.networks()]
    edges, scores, classes = listing.all_networks(credible)
    if not weighted:
        weights = np.full(len(scores), 1 / len(scores))
    elif prior == "classes":
        weights = listing.weights_of(scores, classes)
    elif prior == "networks":
        weights = listing.weights_of(scores)
    else:
        weights = listing.weights_of(scores, log_prior=1.0 * edges[:, 0, 1])
    n_samples = 20_000
    counts = frequencies(credible, n_samples, weighted=weighted, prior=prior, seed=5)
    assert set(counts) <= set(listed_networks)
    for network, weight in zip(listed_networks, weights, strict=True):
        assert abs(counts[network] - n_samples * weight) < 5 * math.sqrt(n_samples * weight * (1 - weight)) + 1


@pytest.mark.parametrize("seed", sampled(4, range(12)))
def test_members_of_a_class_are_drawn_alike(seed):
    rng = np.random.default_rng(seed)
    dag = random_chordal(rng, 6, 1 + seed % 4)
    members = {to_masks([member])[0].tobytes() for member in listed(dag)}
    n_samples = 400 * len(members)
    drawn = _core.sample_members(np.repeat(to_masks([dag]), n_samples, axis=0), seed)
    counts = Counter(masks.tobytes() for masks in drawn)
    assert set(counts) == members
    chi_square = sum((count - 400) ** 2 / 400 for count in counts.values())
    freedom = len(members) - 1
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom) + 10


def test_the_seed_decides_the_networks():
    credible = small_set()
    first, again, other = (
        [list(graph.edges) for graph in credible.sample_networks(200, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert list(credible.sample_networks(0)) == []


def test_large_classes_are_sampled_without_listing():
    n = 100  # fifty pairs, each joined in either direction
    masks = np.zeros((2 * n, 2), dtype=np.uint64)
    for v in range(n):
        masks[2 * v, (v ^ 1) // 64] = np.uint64(1 << (v ^ 1) % 64)
    nodes, scores = np.repeat(np.arange(n), 2), np.tile([0.0, -1.0], n)
    table = ScoreTable.from_arrays([f"v{v}" for v in range(n)], nodes, scores, masks, {"epsilon": 0.5})
    credible = learn(scores=table, epsilon=0.5, score_equivalent=True)
    assert credible.n_networks == 2**50
    edges = credible.edge_probabilities()
    drawn = sum(graph.has_edge("v0", "v1") for graph in credible.sample_networks(1000, seed=3))
    assert abs(drawn / 1000 - edges.loc["v0", "v1"]) < 0.08
    found = credible.feature_probability(lambda graph: graph.has_edge("v0", "v1"), n_samples=500)
    assert found.method == "sampling"


# Consensus


def expected_agreement(dag, edges):
    """From the definition: the expected number of pairs on which the DAG and a random network have the same."""
    total = 0.0
    for a, b in itertools.combinations(range(len(dag)), 2):
        forward, backward = edges[a, b], edges[b, a]
        total += forward if a in dag[b] else backward if b in dag[a] else 1 - forward - backward
    return total


@examples(40)
@given(st.integers(1, 4), st.randoms(use_true_random=False))
def test_no_dag_agrees_better(n, random):
    """Parent sets at random, of which the edges may form cycles: the best of all DAGs is found."""
    nodes, masks, probabilities = [], [], []
    for v in range(n):
        chosen = [mask for mask in range(1 << n) if not mask >> v & 1 and random.random() < 0.5] or [0]
        weights = np.array([0.01 + random.random() ** 2 for _ in chosen])
        nodes += [v] * len(chosen)
        masks += chosen
        probabilities += (weights / weights.sum() / 2).tolist()  # both directions together stay below 1
    names = tuple("abcd"[:n])
    sets = ParentSetProbabilities(
        names, np.array(nodes), np.array(masks, dtype=np.uint64)[:, None], np.array(probabilities)
    )
    graph = agreement_graph(sets)
    dag = networks.dag_of(graph)
    assert oracle.is_acyclic(dag)
    best = max(expected_agreement(other, sets.edges) for other in oracle.all_dags(n))
    assert expected_agreement(dag, sets.edges) == pytest.approx(best)
    pairs = n * (n - 1) // 2
    assert graph.graph["expected_agreement"] == pytest.approx(best / pairs if pairs else 1.0)


@pytest.mark.parametrize("around", [(0, 1, 2), (2, 1, 0)])
def test_edges_in_a_circle_lose_the_least_probable(around):
    a, b, c = around
    nodes, masks = np.array([a, a, b, b, c, c]), np.array([[1 << c], [0], [1 << a], [0], [1 << b], [0]], np.uint64)
    probabilities = np.array([0.7, 0.3, 0.9, 0.1, 0.8, 0.2])  # c -> a, a -> b, b -> c
    graph = agreement_graph(ParentSetProbabilities(("x", "y", "z"), nodes, masks, probabilities))
    name = "xyz".__getitem__
    assert set(graph.edges) == {(name(a), name(b)), (name(b), name(c))}
    assert graph.graph["expected_agreement"] == pytest.approx((0.9 + 0.8 + 0.3) / 3)


def test_consensus_of_a_set():
    credible = small_set()
    edges, joined = credible.edge_probabilities(), credible.adjacency_probabilities()
    compelled = pd.DataFrame(credible.averages().compelled, index=list("abc"), columns=list("abc"))
    graph = credible.threshold_graph(0.4, direction_threshold=0.6)
    assert list(graph.nodes) == ["a", "b", "c"]
    for parent, child in itertools.permutations("abc", 2):
        is_back = compelled.loc[child, parent] >= 0.6 * joined.loc[parent, child]
        assert graph.has_edge(parent, child) == (joined.loc[parent, child] >= 0.4 and not is_back)
        if graph.has_edge(parent, child):
            is_decided = compelled.loc[parent, child] >= 0.6 * joined.loc[parent, child]
            assert graph.edges[parent, child] == {
                "directed": is_decided,
                "probability": edges.loc[parent, child],
                "joined": joined.loc[parent, child],
            }
    everything = credible.threshold_graph(0.0)
    assert everything.to_undirected().number_of_edges() == int((joined > 0).to_numpy().sum()) // 2
    agreed = credible.agreement_graph()
    assert oracle.is_acyclic(networks.dag_of(agreed))
    weights = credible.class_weights
    top = credible.most_probable_class()
    assert top.weight == weights.max()
    assert credible.most_probable_class("classes").score == credible.optimal_score


def chain(n=6, n_rows=400):
    """Rows in which each column repeats the one before it, nine times out of ten."""
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 2, n_rows)]
    for _ in range(n - 1):
        columns.append(np.where(rng.random(n_rows) < 0.1, 1 - columns[-1], columns[-1]))
    return np.column_stack(columns)


def test_reversible_edges_are_no_arrows_and_certain_pairs_are_not_lost():
    """One class, a chain: its source is any of six nodes, so the last edge points one way in five networks of six."""
    credible = learn(chain(), epsilon=0)
    assert credible.n_networks == 6
    assert credible.edge_probabilities().loc["X4", "X5"] == pytest.approx(5 / 6)
    assert credible.edge_probabilities().loc["X2", "X3"] == pytest.approx(1 / 2)
    graph = credible.threshold_graph(0.8)
    expected = [(f"X{at}", f"X{at + 1}") for at in range(5)]
    assert sorted((a, b) for a, b in graph.edges if a < b) == expected  # X2 -- X3 too: joined for certain
    assert all(graph.has_edge(b, a) for a, b in expected)
    assert not any(is_directed for _, _, is_directed in graph.edges(data="directed"))
    known = learn(chain(), epsilon=0, tiers=[["X0"], [f"X{at}" for at in range(1, 6)]])
    assert sorted(known.threshold_graph(0.8).edges(data="directed")) == [(a, b, True) for a, b in expected]


def test_directions_that_constraints_decide_are_compelled():
    known = learn(chain(4), epsilon=0, forbidden_edges=["X1->X0"], posterior_share=False)
    pairs = known.pair_probabilities()
    assert pairs[["compelled_forward", "compelled_backward", "reversible"]].to_numpy().tolist() == [[1.0, 0.0, 0.0]] * 3
    assert known.classes()[0].graph.edges_as_text == ("X0 -> X1", "X1 -> X2", "X2 -> X3")
    assert len(known.classes()[0].cpdag.undirected) == 3
    middle = learn(chain(4), epsilon=0, forbidden_edges=["X2->X1"], posterior_share=False)
    assert middle.classes()[0].graph.edges_as_text == ("X1 -> X2", "X2 -> X3", "X0 -- X1")
    assert middle.pair_probabilities()["reversible"].tolist() == [1.0, 0.0, 0.0]


def test_a_class_of_which_networks_are_missing_is_not_taken_for_decided():
    """Three of the four networks of a chain, or one: their common directions are an accident."""
    for count in (1, 3):
        part = learn(chain(4), epsilon=0, unit="networks", max_networks=count, posterior_share=False)
        assert not part.complete
        assert len(part.classes()[0].graph.undirected) == 3
        assert part.pair_probabilities()["reversible"].tolist() == [1.0] * 3
    one = learn(chain(4), epsilon=0, forbidden_edges=["X2->X1"], max_networks=1)
    assert one.n_networks == 1
    assert one.classes()[0].graph.edges_as_text == ("X1 -> X2", "X2 -> X3", "X0 -- X1")


def test_the_most_probable_class_need_not_be_the_best():
    """A class of one network that scores a little better than a class of three loses to it."""
    x = np.arange(80) // 40
    credible = learn(np.column_stack([x, x, x ^ (np.arange(80) % 13 == 0)]), bayes_factor=1e6)
    weights = [item.weight for item in credible.classes()]
    assert credible.most_probable_class().weight == max(weights)
    by_class = credible.most_probable_class("classes")
    assert by_class.score == max(item.score for item in credible.classes())
    assert by_class.weight == pytest.approx(
        1 / sum(math.exp(item.score - by_class.score) for item in credible.classes())
    )


# Bad input


def test_bad_options_are_refused():
    credible = small_set()
    for prior in ("uniform", 3, None, ["networks"]):
        with pytest.raises(OptionError, match='give "networks", "classes" or a structure prior'):
            credible.edge_probabilities(prior)
    with pytest.raises(OptionError, match=r"^threshold is 1\.5; it must be a probability"):
        credible.threshold_graph(1.5)
    with pytest.raises(OptionError, match=r"direction_threshold is -1; it must be a probability"):
        credible.threshold_graph(0.5, direction_threshold=-1)
    with pytest.raises(OptionError, match="n_samples is -1; it must be a whole number, 0 or more"):
        credible.sample_networks(-1)
    with pytest.raises(OptionError, match=r"seed is 0\.5; it must be a whole number"):
        credible.sample_networks(1, seed=0.5)
    with pytest.raises(OptionError, match="the predicate is 3; give a function"):
        credible.feature_probability(3)
    with pytest.raises(OptionError, match="'d'"):
        credible.parent_set_probabilities("d")


def test_an_empty_set_has_no_average():
    full = small_set()
    empty = replace(full, structures=full.rows.first(0))
    for average in ("edge_probabilities", "ancestor_probabilities", "pair_probabilities", "most_probable_class"):
        with pytest.raises(OptionError, match="the set has no network"):
            getattr(empty, average)()
    with pytest.raises(OptionError, match="the set has no network"):
        next(empty.sample_networks(1))


def test_members_too_many_to_list_are_not_listed(monkeypatch):
    monkeypatch.setattr("credibn.credible.weights._MOST_LISTED", 1)
    x = np.arange(80) // 40
    credible = learn(np.column_stack([x, x]))
    assert credible.edge_probabilities(EdgePenalty(1.0)).loc["X0", "X1"] == pytest.approx(0.5)
    with pytest.raises(TooLargeError, match="2 networks are too many to list"):
        credible.edge_probabilities(EdgeLogOdds({("X0", "X1"): 1.0}))


def test_frames_are_copies():
    credible = small_set()
    frame = credible.edge_probabilities()
    frame.loc["a", "b"] = 7.0
    assert credible.edge_probabilities().loc["a", "b"] < 1
    assert isinstance(credible.v_structure_probabilities(), pd.DataFrame)


# Found in review


def test_sums_keep_what_each_addition_rounds_away():
    """A million weights of 1e-17 beside one of 1: plain sums would stay at 1."""
    weights = np.full(10**6 + 1, 1e-17)
    weights[0] = 1.0
    arrays = (np.array([0, 1]), np.zeros((1, 1), np.uint64), np.zeros((len(weights), 1), np.uint32), weights, True)
    assert _core.average_structure(*arrays)[2][0] == pytest.approx(1 + 1e-11, abs=1e-13)


def test_classes_that_a_table_does_not_hold_as_a_whole_are_refused():
    """A table with limits on parents: a member of the class of a -> b needs b -> a, which is not listed."""
    sets = [[(0.0, ())], [(0.0, ()), (3.0, (0,))], [(0.0, ()), (3.0, (1,)), (1.0, (0,))]]
    table = ScoreTable.from_candidates(["a", "b", "c"], sets)
    with pytest.warns(CredibnWarning, match="pruned"):
        by_network = learn(scores=table, bayes_factor=20)
    assert by_network.n_networks == 2
    assert by_network.edge_probabilities().loc["b", "a"] == 0
    with pytest.warns(CredibnWarning, match="pruned"):
        asserted = learn(scores=table, bayes_factor=20, score_equivalent=True)
    assert asserted.n_networks == 2
    for find in (learn, partial(k_best_networks, k=2), partial(k_best_classes, k=1)):
        with (
            pytest.warns(CredibnWarning, match="pruned"),
            pytest.raises(OptionError, match="an edge 'a' -> 'b' that could be reversed"),
        ):
            find(scores=table, score_equivalent=True, unit="classes")


@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
def test_a_table_without_any_network_is_refused_in_its_own_words(engine):
    table = ScoreTable.from_candidates(["a", "b"], [[(0.0, (1,))], [(0.0, (0,))]], {"epsilon": 9.0})
    with pytest.raises(OptionError, match="every choice has a directed cycle"):
        learn(scores=table, bayes_factor=3, engine=engine)


def test_directions_of_rare_pairs_sum_to_one():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 4))
    rows[:, 1] = np.where(rng.random(200) < 0.1, rows[:, 1], rows[:, 0])
    strengths = learn(rows, epsilon=40.0).edge_strengths(EdgePenalty(36))
    assert strengths["strength"].min() < 1e-15  # or this test shows nothing
    sums = strengths["direction"].to_numpy().reshape(-1, 2).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


def test_an_edge_of_all_networks_passes_every_threshold():
    rng = np.random.default_rng(59)
    rows = rng.integers(0, 2, (150, 5))
    rows[:, 1] = np.where(rng.random(150) < 0.1, rows[:, 1], rows[:, 0])
    rows[:, 2] = (rows[:, 0] + rows[:, 3] + (rng.random(150) < 0.1)) % 2
    credible = learn(rows, bayes_factor=50, required_edges=["X0->X1", "X0->X2"])
    certain = sorted(credible.threshold_graph(1.0).edges(data="directed"))
    assert certain == [("X0", "X1", True), ("X0", "X2", True), ("X2", "X3", False), ("X3", "X2", False)]
