"""What the networks of a set leave open, and what would settle it: knowledge, an experiment, or more rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from credibn._base.text import plural
from credibn.errors import Option, Phrase
from credibn.report.drawing import LIKELY, SURE
from credibn.report.pairs import Pair
from credibn.report.sections import share
from credibn.report.wording import in_python_and_shell

_PAIRS_SHOWN = 12
_LEAST_SHOWN = 0.05


@dataclass(frozen=True)
class Undecided:
    """One kind of doubt: which pairs it concerns, and what would settle it."""

    heading: str
    advice: str
    pairs: tuple[str, ...]
    n_more: int


def undecided_parts(names: Sequence[str], pairs: Sequence[Pair]) -> list[Undecided]:
    """Return what is undecided about the edges of a set, by what would decide it."""
    likely = [pair for pair in pairs if pair.joined >= LIKELY and pair.direction == 0]
    reversible = [pair for pair in likely if pair.reversible >= pair.joined / 2]
    disputed = [pair for pair in likely if pair.reversible < pair.joined / 2]
    unsure = sorted(
        (pair for pair in pairs if _LEAST_SHOWN <= pair.joined < SURE), key=lambda pair: abs(pair.joined - 0.5)
    )
    tell = Phrase("Say which of the two comes first with {}", Option("tiers"))
    parts = [
        _part(
            f"{plural(len(reversible), 'direction')} that observations cannot decide",
            "Networks of one class differ here and state the same independences, so more rows do not tell them apart. "
            f"{tell.worded(in_python_and_shell)}, or set one of them in an experiment.",
            [f"{_line(names, pair)}, open in {share(pair.reversible)} of the set" for pair in reversible],
        ),
        _part(
            f"{plural(len(disputed), 'direction')} on which classes disagree",
            "Classes that fit about equally well decide these directions differently. More rows tell classes apart; so "
            "does knowledge or an experiment.",
            [f"{_line(names, pair)}: {_ways(names, pair)}" for pair in disputed],
        ),
        _part(
            f"{plural(len(unsure), 'edge')} that some networks have and others lack",
            "Networks that fit nearly as well as the best differ here; the least certain come first. More rows decide.",
            [f"{_line(names, pair)}: {share(pair.joined)}" for pair in unsure],
        ),
    ]
    return [part for part in parts if part.pairs]


def _part(heading: str, advice: str, lines: Sequence[str]) -> Undecided:
    return Undecided(heading, advice, tuple(lines[:_PAIRS_SHOWN]), max(0, len(lines) - _PAIRS_SHOWN))


def _line(names: Sequence[str], pair: Pair) -> str:
    first, second = names[pair.first], names[pair.second]
    return f"{first} {'—' if pair.direction == 0 else '→' if pair.direction > 0 else '←'} {second}"


def _ways(names: Sequence[str], pair: Pair) -> str:
    return f"{share(pair.forward)} → {names[pair.second]}, {share(pair.backward)} → {names[pair.first]}"
