"""All that a run writes: each table as CSV and Markdown, the figure, and one page with everything."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from credibn._base.atomic import replacing, unwritable
from credibn.report.figures import figure_svg, quiet_matplotlib
from credibn.report.sections import write_page
from credibn.reproduction.marks import MEANINGS, Mark
from credibn.reproduction.plots import PLOTS, plot_deviations
from credibn.reproduction.results import ResultTable
from credibn.reproduction.sources import Missing
from credibn.reproduction.tables import as_csv, as_markdown, mark_counts, was_run

__all__ = ["write_results"]


def write_results(
    tables: Mapping[str, ResultTable], out: Path, circumstances: str, missing: Sequence[Missing] = ()
) -> Path:
    """Write the tables, the figure and the page to a folder, and return the path of the page.

    Parameters
    ----------
    tables : mapping of str to ResultTable
    out : Path
    circumstances : str
        When, with which version and on what machine they were made.
    missing : sequence of Missing
        Files that were not there.

    Raises
    ------
    WriteError
        When something cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error, "choose another folder") from error
    for name, table in tables.items():
        _write(out / f"{name}.csv", as_csv(table))
        if name == "figure1":
            _write_figure(table, out / "figure1.svg")
        else:
            _write(out / f"{name}.md", as_markdown(table, circumstances))
    page = out / "index.html"
    write_page(
        "reproduction_page.html.j2",
        page,
        headline=_headline(tables),
        circumstances=circumstances,
        missing=missing,
        sections=[_section(table) for table in tables.values()],
        meanings=MEANINGS.items(),
    )
    return page


def _headline(tables: Mapping[str, ResultTable]) -> str:
    """Return how many numbers were compared, and how the comparison came out."""
    total = dict.fromkeys(Mark, 0)
    for table in tables.values():
        for mark, count in mark_counts(table).items():
            total[mark] += count
    idle = (Mark.NOT_RUN, Mark.NOT_PRINTED)
    told = [f"{count:,} {mark}" for mark, count in total.items() if count and mark not in idle]
    if not told:
        return "No number has been compared with a printed one yet."
    compared = sum(count for mark, count in total.items() if mark not in idle)
    return f"Of {compared:,} comparisons with printed numbers: {', '.join(told)}."


def _section(table: ResultTable) -> dict[str, object]:
    """Return what the page shows of a table."""
    plot = ""
    if table.name in PLOTS:
        make, caption = PLOTS[table.name]
        plot = figure_svg(make, table, table.name, caption)
    rows = [row for row in table.rows if was_run(row)]
    return {
        "name": table.name,
        "title": table.title,
        "remarks": table.remarks,
        "plot": Markup(plot),
        "caption": PLOTS[table.name][1] if plot else "",
        "marks": ", ".join(f"{mark}: {count:,}" for mark, count in mark_counts(table).items()),
        "columns": table.columns if rows else (),
        "rows": [[column.show(row) for column in table.columns] for row in rows],
    }


def _write(path: Path, text: str) -> None:
    with replacing(path) as sink:
        sink.write(text.encode())


def _write_figure(table: ResultTable, path: Path) -> None:
    with quiet_matplotlib(), replacing(path) as sink:
        import matplotlib.style

        with matplotlib.style.context(["default", {"svg.hashsalt": "figure1", "svg.fonttype": "none"}]):
            plot_deviations(table).savefig(sink, format="svg", metadata={"Date": None})
