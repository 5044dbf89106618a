"""The report of a table with gaps: how sure each edge is, how much of the doubt comes from the gaps, and R-hat.

Probabilities are averages over completed tables, so the page shows their spread between tables beside each of them. The
same result gives the same bytes.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from credibn._base.text import plural
from credibn._run.memory import explaining_shortage, need_room_for_libraries
from credibn.credible import DIRECTION_THRESHOLD
from credibn.credible.consensus import direction_of
from credibn.errors import Option, Phrase
from credibn.imputation import ImputedResult
from credibn.imputation.imputed import ASSUMPTION, SETTLED, found_sentences, missing_sentence
from credibn.report.drawn_graphs import drawn_graphs, places_in_report
from credibn.report.figures import MARK, blank_figure, figure_svg, style_axes
from credibn.report.learning_page import MANY_VARIABLES, PAIRS_SHOWN, SCRIPTS
from credibn.report.pairs import Pair
from credibn.report.provenance import facts, imputing_call, name_of_table, promise_of_call
from credibn.report.sections import share, write_page
from credibn.report.wording import in_python_and_shell

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who ask for a figure wait for it
    from matplotlib.figure import Figure

_ASKED = ("Table", "Columns", "Note on the table", "Score", "Epsilon", "Constraints", "Prior")
_SETTINGS = ("Table", "Columns", "Read with", "Score", "Epsilon", "Variables", "Constraints", "Prior")
"""Of the facts of one credible set, those that all imputations share."""
_R_HATS_SHOWN = 20
_ROUNDING = 1e-9


@explaining_shortage()
def write_imputation_page(result: ImputedResult, path: str | os.PathLike[str]) -> None:
    """Write the report of a table with gaps; if that fails, an older file stays as it was.

    Parameters
    ----------
    result : ImputedResult
        From `impute_and_learn`.
    path : str or path
        The HTML file; replaced if it exists.

    Raises
    ------
    OptionError
        When the file cannot be written.
    TooLargeError
        When there is too little memory for the page.
    """
    need_room_for_libraries()
    table, pairs, apart = name_of_table(result.sets[0]), _pairs(result), result.r_hat()
    known = facts(result.sets[0], None)
    write_page(
        "imputation_page.html.j2",
        path,
        scripts=SCRIPTS,
        title=f"credibn: networks{'' if table is None else f' of {table}'}, gaps filled in",
        headline=missing_sentence(result),
        found=" ".join(found_sentences(result)),
        assumption=ASSUMPTION,
        tiles=_tiles(result, pairs, float(apart.max())),
        asked=[*(line for line in known if line[0] in _ASKED), *_gaps(result)],
        gaps=[
            (name, f"{count:,}", f"{count / result.n_rows:.6f}", share(count / result.n_rows))
            for name, count in result.n_missing.items()
        ],
        n_rows=result.n_rows,
        graph_over={"lead": "on average over completed tables", "label": "over the completed tables"},
        drawn=drawn_graphs(result.names, pairs, [], places_in_report(result.names, pairs)),
        has_many_variables=len(result.names) >= MANY_VARIABLES,
        pairs=_lines(result, {str(name): float(value) for name, value in apart.items()})[:PAIRS_SHOWN],
        n_more_pairs=max(0, len(pairs) - PAIRS_SHOWN),
        r_hats=[
            (str(name), _number(value)) for name, value in apart.sort_values(ascending=False, kind="stable").items()
        ][:_R_HATS_SHOWN],
        n_more_r_hats=max(0, len(apart) - _R_HATS_SHOWN),
        advice=_advice(result, float(apart.max())),
        is_settled=bool(apart.max() <= SETTLED),
        traces=_traces(result),
        facts=[*(line for line in known if line[0] in _SETTINGS), *_run(result), known[-1]],
        call=imputing_call(result),
        call_promise=promise_of_call(result.stopped_because),
        has_fingerprint=False,  # credibn.read_data refuses the table
        version=str(result.sets[0].provenance.get("version", "unknown")),
    )


def _pairs(result: ImputedResult) -> list[Pair]:
    """Return each pair that some network joins, with averages over completed tables, the most probable first."""
    late = result.edges_by_table
    edges, least = late.mean(axis=(0, 1)), (late + late.swapaxes(2, 3)).min(axis=(0, 1))
    compelled = result.compelled()
    pairs = []
    for a, b in itertools.combinations(range(len(result.names)), 2):
        joined = min(1.0, float(edges[a, b] + edges[b, a]))
        if not joined:
            continue
        is_in_all = bool(least[a, b] >= 1 - _ROUNDING)
        joined, decided = 1.0 if is_in_all else joined, (float(compelled[a, b]), float(compelled[b, a]))
        way = direction_of(joined, *decided, DIRECTION_THRESHOLD)
        forward, backward = float(edges[a, b]), float(edges[b, a])
        pairs.append(
            Pair(a, b, joined, forward, backward, max(0.0, joined - sum(decided)), way, is_in_all, over_all=None)
        )
    return sorted(pairs, key=lambda pair: (-round(pair.joined, 12), *pair.ends))


def _tiles(result: ImputedResult, pairs: list[Pair], largest: float) -> list[tuple[str, str]]:
    """Return the headline numbers, with what they count."""
    shared = [pair for pair in pairs if pair.is_in_all]
    return [
        (share(result.share_missing), "of the values are missing"),
        (f"{result.n_complete_rows:,}", f"of {plural(result.n_rows, 'row')} without a gap"),
        (f"{len(result.sets):,}", "imputations"),
        (f"{len(shared):,}", "edges in every network of every completed table"),
        (f"{sum(pair.direction == 0 for pair in shared):,}", "of these with an undecided direction"),
        (_number(largest), f"largest R-hat; above {SETTLED} chains have not settled"),
    ]


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "∞"


def _gaps(result: ImputedResult) -> list[tuple[str, str]]:
    """Return what was filled in, as lines beside the settings."""
    n_values = result.n_rows * len(result.names)
    return [
        ("Rows", f"{result.n_rows:,}, of which {result.n_complete_rows:,} without a gap"),
        ("Missing values", f"{sum(result.n_missing.values()):,} of {n_values:,} ({share(result.share_missing)})"),
        ("Imputations", f"{plural(len(result.sets), 'chain')} of {plural(result.n_rounds, 'round')} each"),
    ]


def _run(result: ImputedResult) -> list[tuple[str, str]]:
    asked = result.settings.get("n_rounds", result.n_rounds)
    reason = "" if result.stopped_because is None else f" ({result.stopped_because.replace('_', ' ')})"
    return [
        *_gaps(result),
        ("Rounds done", f"{result.n_rounds:,} of {asked:,}{reason}"),
        ("Averaged over", f"rounds {result.n_rounds // 2 + 1:,} to {result.n_rounds:,} of each chain"),
        ("Seed", str(result.settings.get("seed", "unknown"))),
        ("Every credible set complete", "yes" if all(found.complete for found in result.sets) else "no"),
    ]


def _lines(result: ImputedResult, apart: dict[str, float]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the pairs as names, and each number to sort by and as text."""
    frame = result.edge_probabilities()
    names = frame[["first", "second"]].astype(str).to_numpy().tolist()
    columns = frame[["joined", "spread", "error", "forward", "backward"]].to_numpy(np.float64).tolist()
    lines = []
    for (first, second), (joined, spread, error, *ways) in zip(names, columns, strict=True):
        r_hat = apart.get(f"{first} -- {second}")
        cells = [
            (joined, _share(joined)),
            (spread, f"{100 * spread:.1f}"),
            (error, f"{100 * error:.1f}"),
            *((way, _share(way)) for way in ways),
            (1.0, "no change") if r_hat is None else (min(r_hat, 1e9), _number(r_hat)),
        ]
        lines.append((first, second, [(f"{value:.6f}", words) for value, words in cells]))
    return lines


