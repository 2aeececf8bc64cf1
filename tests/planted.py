"""A lexicon with planted senses: *bank* and *bar* mean two things each, every other word one."""

import numpy as np

from polysema import Lexicon, Vocabulary
from polysema.meanings.parts import Parts

TOPICS = {
    "water": ["river", "water", "boat", "flooded", "muddy"],
    "money": ["money", "loan", "raised", "rates", "central"],
    "law": ["court", "judge", "lawyer", "sentenced", "legal"],
    "drink": ["beer", "wine", "waiter", "drank", "cheap"],
}
AMBIGUOUS = {"bank": ("water", "money"), "bar": ("law", "drink")}


def planted_lexicon(seed: int = 0, contexts: bool = True) -> Lexicon:
    """Each topic has three axes of its own; a word of it is a little mixture around them."""
    rng = np.random.default_rng(seed)
    n = 3 * len(TOPICS)
    axes = {topic: slice(3 * i, 3 * i + 3) for i, topic in enumerate(TOPICS)}

    def direction(topic: str) -> np.ndarray:
        vector = 0.05 * rng.normal(size=n)
        vector[axes[topic]] += 1 + 0.3 * rng.normal(size=3)
        return vector / np.linalg.norm(vector)

    words = [word for listed in TOPICS.values() for word in listed]
    topics = [topic for topic, listed in TOPICS.items() for _ in listed]
    factors = [np.stack([direction(topic), 0.3 * direction(topic)], axis=1) for topic in topics]
    around = [direction(topic) for topic in topics]
    for word, (first, second) in AMBIGUOUS.items():
        words.append(word)
        factors.append(np.stack([direction(first), 0.8 * direction(second)], axis=1))
        around.append(direction(first) + direction(second))
    words.append("the")
    factors.append(rng.normal(size=(n, 2)))
    around.append(rng.normal(size=n))
    counts = [100] * (len(words) - 1) + [100_000]
    kept = np.array(around, dtype=np.float32) if contexts else None
    return Lexicon(Vocabulary(words, counts), np.array(factors), parts=Parts(contexts=kept))


def topic_of(word: str) -> str:
    """The topic of a word that has one."""
    return next(topic for topic, listed in TOPICS.items() if word in listed)
