"""What the command line shows: tables, warnings and errors in the shell's words."""

import json
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import typer

from credibn._base.text import byte_text, display_width, duration_text, plural, printable
from credibn._run.progress import is_terminal
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.errors import CredibnError, CredibnWarning, Option, Phrase
from credibn.graphs import CPDAG
from credibn.scores import ScoreTable, ScoringEstimate
from credibn.scores.estimate import LONG

if TYPE_CHECKING:  # these take a while to import: only those who have a frame or a description wait for it
    from pandas import DataFrame

    from credibn.data.describing import ColumnDescription, TableDescription

Words = Callable[[Option], str]
"""How a message writes an option."""
_ROUNDING = 1e-12
"""How far rounding may take a sum of probabilities from 0 or 1."""
_CLASSES_SHOWN = 10
_EDGES_SHOWN = 8


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM during what is done inside, which must be short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def flags_of(context: Any) -> Words:
    """Return how the shell writes an option: by the flag of this command, else by that of another one."""
    own = _flags([context.command])

    def words(option: Option) -> str:
        if option.name in own:
            return flag_text(own, option)
        return flag_text(_flags(context.find_root().command.commands.values()), option)

    return words


def _flags(commands: Iterable[Any]) -> dict[str, str]:
    # The shell has other words for these.
    flags = {"checkpoint": "--out", "columns": "--numeric or --categorical", "change": "--from or --to"}
    for parameter in (parameter for command in commands for parameter in command.params):
        named = [word for word in parameter.opts if word.startswith("-")]
        flags.setdefault(parameter.name, max(named, key=len) if named else parameter.metavar)
    if "edge_penalty" in flags:
        flags["prior"] = flags["edge_penalty"]
    return flags


def flag_text(flags: Mapping[str, str], option: Option) -> str:
    """Return an option, and its value if it has one, as the shell takes them."""
    if option.name == "columns" and isinstance(option.value, Mapping):
        return " ".join(f"--{kind} {shlex.quote(name)}" for name, kind in option.value.items())
    if option.name not in flags:
        return str(option)
    flag, value = flags[option.name], option.value
    if value is ... or value is True:
        return flag
    if isinstance(value, Mapping):
        return " ".join(f"{flag} {shlex.quote(f'{name}={_rule_text(rule)}')}" for name, rule in value.items())
    if option.name == "discretise":
        return f"{flag} {shlex.quote(_rule_text(value))}"
    if isinstance(value, list | tuple):
        return " ".join(f"{flag} {shlex.quote(str(part))}" for part in value)
    return f"{flag} {shlex.quote(str(value))}"


def _rule_text(rule: object) -> str:
    """Return a rule of bins as the shell takes it."""
    return ",".join(map(str, rule)) if isinstance(rule, list | tuple) else str(rule)


def print_error(error: CredibnError, words: Words = str) -> None:
    """Print an error as one line on standard error, or more where it has more."""
    typer.echo(f"error: {printable(error.worded(words), keep=chr(10))}", err=True)


@contextmanager
def warnings_as_lines(words: Words = str) -> Iterator[None]:
    """Show each CredibnWarning as one line on standard error."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if isinstance(message, CredibnWarning):
            typer.echo(f"warning: {printable(message.worded(words))}", err=True)
        else:
            show_others(message, category, *where, **more)

    with warnings.catch_warnings():
        show_others = warnings.showwarning
        warnings.simplefilter("always", CredibnWarning)
        warnings.showwarning = show
        yield


def print_result(
    dataset: Dataset, table: ScoreTable, out: Path | None, seconds: Mapping[str, float], as_json: bool
) -> None:
    """Print what scoring found, as one JSON object or as text; the best sets only where no file has them."""
    if as_json:
        facts = {
            "n_variables": dataset.n_variables,
            "n_rows": dataset.n_rows,
            "score": table.provenance["score"],
            "epsilon": table.epsilon,
            "n_candidates": table.n_candidates,
            "engine": table.provenance["engine"],
            "seconds": {stage: round(time_taken, 6) for stage, time_taken in seconds.items()},
            "out": None if out is None else str(out),
        }
        typer.echo(json.dumps(facts))
        return
    from credibn.report import scoring_headline  # and templates with it

    typer.echo(scoring_headline(dataset, table))
    if out is not None:
        typer.echo(f"written to {printable(str(out))}")
        return
    rows = []
    for node, (name, count) in enumerate(zip(table.names, table.counts.tolist(), strict=True)):
        best, parents = next(table.parent_sets(node))
        rows.append((name, f"{count:,}", f"{best:,.3f}", ", ".join(parents) or "(none)"))
    _print_table(("variable", "candidates", "best score", "best parents"), rows, right=(1, 2))


def learned_facts(credible: CredibleSet) -> dict[str, Any]:
    """Return what a search found as one JSON object."""
    scoring = credible.score_table.provenance
    facts = {
        "n_variables": len(credible.names),
        "n_rows": scoring.get("n_rows"),
        "score": scoring.get("score"),
        "epsilon": credible.epsilon,
        "optimal_score": credible.optimal_score,
        "n_candidates": credible.score_table.n_candidates,
        "n_networks": credible.n_networks,
        "n_classes": credible.n_classes if credible.structures.are_classes_counted else None,
        "posterior_share": credible.posterior_share,
        "complete": credible.complete,
        "stopped_because": credible.stopped_because,
    }
    if credible.share_estimate is not None:
        facts["share_estimate"] = credible.share_estimate.as_json()
    if credible.n_requested is not None:
        facts["n_tied_at_boundary"] = credible.n_tied_at_boundary
    return facts


def run_facts(credible: CredibleSet, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return how a search went as one JSON object."""
    return {
        "engine": credible.engine,
        "seconds": {stage: round(time_taken, 6) for stage, time_taken in seconds.items()},
        "peak_memory_mb": _peak_memory_mb(),
    }


