"""All networks within epsilon, however many they are: listed where that ends, and counted where it does not.

A list of some millions fits into memory; a set can have billions of networks. Nobody knows beforehand, so listing and
counting take turns, each with more time than before. Both begin with the same bound, which the first of them computes
and leaves to the others (`Run.remembering`). The size decides what is returned, not the speed of the machine:
what was counted first and fits into a list is listed, from the diagram if it is small. Only a list that takes very long
is left out where the count is known.

Where neither ends soon, the optimum is proven first, then all networks within a part of epsilon are found, then those
within a larger part. If the time ends before all is found, the answer is the one in which the most is certain.
"""

import math
import time
from dataclasses import dataclass, field, replace

from credibn._run.store import Memory
from credibn._run.tally import FINISHING
from credibn.credible.factored_structures import FactoredStructures
from credibn.errors import TooLargeError
from credibn.learning.runs import Answer, find
from credibn.learning.start import Learning
from credibn.scores import ScoreTable
from credibn.scores.pruning import prune_for
from credibn.search import FACTORED, choose_unit

MOST_LISTED = 1 << 22
"""Networks or classes that an engine lists; if there are more, they are counted."""
_MOST_FROM_DIAGRAM = 200_000
"""Networks that are listed after they were counted."""
FIRST_BOUND = "relaxation"
FIRST_TURN, GROWTH = 2.0, 4.0
"""Seconds of the first turn, and how many times longer each is than the one before."""
_MUCH = 1 / GROWTH
"""Of a stage: where this share is done, the turn may last as long as the next one would."""
_LONGEST_TURN = 600.0
"""Seconds for a list of what is counted already; of a time limit, half of the rest."""
_BOUNDING = 1 / 16
"""The share of its seconds that the first bound counts in a turn: listing and counting use the same bound."""
_LONG_TURN = 16.0
"""Seconds: when turns are as long, or the first bound takes too long for a turn, parts of epsilon come first."""
PARTS = (0.0, 0.25, 0.5, 0.75)
"""Of epsilon: the optimum, and what is found before all."""


def find_any_size(call: Learning, table: ScoreTable, epsilon: float) -> Answer:
    """Return the networks within epsilon, listed or counted."""
    if call.search.engine != "auto":
        return find(call, table, epsilon)
    unit = choose_unit(table, call.search.unit, call.search.score_equivalent)
    quota = {"max_classes" if unit == "classes" else "max_networks": MOST_LISTED}
    with call.run.remembering():
        return _take_turns(call, table, epsilon, **quota)


def _take_turns(call: Learning, table: ScoreTable, epsilon: float, **quota: int) -> Answer:
    parts = _Parts(call, table, epsilon, quota)
    seconds = FIRST_TURN
    while True:
        listed, ended_in = take_turn(call, table, epsilon, seconds, **quota)
        if listed is None:  # nobody knows a network yet
            seconds *= GROWTH
            continue
        is_too_long = listed.found.is_cut
        if ended_in is None and not is_too_long:
            return parts.or_this(listed)
        if ended_in == FIRST_BOUND:
            parts.keep(listed)  # the next turn begins with this bound anew
        if ended_in == FIRST_BOUND or (listed.found.stopped and (is_too_long or seconds >= _LONG_TURN)):
            parts.find_more(GROWTH * seconds)
        if ended_in != FIRST_BOUND and call.run.reason is None:
            counted, ended_in = take_turn(counting(call), table, epsilon, math.inf if is_too_long else seconds)
            if counted is not None and not counted.found.stopped:
                # What was cut is too long for a list, or for the memory.
                return counted if is_too_long else listed_from(call, counted, epsilon, **quota) or counted
            if call.run.reason is None and ended_in is None:  # it does not fit into memory
                return parts.or_this(find(call, table, epsilon))
            if counted is not None and counted.bound < listed.bound:
                listed = counted
        if call.run.reason is not None:
            most_certain = parts.or_this(listed)
            return replace(most_certain, found=replace(most_certain.found, stopped=True))
        seconds *= GROWTH


@dataclass
class _Parts:
    """All networks within a part of epsilon, then within a larger one."""

    call: Learning
    table: ScoreTable
    epsilon: float
    quota: dict[str, int]
    answer: Answer | None = None
    memory: Memory = field(default_factory=Memory)
    pruned: ScoreTable | None = None  # for the first part that is left

    def __post_init__(self) -> None:
        self.left = sorted({share * self.epsilon for share in PARTS})

    def find_more(self, seconds: float) -> None:
        """Find what larger parts have, for some seconds each, until one is not finished."""
        run = self.call.run
        while self.left and run.reason is None:
            part = self.left[0]
            if self.pruned is None:
                self.pruned = prune_for(self.table, part, lambda: run(FIRST_BOUND, 0.0))
            quota = {"max_networks": 1} if part == 0.0 else self.quota
            with run.remembering(self.memory):
                answer, _ = take_turn(self.call, self.pruned, part, seconds, **quota)
            if answer is None:
                return
            found = answer.found
            if found.stopped and run.reason is None:
                return
            certain = min(found.unexplored_bound, found.best_cost + part)
            self.keep(replace(answer, found=replace(found, stopped=True, unexplored_bound=certain)))
            self.left = [] if part > 0.0 and found.is_cut else self.left[1:]
            self.pruned = None

    def keep(self, answer: Answer) -> None:
        """Keep an answer, unless more is certain in the one for a part."""
        self.answer = self.or_this(answer)

    def or_this(self, answer: Answer) -> Answer:
        """Return the answer for a part where more is certain in it, or else this one."""
        return answer if self.answer is None or self.answer.bound >= answer.bound else self.answer


def counting(call: Learning) -> Learning:
    """Return the call with the engine that counts."""
    return replace(call, search=replace(call.search, engine=FACTORED))


def take_turn(
    call: Learning, table: ScoreTable, epsilon: float, seconds: float, **quota: int | None
) -> tuple[Answer | None, str | None]:
    """Search for some seconds of this process, or of the clock where others do the work.

    Return what was found, None where not one network was, and in which stage these seconds ended it.
    """
    clock = time.process_time if call.run.executor is None else time.monotonic
    spent, last = 0.0, clock()
    ended_in: str | None = None

    def is_in_time(stage: str, fraction: float) -> bool:
        nonlocal spent, last, ended_in
        now = clock()
        spent += (_BOUNDING if stage == FIRST_BOUND else 1.0) * (now - last)
        last = now
        if stage in FINISHING or fraction >= 1.0:  # what was found is put in order, or its classes are counted
            return True
        if ended_in is None and spent > seconds * (1.0 if fraction < _MUCH else GROWTH):
            ended_in = stage
        return ended_in is None

    try:
        with call.run.checking(is_in_time):
            answer = find(call, table, epsilon, **quota)
    except TooLargeError:
        if ended_in is None:
            raise
        return None, ended_in
    return answer, ended_in if answer.found.stopped and call.run.reason is None else None


def listed_from(call: Learning, counted: Answer, epsilon: float, **quota: int) -> Answer | None:
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
    end = time.monotonic() + (_LONGEST_TURN if left is None else min(_LONGEST_TURN, left / 2))

    def is_in_time(stage: str, fraction: float) -> bool:
        return stage in FINISHING or fraction >= 1.0 or time.monotonic() < end

    with call.run.checking(is_in_time):
        answer, _ = take_turn(call, counted.table, epsilon, math.inf, **quota)
    return None if answer is None or answer.found.stopped or answer.found.is_cut else answer
