"""What several pages share: how they are written, how numbers are put into words, and the description of the data.

Every page is one HTML file without scripts, fonts or images from elsewhere; its content security policy forbids
loading anything. Names and states are escaped: they are text, never markup.
"""

import base64
import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup

from credibn._base.atomic import replacing
from credibn._base.text import plural
from credibn.data import Dataset
from credibn.data.summary import ColumnSummary
from credibn.errors import OptionError
from credibn.scores import ScoreTable

_STATES_SHOWN = 12


def write_page(template: str, path: str | os.PathLike[str], scripts: Sequence[str] = (), **content: object) -> None:
    """Fill in a template of this package, and write it atomically.

    The policy of the page allows the scripts given, by their hash, and no other, so that even text which slipped
    through unescaped could not run.
    """
    import jinja2  # only those who write a page wait for it

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_text_of),
    )
    texts = [_script(name) for name in scripts]
    page = environment.get_template(template).render(
        **content,
        asset=lambda name: Markup(_text_of(f"assets/{name}")),
        scripts=[Markup(text) for text in texts],
        script_policy=Markup(" ".join(f"'sha256-{_digest(text)}'" for text in texts) or "'none'"),
    )
    with replacing(path) as sink:
        sink.write(page.encode("utf-8", "backslashreplace") + b"\n")


def _text_of(name: str) -> str:
    return files("credibn.report").joinpath(name).read_text(encoding="utf-8")


def _script(name: str) -> str:
    """Return a script without its source map, which a browser's developer tools would try to load."""
    return "".join(line for line in _text_of(f"assets/{name}").splitlines(True) if "sourceMappingURL" not in line)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def within(epsilon: float) -> str:
    """Return an epsilon as a Bayes factor; a large one, which nobody could read, in nats."""
    if epsilon > 30:
        return f"within {epsilon:,.6g} nats"
    return f"within a Bayes factor of {math.exp(epsilon):,.6g}"


def share(probability: float) -> str:
    """Return a probability in percent, never rounded to 0 % or 100 %."""
    if probability in (0.0, 1.0):
        return f"{100 * probability:.0f} %"
    if probability >= 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if probability < 0.0005 else f"{100 * probability:.1f} %"


def as_text(value: object) -> str:
    """Return a setting as readable text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{key.replace('_', ' ')}: {as_text(part)}" for key, part in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check_same_data(dataset: Dataset, table: ScoreTable) -> None:
    """Refuse data that the score table was not made from."""
    fingerprint = table.provenance.get("data_fingerprint") or dataset.fingerprint
    if dataset.names != table.names or fingerprint != dataset.fingerprint:
        raise OptionError(
            "the score table does not belong to the data set given with it (names or fingerprint "
            "differ); score this data set, or give the one that was scored"
        )


def surviving_candidates(table: ScoreTable) -> str:
    """Say how many candidate parent sets there are, and for which networks they suffice, where the table says so."""
    is_single = table.n_candidates == 1
    survive = f"{plural(table.n_candidates, 'candidate parent set')} {'survives' if is_single else 'survive'}"
    if table.epsilon is None or table.provenance.get("complete") is not True:
        return f"{survive}; the table does not say for which networks this list is complete."
    network = "network that obeys the constraints" if table.provenance.get("constraints") else "network"
    return f"{survive}; no {network} {within(table.epsilon)} of the best uses any other."


@dataclass(frozen=True)
class ColumnLine:
    """One variable in the table of variables."""

    name: str
    kind: str
    content: str
    is_constant: bool


def describe_columns(dataset: Dataset) -> list[ColumnLine]:
    """Return a line for each variable: its states with counts, or its range."""
    summary = dataset.describe()
    return [_describe_column(column, summary.n_rows) for column in summary.columns]


def _describe_column(column: ColumnSummary, n_rows: int) -> ColumnLine:
    if column.kind == "continuous":
        content = (
            f"{column.minimum:.6g} to {column.maximum:.6g}, mean {column.mean:.6g}, "
            f"standard deviation {column.standard_deviation:.6g}"
        )
        return ColumnLine(column.name, "continuous", content, column.is_constant)
    pairs = list(zip(column.states, column.counts, strict=True))
    listed = [
        f"{'(missing)' if state is None else state}: {count:,} ({count / n_rows:.1%})"
        for state, count in pairs[:_STATES_SHOWN]
    ]
    if len(pairs) > _STATES_SHOWN:
        listed.append(f"and {len(pairs) - _STATES_SHOWN:,} more")
    kind = f"{plural(len(pairs), 'state')}{', discretised' if column.kind == 'discretised' else ''}"
    return ColumnLine(column.name, kind, "; ".join(listed), column.is_constant)
