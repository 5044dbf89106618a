"""Values of options mean the same, and are refused in the same words, whether typer reads them or we do."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from credibn.cli.values import read_plain_values


class PlainFirst(TyperCommand):
    def parse_args(self, ctx, args):
        read_plain_values(self, ctx)
        return super().parse_args(ctx, args)


def command(
    table: Annotated[str, typer.Argument()],
    text: Annotated[str | None, typer.Option()] = None,
    count: Annotated[int, typer.Option()] = 100,
    limit: Annotated[int | None, typer.Option()] = None,
    number: Annotated[float | None, typer.Option()] = None,
    path: Annotated[Path | None, typer.Option()] = None,
    word: Annotated[Literal["all", "none"], typer.Option(case_sensitive=False)] = "all",
    several: Annotated[list[str] | None, typer.Option()] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
    either: Annotated[bool | None, typer.Option("--either/--neither")] = None,
):
    typer.echo(repr(locals()))


def output(kind, words):
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=kind)(command)
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output


GIVEN = {
    "--text": ["a", "", " b ", "-1", "a\nb", "é", "\udcff"],
    "--count": ["7", "007", "-7", "1_000", " 7", "7.0", "7.5", "٧", "", "x", "9" * 15, "9" * 16, "9" * 5000],
    "--limit": ["0", "+1", "1e3", "none"],
    "--number": ["20", "0.95", "-0.5", ".5", "5.", "1e-3", "inf", "nan", "1_0", "", "x", "9" * 400],
    "--path": ["a/b.csv", "", ".", "/", "/proc/self/mem", "a\0b"],
    "--word": ["all", "none", "NONE", "some", ""],
    "--several": ["a", "", "a,b"],
}


@pytest.mark.parametrize("option", GIVEN)
def test_value_is_read_as_typer_reads_it(option):
    for value in GIVEN[option]:
        words = ["table", option, value]
        assert output(PlainFirst, words) == output(TyperCommand, words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["table"],
        ["table", "--several", "a", "--several", "b"],
        ["table", "--flag", "--either"],
        ["table", "--neither"],
        ["table", "--count"],
        ["table", "more"],
        ["--help"],
    ],
)
def test_command_line_is_read_as_typer_reads_it(words):
    assert output(PlainFirst, words) == output(TyperCommand, words)
