"""Parts of a search by integer programming, in a form that can be sent to other processes and kept in files.

A part is a branch, or some pieces of a branch's walk. It names the rows of its linear program by their numbers in a
pool; elsewhere the pool is another one, so rows travel as recipes, from which the core makes them again. A row made by
a recipe is valid whatever the recipe says: no result rests on what was sent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credibn import _core
from credibn._run import Arrays
from credibn.search.relaxation import Flags, Floats, Positions

__all__ = ["Branch", "Walk", "pack", "unpack"]


@dataclass(frozen=True, eq=False)
class Walk:
    """Some pieces of the enumeration of a branch, whose plan is fixed: rows with multipliers, and the limit.

    Only networks that cost more than `above` and at most `up_to` are wanted: the cheaper ones are listed already. Where
    `n_expected` steps are expected, the walk is long, and done in stages, each up to a higher cost; the last one took
    `n_steps`.
    """

    multipliers: Floats
    limit: float
    first: int
    last: int
    above: float = -math.inf
    up_to: float = math.inf
    n_steps: float = 0.0
    n_expected: float = 0.0


@dataclass(eq=False)
class Branch:
    """A part of the problem: the candidates still open, a bound on its networks and the rows it is made of.

    `share` is a guess at how much of the whole this is. With a `walk`, only its pieces are left to do.
    """

    is_open: Flags
    lower: float
    rows: Positions
    share: float
    walk: Walk | None = None


def pack(branches: Sequence[Branch], problem: "_core.SearchProblem") -> Arrays:
    """Return branches as arrays that mean the same in any process."""
    rows = [branch.rows for branch in branches]
    recipes, places = problem.cut_definitions(np.concatenate([np.empty(0, dtype=np.int64), *rows]))
    walks = [branch.walk for branch in branches]
    prices = [np.zeros(len(branch.rows)) if branch.walk is None else branch.walk.multipliers for branch in branches]
    return {
        "recipes": recipes,
        "rows": places,
        "row_counts": np.array([len(of_branch) for of_branch in rows], dtype=np.int64),
        "multipliers": np.concatenate([np.empty(0), *prices]),
        "is_open": np.packbits(np.array([branch.is_open for branch in branches], dtype=np.uint8), axis=-1),
        "lower": np.array([branch.lower for branch in branches], dtype=np.float64),
        "share": np.array([branch.share for branch in branches], dtype=np.float64),
        "limit": np.array([np.inf if walk is None else walk.limit for walk in walks], dtype=np.float64),
        "pieces": np.array(
            [(-1, -1) if walk is None else (walk.first, walk.last) for walk in walks], dtype=np.int64
        ).reshape(-1, 2),
        "stages": np.array(
            [
                (0.0, 0.0, 0.0, 0.0) if walk is None else (walk.above, walk.up_to, walk.n_steps, walk.n_expected)
                for walk in walks
            ]
        ).reshape(-1, 4),
    }


def unpack(arrays: Arrays, problem: "_core.SearchProblem", n_candidates: int) -> list[Branch]:
    """Return the branches again, with rows of this problem's pool."""
    made = np.array(problem.make_cuts(arrays["recipes"]), dtype=np.int64)
    ends = np.cumsum(arrays["row_counts"]).tolist()
    branches = list[Branch]()
    for at, end in enumerate(ends):
        here = slice(end - int(arrays["row_counts"][at]), end)
        first, last = arrays["pieces"][at].tolist()
        walk = None
        if first >= 0:
            limit, stage = float(arrays["limit"][at]), arrays["stages"][at].tolist()
            walk = Walk(arrays["multipliers"][here], limit, first, last, *stage)
        is_open = np.unpackbits(arrays["is_open"][at], count=n_candidates)
        branch = Branch(is_open, float(arrays["lower"][at]), made[arrays["rows"][here]], float(arrays["share"][at]))
        branch.walk = walk
        branches.append(branch)
    return branches
