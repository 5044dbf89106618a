"""Random networks and their rows, the same for the same seed: data of any size that need no file."""

import numpy as np
from numpy.typing import NDArray

from credibn import BayesianNetwork
from credibn.models import LinearGaussian, TableModel

N_STATES = 3
N_NEAR = 8
"""Parents are chosen among the variables just before, so that the first columns are a network of their own."""


def parents_of(node: int, most: int, generator: np.random.Generator) -> tuple[int, ...]:
    near = np.arange(max(0, node - N_NEAR), node)
    chosen = generator.permutation(near)[: generator.integers(0, most + 1)]
    return tuple(sorted(int(parent) for parent in chosen))


def random_network(n_variables: int, seed: int = 0, most_parents: int = 2) -> BayesianNetwork:
    """Three states each; every distribution is drawn from a symmetric Dirichlet one."""
    generator = np.random.default_rng(seed)
    models = []
    for node in range(n_variables):
        parents = parents_of(node, most_parents, generator)
        models.append(TableModel(parents, generator.dirichlet(np.ones(N_STATES), size=(N_STATES,) * len(parents))))
    states = ("low", "middle", "high")
    return BayesianNetwork(tuple(f"V{node}" for node in range(n_variables)), (states,) * n_variables, tuple(models))


def random_gaussian_network(n_variables: int, seed: int = 0, most_parents: int = 2) -> BayesianNetwork:
    """Numbers: each variable is a regression on its parents, with coefficients between 1/2 and 1 or minus that."""
    generator = np.random.default_rng(seed)
    models = []
    for node in range(n_variables):
        parents = parents_of(node, most_parents, generator)
        signs = generator.choice([-1.0, 1.0], len(parents))
        coefficients = signs * generator.uniform(0.5, 1.0, len(parents))
        models.append(LinearGaussian((), parents, np.array(0.0), coefficients, np.array(1.0)))
    return BayesianNetwork(tuple(f"V{node}" for node in range(n_variables)), (None,) * n_variables, tuple(models))


def rows_of_factors(n_variables: int, n_rows: int, seed: int = 0, n_factors: int = 6) -> NDArray[np.int64]:
    """Rows of binary variables that depend on a few hidden ones: all depend on all, so that many parent sets matter."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=(n_rows, n_factors)) @ generator.normal(size=(n_factors, n_variables))
    return (hidden + generator.normal(size=(n_rows, n_variables)) > 0).astype(np.int64)


def rows_of_kinds(n_rows: int, seed: int = 0, n_kinds: int = 60) -> NDArray[np.int64]:
    """Rows of 23 variables of 2 to 12 states that depend on a hidden kind, as the properties of mushrooms do."""
    generator = np.random.default_rng(seed)
    n_states = (2, 6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 2, 4, 3, 5, 9, 6, 7)
    kinds = generator.integers(0, n_kinds, n_rows)
    columns = []
    for n in n_states:
        bounds = generator.dirichlet(np.full(n, 0.25), size=n_kinds).cumsum(axis=1)[kinds]
        columns.append((bounds[:, :-1] < generator.random((n_rows, 1))).sum(axis=1))
    return np.column_stack(columns)
