"""BIF files: the networks of the Bayesian Network Repository, round trips, and errors that give the line."""

import gzip
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import model_strategies as ms
from credibn import CredibnWarning, read_network
from credibn.errors import FileFormatError, OptionError
from credibn.models import BayesianNetwork, LinearGaussian, TableModel, text_sources
from credibn.models.bif import read_bif, write_bif
from profiles import examples, sampled

REPOSITORY = {
    "asia": (8, 8, 18),
    "cancer": (5, 4, 10),
    "earthquake": (5, 4, 10),
    "survey": (6, 6, 21),
    "sachs": (11, 17, 178),
    "child": (20, 25, 230),
    "insurance": (27, 52, 1008),
    "alarm": (37, 46, 509),
    "barley": (48, 84, 114_005),
    "mildew": (35, 46, 540_150),
    "water": (32, 66, 10_083),
    "hailfinder": (56, 66, 2_656),
    "hepar2": (70, 123, 1_453),
    "win95pts": (76, 112, 574),
}
"""Nodes, edges and parameters as the repository states them."""

RAIN = """\
network unknown {
}
variable rain {
  type discrete [ 2 ] { no, yes };
}
variable wet {
  type discrete [ 3 ] { dry, damp, soaked };
}
probability ( rain ) {
  table 0.8, 0.2;
}
probability ( wet | rain ) {
  (no) 0.9, 0.1, 0.0;
  (yes) 0.1, 0.2, 0.7;
}
"""
WET = [[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]]


