"""Scores: set functions, pruning, and the table of candidate parent sets."""

from credibn.scores.constraints import read_tiers
from credibn.scores.discrete import AIC, BIC, BDeu
from credibn.scores.estimate import ScoringEstimate, estimate_scoring
from credibn.scores.files import read_scores, write_scores
from credibn.scores.gaussian import BGe, GaussianBIC
from credibn.scores.local import LocalScore
from credibn.scores.mixed import ConditionalGaussianBIC
from credibn.scores.priors import EdgeLogOdds, EdgePenalty, UniformPrior
from credibn.scores.protocol import SetScore
from credibn.scores.scoring import score_parent_sets
from credibn.scores.table import ScoreTable

__all__ = [
    "AIC",
    "BIC",
    "BDeu",
    "BGe",
    "ConditionalGaussianBIC",
    "EdgeLogOdds",
    "EdgePenalty",
    "GaussianBIC",
    "LocalScore",
    "ScoreTable",
    "ScoringEstimate",
    "SetScore",
    "UniformPrior",
    "estimate_scoring",
    "read_scores",
    "read_tiers",
    "score_parent_sets",
    "write_scores",
]
