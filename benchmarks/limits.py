"""Whether limits are honoured: each data set with several Bayes factors, little time and little memory.

``python -m benchmarks.limits`` runs every data set in a process of its own, asserts that it was not killed and that its
answer is valid (complete, or it says why not and what may be missing), and prints by how much the time limit was
exceeded and the peak resident size, as a Markdown table. Reading and scoring count: where they take all the time there
is no answer, which is an error of its own kind.
"""

import argparse
import json
import math
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.runs import data_folder, in_own_process, peak_memory_mb
from credibn import CredibleSet, learn
from credibn.credible.structures import is_acyclic
from credibn.errors import CredibnWarning, TimeLimitError, TooLargeError
from credibn.search import tolerance_of

FACTORS = (3.0, 150.0, 1e6)
PARENTS = (None, 2)
"""Without a cap, and with one that makes scoring short, so that the search has the time."""


def check(found: CredibleSet) -> None:
    """Assert what a partial answer promises."""
    scores, slack = found.rows.scores, 2 * tolerance_of(found.score_table)
    assert found.complete is (found.stopped_because is None)
    assert (np.diff(scores) <= 0).all()
    assert is_acyclic(found.score_table, found.rows.choices[:1000])
    if found.complete:
        assert found.optimal_score - scores[-1] <= found.epsilon + slack
        return
    assert found.unexplored_bound is not None
    assert found.unexplored_bound > -math.inf


def measure(name: str, bayes_factor: float, max_parents: int | None, seconds: float, memory: str) -> dict[str, Any]:
    """Learn within limits, and tell how that went."""
    warnings.simplefilter("ignore", CredibnWarning)
    before = peak_memory_mb()
    start = time.monotonic()
    outcome: dict[str, Any]
    try:
        found = learn(
            data_folder() / name,
            bayes_factor=bayes_factor,
            max_parents=max_parents,
            missing="state",
            time_limit=seconds,
            memory_limit=memory,
        )
        took = time.monotonic() - start
        check(found)
        outcome = {"classes": found.n_classes, "ended": found.stopped_because or "complete", "engine": found.engine}
    except (TimeLimitError, TooLargeError) as error:
        took = time.monotonic() - start
        outcome = {"classes": None, "ended": type(error).__name__, "engine": str(error)[:60]}
    return {**outcome, "took": took, "before_mb": before, "peak_mb": peak_memory_mb()}


def main() -> None:
    """Run the table, or one line of it."""
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(measure(**json.loads(sys.argv[1]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="data sets, by default all")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--memory", default="2G")
    options = parser.parse_args()
    names = options.names or sorted(path.name for path in data_folder().glob("*.csv"))
    print(f"| data | factor | parents | ended | classes | seconds beyond {options.seconds:g} | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    overruns, peaks = [], []
    for name in names:
        for bayes_factor in FACTORS:
            for max_parents in PARENTS:
                arguments = {"name": name, "bayes_factor": bayes_factor, "max_parents": max_parents}
                limits = {"seconds": options.seconds, "memory": options.memory}
                answer = in_own_process("benchmarks.limits", arguments | limits)
                overrun = answer["took"] - options.seconds
                overruns.append((overrun, name, bayes_factor, max_parents))
                peaks.append((answer["peak_mb"], name, bayes_factor, max_parents))
                classes = "" if answer["classes"] is None else f"{answer['classes']:,}"
                late = f"{overrun:.2f}" if overrun > 0 else ""
                line = (name, f"{bayes_factor:g}", max_parents or "any", answer["ended"], classes, late)
                print("|", " | ".join(map(str, line)), f"| {answer['peak_mb']:,.0f} |", flush=True)
    print(f"\nLargest overrun {max(overruns)}, largest peak {max(peaks)}")


if __name__ == "__main__":
    main()
