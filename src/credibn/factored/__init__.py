"""Credible sets of any size: counted, averaged and sampled without listing their networks."""

from credibn.factored.counting import Counting, FactoredNetworks, count_credible

__all__ = ["Counting", "FactoredNetworks", "count_credible"]
