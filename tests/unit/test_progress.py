"""What a search tells while it runs, and how the command line shows it."""

import math
import re

import numpy as np
import pytest

from credibn import k_best_networks, learn
from credibn._run import Run
from credibn._run.progress import STAGE_TITLES, StageBar, stage_bars
from credibn.search import Tally
from credibn.search.collection import found_in


class Listener:
    """Keeps all that it is told."""

    def __init__(self, continues=True):
        self.calls, self.tallies, self.continues = [], [], continues

    def __call__(self, stage, fraction):
        self.calls.append((stage, fraction))
        return self.continues

    def tally(self, tally):
        self.tallies.append(tally)


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).integers(0, 2, (60, 6))


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_a_search_tells_what_it_has_found(values, unit):
    listener = Listener()
    found = learn(values, engine="integer_program", unit=unit, epsilon=6, progress=listener)
    assert listener.tallies
    assert {tally.unit for tally in listener.tallies} == {unit}
    for tally in listener.tallies:
        assert tally.best_score <= found.optimal_score + 1e-6 <= tally.bound + 2e-6
        assert tally.n_found >= 0
    assert {stage for stage, _ in listener.calls} <= STAGE_TITLES.keys()
    assert all(0 <= fraction <= 1 for _, fraction in listener.calls)


@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_the_count_is_of_what_the_collection_holds(values, monkeypatch, engine, unit):
    tallies = []

    def look_and_finish(collection, *rest):  # as late as possible: the rows are there, and not yet given away
        tallies.append(watched[0]())
        return found_in(collection, *rest)

    watched = []
    monkeypatch.setattr(f"credibn.search.{engine}.found_in", look_and_finish)
    monkeypatch.setattr(Run, "follow", lambda _, count: watched.insert(0, count))
    found = learn(values, engine=engine, unit=unit, epsilon=6)
    assert [(tally.unit, tally.n_found) for tally in tallies] == [(unit, len(found.rows))]
    assert tallies[0].best_score == pytest.approx(found.optimal_score)
    assert tallies[0].bound >= found.optimal_score - 1e-6
    assert watched[0] is None


def test_who_does_not_listen_is_told_nothing(values):
    expected = learn(values, engine="integer_program")
    calls = []
    found = learn(values, engine="integer_program", progress=lambda stage, fraction: calls.append(stage))
    assert calls
    assert found.rows.choices.tobytes() == expected.rows.choices.tobytes()
    assert k_best_networks(values, 5, engine="integer_program", progress=Listener()).n_networks == 5


def test_the_count_ends_with_the_search():
    listener = Listener()
    watch = Run(listener)
    watch.follow(lambda: Tally("classes", 3, -1.0))
    assert watch("enumeration", 0.5)
    watch.follow(None)
    assert watch("posterior", 0.5)
    assert listener.tallies == [Tally("classes", 3, -1.0)]
    assert listener.calls == [("enumeration", 0.5), ("posterior", 0.5)]


@pytest.fixture
def shown_at(monkeypatch, capsys):
    """What the bar shows of a stage."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    def show(stage, fraction, tally):
        bar = StageBar(STAGE_TITLES, seconds=-1.0)
        bar.tally(tally)
        bar(stage, fraction)
        bar.stop()
        return capsys.readouterr().err

    return show


def test_the_bar_shows_stage_fraction_and_findings(shown_at):
    shown = shown_at("enumeration", 0.25, Tally("classes", 1234, -2295.75, -2290.5))
    for part in ("listing networks", "25%", "0:00:0", "1,234 classes, best -2,295.75, bound -2,290.50, gap 5.25"):
        assert part in shown


def test_the_bar_shows_no_share_while_the_length_is_unknown(shown_at):
    shown = shown_at("relaxation", 0.0, Tally("classes", 0, -3122.06, -3107.06)).split("bounding")[-1]
    assert "best -3,122.06, bound -3,107.06, gap 15.00" in shown
    assert "%" not in shown


def test_the_time_is_that_of_the_whole_run_in_every_stage(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    bar = StageBar(STAGE_TITLES, seconds=-1.0)
    bar.tally(Tally("networks", 12_345, -3122.06, -3107.06))  # as much as a line of 80 characters holds
    bar("score", 1.0)
    (task,) = bar._bar.tasks
    task.start_time -= 3600
    capsys.readouterr()
    bar("relaxation", 0.0)
    assert 3600 <= task.elapsed < 3700
    bar._bar.refresh()
    drawn = capsys.readouterr().err
    assert "\N{HORIZONTAL ELLIPSIS}" not in drawn
    times = re.findall(r"\d:\d\d:.", drawn)
    assert times
    assert set(times) == {"1:00:0"}
    bar("relaxation", 1.0)
    task.start_time -= 3600
    bar("relaxation", 1.0)
    assert task.finished_time >= 7200
    bar.stop()


def test_a_short_search_draws_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with stage_bars(STAGE_TITLES) as bar:
        bar.tally(Tally("networks", 0, -math.inf))
        bar("score", 0.5)
        bar("enumeration", 0.5)
    assert capsys.readouterr().err == ""
