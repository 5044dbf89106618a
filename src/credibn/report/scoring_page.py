"""The page of the scoring stage: the data, the settings, and each variable's best candidate parent sets.

One HTML file without scripts, fonts or images from elsewhere; its content security policy forbids loading
anything. The same data set and table give the same bytes.
"""

import json
import math
import os
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice

import jinja2

from credibn.atomic import replacing
from credibn.data import Dataset
from credibn.data.summary import ColumnSummary
from credibn.errors import OptionError
from credibn.scores import ScoreTable

__all__ = ["scoring_headline", "write_scoring_page"]

_CANDIDATES_SHOWN = 8
_STATES_SHOWN = 12


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
    _check_same_data(dataset, table)
    summary = dataset.describe()
    content = _template().render(
        headline=scoring_headline(dataset, table),
        facts=_facts(dataset, table),
        columns=[_describe_column(column, summary.n_rows) for column in summary.columns],
        variables=[_best_candidates(table, node) for node in range(table.n_variables)],
        shown=_CANDIDATES_SHOWN,
    )
    with replacing(path) as sink:
        sink.write(content.encode("utf-8", "backslashreplace"))


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
    size = (
        f"{_plural(dataset.n_variables, 'variable')}, {_plural(dataset.n_rows, 'row')} "
        f"({dataset.n_distinct:,} distinct)."
    )
    is_single = table.n_candidates == 1
    survive = f"{_plural(table.n_candidates, 'candidate parent set')} {'survives' if is_single else 'survive'}"
    if table.epsilon is None or table.provenance.get("complete") is not True:
        return f"{size} {survive}; the table does not say for which networks this list is complete."
    network = "network that obeys the constraints" if table.provenance.get("constraints") else "network"
    return f"{size} {survive}; no {network} {_within(table.epsilon)} of the best uses any other."


def _within(epsilon: float) -> str:
    if epsilon > 30:
        return f"within {epsilon:,.6g} nats"
    return f"within a Bayes factor of {math.exp(epsilon):,.6g}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _check_same_data(dataset: Dataset, table: ScoreTable) -> None:
    fingerprint = table.provenance.get("data_fingerprint", dataset.fingerprint)
    if dataset.names != table.names or fingerprint != dataset.fingerprint:
        raise OptionError(
            "the score table belongs to other data than the data set given with it (names or fingerprint "
            "differ); score this data set, or give the one that was scored"
        )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files("credibn.report").joinpath("scoring_page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def _facts(dataset: Dataset, table: ScoreTable) -> list[tuple[str, str]]:
    """Return settings and provenance as (name, value) lines."""
    known = dict(table.provenance)
    epsilon = table.epsilon
    facts = [("Score", str(known.pop("score", "unknown")))]
    if epsilon is not None:
        facts.append(("Epsilon", f"{epsilon:.6g} nats: {_within(epsilon)} of the best"))
    facts.append(("Rows", f"{dataset.n_rows:,}, of which {dataset.n_distinct:,} distinct"))
    facts.append(("Data fingerprint", f"SHA-256 {dataset.fingerprint}"))
    for key in ("epsilon", "n_rows", "data_fingerprint"):
        known.pop(key, None)
    constraints = known.pop("constraints", None)
    facts.append(("Constraints", _as_text(constraints) if constraints else "none"))
    facts += [(key.replace("_", " ").capitalize(), _as_text(value)) for key, value in known.items()]
    return facts


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{key.replace('_', ' ')}: {_as_text(part)}" for key, part in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class _ColumnLine:
    name: str
    kind: str
    content: str
    is_constant: bool


def _describe_column(column: ColumnSummary, n_rows: int) -> _ColumnLine:
    """Return what the table of variables says of one: its states with counts, or its range."""
    if column.kind == "continuous":
        content = (
            f"{column.minimum:.6g} to {column.maximum:.6g}, mean {column.mean:.6g}, "
            f"standard deviation {column.standard_deviation:.6g}"
        )
        return _ColumnLine(column.name, "continuous", content, column.is_constant)
    pairs = list(zip(column.states, column.counts, strict=True))
    listed = [
        f"{'(missing)' if state is None else state}: {count:,} ({count / n_rows:.1%})"
        for state, count in pairs[:_STATES_SHOWN]
    ]
    if len(pairs) > _STATES_SHOWN:
        listed.append(f"and {len(pairs) - _STATES_SHOWN:,} more")
    kind = f"{_plural(len(pairs), 'state')}{', discretised' if column.kind == 'discretised' else ''}"
    return _ColumnLine(column.name, kind, "; ".join(listed), column.is_constant)


@dataclass(frozen=True)
class _CandidateLine:
    parents: tuple[str, ...]
    score: str
    gap: str


@dataclass(frozen=True)
class _VariableSection:
    name: str
    n_candidates: int
    candidates: tuple[_CandidateLine, ...]


def _best_candidates(table: ScoreTable, node: int) -> _VariableSection:
    first = list(islice(table.parent_sets(node), _CANDIDATES_SHOWN))
    best = first[0][0]
    lines = tuple(_CandidateLine(parents, f"{score:,.3f}", f"{best - score:,.3f}") for score, parents in first)
    return _VariableSection(table.names[node], int(table.counts[node]), lines)