def read_text(tmp_path, text, name="network.bif"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_bif(path)


def assert_same(first, second):
    """Names, states, parents and every bit of the probabilities."""
    assert (first.names, first.states, first.parents) == (second.names, second.states, second.parents)
    for one, two in zip(first.local_models, second.local_models, strict=True):
        assert one.probabilities.tobytes() == two.probabilities.tobytes()


# ----------------------------------------------------------------- real files


@pytest.mark.parametrize("name", sampled(8, REPOSITORY))
def test_repository_networks_round_trip(name, shared_data, tmp_path):
    network = read_bif(shared_data / "networks" / f"{name}.bif")
    n_edges = sum(map(len, network.parents))
    assert (network.n_variables, n_edges, network.n_parameters) == REPOSITORY[name]
    write_bif(network, tmp_path / "again.bif")
    assert_same(read_bif(tmp_path / "again.bif"), network)


def test_printed_probabilities_are_kept(shared_data):
    network = read_bif(shared_data / "networks" / "alarm.bif")
    model = network.local_models[network.index("PRESS")]
    sums = model.probabilities.sum(axis=-1)
    assert (sums != 1).any()
    assert {0.97, 0.01} <= set(model.probabilities.ravel().tolist())
    dyspnoea = read_bif(shared_data / "networks" / "asia.bif").conditional_table("dysp")
    assert dyspnoea.index.names == ["bronc", "either"]
    assert dyspnoea.loc[("no", "yes"), "yes"] == 0.7


@pytest.mark.parametrize(
    "name", sampled(5, [name for name in REPOSITORY if name != "child"])
)  # has a state that it refuses
def test_pyagrum_reads_the_same(name, shared_data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gum = pytest.importorskip("pyagrum")
    path = shared_data / "networks" / f"{name}.bif"
    network, other = read_bif(path), gum.loadBN(str(path))
    assert list(network.names) == [other.variable(node).name() for node in sorted(other.nodes())]
    for child, name in enumerate(network.names):
        assert network.states[child] == tuple(other.variable(name).labels())
        table = other.cpt(name)
        order = [network.index(parent) for parent in reversed(table.names[1:])]
        assert tuple(sorted(order)) == network.parents[child]
        mine = network.local_models[child].probabilities
        axes = [network.parents[child].index(v) for v in order]
        np.testing.assert_allclose(mine.transpose(*axes, len(axes)), table.toarray(), atol=1e-6)


@pytest.mark.parametrize("name", sampled(1, ["asia", "child"]))
def test_pgmpy_reads_the_same(name, shared_data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        readwrite = pytest.importorskip("pgmpy.readwrite")
        path = shared_data / "networks" / f"{name}.bif"
        other = readwrite.BIFReader(str(path)).get_model()
    network = read_bif(path)
    assert set(network.names) == set(other.nodes())
    for child, name in enumerate(network.names):
        cpd = other.get_cpds(name)
        order = [network.index(parent) for parent in cpd.variables[1:]]
        assert tuple(sorted(order)) == network.parents[child]
        values = np.moveaxis(cpd.values, 0, -1)
        for axis, v in enumerate([*order, child]):
            own = list(cpd.state_names[network.names[v]])
            values = values.take([own.index(label) for label in network.states[v]], axis=axis)
        mine = network.local_models[child].probabilities
        axes = [network.parents[child].index(v) for v in order]
        np.testing.assert_allclose(mine.transpose(*axes, len(axes)), values, atol=1e-6)


# ----------------------------------------------------------------- what the format allows


@examples(60)
@given(ms.table_networks())
def test_networks_with_odd_names_round_trip(tmp_path_factory, network):
    path = tmp_path_factory.mktemp("bif") / "odd.bif"
    write_bif(network, path)
    assert_same(read_bif(path), network)


@pytest.mark.parametrize(
    "text",
    [
        RAIN.replace("\n", "\r\n"),
        RAIN.replace("\n", "\r"),
        "\ufeff" + RAIN,
        RAIN.replace("\n", " ").replace(",", " , "),
        gzip.compress(RAIN.encode()),
        "// a comment {\n/* another { // \n */" + RAIN.replace("0.9, ", "0.9, // why\n /* not */"),
        RAIN.replace(
            "network unknown {", 'network "A rainy day" {\n property author "x; }" ;\n property url http://x ;'
        ),
        RAIN.replace("{ no, yes };", '{ no, yes };\n property position = (73, 165) ;\n property 5" ;'),
        RAIN.replace("table 0.8", "property weight 1;\n table 0.8"),
        RAIN.replace("rain", '"rain"').replace("yes", '"yes"'),
        RAIN.replace(",", " ").replace("|", " "),
        RAIN.replace("[ 2 ]", "[02]").replace("( wet | rain )", "(wet|rain)"),
        RAIN.replace("(no) 0.9, 0.1, 0.0;\n  (yes) 0.1, 0.2, 0.7;", "table 0.9, 0.1, 0.1, 0.2, 0.0, 0.7;"),
        RAIN.replace("(no) 0.9, 0.1, 0.0;", "default 0.9, 0.1, 0.0;"),
        RAIN.replace("(yes) 0.1, 0.2, 0.7;", "(yes) 0.1, 0.2, 0.7;\n default 0.3, 0.3, 0.4;"),
        RAIN.replace("table 0.8, 0.2;", "() .8 2e-1;"),
        RAIN[RAIN.index("variable") :],
        RAIN[RAIN.index("probability") :] + RAIN[: RAIN.index("probability")],
    ],
)
def test_the_same_network_in_other_words(text, tmp_path):
    network = read_text(tmp_path, text)
    assert network.names == ("rain", "wet")
    assert network.states == (("no", "yes"), ("dry", "damp", "soaked"))
    assert network.local_models[0].probabilities.tolist() == [0.8, 0.2]
    assert network.local_models[1].probabilities.tolist() == WET


def test_parents_are_put_in_order_with_their_axes(tmp_path):
    head = "".join(
        f"variable {name} {{ type discrete [{k}] {{ {', '.join('stu'[:k])} }}; }}\n"
        for name, k in [("a", 2), ("b", 1), ("c", 3), ("d", 2)]
    )
    lines = "".join(
        f"({z}, {x}, s) 0.{i}{j}, {1 - i / 10 - j / 100!r};\n" for i, z in enumerate("stu") for j, x in enumerate("st")
    )
    roots = "probability(a) { table .5 .5; } probability(b) { table 1; } probability(c) { table .2 .2 .6; }"
    network = read_text(tmp_path, f"{head}{roots} probability(d | c, a, b) {{\n{lines}}}")
    model = network.local_models[3]
    assert model.parents == (0, 1, 2)
    assert model.probabilities.shape == (2, 1, 3, 2)
    assert model.probabilities[1, 0, 2, 0] == 0.21
    assert model.probabilities[0, 0, 1, 0] == 0.10


@pytest.mark.parametrize(
    "word", ["<5", "a.b", "x-y", "+", "100%", "1", "a/b", "a//b", "it's", "é", "#", "N/A", "=", "a:b"]
)
def test_odd_words_need_no_quotes(word, tmp_path):
    network = read_text(tmp_path, RAIN.replace("yes", word).replace("wet", f"{word}_"))
    assert network.states[0] == ("no", word)
    assert network.names[1] == f"{word}_"
    write_bif(network, tmp_path / "again.bif")
    assert '"' not in (tmp_path / "again.bif").read_text(encoding="utf-8")


def test_rounded_probabilities_are_scaled_with_a_warning(tmp_path):
    text = RAIN.replace("0.1, 0.2, 0.7", "0.333, 0.333, 0.333").replace("0.8, 0.2", "0.8, 0.200001")
    with pytest.warns(CredibnWarning, match=r"probabilities of 'wet' did not sum to 1 and were scaled") as caught:
        network = read_text(tmp_path, text)
    assert caught[0].filename == __file__
    assert network.local_models[1].probabilities[1].tolist() == [1 / 3] * 3
    assert network.local_models[1].probabilities[0].tolist() == WET[0]
    assert network.local_models[0].probabilities.tolist() == [0.8, 0.200001]
    with pytest.warns(CredibnWarning, match="'wet'") as caught:
        read_network(tmp_path / "network.bif")
    assert caught[0].filename == __file__


# ----------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("network", "netwrok", 1, "expected 'network', 'variable' or 'probability', found 'netwrok'"),
        ("unknown {\n}", "unknown\n", 3, "expected '{' after the network's name, found 'variable'"),
        ("unknown {\n", "unknown {\n author me;", 2, "expected 'property' or '}' in the network block, found 'author'"),
        ("variable rain {", "variable {", 3, "expected the name of a variable, found '{'"),
        ("variable wet", "variable rain", 6, "expected a new name of a variable; .*found 'rain'"),
        ("variable wet", 'variable ""', 6, "expected a name that is not empty"),
        ("  type discrete [ 2 ] { no, yes };\n", "\n", 5, "expected 'type discrete .*of variable 'rain', found '}'"),
        ("type discrete [ 2 ]", "type continuous [ 2 ]", 4, "holds discrete variables only, found 'continuous'"),
        ("type discrete [ 2 ]", "kind discrete [ 2 ]", 4, "in the block of variable 'rain', found 'kind'"),
        ("[ 2 ]", "( 2 )", 4, r"expected '\[' after 'discrete', found '\('"),
        ("[ 2 ]", "[ 3 ]", 4, "of which 2 are listed and at least 1 is needed, found '3'"),
        ("[ 2 ]", "[ 1000000000000 ]", 4, "found '1000000000000'"),
        ("[ 2 ]", "[ two ]", 4, "found 'two'"),
        ("{ no, yes }", "{ }", 4, "of which 0 are listed"),
        ("{ no, yes }", "{ no, no }", 4, "each state of 'rain' once; rename one, found 'no'"),
        ("{ no, yes }", "{ no, , yes }", 4, "expected a state of 'rain', found ','"),
        ("{ no, yes }", "{ no; yes }", 4, "expected ',' or '}' after 'no', found ';'"),
        ("{ no, yes };", "{ no, yes }", 5, "expected ';' after the states, found '}'"),
        ("( rain )", "( rian )", 9, r"the name of a variable of this file \(did you mean 'rain'\?\), found 'rian'"),
        ("( wet | rain )", "( wet | rian )", 12, "did you mean 'rain'"),
        ("( wet | rain )", "( wet | wet )", 12, "parents of 'wet' other than itself, each once, found 'wet'"),
        ("( wet | rain )", "( wet | rain, rain )", 12, "each once, found 'rain'"),
        ("( wet | rain )", "( rain | wet )", 12, "one probability block for each variable"),
        ("( wet | rain )", "wet | rain", 12, r"expected '\(' after 'probability', found 'wet'"),
        ("( wet | rain )", "( wet | rain", 12, r"expected ',' or '\)' after 'rain', found '{'"),
        (
            "table 0.8, 0.2",
            "table 0.8, 0.2, 0.0",
            10,
            "expected 2 probabilities, one for each state of 'rain', found 3",
        ),
        ("table 0.8, 0.2", "table 0.8, 0.4", 10, "expected probabilities that sum to 1, found the sum 1.2"),
        ("table 0.8, 0.2", "table 1.2, -0.2", 10, "expected probabilities of 0 or more, found -0.2"),
        ("table 0.8, 0.2", "table nan, 1", 10, "expected probabilities of 0 or more, found nan"),
        ("table 0.8, 0.2", "table 1e999, 1", 10, "expected probabilities of 0 or more, found inf"),
        ("table 0.8, 0.2", "table 1e308, 1e308", 10, "found the sum inf"),
        ("table 0.8, 0.2", "table 0.8,\n\n x0.2", 12, "expected a probability, found 'x0.2'"),
        ("table 0.8, 0.2", "table 0.8\n x0.2", 11, "expected a probability, found 'x0.2'"),
        ("table 0.8, 0.2", "table 0.8,, 0.2", 10, "expected a probability, found ''"),
        ("table 0.8, 0.2", "table 0.8, 0_2", 10, "expected a probability, found '0_2'"),
        ("table 0.8, 0.2;", "table ;", 10, "expected probabilities, found none"),
        ("table 0.8, 0.2;", "table 0.8, 0.2", 11, "expected ';' after the probabilities, found '}'"),
        ("table 0.8, 0.2;", "table 0.8, 0.2; table 0.8, 0.2;", 10, "one 'table'"),
        ("table 0.8, 0.2;", "table 0.8, 0.2; default 0.8, 0.2;", 10, "either 'table' or other lines"),
        ("table 0.8, 0.2;", "tabel 0.8, 0.2;", 10, "in the block of 'rain', found 'tabel'"),
        ("(yes) 0.1", "(maybe) 0.1", 14, r"a state of 'rain' \(known names: 'no', 'yes'\), found 'maybe'"),
        ("(yes) 0.1", "(no) 0.1", 14, "each combination of the parents' states once"),
        ("(yes) 0.1", "(yes, no) 0.1", 14, "one state of each of the 1 parents, found 2"),
        ("(yes) 0.1, ", "(yes) ", 14, "3 probabilities, one for each state of 'wet', found 2"),
        ("  (yes) 0.1, 0.2, 0.7;\n", "", 12, r"each of the 2 combinations .*found only 1: none for \(yes\)"),
        ("(no) 0.9, 0.1, 0.0;", "default 0.9, 0.1;", 13, "3 probabilities, one for each state of 'wet', found 2"),
        ("{\n  table 0.8, 0.2;\n}", "{\n}", 9, r"each of the 1 combinations .*none for \(\)"),
        ("probability ( rain ) {\n  table 0.8, 0.2;\n}\n", "", 3, "a block 'probability .* rain .*none in the file"),
        ("probability ( rain ) {\n  table 0.8, 0.2;\n}", "/* probability", 9, "'\\*/' at the end of the comment"),
        ("0.7;\n}", "0.7;\n", 14, "in the block of 'wet', found the end of the file"),
        ("{ no, yes", '{ no, "yes', 4, "expected"),
    ],
)
def test_errors_give_the_line_and_what_was_expected(old, new, line, message, tmp_path):
    assert old in RAIN
    text = RAIN.replace(old, new, 1)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_text(tmp_path, text)
    assert f"network.bif, line {line}: expected " in str(caught.value)


def test_cycles_are_named(tmp_path):
    text = RAIN.replace("( rain ) {\n  table 0.8, 0.2;", "( rain | wet ) {\n default 0.8, 0.2;")
    with pytest.raises(FileFormatError, match=r"line 9: .*cycle.*'rain' -> 'wet' -> 'rain'"):
        read_text(tmp_path, text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: expected at least one variable, found none"),
        (b"network x { }", "at least one variable"),
        (b"variable \xff\xfe", "line 1: expected UTF-8 text"),
        (RAIN.encode("utf-16"), "save the file as UTF-8"),
        (gzip.compress(RAIN.encode())[:60], "cannot be read"),
        (b"\x1f\x8bnonsense", "cannot be read"),
    ],
    ids=["empty", "no variable", "not UTF-8", "UTF-16", "half a gzip file", "no gzip file"],
)
def test_files_that_are_no_text_are_refused(content, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        read_text(tmp_path, content)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_bif(tmp_path / "none.bif")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_bif(tmp_path)


def many_parents(body):
    """A short file whose child would have a table of 100 ** 10 cells."""
    states = ", ".join(f"s{k}" for k in range(100))
    variables = "".join(f"variable v{v} {{ type discrete [ 100 ] {{ {states} }}; }}\n" for v in range(11))
    roots = "".join(f"probability ( v{v} ) {{ default {' '.join(['0.01'] * 100)}; }}\n" for v in range(10))
    return f"{variables}{roots}probability ( v10 | {', '.join(f'v{v}' for v in range(10))} ) {{ {body} }}\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"default {' '.join(['0.01'] * 100)};", "stand for at most 4,194,304 probabilities"),
        ("table 0.5, 0.5;", "expected 10,000,000,000,000,000,000,000 probabilities"),
        (f"({', '.join(['s0'] * 10)}) {' '.join(['0.01'] * 100)};", "none for .s0, .*s1"),
        ("", "combinations"),
    ],
)
def test_short_files_do_not_take_all_memory(body, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        read_text(tmp_path, many_parents(body))


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 200_000,
        '"' * 200_000,
        "(" * 200_000,
        "variable " * 100_000,
        "property " * 100_000,
        "//" * 200_000,
        "network x { " + "property " * 100_000,
        "variable " + "x" * 300_000 + " { " + "y" * 300_000,
    ],
)
def test_nonsense_is_refused_at_once(text, tmp_path):
    with pytest.raises(FileFormatError):
        read_text(tmp_path, text)


