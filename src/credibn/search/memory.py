"""Whether the memory that an engine predicts can be had."""

import math
import os
from dataclasses import replace

from credibn.search.problem import EngineEstimate, SearchProblem

__all__ = ["allowed_bytes", "usable_bytes", "within_memory"]

_SHARE = 0.8
"""Of the machine's memory, the most that an engine may plan to use."""
_RESULT_SHARE = 0.4
"""The most that the networks found may take while they are sorted, where the caller sets no limit."""


def within_memory(problem: SearchProblem, estimate: EngineEstimate) -> EngineEstimate:
    """Return the estimate, not possible where it needs more than the limit or most of the machine's memory."""
    limit = min(problem.max_bytes or math.inf, usable_bytes())
    if not estimate.possible or estimate.bytes <= limit:
        return estimate
    need, allowed = estimate.bytes / 2**30, limit / 2**30
    reason = f"it needs {need:,.2f} GiB, and may have {allowed:,.2f} GiB; raise memory_limit or use a larger machine"
    return replace(estimate, possible=False, reason=reason)


def allowed_bytes(problem: SearchProblem) -> int | None:
    """Return how much the networks found may take: never more than the machine can hold."""
    by_machine = _RESULT_SHARE * _memory_bytes()
    allowed = min(problem.max_bytes or math.inf, by_machine)
    return None if math.isinf(allowed) else int(allowed)


def usable_bytes() -> float:
    """Return how much memory may be planned for: most of the machine's."""
    return _SHARE * _memory_bytes()


def _memory_bytes() -> float:
    """Return the memory of the machine; without bound where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf
