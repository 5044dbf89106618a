"""How a search went, for the result to tell."""

import math
from dataclasses import dataclass

import numpy as np

from credibn.search.relaxation import Floats


@dataclass
class Statistics:
    """How the search went: gaps are best known cost minus proven bound, at the root, without and with cuts."""

    gap_before: float | None = None
    gap_after: float | None = None
    n_rows: int = 0
    n_candidates: int = 0
    n_rounds: int = 0
    n_branches: int = 0
    n_steps: int = 0
    is_by_subsets: bool = False

    def of_root(self) -> Floats:
        """Return what is known about the root, for a search that resumes and does not compute it again."""
        gaps = [math.nan if gap is None else gap for gap in (self.gap_before, self.gap_after)]
        return np.array([*gaps, self.n_rows, self.n_candidates, self.n_rounds])

    def note_root(self, numbers: Floats) -> None:
        """Note what another search knows about the root."""
        *gaps, n_rows, n_candidates, n_rounds = numbers.tolist()
        self.gap_before, self.gap_after = (None if math.isnan(gap) else gap for gap in gaps)
        self.n_rows, self.n_candidates, self.n_rounds = int(n_rows), int(n_candidates), int(n_rounds)
