"""The posterior of all networks: the sum and the weights of all parent sets, against sumu on the same scores.

Each data set is scored (BIC) with all parent sets that matter; sumu's sums (up to 17 variables) must be the same.
`sumu.aps` gives the weights of parent sets, so the ratio is to credibn's sum with them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.peer import attempt, print_versions, table_of
from benchmarks.runs import cpu_timed
from credibn import ScoreTable, score_parent_sets
from credibn.posterior import epsilon_for_all, posterior_of_scores

NAMES = ("tictactoe", "wine", "voting", "msnbc", "hepatitis")
MOST_FOR_SUMU = 17


def weights_for_sumu(table: ScoreTable) -> NDArray[np.float64]:
    """For each node a row of log weights over all sets of other nodes, in binary order."""
    n = table.n_variables
    weights = np.full((n, 1 << n - 1), -np.inf)
    nodes = np.repeat(np.arange(n), table.counts)
    masks = table.masks[:, 0].astype(np.int64)
    below = masks & (1 << nodes) - 1
    weights[nodes, below | (masks >> nodes + 1) << nodes] = table.scores
    return weights


def ask_sumu(table: ScoreTable) -> tuple[Any, float]:
    import sumu

    weights = weights_for_sumu(table)
    return cpu_timed(lambda: sumu.aps(weights, as_dict=False, normalize=False))


def main() -> None:
    print("\n## The posterior of all networks\n")
    print_versions(("sumu",))
    print("| data | n | parent sets | the sum alone, s | with all parent sets, s | sumu s | ratio | rounding |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in NAMES:
        data = table_of(name).data
        table = score_parent_sets(data, epsilon=epsilon_for_all(data.n_variables))
        alone, seconds = cpu_timed(lambda table=table: posterior_of_scores(table, marginals=False))
        ours, with_sets = cpu_timed(lambda table=table: posterior_of_scores(table))
        assert abs(ours.log_mass - alone.log_mass) < 1e-9, f"{name}: two sums"
        shown = ["", ""]
        answer = None
        if data.n_variables <= MOST_FOR_SUMU:
            answer = attempt(f"sumu on {name}", lambda table=table: ask_sumu(table))
        if answer is not None:
            weights, their_seconds = answer
            totals = np.logaddexp.reduce(np.asarray(weights), axis=1)
            assert np.abs(totals - ours.log_mass).max() < 1e-6, f"{name}: sumu has another sum"
            shown = [f"{their_seconds:.3f}", f"{their_seconds / with_sets:.0f}"]
        print(
            f"| {name} | {data.n_variables} | {table.n_candidates:,} | {seconds:.3f} | {with_sets:.3f} "
            f"| {' | '.join(shown)} | {ours.rounding_error:.0e} |",
            flush=True,
        )
