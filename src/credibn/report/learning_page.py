"""The page of a search: which networks are credible, what is certain about them, and what they have in common.

The same result gives the same bytes; two runs differ in their timings.
"""

import math
import os
from dataclasses import dataclass

import numpy as np

from credibn.credible import CredibleClass, CredibleSet
from credibn.data import Dataset
from credibn.graphs import CPDAG
from credibn.report.drawing import draw
from credibn.report.sections import (
    CANDIDATES_SHOWN,
    as_text,
    best_candidates,
    check_same_data,
    describe_columns,
    plural,
    surviving_candidates,
    within,
    write_page,
)
from credibn.scores.table import parent_positions

__all__ = ["learning_headline", "write_learning_page"]

_CLASSES_SHOWN = 50
_ADJACENCIES_SHOWN = 200


def write_learning_page(result: CredibleSet, path: str | os.PathLike[str], data: Dataset | None = None) -> None:
    """Write the page of a search, all or nothing: a failure leaves an older file as it was.

    Parameters
    ----------
    result : CredibleSet
        From `learn`, `k_best_networks` or `k_best_classes`.
    path : str or path
        The HTML file; replaced if it exists.
    data : Dataset, optional
        What was searched; with it the page describes the variables too.

    Raises
    ------
    OptionError
        When the result belongs to other data, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from credibn import learn, read_data
    >>> from credibn.examples import sample_asia
    >>> data = read_data(sample_asia())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "asia.html"
    ...     write_learning_page(learn(data), page, data)
    ...     "What is certain" in page.read_text(encoding="utf-8")
    True
    """
    if data is not None:
        check_same_data(data, result.score_table)
    classes = list(result.classes()[:_CLASSES_SHOWN])
    adjacencies = _adjacencies(result)
    write_page(
        "learning_page.html.j2",
        path,
        headline=learning_headline(result),
        certain=_certain(result),
        n_classes=result.n_classes,
        classes=[_class_line(found, result.optimal_score) for found in classes],
        drawing=draw(classes[0].cpdag) if classes else None,
        adjacencies=adjacencies[:_ADJACENCIES_SHOWN],
        omitted=_omitted(len(adjacencies)),
        columns=[] if data is None else describe_columns(data),
        variables=best_candidates(result.score_table),
        shown=CANDIDATES_SHOWN,
        candidates_sentence=surviving_candidates(result.score_table),
        facts=_facts(result, data),
    )


def learning_headline(result: CredibleSet) -> str:
    """Say in one or two sentences how many networks are credible; the claim that no other is only where it is proven.

    Examples
    --------
    >>> import numpy as np
    >>> from credibn import learn
    >>> x = np.arange(80) // 40
    >>> learning_headline(learn(np.column_stack([x, x]), bayes_factor=20))
    '2 networks in 1 class fit these data about as well as the best: no other comes within a Bayes factor of 20 of it.'
    """
    networks, classes = plural(result.n_networks, "network"), plural(result.n_classes, "class")
    found = f"{networks} in {classes}"
    is_single = result.n_networks == 1
    reach = within(result.epsilon)
    if not result.complete:
        reason = str(result.stopped_because).replace("_", " ")
        if result.is_optimum_proven:
            fit = "fits" if is_single else "fit"
            return (
                f"At least {found} {fit} these data about as well as the best, {reach} of it. The search ended early "
                f"({reason}): there may be more."
            )
        were = "was" if is_single else "were"
        return f"{found} {were} found before the search ended early ({reason}): better ones may exist."
    if result.n_requested is not None:
        return f"{found} {'is' if is_single else 'are'} the best, proven: the last is {reach} of the first."
    if is_single:
        return f"1 network fits these data best: no other{_among(result)} comes {reach} of it."
    return f"{found} fit these data about as well as the best: no other{_among(result)} comes {reach} of it."


def _among(result: CredibleSet) -> str:
    """Return to which networks a claim about all networks is confined."""
    table = result.score_table
    if table.epsilon is None:
        return " made of the parent sets given"
    return " that obeys the constraints" if table.provenance.get("constraints") else ""


def _certain(result: CredibleSet) -> list[str]:
    """Return what is guaranteed, as sentences."""
    proven = "proven to be the best there is" if result.is_optimum_proven else "not proven to be the best there is"
    sentences = [
        f"The best score known is {result.optimal_score:,.6f}, {proven}.",
        f"{'The list is complete.' if result.complete else 'The list is not complete.'} {result.guarantee}",
    ]
    table = result.score_table
    if table.epsilon is None:
        sentences.append(
            "The scores do not say for which gap they were pruned: this holds only among networks made of the parent "
            "sets given."
        )
    elif table.provenance.get("constraints"):
        sentences.append("This holds among the networks that obey the constraints listed below.")
    sentences.append(result.share_statement)
    if result.grouping != "whole classes":
        sentences.append("Networks were listed one by one: a class counts only its members found here.")
    return sentences


