"""``python -m paper``, the paper's experiments: small tables, resuming, damage, interruption, the page."""

import io
import json
import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from credibn import read_data, write_network
from credibn.cli.app import app
from credibn.errors import OptionError, TimeLimitError, TooLargeError
from credibn.examples import example_network, sample_asia, tic_tac_toe
from paper import cli, run, samples, searching
from paper.experiment import Samples, compute
from paper.experiments import table1
from paper.experiments.table1 import CandidatesTask
from paper.experiments.table2 import CountsTask
from paper.page import write_results
from paper.records import Record, is_current, read_record, record_path, write_record
from paper.run import collect_tables, make_plan, run_plan
from paper.samples import SampleTask, draw_sample
from paper.sources import Sources

# One worker computes what they share; test_reproduce_tables.py is the quick part.
pytestmark = [pytest.mark.xdist_group("reproduce"), pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tictactoe.csv and three small networks."""
    path = tmp_path_factory.mktemp("data")
    pyarrow.csv.write_csv(tic_tac_toe(), path / "tictactoe.csv")
    (path / "networks").mkdir()
    for name in ("cancer", "asia"):
        write_network(example_network(name), path / "networks" / f"{name}.bif")
    write_network(example_network("earthquake"), path / "earthquake.bif.gz")  # found beside the tables, and packed
    return path


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory):
    """Everything that can be computed of that folder, with two samples of two sizes."""
    out = tmp_path_factory.mktemp("finished")
    result = invoke("all", "--data", folder, "--out", out, "--samples", 2, "--sizes", "50,100", "--json")
    assert result.exit_code == 0, result.stderr
    return out, json.loads(result.stdout), result.stderr


def rows_of(printed, table, **conditions):
    rows = printed["tables"][table]
    return [row for row in rows if all(row[key] == value for key, value in conditions.items())]


def invoke(*words):
    """Run a command in this process: its exit status and what it prints."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors), pytest.raises(SystemExit) as end:
        cli.main([str(word) for word in words])
    return SimpleNamespace(exit_code=end.value.code, stdout=output.getvalue(), stderr=errors.getvalue())


def test_the_row_of_tictactoe_is_the_printed_one(finished):
    _, printed, _ = finished
    rows = rows_of(printed, "table1", data="tictactoe")
    assert [row["candidates"] for row in rows] == [96, 110, 118, 70]
    assert {row["candidates_mark"] for row in rows} == {"equal"}
    rows = rows_of(printed, "table2", data="tictactoe")
    assert [row["networks"] for row in rows] == [192, 192, 544]
    assert [row["patterns"] for row in rows] == [64, 64, 160]
    assert [row["classes"] for row in rows] == [8, 8, 40]
    assert {row[mark] for row in rows for mark in ("networks_mark", "patterns_mark")} == {"equal"}
    assert rows[0]["best_score"] == pytest.approx(-9396.375858, abs=1e-6)
    credible, *best = rows_of(printed, "table3", data="tictactoe")
    assert (credible["networks"], credible["patterns"], credible["classes"]) == (152, 24, 24)
    assert [row["networks"] for row in best if row["method"] == "networks"] == [10, 100, 1000]
    assert {row["networks_mark"] for row in best} <= {"equal", "tied"}


def test_samples_are_averaged(finished):
    _, printed, _ = finished
    rows = rows_of(printed, "table4", network="earthquake", size=50)
    assert [row["bayes_factor"] for row in rows] == [3, 20, 150]
    assert {(row["n_samples"], row["n_complete"]) for row in rows} == {(2, 2)}
    means = [row["networks_mean"] for row in rows]
    assert means == sorted(means)
    assert {row["n_samples"] for row in rows_of(printed, "table4", network="asia", size=1000)} == {0}


def test_the_curve_starts_at_the_optimum_and_rises(finished):
    _, printed, _ = finished
    rows = rows_of(printed, "figure1", data="tictactoe")
    assert (rows[0]["first_k"], rows[0]["deviation"]) == (1, 0.0)
    assert all(before["last_k"] + 1 == after["first_k"] for before, after in pairwise(rows))
    assert all(before["deviation"] < after["deviation"] for before, after in pairwise(rows))
    assert rows[-1]["last_k"] >= 1000
    assert [row["last_k"] for row in rows[:2]] == [104, 152]


def test_what_is_missing_is_told_with_where_to_get_it(finished):
    _, printed, errors = finished
    missing = {lack["file"]: lack["where"] for lack in printed["missing"]}
    assert "tictactoe.csv" not in missing
    assert "'Wine' in the UCI Machine Learning Repository" in missing["wine.csv"]
    assert "Bayesian Network Repository" in missing["networks/win95pts.bif"]
    assert "missing: wine.csv (" in errors
    assert "networks/asia.bif" not in missing


def test_all_files_are_there_and_the_page_is_one_self_contained_document(finished):
    out, _, _ = finished
    for number in range(1, 6):
        assert (out / f"table{number}.csv").read_text().count("\n") > 50
        assert "credibn" in (out / f"table{number}.md").read_text().splitlines()[2]
    ElementTree.parse(out / "figure1.svg")
    page = (out / "index.html").read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "default-src 'none'" in page
    assert page.count("<svg") == 4
    assert ">192<" in page
    assert "networks/win95pts.bif" in page
    assert len(re.findall(r'\bid="([^"]+)"', page)) == len(set(re.findall(r'\bid="([^"]+)"', page)))


class Balanced(HTMLParser):
    """Keeps the elements that are open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_second_run_computes_only_what_was_deleted(finished, folder, tmp_path):
    plan = make_plan(["table2", "table4"], ["tictactoe", "cancer"], Samples((50,), 2))
    for task in plan.tasks:
        write_record(tmp_path, task, read_record(finished[0], task))
    outcome = run_plan(plan, Sources(folder), tmp_path, None)
    assert (outcome.n_computed, outcome.n_reused) == (0, 5)
    gone = CountsTask("tictactoe", 20)
    record_path(tmp_path, gone).unlink()
    record_path(tmp_path, SampleTask("cancer", 50, 1)).write_text("")
    result = invoke("table2", "--data", folder, "--out", tmp_path, "--json")
    printed = json.loads(result.stdout)
    assert (printed["n_computed"], printed["n_reused"]) == (1, 2)
    assert "1/3 table2: tictactoe, bayes factor 20: 192 networks in 8 classes" not in result.stderr
    assert "2/3 table2: tictactoe, bayes factor 20: 192 networks in 8 classes" in result.stderr
    assert read_record(tmp_path, gone).answer["networks"] == 192
    assert (tmp_path / "table4.md").is_file()  # what another run has left is part of the page


@pytest.mark.parametrize(
    "damage", ["", "{}", "[1, 2]", '{"key": "table2/wine-3"}', "\x00", "swapped", "edited", "[" * 100_000]
)
def test_a_damaged_record_is_told_and_computed_again(finished, folder, tmp_path, damage):
    plan = make_plan(["table2"], ["tictactoe"])
    for task in plan.tasks:
        write_record(tmp_path, task, read_record(finished[0], task))
    record = record_path(tmp_path, CountsTask("tictactoe", 20))
    other = record_path(tmp_path, CountsTask("tictactoe", 3)).read_text()
    edited = record.read_text().replace('"networks": 192', '"networks": 193')
    assert edited != record.read_text()
    record.write_text({"swapped": other, "edited": edited}.get(damage, damage))
    assert collect_tables(plan, Sources(folder), tmp_path)["table2"].rows[1]["networks"] is None
    lines = []
    outcome = run_plan(plan, Sources(folder), tmp_path, None, lines.append)
    assert (outcome.n_computed, outcome.n_reused) == (1, 2)
    assert [str(record) in line for line in lines if "is damaged" in line] == [True]
    assert read_record(tmp_path, CountsTask("tictactoe", 20)).answer["networks"] == 192


def test_records_are_used_only_where_the_cache_key_is_the_same(tmp_path):
    task = CountsTask("wine", 3)
    done = Record(task.key, {"complete": True}, "1.0", "ab", 5.0, "today")
    late = {"complete": False, "stopped_because": "time_limit"}
    part = Record(task.key, late, "1.0", "ab", 5.0, "today")
    endless = Record(task.key, late, "1.0", "ab", None, "today")
    refused = Record(task.key, late | {"stopped_because": "refused"}, "1.0", "ab", None, "today")
    assert not is_current(refused, "1.0", "ab", None)  # there may be more memory now
    assert is_current(done, "1.0", "ab", None)
    assert not is_current(done, "1.1", "ab", 5.0)
    assert not is_current(done, "1.0", "cd", 5.0)
    assert is_current(part, "1.0", "ab", 4.0)
    assert not is_current(part, "1.0", "ab", 6.0)
    assert not is_current(part, "1.0", "ab", None)
    assert is_current(endless, "1.0", "ab", None)
    assert read_record(tmp_path, task) is None
    write_record(tmp_path, task, part)
    assert read_record(tmp_path, task) == part


def test_a_printed_rule_that_ran_out_of_time_is_tried_again(folder, tmp_path, monkeypatch):
    plan = make_plan(["table1"], ["tictactoe"])
    plan = replace(plan, tasks=plan.tasks[:1])
    sources = Sources(folder)

    def too_slow(*arguments, **options):
        raise TimeLimitError("the time limit was reached")

    with monkeypatch.context() as patch:
        patch.setattr(table1, "printed_candidates", too_slow)
        assert run_plan(plan, sources, tmp_path, 5.0).unfinished
    row = collect_tables(plan, sources, tmp_path)["table1"].rows[0]
    assert (row["candidates"], row["candidates_mark"], row["by_printed_rule_mark"]) == (96, "equal", "unfinished")
    assert row["seconds_score"] > 0
    assert run_plan(plan, sources, tmp_path, 5.0).n_computed == 0
    assert run_plan(plan, sources, tmp_path, 50.0).n_computed == 1
    assert collect_tables(plan, sources, tmp_path)["table1"].rows[0]["by_printed_rule"] == 96


def test_samples_of_earlier_runs_stay_in_the_tables(folder, tmp_path):
    sources = Sources(folder)
    for sizes, n_samples in (((20,), 2), ((20,), 1), ((30,), 1)):
        plan = make_plan(["table4"], ["cancer"], Samples(sizes, n_samples))
        run_plan(plan, sources, tmp_path, None)
    rows = collect_tables(plan, sources, tmp_path)["table4"].rows
    counted = {row["size"]: row["n_samples"] for row in rows if row["network"] == "cancer"}
    assert counted == {20: 2, 30: 1, 50: 0, 100: 0, 500: 0, 1000: 0}


def test_other_data_than_the_paper_s_are_told(folder, tmp_path):
    (tmp_path / "tictactoe.csv").write_text("a,b\n1,2\n2,1\n")
    lines = []
    run_plan(make_plan(["table2"], ["tictactoe"]), Sources(tmp_path), tmp_path / "out", None, lines.append)
    assert lines[1::2] == ["note: tictactoe: the file has n = 2 and N = 2, the paper prints 10 and 958"] * 3


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(run, "compute", lambda *_: pytest.fail("computed"))
    with pytest.raises(OptionError, match=r"cannot be written .*choose another folder"):
        run_plan(make_plan(["table2"], ["tictactoe"]), Sources(folder), tmp_path / "file", None)


def test_other_data_are_computed_again(folder, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    rows = tic_tac_toe()
    pyarrow.csv.write_csv(rows, data / "tictactoe.csv")
    plan, sources = make_plan(["table1"], ["tictactoe"]), Sources(data)
    assert run_plan(plan, sources, out, None).n_computed == 4
    assert run_plan(plan, sources, out, None).n_computed == 0
    pyarrow.csv.write_csv(rows.slice(0, 500), data / "tictactoe.csv")
    assert collect_tables(plan, sources, out)["table1"].rows[0]["candidates"] is None  # of the old file
    assert run_plan(plan, sources, out, None).n_computed == 4
    assert collect_tables(plan, sources, out)["table1"].rows[0]["candidates"] != 96


def test_ctrl_c_keeps_what_is_finished(folder, tmp_path, monkeypatch):
    finished = []

    def compute_two(task, *rest):
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append(task)
        return compute(task, *rest)

    monkeypatch.setattr(run, "compute", compute_two)
    words = ("table2", "--data", folder, "--only", "tictactoe", "--out", tmp_path)
    result = invoke(*words)
    assert result.exit_code == 130
    assert "the finished tasks are recorded" in result.stderr
    assert (tmp_path / "index.html").is_file()
    assert "| tictactoe | 20 | 192 |" in (tmp_path / "table2.md").read_text()
    assert "| tictactoe | 150 | – |" in (tmp_path / "table2.md").read_text()
    monkeypatch.setattr(run, "compute", compute)
    after = run_plan(make_plan(["table2"], ["tictactoe"]), Sources(folder), tmp_path, None)
    assert (after.n_computed, after.n_reused, after.was_interrupted) == (1, 2, False)


@pytest.mark.parametrize("stage", ["score", "search"])
def test_ctrl_c_inside_a_task_leaves_no_record_of_it(folder, tmp_path, monkeypatch, stage):
    real = searching.learn

    def interrupted(*arguments, **options):
        if stage == "score":
            return real(*arguments, **{**options, "progress": lambda *_: False})
        found = real(*arguments, **options)  # a search ends in good order, and gives what it has
        return replace(found, complete=False, stopped_because="interrupted", unexplored_bound=found.optimal_score)

    monkeypatch.setattr(searching, "learn", interrupted)
    outcome = run_plan(make_plan(["table2"], ["tictactoe"]), Sources(folder), tmp_path, None)
    assert outcome.was_interrupted
    assert outcome.n_computed == 0
    assert not list(tmp_path.rglob("*.json"))


def test_a_set_that_is_counted_gives_the_numbers_of_its_list():
    data = read_data(sample_asia())
    listed, counted = (
        searching.count_credible(data, None, None, bayes_factor=20, engine=engine)
        for engine in ("dynamic_programming", "factored")
    )
    for what in ("complete", "networks", "classes", "networks_found", "classes_found", "best_score"):
        assert counted[what] == listed[what]
    assert (counted["networks"], counted["classes"]) == (35, 8)
    assert (listed["patterns"] >= 8, counted["patterns"]) == (True, None)


def test_a_time_limit_is_recorded_and_a_longer_one_tries_again(folder, tmp_path):
    words = ("table2", "--data", folder, "--only", "tictactoe", "--out", tmp_path)
    result = invoke(*words, "--time-limit", "1e-9")
    assert result.exit_code == 3
    assert "not complete: 3 tasks" in result.stderr
    assert "unfinished" in result.stdout
    plan, sources = make_plan(["table2"], ["tictactoe"]), Sources(folder)
    again = run_plan(plan, sources, tmp_path, 1e-9)
    assert (again.n_reused, len(again.unfinished)) == (3, 3)
    longer = run_plan(plan, sources, tmp_path, None)
    assert (longer.n_computed, longer.unfinished) == (3, ())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TooLargeError("40 variables"), "refused"),
        (TimeLimitError("too late"), "time_limit"),
        (MemoryError("full"), "memory_limit"),
    ],
)
def test_what_the_package_refuses_is_an_answer(folder, monkeypatch, error, reason):
    def refuse(*_):
        raise error

    monkeypatch.setattr(CountsTask, "compute", refuse)
    answer = compute(CountsTask("tictactoe", 3), Sources(folder), None)
    assert (answer["complete"], answer["stopped_because"]) == (False, reason)
    assert str(error) in answer["message"]


def test_a_sample_climbs_until_a_search_is_refused(folder, monkeypatch):
    def up_to_three(*arguments, bayes_factor, **options):
        if bayes_factor > 3:
            raise TooLargeError("too many")
        return searching.count_credible(*arguments, bayes_factor=bayes_factor, **options)

    monkeypatch.setattr(samples, "count_credible", up_to_three)
    answer = compute(SampleTask("cancer", 50, 0), Sources(folder), None)
    assert list(answer["levels"]) == ["3", "20"]
    assert (answer["complete"], answer["message"]) == (False, "too many")
    assert answer["levels"]["3"]["complete"]


@pytest.mark.parametrize("above", [0.5, 1.5, 4.0, 6.0])
def test_an_unproven_optimum_counts_only_what_is_credible_whatever_it_is(folder, monkeypatch, above):
    """What was found near a score that is not the optimum may lie outside the credible set."""
    real = searching.learn

    def stopped(*arguments, **options):
        found = real(*arguments, **options)
        bound = found.optimal_score + above
        return replace(found, complete=False, stopped_because="time_limit", unexplored_bound=bound)

    monkeypatch.setattr(searching, "learn", stopped)
    answer = compute(CountsTask("tictactoe", 150), Sources(folder), None)
    least = real(folder / "tictactoe.csv", epsilon=math.log(150) - above) if above < math.log(150) else None
    expected = (1, 1) if least is None else (least.n_networks, least.n_classes)
    assert (answer["networks"], answer["classes"], answer["is_optimum_proven"]) == (*expected, False)
    assert (answer["networks_found"], answer["classes_found"]) == (544, 40)
    assert answer["optimum_at_most"] == answer["best_score"] + above


def test_tasks_can_be_handed_to_an_executor(folder):
    tasks = [CandidatesTask("tictactoe", "bic", 3), CountsTask("tictactoe", 3), SampleTask("cancer", 50, 0)]
    tasks = [pickle.loads(pickle.dumps((task, Sources(folder), 60.0))) for task in tasks]
    with ThreadPoolExecutor(2) as executor:
        answers = [future.result() for future in [executor.submit(compute, *task) for task in tasks]]
    assert all(answer["complete"] for answer in answers)
    assert json.loads(json.dumps(answers)) == answers


def test_samples_declare_all_states_and_do_not_depend_on_the_order(folder):
    network = Sources(folder).read("asia", "network")
    first, second = (draw_sample(network, SampleTask("asia", 50, sample)) for sample in (0, 1))
    assert first.states == network.states
    assert first.n_rows == 50
    assert first.fingerprint != second.fingerprint
    assert draw_sample(network, SampleTask("asia", 50, 0)).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table2", "--only", "whine"), "did you mean 'wine'?"),
        (("table2", "--only", "iris"), "known are tictactoe, wine, adult"),
        (("table2", "--only", "asia"), "table2 does not have asia; it has tictactoe"),
        (("table2", "--only", "wine"), "wine.csv: the authors' repository alisterl/eBNSL"),
        (("table4", "--sizes", "50,none"), "argument --sizes: 'none' is not possible; give a whole number"),
        (("table4", "--sizes", "0"), "argument --sizes: '0' is not possible"),
        (("table4", "--sizes", "9" * 5000), "argument --sizes: '999"),
        (("table4", "--samples", "0"), "argument --samples: '0' is not possible"),
        (("table4", "--time-limit", "soon"), "argument --time-limit: 'soon' is not possible"),
        (("table4", "--time-limit", "0"), "'0' is not possible; give a number of seconds above 0"),
    ],
)
def test_mistakes_get_a_message(folder, tmp_path, words, message):
    result = invoke(*words, "--data", folder, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_folders_that_cannot_be_used_get_a_message(folder, tmp_path):
    for name in ("nowhere", "x" * 300):
        result = invoke("table1", "--data", tmp_path / name)
        assert (result.exit_code, "is not a folder" in result.stderr) == (2, True)
    (tmp_path / "file").touch()
    result = invoke("table1", "--data", folder, "--out", tmp_path / "file")
    assert (result.exit_code, "choose another folder" in result.stderr) == (2, True)
    with pytest.raises(OptionError, match="choose another folder"):
        write_results({}, tmp_path / "file" / "below", "Made now.")
    assert invoke("table6", "--data", folder).exit_code == 2


@pytest.mark.parametrize(("width", "expected"), [(105, 13), (104, 12), (10, 5)])
def test_a_narrow_terminal_gets_the_first_columns(monkeypatch, width, expected):
    lines = [["data", *["number"] * 12], ["hepatitis", *["1"] * 12]]  # 9, and 8 for each of the others
    assert cli._fitting(lines) == 13
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("COLUMNS", str(width))
    assert cli._fitting(lines) == expected


def test_a_task_shows_its_progress_on_a_terminal(monkeypatch):
    assert cli._watch("5/78 table2: wine, bayes factor 20") is None  # nobody is watching
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    cli._watch("5/78 table2: wine, bayes factor 20")("enumeration", 0.5)
    cli._tell("5/78 table2: wine, bayes factor 20: 3,449 networks in 101 classes")
    assert [line for line in screen.getvalue().split("\r\x1b[K") if line] == [
        "5/78 table2: wine, bayes factor 20: enumeration 50%",
        "5/78 table2: wine, bayes factor 20: 3,449 networks in 101 classes\n",
    ]


def test_two_workers_give_the_same_answers(finished, folder, tmp_path):
    words = ("table2", "--data", folder, "--only", "tictactoe", "--out", tmp_path, "--workers", 2, "--json")
    result = invoke(*words)
    assert result.exit_code == 0, result.stderr
    kept = ("networks", "classes", "patterns", "best_score")
    ours = [[row[key] for key in kept] for row in rows_of(json.loads(result.stdout), "table2")]
    assert ours == [[row[key] for key in kept] for row in rows_of(finished[1], "table2", data="tictactoe")]


def test_the_package_has_no_such_command():
    result = CliRunner().invoke(app, ["reproduce", "table2"])
    assert (result.exit_code, "No such command 'reproduce'" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("name", "networks", "marks"),
    [("wine", [308, 3449, 26153], ["equal", "equal", "different"]), ("voting", [27, 441, 2222], ["equal"] * 3)],
)
def test_real_rows(shared_data, tmp_path, name, networks, marks):
    plan, sources = make_plan(["table2"], [name]), Sources(shared_data)
    assert not run_plan(plan, sources, tmp_path, None).unfinished
    rows = [row for row in collect_tables(plan, sources, tmp_path)["table2"].rows if row["data"] == name]
    assert [row["networks"] for row in rows] == networks
    assert [row["networks_mark"] for row in rows] == marks


@pytest.mark.slow
def test_samples_of_real_networks_agree_with_print(shared_data, tmp_path):
    """Barley has up to 67 states a variable: only with all of them declared are there so few networks."""
    plan, sources = make_plan(["table4"], ["barley"], Samples((50,), 3)), Sources(shared_data)
    assert not run_plan(plan, sources, tmp_path, None).unfinished
    table = collect_tables(plan, sources, tmp_path)["table4"]
    rows = [row for row in table.rows if (row["network"], row["size"]) == ("barley", 50)]
    assert [row["mark"] for row in rows] == ["compatible"] * 3
