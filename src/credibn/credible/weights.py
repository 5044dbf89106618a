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
from credibn.credible.structures import Structures, expand
from credibn.errors import OptionError, TooLargeError
from credibn.scores import EdgeLogOdds, EdgePenalty, ScoreTable, UniformPrior
from credibn.scores.priors import StructurePrior, keeps_score_equivalence, resolve_prior
from credibn.scores.table import parent_positions

Prior = str | StructurePrior
_MOST_LISTED = 10_000_000


@dataclass(frozen=True, eq=False)
class WeightedStructures:
    """The structures of a credible set, or its networks one by one, with their weights, which sum to 1."""

    structures: Structures
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.weights.flags.writeable = False

    __reduce__ = rebuilt_from_fields


def weigh(table: ScoreTable, structures: Structures, prior: Prior) -> WeightedStructures:
    """Return the structures with their weights under a prior; some priors need members of classes one by one."""
    if not structures.n_networks:
        raise OptionError(
            "the set has no network, so there is nothing to average; raise the limit that ended the search"
        )
    if not structures.is_listed and prior == "networks":  # each network counts exp(score) in the diagram
        return WeightedStructures(structures, np.ones(0))
    if isinstance(prior, (UniformPrior, EdgePenalty, EdgeLogOdds)):
        return _with_structure_prior(table, structures, prior)
    if not isinstance(prior, str) or prior not in ("networks", "classes"):
        raise OptionError(f'prior is {prior!r}; give "networks", "classes" or a structure prior such as EdgePenalty(1)')
    gaps = _gaps(structures)
    if prior == "networks":
        return WeightedStructures(structures, shares(gaps + structures.log_sizes))
    if structures.class_of is None:
        return WeightedStructures(structures, shares(gaps))
    log_class_sizes = np.log(np.bincount(structures.class_of))
    return WeightedStructures(structures, shares(gaps - log_class_sizes[structures.class_of]))


def _gaps(structures: Structures) -> NDArray[np.float64]:
    """Return the scores less the best, before anything small is added to what may be large."""
    gaps: NDArray[np.float64] = structures.scores - structures.scores.max()
    return gaps


def _with_structure_prior(table: ScoreTable, structures: Structures, prior: StructurePrior) -> WeightedStructures:
    terms = resolve_prior(prior, table.names)
    if structures.class_of is None and not keeps_score_equivalence(terms):
        if structures.n_networks > _MOST_LISTED:
            raise TooLargeError(
                f"with this prior the members of a class differ, and {structures.n_networks:,} networks are too many "
                f"to list (at most {_MOST_LISTED:,}); give the prior to learn, or lower the Bayes factor"
            )
        structures = expand(table, structures, structures.n_networks)
    log_priors = np.zeros(len(structures))
    for node in range(table.n_variables):
        candidates = parent_positions(table.masks[table.offsets[node] : table.offsets[node + 1]])
        of_candidates = np.array([math.fsum(terms[parents, node]) for parents in candidates])
        log_priors += of_candidates[structures.choices[:, node]]
    return WeightedStructures(structures, shares(_gaps(structures) + structures.log_sizes + log_priors))


def shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exponentials in proportion, so that they sum to 1."""
    masses = np.exp(logs - logs.max())
    found: NDArray[np.float64] = masses / math.fsum(masses)
    found.flags.writeable = False
    return found
