"""The structures of a credible set as arrays: each is a class, given by one of its members, or a single network.

A network is an array of candidate positions, four bytes for each node, so millions of networks fit into memory. The
order is that of the scores, the best first, then that of the positions. Where classes are credible as a whole, one
member stands for its class, whose size is an integer of any length, stored in 64-bit words. Otherwise each structure is
one network, and classes are numbered in the order in which their first members appear.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.copying import rebuilt_from_fields
from credibn.data.interventions import separated_pairs
from credibn.errors import CredibnError
from credibn.scores import ScoreTable
from credibn.scores.constraints import resolve_constraints

_BATCH = 1 << 14
_MASS_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Structures:
    """Networks or classes, the best first."""

    choices: NDArray[np.uint32]  # shape (k, n): the position of each node's parent set among its candidates
    scores: NDArray[np.float64]  # log scores, never rising
    sizes: NDArray[np.uint64]  # shape (k, words): members of each class, low word first; no words for networks
    class_of: NDArray[np.int64] | None  # the number of each network's class; None where the structures are classes

    def __post_init__(self) -> None:
        for array in (self.choices, self.scores, self.sizes, self.class_of):
            if array is not None:
                array.flags.writeable = False

    __reduce__ = rebuilt_from_fields

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def is_listed(self) -> bool:
        """Whether the networks are here, one by one or by class; otherwise they are only counted."""
        return True

    @property
    def are_classes_counted(self) -> bool:
        """Whether the number of classes is known."""
        return True

    @cached_property
    def log_mass(self) -> float:
        """The log of the sum of exp(score) over the networks; minus infinity where there are none."""
        return log_sum(self.scores + self.log_sizes) if len(self) else -math.inf

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
    def first_members(self) -> NDArray[np.int64]:
        """The position of the first member of each class, the best of those here."""
        if self.class_of is None:
            return np.arange(len(self))
        return np.unique(self.class_of, return_index=True)[1].astype(np.int64)

    def class_size(self, number: int) -> int:
        """Return how many networks of this set a class has, exact."""
        if self.class_of is not None:
            return int(self._counts[number])
        return _integer(self.sizes[number])

    def members_of(self, number: int) -> NDArray[np.intp]:
        """Return the positions of the networks of a class, where networks are listed one by one."""
        end = int(self._ends[number])
        return self._by_class[end - int(self._counts[number]) : end]

    @cached_property
    def _by_class(self) -> NDArray[np.intp]:
        assert self.class_of is not None
        return np.argsort(self.class_of, kind="stable")

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self._counts)

    @cached_property
    def log_sizes(self) -> NDArray[np.float64]:
        """The logarithm of the number of networks that each structure stands for."""
        if self.class_of is not None:
            return np.zeros(len(self))
        logs = [_logs(self.sizes[start : start + _BATCH]) for start in range(0, len(self), _BATCH)]
        return np.concatenate(logs) if logs else np.zeros(0)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self.class_of if self.class_of is not None else np.zeros(0, dtype=np.int64))

    def only(self, numbers: NDArray[np.int64]) -> "Structures":
        """Return some of the classes, in this order."""
        assert self.class_of is None, "the structures are classes"
        return Structures(self.choices[numbers], self.scores[numbers], self.sizes[numbers], None)

    def first(self, count: int) -> "Structures":
        """Return the best `count` structures."""
        class_of = None if self.class_of is None else self.class_of[:count]
        return Structures(self.choices[:count], self.scores[:count], self.sizes[:count], class_of)

    def candidates_in(self, table: ScoreTable) -> NDArray[np.int64]:
        """Return the positions of the parent sets in the table that the structures listed have, in order."""
        is_used = np.zeros(table.n_candidates, dtype=bool)
        is_used[table.offsets[:-1] + self.choices.astype(np.int64)] = True
        return np.flatnonzero(is_used)

    def within(self, epsilon: float, tolerance: float) -> "Structures":
        """Return the structures within epsilon of the best; scores that differ by the tolerance tie."""
        return self.first(count_at_least(self, float(self.scores[0]) - epsilon - tolerance)) if len(self) else self

    def log_masses(self, epsilons: NDArray[np.float64], tolerance: float = 0.0) -> NDArray[np.float64]:
        """Return the log of the sum of exp(score) over the networks within each epsilon of the best."""
        ends = np.searchsorted(-self.scores, epsilons + (tolerance - float(self.scores[0])), side="right")
        found: NDArray[np.float64] = self.log_mass + np.log(self._cumulated[np.maximum(ends, 1) - 1])
        return found

    def smallest_epsilon(self, log_mass: float) -> float | None:
        """Return the smallest epsilon whose networks have this mass; None where all together have less."""
        if not len(self) or log_mass > self.log_mass + _MASS_ROUNDING:
            return None
        at = int(np.searchsorted(self._cumulated, math.exp(min(0.0, log_mass - self.log_mass))))
        return float(self.scores[0] - self.scores[min(at, len(self) - 1)])

    @cached_property
    def _cumulated(self) -> NDArray[np.float64]:
        """The share of the mass down to each structure; never 0, so that it has a logarithm."""
        logs = self.scores - self.scores[0] + self.log_sizes  # before anything small is added to what may be large
        masses = np.exp(logs - logs.max())
        found: NDArray[np.float64] = np.cumsum(masses) / math.fsum(masses)
        return np.maximum(found, np.finfo(np.float64).tiny)


def log_sum(logs: NDArray[np.float64]) -> float:
    """Return the logarithm of the sum of exponentials."""
    top = float(logs.max())
    return top + math.log(math.fsum(np.exp(logs - top)))


def _integer(words: NDArray[np.uint64]) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _logs(sizes: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the logarithms of positive numbers of several words: the leading two hold all the digits of a double."""
    each, last = np.arange(len(sizes)), sizes.shape[1] - 1
    top = last - np.argmax(sizes[:, ::-1] != 0, axis=1)
    below = np.where(top > 0, sizes[each, np.maximum(top - 1, 0)].astype(np.float64), 0.0)
    logs: NDArray[np.float64] = np.log(sizes[each, top].astype(np.float64) + np.ldexp(below, -64))
    logs += 64 * math.log(2.0) * top
    return logs


