"""How long scoring takes, said before it begins; and what to try where that is too long."""

import itertools
import re

import numpy as np
import pytest

import strategies
from credibn import CredibnWarning, estimate_scoring, learn, read_data, score_parent_sets
from credibn._base.text import duration_text
from credibn._run.progress import StageBar
from credibn.errors import TooLargeError
from credibn.learning import score_source
from credibn.options import ScoreOptions
from credibn.scores import estimate as estimates
from credibn.scores.estimate import LONG
from credibn.scores.prediction import limit_parents, predict_seconds
from credibn.scores.setup import make_problem


class Parents:
    name, columns = "parents", "discrete"

    def settings(self):
        return {}

    def local_cost(self, data, node, parents):
        return float(len(parents))


@pytest.fixture(scope="module")
def noise():
    return read_data(np.random.default_rng(0).integers(0, 2, (60, 14)))


@pytest.mark.parametrize("score", ["bic", "bdeu", "gaussian-bic", Parents()], ids=["bic", "bdeu", "gaussian", "own"])
def test_every_engine_has_a_prediction(score):
    rng = np.random.default_rng(1)
    is_continuous = score == "gaussian-bic"
    values = rng.normal(size=(50, 9)) if is_continuous else rng.integers(0, 2, (50, 9))
    for engine in ("table", "descent") if score in ("bic", "bdeu") else ("auto",):
        estimate = estimate_scoring(
            values, score=score, engine=engine, columns="continuous" if is_continuous else "discrete"
        )
        assert 0 < estimate.seconds < 600
        assert (estimate.feasible_parents, estimate.feasible_seconds) == (None, None)


def test_two_hundred_columns_take_longer_than_anybody_waits():
    codes = np.random.default_rng(2).integers(0, 2, (500, 200))
    data = strategies.CodedTable(codes, (2,) * 200, np.ones(500, dtype=np.int64)).dataset()
    estimate = estimate_scoring(data, n_threads=1)
    assert estimate.seconds > LONG
    assert estimate.feasible_parents >= 1
    assert estimate.feasible_seconds <= 60


def test_a_limit_on_parents_leaves_room_for_those_required(noise):
    options = ScoreOptions(required_edges=[("X01", "X00"), ("X02", "X00")], max_parents={"X03": 0})
    problem = limit_parents(make_problem(noise, options, 1.0), 1)
    assert problem.max_parents.tolist() == [2, 1, 1, 0, *[1] * 10]


@pytest.fixture
def slow(monkeypatch):
    """Each more parent takes ten times longer; a table is never short."""

    def predict(problem, engine, n_workers):
        return 10.0 ** int(problem.max_parents.max())

    monkeypatch.setattr(estimates, "predict_seconds", predict)
    monkeypatch.setattr(score_source, "_MOMENT", 0.0)


def test_the_advice_is_the_largest_limit_that_takes_a_minute(noise, slow):
    estimate = estimate_scoring(noise)
    assert (estimate.feasible_parents, estimate.feasible_seconds) == (1, 10.0)
    assert estimate_scoring(noise, max_parents=2).feasible_parents is None  # 100 seconds need no advice


def test_before_scoring_that_takes_too_long_a_warning_says_what_to_try(noise, slow):
    words = r"scoring 14 columns with up to \d+ parents takes .*: try max_parents=1 \(about 10 seconds\)"
    with pytest.warns(CredibnWarning, match=words):
        found = learn(noise, posterior_share=False)
    assert found.complete


def test_advice_followed_to_the_letter_ends_the_warning(noise, slow, recwarn):
    found = learn(noise, max_parents=1)
    assert found.complete
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_where_the_time_limit_is_hopeless_all_of_it_goes_to_small_sets(noise, slow, monkeypatch):
    begun = []
    monkeypatch.setattr(score_source, "try_score", lambda *_, **__: begun.append("all"))
    monkeypatch.setattr(score_source.PartialScoring, "deepen", lambda *_: begun.append("small"))
    with pytest.warns(CredibnWarning, match="more than time_limit leaves: try max_parents=1"):
        found = learn(noise, time_limit=20.0)
    assert begun[:3] == ["small", "all", "small"]
    assert found.n_networks == 1


def test_numbers_that_do_not_fit_in_memory_name_a_limit_that_works():
    values = np.random.default_rng(3).normal(size=(80, 45))
    with pytest.raises(TooLargeError, match="above the limit of") as caught:
        score_parent_sets(values, score="gaussian-bic")
    limit = int(re.search(r"try max_parents=(\d+) \(", str(caught.value))[1])
    assert limit >= 1
    assert score_parent_sets(values, score="gaussian-bic", max_parents=min(limit, 2)).n_candidates >= 45


def test_the_bar_shows_how_long_a_stage_should_take():
    bar = StageBar({"score": "scoring"}, seconds=-1.0)
    bar.expect("score", 42.0)
    bar("score", 0.0)
    bar.stop()
    assert bar._bar.tasks[0].description == "scoring (about 42 seconds)"


def test_durations_are_said_in_the_unit_that_fits():
    said = [duration_text(seconds) for seconds in (0.5, 90, 300, 7200, 1e6, 1e9, 1e18)]
    assert said == [
        "a second",
        "90 seconds",
        "5 minutes",
        "2 hours",
        "12 days",
        "32 years",
        "1,000 years or more",
    ]
    assert all(said != other for said, other in itertools.pairwise(said))


def test_a_problem_of_one_column_is_predicted_at_once(noise):
    problem = make_problem(read_data(np.arange(4)[:, None]), ScoreOptions(), 1.0)
    assert predict_seconds(problem, "descent", 1) == 0.0
