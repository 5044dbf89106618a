"""Hypothesis strategies shared by the tests.

Tables of codes are drawn as a rule for each column (independent, copy, exclusive or, noisy function, ...)
plus a seed for the noise: rules shrink well, and make columns depend on each other.
"""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from credibn import Dataset, EdgeLogOdds, EdgePenalty, UniformPrior

__all__ = [
    "CodedTable",
    "coded_tables",
    "constraints",
    "epsilons",
    "functional_tables",
    "labels",
    "log_prior",
    "priors",
    "tables",
]


def labels():
    """Labels that try the reader: quotes, separators, spaces, line breaks, numbers; none is missing."""
    awkward = [
        "a",
        "b",
        "A",
        " a",
        'q"',
        "x,y",
        "l\nm",
        "l\r\nm",
        "'",
        "0",
        "1",
        "01",
        "10",
        "9",
        "é",
        "a\tb",
        "%",
        "-1.5",
    ]
    return st.sampled_from(awkward)


@st.composite
def tables(draw, values=None, max_rows=12, max_columns=4):
    """Small categorical tables, as a dict of name to list; names differ, also only in case."""
    n_rows = draw(st.integers(1, max_rows))
    names = draw(
        st.lists(
            st.sampled_from(["a", "A", "b c", "d,e", 'f"', "0", "c0", "n", "é", "weight"]),
            min_size=1,
            max_size=max_columns,
            unique=True,
        )
    )
    cells = labels() if values is None else values
    return {name: draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for name in names}


@dataclass(frozen=True)
class CodedTable:
    """Rows of codes with the declared number of states of each column; weights as if rows were repeated."""

    codes: np.ndarray
    arities: tuple[int, ...]
    weights: np.ndarray

    @property
    def n(self):
        return len(self.arities)

    @property
    def repeated(self):
        return np.repeat(self.codes, self.weights, axis=0)

    @property
    def rows(self):
        """Every row of the table as a tuple, for the naive scores."""
        return [tuple(row) for row in self.repeated.tolist()]

    def dataset(self):
        distinct, which = np.unique(self.codes, axis=0, return_inverse=True)
        weights = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(weights, which.ravel(), self.weights)
        kinds = [np.uint8 if arity <= 256 else np.uint16 for arity in self.arities]
        return Dataset(
            tuple(f"v{v}" for v in range(self.n)),
            tuple(distinct[:, v].astype(kind) for v, kind in enumerate(kinds)),
            tuple(tuple(range(arity)) for arity in self.arities),
            weights,
        )

    def take(self, order):
        """The same table with its columns in another order."""
        order = list(order)
        return CodedTable(self.codes[:, order], tuple(self.arities[v] for v in order), self.weights)


def _column(draw, rng, earlier, n_rows, max_arity):
    """A column of codes, and how many states it has."""
    kinds = ["independent", "independent", "skewed", "constant"]
    if earlier:
        kinds += ["copy", "near copy", "near copy"]
    if len(earlier) > 1:
        kinds += ["xor", "near xor", "function"]
    kind = draw(st.sampled_from(kinds))
    arity = draw(st.integers(2, max_arity))
    if kind == "constant":
        return np.zeros(n_rows, dtype=np.int64), 1
    if kind == "independent":
        return rng.integers(0, arity, n_rows), arity
    if kind == "skewed":
        return np.minimum(rng.geometric(0.8, n_rows) - 1, arity - 1), arity
    noise = np.zeros(n_rows, dtype=bool)
    if kind in ("near copy", "near xor", "function"):
        noise = rng.random(n_rows) < draw(st.sampled_from([0.05, 0.2]))
    if kind in ("copy", "near copy"):
        source, arity = earlier[draw(st.integers(0, len(earlier) - 1))]
        arity = max(arity, 2)
    else:
        a, b = draw(st.lists(st.integers(0, len(earlier) - 1), min_size=2, max_size=2, unique=True))
        arity = 2 if kind != "function" else arity
        source = (earlier[a][0] + (1 if kind != "function" else 2) * earlier[b][0]) % arity
    return np.where(noise, rng.integers(0, arity, n_rows), source), arity


