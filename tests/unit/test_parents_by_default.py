"""Tables with more parent sets than can be scored: `learn` limits the parents by itself, and says so."""

import numpy as np
import pytest

import credibn
from credibn.errors import CredibnWarning, TooLargeError
from credibn.options import ScoreOptions
from credibn.scores.estimate import parents_by_default
from credibn.scores.setup import make_problem


@pytest.fixture(scope="module")
def wide():
    """Thirty columns of noise, the second of which follows the first."""
    table = np.random.default_rng(7).normal(size=(40, 30)).round(3)
    table[:, 1] = (table[:, 0] + table[:, 1] / 10).round(3)
    return table


@pytest.fixture(scope="module")
def found(wide):
    with pytest.warns(CredibnWarning) as said:
        found = credibn.learn(wide, bayes_factor=1, n_threads=1)
    assert [str(line.message) for line in said] == [
        "30 columns have too many parent sets to score them all: this run uses max_parents=3 and time_limit=30; "
        "set max_parents to choose another limit"
    ]
    return found


def test_the_guarantee_is_relative_to_the_limit_that_was_chosen(found):
    assert found.complete
    assert found.guarantee.startswith("No network with at most 3 parents per variable that scores at least")


def test_the_result_names_the_limits_that_were_chosen(found, wide):
    assert (found.settings["max_parents"], found.settings["time_limit"]) == (3, 30.0)
    again = credibn.learn(wide, bayes_factor=1, n_threads=1, max_parents=3)
    assert again.optimal_score == found.optimal_score
    assert (again.score_table.scores == found.score_table.scores).all()


def test_the_edge_in_the_data_is_found(found):
    assert found.edge_probabilities().loc[["X00", "X01"], ["X00", "X01"]].to_numpy().sum() == pytest.approx(1)


def test_limits_that_are_given_are_not_changed(wide):
    with pytest.raises(TooLargeError, match="try max_parents="):
        credibn.learn(wide, max_parents=29)
    with pytest.warns(CredibnWarning, match=r"this run uses max_parents=3; set"):
        assert credibn.learn(wide, bayes_factor=1, n_threads=1, time_limit=50).settings["time_limit"] == 50


def test_required_parents_raise_the_limit(wide):
    required = [(f"X0{parent}", "X29") for parent in range(4)]
    with pytest.warns(CredibnWarning, match="max_parents=4"):
        found = credibn.learn(wide, bayes_factor=1, required_edges=required, n_threads=1)
    assert found.settings["max_parents"] == 4


@pytest.mark.parametrize(("columns", "parents"), [(27, None), (28, 4), (31, 3), (40, 3), (60, 2)])
def test_the_limit_depends_on_the_number_of_columns_alone(columns, parents):
    for rows in (columns + 1, 3 * columns):
        table = np.random.default_rng(1).normal(size=(rows, columns))
        assert parents_by_default(make_problem(table, ScoreOptions(), 1.0)) == parents


@pytest.mark.slow
def test_k_best_limits_the_parents_too(wide):
    with pytest.warns(CredibnWarning, match="max_parents=3"):
        assert credibn.k_best_networks(wide, 1, n_threads=1).guarantee.startswith(
            "These are the best networks with at most 3 parents per variable"
        )


def test_categories_are_not_limited():
    table = np.random.default_rng(1).integers(0, 2, (40, 40))
    assert parents_by_default(make_problem(table, ScoreOptions(), 1.0)) is None
