"""Example data: the published network and the rules of the game, nothing else."""

import doctest
import itertools
import math

import numpy as np
import pytest

from credibn import examples, read_data, read_network, score_parent_sets
from credibn.errors import OptionError
from credibn.examples import ASIA, NETWORKS, example_network, sample_asia, sample_example, tic_tac_toe
from profiles import sampled


def asia_joint():
    """Every answer of all eight variables with its probability, by the chain rule."""
    for answers in itertools.product("yn", repeat=len(ASIA)):
        of = dict(zip((node.name for node in ASIA), answers, strict=True))
        factors = []
        for node in ASIA:
            yes = node.probability_of_yes["".join(of[parent] for parent in node.parents)]
            factors.append(yes if of[node.name] == "y" else 1 - yes)
        yield of, math.prod(factors)


def test_docstrings():
    assert doctest.testmod(examples).failed == 0


def test_asia_tables_are_complete():
    for position, node in enumerate(ASIA):
        assert set(node.parents) <= {earlier.name for earlier in ASIA[:position]}
        answers = {"".join(letters) for letters in itertools.product("yn", repeat=len(node.parents))}
        assert set(node.probability_of_yes) == answers
    assert math.fsum(probability for _, probability in asia_joint()) == pytest.approx(1)


def test_asia_has_the_published_marginals():
    # Lauritzen & Spiegelhalter (1988), the clinic's initial state.
    published = {"asia": 0.01, "tub": 0.0104, "smoke": 0.5, "lung": 0.055, "bronc": 0.45}
    published |= {"either": 0.0648, "xray": 0.1103, "dysp": 0.436}
    for name, value in published.items():
        exact = math.fsum(probability for of, probability in asia_joint() if of[name] == "y")
        assert exact == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize("seed", sampled(1, [0, 1]))
def test_asia_samples_follow_the_network(seed):
    n_rows = 200_000
    rows = sample_asia(n_rows, seed)
    assert rows.num_rows == n_rows
    drawn = {name: np.array(rows[name].to_pylist()) == "yes" for name in rows.column_names}
    for one, two in itertools.combinations(drawn, 2):
        exact = math.fsum(p for of, p in asia_joint() if of[one] == of[two] == "y")
        share = np.count_nonzero(drawn[one] & drawn[two]) / n_rows
        assert share == pytest.approx(exact, abs=5 * math.sqrt(exact / n_rows))
    assert np.array_equal(drawn["either"], drawn["tub"] | drawn["lung"])


def test_asia_depends_on_the_seed_only():
    assert sample_asia(50, 3).equals(sample_asia(50, 3))
    assert not sample_asia(50, 3).equals(sample_asia(50, 4))


@pytest.mark.parametrize("options", [{"n_rows": 0}, {"n_rows": 2.5}, {"n_rows": True}, {"seed": -1}, {"seed": "a"}])
def test_asia_refuses_senseless_sizes(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        sample_asia(**options)


def test_tic_tac_toe_has_the_known_boards():
    boards = tic_tac_toe()
    rows = [tuple(row.values()) for row in boards.to_pylist()]
    assert len(rows) == len(set(rows)) == 958
    assert boards["outcome"].to_pylist().count("positive") == 626
    assert boards.column_names[0] == "top_left"
    assert boards.column_names[8:] == ["bottom_right", "outcome"]
    for *squares, outcome in rows:
        n_x, n_o = squares.count("x"), squares.count("o")
        assert n_x - n_o in (0, 1)
        if outcome == "positive":
            assert n_x == n_o + 1
        assert n_x + n_o >= 5


@pytest.mark.parametrize(
    ("score", "bayes_factor", "n_candidates"),
    [
        ("bic", 3, 96),
        ("bic", 20, 110),
        ("bic", 150, 118),
        ("bdeu", 3, 66),
        ("bdeu", 20, 70),
        ("bdeu", 150, 78),
    ],
)
def test_tic_tac_toe_scores_like_the_uci_data(score, bayes_factor, n_candidates):
    table = score_parent_sets(tic_tac_toe(), score=score, bayes_factor=bayes_factor)
    assert table.n_candidates == n_candidates


def test_tic_tac_toe_has_the_content_of_the_uci_data(shared_data):
    mine, theirs = read_data(tic_tac_toe()), read_data(shared_data / "tictactoe.csv")
    assert mine.n_rows == theirs.n_rows
    assert mine.n_distinct == theirs.n_distinct

    def counts(data):
        return [sorted(column.counts) for column in data.describe().columns]

    assert counts(mine) == counts(theirs)
    scores = [score_parent_sets(data, bayes_factor=20).scores for data in (mine, theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-8)


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake"])
def test_networks_are_those_of_the_repository(name, shared_data):
    """The same structure and numbers as the Bayesian Network Repository, under its own names of states."""
    published, ours = read_network(shared_data / "networks" / f"{name}.bif"), example_network(name)
    assert sorted(published.names) == sorted(ours.names)
    rename = {"True": "yes", "False": "no"}
    for v, variable in enumerate(ours.names):
        w = published.index(variable)
        states = [rename.get(str(state), state) for state in published.states[w]]
        parents = [ours.names[p] for p in ours.parents[v]]
        assert sorted(parents) == sorted(published.names[p] for p in published.parents[w])
        axes = [published.parents[w].index(published.index(p)) for p in parents]
        table = published.local_models[w].probabilities.transpose([*axes, len(parents)])
        for axis, parent in enumerate([*parents, variable]):
            there = published.states[published.index(parent)]
            labels = [rename.get(str(state), state) for state in there]
            table = table.take([labels.index(state) for state in ours.states[ours.names.index(parent)]], axis)
        assert set(states) == set(ours.states[v])
        assert ours.local_models[v].probabilities == pytest.approx(table, abs=1e-9)


@pytest.mark.parametrize("name", list(NETWORKS))
def test_samples_follow_their_network(name):
    network, n_rows = example_network(name), 20_000
    rows = sample_example(name, n_rows, seed=4).to_pandas()
    drawn = network.sample(n_rows, seed=4)
    assert list(rows.columns) == list(drawn.columns) == list(network.names)
    for one, two in itertools.combinations(network.names, 2):
        counts = rows.groupby([one, two]).size() / n_rows
        others = drawn.groupby([one, two], observed=True).size() / n_rows
        for cell in set(counts.index) | set(others.index):
            assert abs(counts.get(cell, 0) - others.get(cell, 0)) < 0.025


def test_an_unknown_example_is_refused():
    with pytest.raises(OptionError, match="no example network 'asian'; choose one of asia, cancer"):
        sample_example("asian")
