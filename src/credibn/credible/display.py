"""The classes of a credible set as a table: a frame to work with, HTML to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credibn._base.checks import whole_number
from credibn.notebook import block, paragraph, table

if TYPE_CHECKING:  # pandas takes a while to import: only those who ask for a frame wait for it
    from pandas import DataFrame

    from credibn.credible.classes import CredibleClasses
    from credibn.credible.credible_set import CredibleSet

__all__ = ["class_frame", "credible_set_html"]

_CLASSES_SHOWN = 10
_EDGES_SHOWN = 24


def class_frame(found: CredibleSet, most: int | None = None) -> DataFrame:
    """Return a row for each class, the best first.

    Parameters
    ----------
    found : CredibleSet
    most : int, optional
        Only the best classes, this many; by default all.

    Returns
    -------
    pandas.DataFrame
        score; gap, how much lower than the best score known it is; size, the number of networks; weight, the share of
        the posterior probability within the set; edges, as text.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import learn
    >>> x = np.arange(80) // 40
    >>> class_frame(learn(np.column_stack([x, x, np.arange(80) % 2]), bayes_factor=20)).round(3)
         score    gap  size  weight               edges
    0 -119.668  0.000     2   0.749            X0 -- X1
    1 -121.859  2.191     3   0.126  X0 -- X1, X0 -- X2
    2 -121.859  2.191     3   0.126  X0 -- X1, X1 -- X2
    """
    import pandas as pd

    classes = _first(found, most)
    return pd.DataFrame(
        {
            "score": pd.Series([one.score for one in classes], dtype=float),
            "gap": pd.Series([max(0.0, found.optimal_score - one.score) for one in classes], dtype=float),
            "size": pd.Series([one.size for one in classes], dtype=None if len(classes) else "int64"),
            "weight": pd.Series([one.weight for one in classes], dtype=float),
            "edges": pd.Series([", ".join(one.cpdag.edges_as_text) for one in classes], dtype=object),
        }
    )


def credible_set_html(found: CredibleSet) -> str:
    """Return what was found, in sentences, and the best classes.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import learn
    >>> x = np.arange(80) // 40
    >>> print(credible_set_html(learn(np.column_stack([x, x]))).splitlines()[2])
    <p>No network that scores at least -65.020547 is missing.</p>
    """
    shown = _first(found, _CLASSES_SHOWN)
    rows = [
        [
            f"{one.score:,.6f}",
            f"{max(0.0, found.optimal_score - one.score):,.6f}",
            f"{one.size:,}",
            f"{100 * one.weight:.2f} %",
            _listed(one.cpdag.edges_as_text),
        ]
        for one in shown
    ]
    n_more = found.n_classes - len(rows)
    return block(
        *(paragraph(line) for line in found.summary().splitlines()),
        table(["score", "gap", "networks", "weight", "edges of the class"], rows, numbers=range(4)) if rows else "",
        paragraph(f"and {n_more:,} more") if n_more else "",
    )


def _first(found: CredibleSet, most: int | None) -> CredibleClasses:
    classes = found.classes()
    return classes if most is None else classes[: whole_number("most", most, 0)]


def _listed(edges: tuple[str, ...]) -> str:
    more = f", ... ({len(edges)} edges)" if len(edges) > _EDGES_SHOWN else ""
    return (", ".join(edges[:_EDGES_SHOWN]) or "(none)") + more
