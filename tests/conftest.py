"""Where the tests find real data: a folder that is not part of the package; and which compiled core they drive."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from profiles import register_profiles

SAMPLED = ("process", "reference")
"""The tiers of which `make test` runs a sample."""

register_profiles()


def _use_core(file: str) -> None:
    """Drive the compiled core in this file, built with sanitizers, instead of the installed one (make sanitize)."""
    spec = importlib.util.spec_from_file_location("credibn._core", file)
    assert spec is not None
    assert spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    sys.modules["credibn._core"] = core
    spec.loader.exec_module(core)
    import credibn

    credibn._core = core  # as importing it does: tests replace its functions by their path


if "CREDIBN_CORE" in os.environ:
    _use_core(os.environ["CREDIBN_CORE"])


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what `make test` leaves out: of a test that is marked as `few`, all but a few cases.

    In the tiers of which it runs a sample, each test has one case.
    """
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and "slow" not in item.keywords:
            cases.setdefault((item.path, item.nodeid.split("[")[0]), []).append(item)
    for (path, _), of_test in cases.items():
        few = of_test[0].get_closest_marker("few")
        n = few.args[0] if few else 1 if path.parent.name in SAMPLED else len(of_test)
        chosen = {k * len(of_test) // n for k in range(n)}
        for k, item in enumerate(of_test):
            if k not in chosen:
                item.add_marker("slow")


@pytest.fixture(scope="session", params=["brute_force", "dynamic_programming", "integer_program"])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of a search engine: every test of the search runs with each."""
    from brute_force_engine import BruteForce  # not before the core has been chosen
    from credibn.search import ENGINES

    name: str = request.param
    ENGINES.setdefault("brute_force", BruteForce())
    return name


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets: CREDIBN_DATA, or else ../shared/data beside the repository."""
    named = os.environ.get("CREDIBN_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data folder at {folder}: set CREDIBN_DATA to the folder of real data sets")
    return folder


@pytest.fixture(scope="session")
def published(shared_data: Path) -> Path:
    """The folder of published results, beside that of the data."""
    folder = shared_data.parent / "published"
    if not folder.is_dir():
        pytest.skip(f"no published results at {folder}: they should lie beside the data folder, see CREDIBN_DATA")
    return folder
