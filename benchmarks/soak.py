"""Learns from random data of all shapes for as long as it is told, checks every answer, and watches the process.

Small problems are compared with brute force over all networks, adversarial ones with costs to 50 digits, larger ones
with the other engine, and all with what must hold anyway: probabilities add up, a saved set is read back the same. A
complete set is also counted without a list, and its best network is found again alone. An
error of credibn's own is an answer; any other is a failure, and so are memory, open files, threads and temporary files
that grow from run to run. It uses one thread, so that two of them can run side by side with different seeds.

    python -m benchmarks.soak --minutes 120 --seed 1
    python -m benchmarks.soak --runs 500 --kind adversarial    # by networks and by classes, epsilon at exact gaps
    python -m benchmarks.soak --seed 1 --only 4711             # one of its runs again

The last lines are rows for the tables of docs/reliability.md.
"""

import argparse
import ctypes
import gc
import math
import os
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.random_cases import ENGINES, KINDS, SECONDS, Case, random_case
from credibn import CredibleSet, k_best_classes, k_best_networks, learn
from credibn.errors import CredibnError, CredibnWarning
from credibn.search.problem import tolerance_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import exact_costs
import networks
import oracle

MOST_GROWTH = {
    "live_mb": 4.0,
    "n_blocks": 5000.0,
    "n_files": 1.0,
    "n_threads": 1.0,
    "n_temporary": 1.0,
}
"""Per thousand runs."""
MOST_RESIDENT_MB = 512.0
"""The resident size has a ceiling, not a rate: how the C library holds free memory differs from process to process."""
FEWEST_RUNS = 2000
"""Fewer say little about growth: pools and the tables of the interpreter grow in steps of up to 2 MiB."""
WARM_UP = 0.25
"""The share of the samples that is left out: caches fill, pools grow."""
RUNS_PER_SAMPLE = 20


# ----------------------------------------------------------------- checks


def run_case(case: Case, **changes: Any) -> CredibleSet:
    options = case.options | changes
    kind = options.pop("kind", None)
    if kind is None:
        return learn(case.data, **options)
    find = k_best_networks if kind == "k_networks" else k_best_classes
    return find(case.data, k=case.k, **options)


def check(case: Case, found: CredibleSet, folder: Path) -> str:
    """Raise an AssertionError where something is wrong; return how the answer was checked."""
    if not len(found.rows):  # the k best, of which a limit let none be proven
        assert not found.complete
        return "nothing proven in time"
    check_sums(found)
    check_saved(found, folder)
    if case.costs is not None and found.complete:
        check_truth(case, found)
        return "by costs to 50 digits"
    is_whole = found.complete and "kind" not in case.options
    if case.truth is not None:
        costs = networks.naive_costs(case.truth, case.options["score"], case.constraints, case.options["prior"])
        check_with(found, costs, is_whole)
        return "by brute force"
    if len(found.names) <= 4:
        check_with(found, networks.table_costs(found.score_table), is_whole)
        return "by brute force"
    if check_other_engine(case, found):
        return "by the other engine"
    return "by what must hold"


def check_sums(found: CredibleSet) -> None:
    assert found.n_networks >= found.n_classes >= 1
    assert math.isclose(found.class_weights.sum(), 1.0, rel_tol=1e-9)
    averages = found.averages()
    sums = np.bincount(averages.parent_sets.nodes, weights=averages.parent_sets.probabilities)
    assert np.allclose(sums, 1.0, rtol=1e-9)
    edges = averages.parent_sets.edges
    assert ((edges >= 0) & (edges <= 1)).all()
    assert (edges + edges.T <= 1 + 1e-9).all()
    assert (averages.ancestors >= edges - 1e-9).all()
    assert found.rows.scores[0] == found.optimal_score
    assert found.posterior_share is None or 0 < found.posterior_share <= 1


def check_saved(found: CredibleSet, folder: Path) -> None:
    path = folder / "set.credibn"
    found.save(path)
    again = CredibleSet.load(path)
    path.unlink()
    assert again.score_table.same_as(found.score_table)
    for name in ("choices", "scores", "sizes"):
        assert getattr(again.rows, name).tobytes() == getattr(found.rows, name).tobytes()
    assert again.guarantee == found.guarantee


