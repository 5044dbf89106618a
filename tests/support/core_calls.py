"""Every function that the compiled core exports, with valid arguments: `test_core_border.py` corrupts each of them.

A new export needs an entry in `CALLS`, or a test fails.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credibn import _core

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """How to call a function of the core, and what it must refuse beside what is wrong for every argument."""

    run: Callable[..., Any]
    """Takes the arguments by name; makes the objects that it needs afresh."""
    arguments: Callable[[], Arguments]
    refused: Mapping[str, list[Any]] = field(default_factory=dict)
    """Values of an argument that are of the right type and wrong all the same."""
    free: frozenset[tuple[str, int]] = frozenset()
    """(argument, axis) where another length asks for something else, and is not wrong."""
    unbounded: frozenset[str] = frozenset()
    """Arguments that say how long to work: no large value is tried."""


def changed(array: np.ndarray, at: Any, value: Any) -> np.ndarray:
    """A copy with one value changed."""
    copy = array.copy()
    copy[at] = value
    return copy


# ----------------------------------------------------------------- scoring

N = 3


def scoring_arguments(n: int = N, rows: int = 5) -> Arguments:
    return {
        "codes": np.ascontiguousarray(np.arange(n * rows).reshape(n, rows) % 2, dtype=np.uint16),
        "arities": np.full(n, 2, dtype=np.int64),
        "weights": np.ones(rows, dtype=np.int64),
        "is_bdeu": False,
        "parameter": 1.0,
        "epsilon": 1.0,
        "allowed": np.ones((n, n), dtype=np.uint8),
        "required": np.zeros((n, n), dtype=np.uint8),
        "max_parents": np.full(n, n - 1, dtype=np.int64),
        "edge_costs": np.zeros((n, n)),
    }


def pruning_arguments() -> Arguments:
    common = scoring_arguments()
    names = ("epsilon", "allowed", "required", "max_parents", "edge_costs")
    return {
        "set_costs": [np.zeros(1), np.arange(3.0), np.arange(3.0), np.zeros(1)],
        "n": N,
        **{name: common[name] for name in names},
        "floors": np.full(N, -np.inf),
        "size_penalties": np.zeros(4),
        "allowance": 0.0,
        "n_threads": 2,
        "watch": None,
    }


NOT_FINITE = [float("nan"), float("inf"), -float("inf")]
THREADS = [0, 1025, 1_000_000]
PRUNING_REFUSED: dict[str, list[Any]] = {
    "epsilon": [-1.0, *NOT_FINITE],
    "max_parents": [changed(np.full(N, 2), 1, -1), changed(np.full(N, 2), 2, -(2**63))],
    "edge_costs": [changed(np.zeros((N, N)), (0, 1), value) for value in NOT_FINITE],
}
TABLE_REFUSED: dict[str, list[Any]] = PRUNING_REFUSED | {
    "codes": [np.full((N, 5), 2, dtype=np.uint16), np.full((N, 5), 65535, dtype=np.uint16)],
    "arities": [changed(np.full(N, 2), 1, value) for value in (1, 0, -1, 65536, 2**32 + 2, 2**63 - 1)],
    "weights": [changed(np.ones(5, dtype=np.int64), 2, value) for value in (0, -1, 2**32, 2**63 - 1, -(2**63))]
    + [np.full(5, 2**30, dtype=np.int64)],
    "parameter": [-1.0, 1e308, *NOT_FINITE],
}
SCORING = {
    "plan_scoring": Call(_core.plan_scoring, scoring_arguments, TABLE_REFUSED),
    "prune_set_costs": Call(
        _core.prune_set_costs,
        pruning_arguments,
        PRUNING_REFUSED
        | {
            "set_costs": [
                [],
                pruning_arguments()["set_costs"][:3],
                [np.zeros(1), np.zeros(3), np.zeros(2), np.zeros(1)],
                [np.zeros(1), np.array([0.0, np.nan, 0.0]), np.zeros(3), np.zeros(1)],
                [np.zeros((1, 1))] * 4,
                [None] * 4,
            ],
            "n": [0, 2, 4, 256, 2**40],
            "allowance": [-1.0, *NOT_FINITE],
            "n_threads": THREADS,
        },
    ),
}


def planned() -> "_core.DiscreteProblem":
    return _core.DiscreteProblem(**scoring_arguments(), rules=[])


def descent_parts() -> Arguments:
    problem = planned()
    nodes, costs, masks, n_scored = problem.run_descent_tasks(0, len(problem.descent_weights()), None)
    named = {"nodes": nodes, "costs": costs, "masks": masks, "n_local_scores": n_scored}
    return {**named, "n_threads": 2, "watch": None}


def table_parts() -> Arguments:
    problem = planned()
    costs, cells = problem.run_table_tasks(0, len(problem.table_weights()), None)
    return {"costs": costs, "cells": cells, "n_threads": 2, "watch": None}


TASK_RANGES: dict[str, list[Any]] = {"first": [1000, 2**62], "last": [0, 1000, 2**62]}
SLICED = {
    "DiscreteProblem": Call(
        _core.DiscreteProblem,
        lambda: scoring_arguments() | {"rules": []},
        TABLE_REFUSED | {"rules": [["luck"]]},
    ),
    "DiscreteProblem.descent_weights": Call(lambda: planned().descent_weights(), dict),
    "DiscreteProblem.table_weights": Call(lambda: planned().table_weights(), dict),
    "DiscreteProblem.run_descent_tasks": Call(
        lambda **arguments: planned().run_descent_tasks(**arguments),
        lambda: {"first": 0, "last": 1, "watch": None},
        TASK_RANGES,
    ),
    "DiscreteProblem.run_table_tasks": Call(
        lambda **arguments: planned().run_table_tasks(**arguments),
        lambda: {"first": 0, "last": 1, "watch": None},
        TASK_RANGES,
    ),
    "DiscreteProblem.join_descent": Call(
        lambda **arguments: planned().join_descent(**arguments),
        descent_parts,
        {
            "nodes": [changed(descent_parts()["nodes"], 0, value) for value in (-1, 3)],
            "costs": [changed(descent_parts()["costs"], 0, value) for value in NOT_FINITE],
            "masks": [changed(descent_parts()["masks"], (0, 0), value) for value in (8, 2**63)],
            "n_threads": THREADS,
        },
    ),
    "DiscreteProblem.join_table": Call(
        lambda **arguments: planned().join_table(**arguments),
        table_parts,
        {"costs": [changed(table_parts()["costs"], 0, value) for value in NOT_FINITE], "n_threads": THREADS},
    ),
}

# ----------------------------------------------------------------- networks

CHAIN = np.array([[[0], [1], [2]], [[0], [1], [3]]], dtype=np.uint64)  # 0 -> 1 -> 2, and a clique
WIDE = np.zeros((1, 70, 2), dtype=np.uint64)
WRONG_NETWORKS = [
    changed(CHAIN, (0, 0, 0), 2),  # a directed cycle
    changed(CHAIN, (0, 1, 0), 2),  # its own parent
    changed(CHAIN, (1, 2, 0), 8),  # a node that does not exist
    changed(CHAIN, (1, 2, 0), 2**64 - 1),
    np.zeros((1, 256, 4), dtype=np.uint64),
    np.zeros((1, 70, 1), dtype=np.uint64),
    np.zeros((1, 3, 2), dtype=np.uint64),
]
OTHER_NETWORKS = frozenset({("masks", 0), ("masks", 1)})
WRONG_RANKS = [np.array(rank) for rank in ([0, 1, 1], [0, 1, 3], [-1, 0, 1], [0, 1, 2**32], [0, 1, -(2**63)])]


def rank_and_masks() -> Arguments:
    return {"masks": CHAIN.copy(), "rank": np.arange(3)}


def members(masks: np.ndarray, limit: Any) -> Any:
    return _core.ClassMembers(masks).next(limit)


OFFSETS = np.array([0, 2, 4, 5])
CHOICES = np.array([[0, 1, 0], [1, 0, 0]], dtype=np.uint32)
CANDIDATE_MASKS = np.array([[0], [2], [0], [1], [0]], dtype=np.uint64)
WRONG_OFFSETS = [
    changed(OFFSETS, 0, 1),
    changed(OFFSETS, 1, 5),
    changed(OFFSETS, 1, -1),
    changed(OFFSETS, 3, 2**40),
    changed(OFFSETS, 1, 2**63 - 1),
    changed(OFFSETS, 2, -(2**63)),
    np.zeros(257, dtype=np.int64),
]
WRONG_CHOICES = [changed(CHOICES, (0, 0), 2), changed(CHOICES, (1, 2), 2**32 - 1)]


def averaging_arguments() -> Arguments:
    return {
        "offsets": OFFSETS.copy(),
        "masks": CANDIDATE_MASKS.copy(),
        "choices": CHOICES.copy(),
        "weights": np.array([0.25, 0.75]),
        "are_classes": True,
    }


AVERAGING_REFUSED: dict[str, list[Any]] = {
    "offsets": WRONG_OFFSETS,
    "masks": [changed(CANDIDATE_MASKS, (0, 0), 1), changed(CANDIDATE_MASKS, (3, 0), 2**63)],
    "choices": [*WRONG_CHOICES, changed(CHOICES, (0, 0), 1)],  # the last has a cycle
    "weights": [np.array([0.5, value]) for value in (-0.1, 1.1, *NOT_FINITE)],
}
NETWORKS = {
    "class_forms": Call(
        _core.class_forms,
        rank_and_masks,
        {"masks": WRONG_NETWORKS, "rank": WRONG_RANKS},
        OTHER_NETWORKS,
    ),
    "are_canonical": Call(
        _core.are_canonical,
        rank_and_masks,
        {"masks": WRONG_NETWORKS, "rank": WRONG_RANKS},
        OTHER_NETWORKS,
    ),
    "group_by_class": Call(
        _core.group_by_class,
        lambda: {"masks": CHAIN.copy()},
        {"masks": WRONG_NETWORKS},
        OTHER_NETWORKS,
    ),
    "sample_members": Call(
        _core.sample_members,
        lambda: {"masks": CHAIN.copy(), "seed": 1},
        {"masks": WRONG_NETWORKS},
        OTHER_NETWORKS,
    ),
    "ClassMembers": Call(
        _core.ClassMembers, lambda: {"masks": CHAIN.copy()}, {"masks": WRONG_NETWORKS}, OTHER_NETWORKS
    ),
    "ClassMembers.next": Call(
        members, lambda: {"masks": CHAIN.copy(), "limit": 100}, {"limit": [0, -1]}, OTHER_NETWORKS
    ),
    "average_structure": Call(_core.average_structure, averaging_arguments, AVERAGING_REFUSED),
    "average_ancestors": Call(_core.average_ancestors, averaging_arguments, AVERAGING_REFUSED),
    "average_causes": Call(_core.average_causes, averaging_arguments, AVERAGING_REFUSED),
    "network_scores": Call(
        _core.network_scores,
        lambda: {"offsets": OFFSETS.copy(), "scores": -np.arange(5.0), "choices": CHOICES.copy(), "n_threads": 2},
        {"offsets": WRONG_OFFSETS, "choices": WRONG_CHOICES, "n_threads": THREADS},
        frozenset({("choices", 0)}),
    ),
    "group_choices_by_class": Call(
        _core.group_choices_by_class,
        lambda: {
            "offsets": OFFSETS.copy(),
            "masks": CANDIDATE_MASKS.copy(),
            "choices": CHOICES.copy(),
            "n_threads": 2,
            "watch": None,
        },
        {
            "offsets": WRONG_OFFSETS,
            "masks": [changed(CANDIDATE_MASKS, (0, 0), 1), changed(CANDIDATE_MASKS, (3, 0), 2**63)],
            "choices": [*WRONG_CHOICES, changed(changed(CHOICES, (0, 0), 1), (0, 1), 1)],  # the last has a cycle
            "n_threads": THREADS,
        },
        frozenset({("choices", 0)}),
    ),
    "networks_in_order": Call(
        _core.networks_in_order,
        lambda: {"scores": np.array([-1.0, -2.0]), "choices": CHOICES.copy()},
        {},
        frozenset({("choices", 1)}),
    ),
    "sum_networks": Call(
        _core.sum_networks,
        lambda: {
            "offsets": OFFSETS.copy(),
            "scores": np.array([-1.0, -2.0, -1.0, -2.0, -1.0]),
            "masks": CANDIDATE_MASKS[:, 0].copy(),
            "with_marginals": True,
            "cause": 1,
            "watch": None,
        },
        {
            "offsets": [*WRONG_OFFSETS, np.zeros(26, dtype=np.int64), np.array([0, 0, 4, 5])],
            "scores": [changed(np.zeros(5), 1, value) for value in (*NOT_FINITE, -1e9)],
            "masks": [changed(CANDIDATE_MASKS[:, 0], 1, value) for value in (1, 8, 2**64 - 1)],
            "cause": [-1, 3],
        },
    ),
    "network_sum_rounding": Call(
        _core.network_sum_rounding,
        lambda: {"n": 5},
        {"n": [0, -1, 25, 2**31 - 1]},
    ),
    "network_sum_bytes": Call(
        _core.network_sum_bytes,
        lambda: {"n": 5, "with_marginals": True},
        {"n": [0, -1, 25, 2**31 - 1]},
    ),
}

# ----------------------------------------------------------------- search

COSTS = np.array([1.0, 2.0, 1.0, 2.0, 1.0])


def candidates() -> Arguments:
    return {"offsets": OFFSETS.copy(), "costs": COSTS.copy(), "masks": CANDIDATE_MASKS.copy()}


def problem() -> _core.SearchProblem:
    """Two nodes that may be each other's parent, a third without edges, and one row that forbids the cycle."""
    made = _core.SearchProblem(**candidates())
    made.add_cluster_cut([0, 1], 1)
    return made


