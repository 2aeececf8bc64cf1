"""A corpus on disk: what it is told apart by, and what happens when it is damaged."""

import json
import logging
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus
from polysema.errors import CorpusError, FormatError, InputError
from tests.refusals import refused

SENTENCES = [["the", "cat", "sat"], ["the", "dog", "ran"], ["a", "cat"]] * 40


def test_arrays_are_numpys_own(tmp_path):
    corpus = build_corpus(SENTENCES, tmp_path / "c")
    for name in ("tokens", "sentences", "counts"):
        np.testing.assert_array_equal(np.load(tmp_path / "c" / f"{name}.npy"), getattr(corpus, name))
    assert not corpus.tokens.flags.writeable


def test_the_digest_is_of_the_content(tmp_path):
    """The same counts and sizes, but other text; and the same text, however it was built."""
    variants = {
        "same": SENTENCES,
        "reversed": SENTENCES[::-1],
        "cut": [["the", "cat"], ["sat", "the", "dog", "ran"], ["a", "cat"]] * 40,
        "swapped": [["cat", "the", "sat"], *SENTENCES[1:]],
        "spelled": [["le", "cat", "sat"], ["le", "dog", "ran"], ["a", "cat"]] * 40,
    }
    digests = {name: build_corpus(text, tmp_path / name).digest for name, text in variants.items()}
    assert len(set(digests.values())) == len(variants)
    for workers, block in ((1, 7), (3, 100)):
        again = build_corpus(SENTENCES, tmp_path / f"{workers}", workers=workers, block=block)
        assert again.digest == digests["same"]


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("tokens", 5, 10_000_000, "tokens.npy: damaged: a word's id is not one of 6"),
        ("tokens", 5, 6, "a word's id is not one of 6"),
        ("tokens", 5, -1000, "a word's id is not one of 6"),
        ("tokens", 5, 0, "counts.npy: damaged: the counts are not those of the tokens"),
        ("sentences", 0, 1, "sentences.npy: damaged: sentences go from 1 to 320, not 0 to 320"),
        ("sentences", -1, 321, "not 0 to 320"),
        ("sentences", 7, 10**12, "sentences that end before they start"),
        ("sentences", 7, -5, "sentences that end before they start"),
        ("counts", 0, 10**15, "the counts are not those of the tokens"),
        ("counts", [0, 1], [81, 79], "the counts are not those of the tokens"),
    ],
)
def test_damaged_numbers_never_reach_a_kernel(name, index, value, message, tmp_path):
    path = build_corpus(SENTENCES, tmp_path / "c").path
    array = np.load(path / f"{name}.npy")
    array[index] = value
    np.save(path / f"{name}.npy", array)
    damaged = Corpus(path)
    for look in (lambda: damaged.tokens, lambda: damaged.sentences, lambda: list(damaged), lambda: damaged.sentence(0)):
        refused(FormatError, message, look)


def test_damaged_headers(tmp_path):
    path = build_corpus(SENTENCES, tmp_path / "c").path
    whole = (path / "tokens.npy").read_bytes()
    huge = struct.pack("<H", 60_000)
    for bad in (b"", whole[:60], whole[:-4], whole + b"x", whole.replace(b"<i4", b"<f4"), whole.replace(b"320", b"999"),
                whole[:8] + huge + whole[10:], whole.replace(b"<i4", b"|O ")):  # fmt: skip
        (path / "tokens.npy").write_bytes(bad)
        refused(FormatError, "tokens.npy: damaged", Corpus, path)


def test_what_was_read_need_not_be_known(tmp_path):
    path = build_corpus(SENTENCES, tmp_path / "c").path
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(
        json.dumps({key: config[key] for key in config if key not in ("read", "options")})
    )
    assert Corpus(path).config["read"] == {}


@pytest.mark.parametrize("key", ["tokens", "sentences", "types", "version", "format", "read", "options"])
def test_damaged_configurations(key, tmp_path):
    path = build_corpus(SENTENCES, tmp_path / "c").path
    config = json.loads((path / "config.json").read_text())
    for value in (-1, 10**30, "9", None, 2.5, True, [1]):
        (path / "config.json").write_text(json.dumps({**config, key: value}))
        with pytest.raises(FormatError, match=r"config\.json: "):  # not another file
            Corpus(path)


def test_words_that_are_not_text(tmp_path):
    path = build_corpus(SENTENCES, tmp_path / "c").path
    (path / "vocabulary.txt").write_bytes(b"the\ncat\n\xff\na\ndog\nran\n")
    refused(FormatError, "vocabulary.txt: damaged: not UTF-8", lambda: list(Corpus(path)))
    (path / "vocabulary.txt").unlink()
    refused(FormatError, "vocabulary.txt: cannot be read: No such file", lambda: list(Corpus(path)))
    (path / "config.json").write_bytes(b'{"format": "\xff"}')
    refused(FormatError, "config.json: not UTF-8 text at byte 12", Corpus, path)


def test_text_of_another_encoding_is_said(tmp_path, caplog):
    text = "Le café est fermé à midi, mais la fenêtre reste ouverte.\n" * 200
    path = tmp_path / "t"
    path.write_bytes(text.encode("latin-1"))
    with caplog.at_level(logging.INFO):
        build_corpus(path, tmp_path / "c")
    assert "800 bytes that are no text in this encoding (7.02%) were taken for separators" in caplog.text
    assert caplog.records[0].levelname == "WARNING"
    caplog.clear()
    assert "café" in build_corpus(path, tmp_path / "d", encoding="latin-1").vocabulary
    assert not caplog.records
    path.write_bytes("Город стоит на реке\n".encode("cp1251") * 50)
    noise = tmp_path / "noise"
    noise.write_bytes(np.random.default_rng(0).integers(1, 256, 100_000, np.uint8).tobytes())
    for bad in (path, noise):
        refused(CorpusError, "bytes are no text in this encoding: name the encoding", build_corpus, bad, tmp_path / "e")


def test_pipes_devices_and_links_in_a_circle_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(CorpusError, match="a pipe or a device, not a file: pipe the text in and name - instead"):
            build_corpus(path, tmp_path / "c")
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    refused(CorpusError, "no such file or folder", build_corpus, tmp_path / "circle", tmp_path / "c")
    refused(InputError, "exists already", build_corpus, SENTENCES, tmp_path / "circle")
    refused(FormatError, "no such folder", Corpus, tmp_path / "circle")
