"""How often a stated probability is right, and the numbers that make it so.

For tagged words with similarities x_s = ⟨g_s, c⟩ and frequencies p_s, the sharpness β and the power a of

    p(s | c) ∝ p_s^a exp(β x_s)

are those of the largest likelihood: −ln Σ_{right s} p(s | c) is smooth in (β, a), and Newton's method on the log-odds
finds its minimum. Words with one sense say nothing and are left out.

Text for training, for calibration and for the report must be different documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.tagged_text import TaggedSentence, Target
from polysema.errors import InputError
from polysema.meanings.context_model import softmax
from polysema.senses.dictionary import Calibration, Dictionary
from polysema.senses.dictionary_files import LETTERS, POS, DictionaryFile
from polysema.senses.doubt import features

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scored:
    """A tagged word and how well each of its senses fits.

    Attributes:
        target: the word.
        rows: (s,) its senses in the dictionary.
        similarities: (s,) ⟨g_s, c⟩.
        frequencies: (s,) p_s.
        right: (s,) whether the sense is a right one.
        context: (n,) c.
    """

    target: Target
    rows: NDArray[np.int64]
    similarities: Floats
    frequencies: Floats
    right: NDArray[np.bool_]
    context: Vectors

    def probabilities(self, sharpness: float, prior: float) -> Floats:
        """p(s | c): (s,)."""
        return softmax(sharpness * self.similarities + prior * np.log(self.frequencies))


def context_vectors(encoder: GlossEncoder, sentences: Sequence[TaggedSentence], batch: int = 256) -> Vectors:
    """The vectors of all tagged words of sentences: (words, n), in their order.

    Args:
        batch: sentences of one pass.
    """
    found = []
    for first in range(0, len(sentences), batch):
        group = sentences[first : first + batch]
        spans = [[(target.start, target.end) for target in sentence.targets] for sentence in group]
        found.append(encoder.contexts([sentence.text for sentence in group], spans))
    return np.concatenate(found) if found else np.empty((0, encoder.dimension), np.float32)


def score(
    dictionary: Dictionary,
    sentences: Sequence[TaggedSentence],
    known_pos: bool = True,
    contexts: Vectors | None = None,
) -> list[Scored]:
    """Score the tagged words of sentences; those that the dictionary lacks are left out.

    Args:
        known_pos: only senses of the right part of speech compete; otherwise all of the spelling.
        contexts: the vectors of the tagged words, where they are known; see :func:`context_vectors`.
    """
    file, source = dictionary.file, dictionary.calibration.source
    vectors = context_vectors(dictionary.encoder, sentences) if contexts is None else contexts
    targets = [target for sentence in sentences for target in sentence.targets]
    found: list[Scored] = []
    for target, vector in zip(targets, vectors, strict=True):
        letters = LETTERS[POS.index(target.part_of_speech)] if known_pos else LETTERS
        rows = file.senses(target.lemma, letters)
        if len(rows):
            right = np.array([file.key(row) in target.keys for row in rows.tolist()])
            similarities = (file.unit_vectors(rows) @ vector).astype(float)
            found.append(Scored(target, rows, similarities, file.frequencies(rows, source), right, vector))
    return found


def without_right_group(file: DictionaryFile, words: Sequence[Scored]) -> list[Scored]:
    """Words as a dictionary without their right coarse senses would score them, where others are left."""
    found = []
    for word in words:
        groups = file.group[word.rows]
        kept = ~np.isin(groups, groups[word.right])
        if word.right.any() and kept.any():
            p = word.frequencies[kept] / word.frequencies[kept].sum()
            found.append(
                replace(word, rows=word.rows[kept], similarities=word.similarities[kept], frequencies=p,
                        right=word.right[kept])
            )  # fmt: skip
    return found


def doubt_features(words: Sequence[Scored], background: Vectors, calibration: Calibration) -> Floats:
    """What doubt goes by, see :mod:`polysema.senses.doubt`: (words, 4)."""
    if not words:
        return np.zeros((0, 4))
    best = [word.probabilities(calibration.sharpness, calibration.prior).max() for word in words]
    nearest, senses = [word.similarities.max() for word in words], [len(word.rows) for word in words]
    similar = np.stack([word.context for word in words]) @ background.T
    return features(similar, np.array(nearest), np.array(best), np.array(senses))


def accuracy(words: Sequence[Scored], prior: float, sharpness: float, total: int | None = None) -> float:
    """The share of words whose best sense is right: F1, as every word is answered.

    Args:
        total: the number of words asked; by default those scored.
    """
    right = sum(bool(word.right[word.probabilities(sharpness, prior).argmax()]) for word in words)
    return right / max(total or len(words), 1)


def first_sense(words: Sequence[Scored], dictionary: Dictionary, total: int | None = None) -> float:
    """The accuracy of always answering with WordNet's first sense."""
    right = sum(bool(word.right[dictionary.file.number[word.rows].argmin()]) for word in words)
    return right / max(total or len(words), 1)