def collection(n: int = N, size_words: int = 1) -> _core.Collection:
    return _core.Collection(n, size_words, 10.0, 1e-9, None, None, None)


CANDIDATES_REFUSED: dict[str, list[Any]] = {
    "offsets": [*WRONG_OFFSETS, np.array([0, 0, 4, 5])],
    "costs": [changed(COSTS, at, value) for at in (0, 4) for value in NOT_FINITE] + [-COSTS],
    "masks": [
        changed(CANDIDATE_MASKS, (0, 0), 1),
        changed(CANDIDATE_MASKS, (3, 0), 8),
        changed(CANDIDATE_MASKS, (4, 0), 2**63),
    ],
}
WRONG_COLLECTIONS = [collection(2), collection(4), collection(3, 0)]
COLLECTION = {
    "n": 3,
    "size_words": 1,
    "width": 1.0,
    "tie": 1e-9,
    "max_entries": None,
    "max_networks": None,
    "max_bytes": None,
}


def multiplied() -> Arguments:
    return {"ids": np.array([0]), "dual_values": np.array([0.5]), "alive": np.ones(5, dtype=np.uint8)}


def listed(given: _core.Collection | None, **arguments: Any) -> Any:
    """What a depth-first search says and finds; the collection is made afresh unless one is given."""
    held = collection() if given is FRESH else given
    answer = problem().search_depth_first(collection=held, **arguments)
    assert held is not None
    return answer, held.finish(1, None)


