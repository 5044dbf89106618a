"""The estimators for scikit-learn."""

from credibn.sklearn.estimator import CredibleNetworks, CredibleNetworksClassifier, CredibleNetworksRegressor

__all__ = ["CredibleNetworks", "CredibleNetworksClassifier", "CredibleNetworksRegressor"]
