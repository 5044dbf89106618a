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

from credibn import CredibleSet, EdgePenalty, _core, average_models, k_best_networks, learn, read_data
from credibn.cli.app import app
from credibn.credible import factored_averages, factored_structures
from credibn.errors import FileFormatError, NotListedError, OptionError
from credibn.examples import sample_asia
from credibn.factored import stored

CONSTRAINTS = [{}, {"required_edges": [("smoke", "lung")], "max_parents": 2}, {"tiers": [["asia", "smoke"], ["xray"]]}]


@pytest.fixture(scope="module")
def table():
    return sample_asia(n_rows=200)


@pytest.fixture(scope="module")
def data(table):
    return read_data(table)


@pytest.fixture(scope="module")
def counted(table):
    return learn(table, engine="factored", bayes_factor=20)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("wanted", [{"bayes_factor": 150}, {"epsilon": 0}, {"ratio": 1.001}])
def test_numbers_are_those_of_a_list(data, constraints, wanted):
    counted, listed = learn(data, engine="factored", **wanted, **constraints), learn(data, **wanted, **constraints)
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


def test_random_networks_are_credible(counted, table, no_list):
    counted = replace(counted)
    credible = {frozenset(network.edges) for network in learn(table, bayes_factor=20).networks()}
    drawn = list(counted.sample_networks(300, seed=3))
    assert all(nx.is_directed_acyclic_graph(network) for network in drawn)
    assert {frozenset(network.edges) for network in drawn} <= credible
    again = counted.sample_networks(300, seed=3)
    assert [list(network.edges) for network in again] == [list(network.edges) for network in drawn]
    found = counted.feature_probability(lambda network: network.has_edge("smoke", "lung"), n_samples=2000)
    assert found.method == "sampling"
    assert found.value == pytest.approx(counted.edge_probabilities().loc["smoke", "lung"], abs=0.06)


@pytest.fixture
def no_list(monkeypatch):
    """Make every counted set too large for a list."""
    monkeypatch.setattr(factored_structures, "FEW", 0)


AVERAGES = ["markov_blanket_probabilities", "ancestor_probabilities"]


@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_few_networks_that_were_counted_are_listed_on_demand(table, constraints):
    counted, listed = learn(table, engine="factored", **constraints), learn(table, **constraints)
    for average in AVERAGES:
        assert getattr(counted, average)().equals(getattr(listed, average)())
    assert counted.pair_probabilities().equals(listed.pair_probabilities())
    assert [one.size for one in counted.classes()] == [one.size for one in listed.classes()]
    assert counted.edge_probabilities("classes").equals(listed.edge_probabilities("classes"))
    edges = [[set(network.edges) for network in found.networks()] for found in (counted, listed)]
    assert edges[0] == edges[1]
    assert counted.most_probable_class().score == listed.most_probable_class().score


@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_blankets_and_v_structures_are_exact_without_a_list(table, constraints, no_list):
    counted, listed = (learn(table, engine=engine, bayes_factor=150, **constraints) for engine in ("factored", "auto"))
    found = counted.markov_blanket_probabilities()
    assert np.abs((found - listed.markov_blanket_probabilities()).to_numpy()).max() < 1e-12
    assert found.attrs == {}
    frames = (one.v_structure_probabilities().set_index(["first", "child", "second"]) for one in (counted, listed))
    of_counted, of_listed = (frame["probability"].to_dict() for frame in frames)
    assert of_counted == pytest.approx(of_listed, abs=1e-12)


def test_what_random_networks_say_comes_with_its_error(table, no_list):
    counted, listed = (learn(table, engine=engine, bayes_factor=150) for engine in ("factored", "auto"))
    for name, columns in (("ancestor_probabilities", slice(None)), ("pair_probabilities", slice(5, 8))):
        found, expected = getattr(counted, name)(), getattr(listed, name)()
        assert found.attrs["method"] == "sampling"
        assert found.attrs["n_networks"] == 10_000
        assert 0 < found.attrs["standard_error"] <= 0.005
        difference = found.iloc[:, columns] - expected.iloc[:, columns]
        assert 0 < np.abs(difference.to_numpy(float)).max() < 5 * 0.005
    again = learn(table, engine="factored", bayes_factor=150)
    assert again.ancestor_probabilities().equals(counted.ancestor_probabilities())


def test_averages_that_would_take_too_long_are_sampled(table, no_list, monkeypatch):
    monkeypatch.setattr(factored_averages, "_MOST_STEPS", 0)
    counted, listed = learn(table, engine="factored"), learn(table)
    found = counted.markov_blanket_probabilities()
    assert found.attrs["method"] == "sampling"
    assert np.abs((found - listed.markov_blanket_probabilities()).to_numpy()).max() < 5 * 0.005
    assert counted.v_structure_probabilities().attrs["method"] == "sampling"


