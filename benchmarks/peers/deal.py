"""R's package deal, called by `Rscript deal.R`: networks by BDeu, each with its score."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from networkx import DiGraph

from benchmarks.peers.peer import Table, graph_of


def networks_by_deal(table: Table, sample_size: float, what: str) -> tuple[list[tuple[float, DiGraph]], float]:
    """Return networks with their scores, and the CPU seconds that R spent after it had read the table."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise ImportError("no Rscript")
    names = table.data.names
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.frame.to_csv(path, index=False)
        script = Path(__file__).with_suffix(".R")
        done = subprocess.run(
            [rscript, str(script), str(path), str(sample_size), what], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        if "there is no package" in done.stderr:
            raise ImportError("R has no package deal")
        raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
    first, *lines = done.stdout.splitlines()
    listed = []
    for line in lines:
        score, *edges = line.split()
        pairs = (edge.split(":") for edge in edges)
        network = graph_of(names, [(names[int(parent) - 1], names[int(child) - 1]) for parent, child in pairs])
        listed.append((float(score), network))
    return listed, float(first)
