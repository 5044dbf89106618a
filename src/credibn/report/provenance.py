"""Where a result comes from: settings, timings and versions, and the call that reproduces it."""

from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.report.sections import as_text, surviving_candidates, within

_DEFAULTS = {"score": "bic", "unit": "auto", "engine": "auto"}
_NOT_REPEATED = ("data", "scores", "k_best", "n_threads")
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
    lines.append(("Variables", f"{len(result.names):,}"))
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


def promise_of_call(result: CredibleSet) -> str:
    """Say what `repeating_call` finds: after a limit or an interruption, another run may stop elsewhere."""
    if result.stopped_because in (*_LIMITS, "interrupted"):
        return "This call asks for the same networks; the search was stopped, and another run may find more or fewer."
    return "This call finds the same networks again."


def repeating_call(result: CredibleSet) -> str:
    """Return Python code that finds the same set again; of objects only the name is known."""
    settings = {name: value for name, value in result.settings.items() if value is not None}
    kind = settings.get("k_best")
    function = "learn" if kind is None else f"k_best_{kind}"
    if settings.get("data") in (None, "ScoreTable"):
        lines = ["scores=scores,  # the score table"]
    elif settings["data"] == "Dataset":
        lines = ["data,  # as credibn.read_data read it"]
    else:
        lines = ["data,  # a path, a frame or an array"]
    if kind is None and not {"bayes_factor", "epsilon", "ratio"} & settings.keys():
        settings["epsilon"] = result.epsilon
    for name, value in settings.items():
        is_idle = name in _LIMITS and result.complete
        if name in _NOT_REPEATED or is_idle or value == _DEFAULTS.get(name):
            continue
        is_object = isinstance(value, dict) and bool({"kind", "score"} & value.keys())
        lines.append(f"{name}={name},  # {as_text(value)}" if is_object else f"{name}={value!r},")
    return "\n".join(["import credibn", "", f"found = credibn.{function}(", *(f"    {line}" for line in lines), ")"])