def test_networks_come_one_by_one_in_order_of_score(table, no_list):
    counted, listed = learn(table, engine="factored"), learn(table)
    of_counted, of_listed = list(counted.networks()), list(listed.networks())
    scores = [[network.graph["score"] for network in found] for found in (of_counted, of_listed)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)
    sets = [{frozenset(network.edges) for network in found} for found in (of_counted, of_listed)]
    assert sets[0] == sets[1]


def test_the_best_classes_are_those_of_a_list(table, no_list):
    counted, listed = learn(table, engine="factored"), learn(table)
    of_counted, of_listed = counted.best_classes(7), listed.best_classes(7)
    assert [one.score for one in of_counted] == [one.score for one in of_listed]
    assert {repr(one) for one in of_counted} == {repr(one) for one in of_listed}
    assert len(counted.best_classes(10**6)) == counted.n_classes


def test_graphs_and_models_come_from_random_networks(table, no_list):
    counted, listed = learn(table, engine="factored"), learn(table)
    assert set(counted.threshold_graph(0.6).edges) == set(listed.threshold_graph(0.6).edges)
    assert set(counted.agreement_graph().edges) == set(listed.agreement_graph().edges)
    rows = table.slice(0, 20)
    of_counted, of_listed = (average_models(found).predict_proba(rows, "dysp") for found in (counted, listed))
    assert np.abs(of_counted.to_numpy() - of_listed.to_numpy()).max() < 0.02
    of_counted, of_listed = (found.effects(table, cause="smoke", outcome="bronc") for found in (counted, listed))
    assert of_counted.mean == pytest.approx(of_listed.mean, abs=0.02)


def test_a_set_that_was_counted_is_saved_and_sent_to_other_processes(table, tmp_path):
    for constraints in CONSTRAINTS:
        counted, path = learn(table, engine="factored", bayes_factor=150, **constraints), tmp_path / "set.credibn"
        counted.save(path)
        loaded = CredibleSet.load(path)
        for found in (loaded, pickle.loads(pickle.dumps(counted))):
            assert found.summary() == counted.summary()
            assert found.edge_probabilities().equals(counted.edge_probabilities())
            assert found.count_within(1.0) == counted.count_within(1.0)
            assert [*found.sample_networks(3)][2].edges == [*counted.sample_networks(3)][2].edges
        loaded.save(tmp_path / "again.credibn")
        assert (tmp_path / "again.credibn").read_bytes() == path.read_bytes()
        assert average_models(loaded).predict(table.slice(0, 3), "lung").tolist()


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("network_to", lambda array: array + 1, "an edge leads to no state"),
        ("network_to", lambda array: array[:-1], "the edges are not as many as the states say"),
        ("network_order", lambda array: array * 0, "the order is not one of the nodes"),
        ("network_order", lambda array: array[::-1], "an edge has a parent set of another node"),
        ("network_sizes", lambda array: array + 1, "there is not one number of edges for each state"),
        ("network_candidates", lambda array: array + 10**6, "a parent set that is not in the score table"),
        ("network_candidates", lambda array: array * 0, "a class has a parent set that no network has"),
        ("network_weights", lambda array: array * 2, "a network has a weight"),
        ("class_weights", lambda array: array * 2, "the diagrams do not have as many networks and classes"),
        ("class_to", lambda array: array[:0], "the edges are not as many as the states say"),
    ],
)
def test_a_damaged_diagram_is_refused(counted, monkeypatch, tmp_path, column, change, message):
    as_arrays = stored.as_arrays
    monkeypatch.setattr(
        stored, "as_arrays", lambda networks: (found := as_arrays(networks)) | {column: change(found[column])}
    )
    counted.save(tmp_path / "set")
    with pytest.raises(FileFormatError, match=message):
        CredibleSet.load(tmp_path / "set")


def test_a_diagram_with_a_cycle_is_refused():
    """X0 -> X1 and X1 -> X0 on one path."""
    costs, masks = np.zeros(2, dtype=np.int64), np.array([[2], [1]], dtype=np.uint64)
    arrays = [np.array(values, dtype=kind) for values, kind in zip(TWO_NODES, KINDS, strict=True)]
    with pytest.raises(ValueError, match="a network has a directed cycle"):
        _core.counted_of_arrays(np.array([0, 1, 2]), costs, masks, 0, tuple(arrays), None, 1 << 20, None)
    counted = _core.counted_of_arrays(np.array([0, 1, 2]), costs, masks * 0, 0, tuple(arrays), None, 1 << 20, None)
    assert counted.count_up_to(0)[0] == 1


