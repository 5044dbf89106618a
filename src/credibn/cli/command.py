"""What every command does beside its own work: mistakes and Ctrl-C become a line and an exit status."""

from collections.abc import Callable
from typing import Any, cast

import typer
from typer.core import TyperCommand

from credibn._run.memory import explaining_shortage
from credibn.cli.text import flags_of, print_error, warnings_as_lines
from credibn.cli.values import read_plain_values
from credibn.errors import CredibnError, TimeLimitError, WriteError
from credibn.options import our_word
from credibn_command.streams import NOT_WRITTEN, need_output

LIMIT_REACHED, INTERRUPTED = 3, 130
"""Exit statuses."""


def command_of(name: str, function: Callable[..., None]) -> TyperCommand:
    """Return the command that calls a function with what the shell gave."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, cls=_Command)(function)
    return cast(TyperCommand, typer.main.get_command(alone))


class _Command(TyperCommand):
    """A command, with the user's mistakes and Ctrl-C turned into a line and an exit status."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for own in self.get_params(ctx):
            record = own.get_help_record(ctx)
            if record is not None:
                title = getattr(own, "rich_help_panel", None) or f"{own.param_type_name}s".capitalize()
                panels.setdefault(title, []).append(record)
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        read_plain_values(self, ctx)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The parser finds flags that are spelt almost alike; this one adds the words of other programs.
            name = getattr(error, "option_name", "").lstrip("-").replace("-", "_")
            flags = [flag for own in self.params if own.name == our_word(name) for flag in own.opts if flag[:2] == "--"]
            if hasattr(error, "possibilities") and flags:
                error.possibilities = flags
            raise

    def invoke(self, ctx: Any) -> Any:
        writes_files = any(ctx.params.get(name) is not None for name in ("out", "destination"))
        need_output(bool(ctx.params.get("as_json")) or not writes_files)
        words = flags_of(ctx)
        try:
            with warnings_as_lines(words), explaining_shortage():
                return super().invoke(ctx)
        except CredibnError as error:
            print_error(error, words)
            raise typer.Exit(_status(error)) from None
        except KeyboardInterrupt:
            typer.echo("stopped; nothing was written", err=True)
            raise typer.Exit(INTERRUPTED) from None


def _status(error: CredibnError) -> int:
    if isinstance(error, WriteError):
        return NOT_WRITTEN
    return LIMIT_REACHED if isinstance(error, TimeLimitError) else 2
