"""The score of mixed columns: the conditional-Gaussian BIC.

It is one set function F in costs (lower is better, natural logarithms), `cost(i, P) = F(P + i) - F(P)`, and F of the
empty set is 0. The rows are split by the cells of the discrete columns; sets that share these columns share the split
and the sums of squares. Cost: one pass over the distinct rows for each set of discrete columns and pair of continuous
ones, then k^3 operations for each set and cell.

References
----------
S. Lauritzen and N. Wermuth (1989), Graphical models for associations between variables, some of which are
qualitative and some quantitative. Annals of Statistics 17, 31-57.
B. Andrews, J. Ramsey and G. Cooper (2018), Scoring Bayesian networks of mixed variables. International
Journal of Data Science and Analytics 6, 3-18.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from credibn.errors import OptionError
from credibn.scores.moments import (
    LOG_2PI,
    computed_once,
    moments_of,
    n_additions,
    refuse_constant,
    standardise_columns,
    warn_of_rounding,
)
from credibn.scores.protocol import DataView

_CELLS_AT_ONCE = 1 << 17  # numbers in one stack of cell covariances
_MIN_PSEUDO_ROWS = 1e-6  # less would leave small cells singular to rounding


@dataclass(frozen=True)
class ConditionalGaussianBIC:
    """BIC of conditional-Gaussian networks, for tables with discrete and continuous columns.

    A set S has discrete columns D and continuous ones C. The rows of each cell d of D (each combination of states that
    occurs), n_d of them, follow a Gaussian of their own (Lauritzen and Wermuth, 1989), and both kinds of column may be
    parents of both kinds: a local cost is a ratio of two such joint densities (Andrews, Ramsey and Cooper, 2018). With
    w = ln(N)/2 and kappa = `pseudo_rows`::

        F(S) = N H(D) + sum_d [n_d (|C| ln 2pi + ln det Sigma_d) + tr(Sigma_d^-1 SS_d)]/2 + w (params(S) - 1)
        Sigma_d = (SS_d + kappa V) / (n_d + kappa)
        params(S) = prod(r_v for v in D) (1 + |C|(|C| + 3)/2)

    H(D) is the entropy in nats, SS_d the centred scatter matrix in the cell, V the diagonal matrix of the variances of
    C in the whole table, r_v the declared number of states. The constant -w makes F of the empty set 0 and cancels in
    every local cost.

    kappa V is part of the definition: a cell with |C| or fewer rows has a singular covariance and an unbounded
    likelihood; kappa rows with the table's own variances keep it finite, and matter less as n_d grows. Without
    continuous columns the score is the discrete BIC; without discrete ones it tends to `GaussianBIC` as kappa / N
    vanishes.

    Changing the location or unit of a continuous column changes every network's score by the same amount.

    Parameters
    ----------
    pseudo_rows
        kappa, at least 1e-6.

    Raises
    ------
    OptionError
        For values of `pseudo_rows` out of range.
    DataError
        When scoring: for a set that contains a constant continuous column, and for columns so nearly collinear that
        rounding could change F by more than 0.01 nats.

    Warns
    -----
    CredibnWarning
        If rounding could change F by more than 0.001 nats.

    Examples
    --------
    >>> from credibn.data import Dataset
    >>> sex, height = np.array([0, 0, 1, 1], np.uint8), np.array([1.60, 1.65, 1.80, 1.86])
    >>> data = Dataset(("sex", "height"), (sex, height), (("f", "m"), None), np.array([20, 30, 30, 20]))
    >>> score = ConditionalGaussianBIC()
    >>> f_sex, f_height = score.set_costs(data, np.array([[0], [1]]))
    >>> f_both = score.set_costs(data, np.array([[0, 1]]))[0]
    >>> print(f"cost of height alone {f_height:.2f}, with parent sex {f_both - f_sex:.2f}")
    cost of height alone -83.06, with parent sex -209.44
    """

    pseudo_rows: float = 1.0

    name: ClassVar[str] = "conditional-gaussian-bic"
    columns: ClassVar[Literal["mixed"]] = "mixed"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.pseudo_rows) and self.pseudo_rows >= _MIN_PSEUDO_ROWS):
            raise OptionError(
                f"pseudo_rows is {self.pseudo_rows!r}; it must be a number of at least {_MIN_PSEUDO_ROWS:g}, "
                "such as 1: it keeps the variance of cells with few rows above zero"
            )

    def settings(self) -> dict[str, object]:
        """Return the options that define the score."""
        return {"pseudo_rows": self.pseudo_rows}

    def set_costs(self, data: DataView, sets: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate F of every row of `sets`."""
        costs = np.zeros(len(sets))
        if sets.size == 0:
            return costs
        is_discrete = np.array([states is not None for states in data.states])
        standardised, log_sd = standardise_columns(data)
        refuse_constant(data, sets[~is_discrete[sets]], log_sd)
        warn_of_rounding(data, moments_of(data), self._errors(data)[0])
        discrete_parts, part_of = np.unique(np.where(is_discrete[sets], sets, -1), axis=0, return_inverse=True)
        by_part = np.argsort(part_of.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(part_of.ravel()))
        for part, members in zip(discrete_parts, np.split(by_part, ends[:-1]), strict=True):
            discrete = part[part >= 0]
            continuous = sets[members][~is_discrete[sets[members]]].reshape(members.size, -1)
            cells = _find_cells(data, discrete)
            costs[members] = _discrete_cost(data, discrete, cells, continuous.shape[1])
            if continuous.size:
                costs[members] += self._density_costs(cells, continuous, standardised)
                costs[members] += data.n_rows * log_sd[continuous].sum(axis=1)
        return costs

    def set_cost_error(self, data: DataView, largest: int | None = None) -> float:
        """Return an estimate of the largest rounding error of F, of sets of up to `largest` columns, if given.

        It is the bound for the set of all continuous columns (docs/guarantees.md, "Numbers"), with no discrete column,
        with each of them, and with all, or the `largest` with the most states: the largest of these, times 4.
        """
        discrete = [v for v, states in enumerate(data.states) if states is not None]
        n_continuous = len(data.states) - len(discrete)
        worst = sorted(discrete, key=lambda v: -int(data.arities[v]))[:largest]
        of_penalty = math.log(data.n_rows) / 2 * _n_parameters(data, worst, n_continuous)
        return 4 * (sum(self._errors(data)) + 8 * 2.0**-53 * of_penalty)

    def most_discrete_parents(self, data: DataView, child: int, required: Sequence[int], spare: float) -> int:
        """Return the largest number of discrete parents that a column can have in a credible network.

        A parent set with more of them costs more than the required parents alone, by more than `spare`
        (docs/guarantees.md, "Rules 3 and 4").
        """
        N, kappa, w = data.n_rows, self.pseudo_rows, math.log(data.n_rows) / 2
        discrete = [v for v, states in enumerate(data.states) if states is not None]
        c = len(data.states) - len(discrete)
        low = min(0.0, N * c * (LOG_2PI - math.log1p(N / kappa)) / 2)
        high = N * c * (LOG_2PI + max(0.0, math.log((N * c + kappa) / (1 + kappa))) + 1 + kappa) / 2
        entropy = N * math.log(data.arities[child]) if child in discrete else 0.0
        with_child, without = (
            _n_parameters(data, [v for v in columns if v in discrete], sum(v not in discrete for v in columns))
            for columns in ([*required, child], required)
        )
        most = spare + entropy + 2 * (high - low) + w * (with_child - without)
        n_cells, n_parents = 1, 0
        for arity in sorted(int(data.arities[v]) for v in discrete if v != child):
            n_cells *= arity
            if w * n_cells > 1.01 * most + 1:  # far beyond what rounding can change
                break
            n_parents += 1
        return n_parents

    def _errors(self, data: DataView) -> tuple[float, float]:
        return computed_once(data, self, lambda: self._estimate_errors(data))

    def _estimate_errors(self, data: DataView) -> tuple[float, float]:
        """Return the errors from the condition of the scatter matrices and from the size of F, the penalty aside."""
        standardised, log_sd = standardise_columns(data)
        continuous = np.flatnonzero(np.isfinite(log_sd))
        discrete = np.flatnonzero([states is not None for states in data.states])
        kappa, size, N = self.pseudo_rows, continuous.size, data.n_rows
        parts = [discrete[:0], *discrete[:, None], discrete]
        of_sums, of_terms = 0.0, 0.0
        for part in parts:
            cells = _find_cells(data, part)
            of_terms = max(of_terms, abs(_entropy(data, cells)))
            if not size:
                continue
            rows = np.stack([standardised[v] for v in continuous])
            counts, _, scatter = _cell_scatters(rows, cells, np.ones((size, size), dtype=np.bool_))
            scatter[np.arange(size), np.arange(size)] += kappa
            largest = np.einsum("iik->ik", scatter).max(axis=0, initial=0.0)
            inverse_trace = _sweep(scatter, kappa)[1] if counts.size else np.zeros(0)
            of_sums = max(of_sums, float(((counts + kappa) * largest * inverse_trace).sum()))
        error = size * (2 * n_additions(len(data.weights)) + size + 14) * 2.0**-53
        of_terms += N * size * (LOG_2PI + abs(math.log(kappa)) + math.log(N + kappa)) + N * float(
            np.abs(log_sd[continuous]).sum()
        )
        return error * of_sums, error * N + 8 * 2.0**-53 * of_terms

    def _density_costs(
        self, cells: "_Cells", sets: NDArray[np.intp], standardised: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the sum over cells of the Gaussian part, in units where V is the identity."""
        kappa, size = self.pseudo_rows, sets.shape[1]
        used, sets = _relabel(sets)
        rows = np.stack([standardised[v] for v in used])
        counts, lone_counts, scatter = _cell_scatters(rows, cells, _pairs(sets))
        # a cell with one distinct row has no scatter: Sigma_d = kappa V / (n_d + kappa)
        lone = size / 2 * float(lone_counts @ (LOG_2PI + math.log(kappa) - np.log(lone_counts + kappa)))
        costs = np.full(len(sets), lone)
        step = max(1, _CELLS_AT_ONCE // (size * size * max(1, counts.size)))
        for start in range(0, len(sets) if counts.size else 0, step):
            columns = sets[start : start + step].T
            stack = scatter[columns[:, None], columns[None]]
            stack[np.arange(size), np.arange(size)] += kappa
            log_det, inverse_trace = _sweep(stack, kappa)
            fit = counts * (size * (LOG_2PI - np.log(counts + kappa)) + log_det)
            trace = (counts + kappa) * (size - kappa * inverse_trace)
            costs[start : start + step] += (fit + trace).sum(axis=-1) / 2
        return costs


@dataclass(frozen=True)
class _Cells:
    """The cells of some discrete columns: a code below n_codes, and the weight, of every distinct row."""

    codes: NDArray[np.intp]
    n_codes: int
    weights: NDArray[np.float64]


def _find_cells(data: DataView, discrete: NDArray[np.intp]) -> _Cells:
    codes, n_codes = np.zeros(len(data.weights), dtype=np.intp), 1
    for v in discrete:
        arity = int(data.arities[v])
        codes = codes * arity + data.columns[v]
        n_codes *= arity
        if n_codes > 16 * len(codes):  # mostly unseen cells: number the seen ones only
            seen, codes = np.unique(codes, return_inverse=True)
            n_codes = seen.size
    return _Cells(codes, n_codes, data.weights.astype(np.float64))


def _discrete_cost(data: DataView, discrete: NDArray[np.intp], cells: _Cells, n_continuous: int) -> float:
    """Return N H(D) + w (params(S) - 1)."""
    return _entropy(data, cells) + math.log(data.n_rows) / 2 * (_n_parameters(data, discrete, n_continuous) - 1)


def _n_parameters(data: DataView, discrete: Iterable[int], n_continuous: int) -> int:
    """Return params(S)."""
    n_cells = math.prod(int(data.arities[v]) for v in discrete)
    return n_cells * (1 + n_continuous * (n_continuous + 3) // 2)


def _entropy(data: DataView, cells: _Cells) -> float:
    """Return N H(D)."""
    counts = np.bincount(cells.codes, cells.weights, cells.n_codes)
    counts = counts[counts > 0]
    return data.n_rows * math.log(data.n_rows) - float(counts @ np.log(counts))


def _relabel(sets: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the columns that occur in any set, and the sets as positions among these."""
    used, positions = np.unique(sets, return_inverse=True)
    return used, positions.reshape(sets.shape)


def _pairs(sets: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each pair of columns occurs together in a set."""
    together = np.zeros((sets.max() + 1, sets.max() + 1), dtype=np.bool_)
    together[sets[:, :, None], sets[:, None]] = True
    return together


def _cell_scatters(
    rows: NDArray[np.float64], cells: _Cells, pairs: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the counts of cells with several distinct rows and with one, and the scatters of the former.

    The scatter matrices have the cells along their last axis; entries of pairs that do not occur stay 0. Rows are
    centred within their cell before they are squared.
    """
    codes = cells.codes.astype(np.uint16) if cells.n_codes <= 1 << 16 else cells.codes  # 16 bits: radix sort
    order = np.argsort(codes, kind="stable")
    n_distinct = np.bincount(cells.codes)
    n_distinct = n_distinct[n_distinct > 0]
    weight = cells.weights[order]
    counts = np.add.reduceat(weight, np.cumsum(n_distinct) - n_distinct)
    several = n_distinct > 1
    scatter = np.zeros((len(rows), len(rows), int(several.sum())))
    if several.any():
        if not several.all():
            chosen = np.repeat(several, n_distinct)
            order, weight = order[chosen], weight[chosen]
        size = n_distinct[several]
        starts = np.cumsum(size) - size
        centred = rows.take(order, axis=1)
        means = np.add.reduceat(centred * weight, starts, axis=1) / counts[several]
        centred -= np.repeat(means, size, axis=1)
        weighted = centred * weight
        for a in range(len(rows)):
            others = np.flatnonzero(pairs[a, : a + 1])
            products = (centred[: a + 1] if others.size == a + 1 else centred[others]) * weighted[a]
            scatter[a, others] = scatter[others, a] = np.add.reduceat(products, starts, axis=1)
    return counts[several], counts[~several], scatter


def _sweep(stack: NDArray[np.float64], smallest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln det and the trace of the inverse of symmetric matrices, stacked along the later axes.

    Sweeping every pivot turns A into -A^-1 (Dempster, 1969). `smallest` bounds the eigenvalues, hence the pivots, from
    below. The stack is overwritten.
    """
    log_det = np.zeros(stack.shape[2:])
    for j in range(len(stack)):
        pivot = np.maximum(stack[j, j], smallest)
        log_det += np.log(pivot)
        column = stack[:, j].copy()
        scaled = column / pivot
        stack -= column[:, None] * scaled
        stack[:, j] = stack[j] = scaled
        stack[j, j] = -1 / pivot
    return log_det, -np.trace(stack)
