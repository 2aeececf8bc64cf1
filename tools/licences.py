"""The licences of what an install brings, from the metadata of what is installed: ``python tools/licences.py``.

A row for each extra; "small" is the install without any, and what it brings is left out of the others. What is not
installed where this runs is said.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def brought(lines: list[str], extras: frozenset[str], found: set[str]) -> set[str]:
    """The names of the packages that some requirements bring, and those that these bring."""
    for line in lines:
        wanted = Requirement(line)
        name = canonicalize_name(wanted.name)
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            continue
        if name == "polysema":
            for extra in wanted.extras:
                brought(EXTRAS[extra], frozenset(), found)
        elif name not in found:
            found.add(name)
            try:
                brought(distribution(name).requires or [], frozenset(wanted.extras), found)
            except PackageNotFoundError:
                continue
    return found


def licence(name: str) -> str:
    """What a package says of its licence: an SPDX expression, classifiers, or the first line of a free text."""
    try:
        facts = distribution(name).metadata
    except PackageNotFoundError:
        return "not installed here"
    classes = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier") or [] if c.startswith("License ::")]
    return facts.get("License-Expression") or ", ".join(classes) or (facts.get("License") or "not said").splitlines()[0]


def main() -> None:
    """Print the table."""
    small = brought(PROJECT["dependencies"], frozenset(), set())
    print("| install | packages by licence, as their metadata has it |\n|---|---|")
    for install, lines in {"small": PROJECT["dependencies"], **EXTRAS}.items():
        if install in ("dev", "docs"):
            continue
        named = defaultdict(list)
        for name in sorted(brought(lines, frozenset(), set()) - (small if install != "small" else set())):
            named[licence(name)].append(name)
        told = "; ".join(f"{what}: " + ", ".join(names) for what, names in sorted(named.items()))
        print(f"| `{install}` | {told} |")


if __name__ == "__main__":
    main()
