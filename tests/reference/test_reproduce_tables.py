"""The printed numbers, the marks, and the tables that are made of answers, without a search."""

import csv
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.counts import count_of, with_least
from paper.experiment import Samples
from paper.experiments import EXPERIMENTS
from paper.experiments.figure1 import DeviationsTask
from paper.experiments.table1 import CandidatesTask
from paper.experiments.table2 import CountsTask
from paper.experiments.table3 import KBestTask
from paper.marks import MEANINGS, Count, Mark, Spread, could_be_truncated, mark_count, mark_mean, spread
from paper.printed import BAYES_FACTORS, STATUSES, find_printed, known_names, other_data, printed_names, printed_rows
from paper.results import (
    as_csv,
    as_markdown,
    count_text,
    mark_counts,
    plural,
    printed_text,
    ratio_text,
    seconds_text,
    spread_text,
)
from paper.run import make_plan
from paper.samples import SampleTask, sample_seed
from paper.sources import where_to_get


def lines_of(path):
    with open(path, encoding="utf-8") as source:
        return list(csv.DictReader(source))


def as_printed(value):
    return "" if value is None else str(value)


def test_tables_1_and_2_are_as_published(published):
    for line in lines_of(published / "table1_candidates.csv"):
        for score, factor in (("bic", 3), ("bic", 20), ("bic", 150), ("bdeu", 20)):
            row = find_printed("table1", data=line["data"], score=score, bayes_factor=factor)
            assert as_printed(row["candidates"]) == line[f"{score}_bf{factor}"]
            assert (str(row["n"]), str(row["N"])) == (line["n"], line["N"])
    for line in lines_of(published / "table2_bic_search.csv"):
        for factor in BAYES_FACTORS:
            row = find_printed("table2", data=line["data"], bayes_factor=factor)
            for what in ("seconds", "networks", "classes"):
                assert as_printed(row[what]) == line[f"{what}_bf{factor}"]


def test_table_3_is_as_published(published):
    lines = lines_of(published / "table3_bdeu_kbest.csv")
    for line in lines:
        k = int(line["k"]) if line["k"] else None
        of_credible, of_networks, of_classes = (
            find_printed("table3", data=line["data"], method=method, k=number)
            for method, number in (("credible", None), ("networks", k), ("classes", k))
        )
        for what in ("seconds", "networks", "classes"):
            assert as_printed(of_credible[what]) == line[f"bf20_{what}"]
        assert as_printed(of_networks["seconds"]) == line["kbest_seconds"]
        assert as_printed(of_classes["seconds"]) == line["kbestec_seconds"]
        assert as_printed(of_classes["networks"]) == line["kbestec_networks"]
    assert len(printed_rows("table3")) == 2 * len(lines) + len({line["data"] for line in lines})


@pytest.mark.parametrize(
    ("table", "file"), [("table4", "table4_synthetic_networks"), ("table5", "table5_synthetic_classes")]
)
def test_tables_4_and_5_are_as_published(published, table, file):
    lines = lines_of(published / f"{file}.csv")
    assert printed_names(table) == tuple(line["network"] for line in lines)
    for line in lines:
        for factor in BAYES_FACTORS:
            for size in Samples().sizes:
                row = find_printed(table, network=line["network"], bayes_factor=factor, size=size)
                shown = "±".join(as_printed(row[what]) for what in ("mean", "deviation"))
                assert shown.removesuffix("±") == line[f"bf{factor}_n{size}"]


def test_every_printed_word_is_a_known_status():
    for table in list(EXPERIMENTS)[:5]:
        for row in printed_rows(table):
            texts = {key: value for key, value in row.items() if isinstance(value, str)}
            named = ("data", "network", "score", "method")
            assert {value for key, value in texts.items() if key not in named} <= STATUSES.keys()


def test_every_name_can_be_had_somewhere():
    assert len(known_names()) == len(set(known_names()))
    for name in printed_names("table1"):
        assert "alisterl/eBNSL" in where_to_get(name, "data")
    assert all("http" not in where_to_get(name, need) for name in known_names() for need in ("data", "network"))


