"""All networks within epsilon, however many they are: listed where that ends, and counted where it does not.

A list of some millions fits into memory; a set can have billions of networks. Nobody knows beforehand, so listing and
counting take turns, each with more time than before. Both begin with the same bound, which the first of them computes
and leaves to the others (`Run.remembering`). The size decides what is returned, not the speed of the machine:
what was counted first and fits into a list is listed, from the diagram if it is small. Only a list that takes very long
is left out where the count is known.
"""

import math
import time
from dataclasses import replace

from credibn._run.tally import FINISHING
from credibn.credible.factored_structures import FactoredStructures
from credibn.learning.runs import Answer, find
from credibn.learning.start import Learning
from credibn.scores import ScoreTable
from credibn.search import FACTORED, choose_unit

MOST_LISTED = 1 << 22
"""Networks or classes that an engine lists; if there are more, they are counted."""
_MOST_FROM_DIAGRAM = 200_000
"""Networks that are listed after they were counted."""
_FIRST_TURN, _GROWTH = 1.0, 4.0
"""Seconds of the first turn, and how many times longer each is than the one before."""
_MUCH = 0.1
"""Of a stage that a turn should not end in."""
_LONGEST_TURN = 600.0
"""Seconds for a list of what is counted already; of a time limit, half of the rest."""


def find_any_size(call: Learning, table: ScoreTable, epsilon: float) -> Answer:
    """Return the networks within epsilon, listed or counted; as a list where a limit is set on the networks."""
    limits = call.limits
    if call.search.engine != "auto" or limits.max_networks is not None or limits.max_classes is not None:
        return find(call, table, epsilon, max_networks=limits.max_networks, max_classes=limits.max_classes)
    unit = choose_unit(table, call.search.unit, call.search.score_equivalent)
    quota = {"max_classes" if unit == "classes" else "max_networks": MOST_LISTED}
    with call.run.remembering():
        return _take_turns(call, table, epsilon, **quota)


def _take_turns(call: Learning, table: ScoreTable, epsilon: float, **quota: int) -> Answer:
    seconds = _FIRST_TURN
    while True:
        listed, is_over = _turn(call, table, epsilon, seconds, **quota)
        if not is_over and not listed.found.is_cut:
            return listed
        counted, is_over = _turn(counting(call), table, epsilon, math.inf if listed.found.is_cut else seconds)
        if not counted.found.stopped:  # what was cut is too long for a list, or for the memory
            return counted if listed.found.is_cut else _listed(call, counted, epsilon, **quota) or counted
        if call.run.reason is not None:
            return min(listed, counted, key=lambda answer: answer.bound)
        if not is_over:  # it does not fit into memory
            return find(call, table, epsilon)
        seconds *= _GROWTH


def counting(call: Learning) -> Learning:
    """Return the call with the engine that counts."""
    return replace(call, search=replace(call.search, engine=FACTORED))


def _turn(call: Learning, table: ScoreTable, epsilon: float, seconds: float, **quota: int) -> tuple[Answer, bool]:
    """Search for some seconds; return what was found, and whether only these seconds ended it.

    Where much of a stage is done by then, the turn lasts as long as the next one would. The first bound does not count:
    to list and to count, it takes the same time.
    """
    spent, last, is_over = 0.0, time.monotonic(), False

    def is_in_time(stage: str, fraction: float) -> bool:
        nonlocal spent, last, is_over
        now = time.monotonic()
        spent += 0.0 if stage == "relaxation" else now - last
        last = now
        if stage in FINISHING or fraction >= 1.0:  # what was found is put in order, or its classes are counted
            return True
        is_over = spent > seconds * (1.0 if fraction < _MUCH else _GROWTH)
        return not is_over

    with call.run.checking(is_in_time):
        answer = find(call, table, epsilon, **quota)
    return answer, is_over and answer.found.stopped and call.run.reason is None


def _listed(call: Learning, counted: Answer, epsilon: float, **quota: int) -> Answer | None:
    """Return a counted set as the list that an engine gives; None where it is too long, or takes too long."""
    rows = counted.rows
    assert isinstance(rows, FactoredStructures)
    is_by_class = counted.unit == "classes" and rows.are_classes_counted
    if (rows.n_classes if is_by_class else rows.n_networks) > MOST_LISTED:
        return None
    if rows.n_networks <= _MOST_FROM_DIAGRAM:
        with call.run.timing("search"):
            listed = rows.listed(counted.table, counted.unit == "classes", call.run)
        return None if listed is None else replace(counted, rows=listed)
    left = call.run.seconds_left()
    seconds = _LONGEST_TURN if left is None else min(_LONGEST_TURN, left / 2)
    answer, _ = _turn(call, counted.table, epsilon, seconds / _GROWTH, **quota)
    return None if answer.found.stopped or answer.found.is_cut else answer
