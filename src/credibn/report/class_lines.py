"""The best classes of a set: what a table says of each, and what the page's script needs to draw it.

Classes that fit about equally well differ in few edges. So the edges of the best are listed in full, and of every other
only what is different from it.
"""

import math
from dataclasses import dataclass

from credibn.credible import CredibleClass, CredibleSet
from credibn.graphs import CPDAG
from credibn.report.sections import share

__all__ = ["MOST_CLASSES", "ClassLine", "best_classes", "edges_text"]

MOST_CLASSES = 50
_MOST_LETTERS = 250_000
"""What the classes may add to a page, roughly: their differences, and ten letters to draw each edge."""


@dataclass(frozen=True)
class ClassLine:
    """One class in words, and its edges by the positions of their ends."""

    score: str
    gap: str
    bayes_factor: str
    size: str
    weight: str
    differences: str
    directed: tuple[tuple[int, int], ...]
    undirected: tuple[tuple[int, int], ...]

    @property
    def words(self) -> str:
        """The numbers in one line."""
        networks = f"{self.size} network{'' if self.size == '1' else 's'}"
        return f"weight {self.weight}, {networks}, Bayes factor {self.bayes_factor}"


def best_classes(result: CredibleSet) -> list[ClassLine]:
    """Return the best classes, `MOST_CLASSES` at most and fewer where that would take too much of a page.

    Examples
    --------
    >>> from credibn import learn
    >>> from credibn.examples import sample_asia
    >>> [line.differences for line in best_classes(learn(sample_asia(), bayes_factor=3))]
    ['', 'with xray → asia', 'with either → asia']
    """
    lines, n_letters = list[ClassLine](), 0
    best: dict[frozenset[str], str] | None = None
    for found in result.classes()[:MOST_CLASSES]:
        marks = _marks(found.cpdag)
        best = marks if best is None else best
        differences = _differences(best, marks)
        n_letters += len(differences) + 10 * len(marks)
        if lines and n_letters > _MOST_LETTERS:
            break
        lines.append(_line(found, result.optimal_score, differences))
    return lines


def _line(found: CredibleClass, best_score: float, differences: str) -> ClassLine:
    position = {name: at for at, name in enumerate(found.names)}
    cpdag = found.cpdag
    gap = max(0.0, best_score - found.score)
    return ClassLine(
        score=f"{found.score:,.6f}",
        gap=f"{gap:,.6f}",
        bayes_factor=f"{math.exp(gap):,.2f}" if gap < 12 else f"exp({gap:,.2f})",
        size=f"{found.size:,}",
        weight=share(found.weight),
        differences=differences,
        directed=tuple((position[str(a)], position[str(b)]) for a, b in cpdag.directed),
        undirected=tuple((position[str(a)], position[str(b)]) for a, b in cpdag.undirected),
    )


def edges_text(cpdag: CPDAG) -> str:
    """Return the edges of a class, as one writes them.

    Examples
    --------
    >>> edges_text(CPDAG(("a", "b", "c"), directed=(("a", "b"),), undirected=(("b", "c"),)))
    'a → b, b — c'
    """
    return ", ".join(_marks(cpdag).values()) or "(none)"


def _marks(cpdag: CPDAG) -> dict[frozenset[str], str]:
    """Return how the edge of each joined pair is written."""
    marks = {frozenset((str(a), str(b))): f"{a} → {b}" for a, b in cpdag.directed}
    return marks | {frozenset((str(a), str(b))): f"{a} — {b}" for a, b in cpdag.undirected}


def _differences(best: dict[frozenset[str], str], marks: dict[frozenset[str], str]) -> str:
    lost = [f"without {mark}" for pair, mark in best.items() if pair not in marks]
    gained = [f"with {mark}" for pair, mark in marks.items() if pair not in best]
    turned = [f"{mark} instead of {best[pair]}" for pair, mark in marks.items() if pair in best and best[pair] != mark]
    return "; ".join(lost + gained + turned)