def searched(given: _core.Collection | None, **arguments: Any) -> Any:
    held = collection() if given is FRESH else given
    bound, _ = _core.search_subsets(collection=held, **arguments)
    assert held is not None
    return bound, held.finish(1, None)


def taken(**rows: Any) -> Any:
    held = collection()
    held.take(**rows)
    return held.finish(1, None)


FRESH = collection()
WRONG_RANK_LISTS = [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], [], [0, 1, 2, 3]]
WRONG_IDS = [np.array([1]), np.array([-1]), np.array([2**62]), np.array([-(2**63)])]
SEARCH = {
    "SearchProblem": Call(_core.SearchProblem, candidates, CANDIDATES_REFUSED),
    "SearchProblem.find_network": Call(
        lambda **arguments: problem().find_network(**arguments),
        lambda: {"order": np.array([2, 0, 1]), "seed": 1, "effort": 100, "watch": None},
        {"order": [np.array(order) for order in ([0, 1, 1], [0, 1, 3], [-1, 0, 1], [2**32, 1, 2], [0, 1, -(2**63)])]},
        frozenset({("order", 0)}),  # none: random orders
        frozenset({"effort"}),
    ),
    "SearchProblem.rounding": Call(lambda: problem().rounding(), dict),
    "SearchProblem.ranks_along": Call(
        lambda network: problem().ranks_along(network),
        lambda: {"network": np.zeros(3, dtype=np.uint32)},
        {"network": [np.array(choices, dtype=np.uint32) for choices in ([2, 0, 0], [1, 1, 0], [0, 0, 2**32 - 1])]},
    ),
    "SearchProblem.add_cluster_cut": Call(
        lambda nodes, k: problem().add_cluster_cut(nodes, k),
        lambda: {"nodes": [0, 2], "k": 1},
        {"nodes": [[], [0], [0, 3], [-1, 0], [0, 2**31 - 1]], "k": [0, -1, 2, 2**31 - 1]},
    ),
    "SearchProblem.separate_cluster_cuts": Call(
        lambda **arguments: problem().separate_cluster_cuts(**arguments),
        lambda: {"values": np.array([0.0, 1.0, 0.0, 1.0, 1.0]), "max_k": 2, "max_cuts": 10, "least": 0.01},
        {"values": [changed(COSTS, 1, value) for value in NOT_FINITE], "max_k": [0, -1]},
    ),
    "SearchProblem.separate_diverse_cuts": Call(
        lambda **arguments: problem().separate_diverse_cuts(**arguments),
        lambda: {
            "points": np.array([[0.5, 0.5, 0.5, 0.5, 1.0]]),
            "counts": np.ones(5, dtype=np.uint8),
            "ids": np.array([0]),
            "max_k": 2,
            "max_found": 10,
            "max_cuts": 10,
            "max_cosine": 0.6,
            "least": 0.01,
        },
        {
            "points": [changed(COSTS, 1, value)[np.newaxis] for value in NOT_FINITE],
            "max_k": [0, -1],
            "ids": WRONG_IDS,
        },
        frozenset({("ids", 0)}),
    ),
    "SearchProblem.cut": Call(lambda id: problem().cut(id), lambda: {"id": 0}, {"id": [1, 2**63]}),
    "SearchProblem.entries": Call(
        lambda ids, positions: problem().entries(ids, positions),
        lambda: {"ids": np.array([0]), "positions": np.arange(8)},
        {"ids": WRONG_IDS, "positions": [changed(np.arange(8), 0, value) for value in (8, -1, 2**63 - 1, -(2**63))]},
        frozenset({("ids", 0), ("positions", 0)}),
    ),
    "SearchProblem.bound": Call(
        lambda **arguments: problem().bound(**arguments), multiplied, {"ids": WRONG_IDS}, frozenset()
    ),
    "SearchProblem.search_depth_first": Call(
        lambda collection, **arguments: listed(collection, **arguments),
        lambda: (
            {"collection": FRESH}
            | multiplied()
            | {"rank": [0, 1, 2], "by_class": True, "limit": None, "max_steps": None}
            | {"first": 0, "last": None, "n_threads": 2, "watch": None, "above": -9.0, "up_to": 9.0}
        ),
        {
            "collection": WRONG_COLLECTIONS,
            "ids": WRONG_IDS,
            "rank": WRONG_RANK_LISTS,
            "limit": [float("nan")],
            "n_threads": THREADS,
            "above": [float("nan")],
            "up_to": [float("nan")],
        },
    ),
    "SearchProblem.count_tasks": Call(
        lambda **arguments: problem().count_tasks(**arguments),
        lambda: {"collection": FRESH} | multiplied() | {"rank": [0, 1, 2], "by_class": True, "limit": 9.0},
        {
            "collection": WRONG_COLLECTIONS,
            "ids": WRONG_IDS,
            "rank": WRONG_RANK_LISTS,
            "limit": [float("nan")],
        },
    ),
    "SearchProblem.cut_definitions": Call(
        lambda ids: problem().cut_definitions(ids),
        lambda: {"ids": np.array([0])},
        {"ids": WRONG_IDS},
        frozenset({("ids", 0)}),
    ),
    "SearchProblem.make_cuts": Call(
        lambda definitions: problem().make_cuts(definitions),
        lambda: {"definitions": np.array([0, 1, 2, 0, 1, 1, 1, 1, 0, 2])},
        {
            "definitions": [
                np.array(definition)
                for definition in ([2], [0, 0, 2, 0, 1], [0, 1, 2, 0, 3], [0, 1, 2, 0, -1], [1, 1, 0, 0], [0, 1, 2**62])
            ]
        },
        frozenset({("definitions", 0)}),  # none: no cuts
    ),
    "search_subsets": Call(
        lambda collection, **arguments: searched(collection, **arguments),
        lambda: (
            candidates()
            | {"is_open": np.ones(5, dtype=np.uint8), "collection": FRESH, "by_class": True}
            | {"max_bytes": None, "n_threads": 2, "seconds": 60.0, "watch": None}
        ),
        CANDIDATES_REFUSED | {"collection": WRONG_COLLECTIONS, "n_threads": THREADS, "seconds": [-1.0, math.nan]},
    ),
    "subset_search_size": Call(
        _core.subset_search_size,
        lambda: candidates() | {"is_open": np.ones(5, dtype=np.uint8)},
        CANDIDATES_REFUSED,
    ),
    "Collection": Call(
        _core.Collection,
        lambda: dict(COLLECTION),
        {
            "n": [0, 256, 2**62],
            "size_words": [65, 2**61],
            "width": [-float("inf"), float("nan")],
            "tie": [-1.0, *NOT_FINITE],
        },
    ),
    "Collection.update_incumbent": Call(
        lambda cost, network: collection().update_incumbent(cost, network),
        lambda: {"cost": 1.0, "network": np.zeros(3, dtype=np.uint32)},
        {"cost": [float("nan")]},
    ),
    "Collection.incumbent": Call(lambda: collection().incumbent(), dict),
    "Collection.truncate": Call(
        lambda limit: collection().truncate(limit), lambda: {"limit": 1.0}, {"limit": [float("nan")]}
    ),
    "Collection.leave_out_class": Call(
        lambda cost: collection().leave_out_class(cost), lambda: {"cost": 1.0}, {"cost": [float("nan")]}
    ),
    "Collection.least_class_left_out": Call(lambda: collection().least_class_left_out(), dict),
    "Collection.generation": Call(lambda: collection().generation(), dict),
    "Collection.take": Call(
        lambda **arguments: taken(**arguments),
        lambda: {"choices": CHOICES.copy(), "costs": np.array([2.0, 3.0]), "sizes": np.ones((2, 1), dtype=np.uint64)},
        {"costs": [np.array([2.0, value]) for value in NOT_FINITE]},
    ),
    "Collection.networks_from": Call(
        lambda first: collection().networks_from(first), lambda: {"first": 0}, {"first": [1, 2**63]}
    ),
    "Collection.limit": Call(lambda: collection().limit(), dict),
    "Collection.best": Call(lambda: collection().best(), dict),
    "Collection.is_truncated": Call(lambda: collection().is_truncated(), dict),
    "Collection.is_full": Call(lambda: collection().is_full(), dict),
    "Collection.count": Call(lambda: collection().count(), dict),
    "Collection.finish": Call(
        lambda **arguments: collection().finish(**arguments),
        lambda: {"n_threads": 2, "watch": None},
        {"n_threads": THREADS},
    ),
}