@st.composite
def coded_tables(draw, min_columns=1, max_columns=5, min_rows=1, max_rows=40, max_arity=4, max_weight=1):
    """Tables of codes: ties, equal rows, constant columns, copies, exclusive ors, states that never occur."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(min_rows, max_rows))
    columns = []
    for _ in range(draw(st.integers(min_columns, max_columns))):
        columns.append(_column(draw, rng, columns, n_rows, max_arity))
    unseen = draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=len(columns), max_size=len(columns)))
    order = draw(st.permutations(range(len(columns))))
    weights = rng.integers(1, draw(st.integers(1, max_weight)) + 1, n_rows)
    table = CodedTable(
        np.column_stack([codes for codes, _ in columns]),
        tuple(arity + more for (_, arity), more in zip(columns, unseen, strict=True)),
        weights,
    )
    return table.take(order)


@st.composite
def functional_tables(draw, min_columns=3, max_columns=5, min_rows=60, max_rows=200, max_arity=3):
    """Noisy functions of earlier columns, with rows enough for several parents to pay: the rules bite."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n = draw(st.integers(min_rows, max_rows)), draw(st.integers(min_columns, max_columns))
    noise = draw(st.sampled_from([0.0, 0.02, 0.1, 0.3]))
    codes, arities = np.empty((n_rows, n), dtype=np.int64), []
    for v in range(n):
        arity = draw(st.integers(2, max_arity))
        parents = rng.permutation(v)[: draw(st.integers(0, 3))]
        if len(parents) == 0:
            codes[:, v] = rng.integers(0, arity, n_rows)
        else:
            function = rng.integers(0, arity, [arities[p] for p in parents])
            codes[:, v] = function[tuple(codes[:, parents].T)]
            codes[:, v] = np.where(rng.random(n_rows) < noise, rng.integers(0, arity, n_rows), codes[:, v])
        arities.append(arity)
    table = CodedTable(codes, tuple(arities), np.ones(n_rows, dtype=np.int64))
    return table.take(draw(st.permutations(range(n))))


def epsilons():
    return st.sampled_from([0.0, 1e-3, 0.3, math.log(3), math.log(20), math.log(150), 40.0])


@st.composite
def constraints(draw, table):
    """Feasible options of `score_parent_sets`, in positions, that touch no constant column.

    All follow one random order of the nodes, except forbidden edges: these may go anywhere but where one is
    required.
    """
    order = [v for v in draw(st.permutations(range(table.n))) if table.arities[v] > 1]
    forward = [(p, c) for k, p in enumerate(order) for c in order[k + 1 :]]
    edges = forward + [(c, p) for p, c in forward]
    required = draw(st.sets(st.sampled_from(forward), max_size=3)) if forward else set()
    forbidden = draw(st.sets(st.sampled_from(edges), max_size=5)) - required if edges else set()
    options = {}
    if required and draw(st.booleans()):
        options["required_edges"] = sorted(required)
    if forbidden and draw(st.booleans()):
        options["forbidden_edges"] = sorted(forbidden)
    if order and draw(st.booleans()):
        cut = draw(st.integers(0, len(order)))
        listed = [[v for v in part if draw(st.booleans())] for part in (order[:cut], order[cut:])]
        options["tiers"] = listed
    needed = [sum(c == v for _, c in options.get("required_edges", [])) for v in range(table.n)]
    limit = draw(st.sampled_from(["none", "global", "each"]))
    if limit == "global":
        options["max_parents"] = draw(st.integers(max(needed), 4))
    elif limit == "each":
        options["max_parents"] = {v: draw(st.integers(needed[v], 4)) for v in order if draw(st.booleans())}
    return options


@st.composite
def priors(draw, n):
    """Uniform, a penalty for each edge, or log odds that reward some edges and charge for others."""
    kind = draw(st.sampled_from(["uniform", "penalty", "odds", "rewards"]))
    if kind == "uniform":
        return draw(st.sampled_from([None, UniformPrior()]))
    if kind == "penalty":
        return EdgePenalty(draw(st.sampled_from([0.0, 0.5, math.log(10), 12.0])))
    low = -6.0 if kind == "odds" else 0.0
    values = st.sampled_from([0.0, 0.25, low, 1.0, 7.0, -low / 3])
    matrix = np.array(draw(st.lists(values, min_size=n * n, max_size=n * n))).reshape(n, n)
    np.fill_diagonal(matrix, 0.0)
    return EdgeLogOdds(matrix)


def log_prior(prior, n):
    """The matrix of a prior's edge terms, [parent, child], from its definition."""
    if isinstance(prior, EdgePenalty):
        return -prior.log_penalty * (1 - np.eye(n))
    return prior.matrix if isinstance(prior, EdgeLogOdds) else np.zeros((n, n))
