"""What ``--help`` shows in a terminal of 80 columns."""

import re

import pytest
import typer.main
from typer.testing import CliRunner

from credibn.cli.app import app

COMMANDS = typer.main.get_command(app).commands
WIDTH = 80


def text_of(words):
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)})
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns(name):
    text = text_of([name] if name else [])
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert "…" not in text


@pytest.mark.parametrize("name", COMMANDS)
def test_no_flag_and_no_choice_is_broken(name):
    text = text_of([name])
    words = set(re.findall(r"[\w.-]+", text))
    for parameter in COMMANDS[name].params:
        flags = [word for word in (*parameter.opts, *parameter.secondary_opts) if word.startswith("-")]
        assert words.issuperset(flags), parameter.name
    assert not re.search(r"<(?![\w|-]+>)", text)  # <error|drop|state> stands on one line


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_line_that_its_own_help_begins_with(name):
    group = typer.main.get_command(app)
    assert group.get_command(None, name).help == COMMANDS[name].help
    assert group.get_command(None, "no-such-command") is None
