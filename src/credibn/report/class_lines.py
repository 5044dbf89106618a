"""The best classes of a set: the words of the table, and the edges that the page's script draws.

Classes that fit about equally well differ in few edges. So the edges of the best class are listed in full, and for
every other class only the differences.
"""

import math
from dataclasses import dataclass

from credibn.credible import CredibleClass, CredibleSet
from credibn.graphs import CPDAG
from credibn.report.sections import share

MOST_CLASSES = 50
_MOST_LETTERS = 250_000
"""Roughly what the classes may add to a page: their differences, and ten letters for each edge that is drawn."""


@dataclass(frozen=True)
class ClassLine:
    """One class in words, and its edges by the positions of their ends."""

    score: str
    gap: str
    bayes_factor: str
    size: str
    weight: str  # of the set
    over_all: str | None  # of all networks, where that is known
    differences: str
    directed: tuple[tuple[int, int], ...]
    undirected: tuple[tuple[int, int], ...]

    @property
    def words(self) -> str:
        """The numbers in one line."""
        networks = f"{self.size} network{'' if self.size == '1' else 's'}"
        over_all = "" if self.over_all is None else f" ({self.over_all} of all networks)"
        return f"{self.weight} of the set{over_all}, {networks}, Bayes factor {self.bayes_factor}"


def best_classes(result: CredibleSet) -> list[ClassLine]:
    """Return the best classes, at most `MOST_CLASSES`, and fewer where the page would become too long."""
    lines, n_letters = list[ClassLine](), 0
    best: dict[frozenset[str], str] | None = None
    if not result.n_networks or not result.are_classes_known:
        return lines
    for found in result.best_classes(MOST_CLASSES):
        marks = _marks(found.graph)
        best = marks if best is None else best
        differences = _differences(best, marks)
        n_letters += len(differences) + 10 * len(marks)
        if lines and n_letters > _MOST_LETTERS:
            break
        lines.append(_line(found, result, differences))
    return lines


def _line(found: CredibleClass, result: CredibleSet, differences: str) -> ClassLine:
    position = {name: at for at, name in enumerate(found.names)}
    graph, held = found.graph, result.posterior_share
    gap = max(0.0, result.optimal_score - found.score)
    return ClassLine(
        score=f"{found.score:,.6f}",
        gap=f"{gap:,.6f}",
        bayes_factor=f"{math.exp(gap):,.2f}" if gap < 12 else f"exp({gap:,.2f})",
        size=f"{found.size:,}",
        weight=share(found.weight),
        over_all=None if held is None else share(found.weight * held),
        differences=differences,
        directed=tuple((position[str(a)], position[str(b)]) for a, b in graph.directed),
        undirected=tuple((position[str(a)], position[str(b)]) for a, b in graph.undirected),
    )


def edges_text(graph: CPDAG) -> str:
    """Return the edges of a class as text, such as "a → b, b — c"."""
    return ", ".join(_marks(graph).values()) or "(none)"


def _marks(graph: CPDAG) -> dict[frozenset[str], str]:
    """Return the text of each edge, by the pair that it joins."""
    marks = {frozenset((str(a), str(b))): f"{a} → {b}" for a, b in graph.directed}
    return marks | {frozenset((str(a), str(b))): f"{a} — {b}" for a, b in graph.undirected}


def _differences(best: dict[frozenset[str], str], marks: dict[frozenset[str], str]) -> str:
    lost = [f"without {mark}" for pair, mark in best.items() if pair not in marks]
    gained = [f"with {mark}" for pair, mark in marks.items() if pair not in best]
    turned = [f"{mark} instead of {best[pair]}" for pair, mark in marks.items() if pair in best and best[pair] != mark]
    return "; ".join(lost + gained + turned)
