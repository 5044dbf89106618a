"""The paper's experiments, computed again: its tables and its figure, with the printed numbers beside ours."""

from credibn.reproduction.computing import compute
from credibn.reproduction.measuring import Limits
from credibn.reproduction.page import write_results
from credibn.reproduction.run import (
    EXPERIMENTS,
    Followed,
    Outcome,
    Plan,
    circumstances,
    collect_tables,
    make_plan,
    run_plan,
)
from credibn.reproduction.sources import Sources

__all__ = [
    "EXPERIMENTS",
    "Followed",
    "Limits",
    "Outcome",
    "Plan",
    "Sources",
    "circumstances",
    "collect_tables",
    "compute",
    "make_plan",
    "run_plan",
    "write_results",
]
