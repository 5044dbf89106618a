"""The folders of the compiled core are namespaces, and their includes point one way."""

import re
from pathlib import Path

import pytest

CORE = next(folder / "cpp" for folder in Path(__file__).resolve().parents if (folder / "cpp").is_dir())
INCLUDES = {
    "base": set(),
    "scoring": {"base"},
    "classes": {"base"},
    "search": {"base", "classes"},
    "cuts": {"base", "search"},
    "subsets": {"base", "search"},
    "averages": {"base", "classes"},
    "posterior": {"base"},
    "factored": {"base"},
}
"""What each folder may include besides itself. The bindings may include everything, and nothing includes them."""
FILES = sorted(path for path in CORE.glob("*/*.?pp"))


def test_every_folder_is_known():
    assert {path.parent.name for path in FILES} == INCLUDES.keys() | {"bind"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_includes_point_one_way(path):
    folder, text = path.parent.name, path.read_text(encoding="utf-8")
    allowed = INCLUDES.get(folder, set(INCLUDES)) | {folder}
    assert set(re.findall(r'#include "(.*)/', text)) <= allowed
    assert set(re.findall(r"^namespace (credibn.*) {", text, re.MULTILINE)) == {f"credibn::{folder}"}
    if folder != "bind":
        assert not re.search("nanobind|Python.h", text)
