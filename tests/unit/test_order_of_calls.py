"""CONTRIBUTING.md lists the functions between the command and the report: a run passes them so, in this order."""

import os
import re
import sys
from pathlib import Path

import pyarrow.csv
import pytest

import credibn
from credibn.cli.app import main
from credibn.examples import sample_asia

PACKAGE = Path(credibn.__file__).parent
PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def listed():
    """Each function of the list with its file and the functions that it is called from."""
    (block,) = re.findall(r"```calls\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = []
    for line in block.splitlines():
        name, file = line.split()
        path = [*path[: (len(line) - len(line.lstrip())) // 2], (name, file)]
        yield path


def followed(monkeypatch, *command):
    """The first call of each of our functions in a run of the command, with those that it is called from."""
    monkeypatch.setattr(sys, "argv", ["credibn", *map(str, command)])
    first, seen = {}, set()

    def name_of(frame):
        return frame.f_code.co_qualname, str(Path(frame.f_code.co_filename).relative_to(PACKAGE))

    def is_ours(frame):
        return frame.f_code.co_filename.startswith(f"{PACKAGE}{os.sep}")

    def note(frame, event, argument):
        if event != "call" or frame.f_code in seen:
            return
        seen.add(frame.f_code)
        if not is_ours(frame):
            return
        callers, at = [], frame
        while at is not None:
            if is_ours(at):
                callers.append(name_of(at))
            at = at.f_back
        first.setdefault(name_of(frame), callers[::-1])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.setprofile(before)
    assert not ended.value.code
    return first


def test_a_run_passes_the_functions_of_the_list_in_order(monkeypatch, tmp_path):
    pyarrow.csv.write_csv(sample_asia(200), tmp_path / "asia.csv")
    first = followed(monkeypatch, "learn", tmp_path / "asia.csv", "--out", tmp_path / "out", "--threads", 1)
    places = {name: at for at, name in enumerate(first)}
    paths = list(listed())
    for path in paths:
        assert path[-1] in first, f"{path[-1]} is not called"
        callers = iter(first[path[-1]])
        assert all(step in callers for step in path), f"{path[-1]} is not called from {path[:-1]}"
    order = [places[path[-1]] for path in paths]
    assert order == sorted(order)