@pytest.mark.parametrize(
    ("ours", "printed", "options", "expected"),
    [
        (None, 192, {}, Mark.NOT_RUN),
        (Count(192), 192, {}, Mark.EQUAL),
        (Count(26_153), 26_197, {}, Mark.DIFFERENT),
        (Count(66), 67, {"is_tied": True}, Mark.TIED),
        (Count(67), 67, {"is_tied": True}, Mark.EQUAL),
        (Count(5), None, {}, Mark.NOT_PRINTED),
        (Count(5), "OT", {}, Mark.BEYOND),
        (Count(5, is_exact=False), "OM", {}, Mark.UNFINISHED),
        (Count(171_162), 150_000, {"is_truncated": True}, Mark.BEYOND),
        (Count(150_000), 150_000, {"is_truncated": True}, Mark.BEYOND),
        (Count(149_999), 150_000, {"is_truncated": True}, Mark.DIFFERENT),
        (Count(149_999, is_exact=False), 150_000, {"is_truncated": True}, Mark.UNFINISHED),
        (Count(200_000, is_exact=False), 150_000, {"is_truncated": True}, Mark.BEYOND),
        (Count(100, is_exact=False), 100, {}, Mark.UNFINISHED),
        (Count(101, is_exact=False), 100, {}, Mark.DIFFERENT),
    ],
)
def test_marks_of_counts(ours, printed, options, expected):
    assert mark_count(ours, printed, **options) is expected


@pytest.mark.parametrize(
    ("ours", "mean", "deviation", "is_truncated", "expected"),
    [
        (None, 25, 19, False, Mark.NOT_RUN),
        (Spread(3.0, 1.0, 10, 10), None, None, False, Mark.NOT_PRINTED),
        (Spread(30.0, 20.0, 10, 10), 25, 19, False, Mark.COMPATIBLE),
        (Spread(60.0, 20.0, 10, 10), 25, 19, False, Mark.DIFFERENT),
        (Spread(1.4, 0.0, 10, 10), 1, 0, False, Mark.COMPATIBLE),  # printed means are rounded
        (Spread(1.6, 0.0, 10, 10), 1, 0, False, Mark.DIFFERENT),
        (Spread(3.0, None, 1, 1), 4, 2, False, Mark.COMPATIBLE),
        (Spread(30.0, 20.0, 10, 9), 25, 19, False, Mark.UNFINISHED),
        (Spread(3.0, 1.0, 10, 0), 25, 19, False, Mark.UNFINISHED),
        (Spread(500.0, 20.0, 10, 9), 25, 19, False, Mark.DIFFERENT),
        (Spread(500.0, 20.0, 10, 10), "OT", None, False, Mark.BEYOND),
        (Spread(500.0, 20.0, 10, 9), "OT", None, False, Mark.UNFINISHED),
        (Spread(9e5, 20.0, 10, 10), 100_000, 0, True, Mark.BEYOND),
        (Spread(9e5, 20.0, 10, 0), 100_000, 0, True, Mark.BEYOND),
        (Spread(10.0, 20.0, 10, 0), 100_000, 0, True, Mark.UNFINISHED),
    ],
)
def test_marks_of_means(ours, mean, deviation, is_truncated, expected):
    assert mark_mean(ours, mean, deviation, is_truncated=is_truncated) is expected


def test_every_mark_has_a_meaning():
    assert set(MEANINGS) == set(Mark)


@given(st.lists(st.integers(1, 100_000), min_size=10, max_size=10), st.booleans())
def test_a_mean_with_a_sample_at_the_cap_is_never_compared(values, is_sample_deviation):
    values[0] = 100_000
    deviation = (statistics.stdev if is_sample_deviation else statistics.pstdev)(values)
    assert could_be_truncated(round(statistics.mean(values)), round(deviation))


def test_a_small_mean_is_compared():
    assert not could_be_truncated(1286, 779)
    assert not could_be_truncated("OT", None)


