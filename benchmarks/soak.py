"""Learns from random data of all shapes for as long as it is told, checks every answer, and watches the process.

Small problems are compared with brute force over all networks, larger ones with the other engine, and all with what
must hold anyway: probabilities add up, a saved set is read back the same. An error of credibn's own is an answer; any
other is a failure, and so are memory, open files, threads and temporary files that grow from run to run.

    python -m benchmarks.soak --minutes 8 --seed 1
    python -m benchmarks.soak --seed 1 --only 4711     # one of its runs again
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.random_cases import ENGINES, SECONDS, Case, random_case
from credibn import CredibleSet, k_best_classes, k_best_networks, learn
from credibn.errors import CredibnError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import networks
import oracle

MOST_MB_PER_THOUSAND = 8.0
FEWEST_RUNS = 400
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


# ----------------------------------------------------------------- the process


@dataclass(frozen=True)
class Sample:
    run: int
    resident_mb: float
    n_files: int
    n_threads: int
    n_temporary: int


def sample(run: int, folder: Path) -> Sample:
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(
        run,
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
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


def attempt(seed: int, run: int, folder: Path, counts: Counter[str]) -> str | None:
    """Make, learn and check one case; return what went wrong."""
    case = random_case(np.random.default_rng([seed, run]))
    try:
        counts[check(case, run_case(case), folder)] += 1
    except CredibnError as error:
        counts[type(error).__name__] += 1
    except Exception:
        return f"run {run} of seed {seed}: {case}\n{traceback.format_exc()}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one run, by its number")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, samples, failures = Counter[str](), list[Sample](), list[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = tempfile.tempdir = name  # what credibn leaves behind is seen
        keep_no_large_blocks()
        oracle.all_dags(5)
        slowest = (0.0, 0)
        end, run = time.monotonic() + 60.0 * arguments.minutes, arguments.only or 0
        while time.monotonic() < end:
            begin = time.monotonic()
            failure = attempt(arguments.seed, run, Path(folder), counts)
            slowest = max(slowest, (time.monotonic() - begin, run))
            if failure is not None:
                failures.append(failure)
                print(failure, flush=True)
            if arguments.only is not None:
                break
            run += 1
            if run % RUNS_PER_SAMPLE == 0:
                samples.append(sample(run, Path(folder)))
        tempfile.tempdir = None
    print(f"the slowest was run {slowest[1]}, with {slowest[0]:.1f} s; the time limit of one search is {SECONDS:.0f} s")
    report(run, counts, samples, failures)


def report(run: int, counts: Counter[str], samples: list[Sample], failures: list[str]) -> None:
    answers = ", ".join(f"{name}: {count:,}" for name, count in counts.most_common())
    print(f"{run:,} data sets, {len(failures)} failures, {time.process_time():.0f} s of CPU; {answers}")
    if run < FEWEST_RUNS:
        print("too few runs to judge how memory grows")
        sys.exit(bool(failures))
    last, per_thousand = samples[-1], growth(samples, "resident_mb")
    print(
        f"memory {last.resident_mb:.0f} MiB, growing by {per_thousand:.2f} MiB per thousand runs; {last.n_files} open "
        f"files, {last.n_threads} threads, {last.n_temporary} temporary files"
    )
    grown = [name for name in ("n_files", "n_threads", "n_temporary") if growth(samples, name) >= 1.0]
    assert not grown, f"{grown} grow from run to run"
    assert per_thousand <= MOST_MB_PER_THOUSAND, f"memory grows by {per_thousand:.1f} MiB per thousand runs"
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
