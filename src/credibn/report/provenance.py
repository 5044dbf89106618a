"""Where a result comes from: its table, how it was read, settings and timings; and the call that repeats it."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.data.reading_record import Reading
from credibn.imputation import ImputedResult
from credibn.models.averaging_networks import reading_of
from credibn.report.sections import as_text, surviving_candidates, within

_DEFAULTS = {"unit": "auto", "engine": "auto"}
_SCORE_CLASSES = {
    "bic": "BIC",
    "aic": "AIC",
    "bdeu": "BDeu",
    "gaussian-bic": "GaussianBIC",
    "bge": "BGe",
    "conditional-gaussian-bic": "ConditionalGaussianBIC",
}
_NOT_REPEATED = ("data", "scores", "k_best", "n_threads")
_NOT_OF_IMPUTING = ("posterior_share", "time_limit")
"""What `impute_and_learn` sets for itself in each call of `learn`."""
_LIMITS = ("time_limit", "memory_limit")


def facts(result: CredibleSet, data: Dataset | None) -> list[tuple[str, str]]:
    """Return settings, timings and provenance as (name, value) lines."""
    scoring = result.score_table.provenance
    lines = [
        ("Score", str(scoring.get("score", "unknown"))),
        ("Epsilon", f"{result.epsilon:.6g} nats: {within(result.epsilon)} of the best"),
    ]
    if data is not None:
        lines.append(("Rows", f"{data.n_rows:,}, of which {data.n_distinct:,} distinct"))
    elif scoring.get("n_rows") is not None:
        n_rows = scoring["n_rows"]
        lines.append(("Rows", f"{n_rows:,}" if isinstance(n_rows, int) else as_text(n_rows)))
    experiments = scoring.get("interventions")
    if isinstance(experiments, list | tuple):
        together = (", ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in experiments)
        lines.append(("Set from outside", "; ".join(names or "nothing" for names in together)))
    lines.append(("Variables", f"{len(result.names):,}"))
    reading = reading_of(result)
    if reading is not None:
        lines = [("Table", reading.source), ("Columns", str(reading)), *lines]
        n_dropped = f"{plural(reading.n_dropped, 'row')} of {reading.n_rows:,}" if reading.n_dropped else "none"
        lines.append(("Dropped for missing values", n_dropped))
        lines.append(("Read with", as_text(dict(reading.options)) or "defaults"))
        lines += [("Note on the table", note) for note in reading.notes]
    lines.append(("Counts for prediction", "stored" if result.families is not None else "not stored"))
    if scoring.get("data_fingerprint") is not None:
        lines.append(("Data fingerprint", f"SHA-256 {scoring['data_fingerprint']}"))
    constraints = scoring.get("constraints")
    lines += [
        ("Constraints", as_text(constraints) if constraints else "none"),
        ("Prior", as_text(scoring.get("prior", "unknown"))),
        ("Candidates", surviving_candidates(result.score_table)),
        ("Searched for", str(result.provenance.get("unit", "unknown"))),
    ]
    if result.engine:
        lines.append(("Search engine", result.engine))
    if result.timings:
        lines.append(("Seconds", "; ".join(f"{stage}: {taken:.3f}" for stage, taken in result.timings.items())))
    given = {name: value for name, value in result.settings.items() if value is not None}
    if result.statistics:
        lines.append(("Search statistics", as_text(dict(result.statistics))))
    lines += [
        ("Options", as_text(given) or "unknown"),
        ("Version of credibn", str(result.provenance.get("version", "unknown"))),
    ]
    return lines


def promise_of_call(stopped_because: str | None) -> str:
    """Say what a repeating call finds: after a limit or an interruption, another run may stop elsewhere."""
    if stopped_because in (*_LIMITS, "interrupted"):
        return "This call asks for the same networks; the search was stopped, and another run may find more or fewer."
    return "This call finds the same networks again."


def name_of_table(result: CredibleSet) -> str | None:
    """Return the name of the file that was read, without folders; None where it was no file."""
    reading = reading_of(result)
    return reading.source if reading is not None and _is_file(reading) else None


def _is_file(reading: Reading) -> bool:
    return bool(PurePath(reading.source).suffix)  # other tables are described in words


def repeating_call(result: CredibleSet) -> str:
    """Return Python code that finds the same set again, if it runs where the table is.

    A table that is no file must be called ``data``; of a score that credibn does not know, only the name is known.
    """
    settings = {name: value for name, value in result.settings.items() if value is not None}
    reading = reading_of(result)
    kind = settings.get("k_best")
    function = "learn" if kind is None else f"k_best_{kind}"
    if settings.get("data") in (None, "ScoreTable"):
        lines = ["scores=scores,  # the score table"]
        settings.pop("score", None)
    elif reading is None or (settings["data"] == "Dataset" and not _is_file(reading)):
        lines = ["data,  # as credibn.read_data read it"]
    else:
        lines = [_source(reading)]
        settings |= reading.options
    if kind is None and not {"bayes_factor", "epsilon", "ratio", "share"} & settings.keys():
        settings["epsilon"] = result.epsilon
    return _call(function, lines, settings, result.complete)


def imputing_call(result: ImputedResult) -> str:
    """Return Python code that fills the gaps and learns again, as `repeating_call` does for one credible set."""
    found = result.sets[0]
    reading = reading_of(found)
    of_learning = {name: value for name, value in found.settings.items() if name not in _NOT_OF_IMPUTING}
    if not any(of_learning.get(name) is not None for name in ("bayes_factor", "epsilon", "ratio", "share")):
        of_learning["epsilon"] = found.epsilon
    settings = {name: value for name, value in {**result.settings, **of_learning}.items() if value is not None}
    lines = ["data,"]
    if reading is not None:
        lines = [_source(reading)]
        settings |= reading.options
    return _call("impute_and_learn", lines, settings, result.complete)


def _source(reading: Reading) -> str:
    return f"{reading.source!r}," if _is_file(reading) else f"data,  # {reading.source}"


def _call(function: str, lines: list[str], settings: Mapping[str, Any], is_complete: bool) -> str:
    """Return the code of a call with these settings, after the lines of its first argument."""
    for name, value in settings.items():
        is_idle = name in _LIMITS and is_complete
        if name in _NOT_REPEATED or is_idle or value == _DEFAULTS.get(name):
            continue
        code = _code_of(value)
        lines.append(f"{name}={name},  # {as_text(value)}" if code is None else f"{name}={code},")
    return "\n".join(["import credibn", "", f"found = credibn.{function}(", *(f"    {line}" for line in lines), ")"])


def _code_of(value: Any) -> str | None:
    """Return Python code for a setting; None for an object that only its user can make."""
    if not isinstance(value, dict) or not {"kind", "score"} & value.keys():
        return repr(value)
    if "score" in value:
        known = _SCORE_CLASSES.get(value["score"])
        options = ", ".join(f"{name}={option!r}" for name, option in value.items() if name != "score")
        return None if known is None else f"credibn.{known}({options})"
    match value["kind"]:
        case "uniform":
            return "credibn.UniformPrior()"
        case "edge penalty":
            return f"credibn.EdgePenalty({value['log_penalty']!r})"
        case "edge log odds":
            odds = {(parent, child): number for parent, child, number in value["edges"]}
            return f"credibn.EdgeLogOdds({odds!r})"
        case _:
            return None
