"""Networks with parameters for the tests, and what they imply, by definitions that share no code with the package."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

import oracle
from credibn.models import BayesianNetwork, LinearGaussian, TableModel

ODD_NAMES = [
    "a",
    "A",
    "b c",
    "x|y",
    "{",
    "d,e",
    "é",
    "0",
    "//",
    "/*",
    "a//b",
    "1.5",
    "<5",
    "%",
    "table",
    "property",
    "-",
]
ODD_STATES = [*ODD_NAMES, "", " ", "yes", "no", "default", "+1", "a;b", "(a)", "[2]", "'"]


def dags(n):
    """The parent sets of a random network on n nodes, n at most 5."""
    return st.sampled_from(oracle.all_dags(n))


@st.composite
def table_networks(draw, max_variables=4, max_states=4):
    """Networks of discrete variables, with odd names, states of probability 0 and variables of one state."""
    n = draw(st.integers(1, max_variables))
    names = draw(st.lists(st.sampled_from(ODD_NAMES), min_size=n, max_size=n, unique=True))
    states = [
        tuple(draw(st.lists(st.sampled_from(ODD_STATES), min_size=1, max_size=max_states, unique=True)))
        for _ in range(n)
    ]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models = []
    for child, parents in enumerate(draw(dags(n))):
        shape = [len(states[v]) for v in (*parents, child)]
        values = rng.random(shape) * (rng.random(shape) < 0.8) + 1e-300
        models.append(TableModel(parents, values / values.sum(axis=-1, keepdims=True)))
    return BayesianNetwork(tuple(names), tuple(states), tuple(models))


def joint_table(network):
    """The probability of every combination of states, one product at a time."""
    table = {}
    for codes in itertools.product(*(range(len(labels)) for labels in network.states)):
        factors = [
            model.probabilities[(*(codes[v] for v in model.parents), codes[child])]
            for child, model in enumerate(network.local_models)
        ]
        table[codes] = math.prod(factors)
    return table


def joint_gaussian(network):
    """Mean and covariance of a network of continuous variables: x = b + B x + e."""
    n = network.n_variables
    intercepts, coefficients, variances = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    for child, model in enumerate(network.local_models):
        assert isinstance(model, LinearGaussian)
        intercepts[child], variances[child] = model.intercepts, model.variances
        coefficients[child, list(model.continuous_parents)] = model.coefficients
    spread = np.linalg.inv(np.eye(n) - coefficients)
    return spread @ intercepts, spread @ np.diag(variances) @ spread.T
