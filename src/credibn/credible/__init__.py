"""Credible sets: what the search found, as arrays, as graphs and as files."""

from credibn.credible.credible_set import STOP_REASONS, CredibleClass, CredibleClasses, CredibleSet

__all__ = ["STOP_REASONS", "CredibleClass", "CredibleClasses", "CredibleSet"]