def fit(words: Sequence[Scored], start: Calibration | None = None, steps: int = 60) -> Calibration:
    """The calibration of the largest likelihood on scored words of several senses.

    The gradient and curvature of a word's loss are differences of moments of z = (x, ln p): with q the posterior among
    the right senses, ∇ = E_p z − E_q z and H = Cov_p z − Cov_q z; H is replaced by Cov_p z, which is positive.
    """
    start = start or Calibration()
    used = [word for word in words if len(word.rows) > 1 and word.right.any()]
    if not used:
        raise InputError("no tagged word with several senses, one of them right, to calibrate with")
    features = [np.stack([word.similarities, np.log(word.frequencies)], axis=1) for word in used]  # (s, 2) each
    theta = np.array([start.sharpness, start.prior])
    damping = 1e-3
    best = _loss(features, used, theta)
    for _ in range(steps):
        gradient, curvature = np.zeros(2), np.zeros((2, 2))
        for z, word in zip(features, used, strict=True):
            p = softmax(z @ theta)
            q = np.where(word.right, p, 0.0)
            q /= max(q.sum(), 1e-300)
            mean = p @ z
            gradient += mean - q @ z
            curvature += (z * p[:, None]).T @ z - np.outer(mean, mean)
        step = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)) + 1e-9 * np.eye(2), gradient)
        tried = theta - step
        tried[1] = max(tried[1], 0.0)
        loss = _loss(features, used, tried)
        if loss < best:
            converged = best - loss < 1e-7
            theta, best, damping = tried, loss, damping / 4
            if converged:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    return replace(start, sharpness=float(theta[0]), prior=float(theta[1]))


@dataclass(frozen=True, slots=True)
class Reliability:
    """Stated probabilities against how often they were right.

    Attributes:
        stated: (bins,) mean probability of the answers in each bin; NaN where it is empty.
        right: (bins,) share of them that were right.
        counts: (bins,)
        error: the expected calibration error, Σ (count / N) |stated − right|.
        loss: mean −ln p of the right senses.
    """

    stated: Floats
    right: Floats
    counts: NDArray[np.int64]
    error: float
    loss: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        bins = zip(self.stated.tolist(), self.right.tolist(), self.counts.tolist(), strict=True)
        found = [{"stated": s, "right": r, "count": c} for s, r, c in bins if c]
        return {"error": self.error, "loss": self.loss, "bins": found}


def reliability(words: Sequence[Scored], calibration: Calibration, bins: int = 10) -> Reliability:
    """Reliability of the best answers for words of several senses, in bins of equal width."""
    used = [word for word in words if len(word.rows) > 1]
    if not used:
        raise InputError("no tagged word with several senses to measure reliability on")
    p = [word.probabilities(calibration.sharpness, calibration.prior) for word in used]
    stated = np.array([found.max() for found in p])
    right = np.array([word.right[found.argmax()] for word, found in zip(used, p, strict=True)], float)
    place = np.minimum((stated * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = np.bincount(place, stated, bins) / counts
        shares = np.bincount(place, right, bins) / counts
    error = float(np.nansum(counts * np.abs(means - shares)) / len(used))
    loss = float(np.mean([-np.log(max(found[word.right].sum(), 1e-12)) for word, found in zip(used, p, strict=True)]))
    return Reliability(means, shares, counts, error, loss)


def _loss(features: Sequence[Floats], words: Sequence[Scored], theta: Floats) -> float:
    total = 0.0
    for z, word in zip(features, words, strict=True):
        total -= float(np.log(max(softmax(z @ theta)[word.right].sum(), 1e-300)))
    return total / len(words)