def test_compressed_files_must_not_expand_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text_sources, "_EXPANDED", 1000)
    assert read_text(tmp_path, gzip.compress(RAIN.encode())).names == ("rain", "wet")
    with pytest.raises(FileFormatError, match="expands to more than"):
        read_text(tmp_path, gzip.compress(b" " * (1 << 20)), "bomb.bif.gz")


@given(
    st.lists(
        st.tuples(st.integers(0, len(RAIN)), st.integers(0, 12), st.sampled_from(["", *'{}()[],;|"/*\n x9-'])),
        min_size=1,
        max_size=4,
    )
)
@example([(0, 12, "")])
def test_damaged_files_are_read_or_refused(tmp_path_factory, cuts):
    text = RAIN
    for start, length, insert in cuts:
        text = text[:start] + insert + text[start + length :]
    path = tmp_path_factory.mktemp("bif") / "damaged.bif"
    path.write_text(text)
    try:
        network = read_network(path)
    except FileFormatError as error:
        assert "damaged.bif, line " in str(error)  # noqa: PT017 - most examples raise, some need not
    else:
        assert isinstance(network, BayesianNetwork)


# ----------------------------------------------------------------- writing


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\rb", "\ud800"])
def test_names_that_cannot_be_quoted_are_refused(name, tmp_path):
    coin = TableModel((), np.array([0.5, 0.5]))
    with pytest.raises(OptionError, match="cannot be written to a BIF file"):
        write_bif(BayesianNetwork((name,), (("h", "t"),), (coin,)), tmp_path / "x.bif")
    with pytest.raises(OptionError, match="cannot be written to a BIF file"):
        write_bif(BayesianNetwork(("coin",), (("h", name),), (coin,)), tmp_path / "x.bif")
    assert not list(tmp_path.iterdir())


