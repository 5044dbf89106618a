"""The estimator for scikit-learn."""

from credibn.sklearn.estimator import CredibleNetworks

__all__ = ["CredibleNetworks"]
