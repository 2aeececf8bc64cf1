"""Imports point one way: down the list of rooms in docs/design.md."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def rooms() -> dict[str, int]:
    """Each room's place, 0 at the bottom, from the fenced list in docs/design.md."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"```rooms\n(.*?)```", text, re.DOTALL)
    names = [name for line in listed.splitlines() for name in re.split(r"\s{2,}", line.strip())[0].split(", ")]
    return {name: place for place, name in enumerate(names)}


def room_of(module: str) -> str:
    """``polysema.lexicon.formats.npz`` is in the room ``lexicon``; the package itself is ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / "polysema").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST, known: set[str]) -> Iterator[tuple[str, int]]:
    """Every module of the package that a file imports, at the top, in functions or for its types; and the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "polysema":
                    yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they point"
            if (node.module or "").split(".")[0] == "polysema":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in known else str(node.module), node.lineno


def edges() -> Iterator[tuple[str, str, str]]:
    """Importing module, imported module, and where."""
    known = modules()
    for module, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for target, line in imported(tree, set(known)):
            yield module, target, f"{path.relative_to(ROOT)}:{line}"


def test_every_module_is_in_a_room_of_the_list():
    assert {room_of(module) for module in modules()} <= set(rooms())


def test_imports_point_down():
    place = rooms()
    up = [
        f"{where}: {source} imports {target}"
        for source, target, where in edges()
        if place[room_of(target)] > place[room_of(source)]
    ]
    assert not up, "\n" + "\n".join(up)


def test_the_graph_is_seen():
    """The walk finds imports at the top, inside functions and under TYPE_CHECKING."""
    code = (
        "import polysema.errors\n"
        "if TYPE_CHECKING:\n    from polysema.lexicon import lexicon\n"
        "def f():\n    from polysema.density import DensityMatrix\n"
    )
    found = {name for name, _ in imported(ast.parse(code), set(modules()))}
    assert found == {"polysema.errors", "polysema.lexicon.lexicon", "polysema.density"}


def loaded(code: str) -> set[str]:
    """The modules that are loaded once a program has run."""
    code += "\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


HEAVY = {"numba", "scipy", "torch", "transformers", "spacy", "pandas", "gensim", "sklearn", "matplotlib"}


def test_opening_a_corpus_loads_no_lexicon(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the bank lends money\nthe river bank floods\n" * 20)
    from polysema import build_corpus

    build_corpus(text, tmp_path / "corpus")
    found = loaded(f"import polysema; polysema.Corpus({str(tmp_path / 'corpus')!r})")
    assert "polysema.corpus.corpus" in found
    assert not {name for name in found if name.startswith(("polysema.lexicon", "polysema.composition"))}
    assert not HEAVY & found


@pytest.mark.parametrize(
    "ask", ["lexicon.similarity('bank', 'river')", "lexicon.senses('bank')", "lexicon.compose('(old cars)')"]
)
def test_opening_a_lexicon_loads_no_compiler(lexicon, tmp_path, ask):
    lexicon.save(tmp_path / "model")
    found = loaded(f"import polysema; lexicon = polysema.load({str(tmp_path / 'model')!r}); {ask}")
    upper = ("contexts", "encoders", "training", "parsing", "evaluation", "drawing", "notebook", "cli", "kernels")
    assert not {name for name in found if name.startswith(tuple(f"polysema.{room}" for room in upper))}
    assert not HEAVY & found