# ----------------------------------------------------------------- counting


def counter_arguments() -> Arguments:
    return {
        "offsets": OFFSETS.copy(),
        "costs": COSTS.astype(np.int64),
        "masks": CANDIDATE_MASKS.copy(),
        "best": 5,
        "width": 2,
        "with_classes": True,
        "max_bytes": 1 << 24,
    }


def whole_arguments() -> Arguments:
    return {
        "chosen": np.arange(5),
        "ends": np.array([0, 5]),
        "lowers": np.array([[0]], dtype=np.int64),
        "reduced": np.zeros((1, 5), dtype=np.int64),
        "max_steps": 1 << 20,
        "searches_order": True,
        "watch": None,
    }


def branch_arguments() -> Arguments:
    arguments = whole_arguments() | {"n_threads": 2}
    del arguments["searches_order"]
    return arguments


def counter() -> _core.NetworkCounter:
    return _core.NetworkCounter(**counter_arguments())


def counted() -> _core.CountedNetworks:
    added = counter()
    added.add_whole(**whole_arguments())
    return added.count(None, False, None)


def counter_of_branches() -> _core.NetworkCounter:
    split = counter()
    assert split.add_whole(**whole_arguments() | {"max_steps": 0})[0] == "too_large"
    return split


def wrong_branches() -> dict[str, list[np.ndarray]]:
    return {
        "chosen": [np.array(chosen) for chosen in ([0, 1, 2, 3, 5], [0, 2, 1, 3, 4], [-1, 1, 2, 3, 4])],
        "ends": [np.array(ends) for ends in ([0, 4], [1, 5], [0, 3, 5])],
        "lowers": [np.array([[1 << 60]])],
        "reduced": [np.full((1, 5), value, dtype=np.int64) for value in (-1, 1 << 57)],
    }


