"""Learning from tables with gaps: credible sets of several completed tables, and what they say together."""

from credibn.imputation.imputed import ImputedResult
from credibn.imputation.imputing import impute_and_learn

__all__ = ["ImputedResult", "impute_and_learn"]
