"""Causal effects, averaged over the structures that the data leave open."""

from credibn.effects.effect import Effect, Effects

__all__ = ["Effect", "Effects"]
