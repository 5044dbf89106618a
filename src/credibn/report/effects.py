"""Causal effects in figures and in the report: how strong each is, and which experiment would tell most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.effects.averaging import all_effects, priors_of
from credibn.effects.effect import ASSUMPTIONS, Effects
from credibn.report.figures import blank_figure, draw_matrix
from credibn.report.sections import share

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.axes import Axes

_EFFECTS_SHOWN = 20
_EXPERIMENTS_SHOWN = 5
_LEAST_GAIN = 0.005


@dataclass(frozen=True)
class EffectsAnswer:
    """What the section on effects shows."""

    lines: tuple[tuple[str, str, float, float, str], ...]  # cause, outcome, strength, probability of a path, as text
    n_more: int
    n_unknown: int  # pairs with a path and no known strength
    names: tuple[str, ...]  # of the heat map
    rows: tuple[tuple[str, ...], ...]  # strengths of the heat map as text; empty where there is no effect
    experiments: tuple[tuple[str, str], ...]  # variable, and the share of the doubt about directions that it settles
    assumptions: str = ASSUMPTIONS


def effects_answer(result: CredibleSet, data: Dataset) -> EffectsAnswer:
    """Return what the report says of effects; `data` is the training table."""
    effects = all_effects(result.averages().causes, data, priors_of(result.score_table.provenance, None, 1.0))
    listed = effects.strongest(len(result.names) ** 2)
    strongest = listed.dropna()
    lines = tuple(
        (str(cause), str(outcome), float(strength), float(path), share(float(path)))
        for cause, outcome, strength, path in strongest.head(_EFFECTS_SHOWN).itertuples(index=False)
    )
    strengths = effects.strengths.to_numpy()
    used = np.flatnonzero((np.nan_to_num(strengths) > 0).any(axis=0) | (np.nan_to_num(strengths) > 0).any(axis=1))
    rows = tuple(
        tuple(
            f"{value:.2f}" if value >= _LEAST_GAIN else "" for value in np.nan_to_num(strengths[cause, used]).tolist()
        )
        for cause in used.tolist()
    )
    told = result.most_informative_interventions()
    experiments = tuple(
        (str(name), share(float(part)))
        for name, part in told[["variable", "share"]].head(_EXPERIMENTS_SHOWN).itertuples(index=False)
        if part >= _LEAST_GAIN
    )
    names = tuple(result.names[v] for v in used.tolist())
    n_unknown = len(listed) - len(strongest)
    return EffectsAnswer(lines, len(strongest) - len(lines), n_unknown, names, rows, experiments)


def plot_effects(effects: Effects, axes: Axes | None = None) -> Axes:
    """Draw how strong the effect of each variable (row) on each other is; see `Effects.plot`."""
    names = tuple(str(name) for name in effects.strengths.index)
    side = min(14.0, 3.5 + 0.22 * len(names))
    axes = blank_figure(side + 1, side).subplots() if axes is None else axes
    strengths = np.nan_to_num(effects.strengths.to_numpy())
    draw_matrix(axes, names, strengths, "Strength of the effect, on average over networks", "Outcome", "Cause")
    return axes