def _peak_memory_mb() -> float | None:
    try:
        import resource
    except ImportError:  # not on this system
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def print_learned(credible: CredibleSet, words: Words = str) -> None:
    """Print what a search found: a few sentences, and the best classes."""
    typer.echo(credible.worded_summary(words))
    if not credible.n_networks or not credible.are_classes_known:
        return
    held = credible.posterior_share
    header = ("score", "networks", "of the set", *(() if held is None else ("of all networks",)), "edges of the class")
    rows = [
        (
            f"{found.score:,.6f}",
            f"{found.size:,}",
            _percentage(found.weight),
            *(() if held is None else (_percentage(found.weight * held),)),
            _edges(found.graph),
        )
        for found in credible.best_classes(_CLASSES_SHOWN)
    ]
    if rows:
        typer.echo("")
        _print_table(header, rows, right=range(len(header) - 1))
    if credible.structures.are_classes_counted and credible.n_classes > len(rows):
        typer.echo(f"... and {credible.n_classes - len(rows):,} more")


def _percentage(share: float) -> str:
    return f"{100 * share:.2f} %" if share >= 5e-5 else "<0.01 %"


def pairs_caption(credible: CredibleSet, frame: "DataFrame", words: Words = str) -> str:
    """Say what the probabilities in a table of pairs are probabilities of."""
    has_all, sampled = "absent_over_all" in frame, ""
    if frame.attrs.get("method") == "sampling":
        error = f"(standard error at most {frame.attrs['standard_error']:.4f})"
        sampled = f" Compelled and reversible come from {frame.attrs['n_networks']:,} random networks {error}."
    share = credible.posterior_share
    held = "an unknown share" if share is None else f"{100 * share:.3g} %"
    if share is None and credible.share_estimate is not None:
        held = credible.share_estimate.text
    within = f"the set ({plural(credible.n_networks, 'network')}, {held} of the posterior)"
    if has_all:
        return f"Probabilities within {within}, and over all networks.{sampled}"
    if share is None:
        caution = credible.caution
        unknown = f"Probabilities within {within}; over all networks unknown. "
        return f"{unknown}{caution.worded(words) if caution else ''}{sampled}"
    away = f"{100 * (1 - share):.3g} percentage points"
    return f"Probabilities within {within}; those over all networks are unknown, and at most {away} away.{sampled}"


def pair_table(frame: "DataFrame") -> str:
    """Return the probability of each alternative for pairs of variables, a line for each."""
    header = [str(name).replace("_", " ") for name in frame.columns]
    rows = [
        (*map(str, line[:2]), *(probability_text(float(value)) for value in line[2:]))
        for line in frame.itertuples(index=False)
    ]
    return table_text(header, rows, right=range(2, len(header)))


def probability_text(value: float) -> str:
    """Return a probability with three digits, never rounded to 0 or to 1."""
    if value < _ROUNDING or value > 1 - _ROUNDING:
        return f"{value:.0f}"
    if value < 0.0005:
        return "<0.001"
    return ">0.999" if value > 0.9995 else f"{value:.3f}"


def _edges(graph: CPDAG) -> str:
    """Return the edges where they are few, and else how many there are."""
    directed, undirected = len(graph.directed), len(graph.undirected)
    if directed + undirected > _EDGES_SHOWN:
        return f"{directed} directed, {undirected} undirected"
    return ", ".join(graph.edges_as_text) or "(none)"