def masks_of(table: ScoreTable, choices: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the parent sets that networks choose, as masks of shape (k, n, words)."""
    return table.masks[table.offsets[:-1] + choices.astype(np.int64)]


def one_way_edges(table: ScoreTable) -> NDArray[np.bool_]:
    """Return which edges cannot be reversed within a class, shape (n, n), rows parents.

    They are required, or forbidden the other way, or an experiment tells their direction.
    """
    one_way = separated_edges(table)
    stated: Any = table.provenance.get("constraints", {})
    try:
        constraints = resolve_constraints(table.names, **stated)
    except (CredibnError, TypeError):  # of a table from elsewhere, which says it in its own way
        return one_way
    for child in range(table.n_variables):
        one_way[list(constraints.required[child]), child] = True
        one_way[child, list(constraints.forbidden[child])] = True
    return one_way


def agreed_edges(table: ScoreTable, structures: Structures, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of the classes whose networks all have an edge, shape (n, n), from networks one by one."""
    class_of, n = structures.class_of, table.n_variables
    assert class_of is not None
    sizes, agreed = np.bincount(class_of), np.zeros((n, n))
    of_classes = np.bincount(class_of, weights=weights)
    for child in range(n):
        masks = table.masks[table.offsets[child] : table.offsets[child + 1]]
        chosen = structures.choices[:, child]
        for parent in range(n):
            has_edge = (masks[:, parent // 64] >> np.uint64(parent % 64) & np.uint64(1)).astype(bool)
            if has_edge.any():
                counts = np.bincount(class_of[has_edge[chosen]], minlength=len(sizes))
                agreed[parent, child] = math.fsum(of_classes[counts == sizes])
    return agreed


def choices_of(table: ScoreTable, masks: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the positions of parent sets among the candidates of their nodes, shape (k, n)."""
    found = np.empty(masks.shape[:2], dtype=np.uint32)
    keys, wanted = _keys(table.masks), _keys(masks)
    for node in range(table.n_variables):
        candidates = keys[table.offsets[node] : table.offsets[node + 1]]
        order = np.argsort(candidates)
        at = np.searchsorted(candidates, wanted[:, node], sorter=order)
        position = order[np.minimum(at, len(order) - 1)]
        if (candidates[position] != wanted[:, node]).any():
            raise KeyError(f"a parent set of {table.names[node]!r} is not a candidate")
        found[:, node] = position
    return found


def _keys(masks: NDArray[np.uint64]) -> NDArray[np.generic]:
    """Return something sortable for each mask: equal keys mean equal masks."""
    words = masks.shape[-1]
    contiguous = np.ascontiguousarray(masks)
    return contiguous[..., 0] if words == 1 else contiguous.view(f"S{8 * words}")[..., 0]


def has_repeats(choices: NDArray[np.uint32]) -> bool:
    """Whether a network is there twice: compare hashes, and networks only where these collide."""
    mixed = np.zeros(len(choices), dtype=np.uint64)
    for column in choices.T:
        mixed = (mixed + column + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    ordered = np.sort(mixed)
    suspects = choices[np.isin(mixed, ordered[1:][ordered[1:] == ordered[:-1]])]
    return len(np.unique(suspects, axis=0)) < len(suspects)


def is_acyclic(table: ScoreTable, choices: NDArray[np.uint32]) -> bool:
    """Whether no network has a directed cycle: remove nodes without remaining parents until none is left."""
    n, words = table.n_variables, table.masks.shape[1]
    bit = np.zeros((n, words), dtype=np.uint64)
    bit[np.arange(n), np.arange(n) // 64] = np.uint64(1) << (np.arange(n, dtype=np.uint64) % np.uint64(64))
    for start in range(0, len(choices), _BATCH):
        masks = masks_of(table, choices[start : start + _BATCH])
        left = np.broadcast_to(bit.sum(axis=0, dtype=np.uint64), (len(masks), words)).copy()
        while left.any():
            is_root = ~(masks & left[:, None, :]).any(axis=2)
            rest = left & ~np.bitwise_or.reduce(np.where(is_root[:, :, None], bit, np.uint64(0)), axis=1)
            if ((rest == left).all(axis=1) & left.any(axis=1)).any():
                return False
            left = rest
    return True


def classes_are_whole(table: ScoreTable, structures: Structures) -> bool:
    """Whether each class is given by its canonical member (so none is there twice), with its true size."""
    rank = np.arange(table.n_variables)
    for start in range(0, len(structures), _BATCH):
        masks = masks_of(table, structures.choices[start : start + _BATCH])
        canonical, _, _, sizes = _core.class_forms(masks, rank)
        known = structures.sizes[start : start + _BATCH]
        shared = min(sizes.shape[1], known.shape[1])
        same_size = np.array_equal(sizes[:, :shared], known[:, :shared])
        if not same_size or sizes[:, shared:].any() or known[:, shared:].any() or not np.array_equal(canonical, masks):
            return False
    return True


def cpdag_batches(table: ScoreTable, structures: Structures) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """Yield the CPDAGs in order, in batches: the compelled parents and the undirected neighbours of each node."""
    for start in range(0, len(structures), _BATCH):
        masks = masks_of(table, structures.choices[start : start + _BATCH])
        _, compelled, undirected, _ = _core.class_forms(masks, np.arange(table.n_variables))
        yield compelled, undirected


def class_numbers(
    table: ScoreTable,
    choices: NDArray[np.uint32],
    n_threads: int = 1,
    should_continue: Callable[[float], bool] | None = None,
) -> NDArray[np.int64]:
    """Return the number of the class of each network, in the order in which classes first appear.

    Of scores with interventions these are interventional classes: members also agree on the direction of each edge of
    which an experiment set one end alone.
    """
    class_of = _core.group_choices_by_class(table.offsets, table.masks, choices, n_threads, should_continue)
    separated = separated_edges(table)
    if not separated.any():
        return class_of
    wide = np.zeros((table.n_variables, 64 * table.masks.shape[1]), dtype=np.uint8)
    wide[:, : table.n_variables] = separated
    masks = np.packbits(wide, axis=1, bitorder="little").view(np.uint64)
    for child in range(table.n_variables):
        candidates = table.masks[table.offsets[child] : table.offsets[child + 1]] & masks[child]
        kinds, kind_of = np.unique(candidates, axis=0, return_inverse=True)
        chosen = kind_of.ravel()[choices[: len(class_of), child]]
        class_of = np.unique(class_of * len(kinds) + chosen, return_inverse=True)[1].ravel()
    first = np.unique(class_of, return_index=True)[1]
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[class_of]


def separated_edges(table: ScoreTable) -> NDArray[np.bool_]:
    """Return the pairs of which an experiment set one variable alone, shape (n, n): their edges tell classes apart."""
    stated: Any = table.provenance.get("interventions", ())
    position = {name: v for v, name in enumerate(table.names)}
    try:
        return separated_pairs([[position[name] for name in targets] for targets in stated], table.n_variables)
    except (KeyError, TypeError):  # of a table from elsewhere, which says it in its own way
        return np.zeros((table.n_variables, table.n_variables), dtype=bool)


def group(
    table: ScoreTable,
    choices: NDArray[np.uint32],
    scores: NDArray[np.float64],
    n_threads: int = 1,
    watch: Callable[[str, float], bool] | None = None,
) -> Structures:
    """Return networks with the number of the class of each; when the watch says stop, only the first of them."""
    asked = None if watch is None else lambda fraction: watch("grouping", fraction)
    class_of = class_numbers(table, choices, n_threads, asked)
    count = len(class_of)
    return Structures(choices[:count], scores[:count], np.zeros((count, 0), dtype=np.uint64), class_of)


def network_batches(
    table: ScoreTable, structures: Structures, batch: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Return every network as masks, shape (up to `batch`, n, words), with the position of its structure."""
    if structures.class_of is not None:
        for start in range(0, len(structures), batch):
            chosen = structures.choices[start : start + batch]
            yield masks_of(table, chosen), np.arange(start, start + len(chosen))
        return
    for start in range(0, len(structures), _BATCH):
        members = _core.ClassMembers(masks_of(table, structures.choices[start : start + _BATCH]))
        listed, origins = members.next(batch)
        while len(origins):
            yield listed, origins + start
            listed, origins = members.next(batch)


def expand(table: ScoreTable, structures: Structures, count: int) -> Structures:
    """Return the first `count` networks of these classes, or all if there are fewer, one by one."""
    batches, origins, left = list[NDArray[np.uint32]](), list[NDArray[np.int64]](), count
    for masks, origin in network_batches(table, structures, min(max(count, 1), 1 << 16)):
        batches.append(choices_of(table, masks[:left]))
        origins.append(origin[:left])
        left -= len(batches[-1])
        if left <= 0:
            break
    if not batches:
        batches, origins = [structures.choices[:0]], [np.zeros(0, dtype=np.int64)]
    choices, class_of = np.concatenate(batches), np.concatenate(origins)
    return Structures(choices, structures.scores[class_of], np.zeros((len(choices), 0), dtype=np.uint64), class_of)


def best_networks(table: ScoreTable, structures: Structures, count: int) -> Structures:
    """Return at most `count` networks: whole classes while they fit; members of the best one if not even it does."""
    if structures.class_of is not None:
        return structures.first(count)
    total = whole = 0
    for number in range(len(structures)):
        total += structures.class_size(number)
        if total > count:
            break
        whole += 1
    return structures.first(whole) if whole or not len(structures) else expand(table, structures.first(1), count)


def best_classes(structures: Structures, count: int, tolerance: float) -> Structures:
    """Return the `count` best classes and all that tie with the last; of single networks, all down to that score."""
    if structures.n_classes <= count:
        return structures
    last = structures.scores[structures.first_members[count - 1]]
    return structures.first(count_at_least(structures, last - tolerance))


def count_at_least(structures: Structures, score: float) -> int:
    """Return how many structures have this score or a better one."""
    return int(np.searchsorted(-structures.scores, -score, side="right"))
