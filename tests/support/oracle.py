"""Brute-force twins of the scoring stage and of equivalence classes: slow, obvious, sharing no code with the package.

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


# ----------------------------------------------------------------- Markov equivalence classes


def markov_key(dag: Dag) -> tuple[frozenset, frozenset]:
    """Skeleton and v-structures: equal for two networks exactly when they are equivalent (Verma & Pearl 1990)."""
    skeleton = frozenset(frozenset((p, v)) for v, parents in enumerate(dag) for p in parents)
    colliders = frozenset(
        (frozenset((a, b)), v)
        for v, parents in enumerate(dag)
        for a, b in combinations(parents, 2)
        if frozenset((a, b)) not in skeleton
    )
    return skeleton, colliders


@cache
def all_classes(n: int) -> tuple[tuple[Dag, ...], ...]:
    """The networks on n <= 5 nodes, grouped into equivalence classes."""
    members: dict[tuple, list[Dag]] = {}
    for dag in all_dags(n):
        members.setdefault(markov_key(dag), []).append(dag)
    return tuple(tuple(group) for group in members.values())


def class_of(dag: Dag) -> set[Dag]:
    """All equivalent networks: those that turning covered edges leads to (Chickering 1995)."""
    found, new = {dag}, [dag]
    while new:
        new = [turned for old in new for turned in covered_reversals(old)]
        new = [turned for turned in dict.fromkeys(new) if turned not in found]
        found.update(new)
    return found


def edges_of(dag: Dag) -> set[tuple[int, int]]:
    return {(p, v) for v, parents in enumerate(dag) for p in parents}


def cpdag(members: Sequence[Dag]) -> tuple[set[tuple[int, int]], set[frozenset]]:
    """The edges that all members share, and the others without direction."""
    compelled = set.intersection(*map(edges_of, members))
    return compelled, {frozenset(edge) for edge in edges_of(members[0]) - compelled}


def canonical_member(members: Sequence[Dag], rank: Sequence[int]) -> Dag:
    """Visit the node with the most visited undirected neighbours, then of the smallest rank; edges go forward."""
    compelled, undirected = cpdag(members)
    n, order = len(members[0]), list[int]()
    while len(order) < n:
        labels = [sum(frozenset((v, u)) in undirected for u in order) for v in range(n)]
        order.append(min((v for v in range(n) if v not in order), key=lambda v: (-labels[v], rank[v])))
    forward = {(a, b) for k, a in enumerate(order) for b in order[k + 1 :] if frozenset((a, b)) in undirected}
    return tuple(tuple(sorted(p for p, child in compelled | forward if child == v)) for v in range(n))


def count_orientations(nodes: frozenset[int], edges: frozenset[frozenset]) -> int:
    """Acyclic orientations of a connected chordal graph without v-structures, by their source (He, Jia & Yu 2015).

    From the source on, rule 1 (a -> b - c, a and c not joined: b -> c) and rule 2 (a -> b -> c, a - c: a -> c) of Meek
    (1995) leave undirected components, which are independent.
    """
    return _count_orientations(nodes, frozenset(edge for edge in edges if edge <= nodes))


@cache
def _count_orientations(nodes: frozenset[int], edges: frozenset[frozenset]) -> int:
    if len(nodes) == 1:
        return 1
    joined = {v: {u for u in nodes if frozenset((u, v)) in edges} for v in nodes}
    total = 0
    for source in nodes:
        directed = {(source, v) for v in joined[source]}
        while True:
            free = {(b, c) for b in nodes for c in joined[b]} - directed - {(c, b) for b, c in directed}
            rule_1 = {(b, c) for b, c in free if any((a, b) in directed and a not in joined[c] for a in nodes - {c})}
            rule_2 = {(a, c) for a, c in free if any((a, b) in directed and (b, c) in directed for b in nodes)}
            if not rule_1 | rule_2:
                break
            directed |= rule_1 | rule_2
        product, left = 1, set(nodes) - {source}
        while left:
            part = {left.pop()}
            while grown := {c for b, c in free if b in part} - part:
                part |= grown
            left -= part
            product *= count_orientations(frozenset(part), edges)
        total += product
    return total


def all_networks_of_six() -> np.ndarray:
    """The parents of each node, as bits, in all 3,781,503 networks on 6 nodes: shape (k, 6)."""
    pairs, found = list(combinations(range(6), 2)), []
    inner = np.zeros((3**12, 6), dtype=np.uint8)  # each pair: no edge, forwards, backwards
    for k, (a, b) in enumerate(pairs[:12]):
        digit = np.arange(3**12) // 3**k % 3
        inner[:, b] |= ((digit == 1) << a).astype(np.uint8)
        inner[:, a] |= ((digit == 2) << b).astype(np.uint8)
    for digits in np.ndindex(3, 3, 3):
        masks = inner.copy()
        for digit, (a, b) in zip(digits, pairs[12:], strict=True):
            masks[:, b] |= (digit == 1) << a
            masks[:, a] |= (digit == 2) << b
        left = np.full(len(masks), 63, dtype=np.uint8)
        for _ in range(6):
            roots = np.zeros_like(left)
            for v in range(6):
                roots |= (((masks[:, v] & left) == 0) << v).astype(np.uint8)
            left &= ~roots
        found.append(masks[left == 0])
    return np.concatenate(found)


def markov_keys_of_six(masks: np.ndarray) -> np.ndarray:
    """`markov_key` of networks on 6 nodes as two numbers: skeleton and v-structures; shape (k, 2)."""
    edge = {(p, v): masks[:, v] >> p & 1 for p in range(6) for v in range(6)}
    joined = {(a, b): edge[a, b] | edge[b, a] for a, b in combinations(range(6), 2)}
    keys, shift = np.zeros((2, len(masks)), dtype=np.uint64), 0
    for k, (a, b) in enumerate(joined):
        keys[0] |= joined[a, b].astype(np.uint64) << np.uint64(k)
        for v in set(range(6)) - {a, b}:
            collider = edge[a, v] & edge[b, v] & (joined[a, b] ^ 1)
            keys[1] |= collider.astype(np.uint64) << np.uint64(shift)
            shift += 1
    return keys.T


# ----------------------------------------------------------------- the sum over all networks


def mass_by_layers(weights: Sequence[Mapping[int, int]]) -> int:
    """The sum over all networks of the product of the nodes' weights, by parent mask; exact, for whole weights.

    A network has layers: its sources, the sources of the rest, and so on. A node of the next layer has its parents
    among the nodes placed, with one in the last layer. No inclusion and exclusion over networks.
    """
    n = len(weights)
    inside = [
        [sum(weight for parents, weight in of_node.items() if not parents & ~placed) for placed in range(1 << n)]
        for of_node in weights
    ]
    mass = {(0, 0): 1}
    total = 0
    for placed in range(1 << n):  # supersets have larger numbers
        for last in (layer for layer in range(placed + 1) if (placed, layer) in mass):
            here = mass.pop((placed, last))
            if placed == (1 << n) - 1:
                total += here
            left = ~placed & ((1 << n) - 1)
            layer = left
            while layer:
                product = here
                for v in range(n):
                    if layer >> v & 1:
                        new = inside[v][placed] - (inside[v][placed & ~last] if placed else 0)
                        product *= new
                if product:
                    key = (placed | layer, layer)
                    mass[key] = mass.get(key, 0) + product
                layer = (layer - 1) & left
    return total


def has_path(dag: Dag, ancestor: int, descendant: int) -> bool:
    return any(parent == ancestor or has_path(dag, ancestor, parent) for parent in dag[descendant])
