"""Whether several words are one entry, such as *give up*, or stand each for itself, as in *roll down the hill*.

With x = max_s ⟨g_s, c⟩ of the entry where all of it stands, x̄ the mean over its words of the same where each stands,
both over content words, N the tagged occurrences of the entry and N_w the fewest of one of its words, they are one
where

    d = a · β(x − x̄) + b · ln((N + ½) / (N_w + 1)) + e
        + f · [no function word] + h · [three words or more] + k · [a name in small letters] > 0 .

An entry with a hyphen in the text, with a word that is none by itself (*San Francisco*), or with *the* and a capital
(*the Hill*) is one; an entry of two function words (*do it*, *in that*) is none. The constants are those of a logistic
regression on SemCor's documents to choose and to calibrate on, where annotators tagged such words as one or apart; β
makes them fit any encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Fit(NamedTuple):
    """How well a word or an entry fits where it stands."""

    similarity: float  # max_s ⟨g_s, c⟩
    uses: int  # its tagged occurrences


FITS, COUNTS, ONE, NO_FUNCTION_WORD, LONGER, SMALL_NAME = 0.4, 0.25, 1.3, 1.6, 2.0, -3.6
"""a, b, e, f, h and k."""

WORST = -0.4
"""The least x − x̄ that counts: an encoder that never saw an idiom may put it anywhere."""


def are_one(entry: Fit, words: Sequence[Fit], length: int, sharpness: float, *, small_name: bool = False) -> bool:
    """Whether an entry is likelier than its words one by one.

    Args:
        words: its content words, one or more.
        length: of all its words.
        sharpness: β.
        small_name: whether the dictionary spells it with a capital and the text does not: *white house*.

    >>> are_one(Fit(0.7, 20), [Fit(0.75, 200), Fit(0.6, 50)], 2, 15.0)
    True
    >>> are_one(Fit(0.3, 0), [Fit(0.9, 10), Fit(0.6, 50)], 2, 15.0)
    False
    """
    gap = entry.similarity - sum(word.similarity for word in words) / len(words)
    rarest = min(word.uses for word in words)
    d = FITS * sharpness * max(gap, WORST) + COUNTS * np.log((entry.uses + 0.5) / (rarest + 1)) + ONE
    d += NO_FUNCTION_WORD * (len(words) == length) + LONGER * (length > 2) + SMALL_NAME * small_name
    return bool(d > 0)
