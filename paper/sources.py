"""The files that the experiments read, and where to get those that are missing.

A data set is ``NAME.csv`` in the folder given, with a header line, one column for each variable; a network is
``networks/NAME.bif`` or ``NAME.bif``. Neither is part of this project.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from credibn import BayesianNetwork, Dataset, read_data, read_network
from credibn.errors import OptionError

Need = Literal["data", "network"]

_ENDINGS: dict[Need, tuple[str, ...]] = {"data": (".csv", ".csv.gz", ".parquet"), "network": (".bif", ".bif.gz")}
_FILES: dict[Need, str] = {"data": "{}.csv", "network": "networks/{}.bif"}
_AUTHORS = "the authors' repository alisterl/eBNSL has the discretised table (add a line with names of the columns)"
_UCI = {
    "tictactoe": "Tic-Tac-Toe Endgame",
    "wine": "Wine",
    "adult": "Adult",
    "msnbc": "MSNBC.com Anonymous Web Data",
    "letter": "Letter Recognition",
    "voting": "Congressional Voting Records",
    "zoo": "Zoo",
    "hepatitis": "Hepatitis",
    "parkinsons": "Parkinsons",
    "sensors": "Wall-Following Robot Navigation Data",
    "autos": "Automobile",
    "horse": "Horse Colic",
    "flag": "Flags",
    "wdbc": "Breast Cancer Wisconsin (Diagnostic)",
    "soybean": "Soybean (Large)",
    "bands": "Cylinder Bands",
    "spectf": "SPECTF Heart",
    "sponge": "Sponge",
    "lungcancer": "Lung Cancer",
}
"""What the data sets are called in the UCI Machine Learning Repository."""


@dataclass(frozen=True)
class Missing:
    """A file that an experiment needs and that is not there: its name in the folder, and where to get it."""

    name: str
    need: Need
    file: str
    where: str


@dataclass(frozen=True)
class Sources:
    """The folder with data sets and networks."""

    folder: Path

    def find(self, name: str, need: Need) -> Path | None:
        """Return the file of a data set or a network, or None where there is none."""
        folders = (self.folder / "networks", self.folder) if need == "network" else (self.folder,)
        paths = (folder / f"{name}{ending}" for folder in folders for ending in _ENDINGS[need])
        return next((path for path in paths if path.is_file()), None)

    def fingerprint(self, name: str, need: Need) -> str | None:
        """Return the SHA-256 of the file's bytes, or None where there is no file."""
        path = self.find(name, need)
        if path is None:
            return None
        state = path.stat()
        return _digest(path, state.st_mtime_ns, state.st_size)

    def read(self, name: str, need: Need) -> Dataset | BayesianNetwork:
        """Return a data set, every value of which is a category, or a network with its parameters."""
        path = self.find(name, need)
        if path is None:
            raise OptionError(f"there is no {need} file of {name!r} in {self.folder}: {where_to_get(name, need)}")
        if need == "network":
            return _network(path, self.fingerprint(name, need))
        return read_data(path, columns="discrete")

    def missing(self, needed: Iterable[tuple[str, Need]]) -> list[Missing]:
        """Return which of the files needed are not there, each once, in order."""
        return [
            Missing(name, need, _FILES[need].format(name), where_to_get(name, need))
            for name, need in dict.fromkeys(needed)
            if self.find(name, need) is None
        ]


def where_to_get(name: str, need: Need) -> str:
    """Say in words where a data set or network is available."""
    if need == "network":
        return f"{name!r} in the Bayesian Network Repository, as a BIF file"
    if name in _UCI:
        return f"{_AUTHORS}; the original is '{_UCI[name]}' in the UCI Machine Learning Repository"
    if name == "nltcs":
        return f"{_AUTHORS}; the original is the National Long Term Care Survey"
    return f"{_AUTHORS}; it is a sample of a network in the Bayesian Network Repository"


@lru_cache(maxsize=256)
def _digest(path: Path, modified: int, size: int) -> str:
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


@lru_cache(maxsize=1)
def _network(path: Path, fingerprint: str | None) -> BayesianNetwork:
    """Read a network once for all the samples that are drawn from it one after the other."""
    return read_network(path)
