"""Disks that fill up, folders that vanish or cannot be written: the search completes, and what it found is not lost."""

import builtins
import errno
import io
import json
import os
import shutil
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import worker_tasks
from credibn import CredibleSet, CredibnWarning, learn
from credibn._base import atomic
from credibn._run import Run, Store
from credibn.cli.app import app
from credibn.examples import sample_asia
from credibn.learning.all_credible import find_credible_set

SETS_OF_ASIA = 9
"""Networks within a Bayes factor of 3."""


class FaultyDisk:
    """Opens files as `credibn._base.atomic` does; writing fails with an error number for the paths chosen."""

    def __init__(self, number, is_faulty):
        self.number, self.is_faulty, self.n_faults = number, is_faulty, 0

    def __call__(self, path, mode):
        return FaultyFile(self, path, mode) if self.is_faulty(str(path)) else builtins.open(path, mode)


class FaultyFile(io.FileIO):
    def __init__(self, disk, path, mode):
        super().__init__(path, mode)
        self.disk = disk

    def write(self, data):
        self.disk.n_faults += 1
        raise OSError(self.disk.number, os.strerror(self.disk.number))


@pytest.fixture
def faulty(monkeypatch):
    def use(number, is_faulty):
        disk = FaultyDisk(number, is_faulty)
        monkeypatch.setattr(atomic, "open", disk, raising=False)
        return disk

    return use


@pytest.fixture
def asia(tmp_path):
    path = tmp_path / "asia.csv"
    pyarrow.csv.write_csv(sample_asia(), path)
    return path


def eager(folder, executor=None):
    held = Run(executor=executor, store=Store(folder))
    held.store.seconds_before_writing = 0.0
    return held


# ---- checkpoints ----


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "Permission denied"), (errno.EIO, "")]
)
@pytest.mark.parametrize("engine", ["integer_program", "dynamic_programming"])
def test_a_search_completes_without_its_checkpoint(tmp_path, faulty, monkeypatch, number, reason, engine):
    monkeypatch.setenv("CREDIBN_CHECKPOINT_SECONDS", "0")
    disk = faulty(number, lambda path: "checkpoint" in path)
    with pytest.warns(
        CredibnWarning, match=rf"no checkpoint can be written to .* \(.*{reason}.*\)\. The result does not need it"
    ) as told:
        found = learn(sample_asia(), bayes_factor=3, engine=engine, checkpoint=tmp_path / "checkpoint")
    assert (found.n_networks, found.complete) == (SETS_OF_ASIA, True)
    assert (len(told), disk.n_faults) == (1, 1), "one warning, and no second attempt"


