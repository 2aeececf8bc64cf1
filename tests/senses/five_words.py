"""A dictionary of five words and a random encoder of two layers, for tests."""

from __future__ import annotations

import zlib

import numpy as np

from polysema.encoders.gloss_encoder import GlossEncoder, Shape
from polysema.encoders.wordpiece import WordPiece
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import build_dictionary
from polysema.senses.wordnet_files import SenseKey, Synset, WordNet

_SENSES = [  # synset, field, words, gloss, examples, keys with counts
    ("00000001-n", "object", ("bank",), "sloping land beside water", ("he sat on the bank",), {"bank%1:17:01::": 20}),
    ("00000002-n", "group", ("bank", "depository"), "an institution that accepts deposits",
     ("the bank holds the mortgage",), {"bank%1:14:00::": 40, "depository%1:14:00::": 0}),
    ("00000003-v", "motion", ("bank",), "tip laterally", ("the pilot banked",), {"bank%2:38:00::": 0}),
    ("00000004-n", "artifact", ("saw",), "hand tool for cutting", (), {"saw%1:06:00::": 3}),
    ("00000005-v", "contact", ("saw",), "cut with a saw", ("saw wood",), {"saw%2:35:00::": 1}),
    ("00000006-v", "perception", ("see",), "perceive by sight", ("she saw a dog",), {"see%2:39:00::": 90}),
    ("00000007-n", "food", ("ice cream", "icecream"), "frozen dessert", (), {"ice_cream%1:13:00::": 2}),
    ("00000008-n", "animal", ("dog", "domestic dog"), "a member of the genus Canis", ("the dog barked",),
     {"dog%1:05:00::": 30}),
    ("00000009-a", "all", ("fast",), "acting quickly", ("a fast car",), {"fast%3:00:01::": 5}),
    ("00000010-r", "all", ("fast",), "quickly", ("he ran fast",), {"fast%4:02:00::": 4}),
]  # fmt: skip
_PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "a",
    ".",
    ",",
    ":",
    "he",
    "she",
    "sat",
    "on",
    "bank",
    "##s",
    "##ed",
    "saw",
    "dog",
    "ice",
    "cream",
    "fast",
    "noun",
    "verb",
    "adj",
    "adv",
    "see",
    "wood",
    "land",
    "water",
    "money",
    "ran",
    "river",
    "sloping",
    "tool",
    "object",
    "group",
    "artifact",
]


def wordnet() -> WordNet:
    """Ten synsets."""
    synsets = {
        name: Synset(name, {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}[name[-1]], field, words, gloss, found, ())
        for name, field, words, gloss, found, _ in _SENSES
    }
    numbers: dict[tuple[str, str], int] = {}
    keys = []
    for name, *_, found in _SENSES:
        for key, count in found.items():
            lemma = key.partition("%")[0]
            numbers[lemma, name[-1]] = numbers.get((lemma, name[-1]), 0) + 1
            keys.append(SenseKey(key, name, numbers[lemma, name[-1]], count))
    return WordNet(synsets, tuple(keys), (("saw", "see", "v"), ("seen", "see", "v")))


def many_senses(word: str, count: int, glosses: tuple[str, ...] = (), synonyms: tuple[str, ...] = ()) -> WordNet:
    """A noun with some senses."""
    names = [f"{i}{zlib.crc32(word.encode()):07d}"[:8] + "-n" for i in range(count)]
    texts = glosses or tuple(f"meaning {i}" for i in range(count))
    synsets = {
        name: Synset(name, "noun", "group", (word, *synonyms), gloss, (), ())
        for name, gloss in zip(names, texts, strict=True)
    }
    return WordNet(synsets, tuple(SenseKey(f"{word}%1:00:0{i}::", n, i + 1, 0) for i, n in enumerate(names)), ())


def joined(first: WordNet, *others: WordNet) -> WordNet:
    """The synsets of all."""
    for other in others:
        first = WordNet(first.synsets | other.synsets, first.keys + other.keys, ())
    return first


def random_encoder(width: int = 24, layers: int = 2, dimension: int = 8, window: int = 16) -> GlossEncoder:
    """Random weights over letters and a few words."""
    letters = [prefix + letter for letter in "abcdefghijklmnopqrstuvwxyz" for prefix in ("", "##")]
    reader = WordPiece(list(dict.fromkeys([*_PIECES, *letters])))
    rng = np.random.default_rng(3)

    def linear(name: str, rows: int, columns: int) -> dict[str, np.ndarray]:
        weight = rng.normal(size=(rows, columns)) * (1.5 / columns**0.5)
        return {f"{name}.weight": weight, f"{name}.bias": 0.1 * rng.normal(size=rows)}

    def norm(name: str) -> dict[str, np.ndarray]:
        return {f"{name}.weight": 1 + 0.1 * rng.normal(size=width), f"{name}.bias": 0.1 * rng.normal(size=width)}

    tensors = {
        "embeddings.word": rng.normal(size=(len(reader.pieces), width)),
        "embeddings.position": 0.3 * rng.normal(size=(64, width)),
        **norm("embeddings.norm"),
    }
    for layer in range(layers):
        name = f"layer.{layer}."
        tensors |= linear(name + "qkv", 3 * width, width) | linear(name + "out", width, width) | norm(name + "norm1")
        tensors |= linear(name + "up", 4 * width, width) | linear(name + "down", width, 4 * width)
        tensors |= norm(name + "norm2")
    tensors |= linear("context", dimension, width) | linear("gloss", dimension, width)
    return GlossEncoder(tensors, reader, Shape(layers, 4, window=window, overlap=6))


def dictionary() -> Dictionary:
    """The five words, read by the random encoder."""
    encoder, source = random_encoder(), wordnet()
    vectors = encoder.glosses(source.gloss_texts())
    counts = {"semcor": {key.key: key.count for key in source.keys}}
    groups = {"saw%1:06:00::": 1, "saw%2:35:00::": 1}
    return Dictionary(build_dictionary(source, vectors, counts, groups=groups), encoder)
