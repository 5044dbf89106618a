"""Networks for other programs: pgmpy, pyAgrum and its files, networkx, Graphviz, GraphML, bnlearn's model strings."""

import sys
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import model_strategies as ms
import oracle
from credibn import fit_network, read_network, write_network
from credibn.errors import FileFormatError, OptionError
from credibn.graphs import CPDAG
from credibn.graphs.formats import adjacency_matrix, model_string, parse_model_string, to_dot, to_graphml
from credibn.models import BayesianNetwork, LinearGaussian, TableModel, from_pgmpy, from_pyagrum
from profiles import examples

CONTINUOUS = BayesianNetwork(("x",), (None,), (LinearGaussian((), (), np.array(0.0), np.zeros(0), np.array(1.0)),))
PYAGRUM_ENDINGS = ("bifxml", "xmlbif", "xdsl", "net", "dsl")


@pytest.fixture
def network():
    """Four variables of 2, 3, 2 and 4 states; the last has three parents."""
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, k, 300) for k in (2, 3, 2, 4)])
    labels = [["yes", "no"], ["low", "mid", "high"], ["on", "off"], ["n", "e", "s", "w"]]
    frame = pd.DataFrame(
        {f"v{v}": pd.Categorical.from_codes(codes[:, v], labels[v]) for v in range(4)},
    )
    return fit_network(["v2->v0", "v1->v2", "v0->v3", "v1->v3", "v2->v3"], frame)


