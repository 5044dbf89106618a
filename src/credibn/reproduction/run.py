"""The loop: cell after cell, each kept as soon as it is finished; then the tables."""

import os
import platform
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from credibn._base.version import version
from credibn.data.suggesting import suggestion
from credibn.errors import FileFormatError, OptionError, WorkerError
from credibn.options import Progress
from credibn.reproduction.candidates import candidates_cells, candidates_table
from credibn.reproduction.computing import compute
from credibn.reproduction.credible_counts import counts_cells, counts_table
from credibn.reproduction.deviations import deviations_cells, deviations_table
from credibn.reproduction.k_best_counts import k_best_cells, k_best_table
from credibn.reproduction.measuring import Answer, Cell, Limits
from credibn.reproduction.printed import SAMPLES_PRINTED, other_data
from credibn.reproduction.records import (
    Record,
    check_folder,
    is_current,
    read_record,
    this_program,
    write_record,
)
from credibn.reproduction.results import ResultTable
from credibn.reproduction.sources import Missing, Sources, known_names
from credibn.reproduction.synthetic import PRINTED_SIZES, recorded_samples, sample_cells, samples_table

__all__ = ["EXPERIMENTS", "Followed", "Outcome", "Plan", "circumstances", "collect_tables", "make_plan", "run_plan"]

EXPERIMENTS = ("table1", "table2", "table3", "table4", "table5", "figure1")


@dataclass(frozen=True)
class Plan:
    """What is to be computed: the tables by name, and their cells in order."""

    experiments: tuple[str, ...]
    cells: tuple[Cell, ...]


