"""Pickling and copying of the frozen types: from their fields, checked and made read-only again."""

from dataclasses import fields
from types import MappingProxyType
from typing import Any


def rebuilt_from_fields(self: Any) -> tuple[Any, ...]:
    """Serve a frozen dataclass as its ``__reduce__``.

    A mapping proxy cannot be pickled, a copied array is no longer read-only, and what was cached can be computed again.
    So only the fields are copied, and the constructor makes the object.
    """
    values = (getattr(self, field.name) for field in fields(self))
    return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)
