"""What was made of a table when it was read: each column's kind and the reason, the options, and what to know of it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import plural, quoted

Kind = Literal["categorical", "numeric", "dropped", "weights", "interventions"]
_NAMES_SHOWN = 4


@dataclass(frozen=True)
class ColumnKind:
    """What one column of the table is read as, and why, in a short phrase; `unit` was left out of its numbers."""

    name: str
    kind: Kind
    why: str
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Reading:
    """How a table was read.

    Attributes
    ----------
    source : str
        The name of the file, without folders, or the kind of table.
    options : mapping
        The options of `read_data` that differ from their default, as JSON holds them.
    n_rows : int
        Rows of the table, as its weights count them.
    n_dropped : int
        Those left out for missing values.
    columns : tuple of ColumnKind
        Every column of the table, in its order.
    notes : tuple of str
        What the caller was warned of.

    Examples
    --------
    >>> reading = Reading("clinic.csv", {}, 9, 0, (ColumnKind("age", "numeric", "fractions"),), ())
    >>> print(reading)
    1 numeric column (age)
    >>> Reading.of_json(reading.as_json()).columns[0].why
    'fractions'
    """

    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    n_dropped: int = 0
    columns: tuple[ColumnKind, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(as_json(self.options)))

    __reduce__ = rebuilt_from_fields

    def __str__(self) -> str:
        parts = []
        for kind in ("numeric", "categorical", "dropped"):
            names = [column.name for column in self.columns if column.kind == kind]
            if names:
                shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
                parts.append(f"{plural(len(names), f'{kind} column')} ({shown})")
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        facts = {name: getattr(self, name) for name in ("source", "n_rows", "n_dropped")}
        columns = [dataclasses.asdict(column) for column in self.columns]
        return {**facts, "options": dict(self.options), "columns": columns, "notes": list(self.notes)}

    @classmethod
    def of_json(cls, facts: Mapping[str, Any]) -> Reading:
        """Return the record that `as_json` gave."""
        columns = tuple(ColumnKind(**column) for column in facts["columns"])
        return cls(**{**facts, "columns": columns, "notes": tuple(facts["notes"])})


def as_json(value: Any) -> Any:
    """Return an option of `read_data` as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return [as_json(part) for part in value] if isinstance(value, Iterable) else quoted(value)
