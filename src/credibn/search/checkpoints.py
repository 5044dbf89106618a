"""What a search has found and has left to do, kept from time to time so that it can be continued.

Rows are written in segments, each holding what was found since the one before, and last the frontier, which says how
many segments belong to it: whatever is cut off in between, an older frontier with its own segments is still there.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from credibn import _core
from credibn._run import Arrays
from credibn.search.problem import SearchProblem

__all__ = ["Checkpoints"]

_STAGE = "search"
_MOST_OF_THE_TIME = 0.05
"""The share of the time that may be spent on keeping."""


class Checkpoints:
    """Keeps the state of a search that fills a collection.

    Parameters
    ----------
    problem : SearchProblem
        Has the workbench; a state that was kept for another question is not used.
    collection : Collection
    """

    def __init__(self, problem: SearchProblem, collection: "_core.Collection") -> None:
        self._problem, self._bench, self._collection = problem, problem.bench, collection
        self._epoch, self._n_segments, self._n_kept = 0, 0, 0
        self._generation: int | None = None
        self._due = time.monotonic()

    def restore(self) -> Arrays | None:
        """Return the state that was kept, with its rows put into the collection; None if there is none."""
        state = self._kept("frontier")
        if state is None:
            return None
        epoch, n_segments = state["segments"].tolist()
        segments = [self._kept(_segment(epoch, at)) for at in range(n_segments)]
        if any(segment is None for segment in segments):  # damaged
            return None
        for segment in segments:
            assert segment is not None
            self._collection.take(segment["choices"], segment["costs"], segment["sizes"])
        if math.isfinite(float(state["cut"])):
            self._collection.truncate(float(state["cut"]))
        self._epoch = epoch + 1
        return state

    def save(self, state: Callable[[], Arrays], n_rows: int | None = None, is_last: bool = False) -> None:
        """Keep what `state` tells and the rows found, if it is time to.

        With `n_rows`, only so many of the rows belong to this state, since those after it were found by a part that is
        still to be done.
        """
        if not self._bench.is_keeping or (time.monotonic() < self._due and not is_last):
            return
        begin = time.monotonic()
        is_new = self._generation != self._collection.generation()
        if is_new and n_rows is not None and self._generation is not None:
            return  # rows were dropped meanwhile: which ones belong to the state cannot be told
        if is_new:
            self._epoch, self._n_segments, self._n_kept = self._epoch + 1, 0, 0
            self._generation = self._collection.generation()
        choices, costs, sizes = self._collection.networks_from(self._n_kept)
        wanted = slice(0, len(costs) if n_rows is None else n_rows - self._n_kept)
        if len(costs[wanted]):
            rows: Arrays = {"choices": choices[wanted], "costs": costs[wanted], "sizes": sizes[wanted]}
            self._bench.keep(_STAGE, self._problem.question, _segment(self._epoch, self._n_segments), rows)
            self._n_segments += 1
            self._n_kept += len(costs[wanted])
        cut = self._collection.limit() if self._collection.is_truncated() else math.inf
        segments = np.array([self._epoch, self._n_segments])
        frontier: Arrays = {**state(), "segments": segments, "cut": np.array(cut)}
        self._bench.keep(_STAGE, self._problem.question, "frontier", frontier)
        spent = time.monotonic() - begin
        self._due = begin + max(self._bench.seconds_before_keeping, spent / _MOST_OF_THE_TIME)

    def _kept(self, name: str) -> Arrays | None:
        return self._bench.kept(_STAGE, self._problem.question, name) if self._bench.has_folder else None


def _segment(epoch: int, at: int) -> str:
    return f"rows-{epoch}-{at}"
