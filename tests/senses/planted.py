"""A lexicon with context vectors and a corpus in which words have one, two, three and five meanings, known by design."""

import numpy as np

from polysema import Lexicon, Vocabulary
from polysema.meanings.parts import Parts
from tests.training.planted import letters

TOPICS, SIZE, COLUMNS = 8, 40, 6


class Planted:
    """Words of topics, and words that stand in several topics.

    Attributes:
        meanings: the topics of each ambiguous word.
        sentences: lists of words, each of one topic.
        topics: the topic of each sentence.
        lexicon: each planted word has six columns, near the axes of its topics or (dead) of another.
    """

    def __init__(self, seed: int = 0, each: int = 12, sentences: int = 20_000) -> None:
        rng = np.random.default_rng(seed)
        names = [[f"t{letters(t * SIZE + i)}" for i in range(SIZE)] for t in range(TOPICS)]
        self.meanings: dict[str, list[int]] = {}
        for count in (1, 2, 3, 5):
            for i in range(each):
                name = f"w{letters(100 * count + i)}"
                self.meanings[name] = sorted(rng.choice(TOPICS, count, replace=False).tolist())
        self.names = names
        self.sentences, self.topics = [], []
        planted = [[w for w, own in self.meanings.items() if t in own] for t in range(TOPICS)]
        for _ in range(sentences):
            topic = int(rng.integers(TOPICS))
            words = [names[topic][i] for i in rng.integers(SIZE, size=8)]
            words[4] = planted[topic][int(rng.integers(len(planted[topic])))]
            words[2] = "the"
            self.sentences.append(words)
            self.topics.append(topic)
        self.lexicon = self._lexicon(rng)

    def _lexicon(self, rng: np.random.Generator) -> Lexicon:
        n = TOPICS + 4
        words, factors, contexts, counts = [], [], [], []

        def near(topic: int, noise: float) -> np.ndarray:
            vector = noise * rng.normal(size=n)
            vector[topic] += 1
            return vector / np.linalg.norm(vector)

        for topic, listed in enumerate(self.names):
            for word in listed:
                words.append(word)
                factors.append(np.stack([near(topic, 0.1) for _ in range(COLUMNS)], axis=1))
                contexts.append(near(topic, 0.25))
                counts.append(100)
        for word, topics in self.meanings.items():
            absent = [t for t in range(TOPICS) if t not in topics]
            columns = [near(t, 0.1) for t in topics]
            columns += [near(topics[int(rng.integers(len(topics)))], 0.1)]  # a second one for one meaning
            columns += [near(absent[int(rng.integers(len(absent)))], 0.1) for _ in range(COLUMNS - len(columns))]
            order = rng.permutation(COLUMNS)
            words.append(word)
            factors.append(np.stack([columns[i] for i in order], axis=1) * rng.uniform(0.5, 1.5, COLUMNS))
            contexts.append(near(topics[0], 0.25))
            counts.append(100)
        words.append("the")
        factors.append(rng.normal(size=(n, COLUMNS)))
        contexts.append(rng.normal(size=n))
        counts.append(1_000_000)
        return Lexicon(
            Vocabulary(words, counts), np.array(factors), parts=Parts(contexts=np.array(contexts, np.float32))
        )
