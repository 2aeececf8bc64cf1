"""Small text is read without compiled code to the same corpus as with it."""

import random
import re

import numpy as np
import pytest

from polysema.corpus import tokenising as plain
from polysema.corpus.build import build_corpus
from polysema.corpus.normalisation import Normalisation, character_tables
from polysema.kernels import tokens as k

SHORT = "Mr Dr no No p A the Bank fig ΟΔΟΣ Σ straße İstanbul x1 foo_bar vol I approx e can't नमस्ते ǅ 中文 ١٢"
WORDS = [*SHORT.split(), "a" * 256, "é" * 128, "é" * 127]
BETWEEN = [
    *"  ..!?\n\n,;:-_'\"()\u0301\u200d\u00a0\u2028\x85…—«»।。！？\t\r\x0b\x1c", "\U0001f600", "\U000e0101", ". ", "! ",
]  # fmt: skip


def texts(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    sizes = [draw.randrange(1, 300) for _ in range(count)]
    return ["".join(draw.choice(WORDS if draw.random() < 0.5 else BETWEEN) for _ in range(size)) for size in sizes]


def read(monkeypatch, path, output, small: bool, **options):
    monkeypatch.setattr(plain, "SMALL", 1 << 22 if small else -1)
    monkeypatch.setattr("polysema.corpus.encoding.is_kept", lambda _: not small)
    try:
        corpus = build_corpus(path, output, **options)
    except Exception as error:
        return str(error)
    arrays = [np.asarray(array).tolist() for array in (corpus.tokens, corpus.sentences, corpus.counts)]
    return corpus.digest, corpus.config["read"], list(corpus.words()), arrays


@pytest.mark.parametrize("sentences", ["split", "lines"])
def test_any_text_is_read_as_the_kernels_read_it(monkeypatch, tmp_path, sentences):
    for number, text in enumerate(texts(3, 25)):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(text.encode())
        options = {
            "normalisation": Normalisation(sentences=sentences, min_sentence=1 + number % 3),
            "block": 64 if number % 2 else 1 << 19,
            "long_line": 96,
            "min_count": 1 + number % 2,
            "keep": ["bank", "nowhere"] if number % 5 == 0 else [],
        }
        found = [read(monkeypatch, path, tmp_path / f"{number}{small}", small, **options) for small in (True, False)]
        assert found[0] == found[1], text


def test_characters_of_words_are_those_of_the_kernels():
    kinds, _ = character_tables()
    expected = np.isin(kinds, [k.LOWER, k.UPPER, k.UNCASED, k.DIGIT])
    found = [re.match(r"\w", chr(code)) is not None for code in range(len(kinds))]
    assert (np.array(found) == expected).all()