def test_a_folder_that_vanishes_is_made_again_or_done_without(tmp_path):
    folder = tmp_path / "out" / "checkpoint"
    held = eager(folder)
    shutil.rmtree(tmp_path / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held.store.save("test", "q", "state", {"a": np.arange(3)})
    assert held.store.is_resuming
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("a file where the folder was")
    with pytest.warns(CredibnWarning, match="The result does not need it"):
        done = list(held.do("test", "q", worker_tasks.double, 0, range(3), lambda fraction: True))
    assert sorted(int(arrays["double"][0]) for _, arrays in done) == [0, 2, 4]
    held.store.remove()


def test_what_was_written_before_a_fault_still_serves(tmp_path, faulty):
    calls = tmp_path / "calls"
    calls.mkdir()
    held = eager(tmp_path / "checkpoint")
    list(held.do("test", "q", worker_tasks.count_calls, calls, range(3), lambda fraction: True))
    faulty(errno.ENOSPC, lambda path: True)
    with pytest.warns(CredibnWarning, match="the disk is full"):
        held.store.save("test", "q", "state", {"a": np.arange(3)})
    held.store.close()
    again = eager(tmp_path / "checkpoint")
    list(again.do("test", "q", worker_tasks.count_calls, calls, range(3), lambda fraction: True))
    assert len(list(calls.iterdir())) == 3, "each was done once"
    again.store.remove()


def test_what_is_said_of_a_checkpoint_that_fails_at_the_end_is_true(tmp_path, faulty):
    """No run continues then."""
    faulty(errno.ENOSPC, lambda path: True)
    held = Run(store=Store(tmp_path / "checkpoint"))
    held.store.save("test", "q", "state", {"a": np.arange(3)})
    held.store.seconds_before_writing = 0.0
    with pytest.warns(CredibnWarning) as told:
        held.store.close()
    assert [str(one.message) for one in told] == [
        f"no checkpoint can be written to {tmp_path / 'checkpoint'} (the disk is full). The result does not need it; "
        "a run that resumes starts from the last checkpoint written. To get checkpoints, start again with a writable "
        "folder"
    ]


@pytest.mark.parametrize("error", [MemoryError("no 8 GiB"), MemoryError()], ids=["text", "none"])
def test_too_little_memory_for_a_checkpoint_costs_the_checkpoint_alone(tmp_path, monkeypatch, error):
    def fail(*arguments, **named):
        raise error

    monkeypatch.setenv("CREDIBN_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr("numpy.savez", fail)
    reason = str(error) or "not enough memory"
    with pytest.warns(CredibnWarning, match=rf"no checkpoint can be written to .* \({reason}\)"):
        found = learn(sample_asia(), bayes_factor=3, checkpoint=tmp_path / "checkpoint")
    assert (found.n_networks, found.complete) == (SETS_OF_ASIA, True)


def test_a_lost_worker_and_a_full_disk(tmp_path, faulty):
    """What the message says of the work done so far is true."""
    pool = ThreadPoolExecutor(1)
    held = eager(tmp_path / "checkpoint", pool)
    faulty(errno.ENOSPC, lambda path: True)
    with pytest.warns(CredibnWarning, match="the disk is full"):
        held.store.save("test", "q", "state", {"a": np.arange(3)})
    pool.shutdown()
    with pytest.raises(ValueError, match="Finished tasks are lost"):
        list(held.do("test", "q", worker_tasks.double, 0, range(3), lambda fraction: True))


# ---- results of the command line ----


def learn_to(out, asia):
    return CliRunner().invoke(app, ["learn", str(asia), "--bayes-factor", "3", "--out", str(out)])


def test_a_result_that_cannot_be_written_is_printed_and_saved_in_the_current_folder(
    tmp_path, asia, faulty, monkeypatch
):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    faulty(errno.ENOSPC, lambda path: "out" in path)
    for name in ("out-result.credibn", "out-result-1.credibn"):
        result = learn_to(tmp_path / "out", asia)
        assert result.exit_code == 4
        assert "9 networks in 3 Markov equivalence classes" in result.stdout
        assert "result.credibn cannot be written (the disk is full); free some space" in result.stderr
        assert f"the result is in {here / name} instead" in result.stderr
        assert CredibleSet.load(here / name).n_networks == SETS_OF_ASIA


def test_a_result_that_cannot_be_written_anywhere_is_still_printed(tmp_path, asia, faulty, monkeypatch):
    monkeypatch.chdir(tmp_path)
    faulty(errno.ENOSPC, lambda path: True)
    result = learn_to(tmp_path / "out", asia)
    assert result.exit_code == 4
    assert "9 networks in 3 Markov equivalence classes" in result.stdout
    assert result.stderr.count("cannot be written (the disk is full)") == 4, "the result twice, run.json, the report"
    assert "Traceback" not in result.stderr


def test_a_report_that_cannot_be_written_does_not_cost_the_result(tmp_path, asia, monkeypatch):
    out = tmp_path / "out"
    (out / "report.html").mkdir(parents=True)
    result = learn_to(out, asia)
    assert result.exit_code == 4
    assert "report.html cannot be written" in result.stderr
    assert CredibleSet.load(out / "result.credibn").n_networks == SETS_OF_ASIA
    assert json.loads((out / "summary.json").read_text())["n_networks"] == SETS_OF_ASIA


def test_a_folder_that_was_removed_meanwhile_is_made_again(tmp_path, asia, monkeypatch):
    out = tmp_path / "out"

    def learn_and_remove(run):
        found = find_credible_set(run)
        shutil.rmtree(out)
        return found

    monkeypatch.setattr("credibn.cli.learn.find_credible_set", learn_and_remove)
    assert learn_to(out, asia).exit_code == 0
    assert {path.name for path in out.iterdir()} == {"result.credibn", "summary.json", "run.json", "report.html"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, its result, a network and a score file."""
    folder = tmp_path_factory.mktemp("files")
    pyarrow.csv.write_csv(sample_asia(), folder / "asia.csv")
    learn(sample_asia(), bayes_factor=3).save(folder / "asia.credibn")
    for words in ("fit asia.csv asia.credibn -o asia.bif", "score asia.csv --bayes-factor 3 -o asia.jkl"):
        done = CliRunner().invoke(app, [str(folder / word) if "asia" in word else word for word in words.split()])
        assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "edges asia.credibn -o {out}/a.csv",
        "report asia.credibn -o {out}/a.html",
        "convert asia.jkl {out}/a.pss",
        "convert asia.bif {out}/a.dot",
        "fit asia.csv asia.credibn -o {out}/a.bif",
        "sample asia.bif -n 9 -o {out}/a.csv",
        "sample asia.bif -n 9 -o {out}/a.parquet",
        "predict asia.credibn asia.csv --target lung -o {out}/a.tsv",
        "score asia.csv -o {out}/a.scores",
        "demo --out {out}",
    ],
)
def test_a_file_that_cannot_be_written_has_its_own_status(files, tmp_path, faulty, monkeypatch, words):
    monkeypatch.chdir(files)
    faulty(errno.ENOSPC, lambda path: True)
    result = CliRunner().invoke(app, words.format(out=tmp_path).split())
    assert result.exit_code == 4, result.output
    path = tmp_path / ("asia.csv" if words.startswith("demo") else words.split("/")[-1])
    remedy = "free some space, or choose a folder on another disk"
    assert f"error: {path} cannot be written (the disk is full); {remedy}\n" in result.stderr
    assert not list(tmp_path.iterdir())


# ---- a real disk that is full ----


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB, where the test may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("may not mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk(small_disk, tmp_path, asia, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("CREDIBN_CHECKPOINT_SECONDS", "0")
    out = small_disk / "out"
    out.mkdir()
    with open(small_disk / "ballast", "wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(1024))
    result = learn_to(out, asia)
    assert result.exit_code == 4
    assert "9 networks in 3 Markov equivalence classes" in result.stdout
    assert result.stderr.count("warning: no checkpoint can be written to ") == 1
    assert "cannot be written (the disk is full)" in result.stderr
    assert CredibleSet.load(here / "out-result.credibn").n_networks == SETS_OF_ASIA
