"""A report within a time limit: averages over the best part of a large set, with what is left out and how to get it.

Averages take some microseconds for each class, everything else on a page hardly anything. The rows of a set stand in
order of score, so a part of them is the best part, and the weight that it holds bounds what the rest could change: no
probability on the page differs from that of the whole set by more than the weight that is left out.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace

from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.report.sections import share

__all__ = ["averaged_part", "part_named", "shortened_sentences"]

_PROBED = 2_000
"""The best rows, which are always averaged: that takes some hundredths of a second, and tells how long more would."""
_LEAST_SECONDS = 0.4
"""For the averages of a page, however late it is."""
_SHARE_OF_TIME = 0.8
"""Rows further down may take a little longer."""


def averaged_part(
    result: CredibleSet, seconds: float | None, clock: Callable[[], float] = time.perf_counter
) -> CredibleSet:
    """Return the best rows of a set whose averages take at most this many seconds; the set itself where all do.

    Examples
    --------
    >>> from credibn import learn
    >>> from credibn.examples import sample_asia
    >>> found = learn(sample_asia())
    >>> averaged_part(found, seconds=1.0) is found
    True
    """
    if seconds is None or len(result.rows) <= _PROBED:
        return result
    seconds, before = max(seconds, _LEAST_SECONDS), clock()
    probed = _first(result, _PROBED)
    _ = probed.averages().parent_sets  # computed here, and kept
    spent = clock() - before
    n_rows = int(_PROBED * _SHARE_OF_TIME * max(0.0, seconds - spent) / spent) if spent > 0 else len(result.rows)
    if n_rows >= len(result.rows):
        return result
    return probed if n_rows <= _PROBED else _first(result, n_rows)


def _first(result: CredibleSet, n_rows: int) -> CredibleSet:
    return replace(result, rows=result.rows.first(n_rows))


def part_named(part: CredibleSet) -> str:
    """Return what the averages are about, as a phrase."""
    what = "class" if part.rows.class_of is None else "network"
    return f"the best {plural(len(part.rows), what)}"


def shortened_sentences(result: CredibleSet, part: CredibleSet) -> list[str]:
    """Say what the page is about where it is not about all, and how to make the whole one."""
    log_held = min(0.0, part.log_mass - result.log_mass)
    points = math.ceil(-1000 * math.expm1(log_held)) / 10  # rounded up: a bound
    what = "classes" if part.rows.class_of is None else "networks"
    return [
        "This page is shortened to keep the time limit.",
        f"The probabilities of edges, v-structures and parent sets are those among {part_named(part)} of "
        f"{len(result.rows):,}, which hold {share(math.exp(log_held))} of the weight; including all {what} would "
        f"change each by at most {points:.1f} percentage points.",
        "The number of networks and classes, the curve and the table of classes cover the whole result.",
        "To make the full page: credibn report RESULT --data DATA -o report.html.",
    ]
