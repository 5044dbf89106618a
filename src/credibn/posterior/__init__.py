"""Probabilities of parent sets and edges, and the exact posterior over all networks."""

from credibn.posterior.all_networks import (
    MOST_VARIABLES,
    Posterior,
    PosteriorEstimate,
    epsilon_for_all,
    estimate_posterior,
    posterior_of_scores,
    searched_nodes,
)
from credibn.posterior.share_estimate import ShareEstimate

__all__ = [
    "MOST_VARIABLES",
    "Posterior",
    "PosteriorEstimate",
    "ShareEstimate",
    "epsilon_for_all",
    "estimate_posterior",
    "posterior_of_scores",
    "searched_nodes",
]
