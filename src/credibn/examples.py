"""Example data that the package generates: the same rows for the same seed, without files or downloads.

Small networks from textbooks and papers, whose structure is known; and a well-known table:

- ``"asia"``: the chest clinic of Lauritzen & Spiegelhalter (1988), "Local computations with probabilities on graphical
  structures and their application to expert systems", J. R. Statist. Soc. B 50(2).
- ``"cancer"``: Korb & Nicholson (2010), "Bayesian Artificial Intelligence", 2nd edition, section 2.2.
- ``"earthquake"``: the burglar alarm of Pearl (1988), with the numbers of Korb & Nicholson (2010), section 2.5.
- ``"sprinkler"``: Russell & Norvig (2010), "Artificial Intelligence", 3rd edition, section 14.5.
- `sample_experiments`: proteins of a cell under experiments, in the spirit of Sachs et al. (2005), "Causal
  protein-signaling networks derived from multiparameter single-cell data", Science 308. The names are theirs; the edges
  and the numbers of this smaller network are ours.
- `tic_tac_toe`: the 958 boards on which a game of tic-tac-toe can end, found by playing every game. The UCI
  repository's "Tic-Tac-Toe Endgame" has the same content.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from credibn._base.checks import whole_number
from credibn.errors import OptionError
from credibn.models import BayesianNetwork
from credibn.models.local_models import table_in_order

__all__ = [
    "ASIA",
    "NETWORKS",
    "SIGNALLING",
    "YesNoNode",
    "example_network",
    "sample_asia",
    "sample_example",
    "sample_experiments",
    "tic_tac_toe",
]


@dataclass(frozen=True)
class YesNoNode:
    """A node with two states: its parents, and the probability of "yes" for each combination of their answers."""

    name: str
    parents: tuple[str, ...]
    probability_of_yes: Mapping[str, float]  # by one letter for each parent: "yn" is yes to the first, no to the second
    states: tuple[str, str] = ("yes", "no")  # what "yes" and "no" are called


ASIA = (
    YesNoNode("asia", (), {"": 0.01}),
    YesNoNode("tub", ("asia",), {"y": 0.05, "n": 0.01}),
    YesNoNode("smoke", (), {"": 0.5}),
    YesNoNode("lung", ("smoke",), {"y": 0.1, "n": 0.01}),
    YesNoNode("bronc", ("smoke",), {"y": 0.6, "n": 0.3}),
    YesNoNode("either", ("tub", "lung"), {"yy": 1.0, "yn": 1.0, "ny": 1.0, "nn": 0.0}),
    YesNoNode("xray", ("either",), {"y": 0.98, "n": 0.05}),
    YesNoNode("dysp", ("either", "bronc"), {"yy": 0.9, "yn": 0.7, "ny": 0.8, "nn": 0.1}),
)

NETWORKS: Mapping[str, tuple[YesNoNode, ...]] = {
    "asia": ASIA,
    "cancer": (
        YesNoNode("Pollution", (), {"": 0.9}, ("low", "high")),
        YesNoNode("Smoker", (), {"": 0.3}),
        YesNoNode("Cancer", ("Pollution", "Smoker"), {"yy": 0.03, "ny": 0.05, "yn": 0.001, "nn": 0.02}),
        YesNoNode("Xray", ("Cancer",), {"y": 0.9, "n": 0.2}, ("positive", "negative")),
        YesNoNode("Dyspnoea", ("Cancer",), {"y": 0.65, "n": 0.3}),
    ),
    "earthquake": (
        YesNoNode("Burglary", (), {"": 0.01}),
        YesNoNode("Earthquake", (), {"": 0.02}),
        YesNoNode("Alarm", ("Burglary", "Earthquake"), {"yy": 0.95, "ny": 0.29, "yn": 0.94, "nn": 0.001}),
        YesNoNode("JohnCalls", ("Alarm",), {"y": 0.9, "n": 0.05}),
        YesNoNode("MaryCalls", ("Alarm",), {"y": 0.7, "n": 0.01}),
    ),
    "sprinkler": (
        YesNoNode("Cloudy", (), {"": 0.5}),
        YesNoNode("Sprinkler", ("Cloudy",), {"y": 0.1, "n": 0.5}),
        YesNoNode("Rain", ("Cloudy",), {"y": 0.8, "n": 0.2}),
        YesNoNode("WetGrass", ("Sprinkler", "Rain"), {"yy": 0.99, "yn": 0.9, "ny": 0.9, "nn": 0.0}),
    ),
}
"""Networks by name, parents before their children."""


_LEVELS = ("high", "low")
SIGNALLING = (
    YesNoNode("pkc", (), {"": 0.5}, _LEVELS),
    YesNoNode("pka", ("pkc",), {"y": 0.7, "n": 0.3}, _LEVELS),
    YesNoNode("raf", ("pkc", "pka"), {"yy": 0.5, "yn": 0.9, "ny": 0.1, "nn": 0.5}, _LEVELS),
    YesNoNode("mek", ("raf",), {"y": 0.85, "n": 0.15}, _LEVELS),
    YesNoNode("erk", ("mek", "pka"), {"yy": 0.95, "yn": 0.6, "ny": 0.5, "nn": 0.1}, _LEVELS),
    YesNoNode("akt", ("erk",), {"y": 0.85, "n": 0.2}, _LEVELS),
    YesNoNode("p38", ("pkc",), {"y": 0.8, "n": 0.3}, _LEVELS),
)
"""The network of `sample_experiments`."""
_EXPERIMENTS = (("", None), ("pka", True), ("pkc", True), ("mek", False), ("akt", False))
"""What is set, and whether to a high level."""


def example_network(name: str) -> BayesianNetwork:
    """Return an example network with its published parameters.

    Parameters
    ----------
    name : {"asia", "cancer", "earthquake", "sprinkler"}

    Examples
    --------
    >>> example_network("sprinkler")
    BayesianNetwork(4 variables, 4 edges, 9 parameters)
    """
    nodes = _nodes(name)
    position = {node.name: at for at, node in enumerate(nodes)}
    models = []
    for node in nodes:
        parents = [position[parent] for parent in node.parents]
        yes = np.array([node.probability_of_yes["".join(key)] for key in itertools.product("yn", repeat=len(parents))])
        models.append(table_in_order(parents, np.stack([yes, 1 - yes], -1).reshape((2,) * (len(parents) + 1))))
    return BayesianNetwork(tuple(position), tuple(node.states for node in nodes), tuple(models))


def sample_example(name: str, n_rows: int = 1000, seed: int = 0) -> pa.Table:
    """Draw rows of an example network: each variable in turn, given the parents already drawn.

    Parameters
    ----------
    name : {"asia", "cancer", "earthquake", "sprinkler"}
    n_rows : int
        At least 1.
    seed : int
        The same seed gives the same rows; more rows are not a continuation of fewer.

    Returns
    -------
    pyarrow.Table
        Text columns.

    Examples
    --------
    >>> sample_example("cancer", 2)["Pollution"].to_pylist()
    ['low', 'low']
    """
    nodes = _nodes(name)
    n_rows, seed = whole_number("n_rows", n_rows, 1), whole_number("seed", seed, 0)
    is_yes = _draw(nodes, n_rows, np.random.default_rng(seed))
    return pa.table({node.name: np.where(is_yes[node.name], *node.states).astype(object) for node in nodes})


_Answers = dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]


def _draw(
    nodes: tuple[YesNoNode, ...], n_rows: int, generator: np.random.Generator, are_set: Mapping[str, bool] | None = None
) -> _Answers:
    """Draw the nodes in turn; those that are set have this answer whatever their parents have."""
    is_yes: _Answers = {}
    for node in nodes:
        if are_set is not None and node.name in are_set:
            is_yes[node.name] = np.full(n_rows, are_set[node.name])
            continue
        probability = np.zeros(n_rows)
        for answers, value in node.probability_of_yes.items():
            applies = np.ones(n_rows, dtype=bool)
            for parent, answer in zip(node.parents, answers, strict=True):
                applies &= is_yes[parent] == (answer == "y")
            probability[applies] = value
        is_yes[node.name] = generator.random(n_rows) < probability
    return is_yes


def sample_experiments(n_rows: int = 200, seed: int = 0) -> pa.Table:
    """Draw cells under five experiments: nothing set, pka or pkc activated, mek or akt inhibited.

    Parameters
    ----------
    n_rows : int
        Of each experiment.
    seed : int

    Returns
    -------
    pyarrow.Table
        Seven text columns of ``"high"`` and ``"low"``, and the column ``"set"`` that names what was set.

    Examples
    --------
    >>> sample_experiments(2)["set"].to_pylist()
    ['', '', 'pka', 'pka', 'pkc', 'pkc', 'mek', 'mek', 'akt', 'akt']
    """
    n_rows, generator = whole_number("n_rows", n_rows, 1), np.random.default_rng(whole_number("seed", seed, 0))
    parts = []
    for target, is_high in _EXPERIMENTS:
        is_yes = _draw(SIGNALLING, n_rows, generator, {} if is_high is None else {target: is_high})
        columns = {node.name: np.where(is_yes[node.name], *node.states).astype(object) for node in SIGNALLING}
        parts.append(pa.table({**columns, "set": np.full(n_rows, target, dtype=object)}))
    return pa.concat_tables(parts)


def sample_asia(n_rows: int = 1000, seed: int = 0) -> pa.Table:
    """Draw patients of the chest clinic; see `sample_example`.

    Returns
    -------
    pyarrow.Table
        Eight text columns of ``"yes"`` and ``"no"``.

    Examples
    --------
    >>> table = sample_asia(1000, seed=0)
    >>> table.column_names
    ['asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'xray', 'dysp']
    >>> sample_asia(1000, seed=0).equals(table)
    True
    """
    return sample_example("asia", n_rows, seed)


def _nodes(name: str) -> tuple[YesNoNode, ...]:
    if name not in NETWORKS:
        raise OptionError(f"there is no example network {name!r}; choose one of {', '.join(NETWORKS)}")
    return NETWORKS[name]


_SQUARES = tuple(f"{row}_{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right"))
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_BLANK = "b"


def tic_tac_toe() -> pa.Table:
    """Return every board on which a game of tic-tac-toe can end, where x moves first.

    Returns
    -------
    pyarrow.Table
        958 rows: nine squares, each ``"x"``, ``"o"`` or ``"b"`` (blank), and the outcome, ``"positive"`` if x has won
        and ``"negative"`` otherwise; in the order of the boards read as text.

    Examples
    --------
    >>> boards = tic_tac_toe()
    >>> boards.num_rows, boards["outcome"].to_pylist().count("positive")
    (958, 626)
    >>> boards.column_names[:3]
    ['top_left', 'top_middle', 'top_right']
    """
    boards = sorted(set(_final_boards(_BLANK * 9, "x", set())))
    columns = {name: [board[at] for board in boards] for at, name in enumerate(_SQUARES)}
    outcome = ["positive" if _has_won(board, "x") else "negative" for board in boards]
    return pa.table({**columns, "outcome": outcome})


def _final_boards(board: str, player: str, seen: set[str]) -> Iterator[str]:
    """Play on from a board in every way; boards reached before are not played again."""
    if board in seen:
        return
    seen.add(board)
    opponent = "o" if player == "x" else "x"
    if _has_won(board, opponent) or _BLANK not in board:
        yield board
        return
    for at, square in enumerate(board):
        if square == _BLANK:
            yield from _final_boards(board[:at] + player + board[at + 1 :], opponent, seen)


def _has_won(board: str, player: str) -> bool:
    return any(all(board[at] == player for at in line) for line in _LINES)
