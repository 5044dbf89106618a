"""What a search has found so far, for whoever follows it."""

import math
from dataclasses import dataclass
from typing import Literal

Unit = Literal["classes", "networks"]
FINISHING = ("sorting", "grouping", "improving")
"""The stages in which what was found is put in order. A stop leaves out the worst part of it, not all."""


@dataclass(frozen=True)
class Tally:
    """What a search has found so far; nothing of it is final.

    Attributes
    ----------
    unit : {"classes", "networks"}
        What is counted.
    n_found : int
        How many are held; some may yet turn out not to be credible, or be dropped for better ones.
    best_score : float
        The best log score known; minus infinity when none is.
    bound : float
        No network scores more than this, as far as is proven; infinite when nothing is.
    seconds_to_finish : float
        About how long it would take one processor to put in order what is held.
    """

    unit: Unit
    n_found: int
    best_score: float
    bound: float = math.inf
    seconds_to_finish: float = 0.0
