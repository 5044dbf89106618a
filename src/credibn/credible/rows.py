"""The content of a credible set as arrays: a row is a class, by one of its members, or a single network.

A network is a row of candidate positions, four bytes for each node, so millions of networks are no burden. Rows stand
in order of score, the best first, then in increasing order of the positions. A class stands for all its members where
classes are credible as a whole; its size is an integer of any length, kept in 64-bit words. Otherwise a row is one
network, and the classes are numbered in the order in which their first members appear.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.copying import rebuilt_from_fields
from credibn.scores import ScoreTable

__all__ = [
    "Rows",
    "best_classes",
    "best_networks",
    "choices_of",
    "classes_are_whole",
    "count_at_least",
    "cpdag_batches",
    "expand",
    "group",
    "has_repeats",
    "is_acyclic",
    "masks_of",
    "network_batches",
]

_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class Rows:
    """Networks or classes, the best first.

    Attributes
    ----------
    choices : ndarray of uint32, shape (k, n)
        Position of each node's parent set among its candidates.
    scores : ndarray of float64, shape (k,)
        Log scores, never rising.
    sizes : ndarray of uint64, shape (k, size_words)
        The number of members of each class, the least significant word first; no words where rows are networks.
    class_of : ndarray of int64, shape (k,), or None
        The number of the class of each network; None where rows are classes.
    """

    choices: NDArray[np.uint32]
    scores: NDArray[np.float64]
    sizes: NDArray[np.uint64]
    class_of: NDArray[np.int64] | None

    def __post_init__(self) -> None:
        for array in (self.choices, self.scores, self.sizes, self.class_of):
            if array is not None:
                array.flags.writeable = False

    __reduce__ = rebuilt_from_fields

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def n_networks(self) -> int:
        """The number of networks, exact."""
        if self.class_of is not None:
            return len(self)
        low, high = self.sizes & np.uint64(0xFFFFFFFF), self.sizes >> np.uint64(32)  # halves add up without overflow
        words = zip(low.sum(axis=0).tolist(), high.sum(axis=0).tolist(), strict=True)
        return sum((a + (b << 32)) << 64 * at for at, (a, b) in enumerate(words))

    @cached_property
    def n_classes(self) -> int:
        """The number of classes."""
        if self.class_of is None:
            return len(self)
        return int(self.class_of.max()) + 1 if len(self) else 0

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """The first row of each class: the best of its members here."""
        if self.class_of is None:
            return np.arange(len(self))
        return np.unique(self.class_of, return_index=True)[1].astype(np.int64)

    def class_size(self, number: int) -> int:
        """Return how many networks of this set a class has, exact."""
        if self.class_of is not None:
            return int(self._counts[number])
        return _integer(self.sizes[number])

    @cached_property
    def log_sizes(self) -> NDArray[np.float64]:
        """The logarithm of the number of networks that each row stands for."""
        if self.class_of is not None:
            return np.zeros(len(self))
        logs = [_logs(self.sizes[start : start + _BLOCK]) for start in range(0, len(self), _BLOCK)]
        return np.concatenate(logs) if logs else np.zeros(0)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self.class_of if self.class_of is not None else np.zeros(0, dtype=np.int64))

    def first(self, count: int) -> "Rows":
        """Return the best rows."""
        class_of = None if self.class_of is None else self.class_of[:count]
        return Rows(self.choices[:count], self.scores[:count], self.sizes[:count], class_of)


def _integer(words: NDArray[np.uint64]) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _logs(sizes: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the logarithms of positive numbers of several words: the highest two that count say all a double holds."""
    rows, last = np.arange(len(sizes)), sizes.shape[1] - 1
    top = last - np.argmax(sizes[:, ::-1] != 0, axis=1)
    below = np.where(top > 0, sizes[rows, np.maximum(top - 1, 0)].astype(np.float64), 0.0)
    logs: NDArray[np.float64] = np.log(sizes[rows, top].astype(np.float64) + np.ldexp(below, -64))
    logs += 64 * math.log(2.0) * top
    return logs


def masks_of(table: ScoreTable, choices: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the parent sets of rows of choices as masks, shape (k, n, words)."""
    return table.masks[table.offsets[:-1] + choices.astype(np.int64)]


def choices_of(table: ScoreTable, masks: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the positions of parent sets among the candidates of their nodes, shape (k, n).

    Raises
    ------
    KeyError
        When one is no candidate.
    """
    found = np.empty(masks.shape[:2], dtype=np.uint32)
    keys, wanted = _keys(table.masks), _keys(masks)
    for node in range(table.n_variables):
        candidates = keys[table.offsets[node] : table.offsets[node + 1]]
        order = np.argsort(candidates)
        at = np.searchsorted(candidates, wanted[:, node], sorter=order)
        position = order[np.minimum(at, len(order) - 1)]
        if (candidates[position] != wanted[:, node]).any():
            raise KeyError(f"a parent set of {table.names[node]!r} is no candidate")
        found[:, node] = position
    return found


def _keys(masks: NDArray[np.uint64]) -> NDArray[np.generic]:
    """Return something sortable for each mask: equal keys mean equal masks."""
    words = masks.shape[-1]
    contiguous = np.ascontiguousarray(masks)
    return contiguous[..., 0] if words == 1 else contiguous.view(f"S{8 * words}")[..., 0]


def has_repeats(choices: NDArray[np.uint32]) -> bool:
    """Whether two rows are equal: compare hashes, and rows only where these collide."""
    mixed = np.zeros(len(choices), dtype=np.uint64)
    for column in choices.T:
        mixed = (mixed + column + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    ordered = np.sort(mixed)
    suspects = choices[np.isin(mixed, ordered[1:][ordered[1:] == ordered[:-1]])]
    return len(np.unique(suspects, axis=0)) < len(suspects)


def is_acyclic(table: ScoreTable, choices: NDArray[np.uint32]) -> bool:
    """Whether no row has a directed cycle: take away nodes without remaining parents until none is left."""
    n, words = table.n_variables, table.masks.shape[1]
    bit = np.zeros((n, words), dtype=np.uint64)
    bit[np.arange(n), np.arange(n) // 64] = np.uint64(1) << (np.arange(n, dtype=np.uint64) % np.uint64(64))
    for start in range(0, len(choices), _BLOCK):
        masks = masks_of(table, choices[start : start + _BLOCK])
        left = np.broadcast_to(bit.sum(axis=0, dtype=np.uint64), (len(masks), words)).copy()
        while left.any():
            is_root = ~(masks & left[:, None, :]).any(axis=2)
            kept = left & ~np.bitwise_or.reduce(np.where(is_root[:, :, None], bit, np.uint64(0)), axis=1)
            if ((kept == left).all(axis=1) & left.any(axis=1)).any():
                return False
            left = kept
    return True


def classes_are_whole(table: ScoreTable, rows: Rows) -> bool:
    """Whether each row is the canonical member of its class (so no class stands here twice), with the true size."""
    rank = np.arange(table.n_variables)
    for start in range(0, len(rows), _BLOCK):
        masks = masks_of(table, rows.choices[start : start + _BLOCK])
        canonical, _, _, sizes = _core.class_forms(masks, rank)
        known = rows.sizes[start : start + _BLOCK]
        shared = min(sizes.shape[1], known.shape[1])
        same_size = np.array_equal(sizes[:, :shared], known[:, :shared])
        if not same_size or sizes[:, shared:].any() or known[:, shared:].any() or not np.array_equal(canonical, masks):
            return False
    return True


def cpdag_batches(table: ScoreTable, rows: Rows) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """Yield the CPDAGs of the rows in order, in blocks: compelled parents and undirected neighbours of each node."""
    for start in range(0, len(rows), _BLOCK):
        masks = masks_of(table, rows.choices[start : start + _BLOCK])
        _, compelled, undirected, _ = _core.class_forms(masks, np.arange(table.n_variables))
        yield compelled, undirected


def group(
    table: ScoreTable,
    choices: NDArray[np.uint32],
    scores: NDArray[np.float64],
    n_threads: int = 1,
    watch: Callable[[str, float], bool] | None = None,
) -> Rows:
    """Return rows that are networks, with the number of the class of each; when the watch says stop, the first rows."""
    asked = None if watch is None else lambda fraction: watch("grouping", fraction)
    class_of = _core.group_choices_by_class(table.offsets, table.masks, choices, n_threads, asked)
    count = len(class_of)
    return Rows(choices[:count], scores[:count], np.zeros((count, 0), dtype=np.uint64), class_of)


def network_batches(
    table: ScoreTable, rows: Rows, batch: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Return every network as masks, shape (up to `batch`, n, words), with the row that it comes from."""
    if rows.class_of is not None:
        for start in range(0, len(rows), batch):
            chosen = rows.choices[start : start + batch]
            yield masks_of(table, chosen), np.arange(start, start + len(chosen))
        return
    for start in range(0, len(rows), _BLOCK):
        members = _core.ClassMembers(masks_of(table, rows.choices[start : start + _BLOCK]))
        listed, origins = members.next(batch)
        while len(origins):
            yield listed, origins + start
            listed, origins = members.next(batch)


def expand(table: ScoreTable, rows: Rows, count: int) -> Rows:
    """Return the first `count` networks of these classes, or all if there are fewer, one row each."""
    parts, origins, left = list[NDArray[np.uint32]](), list[NDArray[np.int64]](), count
    for masks, origin in network_batches(table, rows, min(max(count, 1), 1 << 16)):
        parts.append(choices_of(table, masks[:left]))
        origins.append(origin[:left])
        left -= len(parts[-1])
        if left <= 0:
            break
    if not parts:
        return Rows(rows.choices[:0], rows.scores[:0], np.zeros((0, 0), dtype=np.uint64), np.zeros(0, dtype=np.int64))
    choices, class_of = np.concatenate(parts), np.concatenate(origins)
    return Rows(choices, rows.scores[class_of], np.zeros((len(choices), 0), dtype=np.uint64), class_of)


def best_networks(table: ScoreTable, rows: Rows, count: int) -> Rows:
    """Return at most `count` networks: whole classes while they fit; members of the best one if not even it does."""
    if rows.class_of is not None:
        return rows.first(count)
    total = whole = 0
    for number in range(len(rows)):
        total += rows.class_size(number)
        if total > count:
            break
        whole += 1
    return rows.first(whole) if whole or not len(rows) else expand(table, rows.first(1), count)


def best_classes(rows: Rows, count: int, tolerance: float) -> Rows:
    """Return the `count` best classes and all that tie with the last; of networks, all down to that score."""
    if rows.n_classes <= count:
        return rows
    last = rows.scores[rows.first_rows[count - 1]]
    return rows.first(count_at_least(rows, last - tolerance))


def count_at_least(rows: Rows, score: float) -> int:
    """Return how many rows score this much or more."""
    return int(np.searchsorted(-rows.scores, -score, side="right"))
