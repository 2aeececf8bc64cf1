"""The part of speech of each sense: what a tagger calls most of its occurrences in a corpus.

With t(c) the tag of an occurrence in the context c, and C_k the occurrences whose most probable sense is k,

    part of k = argmax_t |{c ∈ C_k : t(c) = t}| ,      its share = the same maximum / |C_k| .

Tags are those of Universal Dependencies, by spaCy (extra ``parse``). Taggers know names by their capitals: a corpus
that keeps them (``polysema corpus build --keep-case``) tells PROPN from NOUN better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.meanings.descriptions import PARTS_OF_SPEECH, PartOfSpeech
from polysema.meanings.meanings import Matrices
from polysema.meanings.parts import Speech
from polysema.parsing.sentences import parser
from polysema.progress import Progress, Report, silent
from polysema.senses.inventory import Occurrences, Seen, posteriors
from polysema.senses.senses import senses_of

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
TaggedAs = tuple[PartOfSpeech, float] | tuple[None, None]
"""A part of speech and its share; None where too few occurrences tell."""

EACH = 8  # how many occurrences of a sense are tagged, at most
LEAST = 3  # how many there must be
REACH = 4  # words to each side that the tagger is shown: as many as spaCy's small pipelines look at

_BLOCK = 512  # words whose occurrences are drawn together
_TOGETHER = 64  # windows that are tagged as one document, which is quicker than one each
_PIPES = ("transformer", "tok2vec", "tagger", "morphologizer")
_NUMBERS: dict[str, int] = {name: number for number, name in enumerate(PARTS_OF_SPEECH, 1)}


class Tagger:
    """Says what words are where they stand in a corpus; without spaCy and an English pipeline it cannot be made."""

    def __init__(self, corpus: Corpus) -> None:
        self.nlp = parser()
        self.corpus, self.tokens = corpus, np.asarray(corpus.tokens)
        self._rules = self.nlp.get_pipe("attribute_ruler") if self.nlp.has_pipe("attribute_ruler") else list
        self._known: dict[tuple[str, str], str] = {}

    def parts(self, seen: Sequence[Seen], shares: Sequence[Array], each: int = EACH) -> list[list[TaggedAs]]:
        """The part of speech of each sense of some words, with its share.

        Args:
            shares: of each word p(k|c), (occurrences, k).
        """
        chosen = [
            (own, _spread(np.flatnonzero(p.argmax(axis=1) == k), each))
            for own, p in zip(seen, shares, strict=True)
            for k in range(p.shape[1])
        ]
        cuts = np.cumsum([0, *(len(at) for _, at in chosen)]).tolist()
        tags = np.fromiter(self._tags(chosen), np.int64)
        found = (_majority(tags[first:last]) for first, last in pairwise(cuts))
        return [[next(found) for _ in range(p.shape[1])] for p in shares]

    def _tags(self, chosen: Iterable[tuple[Seen, Ids]]) -> Iterator[int]:
        """The number of the tag of each of some occurrences, from 1; 0 for what is no part of speech."""
        from spacy.tokens import Doc

        documents = ((Doc(self.nlp.vocab, words=words), places) for words, places in self._documents(chosen))
        with self.nlp.select_pipes(enable=[name for name in _PIPES if name in self.nlp.pipe_names]):
            for doc, places in self.nlp.pipe(documents, as_tuples=True, batch_size=32):
                for token in (doc[place] for place in places):
                    yield _NUMBERS.get(token.pos_ or self._universal(token.text, token.tag_), 0)

    def _documents(self, chosen: Iterable[tuple[Seen, Ids]]) -> Iterator[tuple[list[str], list[int]]]:
        """Windows around occurrences, a full stop behind each, many to a document; and where the words stand there."""
        words, document, places = self.corpus.vocabulary.words, list[str](), list[int]()
        for own, at in chosen:
            stands = (array[at].tolist() for array in (own.positions, own.firsts, own.lasts))
            for position, first, last in zip(*stands, strict=True):
                start = max(first, position - REACH)
                places.append(len(document) + position - start)
                document += [words[i] for i in self.tokens[start : min(last, position + REACH + 1)].tolist()]
                document.append(".")
                if len(places) == _TOGETHER:
                    yield document, places
                    document, places = [], []
        if places:
            yield document, places

    def _universal(self, word: str, tag: str) -> str:
        """A tag of the Penn Treebank as one of Universal Dependencies, by spaCy's own rules; looked up once."""
        if (word, tag) not in self._known:
            from spacy.tokens import Doc

            (token,) = self._rules(Doc(self.nlp.vocab, words=[word], tags=[tag]))
            self._known[word, tag] = str(token.pos_)
        return self._known[word, tag]


def parts_of_speech(
    lexicon: Matrices, corpus: Corpus, *, most: int = 150, each: int = EACH, seed: int = 1, progress: Report = silent
) -> Speech:
    """The part of speech of each sense of all words that stand in a corpus, for lexicons with context vectors.

    Args:
        most: how many occurrences of each word are looked at, at most; they are drawn by their hash.
        each: how many of those of a sense are tagged, at most.
    """
    tagger, seen = Tagger(corpus), Occurrences(lexicon, corpus, most=most, seed=seed)
    tags, shares = np.zeros((2, len(lexicon), lexicon.m), np.uint8)
    for first in range(0, len(lexicon), _BLOCK):
        last = min(first + _BLOCK, len(lexicon))
        own = {row: one for row, one in enumerate(seen.of(first, last), first) if len(one.positions)}
        senses = [senses_of(lexicon, lexicon.vocabulary.words[row]) for row in own]
        chosen = [
            posteriors(of_word.weights, of_word.vectors, one, seen.formula)
            for of_word, one in zip(senses, own.values(), strict=True)
        ]
        found = tagger.parts(list(own.values()), chosen, each)
        for row, of_word, parts in zip(own, senses, found, strict=True):
            for sense, (part, share) in zip(of_word.ids.tolist(), parts, strict=True):
                if part is not None and share is not None:
                    tags[row, sense], shares[row, sense] = _NUMBERS[part], round(100 * share)
        progress(Progress("tagging", last, len(lexicon)))
    return Speech(tags, shares)


def _spread(at: Ids, most: int) -> Ids:
    """So many of them, from all over."""
    return at if len(at) <= most else at[np.linspace(0, len(at) - 1, most).astype(np.int64)]


def _majority(tags: Ids) -> TaggedAs:
    counts = np.bincount(tags[tags > 0], minlength=2)
    if counts.sum() < LEAST:
        return None, None
    best = int(counts.argmax())
    return PARTS_OF_SPEECH[best - 1], float(counts[best] / counts.sum())
