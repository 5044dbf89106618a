"""Pickling and copying of the frozen types: from their fields, checked and made read-only again."""

from dataclasses import fields
from types import MappingProxyType
from typing import Any

__all__ = ["rebuilt_from_fields"]


def rebuilt_from_fields(self: Any) -> tuple[Any, ...]:
    """Serve a frozen dataclass as its ``__reduce__``.

    A mapping proxy cannot be pickled, an array forgets on the way that it is read-only, and what was cached can be
    computed again. So only the fields travel, and the constructor puts the object together.

    Examples
    --------
    >>> import pickle
    >>> from credibn.data import Dataset, read_data
    >>> Dataset.__reduce__ is rebuilt_from_fields
    True
    >>> import numpy as np
    >>> pickle.loads(pickle.dumps(read_data(np.eye(2))))
    Dataset(2 rows, 2 distinct, 2 variables: X0 (2 states), X1 (2 states))
    """
    values = (getattr(self, field.name) for field in fields(self))
    return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)
