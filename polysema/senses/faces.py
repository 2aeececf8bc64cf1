"""What each sense of a word looks like in the corpus: words, collocations, examples.

Words are ranked by how much more often they stand around one sense than around the others: the log-odds ratio with an
informative prior (Monroe, Colaresi & Quinn, 2008). With y_kw the number of times that word w stands around sense k,
each occurrence counted by p(k|c), and a_w a prior in proportion to w's share of the corpus,

    δ_kw = logit of (y_kw + a_w) among all words around k − logit of (y_w − y_kw + a_w) among those around the others ,
    z_kw = δ_kw / √(1/(y_kw + a_w) + 1/(y_w − y_kw + a_w)) .

A word with one sense is held against the corpus instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.corpus.stop_words import is_content
from polysema.lexicon.faces import Example, Face
from polysema.senses.occurrences import WINDOW, Seen
from polysema.senses.speech import Told

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

WORDS, COLLOCATIONS, EXAMPLES = 8, 4, 3
_PRIOR = 50.0  # the words that the prior amounts to
_LEAST = 1.5  # how often a word stands around a sense at least, by its probabilities
_CERTAIN = 1.0  # z of words that are shown, at least
_SHORT, _LONG = 5, 40  # words of an example


class FaceMaker:
    """Makes the faces of senses from occurrences in a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.tokens = corpus, np.asarray(corpus.tokens)
        words = corpus.vocabulary.words
        self.shown = np.array(is_content(words), bool) & np.array([len(w) > 1 and w.isalpha() for w in words], bool)
        counts = np.asarray(corpus.counts, np.float64)
        self.share = counts / max(counts.sum(), 1.0)

    def faces(self, seen: Seen, posteriors: Array, parts: Sequence[Told] | None = None) -> list[Face]:
        """The face of each sense.

        Args:
            posteriors: (occurrences, k), p(k|c).
            parts: the part of speech of each sense, and its share.
        """
        around, place = self._around(seen, WINDOW)
        beside = [self._beside(seen, side) for side in (-1, 1)]
        telling = self._telling(around, place, posteriors)
        left, right = (self._telling(word[word >= 0], np.flatnonzero(word >= 0), posteriors) for word in beside)
        own = int(self.tokens[seen.positions[0]])
        words = self.corpus.vocabulary.words
        found = []
        for k in range(posteriors.shape[1]):
            pairs = [(z, f"{words[w]} {words[own]}") for z, w in left[k]]
            pairs += [(z, f"{words[own]} {words[w]}") for z, w in right[k]]
            found.append(
                Face(
                    tuple(words[w] for _, w in telling[k] if words[w].lower() != words[own].lower())[:WORDS],
                    tuple(pair for _, pair in sorted(pairs, reverse=True)[:COLLOCATIONS]),
                    tuple(self._examples(seen, posteriors[:, k])),
                    *(parts[k] if parts is not None else (None, None)),
                )
            )
        return found

    def _around(self, seen: Seen, window: int) -> tuple[Ids, Ids]:
        """The words around all occurrences, and which occurrence each stands around."""
        at = seen.positions[:, None] + np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
        inside = (at >= seen.firsts[:, None]) & (at < seen.lasts[:, None])
        return self.tokens[at[inside]].astype(np.int64), np.nonzero(inside)[0]

    def _beside(self, seen: Seen, side: int) -> Ids:
        """The word on one side of each occurrence; −1 where the sentence ends."""
        at = seen.positions + side
        inside = (at >= seen.firsts) & (at < seen.lasts)
        return np.where(inside, self.tokens[np.where(inside, at, 0)], -1).astype(np.int64)

    def _telling(self, words: Ids, place: Ids, posteriors: Array) -> list[list[tuple[float, int]]]:
        """For each sense, the words that stand around it more than elsewhere, as (z, word), the most telling first."""
        content = self.shown[words]
        types, index = np.unique(words[content], return_inverse=True)
        k = posteriors.shape[1]
        if not len(types):
            return [[] for _ in range(k)]
        mass = posteriors[place[content]]
        y = np.zeros((len(types), k))
        for sense in range(k):
            y[:, sense] = np.bincount(index, mass[:, sense], len(types))
        prior = _PRIOR * self.share[types][:, None]
        corpus = 1e3 * y.sum() * self.share[types][:, None]  # the corpus, as if a thousand times as much was seen
        rest = corpus if k == 1 else y.sum(axis=1, keepdims=True) - y
        z = _log_odds(y, rest, prior)
        found = []
        for sense in range(k):
            order = np.argsort(-z[:, sense], kind="stable")[: 4 * WORDS]
            keep = [i for i in order if z[i, sense] >= _CERTAIN and y[i, sense] >= _LEAST]
            found.append([(float(z[i, sense]), int(types[i])) for i in keep])
        return found

    def _examples(self, seen: Seen, p: Array) -> list[Example]:
        """The occurrences that are most surely of a sense, in sentences of a readable length."""
        length = seen.lasts - seen.firsts
        fit = p + 1e-3 * np.linalg.norm(seen.contexts, axis=1) - ((length < _SHORT) | (length > _LONG))
        found: list[Example] = []
        for i in np.argsort(-fit, kind="stable"):
            sentence = int(seen.sentences[i])
            if len(found) == EXAMPLES or (found and p[i] < 0.5):
                break
            text = " ".join(self.corpus.sentence(sentence)[:120])
            if text not in {example.text for example in found}:
                found.append(Example(text, sentence, int(seen.positions[i] - seen.firsts[i])))
        return found


def _log_odds(y: Array, rest: Array, prior: Array) -> Array:
    """z of each word (types, k) around a sense against the rest."""
    a, b = y + prior, rest + prior
    first = np.log(a) - np.log(np.maximum(a.sum(axis=0) + _PRIOR - a, 1e-12))
    second = np.log(b) - np.log(np.maximum(b.sum(axis=0) + _PRIOR - b, 1e-12))
    return np.asarray((first - second) / np.sqrt(1 / a + 1 / b))
