"""The pipeline is the architecture: imports between its stages point one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import credibn

PACKAGE = Path(credibn.__file__).parent
STAGES = {
    "errors": 0,
    "_base": 1,
    "drawing": 1,
    "notebook": 2,
    "options": 2,
    "_run": 3,
    "data": 4,
    "scores": 5,
    "graphs": 6,
    "search": 7,
    "posterior": 7,
    "credible": 8,
    "models": 9,
    "learning": 10,
    "report": 11,
    "examples": 11,
    "sklearn": 12,
    "reproduction": 12,
    "cli": 13,
    "__main__": 14,
}
"""Each stage may import itself and those with a smaller number; equal numbers do not know each other."""
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def stage_of(name):
    """The part of ``credibn.<stage>...`` that names the stage; None for the package itself."""
    parts = name.split(".")
    return parts[1] if parts[0] == "credibn" and len(parts) > 1 else None


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path):
    """Every module that a file imports, wherever in the file; names imported from credibn itself in full."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports name their module in full"
            is_package = node.module == "credibn"
            yield from (f"credibn.{alias.name}" for alias in node.names) if is_package else (node.module,)


@pytest.mark.parametrize("path", MODULES, ids=[module_name(path) for path in MODULES])
def test_imports_point_one_way(path):
    own = stage_of(module_name(path))
    if own is None:  # the package's own __init__ gathers the public names
        return
    assert own in STAGES, f"{module_name(path)} belongs to no stage: give it a place in STAGES"
    for name in imported_names(path):
        other = stage_of(name)
        if other in STAGES and other != own:
            assert STAGES[other] < STAGES[own], f"{module_name(path)} imports {name}, a later stage"
        elif name == "credibn" or (other not in STAGES and other in credibn.__all__):
            assert STAGES[own] >= STAGES["report"], (
                f"{module_name(path)} imports the whole package: name the stage it needs"
            )


@pytest.mark.parametrize("path", MODULES, ids=[module_name(path) for path in MODULES])
def test_few_stages_know_the_compiled_core(path):
    if stage_of(module_name(path)) not in ("scores", "graphs", "search", "credible", "posterior"):
        assert not [name for name in imported_names(path) if name.startswith("credibn._core")]


def test_public_names_are_listed_and_exist():
    for name in credibn.__all__:
        assert hasattr(credibn, name)
    assert list(credibn.__all__) == sorted(set(credibn.__all__), key=lambda name: (name.upper() != name, name))


def run_python(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    ).stdout.split()


@pytest.mark.parametrize("module", ["matplotlib", "pandas", "polars", "scipy", "sklearn", "typer", "rich"])
def test_import_does_no_heavy_work(module):
    assert run_python(f"import sys, credibn; print({module!r} in sys.modules)") == ["False"]


def test_import_is_silent_and_starts_no_thread():
    script = "import threading, credibn; print(threading.active_count())"
    assert run_python(script) == ["1"]
