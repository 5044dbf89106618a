"""The page of the scoring stage: the data, the settings, and each variable's best candidate parent sets.

The same data set and table give the same bytes.
"""

import os

from credibn._base.text import plural
from credibn.data import Dataset
from credibn.report.sections import (
    CANDIDATES_SHOWN,
    as_text,
    best_candidates,
    check_same_data,
    describe_columns,
    surviving_candidates,
    within,
    write_page,
)
from credibn.scores import ScoreTable

__all__ = ["scoring_headline", "write_scoring_page"]


def write_scoring_page(dataset: Dataset, table: ScoreTable, path: str | os.PathLike[str]) -> None:
    """Write the page of the scoring stage, all or nothing: a failure leaves an older file as it was.

    Parameters
    ----------
    dataset : Dataset
        What was scored.
    table : ScoreTable
        Its candidate parent sets.
    path : str or path
        The HTML file; replaced if it exists.

    Raises
    ------
    OptionError
        When the table belongs to other data, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from credibn import read_data, score_parent_sets
    >>> from credibn.examples import sample_asia
    >>> data = read_data(sample_asia())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "asia.html"
    ...     write_scoring_page(data, score_parent_sets(data), page)
    ...     "8 variables, 1,000 rows" in page.read_text(encoding="utf-8")
    True
    """
    check_same_data(dataset, table)
    write_page(
        "scoring_page.html.j2",
        path,
        headline=scoring_headline(dataset, table),
        facts=_facts(dataset, table),
        columns=describe_columns(dataset),
        variables=best_candidates(table),
        shown=CANDIDATES_SHOWN,
    )


def scoring_headline(dataset: Dataset, table: ScoreTable) -> str:
    """Say in words what is known after scoring; the claim of completeness only where the table carries it.

    Examples
    --------
    >>> from credibn import read_data, score_parent_sets
    >>> from credibn.examples import tic_tac_toe
    >>> data = read_data(tic_tac_toe())
    >>> scoring_headline(data, score_parent_sets(data, bayes_factor=20)).split("; ")[0]
    '10 variables, 958 rows (958 distinct). 110 candidate parent sets survive'
    """
    return (
        f"{plural(dataset.n_variables, 'variable')}, {plural(dataset.n_rows, 'row')} "
        f"({dataset.n_distinct:,} distinct). {surviving_candidates(table)}"
    )


def _facts(dataset: Dataset, table: ScoreTable) -> list[tuple[str, str]]:
    """Return settings and provenance as (name, value) lines."""
    known = dict(table.provenance)
    epsilon = table.epsilon
    facts = [("Score", str(known.pop("score", "unknown")))]
    if epsilon is not None:
        facts.append(("Epsilon", f"{epsilon:.6g} nats: {within(epsilon)} of the best"))
    facts.append(("Rows", f"{dataset.n_rows:,}, of which {dataset.n_distinct:,} distinct"))
    facts.append(("Data fingerprint", f"SHA-256 {dataset.fingerprint}"))
    for key in ("epsilon", "n_rows", "data_fingerprint"):
        known.pop(key, None)
    constraints = known.pop("constraints", None)
    facts.append(("Constraints", as_text(constraints) if constraints else "none"))
    facts += [(key.replace("_", " ").capitalize(), as_text(value)) for key, value in known.items()]
    return facts
