"""When no sense of a word fits: a context that is further from all of them than nearly all of the word's own are."""

from __future__ import annotations

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
    lexicon: Lexicon, corpus: Corpus, *, most: int = 50, seed: int = 1, progress: Report = silent
) -> NDArray[np.float32]:
    """For each word the cosine max_k cos(v_k, c) that 95 % of its contexts c in a corpus exceed, (V,).

    −1 for words that stand there fewer than 20 times.
    """
    seen = Occurrences(lexicon, corpus, most=most, seed=seed)
    least = np.full(len(lexicon), -1.0, np.float32)
    for part in blocks(len(lexicon), 1024):
        b = lexicon.factors[part].astype(np.float64)
        length = np.linalg.norm(b, axis=1, keepdims=True)
        vectors = b / np.where(length > 0, length, 1.0)
        for i, own in enumerate(seen.of(part.start, part.stop)):
            if len(own.positions) < FEWEST:
                continue
            used = vectors[i][:, length[i, 0] > 0]
            far = np.linalg.norm(own.contexts, axis=1)
            least[part.start + i] = least_cosine((own.contexts[far > 0] @ used).max(axis=1) / far[far > 0])
        progress(Progress("how well senses fit", part.stop, len(lexicon), "words"))
    return least
