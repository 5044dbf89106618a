"""From data to credible sets, in one call."""

from credibn.learning.all_credible import learn
from credibn.learning.all_networks import exact_posterior
from credibn.learning.k_best import k_best_classes, k_best_networks

__all__ = ["exact_posterior", "k_best_classes", "k_best_networks", "learn"]
