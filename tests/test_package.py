import ast
import re
import tomllib
from pathlib import Path

import polysema
from tools import import_graph

PACKAGE = Path(polysema.__file__).parent


def test_every_public_name_is_there():
    for name in polysema.__all__:
        assert getattr(polysema, name) is not None
    assert dir(polysema) == sorted(polysema.__all__)


def test_no_module_is_in_a_cycle():
    """Imports in functions, for type checking and in strings count; the package's ``__init__`` and ``cli`` do not."""
    found = import_graph.imports(PACKAGE)
    assert len(found) > 300
    assert import_graph.in_cycles(found) == []


def test_the_graph_sees_every_kind_of_import(tmp_path):
    package = tmp_path / "polysema"
    (package / "low").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "high.py").write_text("VALUE = 1")
    (package / "low" / "__init__.py").write_text("")
    (package / "low" / "sibling.py").write_text("")
    (package / "low" / "user.py").write_text(
        "from typing import TYPE_CHECKING\nfrom . import sibling\nif TYPE_CHECKING:\n    import polysema.high\n"
        "def late():\n    from polysema.high import VALUE\n    from ..high import VALUE as same\n"
        "    import_module('polysema.high')\n"
    )
    found = import_graph.imports(package)
    assert [(edge.line, edge.imported) for edge in sorted(found, key=lambda edge: edge.line)] == [
        (2, "polysema.low"), (2, "polysema.low.sibling"), (4, "polysema.high"), (6, "polysema.high"), (7, "polysema.high"),
        (8, "polysema.high"),
    ]  # fmt: skip


def test_a_cycle_is_found_module_by_module():
    edges = ["ab", "bc", "ca", "cd", "de"]
    found = [import_graph.Import(a, 1, b) for a, b in edges] + [
        import_graph.Import("polysema.cli.x", 1, "polysema.cli.x")
    ]
    assert import_graph.in_cycles(found) == ["a", "b", "c"]
    assert import_graph.in_cycles(found[:2] + found[3:]) == []


def test_messages_name_extras_that_exist():
    """``MissingExtraError(what, extra)``, ``needing(what, extra)`` and "polysema[extra]" in any text of the package."""
    with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"])
    named = {}
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("MissingExtraError", "needing"):
                if path.name == "errors.py" or len(node.args) < 2:  # a command of its own instead of an extra
                    continue
                extra = node.args[1]
                assert isinstance(extra, ast.Constant), (
                    f"{path}:{node.lineno}: name the extra, so that it can be checked"
                )
                named[extra.value] = f"{path}:{node.lineno}"
        for listed in re.findall(r"polysema\[([a-z,]+)\]", source):
            named |= dict.fromkeys(listed.split(","), str(path))
    assert len(named) > 5
    assert not {extra: where for extra, where in named.items() if extra not in extras}