def optional(name):
    """Import an optional package; its own warnings do not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def probability_of(network, assignment):
    """The joint probability of one label for each variable, by name."""
    codes = [labels.index(assignment[name]) for name, labels in zip(network.names, network.states, strict=True)]
    return ms.joint_table(network)[tuple(codes)]


def assert_same_distribution(first, second, tolerance=0.0):
    """The same names, states and joint probabilities, in whatever order."""
    assert set(first.names) == set(second.names)
    for codes, probability in ms.joint_table(first).items():
        labels = {name: states[code] for name, states, code in zip(first.names, first.states, codes, strict=True)}
        assert abs(probability_of(second, labels) - probability) <= tolerance + 1e-15


# ----------------------------------------------------------------- objects


def test_pgmpy_has_the_same_distribution(network):
    optional("pgmpy")
    converted = network.to_pgmpy()
    assert list(converted.nodes()) == list(network.names)
    assert set(converted.edges()) == set(network.graph.edges)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert converted.check_model()
        for codes in [(0, 0, 0, 0), (1, 2, 0, 3), (0, 1, 1, 2)]:
            labels = {f"v{v}": network.states[v][code] for v, code in enumerate(codes)}
            assert np.isclose(converted.get_state_probability(labels), ms.joint_table(network)[codes], rtol=1e-12)
    assert_same_distribution(network, from_pgmpy(converted))


def test_pgmpy_tables_with_states_in_another_order():
    optional("pgmpy")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork([("b", "c"), ("a", "c")])
    model.add_cpds(
        TabularCPD("a", 2, [[0.1], [0.9]], state_names={"a": ["x", "y"]}),
        TabularCPD("b", 2, [[0.3], [0.7]], state_names={"b": ["p", "q"]}),
    )
    with pytest.raises(OptionError, match="'c' has no table"):
        from_pgmpy(model)
    states = {"c": ["u", "v"], "b": ["q", "p"], "a": ["x", "y"]}
    values = [[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6]]
    model.add_cpds(TabularCPD("c", 2, values, ["b", "a"], [2, 2], state_names=states))
    network = from_pgmpy(model)
    assert network.names == ("b", "c", "a")
    assert network.states == (("p", "q"), ("u", "v"), ("x", "y"))
    table = network.local_models[1]
    assert table.parents == (0, 2)
    assert table.probabilities[1, 1, 0] == 0.2
    assert table.probabilities[0, 0, 0] == 0.3


def test_pyagrum_has_the_same_distribution(network):
    gum = optional("pyagrum")
    converted = network.to_pyagrum()
    assert [converted.variable(node).name() for node in sorted(converted.nodes())] == list(network.names)
    for codes in [(0, 0, 0, 0), (1, 2, 0, 3), (0, 1, 1, 2)]:
        instance = gum.Instantiation()
        for v, code in enumerate(codes):
            instance.add(converted.variable(f"v{v}"))
            instance.chgVal(converted.variable(f"v{v}"), code)
        assert np.isclose(converted.jointProbability(instance), ms.joint_table(network)[codes], rtol=1e-12)
    assert_same_distribution(network, from_pyagrum(converted))


@examples(40)
@given(ms.table_networks(max_variables=3))
def test_networks_go_to_other_packages_and_back(network):
    optional("pgmpy")
    optional("pyagrum")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_pgmpy = from_pgmpy(network.to_pgmpy())
    try:
        by_pyagrum = from_pyagrum(network.to_pyagrum())
    except OptionError as error:
        assert "pyAgrum rejects this network" in str(error)  # noqa: PT017 - it refuses some odd names
        by_pyagrum = by_pgmpy
    for other in (by_pgmpy, by_pyagrum):
        assert (other.names, other.states, other.parents) == (network.names, network.states, network.parents)
        for one, two in zip(network.local_models, other.local_models, strict=True):
            np.testing.assert_array_equal(one.probabilities, two.probabilities)


def test_networkx_has_states_and_models(network):
    graph = network.to_networkx()
    assert list(graph.edges) == list(network.graph.edges)
    assert graph.nodes["v1"]["states"] == ("low", "mid", "high")
    assert graph.nodes["v3"]["local_model"] is network.local_models[3]


@pytest.mark.parametrize("method", ["to_pgmpy", "to_pyagrum"])
def test_continuous_variables_are_refused(method):
    with pytest.raises(OptionError, match="'x' is continuous"):
        getattr(CONTINUOUS, method)()


@pytest.mark.parametrize(("method", "package"), [("to_pgmpy", "pgmpy"), ("to_pyagrum", "pyagrum")])
def test_missing_packages_are_named(method, package, network, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"this needs {package}.*pip install 'credibn\[{package}\]'"
    with pytest.raises(OptionError, match=message):
        getattr(network, method)()
    if package == "pyagrum":
        with pytest.raises(OptionError, match=message):
            read_network(tmp_path / "network.xdsl")


# ----------------------------------------------------------------- files


@pytest.mark.parametrize("ending", ["bif", "bif.gz", "BIF", *PYAGRUM_ENDINGS])
def test_files_keep_the_network(ending, network, tmp_path):
    if ending in PYAGRUM_ENDINGS:
        optional("pyagrum")
    path = tmp_path / f"network.{ending}"
    network.save(path)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert_same_distribution(network, read_network(path), tolerance=1e-6 if ending in PYAGRUM_ENDINGS else 0.0)


@pytest.mark.parametrize("ending", PYAGRUM_ENDINGS)
def test_names_that_a_format_cannot_hold_are_refused(ending, tmp_path):
    optional("pyagrum")
    coin = TableModel((), np.array([0.5, 0.5]))
    odd = BayesianNetwork(("a<b&c",), (("x/y", "<z>"),), (coin,))
    path = tmp_path / f"odd.{ending}"
    try:
        write_network(odd, path)
    except OptionError as error:
        assert "use .bif" in str(error)  # noqa: PT017 - a format may hold them
        assert not list(tmp_path.iterdir())
    else:
        assert_same_distribution(odd, read_network(path), tolerance=1e-6)


def test_states_that_read_the_same_are_refused():
    optional("pyagrum")
    coin = TableModel((), np.array([0.5, 0.5]))
    with pytest.raises(OptionError, match="two of which are the same as text"):
        BayesianNetwork(("a",), ((1, "1"),), (coin,)).to_pyagrum()


@pytest.mark.parametrize("name", ["network.txt", "network", "network.bif.zip", "bif"])
def test_unknown_endings_are_refused(name, network, tmp_path):
    with pytest.raises(OptionError, match=r"use one of \.bif"):
        write_network(network, tmp_path / name)
    with pytest.raises(OptionError, match=r"use one of \.bif"):
        read_network(tmp_path / name)


@pytest.mark.parametrize("ending", PYAGRUM_ENDINGS)
def test_broken_files_are_refused(ending, tmp_path):
    optional("pyagrum")
    path = tmp_path / f"broken.{ending}"
    with pytest.raises(FileFormatError, match=f"broken.{ending}: cannot be read"):
        read_network(path)
    path.write_text('<net> { node x { states = ("a"')
    with pytest.raises(FileFormatError, match=f"broken.{ending}(: cannot be read|, line 1: expected well-formed XML)"):
        read_network(path)


def test_files_that_cannot_be_written_are_refused(network, tmp_path):
    with pytest.raises(OptionError, match="cannot be written"):
        write_network(network, tmp_path / "missing" / "network.bif")


# ----------------------------------------------------------------- structures


def graph_of(dag, names):
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[p], names[v]) for v, parents in enumerate(dag) for p in parents)
    return graph


@given(
    st.sampled_from(oracle.all_dags(4)),
    st.lists(st.text(st.characters(exclude_characters="[]|:"), min_size=1), min_size=4, max_size=4, unique=True),
)
def test_model_strings_round_trip(dag, names):
    graph = graph_of(dag, names)
    if any(name != name.strip() for name in names):
        with pytest.raises(OptionError, match="is not allowed in a model string"):
            model_string(graph)
        return
    text = model_string(graph)
    parsed = parse_model_string(text)
    assert set(parsed) == set(graph)
    assert set(parsed.edges) == set(graph.edges)
    place = {name: position for position, name in enumerate(parsed)}
    assert all(place[parent] < place[child] for parent, child in graph.edges)
    assert model_string(parsed) == text


def test_model_strings_of_known_networks():
    assert model_string(graph_of(((1,), (), (0, 1)), "ABC")) == "[B][A|B][C|B:A]"
    assert sorted(parse_model_string(" [C|A:B] [A] [ B ]\n").edges) == [("A", "C"), ("B", "C")]
    assert model_string(nx.DiGraph()) == ""
    assert list(parse_model_string("")) == []


@pytest.mark.parametrize("name", ["a[", "a]", "a|b", "a:b", "", " a"])
def test_names_that_model_strings_cannot_hold_are_refused(name):
    with pytest.raises(OptionError, match="is not allowed in a model string"):
        model_string(nx.DiGraph([(name, "z")]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[A][B|A", r"has '\[B\|A'; expected"),
        ("A", "expected"),
        ("[A]]", "expected"),
        ("[A|B|C][B][C]", "expected"),
        ("[]", "has the node '' empty or twice"),
        ("[A][A]", "has the node 'A' empty or twice"),
        ("[A|B]", "'B' is a parent of 'A'"),
        ("[A|A]", "'A' is a parent of 'A'"),
        ("[A|]", "'' is a parent of 'A'"),
        ("[B][A|B:B]", "'B' is a parent of 'A'"),
        ("[A|B][B|A]", "directed cycle"),
        (7, "the model string is 7"),
    ],
)
def test_wrong_model_strings_are_refused(text, message):
    with pytest.raises(OptionError, match=message):
        parse_model_string(text)


def test_cycles_and_undirected_edges_are_no_model_strings():
    with pytest.raises(OptionError, match="directed cycle"):
        model_string(nx.DiGraph([("a", "b"), ("b", "a")]))
    with pytest.raises(OptionError, match="'a' -- 'b' has no direction"):
        model_string(CPDAG(("a", "b"), (), (("a", "b"),)))


def test_dot_escapes_names_and_keeps_attributes():
    graph = nx.DiGraph()
    graph.add_edge('say "hi"', "back\\slash", label="0.75", penwidth=2.5, hidden=[1])
    graph.add_edge("back\\slash", "two\nlines")
    assert to_dot(graph, name="a b").splitlines() == [
        'digraph "a b" {',
        r'  "say \"hi\"";',
        r'  "back\\slash";',
        r'  "two\nlines";',
        r'  "say \"hi\"" -> "back\\slash" ["label"="0.75", "penwidth"="2.5"];',
        r'  "back\\slash" -> "two\nlines";',
        "}",
    ]


def test_dot_draws_undirected_edges_once():
    shown = to_dot(CPDAG(("b", "a", "c"), directed=(("b", "c"),), undirected=(("b", "a"),)))
    assert [line.strip() for line in shown.splitlines()[4:-1]] == ['"b" -> "c";', '"b" -> "a" ["dir"="none"];']


def test_graphml_keeps_plain_attributes(network):
    graph = network.to_networkx()
    graph.edges["v1", "v2"]["probability"] = 0.5
    read = nx.parse_graphml(to_graphml(graph))
    assert list(read.nodes) == list(network.names)
    assert set(read.edges) == set(graph.edges)
    assert read.edges["v1", "v2"] == {"probability": 0.5}
    assert list(nx.parse_graphml(to_graphml(nx.DiGraph([("<a>\n&", '"')])))) == ["<a>\n&", '"']
    with pytest.raises(OptionError, match="XML does not allow"):
        to_graphml(nx.DiGraph([("a\x00", "b")]))


@given(st.sampled_from(oracle.all_dags(4)))
def test_adjacency_matrices_have_parents_in_rows(dag):
    names = ["d", "a", "c", "b"]
    matrix = adjacency_matrix(graph_of(dag, names))
    assert list(matrix.index) == list(matrix.columns) == names
    expected = [[int(p in dag[v]) for v in range(4)] for p in range(4)]
    assert matrix.to_numpy().tolist() == expected


def test_adjacency_matrix_of_weighted_edges_and_of_nothing():
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=0.25)
    assert adjacency_matrix(graph).loc["a", "b"] == 1
    assert adjacency_matrix(nx.DiGraph()).empty


@pytest.mark.parametrize("graph", [nx.Graph(), nx.MultiDiGraph(), "a->b", None])
@pytest.mark.parametrize("export", [to_dot, to_graphml, model_string, adjacency_matrix])
def test_other_things_than_directed_graphs_are_refused(export, graph):
    with pytest.raises(OptionError, match=r"give a networkx\.DiGraph"):
        export(graph)
