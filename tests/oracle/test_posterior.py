"""The posterior of all networks: the sum and the probabilities are those of the definition."""

import json
import math
import warnings
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import duckdb
import numpy as np
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import oracle
import strategies
from credibn import (
    BIC,
    BDeu,
    CredibleSet,
    Posterior,
    ScoreTable,
    _core,
    exact_posterior,
    k_best_classes,
    k_best_networks,
    learn,
    read_data,
    score_parent_sets,
    write_scores,
)
from credibn._run import Run
from credibn.cli.app import app
from credibn.errors import CredibnWarning, Option, OptionError, TimeLimitError, TooLargeError
from credibn.examples import sample_asia, tic_tac_toe
from credibn.learning import all_networks
from credibn.learning.score_source import open_source
from credibn.options import ReadOptions, ScoreOptions
from credibn.posterior import epsilon_for_all, estimate_posterior, posterior_of_scores, searched_nodes
from credibn.scores import prediction
from networks import naive_costs, table_costs
from profiles import examples


def table_of(scores, provenance=None):
    """A score table from, for each node, a dict of parent set to log score."""
    names = [f"v{v}" for v in range(len(scores))]
    listed = [[(score, parents) for parents, score in of_node.items()] for of_node in scores]
    return ScoreTable.from_candidates(names, listed, provenance)


def by_definition(scores):
    """Log mass, parent set probabilities and path probabilities from the list of all networks; None if it is empty."""
    n = len(scores)
    listed = [
        (math.fsum(scores[v][parents] for v, parents in enumerate(dag)), dag)
        for dag in oracle.all_dags(n)
        if all(parents in scores[v] for v, parents in enumerate(dag))
    ]
    if not listed:
        return None
    top = max(listed)[0]
    masses = [(math.exp(score - top), dag) for score, dag in listed]
    total = math.fsum(mass for mass, _ in masses)
    of_sets = [
        {parents: math.fsum(mass for mass, dag in masses if dag[v] == parents) / total for parents in scores[v]}
        for v in range(n)
    ]
    paths = np.array(
        [
            [math.fsum(mass for mass, dag in masses if oracle.has_path(dag, a, d)) / total for d in range(n)]
            for a in range(n)
        ]
    )
    return top + math.log(total), of_sets, paths


def assert_matches(posterior, scores, expected, tolerance=1e-11):
    log_mass, of_sets, paths = expected
    scale = max(1.0, *(abs(score) for of_node in scores for score in of_node.values()))
    assert posterior.log_mass == pytest.approx(log_mass, rel=0, abs=1e-12 + 1e-14 * scale)
    tolerance += 1e-14 * scale  # scores are rounded before they come here
    for v in range(len(scores)):
        frame = posterior.parent_set_probabilities(v)
        found = {
            tuple(sorted(posterior.names.index(name) for name in parents)): probability
            for parents, probability in zip(frame["parents"], frame["probability"], strict=True)
        }
        assert found.keys() == scores[v].keys()
        for parents, probability in of_sets[v].items():
            assert found[parents] == pytest.approx(probability, rel=0, abs=tolerance)
    np.testing.assert_allclose(posterior.ancestor_probabilities(), paths, rtol=0, atol=tolerance)
    edges = np.array(
        [
            [math.fsum(p for parents, p in of_sets[c].items() if a in parents) for c in range(len(scores))]
            for a in range(len(scores))
        ]
    )
    np.testing.assert_allclose(posterior.edge_probabilities(), edges, rtol=0, atol=tolerance)
    np.testing.assert_allclose(posterior.adjacency_probabilities(), edges + edges.T, rtol=0, atol=2 * tolerance)
    assert posterior.rounding_error <= tolerance


@st.composite
def score_tables(draw, max_nodes=4):
    """For each node some parent sets, not always the empty one, with scores that tie, differ little or hugely."""
    n = draw(st.integers(1, max_nodes))
    base = draw(st.sampled_from([0.0, 0.0, -1e7]))
    values = st.sampled_from([0.0, 0.0, -0.5, -1.0, -3.25, -40.0, -700.0, -5e3, -1e5]) | st.floats(-20, 0)
    scores = []
    for v in range(n):
        allowed = oracle.all_parent_sets(n, v)
        chosen = draw(st.lists(st.sampled_from(allowed), unique=True, min_size=1))
        if draw(st.integers(0, 4)):
            chosen = list(dict.fromkeys([*chosen, ()]))
        scores.append({parents: base + draw(values) for parents in chosen})
    return scores


@given(score_tables())
@examples(150)
def test_as_the_definition_says(scores):
    expected = by_definition(scores)
    if expected is None:
        with pytest.raises(OptionError, match="no network can be made"):
            posterior_of_scores(table_of(scores))
        return
    assert_matches(posterior_of_scores(table_of(scores)), scores, expected)
    assert posterior_of_scores(table_of(scores), marginals=False).log_mass == pytest.approx(expected[0], rel=1e-14)


