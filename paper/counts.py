"""Numbers of networks, classes and patterns: what is known of them, and what tables 2 and 3 show."""

from collections.abc import Mapping

from paper.experiment import Answer
from paper.marks import Count
from paper.results import Column, Row, count_text, printed_text, ratio_text, seconds_text, text_column

MACHINES = (
    "Times are of the search alone, in seconds, as the paper gives them. The machines differ: the paper's had 2.2 GHz "
    "Intel E7-4850V3 processors and 64 GB, so the ratio is no comparison of methods."
)


def count_of(answer: Answer | None, what: str) -> Count | None:
    """Return networks, classes or patterns of an answer; None where there is no answer.

    There is at least one of each, the optimum. Patterns that were not counted are at least as many as classes, since
    networks of one pattern are equivalent.
    """
    if answer is None:
        return None
    known = answer.get(what)
    if known is None:
        return Count(answer.get("classes") or 1, is_exact=False)
    return Count(known, is_exact=answer["complete"])


def with_least(answers: Mapping[int, Answer], bayes_factor: int) -> Answer | None:
    """Return the answer for a Bayes factor, its lower bounds raised to what is known of smaller factors.

    What is within a factor is within every larger one: where a search was not complete, or was not tried, the numbers
    for smaller factors are lower bounds too. None where nothing was computed for any of them.
    """
    asked = answers.get(bayes_factor)
    if asked is not None and asked["complete"]:
        return asked
    known = [answer for factor, answer in answers.items() if factor <= bayes_factor]
    if not known:
        return None
    least = {what: max(answer.get(what) or 1 for answer in known) for what in ("networks", "classes", "patterns")}
    least["patterns"] = max(least["patterns"], least["classes"])  # networks of one pattern are equivalent
    return {**(asked or {"complete": False}), **least}


_FOUND = (
    *("complete", "networks", "classes", "patterns", "networks_found", "classes_found", "candidates", "best_score"),
    *("is_optimum_proven", "optimum_at_most", "stopped_because", "time_limit", "message"),
)


def found_facts(answer: Answer | None) -> dict[str, object]:
    """Return what the files of tables 2 and 3 say of a search; empty where there is none."""
    seen = answer or {}
    seconds = seen["seconds"] if answer is not None and answer["complete"] else {}
    return {
        "n": seen.get("n_variables"),
        "N": seen.get("n_rows"),
        **{name: seen.get(name) for name in _FOUND},
        "seconds_score": seconds.get("score"),
        "seconds_search": seconds.get("search"),
    }


def _shown(row: Row, what: str) -> str:
    if row["complete"] is None or (row["complete"] and row[what] is None and what != "patterns"):
        return count_text(None)
    return count_text(count_of(dict(row), what))


def _shown_patterns(row: Row) -> str:
    return _shown(row, "patterns") if row.get("k") is None else "–"  # not counted for the k best


PRINTED_NETWORKS = (
    Column("printed G", lambda row: printed_text(row["printed_networks"]), "the paper's number of them, |G|"),
    text_column("mark", "networks_mark", "networks against |G|"),
)
CLASSES = (
    Column("classes", lambda row: _shown(row, "classes"), "Markov equivalence classes of these networks"),
    Column("patterns", _shown_patterns, "collider patterns, the paper's rule for classes"),
    Column("printed M", lambda row: printed_text(row["printed_classes"]), "the paper's number of classes, |M|"),
    text_column("mark of M", "patterns_mark", "patterns against |M|"),
)
TIMES = (
    Column("scoring (s)", lambda row: seconds_text(row["seconds_score"]), "seconds of our scoring"),
    Column("search (s)", lambda row: seconds_text(row["seconds_search"]), "seconds of our search"),
    Column("printed T (s)", lambda row: printed_text(row["printed_seconds"]), "the paper's search time"),
    Column(
        "ratio",
        lambda row: ratio_text(row["printed_seconds"], row["seconds_search"]),
        "the paper's search time divided by ours",
    ),
)


def networks_column(meaning: str) -> Column:
    """Return the column of our numbers of networks."""
    return Column("networks", lambda row: _shown(row, "networks"), meaning)
