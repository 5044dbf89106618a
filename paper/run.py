"""Tasks computed one after the other or side by side, each recorded as soon as it is finished; then the tables."""

import difflib
import os
import platform
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from credibn.errors import FileFormatError, OptionError, WorkerError
from paper.experiment import Answer, Progress, Samples, Task, compute
from paper.experiments import EXPERIMENTS
from paper.printed import known_names, other_data
from paper.records import Record, check_folder, is_current, read_record, this_program, write_record
from paper.results import ResultTable, plural
from paper.sources import Missing, Sources


@dataclass(frozen=True)
class Plan:
    """What is to be computed: experiments by name, and their tasks in order."""

    experiments: tuple[str, ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Outcome:
    """What a run did: tasks computed now and taken from records, labels of those not complete, files not there."""

    n_computed: int
    n_reused: int
    unfinished: tuple[str, ...]
    missing: tuple[Missing, ...]
    was_interrupted: bool


def make_plan(experiments: Iterable[str], only: Sequence[str] = (), samples: Samples | None = None) -> Plan:
    """Return the tasks of some experiments, of all data sets and networks or of those named."""
    wanted = set(experiments)
    chosen = tuple(name for name in EXPERIMENTS if name in wanted)
    for name in only:
        if name not in known_names():
            near = [repr(match) for match in difflib.get_close_matches(name, known_names())]
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            known = ", ".join(known_names())
            raise OptionError(f"--only {name} is not a data set or network of the paper; {hint}known are {known}")
    every = dict.fromkeys(task for name in chosen for task in EXPERIMENTS[name].tasks(samples or Samples()))
    tasks = tuple(task for task in every if not only or task.name in only)
    if not tasks:
        there = ", ".join(dict.fromkeys(task.name for task in every))
        raise OptionError(f"{', '.join(chosen)} does not have {', '.join(only)}; it has {there}")
    return Plan(chosen, tasks)


def run_plan(
    plan: Plan,
    sources: Sources,
    out: Path,
    time_limit: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
    watch: Callable[[str], Progress | None] = lambda label: None,
    executor: Executor | None = None,
) -> Outcome:
    """Compute what is not recorded yet, and record it in `out`; Ctrl-C ends the run, and what is finished stays.

    `tell` gets a line for each task that is done and for what is unusual; `watch` gets the label of a task that begins,
    and returns what follows its progress. An executor computes any number of tasks at a time; by default one after the
    other is computed here.
    """
    missing = sources.missing((task.name, task.need) for task in plan.tasks)
    absent = {(lack.name, lack.need) for lack in missing}
    feasible = [task for task in plan.tasks if (task.name, task.need) not in absent]
    check_folder(out)
    recorded = {task: _recorded(task, sources, out, time_limit, tell) for task in feasible}
    answers = {task: answer for task, answer in recorded.items() if answer is not None}
    n_reused = len(answers)
    labels = {task: f"{at}/{len(feasible)} {task.label}" for at, task in enumerate(feasible, 1) if task not in answers}
    was_interrupted = False
    computed = _computed(labels, sources, time_limit, watch, executor)
    try:
        for task, answer in computed:
            fingerprint = sources.fingerprint(task.name, task.need)
            made = datetime.now(UTC).isoformat(timespec="seconds")
            write_record(out, task, Record(task.key, answer, this_program(), fingerprint, time_limit, made))
            answers[task] = answer
            tell(f"{labels[task]}: {_told(answer)}")
            if (difference := other_data(task.name, answer)) is not None:
                tell(f"note: {difference}")
    except KeyboardInterrupt:
        was_interrupted = True
    finally:
        computed.close()
    unfinished = tuple(task.label for task in feasible if task in answers and not answers[task]["complete"])
    return Outcome(len(answers) - n_reused, n_reused, unfinished, tuple(missing), was_interrupted)


def _told(answer: Answer) -> str:
    """Return an answer in a few words."""
    if not answer["complete"]:
        return f"not complete; {answer.get('message') or answer.get('stopped_because')}"
    if "levels" in answer:
        levels = answer["levels"].items()
        return "; ".join(f"{plural(level['networks'], 'network')} within {factor}" for factor, level in levels)
    if "networks" in answer:
        return f"{plural(answer['networks'], 'network')} in {plural(answer['classes'], 'class')}"
    return plural(answer["candidates"], "candidate") if "candidates" in answer else "done"


def _computed(
    labels: Mapping[Task, str],
    sources: Sources,
    time_limit: float | None,
    watch: Callable[[str], Progress | None],
    executor: Executor | None,
) -> Generator[tuple[Task, Answer]]:
    """Yield each task with its answer, as it is done."""
    if executor is None:
        for task, label in labels.items():
            yield task, compute(task, sources, time_limit, watch(label))
        return
    futures = {executor.submit(compute, task, sources, time_limit): task for task in labels}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenExecutor as error:
        raise WorkerError(
            f"the executor {type(executor).__name__} has lost a worker ({str(error).strip()}); the finished tasks are "
            "recorded: run the same command to resume"
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _recorded(
    task: Task, sources: Sources, out: Path, time_limit: float | None, tell: Callable[[str], None]
) -> Answer | None:
    try:
        record = read_record(out, task)
    except FileFormatError as error:
        tell(f"note: {error}")
        return None
    fingerprint = sources.fingerprint(task.name, task.need)
    is_usable = record is not None and is_current(record, this_program(), fingerprint, time_limit)
    return dict(record.answer) if record is not None and is_usable else None


def collect_tables(plan: Plan, sources: Sources, out: Path) -> dict[str, ResultTable]:
    """Return every table that has a record in the folder, and those of the plan, by name.

    Records of data sets that the plan leaves out are part of them, if they were made by this version from the same
    file; so runs with different names add up.
    """
    tables = {}
    for name, experiment in EXPERIMENTS.items():
        tasks = experiment.tasks(Samples()) if experiment.recorded is None else experiment.recorded(out)
        answers = dict(_answers(tasks, sources, out))
        if answers or name in plan.experiments:
            tables[name] = experiment.table(answers)
    return tables


def _answers(tasks: Iterable[Task], sources: Sources, out: Path) -> Iterator[tuple[Task, Answer]]:
    for task in tasks:
        try:
            record = read_record(out, task)
        except FileFormatError:  # noted when it was computed; or nobody asked for it
            continue
        if record is None or record.program != this_program():
            continue
        if sources.fingerprint(task.name, task.need) in (None, record.fingerprint):
            yield task, {**record.answer, "time_limit": record.time_limit}


def circumstances(time_limit: float | None) -> str:
    """Return when and where tables are made, in one line."""
    within = "no time limit" if time_limit is None else f"a time limit of {time_limit:g} s for each task"
    return (
        f"Made on {datetime.now(UTC):%Y-%m-%d} with credibn {version('credibn')}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores ({platform.system()} {platform.machine()}), {within}; tasks "
        "recorded by earlier runs may have had another."
    )
