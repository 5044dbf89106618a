"""A credible set that is counted, not listed: the same numbers as from a list, and clear refusals."""

import json
import math
import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn import average_models, k_best_networks, learn
from credibn.cli.app import app
from credibn.errors import NotListedError, OptionError
from credibn.examples import sample_asia

CONSTRAINTS = [{}, {"required_edges": [("smoke", "lung")], "max_parents": 2}, {"tiers": [["asia", "smoke"], ["xray"]]}]


@pytest.fixture(scope="module")
def table():
    return sample_asia(n_rows=200)


@pytest.fixture(scope="module")
def counted(table):
    return learn(table, engine="factored", bayes_factor=20)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("wanted", [{"bayes_factor": 150}, {"epsilon": 0}, {"ratio": 1.001}])
def test_numbers_are_those_of_a_list(table, constraints, wanted):
    counted, listed = learn(table, engine="factored", **wanted, **constraints), learn(table, **wanted, **constraints)
    assert counted.complete
    assert counted.engine == "factored"
    assert counted.n_networks == listed.n_networks
    assert counted.optimal_score == listed.optimal_score
    assert counted.guarantee == listed.guarantee
    assert counted.log_mass == pytest.approx(listed.log_mass, abs=1e-12)
    assert counted.posterior_share == pytest.approx(listed.posterior_share, abs=1e-12)
    for average in ("edge_probabilities", "adjacency_probabilities"):
        difference = getattr(counted, average)() - getattr(listed, average)()
        assert np.abs(difference.to_numpy()).max() < 1e-12
    for name in listed.names:
        expected = dict(listed.parent_set_probabilities(name).itertuples(index=False))
        assert dict(counted.parent_set_probabilities(name).itertuples(index=False)) == pytest.approx(
            expected, abs=1e-12
        )
    for gap in (0.0, listed.epsilon / 2):
        n_networks, n_classes = listed.count_within(gap)
        assert counted.count_within(gap) == (n_networks, None if constraints else n_classes)


def test_classes_are_counted_where_they_are_whole(counted, table):
    assert counted.n_classes == learn(table, bayes_factor=20).n_classes
    assert "Markov equivalence class" in counted.summary()
    assert counted.summary().endswith("The networks are counted, not listed.")
    constrained = learn(table, engine="factored", max_parents=2)
    assert "class" not in repr(constrained)
    with pytest.raises(NotListedError, match="the classes of this set are not counted"):
        constrained.n_classes  # noqa: B018


def test_random_networks_are_credible(counted, table):
    credible = {frozenset(network.edges) for network in learn(table, bayes_factor=20).networks()}
    drawn = list(counted.sample_networks(300, seed=3))
    assert all(nx.is_directed_acyclic_graph(network) for network in drawn)
    assert {frozenset(network.edges) for network in drawn} <= credible
    again = counted.sample_networks(300, seed=3)
    assert [list(network.edges) for network in again] == [list(network.edges) for network in drawn]
    found = counted.feature_probability(lambda network: network.has_edge("smoke", "lung"), n_samples=2000)
    assert found.method == "sampling"
    assert found.value == pytest.approx(counted.edge_probabilities().loc["smoke", "lung"], abs=0.06)


def test_pairs_lack_only_what_classes_would_tell(counted, table):
    expected = learn(table, bayes_factor=20).pair_probabilities()
    assert set(expected.columns) - set(counted.pair_probabilities().columns) == {
        "compelled_forward",
        "compelled_backward",
        "reversible",
    }


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.classes(),
        lambda found: next(found.networks()),
        lambda found: found.v_structure_probabilities(),
        lambda found: found.markov_blanket_probabilities(),
        lambda found: found.ancestor_probabilities(),
        lambda found: found.most_probable_class(),
        lambda found: found.threshold_graph(),
        lambda found: found.edge_probabilities(prior="classes"),
        lambda found: found.plot(),
        lambda found: found.save("nowhere.credibn"),
        lambda found: average_models(found),
        lambda found: pickle.dumps(found),
    ],
)
def test_what_needs_a_list_is_refused_with_a_remedy(counted, ask):
    with pytest.raises(NotListedError, match=r"counted, not listed.*sample_networks.*engine='auto'"):
        ask(counted)


@pytest.mark.parametrize("quota", [{"max_networks": 5}, {"max_classes": 5}])
def test_quotas_are_refused(table, quota):
    (name,) = quota
    with pytest.raises(OptionError, match=f"engine='factored' counts networks and lists none, so {name} has no effect"):
        learn(table, engine="factored", **quota)


def test_the_best_are_not_counted(table):
    with pytest.raises(OptionError, match="so k has no effect"):
        k_best_networks(table, 3, engine="factored")


def test_more_than_this_set_reaches_cannot_be_counted(counted):
    with pytest.raises(OptionError, match=r"epsilon is 5; this set reaches 2\.99573"):
        counted.count_within(5)


def test_stopped_at_once_the_best_network_known_is_returned(table):
    found = learn(table, engine="factored", progress=lambda stage, fraction: stage != "relaxation")
    assert not found.complete
    assert found.n_networks == 1
    assert found.unexplored_bound < math.inf


def test_a_list_that_did_not_fit_names_this_engine(table):
    complete = learn(table, bayes_factor=20, posterior_share=False)
    part = replace(
        complete, complete=False, stopped_because="memory_limit", unexplored_bound=complete.optimal_score - 1
    )
    assert "a larger memory_limit, or count them all with engine='factored'" in part.summary()
    assert "factored" not in replace(part, n_requested=5).summary()


def test_the_command_writes_what_there_is(tmp_path, table):
    file, out = tmp_path / "asia.csv", tmp_path / "out"
    pa.csv.write_csv(table, file)
    done = CliRunner().invoke(app, ["learn", str(file), "--engine", "factored", "--out", str(out)])
    assert done.exit_code == 0
    assert "The networks are counted, not listed." in done.output
    assert "no result.credibn and no report" in done.output
    assert sorted(path.name for path in out.iterdir()) == ["edges.csv", "run.json", "summary.json"]
    facts = json.loads((out / "summary.json").read_text())
    assert facts["n_networks"] == learn(table).n_networks
    assert (out / "edges.csv").read_text().startswith("first,second,forward,backward,absent")
