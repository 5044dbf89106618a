"""What the README promises about the project; its examples are run by test_documents."""

import re

from typer.testing import CliRunner

from credibn.cli.app import app
from pages import ROOT, blocks_of

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_come_first_and_are_targets_of_the_makefile():
    commands = [line.split("#")[0].split() for line in blocks_of(README)[0].text.splitlines()]
    assert commands == [["make", "demo"], ["make", "test"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for _, target in commands:
        assert re.search(rf"^{target}:", makefile, flags=re.M)
    assert "credibn demo --out" in makefile


def test_exit_statuses_are_those_of_the_help():
    epilog = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    prose = " ".join(README.split())
    statuses = prose[prose.index("Exit status: ") :].split(". ")[0]
    assert statuses in epilog


def test_every_page_of_the_guide_is_within_reach():
    for path in (ROOT / "docs" / "guide").glob("*.md"):
        assert f"](docs/guide/{path.name})" in README
