"""credibn: every Bayesian network structure that the data cannot rule out, proven complete, and averaged over.

The pipeline is data -> scores -> search -> credible set -> classes -> averages -> report. `learn` goes from a table to
the `CredibleSet` in one call; `read_data` (table to `Dataset`) and `score_parent_sets` (Dataset to `ScoreTable`) do so
step by step. `fit_network` gives a structure its parameters.
"""

import importlib
from typing import TYPE_CHECKING, Any

from credibn.credible import CredibleClass, CredibleSet, FeatureProbability
from credibn.data import Dataset, read_data
from credibn.errors import CredibnError, CredibnWarning
from credibn.graphs import CPDAG
from credibn.learning import exact_posterior, k_best_classes, k_best_networks, learn
from credibn.models import (
    AveragedModel,
    BayesianNetwork,
    average_models,
    fit_network,
    read_network,
    write_network,
)
from credibn.posterior import Posterior
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

if TYPE_CHECKING:
    from credibn.sklearn import CredibleNetworks, CredibleNetworksClassifier, CredibleNetworksRegressor

__all__ = [
    "AIC",
    "BIC",
    "CPDAG",
    "AveragedModel",
    "BDeu",
    "BGe",
    "BayesianNetwork",
    "ConditionalGaussianBIC",
    "CredibleClass",
    "CredibleNetworks",
    "CredibleNetworksClassifier",
    "CredibleNetworksRegressor",
    "CredibleSet",
    "CredibnError",
    "CredibnWarning",
    "Dataset",
    "EdgeLogOdds",
    "EdgePenalty",
    "FeatureProbability",
    "GaussianBIC",
    "LocalScore",
    "Posterior",
    "ScoreTable",
    "ScoringEstimate",
    "SetScore",
    "UniformPrior",
    "average_models",
    "estimate_scoring",
    "exact_posterior",
    "fit_network",
    "k_best_classes",
    "k_best_networks",
    "learn",
    "read_data",
    "read_network",
    "read_scores",
    "read_tiers",
    "score_parent_sets",
    "write_network",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a while to import: only those who ask for an estimator wait for it.
    if name in __all__:
        return getattr(importlib.import_module("credibn.sklearn"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
