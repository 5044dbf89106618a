"""Estimated shares of the posterior beside exact ones: ``python -m benchmarks.share``.

For tables with few variables the share is known, so the estimate can be compared with it. For those with many, the
diagram of a set gives the exact mass within every smaller factor, and the visits of the chains must have the same
proportions. Names select tables.
"""

import argparse
import math
import time

import numpy as np

from benchmarks.runs import data_folder
from credibn import learn, read_data, score_parent_sets
from credibn.credible.sampling import sample_masks
from credibn.credible.structures import choices_of
from credibn.credible.weights import weigh
from credibn.posterior import epsilon_for_all, posterior_of_scores
from credibn.posterior.share_estimate import LEAST_EPSILON, N_CHAINS, estimate_share
from credibn.search import tolerance_of

FACTORS = (3, 20, 150)
TABLES = ("wine", "voting", "hepatitis", "hailfinder500")
MOST_SUMMED = 20


def run_one(name: str) -> None:
    data = read_data(data_folder() / f"{name}.csv")
    table = score_parent_sets(data, epsilon=LEAST_EPSILON, n_threads=1)
    sets = {factor: learn(table, bayes_factor=factor, n_threads=1, posterior_share=False) for factor in FACTORS}
    log_total = None
    if data.n_variables <= MOST_SUMMED:
        every = score_parent_sets(data, epsilon=epsilon_for_all(data.n_variables), n_threads=1)
        log_total = posterior_of_scores(every, marginals=False).log_mass
    for factor, found in sets.items():
        weighted = weigh(table, found.structures, "networks")
        masks = np.concatenate([drawn for drawn, _ in sample_masks(found.score_table, weighted, N_CHAINS, 0)])
        start = time.process_time()
        estimate = estimate_share(
            table, choices_of(table, masks), found.optimal_score, found.epsilon + tolerance_of(table)
        )
        seconds = time.process_time() - start
        assert estimate is not None
        exact = "" if log_total is None else f"{math.exp(found.log_mass - log_total):.6f}"
        of_largest = math.exp(found.log_mass - sets[FACTORS[-1]].log_mass)
        print(
            f"{name:14} {data.n_variables:3} {factor:4} {found.n_networks:16,} exact {exact:8} estimate "
            f"{estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}] error {estimate.standard_error:.4f} "
            f"R-hat {estimate.r_hat:.3f} networks {estimate.n_networks} effective {estimate.n_effective:.0f} "
            f"of the largest set {of_largest:.4f} CPU {seconds:.1f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=TABLES)
    for name in parser.parse_args().names or TABLES:
        run_one(name)


if __name__ == "__main__":
    main()
