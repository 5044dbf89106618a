"""Estimated shares of the posterior beside exact ones: ``python -m benchmarks.share``.

For tables with few variables the share is known, so the estimate can be compared with it. For those with many, the
diagrams of the sets give their exact masses, and the estimates must have the same ratios; what lies within a larger
factor bounds the share from above. Names select tables.
"""

import argparse
import itertools
import math
import time
from collections.abc import Mapping

import numpy as np

from benchmarks.runs import data_folder
from credibn import learn, read_data, score_parent_sets
from credibn.credible.sampling import sample_masks
from credibn.credible.structures import choices_of
from credibn.credible.weights import weigh
from credibn.posterior import epsilon_for_all, posterior_of_scores
from credibn.posterior.share_estimate import LEAST_EPSILON, N_CHAINS, ShareEstimate, estimate_share
from credibn.search import tolerance_of

FACTORS = (3, 20, 150)
LARGE_FACTORS = (20, 150, 20_000)
"""Where the share is not known: the last is as large as the diagram takes in seconds."""
MOST_ERRORS = 4.0
"""Standard errors by which the ratio of two estimates may miss the exact one."""
TABLES = ("wine", "voting", "hepatitis", "hailfinder500")
MOST_SUMMED = 20


def run_one(name: str) -> None:
    data = read_data(data_folder() / f"{name}.csv")
    table = score_parent_sets(data, epsilon=LEAST_EPSILON, n_threads=1)
    is_summed = data.n_variables <= MOST_SUMMED
    factors = FACTORS if is_summed else LARGE_FACTORS
    sets = {factor: learn(table, bayes_factor=factor, n_threads=1, posterior_share=False) for factor in factors}
    log_total = None
    estimates = {}
    if is_summed:
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
        estimates[factor] = estimate
        exact = "" if log_total is None else f"{math.exp(found.log_mass - log_total):.6f}"
        of_largest = math.exp(found.log_mass - sets[factors[-1]].log_mass)
        print(
            f"{name:14} {data.n_variables:3} {factor:4} {found.n_networks:16,} exact {exact:8} estimate "
            f"{estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}] error {estimate.standard_error:.4f} "
            f"R-hat {estimate.r_hat:.3f} networks {estimate.n_networks} effective {estimate.n_effective:.0f} "
            f"of the largest set {of_largest:.4f} CPU {seconds:.1f} s",
            flush=True,
        )
    if not is_summed:
        compare_ratios(estimates, {factor: found.log_mass for factor, found in sets.items()})


def compare_ratios(estimates: Mapping[int, ShareEstimate], log_masses: Mapping[int, float]) -> None:
    """Compare the ratios of estimated shares with those of the exact masses."""
    for small, large in itertools.combinations(estimates, 2):
        one, other = estimates[small], estimates[large]
        exact, estimated = math.exp(log_masses[small] - log_masses[large]), one.value / other.value
        error = estimated * math.hypot(one.standard_error / one.value, other.standard_error / other.value)
        print(f"{small} of {large}: exact {exact:.4f} estimated {estimated:.4f} error {error:.4f}", flush=True)
        assert abs(estimated - exact) < MOST_ERRORS * error
        assert one.low <= exact, "the larger set holds at most all"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=TABLES)
    for name in parser.parse_args().names or TABLES:
        run_one(name)


if __name__ == "__main__":
    main()
