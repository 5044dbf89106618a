"""Scores of categorical data: BIC, AIC and BDeu, each one function of a set of variables.

With n_c the count of a cell c of the set S that occurs and r_v the number of states of variable v (costs, natural
logs):

- penalised likelihood: ``F(S) = N ln N - sum_c n_c ln n_c + w * prod r_v``, with ``w = ln(N)/2`` for BIC (Schwarz
  1978) and ``w = 1`` for AIC (Akaike 1974);
- BDeu (Buntine 1991; Heckerman, Geiger & Chickering 1995): ``F(S) = N ln(ess) - sum_c [lnGamma(a + n_c) - lnGamma(a)]``
  with ``ess = equivalent_sample_size`` and ``a = ess / prod r_v``.

The compiled core counts and prunes these scores by itself; `set_costs` here is the same function for single sets, and
the reference that the core is tested against.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from credibn.errors import DataError, Option, OptionError
from credibn.scores.protocol import DataView

LEAST_SAMPLE_SIZE, LARGEST_SAMPLE_SIZE = 1e-300, 1e300
"""Between these the error of the scores is bounded (docs/guarantees.md, "Numbers")."""
_FACTORS = 64


@dataclass(frozen=True)
class _PenalisedLikelihood:
    columns: ClassVar[Literal["discrete"]] = "discrete"

    def settings(self) -> dict[str, object]:
        """Return the options that define the score: none."""
        return {}

    def penalty_weight(self, n_rows: int) -> float:
        """Return the cost of one free parameter."""
        raise NotImplementedError

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return F of each row of `sets`."""
        weight = self.penalty_weight(data.n_rows)
        costs = []
        for members in sets:
            counts = _cell_counts(data, members)
            entropy = math.fsum([data.n_rows * math.log(data.n_rows), *(-counts * np.log(counts))])
            costs.append(entropy + weight * _configurations(data, members))
        return np.array(costs, dtype=np.float64)


@dataclass(frozen=True)
class BIC(_PenalisedLikelihood):
    """The Bayesian information criterion: log likelihood minus ln(N)/2 for each free parameter.

    Examples
    --------
    >>> BIC().penalty_weight(100) == math.log(100) / 2
    True
    """

    name: ClassVar[str] = "bic"

    def penalty_weight(self, n_rows: int) -> float:
        """Return ln(N)/2."""
        return math.log(n_rows) / 2


@dataclass(frozen=True)
class AIC(_PenalisedLikelihood):
    """Akaike's information criterion, halved: log likelihood minus 1 for each free parameter.

    Examples
    --------
    >>> AIC().penalty_weight(100)
    1.0
    """

    name: ClassVar[str] = "aic"

    def penalty_weight(self, n_rows: int) -> float:
        """Return 1, whatever the number of rows."""
        return 1.0


@dataclass(frozen=True)
class BDeu:
    """The log marginal likelihood under the uniform, likelihood equivalent Dirichlet prior.

    Parameters
    ----------
    equivalent_sample_size : float
        How many rows the prior is worth, spread evenly over the cells; between 1e-300 and 1e300.

    Examples
    --------
    >>> BDeu(10).settings()
    {'equivalent_sample_size': 10.0}
    """

    equivalent_sample_size: float = 1.0

    name: ClassVar[str] = "bdeu"
    columns: ClassVar[Literal["discrete"]] = "discrete"

    def __post_init__(self) -> None:
        value = self.equivalent_sample_size
        is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if not is_number or not LEAST_SAMPLE_SIZE <= value <= LARGEST_SAMPLE_SIZE:
            raise OptionError(
                f"the equivalent sample size is {value!r}; it must be a number between {LEAST_SAMPLE_SIZE} and "
                f"{LARGEST_SAMPLE_SIZE} (1 is usual)"
            )
        object.__setattr__(self, "equivalent_sample_size", float(value))

    def settings(self) -> dict[str, object]:
        """Return the equivalent sample size."""
        return {"equivalent_sample_size": self.equivalent_sample_size}

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return F of each row of `sets`."""
        size = self.equivalent_sample_size
        costs = []
        for members in sets:
            configurations = _configurations(data, members)
            counts = _cell_counts(data, members).tolist()
            costs.append(-math.fsum(_log_rising(size, configurations, n) for n in counts))
        return np.array(costs, dtype=np.float64)


def _log_rising(size: float, configurations: float, n: int) -> float:
    """Return the sum of ln((a + j) / size) over j < n, a = size / configurations, without cancellation.

    Some factors one by one, the rest by Stirling's series.
    """
    mass = size / configurations
    n_factors = min(n, _FACTORS)
    head = [-math.log(configurations), *(math.log(mass + j) - math.log(size) for j in range(1, n_factors))]
    base, left = mass + n_factors, n - n_factors
    if left == 0:
        return math.fsum(head)
    x = base + left
    rest = (left * (math.log(x / size) - 1.0), (base - 0.5) * math.log1p(left / base), _stirling(x), -_stirling(base))
    return math.fsum([*head, *rest])


def _stirling(x: float) -> float:
    """Return ln Gamma(x) - (x - 1/2) ln x + x - ln(2 pi) / 2, for x >= 64."""
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * x * x)) / (x * x)) / (x * x)) / x


DiscreteScore = BIC | AIC | BDeu


def refuse_continuous(data: DataView, members: Iterable[int]) -> None:
    """Refuse columns of numbers: these scores take categories."""
    for v in members:
        if data.states[v] is None:
            raise DataError(
                "column {!r} is continuous, and this score takes categories: read the table with {} or {}, or score "
                "with {}",
                data.names[v],
                Option("columns", {data.names[v]: "categorical"}),
                Option("discretise", {data.names[v]: "equal_frequency:4"}),
                Option("score", "auto"),
            )


def _configurations(data: DataView, members: NDArray[np.intp]) -> float:
    return math.prod(float(data.arities[v]) for v in members)


def _cell_counts(data: DataView, members: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the number of rows in each cell of the set that occurs."""
    refuse_continuous(data, members)
    cells = np.zeros(len(data.weights), dtype=np.int64)
    for v in members:
        joint = cells * int(data.arities[v]) + data.columns[v]
        cells = np.unique(joint, return_inverse=True)[1]
    return np.bincount(cells, weights=data.weights).astype(np.int64)
