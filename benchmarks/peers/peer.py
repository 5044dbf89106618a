"""What the problems share: peers that may be missing, CPU seconds, tables of data, scores of whole networks."""

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from networkx import DiGraph

from benchmarks.random_networks import random_gaussian_network
from benchmarks.runs import data_folder
from credibn import Dataset, SetScore, read_data
from credibn.examples import NETWORKS, sample_example, tic_tac_toe

Answer = TypeVar("Answer")
TOLERANCE = 1e-6
"""Relative: how far two scores of the same network may lie apart."""


def attempt(name: str, answer: Callable[[], Answer]) -> Answer | None:
    """Ask a peer; where it is not there or fails, print why and return None."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return answer()
    except ImportError as error:
        print(f"{name}: not installed ({error})", flush=True)
    except Exception as error:  # whatever a peer raises is its answer
        lines = str(error).strip().splitlines() or [""]
        print(f"{name}: does not run ({type(error).__name__}: {lines[0]})", flush=True)
    return None


def print_versions(distributions: tuple[str, ...]) -> None:
    found = []
    for name in distributions:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    print(f"Versions: {', '.join(found)}; CPU seconds.\n", flush=True)


@dataclass(frozen=True)
class Table:
    """One table of data, as a frame for the peers and as credibn reads it."""

    name: str
    frame: pd.DataFrame
    data: Dataset

    @property
    def n_variables(self) -> int:
        return self.data.n_variables


def table_of(name: str) -> Table:
    """The project's own examples by name, ``gaussian8`` or the like for numbers, or one of the authors' data sets."""
    if name.startswith("gaussian"):
        frame = random_gaussian_network(int(name.removeprefix("gaussian"))).sample(1000, seed=1)
        return Table(name, frame, read_data(frame, columns="continuous"))
    if name == "tic-tac-toe" or name in NETWORKS:
        frame = (tic_tac_toe() if name == "tic-tac-toe" else sample_example(name)).to_pandas().astype("category")
    else:
        frame = pd.read_csv(data_folder() / f"{name}.csv", dtype=str).astype("category")
    return Table(name, frame, read_data(frame))


def codes_of(table: Table) -> np.ndarray:
    """The states as numbers 0, 1, ..., one column for each variable."""
    return np.column_stack([table.frame[name].cat.codes for name in table.frame]).astype(np.int64)


def local_score(data: Dataset, score: SetScore, node: str, parents: list[str]) -> float:
    """Return one local score by the definition, in plain Python."""
    inside = sorted(data.index(name) for name in parents)
    family = sorted([*inside, data.index(node)])
    costs = [score.set_costs(data, np.array([members], dtype=np.intp))[0] for members in (inside, family)]
    return float(costs[0] - costs[1])


def network_score(data: Dataset, score: SetScore, network: DiGraph) -> float:
    return sum(local_score(data, score, node, list(network.predecessors(node))) for node in data.names)


def graph_of(names: tuple[str, ...], edges: Any) -> DiGraph:
    """A network over all variables, in their order."""
    graph = DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    return graph


def close(first: float, second: float) -> bool:
    return abs(first - second) <= TOLERANCE * max(abs(first), abs(second))
