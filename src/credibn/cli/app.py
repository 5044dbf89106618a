"""The command line: read, call one function, write.

Results go to standard output, everything else (progress, warnings, errors) to standard error. Exit statuses:

- 0: done.
- 1: an unexpected error inside credibn; the traceback is worth a report.
- 2: wrong usage or bad input; the message says what to change.
- 3: a limit was reached; what was found and is certain was written, if anything was.
- 4: a result could not be written where it was asked for: to standard output, a file, or the folder of ``--out``.
- 130: interrupted (Ctrl-C or SIGTERM); nothing was written, or what the search had found, which the result says.

A closed pipe is not an error, and the files are complete.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from credibn.cli.values import read_plain_values

_COMMANDS = {
    "learn": ("learn:learn", "Find every network within a Bayes factor of the best, by Markov equivalence class."),
    "kbest": ("learn:kbest", "Find the k best networks, or the k best Markov equivalence classes."),
    "optimum": (
        "learn:optimum",
        "Find one optimal network, with its Markov equivalence class, and prove it; do not list what ties with it.",
    ),
    "edges": (
        "results:edges",
        "How probable is each edge? For each pair of variables: forward, backward, absent, compelled.",
    ),
    "draw": ("draw:draw", "Draw the graph of edge probabilities: an SVG, PDF or PNG file."),
    "report": ("results:report", "Write the HTML report of a result."),
    "predict": (
        "models:predict",
        "Predict variables of new rows, or impute their missing values, averaged over the networks of a result.",
    ),
    "effects": (
        "effects:effects",
        "Find what setting one variable does to another, averaged over networks; all pairs without --cause.",
    ),
    "impute": (
        "impute:impute",
        "Learn from a table with gaps: fill them in several times, and average what is learned.",
    ),
    "fit": (
        "models:fit",
        "Fit the parameters of one network to a categorical table, and write it to a network file.",
    ),
    "sample": ("models:sample", "Draw rows from a network file."),
    "posterior": (
        "posterior:posterior",
        "Compute exact averages over all networks, for up to 24 variables: the log mass and every edge.",
    ),
    "convert": (
        "convert:convert",
        "Convert score files (jkl, pss, scores) and networks (bif, xdsl, net, ...; also to dot and graphml).",
    ),
    "score": ("scoring:score", "Score every candidate parent set that a credible network could use."),
    "data": (
        "data:describe",
        "Describe a file: what each column is read as and holds, what learning would cost, and the command to learn.",
    ),
    "demo": (
        "demo:demo",
        "Make example data, find every credible network and write the HTML report; the last line printed is its path.",
    ),
}
"""The function of each command, and what ``--help`` says of it: the first line of the function's docstring.

A module is imported when one of its commands runs.
"""


class _Commands(Mapping[str, TyperCommand]):
    """The commands, each made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, TyperCommand] = {}

    def __getitem__(self, name: str) -> TyperCommand:
        if name not in self._made:
            from credibn.cli.command import command_of

            module, _, function = _COMMANDS[name][0].partition(":")
            self._made[name] = command_of(name, getattr(importlib.import_module(f"credibn.cli.{module}"), function))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Group(TyperGroup):
    """All commands: what lists them sees their names and a line of each; what runs one sees all of it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": None})
        self.commands = cast(Any, _Commands())

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        read_plain_values(self, ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return TyperCommand(cmd_name, help=_COMMANDS[cmd_name][1]) if cmd_name in _COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        try:
            return name, None if name is None else self.commands[name], rest
        except KeyboardInterrupt:  # while the command's modules are imported
            typer.echo("stopped; nothing was written", err=True)
            raise


app = typer.Typer(
    name="credibn",
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,  # Rich takes as long to import as all the rest of --help
    pretty_exceptions_enable=False,
    help="Every Bayesian network structure that your data cannot rule out.",
    epilog="Exit status: 0 done and complete; 1 unexpected internal error; 2 wrong usage or bad input; "
    "3 a limit was reached, so the result is not complete; 4 a result could not be written where it was asked for; "
    "130 interrupted.\n\n'credibn --install-completion' teaches your "
    "shell (bash, zsh, fish, PowerShell) to complete commands and options with the tab key.",
)


def _version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"credibn {version('credibn')}")
        raise typer.Exit


@app.callback()
def _credibn(
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, help="Print the version and stop.", callback=_version),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; the script ``credibn`` calls this, see ``credibn_command``."""
    app(prog_name="credibn")
