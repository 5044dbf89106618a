"""From a data set and a caller's options to the arrays that the scoring engines take.

Columns with one state take no part: such a column costs nothing as a parent and would multiply the networks. The
engines see only the other columns, in order; `ScoringProblem.widen` puts the rest back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from credibn.data import Dataset
from credibn.errors import DataError, Option
from credibn.scores.constraints import Constraints
from credibn.scores.local import LocalScore
from credibn.scores.protocol import SetScore

_T = TypeVar("_T", bound=np.generic)
Candidates = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.uint64], int]
"""Nodes, costs and masks of parent sets, and how many were scored on the way."""


class Scored(NamedTuple):
    """What an engine found, and the largest computed gap between two networks that tie exactly (None if unknown)."""

    candidates: Candidates
    tolerance: float | None


def join_candidates(parts: Sequence[Candidates]) -> Candidates:
    """Concatenate candidates."""
    nodes, costs, masks, n_scored = zip(*parts, strict=True)
    return np.concatenate(nodes), np.concatenate(costs), np.concatenate(masks), sum(n_scored)


def candidates_of(found: Candidates, nodes: NDArray[np.intp]) -> Candidates:
    """Return the candidates of some nodes."""
    is_own = np.isin(found[0], nodes)
    return found[0][is_own], found[1][is_own], np.ascontiguousarray(found[2][is_own]), found[3]


@dataclass(frozen=True, eq=False)
class ScoringProblem:
    """What is to be scored: made once, read by every engine."""

    data: Dataset
    score: SetScore | LocalScore
    epsilon: float
    constraints: Constraints
    edge_terms: NDArray[np.float64]  # log prior of each edge: rows are parents, columns children

    @cached_property
    def searched(self) -> NDArray[np.intp]:
        """Positions of the columns that take part in the search."""
        constant = set(self.data.constant_columns)
        return np.array([v for v, name in enumerate(self.data.names) if name not in constant], dtype=np.intp)

    @cached_property
    def parts(self) -> "tuple[tuple[NDArray[np.intp], ScoringProblem], ...]":
        """The problem by the rows that each child is scored on: where it was not set. Without experiments, itself.

        Each part is a problem of its own for some of the searched columns; the others have no parents in it.
        """
        if self.data.interventions is None:
            return ((np.arange(self.n_searched), self),)
        parts = []
        for children, rows, _ in self.data.by_rows_not_set:
            others = set(range(self.data.n_variables)) - set(children)
            part = replace(self, data=rows, constraints=self.constraints.without_parents(others))
            _refuse_new_constants(self.data, rows, children)
            own = np.flatnonzero(np.isin(self.searched, children))
            if len(own):
                parts.append((own, part))
        return tuple(parts)

    @property
    def n_searched(self) -> int:
        """The number of columns that take part in the search."""
        return len(self.searched)

    @cached_property
    def codes(self) -> NDArray[np.uint16]:
        """Codes of the searched columns, one row for each column."""
        columns = [self.data.columns[v].astype(np.uint16) for v in self.searched]
        return np.ascontiguousarray(columns).reshape(len(columns), self.data.n_distinct)

    @cached_property
    def arities(self) -> NDArray[np.int64]:
        """Number of states of the searched columns."""
        return np.ascontiguousarray(self.data.arities[self.searched])

    @cached_property
    def allowed(self) -> NDArray[np.uint8]:
        """1 where the edge from row to column may be used."""
        return 1 - self._edges(self.constraints.forbidden)

    @cached_property
    def required(self) -> NDArray[np.uint8]:
        """1 where the edge from row to column must be used."""
        return self._edges(self.constraints.required)

    def _edges(self, parents_of: Sequence[Collection[int]]) -> NDArray[np.uint8]:
        matrix = np.zeros((self.data.n_variables, self.data.n_variables), dtype=np.uint8)
        for child, parents in enumerate(parents_of):
            matrix[list(parents), child] = 1
        return self._between_searched(matrix)

    @cached_property
    def max_parents(self) -> NDArray[np.int64]:
        """The largest number of parents of each searched column."""
        limits = np.array(self.constraints.max_parents, dtype=np.int64)[self.searched]
        return np.minimum(limits, self.n_searched - 1)

    @cached_property
    def edge_costs(self) -> NDArray[np.float64]:
        """Minus the log prior of each edge between searched columns."""
        return -self._between_searched(self.edge_terms)

    def parent_choices(self, child: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Return a child's required and optional parents among the searched, and the largest number of the latter."""
        required = tuple(np.flatnonzero(self.required[:, child]).tolist())
        may = (self.allowed[:, child] > 0) & (self.required[:, child] == 0)
        may[child] = False
        free = tuple(np.flatnonzero(may).tolist())
        return required, free, min(int(self.max_parents[child]) - len(required), len(free))

    def widen(self, found: Candidates) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint64]]:
        """Return nodes, log scores and masks over all columns; columns left out of the search get no parents and 0."""
        nodes, costs, masks, _ = found
        n = self.data.n_variables
        bits = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little")[:, : self.n_searched]
        constant = np.delete(np.arange(n), self.searched)
        wide = np.zeros((len(nodes) + len(constant), -(-n // 64) * 64), dtype=np.uint8)
        wide[: len(nodes), self.searched] = bits
        return (
            np.concatenate([self.searched[nodes], constant]).astype(np.int64),
            np.concatenate([-costs, np.zeros(len(constant))]) + 0.0,
            np.packbits(wide, axis=1, bitorder="little").view(np.uint64),
        )

    def _between_searched(self, matrix: NDArray[_T]) -> NDArray[_T]:
        return np.ascontiguousarray(matrix[np.ix_(self.searched, self.searched)])


def _refuse_new_constants(data: Dataset, rows: Dataset, children: Sequence[int]) -> None:
    """Refuse numbers that vary only in the rows where some variable was set: no regression there can use them."""
    for name in rows.constant_columns:
        if name not in data.constant_columns:
            raise DataError(
                "numeric column {!r} has one value in all rows where {!r} was not set, so these rows say nothing about "
                "the two; leave one out with {}, or leave {!r} out of {}",
                name,
                data.names[children[0]],
                Option("drop", [name]),
                data.names[children[0]],
                Option("interventions"),
            )