@dataclass(frozen=True)
class _ClassLine:
    score: str
    gap: str
    size: str
    weight: str
    edges: str


def _class_line(found: CredibleClass, best: float) -> _ClassLine:
    return _ClassLine(
        score=f"{found.score:,.6f}",
        gap=f"{max(0.0, best - found.score):,.6f}",
        size=f"{found.size:,}",
        weight=_share(found.weight),
        edges=_edges(found.cpdag),
    )


def _edges(cpdag: CPDAG) -> str:
    edges = [f"{a} → {b}" for a, b in cpdag.directed] + [f"{a} — {b}" for a, b in cpdag.undirected]
    return ", ".join(edges) or "(none)"


def _share(weight: float) -> str:
    """Return a share in percent, never rounded to nothing or to everything.

    Examples
    --------
    >>> _share(1.0), _share(0.99999), _share(0.251), _share(1e-9)
    ('100 %', '> 99.9 %', '25.1 %', '< 0.1 %')
    """
    if weight == 1.0:
        return "100 %"
    if weight >= 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if weight < 0.0005 else f"{100 * weight:.1f} %"


@dataclass(frozen=True)
class _AdjacencyLine:
    names: str
    weight: str
    width: str


def _adjacencies(result: CredibleSet) -> list[_AdjacencyLine]:
    """Return each pair of variables that some network joins, the heaviest first.

    Networks of a class have the same skeleton, and of two nodes at most one is a parent of the other. So the weight of
    a pair is the weight of all rows that choose a candidate of the one with the other in it, summed over both.
    """
    table, rows = result.score_table, result.rows
    weights: dict[tuple[int, int], float] = {}
    n_rows: dict[tuple[int, int], int] = {}
    of_rows = _row_weights(result)
    for child, first in enumerate(table.offsets[:-1].tolist()):
        chosen = rows.choices[:, child]
        counts = np.bincount(chosen)
        sums = np.bincount(chosen, weights=of_rows)
        used = np.flatnonzero(counts)
        for parents, count, weight in zip(
            parent_positions(table.masks[first + used]), counts[used].tolist(), sums[used].tolist(), strict=True
        ):
            for parent in parents:
                pair = (min(child, parent), max(child, parent))
                weights[pair] = weights.get(pair, 0.0) + weight
                n_rows[pair] = n_rows.get(pair, 0) + count
    for pair, count in n_rows.items():
        if count == len(rows):
            weights[pair] = 1.0  # but for rounding
    lines = []
    for (a, b), weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        width = f"{100 * min(1.0, weight):.1f}"
        lines.append(_AdjacencyLine(f"{table.names[a]} — {table.names[b]}", _share(weight), width))
    return lines


def _row_weights(result: CredibleSet) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the share of each row, a class or a network, in the sum of exp(score) over all networks."""
    if result.rows.class_of is None:
        return result.class_weights
    masses = np.exp(result.rows.scores - result.rows.scores[:1])
    return masses / max(math.fsum(masses), 1.0)


def _omitted(n_adjacencies: int) -> str:
    n_more = n_adjacencies - _ADJACENCIES_SHOWN
    if n_more <= 0:
        return "Pairs that are not listed are joined in none of the networks."
    return f"{plural(n_more, 'more pair')} with less weight {'is' if n_more == 1 else 'are'} not listed."


def _facts(result: CredibleSet, data: Dataset | None) -> list[tuple[str, str]]:
    """Return settings, timings and provenance as (name, value) lines."""
    scoring = result.score_table.provenance
    facts = [
        ("Score", str(scoring.get("score", "unknown"))),
        ("Epsilon", f"{result.epsilon:.6g} nats: {within(result.epsilon)} of the best"),
    ]
    if data is not None:
        facts.append(("Rows", f"{data.n_rows:,}, of which {data.n_distinct:,} distinct"))
    elif scoring.get("n_rows") is not None:
        facts.append(("Rows", f"{scoring['n_rows']:,}"))
    if scoring.get("data_fingerprint") is not None:
        facts.append(("Data fingerprint", f"SHA-256 {scoring['data_fingerprint']}"))
    constraints = scoring.get("constraints")
    facts += [
        ("Constraints", as_text(constraints) if constraints else "none"),
        ("Prior", as_text(scoring.get("prior", "unknown"))),
        ("Search engine", result.engine),
        ("Searched for", str(result.provenance.get("unit", "unknown"))),
    ]
    if result.timings:
        facts.append(("Seconds", "; ".join(f"{stage}: {taken:.3f}" for stage, taken in result.timings.items())))
    given = {name: value for name, value in result.settings.items() if value is not None}
    facts += [
        ("Options given or by default", as_text(given) or "unknown"),
        ("Counted by the engine", as_text(dict(result.statistics)) or "nothing"),
        ("Version", str(result.provenance.get("version", "unknown"))),
    ]
    return facts