TWO_NODES = ([0, 1], [1, 1, 1], [1, 1], [0, 0], [0, 1], [1, 1])
KINDS = (np.int32, np.uint32, np.uint32, np.uint32, np.uint32, np.int32)


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.classes(),
        lambda found: found.most_probable_class(),
        lambda found: found.class_weights,
        lambda found: found.edge_probabilities(prior="classes"),
        lambda found: found.edge_probabilities(prior=EdgePenalty(1)),
    ],
)
def test_what_needs_a_list_is_refused_with_a_remedy(counted, no_list, ask):
    with pytest.raises(NotListedError, match=r"counted, not listed.*sample_networks.*engine='auto'"):
        ask(replace(counted))


def test_what_needs_whole_classes_is_refused(table, no_list):
    found = learn(table, engine="factored", max_parents=2)
    for ask in (found.best_classes, found.threshold_graph):
        with pytest.raises(NotListedError, match=r"not whole.*sample_networks"):
            ask()
    assert "compelled_forward" not in found.pair_probabilities()


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


@pytest.mark.parametrize("flags", [[], ["--max-parents", "2"]])
def test_the_command_writes_a_result_and_a_report(tmp_path, table, flags, no_list):
    file, out = tmp_path / "asia.csv", tmp_path / "out"
    pa.csv.write_csv(table, file)
    done = CliRunner().invoke(app, ["learn", str(file), "--engine", "factored", "--out", str(out), *flags])
    assert done.exit_code == 0
    assert "The networks are counted, not listed." in done.output
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "result.credibn", "run.json", "summary.json"]
    facts = json.loads((out / "summary.json").read_text())
    assert facts["n_networks"] == learn(table).n_networks
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "The networks are counted, not listed: there are too many." in page
    assert "The share of the posterior by Bayes factor, up to" in page
    assert ("Which edges are reversible comes from 10,000 random networks" in page) is not bool(flags)
    for command in (["edges", str(out)], ["edges", str(out), "-o", str(tmp_path / "edges.png")]):
        assert CliRunner().invoke(app, command).exit_code == 0
    again = CliRunner().invoke(app, ["report", str(out), "-o", str(tmp_path / "again.html"), "--json"])
    assert json.loads(again.stdout)["n_networks"] == facts["n_networks"]


def test_effects_and_models_of_a_counted_set_state_their_sampling_error(counted, table, monkeypatch, tmp_path):
    monkeypatch.setattr(factored_structures, "FEW", 0)
    counted, listed = replace(counted), learn(table, bayes_factor=20)
    pair = {"cause": "smoke", "outcome": "dysp"}
    found, exact = counted.effects(table, **pair), listed.effects(table, **pair)
    assert (exact.n_sampled, exact.standard_error) == (0, 0.0)
    assert found.n_sampled == 10_000
    assert 0 < found.standard_error < 0.01
    assert abs(found.mean - exact.mean) < 5 * found.standard_error
    assert "From 10,000 random networks: the standard error of the average is at most 0.00" in found.summary()
    assert found.as_json()["standard_error"] == found.standard_error
    every, exactly = counted.effects(table), listed.effects(table)
    assert (every.n_sampled, exactly.n_sampled, exactly.standard_error) == (10_000, 0, 0.0)
    for name in ("strengths", "paths"):
        difference = np.abs(getattr(every, name) - getattr(exactly, name)).to_numpy()
        assert np.nanmax(difference) < 5 * every.standard_error < 0.03
    model, whole = average_models(counted, table), average_models(listed, table)
    assert (model.n_sampled, whole.n_sampled, whole.standard_error) == (10_000, 0, 0.0)
    assert model.standard_error == 0.5 / math.sqrt(model.share * 10_000)
    rows = sample_asia(n_rows=20, seed=3)
    difference = model.predict_proba(rows, "lung") - whole.predict_proba(rows, "lung")
    assert np.abs(difference.to_numpy()).max() < 5 * model.standard_error


def test_experiments_are_ranked_for_a_counted_set_too(counted, table, monkeypatch):
    monkeypatch.setattr(factored_structures, "FEW", 0)
    found = replace(counted).most_informative_interventions()
    exact = learn(table, bayes_factor=20).most_informative_interventions().set_index("variable")
    assert found.attrs["method"] == "sampling"
    assert 0 < found.attrs["standard_error"] < 0.02
    difference = found.set_index("variable")["bits"] - exact["bits"]
    assert difference.abs().max() < 5 * found.attrs["standard_error"]
