"""credibn: every Bayesian network structure that the data cannot rule out, proven complete, and averaged over.

The pipeline is data -> scores -> search -> credible set -> classes -> averages -> report. So far the first two stages:
`read_data` turns a table into a `Dataset`, `score_parent_sets` a Dataset into a `ScoreTable`.
"""

from credibn.data import Dataset, read_data
from credibn.errors import CredibnError, CredibnWarning
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
    "BDeu",
    "BGe",
    "ConditionalGaussianBIC",
    "CredibnError",
    "CredibnWarning",
    "Dataset",
    "EdgeLogOdds",
    "EdgePenalty",
    "GaussianBIC",
    "LocalScore",
    "ScoreTable",
    "ScoringEstimate",
    "SetScore",
    "UniformPrior",
    "estimate_scoring",
    "read_data",
    "read_scores",
    "read_tiers",
    "score_parent_sets",
    "write_scores",
]