def check_with(found: CredibleSet, costs: list[Any], is_whole: bool) -> None:
    """Against all networks that these local costs allow."""
    n = len(found.names)
    if is_whole:
        networks.assert_all_within(found, costs, found.epsilon)
        return
    networks.assert_sound(found)
    listed = np.array([cost for cost, _ in networks.networks_by_cost(n, costs)])
    scores = np.concatenate([batch for _, batch in found.networks_masks()])
    tolerance = networks.BOUNDARY * (1 + abs(found.optimal_score) * 1e-6)
    if found.is_optimum_proven:
        assert math.isclose(listed[0], -found.optimal_score, rel_tol=1e-9, abs_tol=1e-6)
    bound = found.unexplored_bound if found.unexplored_bound is not None else float(scores.min())
    missing = np.count_nonzero(-listed > bound + tolerance) - np.count_nonzero(scores > bound + tolerance)
    assert missing <= 0, f"{missing} networks above the bound {bound} are missing"


def check_truth(case: Case, found: CredibleSet) -> None:
    """Against all networks and their exact costs; and by networks against by classes."""
    exact_costs.assert_true(found, case.costs, tolerance_of(found.score_table))
    one_by_one = run_case(case, unit="networks")
    dags = [{networks.dag_of(graph) for graph in answer.networks()} for answer in (found, one_by_one)]
    assert dags[0] == dags[1], f"{len(dags[0])} networks by class, {len(dags[1])} one by one"


def check_other_engine(case: Case, found: CredibleSet) -> bool:
    """Whether the other engine could take it, and gave the same bytes."""
    other = ENGINES[found.engine == ENGINES[0]]
    try:
        second = run_case(case, engine=other)
    except CredibnError:
        return False
    if "time_limit" in (found.stopped_because, second.stopped_because):
        return False
    assert second.complete == found.complete
    for name in ("choices", "scores", "sizes"):
        assert getattr(second.rows, name).tobytes() == getattr(found.rows, name).tobytes(), f"{name} differ"
    return True


def check_counted(case: Case, found: CredibleSet) -> bool:
    """Whether the set could also be counted without a list: then with the same numbers, averages and best network."""
    if not found.complete or "kind" in case.options:
        return False
    quotas = {"max_networks": None, "max_classes": None}
    best = k_best_networks(case.data, k=1, **without(case.options, "bayes_factor", "epsilon", *quotas))
    rounding = tolerance_of(found.score_table) + tolerance_of(best.score_table)
    assert best.stopped_because == "time_limit" or abs(best.optimal_score - found.optimal_score) <= rounding
    try:
        counted = run_case(case, engine="factored", **quotas)
    except CredibnError:
        return False
    if not counted.complete:
        return False
    assert counted.n_networks == found.n_networks, f"{counted.n_networks} counted, {found.n_networks} listed"
    if counted.structures.are_classes_counted:
        assert counted.n_classes == found.n_classes, f"{counted.n_classes} counted, {found.n_classes} listed"
    assert counted.optimal_score == found.optimal_score
    edges = [answer.averages().parent_sets.edges for answer in (counted, found)]
    assert np.allclose(*edges, rtol=0, atol=1e-9)
    return True


def without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


# ----------------------------------------------------------------- the process


class MallocInfo(ctypes.Structure):
    """What mallinfo2 of the C library returns, for all arenas."""

    NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES]


@dataclass(frozen=True)
class Sample:
    """The state of the process: what is allocated (by malloc and Arrow, and blocks of Python), and what is resident."""

    run: int
    live_mb: float
    resident_mb: float
    n_blocks: int
    n_files: int
    n_threads: int
    n_temporary: int


def sample(run: int, folder: Path) -> Sample:
    gc.collect()
    pa.default_memory_pool().release_unused()
    c_library = ctypes.CDLL(None)
    c_library.malloc_trim(0)
    c_library.mallinfo2.restype = MallocInfo
    info = c_library.mallinfo2()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(
        run,
        (info.uordblks + info.hblkhd + pa.total_allocated_bytes()) / 2**20,
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        sys.getallocatedblocks(),
        len(os.listdir("/proc/self/fd")),
        len(os.listdir("/proc/self/task")),
        len(list(folder.iterdir())),
    )


