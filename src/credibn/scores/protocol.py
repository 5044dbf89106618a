"""What a score is: one function of a set of variables.

Every score-equivalent, decomposable score is a difference of one set function F (costs: lower is better):
``cost(i, P) = F(P + i) - F(P)``. The sum over a network telescopes along every covered edge, so that Markov equivalent
networks have equal cost (Chickering, 1995, theorem 2). An object that can evaluate F is therefore all that the search
needs.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class DataView(Protocol):
    """The part of a data set that a score reads: distinct rows, column by column, and how often each occurs.

    Continuous columns hold finite numbers and weights are positive: the reader of the data checks both. A view does not
    change once a score has read it (scores may cache moments of it for its lifetime).
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""

    @property
    def columns(self) -> Sequence[NDArray[Any]]:
        """Values over the distinct rows: integer codes where discrete, float64 where continuous."""

    @property
    def states(self) -> Sequence[tuple[Any, ...] | None]:
        """State labels of each column; None marks a continuous one."""

    @property
    def arities(self) -> NDArray[np.int64]:
        """Number of declared states of each column; 0 marks a continuous one."""

    @property
    def weights(self) -> NDArray[np.int64]:
        """Number of rows of the table that equal each distinct row."""

    @property
    def n_rows(self) -> int:
        """N, the rows of the table: the sum of the weights."""


class NamedScore(Protocol):
    """What every score says about itself."""

    @property
    def name(self) -> str:
        """Short name, as written in results and on the command line."""

    @property
    def columns(self) -> Literal["discrete", "continuous", "mixed"]:
        """Which columns the score takes."""

    def settings(self) -> dict[str, object]:
        """Return the options that define the score, as JSON values, for the provenance of results."""


@runtime_checkable
class SetScore(NamedScore, Protocol):
    """A score: any object with these four members.

    An optional method ``set_cost_error(data) -> float`` bounds the error of F: `|computed F(S) - exact F(S)|` over all
    sets S that can be scored, in nats. Comparisons of costs then allow for it.

    An optional text ``version`` identifies the code of the score: without it, no scores are saved in a checkpoint.
    Change it with the code.

    Examples
    --------
    A score that charges one nat for each pair of neighbours in a set, whatever the data:

    >>> class PairCount:
    ...     name = "pair-count"
    ...     columns = "mixed"
    ...     def settings(self):
    ...         return {}
    ...     def set_costs(self, data, sets):
    ...         return np.full(len(sets), sets.shape[1] * (sets.shape[1] - 1) / 2)
    >>> isinstance(PairCount(), SetScore)
    True
    """

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate F.

        Parameters
        ----------
        data
            The table.
        sets
            m sets of k variables each, as rows of sorted column positions; k may be 0.

        Returns
        -------
        NDArray[np.float64]
            F of every row. F of the empty set is any constant: only differences count.
        """