@pytest.mark.few(1)
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 4000.0])
def test_five_nodes(spread):
    rng = np.random.default_rng(5)
    scores = [{parents: -spread * rng.random() for parents in oracle.all_parent_sets(5, v)} for v in range(5)]
    assert_matches(posterior_of_scores(table_of(scores)), scores, by_definition(scores))


def test_a_cycle_of_wishes_is_broken_at_the_least_cost():
    # Each node wants the next one as its parent, by thousands of nats; the sums of parts span far more than doubles do.
    n, gain = 10, 3000.0
    scores = [{(): -gain - v, ((v + 1) % n,): 0.0} for v in range(n)]
    posterior = posterior_of_scores(table_of(scores))
    masses = [math.exp(-v) for v in range(n)]  # of the networks that forgo one wish; the others are below rounding
    assert posterior.log_mass == pytest.approx(-gain + math.log(math.fsum(masses)), abs=1e-9)
    kept = [posterior.edge_probabilities().iloc[(v + 1) % n, v] for v in range(n)]
    np.testing.assert_allclose(kept, [1 - mass / math.fsum(masses) for mass in masses], atol=1e-12)


@given(st.integers(0, 2**32), st.integers(2, 6), st.sampled_from([1, 4, 30]))
@examples(25)
def test_against_exact_arithmetic(seed, n, most_bits):
    """Weights are powers of two, so that the sum over layers is exact."""
    rng = np.random.default_rng(seed)
    bits = [
        {parents: int(rng.integers(0, most_bits * (1 + len(parents)))) for parents in oracle.all_parent_sets(n, v)}
        for v in range(n)
    ]
    weights = [{sum(1 << p for p in parents): 1 << bit for parents, bit in of_node.items()} for of_node in bits]
    scores = [{parents: bit * math.log(2) for parents, bit in of_node.items()} for of_node in bits]
    found = posterior_of_scores(table_of(scores), marginals=False).log_mass
    assert found == pytest.approx(math.log(oracle.mass_by_layers(weights)), rel=1e-14, abs=1e-12)


def test_the_oracle_of_the_sum():
    assert [
        oracle.mass_by_layers([dict.fromkeys(range(1 << n), 0) | equal(n, v) for v in range(n)]) for n in (1, 2, 3, 4)
    ] == [
        1,
        3,
        25,
        543,
    ]


def equal(n, v):
    return {sum(1 << p for p in parents): 1 for parents in oracle.all_parent_sets(n, v)}


class EqualEdges:
    """The networks on n nodes, each with the mass edge^(number of edges), by exact fractions: only sizes count."""

    def __init__(self, n, edge):
        grow = 1 + edge
        mass = [Fraction(1)]  # of all networks, by the number of nodes
        for m in range(1, n + 1):
            mass.append(
                sum((-1) ** (k + 1) * math.comb(m, k) * grow ** (k * (m - k)) * mass[m - k] for k in range(1, m + 1))
            )
        above = {n: Fraction(1)}  # of the choices for all nodes but u that make no cycle
        descends = {}  # of the networks in which u given nodes are those that do not descend from another given one
        for u in range(n - 1, -1, -1):
            terms = [(k, (-1) ** (k + 1) * grow ** (k * u) * above[u + k]) for k in range(1, n - u + 1)]
            above[u] = sum(math.comb(n - u, k) * term for k, term in terms)
            descends[u] = mass[u] * sum(math.comb(n - u - 1, k - 1) * term for k, term in terms) / mass[n]
        self.mass = mass[n]
        self.no_parents = sum(math.comb(n - 1, u) * d / grow**u for u, d in descends.items())
        self.edge = sum(math.comb(n - 2, u - 1) * d * edge / grow for u, d in descends.items() if u)
        self.path = sum(math.comb(n - 2, u) * d for u, d in descends.items())


def equal_edges_table(n, bits):
    masks = np.arange(1 << n, dtype=np.uint64)
    of_node = [masks[masks >> np.uint64(v) & np.uint64(1) == 0] for v in range(n)]
    sizes = np.array([mask.bit_count() for listed in of_node for mask in listed.tolist()], dtype=float)
    return ScoreTable.from_arrays(
        [f"v{v}" for v in range(n)],
        np.repeat(np.arange(n), [len(listed) for listed in of_node]),
        -bits * math.log(2) * sizes,
        np.concatenate(of_node)[:, None],
        {"epsilon": 0.0},
    )


