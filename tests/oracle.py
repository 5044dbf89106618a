"""Brute-force twins of the scoring stage: slow, obvious, and sharing no code with the package.

Parent sets are sorted tuples of positions. Local costs (lower is better) are a list with, for each child, a
dict from parent set to cost; only parent sets that the constraints allow are in it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations

import numpy as np

ParentSet = tuple[int, ...]
Costs = dict[ParentSet, float]
Dag = tuple[ParentSet, ...]


def all_parent_sets(n: int, child: int) -> list[ParentSet]:
    others = [v for v in range(n) if v != child]
    return [parents for size in range(n) for parents in combinations(others, size)]


def allowed(child: int, parents: ParentSet, constraints: Mapping) -> bool:
    """Whether the options of `score_parent_sets`, in positions, let `child` have exactly these parents."""
    edges = {(parent, child) for parent in parents}
    tier_of = {v: k for k, tier in enumerate(constraints.get("tiers") or ()) for v in tier}
    limit = constraints.get("max_parents")
    if isinstance(limit, Mapping):
        limit = limit.get(child)
    return (
        edges.isdisjoint(constraints.get("forbidden_edges") or ())
        and edges >= {edge for edge in constraints.get("required_edges") or () if edge[1] == child}
        and all(tier_of[p] <= tier_of[child] for p in parents if p in tier_of and child in tier_of)
        and (limit is None or len(parents) <= limit)
    )


def local_costs(
    arities: Sequence[int],
    cost: Callable[[int, ParentSet], float],
    constraints: Mapping | None = None,
    log_prior: np.ndarray | None = None,
) -> list[Costs]:
    """Cost of each allowed parent set of each child; a column of one state neither has nor is a parent."""
    n = len(arities)
    table = []
    for child in range(n):
        of_child = {}
        for parents in all_parent_sets(n, child):
            is_constant = parents and min(arities[v] for v in (child, *parents)) == 1
            if is_constant or not allowed(child, parents, constraints or {}):
                continue
            prior = 0.0 if log_prior is None else sum(log_prior[p, child] for p in parents)
            of_child[parents] = cost(child, parents) - prior
        table.append(of_child)
    return table


def rule_one(costs: Costs, epsilon: float) -> set[ParentSet]:
    """Keep P unless a proper subset of it is cheaper by more than epsilon."""
    return {
        parents
        for parents, cost in costs.items()
        if not any(
            costs[subset] + epsilon < cost
            for size in range(len(parents))
            for subset in combinations(parents, size)
            if subset in costs
        )
    }


def is_acyclic(parents: Dag) -> bool:
    """Take away nodes without remaining parents until none is left."""
    left = set(range(len(parents)))
    while left:
        roots = {v for v in left if left.isdisjoint(parents[v])}
        if not roots:
            return False
        left -= roots
    return True


@cache
def all_dags(n: int) -> tuple[Dag, ...]:
    """Every directed acyclic graph on n <= 5 nodes, as the parent set of each node."""
    assert n <= 5
    return tuple(_extend((), n))


def _extend(chosen: Dag, n: int) -> Iterator[Dag]:
    """All ways to complete the parent sets of the first nodes; cycles among these are cut at once."""
    if len(chosen) == n:
        yield chosen
        return
    for parents in all_parent_sets(n, len(chosen)):
        if is_acyclic((*chosen, parents, *[()] * (n - len(chosen) - 1))):
            yield from _extend((*chosen, parents), n)


def network_cost(dag: Dag, costs: Sequence[Costs]) -> float:
    """Sum of the local costs; infinite where a parent set is not allowed."""
    return sum(costs[child].get(parents, float("inf")) for child, parents in enumerate(dag))


def credible_dags(n: int, costs: Sequence[Costs], epsilon: float) -> list[Dag]:
    """All networks within epsilon of the cheapest."""
    by_cost = [(network_cost(dag, costs), dag) for dag in all_dags(n)]
    optimum = min(by_cost)[0]
    return [dag for cost, dag in by_cost if cost <= optimum + epsilon]


def covered_reversals(dag: Dag) -> Iterator[Dag]:
    """The equivalent networks that differ in one edge: u -> v with parents(v) = parents(u) + u, turned."""
    for v, parents in enumerate(dag):
        for u in parents:
            if set(parents) == {*dag[u], u}:
                turned = list(dag)
                turned[v] = tuple(p for p in parents if p != u)
                turned[u] = tuple(sorted((*dag[u], v)))
                yield tuple(turned)


# ----------------------------------------------------------------- the same for up to a dozen variables


def set_costs_by_mask(
    codes: np.ndarray,
    weights: np.ndarray,
    arities: Sequence[int],
    of_counts: Callable[[list[int], float], float],
) -> np.ndarray:
    """F of every subset, by bit mask; `of_counts(counts of seen cells, number of configurations)` is F."""
    n = len(arities)
    values = np.empty(1 << n)
    for mask in range(1 << n):
        cells, configurations = np.zeros(len(codes), dtype=np.int64), 1.0
        for v in range(n):
            if mask >> v & 1:
                cells = np.unique(cells * arities[v] + codes[:, v], return_inverse=True)[1]
                configurations *= arities[v]
        counts = np.bincount(cells, weights=weights).astype(np.int64).tolist()
        values[mask] = of_counts(counts, configurations)
    return values


def penalised_likelihood(penalty_weight: float) -> Callable[[list[int], float], float]:
    """N*H plus the penalty weight for each configuration."""

    def of_counts(counts: list[int], configurations: float) -> float:
        N = sum(counts)
        return penalty_weight * configurations - math.fsum(k * math.log(k / N) for k in counts)

    return of_counts


def dirichlet(ess: float) -> Callable[[list[int], float], float]:
    """Minus the log marginal likelihood of the cells, the normaliser of the whole left out."""

    def of_counts(counts: list[int], configurations: float) -> float:
        a = ess / configurations
        return -math.fsum(math.lgamma(a + k) - math.lgamma(a) for k in counts)

    return of_counts


def rule_one_by_mask(set_costs: np.ndarray, child: int, epsilon: float) -> dict[int, float]:
    """Masks of the parent sets that rule 1 keeps, with their costs, from F by mask."""
    n = len(set_costs).bit_length() - 1
    masks = np.array([mask for mask in range(1 << n) if not mask >> child & 1])
    cost = np.full(1 << n, np.inf)
    cost[masks] = set_costs[masks | 1 << child] - set_costs[masks]
    best = cost.copy()  # of the set and all its subsets
    for v in range(n):
        with_v = np.array([mask for mask in range(1 << n) if mask >> v & 1])
        best[with_v] = np.minimum(best[with_v], best[with_v ^ 1 << v])
    return {int(mask): float(cost[mask]) for mask in masks if not best[mask] + epsilon < cost[mask]}
