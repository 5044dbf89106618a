"""Slow and obvious twins of every score: local costs (lower is better), straight from the definitions.

Nothing here is shared with the package: no set functions, no weights, no batches. Rows are tuples, one for
each row of the table.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Rows = Sequence[tuple]


def _family_counts(rows: Rows, node: int, parents: Sequence[int]) -> dict[tuple, Counter]:
    """Counts of the node's states for each parent configuration that occurs."""
    counts: dict[tuple, Counter] = defaultdict(Counter)
    for row in rows:
        counts[tuple(row[p] for p in parents)][row[node]] += 1
    return counts


def _negative_log_likelihood(rows: Rows, node: int, parents: Sequence[int]) -> float:
    return -math.fsum(
        n * math.log(n / sum(states.values()))
        for states in _family_counts(rows, node, parents).values()
        for n in states.values()
    )


def _free_parameters(arities: Sequence[int], node: int, parents: Sequence[int]) -> int:
    return (arities[node] - 1) * math.prod(arities[p] for p in parents)


def naive_bic(rows: Rows, arities: Sequence[int], node: int, parents: Sequence[int]) -> float:
    penalty = math.log(len(rows)) / 2 * _free_parameters(arities, node, parents)
    return _negative_log_likelihood(rows, node, parents) + penalty


def naive_aic(rows: Rows, arities: Sequence[int], node: int, parents: Sequence[int]) -> float:
    return _negative_log_likelihood(rows, node, parents) + _free_parameters(arities, node, parents)


def naive_bdeu(rows: Rows, arities: Sequence[int], node: int, parents: Sequence[int], ess: float = 1.0) -> float:
    """Ratio of Dirichlet normalisers for each parent configuration; one that does not occur adds 0.

    Heckerman, Geiger and Chickering (1995), with uniform prior counts.
    """
    prior_configuration = ess / math.prod(arities[p] for p in parents)
    prior_cell = prior_configuration / arities[node]
    terms = []
    for states in _family_counts(rows, node, parents).values():
        terms.append(math.lgamma(prior_configuration) - math.lgamma(prior_configuration + sum(states.values())))
        terms.extend(math.lgamma(prior_cell + n) - math.lgamma(prior_cell) for n in states.values())
    return -math.fsum(terms)


def naive_gaussian_bic(rows: Rows, node: int, parents: Sequence[int]) -> float:
    """Regress the node on its parents with an intercept; the cost follows from the residuals."""
    table = np.array(rows, dtype=np.float64)
    table = table - table[0]  # the intercept absorbs any shift; large offsets would cost digits
    scale = np.abs(table).max(axis=0)
    table = table / scale
    N = len(table)
    design = np.column_stack([np.ones(N), *(table[:, p] for p in parents)])
    coefficients = np.linalg.lstsq(design, table[:, node])[0]
    residuals = table[:, node] - design @ coefficients
    log_variance = math.log(residuals @ residuals / N) + 2 * math.log(scale[node])
    return N / 2 * (math.log(2 * math.pi) + 1 + log_variance) + math.log(N) / 2 * (len(parents) + 2)


def naive_bge(
    rows: Rows, node: int, parents: Sequence[int], alpha_mu: float = 1.0, alpha_w: float | None = None
) -> float:
    """Predict the rows one after the other: parents and node together, and the parents alone."""
    n = len(rows[0])
    alpha_w = n + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    return _sequential(rows, parents, t, alpha_mu, alpha_w - n + len(parents)) - _sequential(
        rows, [node, *parents], t, alpha_mu, alpha_w - n + len(parents) + 1
    )


def _sequential(rows: Rows, columns: Sequence[int], t: float, alpha_mu: float, dof: float) -> float:
    """Log density of the rows: normal-Wishart prior, updated row by row; exact up to the logarithms.

    Fractions, because the posterior after one row is nearly singular where the prior is weak.
    """
    table = [[Fraction(row[c]) for c in columns] for row in rows]
    size = range(len(columns))
    mean = [sum(row[i] for row in table) / len(table) for i in size]  # the prior mean is the sample mean
    scatter = [[Fraction(t) if i == j else Fraction(0) for j in size] for i in size]
    weight, total = Fraction(alpha_mu), 0.0
    for row in table:
        freedom = dof - len(size) + 1
        away = [row[i] - mean[i] for i in size]
        scale = (weight + 1) / (weight * Fraction(freedom))
        shape = [[scatter[i][j] * scale for j in size] for i in size]
        total += _log_multivariate_t(away, shape, freedom)
        for i in size:
            mean[i] += away[i] / (weight + 1)
            for j in size:
                scatter[i][j] += away[i] * away[j] * weight / (weight + 1)
        weight, dof = weight + 1, dof + 1
    return total


def _log_multivariate_t(x: list[Fraction], shape: list[list[Fraction]], freedom: float) -> float:
    size = len(x)
    of_shape = determinant(shape)
    # matrix determinant lemma: |shape + x x'| = |shape| (1 + x' shape^-1 x)
    bordered = [[shape[i][j] + x[i] * x[j] for j in range(size)] for i in range(size)]
    distance = float(determinant(bordered) / of_shape - 1)
    return (
        math.lgamma((freedom + size) / 2)
        - math.lgamma(freedom / 2)
        - size / 2 * math.log(freedom * math.pi)
        - math.log(of_shape) / 2
        - (freedom + size) / 2 * math.log1p(distance / freedom)
    )


def determinant(matrix: list[list[Fraction]]) -> Fraction:
    if not matrix:
        return Fraction(1)
    return sum(
        (
            (-1) ** j * matrix[0][j] * determinant([row[:j] + row[j + 1 :] for row in matrix[1:]])
            for j in range(len(matrix))
        ),
        Fraction(0),
    )


def naive_conditional_gaussian(
    rows: Rows, arities: Sequence[int], node: int, parents: Sequence[int], pseudo_rows: float = 1.0
) -> float:
    """Joint cost of node and parents less that of the parents, cell by cell; arity 0 marks continuous."""
    return _joint_cost(rows, arities, [node, *parents], pseudo_rows) - _joint_cost(rows, arities, parents, pseudo_rows)


def _joint_cost(rows: Rows, arities: Sequence[int], variables: Sequence[int], kappa: float) -> float:
    discrete = [v for v in variables if arities[v] > 0]
    continuous = [v for v in variables if arities[v] == 0]
    N, size = len(rows), len(continuous)
    table = np.array([[row[v] for v in continuous] for row in rows], dtype=np.float64)
    table = table - table[0]
    prior = np.diag(((table - table.mean(axis=0)) ** 2).mean(axis=0))
    cells = defaultdict(list)
    for k, row in enumerate(rows):
        cells[tuple(row[v] for v in discrete)].append(k)
    terms = []
    for members in cells.values():
        n_d = len(members)
        terms.append(-n_d * math.log(n_d / N))
        if size:
            centred = table[members] - table[members].mean(axis=0)
            scatter = centred.T @ centred
            sigma = (scatter + kappa * prior) / (n_d + kappa)
            sign, log_det = np.linalg.slogdet(sigma)
            assert sign > 0
            terms.append(n_d / 2 * (size * math.log(2 * math.pi) + float(log_det)))
            terms.append(float(np.trace(np.linalg.solve(sigma, scatter))) / 2)
    params = math.prod(arities[v] for v in discrete) * (1 + size + size * (size + 1) // 2)
    return math.fsum(terms) + math.log(N) / 2 * params
