"""How frequent each sense is in a text, by the encoder's readings.

A reading r(s | c) of a word in context c rests on frequencies q_s. In other text other frequencies p_s hold; they are
the fixed point of

    p_s = (Σ_c r_p(s | c) + κ q_s) / (N + κ) ,        r_p(s | c) ∝ r(s | c) p_s / q_s ,

the mean over N occurrences of readings that are corrected for them (Saerens, Latinne and Decaestecker, 2002), shrunk to
q_s by κ occurrences: a word that the text hardly has keeps its q_s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from polysema.senses.dictionary import Dictionary, softmax

Floats = NDArray[np.float64]

KAPPA = 20.0
"""κ, in occurrences."""

STEPS = 20
_TOGETHER = 512  # texts read at once


def shifted(readings: Floats, q: Floats, kappa: float = KAPPA) -> Floats:
    """p_s: (k,).

    Args:
        readings: (N, k) r(s | c).
        q: (k,) the frequencies that they rest on.

    >>> shifted(np.array([[0.9, 0.1]] * 1000), np.array([0.5, 0.5])).round(2)
    array([0.99, 0.01])
    """
    p = q
    for _ in range(STEPS):
        corrected = readings * (p / q)
        corrected /= corrected.sum(axis=1, keepdims=True)
        p = (corrected.sum(axis=0) + kappa * q) / (len(readings) + kappa)
    return np.asarray(p, np.float64)


def read_senses(
    dictionary: Dictionary, texts: Iterable[str], report: Callable[[int], None] = lambda _: None
) -> dict[str, tuple[NDArray[np.int64], Floats]]:
    """r(s | c) of every word of some texts: by lemma, its rows in the dictionary (k,) and its readings (N, k).

    Forms that can have some of the senses alone, such as *saw* for *see*, are left out.

    Args:
        report: takes the number of texts read.
    """
    c, found = dictionary.calibration, defaultdict[str, list[Floats]](list)
    left, done = iter(texts), 0
    while batch := list(islice(left, _TOGETHER)):
        places = [place for text in batch for place in dictionary.entries_of(text) if place.kept is None]
        for place, context in zip(places, dictionary.contexts(places), strict=True):
            entry = place.entry
            similarities = (entry.vectors @ context).astype(np.float64)
            found[entry.word].append(softmax(c.sharpness * similarities + c.prior * entry.logarithms))
        done += len(batch)
        report(done)
    entries = {word: dictionary.look_up(word).entry for word in found}
    return {word: (entries[word].rows, np.stack(own)) for word, own in found.items()}


def expected_counts(
    dictionary: Dictionary, readings: dict[str, tuple[NDArray[np.int64], Floats]], kappa: float = KAPPA
) -> dict[str, int]:
    """How often a text has each sense key: N p_s of each word."""
    found: dict[str, int] = {}
    for word, (rows, own) in readings.items():
        p = shifted(own, dictionary.look_up(word).entry.frequency, kappa)
        found.update(
            {dictionary.file.key(row): round(len(own) * share) for row, share in zip(rows.tolist(), p, strict=True)}
        )
    return found
