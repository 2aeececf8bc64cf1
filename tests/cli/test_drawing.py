import pytest

from polysema.cli import main
from tests.planted import planted_lexicon

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("planted") / "model"
    planted_lexicon().save(path)
    return str(path)


@pytest.mark.parametrize("arguments", [["tree", "(muddy bank)"], ["matrix", "bank"], ["senses", "bank"]])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures_are_written(model, arguments, suffix, tmp_path):
    path = tmp_path / f"picture.{suffix}"
    assert main(["draw", *arguments, "-l", model, "-o", str(path)]) == 0
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<?xm")


def test_bad_input(model, tmp_path, capsys):
    assert main(["draw", "matrix", "bank", "-l", model, "-o", str(tmp_path / "picture.doc")]) == 2
    assert main(["draw", "senses", "nowhere", "-l", model, "-o", str(tmp_path / "picture.png")]) == 2
    assert main(["draw", "matrix", "bank", "-l", model, "-o", str(tmp_path / "no" / "picture.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 3
