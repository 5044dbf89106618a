"""Whether the memory that an engine predicts can be had, and how much is left for what it finds."""

import math
from dataclasses import replace

from credibn._base.text import byte_text
from credibn._run.memory import limit_and_fix, usable_bytes
from credibn.errors import Option, Phrase
from credibn.search.problem import EngineEstimate, SearchProblem

_TABLE_SHARE = 0.875
"""The most that an engine's own tables may take of what is allowed: what it finds needs room too."""
_RESULT_SHARE = 0.5
"""The most that the networks found may take while they are sorted, where the caller sets no limit."""


def within_memory(problem: SearchProblem, estimate: EngineEstimate) -> EngineEstimate:
    """Return the estimate, not possible where it needs more than the limit or most of the memory there is."""
    usable = usable_bytes()
    limit = _TABLE_SHARE * min(problem.max_bytes or math.inf, usable)
    if not estimate.possible or estimate.bytes <= limit:
        return estimate
    need, allowed = byte_text(estimate.bytes), byte_text(limit)
    reason = Phrase("it needs {}, but {} can be used: {}", need, allowed, limit_and_fix())
    if problem.max_bytes is not None and problem.max_bytes < usable:
        reason = Phrase("it needs {}, but the limit allows {}; raise {}", need, allowed, Option("memory_limit"))
    return replace(estimate, possible=False, reason=reason)


def allowed_bytes(problem: SearchProblem, taken: int = 0) -> int | None:
    """Return how many bytes the networks found may take where `taken` are in use."""
    by_machine = _RESULT_SHARE * (usable_bytes() - taken)
    allowed = min((problem.max_bytes or math.inf) - taken, by_machine)
    return None if math.isinf(allowed) else max(1, int(allowed))