def test_the_oracle_of_equal_edges():
    # three nodes: 25 networks; the first has no parents in 12 of them; 8 have a given edge, 9 a given path
    exact = EqualEdges(3, Fraction(1))
    assert [value * 25 for value in (exact.mass / 25, exact.no_parents, exact.edge, exact.path)] == [25, 12, 8, 9]


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("n", "bits"),
    [
        *((n, bits) for n in (2, 5, 10, 12) for bits in (0, 1, 3, 10, 30)),
        *((14, bits) for bits in (1, 10, 30)),
        (17, 10),
        pytest.param(17, 30, marks=pytest.mark.slow),
        pytest.param(20, 30, marks=pytest.mark.slow),
    ],
)
def test_rounding_is_within_its_bound(n, bits):
    """From dense networks, where nothing cancels, to nearly independent variables, where nearly everything does."""
    table = equal_edges_table(n, bits)
    posterior = posterior_of_scores(table)
    exact = EqualEdges(n, Fraction(1, 2**bits))
    bound = posterior.rounding_error
    assert 0 < bound < (1e-12 if n < 20 else 1e-11)
    with localcontext() as context:
        context.prec = 40
        expected = (Decimal(exact.mass.numerator) / Decimal(exact.mass.denominator)).ln()
        assert abs(Decimal(posterior.log_mass) - expected) < bound
    assert posterior.log_mass_bound == posterior.log_mass  # all sets are listed, whatever epsilon
    # of no parents: among the best, the first
    of_no_parents = posterior.parent_sets.probabilities[table.offsets[:-1]]
    np.testing.assert_allclose(of_no_parents, float(exact.no_parents), rtol=0, atol=bound)
    others = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(posterior.parent_sets.edges[others], float(exact.edge), rtol=0, atol=bound)
    np.testing.assert_allclose(posterior.ancestors[others], float(exact.path), rtol=0, atol=bound)
    if bits == 30:  # a path is an edge, of mass 2^-30
        np.testing.assert_allclose(posterior.ancestors[others], 9.3e-10, rtol=0, atol=1e-11)


