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
