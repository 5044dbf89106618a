"""The search stage on the authors' data sets: seconds, memory, and the networks and classes found, which are asserted.

``python -m benchmarks.search`` runs the rows of the paper's table 2 whose data are there, at Bayes factors 3, 20 and
150; names select data sets; ``--long`` adds the rows that take minutes; ``--engines`` runs every engine that can take
the row and asserts that they agree. Each run has a process of its own and scores its own table, at its own Bayes
factor.
"""

import hashlib
from typing import Any

import credibn
from benchmarks.runs import data_folder, peak_memory_mb, timed

BAYES_FACTORS = (3, 20, 150)
# (networks, classes) at each Bayes factor.
BIC: dict[str, tuple[tuple[int, int], ...]] = {}
LONG = ("sensors",)


def run_one(name: str, score: str, bayes_factor: float, engine: str, time_limit: float | None) -> dict[str, Any]:
    data = credibn.read_data(data_folder() / f"{name}.csv")
    table, score_seconds = timed(lambda: credibn.score_parent_sets(data, score=score, bayes_factor=bayes_factor))
    found = credibn.learn(table, bayes_factor=bayes_factor, engine=engine, time_limit=time_limit)
    rows = found.rows.choices.tobytes() + found.rows.scores.tobytes()
    return {
        "n": data.n_variables,
        "candidates": table.n_candidates,
        "engine": found.engine,
        "optimum": found.optimal_score,
        "networks": found.n_networks,
        "classes": found.n_classes,
        "complete": found.complete,
        "bound": found.unexplored_bound,
        "score": score_seconds,
        "search": found.timings["search"],
        "memory": peak_memory_mb(),
        "fingerprint": hashlib.sha256(rows).hexdigest(),
    }