def print_estimate(estimate: ScoringEstimate, as_json: bool) -> None:
    """Print what scoring will take."""
    if as_json:
        typer.echo(json.dumps(asdict(estimate)))
        return
    rows = [
        ("engine", estimate.engine),
        ("rows", f"{estimate.n_rows:,} ({estimate.n_distinct:,} distinct)"),
        ("variables", f"{estimate.n_variables:,} ({estimate.n_searched:,} that vary)"),
        ("largest parent set", f"{estimate.largest_parent_set:,}"),
        ("sets, at most", f"{estimate.n_sets:,}"),
        ("local scores, at most", f"{estimate.n_local_scores:,}"),
        ("memory", byte_text(estimate.memory_bytes)),
        ("time", _time_text(asdict(estimate))),
    ]
    _print_table(("predicted", ""), rows)


def _time_text(scoring: Mapping[str, Any]) -> str:
    """Return how long scoring takes, and what to try where that is long."""
    seconds, most = scoring["seconds"], scoring["feasible_parents"]
    takes = "more memory than there is" if seconds is None else f"about {duration_text(seconds)}"
    if seconds is not None and seconds <= LONG:
        return takes
    if scoring["default_parents"] is not None:
        return f"{takes}; 'credibn learn' takes --max-parents {scoring['default_parents']} unless you give another"
    if most is None:
        return f"{takes}; use fewer columns"
    return f"{takes}; try --max-parents {most}, about {duration_text(scoring['feasible_seconds'])}"


def print_description(table: "TableDescription", words: Words) -> None:
    """Print what a table holds, a line for each column, and what to know of it."""
    typer.echo(f"{table.n_rows:,} rows, {table.n_distinct:,} distinct; {len(table.columns):,} columns")
    rows = [
        (column.name, column.kind, column.why, f"{column.n_values:,}", f"{column.n_missing:,}", _content(column))
        for column in table.columns
    ]
    _print_table(("column", "kind", "because", "values", "missing", "content"), rows, right=(3, 4))
    for note in table.notes:
        text = note.worded(words) if isinstance(note, Phrase) else note
        typer.echo(f"note: {printable(text)}")


def print_costs(costs: Mapping[str, Any]) -> None:
    """Print what learning from a table would take, in two sentences at most."""
    scoring, posterior = costs["scoring"], costs["posterior"]
    if scoring is None:
        typer.echo(f"\nScoring with {costs['score']}: {printable(costs['scoring_refused'])}")
        return
    typer.echo(
        f"\nScoring with {costs['score']} for a Bayes factor of 20 takes {_time_text(scoring)}. "
        "'credibn score --estimate' predicts it for other options."
    )
    if posterior is None:
        typer.echo(f"The posterior of all networks takes too long for {scoring['n_searched']:,} variables.")
        return
    seconds = "less than a second" if posterior["seconds"] < 1 else f"about {posterior['seconds']:,.0f} seconds"
    typer.echo(
        f"The posterior of all networks takes 3^{posterior['n_searched']} steps, {seconds}, and "
        f"{byte_text(posterior['memory_bytes'])}."
    )


def _content(column: "ColumnDescription") -> str:
    """Return the states or the range, as text."""
    if column.minimum is not None:
        return f"{column.minimum:.6g} to {column.maximum:.6g}, mean {column.mean:.6g}"
    shown = [f"{state}: {count:,}" for state, count in zip(column.states, column.counts, strict=True)]
    more = ["..."] if column.n_values > len(shown) else []
    return ", ".join(shown + more)


def table_text(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return aligned columns, those at the positions `right` flush right, in which nothing controls a terminal."""
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    # A pipe has no width: cells are wrapped only where a person would see them cut.
    if is_terminal(sys.stdout) and sum(widths) + 2 * (len(widths) - 1) > get_terminal_size().columns:
        return _wrapped_table(lines, right)
    return "\n".join("  ".join(_padded(line, widths, right)).rstrip() for line in lines)


def _padded(line: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> Iterator[str]:
    for at, (cell, width) in enumerate(zip(line, widths, strict=True)):
        spaces = " " * (width - display_width(cell))
        yield spaces + cell if at in right else cell + spaces


def _wrapped_table(lines: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="")
    for at, title in enumerate(lines[0]):
        table.add_column(Text(title), justify="right" if at in right else "left", overflow="fold")
    for line in lines[1:]:
        table.add_row(*map(Text, line))
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    typer.echo(table_text(header, rows, right))
