"""Corpora that a cluster builds are those of one machine, byte for byte."""

import pytest

from polysema.corpus import encoding, tokenising
from polysema.corpus.build import build_corpus
from polysema.corpus.normalisation import Normalisation
from polysema.engine import Engine
from polysema.errors import CorpusError
from tests.engine.work import BLOCK, files_of
from tests.refusals import refused


class _Other(Engine):
    """An engine that is not Local, without Ray."""


@pytest.mark.parametrize("whole", [0, 1 << 25])
@pytest.mark.parametrize("normalisation", [Normalisation(), Normalisation(raw=True, sentences="lines")])
def test_pieces_make_the_same_corpus(sources, tmp_path, monkeypatch, whole, normalisation):
    monkeypatch.setattr(encoding, "WHOLE", whole)
    monkeypatch.setattr(tokenising, "SLOTS", 1 << 10)
    options = {"block": BLOCK, "long_line": BLOCK, "normalisation": normalisation}
    here = build_corpus(sources, tmp_path / "here", workers=1, **options)
    there = build_corpus(sources, tmp_path / "there", engine=_Other(), **options)
    assert files_of(here) == files_of(there)


def test_lists_too(tmp_path):
    sentences = [["The", "cat", "sat"], ["a", "dog"]] * 50
    here, there = (build_corpus(sentences, tmp_path / name, engine=engine, block=64)
                   for name, engine in (("here", "local"), ("there", _Other())))  # fmt: skip
    assert files_of(here) == files_of(there)


def test_urls(sources, tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="the extra ray is not installed")
    memory = fsspec.filesystem("memory")
    memory.put(str(sources), "/texts", recursive=True)
    here = build_corpus(sources, tmp_path / "here")
    there = build_corpus("memory://texts", tmp_path / "there")
    assert there.config["sources"][0]["path"] == "memory:///texts/a.txt"
    assert there.digest == here.digest
    assert build_corpus("memory://texts", tmp_path / "there").digest == here.digest  # as it was: not read again
    some = build_corpus("memory://texts/*.txt*", tmp_path / "some", engine=_Other())
    assert len(some.config["sources"]) == 4
    refused(CorpusError, "memory://nothing: no such file", build_corpus, "memory://nothing", tmp_path / "no")
    refused(CorpusError, "nosuch://x: cannot be read: .*nosuch", build_corpus, "nosuch://x", tmp_path / "no")
