"""The contract of the search engines: problem, tolerance, choice of an engine, and the check of their answers."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force_engine import BruteForce
from credibn import ScoreTable, _core
from credibn._run import Run
from credibn.errors import OptionError, TooLargeError
from credibn.search import (
    ENGINES,
    EngineEstimate,
    Tally,
    choose_engine,
    choose_unit,
    exact_scores,
    make_problem,
    run_search,
    tolerance_of,
)
from credibn.search import engines as engine_registry

CANDIDATES = [[(-3.0, []), (-2.0, [1])], [(-4.0, []), (-3.0, [0])], [(-1.0, [])]]


def table(**provenance):
    return ScoreTable.from_candidates(["a", "b", "c"], CANDIDATES, provenance)


def test_a_problem_is_the_table_in_costs():
    problem = make_problem(table(epsilon=2.0), epsilon=1.0, unit="networks", max_rows=7)
    assert problem.costs.tolist() == [2.0, 3.0, 3.0, 4.0, 1.0]
    assert problem.counts.tolist() == [2, 2, 1]
    assert (problem.names, problem.n_variables, problem.max_rows) == (("a", "b", "c"), 3, 7)
    assert problem.tolerance == tolerance_of(table()) == 6.0 * 2**-40
    assert problem.run("search", 0.5)
    assert make_problem(table(epsilon=2.0), epsilon=2.0).epsilon == 2.0
    with pytest.raises(OptionError, match="pruned for networks within 2 of the best"):
        make_problem(table(epsilon=2.0), epsilon=2.001)


def test_no_cost_is_minus_zero():
    free = ScoreTable.from_candidates(["a"], [[(0.0, [])]])
    assert not np.signbit(make_problem(free, epsilon=0.0).costs).any()
    assert tolerance_of(free) == 1e-12


@pytest.mark.parametrize(
    ("provenance", "asserted", "unit", "expected"),
    [
        ({"score_equivalent": True}, None, "auto", "classes"),
        ({"score_equivalent": True, "constraints": {}}, True, "classes", "classes"),
        ({"score_equivalent": True}, None, "networks", "networks"),
        ({"score_equivalent": True, "constraints": {"max_parents": 2}}, None, "auto", "networks"),
        ({"score_equivalent": False}, None, "auto", "networks"),
        ({}, None, "auto", "networks"),
        ({}, True, "auto", "classes"),
        ({}, False, "auto", "networks"),
    ],
)
def test_units(provenance, asserted, unit, expected):
    assert choose_unit(table(**provenance), unit, asserted) == expected


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4, unique=True), min_size=1, max_size=9))
def test_scores_are_summed_as_by_fsum(columns):
    names = [f"v{k}" for k in range(len(columns))]
    sets = [[other for other in range(len(columns)) if other != v] for v in range(len(columns))]
    candidates = [
        [(score, sets[v][:size]) for size, score in enumerate(scores) if size <= len(sets[v])]
        for v, scores in enumerate(columns)
    ]
    scored = ScoreTable.from_candidates(names, candidates)
    rng = np.random.default_rng(0)
    choices = np.column_stack([rng.integers(0, count, 20) for count in scored.counts]).astype(np.uint32)
    exact = [math.fsum(scored.scores[scored.offsets[v] + at] for v, at in enumerate(row)) for row in choices.tolist()]
    found = exact_scores(scored, choices)
    assert np.abs(found - exact).max() <= np.spacing(np.abs(exact)).max()


# ----------------------------------------------------------------------------------------- the choice


class Estimated(BruteForce):
    def __init__(self, name, possible=True, size=0, seconds=1.0, reason="too many variables"):
        self.name, self._estimate = name, EngineEstimate(possible, reason, size, seconds)

    def estimate(self, problem):
        return self._estimate


@pytest.fixture
def engines(monkeypatch):
    for name in list(ENGINES):
        monkeypatch.delitem(ENGINES, name)

    def use(*some):
        for engine in some:
            monkeypatch.setitem(ENGINES, engine.name, engine)

    return use


def test_the_fastest_possible_engine_is_chosen(engines):
    engines(Estimated("slow", seconds=9), Estimated("fast", possible=False), Estimated("large", size=1000, seconds=2))
    problem = make_problem(table(), epsilon=1.0)
    assert choose_engine(problem).name == "large"
    assert choose_engine(problem, "slow").name == "slow"
    assert choose_engine(replace(problem, max_bytes=999)).name == "slow"
    with pytest.raises(TooLargeError, match=r"engine='fast' cannot take this problem .fast: too many variables"):
        choose_engine(problem, "fast")
    with pytest.raises(TooLargeError, match=r"the limit allows [0-9]+ bytes?; raise memory_limit"):
        choose_engine(replace(problem, max_bytes=10), "large")
    with pytest.raises(OptionError, match="unknown engine 'other'; choose one of auto, slow, fast, large"):
        choose_engine(problem, "other")


def test_no_engine_is_possible(engines):
    problem = make_problem(table(), epsilon=1.0)
    with pytest.raises(TooLargeError, match="none is installed"):
        choose_engine(problem)
    engines(Estimated("fast", possible=False))
    with pytest.raises(TooLargeError, match=r"no engine can search 3 variables with 5 candidate .* .fast: too many"):
        choose_engine(problem)


def test_equal_estimates_keep_the_order_of_the_registry(engines):
    engines(Estimated("second"), Estimated("first"))
    assert choose_engine(make_problem(table(), epsilon=1.0)).name == "second"


class Rough(Estimated):
    """Its time cannot be known: it reports what is scripted, (second, stage, fraction), and stops when told to."""

    def __init__(self, clock, reports, bound):
        super().__init__("rough", seconds=0.1)
        self._estimate = replace(self._estimate, is_firm=False)
        self._clock, self._reports, self._bound = clock, reports, bound

    def search(self, problem):
        problem.run.follow(lambda: Tally("networks", 0, -7.0, self._bound))
        found = super().search(problem)
        for second, stage, fraction in self._reports:
            self._clock.second = second
            if not problem.run(stage, fraction):
                return replace(found, stopped=True, unexplored_bound=-math.inf)
        return found


@pytest.mark.parametrize(
    ("reports", "bound", "answers"),
    [
        ([(9, "relaxation", 0.0), (9.9, "branches", 0.0)], -6.0, "rough"),
        ([(10.1, "relaxation", 0.0)], -6.0, "firm"),
        ([(10.1, "branches", 0.4)], -6.0, "firm"),  # 15 seconds are left, and the other takes 10
        ([(10.1, "branches", 0.6), (10.2, "relaxation", 0.0)], -6.0, "rough"),
        ([(10.1, "branches", 0.6), (20.0, "branches", 0.65)], -6.0, "firm"),
        ([(10.1, "enumeration", 0.6)], -6.0, "rough"),
        ([(10.1, "enumeration", 0.6), (10.2, "enumeration", 0.0)], -6.0, "firm"),
        ([(49, "enumeration", 0.1)], -7.0, "rough"),  # the optimum is proven
        ([(51, "enumeration", 0.1)], -7.0, "firm"),
    ],
)
def test_a_rough_engine_has_as_long_as_a_firm_one_would_take(engines, monkeypatch, reports, bound, answers):
    clock = SimpleNamespace(second=0.0)
    monkeypatch.setattr(engine_registry, "time", SimpleNamespace(monotonic=lambda: clock.second))
    engines(Rough(clock, reports, bound), Estimated("firm", seconds=10.0))
    problem = make_problem(table(), epsilon=1.0, unit="networks")
    found, scores = run_search(problem, table(), choose_engine(problem))
    assert found.engine == answers
    assert not found.stopped
    assert scores.tolist() == [-7.0, -7.0, -8.0]


# ----------------------------------------------------------------------------------------- answers


class Wrong(BruteForce):
    def __init__(self, change):
        self.change = change

    def search(self, problem):
        return self.change(super().search(problem))


def rows(found, at):
    return replace(found, choices=found.choices[at], costs=found.costs[at], sizes=found.sizes[at])


def test_answers_come_in_one_order():
    problem = make_problem(table(), epsilon=5.0, unit="networks")
    plain, scores = run_search(problem, table(), BruteForce())
    mixed, again = run_search(problem, table(), Wrong(lambda found: rows(found, [2, 0, 1])))
    assert plain.choices.tobytes() == mixed.choices.tobytes()
    assert scores.tolist() == again.tolist() == [-7.0, -7.0, -8.0]


@given(st.lists(st.tuples(st.sampled_from([-1.0, -2.0]), st.integers(0, 2), st.integers(0, 2)), max_size=6))
def test_rows_in_order(keys):
    scores = np.array([key[0] for key in keys])
    choices = np.array([key[1:] for key in keys], dtype=np.uint32).reshape(len(keys), 2)
    ranks = [(-score, *row) for score, *row in keys]
    assert _core.networks_in_order(scores, choices) == all(a < b for a, b in itertools.pairwise(ranks))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: rows(found, [0, 0, 1]), "returned a network twice"),
        (lambda found: replace(found, choices=np.array([[0, 1, 0], [1, 1, 0], [1, 0, 0]], np.uint32)), None),
        (lambda found: replace(found, best_cost=1.0), "not credible|below|knows of a network"),
    ],
)
def test_wrong_answers_are_noticed(change, message):
    problem = make_problem(table(), epsilon=5.0, unit="networks")
    if message is None:
        assert len(run_search(problem, table(), Wrong(change))[1]) == 3
        return
    with pytest.raises(RuntimeError, match=message):
        run_search(problem, table(), Wrong(change))


def test_a_network_that_is_not_credible_is_noticed():
    wide, narrow = (make_problem(table(), epsilon=epsilon, unit="networks") for epsilon in (5.0, 0.5))
    found = BruteForce().search(wide)
    with pytest.raises(RuntimeError, match=r"returned a network of score -8.0, below"):
        run_search(narrow, table(), Wrong(lambda _: found))


# ----------------------------------------------------------------------------------------- the watch


def test_the_watch():
    seen = []
    watch = Run(lambda stage, fraction: seen.append((stage, fraction)))
    assert watch("score", 0.25)
    assert seen == [("score", 0.25)]
    assert watch.reason is None
    stopping = Run(lambda *_: False)
    assert not stopping("search", 0.0)
    assert (stopping.reason, stopping("search", 0.1)) == ("interrupted", False)
    late = Run(time_limit=1e-9)
    assert (late("search", 0.0), late.reason) == (False, "time_limit")
    with pytest.raises(ZeroDivisionError):
        Run(lambda *_: 1 / 0)("search", 0.0)


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        ([[(0.0, []), (-1.0, [1])], [(0.0, [])]], "not the parent sets that its reversal needs"),
        ([[(0.0, []), (-1.0, [1])], [(0.0, []), (-3.0, [0])]], "with another score"),
    ],
)
def test_asserted_equivalence_is_checked_edge_by_edge(candidates, reason):
    """A class that the table holds in part, or whose members score differently, is never searched as a whole."""
    table = ScoreTable.from_candidates(["a", "b"], candidates)
    assert choose_unit(table, "auto", score_equivalent=True) == "networks"
    with pytest.raises(OptionError, match=reason):
        choose_unit(table, "classes", score_equivalent=True)
