"""What a search has found and has left to do, saved from time to time so that the search can resume.

Networks are written in files, each with those found since the one before; last comes the frontier, which says how many
files belong to it: whatever interrupts this, an older frontier with its own files is still there. Without a folder, a
search leaves the same in memory when it ends, if that is little, for the next one of the same call.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from credibn import _core
from credibn._run import Arrays
from credibn.search.collection import row_bytes
from credibn.search.problem import SearchProblem

_STAGE = "search"
_MOST_OF_THE_TIME = 0.05
"""The share of the time that checkpoints may take."""
_MOST_REMEMBERED = 1 << 26
"""Bytes of networks that stay in memory; where there are more, the next search lists them again."""


class Checkpoints:
    """Saves the state of a search that fills a collection, where the run has a store or a memory."""

    def __init__(self, problem: SearchProblem, collection: "_core.Collection") -> None:
        self._problem, self._store, self._collection = problem, problem.run.store, collection
        self._memory = problem.run.memory if self._store is None else None
        self._epoch, self._n_files, self._n_saved = 0, 0, 0
        self._generation: int | None = None
        self._due = time.monotonic()

    def restore(self) -> Arrays | None:
        """Return the state that was saved, with its networks put into the collection; None if there is none."""
        state = self._load("frontier") if self._memory is None else self._memory.take(_STAGE, self._problem.key)
        if state is None:
            return None
        if self._memory is not None:
            self._take([state], state)
            return state
        epoch, n_files = state["files"].tolist()
        files = [self._load(_file(epoch, at)) for at in range(n_files)]
        if any(rows is None for rows in files):  # damaged
            return None
        self._take([rows for rows in files if rows is not None], state)
        self._epoch = epoch + 1
        return state

    def _take(self, files: list[Arrays], state: Arrays) -> None:
        for rows in files:
            self._collection.take(rows["choices"], rows["costs"], rows["sizes"])
        if math.isfinite(float(state["cut"])):
            self._collection.truncate(float(state["cut"]))

    def save(self, state: Callable[[], Arrays], n_rows: int | None = None, is_last: bool = False) -> None:
        """Save what `state` returns and the networks found, if it is time to.

        With `n_rows`, only the first `n_rows` networks belong to this state, since the others were found in a branch
        that is still to be done.
        """
        if self._memory is not None:
            self._remember(state, n_rows, is_last)
        if self._store is None or not self._store.is_writable or (time.monotonic() < self._due and not is_last):
            return
        begin = time.monotonic()
        is_new = self._generation != self._collection.generation()
        if is_new and n_rows is not None and self._generation is not None:
            return  # networks were dropped meanwhile: which ones belong to the state cannot be told
        if is_new:
            self._epoch, self._n_files, self._n_saved = self._epoch + 1, 0, 0
            self._generation = self._collection.generation()
        choices, costs, sizes = self._collection.networks_from(self._n_saved)
        wanted = slice(0, len(costs) if n_rows is None else n_rows - self._n_saved)
        if len(costs[wanted]):
            rows: Arrays = {"choices": choices[wanted], "costs": costs[wanted], "sizes": sizes[wanted]}
            self._store.save(_STAGE, self._problem.key, _file(self._epoch, self._n_files), rows)
            self._n_files += 1
            self._n_saved += len(costs[wanted])
        cut = self._collection.limit() if self._collection.is_truncated() else math.inf
        files = np.array([self._epoch, self._n_files])
        frontier: Arrays = {**state(), "files": files, "cut": np.array(cut)}
        self._store.save(_STAGE, self._problem.key, "frontier", frontier)
        spent = time.monotonic() - begin
        self._due = begin + max(self._store.seconds_before_writing, spent / _MOST_OF_THE_TIME)

    def _remember(self, state: Callable[[], Arrays], n_rows: int | None, is_last: bool) -> None:
        generation = self._collection.generation()
        if not is_last:
            self._generation = generation
        elif self._memory is not None and (n_rows is None or generation == self._generation):
            most_rows = _MOST_REMEMBERED // row_bytes(self._problem)
            if self._collection.count() <= most_rows:
                choices, costs, sizes = self._collection.networks_from(0)  # a copy
                cut = self._collection.limit() if self._collection.is_truncated() else math.inf
                rows: Arrays = {"choices": choices[:n_rows], "costs": costs[:n_rows], "sizes": sizes[:n_rows]}
                self._memory.save(_STAGE, self._problem.key, {**state(), **rows, "cut": np.array(cut)})

    def _load(self, name: str) -> Arrays | None:
        return None if self._store is None else self._store.load(_STAGE, self._problem.key, name)


def _file(epoch: int, at: int) -> str:
    return f"rows-{epoch}-{at}"
