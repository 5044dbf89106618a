"""Sets of any size: listed where that ends, counted where it does not; and the share of the posterior as a goal."""

import itertools
import json
import math
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn import learn, score_parent_sets
from credibn._run import Run
from credibn._run.tally import FINISHING
from credibn.cli.app import app
from credibn.errors import OptionError, TooLargeError
from credibn.examples import sample_asia
from credibn.factored import FactoredNetworks
from credibn.factored.stored import as_arrays
from credibn.learning import any_size, credible_share, score_source
from credibn.options import SearchOptions
from credibn.report.provenance import repeating_call
from credibn.search import engines, exploration, make_problem, run_search
from credibn.search.checkpoints import Checkpoints
from credibn.search.exploration import Exploration


@pytest.fixture(scope="module")
def table():
    return sample_asia(n_rows=200)


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "asia.csv"
    pa.csv.write_csv(table, path)
    return str(path)


@pytest.mark.parametrize("constraints", [{}, {"max_parents": 2}])
def test_a_set_too_large_to_list_is_counted(table, constraints, monkeypatch):
    listed = learn(table, **constraints)
    monkeypatch.setattr(any_size, "MOST_LISTED", 5)
    monkeypatch.setattr(any_size, "_MOST_FROM_DIAGRAM", 5)
    found = learn(table, **constraints)
    assert found.complete
    assert found.engine == "factored"
    assert not found.structures.is_listed
    assert found.n_networks == listed.n_networks > 5
    assert found.posterior_share == pytest.approx(listed.posterior_share, abs=1e-12)


@pytest.fixture
def slow_listing(monkeypatch):
    """Let every turn of listing end at once, and let counting finish."""
    take_turn = any_size.take_turn

    def turn(call, scores, epsilon, seconds, **quota):
        seconds = math.inf if call.search.engine == "factored" else -1.0
        return take_turn(call, scores, epsilon, seconds, **quota)

    monkeypatch.setattr(any_size, "take_turn", turn)


@pytest.mark.parametrize("constraints", [{}, {"max_parents": 2}])
def test_a_list_that_takes_too_long_comes_from_the_diagram(table, constraints, slow_listing):
    expected, found = learn(table, engine="dynamic_programming", **constraints), learn(table, **constraints)
    assert found.engine == "factored"
    for name in ("choices", "scores", "sizes", "class_of"):
        assert np.array_equal(getattr(found.structures, name), getattr(expected.structures, name))


def test_a_slow_machine_lists_what_a_fast_one_does(table, monkeypatch):
    expected = learn(table)
    turns = []
    take_turn = any_size.take_turn

    def slow_at_first(call, *rest, **quota):
        turns.append(call.search.engine)
        answer, ended_in = take_turn(call, *rest, **quota)
        if len(turns) == 1:
            answer = replace(answer, found=replace(answer.found, stopped=True))
        return answer, "enumeration" if len(turns) == 1 else ended_in

    monkeypatch.setattr(any_size, "take_turn", slow_at_first)
    monkeypatch.setattr(any_size, "_MOST_FROM_DIAGRAM", 5)
    found = learn(table)
    assert turns == ["auto", "factored", "auto"]
    assert np.array_equal(found.structures.choices, expected.structures.choices)
    monkeypatch.setattr(any_size, "_LONGEST_TURN", -1.0)
    turns.clear()
    counted = learn(table)
    assert turns == ["auto", "factored", "auto"]
    assert (counted.complete, counted.structures.is_listed) == (True, False)
    assert counted.n_networks == expected.n_networks


