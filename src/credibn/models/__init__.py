"""Bayesian networks with parameters: fitting, prediction, sampling, files and exports."""

from credibn.models.averaging_networks import average_models
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.exchange import from_pgmpy, from_pyagrum
from credibn.models.fitting import fit_local_model, fit_network
from credibn.models.local_models import (
    GaussianDiscriminant,
    LinearGaussian,
    LocalModel,
    TableModel,
    log_conditional,
    log_conditionals_of_states,
)
from credibn.models.network_files import read_network, write_network
from credibn.models.prediction import AveragedModel

__all__ = [
    "AveragedModel",
    "BayesianNetwork",
    "GaussianDiscriminant",
    "LinearGaussian",
    "LocalModel",
    "TableModel",
    "average_models",
    "fit_local_model",
    "fit_network",
    "from_pgmpy",
    "from_pyagrum",
    "log_conditional",
    "log_conditionals_of_states",
    "read_network",
    "write_network",
]
