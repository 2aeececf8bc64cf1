from __future__ import annotations

import os

import numpy as np
import pytest

from polysema.encoders.gloss_encoder import GlossEncoder, quantised, windows
from polysema.encoders.wordpiece import WordPiece, words
from polysema.errors import FormatError, InputError
from tests.senses.five_words import random_encoder

TEXTS = ["the bank", "he sat on the river bank , fast .", "a dog", "the bank"]
SPANS = [[(4, 8)], [(3, 6), (20, 24)], [(2, 5)], [(0, 3)]]


@pytest.fixture(scope="module")
def encoder() -> GlossEncoder:
    return random_encoder()


def by_hand(encoder: GlossEncoder, text: str, span: tuple[int, int]) -> np.ndarray:
    """The formulas of a BERT in float64, one sentence and one head at a time."""
    t = {name: value.astype(float) for name, value in encoder._tensors.items()}
    reader, heads = encoder.reader, encoder.shape.heads
    pieces = reader.read(text)
    ids = [reader.start, *pieces.ids, reader.end]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(1, keepdims=True)
        scaled = centred / np.sqrt(centred.var(1, keepdims=True) + encoder.shape.epsilon)
        return scaled * t[name + ".weight"] + t[name + ".bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ t[name + ".weight"].T + t[name + ".bias"]

    codes, scales = encoder._embeddings
    x = norm(codes[ids] * scales[ids, None] + t["embeddings.position"][: len(ids)], "embeddings.norm")
    for layer in range(encoder.shape.layers):
        name = f"layer.{layer}."
        q, k, v = np.split(linear(x, name + "qkv"), 3, axis=1)
        size = q.shape[1] // heads
        mixed = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = np.exp(q[:, part] @ k[:, part].T / size**0.5)
            mixed.append(scores / scores.sum(1, keepdims=True) @ v[:, part])
        x = norm(x + linear(np.concatenate(mixed, axis=1), name + "out"), name + "norm1")
        up = linear(x, name + "up")
        up = 0.5 * up * (1 + np.tanh((2 / np.pi) ** 0.5 * (up + 0.044715 * up**3)))
        x = norm(x + linear(up, name + "down"), name + "norm2")
    inside = [1 + i for i in range(len(pieces.ids)) if pieces.starts[i] < span[1] and pieces.ends[i] > span[0]]
    c = linear(x[inside].mean(0, keepdims=True), "context")[0]
    return c / np.linalg.norm(c)


def test_contexts_follow_the_formulas(encoder: GlossEncoder) -> None:
    found = encoder.contexts(TEXTS, SPANS)
    expected = [by_hand(encoder, text, span) for text, spans in zip(TEXTS, SPANS, strict=True) for span in spans]
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_batches_change_nothing(encoder: GlossEncoder, monkeypatch) -> None:
    whole = encoder.contexts(TEXTS, SPANS)
    monkeypatch.setattr("polysema.encoders.gloss_encoder.MOST_PIECES", 8)
    np.testing.assert_allclose(encoder.contexts(TEXTS, SPANS), whole, atol=1e-5)
    assert encoder.contexts(["the bank"], [[]]).shape == (0, encoder.dimension)


def test_long_text_is_read_in_windows(encoder: GlossEncoder) -> None:
    text = " ".join(["the dog sat on a bank ."] * 8)
    starts = [found for found in range(len(text)) if text.startswith("bank", found)]
    vectors = encoder.contexts([text], [[(start, start + 4) for start in starts]])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("count", [5, 16, 17, 40, 93])
def test_windows_hold_every_word_away_from_their_edges(count: int) -> None:
    spans = [(i, i + 1) for i in range(count)]
    found = list(windows(count, spans, size=16, overlap=6))
    assert sorted(k for _, _, chosen in found for k in chosen) == list(range(count))
    for first, size, chosen in found:
        assert first + size <= count
        for k in chosen:
            inside = k - first
            assert 0 <= inside < size
            assert inside >= 2 or first == 0
            assert inside < size - 2 or first + size == count


def test_weights_in_eight_bits(encoder: GlossEncoder, tmp_path) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(20, 30)).astype(np.float32)
    codes, scale = quantised(matrix)
    assert codes.dtype == np.int8
    assert (np.abs(codes * scale[:, None] - matrix) <= scale[:, None] * 0.501).all()
    encoder.save(tmp_path)
    again = GlossEncoder.load(tmp_path)
    cosines = (encoder.contexts(TEXTS, SPANS) * again.contexts(TEXTS, SPANS)).sum(axis=1)
    assert cosines.min() > 0.99


def test_files_that_are_not_encoders(encoder: GlossEncoder, tmp_path) -> None:
    with pytest.raises(FormatError, match="not a gloss encoder"):
        GlossEncoder.load(tmp_path)
    (tmp_path / "encoder.safetensors").write_bytes(b"no")
    with pytest.raises(FormatError, match="not a gloss encoder"):
        GlossEncoder.load(tmp_path)
    with pytest.raises(FormatError, match="lacks the tensor"):
        GlossEncoder({}, encoder.reader, encoder.shape)
    with pytest.raises(InputError, match="not a word of a text"):
        encoder.contexts(["the bank"], [[(8, 12)]])
    with pytest.raises(InputError, match="holds no word"):
        encoder.glosses([" "])


def test_pieces_and_their_characters() -> None:
    reader = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cafe", "un", "##clear", "'", "s", "."])
    text = "Café's UNCLEAR. \u200b xyz"
    found = reader.read(text)
    assert [reader.pieces[row] for row in found.ids] == ["cafe", "'", "s", "un", "##clear", ".", "[UNK]"]
    assert [text[a:z] for a, z in zip(found.starts, found.ends, strict=True)] == [
        "Café", "'", "s", "UN", "CLEAR", ".", "xyz"
    ]  # fmt: skip
    assert [word for word, _, _ in words("a中b\x00c—d")] == ["a", "中", "bc", "—", "d"]
    assert reader.read("").ids.shape == (0,)


def test_a_vocabulary_needs_its_special_pieces(tmp_path) -> None:
    with pytest.raises(FormatError, match=r"it lacks \[UNK\]"):
        WordPiece(["[PAD]", "[CLS]", "[SEP]"])
    with pytest.raises(FormatError, match="none.txt: cannot be read"):
        WordPiece.load(tmp_path / "none.txt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_vocabulary_is_refused(tmp_path) -> None:
    os.mkfifo(tmp_path / "pieces.txt")
    with pytest.raises(FormatError, match="a pipe or a device"):
        WordPiece.load(tmp_path / "pieces.txt")
