import pytest

from polysema.cli import main

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("arguments", [["tree", "(muddy bank)"], ["matrix", "bank"], ["senses", "bank"]])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures_are_written(planted_model, arguments, suffix, tmp_path):
    path = tmp_path / f"picture.{suffix}"
    assert main(["draw", *arguments, "-l", planted_model, "-o", str(path)]) == 0
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<?xm")


def test_bad_input(planted_model, tmp_path, capsys):
    assert main(["draw", "matrix", "bank", "-l", planted_model, "-o", str(tmp_path / "picture.doc")]) == 2
    assert main(["draw", "senses", "nowhere", "-l", planted_model, "-o", str(tmp_path / "picture.png")]) == 2
    assert main(["draw", "matrix", "bank", "-l", planted_model, "-o", str(tmp_path / "no" / "picture.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 3
