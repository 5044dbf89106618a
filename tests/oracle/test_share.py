"""The smallest credible set that holds a share of the posterior, against brute force over all DAGs."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from credibn import learn
from credibn._run import Run
from credibn.errors import CredibnWarning
from credibn.factored import count_credible
from credibn.learning import credible_share, estimated_share
from credibn.search import SearchProblem
from profiles import examples
from searching import TOLERANCE, arrays, random_costs, table_of


def costs_of_all(costs):
    listed = [dag for dag in oracle.all_dags(len(costs)) if all(dag[v] in costs[v] for v in range(len(costs)))]
    return np.sort([math.fsum(costs[v][parents] for v, parents in enumerate(dag)) for dag in listed])


@given(
    st.integers(1, 5),
    st.integers(0, 2**32),
    st.booleans(),
    st.sampled_from([0.1, 0.5, 0.9, 0.95, 0.999]),
    st.sampled_from(["auto", "factored"]),
)
@examples(100)
def test_the_smallest_set_with_the_share_is_found(n, seed, has_ties, share, engine):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties)
    ordered = costs_of_all(costs)
    held = np.cumsum(np.exp(ordered[0] - ordered))
    held /= math.fsum(np.exp(ordered[0] - ordered))
    last = ordered[np.searchsorted(held, share * (1 - 1e-12))]
    with pytest.warns(CredibnWarning, match="do not say for which epsilon"):
        found = learn(scores=table_of(costs), share=share, engine=engine)
    n_networks = int((ordered <= last + TOLERANCE).sum())
    assert found.complete
    assert found.n_networks == n_networks
    assert found.epsilon == pytest.approx(last - ordered[0], abs=1e-9)
    assert found.posterior_share == pytest.approx(held[n_networks - 1], abs=1e-10)  # costs are rounded to a grid
    assert found.posterior_share >= share - 1e-10
    assert found.structures.is_listed is (engine == "auto")


def costs_of_pairs(n_pairs):
    """Costs of pairs of nodes that no edge joins to others; either direction costs 2 more than none."""
    return [{(): 0.0, (v ^ 1,): 2.0} for v in range(2 * n_pairs)]


@pytest.mark.parametrize(("least_power", "is_warned"), [(2.5, True), (4.0, False)])
def test_a_warning_tells_how_many_networks_have_the_share_where_they_are_many(monkeypatch, least_power, is_warned):
    # 3^7 = 2,187 networks in all; those with at most k edges hold the share that a binomial sum says.
    n_pairs, share = 7, 0.95
    edge = 2 * math.exp(-2.0) / (1 + 2 * math.exp(-2.0))
    held = np.cumsum([math.comb(n_pairs, k) * edge**k * (1 - edge) ** (n_pairs - k) for k in range(n_pairs + 1)])
    n_edges = int(np.searchsorted(held, share))
    n_networks = sum(math.comb(n_pairs, k) * 2**k for k in range(n_edges + 1))
    monkeypatch.setattr(credible_share, "_MANY", 10)
    monkeypatch.setattr(credible_share, "_MOST_STEP", 1.0)
    monkeypatch.setattr(estimated_share, "_TOO_MANY", least_power)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = learn(scores=table_of(costs_of_pairs(n_pairs)), share=share)
    assert found.n_networks == n_networks
    texts = [str(each.message) for each in caught if "takes about" in str(each.message)]
    power, nats = f"10^{math.log10(n_networks):.0f}", 2 * n_edges
    expected = f"95 % of the posterior takes about {power} networks, those within about {nats} nats of the optimum"
    assert len(texts) == is_warned
    assert all(text.startswith(expected) for text in texts)
    assert {each.filename for each in caught} == {__file__}


@given(st.integers(1, 5), st.integers(0, 2**32), st.booleans())
@examples(60)
def test_a_diagram_knows_the_mass_within_every_smaller_epsilon(n, seed, has_ties):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties)
    names = tuple(f"v{v}" for v in range(n))
    found = count_credible(SearchProblem(names, *arrays(costs), 5.0, TOLERANCE, "networks", run=Run())).networks
    ordered = costs_of_all(costs)
    ordered = ordered[ordered <= ordered[0] + 5.0 + TOLERANCE]
    gaps = np.array([0.0, 0.7, 2.0, 5.0])
    masses = [math.fsum(np.exp(ordered[0] - ordered[ordered <= ordered[0] + gap + TOLERANCE])) for gap in gaps]
    assert found.log_masses(gaps) + ordered[0] == pytest.approx(np.log(masses), abs=1e-12)
    for gap, mass in zip(gaps, masses, strict=True):
        part = found.within(gap)
        assert part.n_networks() == found.n_networks(gap) == (ordered <= ordered[0] + gap + TOLERANCE).sum()
        assert part.log_mass + ordered[0] == pytest.approx(math.log(mass), abs=1e-12)
        smallest = found.smallest_epsilon(math.log(mass * (1 - 1e-12)) - ordered[0])
        assert smallest == pytest.approx(ordered[part.n_networks() - 1] - ordered[0], abs=2 * TOLERANCE)
    assert found.smallest_epsilon(math.log(masses[-1] * 1.001) - ordered[0]) is None


@given(st.integers(1, 5), st.integers(0, 2**32), st.booleans())
@examples(60)
def test_networks_come_in_order_of_cost_each_once(n, seed, has_ties):
    costs = random_costs(n, np.random.default_rng(seed), has_ties=has_ties)
    offsets, values, masks = arrays(costs)
    names = tuple(f"v{v}" for v in range(n))
    problem = SearchProblem(names, offsets, values, masks, 3.0, TOLERANCE, "networks", run=Run())
    batches = list(count_credible(problem).networks.in_order(7))
    choices, found = np.concatenate([batch[0] for batch in batches]), np.concatenate([batch[1] for batch in batches])
    ordered = costs_of_all(costs)
    assert found == pytest.approx(ordered[ordered <= ordered[0] + 3.0 + TOLERANCE], abs=1e-12)
    assert values[offsets[:-1] + choices].sum(axis=1) == pytest.approx(found, abs=1e-9)
    assert len(np.unique(choices, axis=0)) == len(choices)
