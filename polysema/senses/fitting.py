"""When no sense of a word fits: a context that is further from all of them than nearly all of the word's own are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.files.progress import Progress, Report, silent
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.neighbours import blocks
from polysema.senses.occurrences import Occurrences

UNFIT = 0.05
"""The share of a word's own occurrences that no sense is said to fit."""

FEWEST = 20
"""Words seen less often have no such figure."""


def least_cosine(fit: NDArray[np.float64]) -> float:
    """The cosine below which no sense fits, from those of the nearest sense at a word's occurrences; −1 for none."""
    return float(np.quantile(fit, UNFIT)) if len(fit) else -1.0


def least_cosines(
    lexicon: Lexicon,
    *texts: Corpus,
    most: int = 50,
    words: NDArray[np.int64] | None = None,
    seed: int = 1,
    progress: Report = silent,
) -> NDArray[np.float32]:
    """For each word the cosine max_k cos(v_k, c) that 95 % of its contexts c in some texts exceed, (V,).

    −1 for words that stand there fewer than 20 times.

    Args:
        most: how many occurrences of each word to look at, from each text.
        words: the rows of the words to look at; by default all.
    """
    least = np.full(len(lexicon), -1.0, np.float32)
    for row, fit in _nearest(lexicon, texts, most, words, seed, progress):
        least[row] = least_cosine(fit)
    return least


def unfit_shares(
    lexicon: Lexicon, *texts: Corpus, least: int = FEWEST, most: int = 100, seed: int = 1, progress: Report = silent
) -> NDArray[np.float32]:
    """The share of each word's occurrences in some texts that none of its senses fits, (V,).

    About 0.05 where a word is used as in the text that the lexicon was made of. Not a number for words that stand there
    less than ``least`` times, or of which it is not known when a sense fits.
    """
    assert lexicon.inventory is not None
    bound, shares = lexicon.inventory.least, np.full(len(lexicon), np.nan, np.float32)
    for row, fit in _nearest(lexicon, texts, most, np.flatnonzero(bound > -1), seed, progress):
        if len(fit) >= least:
            shares[row] = (fit < bound[row]).mean()
    return shares


def _nearest(
    lexicon: Lexicon, texts: Sequence[Corpus], most: int, words: NDArray[np.int64] | None, seed: int, progress: Report
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Words that are seen often enough, by their rows, with max_k cos(v_k, c) over their contexts in all texts."""
    seen = [Occurrences(lexicon, corpus, most=most, words=words, seed=seed) for corpus in texts]
    for part in blocks(len(lexicon), 1024):
        b = lexicon.factors[part].astype(np.float64)
        length = np.linalg.norm(b, axis=1, keepdims=True)
        vectors = b / np.where(length > 0, length, 1.0)
        for i, own in enumerate(zip(*(text.of(part.start, part.stop) for text in seen), strict=True)):
            contexts = np.concatenate([one.contexts for one in own])
            if len(contexts) >= FEWEST:
                used, far = vectors[i][:, length[i, 0] > 0], np.linalg.norm(contexts, axis=1)
                yield part.start + i, (contexts[far > 0] @ used).max(axis=1) / far[far > 0]
        progress(Progress("how well senses fit", part.stop, len(lexicon), "words"))
