"""The best networks or classes, and how many more tie with the last of them, however many these are.

An engine that lists keeps all that ties with the last one wanted, and of some tables billions do. So listing and
counting take turns, each with more time than before: what is counted gives its networks in order of score, one by one.
The best are near the optimum, so the networks within parts of epsilon are counted first. Where so few tie that they fit
into a list, they are listed, whichever engine came first; among more, the choice is that of the diagram.
"""

import math
from dataclasses import replace

import numpy as np

from credibn.credible.factored_structures import FactoredStructures
from credibn.credible.structures import Structures, choices_of, group, masks_of
from credibn.learning.any_size import (
    FIRST_BOUND,
    FIRST_TURN,
    GROWTH,
    MOST_LISTED,
    PARTS,
    counting,
    listed_from,
    take_turn,
)
from credibn.learning.runs import Answer, find
from credibn.learning.start import Kind, Learning
from credibn.scores import ScoreTable
from credibn.scores.pruning import prune_for
from credibn.search import choose_unit, exact_scores

_MOST = 100_000
"""Networks or classes that are taken from a diagram one by one."""


def find_best(
    call: Learning, table: ScoreTable, epsilon: float, max_networks: int | None = None, max_classes: int | None = None
) -> Answer:
    """Return the best networks or classes within epsilon, with what ties with the last where that fits into a list."""
    quota = {"max_networks": max_networks, "max_classes": max_classes}
    kind: Kind = "networks" if max_classes is None else "classes"
    count = max_networks if max_classes is None else max_classes
    is_by_class = choose_unit(table, call.search.unit, call.search.score_equivalent) == "classes"
    can_count = call.search.engine == "auto" and None in quota.values() and (kind == "networks" or is_by_class)
    if not can_count or count is None or not 1 < count <= _MOST:
        return find(call, table, epsilon, **quota)
    run, seconds, known = call.run, FIRST_TURN, None
    parts = sorted({share * epsilon for share in (*PARTS, 1.0)})
    with run.remembering():
        while parts:
            listed, ended_in = take_turn(call, table, epsilon, seconds, **quota)
            if listed is not None and not listed.found.stopped:
                return listed
            if listed is not None and (known is None or listed.bound <= known.bound):
                known = listed
            is_full = listed is not None and ended_in is None and run.reason is None
            while parts and run.reason is None:
                part = prune_for(table, parts[0], lambda: run(FIRST_BOUND, 0.0))
                counted, _ = take_turn(counting(call), part, parts[0], math.inf if is_full else seconds)
                if counted is None or counted.found.stopped:
                    break
                if kind == "classes" and not counted.rows.are_classes_counted:
                    return find(call, table, epsilon, **quota)
                best = _best_of(call, counted, table, kind, count, is_all=len(parts) == 1)
                if best is not None:
                    return best
                parts = parts[1:]
            if run.reason is not None and known is None:
                break
            if known is not None and (run.reason is not None or is_full):
                return replace(known, found=replace(known.found, stopped=True))
            seconds *= GROWTH
        return find(call, table, epsilon, **quota)  # there are fewer, or the run was stopped before one was known


def _best_of(
    call: Learning, counted: Answer, table: ScoreTable, kind: Kind, count: int, *, is_all: bool
) -> Answer | None:
    """Return the best of what was counted as a list, its parent sets by a larger table.

    None where there are fewer, or just as many and it is not known whether there are more within epsilon.
    """
    rows = counted.rows
    assert isinstance(rows, FactoredStructures)
    n_counted = rows.n_networks if kind == "networks" else rows.n_classes
    if n_counted < count + (not is_all):
        return None
    best = _networks(call, counted, count) if kind == "networks" else rows.best_classes(counted.table, count)
    if kind == "classes" and len(best) < count:
        return None
    gap = counted.optimal_score - float(best.scores[-1])
    n_tied = rows.networks.n_networks(gap) if kind == "networks" else rows.networks.n_classes(gap)
    assert n_tied is not None
    answer = replace(counted, unit=kind, rows=best, n_left_out=n_tied - count)
    if rows.networks.n_networks(gap) <= MOST_LISTED:
        answer = listed_from(call, replace(counted, rows=rows.within(gap, 0.0)), gap) or answer
    masks = masks_of(counted.table, answer.rows.choices)
    found = replace(counted.found, is_cut=not is_all or n_counted > count)
    return replace(answer, table=table, found=found, rows=replace(answer.rows, choices=choices_of(table, masks)))


def _networks(call: Learning, counted: Answer, count: int) -> Structures:
    assert isinstance(counted.rows, FactoredStructures)
    choices, _ = next(counted.rows.networks.in_order(count))
    scores = exact_scores(counted.table, choices, call.run.n_threads)
    order = np.lexsort((*choices.T[::-1], -scores))
    return group(counted.table, choices[order], scores[order], call.run.n_threads, call.run)
