"""`learn --out` after kills at random moments: it resumes, and ends with the same bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

KILLING = Path(__file__).parents[1] / "support" / "killing.py"
SAME_BYTES = ("result.credibn", "summary.json", "report.html")


def command(arguments, **environment):
    """Run a program in a fresh process, and return its standard output."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "CREDIBN_CHECKPOINT_SECONDS": "0", **environment},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_noise(path, n_variables, n_rows, seed):
    """Random columns: many networks explain them about as well."""
    values = np.random.default_rng(seed).integers(0, 2, (n_rows, n_variables))
    names = ",".join(f"V{v}" for v in range(n_variables))
    np.savetxt(path, values, fmt="%d", delimiter=",", header=names, comments="")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_variables", "options"),
    [
        (14, ["--bayes-factor", "3", "--max-parents", "1"]),
        (24, ["--bayes-factor", "3"]),
    ],
    ids=["networks", "classes"],
)
def test_a_killed_run_resumes_to_the_same_bytes(n_variables, options, tmp_path):
    data = tmp_path / "noise.csv"
    write_noise(data, n_variables, 60, 1)
    arguments = ["learn", data, *options, "--engine", "integer-program"]
    facts = json.loads(command([KILLING, 5, 0, tmp_path / "whole", tmp_path / "killed", *arguments]))
    assert facts["killed"] > 0
    for name in SAME_BYTES:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes(), name
    for folder in ("whole", "killed"):
        names = sorted(path.name for path in (tmp_path / folder).iterdir())
        assert names == ["report.html", "result.credibn", "run.json", "summary.json"]
