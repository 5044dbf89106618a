"""credibn: every Bayesian network structure that the data cannot rule out, proven complete, and averaged over.

The pipeline is data -> scores -> search -> credible set -> classes -> averages -> report. `learn` goes from a table to
the `CredibleSet` in one call; `read_data` (table to `Dataset`) and `score_parent_sets` (Dataset to `ScoreTable`) do so
step by step.
"""

from credibn.credible import CredibleClass, CredibleSet, FeatureProbability
from credibn.data import Dataset, read_data
from credibn.errors import CredibnError, CredibnWarning
from credibn.graphs import CPDAG
from credibn.learning import k_best_classes, k_best_networks, learn
from credibn.scores import (
    AIC,
    BIC,
    BDeu,
    BGe,
    ConditionalGaussianBIC,
    EdgeLogOdds,
    EdgePenalty,
    GaussianBIC,
    LocalScore,
    ScoreTable,
    ScoringEstimate,
    SetScore,
    UniformPrior,
    estimate_scoring,
    read_scores,
    read_tiers,
    score_parent_sets,
    write_scores,
)

__all__ = [
    "AIC",
    "BIC",
    "CPDAG",
    "BDeu",
    "BGe",
    "ConditionalGaussianBIC",
    "CredibleClass",
    "CredibleSet",
    "CredibnError",
    "CredibnWarning",
    "Dataset",
    "EdgeLogOdds",
    "EdgePenalty",
    "FeatureProbability",
    "GaussianBIC",
    "LocalScore",
    "ScoreTable",
    "ScoringEstimate",
    "SetScore",
    "UniformPrior",
    "estimate_scoring",
    "k_best_classes",
    "k_best_networks",
    "learn",
    "read_data",
    "read_scores",
    "read_tiers",
    "score_parent_sets",
    "write_scores",
]
