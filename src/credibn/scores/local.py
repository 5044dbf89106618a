"""Scores that are not a set function: any cost of a node with its parents, pruned by rule 1 alone.

A score such as K2 or a user's own penalty need not be score equivalent. Nothing is known of the cost of supersets, so
every allowed parent set is evaluated: n * 2^(n-1) of them, unless the number of parents is limited.
"""

import math
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError
from credibn.scores.protocol import DataView, NamedScore

if TYPE_CHECKING:
    from credibn.scores.problem import Candidates, ScoringProblem

_TIE = 1e-12  # rounding between equal costs, relative to them
_SETS_PER_REPORT = 64


@runtime_checkable
class LocalScore(NamedScore, Protocol):
    """A score of a node given its parents that is not a difference of a set function.

    Examples
    --------
    >>> class FewestParents:
    ...     name = "fewest-parents"
    ...     columns = "mixed"
    ...     def settings(self):
    ...         return {}
    ...     def local_cost(self, data, node, parents):
    ...         return float(len(parents))
    >>> isinstance(FewestParents(), LocalScore)
    True
    """

    def local_cost(self, data: DataView, node: int, parents: tuple[int, ...]) -> float:
        """Return the cost (lower is better) of the node with these parents, all as column positions.

        An infinite cost rules the parent set out.
        """


def score_child(
    problem: "ScoringProblem", score: LocalScore, child: int, proceed: Callable[[float], bool]
) -> "Candidates | None":
    """Return the parent sets that no subset beats by more than epsilon (rule 1); None if `proceed` returned False."""
    words = -(-problem.n_searched // 64)
    costs, masks = list[float](), list[int]()
    n_scored = 0
    required, free, most = problem.parent_choices(child)
    best: dict[tuple[int, ...], float] = {}
    for size in range(most + 1):
        if not proceed(size / (most + 1)):
            return None
        larger = {}
        for chosen in combinations(free, size):
            parents = tuple(sorted(required + chosen))
            columns = tuple(int(problem.searched[v]) for v in parents)
            cost = _checked(problem, score, int(problem.searched[child]), columns)
            cost += float(problem.edge_costs[list(parents), child].sum())
            least = min((best[chosen[:t] + chosen[t + 1 :]] for t in range(size)), default=np.inf)
            larger[chosen] = min(cost, least)
            n_scored += 1
            if n_scored % _SETS_PER_REPORT == 0 and not proceed(size / (most + 1)):
                return None
            if cost < math.inf and not least + problem.epsilon + _TIE * abs(cost) < cost:
                costs.append(cost)
                masks.append(sum(1 << v for v in parents))
        best = larger
    if not costs:
        name = problem.data.names[int(problem.searched[child])]
        raise DataError(
            f"score {score.name!r} is inf for every parent set that {name!r} may have, so there is no network; make "
            "local_cost finite for one of them, or allow more parents"
        )
    packed = b"".join(mask.to_bytes(8 * words, "little") for mask in masks)
    rows: NDArray[np.uint64] = np.frombuffer(packed, dtype=np.uint64).reshape(-1, words)
    return np.full(len(costs), child, dtype=np.int32), np.array(costs, dtype=np.float64), rows, n_scored


def _checked(problem: "ScoringProblem", score: LocalScore, node: int, parents: tuple[int, ...]) -> float:
    cost = float(score.local_cost(problem.data, node, parents))
    if math.isnan(cost) or cost == -math.inf:
        names = problem.data.names
        raise DataError(
            f"score {score.name!r} is {cost} for {names[node]!r} with the parents "
            f"{{{', '.join(repr(names[v]) for v in parents)}}}; a cost must be a number, or inf to rule the set out"
        )
    return cost