def random_numbers() -> np.ndarray:
    return np.linspace(0.0, 0.9, 2 * (N + 2)).reshape(2, N + 2)


COUNTING = {
    "NetworkCounter": Call(
        _core.NetworkCounter,
        counter_arguments,
        {
            "offsets": [changed(OFFSETS, 0, 1), changed(OFFSETS, 1, 0)],
            "costs": [changed(COSTS.astype(np.int64), 0, value) for value in (-1, 1 << 57)],
            "masks": [changed(CANDIDATE_MASKS, (0, 0), value) for value in (1, 8)],
            "best": [1 << 60, -(1 << 60)],
            "width": [-1, 1 << 60],
        },
    ),
    "NetworkCounter.bytes": Call(lambda: counter().bytes, dict),
    "NetworkCounter.add_whole": Call(
        lambda **arguments: counter().add_whole(**arguments), whole_arguments, wrong_branches()
    ),
    "NetworkCounter.add": Call(
        lambda **arguments: counter_of_branches().add(**arguments),
        branch_arguments,
        wrong_branches() | {"n_threads": THREADS},
    ),
    "NetworkCounter.count": Call(
        lambda **arguments: counter().count(**arguments),
        lambda: {"unexplored": 3, "is_stopped": False, "watch": None},
        {"unexplored": [1 << 60]},
    ),
    "CountedNetworks": Call(counted, dict),
    "CountedNetworks.count_up_to": Call(lambda limit: counted().count_up_to(limit), lambda: {"limit": 100}),
    "CountedNetworks.classes_up_to": Call(lambda limit: counted().classes_up_to(limit), lambda: {"limit": 100}),
    "CountedNetworks.weigh": Call(
        lambda step: counted().weigh(step), lambda: {"step": 0.5}, {"step": [-1.0, math.nan, math.inf]}
    ),
    "CountedNetworks.sample": Call(
        lambda random, step: counted().sample(random, step),
        lambda: {"random": random_numbers(), "step": 0.5},
        {"random": [changed(random_numbers(), (0, 0), value) for value in (-0.1, 1.0, math.nan)], "step": [-1.0]},
        frozenset({("random", 0)}),
    ),
} | {
    f"CountedNetworks.{name}": Call(lambda name=name: getattr(counted(), name), dict)
    for name in ("outcome", "is_empty", "bound", "best", "limit", "n_states", "n_class_states")
}


