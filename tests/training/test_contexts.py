import builtins

import pytest

import polysema as ps
from polysema.cli import main
from polysema.errors import MissingExtraError

pytest.importorskip("transformers")
pytest.importorskip("sklearn")

from polysema.training import bert2dm as module


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "MEAN_SENTENCES", 16)


def test_bert2dm_by_the_command(encoder_corpus, encoder_folder, tmp_path, capsys):
    out = tmp_path / "bert"
    arguments = ["train", str(encoder_corpus.path), "-o", str(out), "--model", "bert2dm"]
    options = "--dim 4 --layers 1-2 --set reduction=pca --cluster --set occurrences=10"
    assert main([*arguments, "--encoder", str(encoder_folder), *options.split()]) == 0
    assert "of vectors on disk" in capsys.readouterr().err
    lexicon = ps.load(out)
    assert lexicon.n == 4
    assert lexicon.metadata["encoder"]["layers"] == "1,2"
    assert lexicon.metadata["options"]["reduction"] == "pca"
    assert not (tmp_path / "bert.training").exists()
    assert main(["compose", "(family (run hotel))", "-m", "contextual", "-l", str(out)]) == 0
    assert main(["disambiguate", "bank", "The bank lends money.", "-m", "contextual", "-l", str(out)]) == 0


def test_context2dm_by_the_command(encoder_corpus, tmp_path):
    out, vectors = tmp_path / "contexts", tmp_path / "w2v"
    options = "--model context2dm --min-count 1 --threads 1"
    arguments = ["train", str(encoder_corpus.path), "-o", str(out), *options.split()]
    assert main([*arguments, "--dim", "4"]) == 0
    assert ps.load(out).n == 4
    options = "--model word2vec --dim 6 --epochs 1 --min-count 1"
    assert main(["train", str(encoder_corpus.path), "-o", str(vectors), *options.split()]) == 0
    assert main([*arguments, "--vectors", str(vectors), "--force"]) == 0
    assert ps.load(out).n == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "bert2dm"], "--encoder"),
        (["--model", "bert2dm", "--encoder", "{encoder}", "--layers", "9"], "layers 0 to 3"),
        (["--encoder", "x"], "unknown option of ms-word2dm 'encoder'"),
    ],
)
def test_wrong_commands(encoder_corpus, encoder_folder, tmp_path, capsys, arguments, message):
    filled = [argument.format(encoder=encoder_folder) for argument in arguments]
    assert main(["train", str(encoder_corpus.path), "-o", str(tmp_path / "x"), *filled]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("missing", "extra", "settings"),
    [
        ("transformers", "encoders", {"model": "bert2dm", "encoder": "x"}),
        ("sklearn", "cluster", {"model": "context2dm"}),
    ],
)
def test_the_missing_extra_is_named(encoder_corpus, monkeypatch, missing, extra, settings):
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.split(".")[0] == missing:
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=rf"\[{extra}\]"):
        ps.train(encoder_corpus, **settings)
