"""Text that is hardly text, through every step: built, trained on, and asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polysema import load
from tests.campaign.checks import behaviour, traces
from tests.campaign.world import WORDS, Sandbox, sentences, snapshot


def _words(rng: np.random.Generator, count: int, words: list[str] = WORDS) -> str:
    return " ".join(words[i] for i in rng.integers(0, len(words), count))


TEXTS: dict[str, Callable[[np.random.Generator], bytes]] = {
    "empty": lambda rng: b"",
    "only newlines": lambda rng: b"\n" * 5000,
    "only spaces": lambda rng: b" " * 5000,
    "one word": lambda rng: b"bank",
    "one word a line": lambda rng: b"bank\n" * 500,
    "two words for ever": lambda rng: b"bank river " * 3000,
    "one line of many words": lambda rng: _words(rng, 200_000).encode(),
    "a list repeated": lambda rng: ((" ".join(WORDS) + "\n") * 60).encode(),
    "a word repeated in each sentence": lambda rng: "".join((f"{word} " * 30 + "\n") * 3 for word in WORDS).encode(),
    "every word once": lambda rng: " ".join(f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)).encode(),
    "latin-1": lambda rng: ("Déjà vu à la carte près du château. " * 300).encode("latin-1"),
    "utf-16": lambda rng: (_words(rng, 500) + "\n").encode("utf-16"),
    "utf-8 with a mark": lambda rng: b"\xef\xbb\xbf" + _words(rng, 500).encode(),
    "random bytes": lambda rng: rng.integers(0, 256, 20_000, dtype=np.uint8).tobytes(),
    "random lines": lambda rng: b"\n".join(rng.integers(0, 256, 40, dtype=np.uint8).tobytes() for _ in range(500)),
    "only digits": lambda rng: " ".join(map(str, rng.integers(0, 1000, 5000))).encode(),
    "only punctuation": lambda rng: b"... !!! ??? -- ,,, \n" * 500,
    "a huge word": lambda rng: b"a" * 100_000 + b" " + _words(rng, 100).encode(),
    "huge words": lambda rng: b" ".join(bytes([97 + i % 26]) * 300 for i in range(500)),
    "zeros": lambda rng: b"\0" * 20_000,
    "zeros between": lambda rng: _words(rng, 2000).encode().replace(b" ", b"\0"),
    "combining marks": lambda rng: ("e" + "\u0301" * 50 + " ").encode() * 300,
    "right to left": lambda rng: "שלום עולם \u202e abc \u202c\n".encode() * 300,
    "surrogates": lambda rng: b"\xed\xa0\x80 word " * 500,
    "carriage returns": lambda rng: "\r".join(" ".join(s) for s in sentences(200)).encode(),
    "line separators": lambda rng: "\u2028".join(" ".join(s) for s in sentences(200)).encode(),
    "emoji": lambda rng: "👩‍👩‍👧‍👦 🜁 ok word ".encode() * 300,
    "markup": lambda rng: b"<s>\n<s>\n</s>\n" * 400,
    "half a vertical file": lambda rng: b"<s>\nword\tNN\n" * 400,
    "zipf": lambda rng: " ".join(f"{WORDS[min(int(z), len(WORDS)) - 1]}" for z in rng.zipf(1.3, 5000)).encode(),
}  # fmt: skip
STEPS: dict[str, list[str]] = {
    "build": ["corpus", "build", "it.txt", "-o", "out"],
    "build raw": ["corpus", "build", "it.txt", "-o", "out", "--raw"],
    "build lines": ["corpus", "build", "it.txt", "-o", "out", "--sentences", "lines", "--digits", "--hyphens"],
    "train": ["train", "it.txt", "-o", "out", "--dim", "4", "--senses", "2", "--epochs", "2"],
    "train all words": ["train", "it.txt", "-o", "out", "--dim", "4", "--senses", "2", "--epochs", "2", "--min-count", "1", "--held-out", "0.2"],
    "word2dm": ["train", "it.txt", "-o", "out", "--dim", "4", "--model", "word2dm", "--epochs", "1", "--min-count", "1"],
    "word2vec": ["train", "it.txt", "-o", "out", "--dim", "4", "--model", "word2vec", "--epochs", "2", "--min-count", "1", "--rate", "1"],
    "cbow": ["train", "it.txt", "-o", "out", "--dim", "4", "--model", "word2vec", "--form", "cbow", "--epochs", "2", "--min-count", "1"],
    "glove": ["train", "it.txt", "-o", "out", "--dim", "4", "--model", "glove", "--epochs", "2", "--min-count", "1"],
    "context2dm": ["train", "it.txt", "-o", "out", "--dim", "4", "--model", "context2dm", "--senses", "2", "--min-count", "1"],
    "compose": ["compose", "-f", "it.txt", "-l", "lexicon"],
    "words": ["corpus", "info", "corpus", "--words", "it.txt"],
}  # fmt: skip


def draw(rng: np.random.Generator, sandbox: Sandbox) -> dict[str, Any]:
    texts, steps = list(TEXTS), list(STEPS)
    return {
        "text": texts[rng.integers(len(texts))],
        "step": steps[rng.integers(len(steps))],
        "seed": int(rng.integers(1000)),
    }


def attempt(sandbox: Sandbox, text: str, step: str, seed: int = 0) -> list[str]:
    place = sandbox.fresh(("lexicon", "corpus"))
    data = TEXTS[text](np.random.default_rng(seed))
    (place / "it.txt").write_bytes(data[:20_000] if step == "compose" else data)
    before = snapshot(place)
    outcome = sandbox.run(*STEPS[step], timeout=120)
    faults = behaviour(outcome) + traces(sandbox, before, ("out",), outcome.code == 0, False)
    if outcome.code == 0 and STEPS[step][0] == "train":
        numbers = load(place / "out").array
        if not np.isfinite(numbers).all() or not np.abs(numbers).any():
            faults.append("the lexicon holds numbers that are none, or only zeros")
    return faults
