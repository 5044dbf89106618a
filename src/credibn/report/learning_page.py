"""The report of a credible set, for readers who know their data and need not know about solvers.

Everything comes from classes and averages, never from a list of networks, so a set of any size has a page. What the
scripts draw is also in tables, so the page is complete without them. The same result gives the same bytes; two runs
differ in their timings.
"""

import itertools
import os
import time
from dataclasses import dataclass

from markupsafe import Markup

from credibn._base.text import plural
from credibn._run.memory import explaining_shortage, need_room_for_libraries
from credibn.credible import CredibleSet
from credibn.credible.averages import LEAST_OVER_ALL
from credibn.data import Dataset
from credibn.errors import Option, OptionError
from credibn.report.class_lines import best_classes, edges_text
from credibn.report.drawn_graphs import drawn_graphs, places_in_report
from credibn.report.effects import effects_answer
from credibn.report.figures import figure_of, figure_svg, gap_curve, networks_within, plot_share
from credibn.report.pairs import Pair, agreement_sentence, pairs_of
from credibn.report.provenance import facts, name_of_table, promise_of_call, repeating_call
from credibn.report.sections import check_same_data, describe_columns, share, write_page
from credibn.report.shortening import averaged_part, part_named, seconds_for_averages, shortened_sentences
from credibn.report.undecided import undecided_parts
from credibn.report.wording import (
    bayes_factor_sentences,
    certain_sentences,
    counted_sentences,
    in_python_and_shell,
    learning_headline,
    share_headline,
)

PAIRS_SHOWN = 500
MANY_VARIABLES = 30
"""From here on the graph has a box to find a variable in."""
_V_STRUCTURES_SHOWN = 100
_PARENT_SETS_SHOWN = 4
_NUMBERS_IN_CELLS = 12
_ASKED = (
    "Table",
    "Columns",
    "Rows",
    "Set from outside",
    "Dropped for missing values",
    "Note on the table",
    "Score",
    "Epsilon",
    "Constraints",
    "Prior",
)
SCRIPTS = ("graph.js", "report.js")


