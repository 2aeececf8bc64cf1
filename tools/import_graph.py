"""The import graph of the package, room by room: its picture for docs/design.md, and its numbers.

    python tools/import_graph.py --output docs/import-graph.svg
    python tools/import_graph.py --count [CHECKOUT …]

A room is a module or a folder directly below ``polysema/``. Lines of code are those without docstrings, comments, blank
lines and imports. Imports inside functions and under ``TYPE_CHECKING`` count as all others do. The order of rooms is
the list in ``docs/design.md``: an import may only point down that list, or to a room on the same line.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = "polysema"
BROUGHT = (
    "engine", "explorer", "slots", "senses", "integrations", "progress", "cli.senses", "composition.negation",
    "encoders.groups",
    "files.compiling", "files.door", "files.lock",
    "files.signals", "files.working", "kernels.combine", "kernels.digest", "lexicon.edits", "lexicon.faces",
    "lexicon.memory", "lexicon.telling", "lexicon.worldly", "training.ahead", "training.replicas", "training.sweep",
)  # fmt: skip
"""Rooms and modules that issues 14 to 20 brought, after the redesign of issue 13."""


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
        base = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for target in _targets(node, base):
                while target not in files and "." in target:  # a name in a module, not a module
                    target = target.rpartition(".")[0]
                if target in files and target != name:
                    found.append(Import(name, node.lineno, target))  # type: ignore[attr-defined]
    return found


def _targets(node: ast.AST, base: list[str]) -> Iterator[str]:
    """What a statement imports, with full names; ``import_module("…")`` counts, too."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = base[: len(base) - node.level + 1] if node.level else []
        module = ".".join([*start, *([node.module] if node.module else [])])
        yield from (f"{module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
        yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))


