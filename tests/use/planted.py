"""Tagged corpora whose words are used in known senses: vectors lie near the gloss of the sense, with noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polysema.senses.dictionary import Dictionary
from polysema.use.tagged import KEPT, PARTS, Tagged, posterior
from polysema.use.text import Document
from tests.senses import five_words

BANK = ("bank%1:14:00::", "bank%1:17:01::", "bank%2:38:00::")


def dictionary() -> Dictionary:
    """Five words whose glosses are nearly orthogonal."""
    found = five_words.dictionary()
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(8, 8)))[0][np.arange(10) % 8]
    found.file.vectors = np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(np.int8)
    return Dictionary(found.file, found.encoder)


def tagged(
    known: Dictionary, mixes: Sequence[Sequence[float]], per_document: int = 4, noise: float = 0.15, seed: int = 0
) -> Tagged:
    """A corpus that uses *bank* in its three senses; a document for each mix, dated 1800, 1801 …"""
    rng, keys = np.random.default_rng(seed), {known.file.key(row): row for row in range(len(known.file.synset_of))}
    rows = np.array([keys[key] for key in BANK])
    senses = np.concatenate([rng.choice(3, per_document, p=mix) for mix in mixes])
    vectors = known.file.unit_vectors(rows)[senses] + noise * rng.normal(size=(len(senses), 8))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    p, _ = posterior(known, rows, vectors)
    best = np.argsort(-p, axis=1, kind="stable")
    texts = [f"Use {i} of the bank.\n".encode() for i in range(len(senses))]
    places = [text.index(b"bank") for text in texts]
    missing = np.full((len(senses), KEPT - 3), -1)
    columns = {
        "byte": np.cumsum([0, *map(len, texts)]),
        "document": np.repeat(np.arange(len(mixes)), per_document),
        "offset": np.zeros(len(senses), np.int64),
        "first": np.arange(len(senses) + 1),
        "start": np.array(places),
        "end": np.array(places) + 4,
        "sense": np.concatenate([rows[best], missing], axis=1),
        "p": np.concatenate([np.rint(np.take_along_axis(p, best, 1) * PARTS).astype(int), 0 * missing], axis=1),
        "fits": np.ones(len(senses), np.uint8),
        "vector": np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(np.int8),
    }
    documents = [Document(f"d{i}", {"date": str(1800 + i), "genre": "ab"[i % 2]}) for i in range(len(mixes))]
    return Tagged(columns, np.frombuffer(b"".join(texts), np.uint8), documents, known)
