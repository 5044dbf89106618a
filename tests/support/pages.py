"""Run the examples of a Markdown page as a reader would: from top to bottom, in one folder.

The tag of a block says what it is:

- ``python``: a doctest; the blocks of a page share their names. Runs of blanks count as one blank.
- ``console``: commands after ``$``, each followed by exactly what it prints, errors included. A command that ends with
  another status than 0 is followed by ``$ echo $?``.
- ``sh``: commands, one a line, that end with status 0.
- any other: text that is not run.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from typer.testing import CliRunner

from credibn.cli.app import app
from credibn.errors import CredibnWarning

ROOT = Path(__file__).resolve().parents[2]
RUN = ("python", "console", "sh")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.S | re.M)
_STATUS = "echo $?"


@dataclass(frozen=True)
class Block:
    """A block of a page: its tag, its text and the number of the line it starts after."""

    tag: str
    text: str
    line: int


@dataclass
class Reader:
    """Someone who follows a page: the names that Python knows, and the status of the last command."""

    names: dict = field(default_factory=dict)
    status: int = 0

    def follow(self, page, block):
        getattr(self, f"_{block.tag}")(f"{page}:{block.line}", block)

    def _python(self, where, block):
        test = doctest.DocTestParser().get_doctest(block.text, {}, where, where, block.line)
        test.globs = self.names
        assert test.examples, f"{where}: a python block without >>> shows nothing"
        failures = []
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CredibnWarning)  # they go to standard error, which a page does not show
            result = doctest.DocTestRunner(optionflags=flags).run(test, out=failures.append, clear_globs=False)
        assert result.failed == 0, "".join(failures)

    def _console(self, where, block):
        assert block.text.startswith("$ "), f"{where}: a console block starts with a command after $"
        steps = re.split(r"^\$ ", block.text, flags=re.M)[1:]
        for number, step in enumerate(steps):
            command, shown = step.split("\n", 1)
            printed = f"{self.status}\n" if command == _STATUS else self._run(command)
            assert printed.strip("\n") == shown.strip("\n"), f"{where}: {command}\n{printed}"
            is_told = number + 1 < len(steps) and steps[number + 1].startswith(_STATUS)
            assert command == _STATUS or self.status == 0 or is_told, f"{where}: {command} ended with {self.status}"

    def _sh(self, where, block):
        for command in block.text.replace("\\\n", " ").splitlines():
            if command and not command.startswith("#"):
                printed = self._run(command)
                assert self.status == 0, f"{where}: {command}\n{printed}"

    def _run(self, command):
        """Run a command and return what it prints; credibn in this process, which takes less time."""
        program, *words = shlex.split(command, comments=True)
        if program == "credibn":
            result = CliRunner().invoke(app, words)
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
            self.status = result.exit_code
            return result.output
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))  # `python` is this one
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}  # and has the package `paper`
        done = subprocess.run(
            command,
            shell=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=60,
            check=False,
        )
        self.status = done.returncode
        return done.stdout


def blocks_of(text):
    """Return the blocks of a page in order."""
    return [Block(match[1], match[2], text.count("\n", 0, match.start(2))) for match in _BLOCK.finditer(text)]


def pages():
    """Return every page with prose for users, by its path in the project."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}
