"""The engine that searches by integer programming; how it goes about it is told in ``exploration.py``."""

from dataclasses import asdict

from credibn.search.checkpoints import Checkpoints
from credibn.search.collection import found_in, new_collection, tally_of
from credibn.search.distribution import hand_out
from credibn.search.exploration import Exploration
from credibn.search.problem import EngineEstimate, Found, SearchProblem

__all__ = ["IntegerProgram"]


class IntegerProgram:
    """Closes the gap between a relaxation and the best network, then lists what is left."""

    name = "integer_program"

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        """Predict roughly: how well the relaxation closes the gap is not known beforehand."""
        m = len(problem.costs)
        return EngineEstimate(True, f"{m:,} candidates", 200 * m + (1 << 20), 0.1 + 1e-4 * m, is_firm=False)

    def search(self, problem: SearchProblem) -> Found:
        """Find everything wanted."""
        collection = new_collection(problem)
        run = Exploration(problem, collection, cuts_walks=not problem.bench.is_embedded)
        problem.follow(lambda: tally_of(problem, collection, run.lowest_cost))
        checkpoints = Checkpoints(problem, collection)
        kept = checkpoints.restore()
        branches = run.begin() if kept is None else run.restore(kept)
        if problem.bench.has_executor:
            unexplored = hand_out(run, branches, checkpoints)
        else:
            unexplored = run.explore(branches, checkpoints)
        return found_in(problem, collection, unexplored, asdict(run.statistics))
