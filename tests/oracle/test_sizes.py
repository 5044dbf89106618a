"""From one variable to as many as the core takes, on both sides of every word of a mask; and numbers that fit no word.

The answers are known: blocks of a few variables do not touch each other, so the networks are the products of the
blocks' networks, which brute force lists.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import naive_scores as naive
import oracle
import strategies
from credibn import AIC, BIC, BDeu, EdgeLogOdds, ScoreTable, learn, score_parent_sets
from credibn.errors import TooLargeError
from networks import table_costs
from profiles import sampled

SIZES = sampled(5, [1, 2, 32, 64, 65, 31, 33, 63, 127, 128, 129, 200, 255])
ENGINES = ["dynamic_programming", "integer_program"]
EPSILON = 3.0


def block_costs(size, seed):
    """Local costs of a block from data, so that equivalent networks cost the same."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (30, size))
    for v in range(1, size):
        codes[:, v] = np.where(rng.random(30) < 0.6, codes[:, v - 1], codes[:, v])
    data = strategies.CodedTable(codes, (2,) * size, np.ones(30, dtype=np.int64)).dataset()
    return table_costs(score_parent_sets(data, epsilon=EPSILON))


def blocks_of(n):
    """Nodes of up to three blocks that lie across the words of the masks, with their local costs."""
    places = {0, n - 1, n // 2, 62, 63, 64, 65, 126, 127, 128, 129} & set(range(n))
    order = np.random.default_rng(n).permutation(sorted(places)).tolist()
    return [(order[k : k + 3], block_costs(len(order[k : k + 3]), n + k)) for k in range(0, min(len(order), 9), 3)]


def table_of(n, blocks):
    """The blocks, and all other nodes without a possible edge."""
    lists = [[(-1.0, [])] for _ in range(n)]
    for nodes, costs in blocks:
        for child, of_child in zip(nodes, costs, strict=True):
            lists[child] = [(-cost, [nodes[p] for p in parents]) for parents, cost in of_child.items()]
    provenance = {"epsilon": EPSILON, "score_equivalent": True}
    return ScoreTable.from_candidates([f"v{v}" for v in range(n)], lists, provenance)


def credible_products(blocks):
    """(cost above the optimum, the blocks' networks) of all that are credible."""
    lists = []
    for nodes, costs in blocks:
        by_cost = sorted((oracle.network_cost(dag, costs), dag) for dag in oracle.all_dags(len(nodes)))
        least = by_cost[0][0]
        lists.append([(cost - least, dag) for cost, dag in by_cost if cost - least <= EPSILON + 1e-9])
    products = (
        (sum(gap for gap, _ in chosen), tuple(dag for _, dag in chosen)) for chosen in itertools.product(*lists)
    )
    return [(gap, dags) for gap, dags in products if gap <= EPSILON + 1e-9]


@pytest.mark.parametrize("n", SIZES)
def test_blocks_of_many_variables(n):
    blocks = blocks_of(n)
    expected = credible_products(blocks)
    weights = np.exp([-gap for gap, _ in expected])
    edges = np.zeros((n, n))
    for weight, (_, dags) in zip(weights / weights.sum(), expected, strict=True):
        for (nodes, _), dag in zip(blocks, dags, strict=True):
            for parent, child in oracle.edges_of(dag):
                edges[nodes[parent], nodes[child]] += weight
    keys = {tuple(oracle.markov_key(dag) for dag in dags) for _, dags in expected}
    table = table_of(n, blocks)
    for unit, engine in itertools.product(["classes", "networks"], ENGINES):
        found = learn(scores=table, epsilon=EPSILON, unit=unit, engine=engine, posterior_share=False)
        assert found.complete
        assert (found.n_networks, found.n_classes) == (len(expected), len(keys))
        scores = np.concatenate([batch for _, batch in found.networks_masks()])
        gaps = np.sort(found.optimal_score - scores)
        np.testing.assert_allclose(gaps, np.sort([gap for gap, _ in expected]), atol=1e-9)
        np.testing.assert_allclose(found.averages().parent_sets.edges, edges, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_data_of_many_variables(n):
    """Balanced columns of which no two depend on each other, but for copies: an edge between others costs ln(256)/2."""
    numbers = np.arange(256)
    columns = [np.array([(row & v + 1).bit_count() % 2 for row in numbers.tolist()]) for v in range(n)]
    pairs = [(a, b) for a, b in ((0, n - 1), (62, 64), (63, 65), (127, 128)) if a < b < n]
    pairs = [pair for k, pair in enumerate(pairs) if not {*pair} & {v for other in pairs[:k] for v in other}]
    for a, b in pairs:
        columns[b] = columns[a]
    data = strategies.CodedTable(np.column_stack(columns), (2,) * n, np.ones(256, dtype=np.int64)).dataset()
    options = {"epsilon": 1.0, "max_parents": 1}
    scored = [score_parent_sets(data, engine=engine, **options) for engine in ("table", "descent")]
    assert scored[0].same_as(scored[1])
    assert scored[0].masks.shape[1] == -(-n // 64)
    found = learn(scores=scored[0], epsilon=1.0)
    assert (found.n_networks, found.n_classes) == (2 ** len(pairs), 1)
    joined = {(int(a), int(b)) for a, b in np.argwhere(found.averages().parent_sets.edges == 0.5)}
    assert joined == {(a, b) for pair in pairs for a, b in (pair, pair[::-1])}
    assert math.isclose(
        -found.optimal_score, 256 * math.log(2) * (n - len(pairs)) + math.log(256) / 2 * (n + len(pairs))
    )


@pytest.mark.parametrize("n", [256, 300])
def test_more_variables_than_can_be_searched(n):
    table = ScoreTable.from_candidates([f"v{v}" for v in range(n)], [[(-1.0, [])]] * n, {"epsilon": 1.0})
    with pytest.raises(TooLargeError, match=f"{n} variables; at most 255"):
        learn(scores=table, epsilon=1.0)


# ----------------------------------------------------------------- numbers that fit no word


def log_rising(start, count):
    """The log of start (start + 1) ... (start + count - 1)."""
    product = math.prod((start + k for k in range(count)), start=Fraction(1))
    return math.log(product.numerator) - math.log(product.denominator)


def exact_cost(score, table, child, parents):
    """From the definition, with whole numbers of any length and fractions where doubles would not do."""
    rows, arities = table.rows, table.arities
    configurations = math.prod(arities[p] for p in parents)
    if not isinstance(score, BDeu):
        weight = 1.0 if isinstance(score, AIC) else math.log(len(rows)) / 2
        likelihood = naive._negative_log_likelihood(rows, child, parents)
        return likelihood + weight * float(Fraction((arities[child] - 1) * configurations))
    mass = Fraction(score.equivalent_sample_size) / configurations
    terms = []
    for states in naive._family_counts(rows, child, parents).values():
        terms.append(log_rising(mass, sum(states.values())))
        terms += [-log_rising(mass / arities[child], count) for count in states.values()]
    return math.fsum(terms)


@pytest.mark.parametrize("engine", ["table", "descent"])
@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1.0), BDeu(40.0)], ids=str)
@pytest.mark.parametrize("n_parents", [8, 10, 59])  # 100^8 > 2^53, 100^10 > 2^64
def test_sixty_variables_of_a_hundred_states(n_parents, score, engine):
    rng = np.random.default_rng(n_parents)
    codes = rng.integers(0, 100, (50, 60))
    codes[25:, 1:] = codes[:25, 1:]  # each configuration of the parents is seen twice
    table = strategies.CodedTable(codes, (100,) * 60, np.ones(50, dtype=np.int64))
    required = [(p, 0) for p in range(1, n_parents + 1)]
    limits = {f"v{v}": n_parents if v == 0 else 0 for v in range(60)}
    if engine == "table" and n_parents > 8:
        return  # a table of all sets of this many variables does not fit in memory
    if engine == "table":
        table = strategies.CodedTable(codes[:, :9], (100,) * 9, table.weights)
        limits = {f"v{v}": 8 if v == 0 else 0 for v in range(9)}
    scored = score_parent_sets(
        table.dataset(), score=score, epsilon=1.0, required_edges=required, max_parents=limits, engine=engine
    )
    ((found, parents),) = scored.parent_sets(0)
    assert len(parents) == n_parents
    expected = exact_cost(score, table, 0, list(range(1, n_parents + 1)))
    assert math.isfinite(found)
    assert math.isclose(-found, expected, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)], ids=str)