def diagram_arguments() -> Arguments:
    names = ("order", "sizes", "degrees", "to", "candidates", "weights")
    return dict(zip(names, _core.diagram_arrays(counted(), False), strict=True))


def rebuilt(offsets, costs, masks, limit, max_bytes, watch, **arrays):
    found = _core.counted_of_arrays(offsets, costs, masks, limit, tuple(arrays.values()), None, max_bytes, watch)
    return found.count_up_to(100)


COUNTED = {
    "NetworksInOrder": Call(lambda: _core.NetworksInOrder(counted()), dict),
    "NetworksInOrder.take": Call(
        lambda count: _core.NetworksInOrder(counted()).take(count), lambda: {"count": 2}, {"count": [1 << 21]}
    ),
    "masses_up_to": Call(
        lambda **arguments: _core.masses_up_to(counted(), **arguments),
        lambda: {"limits": np.array([2, 5]), "step": 0.5},
        {"step": [-1.0, math.nan, math.inf]},
        frozenset({("limits", 0)}),
    ),
    "masses_without": Call(
        lambda **arguments: _core.masses_without(counted(), **arguments),
        lambda: {"left_out": np.arange(5, dtype=np.uint8), "step": 0.5},
        {"step": [-1.0, math.nan, math.inf]},
    ),
    "n_entries": Call(lambda: _core.n_entries(counted()), dict),
    "lower_limit": Call(
        lambda limit, **arguments: _core.lower_limit(counted(), limit, **arguments),
        lambda: {"limit": counted().best, "max_bytes": 1 << 24, "watch": None},
        {"limit": [-1, 1 << 40]},
    ),
    "diagram_arrays": Call(
        lambda of_classes: _core.diagram_arrays(counted(), of_classes), lambda: {"of_classes": False}
    ),
    "counted_of_arrays": Call(
        rebuilt,
        lambda: {
            "offsets": OFFSETS.copy(),
            "costs": COSTS.astype(np.int64),
            "masks": CANDIDATE_MASKS.copy(),
            "limit": counted().limit,
            "max_bytes": 1 << 24,
            "watch": None,
            **diagram_arguments(),
        },
        {
            "offsets": [changed(OFFSETS, 0, 1), changed(OFFSETS, 1, 0)],
            "costs": [changed(COSTS.astype(np.int64), 0, value) for value in (-1, 1 << 57)],
            "limit": [-1, 1 << 60],
            **{
                name: [changed(array, 0, value) for value in values]
                for (name, array), values in zip(
                    diagram_arguments().items(),
                    ([N, -1], [0, 2**32 - 1], [0, 2**32 - 1], [2**32 - 1], [4, 2**32 - 1], [0, 2]),
                    strict=True,
                )
            },
        },
    ),
}

CALLS: dict[str, Call] = SCORING | SLICED | NETWORKS | SEARCH | COUNTING | COUNTED
