"""What the small install does: loading, asking and composing, without the compiler that training needs."""

import os
import subprocess
from pathlib import Path

import pytest

from polysema.errors import install_command
from tests.processes import python

ROOT = Path(__file__).parents[1]

_BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numba", "llvmlite", "scipy", "zstandard"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from polysema.cli import main
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program in which the training parts cannot be imported."""
    return python("-c", _BLOCKED + code, cwd=ROOT, env={**os.environ, "POLYSEMA_TRACEBACK": "1"})


def test_asking_and_composing_need_no_compiler(lexicon, tmp_path):
    lexicon.save(tmp_path / "model")
    model = str(tmp_path / "model")
    commands = [
        ["demo"], ["info", "default"], ["info", model], ["senses", "bank", "charge"],
        ["neighbours", *lexicon.vocabulary.words[:12], "-l", model], ["similarity", "bank", "river"],
        ["ambiguity", "--top", "5"], ["disambiguate", "bank", "The bank raised its interest rate."],
        ["read", "The bank raised its interest rate."], ["compose", "((the bank) ((raised its) rate))"],
        ["entail", "dog", "animal"], ["convert", model, str(tmp_path / "copy.npz")],
    ]  # fmt: skip
    done = run(f"for line in {commands!r}:\n    code = main(line)\n    print(line, code)\n    assert code == 0, line\n")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "line", [["train", "text.txt"], ["train", "--help"], ["corpus", "build", "text.txt", "-o", "text.corpus"]]
)
def test_training_says_what_to_install(tmp_path, line, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the bank lends money\n" * 20)
    done = run(f"import os; os.chdir({str(tmp_path)!r}); sys.exit(main({line!r}))")
    assert done.returncode == 2
    message = f"reading text and training needs an optional part: {install_command('train')}"
    assert done.stderr.strip().splitlines()[-1].endswith(message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt"]
