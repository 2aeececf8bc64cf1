"""Sentences as features for scikit-learn: density matrices, senses in context, entropies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from polysema.composition.compose import Composition
from polysema.composition.methods import method_named, word_method
from polysema.composition.occurrences import tokenised
from polysema.density import DensityMatrix
from polysema.errors import InputError, check_choice
from polysema.lexicon.lexicon import Lexicon, load, with_matrices
from polysema.meanings.results import Results
from polysema.measures import entropy
from polysema.senses.answers import Disambiguation
from polysema.senses.senses import senses_of

Array = NDArray[np.float64]


class SentenceFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transforms sentences into numbers.

    ============  ========  ======================================================================================
    ``senses``    n         the mean over the content words of Σ_k p(k | sentence) v_k, their senses in context; of a
                            lexicon with a dictionary in its space, over the words that it has
    ``vectors``   n         the mean over all words of their heaviest sense: a bag of vectors, as a baseline
    ``matrix``    n(n+1)/2  the upper triangle of the composed density matrix, off the diagonal times √2, so that the
                            scalar product of two sentences is tr(ρσ)
    ``entropy``   3         the entropy of the composed sentence, and the mean of its words' without and in context
    ============  ========  ======================================================================================

    ``fit`` only checks the settings. A sentence without a word of the lexicon is all zeros.

    Args:
        features: one of the names above, or several.
        lexicon: a lexicon, or a name that :func:`polysema.load` takes.
        method: composition method of ``matrix`` and ``entropy``; by default ``phaser``; of pure states ``smooth-noun``.
        nlp: the spaCy pipeline, or its name. By default ``matrix`` and ``entropy`` parse with the one that is found,
            and ``senses`` uses the context words alone.
    """

    def __init__(
        self, features: str | Sequence[str] = "senses", *, lexicon: str | Lexicon = "default", method: str = "",
        nlp: Any = None,
    ) -> None:  # fmt: skip
        self.features, self.lexicon, self.method, self.nlp = features, lexicon, method, nlp

    def fit(self, X: Iterable[str], y: Any = None) -> SentenceFeatures:
        """Check the settings and the sentences."""
        lexicon = self._opened()
        method_named(self.method or word_method(lexicon.array), lexicon.methods)
        self._chosen()
        _checked(X)
        return self

    def transform(self, X: Iterable[str]) -> Array:
        """The features of each sentence, (sentences, features)."""
        lexicon, sentences = self._opened(), _checked(X)
        parts = [KINDS[kind](self, lexicon, sentences) for kind in self._chosen()]
        return np.concatenate(parts, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """``senses0`` …, ``vectors0`` …, ``matrix0_0``, ``matrix0_1`` …, ``entropy_of_sentence`` …"""
        n = self._opened().n
        names: list[str] = []
        for kind in self._chosen():
            if kind == "matrix":
                names += [f"matrix{i}_{j}" for i, j in zip(*np.triu_indices(n), strict=True)]
            elif kind == "entropy":
                names += ["entropy_of_sentence", "entropy_of_words", "entropy_in_context"]
            else:
                names += [f"{kind}{i}" for i in range(_dimension(self._opened()) if kind == "senses" else n)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags

    def _opened(self) -> Lexicon:
        given = load(self.lexicon) if isinstance(self.lexicon, str) else self.lexicon
        return with_matrices(given, "sentence features")

    def _chosen(self) -> list[str]:
        chosen = [self.features] if isinstance(self.features, str) else list(self.features)
        for kind in chosen:
            check_choice("kind of features", kind, KINDS)
        if not chosen:
            raise InputError(f"no kind of features: name one of {', '.join(KINDS)}")
        return chosen


def _checked(sentences: Iterable[str]) -> list[str]:
    if isinstance(sentences, str):
        raise InputError("one sentence where a list of sentences is expected")
    found = list(sentences)
    for place, sentence in enumerate(found):
        if not isinstance(sentence, str):
            raise InputError(f"sentence {place} is {sentence!r}, not text: fill in missing values first")
    return found


def _read(own: SentenceFeatures, lexicon: Lexicon, sentences: list[str]) -> list[Results[Disambiguation]]:
    return lexicon.read(sentences, every=True, fine=True, top=1, nlp=False if own.nlp is None else own.nlp)


def _dimension(lexicon: Lexicon) -> int:
    """The dimension of the space that senses in context are vectors of."""
    return lexicon.n if lexicon.dictionary is None else lexicon.dictionary.dimension


def _matrix(own: SentenceFeatures, lexicon: Lexicon, sentences: list[str]) -> Array:
    rows, columns = np.triu_indices(lexicon.n)
    scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
    found = np.zeros((len(sentences), len(rows)))
    for i, item in enumerate(lexicon.compose(sentences, own.method or word_method(lexicon.array), nlp=own.nlp)):
        if isinstance(item, Composition):
            if item.meaning.n != lexicon.n:
                raise InputError(f"{item.method} gives matrices of different sizes, which cannot be features")
            found[i] = item.meaning.dense()[rows, columns] * scale
    return found


def _vectors(own: SentenceFeatures, lexicon: Lexicon, sentences: list[str]) -> Array:
    words = [[token.text.lower() for token in tokenised(sentence).tokens] for sentence in sentences]
    known = {word for own in words for word in own if word in lexicon}
    first = {word: senses_of(lexicon, word).vectors[0] for word in known}
    return _means([[first[word] for word in own if word in known] for own in words], lexicon.n)


def _senses(own: SentenceFeatures, lexicon: Lexicon, sentences: list[str]) -> Array:
    n = _dimension(lexicon)
    means = [
        [
            np.sum([s.probability * s.vector for s in item.senses], axis=0)
            for item in read
            if len(item.sense.vector) == n
        ]
        for read in _read(own, lexicon, sentences)
    ]
    return _means(means, n)


def _entropy(own: SentenceFeatures, lexicon: Lexicon, sentences: list[str]) -> Array:
    found = np.zeros((len(sentences), 3))
    composed = lexicon.compose(sentences, own.method or word_method(lexicon.array), nlp=own.nlp)
    for i, (read, item) in enumerate(zip(_read(own, lexicon, sentences), composed, strict=True)):
        if isinstance(item, Composition) and isinstance(item.meaning, DensityMatrix):
            found[i, 0] = entropy(item.meaning)
        if read:
            found[i, 1:] = np.mean([(word.entropy_before, word.entropy_after) for word in read], axis=0)
    return found


def _means(vectors: Sequence[Sequence[Array]], n: int) -> Array:
    return np.array([np.mean(own, axis=0) if own else np.zeros(n) for own in vectors]).reshape(len(vectors), n)


Kind = Callable[[SentenceFeatures, Lexicon, list[str]], Array]
KINDS: dict[str, Kind] = {"senses": _senses, "vectors": _vectors, "matrix": _matrix, "entropy": _entropy}
"""The kinds of features, by name."""