@explaining_shortage()
def write_learning_page(
    result: CredibleSet,
    path: str | os.PathLike[str],
    data: Dataset | None = None,
    seconds: float | None = None,
    effects: bool = False,
) -> None:
    """Write the report of a search; if that fails, an older file stays as it was.

    Parameters
    ----------
    result : CredibleSet
        From `learn`, `k_best_networks` or `k_best_classes`.
    path : str or path
        The HTML file; replaced if it exists.
    data : Dataset, optional
        The data that were searched; with them the page also describes the variables.
    seconds : float, optional
        How long the page may take. Where averages over the whole set would take longer, it has those over the best
        part of the set; where a good layout of the graph would, a simple one. The page says so.
    effects : bool
        Whether the page has a section on causal effects; it needs the data.

    Raises
    ------
    OptionError
        When the result belongs to other data, or the file cannot be written.
    TooLargeError
        When there is too little memory for the page.

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
    elif effects:
        raise OptionError("{} needs the table that was learned from; give {} too", Option("effects"), Option("data"))
    need_room_for_libraries()
    deadline = None if seconds is None else time.perf_counter() + seconds
    result = result.listed_if_few()
    classes, curve, within = best_classes(result), _curve(result), networks_within(result)

    def seconds_left() -> float | None:
        return None if deadline is None else deadline - time.perf_counter()

    # Last, because they take all the time that is left: averages first, but for what the layout of the graph needs.
    averaged = averaged_part(result, seconds_for_averages(result, classes, seconds_left()))
    among = None if averaged is result else part_named(averaged)
    pairs, (v_structures, n_more_v_structures) = pairs_of(averaged), _v_structures(averaged)
    layout = places_in_report(result.names, pairs, seconds_left())
    table = name_of_table(result)
    has_reversible = not result.n_networks or averaged.averages().has_compelled
    write_page(
        "learning_page.html.j2",
        path,
        scripts=SCRIPTS,
        title=f"credibn: credible networks{'' if table is None else f' of {table}'}",
        headline=share_headline(result),
        caution=None if result.caution is None else result.caution.worded(in_python_and_shell),
        fit=learning_headline(result),
        shortened=shortened_sentences(result, averaged, layout.is_simple),
        agreement=("" if among is None else f"Among {among}: ") + agreement_sentence(averaged, pairs),
        tiles=_tiles(result, pairs, among or "every network"),
        asked=_asked(result, data),
        undecided=undecided_parts(result.names, pairs),
        share_statement=result.share_statement,
        meaning=bayes_factor_sentences(result),
        certain=certain_sentences(result),
        is_complete=result.complete,
        graph_over={"lead": "within the set", "label": "in the set"},
        drawn=drawn_graphs(result.names, pairs, classes, layout),
        counted=counted_sentences(result, len(classes)),
        curve=curve,
        share_curve=_share_curve(result),
        within=within,
        heat_map=_heat_map(result, pairs),
        pairs=[_pair_line(result.names, pair, has_reversible) for pair in pairs[:PAIRS_SHOWN]],
        omitted=_omitted(result, len(pairs), among or "the networks"),
        has_many_variables=len(result.names) >= MANY_VARIABLES,
        n_classes=result.n_classes if result.structures.are_classes_counted else len(classes),
        has_reversible=has_reversible,
        classes=classes,
        best_edges=edges_text(result.best_classes(1)[0].graph) if classes else "",
        has_whole_classes=result.grouping == "whole classes",
        has_interventions=result.kind_of_classes == "interventional",
        has_share=result.posterior_share is not None,
        has_edges_over_all=result.edges_over_all is not None,
        v_structures=v_structures,
        n_more_v_structures=n_more_v_structures,
        parent_sets=_parent_sets(averaged),
        effects=effects_answer(result, data) if effects and data is not None and len(result.structures) else None,
        columns=[] if data is None else describe_columns(data),
        facts=facts(result, data),
        call=repeating_call(result),
        call_promise=promise_of_call(result.stopped_because),
        has_fingerprint=True,
        version=str(result.provenance.get("version", "unknown")),
    )


def _asked(result: CredibleSet, data: Dataset | None) -> list[tuple[str, str]]:
    """Return the settings that say what was asked of which data."""
    return [(name, value) for name, value in facts(result, data) if name in _ASKED]


def _tiles(result: CredibleSet, pairs: list[Pair], among: str) -> list[tuple[str, str]]:
    """Return the headline numbers, with what they count."""
    shared = [pair for pair in pairs if pair.is_in_all]
    held = "unknown" if result.posterior_share is None else share(result.posterior_share)
    of_all = "of the posterior probability of all networks"
    if result.posterior_share is None and result.share_estimate is not None:
        estimate, of_all = result.share_estimate, f"{of_all}, as estimated"
        held = f"about {share(estimate.value)}" if estimate.value else f"below {share(estimate.high)}"
    tiles = [
        (held, of_all),
        (_short(result.n_networks), "network found" if result.n_networks == 1 else "networks found"),
        (f"{len(shared):,}", f"edges in {among}"),
        (f"{sum(not pair.has_one_direction for pair in shared):,}", "of these with an undecided direction"),
    ]
    if result.structures.are_classes_counted:
        words = "equivalence class" if result.n_classes == 1 else "equivalence classes"
        tiles.insert(2, (_short(result.n_classes), words))
    return [*tiles, ("yes" if result.complete else "no", "complete")]


def _short(number: int) -> str:
    """Return a count, shortened like 1.23e+35 where it has more than 12 digits."""
    digits = str(number)
    if len(digits) <= 12:
        return f"{number:,}"
    return f"{digits[0]}.{digits[1:3]}e+{len(digits) - 1}"


def _curve(result: CredibleSet) -> Markup | None:
    if not result.n_networks:
        return None
    label = f"The gap to the best score for {plural(result.n_networks, 'network')}, the best first"
    return Markup(figure_svg(gap_curve, result, "curve", label))


def _share_curve(result: CredibleSet) -> Markup | None:
    if not result.n_networks or not result.epsilon:
        return None
    reached = "" if result.posterior_share is None else f", up to {share(result.posterior_share)}"
    label = f"The share of the posterior by Bayes factor{reached}"
    return Markup(figure_svg(lambda shown: figure_of(plot_share(shown)), result, "share", label))


@dataclass(frozen=True)
class _HeatMap:
    """Parents down, children across; variables without any edge are left out."""

    names: tuple[str, ...]
    rows: tuple[tuple[tuple[str, str] | None, ...], ...]
    alone: tuple[str, ...]
    size: str


def _heat_map(result: CredibleSet, pairs: list[Pair]) -> _HeatMap | None:
    values: dict[tuple[int, int], float] = {}
    for pair in (pair for pair in pairs if pair.joined):
        values[pair.first, pair.second] = pair.forward
        values[pair.second, pair.first] = pair.backward
    joined = sorted({v for pair in values for v in pair})
    if not joined:
        return None
    rows = tuple(
        tuple((f"{p:.2f}", share(p)) if (p := values.get((parent, child), 0.0)) else None for child in joined)
        for parent in joined
    )
    alone = tuple(name for v, name in enumerate(result.names) if v not in set(joined))
    size = "large" if len(joined) <= _NUMBERS_IN_CELLS else "medium" if len(joined) <= 30 else "small"
    return _HeatMap(tuple(result.names[v] for v in joined), rows, alone, size)


def _pair_line(names: tuple[str, ...], pair: Pair, has_reversible: bool) -> tuple[str, str, list[tuple[str, str]]]:
    """Return the names, and each probability as a number to sort by and as text."""
    within = (pair.joined, pair.forward, pair.backward)
    numbers = within if pair.over_all is None else tuple(itertools.chain(*zip(within, pair.over_all, strict=True)))
    return (
        names[pair.first],
        names[pair.second],
        [(f"{number:.6f}", share(number)) for number in (*numbers, *([pair.reversible] if has_reversible else []))],
    )


def _omitted(result: CredibleSet, n_pairs: int, among: str) -> str:
    n_more = n_pairs - PAIRS_SHOWN
    if n_more <= 0:
        rare = (
            "" if result.edges_over_all is None else f", and over all networks with less than {share(LEAST_OVER_ALL)}"
        )
        return f"Pairs that are not listed are joined in none of {among}{rare}."
    return f"{plural(n_more, 'more pair')} with less weight {'is' if n_more == 1 else 'are'} not listed."


def _v_structures(result: CredibleSet) -> tuple[list[tuple[str, str]], int]:
    """Return the most probable v-structures, and how many more there are."""
    if not result.n_networks:
        return [], 0
    frame = result.v_structure_probabilities()
    lines = [
        (f"{first} → {child} ← {second}", share(_but_for_rounding(float(probability))))
        for first, child, second, probability in frame.head(_V_STRUCTURES_SHOWN).itertuples(index=False)
    ]
    return lines, len(frame) - len(lines)


def _parent_sets(result: CredibleSet) -> list[tuple[str, list[tuple[str, str]], int]]:
    """Return for each variable its most probable parent sets, and how many more there are."""
    if not result.n_networks:
        return []
    sections = []
    for name in result.names:
        frame = result.parent_set_probabilities(name)
        lines = [
            (", ".join(parents) or "(none)", share(_but_for_rounding(float(probability))))
            for parents, probability in frame.head(_PARENT_SETS_SHOWN).itertuples(index=False)
        ]
        sections.append((name, lines, len(frame) - len(lines)))
    return sections


def _but_for_rounding(probability: float) -> float:
    """Return 1 for a sum of weights that differs from 1 only by rounding."""
    return 1.0 if probability > 1 - 1e-9 else probability
