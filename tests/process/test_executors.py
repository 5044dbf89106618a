"""Scoring in tasks, on real executors: the same bytes as in one process, also when a worker is killed."""

import math
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn import CredibnWarning, _core, k_best_classes, learn, read_data, score_parent_sets
from credibn._run import Run, Store
from credibn.errors import DataError, OptionError, TimeLimitError, WorkerError
from credibn.examples import sample_asia
from credibn.options import ScoreOptions, resolve_epsilon
from credibn.scores import GaussianBIC, scoring
from credibn.scores import tasks as scoring_tasks
from credibn.scores.estimate import estimate_problem
from credibn.scores.setup import make_problem
from profiles import examples
from strategies import coded_tables, constraints, epsilons, functional_tables, priors
from worker_tasks import LocalCosts, PairCosts, SlowOnce, die

pytestmark = pytest.mark.xdist_group("executors")  # they share pools of processes


def score_on(run, data, *, engine="auto", **options):
    epsilon = resolve_epsilon(epsilon=options.get("epsilon"))
    problem = make_problem(data, ScoreOptions.of(options), epsilon)
    estimate = estimate_problem(problem, engine)
    return scoring.table_of(problem, options.get("prior"), estimate, scoring._score(problem, estimate, run))


class Clock:
    """Stands still, and jumps a day ahead after some calls."""

    def __init__(self, n_calls=None):
        self.n_calls = n_calls

    def __call__(self):
        if self.n_calls is None:
            return 0.0
        self.n_calls -= 1
        return 0.0 if self.n_calls >= 0 else 86_400.0


def same(table, other):
    """Whether two score tables agree to the last bit."""
    return (
        table.names == other.names
        and table.offsets.tobytes() == other.offsets.tobytes()
        and table.scores.tobytes() == other.scores.tobytes()
        and table.masks.tobytes() == other.masks.tobytes()
        and table.provenance == other.provenance
    )


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def loky_processes():
    loky = pytest.importorskip("loky")
    executor = loky.ProcessPoolExecutor(2)
    yield executor
    executor.shutdown()


@pytest.fixture(scope="module")
def dask_client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# ---- cut and put together again, in this process ----

ENGINES = [("bic", "table"), ("bic", "descent"), ("bdeu", "table"), ("bdeu", "descent")]