class Followed:
    """What a caller may want to see of a run; this one looks away."""

    def begin(self, number: int, total: int, cell: Cell) -> Progress | None:
        """Take note that a cell begins; return what follows its progress."""
        return None

    def end(self, number: int, total: int, cell: Cell, answer: Answer) -> None:
        """Take note of its answer."""

    def note(self, text: str) -> None:
        """Take note of something unusual."""


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes
    ----------
    n_computed, n_reused : int
        Cells computed now, and taken from records.
    unfinished : tuple of str
        Labels of cells whose answer is not complete.
    missing : tuple of Missing
        Files that are not there.
    was_interrupted : bool
    """

    n_computed: int
    n_reused: int
    unfinished: tuple[str, ...]
    missing: tuple[Missing, ...]
    was_interrupted: bool


def make_plan(
    experiments: Iterable[str],
    only: Sequence[str] = (),
    sizes: Sequence[int] = PRINTED_SIZES,
    n_samples: int = SAMPLES_PRINTED,
) -> Plan:
    """Return the cells of some tables, of all data sets and networks or of those named.

    Raises
    ------
    OptionError
        For a name that the paper does not have, or that none of these tables has.

    Examples
    --------
    >>> [cell.key for cell in make_plan(["table2"], only=["wine"]).cells]
    ['table2/wine-3', 'table2/wine-20', 'table2/wine-150']
    """
    chosen = tuple(name for name in EXPERIMENTS if name in set(experiments))
    for name in only:
        if name not in known_names():
            known = ", ".join(known_names())
            near = suggestion(name, known_names())
            hint = f"{near} " if near.startswith("did you mean") else ""
            raise OptionError(f"--only {name} is no data set or network of the paper; {hint}known are {known}")
    every = list(dict.fromkeys(cell for name in chosen for cell in _cells(name, sizes, n_samples)))
    cells = tuple(cell for cell in every if not only or cell.name in only)
    if not cells:
        there = ", ".join(dict.fromkeys(cell.name for cell in every))
        raise OptionError(f"{', '.join(chosen)} does not have {', '.join(only)}; it has {there}")
    return Plan(chosen, cells)


def _cells(experiment: str, sizes: Sequence[int], n_samples: int) -> Sequence[Cell]:
    if experiment in ("table4", "table5"):
        return sample_cells(sizes, n_samples)
    makers: dict[str, Callable[[], Sequence[Cell]]] = {
        "table1": candidates_cells,
        "table2": counts_cells,
        "table3": k_best_cells,
        "figure1": deviations_cells,
    }
    return makers[experiment]()


def run_plan(
    plan: Plan,
    sources: Sources,
    out: Path,
    limits: Limits,
    follow: Followed | None = None,
    executor: Executor | None = None,
) -> Outcome:
    """Compute what is not recorded yet, and record it; Ctrl-C ends the run, and what is finished stays.

    Parameters
    ----------
    plan : Plan
    sources : Sources
    out : Path
        The folder of records.
    limits : Limits
    follow : Followed, optional
    executor : concurrent.futures.Executor, optional
        Computes the cells, any number at a time; by default one after the other here.

    Returns
    -------
    Outcome

    Raises
    ------
    OptionError
        When a record cannot be written.
    WorkerError
        When the executor has lost a worker; what is finished is recorded.

    Examples
    --------
    >>> outcome = run_plan(make_plan(["table2"], ["wine"]), Sources(Path("nowhere")), Path("unused"), Limits())
    >>> outcome.n_computed, [lack.file for lack in outcome.missing]
    (0, ['wine.csv'])
    """
    follow = follow or Followed()
    missing = sources.missing((cell.name, cell.need) for cell in plan.cells)
    absent = {(lack.name, lack.need) for lack in missing}
    feasible = [cell for cell in plan.cells if (cell.name, cell.need) not in absent]
    check_folder(out)
    recorded = {cell: _recorded(cell, sources, out, limits, follow) for cell in feasible}
    answers = {cell: answer for cell, answer in recorded.items() if answer is not None}
    n_reused = len(answers)
    open_cells = [(number, cell) for number, cell in enumerate(feasible) if cell not in answers]
    was_interrupted = False
    computed = _computed(open_cells, len(feasible), sources, limits, follow, executor)
    try:
        for number, cell, answer in computed:
            _keep(cell, answer, sources, out, limits)
            answers[cell] = answer
            follow.end(number, len(feasible), cell, answer)
            if (difference := other_data(cell.name, answer)) is not None:
                follow.note(difference)
    except KeyboardInterrupt:
        was_interrupted = True
    finally:
        computed.close()
    unfinished = tuple(cell.label for cell in feasible if cell in answers and not answers[cell]["complete"])
    return Outcome(len(answers) - n_reused, n_reused, unfinished, tuple(missing), was_interrupted)


def _computed(
    cells: Sequence[tuple[int, Cell]],
    n_cells: int,
    sources: Sources,
    limits: Limits,
    follow: Followed,
    executor: Executor | None,
) -> Generator[tuple[int, Cell, Answer]]:
    """Yield each cell with its number and its answer, as it is done."""
    if executor is None:
        for number, cell in cells:
            yield number, cell, compute(cell, sources, limits, follow.begin(number, n_cells, cell))
        return
    futures = {executor.submit(compute, cell, sources, limits): (number, cell) for number, cell in cells}
    try:
        for future in as_completed(futures):
            yield *futures[future], future.result()
    except BrokenExecutor as error:
        raise WorkerError(
            f"the executor {type(executor).__name__} can do no more work ({str(error).strip()}); the finished "
            "cells are saved; run the same call to resume"
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _recorded(cell: Cell, sources: Sources, out: Path, limits: Limits, follow: Followed) -> Answer | None:
    try:
        record = read_record(out, cell)
    except FileFormatError as error:
        follow.note(str(error))
        return None
    fingerprint = sources.fingerprint(cell.name, cell.need)
    if record is None or not is_current(record, this_program(), fingerprint, limits):
        return None
    return dict(record.answer)


def _keep(cell: Cell, answer: Answer, sources: Sources, out: Path, limits: Limits) -> None:
    fingerprint = sources.fingerprint(cell.name, cell.need)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    write_record(out, cell, Record(cell.key, answer, this_program(), fingerprint, limits.time_limit, made))


def collect_tables(plan: Plan, sources: Sources, out: Path) -> dict[str, ResultTable]:
    """Return every table that has a record in the folder, and those of the plan, by name.

    Records of data sets that the plan leaves out are part of them, if they were made by this version from the same
    file; so runs with different names add up.

    Examples
    --------
    >>> tables = collect_tables(make_plan(["table2"]), Sources(Path("nowhere")), Path("nowhere"))
    >>> list(tables), len(tables["table2"].rows)
    (['table2'], 78)
    """
    answers = dict(_answers(sources, out))
    seen = {cell.key.split("/")[0] for cell in answers}
    tables = {
        "table1": lambda: candidates_table(answers),
        "table2": lambda: counts_table(answers),
        "table3": lambda: k_best_table(answers),
        "table4": lambda: samples_table(answers, of="networks"),
        "table5": lambda: samples_table(answers, of="classes"),
        "figure1": lambda: deviations_table(answers),
    }
    folders = {"table4": "samples", "table5": "samples"}
    wanted = [name for name in tables if name in plan.experiments or folders.get(name, name) in seen]
    return {name: tables[name]() for name in wanted}


def _answers(sources: Sources, out: Path) -> Iterator[tuple[Cell, Answer]]:
    fixed = make_plan([name for name in EXPERIMENTS if name not in ("table4", "table5")]).cells
    for cell in (*fixed, *recorded_samples(out)):
        try:
            record = read_record(out, cell)
        except FileFormatError:  # said when it was computed; or nobody asked for it
            continue
        if record is None or record.program != this_program():
            continue
        fingerprint = sources.fingerprint(cell.name, cell.need)
        if fingerprint is None or fingerprint == record.fingerprint:
            yield cell, {**record.answer, "time_limit": record.time_limit}


def circumstances(limits: Limits) -> str:
    """Return when and where tables are made, in one line."""
    within = "no time limit" if limits.time_limit is None else f"a time limit of {limits.time_limit:g} s for each cell"
    return (
        f"Made on {datetime.now(UTC):%Y-%m-%d} with credibn {version()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores ({platform.system()} {platform.machine()}), {within}; cells "
        "kept from earlier runs may have had another."
    )