def exactly(scores):
    """The probability of each parent set, edge and path, by the definition, with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        weights = [{parents: Decimal(score).exp() for parents, score in of_node.items()} for of_node in scores]
        n, total = len(scores), Decimal(0)
        of_sets = [dict.fromkeys(of_node, Decimal(0)) for of_node in scores]
        edges, paths = np.full((n, n), Decimal(0)), np.full((n, n), Decimal(0))
        for dag in oracle.all_dags(n):
            if not all(parents in weights[v] for v, parents in enumerate(dag)):
                continue
            mass = math.prod((weights[v][parents] for v, parents in enumerate(dag)), start=Decimal(1))
            total += mass
            for v, parents in enumerate(dag):
                of_sets[v][parents] += mass
                for parent in parents:
                    edges[parent, v] += mass
            for a in range(n):
                for d in range(n):
                    if oracle.has_path(dag, a, d):
                        paths[a, d] += mass
        return [{parents: mass / total for parents, mass in of_node.items()} for of_node in of_sets], (
            (edges / total).astype(float),
            (paths / total).astype(float),
        )


@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0, 1000.0])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_probability_is_within_the_bound(n, spread):
    rng = np.random.default_rng(n)
    scores = [{parents: -spread * rng.random() for parents in oracle.all_parent_sets(n, v)} for v in range(n)]
    of_sets, (edges, paths) = exactly(scores)
    posterior = posterior_of_scores(table_of(scores))
    bound = posterior.rounding_error
    np.testing.assert_allclose(posterior.parent_sets.edges, edges, rtol=0, atol=bound)
    np.testing.assert_allclose(posterior.ancestors, paths, rtol=0, atol=bound)
    for v in range(n):
        masks = posterior.parent_sets.masks[posterior.parent_sets.nodes == v, 0].tolist()
        found = posterior.parent_sets.probabilities[posterior.parent_sets.nodes == v]
        expected = [float(of_sets[v][tuple(p for p in range(n) if mask >> p & 1)]) for mask in masks]
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def test_frames_hold_no_digit_beyond_the_bound():
    posterior = exact_posterior(sample_asia())
    assert 1e-14 < posterior.rounding_error < 1e-13
    for frame in (
        posterior.edge_probabilities(),
        posterior.adjacency_probabilities(),
        posterior.ancestor_probabilities(),
        posterior.parent_set_probabilities("xray")[["probability"]],
    ):
        assert (frame == frame.round(13)).all(axis=None)
        assert (frame != frame.round(12)).any(axis=None)


def test_the_number_of_networks_on_ten_nodes():
    scores = [dict.fromkeys(oracle.all_parent_sets(10, v), 0.0) for v in range(10)]
    posterior = posterior_of_scores(table_of(scores), marginals=False)
    assert posterior.log_mass == pytest.approx(math.log(4175098976430598143), rel=1e-15)


@given(st.integers(0, 2**32))
@examples(10)
def test_the_order_of_the_nodes_does_not_matter(seed):
    """Nodes are split into two kinds by their order, and treated very differently."""
    rng = np.random.default_rng(seed)
    n = 9
    scores = [
        {parents: -10 * rng.random() for size in range(4) for parents in combinations(sorted({*range(n)} - {v}), size)}
        for v in range(n)
    ]
    order = rng.permutation(n).tolist()
    place = {old: new for new, old in enumerate(order)}
    turned = [{tuple(sorted(place[p] for p in parents)): s for parents, s in scores[old].items()} for old in order]
    one, other = posterior_of_scores(table_of(scores)), posterior_of_scores(table_of(turned))
    assert one.log_mass == pytest.approx(other.log_mass, rel=1e-13)
    for name in ("edge_probabilities", "ancestor_probabilities"):
        mine, theirs = getattr(one, name)().to_numpy(), getattr(other, name)().to_numpy()
        np.testing.assert_allclose(mine[np.ix_(order, order)], theirs, rtol=0, atol=1e-11)


# ----------------------------------------------------------------- from data


@given(st.data())
@examples(30)
def test_from_data_with_constraints_and_prior(draws):
    table = draws.draw(strategies.coded_tables(max_columns=4, max_rows=25))
    constraints = draws.draw(strategies.constraints(table))
    prior = draws.draw(strategies.priors(table.n))
    score = draws.draw(st.sampled_from([BIC(), BDeu(1.0)]))
    costs = naive_costs(table, score, constraints, prior)
    scores = [{parents: -cost for parents, cost in of_node.items()} for of_node in costs]
    named = as_names(constraints)
    posterior = exact_posterior(table.dataset(), score=score, prior=prior, **named)
    log_mass, _, paths = by_definition(scores)
    assert posterior.log_mass == pytest.approx(log_mass, rel=1e-9, abs=1e-8)
    assert posterior.log_mass_bound == pytest.approx(posterior.log_mass, abs=1e-12)
    np.testing.assert_allclose(posterior.ancestor_probabilities(), paths, rtol=0, atol=1e-7)


def as_names(constraints):
    """Options in positions with the names of `CodedTable.dataset`."""
    named = dict(constraints)
    for key in ("required_edges", "forbidden_edges"):
        if key in named:
            named[key] = [(f"v{p}", f"v{c}") for p, c in named[key]]
    if "tiers" in named:
        named["tiers"] = [[f"v{v}" for v in tier] for tier in named["tiers"]]
    if isinstance(named.get("max_parents"), dict):
        named["max_parents"] = {f"v{v}": limit for v, limit in named["max_parents"].items()}
    return named


@given(strategies.functional_tables(max_columns=5), st.sampled_from([0.0, 0.5, 2.0, 6.0, 15.0]))
@examples(25)
def test_what_pruning_loses_is_bounded(table, epsilon):
    everything = exact_posterior(table.dataset()).log_mass
    pruned = posterior_of_scores(score_parent_sets(table.dataset(), epsilon=epsilon))
    assert pruned.log_mass <= everything + 1e-9
    assert everything <= pruned.log_mass_bound + 1e-9


def test_scores_of_unknown_origin_bound_nothing():
    posterior = posterior_of_scores(table_of([{(): 0.0}, {(): -1.0, (0,): 0.0}]))
    assert posterior.log_mass_bound is None
    with pytest.warns(CredibnWarning, match="do not say for which epsilon"):
        again = exact_posterior(table_of([{(): 0.0}, {(): -1.0, (0,): 0.0}]))
    assert again.log_mass == posterior.log_mass


def test_constant_columns_do_not_count():
    rng = np.random.default_rng(1)
    varying = rng.integers(0, 2, (50, 3))
    wide = np.column_stack([np.zeros((50, 40), dtype=int), varying, np.zeros((50, 30), dtype=int)])
    small = exact_posterior(varying)
    with pytest.warns(CredibnWarning, match="constant"):
        large, found = exact_posterior(wide), learn(wide)
    assert found.posterior_share == pytest.approx(learn(varying).posterior_share, rel=1e-12)
    assert large.log_mass_bound == pytest.approx(large.log_mass, abs=1e-12)
    assert large.log_mass == pytest.approx(small.log_mass, rel=1e-13)
    assert large.n_variables == 73
    edges = large.edge_probabilities().to_numpy()
    np.testing.assert_allclose(edges[40:43, 40:43], small.edge_probabilities(), atol=1e-12)
    assert edges.sum() == pytest.approx(edges[40:43, 40:43].sum())
    np.testing.assert_allclose(
        large.ancestor_probabilities().iloc[40:43, 40:43], small.ancestor_probabilities(), atol=1e-12
    )
    assert large.parent_set_probabilities(0)["probability"].tolist() == [1.0]


@pytest.mark.parametrize("data", [[[1]], [[1, 2, 3]], [[0, 0], [0, 0]]], ids=str)
def test_nothing_that_varies(data):
    with pytest.warns(CredibnWarning, match="constant"):
        posterior, found = exact_posterior(np.array(data)), learn(np.array(data))
    assert posterior.log_mass == pytest.approx(found.optimal_score)
    assert found.posterior_share == 1.0
    assert found.share_statement == "It holds more than 99.9 % of the posterior probability of all networks."
    assert posterior.edge_probabilities().to_numpy().sum() == 0.0
    assert posterior.rounding_error == 0.0


def test_continuous_data_and_finished_scores(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 1))
    data = np.hstack([x, x + rng.normal(size=(40, 1)), rng.normal(size=(40, 2))])
    direct = exact_posterior(data, score="bge")
    table = score_parent_sets(data, score="bge", epsilon=epsilon_for_all(4))
    write_scores(table, tmp_path / "some.scores")
    assert exact_posterior(scores=tmp_path / "some.scores").log_mass == direct.log_mass
    assert exact_posterior(table).log_mass == direct.log_mass
    scores = [{parents: -cost for parents, cost in of_node.items()} for of_node in table_costs(table)]
    assert_matches(direct, scores, by_definition(scores))


# ----------------------------------------------------------------- limits


def test_too_many_variables():
    wide = np.random.default_rng(0).integers(0, 2, (40, 25))
    with pytest.raises(TooLargeError, match=r"25 variables can have edges; .* the limit is 24"):
        exact_posterior(wide)
    assert learn(wide, max_parents=1, epsilon=0.0).posterior_share is None


def test_memory_is_predicted_and_limited():
    with pytest.raises(TooLargeError, match=r"needs 2.00 MiB, but the limit allows 1,000 bytes; raise"):
        posterior_of_scores(table_of([{(): 0.0, (1,): 0.0}, {(): 0.0}]), memory_limit=1000)
    sizes = [estimate_posterior(n).memory_bytes for n in (10, 20, 24)]
    assert sizes == sorted(sizes)
    assert sizes[-1] < 5 << 30
    assert estimate_posterior(20, marginals=False).memory_bytes < sizes[1]
    assert estimate_posterior(5).n_steps == 243


def test_stopped():
    data = sample_asia()
    with pytest.raises(KeyboardInterrupt):
        exact_posterior(data, progress=lambda stage, fraction: stage != "posterior")
    with pytest.raises(TimeLimitError, match="time limit was reached"):
        exact_posterior(data, time_limit=1e-9)
    stages = []
    found = learn(data, progress=lambda stage, fraction: stages.append(stage) or stage != "posterior")
    assert "posterior" in stages
    assert found.complete  # the search was over: only the share is missing
    assert found.posterior_share is None
    seen = []
    exact_posterior(data, progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert ("posterior", 0.0) in seen


def test_marginals_that_were_not_asked_for():
    posterior = exact_posterior(sample_asia(), marginals=False)
    assert (posterior.parent_sets, posterior.ancestors, posterior.rounding_error) == (None, None, None)
    for call in (posterior.edge_probabilities, posterior.adjacency_probabilities, posterior.ancestor_probabilities):
        with pytest.raises(OptionError, match="marginals=True"):
            call()


def test_scores_too_far_apart():
    with pytest.raises(OptionError, match="span more than 5e\\+08 nats"):
        posterior_of_scores(table_of([{(): 0.0}, {(): -1e9, (0,): 0.0}]))


def test_a_posterior_cannot_be_changed():
    posterior = exact_posterior(sample_asia())
    for array in (posterior.ancestors, posterior.parent_sets.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert isinstance(posterior, Posterior)
    assert json.dumps(dict(posterior.provenance))


def test_the_core_refuses_what_it_cannot_sum():
    offsets, scores = np.array([0, 1, 2]), np.zeros(2)
    masks = np.zeros(2, dtype=np.uint64)
    for wrong in (
        (np.array([0, 2, 1]), scores, masks),
        (np.array([0, 1]), scores, masks),
        (np.arange(27), np.zeros(26), np.zeros(26, dtype=np.uint64)),
        (offsets, scores, np.array([1, 0], dtype=np.uint64)),
        (offsets, scores, np.array([4, 0], dtype=np.uint64)),
        (np.array([0, 0, 2]), scores, masks),
        (np.array([0, 2, 2]), np.array([0.0, -1e9]), np.array([0, 2], dtype=np.uint64)),
        (np.array([0, 1, 2]), np.array([0.0, np.nan]), masks),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            _core.sum_networks(*wrong, True, None, None)


# ----------------------------------------------------------------- the share of a credible set


def averaged_edges(found):
    """Edge probabilities within a credible set, from the list of its networks."""
    edges, total = np.zeros((len(found.names),) * 2), 0.0
    for masks, scores in found.networks_masks():
        weights = np.exp(scores - found.optimal_score)
        bits = masks[:, :, :1] >> np.arange(len(found.names), dtype=np.uint64) & np.uint64(1)
        edges += np.einsum("k,kcp->pc", weights, bits.astype(float))
        total += weights.sum()
    return edges / total


def test_averages_approach_the_posterior_as_the_set_grows():
    data = sample_asia().select(["asia", "tub", "smoke", "lung", "bronc", "either"])
    exact = exact_posterior(data, score="bdeu").edge_probabilities().to_numpy()
    shares, differences = [], []
    for bayes_factor in (3, 20, 150, 1e4, 1e6):
        found = learn(data, score="bdeu", bayes_factor=bayes_factor)
        shares.append(found.posterior_share)
        differences.append(np.abs(averaged_edges(found) - exact).max())
        assert differences[-1] <= 1 - shares[-1] + 1e-9
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1
    assert 1 - shares[-1] < 1e-3
    assert differences[-1] < 1e-3 < differences[0]


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("tictactoe", "bic"),
        pytest.param("tictactoe", "bdeu", marks=pytest.mark.slow),
        pytest.param("wine", "bic", marks=pytest.mark.slow),
    ],
)
def test_shares_of_real_data(shared_data, name, score):
    posterior = exact_posterior(shared_data / f"{name}.csv", score=score)
    assert posterior.rounding_error < 1e-12
    shares = []
    for bayes_factor in (3, 20, 150):
        found = learn(shared_data / f"{name}.csv", score=score, bayes_factor=bayes_factor)
        assert found.log_total_mass == pytest.approx(posterior.log_mass, rel=1e-12)
        shares.append(found.posterior_share)
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_log_mass_is_that_of_the_networks(unit):
    found = learn(tic_tac_toe(), bayes_factor=150, unit=unit)
    total = math.fsum(
        math.exp(score - found.optimal_score) for _, scores in found.networks_masks() for score in scores.tolist()
    )
    assert found.log_mass == pytest.approx(found.optimal_score + math.log(total), rel=1e-13)
    assert found.posterior_share == pytest.approx(0.9982558592, rel=1e-9)
    assert "hold 99.8 % of the posterior probability of all networks." in found.summary().splitlines()[0]
    assert "Warning" not in found.summary()


def test_when_the_share_is_computed():
    data = sample_asia()
    assert learn(data, posterior_share=False).posterior_share is None
    unknown = learn(data, posterior_share=False).summary().splitlines()
    assert unknown[0].endswith("hold an unknown share of the posterior probability of all networks.")
    assert unknown[1].startswith(
        "Warning: posterior_share=True computes it, in about a second. Find more networks with "
    )
    share = learn(data).posterior_share
    assert learn(data, posterior_share=True).posterior_share == share
    assert k_best_networks(data, 35).posterior_share == pytest.approx(share, rel=1e-12)
    with pytest.raises(OptionError, match="posterior_share is 'yes'; it must be True, False or None"):
        learn(data, posterior_share="yes")
    limited = learn(data, max_parents=1)
    assert limited.share_statement.endswith("of all networks that obey the constraints.")
    single = k_best_networks(data, 1)
    assert single.share_statement.startswith("It holds ")


def few_rows(n=15):
    """So few rows that nearly everything is credible: the data of a set that is complete and holds little."""
    return np.random.default_rng(8).integers(0, 2, (25, n))


@pytest.fixture(scope="module")
def sliver():
    return learn(few_rows(), bayes_factor=1.5)


def test_a_complete_set_that_holds_little_says_so_first(sliver):
    assert sliver.complete
    assert 0 < sliver.posterior_share < 0.0005
    first, second, *_ = sliver.summary().splitlines()
    assert first.endswith("hold less than 0.1 % of the posterior probability of all networks.")
    assert second.startswith("Warning: This is less than half of the posterior, so what these networks agree on ")
    assert second.endswith(" or find more networks with bayes_factor=3.")


def test_the_advice_for_a_set_that_holds_little_can_be_followed(sliver):
    option = sliver.caution.option
    assert (option.name, option.value) == ("bayes_factor", 3)
    assert learn(few_rows(), **{option.name: option.value}).posterior_share > 2 * sliver.posterior_share
    by_epsilon = replace(sliver, settings={"epsilon": sliver.epsilon})
    assert by_epsilon.caution.option == Option("epsilon", 3)
    limited = replace(sliver, complete=False, stopped_because="max_networks", unexplored_bound=sliver.optimal_score)
    assert limited.caution.option == Option("max_networks")
    assert replace(sliver, n_requested=3, settings={"k_best": "networks"}).caution.option == Option("k")


def test_probabilities_over_all_networks_stand_beside_those_in_the_set(sliver):
    exact = exact_posterior(few_rows(), score="bic")
    edges = exact.edge_probabilities()
    assert np.array_equal(sliver.edges_over_all, edges.to_numpy())
    pairs = sliver.pair_probabilities()
    for row in pairs.itertuples():
        assert row.forward_over_all == edges.loc[row.first, row.second]
        assert row.backward_over_all == edges.loc[row.second, row.first]
        assert row.absent_over_all == pytest.approx(1 - row.forward_over_all - row.backward_over_all)
    in_the_set = pairs["forward"] + pairs["backward"] > 0
    joined = exact.adjacency_probabilities().to_numpy()
    n_others = int((np.triu(joined) >= 0.01).sum())
    assert len(pairs) >= n_others > in_the_set.sum() > 0  # what the set alone would not show
    assert (pairs[~in_the_set]["absent"] == 1).all()
    assert "forward_over_all" not in sliver.pair_probabilities("classes")
    assert "forward_over_all" not in replace(sliver, edges_over_all=None).pair_probabilities()


@pytest.mark.parametrize(
    ("seconds", "has_share", "has_edges"), [(10.0, True, True), (0.06, True, False), (0.01, False, False)]
)
def test_the_share_is_computed_where_it_is_predicted_to_take_at_most_ten_seconds(
    monkeypatch, seconds, has_share, has_edges
):
    """3^15 steps are predicted to take 0.036 seconds, and 0.086 with edges."""
    assert all_networks.SECONDS_BY_DEFAULT == 10.0
    monkeypatch.setattr(all_networks, "SECONDS_BY_DEFAULT", seconds)
    table = score_parent_sets(few_rows(), epsilon=epsilon_for_all(15))
    found = learn(table, epsilon=0)
    assert (found.posterior_share is not None, found.edges_over_all is not None) == (has_share, has_edges)
    assert learn(table, epsilon=0, posterior_share=True).edges_over_all is not None
    assert learn(table, epsilon=0, posterior_share=False).posterior_share is None


def test_less_memory_costs_the_edges_before_the_share(monkeypatch):
    table = score_parent_sets(sample_asia(), epsilon=epsilon_for_all(8))
    alone = estimate_posterior(8, marginals=False).memory_bytes
    monkeypatch.setattr(all_networks, "usable_bytes", lambda: alone)
    found = learn(table)
    assert found.posterior_share is not None
    assert found.edges_over_all is None
    assert "average over all networks (exact_posterior" in replace(found, log_total_mass=0.0).summary()


def test_an_unknown_share_says_what_a_larger_factor_would_do():
    wide = np.random.default_rng(0).integers(0, 2, (40, 25))
    found = learn(wide, max_parents=1, epsilon=0.0)
    assert found.summary().splitlines()[1] == (
        "Warning: posterior_share=True estimates it. Find more networks with epsilon=3: a probability that changes as "
        "the set grows was not certain."
    )


def test_scores_that_were_pruned_too_much_tell_no_share():
    data = sample_asia()
    table = score_parent_sets(data, bayes_factor=20)
    assert learn(table).posterior_share is None
    with pytest.raises(OptionError, match=r"pruned for epsilon 2\.996: score with epsilon=44, give"):
        learn(table, posterior_share=True)
    ample = score_parent_sets(data, epsilon=44)
    assert learn(ample).posterior_share == pytest.approx(learn(data).posterior_share, rel=1e-12)
    unknown = ScoreTable(ample.names, ample.offsets, ample.scores, ample.masks, {"score_equivalent": True})
    with pytest.warns(CredibnWarning, match="do not say for which epsilon"):
        found = learn(unknown)
    assert found.share_statement.endswith("of all networks made of the parent sets given.")


NO_MEMORY = [
    duckdb.OutOfMemoryException("Allocation failure"),  # what a failed allocation in the core arrives as
    MemoryError("no 8 GiB"),
    RuntimeError("can't start new thread"),
]


def failing(error):
    def fail(*arguments, **named):
        raise error

    return fail


@pytest.mark.few(2)
@pytest.mark.parametrize("error", NO_MEMORY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("call", [learn, k_best_classes], ids=lambda call: call.__name__)
def test_too_little_memory_for_the_share_costs_the_share_alone(error, call, monkeypatch, tmp_path):
    expected = call(sample_asia(), posterior_share=False)
    monkeypatch.setattr("credibn._core.sum_networks", failing(error))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = call(sample_asia(), checkpoint=tmp_path / "checkpoint")
    assert (found.n_networks, found.complete, found.posterior_share) == (expected.n_networks, expected.complete, None)
    assert not (tmp_path / "checkpoint").exists()
    with pytest.warns(CredibnWarning, match=rf"the share of the posterior is unknown: there is .* \({error}\): the "):
        found = call(sample_asia(), posterior_share=True)
    assert (found.n_networks, found.complete, found.posterior_share) == (expected.n_networks, expected.complete, None)


def test_whether_the_share_is_computed_does_not_depend_on_a_clock(monkeypatch):
    values = np.random.default_rng(0).integers(0, 2, (2000, 16))
    source = open_source(values, None, ReadOptions(), ScoreOptions(), Run())
    expected = source.seconds_to_score(epsilon_for_all(16))
    assert expected > 1
    monkeypatch.setattr(prediction.time, "process_time", iter(range(0, 10**9, 1000)).__next__)
    assert source.seconds_to_score(epsilon_for_all(16)) == expected


@pytest.mark.parametrize("error", NO_MEMORY[:2], ids=lambda error: type(error).__name__)
def test_too_little_memory_to_score_for_the_share_costs_the_share_alone(error, monkeypatch):
    """It takes more parent sets than the search."""
    score = _core.DiscreteProblem

    def score_once(*arguments, **named):
        monkeypatch.setattr("credibn._core.DiscreteProblem", failing(error))
        return score(*arguments, **named)

    monkeypatch.setattr("credibn._core.DiscreteProblem", score_once)
    found = learn(sample_asia(), bayes_factor=3)
    assert (found.n_networks, found.complete, found.posterior_share) == (9, True, None)


@pytest.mark.few(7)
@pytest.mark.parametrize("error", NO_MEMORY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("DiscreteProblem", score_parent_sets),
        ("DiscreteProblem", learn),
        ("search_subsets", lambda data: learn(data, engine="dynamic_programming")),
        ("network_scores", learn),
        ("sum_networks", exact_posterior),
        ("average_structure", lambda data: learn(data).edge_probabilities()),
        ("average_ancestors", lambda data: learn(data).ancestor_probabilities()),
    ],
)
def test_too_little_memory_in_the_core_is_an_error_of_ours(function, call, error, monkeypatch):
    monkeypatch.setattr(f"credibn._core.{function}", failing(error))
    with pytest.raises(TooLargeError, match=str(error)):
        call(sample_asia())


def test_searched_nodes_are_those_with_a_possible_edge():
    assert searched_nodes(table_of([{(): 0.0}, {(): 0.0}, {(): 0.0, (3,): 0.0}, {(): 0.0}, {(1,): 0.0}])) == [
        1,
        2,
        3,
        4,
    ]


def test_a_saved_set_keeps_its_share(tmp_path):
    found = learn(sample_asia())
    found.save(tmp_path / "some.credibn")
    again = CredibleSet.load(tmp_path / "some.credibn")
    assert again.log_total_mass == found.log_total_mass is not None
    assert again.posterior_share == found.posterior_share
    assert again.edges_over_all.tobytes() == found.edges_over_all.tobytes()


def test_command_line(tmp_path):
    pyarrow.csv.write_csv(sample_asia(), tmp_path / "clinic.csv")
    expected = learn(sample_asia()).posterior_share

    def facts(*words):
        result = CliRunner().invoke(app, ["learn", str(tmp_path / "clinic.csv"), "--json", *words])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert facts()["posterior_share"] == pytest.approx(expected, rel=1e-12)
    assert facts("--posterior-share")["posterior_share"] == pytest.approx(expected, rel=1e-12)
    assert facts("--no-posterior-share")["posterior_share"] is None
    text = CliRunner().invoke(app, ["learn", str(tmp_path / "clinic.csv")]).stdout
    assert f"hold {100 * expected:.1f} % of the posterior probability of all networks." in text.splitlines()[0]


def test_agrees_with_the_exhaustive_search_of_pgmpy():
    frame = sample_asia().select(["smoke", "lung", "bronc", "dysp"]).to_pandas().astype("category")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs
        from pgmpy import estimators

        listed = estimators.ExhaustiveSearch(frame, scoring_method=estimators.BIC(frame)).all_scores()
    scores = np.array([score for score, _ in listed])
    weights = np.exp(scores - scores.max())
    edges = np.zeros((4, 4))
    for weight, (_, network) in zip(weights / weights.sum(), listed, strict=True):
        for parent, child in network.edges():
            edges[frame.columns.get_loc(parent), frame.columns.get_loc(child)] += weight
    posterior = exact_posterior(frame)
    assert posterior.log_mass == pytest.approx(scores.max() + math.log(weights.sum()), rel=1e-12)
    np.testing.assert_allclose(posterior.edge_probabilities(), edges, rtol=0, atol=1e-10)


def weights_for_sumu(table):
    """Log weights as sumu takes them: for each node a row over all sets of other nodes, in binary order."""
    n = table.n_variables
    weights = np.full((n, 1 << n - 1), -np.inf)
    for node in range(n):
        others = [v for v in range(n) if v != node]
        for score, parents in table.parent_sets(node):
            weights[node, sum(1 << others.index(table.names.index(p)) for p in parents)] = score
    return weights


@pytest.mark.parametrize("name", ["tictactoe", "wine"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_the_posterior_is_that_of_sumu(shared_data, name, score):
    """sumu 0.1.2 sums over all networks for each parent set (Pensar, Talvitie, Hyttinen & Koivisto 2020)."""
    sumu = pytest.importorskip("sumu", reason="sumu is not installed: it is in the dependency group 'bench'")
    data = read_data(shared_data / f"{name}.csv")
    table = score_parent_sets(data, score=score, epsilon=epsilon_for_all(data.n_variables))
    weights = weights_for_sumu(table)
    theirs = np.asarray(sumu.aps(weights.copy(), as_dict=False, normalize=False))
    ours = posterior_of_scores(table)
    totals = np.logaddexp.reduce(theirs, axis=1)
    np.testing.assert_allclose(totals, ours.log_mass, rtol=0, atol=1e-9)
    expected = {}
    for node, row in enumerate(weights):
        others = [v for v in range(data.n_variables) if v != node]
        for code in np.flatnonzero(np.isfinite(row)).tolist():
            mask = sum(1 << v for k, v in enumerate(others) if code >> k & 1)
            expected[node, mask] = math.exp(theirs[node, code] - totals[node])
    assert len(expected) == table.n_candidates
    found = {
        (int(node), int(mask)): p
        for node, mask, p in zip(
            ours.parent_sets.nodes, ours.parent_sets.masks[:, 0], ours.parent_sets.probabilities, strict=True
        )
    }
    assert found == pytest.approx(expected, abs=1e-9)
