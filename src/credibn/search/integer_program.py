"""The engine that searches by integer programming; how it goes about it is told in ``exploration.py``."""

import math
from dataclasses import asdict

from credibn.search.checkpoints import Checkpoints
from credibn.search.collection import found_in, new_collection, tally_of, ties_of
from credibn.search.problem import EngineEstimate, Found, SearchProblem


class IntegerProgram:
    """Closes the gap between a relaxation and the best network, then lists the rest."""

    name = "integer_program"

    def estimate(self, problem: SearchProblem) -> EngineEstimate:
        """Predict roughly: how well the relaxation closes the gap is not known beforehand."""
        m = len(problem.costs)
        return EngineEstimate(True, f"{m:,} candidates", 200 * m + (1 << 20), 0.1 + 1e-4 * m, is_firm=False)

    def search(self, problem: SearchProblem) -> Found:
        """Find everything wanted."""
        from credibn.search.distribution import hand_out  # most tables are left to the other engine: they do not wait
        from credibn.search.exploration import Exploration

        collection = new_collection(problem)
        is_shared = problem.run.executor is not None and not problem.optimum_only
        search = Exploration(problem, collection, splits_listings=is_shared, is_serial=problem.optimum_only)
        problem.run.follow(lambda: tally_of(problem, collection, search.lowest_cost))
        checkpoints = Checkpoints(problem, collection)
        state = checkpoints.restore()
        branches = search.begin() if state is None else search.resume(state)
        unexplored = hand_out(search, branches, checkpoints) if is_shared else search.explore(branches, checkpoints)
        tied = search.list_ties() if problem.optimum_only and unexplored == math.inf else None
        if tied is not None:
            return found_in(ties_of(problem), tied, math.inf, asdict(search.statistics))
        return found_in(problem, collection, unexplored, asdict(search.statistics))
