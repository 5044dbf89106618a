"""Structure priors: each is one matrix of edge terms."""

import doctest
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn.errors import OptionError
from credibn.scores import priors as priors_module
from credibn.scores.priors import (
    EdgeLogOdds,
    EdgePenalty,
    UniformPrior,
    describe_prior,
    keeps_score_equivalence,
    resolve_prior,
)

NAMES = ("a", "b", "c")
MATRIX = np.array([[0.0, 1.0, -2.0], [0.5, 0.0, 0.0], [0.0, 3.0, 0.0]])


def test_examples_in_docstrings():
    assert doctest.testmod(priors_module).failed == 0


@pytest.mark.parametrize("prior", [None, UniformPrior()])
def test_uniform(prior):
    assert np.array_equal(resolve_prior(prior, NAMES), np.zeros((3, 3)))
    assert describe_prior(prior, NAMES) == {"kind": "uniform"}
    assert keeps_score_equivalence(resolve_prior(prior, NAMES))


def test_penalty():
    terms = resolve_prior(EdgePenalty(math.log(10)), NAMES)
    assert np.array_equal(terms, -math.log(10) * (1 - np.eye(3)))
    assert keeps_score_equivalence(terms)
    assert not np.signbit(resolve_prior(EdgePenalty(0), NAMES)).any()
    assert EdgePenalty(np.float32(2)).log_penalty == 2.0
    assert EdgePenalty(2) == EdgePenalty(2.0)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "2", None, True, np.array([1.0])])
def test_penalties_refused(value):
    with pytest.raises(OptionError, match="edge penalty is"):
        EdgePenalty(value)


def test_log_odds_in_every_form():
    frame = pd.DataFrame(MATRIX, index=NAMES, columns=NAMES)
    mapping = {("a", "b"): 1, ("a", "c"): -2.0, "b->a": 0.5, (2, 1): np.float64(3)}
    forms = [MATRIX, MATRIX.tolist(), frame, frame.loc[["c", "a", "b"], ["b", "c", "a"]], mapping]
    for form in forms:
        assert np.array_equal(resolve_prior(EdgeLogOdds(form), NAMES), MATRIX)
    assert not keeps_score_equivalence(MATRIX)
    assert keeps_score_equivalence(MATRIX + MATRIX.T)
    assert resolve_prior(EdgeLogOdds({}), NAMES).any() == np.False_


def test_the_result_is_a_copy():
    mine = MATRIX.copy()
    terms = resolve_prior(EdgeLogOdds(mine), NAMES)
    terms[0, 1] = 99.0
    assert mine[0, 1] == 1.0


@given(st.lists(st.floats(-50, 50), min_size=9, max_size=9))
def test_description_is_json_and_resolves_to_the_same(values):
    matrix = np.reshape(values, (3, 3))
    np.fill_diagonal(matrix, 0.0)
    described = json.loads(json.dumps(describe_prior(EdgeLogOdds(matrix), NAMES)))
    again = EdgeLogOdds({(parent, child): value for parent, child, value in described["edges"]})
    assert np.array_equal(resolve_prior(again, NAMES), matrix)
    assert json.loads(json.dumps(describe_prior(EdgePenalty(2), NAMES))) == {
        "kind": "edge penalty",
        "log_penalty": 2.0,
    }


def changed(row, column, value):
    matrix = MATRIX.copy()
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (MATRIX[:2], r"shape is \(2, 3\); 3 variables need \(3, 3\)"),
        (np.zeros(9), r"shape is \(9,\)"),
        (5.0, r"shape is \(\)"),
        ("abc", "not a matrix of numbers"),
        ([[0, "x", 0]] * 3, "not a matrix of numbers"),
        ([[0, 1], [0]], "not a matrix of numbers"),
        (changed(0, 2, math.nan), "'a' -> 'c' is nan; give a finite number"),
        (changed(2, 0, -math.inf), "'c' -> 'a' is -inf.*forbid"),
        (changed(1, 1, 0.1), "'b' -> 'b' is 0.1.*own parent"),
        (changed(1, 1, math.nan), "'b' -> 'b' is nan"),
        ({("a", "x"): 1.0}, "unknown variable in edge log odds 'x'"),
        ({("a", "a"): 1.0}, "self-loop"),
        ({("a", "b"): "x"}, r"value of \('a', 'b'\) is 'x'"),
        ({("a", "b"): [1, 2]}, r"value of \('a', 'b'\)"),
        ({("a", "b"): math.inf}, "'a' -> 'b' is inf"),
        ({("a", "b"): 1.0, "a->b": 2.0}, "'a' -> 'b' is given twice"),
        ({"ab": 1.0}, "not an edge"),
        (
            pd.DataFrame(MATRIX, index=NAMES, columns=["a", "b", "x"]),
            "unknown column of the edge log odds 'x'",
        ),
        (pd.DataFrame(MATRIX, index=["a", "b", "b"], columns=NAMES), "row 'b' appears twice"),
        (pd.DataFrame(MATRIX[:2], index=["a", "b"], columns=NAMES), "no row for 'c'"),
        (pd.DataFrame(MATRIX, index=["b", "a", "c"], columns=NAMES), "'a' -> 'a' is 0.5"),
        (pd.DataFrame([["x"] * 3] * 3, index=NAMES, columns=NAMES), "not a matrix of numbers"),
    ],
)
def test_log_odds_refused(matrix, message):
    with pytest.raises(OptionError, match=message):
        resolve_prior(EdgeLogOdds(matrix), NAMES)


@pytest.mark.parametrize("prior", ["uniform", MATRIX, 3.0, EdgePenalty])
def test_other_priors_refused(prior):
    with pytest.raises(OptionError, match="unknown prior"):
        resolve_prior(prior, NAMES)
