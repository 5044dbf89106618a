"""What a run returns that ends before all parent sets are scored: a network, and no promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies
from brute_force_engine import Waiting
from credibn import (
    BIC,
    CredibnWarning,
    exact_posterior,
    k_best_classes,
    k_best_networks,
    learn,
    read_data,
    score_parent_sets,
)
from credibn._run import Run
from credibn.errors import TimeLimitError
from credibn.search import ENGINES, find_good_network
from networks import assert_sound, by_name, dag_of, naive_costs
from profiles import examples

SOON = 1e-9  # seconds
pytestmark = pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")


@pytest.fixture(scope="module")
def chain():
    """Six columns, each a noisy copy of the one before."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 2, 300)]
    for _ in range(5):
        columns.append((columns[-1] + (rng.random(300) < 0.1)) % 2)
    return np.column_stack(columns)


@pytest.fixture(scope="module")
def chain_data(chain):
    return read_data(chain)


def assert_unproven(found, n_variables, reason="time_limit"):
    assert_sound(found)
    assert (found.n_networks, found.complete, found.stopped_because) == (1, False, reason)
    assert found.unexplored_bound == math.inf
    assert not found.is_optimum_proven
    assert found.posterior_share is None
    assert found.guarantee == (
        "Networks that score higher than these may exist: nothing was proven before the search stopped."
    )
    assert (found.score_table.epsilon, found.score_table.provenance["complete"]) == (None, False)
    assert (found.score_table.counts > 0).all()
    assert len(found.names) == n_variables


def test_a_time_limit_while_scoring_returns_a_network_of_all_columns(chain_data):
    with pytest.warns(CredibnWarning, match="the time limit was reached when 0% of the scoring was done"):
        found = learn(chain_data, time_limit=SOON)
    assert_unproven(found, 6)
    edges = {frozenset(edge) for edge in next(found.networks()).edges}
    assert edges == {frozenset((f"X{v}", f"X{v + 1}")) for v in range(5)}


@given(st.data(), strategies.coded_tables(max_columns=4, max_rows=30, max_arity=3))
@examples(12)
def test_the_network_obeys_all_constraints_and_scores_as_the_definition_says(draws, table):
    limits, prior = draws.draw(strategies.constraints(table)), draws.draw(strategies.priors(table.n))
    found = learn(table.dataset(), time_limit=SOON, prior=prior, **by_name(limits))
    costs = naive_costs(table, BIC(), limits, prior)
    cost = oracle.network_cost(dag_of(next(found.networks())), costs)  # infinite if it is not allowed
    assert math.isclose(-found.optimal_score, cost, rel_tol=1e-9, abs_tol=1e-8)


def test_required_and_forbidden_edges_and_limits_hold(chain_data):
    options = {
        "required_edges": ["X5->X0", "X0->X3", "X4->X3"],
        "forbidden_edges": ["X1->X2"],
        "max_parents": {"X3": 2, "X1": 1},
    }
    graph = next(learn(chain_data, time_limit=SOON, **options).networks())
    assert {("X5", "X0"), ("X0", "X3"), ("X4", "X3")} <= set(graph.edges)
    assert ("X1", "X2") not in graph.edges
    assert (graph.in_degree("X3"), graph.in_degree("X1")) == (2, 1)


class Fewest:
    """Costs 1 for each parent; a single one is not allowed for the last column."""

    name, columns = "fewest", "discrete"

    def settings(self):
        return {}

    def local_cost(self, data, node, parents):
        return math.inf if node == 5 and len(parents) < 2 else float(len(parents))


@pytest.mark.parametrize(
    "score", ["bdeu", "aic", "gaussian-bic", "bge", Fewest()], ids=lambda score: getattr(score, "name", score)
)
def test_every_kind_of_score_gives_a_network(chain, score):
    is_continuous = score in ("gaussian-bic", "bge")
    values = chain + np.random.default_rng(1).normal(size=chain.shape) if is_continuous else chain
    data = read_data(values, columns="continuous" if is_continuous else "discrete")
    found = learn(data, score=score, time_limit=SOON)
    assert_unproven(found, 6)


def test_constant_columns_are_left_out(chain):
    table = read_data(np.column_stack([chain, np.zeros(len(chain), dtype=int)]))
    assert_unproven(learn(table, time_limit=SOON), 7)
    assert_unproven(learn(table, progress=lambda *_: False), 7, "interrupted")


@pytest.fixture(scope="module")
def wide(chain):
    """Fourteen columns, which the descent engine scores in several tasks."""
    return read_data(np.column_stack([chain, np.random.default_rng(2).integers(0, 2, (300, 8))]))


def halfway(stage, fraction):
    """Stop when some tasks of scoring are done."""
    return stage != "score" or fraction < 0.3


