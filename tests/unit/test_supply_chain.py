"""What is installed is locked and has a licence that fits; the source distribution holds what a build needs."""

import re
import sys
import tarfile
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec, module_from_spec, spec_from_file_location

import pytest
from packaging.requirements import Requirement

from pages import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKED_GROUPS = {
    "run": ("build",),
    "dev": ("build", "package", "test", "lint", "docs"),
    "bench": ("bench",),
    "build": ("build", "package"),
}
"""The dependency groups in each lock file; all but ``build`` hold what credibn needs at run time too."""
PYTHONS = ("3.11", "3.12", "3.13")


def make_licences():
    spec = spec_from_file_location("make_licences", ROOT / "docs" / "make_licences.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LICENCES = make_licences()


def locked(name):
    """Return the requirements of a lock file, each with its number of hashes."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^([a-z0-9][^\\\n]*?) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, flags=re.M)
    named = re.findall(r"^[a-z0-9].*==.*$", text, flags=re.M)
    assert len(entries) == len(named), "each release has hashes"
    return [Requirement(line) for line, _ in entries]


def wanted(name):
    texts = [] if name == "build" else list(SETTINGS["project"]["dependencies"])
    for group in LOCKED_GROUPS[name]:
        texts += SETTINGS["dependency-groups"][group]
    return [Requirement(text) for text in texts]


class TestLock:
    def test_every_group_is_in_a_lock_file(self):
        assert {group for groups in LOCKED_GROUPS.values() for group in groups} == set(SETTINGS["dependency-groups"])
        assert {path.stem for path in (ROOT / "requirements").iterdir()} == set(LOCKED_GROUPS)

    @pytest.mark.parametrize("name", LOCKED_GROUPS)
    def test_holds_each_requirement_for_each_python(self, name):
        releases = locked(name)
        for python in PYTHONS:
            here = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
            present = {LICENCES.plain(one.name): one for one in releases if not one.marker or one.marker.evaluate(here)}
            for requirement in wanted(name):
                release = present.get(LICENCES.plain(requirement.name))
                assert release is not None, f"{requirement} is not in {name}.lock: run make lock"
                version = str(release.specifier).removeprefix("==")
                assert requirement.specifier.contains(version, prereleases=True), f"{release}: run make lock"

    @pytest.mark.parametrize("name", LOCKED_GROUPS)
    def test_pins_one_release_and_names_no_place(self, name):
        text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
        assert "://" not in text
        assert not re.search(r"^\s*(-i|-f|--index|--extra-index|--find-links)", text, flags=re.M)
        assert all(re.fullmatch(r"==[^,*]+", str(release.specifier)) for release in locked(name))

    @pytest.mark.parametrize("name", sorted(set(LOCKED_GROUPS) - {"dev"}))
    def test_agrees_with_that_of_development(self, name):
        releases = {(one.name, str(one.specifier)) for one in locked("dev")}
        shared = {one for one, _ in releases}
        assert {(one.name, str(one.specifier)) for one in locked(name) if one.name in shared} <= releases


class TestLicences:
    def test_of_all_that_is_needed_at_run_time_are_allowed_and_listed(self):
        needed = LICENCES.needed_by(LICENCES.project()["run"])
        assert {"numpy", "duckdb", "markupsafe"} <= set(needed), "direct requirements, and those of requirements"
        assert LICENCES.refused(needed) == []
        run_time, _, _ = LICENCES.PAGE.read_text(encoding="utf-8").partition("## Extras and development only")
        missing = [name for name in needed if f"\n| {name} | " not in run_time]
        assert missing == [], "run make licences"

    @pytest.mark.parametrize(
        ("licence", "is_allowed"),
        [
            ("MIT", True),
            ("BSD-3-Clause AND (MIT OR GPL-2.0-only)", True),
            ("MIT AND GPL-3.0-only", False),
            ("LGPL-3.0-only", False),
            ("not stated", False),
        ],
    )
    def test_the_rule(self, licence, is_allowed):
        assert LICENCES.is_allowed(licence) is is_allowed

    def test_the_notice_of_nanobind_is_the_one_that_it_carries(self):
        try:
            files = distribution("nanobind").files or []
        except PackageNotFoundError:
            pytest.skip("nanobind is not installed: make test installs it")
        text = next(file for file in files if file.name == "LICENSE").read_text(encoding="utf-8")
        assert (ROOT / "cpp" / "licences" / "nanobind.LICENSE").read_text(encoding="utf-8") == text


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("scikit_build_core"), reason="scikit-build-core is not installed")
def test_the_source_distribution_holds_what_a_build_needs_and_nothing_more(tmp_path, monkeypatch):
    from scikit_build_core.build import build_sdist

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["build"])
    with tarfile.open(tmp_path / build_sdist(str(tmp_path))) as archive:
        held = {name.split("/", 1)[1] for name in archive.getnames()}
    files = [path for part in ("cpp", "src") for path in (ROOT / part).rglob("*") if path.is_file()]
    expected = {path.relative_to(ROOT).as_posix() for path in files if path.suffix not in (".pyc", ".so")}
    top = {"CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert held == expected | top
