"""Elimination against sums over the whole joint table, and against pyAgrum and pgmpy on published networks."""

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn.errors import TooLargeError
from credibn.models import BayesianNetwork, TableModel, elimination, read_network
from credibn.models.components import Component, component_around, mask_of, structure_of
from credibn.models.elimination import eliminate
from profiles import sampled


def split_components(parents, observed, queries=()):
    """All components of a network, barren nodes left out, in the order of their first table."""
    structure = structure_of(parents)
    known, asked = mask_of(observed), mask_of(queries)
    found, placed = [], set()
    for node, below in enumerate(structure.descendants):
        if below & (known | asked) and node not in {*observed, *placed}:
            found.append(component_around(structure, node, known, asked))
            placed.update(found[-1].children)
    found += [Component((node,), frozenset()) for node in observed if node not in placed]
    return sorted(found, key=lambda component: component.children)


def posterior_marginals(network, evidence, queries=None):
    """The posterior of each query, or of each variable that is not observed; None if the evidence is impossible."""
    wanted = [v for v in range(len(network.names)) if v not in evidence] if queries is None else list(queries)
    found = {v: np.eye(len(network.states[v]))[evidence[v]] for v in wanted if v in evidence}
    hidden = [v for v in wanted if v not in evidence]
    for component in split_components(network.parents, evidence, hidden):
        for query in [v for v in hidden if v in component.free] or [None]:
            posterior, log_sum = eliminate_one(network, component, evidence, query)
            if log_sum == -math.inf:
                return None
            if query is not None:
                found[query] = posterior
    return {v: found[v] for v in wanted}


def log_evidence(network, evidence):
    parts = split_components(network.parents, evidence)
    return sum(eliminate_one(network, part, evidence)[1] for part in parts)


def eliminate_one(network, component, evidence, query=None):
    codes = {v: np.array([code]) for v, code in evidence.items()}
    posterior, log_sum = eliminate(dict(enumerate(network.local_models)), component, codes, 1, query)
    return posterior[0], log_sum[0]


def network_of(models):
    states = tuple(tuple(range(model.probabilities.shape[-1])) for model in models)
    return BayesianNetwork(tuple(f"v{v}" for v in range(len(models))), states, tuple(models))


