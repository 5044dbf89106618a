"""A report within a time limit: averages over the best part of a large set, with what is left out and how to get it.

Averages take some microseconds for each class, the layout of a large graph some seconds, all else on a page almost
nothing. The structures of a set are in order of score, so the first of them are the best, and their weight bounds what
the rest could change: no probability on the page differs from that of the whole set by more than the weight that is
left out.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.report.class_lines import ClassLine
from credibn.report.layout import expected_seconds
from credibn.report.sections import share

_PROBED = 2_000
"""The best structures, which are always averaged, in some hundredths of a second; from them the rest is predicted."""
_LEAST_SECONDS = 0.4
"""What the averages of a page may take even after the deadline."""
_SHARE_OF_TIME = 0.8
"""Structures further down may take a little longer."""


def averaged_part(
    result: CredibleSet, seconds: float | None, clock: Callable[[], float] = time.perf_counter
) -> CredibleSet:
    """Return the best part of a set whose averages take at most this many seconds; the set itself where all do."""
    if seconds is None or not result.structures.is_listed or len(result.structures) <= _PROBED:
        return result
    seconds, before = max(seconds, _LEAST_SECONDS), clock()
    probed = _first(result, _PROBED)
    _ = probed.averages().parent_sets  # computed and cached
    spent = clock() - before
    count = int(_PROBED * _SHARE_OF_TIME * max(0.0, seconds - spent) / spent) if spent > 0 else len(result.structures)
    if count >= len(result.structures):
        return result
    return probed if count <= _PROBED else _first(result, count)


def _first(result: CredibleSet, count: int) -> CredibleSet:
    """Return the best structures as a set of which the others are missing, perhaps of the same class."""
    missing, found = float(result.structures.scores[count]), result.structures.first(count)
    bound = missing if result.unexplored_bound is None else max(missing, result.unexplored_bound)
    reason = result.stopped_because or "time_limit"
    return replace(result, structures=found, complete=False, stopped_because=reason, unexplored_bound=bound)


def part_named(part: CredibleSet) -> str:
    """Return which structures are averaged over, as a phrase."""
    what = "class" if part.structures.class_of is None else "network"
    return f"the best {plural(len(part.structures), what)}"


def seconds_for_averages(result: CredibleSet, classes: Sequence[ClassLine], seconds: float | None) -> float | None:
    """Return how many of the seconds left the averages may take: a layout takes up to half of them."""
    if seconds is None or not classes:
        return seconds
    n_edges = len(classes[0].directed) + len(classes[0].undirected)
    return seconds - min(seconds / 2, expected_seconds(len(result.names), n_edges))


def shortened_sentences(result: CredibleSet, part: CredibleSet, has_simple_layout: bool) -> list[str]:
    """Say what a shortened page covers, and how to make the full one; nothing of a page that is not shortened."""
    sentences = []
    if part is not result:
        log_share = min(0.0, part.log_mass - result.log_mass)
        points = math.ceil(-1000 * math.expm1(log_share)) / 10  # rounded up: a bound
        what = "classes" if part.structures.class_of is None else "networks"
        sentences += [
            f"The probabilities of edges, v-structures and parent sets are those among {part_named(part)} of "
            f"{len(result.structures):,}, which hold {share(math.exp(log_share))} of the weight; including all {what} "
            f"would change each by at most {points:.1f} percentage points.",
            "The number of networks and classes, the curve and the table of classes cover the whole result.",
        ]
    if has_simple_layout:
        sentences.append("The graph has a simple layout: edges may cross each other and run behind variables.")
    if not sentences:
        return []
    return [
        "This page is shortened to stay within the time limit.",
        *sentences,
        "To make the full page: credibn report RESULT --data DATA -o report.html.",
    ]
