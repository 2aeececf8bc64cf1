"""Nothing in a file is executed, nothing is opened by a path inside a file."""

import io
import pickle
import re
from pathlib import Path

import numpy as np

import polysema
from polysema.cli import main
from tools.campaign import KINDS


class Trap:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.write_text, (self.path, "executed"))


def test_a_pickle_is_never_loaded(tmp_path, capsys):
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(sprung)], dtype=object)
    np.savez(tmp_path / "words.npz", words=trap, factors=np.ones((1, 2, 1), np.float32))
    np.savez(tmp_path / "factors.npz", words=np.array(["a"]), factors=trap)
    np.savez(tmp_path / "extra.npz", words=np.array(["a"]), factors=np.ones((1, 2, 1), np.float32), extra=trap)
    np.save(tmp_path / "bare.npy", trap)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        stream = io.BytesIO()
        pickle.Pickler(stream, protocol).dump(Trap(sprung))
        (tmp_path / f"model{protocol}.bin").write_bytes(stream.getvalue())
        (tmp_path / f"model{protocol}.txt").write_bytes(stream.getvalue())
    files = list(tmp_path.iterdir())
    assert len(files) == 4 + 2 * (pickle.HIGHEST_PROTOCOL + 1)
    for path in files:
        assert main(["info", str(path)]) in ((0, 2) if path.name == "extra.npz" else (2,)), path
        assert main(["corpus", "build", str(path), "-o", str(tmp_path / "out")]) in (0, 2)
    capsys.readouterr()
    assert not sprung.exists()


def test_the_source_neither_unpickles_nor_evaluates():
    pattern = re.compile(
        r"\b(pickle|marshal|shelve|dill)\.loads?\(|(?<![.\w])(eval|exec)\(|allow_pickle=True|trust_remote_code=True"
    )
    sources = list(Path(polysema.__file__).parent.rglob("*.py"))
    assert len(sources) > 50
    assert [f"{path.name}: {found[0]}" for path in sources for found in pattern.finditer(path.read_text())] == []


def test_every_promise_names_tests_that_are_there():
    root = Path(__file__).parents[1]
    text = (root / "docs" / "promises.md").read_text(encoding="utf-8")
    assert [kind for kind in re.findall(r"\*(\w+)\*", text) if kind not in KINDS] == []
    for file, _, function in re.findall(r"`(tests/[\w./]+)(::(\w+))?`", text):
        assert (root / file).exists(), file
        assert not function or f"def {function}(" in (root / file).read_text(encoding="utf-8"), (file, function)
    promised = text.partition("## What survives what")[2].partition("## Which files open")[0]
    rows = [line for line in promised.splitlines() if line.startswith("| ") and "held by" not in line]
    assert len(rows) > 25
    assert [row for row in rows if not re.search(r"`tests/|\*\w+\*", row)] == []
