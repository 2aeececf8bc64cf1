"""A corpus with senses planted in it: pseudo-words that stand for two words of different topics."""

import numpy as np


def letters(i: int) -> str:
    return "".join(chr(97 + (i // 26**k) % 26) for k in range(3))


class Planted:
    """Topics of words; some words of one topic share a pseudo-word with some of another.

    Attributes:
        sentences: lists of words.
        truth: for each pseudo-word, its occurrences: (sentence, place, topic).
    """

    def __init__(
        self, topics: int = 6, size: int = 30, merged: int = 12, sentences: int = 12_000, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        word = {(t, i): letters(t * size + i) for t in range(topics) for i in range(size)}
        self.pseudo: list[str] = []
        for k in range(merged):
            a, b = k % topics, (k + 1 + k // topics) % topics
            name = "x" + letters(k)
            word[a, k], word[b, k] = name, name
            self.pseudo.append(name)
        self.plain = sorted({w for w in word.values() if w not in self.pseudo})
        self.sentences: list[list[str]] = []
        self.truth: dict[str, list[tuple[int, int, int]]] = {name: [] for name in self.pseudo}
        for s in range(sentences):
            topic = int(rng.integers(topics))
            drawn = [word[topic, int(i)] for i in rng.integers(size, size=10)]
            self.sentences.append(drawn)
            for place, w in enumerate(drawn):
                if w in self.truth:
                    self.truth[w].append((s, place, topic))


def purity(planted: Planted, lexicon, window: int = 5) -> float:
    """The share of pseudo-words' occurrences whose chosen sense stands, by majority, for the topic they are of."""
    right = total = 0
    contexts = lexicon.parts.contexts
    index = lexicon.vocabulary.indices
    for name in planted.pseudo:
        factor = lexicon.factors[index[name]]
        senses = factor / np.linalg.norm(factor, axis=0)
        table: dict[int, dict[int, int]] = {}
        for s, place, topic in planted.truth[name]:
            words = planted.sentences[s]
            near = words[max(0, place - window) : place] + words[place + 1 : place + 1 + window]
            chosen = int(np.argmax(sum(contexts[index[w]] for w in near) @ senses))
            row = table.setdefault(chosen, {})
            row[topic] = row.get(topic, 0) + 1
        right += sum(max(row.values()) for row in table.values())
        total += len(planted.truth[name])
    return right / total
