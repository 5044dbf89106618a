"""A long listing in stages: the networks near the optimum first, then those farther away.

The steps are taken to grow exponentially with the cost, from those of the last stage to those of the whole.
"""

import math
from dataclasses import replace

from credibn.search.branches import Branch, Listing

OVERESTIMATE = 8.0
"""How many times too high an estimate of all steps is, as measured: the first ranges and stages grow fastest."""
STAGE_GROWTH = 30.0
"""How many times more steps each stage of a long listing should take, since it repeats those before."""
MOST_EXPECTED = 1e40
"""Steps: beyond, the next stage cannot be predicted."""
STAGE_SHARE = 0.005
"""The most that a stage before the last should take of all steps."""
LEAST_STEPS = 3_000
"""Of a stage, if that is not more than it may take."""


def next_stage(listing: Listing, best: float, limit: float, tolerance: float) -> tuple[float, float]:
    """Return up to which cost the next stage goes, infinite for the last, and how many steps it may take.

    `best` is the least cost known, and the limit that of the search.
    """
    most = STAGE_SHARE * listing.n_expected
    if listing.n_expected == 0.0 or 4.0 * listing.n_steps > most:
        return math.inf, listing.n_expected
    if listing.n_steps == 0.0:  # all that ties with the best
        return best + tolerance, most
    n_steps = min(max(STAGE_GROWTH * listing.n_steps, LEAST_STEPS), most)
    grown = math.log(n_steps / listing.n_steps) / math.log(listing.n_expected / listing.n_steps)
    up_to = listing.above + grown * (min(listing.limit, limit) - listing.above)
    return (up_to if up_to > listing.above else math.inf), n_steps


def after_giving_up(listing: Listing) -> Listing:
    """Return a long listing whose next stage goes half as far, or to the end where that was tried a few times."""
    if listing.n_steps == 0.0 or listing.n_expected > MOST_EXPECTED:
        return replace(listing, n_steps=listing.n_expected)
    return replace(listing, n_expected=listing.n_expected**2 / listing.n_steps)  # twice the growth


def after_stage(branch: Branch, listing: Listing, up_to: float, n_steps: float, limit: float) -> Branch:
    """Return the rest of a long listing when all is listed up to a cost, which took `n_steps`."""
    n_steps, n_expected = max(n_steps, 1.0), listing.n_expected
    if listing.n_steps > 0.0:  # the steps grow on as they did last, or a little less
        growth = max(0.0, math.log(n_steps / listing.n_steps)) / (up_to - listing.above)
        farther = min(listing.limit, limit) - up_to
        n_expected = max(n_steps, n_steps * math.exp(min(growth * farther, 50.0)) / (2.0 * OVERESTIMATE))
    left = replace(listing, above=up_to, n_steps=n_steps, n_expected=n_expected)
    return replace(branch, lower=max(branch.lower, up_to), share=branch.share * (1.0 - STAGE_SHARE), listing=left)
