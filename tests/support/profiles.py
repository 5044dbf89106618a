"""How many examples Hypothesis tries: fewer in `make test`, more in `make test-all` (`--hypothesis-profile`)."""

from hypothesis import HealthCheck, settings

PROFILES = {"quick": 30, "thorough": 200, "sanitized": 15}
"""How many examples a test gets that does not use `examples`, by the name of the profile."""
FEWEST = 5


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