@pytest.mark.parametrize("n_finished", [1, 2, 4])
def test_stopped_before_all_is_found_the_answer_is_complete_for_a_part_of_epsilon(table, n_finished, monkeypatch):
    epsilon, take_turn, parts = math.log(20), any_size.take_turn, []

    def slow_for_the_whole(call, scores, asked_for, seconds, **quota):
        if asked_for < epsilon:
            parts.append(asked_for)
        answer, ended_in = take_turn(call, scores, asked_for, math.inf if asked_for < epsilon else -1.0, **quota)
        if len(parts) == n_finished:
            call.run.reach("interrupted")
        return answer, ended_in

    monkeypatch.setattr(any_size, "take_turn", slow_for_the_whole)
    monkeypatch.setattr(any_size, "_LONG_TURN", 0.0)
    found = learn(table, epsilon=epsilon)
    monkeypatch.undo()
    expected = learn(table, epsilon=parts[-1])
    assert parts == [0.0, epsilon / 4, epsilon / 2, 3 * epsilon / 4][:n_finished]
    assert (found.complete, found.stopped_because, found.epsilon) == (False, "interrupted", epsilon)
    assert found.unexplored_bound == pytest.approx(expected.optimal_score - parts[-1])
    assert np.array_equal(found.structures.scores, expected.structures.scores)


def test_stopped_while_it_counts_what_is_too_long_for_a_list_the_reason_is_the_stop(table, monkeypatch):
    take_turn = any_size.take_turn

    def interrupted(call, *rest, **quota):
        if call.search.engine == "factored":
            call.run.reach("interrupted")
        return take_turn(call, *rest, **quota)

    monkeypatch.setattr(any_size, "take_turn", interrupted)
    monkeypatch.setattr(any_size, "MOST_LISTED", 5)
    found = learn(table)
    assert (found.complete, found.stopped_because) == (False, "interrupted")
    assert found.is_optimum_proven
    assert found.n_classes >= 5


def test_what_takes_turns_for_its_parts_is_found_as_a_whole(table, monkeypatch):
    expected, turns, take_turn = learn(table), [], any_size.take_turn

    def slow_at_first(call, scores, epsilon, seconds, **quota):
        turns.append(epsilon)
        return take_turn(call, scores, epsilon, -1.0 if len(turns) < 3 else math.inf, **quota)

    monkeypatch.setattr(any_size, "take_turn", slow_at_first)
    monkeypatch.setattr(any_size, "_LONG_TURN", 0.0)
    found = learn(table)
    assert turns[:2] == [expected.epsilon, 0.0]
    assert found.complete
    assert np.array_equal(found.structures.scores, expected.structures.scores)


def sparse_scores():
    """Return scores that only the integer program can list, with more networks than a few."""
    return score_parent_sets(np.random.default_rng(3).integers(0, 2, (25, 7)), epsilon=3.0)


@pytest.fixture
def rounds(monkeypatch):
    """Collect how often the whole problem is tightened, and let no dynamic programming list it instead."""
    monkeypatch.setattr(engines, "ENGINES", {"integer_program": engines.ENGINES["integer_program"]})
    tighten, calls = Exploration.tighten, []

    def counted(self, is_open, is_root):
        calls.append(is_root)
        return tighten(self, is_open, is_root)

    monkeypatch.setattr(Exploration, "tighten", counted)
    return calls


