"""How our numbers compare with the printed ones.

A count of ours is exact, or a lower bound where a limit was reached. A printed one is a number, a status such as "OT",
or a number at which the authors' collection was truncated. Means of random samples are compared by their standard
errors.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from paper.printed import CAP_OF_SAMPLES, SAMPLES_PRINTED, Value

_STANDARD_ERRORS = 3
_ROUNDING = 0.5
"""The means and deviations of tables 4 and 5 are printed as whole numbers."""


class Mark(StrEnum):
    """The outcome of a comparison."""

    EQUAL = "equal"
    COMPATIBLE = "compatible"
    DIFFERENT = "different"
    TIED = "tied"
    BEYOND = "beyond"
    UNFINISHED = "unfinished"
    NOT_PRINTED = "not printed"
    NOT_RUN = "not run"


MEANINGS = {
    Mark.EQUAL: "our number is the printed one",
    Mark.COMPATIBLE: f"the means of different random samples are within {_STANDARD_ERRORS} standard errors",
    Mark.DIFFERENT: "our number is another one",
    Mark.TIED: "our number is another one, but which classes are the k best is arbitrary: more tie with the last",
    Mark.BEYOND: "the paper's number is truncated, or its program did not finish; ours is exact, or larger",
    Mark.UNFINISHED: "a limit was reached before our number was certain; '≥' stands before a lower bound",
    Mark.NOT_PRINTED: "the paper has no number",
    Mark.NOT_RUN: "not computed yet, or the data are missing",
}


@dataclass(frozen=True)
class Count:
    """A number of ours: exact, or at least this."""

    value: int
    is_exact: bool = True


def mark_count(ours: Count | None, printed: Value, *, is_truncated: bool = False, is_tied: bool = False) -> Mark:
    """Compare an exact number, or a lower bound, with a printed one."""
    if ours is None:
        return Mark.NOT_RUN
    if printed is None:
        return Mark.NOT_PRINTED
    if isinstance(printed, str):
        return Mark.BEYOND if ours.is_exact else Mark.UNFINISHED
    if is_truncated and ours.value >= printed:
        return Mark.BEYOND
    if not ours.is_exact:
        return Mark.DIFFERENT if ours.value > printed else Mark.UNFINISHED
    if ours.value == printed:
        return Mark.EQUAL
    return Mark.TIED if is_tied else Mark.DIFFERENT


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over samples; a lower bound of the mean where some samples are not complete."""

    mean: float
    deviation: float | None
    """With n - 1 in the denominator; None for a single sample."""
    n_samples: int
    n_complete: int

    @property
    def is_exact(self) -> bool:
        """Whether every sample is complete."""
        return self.n_complete == self.n_samples


def spread(counts: Sequence[Count]) -> Spread | None:
    """Return mean and deviation of samples; None where there are none."""
    if not counts:
        return None
    values = [count.value for count in counts]  # integers of any length: exact until the last step
    deviation = statistics.stdev(values) if len(values) > 1 else None
    n_complete = sum(count.is_exact for count in counts)
    return Spread(float(statistics.mean(values)), deviation, len(values), n_complete)


def could_be_truncated(mean: Value, deviation: Value, cap: int = CAP_OF_SAMPLES) -> bool:
    """Whether one of the samples behind a printed mean may have stopped at the cap.

    No one of m numbers is farther from their mean than sqrt(m - 1) standard deviations (Samuelson 1968, "How deviant
    can you be?"), with m in the denominator, which gives the larger bound of the two usual ones.
    """
    if not isinstance(mean, (int, float)) or not isinstance(deviation, (int, float)):
        return False
    return mean + _ROUNDING + math.sqrt(SAMPLES_PRINTED - 1) * (deviation + _ROUNDING) >= cap


def mark_mean(ours: Spread | None, mean: Value, deviation: Value, *, is_truncated: bool = False) -> Mark:
    """Compare the mean of our samples with a printed mean of other samples."""
    if ours is None:
        return Mark.NOT_RUN
    if mean is None:
        return Mark.NOT_PRINTED
    if isinstance(mean, str):
        return Mark.BEYOND if ours.is_exact else Mark.UNFINISHED
    if is_truncated:
        return Mark.BEYOND if ours.is_exact or ours.mean > mean else Mark.UNFINISHED
    theirs = float(deviation) if isinstance(deviation, (int, float)) else 0.0
    own = theirs if ours.deviation is None else ours.deviation
    error = math.sqrt(theirs**2 / SAMPLES_PRINTED + own**2 / ours.n_samples)
    margin = _STANDARD_ERRORS * error + _ROUNDING
    if ours.is_exact:
        return Mark.COMPATIBLE if abs(ours.mean - mean) <= margin else Mark.DIFFERENT
    return Mark.DIFFERENT if ours.mean - mean > margin else Mark.UNFINISHED