def room(module: str) -> str:
    """The room a module is in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def layers(design: Path = ROOT / "docs" / "design.md") -> list[list[str]]:
    """The rooms from bottom to top, those of a line together: the block of rooms in docs/design.md."""
    block = design.read_text(encoding="utf-8").partition("```rooms\n")[2].partition("```")[0]
    lines = [line.split("  ")[0] for line in block.splitlines() if line.strip()]
    return [[name.strip() for name in line.split(",")] for line in lines]


def upward(found: list[Import], order: list[list[str]]) -> list[Import]:
    """The imports that point up the list."""
    height = {name: level for level, names in enumerate(order) for name in names}
    return [edge for edge in found if height[room(edge.importer)] < height[room(edge.imported)]]


def is_brought(module: str) -> bool:
    """Whether a module serves what issues 14 to 20 brought."""
    own = module.removeprefix(f"{PACKAGE}.")
    return any(own == name or own.startswith(f"{name}.") for name in BROUGHT)


def code_lines(path: Path) -> int:
    """Lines of a file without docstrings, comments, blank lines and imports."""
    text = path.read_text(encoding="utf-8")
    other: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        alone = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if alone or isinstance(node, ast.Import | ast.ImportFrom):
            other.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(number not in other and bool(line.strip()) and line.lstrip()[0] != "#" for number, line in lines)


def count(package: Path) -> dict[str, int]:
    """Lines, files, classes, and imports between modules and between rooms."""
    named = modules(package)
    files = named.values()
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    found = {(edge.importer, edge.imported) for edge in imports(package)}
    return {
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files),
        "lines of code": sum(map(code_lines, files)),
        "of them in what issues 14 to 20 brought": sum(code_lines(named[name]) for name in named if is_brought(name)),
        "files": len(trees),
        "classes": sum(isinstance(node, ast.ClassDef) for tree in trees for node in ast.walk(tree)),
        "internal imports": len(found),
        "of them between rooms": sum(room(a) != room(b) for a, b in found),
        "rooms in the largest cycle": largest_cycle({(room(a), room(b)) for a, b in found}),
    }


def lines_by_room(package: Path) -> dict[str, str]:
    """Lines of each room, and lines of code: in modules as they were, and in those that issues 14 to 20 brought."""
    found = {name: [0, 0, 0] for names in layers() for name in names}
    for name, path in modules(package).items():
        own = found.setdefault(room(name), [0, 0, 0])
        own[0] += len(path.read_text(encoding="utf-8").splitlines())
        own[1 + is_brought(name)] += code_lines(path)
    return {name: " | ".join(f"{number:,}" if number else "–" for number in own) for name, own in found.items()}


def largest_cycle(edges: set[tuple[str, str]]) -> int:
    """How many rooms the largest group has in which each reaches every other; 1 where there is no cycle.

    ``polysema/__init__`` names everything, and is not counted.
    """
    edges = {(a, b) for a, b in edges if "__init__" not in (a, b)}
    reach: dict[str, set[str]] = {}
    for start in {a for a, _ in edges}:
        seen, todo = set(), [start]
        while todo:
            here = todo.pop()
            new = {b for a, b in edges if a == here} - seen
            seen |= new
            todo += new
        reach[start] = seen
    return max((sum(a in reach.get(b, ()) for b in reach[a]) for a in reach if a in reach[a]), default=1)


def draw(package: Path, output: Path) -> None:
    """Rooms from bottom to top; how many imports go from the room of a row to the room of a column."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": PACKAGE, "svg.fonttype": "none"})
    order = layers()
    rooms = [name for names in order for name in names]
    height = {name: level for level, names in enumerate(order) for name in names}
    place = {name: i for i, name in enumerate(rooms)}
    between = Counter((room(edge.importer), room(edge.imported)) for edge in imports(package))
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    graph, matrix = figure.subplots(1, 2, width_ratios=(1, 1.25))
    for (a, b), number in between.items():
        if a != b:
            x, y = [0.0, 0.0], [place[a], place[b]]
            bend = 0.02 + 0.055 * abs(place[a] - place[b])
            up = height[a] < height[b]
            graph.annotate(
                "", (x[1], y[1]), (x[0], y[0]),
                arrowprops={
                    "arrowstyle": "-|>", "color": "#D55E00" if up else "#0072B2", "alpha": 0.55,
                    "linewidth": 0.5 + 0.35 * min(number, 10) ** 0.7, "shrinkA": 0, "shrinkB": 0,
                    "connectionstyle": f"arc3,rad={min(0.75, 0.25 + bend)}",
                },
            )  # fmt: skip
    graph.plot([0] * len(rooms), range(len(rooms)), "o", color="0.2", markersize=4)
    graph.set(xlim=(-4.2, 4.2), ylim=(-0.8, len(rooms) - 0.2))
    graph.set_yticks(range(len(rooms)), rooms)
    graph.set_xticks([])
    graph.spines[:].set_visible(False)
    graph.tick_params(length=0)
    graph.set_title("who imports whom: blue down, orange up", fontsize=10)
    for level, names in enumerate(order):
        first, last = place[names[0]] - 0.5, place[names[-1]] + 0.5
        for axis in (graph, matrix):
            axis.axhspan(first, last, color="0.5", alpha=0.08 if level % 2 else 0.0, linewidth=0)
        matrix.plot([first, last, last, first, first], [first, first, last, last, first], color="0.7", linewidth=0.8)
    for (a, b), number in between.items():
        if a != b:
            colour = "#D55E00" if height[a] < height[b] else "#0072B2"
            matrix.text(place[b], place[a], str(number), ha="center", va="center", fontsize=8, color=colour)
    matrix.plot(range(len(rooms)), range(len(rooms)), ".", color="0.8")
    matrix.set(xlim=(-0.6, len(rooms) - 0.4), ylim=(-0.8, len(rooms) - 0.2))
    matrix.set_xticks(range(len(rooms)), rooms, rotation=90)
    matrix.set_yticks(range(len(rooms)), rooms)
    matrix.tick_params(length=0, labelsize=8)
    matrix.set_title("imports of the row's room from the column's", fontsize=10)
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None, dpi=110)


def main() -> None:
    """Draw, or count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, help="folders that hold polysema/; by default this one")
    parser.add_argument("--count", action="store_true", help="print lines, files, classes, imports, and lines by room")
    parser.add_argument("--output", type=Path, help="draw the graph: .svg or .png")
    arguments = parser.parse_args()
    checkouts = arguments.checkouts or [ROOT]
    if arguments.output:
        draw(checkouts[0] / PACKAGE, arguments.output)
    if arguments.count:
        for numbers in (count, lines_by_room):
            counted: list[dict[str, Any]] = [numbers(checkout / PACKAGE) for checkout in checkouts]
            columns = ("",) if numbers is count else (": lines", ": code", ": code brought")
            print("| | " + " | ".join(f"{checkout}{column}" for checkout in checkouts for column in columns) + " |")
            print("|---|" + "---|" * len(columns) * len(checkouts))
            for name in dict.fromkeys(name for own in counted for name in own):
                cells = [own.get(name, " | ".join("–" for _ in columns)) for own in counted]
                print(
                    f"| {name} | " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"
                )
    for edge in upward(imports(checkouts[0] / PACKAGE), layers()) if checkouts == [ROOT] else []:
        print(f"points up: {edge.importer}:{edge.line} imports {edge.imported}")


if __name__ == "__main__":
    main()
