"""The import graph of the package: ``python tools/import_graph.py``.

Prints lines, files, classes and imports, and the modules that are in a cycle. Imports inside functions and under
``TYPE_CHECKING`` count as all others do, and so does a module that is named in a string.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "polysema"
EXEMPT = (PACKAGE, f"{PACKAGE}.__main__", f"{PACKAGE}.cli")
"""Modules that may import everything: they are left out of cycles."""


@dataclass(frozen=True)
class Import:
    """One imported module: which module imports it, on which line, and the module imported."""

    importer: str
    line: int
    imported: str


def modules(package: Path) -> dict[str, Path]:
    """The file of every module, by its full name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(package: Path) -> list[Import]:
    """Every import of the package's own modules, wherever it stands in a file."""
    files = modules(package)
    found = []
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        base = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            for target in () if id(node) in documentation else _targets(node, base):
                while target not in files and "." in target:  # a name in a module, not a module
                    target = target.rpartition(".")[0]
                if target in files and target != name and not (target == PACKAGE and isinstance(node, ast.Constant)):
                    found.append(Import(name, node.lineno, target))  # type: ignore[attr-defined]
    return list(dict.fromkeys(found))


def _targets(node: ast.AST, base: list[str]) -> Iterator[str]:
    """What a statement or a string imports, with full names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = base[: len(base) - node.level + 1] if node.level else []
        module = ".".join([*start, *([node.module] if node.module else [])])
        yield from ([module] if module != PACKAGE else [])
        yield from (f"{module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from re.findall(rf"\b{PACKAGE}(?:\.\w+)+", node.value)


def in_cycles(found: list[Import]) -> list[str]:
    """The modules that import themselves through others."""
    edges: dict[str, set[str]] = {}
    for edge in found:
        if edge.importer not in EXEMPT and not edge.importer.startswith(f"{PACKAGE}.cli.") and edge.imported != PACKAGE:
            edges.setdefault(edge.importer, set()).add(edge.imported)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = list(edges[start])
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += edges.get(name, ())
        return seen

    return sorted(name for name in edges if name in reached(name))


def main() -> None:
    """Print the counts and the cycles."""
    package = ROOT / PACKAGE
    sources = [path.read_text(encoding="utf-8") for path in modules(package).values()]
    found = imports(package)
    classes = sum(isinstance(node, ast.ClassDef) for source in sources for node in ast.walk(ast.parse(source)))
    print(
        f"{sum(len(source.splitlines()) for source in sources):,} lines, {len(sources)} files, {classes} classes,",
        end=" ",
    )
    print(f"{len({(edge.importer, edge.imported) for edge in found}):,} imports")
    print("in a cycle:", ", ".join(in_cycles(found)) or "none")


if __name__ == "__main__":
    main()
