"""Describe the senses of a lexicon's words from a corpus."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.corpus.stop_words import is_content
from polysema.errors import InputError, MissingExtraError
from polysema.files.progress import Progress, Report, silent
from polysema.lexicon.faces import Faces
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.parts import Information, Inventory, Telling
from polysema.lexicon.telling import cosines, directions, log_evidence, softmax
from polysema.senses.faces import FaceMaker
from polysema.senses.information import holevo
from polysema.senses.inventory import SEPARATION, Found, count_senses
from polysema.senses.occurrences import Occurrences, Seen
from polysema.senses.speech import Tagger
from polysema.senses.wordnet import SynsetMatcher

FEWEST = 10
"""Words that stand in the corpus less often are not described."""

_BLOCK = 256  # words looked at together


def describe(
    lexicon: Lexicon,
    corpus: Corpus,
    *,
    most: int = 150,
    faces: int = 20_000,
    separation: float = SEPARATION,
    wordnet: bool = False,
    parts: bool = True,
    seed: int = 1,
    progress: Report = silent,
) -> Lexicon:
    """The lexicon with what a corpus shows of its words: ambiguity, senses, and what these look like in use.

    It needs context vectors: multi-sense Word2DM has them. Edits of senses are kept, and so are the senses and the
    ambiguity of a lexicon that came with them, as those that an encoder found.

    Args:
        most: how many occurrences of each word to look at, at most; they are drawn by their hash.
        faces: for how many of the most frequent content words to keep words, collocations and examples.
        separation: how far apart the contexts of two columns must be to be two senses; 0 takes all columns that
            occurrences choose for senses.
        wordnet: whether to look for each sense's synset; needs the extra ``wordnet``.
        parts: whether to find the part of speech of each sense of these words, where the lexicon did not come with
            them; needs spaCy and an English pipeline (extra ``parse``), and is left out where there is none.
        progress: told how far it has come.
    """
    if lexicon.columns != "senses":
        raise InputError("the columns of this lexicon are no senses: describe a lexicon of ms-word2dm")
    started = time.perf_counter()
    progress(Progress("drawing occurrences", 0))
    seen = Occurrences(lexicon, corpus, most=most, seed=seed)
    match = SynsetMatcher(lexicon) if wordnet else None
    shown = _shown(lexicon, seen, faces)
    size = len(lexicon)
    before = lexicon.metadata.get("described", {"kept": True})
    decided = lexicon.inventory if before.get("kept") else None
    speech = None if decided is None else lexicon.speech
    maker, tagger = FaceMaker(corpus), _tagger(corpus, progress) if parts and faces and speech is None else None
    information = np.full(size, np.nan, np.float32)
    senses = np.tile(np.arange(lexicon.m, dtype=np.int8), (size, 1))
    shares, least = np.full((size, lexicon.m), np.nan, np.float32), np.full(size, -1.0, np.float32)
    lines: list[str] = []
    described: list[tuple[str, Found, Seen]]
    for first in range(0, size, _BLOCK):
        last, described = min(first + _BLOCK, size), []
        for row, own in enumerate(seen.of(first, last), first):
            if len(own.positions) < FEWEST:
                continue
            weights, vectors = _columns(lexicon, row)
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
            information[row] = _information(weights, vectors, own, seen.formula)
            if shown[row]:
                described.append((lexicon.vocabulary.words[row], found, own))
        lines += _lines(described, maker, tagger, match)
        spent = time.perf_counter() - started
        progress(
            Progress(
                "describing",
                last,
                size,
                speed=last / max(spent, 1e-9),
                seconds=spent,
                left=spent / last * (size - last),
            )
        )
    known = lexicon.information
    facts = {"most": most, "separation": separation, "seed": seed, "kept": decided is not None}
    return lexicon.with_parts(
        metadata={**lexicon.metadata, "described": facts},
        information=known if known is not None and known.measure != "holevo" else Information(information),
        inventory=Inventory(senses, shares, least),
        speech=speech,
        faces=Faces(lines),
    )


def _columns(lexicon: Lexicon, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The traces (m,) of a word's columns and their unit vectors (m, n)."""
    factor = lexicon.factors[row].astype(np.float64).T
    traces = (factor**2).sum(axis=1)
    return traces, factor / np.sqrt(np.where(traces > 0, traces, 1.0))[:, None]


def _information(weights: NDArray[np.float64], vectors: NDArray[np.float64], own: Seen, formula: Telling) -> float:
    """χ of a word over its own contexts, all its columns taken for senses."""
    evidence = log_evidence(cosines(directions(weights, vectors, formula), own.contexts), own.amounts, formula)
    return holevo(softmax(np.log(np.maximum(weights / weights.sum(), 1e-12)) + evidence), vectors)


def _shown(lexicon: Lexicon, seen: Occurrences, most: int) -> NDArray[np.bool_]:
    """Which words are shown in use, (V,): the most frequent content words."""
    content = np.array(is_content(lexicon.vocabulary.words), bool)
    order = np.argsort(np.where(content, -seen.counts, 1), kind="stable")[: max(most, 0)]
    shown = np.zeros(len(lexicon), bool)
    shown[order] = content[order]
    return shown


def _tagger(corpus: Corpus, progress: Report) -> Tagger | None:
    """What tells parts of speech; where there is none, that is said once."""
    try:
        return Tagger(corpus)
    except MissingExtraError as error:
        progress(Progress("drawing occurrences", 0, note=f"without parts of speech: {error}"))
        return None


def _lines(
    described: list[tuple[str, Found, Seen]], maker: FaceMaker, tagger: Tagger | None, match: SynsetMatcher | None
) -> Iterator[str]:
    """A line for each word: what its senses look like in use."""
    told = [found.posteriors for _, found, _ in described]
    parts = None if tagger is None else iter(tagger.parts([own for _, _, own in described], told))
    for word, found, own in described:
        faces = maker.faces(own, found.posteriors, None if parts is None else next(parts))
        faces = faces if match is None else match.matched(word, faces, found.vectors)
        yield Faces.line(word, dict(zip(found.ids.tolist(), faces, strict=True)))