@st.composite
def networks(draw, max_nodes=6, zeros=True):
    """Random networks, in an order of nodes that does not put parents first; some probabilities are 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, max_nodes))
    order = rng.permutation(n)
    arities = rng.integers(1, 4, n)
    models = [None] * n
    for at, child in enumerate(order):
        parents = tuple(sorted(int(v) for v in order[:at] if rng.random() < 0.5))
        table = rng.random([*arities[list(parents)], arities[child]]) ** 3
        if zeros and rng.random() < 0.3:
            table[table < 0.1] = 0
            table[table.sum(axis=-1) == 0] = 1
        models[child] = TableModel(parents, table / table.sum(axis=-1, keepdims=True))
    return network_of(models)


@st.composite
def evidence_of(draw, network):
    chosen = draw(st.sets(st.integers(0, len(network.names) - 1)))
    return {v: draw(st.integers(0, len(network.states[v]) - 1)) for v in sorted(chosen)}


def joint_table(network):
    """The product of all local tables, by the definition, over every combination of states."""
    shape = [len(states) for states in network.states]
    joint = np.empty(shape)
    for cell in np.ndindex(*shape):
        joint[cell] = math.prod(
            model.probabilities[(*(cell[p] for p in model.parents), cell[v])]
            for v, model in enumerate(network.local_models)
        )
    return joint


@given(st.data())
def test_posteriors_are_those_of_the_joint_table(data):
    network = data.draw(networks())
    evidence = data.draw(evidence_of(network))
    n = len(network.names)
    joint = joint_table(network)
    for v, code in evidence.items():
        joint = joint * (np.arange(len(network.states[v])) == code).reshape([-1 if u == v else 1 for u in range(n)])
    total = joint.sum()
    if total == 0:
        assert log_evidence(network, evidence) == -math.inf
        assert posterior_marginals(network, evidence, range(n)) is None
        return
    assert log_evidence(network, evidence) == pytest.approx(math.log(total), abs=1e-10)
    found = posterior_marginals(network, evidence, range(n))
    assert list(found) == list(range(n))
    for v in range(n):
        expected = joint.sum(axis=tuple(u for u in range(n) if u != v)) / total
        np.testing.assert_allclose(found[v], expected, rtol=0, atol=1e-12)
    assert posterior_marginals(network, evidence).keys() == set(range(n)) - evidence.keys()


@given(networks(max_nodes=5, zeros=False), st.integers(0, 2**32 - 1))
def test_many_rows_at_once_are_each_row_by_itself(network, seed):
    rng = np.random.default_rng(seed)
    n = len(network.names)
    observed = [v for v in range(n) if rng.random() < 0.5]
    evidence = {v: rng.integers(0, len(network.states[v]), 7) for v in observed}
    hidden = [v for v in range(n) if v not in evidence]
    models = dict(enumerate(network.local_models))
    for component in split_components(network.parents, observed, hidden):
        # A limit that leaves one row for each block gives the same numbers.
        largest = max(math.prod(len(network.states[v]) for v in component.free), 1)
        for query in sorted(component.free):
            found, logs = eliminate(models, component, evidence, 7, query)
            with mock.patch.object(elimination, "MAX_CELLS", largest):
                small, small_logs = eliminate(models, component, evidence, 7, query)
            np.testing.assert_allclose(small_logs, logs, rtol=1e-12)
            for row in range(7):
                single = {v: int(codes[row]) for v, codes in evidence.items()}
                expected = posterior_marginals(network, single, [query])[query]
                np.testing.assert_allclose(found[row], expected, rtol=1e-12)
                np.testing.assert_allclose(small[row], expected, rtol=1e-12)


def test_barren_nodes_and_parts_cut_off_by_evidence_are_left_out():
    # 0 -> 1 -> 2 -> 3, 2 -> 4: with 2 observed, 3 hangs on nothing but 2, and 4 is barren.
    parents = [(), (0,), (1,), (2,), (2,)]
    assert split_components(parents, [2], [3]) == [
        Component((0, 1, 2), frozenset({0, 1})),
        Component((3,), frozenset({3})),
    ]
    # A common child joins its parents when it is observed, and not before.
    assert [part.children for part in split_components([(), (), (0, 1)], [2], [0])] == [(0, 1, 2)]
    assert [part.children for part in split_components([(), (), (0, 1)], [], [0])] == [(0,)]
    assert [part.children for part in split_components([(), (0,)], [0, 1])] == [(0,), (1,)]


def test_improbable_evidence_is_no_trouble():
    # 400 children of one hidden node: the product of their probabilities is far below the smallest double.
    n = 200
    root = TableModel((), np.array([0.5, 0.5]))
    child = np.array([[1e-6, 1 - 1e-6], [2e-6, 1 - 2e-6]])
    network = network_of([root, *(TableModel((0,), child) for _ in range(n))])
    evidence = dict.fromkeys(range(1, n + 1), 0)
    expected = n * math.log(2e-6) + math.log1p(0.5**n) + math.log(0.5)
    assert log_evidence(network, evidence) == pytest.approx(expected, rel=1e-12)
    assert posterior_marginals(network, evidence)[0][1] == pytest.approx(1.0)
    evidence = {v: v % 2 for v in range(1, n + 1)}
    odds = (n // 2) * math.log(2) + (n // 2) * (math.log1p(-2e-6) - math.log1p(-1e-6))
    assert posterior_marginals(network, evidence)[0][0] == pytest.approx(1 / (1 + math.exp(odds)), rel=1e-9)


def test_a_table_too_large_is_refused_before_it_is_made(monkeypatch):
    n = 6
    models = [TableModel((), np.full(3, 1 / 3)) for _ in range(n)]
    models.append(TableModel(tuple(range(n)), np.full([3] * n + [2], 0.5)))
    network = network_of(models)
    assert posterior_marginals(network, {n: 0})[0] == pytest.approx(np.full(3, 1 / 3))
    monkeypatch.setattr(elimination, "MAX_CELLS", 728)
    with pytest.raises(TooLargeError, match="a table of 729 cells, more than 728"):
        posterior_marginals(network, {n: 0})


# ----------------------------------------------------------------- published networks


def random_evidence(network, rng, n_observed):
    """Codes of some variables, from a row drawn from the network: such evidence is possible."""
    row = dict[int, int]()
    for v in network.topological_order:
        model = network.local_models[v]
        printed = model.probabilities[tuple(row[p] for p in model.parents)]  # with a few digits only
        row[v] = int(rng.choice(len(printed), p=printed / printed.sum()))
    return {int(v): row[int(v)] for v in rng.choice(len(row), size=n_observed, replace=False)}


NETWORKS = ("asia", "cancer", "earthquake", "survey", "sachs", "hepar2", "insurance", "alarm", "hailfinder", "win95pts")


@pytest.mark.parametrize("name", sampled(6, NETWORKS))
def test_posteriors_agree_with_pyagrum(name, shared_data):
    pyagrum = pytest.importorskip("pyagrum")
    path = shared_data / "networks" / f"{name}.bif"
    theirs, network = pyagrum.loadBN(str(path)), read_network(path)  # it reads single precision
    rng = np.random.default_rng(0)
    for _ in range(3):
        n_observed = int(rng.integers(0, len(network.names) // 2 + 1))
        evidence = random_evidence(network, rng, n_observed)
        engine = pyagrum.LazyPropagation(theirs)
        engine.setEvidence({network.names[v]: code for v, code in evidence.items()})
        engine.makeInference()
        for v, found in posterior_marginals(network, evidence).items():
            expected = engine.posterior(network.names[v]).toarray()
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5, err_msg=network.names[v])
        assert log_evidence(network, evidence) == pytest.approx(math.log(engine.evidenceProbability()), abs=1e-4)


@pytest.mark.parametrize("name", ["alarm", "hailfinder", "win95pts"])
def test_posteriors_agree_with_pgmpy(name, shared_data):
    inference = pytest.importorskip("pgmpy.inference")
    factors = pytest.importorskip("pgmpy.factors.discrete")
    models = pytest.importorskip("pgmpy.models")
    network = read_network(shared_data / "networks" / f"{name}.bif")
    theirs = models.DiscreteBayesianNetwork()
    theirs.add_nodes_from(network.names)
    theirs.add_edges_from(network.graph.edges)
    for v, model in enumerate(network.local_models):
        arities = [len(network.states[p]) for p in model.parents]
        values = model.probabilities.reshape(-1, len(network.states[v])).T
        parents = [network.names[p] for p in model.parents]
        theirs.add_cpds(factors.TabularCPD(network.names[v], len(values), values, parents, arities))
    engine = inference.VariableElimination(theirs)
    rng = np.random.default_rng(1)
    evidence = random_evidence(network, rng, len(network.names) // 3)
    named = {network.names[v]: code for v, code in evidence.items()}
    for v in [v for v in range(len(network.names)) if v not in evidence][::5]:
        expected = engine.query([network.names[v]], evidence=named, show_progress=False).values
        np.testing.assert_allclose(posterior_marginals(network, evidence, [v])[v], expected, rtol=0, atol=1e-9)
