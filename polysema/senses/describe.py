"""Describe the senses of a lexicon's words from a corpus: how many, how ambiguous, and what each looks like in use.

Words are ranked by how much more often they stand around one sense than around the others: the log-odds ratio with an
informative prior (Monroe, Colaresi & Quinn, 2008). With y_kw the number of times that word w stands around sense k,
each occurrence counted by p(k|c), and a_w a prior in proportion to w's share of the corpus,

    δ_kw = logit of (y_kw + a_w) among all words around k − logit of (y_w − y_kw + a_w) among those around the others ,
    z_kw = δ_kw / √(1/(y_kw + a_w) + 1/(y_w − y_kw + a_w)) .

A word with one sense is held against the corpus instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.corpus.normalisation import is_content
from polysema.errors import InputError, MatrixError, MissingExtraError
from polysema.meanings.descriptions import Example, SenseDescription, SenseDescriptions
from polysema.meanings.meanings import Matrices
from polysema.meanings.parts import Information, Inventory
from polysema.progress import Progress, Report, silent
from polysema.senses.inventory import (
    SEPARATION,
    WINDOW,
    FoundSenses,
    Occurrences,
    Seen,
    count_senses,
    holevo,
    posteriors,
)  # fmt: skip
from polysema.senses.speech import TaggedAs, Tagger
from polysema.vectors import units

FEWEST = 10  # words that stand in the corpus less often are not described

L = TypeVar("L", bound=Matrices)
Array = NDArray[np.float64]
Ids = NDArray[np.int64]

_BLOCK = 256  # words looked at together
WORDS, COLLOCATIONS, EXAMPLES = 8, 4, 3
_PRIOR = 50.0  # the words that the prior amounts to
_LEAST = 1.5  # how often a word stands around a sense at least, by its probabilities
_CERTAIN = 1.0  # z of words that are shown, at least
_SHORT, _LONG = 5, 40  # words of an example


def describe(
    lexicon: L,
    corpus: Corpus,
    *,
    most: int = 150,
    words: int = 20_000,
    separation: float = SEPARATION,
    parts: bool = True,
    seed: int = 1,
    progress: Report = silent,
) -> L:
    """The lexicon with what a corpus shows of its words: ambiguity, senses, and what these look like in use.

    It needs context vectors: multi-sense Word2DM has them. Edits of senses are kept, and so are the senses and the
    ambiguity of a lexicon that came with them, as those that an encoder found.

    Args:
        most: how many occurrences of each word to look at, at most; they are drawn by their hash.
        words: for how many of the most frequent content words to keep telling words, collocations and examples.
        separation: how far apart the contexts of two columns must be to be two senses; 0 takes all columns that
            occurrences choose for senses.
        parts: whether to find the part of speech of each sense of these words, where the lexicon did not come with
            them; needs spaCy and an English pipeline (extra ``parse``), and is left out where there is none.
        progress: receives how far the work has come.
    """
    if lexicon.parts.columns != "senses":
        raise InputError("the columns of this lexicon are no senses: describe a lexicon of ms-word2dm")
    started = time.perf_counter()
    progress(Progress("drawing occurrences", 0))
    seen = Occurrences(lexicon, corpus, most=most, seed=seed)
    size, content = len(lexicon), np.array(is_content(lexicon.vocabulary.words), bool)
    frequent = np.argsort(np.where(content, -seen.counts, 1), kind="stable")[: max(words, 0)]
    shown = content & np.isin(np.arange(size), frequent)
    before = lexicon.metadata.get("described", {"kept": True})
    decided = lexicon.parts.inventory if before.get("kept") else None
    speech = None if decided is None else lexicon.parts.speech
    maker, tagger = Describer(corpus), _tagger(corpus, progress) if parts and words and speech is None else None
    information = np.full(size, np.nan, np.float32)
    kind = np.int8 if lexicon.m <= 128 else np.int32
    senses = np.tile(np.arange(lexicon.m, dtype=kind), (size, 1))
    shares, least = np.zeros((size, lexicon.m), np.float32), np.full(size, -1.0, np.float32)
    lines: list[str] = []
    described: list[tuple[str, FoundSenses, Seen]]
    for first in range(0, size, _BLOCK):
        last, described = min(first + _BLOCK, size), []
        for row, own in enumerate(seen.of(first, last), first):
            if len(own.positions) < FEWEST:
                continue
            factor = lexicon.array[row].astype(np.float64).T
            weights, vectors = (factor**2).sum(axis=1), units(factor)  # of the columns
            if not weights.any():
                raise MatrixError(f"{lexicon.vocabulary.words[row]!r}: its density matrix has zero trace")
            given = None if decided is None else decided.of(row, vectors.T)
            if decided is None or given is None:
                found = count_senses(weights, vectors, own.contexts, own.amounts, seen.formula, separation=separation)
                senses[row], shares[row] = found.senses, found.shares
            else:
                found = count_senses(
                    given[0], given[1].T, own.contexts, own.amounts, seen.formula, least_share=0.0, separation=0.0
                )
                senses[row], shares[row] = decided.senses[row], decided.weights[row]
            least[row] = found.least
            information[row] = holevo(posteriors(weights / weights.sum(), vectors, own, seen.formula), vectors)
            if shown[row]:
                described.append((lexicon.vocabulary.words[row], found, own))
        lines += _lines(described, maker, tagger)
        spent = time.perf_counter() - started
        speed, left = last / max(spent, 1e-9), spent / last * (size - last)
        progress(Progress("describing", last, size, speed=speed, seconds=spent, left=left))
    known = lexicon.parts.information
    facts = {"most": most, "separation": separation, "seed": seed, "kept": decided is not None}
    return lexicon.with_parts(
        metadata={**lexicon.metadata, "described": facts},
        information=known if known is not None and known.measure != "holevo" else Information(information),
        inventory=Inventory(senses, shares, least),
        speech=speech,
        descriptions=SenseDescriptions(lines),
    )


def _tagger(corpus: Corpus, progress: Report) -> Tagger | None:
    """What tells parts of speech; where there is none, that is said once."""
    try:
        return Tagger(corpus)
    except MissingExtraError as error:
        progress(Progress("drawing occurrences", 0, note=f"without parts of speech: {error}"))
        return None


def _lines(described: list[tuple[str, FoundSenses, Seen]], maker: Describer, tagger: Tagger | None) -> Iterator[str]:
    """A line for each word: what its senses look like in use."""
    chosen = [found.posteriors for _, found, _ in described]
    parts = None if tagger is None else iter(tagger.parts([own for _, _, own in described], chosen))
    for word, found, own in described:
        descriptions = maker.described(own, found.posteriors, None if parts is None else next(parts))
        yield SenseDescriptions.line(word, dict(zip(found.ids.tolist(), descriptions, strict=True)))


class Describer:
    """Describes senses from occurrences in a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.tokens = corpus, np.asarray(corpus.tokens)
        words = corpus.vocabulary.words
        self.shown = np.array(is_content(words), bool) & np.array([len(w) > 1 and w.isalpha() for w in words], bool)
        counts = np.asarray(corpus.counts, np.float64)
        self.share = counts / max(counts.sum(), 1.0)

    def described(
        self, seen: Seen, posteriors: Array, parts: Sequence[TaggedAs] | None = None
    ) -> list[SenseDescription]:
        """The description of each sense.

        Args:
            posteriors: (occurrences, k), p(k|c).
            parts: the part of speech of each sense, and its share.
        """
        windows = [*range(-WINDOW, 0), *range(1, WINDOW + 1)], [-1], [1]
        telling, left, right = (self._telling(*self._at(seen, distances), posteriors) for distances in windows)
        own = int(self.tokens[seen.positions[0]])
        words = self.corpus.vocabulary.words
        found = []
        for k in range(posteriors.shape[1]):
            pairs = [(z, f"{words[w]} {words[own]}") for z, w in left[k]]
            pairs += [(z, f"{words[own]} {words[w]}") for z, w in right[k]]
            found.append(
                SenseDescription(
                    tuple(words[w] for _, w in telling[k] if words[w].lower() != words[own].lower())[:WORDS],
                    tuple(pair for _, pair in sorted(pairs, reverse=True)[:COLLOCATIONS]),
                    tuple(self._examples(seen, posteriors[:, k])),
                    *(parts[k] if parts is not None else (None, None)),
                )
            )
        return found

    def _at(self, seen: Seen, distances: Sequence[int]) -> tuple[Ids, Ids]:
        """The words at some distances from all occurrences, and which occurrence each stands at."""
        at = seen.positions[:, None] + np.asarray(distances)
        inside = (at >= seen.firsts[:, None]) & (at < seen.lasts[:, None])
        return self.tokens[at[inside]].astype(np.int64), np.nonzero(inside)[0]

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
