"""All that a run writes: each table as CSV and Markdown, the figure, and one page with everything."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from credibn._base.atomic import replacing, unwritable
from paper.experiments import EXPERIMENTS
from paper.marks import MEANINGS, Mark
from paper.plots import figure_svg, write_svg
from paper.results import ResultTable, as_csv, as_markdown, mark_counts, was_run
from paper.sources import Missing


def write_results(
    tables: Mapping[str, ResultTable], out: Path, circumstances: str, missing: Sequence[Missing] = ()
) -> Path:
    """Write the tables, the figure and the page to a folder, and return the path of the page."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error, "choose another folder") from error
    for name, table in tables.items():
        _write(out / f"{name}.csv", as_csv(table))
        plot = EXPERIMENTS[name].plot
        if table.columns:
            _write(out / f"{name}.md", as_markdown(table, circumstances))
        elif plot is not None:
            write_svg(plot, table, out / f"{name}.svg")
    page = out / "index.html"
    _write(
        page,
        _template().render(
            style=Markup(files("credibn.report").joinpath("assets/page.css").read_text(encoding="utf-8")),
            headline=_headline(tables),
            circumstances=circumstances,
            missing=missing,
            sections=[_section(table) for table in tables.values()],
            meanings=MEANINGS.items(),
        ),
    )
    return page


def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=loader,
    )
    return environment.get_template("page.html.j2")


def _headline(tables: Mapping[str, ResultTable]) -> str:
    """Return how many numbers were compared, and how the comparison came out."""
    total = Counter[Mark]()
    for table in tables.values():
        total.update(mark_counts(table))
    told = {mark: total[mark] for mark in Mark if total[mark] and mark not in (Mark.NOT_RUN, Mark.NOT_PRINTED)}
    if not told:
        return "No number has been compared with a printed one yet."
    listed = ", ".join(f"{count:,} {mark}" for mark, count in told.items())
    return f"Of {sum(told.values()):,} comparisons with printed numbers: {listed}."


def _section(table: ResultTable) -> dict[str, object]:
    """Return what the page shows of a table."""
    experiment = EXPERIMENTS[table.name]
    plot = experiment.plot and figure_svg(experiment.plot, table, table.name, experiment.caption)
    rows = [row for row in table.rows if was_run(row)]
    return {
        "name": table.name,
        "title": table.title,
        "remarks": table.remarks,
        "plot": Markup(plot or ""),
        "caption": experiment.caption,
        "marks": ", ".join(f"{mark}: {count:,}" for mark, count in mark_counts(table).items()),
        "columns": table.columns if rows else (),
        "rows": [[column.show(row) for column in table.columns] for row in rows],
    }


def _write(path: Path, text: str) -> None:
    with replacing(path) as sink:
        sink.write(text.encode())
