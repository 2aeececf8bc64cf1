"""The tests of reading are tests of the kernels, however small the text; ``test_plain.py`` holds the other way to them."""

import pytest

from polysema.corpus import tokenising as plain
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    monkeypatch.setattr(plain, "SMALL", -1)


@pytest.fixture
def build(tmp_path):
    """Write text to a file and build a corpus of it, each in a folder of its own."""

    def build(content: str | bytes, name: str = "text", **options) -> Corpus:
        folder = tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}"
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return build_corpus(tmp_path / name, folder, **options)

    return build