def test_the_turns_of_a_call_tighten_the_whole_problem_once(rounds, slow_listing, monkeypatch):
    scores = sparse_scores()
    monkeypatch.setattr(any_size, "_MOST_FROM_DIAGRAM", 0)
    expected = learn(scores, epsilon=3.0, engine="factored")
    rounds.clear()
    found = learn(scores, epsilon=3.0)
    assert rounds.count(True) == 1
    assert (found.engine, found.n_networks) == ("factored", expected.n_networks)
    of_found, of_expected = (as_arrays(one.structures.networks) for one in (found, expected))
    assert all(np.array_equal(array, of_expected[name]) for name, array in of_found.items())
    learn(scores, epsilon=3.0)
    assert rounds.count(True) == 2  # nothing is left for another call


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_a_turn_resumes_where_the_last_one_ended(unit, rounds):
    scores, steps = sparse_scores(), []
    expected = learn(scores, epsilon=3.0, unit=unit)
    rounds.clear()
    run = Run()
    problem = make_problem(scores, epsilon=3.0, unit=unit, run=run)
    engine = engines.ENGINES["integer_program"]
    with run.remembering(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(exploration, "LONG_LISTING", 0)  # every listing is done in stages
        patch.setattr(exploration, "STEPS_BEFORE_SPREADING", 1)
        for n_reports in range(1, 100):
            left = iter(range(n_reports))
            with run.checking(lambda stage, _: stage in ("relaxation", *FINISHING) or next(left, None) is not None):  # noqa: B023
                found, found_scores = run_search(problem, scores, engine)
            steps.append(len(found.choices))
            if not found.stopped:
                break
    assert len(steps) > 3
    assert rounds.count(True) == 1
    assert np.array_equal(found.choices, expected.structures.choices)
    assert np.array_equal(found.sizes, expected.structures.sizes)
    assert np.array_equal(found_scores, expected.structures.scores)


@pytest.mark.parametrize("n_reports", [5, 15])
def test_the_bound_of_the_whole_does_not_depend_on_when_an_earlier_turn_was_stopped(n_reports, monkeypatch):
    monkeypatch.setattr(exploration, "MANY_CANDIDATES", 0)
    random = np.random.default_rng(2)
    hidden = random.normal(size=(100, 4)) @ random.normal(size=(4, 16))
    data = (hidden + random.normal(size=hidden.shape) > 0).astype(int)  # whose bound takes many rounds
    scores = score_parent_sets(data, epsilon=3.0, max_parents=3)
    engine = engines.ENGINES["integer_program"]

    def root_after(*limits):
        run = Run()
        problem = make_problem(scores, epsilon=3.0, run=run)
        with run.remembering():
            for limit in limits:
                left = iter(range(limit))
                with run.checking(lambda stage, _: stage in FINISHING or next(left, None) is not None):  # noqa: B023
                    run_search(problem, scores, engine)
            return run.memory.load("root", problem.root_key)

    assert root_after(n_reports) is None  # it is stopped before its root is done
    expected, found = root_after(100_000), root_after(n_reports, 100_000)
    assert all(np.array_equal(found[name], expected[name], equal_nan=True) for name in expected)


def test_a_check_within_another_leaves_that_in_force():
    run = Run()
    with run.checking(lambda stage, _: stage != "outer"), run.checking(lambda stage, _: stage != "inner"):
        assert [run(stage, 0.0) for stage in ("outer", "inner", "neither")] == [False, False, True]
    assert run("inner", 0.0)


def test_a_turn_that_finds_no_network_has_no_answer_and_the_next_one_is_longer(table, monkeypatch):
    expected, take_turn, find, seconds_of = learn(table), any_size.take_turn, any_size.find, []

    def turn(call, scores, epsilon, seconds, **quota):
        seconds_of.append(seconds)
        return take_turn(call, scores, epsilon, -1.0 if len(seconds_of) == 1 else math.inf, **quota)

    def none_at_first(call, *rest, **quota):
        if len(seconds_of) == 1:
            call.run("enumeration", 0.0)
            raise TooLargeError("no network is known")
        return find(call, *rest, **quota)

    monkeypatch.setattr(any_size, "take_turn", turn)
    monkeypatch.setattr(any_size, "find", none_at_first)
    found = learn(table)
    assert seconds_of == [any_size.FIRST_TURN, any_size.FIRST_TURN * any_size.GROWTH]
    assert np.array_equal(found.structures.scores, expected.structures.scores)


def test_what_does_not_fit_into_memory_is_answered_by_the_part_in_which_more_is_certain(table, monkeypatch):
    take_turn, find, epsilon = any_size.take_turn, any_size.find, math.log(20)

    def turn(call, scores, asked_for, seconds, **quota):
        answer, _ = take_turn(call, scores, asked_for, math.inf, **quota)
        if asked_for < epsilon:
            return answer, None
        stopped = replace(answer.found, stopped=True, unexplored_bound=answer.found.best_cost)
        return replace(answer, found=stopped), None if call.search.engine == "factored" else "enumeration"

    def short_of_memory(call, *rest, **quota):
        answer = find(call, *rest, **quota)
        if quota:
            return answer
        return replace(answer, found=replace(answer.found, stopped=True, unexplored_bound=answer.found.best_cost))

    monkeypatch.setattr(any_size, "take_turn", turn)
    monkeypatch.setattr(any_size, "find", short_of_memory)
    monkeypatch.setattr(any_size, "_LONG_TURN", 0.0)
    found = learn(table, epsilon=epsilon)
    assert found.stopped_because == "memory_limit"
    assert found.unexplored_bound == pytest.approx(found.optimal_score - 0.75 * epsilon)


def test_stopped_within_a_part_the_answer_is_what_is_certain_there(table, monkeypatch):
    take_turn, epsilon = any_size.take_turn, math.log(20)

    def interrupted_in_a_part(call, scores, asked_for, seconds, **quota):
        answer, ended_in = take_turn(call, scores, asked_for, math.inf if asked_for < epsilon else -1.0, **quota)
        if asked_for == epsilon / 4:
            call.run.reach("interrupted")
            bound = answer.found.best_cost + epsilon / 8
            answer = replace(answer, found=replace(answer.found, stopped=True, unexplored_bound=bound))
        return answer, ended_in

    monkeypatch.setattr(any_size, "take_turn", interrupted_in_a_part)
    monkeypatch.setattr(any_size, "_LONG_TURN", 0.0)
    found = learn(table, epsilon=epsilon)
    assert (found.complete, found.stopped_because) == (False, "interrupted")
    assert found.unexplored_bound == pytest.approx(found.optimal_score - epsilon / 8)


def test_networks_that_are_too_many_to_remember_are_not_copied(monkeypatch):
    class Many:
        def generation(self):
            return 0

        def count(self):
            return 1 << 40

        def networks_from(self, first):
            pytest.fail("they are copied")

    run = Run()
    problem = make_problem(sparse_scores(), epsilon=3.0, run=run)
    with run.remembering():
        Checkpoints(problem, Many()).save(dict, is_last=True)
        assert run.memory.load("search", problem.key) is None


def test_where_classes_could_not_be_counted_the_networks_decide(table, slow_listing, monkeypatch):
    expected = learn(table, engine="dynamic_programming")
    monkeypatch.setattr(FactoredNetworks, "n_classes", lambda self, epsilon=None: None)
    found = learn(table)
    assert found.engine == "factored"
    assert np.array_equal(found.structures.scores, expected.structures.scores)


def test_with_quotas_nothing_is_counted(table, monkeypatch):
    monkeypatch.setattr(any_size, "MOST_LISTED", 5)
    assert learn(table, max_classes=2).structures.is_listed
    assert learn(table, engine="dynamic_programming").structures.is_listed


@pytest.mark.few(1)
@pytest.mark.parametrize("share", [0.3, 0.95])
def test_a_share_gives_the_set_of_its_epsilon(table, share):
    found = learn(table, share=share)
    assert found.complete
    assert found.posterior_share >= share
    same = learn(table, epsilon=found.epsilon)
    assert np.array_equal(same.structures.scores, found.structures.scores)
    assert found.settings["share"] == share
    smaller = learn(table, epsilon=found.epsilon - 1e-6)
    assert smaller.posterior_share < share
    counted = learn(table, share=share, engine="factored")
    assert counted.epsilon == found.epsilon
    assert counted.n_networks == found.n_networks
    assert counted.posterior_share == pytest.approx(found.posterior_share, abs=1e-12)


@pytest.fixture
def steps(monkeypatch):
    """How often parent sets were scored, and the epsilon of each search on the way to a share."""
    seen, score = SimpleNamespace(n_scored=0, epsilons=[]), score_source.try_score

    def counted(*args, **options):
        seen.n_scored += 1
        return score(*args, **options)

    def searched(call, scores, epsilon):
        seen.epsilons.append(epsilon)
        return any_size.find_any_size(call, scores, epsilon)

    monkeypatch.setattr(score_source, "try_score", counted)
    monkeypatch.setattr(credible_share, "find_any_size", searched)
    return seen


def columns(table, count):
    return table.select(table.column_names[2 : 2 + count])


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_each_step_to_a_share_takes_the_scores_of_all_networks(table, score, steps):
    data = columns(table, 6)
    found = learn(data, score=score, share=0.95)
    assert len(steps.epsilons) == 3
    assert steps.n_scored == 1
    last = score_parent_sets(data, score=score, epsilon=steps.epsilons[-1])
    for name in ("offsets", "scores", "masks"):
        assert np.array_equal(getattr(found.score_table, name), getattr(last, name))
    assert found.score_table.provenance == last.provenance
    same = learn(data, score=score, epsilon=found.epsilon)
    assert np.array_equal(same.structures.scores, found.structures.scores)
    for expected, network in itertools.islice(zip(same.networks(), found.networks(), strict=True), 100):
        assert network.edges == expected.edges


def test_each_step_to_a_share_is_scored_where_pruning_would_take_longer(table, steps, monkeypatch):
    data = columns(table, 6)
    reused = learn(data, share=0.95)
    monkeypatch.setattr(score_source, "_SECONDS_PER_PAIR", math.inf)
    steps.n_scored, steps.epsilons = 0, []
    scored = learn(data, share=0.95)
    assert steps.n_scored == 1 + len(steps.epsilons)
    assert scored.epsilon == reused.epsilon
    assert np.array_equal(scored.structures.choices, reused.structures.choices)
    assert np.array_equal(scored.structures.scores, reused.structures.scores)


def test_scores_on_a_finer_grid_are_computed_anew_for_a_share(table, steps):
    data = columns(table, 5)
    found = learn(data, score="bdeu", share=0.95)
    assert found.score_table.tolerance < score_parent_sets(data, score="bdeu", epsilon=50.0).tolerance
    assert steps.n_scored == 1 + len(steps.epsilons)


def test_a_share_takes_few_steps_and_the_last_is_not_far_beyond(table, steps):
    found = learn(columns(table, 6), share=0.95)
    assert len(steps.epsilons) == 3
    assert found.epsilon < steps.epsilons[-1] < found.epsilon + 0.4


def test_the_call_in_the_report_asks_for_the_share_alone(table):
    call = repeating_call(learn(table, share=0.3))
    assert "share=0.3" in call
    assert "epsilon" not in call


def test_beside_the_share_no_other_gap_can_be_given(table):
    for name in ("bayes_factor", "epsilon", "ratio"):
        with pytest.raises(OptionError, match=rf"both {name}=2 and share=0\.5 were given; give one of them"):
            SearchOptions(share=0.5, **{name: 2})
    for share in (0, 1, -1, 1.5, float("nan")):
        with pytest.raises(OptionError, match=r"it must be above 0 and below 1, such as 0\.95"):
            SearchOptions(share=share)
    with pytest.raises(OptionError, match="share is 'most'; give a number"):
        SearchOptions(share="most")
    with pytest.raises(OptionError, match="share needs the posterior of all networks; leave out posterior_share"):
        SearchOptions(share=0.5, posterior_share=False)
    with pytest.raises(OptionError, match="both share and max_networks were given"):
        learn(table, share=0.5, max_networks=3)


def test_beyond_24_variables_a_share_is_refused():
    data = np.random.default_rng(1).integers(0, 2, (30, 25))
    with pytest.raises(TooLargeError, match=r"share is known only where .* up to 24 variables, and here 25 can have"):
        learn(data, share=0.9)


@pytest.mark.parametrize("engine", ["auto", "factored"])
def test_stopped_before_the_share_is_reached_the_set_so_far_is_returned(table, engine, monkeypatch):
    epsilons = []

    def stop_the_second(call, scores, epsilon):
        if epsilons:
            call.run.reach("interrupted")
        epsilons.append(epsilon)
        return any_size.find_any_size(call, scores, epsilon)

    monkeypatch.setattr(credible_share, "find_any_size", stop_the_second)
    part = learn(table, share=0.99, engine=engine)
    monkeypatch.undo()
    first = learn(table, epsilon=epsilons[0])
    assert len(epsilons) == 2
    assert part.stopped_because == "interrupted"
    assert part.n_networks == first.n_networks
    assert part.posterior_share == pytest.approx(first.posterior_share, abs=1e-12)
    assert part.posterior_share < 0.99
    assert "The share that was asked for, 99 %, was not reached." in part.summary()
    assert part.unexplored_bound == pytest.approx(first.optimal_score - epsilons[0])


def test_a_share_that_scoring_has_no_time_for_was_not_reached(table, monkeypatch):
    epsilons = []

    def stop_afterwards(call, scores, epsilon):
        epsilons.append(epsilon)
        answer = any_size.find_any_size(call, scores, epsilon)
        call.run.reach("interrupted")
        return answer

    monkeypatch.setattr(credible_share, "find_any_size", stop_afterwards)
    part = learn(table, share=0.99)
    assert len(epsilons) == 1
    assert (part.complete, part.stopped_because, part.epsilon) == (False, "interrupted", epsilons[0])
    assert part.unexplored_bound == pytest.approx(part.optimal_score - epsilons[0])
    assert "The share that was asked for, 99 %, was not reached." in part.summary()


def test_the_command_takes_a_share(file):
    done = CliRunner().invoke(app, ["learn", file, "--share", "0.9", "--json"])
    assert done.exit_code == 0
    facts = json.loads(done.stdout)
    assert facts["posterior_share"] >= 0.9
    done = CliRunner().invoke(app, ["learn", file, "--share", "0.9", "--bayes-factor", "3"])
    assert done.exit_code == 2
    assert "both --bayes-factor 3.0 and --share 0.9 were given" in " ".join(done.output.split())


def test_the_end_of_a_turn_leaves_time_to_count_classes(monkeypatch):
    run, continued = Run(), []

    def find(call, table, epsilon):
        continued.extend(
            run(*now) for now in [("search", 0.5), ("counting", 0.9), ("counting", 1.0), ("grouping", 0.2)]
        )
        return SimpleNamespace(found=SimpleNamespace(stopped=True))

    monkeypatch.setattr(any_size, "find", find)
    _, ended_in = any_size.take_turn(SimpleNamespace(run=run), None, 0.0, -1.0)
    assert continued == [False, False, True, True]
    assert ended_in == "search"


def test_the_list_of_what_is_counted_takes_half_of_the_time_left_whoever_else_works(table, monkeypatch):
    counted, find, reasons = learn(table, engine="factored"), any_size.find, []

    def busy(call, *rest, **quota):
        while call.search.engine == "auto" and call.run("enumeration", 0.0):
            time.sleep(0.01)
        reasons.append(call.run.reason)
        return find(call, *rest, **quota)

    monkeypatch.setattr(any_size, "find", busy)
    monkeypatch.setattr(any_size, "FIRST_TURN", -1.0)
    monkeypatch.setattr(any_size, "_MOST_FROM_DIAGRAM", 0)
    take_turn = any_size.take_turn

    def turn(call, scores, epsilon, seconds, **quota):
        is_counting = call.search.engine == "factored"
        if seconds > 0:  # the list, while this process gets no share of the processors
            monkeypatch.setattr(time, "process_time", lambda: 0.0)
        return take_turn(call, scores, epsilon, math.inf if is_counting else seconds, **quota)

    monkeypatch.setattr(any_size, "take_turn", turn)
    found = learn(table, time_limit=2.0, posterior_share=False)
    assert reasons == [None, None, None]
    assert (found.complete, found.n_networks) == (True, counted.n_networks)