def test_states_of_any_type_become_text(tmp_path):
    coin = TableModel((), np.array([0.5, 0.5]))
    write_bif(BayesianNetwork(("coin",), ((1, None),), (coin,)), tmp_path / "x.bif")
    assert read_bif(tmp_path / "x.bif").states == (("1", "None"),)
    with pytest.raises(OptionError, match="two of which are the same as text"):
        write_bif(BayesianNetwork(("coin",), ((1, "1"),), (coin,)), tmp_path / "x.bif")


def test_continuous_variables_are_refused(tmp_path):
    model = LinearGaussian((), (), np.array(0.0), np.zeros(0), np.array(1.0))
    with pytest.raises(OptionError, match="'x' is continuous"):
        write_bif(BayesianNetwork(("x",), (None,), (model,)), tmp_path / "x.bif")


def test_the_same_network_gives_the_same_bytes(tmp_path):
    network = read_text(tmp_path, RAIN)
    write_bif(network, tmp_path / "one.bif")
    assert (tmp_path / "one.bif").read_text() == RAIN
    write_bif(network, tmp_path / "one.bif.gz")
    write_bif(network, tmp_path / "two.bif.gz")
    content = (tmp_path / "one.bif.gz").read_bytes()
    assert content == (tmp_path / "two.bif.gz").read_bytes()
    assert gzip.decompress(content).decode() == RAIN
