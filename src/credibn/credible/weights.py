"""How much each network of a credible set counts: weights in proportion to exp(score) times a prior.

Scores are log posteriors up to a constant, under a prior that is uniform over networks (or the one they were made
with). Weights are made in log space from differences to the best, and sums are compensated, so scores of any size do.

- ``"networks"``: each network counts exp(score); a class counts that times its size.
- ``"classes"``: each class counts exp(score), shared by its networks in the set.
- a structure prior: each network counts exp(score + log prior). One that cannot tell members of a class apart is
  applied to classes; otherwise their networks are listed.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn.credible.rows import Rows, expand
from credibn.errors import OptionError, TooLargeError
from credibn.scores import EdgeLogOdds, EdgePenalty, ScoreTable, UniformPrior
from credibn.scores.priors import StructurePrior, keeps_score_equivalence, resolve_prior
from credibn.scores.table import parent_positions

__all__ = ["Prior", "WeightedRows", "log_sum", "shares", "weigh"]

Prior = str | StructurePrior
_MOST_LISTED = 10_000_000


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Classes or networks with their weights, which sum to 1.

    Attributes
    ----------
    rows : Rows
        The rows of a credible set, or its networks one by one where a prior tells members of a class apart.
    weights : ndarray of float64
        One for each row.
    """

    rows: Rows
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.weights.flags.writeable = False

    __reduce__ = rebuilt_from_fields


def weigh(table: ScoreTable, rows: Rows, prior: Prior) -> WeightedRows:
    """Return the rows with their weights under a prior.

    Raises
    ------
    OptionError
        When there are no rows, or for an unknown prior.
    TooLargeError
        When members of classes must be told apart and are too many to list.
    """
    if not len(rows):
        raise OptionError("the set holds no network, so there is nothing to average: give it a chance to find some")
    if isinstance(prior, (UniformPrior, EdgePenalty, EdgeLogOdds)):
        return _with_structure_prior(table, rows, prior)
    if not isinstance(prior, str) or prior not in ("networks", "classes"):
        raise OptionError(f'prior is {prior!r}; give "networks", "classes" or a structure prior such as EdgePenalty(1)')
    gaps = _gaps(rows)
    if prior == "networks":
        return WeightedRows(rows, shares(gaps + rows.log_sizes))
    if rows.class_of is None:
        return WeightedRows(rows, shares(gaps))
    return WeightedRows(rows, shares(gaps - np.log(np.bincount(rows.class_of))[rows.class_of]))


def _gaps(rows: Rows) -> NDArray[np.float64]:
    """Return the scores less the best, before anything small is added to what may be large."""
    gaps: NDArray[np.float64] = rows.scores - rows.scores.max()
    return gaps


def _with_structure_prior(table: ScoreTable, rows: Rows, prior: StructurePrior) -> WeightedRows:
    terms = resolve_prior(prior, table.names)
    if rows.class_of is None and not keeps_score_equivalence(terms):
        if rows.n_networks > _MOST_LISTED:
            raise TooLargeError(
                f"this prior tells members of a class apart, and {rows.n_networks:,} networks are too many to list "
                f"(at most {_MOST_LISTED:,}); give the prior to learn, or lower the Bayes factor"
            )
        rows = expand(table, rows, rows.n_networks)
    log_priors = np.zeros(len(rows))
    for node in range(table.n_variables):
        candidates = parent_positions(table.masks[table.offsets[node] : table.offsets[node + 1]])
        of_candidates = np.array([math.fsum(terms[parents, node]) for parents in candidates])
        log_priors += of_candidates[rows.choices[:, node]]
    return WeightedRows(rows, shares(_gaps(rows) + rows.log_sizes + log_priors))


def log_sum(logs: NDArray[np.float64]) -> float:
    """Return the logarithm of the sum of exponentials.

    Examples
    --------
    >>> round(log_sum(np.array([-1e7, -1e7])) + 1e7, 6)
    0.693147
    """
    top = float(logs.max())
    return top + math.log(math.fsum(np.exp(logs - top)))


def shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exponentials in proportion, so that they sum to 1.

    Examples
    --------
    >>> shares(np.array([-1e7, -1e7 - np.log(3)])).round(6)
    array([0.75, 0.25])
    """
    masses = np.exp(logs - logs.max())
    found: NDArray[np.float64] = masses / math.fsum(masses)
    found.flags.writeable = False
    return found
