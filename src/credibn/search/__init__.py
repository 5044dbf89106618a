"""Search: the optimum and everything near it, by one of several engines that give the same answer."""

from credibn._run.tally import Tally, Unit
from credibn.search.engines import ENGINES, FACTORED, check_engine_name, choose_engine, run_search
from credibn.search.first_network import find_good_network
from credibn.search.problem import (
    Engine,
    EngineEstimate,
    Found,
    SearchProblem,
    choose_unit,
    exact_scores,
    make_problem,
    tolerance_of,
)

__all__ = [
    "ENGINES",
    "FACTORED",
    "Engine",
    "EngineEstimate",
    "Found",
    "SearchProblem",
    "Tally",
    "Unit",
    "check_engine_name",
    "choose_engine",
    "choose_unit",
    "exact_scores",
    "find_good_network",
    "make_problem",
    "run_search",
    "tolerance_of",
]