def test_as_many_rows_as_can_be_counted(score):
    weights = np.array([2**31 - 1, 2**31 - 2, 1, 1])
    codes = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    assert weights.sum() == 2**32 - 1
    table = strategies.CodedTable(codes, (2, 2), weights)
    costs = oracle.set_costs_by_mask(
        codes,
        weights,
        table.arities,
        oracle.dirichlet(1.0) if isinstance(score, BDeu) else oracle.penalised_likelihood(math.log(2**32 - 1) / 2),
    )
    for engine in ("table", "descent"):
        scored = score_parent_sets(table.dataset(), score=score, epsilon=1.0, engine=engine)
        noise = 1e-15 * 2**32 * 32 if isinstance(score, BDeu) else 0  # of the twin: lnGamma of billions
        assert math.isclose(-scored.local_score("v1", ["v0"]), costs[3] - costs[1], rel_tol=1e-9, abs_tol=noise + 1e-6)
        assert math.isclose(-scored.local_score("v1", []), costs[2] - costs[0], rel_tol=1e-9, abs_tol=noise + 1e-6)


@pytest.mark.parametrize("required", [False, True])
def test_numbers_beyond_doubles_are_refused_in_words(required):
    """A penalty, or a prior, that no double holds."""
    n = 170
    codes = np.random.default_rng(1).integers(0, 2, (6, n if required else 3))
    if required:
        table = strategies.CodedTable(codes, (100,) * n, np.ones(6, dtype=np.int64))
        options = {"required_edges": [(p, 0) for p in range(1, n)], "max_parents": n - 1}
    else:
        table = strategies.CodedTable(codes, (2,) * 3, np.ones(6, dtype=np.int64))
        options = {"prior": EdgeLogOdds(1e308 * (1 - np.eye(3)))}
    with pytest.raises(TooLargeError, match="cannot be computed"):
        score_parent_sets(table.dataset(), **options)
