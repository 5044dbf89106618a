"""From data to the credible set, against brute force over all networks."""

import itertools
import json
import math
import os
import re
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import oracle
import strategies
from brute_force_engine import BruteForce, Waiting
from credibn import (
    AIC,
    BIC,
    BDeu,
    CredibnWarning,
    EdgeLogOdds,
    EdgePenalty,
    ScoreTable,
    k_best_classes,
    k_best_networks,
    learn,
    read_scores,
    score_parent_sets,
    write_scores,
)
from credibn.errors import CredibnError, OptionError, TooLargeError
from credibn.options import resolve_bytes
from credibn.search import ENGINES, tolerance_of
from networks import (
    BOUNDARY,
    assert_all_within,
    assert_sound,
    by_name,
    classes_of,
    dag_of,
    naive_costs,
    networks_by_cost,
    table_costs,
)
from profiles import examples

SCORES = {"bic": BIC(), "aic": AIC(), "bdeu-1": BDeu(1.0), "bdeu-10": BDeu(10.0)}
each_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES.keys())
few = examples(25, HealthCheck.data_too_large)
small_tables = strategies.coded_tables(max_columns=4, max_rows=30, max_arity=3)


@pytest.fixture(scope="module")
def tied():
    """Four columns, two of them equal: classes of several sizes, and ties between classes."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 60)
    return np.column_stack([x, x, rng.integers(0, 2, 60), (x + (rng.random(60) < 0.2)) % 2])


# ----------------------------------------------------------------------------------------- all that is credible


@each_score
@few
@given(table=small_tables, epsilon=strategies.epsilons())
def test_every_credible_network_is_found_once(engine, score, table, epsilon):
    found = learn(table.dataset(), score=score, epsilon=epsilon, engine=engine)
    assert found.complete
    assert found.grouping == "whole classes"
    assert_all_within(found, naive_costs(table, score), epsilon)


@each_score
@few
@given(draws=st.data(), table=small_tables, epsilon=strategies.epsilons())
def test_constraints_and_priors(engine, score, draws, table, epsilon):
    limits, prior = draws.draw(strategies.constraints(table)), draws.draw(strategies.priors(table.n))
    found = learn(table.dataset(), score=score, epsilon=epsilon, prior=prior, engine=engine, **by_name(limits))
    matrix = strategies.log_prior(prior, table.n)
    is_whole = not found.score_table.provenance["constraints"] and np.array_equal(matrix, matrix.T)
    assert found.grouping == ("whole classes" if is_whole else "credible members only")
    assert_all_within(found, naive_costs(table, score, limits, prior), epsilon)


@few
@given(table=small_tables, epsilon=strategies.epsilons())
def test_classes_and_networks_are_the_same_networks(engine, table, epsilon):
    by_class, by_network = (
        learn(table.dataset(), epsilon=epsilon, unit=unit, engine=engine) for unit in ("classes", "networks")
    )
    assert by_class.n_networks == by_network.n_networks
    assert by_class.n_classes == by_network.n_classes
    assert by_class.optimal_score == by_network.optimal_score
    assert set(assert_sound(by_class)) == set(assert_sound(by_network))
    assert by_network.grouping == "credible members only"


@few
@given(table=small_tables)
def test_epsilon_zero_gives_all_optimal_networks(engine, table):
    found = learn(table.dataset(), epsilon=0, engine=engine)
    listed = networks_by_cost(table.n, table_costs(found.score_table))
    most = listed[0][0] + tolerance_of(found.score_table)  # true ties may differ in the last bits
    assert set(assert_sound(found)) == {dag for cost, dag in listed if cost <= most}
    assert found.bayes_factor == 1.0


@pytest.mark.slow
@each_score
@examples(5)
@given(table=strategies.functional_tables(min_columns=5, max_columns=5), epsilon=strategies.epsilons())
def test_five_variables(engine, score, table, epsilon):
    found = learn(table.dataset(), score=score, epsilon=epsilon, engine=engine)
    assert_all_within(found, naive_costs(table, score), epsilon)


@pytest.mark.parametrize("score", ["gaussian-bic", "bge"])
def test_scores_of_numbers(engine, score):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    found = learn(x, score=score, bayes_factor=150, engine=engine)
    assert found.grouping == "whole classes"
    assert_all_within(found, table_costs(score_parent_sets(x, score=score, epsilon=1e6)), math.log(150))


def test_a_score_of_mixed_columns(engine):
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(6)
    kind = rng.integers(0, 2, 50)
    table = pa.table({"kind": [f"k{v}" for v in kind], "x": rng.normal(size=50) + kind, "y": rng.normal(size=50)})
    found = learn(table, score="conditional-gaussian-bic", epsilon=4, engine=engine)
    every = score_parent_sets(table, score="conditional-gaussian-bic", epsilon=1e6)
    assert_all_within(found, table_costs(every), 4)


@pytest.mark.parametrize(
    ("codes", "n_networks", "n_classes"),
    [
        (np.zeros((1, 1), dtype=int), 1, 1),
        (np.arange(6).reshape(6, 1) % 2, 1, 1),
        (np.zeros((5, 3), dtype=int), 1, 1),
        (np.column_stack([np.arange(40) % 2, np.arange(40) % 2, np.zeros(40, dtype=int)]), 2, 1),
    ],
    ids=["one cell", "one column", "all constant", "two copies and a constant"],
)
@pytest.mark.filterwarnings("ignore:.*column.*constant:credibn.CredibnWarning")
def test_small_and_degenerate_tables(engine, codes, n_networks, n_classes):
    found = learn(codes, bayes_factor=3, engine=engine)
    assert (found.n_networks, found.n_classes, found.complete) == (n_networks, n_classes, True)
    for graph in found.networks():
        assert len(graph) == codes.shape[1]
    assert_sound(found)


@each_score
def test_one_row_of_declared_states(engine, score):
    table = strategies.CodedTable(np.zeros((1, 3), dtype=int), (2, 2, 2), np.ones(1, dtype=int))
    found = learn(table.dataset(), score=score, epsilon=1.0, engine=engine)
    assert_all_within(found, naive_costs(table, score), 1.0)


def test_a_network_exactly_at_the_boundary_is_credible(engine):
    candidates = [[(-1.0, []), (-0.9, [1])], [(-1.0, []), (-0.9, [0])], [(-2.0, []), (-1.7, [0])]]
    table = ScoreTable.from_candidates(list("abc"), candidates, {"epsilon": 1.0})
    assert 1.0 + 1.0 + 2.0 > (0.9 + 1.0 + 1.7) + 0.4 - 1e-15  # in doubles, just so
    found = learn(table, epsilon=0.4, engine=engine)
    assert found.n_networks == 6
    assert learn(table, epsilon=0.4 - 1e-9, engine=engine).n_networks == 5
    assert found.optimal_score == pytest.approx(-3.6)


def test_numbers_of_threads_change_nothing(engine, tied):
    one, two = (learn(tied, engine=engine, n_threads=k, bayes_factor=150) for k in (1, 2))
    assert one.rows.choices.tobytes() == two.rows.choices.tobytes()
    assert one.rows.scores.tobytes() == two.rows.scores.tobytes()


# ----------------------------------------------------------------------------------------- epsilon by other names


@few
@given(table=small_tables, ratio=st.sampled_from([1.0, 1.01, 1.2, 2.0]))
def test_ratio(engine, table, ratio):
    found = learn(table.dataset(), ratio=ratio, engine=engine)
    costs = naive_costs(table, BIC())
    optimum = networks_by_cost(table.n, costs)[0][0]
    assert found.epsilon == pytest.approx((ratio - 1) * optimum, rel=1e-9, abs=1e-9)
    assert_all_within(found, costs, found.epsilon)


def test_a_ratio_of_a_positive_score_is_refused(engine):
    x = np.random.default_rng(0).normal(size=(50, 2)) * 1e-3
    with pytest.raises(OptionError, match=r"optimal log score is .*, above 0"):
        learn(x, score="gaussian-bic", ratio=1.1, engine=engine)


def test_bayes_factor_is_the_default_way(engine, tied):
    assert learn(tied, engine=engine).epsilon == math.log(20)
    assert learn(tied, engine=engine).bayes_factor == pytest.approx(20)
    assert learn(tied, engine=engine, epsilon=1000).bayes_factor == math.inf


# ----------------------------------------------------------------------------------------- limits


@pytest.mark.few(2)
@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_max_networks(engine, tied, unit):
    whole = learn(tied, epsilon=8, engine=engine, unit=unit)
    every = [graph.graph["score"] for graph in whole.networks()]
    for limit in (1, 2, 3, 7, len(every) - 1, len(every), len(every) + 1):
        found = learn(tied, epsilon=8, engine=engine, unit=unit, max_networks=limit)
        dags = assert_sound(found)
        assert 1 <= len(dags) <= limit
        assert found.complete is (limit >= len(every))
        assert found.stopped_because == (None if found.complete else "max_networks")
        assert found.optimal_score == whole.optimal_score
        assert found.is_optimum_proven
        if not found.complete:
            assert_bounded(found, whole)
            assert "max_networks" in repr(found)
            assert every[len(dags)] <= found.unexplored_bound <= every[len(dags) - 1]
            sizes = list(itertools.accumulate(member.size for member in whole.classes()))
            expected = max((size for size in sizes if size <= limit), default=limit) if unit == "classes" else limit
            assert found.n_networks == expected


def assert_bounded(found, whole):
    """No network above the bound is missing, and one at the bound is."""
    dags = {dag_of(graph) for graph in found.networks()}
    missing = [graph.graph["score"] for graph in whole.networks() if dag_of(graph) not in dags]
    assert max(missing) <= found.unexplored_bound + 1e-9
    assert f"above {found.unexplored_bound:.6f}" in found.guarantee
    factor = re.search(r"within a Bayes factor of ([\d.,]+) of it, is missing", found.guarantee)
    gap = found.optimal_score - found.unexplored_bound
    assert (factor is not None) == (0.01 <= gap <= 13)
    if factor:
        assert float(factor[1].replace(",", "")) == pytest.approx(math.exp(gap), rel=0.01)


@pytest.mark.few(2)
@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_max_classes(engine, tied, unit):
    whole = learn(tied, epsilon=8, engine=engine, unit=unit)
    scores = [member.score for member in whole.classes()]
    for limit in (1, 2, 3, 5, whole.n_classes, whole.n_classes + 1):
        found = learn(tied, epsilon=8, engine=engine, unit=unit, max_classes=limit)
        assert_sound(found)
        expected = sum(score >= scores[min(limit, len(scores)) - 1] - 1e-9 for score in scores)
        assert found.n_classes == expected
        assert found.complete is (expected == whole.n_classes)
        if not found.complete:
            assert found.stopped_because == "max_classes"
            assert_bounded(found, whole)


@pytest.mark.few(1)
def test_max_classes_where_classes_have_many_members(engine, tied, monkeypatch):
    monkeypatch.setattr("credibn.learning.runs.FEWEST_ROWS", 1)
    test_max_classes(engine, tied, "networks")


def test_both_limits(engine, tied):
    found = learn(tied, epsilon=8, engine=engine, max_classes=2, max_networks=1)
    assert (found.n_networks, found.stopped_because) == (1, "max_networks")


@pytest.fixture
def waiting(monkeypatch):
    def use(**options):
        monkeypatch.setitem(ENGINES, "waiting", Waiting(**options))
        return "waiting"

    return use


def test_time_limit_during_the_search(tied, waiting):
    whole = learn(tied, engine=waiting(), time_limit=1.5, epsilon=8)
    assert (whole.complete, whole.stopped_because) == (False, "time_limit")
    assert whole.n_networks > 0
    assert "The optimum is proven. No network that scores above" in whole.summary()
    assert_sound(whole)


def test_ctrl_c_keeps_what_was_found(tied, waiting):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = learn(tied, engine=waiting(before_waiting=lambda: os.kill(os.getpid(), signal.SIGINT)), epsilon=8)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert (found.complete, found.stopped_because) == (False, "interrupted")
        assert found.n_networks > 0
        engine = waiting(before_waiting=lambda: os.kill(os.getpid(), signal.SIGINT), has_found=False)
        found = learn(tied, engine=engine, epsilon=8)
        assert (found.n_networks, found.stopped_because) == (1, "interrupted")
        with pytest.raises(KeyboardInterrupt):
            learn(tied, engine=waiting(before_waiting=lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in "ab"]))
    finally:
        signal.signal(signal.SIGINT, before)


def test_progress_is_told_and_can_stop(tied, waiting, engine):
    seen = []
    learn(tied, engine=engine, progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert seen[0][0] == "score"
    assert len({stage for stage, _ in seen}) >= 2
    found = learn(tied, engine=waiting(), epsilon=8, progress=lambda stage, _: stage == "score" or fewer(seen))
    assert (found.complete, found.stopped_because) == (False, "interrupted")
    with pytest.warns(CredibnWarning, match="the run was stopped when 0% of the scoring was done"):
        found = learn(tied, engine=engine, progress=lambda *_: False)
    assert (found.n_networks, found.stopped_because, found.unexplored_bound) == (1, "interrupted", math.inf)

    def interrupt(stage, _):
        if stage != "score":
            raise KeyboardInterrupt

    found = learn(tied, engine=engine, progress=interrupt)
    assert (found.complete, found.stopped_because) == (False, "interrupted")
    assert len(list(found.networks())) == found.n_networks >= 1
    assert not found.is_optimum_proven


def fewer(seen):
    """False once the list is used up."""
    return bool(seen and seen.pop() and len(seen) > 1)


class OutOfMemory(BruteForce):
    name = "out_of_memory"

    def search(self, problem):
        raise MemoryError("the memory quota is full")


def test_memory_limit(engine, tied, monkeypatch):
    monkeypatch.setitem(ENGINES, "out_of_memory", OutOfMemory())
    with pytest.raises(
        TooLargeError,
        match=r"out of memory \(the memory quota is full\): the .*; or lower bayes_factor or epsilon, or set max_net",
    ):
        learn(tied, engine="out_of_memory")
    with pytest.raises(
        TooLargeError, match=r"needs about 512 bytes, above the memory limit of 1 byte; raise memory_limit"
    ):
        learn(tied, engine=engine, memory_limit=1)
    assert learn(tied, engine=engine, memory_limit="4G").complete


@pytest.mark.parametrize(
    ("limit", "size"),
    [(None, None), (1, 1), ("1", 1), ("2K", 2048), ("1.5 GiB", 3 << 29), ("3tb", 3 << 40), (".5M", 1 << 19)],
)
def test_memory_limits_are_read(limit, size):
    assert resolve_bytes(limit) == size


@pytest.mark.parametrize("limit", ["", "G", "1e999", "-1", "1,5G", "4X", "inf", "nan", str(2**63), 2**63, "0", "1 G B"])
def test_what_is_no_amount_of_memory_is_refused(limit):
    with pytest.raises(OptionError, match=r"memory_limit is .*; give an amount such as '500M' or '4G'"):
        resolve_bytes(limit)


# ----------------------------------------------------------------------------------------- the k best


@each_score
@few
@given(table=small_tables, k=st.sampled_from([1, 2, 5, 20, 100, 1000]))
def test_k_best_networks(engine, score, table, k):
    found = k_best_networks(table.dataset(), k, score=score, engine=engine)
    assert_k_best(found, networks_by_cost(table.n, naive_costs(table, score)), k)


@few
@given(draws=st.data(), table=small_tables, k=st.sampled_from([1, 3, 50]))
def test_k_best_networks_under_constraints(engine, draws, table, k):
    limits, prior = draws.draw(strategies.constraints(table)), draws.draw(strategies.priors(table.n))
    found = k_best_networks(table.dataset(), k, prior=prior, engine=engine, **by_name(limits))
    assert_k_best(found, networks_by_cost(table.n, naive_costs(table, BIC(), limits, prior)), k)


def assert_k_best(found, listed, k):
    assert found.complete
    assert_sound(found)
    assert found.n_networks == min(k, len(listed))
    scores = [graph.graph["score"] for graph in found.networks()]
    assert scores == pytest.approx([-cost for cost, _ in listed[:k]], rel=1e-9, abs=1e-7)
    assert found.epsilon == pytest.approx(scores[0] - scores[-1], abs=1e-9)
    n_close, n_sure = (
        sum(cost <= listed[len(scores) - 1][0] + slack for cost, _ in listed) - len(scores) for slack in (1e-7, -1e-7)
    )
    assert max(n_sure, 0) <= found.n_tied_at_boundary <= n_close


@each_score
@few
@given(table=small_tables, k=st.sampled_from([1, 2, 5, 20, 200]))
def test_k_best_classes(engine, score, table, k):
    found = k_best_classes(table.dataset(), k, score=score, engine=engine)
    listed = networks_by_cost(table.n, naive_costs(table, score))
    cost_of = {dag: cost for cost, dag in listed}
    best = sorted(min(cost_of[dag] for dag in group) for group in classes_of([dag for _, dag in listed]))
    assert_sound(found)
    assert found.complete
    assert found.n_classes == min(k, len(best))
    assert [-member.score for member in found.classes()] == pytest.approx(best[:k], rel=1e-9, abs=1e-7)
    assert found.n_tied_at_boundary <= sum(cost <= best[found.n_classes - 1] + 1e-7 for cost in best) - found.n_classes


@pytest.mark.few(1)
def test_ties_at_the_boundary_are_reported(engine, tied):
    whole = learn(tied, epsilon=40, engine=engine)
    scores = [graph.graph["score"] for graph in whole.networks()]
    of_classes = [member.score for member in whole.classes()]
    for k in (1, 2, 3, 5, 8, 13, 21, 29):
        best = k_best_networks(tied, k, engine=engine)
        assert best.n_tied_at_boundary == scores.count(scores[k - 1]) - (k - scores.index(scores[k - 1]))
        classes = k_best_classes(tied, k, engine=engine)
        assert classes.n_tied_at_boundary == of_classes.count(of_classes[k - 1]) - (
            k - of_classes.index(of_classes[k - 1])
        )
        assert ("more tie" in best.guarantee) is (best.n_tied_at_boundary > 0)


@pytest.mark.parametrize("find", [k_best_networks, k_best_classes])
def test_k_best_by_network(engine, tied, find):
    by_class, by_network = (find(tied, 12, engine=engine, unit=unit) for unit in ("classes", "networks"))
    assert [m.score for m in by_class.classes()] == [m.score for m in by_network.classes()]
    assert by_class.n_tied_at_boundary == by_network.n_tied_at_boundary


def test_k_best_of_given_scores(engine, tied):
    table = score_parent_sets(tied, epsilon=3)
    assert k_best_networks(table, 3, engine=engine).complete
    short = k_best_networks(table, 500, engine=engine)
    assert (short.complete, short.stopped_because) == (False, "score_table")
    assert short.unexplored_bound == pytest.approx(short.optimal_score - 3)
    assert short.n_networks == learn(table, epsilon=3, engine=engine).n_networks
    unknown = ScoreTable(table.names, table.offsets, table.scores, table.masks, {"score_equivalent": True})
    with pytest.warns(CredibnWarning, match="only among networks made of the parent sets"):
        everything = k_best_networks(unknown, 10**6, unit="networks", engine=engine)
    assert everything.complete
    assert everything.n_networks == len(networks_by_cost(4, table_costs(table)))


def test_k_best_stopped(tied, waiting):
    found = k_best_networks(tied, 20, engine=waiting(), time_limit=1.5)
    assert (found.complete, found.stopped_because) == (False, "time_limit")
    assert found.n_requested == 20
    assert_sound(found)


@pytest.mark.parametrize("k", [0, -1, None, 1.5, True, "3"])
def test_a_wrong_k_is_refused(engine, tied, k):
    with pytest.raises(OptionError, match="k is"):
        k_best_networks(tied, k, engine=engine)


def test_k_best_takes_no_epsilon(engine, tied):
    with pytest.raises(OptionError, match="takes no epsilon: it finds the k best; give only k"):
        k_best_classes(tied, 3, epsilon=1, engine=engine)


# ----------------------------------------------------------------------------------------- scores that are given


def test_given_scores_are_searched(engine, tied, tmp_path):
    table = score_parent_sets(tied, bayes_factor=20)
    path = tmp_path / "tied.scores"
    write_scores(table, path)
    direct = learn(tied, engine=engine)
    for found in (learn(table, engine=engine), learn(scores=table, engine=engine), learn(scores=path, engine=engine)):
        assert found.rows.choices.tobytes() == direct.rows.choices.tobytes()
        assert found.optimal_score == direct.optimal_score
    smaller = learn(table, epsilon=1.0, engine=engine)
    assert smaller.n_networks == learn(tied, epsilon=1.0, engine=engine).n_networks
    with pytest.raises(
        OptionError, match=r"pruned for networks within 2.99573 .* score again with epsilon=4.0 or more"
    ):
        learn(table, epsilon=4, engine=engine)
    with pytest.raises(OptionError, match="score again"):
        learn(table, ratio=1.5, engine=engine)


def test_scores_of_unknown_origin(engine, tied, tmp_path):
    path = tmp_path / "tied.jkl"
    write_scores(score_parent_sets(tied, epsilon=8), path)
    table = read_scores(path)
    with pytest.warns(CredibnWarning, match="complete only among networks made of"):
        careful = learn(table, epsilon=8, engine=engine)
    assert careful.grouping == "credible members only"
    with pytest.warns(CredibnWarning, match="complete only among networks made of"):
        trusting = learn(table, epsilon=8, engine=engine, score_equivalent=True)
    assert trusting.grouping == "whole classes"
    assert set(assert_sound(careful)) == set(assert_sound(trusting))
    with pytest.warns(CredibnWarning), pytest.raises(OptionError, match="score_equivalent=True asserts it"):
        learn(table, unit="classes", engine=engine)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bayes_factor": 3, "ratio": 1.1}, "both bayes_factor=3 and ratio=1.1"),
        ({"epsilon": 3, "ratio": 1.1}, "both epsilon=3 and ratio=1.1"),
        ({"ratio": 0.9}, "ratio is 0.9"),
        ({"ratio": "much"}, "ratio is 'much'; give a number"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"unit": "dags"}, "unit is 'dags'"),
        ({"unit": "classes", "max_parents": 1}, "unit is 'classes', but the constraints may"),
        ({"unit": "classes", "prior": EdgeLogOdds({("X0", "X1"): 1.0})}, "score differently under this score or prior"),
        ({"score_equivalent": False}, "score_equivalent=False was given, but the table says True"),
        ({"max_networks": 0}, "max_networks is 0"),
        ({"max_classes": 2.5}, "max_classes is 2.5"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": "1"}, "time_limit is '1'"),
        ({"memory_limit": "much"}, "memory_limit is 'much'"),
        ({"memory_limit": 0}, "memory_limit is 0"),
        ({"memory_limit": 1.5}, "memory_limit is 1.5"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"engine": "steam"}, "unknown engine 'steam'; choose one of auto"),
        ({"scores": "x.jkl"}, "give either data or scores; both were given"),
    ],
)
def test_options_refused(engine, tied, options, message):
    with pytest.raises(CredibnError, match=message):
        learn(tied, **{"engine": engine, **options})


def test_sources_refused(engine, tied):
    table = score_parent_sets(tied)
    for source, options, message in [
        (None, {}, "neither was"),
        (table, {"scores": table}, "give one of them"),
        (table, {"max_parents": 2}, "max_parents cannot change given scores"),
        (table, {"score": "bdeu", "missing": "drop"}, "score, missing cannot change given scores"),
        (None, {"scores": 3}, "scores is 3"),
    ]:
        with pytest.raises(OptionError, match=message):
            learn(source, engine=engine, **options)


def test_a_problem_that_is_too_large_for_the_engine(engine):
    if engine != "brute_force":
        pytest.skip("its limit is elsewhere")
    with pytest.raises(TooLargeError, match=r"engine='brute_force' cannot take this problem .* at most 5 variables"):
        learn(np.random.default_rng(0).integers(0, 2, (20, 6)), engine=engine)


def test_settings_provenance_and_timings(engine, tied):
    edges = (edge for edge in [("X0", "X2")])  # an iterator, which can be read once only
    found = learn(tied, engine=engine, forbidden_edges=edges, prior=EdgePenalty(0.5), missing="drop", n_threads=1)
    assert json.loads(json.dumps(dict(found.settings))) == found.settings
    assert found.settings["forbidden_edges"] == [["X0", "X2"]]
    assert found.settings["prior"] == {"kind": "edge penalty", "log_penalty": 0.5}
    assert found.settings["missing"] == "drop"
    assert "n_threads" not in found.settings  # the result does not depend on it
    assert found.settings["bayes_factor"] is None
    assert found.provenance["n_rows"] == 60
    assert found.provenance["data_fingerprint"] == found.score_table.provenance["data_fingerprint"]
    assert found.engine == engine
    assert set(found.timings) == {"read", "score", "search", "posterior", "total"}
    assert found.timings["read"] + found.timings["score"] + found.timings["search"] <= found.timings["total"]
    unlimited = learn(tied, engine=engine, time_limit=math.inf, max_networks=np.int64(10**6))
    assert unlimited.settings["time_limit"] == "inf"
    assert unlimited.settings["max_networks"] == 10**6
    again = k_best_networks(tied, 3, forbidden_edges=(e for e in ["X0->X2"]), engine=engine)
    assert again.settings["forbidden_edges"] == ["X0->X2"]
    assert again.settings["k"] == 3


def test_the_oracle_of_these_tests():
    assert len(oracle.all_dags(4)) == 543
    assert len(classes_of(oracle.all_dags(4))) == 185
    assert BOUNDARY < 1e-6