def growth(samples: list[Sample], name: str) -> float:
    """How much something grew per thousand runs: medians of the first and the last third after warming up."""
    warm = samples[int(len(samples) * WARM_UP) :]
    third = max(1, len(warm) // 3)
    first, last = warm[:third], warm[-third:]
    if len(warm) < 2:
        return 0.0
    difference = statistics.median(getattr(one, name) for one in last) - statistics.median(
        getattr(one, name) for one in first
    )
    runs = statistics.median(one.run for one in last) - statistics.median(one.run for one in first)
    return 1000.0 * difference / max(1.0, runs)


def keep_no_large_blocks() -> None:
    """Have the C library give large arrays back at once: otherwise one large run would look like a leak."""
    m_mmap_threshold = -3
    ctypes.CDLL(None).mallopt(m_mmap_threshold, 1 << 17)


def attempt(seed: int, run: int, arguments: argparse.Namespace, folder: Path, counts: Counter[str]) -> str | None:
    """Make, learn and check one case; return what went wrong."""
    case = random_case(np.random.default_rng([seed, run]), arguments.kind, arguments.threads)
    try:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", CredibnWarning)
            found = run_case(case)
            counts[check(case, found, folder)] += 1
            counts["also counted"] += check_counted(case, found)
    except CredibnError as error:
        counts[type(error).__name__] += 1
    except Exception:
        if given and case.costs is not None and case.options["score"] == "gaussian-bic":
            counts["warned of collinear columns"] += 1
            return None
        return f"run {run} of seed {seed}: {case}\n{traceback.format_exc()}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=8.0, help="ends after this time")
    parser.add_argument("--runs", type=int, help="ends after this many runs, however long they take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=list(KINDS), help="cases of one kind only")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", type=int, help="one run, by its number")
    arguments = parser.parse_args()
    counts, samples, n_failures = Counter[str](), list[Sample](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = tempfile.tempdir = name  # what credibn leaves behind is seen
        keep_no_large_blocks()
        oracle.all_dags(5)
        slowest = (0.0, 0)
        began, run, end = time.monotonic(), 0, arguments.runs
        if arguments.only is not None:
            run, end = arguments.only, arguments.only + 1
        while run < end if end is not None else time.monotonic() - began < 60.0 * arguments.minutes:
            begin = time.monotonic()
            failure = attempt(arguments.seed, run, arguments, Path(folder), counts)
            slowest = max(slowest, (time.monotonic() - begin, run))
            if failure is not None:
                n_failures += 1
                print(failure, flush=True)
            run += 1
            if run % RUNS_PER_SAMPLE == 0:
                samples.append(sample(run, Path(folder)))
        tempfile.tempdir = None
    if arguments.only is None:
        print(f"the slowest was run {slowest[1]}: {slowest[0]:.1f} s; the limit of one search is {SECONDS:.0f} s")
        report(arguments.seed, run, time.monotonic() - began, counts, samples, n_failures)
    sys.exit(bool(n_failures))


CHECKS = (
    "by brute force",
    "by costs to 50 digits",
    "by the other engine",
    "by what must hold",
    "nothing proven in time",
    "also counted",
)


def report(seed: int, run: int, seconds: float, counts: Counter[str], samples: list[Sample], n_failures: int) -> None:
    """Print the rows of the tables of docs/reliability.md, and assert that nothing grows."""
    errors = {name: count for name, count in counts.items() if name not in CHECKS}
    row = [
        f"seed {seed}",
        f"{seconds / 60:.0f}",
        run,
        *(counts[check] for check in CHECKS),
        sum(errors.values()),
        n_failures,
    ]
    print(f"refused: {errors or 'none'}; {time.process_time():.0f} s of CPU")
    print(table_row(["run", "minutes", "data sets", *CHECKS, "refused", "wrong answers"]))
    print(table_row(row))
    if not samples:
        return
    last, grown = samples[-1], {name: growth(samples, name) for name in (*MOST_GROWTH, "resident_mb")}
    print(
        table_row(["run", "data sets", "allocated MiB", "per 1,000", "resident MiB", "per 1,000", "blocks per 1,000"])
    )
    figures = [
        f"{last.live_mb:.1f}",
        f"{grown['live_mb']:+.2f}",
        f"{last.resident_mb:.0f}",
        f"{grown['resident_mb']:+.2f}",
    ]
    print(table_row([f"seed {seed}", run, *figures, f"{grown['n_blocks']:+.0f}"]))
    print(f"{last.n_files} open files, {last.n_threads} threads, {last.n_temporary} temporary files")
    if run < FEWEST_RUNS:
        print(f"too few runs to judge growth: at least {FEWEST_RUNS:,} are needed")
        return
    excess = {name: value for name, value in grown.items() if value > MOST_GROWTH.get(name, math.inf)}
    assert not excess, f"grow from run to run (per thousand): {excess}; at most {MOST_GROWTH}"
    assert last.resident_mb <= MOST_RESIDENT_MB, f"{last.resident_mb:.0f} MiB are resident; at most {MOST_RESIDENT_MB}"


def table_row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |"


if __name__ == "__main__":
    main()
