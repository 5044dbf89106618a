"""The result of scoring: for each variable the candidate parent sets that survived pruning, with their log scores.

Candidates of node i are the rows ``offsets[i]:offsets[i + 1]`` of `scores` and `masks`, the best first, ties in
increasing order of the mask read as an integer, so that the same candidates always give the same bytes. A mask is
``ceil(n / 64)`` words of 64 bits, the least significant first: bit v is set if variable v is a parent. A network is one
candidate for each node such that the parent sets form no cycle; its score is the sum.

All checks are made once, when a table is created, and cost a few passes and one sort of 64-bit hashes.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import plural
from credibn.errors import OptionError
from credibn.scores.constraints import find_cycle, position_of

MAX_VARIABLES = 4096
"""More than any search can handle; without a limit, a small malformed file could demand all memory."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """Local log scores of candidate parent sets, the higher the better, best first for each node.

    Parameters
    ----------
    names : tuple of str
        The n variables, in order.
    offsets : ndarray of int64, shape (n + 1,)
        Candidates of node i are the rows from ``offsets[i]`` to ``offsets[i + 1]``.
    scores : ndarray of float64, shape (m,)
        Log scores; for each node from best to worst.
    masks : ndarray of uint64, shape (m, ceil(n / 64))
        Parent sets as little-endian bit masks.
    provenance : mapping
        Where the scores come from, ready for JSON: score, equivalent_sample_size, epsilon, n_rows, data_fingerprint,
        version, constraints, prior, score_equivalent, complete, tolerance; each if known.

    Notes
    -----
    The arrays are read-only. Use `from_candidates` or `from_arrays` unless the rows are already sorted.

    Examples
    --------
    >>> candidates = [[(-3.0, []), (-2.0, [1])], [(-1.5, [])]]
    >>> table = ScoreTable.from_candidates(["a", "b"], candidates, {"score": "bic"})
    >>> table
    ScoreTable(2 variables, 3 candidates, score bic)
    >>> list(table.parent_sets("a"))
    [(-2.0, ('b',)), (-3.0, ())]
    >>> table.network_score({"a": ["b"]})
    -3.5
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]
    scores: NDArray[np.float64]
    masks: NDArray[np.uint64]
    provenance: Mapping[str, object]

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "names", _checked_names(self.names))
        set_field(self, "offsets", _read_only(self.offsets, np.dtype(np.int64), "offsets"))
        set_field(self, "scores", _read_only(self.scores, np.dtype(np.float64), "scores"))
        set_field(self, "masks", _read_only(self.masks, np.dtype(np.uint64), "masks"))
        set_field(self, "provenance", MappingProxyType(_checked_provenance(self.provenance)))
        _check_shapes(self.names, self.offsets, self.scores, self.masks)
        _check_scores(self)
        _check_masks(self)
        _check_order(self)
        _check_distinct(self)

    @classmethod
    def from_candidates(
        cls,
        names: Sequence[str],
        candidates: Iterable[Iterable[tuple[float, Iterable[int]]]],
        provenance: Mapping[str, object] | None = None,
    ) -> "ScoreTable":
        """Make a table from pairs (score, positions of the parents), in any order, for each node.

        Examples
        --------
        >>> ScoreTable.from_candidates(["a"], [[(-1.0, ())]]).n_candidates
        1
        """
        names = _checked_names(names)
        words = _n_words(len(names))
        nodes, scores, masks = list[int](), list[float](), bytearray()
        for node, listed in enumerate(candidates):
            for score, parents in listed:
                nodes.append(node)
                scores.append(score)
                masks += _mask_of(names, parents).to_bytes(8 * words, "little")
        rows = np.frombuffer(bytes(masks), dtype="<u8").reshape(-1, words)
        return cls.from_arrays(names, nodes, scores, rows, provenance)

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        nodes: ArrayLike,
        scores: ArrayLike,
        masks: ArrayLike,
        provenance: Mapping[str, object] | None = None,
    ) -> "ScoreTable":
        """Make a table from the node, the score and the mask of each candidate, in any order.

        Examples
        --------
        >>> table = ScoreTable.from_arrays(["a", "b"], [1, 0, 0], [-1.5, -3.0, -2.0], [[0], [0], [2]])
        >>> table.scores
        array([-2. , -3. , -1.5])
        """
        names = _checked_names(names)
        rows = _as_type(nodes, np.dtype(np.int64), "nodes")
        values = _as_type(scores, np.dtype(np.float64), "scores")
        words = _as_type(masks, np.dtype(np.uint64), "masks")
        if rows.ndim != 1 or rows.shape != values.shape or words.shape != (len(rows), _n_words(len(names))):
            raise OptionError(
                f"nodes, scores and masks have shapes {rows.shape}, {values.shape} and {words.shape}; "
                f"{len(names)} variables need (m,), (m,) and (m, {_n_words(len(names))})"
            )
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(names):
            raise OptionError(f"nodes range from {rows.min()} to {rows.max()}; they must be 0 to {len(names) - 1}")
        order = np.lexsort((*words.T, -values, rows))
        offsets = np.searchsorted(rows[order], np.arange(len(names) + 1))
        return cls(names, offsets, values[order], words[order], provenance or {})

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.names)

    @property
    def n_candidates(self) -> int:
        """The number of candidate parent sets of all nodes together."""
        return len(self.scores)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of candidate parent sets of each node."""
        return np.diff(self.offsets)

    @property
    def epsilon(self) -> float | None:
        """The gap for which the table is complete, if it is known."""
        return self._known_gap("epsilon")

    @property
    def tolerance(self) -> float | None:
        """The largest difference that rounding makes between two networks that tie exactly, if it is known."""
        return self._known_gap("tolerance")

    @property
    def best_possible_score(self) -> float:
        """The sum of the nodes' best scores: no network scores higher, cycles being ignored."""
        return math.fsum(self.scores[self.offsets[:-1]])

    def parent_sets(self, node: str | int) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Return the candidates of a node as (score, names of the parents), the best first."""
        rows = self._rows(position_of(self.names, node))
        members = parent_positions(self.masks[rows])
        return (
            (score, tuple(self.names[v] for v in parents))
            for score, parents in zip(self.scores[rows].tolist(), members, strict=True)
        )

    def local_score(self, node: str | int, parents: Iterable[str | int]) -> float:
        """Return the score of a node with these parents.

        Raises
        ------
        OptionError
            When this parent set is not in the table: pruned, or never scored.
        """
        child = position_of(self.names, node)
        mask = _mask_of(self.names, parents)
        row = _words_of(mask, self.masks.shape[1])
        rows = self._rows(child)
        found = np.flatnonzero((self.masks[rows] == row).all(axis=1))
        if not len(found):
            listed = ", ".join(repr(name) for v, name in enumerate(self.names) if mask >> v & 1)
            raise OptionError(
                f"{self.names[child]!r} has no candidate parent set {{{listed}}} in this table: it was "
                "pruned or never scored; score again with a larger epsilon, or list the candidates with parent_sets"
            )
        return float(self.scores[rows][found[0]])

    def network_score(self, parents_by_name: Mapping[str, Iterable[str | int]]) -> float:
        """Return the score of a network given as the parents of each node; nodes that are absent have none.

        Raises
        ------
        OptionError
            For a parent set that is not in the table, an unknown name or a directed cycle.
        """
        parents = {v: tuple[int, ...]() for v in range(self.n_variables)}
        for node, above in parents_by_name.items():
            parents[position_of(self.names, node)] = tuple(position_of(self.names, name) for name in _listed(above))
        cycle = find_cycle(parents)
        if cycle is not None:
            path = " -> ".join(repr(self.names[v]) for v in cycle)
            raise OptionError(f"this is not a network: it has the directed cycle {path}; remove one of these edges")
        return math.fsum(self.local_score(v, above) for v, above in parents.items())

    def same_as(self, other: "ScoreTable", tolerance: float = 0.0) -> bool:
        """Whether both tables have the same parent sets of the same names, with scores this close.

        Provenance is not compared, since not every file format stores it; nor, with a tolerance, is the order of
        candidates whose scores nearly tie.
        """
        if self.names != other.names or not np.array_equal(self.offsets, other.offsets):
            return False
        mine, theirs = self._order_by_mask(), other._order_by_mask()
        if not np.array_equal(self.masks[mine], other.masks[theirs]):
            return False
        low, high = other.scores[theirs] - tolerance, other.scores[theirs] + tolerance
        return bool(((low <= self.scores[mine]) & (self.scores[mine] <= high)).all())

    def __len__(self) -> int:
        return self.n_candidates

    def __repr__(self) -> str:
        known = [f"{key} {self.provenance[key]}" for key in ("score", "epsilon") if key in self.provenance]
        counts = plural(self.n_variables, "variable"), plural(self.n_candidates, "candidate")
        return f"ScoreTable({', '.join([*counts, *known])})"

    __reduce__ = rebuilt_from_fields

    def _known_gap(self, key: str) -> float | None:
        value = self.provenance.get(key)
        return float(value) if isinstance(value, (int, float)) else None

    def _rows(self, node: int) -> slice:
        return slice(int(self.offsets[node]), int(self.offsets[node + 1]))

    def _nodes(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.n_variables), self.counts)

    def _order_by_mask(self) -> NDArray[np.int64]:
        return np.lexsort((*self.masks.T, self._nodes()))


def parent_positions(masks: NDArray[np.uint64]) -> Iterator[list[int]]:
    """Return the positions of the set bits of each mask, in increasing order."""
    words = masks.shape[1]
    block = max(1, 2**22 // (64 * words))
    for start in range(0, len(masks), block):
        octets = np.ascontiguousarray(masks[start : start + block], dtype="<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        members = np.nonzero(bits)[1].tolist()
        ends = np.count_nonzero(bits, axis=1).cumsum().tolist()
        begin = 0
        for end in ends:
            yield members[begin:end]
            begin = end


def _n_words(n_variables: int) -> int:
    return -(-n_variables // 64)


def _listed(parents: Iterable[str | int]) -> Iterable[str | int]:
    if isinstance(parents, str) or not isinstance(parents, Iterable):
        raise OptionError(f"the parents are {parents!r}; give a list of names, here [{parents!r}]")
    return parents


def _mask_of(names: tuple[str, ...], parents: Iterable[str | int]) -> int:
    mask = 0
    for parent in _listed(parents):
        bit = 1 << position_of(names, parent, "parent")
        if mask & bit:
            raise OptionError(f"parent {parent!r} is listed twice in one parent set; list it once")
        mask |= bit
    return mask


def _words_of(mask: int, words: int) -> NDArray[np.uint64]:
    return np.frombuffer(mask.to_bytes(8 * words, "little"), dtype="<u8").astype(np.uint64)


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise OptionError(f"names is the string {names!r}; give a list of names")
    checked = tuple(names)
    for name in checked:
        if not isinstance(name, str):
            raise OptionError(f"variable name {name!r:.80} is {type(name).__name__}; names are strings")
    if not 1 <= len(checked) <= MAX_VARIABLES:
        raise OptionError(f"a score table of {len(checked)} variables; it needs 1 to {MAX_VARIABLES}")
    if len(set(checked)) < len(checked):
        repeated = next(name for v, name in enumerate(checked) if name in checked[:v])
        raise OptionError(f"variable name {repeated!r:.80} appears twice; names must differ")
    return checked


def _as_type(values: ArrayLike, dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    """Convert without changing any value: fractions, negative masks and text are refused."""
    array = np.asarray(values)
    if array.size == 0 or array.dtype == dtype:
        return array.astype(dtype, copy=False)
    whole = dtype.kind != "f"
    if array.dtype.kind not in ("iu" if whole else "iuf") or (dtype.kind == "u" and array.min() < 0):
        raise OptionError(f"{what} of type {array.dtype} cannot be read as {dtype} without loss; give {dtype}")
    return array.astype(dtype)


def _read_only(values: ArrayLike, dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    """Return the values as a read-only array, copied only if they are writeable."""
    array = np.require(_as_type(values, dtype, what), requirements=["C", "A"])
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def _checked_provenance(provenance: Mapping[str, object]) -> dict[str, object]:
    """Return the provenance as JSON reads it back, so that a table read from a file equals the one written."""
    if not isinstance(provenance, Mapping) or not all(isinstance(key, str) for key in provenance):
        raise OptionError(f"provenance is {provenance!r:.80}; give a mapping with strings as keys")
    try:
        text = json.dumps(dict(provenance), allow_nan=False, default=_plain)
        plain: dict[str, object] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"provenance cannot be written as JSON ({error}); use numbers, text, lists, dicts") from error
    for key in ("epsilon", "tolerance"):
        if not is_gap(plain.get(key)):
            raise OptionError(
                f"provenance has {key} {plain[key]!r:.60}; it must be a finite number, 0 or more, or None"
            )
    return plain


def is_gap(value: object) -> bool:
    """Whether a provenance may have this epsilon or tolerance: a finite number, 0 or more, or None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value is None or (is_number and 0 <= value <= sys.float_info.max)  # type: ignore[operator]


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _check_shapes(
    names: tuple[str, ...], offsets: NDArray[np.int64], scores: NDArray[np.float64], masks: NDArray[np.uint64]
) -> None:
    n, m = len(names), len(scores) if scores.ndim == 1 else -1
    if m < 0 or offsets.shape != (n + 1,) or masks.shape != (m, _n_words(n)):
        raise OptionError(
            f"offsets, scores and masks have shapes {offsets.shape}, {scores.shape} and {masks.shape}; "
            f"{n} variables need ({n + 1},), (m,) and (m, {_n_words(n)})"
        )
    if offsets[0] != 0 or offsets[-1] != m:
        raise OptionError(
            f"offsets run from {offsets[0]} to {offsets[-1]}; they must run from 0 to {m}, the candidates"
        )
    for node in np.flatnonzero(offsets[1:] <= offsets[:-1]).tolist():
        raise OptionError(f"{names[node]!r} has no candidate parent set; every node needs at least one")


