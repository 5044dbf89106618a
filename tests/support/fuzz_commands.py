"""Commands with odd values: the exit status is 0, 2, 3, 4 or 130, and no traceback is shown."""

from __future__ import annotations

import contextlib
import traceback
from pathlib import Path
from random import Random

from typer.testing import CliRunner

import fuzzing
from credibn.cli.app import app

__all__ = ["COMMAND_LINE", "judge_command", "random_command"]

COMMAND_LINE = "command line"
ODD = [
    *("", " ", "0", "-1", "1", "2", "nan", "inf", "-inf", "1e999", "-0", "1e-320", "999999999999999999999", "9" * 5000),
    *(
        "٣",
        "x",
        "1e308",
        "0x10",
        "1_0",
        "=",
        "a=1",
        "a=",
        "a=nan",
        "=1",
        "a=" + "9" * 5000,
        "a->b",
        "->",
        "a->a",
        "b->a",
    ),
    *(
        "\x00",
        "\ud800",
        "a\nb",
        "x" * 300,
        "9223372036854775807",
        "18446744073709551616",
        "2147483648",
        "1e19",
        "1e300",
    ),
    *(
        "[a]",
        "[a|a]",
        "[a][b|a][c]",
        "[" * 2000,
        "--",
        "-",
        ".",
        "..",
        "/",
        "*",
        "[",
        "**/*",
        "~",
        "a,b",
        "equal_width:3",
    ),
    *("median", "a=median", "18,65", "nan,1", "bic", "bdeu", "bge", "auto", "networks", "a", "b", "c", "data.csv"),
]
FILES = [
    "data.csv",
    "number.csv",
    "result.credibn",
    "net.bif",
    "scores.jkl",
    "tiers.txt",
    "spoiled",
    "none.csv",
    "folder",
]
OPTIONS = {
    "learn": "--bayes-factor --epsilon --ratio --ess --max-parents --forbid --require --tiers --edge-penalty --unit "
    "--max-networks --max-classes --time-limit --memory-limit --threads --engine --weights --discretise --numeric "
    "--categorical --drop --only "
    "--max-states --score --scores --missing --out --json --posterior-share --score-equivalent",
    "optimum": "--memory-limit --time-limit --threads --score --scores --max-parents --forbid --json",
    "kbest": "-k --classes --memory-limit --time-limit --threads --score --scores --max-parents --forbid --json",
    "posterior": "--time-limit --memory-limit --threads --ess --edge-penalty --total --scores --score --json",
    "score": "--threads --epsilon --engine --out --format --max-parents --estimate --score --discretise --json",
    "data": "--score --max-states --discretise --numeric --categorical --drop --only --missing --weights --json",
    "edges": "--prior --format --threshold --out --json",
    "draw": "--prior --threshold --labels --highlight --layout --out --json",
    "report": "--out --data --missing --json",
    "predict": "--target --proba --impute --share --prior --out --data --ignore-extra --handle-unknown "
    "--allow-other-data --json",
    "fit": "--out --method --ess --prior --missing --json",
    "sample": "--rows --seed --out --json",
    "convert": "--from --to --json",
}
FLAGS = {
    *("--json", "--classes", "--total", "--estimate", "--proba", "--impute", "--ignore-extra", "--allow-other-data"),
    *("--posterior-share", "--score-equivalent", "--labels"),
}
ARGUMENTS = {"edges": 1, "draw": 1, "report": 1, "predict": 2, "fit": 2, "sample": 1, "convert": 2}
USUAL = {
    "edges": ["result.credibn"],
    "draw": ["result.credibn"],
    "report": ["result.credibn"],
    "predict": ["result.credibn", "data.csv"],
    "fit": ["data.csv", "[a][b|a][c]"],
    "sample": ["net.bif"],
    "convert": ["scores.jkl", "net.bif"],
}
LIMITS = {"sample": ["--rows", "3"]}
"""Numbers that are allowed and mean much work are not what is tried here."""


def random_command(random: Random) -> tuple[list[str], bytes]:
    """Return words of a command, and the content of the file ``spoiled``."""
    command = random.choice(list(OPTIONS))
    usual = USUAL.get(command, ["data.csv"])
    words = [command, *(value if random.random() < 0.7 else random.choice([*ODD, *FILES]) for value in usual)]
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        option = random.choice(OPTIONS[command].split())
        words.append(option)
        if option not in FLAGS:
            words.append(random.choice([*ODD, *ODD, *FILES, "out.dot", "out.csv", "out.jkl", "out.html", "out.bif"]))
    if command == "sample" and "--rows" not in words:
        words += ["--rows", "3"]
    if random.random() < 0.03:
        words.insert(random.randrange(len(words)), random.choice(ODD))
    return words, fuzzing.spoil(random.choice(("csv", "credibn", "bif", "jkl", "tiers")), random)


def prepare(folder: Path) -> None:
    """Make the files that commands name."""
    if (folder / "data.csv").exists():
        return
    (folder / "folder").mkdir()
    (folder / "data.csv").write_text("a,b,c\n" + "x,1,u\ny,2,u\nx,1,v\ny,1,v\n" * 5)
    (folder / "number.csv").write_text("a,b\n1.5,2\n2.5,3\n-1,0.5\n4,4\n")
    (folder / "result.credibn").write_bytes(fuzzing.seeds("credibn")[0])
    (folder / "net.bif").write_bytes(fuzzing.seeds("bif")[0])
    (folder / "scores.jkl").write_bytes(fuzzing.seeds("jkl")[0])
    (folder / "tiers.txt").write_text("a\nb, c\n")


def judge_command(command: tuple[list[str], bytes], folder: Path) -> str:
    """Run a command in a folder; return "valid" or "refused"."""
    words, content = command
    prepare(folder)
    (folder / "spoiled").unlink(missing_ok=True)
    (folder / "spoiled").write_bytes(content)
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, words)
    if done.exit_code not in (0, 2, 3, 4, 130) or "Traceback" in done.output:
        where = traceback.extract_tb(done.exc_info[2])[-1] if done.exc_info else None
        raise AssertionError(f"{words!r:.300} ended with {done.exit_code}: {done.exception!r:.200} at {where}")
    return "valid" if done.exit_code in (0, 3) else "refused"
