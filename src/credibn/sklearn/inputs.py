"""What scikit-learn's users hand to an estimator beside a table: nested lists, targets, weights of rows."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from credibn.errors import DataError


def as_array(X: Any) -> Any:
    """Return nested lists as an array in which text does not turn numbers into text; refuse the path of a file."""
    if isinstance(X, str | PathLike):
        raise DataError(
            f"X is the path {str(X)!r}; an estimator takes tables: read the file first, or give it to learn"
        )
    if not isinstance(X, list | tuple):
        return X
    plain = np.asarray(X)
    return np.asarray(X, dtype=object) if plain.dtype.kind in "US" else plain


def classes_of(y: Any) -> Any:
    """Return the categories to be predicted; those that a categorical type declares stay in their order."""
    values = _target(y)
    check_classification_targets(values)
    return getattr(y, "array", values) if hasattr(y, "cat") else values


def numbers_of(y: Any) -> NDArray[np.float64]:
    """Return the numbers to be predicted."""
    values = _target(y)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"y holds {values[:1].tolist()[0]!r:.80}, which is not a number; CredibleNetworksClassifier predicts "
            "categories"
        ) from None
    assert_all_finite(numbers, input_name="y")
    return numbers


def _target(y: Any) -> NDArray[Any]:
    """Return y as an array of one dimension; refuse missing values and several types."""
    import pandas as pd

    values: NDArray[Any] = column_or_1d(y, warn=True)
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
    is_missing = pd.isna(values)
    if is_missing.any():
        raise DataError(f"y has {int(is_missing.sum()):,} missing values; leave these rows out, or fill them in")
    plain = values.tolist() if values.dtype.kind == "O" else []
    if plain and all(isinstance(value, int | float) for value in plain):
        values = np.asarray(plain)
    elif len({type(value) for value in plain}) > 1:
        raise DataError(f"y holds values of several types, such as {plain[0]!r}; convert it to one of them")
    return values


def checked_counts(sample_weight: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the number of rows that each row stands for."""
    counts = np.asarray(sample_weight)
    if counts.shape != (n_rows,):
        raise DataError(f"sample_weight has the shape {counts.shape}; give one number for each of the {n_rows} rows")
    is_whole = counts.dtype.kind in "iub" or (counts.dtype.kind == "f" and bool((np.floor(counts) == counts).all()))
    if not is_whole or (counts < 0).any():
        raise DataError(
            f"sample_weight starts with {counts[:3].tolist()}; scores count rows, so each weight must be a whole "
            "number, 0 or more: scale fractions up"
        )
    if not counts.any():
        raise DataError("sample_weight is zero for every row; give some row a positive weight")
    return counts.astype(np.int64)


def name_of(y: Any) -> str:
    """Return the name of a Series, or "y" where it has none."""
    name = getattr(y, "name", None)
    if hasattr(y, "columns") and len(y.columns) == 1:
        name = y.columns[0]
    return name if isinstance(name, str) and name.strip() else "y"


def unused(name: str, names: Sequence[str]) -> str:
    """Return a name that no column has."""
    while name in names:
        name += "_"
    return name
