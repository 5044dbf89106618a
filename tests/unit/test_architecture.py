"""The pipeline is the architecture: imports between its stages point one way."""

import ast
from functools import cache
from pathlib import Path

import pytest

import credibn

PACKAGE = Path(credibn.__file__).parent
STAGES = {
    "errors": 0,
    "_base": 1,
    "options": 2,
    "_run": 3,
    "data": 4,
    "scores": 5,
    "graphs": 6,
    "search": 7,
    "posterior": 7,
    "factored": 8,
    "credible": 9,
    "models": 10,
    "effects": 11,
    "learning": 11,
    "imputation": 12,
    "report": 13,
    "examples": 13,
    "sklearn": 14,
    "cli": 15,
    "__main__": 16,
}
"""Each stage may import itself and those with a smaller number; equal numbers do not know each other.

A result shows itself through `report` and answers through `effects`, which it imports inside functions.
"""
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def stage_of(name):
    """The part of ``credibn.<stage>...`` that names the stage; None for the package itself."""
    parts = name.split(".")
    return parts[1] if parts[0] == "credibn" and len(parts) > 1 else None


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path):
    """The imports of a file; several tests ask for them."""
    return tuple(_imports(path))


def _imports(path):
    """Every module that a file imports, names imported from credibn itself in full, and whether not at once.

    Later are those inside a function, and those for the type checker alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    later += [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    inside = {id(node) for part in later for node in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports name their module in full"
            is_package = node.module == "credibn"
            names = [f"credibn.{alias.name}" for alias in node.names] if is_package else [node.module]
            yield from ((name, id(node) in inside) for name in names)


@pytest.mark.parametrize("path", MODULES, ids=[module_name(path) for path in MODULES])
def test_imports_point_one_way(path):
    own = stage_of(module_name(path))
    if own is None:  # the package's own __init__ gathers the public names
        return
    assert own in STAGES, f"{module_name(path)} belongs to no stage: give it a place in STAGES"
    for name, is_inside_a_function in imports(path):
        other = stage_of(name)
        if other in ("report", "effects") and is_inside_a_function:
            continue
        if other in STAGES and other != own:
            assert STAGES[other] < STAGES[own], f"{module_name(path)} imports {name}, a later stage"
        elif name == "credibn" or (other not in STAGES and other in credibn.__all__):
            assert STAGES[own] >= STAGES["report"], (
                f"{module_name(path)} imports the whole package: name the stage it needs"
            )


@pytest.mark.parametrize("path", MODULES, ids=[module_name(path) for path in MODULES])
def test_few_stages_know_the_compiled_core(path):
    if stage_of(module_name(path)) not in ("scores", "graphs", "search", "factored", "credible", "posterior"):
        assert not [name for name, _ in imports(path) if name.startswith("credibn._core")]


def test_the_paper_s_experiments_use_public_names_and_five_internal_modules():
    paper = PACKAGE.parents[1] / "paper"
    names = {name for path in paper.rglob("*.py") for name, _ in imports(path) if name.startswith("credibn.")}
    internal = {name for name in names if name.removeprefix("credibn.") not in (*credibn.__all__, "errors")}
    assert internal == {
        "credibn._base.atomic",
        "credibn.credible.structures",
        "credibn.graphs",
        "credibn.options",
        "credibn.report.figures",
    }
    assert not [path for path in MODULES for name, _ in imports(path) if name.split(".")[0] == "paper"]


def test_public_names_are_listed_and_exist():
    for name in credibn.__all__:
        assert hasattr(credibn, name)
    assert list(credibn.__all__) == sorted(set(credibn.__all__), key=lambda name: (name.upper() != name, name))
