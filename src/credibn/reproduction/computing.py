"""From a cell to its answer."""

import warnings
from typing import Any

from credibn.errors import CredibnWarning
from credibn.options import Progress
from credibn.reproduction.candidates import CandidatesCell, compute_candidates
from credibn.reproduction.credible_counts import CountsCell, compute_counts
from credibn.reproduction.deviations import DeviationsCell, compute_deviations
from credibn.reproduction.k_best_counts import KBestCell, compute_k_best
from credibn.reproduction.measuring import Answer, Cell, Limits, attempt
from credibn.reproduction.sources import Sources
from credibn.reproduction.synthetic import SampleCell, compute_sample

__all__ = ["compute"]

_WORK: dict[type, Any] = {
    CandidatesCell: compute_candidates,
    CountsCell: compute_counts,
    KBestCell: compute_k_best,
    SampleCell: compute_sample,
    DeviationsCell: compute_deviations,
}


def compute(cell: Cell, sources: Sources, limits: Limits, progress: Progress | None = None) -> Answer:
    """Compute one cell; the answer depends on the arguments only.

    Parameters
    ----------
    cell : Cell
    sources : Sources
    limits : Limits
    progress : callable, optional
        As for `learn`.

    Returns
    -------
    dict
        Ready for JSON; ``complete`` and, where it is not, ``message`` tell how it ended.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, also where the search itself would have ended in good order: a part of a cell is not kept.

    Examples
    --------
    >>> from pathlib import Path
    >>> compute(CountsCell("wine", 3), Sources(Path("nowhere")), Limits())["stopped_because"]
    'refused'
    """
    with warnings.catch_warnings():
        # A sample may well miss a state, and files of networks round their probabilities: neither is news here.
        warnings.simplefilter("ignore", CredibnWarning)
        return attempt(lambda: _WORK[type(cell)](cell, sources, limits, progress))
