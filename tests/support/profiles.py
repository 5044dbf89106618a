"""How much the tests try: little in `make test`, more in `make test-all` (which sets `--hypothesis-profile`)."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

PROFILES = {"quick": 5, "thorough": 200, "sanitized": 15}
"""How many examples a test gets that does not use `examples`, by the name of the profile."""
FEWEST = 3


def register_profiles() -> None:
    """Make the profiles known to Hypothesis, and load the quick one."""
    for name, n in PROFILES.items():
        # A busy machine is slow, not wrong: no test fails for the time that one example takes.
        settings.register_profile(name, max_examples=n, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("quick")


def examples(n: int, *ignored: HealthCheck) -> settings:
    """Settings for a test that gets n examples where other tests get 100; the profile scales both."""
    profile = settings()
    return settings(
        max_examples=max(min(n, FEWEST), n * profile.max_examples // 100),
        suppress_health_check=[*profile.suppress_health_check, *ignored],
    )


def sampled(n: int, values: Iterable[Any]) -> list[Any]:
    """Values of a parameter, of which `make test` takes the first n only."""
    return [value if k < n else pytest.param(value, marks=pytest.mark.slow) for k, value in enumerate(values)]