def test_spread_of_counts_of_any_length():
    found = spread([Count(10**40), Count(3 * 10**40)])
    assert found.mean == 2e40
    assert found.deviation == pytest.approx(math.sqrt(2) * 1e40)
    assert spread([]) is None


def answer(networks, classes, patterns=None, **more):
    return {
        "complete": True,
        "networks": networks,
        "classes": classes,
        "patterns": patterns,
        "seconds": {"score": 0.5, "search": 0.25},
        **more,
    }


def row_of(table, **conditions):
    (row,) = [row for row in table.rows if all(row[key] == value for key, value in conditions.items())]
    return row


def test_table_1_compares_both_rules():
    task = CandidatesTask("wine", "bic", 3)
    found = {"complete": True, "candidates": 591, "by_printed_rule": 592, "seconds": {"score": 0.1}}
    row = row_of(EXPERIMENTS["table1"].table({task: found}), data="wine", score="bic", bayes_factor=3)
    assert (row["candidates_mark"], row["by_printed_rule_mark"]) == ("different", "equal")
    refused = {"complete": False, "message": "too large", "stopped_because": "refused"}
    row = row_of(EXPERIMENTS["table1"].table({task: refused}), data="wine", score="bic", bayes_factor=3)
    assert (row["candidates"], row["candidates_mark"], row["message"]) == (None, "unfinished", "too large")


def test_table_2_compares_networks_and_patterns():
    answers = {
        CountsTask("wine", 3): answer(308, 7, 51),
        CountsTask("flag", 20): answer(171_162, 37_094, None),
        CountsTask("letter", 3): answer(5, 1, 2),
        CountsTask("alarm", 20): {**answer(90_000, 2_000), "complete": False, "message": "stopped"},
    }
    table = EXPERIMENTS["table2"].table(answers)
    assert len(table.rows) == len(EXPERIMENTS["table2"].tasks(Samples())) == 78
    wine = row_of(table, data="wine", bayes_factor=3)
    assert (wine["networks_mark"], wine["patterns_mark"], wine["classes"]) == ("equal", "equal", 7)
    flag = row_of(table, data="flag", bayes_factor=20)  # |M| of 150,000 networks; ours are at least as many as classes
    assert (flag["networks_mark"], flag["patterns_mark"]) == ("beyond", "unfinished")
    letter = row_of(table, data="letter", bayes_factor=3)
    assert (letter["networks_mark"], letter["patterns_mark"], letter["printed_networks"]) == ("beyond", "beyond", "OT")
    alarm = row_of(table, data="alarm", bayes_factor=20)
    assert (alarm["networks_mark"], alarm["patterns_mark"], alarm["seconds_search"]) == (
        "unfinished",
        "unfinished",
        None,
    )
    shown = {column.title: column.show(alarm) for column in table.columns}
    assert (shown["networks"], shown["classes"], shown["search (s)"]) == ("≥ 90,000", "≥ 2,000", "–")
    untouched = row_of(table, data="zoo", bayes_factor=3)
    assert untouched["networks_mark"] == "not run"
    assert mark_counts(table)[Mark.NOT_RUN] == 2 * (78 - 4)


def test_table_3_knows_where_the_paper_failed_for_all_k():
    answers = {task: answer(task.k or 152, 10, 24, n_tied=0) for task in EXPERIMENTS["table3"].tasks(Samples())}
    answers[KBestTask("tictactoe", "classes", 10)] = answer(66, 10, n_tied=3)
    table = EXPERIMENTS["table3"].table(answers)
    assert row_of(table, data="tictactoe", method="classes", k=10)["networks_mark"] == "tied"
    assert row_of(table, data="tictactoe", method="credible")["patterns_mark"] == "equal"
    for name, status in (("msnbc", "ES"), ("autos", "OM"), ("insurance", "OM")):
        for k in (10, 100, 1000):
            row = row_of(table, data=name, method="classes", k=k)
            assert (row["printed_seconds"], row["networks_mark"]) == (status, "beyond")
    assert row_of(table, data="hepatitis", method="networks", k=1000)["networks_mark"] == "beyond"
    assert row_of(table, data="hepatitis", method="networks", k=100)["networks_mark"] == "equal"
    assert row_of(table, data="voting", method="classes", k=100)["networks_mark"] == "different"


def sample_answer(*levels):
    named = {str(factor): level for factor, level in zip(BAYES_FACTORS, levels, strict=False)}
    return {"complete": len(levels) == 3 and levels[-1]["complete"], "levels": named, "message": None}


def test_tables_4_and_5_average_over_samples():
    answers = {
        SampleTask("cancer", 50, 0): sample_answer(answer(20, 8, 8), answer(300, 90, 99), answer(1000, 300, 310)),
        SampleTask("cancer", 50, 1): sample_answer(answer(30, 12, 12), {"complete": False, "message": "too large"}),
        SampleTask("cancer", 50, 2): {"complete": False, "message": "out of time"},
    }
    table = EXPERIMENTS["table4"].table(answers)
    assert len(table.rows) == 14 * 3 * 4
    three, twenty = (row_of(table, network="cancer", size=50, bayes_factor=factor) for factor in (3, 20))
    assert (three["networks_mean"], three["n_complete"], three["n_samples"]) == (17.0, 2, 3)  # 20, 30, at least 1
    assert twenty["networks_mean"] == pytest.approx((300 + 30 + 1) / 3)  # what is within 3 is within 20
    assert (three["is_networks_exact"], three["mark"]) == (False, "unfinished")
    assert next(column for column in table.columns if column.title == "ours").show(three).startswith("≥ 17 ±")
    assert row_of(table, network="asia", size=50, bayes_factor=3)["mark"] == "not run"
    first = {SampleTask("cancer", size, 0): answers[SampleTask("cancer", 50, 0)] for size in (50, 77)}
    classes = EXPERIMENTS["table5"].table(first)
    row = row_of(classes, network="cancer", size=50, bayes_factor=20)
    assert (row["classes_mean"], row["patterns_mean"], row["n_samples"]) == (90.0, 99.0, 1)
    assert row_of(classes, network="cancer", size=77, bayes_factor=3)["mark"] == "not printed"


def test_lower_bounds_of_a_larger_factor_come_from_the_smaller_ones():
    done, part = answer(20, 8, 9), {**answer(50, 6), "complete": False}
    assert with_least({3: done, 20: part}, 3) == done
    assert with_least({3: done, 20: part}, 20) == {**part, "networks": 50, "classes": 8, "patterns": 9}
    assert with_least({3: done, 20: part}, 150) == {"complete": False, "networks": 50, "classes": 8, "patterns": 9}
    assert with_least({20: done}, 3) is None
    assert with_least({3: answer(20, 8)}, 20)["patterns"] == 8  # patterns not counted: at least as many as classes
    refused = {"complete": False, "message": "too large"}
    table = EXPERIMENTS["table2"].table(
        {CountsTask("sponge", 20): answer(146_097, 7_898, 7_905), CountsTask("sponge", 150): refused}
    )
    row = row_of(table, data="sponge", bayes_factor=150)
    assert (row["networks"], row["classes"], row["patterns"], row["complete"]) == (146_097, 7_898, 7_905, False)
    assert row_of(table, data="sponge", bayes_factor=3)["complete"] is None


def test_seeds_differ_and_do_not_depend_on_the_order():
    tasks = EXPERIMENTS["table4"].tasks(Samples())
    assert len({sample_seed(task) for task in tasks}) == len(tasks) == 560
    assert sample_seed(SampleTask("win95pts", 1000, 9)) == sample_seed(tasks[-1])


