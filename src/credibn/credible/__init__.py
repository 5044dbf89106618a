"""Credible sets: what the search found, as arrays, graphs and files, and the averages over it."""

from credibn.credible.classes import CredibleClass, CredibleClasses
from credibn.credible.credible_set import DIRECTION_THRESHOLD, STOP_REASONS, CredibleSet
from credibn.credible.sampling import FeatureProbability

__all__ = [
    "DIRECTION_THRESHOLD",
    "STOP_REASONS",
    "CredibleClass",
    "CredibleClasses",
    "CredibleSet",
    "FeatureProbability",
]
