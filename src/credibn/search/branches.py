"""Branches of a search by integer programming, in a form that can be sent to other processes and stored in files.

A branch names the cuts of its linear program by their numbers in a pool. Elsewhere the pool is another one, so cuts
travel as definitions, from which the core makes them again. A cut made from a definition is valid whatever it says: no
result rests on what was sent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credibn import _core
from credibn._run import Arrays
from credibn.search.relaxation import Flags, Floats, Positions


@dataclass(frozen=True, eq=False)
class Listing:
    """A range of the listing of a branch's networks, whose plan is fixed: dual values of the cuts, and the limit.

    Only networks that cost more than `above` and at most `up_to` are wanted: the cheaper ones are listed already. Where
    `n_expected` steps are expected, the listing is long, and done in stages, each up to a higher cost; the last one
    took `n_steps`.
    """

    dual_values: Floats
    limit: float
    first: int
    last: int
    above: float = -math.inf
    up_to: float = math.inf
    n_steps: float = 0.0
    n_expected: float = 0.0


@dataclass(eq=False)
class Branch:
    """A branch: the candidates still open, a bound on its networks and the cuts that it is made of.

    `share` is a guess at how much of the whole this is. With a `listing`, only its range is left to do.
    """

    is_open: Flags
    lower: float
    cuts: Positions
    share: float
    listing: Listing | None = None


def pack(branches: Sequence[Branch], problem: "_core.SearchProblem") -> Arrays:
    """Return branches as arrays that mean the same in any process."""
    cuts = [branch.cuts for branch in branches]
    definitions, places = problem.cut_definitions(np.concatenate([np.empty(0, dtype=np.int64), *cuts]))
    listings = [branch.listing for branch in branches]
    prices = [
        np.zeros(len(branch.cuts)) if branch.listing is None else branch.listing.dual_values for branch in branches
    ]
    return {
        "definitions": definitions,
        "cuts": places,
        "cut_counts": np.array([len(of_branch) for of_branch in cuts], dtype=np.int64),
        "dual_values": np.concatenate([np.empty(0), *prices]),
        "is_open": np.packbits(np.array([branch.is_open for branch in branches], dtype=np.uint8), axis=-1),
        "lower": np.array([branch.lower for branch in branches], dtype=np.float64),
        "share": np.array([branch.share for branch in branches], dtype=np.float64),
        "limit": np.array([np.inf if listing is None else listing.limit for listing in listings], dtype=np.float64),
        "ranges": np.array(
            [(-1, -1) if listing is None else (listing.first, listing.last) for listing in listings], dtype=np.int64
        ).reshape(-1, 2),
        "stages": np.array(
            [
                (0.0, 0.0, 0.0, 0.0)
                if listing is None
                else (listing.above, listing.up_to, listing.n_steps, listing.n_expected)
                for listing in listings
            ]
        ).reshape(-1, 4),
    }


def unpack(arrays: Arrays, problem: "_core.SearchProblem", n_candidates: int) -> list[Branch]:
    """Return the branches again, with cuts of this problem's pool."""
    made = np.array(problem.make_cuts(arrays["definitions"]), dtype=np.int64)
    ends = np.cumsum(arrays["cut_counts"]).tolist()
    branches = list[Branch]()
    for at, end in enumerate(ends):
        here = slice(end - int(arrays["cut_counts"][at]), end)
        first, last = arrays["ranges"][at].tolist()
        listing = None
        if first >= 0:
            limit, stage = float(arrays["limit"][at]), arrays["stages"][at].tolist()
            listing = Listing(arrays["dual_values"][here], limit, first, last, *stage)
        is_open = np.unpackbits(arrays["is_open"][at], count=n_candidates)
        branch = Branch(is_open, float(arrays["lower"][at]), made[arrays["cuts"][here]], float(arrays["share"][at]))
        branch.listing = listing
        branches.append(branch)
    return branches
