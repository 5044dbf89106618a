"""What the search is asked, and what it answers: the contract of every engine.

A search problem lists for each node its candidate parent sets with their costs (minus log scores, so lower is better),
the cheapest first, in the order of the score table. A network is one candidate per node such that there is no directed
cycle; its cost is the sum. OPT is the least cost, and a network is *credible* when it costs at most OPT + epsilon.

The one tolerance
-----------------
Local scores are rounded, so networks that tie in truth may differ in their last bits. The scoring stage bounds the
error of every score and states with its table how far such networks can be apart (docs/guarantees.md, "Numbers"): two
network scores that differ by at most this tolerance count as equal. So a network exactly at OPT - epsilon is credible.
A table of unknown origin is taken at its word: there the tolerance is ``2**-40`` times the sum over the nodes of the
absolute score of the best candidate, which covers the rounding of sums for thousands of nodes. It is never below
1e-12. Engines keep what costs at most OPT + epsilon + tolerance, and every score that leaves this package is summed
again with compensation
(`exact_scores`).
"""

import hashlib
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from credibn import _core
from credibn._base.version import version
from credibn._run import Run
from credibn._run.tally import Unit
from credibn.errors import Option, OptionError, Phrase, TooLargeError
from credibn.scores import ScoreTable

_LEAST_TOLERANCE = 1e-12
_EPSILON_ROUNDING = 1e-14
"""An epsilon may have been computed in another way, as a logarithm of the Bayes factor; pruning allows for more."""
_MOST_VARIABLES = 255


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What to find: all networks, or one network of each class, within epsilon of the optimum; or the best of them.

    Attributes
    ----------
    names : tuple of str
    offsets : ndarray of int64, shape (n + 1,)
        Candidates of node i are the rows from ``offsets[i]`` to ``offsets[i + 1]``.
    costs : ndarray of float64, shape (m,)
        Increasing for each node.
    masks : ndarray of uint64, shape (m, words)
        Parent sets, as in a `ScoreTable`.
    epsilon, tolerance : float
        Wanted is what costs at most OPT + epsilon + tolerance; costs that differ by at most the tolerance tie.
    unit : {"classes", "networks"}
        What a row of the answer stands for.
    max_rows, max_networks, max_bytes : int, optional
        Quotas on rows, on networks (members of the classes) and on memory. When one is exceeded only the best rows
        stay, at least enough to fill it, with everything that ties with the last of them.
    optimum_only : bool
        Prove the optimum without listing what ties with it: wanted is what costs less than the best network known, by
        more than `resolution`. The answer is all that ties with the optimum where that is soon listed, and otherwise
        one row, with `Found.is_cut`; the epsilon is 0, and there are no quotas but on memory.
    run : Run
        Follows the search, says when to stop, and does its tasks; no part of what is asked.
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]
    costs: NDArray[np.float64]
    masks: NDArray[np.uint64]
    epsilon: float
    tolerance: float
    unit: Unit = "classes"
    max_rows: int | None = None
    max_networks: int | None = None
    max_bytes: int | None = None
    optimum_only: bool = False
    run: Run = field(default_factory=Run)

    @property
    def key(self) -> str:
        """The cache key: all that the answer depends on."""
        quotas = self.max_rows, self.max_networks, self.max_bytes
        asked = self.unit, self.epsilon.hex(), self.tolerance.hex(), *quotas, self.optimum_only
        return f"search {version()} {self._content} {asked}"

    @property
    def root_key(self) -> str:
        """The cache key of the root: all that its bound depends on."""
        return f"root {self._content} {(self.epsilon.hex(), self.tolerance.hex(), self.optimum_only)}"

    @cached_property
    def _content(self) -> str:
        content = hashlib.sha256()
        for array in (self.offsets, self.costs, self.masks):
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()

    @property
    def n_variables(self) -> int:
        """The number of nodes."""
        return len(self.names)

    @property
    def resolution(self) -> float:
        """How much less than the optimum a network may cost without being noticed, where only the optimum is wanted.

        The tolerance, or what the rounding of bounds takes, if that is more (docs/guarantees.md).
        """
        scale = float(np.maximum(np.abs(self.costs[self.offsets[:-1]]), np.abs(self.costs[self.offsets[1:] - 1])).sum())
        return max(self.tolerance, math.ldexp(scale, -38))

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of candidates of each node."""
        return np.diff(self.offsets)


@dataclass(frozen=True, eq=False)
class Found:
    """What an engine found: the cheapest rows first, equal costs in increasing order of their choices.

    Attributes
    ----------
    choices : ndarray of uint32, shape (k, n)
        Position of each node's parent set among its candidates.
    costs : ndarray of float64, shape (k,)
    sizes : ndarray of uint64, shape (k, size_words)
        Number of members of each class, in words, the least significant first; no words for networks.
    best_cost : float
        The cheapest network known; infinite when none is.
    is_cut : bool
        A quota was reached: only the best rows are here, and all that tie with the last of them. Where only the optimum
        was asked for: one row is here, and others may tie with it.
    stopped : bool
        The run was stopped.
    unexplored_bound : float
        No network that costs less is missing; infinite unless the search stopped early. Where rows were cut, none is
        missing that costs less than the last row.
    statistics : mapping
        What the engine counted, ready for JSON.
    engine : str
        The engine that answered; set where one engine calls another.
    class_left_out : float
        The least cost of a network that was left out because a member of its class uses a set that is no candidate;
        infinite if there is none. Where scores are equivalent, no such class is credible.
    incumbent : ndarray of uint32, shape (n,), optional
        The choices of the cheapest network known, where it is none of the rows: it need not be credible, and the member
        that stands for its class may use a parent set that is no candidate.
    """

    choices: NDArray[np.uint32]
    costs: NDArray[np.float64]
    sizes: NDArray[np.uint64]
    best_cost: float
    is_cut: bool = False
    stopped: bool = False
    unexplored_bound: float = math.inf
    statistics: Mapping[str, object] = field(default_factory=dict)
    engine: str = ""
    class_left_out: float = math.inf
    incumbent: NDArray[np.uint32] | None = None


@dataclass(frozen=True)
class EngineEstimate:
    """What a search would take.

    Attributes
    ----------
    possible : bool
    reason : str
        Why it is not possible, and what to do about it; or what decides the estimate.
    bytes : int
        Memory for the engine's own tables, without what it finds.
    seconds : float
        A rough prediction, to compare engines.
    is_firm : bool
        Whether the search can be trusted to take about so long.
    """

    possible: bool
    reason: str | Phrase
    bytes: int
    seconds: float
    is_firm: bool = True


class Engine(Protocol):
    """A way to search; all give the same answer."""

    @property
    def name(self) -> str:
        """How users call it."""
        ...

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        """Predict what the search would take, without starting it."""
        ...

    def search(self, problem: SearchProblem) -> Found:
        """Find what the problem asks for."""
        ...


def tolerance_of(table: ScoreTable) -> float:
    """Return the difference below which two network scores count as equal; see the top of this module."""
    if table.tolerance is not None:
        return max(_LEAST_TOLERANCE, table.tolerance)
    scale = math.fsum(np.abs(table.scores[table.offsets[:-1]]))
    return max(_LEAST_TOLERANCE, math.ldexp(scale, -40))


def choose_unit(table: ScoreTable, unit: str = "auto", score_equivalent: bool | None = None) -> Unit:
    """Return what a row of the answer should stand for: classes where they are credible as a whole.

    Members of a Markov equivalence class share their score when the score is equivalent and the prior cannot tell an
    edge from its reverse, and all of them are allowed when there are no constraints. Otherwise networks are listed,
    and grouped afterwards.

    Parameters
    ----------
    table : ScoreTable
    unit : {"auto", "classes", "networks"}
    score_equivalent : bool, optional
        For a table of unknown origin only: the caller vouches that equivalent networks score the same.
    """
    if unit not in ("auto", "classes", "networks"):
        raise OptionError.refusing("unit", unit, "choose 'auto', 'classes' or 'networks'")
    obstacle = _obstacle_to_classes(table, score_equivalent)
    if unit == "classes" and obstacle is not None:
        raise OptionError(
            "{} is 'classes', but {}; use {} or {}",
            Option("unit"),
            obstacle,
            Option("unit", "auto"),
            Option("unit", "networks"),
        )
    return "networks" if unit == "networks" or obstacle is not None else "classes"


def _obstacle_to_classes(table: ScoreTable, score_equivalent: bool | None) -> str | Phrase | None:
    known = table.provenance.get("score_equivalent")
    if score_equivalent is not None and known is not None and bool(known) is not bool(score_equivalent):
        raise OptionError(
            "{} was given, but the table says {!r}; leave it out",
            Option("score_equivalent", score_equivalent),
            known,
        )
    if known is None and not score_equivalent:
        asserted = Option("score_equivalent", True)
        return Phrase("this table does not say whether its score is score equivalent ({} asserts it)", asserted)
    if known is False:
        return "equivalent networks may score differently under this score or prior"
    if table.provenance.get("constraints"):
        return "the constraints may allow some members of a class and not others"
    if known is None or table.epsilon is None:
        return _broken_reversal(table)
    return None


def _broken_reversal(table: ScoreTable) -> str | None:
    """Return why a table of unknown origin may hold a class in part: a covered edge that cannot be reversed.

    Reversing covered edges leads from any member of a class to all others (Chickering 1995). An edge u -> v is covered
    when v has the parents P + u and u has the parents P; its reversal gives u the parents P + v and v the parents P. If
    the table lists both of these wherever it lists the first two, with the same sum, every class is listed as a whole
    and its members score the same.
    """
    masks = [sum(int(word) << 64 * k for k, word in enumerate(row)) for row in table.masks.tolist()]
    scores: list[dict[int, float]] = []
    for first, last in itertools.pairwise(table.offsets.tolist()):
        scores.append(dict(zip(masks[first:last], table.scores[first:last].tolist(), strict=True)))
    tolerance = tolerance_of(table)
    for v, of_v in enumerate(scores):
        for mask, score in of_v.items():
            for u in range(table.n_variables):
                rest = mask & ~(1 << u)
                if rest == mask or rest not in scores[u]:
                    continue
                reversed_u, reversed_v = scores[u].get(rest | 1 << v), of_v.get(rest)
                if reversed_u is None or reversed_v is None:
                    return (
                        f"the scores list an edge {table.names[u]!r} -> {table.names[v]!r} that could be reversed, but "
                        "not the parent sets that its reversal needs"
                    )
                if abs(score + scores[u][rest] - reversed_u - reversed_v) > tolerance:
                    return (
                        f"reversing the edge {table.names[u]!r} -> {table.names[v]!r} leads to an equivalent network "
                        "with another score"
                    )
    return None


def make_problem(
    table: ScoreTable,
    *,
    epsilon: float,
    unit: Unit = "classes",
    max_rows: int | None = None,
    max_networks: int | None = None,
    max_bytes: int | None = None,
    optimum_only: bool = False,
    run: Run | None = None,
) -> SearchProblem:
    """Return the search problem of a score table."""
    if table.n_variables > _MOST_VARIABLES:
        raise TooLargeError(
            f"the scores have {table.n_variables} variables; at most {_MOST_VARIABLES} can be searched, constant "
            "columns included: choose the columns of interest first"
        )
    known = table.epsilon
    if known is not None and epsilon > known * (1 + _EPSILON_ROUNDING):
        raise OptionError(
            "{} is {:.6g}, but these scores were pruned for networks within {:.6g} of the best; score again with {} or "
            "more, or ask for at most {}",
            Option("epsilon"),
            epsilon,
            known,
            Option("epsilon", float(f"{epsilon:.6g}")),
            Option("epsilon", float(f"{known:.6g}")),
        )
    return SearchProblem(
        names=table.names,
        offsets=table.offsets,
        costs=-table.scores + 0.0,
        masks=table.masks,
        epsilon=epsilon,
        tolerance=tolerance_of(table),
        unit=unit,
        max_rows=_quota(max_rows),
        max_networks=_quota(max_networks),
        max_bytes=_quota(max_bytes),
        optimum_only=optimum_only,
        run=Run() if run is None else run,
    )


def _quota(value: int | None) -> int | None:
    """Return a quota that fits into a machine word; what no search can fill is none."""
    return None if value is None or value >= 1 << 62 else value


def exact_scores(table: ScoreTable, choices: NDArray[np.uint32], n_threads: int = 1) -> NDArray[np.float64]:
    """Return the score of each row of choices, summed with compensation (Neumaier 1974).

    The error of each addition is found exactly and carried along, so the result is the true sum but for a rounding at
    the end, as from `math.fsum`.
    """
    rows = np.ascontiguousarray(choices, dtype=np.uint32)
    return _core.network_scores(table.offsets, table.scores, rows, n_threads)
