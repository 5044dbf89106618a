"""Write docs/licences.md: the licences of what credibn needs, from the metadata of the installed packages.

``python docs/make_licences.py`` (or ``make licences``) reads the requirements of pyproject.toml, follows them through
the environment it runs in, and writes the page. Versions are left out, so that the page changes only when a package
comes, goes or changes its licence.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
ALLOWED = {
    "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-CMU", "MPL-2.0",
    "Python-2.0", "PSF-2.0", "Unlicense", "Zlib", "0BSD",
}  # fmt: skip
"""Licences that a package needed at run time may have: each lets a program under MIT use the package unchanged."""

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
}
_NAMES = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "MIT license": "MIT",
    "2-clause BSD": "BSD-2-Clause",
}


def plain(name: str) -> str:
    """Return the name of a package as all its spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(package: Distribution) -> str:
    """Return the licence as an SPDX expression where the metadata gives or implies one; else what it says."""
    expression = package.metadata.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [line.split(" :: ")[-1] for line in package.metadata.get_all("Classifier") or [] if "License" in line]
    known = sorted({_CLASSIFIERS.get(name, name) for name in classifiers if name != "OSI Approved"})
    stated = str(package.metadata.get("License") or "").strip()
    if "\n" not in stated and 0 < len(stated) < 60 and (not known or known == ["BSD"]):
        return _NAMES.get(stated, stated)
    return " OR ".join(known) or "not stated"


def is_allowed(licence: str) -> bool:
    """Return whether each part of an SPDX expression is allowed; of alternatives, one."""
    parts = licence.replace("(", " ").replace(")", " ").split(" AND ")
    return all(any(choice.strip() in ALLOWED for choice in part.split(" OR ")) for part in parts)


def needed_by(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Return every installed package that the requirements need, directly or through others, by plain name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    seen = set()
    while waiting:
        wanted = waiting.pop()
        extras = wanted.extras or {""}
        key = (plain(wanted.name), frozenset(extras))
        if key in seen or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        seen.add(key)
        try:
            package = distribution(wanted.name)
        except PackageNotFoundError:
            continue  # a group that is not installed here
        found[key[0]] = package
        for text in package.requires or ():
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in {*extras, ""}):
                inner.marker = None
                waiting.append(inner)
    return dict(sorted(found.items()))


def project() -> dict[str, list[str]]:
    """Return the requirements of pyproject.toml: ``run`` for those of every user, then each extra and group."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["project"]["optional-dependencies"]
    return {"run": settings["project"]["dependencies"], **extras, **settings["dependency-groups"]}


def table(packages: dict[str, Distribution]) -> str:
    """Return the packages and their licences as a table of the page."""
    rows = [f"| {name} | {licence_of(package)} |" for name, package in packages.items()]
    return "\n".join(["| package | licence |", "|---|---|", *rows])


def page() -> str:
    """Return the page: its own text, and the tables anew."""
    requirements = project()
    run = needed_by(requirements.pop("run"))
    others = needed_by(text for listed in requirements.values() for text in listed)
    developing = {name: package for name, package in others.items() if name not in run}
    head, _, _ = PAGE.read_text(encoding="utf-8").partition("<!-- made by docs/make_licences.py -->")
    return (
        f"{head}<!-- made by docs/make_licences.py -->\n\n## Needed at run time\n\n{table(run)}\n\n"
        f"## Extras and development only\n\n{table(developing)}\n"
    )


def refused(packages: dict[str, Distribution]) -> list[str]:
    """Return the packages whose licence is not allowed at run time, with the licence."""
    licences = {name: licence_of(package) for name, package in packages.items()}
    return [f"{name} ({licence})" for name, licence in licences.items() if not is_allowed(licence)]


def main() -> None:
    """Write the page, or end with the packages that break the rule."""
    wrong = refused(needed_by(project()["run"]))
    if wrong:
        sys.exit(f"needed at run time under a licence that docs/licences.md does not allow: {', '.join(wrong)}")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