def test_the_figure_joins_the_k_best_and_the_credible_set():
    found = {
        "complete": True,
        "k_best": [[1, 104, 0.0], [105, 1000, 1.25]],
        "credible": [[1, 104, 0.0], [105, 1200, 1.25], [1201, 1300, 2.0]],
    }
    rows = EXPERIMENTS["figure1"].table({DeviationsTask("tictactoe"): found}).rows
    assert [(row["first_k"], row["last_k"], row["source"]) for row in rows] == [
        (1, 104, "k best"),
        (105, 1000, "k best"),
        (1001, 1200, "credible set"),
        (1201, 1300, "credible set"),
    ]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_files_of_tables_are_regular(experiment):
    table = EXPERIMENTS[experiment].table({})
    assert table.name == experiment
    read = list(csv.DictReader(as_csv(table).splitlines()))
    assert len(read) == len(table.rows)
    assert as_csv(table).count("\n") == len(table.rows) + 1  # a header line in any case
    if not table.columns:
        return  # the figure has no table for people
    lines = as_markdown(table, "Made now.").splitlines()
    body = [line for line in lines if line.startswith("|")]
    assert len(body) == len(table.rows) + 2
    assert {line.replace("\\|", "").count("|") for line in body} == {len(table.columns) + 1}
    assert all(f"- {column.title}: {column.meaning}" in lines for column in table.columns)


def test_tasks_have_paths_of_their_own():
    tasks = make_plan(EXPERIMENTS).tasks
    assert len({task.key for task in tasks}) == len({task.label for task in tasks}) == len(tasks)
    assert all(task.key.replace("/", "").replace("-", "").isalnum() for task in tasks)


def test_an_experiment_is_one_module_with_its_name():
    assert list(EXPERIMENTS) == ["table1", "table2", "table3", "table4", "table5", "figure1"]
    assert all(experiment.name == name for name, experiment in EXPERIMENTS.items())


def test_records_stay_where_they_are():
    keys = [task.key for task in make_plan(["table2"], only=["wine"]).tasks]
    assert keys == ["table2/wine-3", "table2/wine-20", "table2/wine-150"]
    assert CandidatesTask("wine", "bic", 3).key == "table1/wine-bic-3"
    assert KBestTask("wine", "credible").key == "table3/wine-credible"
    assert KBestTask("wine", "classes", 10).key == "table3/wine-classes-10"
    assert SampleTask("asia", 50, 0).key == "samples/asia-50-0"
    assert DeviationsTask("wine").key == "figure1/wine"
    assert sample_seed(SampleTask("asia", 50, 0)) == 8555509583412391628


def test_numbers_as_text():
    assert [count_text(value) for value in (Count(26153), Count(5, is_exact=False), 1000, None)] == [
        "26,153",
        "≥ 5",
        "1,000",
        "–",
    ]
    assert [plural(1, "class"), plural(2000, "class"), plural(0, "network")] == [
        "1 class",
        "2,000 classes",
        "0 networks",
    ]
    assert [printed_text(value) for value in (26197, 143.7, "OT", None)] == ["26,197", "143.7", "OT", "–"]
    assert [seconds_text(value) for value in (0.00213, 12.345, 4321.4)] == ["0.0021", "12.3", "4,321.4"]
    assert [ratio_text(*pair) for pair in ((143.7, 0.09), ("OT", 0.1), (0.8, 1.6))] == ["1,597", "–", "0.5"]
    assert [spread_text(25.4, 19.2), spread_text(7.0, None, is_exact=False), spread_text("OT", None)] == [
        "25 ± 19",
        "≥ 7.0",
        "OT",
    ]


def test_patterns_that_were_not_counted_are_at_least_as_many_as_classes():
    assert count_of(answer(192, 8, None), "patterns") == Count(8, is_exact=False)
    assert count_of({"complete": False, "message": "too large"}, "networks") == Count(1, is_exact=False)
    assert count_of(None, "networks") is None


def test_other_data_than_the_paper_s_are_noticed():
    assert other_data("wine", {"n_variables": 14, "n_rows": 178}) is None
    expected = "wine: the file has n = 2 and N = 1, the paper prints 14 and 178"
    assert other_data("wine", {"n_variables": 2, "n_rows": 1}) == expected