def test_a_stop_in_the_middle_uses_what_is_scored(wide):
    found = learn(wide, progress=halfway, n_threads=1)
    assert_unproven(found, 14, "interrupted")
    assert found.optimal_score <= learn(wide, max_classes=1, posterior_share=False).optimal_score + 1e-9
    sizes = [int(mask).bit_count() for mask in found.score_table.masks[:, 0]]
    assert max(sizes) >= 2


def test_the_table_of_a_run_that_ended_early_proves_nothing_later(chain_data):
    found = learn(chain_data, time_limit=SOON)
    with pytest.warns(CredibnWarning, match="complete only among networks made of the parent sets listed"):
        learn(found.score_table, bayes_factor=3)


def test_a_resumed_run_gives_the_same_bytes(chain_data, tmp_path):
    whole, early, again = (tmp_path / name for name in ("whole", "early", "again"))
    learn(chain_data, bayes_factor=3).save(whole)
    learn(chain_data, bayes_factor=3, time_limit=SOON, checkpoint=tmp_path / "c").save(early)
    learn(chain_data, bayes_factor=3, checkpoint=tmp_path / "c").save(again)
    assert again.read_bytes() == whole.read_bytes() != early.read_bytes()


def test_with_a_checkpoint_the_warning_says_that_the_same_call_resumes(wide, tmp_path):
    with pytest.warns(CredibnWarning, match="start again to resume, or set max_parents"):
        learn(wide, progress=halfway, checkpoint=tmp_path / "c", n_threads=1)
    with pytest.warns(CredibnWarning, match="with checkpoint a run can be resumed"):
        learn(wide, progress=halfway, n_threads=1)


@pytest.mark.parametrize("find", [k_best_networks, k_best_classes])
def test_the_k_best_of_a_run_that_ends_early_are_one_network(chain_data, find):
    found = find(chain_data, k=5, time_limit=SOON)
    assert_unproven(found, 6)
    assert found.n_requested == 5


def test_the_k_best_keep_what_was_proven_for_a_smaller_epsilon(chain):
    """The first round, for a Bayes factor of 20, is finished; the second is stopped while it scores."""
    rounds = learn(chain, bayes_factor=20)
    whole = k_best_networks(chain, k=rounds.n_networks + 200)
    starts = []

    def stop_the_second_round(stage, fraction):
        starts.append(stage)
        is_second = stage == "score" and any(other != "score" for other in starts)
        return not is_second

    found = k_best_networks(chain, k=rounds.n_networks + 200, progress=stop_the_second_round)
    assert (found.complete, found.stopped_because) == (False, "interrupted")
    assert found.n_networks == rounds.n_networks < whole.n_networks
    assert found.unexplored_bound == pytest.approx(rounds.optimal_score - math.log(20))
    assert "The optimum is proven." in found.guarantee


def test_a_ratio_whose_optimum_is_not_proven_keeps_the_best_network(chain, chain_data, monkeypatch):
    assert_unproven(learn(chain_data, ratio=1.01, time_limit=SOON), 6)
    monkeypatch.setitem(ENGINES, "waiting", Waiting())
    found = learn(chain[:, :4], engine="waiting", ratio=1.01, time_limit=1.0)
    assert (found.complete, found.stopped_because) == (False, "time_limit")
    assert found.epsilon == pytest.approx(-0.01 * found.optimal_score)


def test_a_search_that_ends_before_it_finds_a_network_returns_one_with_its_bound(chain, monkeypatch):
    monkeypatch.setitem(ENGINES, "waiting", Waiting(has_found=False))
    found = learn(chain[:, :4], engine="waiting", time_limit=1.0, required_edges=["X3->X0"])
    assert (found.n_networks, found.complete, found.stopped_because) == (1, False, "time_limit")
    assert ("X3", "X0") in next(found.networks()).edges


def test_the_sum_over_all_networks_is_all_or_nothing(chain_data):
    with pytest.raises(TimeLimitError, match="when 0% of the scoring was done, and nothing exact can be said"):
        exact_posterior(chain_data, time_limit=SOON)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (2, "No network with at most 2 parents per variable that scores at least"),
        (1, "No network with at most 1 parent per variable that scores at least"),
        ({"X0": 1}, "No network within the limits on parents that scores at least"),
        (None, "No network that scores at least"),
    ],
)
def test_the_guarantee_is_relative_to_the_limit_on_parents(chain, limit, words):
    assert learn(chain, max_parents=limit).guarantee.startswith(words)
    assert ("with at most 2 parents" in k_best_networks(chain, 3, max_parents=limit).guarantee) is (limit == 2)


def test_local_search_starts_from_an_order_that_required_edges_allow(chain):
    """However soon it is told to stop, there is a network."""
    path = [f"X{v}->X{v - 1}" for v in range(5, 0, -1)]
    table = score_parent_sets(chain, required_edges=path, bayes_factor=1)
    row = find_good_network(table, Run(lambda *_: False))
    assert row is not None