def _check_scores(table: ScoreTable) -> None:
    for row in np.flatnonzero(~np.isfinite(table.scores))[:1].tolist():
        raise OptionError(f"{_candidate(table, row)} has score {table.scores[row]}; scores must be finite")


def _check_masks(table: ScoreTable) -> None:
    n = table.n_variables
    if n % 64:
        for row in np.flatnonzero(table.masks[:, -1] >> np.uint64(n % 64))[:1].tolist():
            raise OptionError(f"{_candidate(table, row)} names a variable beyond the last, number {n - 1}")
    for node in range(n):
        rows = table._rows(node)
        if (table.masks[rows, node // 64] & np.uint64(1 << node % 64)).any():
            raise OptionError(f"{table.names[node]!r} is listed among its own parents; remove that parent set")


def _check_order(table: ScoreTable) -> None:
    same_node = np.ones(max(table.n_candidates - 1, 0), dtype=bool)
    same_node[table.offsets[1:-1] - 1] = False
    before, after = table.scores[:-1], table.scores[1:]
    ties = np.flatnonzero(same_node & (before == after))
    undecided = np.ones(len(ties), dtype=bool)
    falls = np.zeros(len(ties), dtype=bool)
    for word in table.masks.T[::-1]:
        here, following = word[ties], word[ties + 1]
        falls |= undecided & (here > following)
        undecided &= here == following
    wrong = np.concatenate([np.flatnonzero(same_node & (before < after)), ties[falls]])
    for row in wrong[:1].tolist():
        raise OptionError(
            f"{_candidate(table, row)} is out of order: candidates go from best to worst, ties by mask; "
            "use ScoreTable.from_arrays, which sorts"
        )


def _check_distinct(table: ScoreTable) -> None:
    """Raise if two candidates of a node are the same set: compare hashes, and sets only where these collide."""
    hashes = _hashes(table.masks, table._nodes())
    ordered = np.sort(hashes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return
    suspects = np.flatnonzero(np.isin(hashes, repeated))
    nodes, masks = table._nodes()[suspects], table.masks[suspects]
    order = np.lexsort((*masks.T, nodes))
    same = (np.diff(nodes[order]) == 0) & (masks[order][1:] == masks[order][:-1]).all(axis=1)
    for row in suspects[order[:-1][same]][:1].tolist():
        raise OptionError(f"{_candidate(table, row)} appears twice; list each parent set once")


def _hashes(masks: NDArray[np.uint64], nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Mix node and mask to 64 bits by bijections, so that masks of one word never collide within a node."""
    mixed = nodes.astype(np.uint64)
    for word in masks.T:
        mixed = (mixed * np.uint64(0x9E3779B97F4A7C15)) ^ word
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _candidate(table: ScoreTable, row: int) -> str:
    node = int(np.searchsorted(table.offsets, row, side="right")) - 1
    parents = next(parent_positions(table.masks[row : row + 1]))
    listed = ", ".join(repr(table.names[v]) for v in parents if v < table.n_variables)
    return f"parent set {{{listed}}} of {table.names[node]!r}"
