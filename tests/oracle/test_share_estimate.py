"""The estimated share of the posterior, against brute force over all DAGs."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from credibn import CredibleSet, learn
from credibn.errors import CredibnWarning, OptionError, TooLargeError
from credibn.posterior import share_estimate
from credibn.posterior.chains import Chains
from credibn.posterior.share_estimate import N_CHAINS, ShareEstimate, estimate_share, forecast_share
from profiles import examples, sampled
from searching import random_costs, table_of


def all_networks(costs):
    """All networks with their costs, the cheapest first."""
    dags = [dag for dag in oracle.all_dags(len(costs)) if all(dag[v] in costs[v] for v in range(len(costs)))]
    return sorted((math.fsum(costs[v][parents] for v, parents in enumerate(dag)), dag) for dag in dags)


def choices_of(table, dag):
    sets = [[parents for _, parents in table.parent_sets(v)] for v in range(len(dag))]
    return np.array([sets[v].index(tuple(f"v{p}" for p in parents)) for v, parents in enumerate(dag)])


def starts(table, dag, n_chains=N_CHAINS):
    return np.tile(choices_of(table, dag), (n_chains, 1))


def visits(table, dag, n_chains, n_sweeps, seed=0):
    """How often chains visit each network, after some sweeps; and the networks as rows of choices."""
    chains = Chains(table, starts(table, dag, n_chains), np.random.default_rng(seed))
    seen = []
    for at in range(n_sweeps):
        chains.sweep()
        if at >= n_sweeps // 5:
            seen.append(chains.choices.copy())
    return np.concatenate(seen)


def assert_visited_as_often_as_they_should(costs, n_chains=150, n_sweeps=40):
    table, networks = table_of(costs), all_networks(costs)
    masses = np.exp(networks[0][0] - np.array([cost for cost, _ in networks]))
    expected = masses / masses.sum()
    seen = visits(table, networks[-1][1], n_chains, n_sweeps)
    number = {tuple(choices_of(table, dag).tolist()): at for at, (_, dag) in enumerate(networks)}
    found = np.bincount([number[tuple(row)] for row in seen.tolist()], minlength=len(networks)) / len(seen)
    # The error is at most that of as many independent networks as there are chains, times a few sweeps.
    assert np.abs(found - expected).max() < 6 * math.sqrt(0.25 / (n_chains * n_sweeps / 10))
    assert np.abs(found - expected).sum() < 0.1 + 3 * math.sqrt(len(networks) / (n_chains * n_sweeps))


@given(st.integers(1, 4), st.integers(0, 2**32), st.sampled_from([1.0, 0.6]))
@examples(20)
def test_chains_visit_each_network_as_often_as_the_posterior_says(n, seed, share):
    assert_visited_as_often_as_they_should(random_costs(n, np.random.default_rng(seed), share=share))


def test_sets_beyond_the_range_of_exp_are_drawn_where_no_other_is_left():
    # One of the two must do without the other, and then costs 2,000 or 2,001.
    costs = [{(1,): 0.0, (): 2000.0, (2,): 2001.0}, {(0,): 0.0, (): 2000.0, (2,): 2000.5}, {(): 0.0, (0,): 900.0}]
    assert_visited_as_often_as_they_should(costs)


def test_chains_keep_required_edges_and_never_make_a_cycle():
    costs = [{(2,): 0.0}, {(): 0.0, (0,): 0.5}, {(): 0.0, (1,): -1.0}]
    networks = all_networks(costs)
    seen = visits(table_of(costs), networks[0][1], 20, 30)
    known = {tuple(choices_of(table_of(costs), dag).tolist()) for _, dag in networks}
    assert set(map(tuple, seen.tolist())) <= known


def test_the_interval_covers_the_truth_about_19_times_in_20():
    covered = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        costs = random_costs(3, random)
        networks, table = all_networks(costs), table_of(costs)
        of_all = np.array([cost for cost, _ in networks])
        masses = np.exp(of_all[0] - of_all)
        epsilon = float(of_all[np.searchsorted(np.cumsum(masses) / masses.sum(), random.uniform(0.1, 0.9))] - of_all[0])
        truth = masses[of_all <= of_all[0] + epsilon + 1e-9].sum() / masses.sum()
        found = estimate_share(table, starts(table, networks[0][1]), -of_all[0], epsilon + 1e-9, seed=seed)
        assert found.are_chains_agreed
        assert found.standard_error <= 0.02
        assert abs(found.value - truth) < 5 * max(found.standard_error, 1e-3)
        covered += found.low <= truth <= found.high
    assert covered >= 8


@given(st.integers(2, 4), st.integers(0, 2**32), st.sampled_from([0.5, 0.9, 0.95]))
@examples(12)
def test_the_forecast_number_of_networks_is_near_the_truth(n, seed, share):
    costs = random_costs(n, np.random.default_rng(seed))
    networks, table = all_networks(costs), table_of(costs)
    of_all = np.array([cost for cost, _ in networks])
    masses = np.exp(of_all[0] - of_all)
    log_total = math.log(masses.sum()) - of_all[0]
    held = np.cumsum(masses) / masses.sum()
    epsilon, log_number = forecast_share(table, starts(table, networks[0][1]), -of_all[0], share, log_total, seed=1)
    # The share that the epsilon really holds, and the number of networks really within it.
    within = int((of_all <= of_all[0] + epsilon + 1e-9).sum())
    one_fewer = held[within - 2] if within > 1 else 0.0
    assert one_fewer - 0.05 < share < held[within - 1] + 0.05
    assert log_number == pytest.approx(math.log10(within), abs=0.15)


def test_a_share_of_nothing_visited_has_an_upper_limit():
    costs = [{(): 0.0, (1,): 9.0}, {(): 0.0}]
    table = table_of(costs)
    found = estimate_share(table, starts(table, ((), ())), 20.0, 0.0)  # no network scores 20
    assert (found.value, found.low, found.standard_error) == (0.0, 0.0, 0.0)
    assert 0 < found.high < 0.01
    assert found.text == f"an estimated share below {100 * found.high:.1f} % (with 95 % confidence)"


def test_chains_that_stay_apart_are_said_to_disagree():
    gaps = np.random.default_rng(0).exponential(size=(100, N_CHAINS))
    assert share_estimate._estimate(gaps, 1.0, None).r_hat < 1.02
    gaps[:, : N_CHAINS // 2] += 1.0
    apart = share_estimate._estimate(gaps, 1.0, None)
    assert not apart.are_chains_agreed
    assert apart.high - apart.low > 0.2  # the interval knows it too
    assert apart.text.endswith("which is unsure because the Markov chains disagree,")


@pytest.fixture
def short_chains(monkeypatch):
    """For tests that do not ask how small the error of an estimate is."""
    monkeypatch.setattr(share_estimate, "_FIRST", 120)
    monkeypatch.setattr(share_estimate, "_MOST", 120)


def independent_parts(n_parts, size, seed):
    """Costs of many nodes in parts that no edge joins, and the log of the sum over all networks."""
    random, costs, log_total, best = np.random.default_rng(seed), [], 0.0, 0.0
    for part in range(n_parts):
        own = random_costs(size, random, share=0.5)
        of_all = np.array([cost for cost, _ in all_networks(own)])
        log_total += math.log(np.exp(of_all[0] - of_all).sum()) - of_all[0]
        best -= of_all[0]
        costs += [{tuple(p + part * size for p in parents): cost for parents, cost in of_v.items()} for of_v in own]
    return costs, log_total, best


@pytest.mark.parametrize("case", sampled(1, [(9, 4.0), (23, 2.0)]))
def test_the_share_is_estimated_for_more_variables_than_can_be_summed(case, tmp_path):
    n_parts, epsilon = case
    costs, log_total, _ = independent_parts(n_parts, 3, n_parts)
    with pytest.warns(CredibnWarning, match="do not say for which epsilon"):
        found = learn(scores=table_of(costs), epsilon=epsilon, posterior_share=True)
    truth, estimate = math.exp(found.log_mass - log_total), found.share_estimate
    assert found.complete
    assert len(found.names) == 3 * n_parts
    assert found.posterior_share is None
    assert estimate.are_chains_agreed
    assert abs(estimate.value - truth) < 4 * max(estimate.standard_error, 1e-3)
    assert estimate.low - 0.01 <= truth <= estimate.high + 0.01
    found.save(tmp_path / "set.credibn")
    assert CredibleSet.load(tmp_path / "set.credibn").share_estimate == estimate
    assert estimate.text in found.summary()


def test_the_same_call_gives_the_same_estimate(short_chains):
    costs, _, _ = independent_parts(9, 3, 1)
    with pytest.warns(CredibnWarning):
        first, second = (learn(scores=table_of(costs), epsilon=1.0, posterior_share=True) for _ in range(2))
    assert first.share_estimate == second.share_estimate


def test_the_share_of_an_incomplete_set_counts_what_it_has(short_chains):
    costs, log_total, _ = independent_parts(9, 3, 2)
    with pytest.warns(CredibnWarning):
        found = learn(scores=table_of(costs), epsilon=5.0, max_classes=60, posterior_share=True)
    assert not found.complete
    truth = math.exp(found.log_mass - log_total)
    assert abs(found.share_estimate.value - truth) < 4 * max(found.share_estimate.standard_error, 2e-3)


def test_pruned_scores_are_refused_with_the_epsilon_that_is_enough(short_chains):
    costs, _, _ = independent_parts(9, 3, 3)
    with pytest.raises(OptionError, match=r"pruned for epsilon 3: score with epsilon=12, give the data") as caught:
        learn(scores=table_of(costs, epsilon=3.0), epsilon=1.0, posterior_share=True)
    assert "posterior_share" in str(caught.value)
    assert learn(scores=table_of(costs, epsilon=12.0), epsilon=1.0, posterior_share=True).share_estimate is not None


def test_a_share_as_the_goal_names_the_estimate_where_it_is_refused():
    costs, _, _ = independent_parts(9, 3, 3)
    with pytest.raises(TooLargeError, match="bayes_factor with posterior_share=True: it estimates the share"):
        learn(scores=table_of(costs, epsilon=12.0), share=0.95)


def test_what_no_network_of_the_set_says_comes_with_epsilons_that_say_more(short_chains):
    costs, _, _ = independent_parts(9, 3, 4)
    found = learn(scores=table_of(costs, epsilon=12.0), epsilon=0.5, posterior_share=True)
    half, most = (found.share_estimate.epsilon_for(share) for share in (0.5, 0.95))
    assert 0.5 < half < most
    assert f"within epsilon={round(half, 1)}, and 95 % within epsilon={round(most, 1)}." in found.summary()
    wide = learn(scores=table_of(costs, epsilon=12.0), epsilon=half, posterior_share=True)
    assert wide.share_estimate.low - 0.05 <= 0.5 <= wide.share_estimate.high + 0.05


def test_no_estimate_is_made_unless_it_is_asked_for():
    costs, _, _ = independent_parts(9, 3, 4)
    found = learn(scores=table_of(costs, epsilon=12.0), epsilon=0.5)
    assert found.share_estimate is None
    assert "posterior_share=True estimates it." in found.summary()


def test_an_estimate_that_cannot_be_is_refused():
    estimate = ShareEstimate(0.28, 0.26, 0.3, 0.01, 1.01, 32, 2000, 1500.0, (4.4, 8.8, 10.5, 14.2), 12.0)
    assert ShareEstimate.of_json(estimate.as_json()) == estimate
    for wrong in ({"value": 2.0}, {"low": 0.5}, {"r_hat": None}, {"epsilons": [1.0]}, {"more": 1}):
        with pytest.raises(ValueError, match="estimate"):
            ShareEstimate.of_json({**estimate.as_json(), **wrong})
    with pytest.raises(OptionError, match=r"one of 0\.5, 0\.9, 0\.95, 0\.99"):
        estimate.epsilon_for(0.7)


def test_a_run_that_is_stopped_has_no_estimate():
    costs, _, _ = independent_parts(9, 3, 5)
    asked = []

    def stop(stage, fraction):
        asked.append(stage)
        return stage != "posterior"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = learn(scores=table_of(costs, epsilon=12.0), epsilon=0.5, posterior_share=True, progress=stop)
    assert "posterior" in asked
    assert found.share_estimate is None
    assert found.complete
