"""pygobnilp with a Gurobi that still runs: the size-limited licence of the newest gurobipy, and its calling form.

pygobnilp 1.0 states constraints as (left, sense, right), which gurobipy 12 and later refuse, and the licences that came
with earlier gurobipy have expired. So the models made here translate the old form. It also imports pygraphviz to draw,
which learning never calls: an empty module stands in where it is missing.
"""

import functools
import importlib.util
import operator
import sys
import types
from typing import Any

from benchmarks.peers.peer import Table, table_of

RELATIONS = {"<": operator.le, ">": operator.ge, "=": operator.eq}


class OldForm:
    """A mixin for gurobipy models: constraints as (left, sense, right) besides relations."""

    def addConstr(self, left: Any, sense: Any = "", right: Any = None, name: str = "") -> Any:  # noqa: N802
        if right is None:
            return super().addConstr(left, sense)
        return super().addConstr(RELATIONS[sense](left, right), name)

    def cbLazy(self, left: Any, sense: Any = None, right: Any = None) -> None:  # noqa: N802
        super().cbLazy(left if right is None else RELATIONS[sense](left, right))

    def cbCut(self, left: Any, sense: Any = None, right: Any = None) -> None:  # noqa: N802
        super().cbCut(left if right is None else RELATIONS[sense](left, right))


def learned_by_gobnilp(table: Table, **options: Any) -> Any:
    """Return the model after `learn`; BIC, parent sets of any size."""
    model = model_class()()
    model.learn(table.frame.copy(), score="DiscreteBIC", palim=None, end="BN(s)", **options)
    return model


@functools.cache
def model_class() -> Any:
    """Import pygobnilp, and have numba compile its functions, which is not a part of learning."""
    if "pygraphviz" not in sys.modules and importlib.util.find_spec("pygraphviz") is None:
        sys.modules["pygraphviz"] = types.ModuleType("pygraphviz")
    import gurobipy
    from pygobnilp import gobnilp

    gobnilp.Model = type("Model", (OldForm, gurobipy.Model), {})  # the models of its separation problems
    adapted = type("Gobnilp", (OldForm, gobnilp.Gobnilp), {})
    adapted().learn(table_of("sprinkler").frame, score="DiscreteBIC", palim=None, end="BN(s)")
    return adapted