class Here(Executor):
    """Does the work at once, where it is submitted."""

    def submit(self, function, /, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


@pytest.mark.parametrize(("score", "engine"), ENGINES)
@examples(20)
@given(data=st.data())
def test_tasks_give_the_bytes_of_one_run(score, engine, data):
    table = data.draw(st.one_of(coded_tables(max_weight=3), functional_tables(max_columns=6)))
    options = data.draw(constraints(table))
    options |= {"prior": data.draw(priors(table.n)), "epsilon": data.draw(epsilons())}
    whole = score_parent_sets(table.dataset(), score=score, engine=engine, n_threads=1, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring_tasks, "_MOST_TASKS", data.draw(st.sampled_from([1, 3, 100])))
        cut = score_parent_sets(table.dataset(), score=score, engine=engine, executor=Here(), **options)
    assert same(whole, cut)


@examples(10)
@given(coded_tables(min_columns=2, max_columns=5), st.sampled_from([PairCosts(), LocalCosts()]), epsilons(), st.data())
def test_python_scores_in_tasks_give_the_bytes_of_one_run(table, score, epsilon, data):
    options = data.draw(constraints(table)) | {"score": score, "epsilon": epsilon}
    whole = score_parent_sets(table.dataset(), **options)
    assert same(whole, score_parent_sets(table.dataset(), executor=Here(), **options))


def wide_table(n=21, n_rows=300):
    """More columns than a task of the descent engine takes whole, and among them one of many states."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 3, n_rows), rng.integers(0, 40, n_rows)]
    for v in range(2, n):
        source = columns[rng.integers(0, v)] + columns[rng.integers(0, v)]
        columns.append(np.where(rng.random(n_rows) < 0.2, rng.integers(0, 2, n_rows), source % 2))
    return np.column_stack(columns)


@pytest.mark.parametrize(("score", "engine"), ENGINES)
def test_tasks_of_many_columns_give_the_bytes_of_one_run(score, engine):
    options = {"score": score, "engine": engine, "max_parents": 3}
    whole = score_parent_sets(wide_table(), **options)
    for n_tasks in (7, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scoring_tasks, "_MOST_TASKS", n_tasks)
            assert same(whole, score_parent_sets(wide_table(), executor=Here(), **options))


@pytest.mark.parametrize("engine", ["table", "descent"])
def test_tasks_do_not_depend_on_the_worker(engine):
    problem = make_problem(wide_table(), ScoreOptions(max_parents=4), resolve_epsilon())
    whole = _core.DiscreteProblem(**scoring_tasks.core_arguments(problem), rules=scoring.RULES)
    weights = (whole.table_weights if engine == "table" else whole.descent_weights)()
    cuts = scoring_tasks.split_evenly(weights.tolist(), 100)
    shares = [weights[first:last].sum() / weights.sum() for first, last in cuts]
    assert 80 <= len(cuts) <= 200
    assert max(shares) < 0.05
    # Each task gives each set once: 1 + 21 + ... sets of up to five columns for the table.
    if engine == "table":
        assert weights.sum() == 1 + 21 + 210 + 1330 + 5985 + 20349


def test_numbers_are_scored_in_tasks(processes):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    for score in (GaussianBIC(), "bge"):
        assert same(
            score_parent_sets(x, score=score, max_parents=4),
            score_parent_sets(x, score=score, max_parents=4, executor=processes),
        )


# ---- other processes ----


@pytest.mark.parametrize("kind", ["processes", "loky_processes", "dask_client"])
@pytest.mark.parametrize(
    ("score", "engine"), [("bdeu", "descent"), ("bic", "table"), (PairCosts(), "auto"), (LocalCosts(), "auto")]
)
def test_executors_give_the_bytes_of_one_run(kind, score, engine, request):
    executor = request.getfixturevalue(kind)
    if kind == "dask_client":
        executor = executor.get_executor()
    options = {"score": score, "engine": engine, "max_parents": 2}
    assert same(
        score_parent_sets(sample_asia(), **options), score_parent_sets(sample_asia(), executor=executor, **options)
    )


@pytest.mark.slow
def test_a_dask_client_is_taken_as_it_is(dask_client):
    assert Run(executor=dask_client).n_workers == 2
    assert same(score_parent_sets(sample_asia()), score_parent_sets(sample_asia(), executor=dask_client))


@pytest.mark.parametrize("kind", ["loky_processes", "dask_client"])
def test_a_score_defined_in_a_notebook_travels_with(kind, request):
    executor = request.getfixturevalue(kind)

    class Own(PairCosts):
        name = "own"

    Own.__module__ = "__main__"
    whole = score_parent_sets(sample_asia(), score=Own(), max_parents=2)
    assert same(whole, score_parent_sets(sample_asia(), score=Own(), max_parents=2, executor=executor))


def test_a_score_that_cannot_travel_is_explained(processes):
    class Own(PairCosts):
        name = "own"

    with pytest.raises(OptionError, match="define your score in a module"):
        score_parent_sets(sample_asia(), score=Own(), executor=processes)


def test_an_error_of_a_score_arrives_from_another_process(processes):
    rows = np.column_stack([np.arange(60) % 2, np.arange(60) % 3]).astype(float)
    with pytest.raises(DataError, match=r"'pair-costs' is nan for the set \{.*\}; a score must be finite"):
        score_parent_sets(rows, score=_Undefined(), executor=processes)


class _Undefined(PairCosts):
    columns = "mixed"

    def set_costs(self, data, sets):
        return np.full(len(sets), np.nan)


def kill_when_written(file):
    """Kill the process whose number is written to the file, once it is there."""

    def kill():
        for _ in range(600):
            text = file.read_text() if file.exists() else ""
            if text:
                os.kill(int(text), signal.SIGKILL)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.slow
def test_dask_continues_when_a_worker_is_killed(dask_client, tmp_path):
    whole = score_parent_sets(sample_asia(), score=SlowOnce(tmp_path / "here", 0.0), max_parents=2)
    killer = kill_when_written(tmp_path / "there")
    cut = score_parent_sets(
        sample_asia(), score=SlowOnce(tmp_path / "there", 60.0), max_parents=2, executor=dask_client.get_executor()
    )
    killer.join()
    killed = int((tmp_path / "there").read_text())
    assert killed != os.getpid()
    assert killed not in dask_client.run(os.getpid).values()
    assert same(whole, cut)


@pytest.mark.slow
def test_a_task_that_kills_every_worker_of_dask_is_explained(dask_client):
    scheduler = dask_client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(WorkerError, match=r"is broken \(KilledWorker"):
            list(Run(executor=dask_client).do("test", "q", die, None, [1], lambda fraction: True))
    finally:
        scheduler.allowed_failures = allowed


@pytest.mark.parametrize("kind", ["processes", "loky"])
def test_a_killed_worker_of_a_pool_is_explained_and_the_run_can_be_taken_up(kind, tmp_path):
    if kind == "loky":
        executor = pytest.importorskip("loky").ProcessPoolExecutor(1)
    else:
        executor = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    killer = kill_when_written(tmp_path / "pid")
    run = Run(executor=executor, store=Store(tmp_path / "kept"))
    run.store.seconds_before_writing = 0.0
    options = {"score": SlowOnce(tmp_path / "pid", 60.0), "max_parents": 2}
    with pytest.raises(WorkerError, match=r"is broken .*: start again to resume"):
        score_on(run, sample_asia(), **options)
    killer.join()
    executor.shutdown()
    run.store.close()
    again = Run(store=Store(tmp_path / "kept"))
    assert same(score_on(again, sample_asia(), **options), score_parent_sets(sample_asia(), **options))
    again.store.remove()


# ---- checkpoints ----


def test_scoring_is_taken_up_where_it_was_stopped(tmp_path):
    def stop_at_half(stage, fraction):
        return fraction < 0.4

    options = {"score": "bdeu", "engine": "descent", "max_parents": 5}
    whole = score_parent_sets(wide_table(), **options)
    first = Run(stop_at_half, store=Store(tmp_path / "kept"))
    first.store.seconds_before_writing = 0.0
    with pytest.raises(KeyboardInterrupt):
        score_on(first, wide_table(), **options)
    first.store.close()
    assert list((tmp_path / "kept").glob("score-task-*.checkpoint"))
    seen = []
    second = Run(lambda stage, fraction: seen.append(fraction), store=Store(tmp_path / "kept"))
    found = score_on(second, wide_table(), **options)
    assert same(whole, found)
    assert seen[0] > 0.1  # what was kept is not done again
    second.store.remove()


@pytest.mark.slow
def test_other_data_or_options_use_nothing_from_the_checkpoint(tmp_path):
    run = Run(store=Store(tmp_path))
    run.store.seconds_before_writing = 0.0
    variants = [
        {},
        {"epsilon": 1.0},
        {"score": "bdeu"},
        {"score": "bdeu", "equivalent_sample_size": 2.0},
        {"max_parents": 1},
        {"forbidden_edges": ["tub->lung"]},
        {"engine": "descent"},
    ]
    for options in [*variants, *variants]:
        found = score_on(run, sample_asia(), **options)
        assert same(found, score_parent_sets(sample_asia(), **options))
    found = score_on(run, sample_asia(seed=9))
    assert same(found, score_parent_sets(sample_asia(seed=9)))
    run.store.remove()


@pytest.mark.parametrize("executor", [None, "threads"])
def test_scoring_in_tasks_can_be_stopped(tmp_path, executor):
    pool = ThreadPoolExecutor(1) if executor else None
    run = Run(lambda stage, fraction: False, executor=pool, store=Store(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        score_on(run, sample_asia())
    run.store.remove()


def test_a_deadline_that_passes_in_a_worker_is_the_time_limit_and_no_interruption():
    run = Run(executor=ThreadPoolExecutor(1), time_limit=1e-9, clock=Clock())
    with pytest.raises(TimeLimitError, match="time limit was reached when 0% of the scoring was done"):
        score_on(run, sample_asia())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_in_this_process_the_run_has_the_only_clock(tmp_path, n_threads):
    run = Run(store=Store(tmp_path / "checkpoint"), n_threads=n_threads, time_limit=1e-9, clock=Clock())
    table = score_on(run, sample_asia())
    assert table.n_candidates == score_parent_sets(sample_asia()).n_candidates
    run.store.remove()


# ---- from data to the credible set ----


def noise(n_variables=24, n_rows=60):
    """Columns that tell nothing about each other: the search has to list many networks."""
    return np.random.default_rng(1).integers(0, 2, (n_rows, n_variables))


def same_set(one, other):
    return (
        one.rows.choices.tobytes() == other.rows.choices.tobytes()
        and one.rows.scores.tobytes() == other.rows.scores.tobytes()
        and one.rows.sizes.tobytes() == other.rows.sizes.tobytes()
        and one.optimal_score == other.optimal_score
        and one.complete
        and other.complete
        and dict(one.settings) == dict(other.settings)
        and same(one.score_table, other.score_table)
    )


@pytest.mark.parametrize("engine", ["dynamic_programming", "integer_program"])
@pytest.mark.parametrize("kind", ["processes", "loky_processes", "dask_client"])
def test_learning_on_an_executor(kind, engine, request):
    executor = request.getfixturevalue(kind)
    options = {"bayes_factor": 3, "engine": engine, "posterior_share": False}
    here, there = learn(noise(14), **options), learn(noise(14), **options, executor=executor)
    assert same_set(here, there)
    assert there.n_classes > 100


def test_the_k_best_on_an_executor(processes):
    options = {"k": 50, "engine": "integer_program", "posterior_share": False}
    here, there = (k_best_classes(noise(12), executor=executor, **options) for executor in (None, processes))
    assert same_set(here, there)


@pytest.mark.slow
def test_dask_continues_when_a_worker_is_killed_in_the_search(dask_client):
    workers = sorted(dask_client.run(os.getpid).values())

    def kill(stage, fraction):
        """Kill all workers, so that the one at work is among them; Dask starts new ones."""
        while stage == "branches" and workers:
            os.kill(workers.pop(), signal.SIGKILL)

    options = {"bayes_factor": 3, "engine": "integer_program", "posterior_share": False}
    there = learn(noise(), **options, executor=dask_client, progress=kill)
    assert not workers
    assert same_set(learn(noise(), **options), there)


def test_a_search_on_an_executor_can_be_stopped(processes):
    """What the workers have found by then is here, and none is missing above the bound."""
    options = {"bayes_factor": 3, "engine": "integer_program", "posterior_share": False}
    whole = learn(noise(), **options)
    some = learn(noise(), **options, executor=processes, progress=lambda stage, fraction: stage != "branches")
    assert (some.complete, some.stopped_because) == (False, "interrupted")
    known = {tuple(row): score for row, score in zip(whole.rows.choices.tolist(), whole.rows.scores, strict=True)}
    rows = [tuple(row) for row in some.rows.choices.tolist()]
    assert set(rows) <= set(known)
    missing = max(score for row, score in known.items() if row not in set(rows))
    assert missing <= some.unexplored_bound + 1e-9


def test_a_score_without_a_version_is_not_cached(tmp_path):
    class Changing(PairCosts):
        version = None

    for score, is_kept in ((Changing(), False), (PairCosts(), True)):
        run = Run(store=Store(tmp_path / str(is_kept)))
        run.store.seconds_before_writing = 0.0
        score_on(run, sample_asia(), score=score, max_parents=2)
        assert run.store.is_resuming is is_kept
        run.store.close()


@pytest.mark.slow
def test_a_time_limit_on_an_executor_is_named_as_the_reason(processes):
    table = score_parent_sets(noise(), bayes_factor=150)
    processes.submit(learn, noise(4)).result()  # a worker has started, however long that takes
    found = learn(table, bayes_factor=150, engine="integer_program", time_limit=5.0, executor=processes)
    assert (found.complete, found.stopped_because) == (False, "time_limit")


@pytest.fixture
def watch_clock(monkeypatch):
    """Lets the watch of a run have a clock of its own."""

    def use(clock):
        monkeypatch.setattr("credibn.learning.start.Run", partial(Run, clock=clock))

    return use


def test_no_deadline_but_that_of_the_watch_ends_a_run_with_a_checkpoint(watch_clock, tmp_path):
    """By the watch's clock no time passes, so a limit of a nanosecond is never reached."""
    watch_clock(Clock())
    found = learn(read_data(sample_asia()), time_limit=1e-9, checkpoint=tmp_path / "checkpoint", n_threads=1)
    assert (found.n_networks, found.complete) == (35, True)


@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
@pytest.mark.parametrize("n_calls", [4, 5, 6, 7, 8, 9, 12])
@pytest.mark.parametrize("executor", [None, "threads"])
def test_a_time_limit_never_counts_as_an_interruption(watch_clock, tmp_path, executor, n_calls):
    """The clock of the watch jumps over the deadline somewhere in reading, scoring or the search."""
    watch_clock(Clock(n_calls))
    pool, data = ThreadPoolExecutor(1) if executor else None, read_data(sample_asia())
    try:
        found = learn(data, time_limit=3600.0, checkpoint=tmp_path / "c", executor=pool, n_threads=1)
    except TimeLimitError:
        return
    assert found.stopped_because in (None, "time_limit")


@pytest.mark.slow
def test_a_deadline_that_passes_in_a_worker_before_the_watch_sees_it(watch_clock):
    """By the watch's clock no time passes; the workers' own deadline is over when they begin."""
    watch_clock(Clock())
    table = score_parent_sets(noise(), bayes_factor=3)
    options = {"bayes_factor": 3, "engine": "integer_program", "time_limit": 1e-9}
    found = learn(table, **options, executor=ThreadPoolExecutor(1))
    assert (found.complete, found.stopped_because) == (False, "time_limit")
    with pytest.warns(CredibnWarning, match="the time limit was reached when 0% of the scoring was done"):
        found = learn(read_data(noise()), **options, executor=ThreadPoolExecutor(1))
    assert (found.n_networks, found.stopped_because, found.unexplored_bound) == (1, "time_limit", math.inf)