def _share(probability: float) -> str:
    return share(1.0 if probability > 1 - _ROUNDING else probability)


def _advice(result: ImputedResult, largest: float) -> str:
    """Say what the largest R-hat means, and what to do."""
    if result.n_rounds // 2 + 1 == result.n_rounds:
        return Phrase(
            "One round of each chain is too little to tell whether they have settled. Raise {}.", Option("n_rounds")
        ).worded(in_python_and_shell)
    if largest <= SETTLED:
        return (
            "Chains that began with different values differ between them as little as each moves by itself: what they "
            "say does not depend on where they began."
        )
    return Phrase(
        "Chains that began with different values still differ more than each of them moves. Raise {}. Where one edge "
        "stays present in some chains and absent in others, more rounds rarely help: then its spread shows that the "
        "gaps leave it open.",
        Option("n_rounds"),
    ).worded(in_python_and_shell)


def _traces(result: ImputedResult) -> Markup:
    label = f"The best score of each of {len(result.sets)} chains by round"
    return Markup(figure_svg(_plot_traces, result, "traces", label))


def _plot_traces(result: ImputedResult) -> Figure:
    """Draw the best score of each chain by round; the rounds that are averaged over have a background."""
    figure = blank_figure(7.5, 3.4)
    axes = figure.subplots()
    style_axes(axes)
    rounds = np.arange(1, result.n_rounds + 1)
    axes.axvspan(result.n_rounds // 2 + 0.5, result.n_rounds + 0.5, color=MARK, alpha=0.1, linewidth=0, zorder=1)
    for scores in result.trace_scores:
        axes.plot(rounds, scores, color=MARK, linewidth=1.2, alpha=0.7, marker="o", markersize=3, zorder=3)
    axes.set_xlim(0.5, result.n_rounds + 0.5)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("Round")
    axes.set_ylabel("Best score of the completed table")
    return figure
