"""credibn: every Bayesian network structure that the data cannot rule out, proven complete, and averaged over.

The pipeline is data -> scores -> search -> credible set -> classes -> averages -> report. `learn` goes from a table to
the `CredibleSet` in one call; `read_data` (table to `Dataset`) and `score_parent_sets` (Dataset to `ScoreTable`) do so
step by step. `fit_network` gives a structure its parameters.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credibn.credible import CredibleClass, CredibleSet, FeatureProbability
    from credibn.data import Dataset, read_data
    from credibn.errors import CredibnError, CredibnWarning
    from credibn.graphs import CPDAG
    from credibn.imputation import ImputedResult, impute_and_learn
    from credibn.learning import exact_posterior, k_best_classes, k_best_networks, learn
    from credibn.models import (
        AveragedModel,
        BayesianNetwork,
        average_models,
        fit_network,
        read_network,
        write_network,
    )
    from credibn.posterior import Posterior, ShareEstimate
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
    "ImputedResult",
    "LocalScore",
    "Posterior",
    "ScoreTable",
    "ScoringEstimate",
    "SetScore",
    "ShareEstimate",
    "UniformPrior",
    "average_models",
    "estimate_scoring",
    "exact_posterior",
    "fit_network",
    "impute_and_learn",
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

_STAGES = {
    "credible": ("CredibleClass", "CredibleSet", "FeatureProbability"),
    "data": ("Dataset", "read_data"),
    "errors": ("CredibnError", "CredibnWarning"),
    "graphs": ("CPDAG",),
    "imputation": ("ImputedResult", "impute_and_learn"),
    "learning": ("exact_posterior", "k_best_classes", "k_best_networks", "learn"),
    "models": ("AveragedModel", "BayesianNetwork", "average_models", "fit_network", "read_network", "write_network"),
    "posterior": ("Posterior", "ShareEstimate"),
    "scores": (
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
    ),
    "sklearn": ("CredibleNetworks", "CredibleNetworksClassifier", "CredibleNetworksRegressor"),
}
"""The stage that each name comes from: it is imported when somebody asks for one of its names, or for itself."""
_STAGE_OF = {name: stage for stage, names in _STAGES.items() for name in names}
_PACKAGES = {*_STAGES, "_base", "_run", "cli", "examples", "options", "report", "search"}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"credibn.{name}")
    if name not in _STAGE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"credibn.{_STAGE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
