"""The posterior of all networks: seconds for the sum and for all parent sets, and against sumu on the same weights.

``python -m benchmarks.posterior`` scores each data set (BIC) with all parent sets that matter, sums over all networks
with and without the probabilities of parent sets, and asserts that sumu's sums (where it is installed; up to 17
variables) are the same. ``sumu.aps`` gives the probabilities of parent sets, so the ratio is to the sum with them.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.runs import data_folder, timed
from credibn import ScoreTable, read_data, score_parent_sets
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


def main() -> None:
    try:
        import sumu
    except ImportError:
        sumu = None
        print("sumu is not installed: make bench-peers installs it")
    columns = ("data", "n", "sets", "sum s", "with sets s", "sumu s", "ratio", "rounding")
    print("".join(f"{column:>12}" for column in columns))
    for name in NAMES:
        data = read_data(data_folder() / f"{name}.csv")
        table = score_parent_sets(data, epsilon=epsilon_for_all(data.n_variables))
        alone, seconds = timed(lambda table=table: posterior_of_scores(table, marginals=False))
        ours, with_sets = timed(lambda table=table: posterior_of_scores(table))
        assert abs(ours.log_mass - alone.log_mass) < 1e-9, f"{name}: two sums"
        shown = ["", ""]
        if sumu is not None and data.n_variables <= MOST_FOR_SUMU:
            weights = weights_for_sumu(table)
            theirs, their_seconds = timed(lambda weights=weights: sumu.aps(weights, as_dict=False, normalize=False))
            totals = np.logaddexp.reduce(np.asarray(theirs), axis=1)
            assert np.abs(totals - ours.log_mass).max() < 1e-6, f"{name}: sumu has another sum"
            shown = [f"{their_seconds:.3f}", f"{their_seconds / with_sets:.0f}"]
        cells = (name, data.n_variables, table.n_candidates, f"{seconds:.3f}", f"{with_sets:.3f}", *shown)
        print("".join(f"{cell:>12}" for cell in (*cells, f"{ours.rounding_error:.0e}")), flush=True)


if __name__ == "__main__":
    main()
