"""Context vectors that tell senses apart: learnt from the senses that an encoder gave to occurrences.

With v_k the unit vectors of a word's senses, p_k their weights, v̄ = Σ p_k v_k, and x_j the context vector of the word
at distance j,

    p(k | c) ∝ p_k exp(β cos(v_k − v̄, c) |c| / (|c| + κ)) ,      c = Σ_j g_j x_j

which is what :class:`~polysema.lexicon.parts.Telling` reads. The senses stay as they are; x, g, β and κ minimise
−ln p(k_i | c_i) over the occurrences i of words with several senses, while a share of the words around is left out at
random. A tenth of the occurrences is not trained on: it says how far p can be trusted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.contexts.sample import Ids, Sample
from polysema.encoders.induction import Senses
from polysema.files.progress import Progress, Report
from polysema.kernels.sampling import stream_key

Tensor = Any

BATCH = 16384
STEPS = 100
"""An epoch has at least about so many batches: they are smaller where there are few occurrences."""

RATE = 0.004
DROPPED = 0.3
"""The share of context words that is left out at random while training."""

HELD_OUT = 0.1
BINS = 15
"""Of the calibration error."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What was learnt.

    Attributes:
        contexts: x, (V, n).
        distance_weights: g, (2W,), at the distances −W … −1, 1 … W.
        sharpness: β.
        little: κ.
        held_out: accuracy, log loss and expected calibration error over the occurrences that were held out, accuracy
            and log loss of the weights p_k alone, and how many occurrences; empty where no word has several senses.
    """

    contexts: NDArray[np.float32]
    distance_weights: NDArray[np.float32]
    sharpness: float
    little: float
    held_out: dict[str, float]


def learn_to_tell(
    sample: Sample,
    positions: Ids,
    senses: Senses,
    *,
    window: int,
    epochs: int,
    seed: int,
    device: str,
    progress: Report,
) -> Learnt:
    """Context vectors for given senses.

    Args:
        positions: (R,) where the occurrences stand in the corpus.
        senses: those of every word, and of every occurrence.
        window: W, how many words to each side tell.
    """
    import torch

    rng = np.random.default_rng([stream_key(seed, 4)])
    rows = sample.rows[sample.corpus.tokens[positions]]
    useful = np.flatnonzero(senses.counts[rows] > 1)
    held = rng.random(len(useful)) < HELD_OUT
    trained, tested = useful[~held], useful[held]
    random = torch.Generator(device).manual_seed(int(stream_key(seed, 5)) >> 1)
    model = _Model(senses, window, random, device)
    if not len(trained):
        return model.learnt({})
    optimiser = torch.optim.Adam(model.parameters, lr=RATE)
    size = min(BATCH, max(64, len(trained) // STEPS))
    steps, step, begun = epochs * -(-len(trained) // size), 0, time.perf_counter()
    for epoch in range(1, epochs + 1):
        shuffled = rng.permutation(trained)
        for low in range(0, len(shuffled), size):
            some = shuffled[low : low + size]
            optimiser.param_groups[0]["lr"] = rate = RATE * (1 - step / steps)
            around = context_rows(sample, positions[some], window)
            around[rng.random(around.shape) < DROPPED] = -1
            loss = model.loss(rows[some], around, senses.labels[some])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
            speed, value = step / (time.perf_counter() - begun), float(loss.detach())
            progress(Progress("telling", step, steps, "batches", speed, None, None, epoch, epochs, value, rate=rate))
    return model.learnt(_held_out(model, sample, positions, rows, senses, tested, window))


def context_rows(sample: Sample, positions: Ids, window: int) -> Ids:
    """The rows (k, 2W) of the words at the distances −W … −1, 1 … W from each position; −1 where there is none."""
    corpus = sample.corpus
    sentence = np.searchsorted(corpus.sentences, positions, side="right") - 1
    distances = np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
    places = positions[:, None] + distances
    inside = (places >= corpus.sentences[sentence][:, None]) & (places < corpus.sentences[sentence + 1][:, None])
    return np.where(inside, sample.rows[corpus.tokens[np.where(inside, places, 0)]], -1)


class _Model:
    """x, ln g, ln β and ln κ, and the senses they tell apart."""

    def __init__(self, senses: Senses, window: int, random: Any, device: str) -> None:
        import torch

        vectors, weights = (torch.from_numpy(a).to(device) for a in (senses.vectors, senses.weights))
        centred = vectors - (weights[..., None] * vectors).sum(1, keepdim=True)
        self.directions = torch.nn.functional.normalize(centred, dim=-1)  # (V, m, n)
        self.prior = weights.log()  # (V, m), −∞ where there is no sense
        size = (len(weights), vectors.shape[2])
        several = torch.from_numpy(senses.counts > 1).any().item()
        self.x = (0.05 * torch.randn(size, generator=random, device=device) * several).requires_grad_()
        self.log_g = torch.zeros(2 * window, device=device, requires_grad=True)
        self.log_beta = torch.ones((), device=device, requires_grad=True)
        self.log_kappa = torch.zeros((), device=device, requires_grad=True)
        self.parameters = [self.x, self.log_g, self.log_beta, self.log_kappa]

    def logits(self, rows: Ids, around: Ids) -> Tensor:
        """ln p(k | c) up to a constant, (B, m), for words and the words around them."""
        import torch

        own, near = (torch.from_numpy(ids).to(self.x.device) for ids in (rows, around))
        scale = self.log_g.exp() * (near >= 0)
        x = torch.nn.functional.embedding(near.clamp(min=0), self.x)
        c = (scale[..., None] * x).sum(1)
        length = c.norm(dim=1, keepdim=True)
        c = c / (length + self.log_kappa.exp())
        return self.log_beta.exp() * (self.directions[own] @ c[..., None]).squeeze(-1) + self.prior[own]

    def loss(self, rows: Ids, around: Ids, labels: NDArray[np.int8]) -> Tensor:
        """The mean of −ln p(k | c)."""
        import torch

        wanted = torch.from_numpy(labels.astype(np.int64)).to(self.x.device)
        return torch.nn.functional.cross_entropy(self.logits(rows, around), wanted)

    def learnt(self, held_out: dict[str, float]) -> Learnt:
        x, g, beta, kappa = (item.detach().cpu().numpy() for item in self.parameters)
        return Learnt(x, np.exp(g), float(np.exp(beta)), float(np.exp(kappa)), held_out)


def _held_out(
    model: _Model, sample: Sample, positions: Ids, rows: Ids, senses: Senses, tested: Ids, window: int
) -> dict[str, float]:
    """How well p(k | c) and p_k alone predict the senses of occurrences that were not trained on."""
    import torch

    if not len(tested):
        return {}
    told = np.empty((len(tested), senses.weights.shape[1]))
    with torch.no_grad():
        for low in range(0, len(tested), BATCH):
            some = tested[low : low + BATCH]
            logits = model.logits(rows[some], context_rows(sample, positions[some], window))
            told[low : low + BATCH] = logits.double().softmax(1).cpu().numpy()
    labels, prior = senses.labels[tested].astype(np.int64), senses.weights[rows[tested]].astype(np.float64)
    own = np.arange(len(tested))
    return {
        "occurrences": len(tested),
        "accuracy": float((told.argmax(1) == labels).mean()),
        "accuracy_of_weights": float((prior.argmax(1) == labels).mean()),
        "log_loss": float(-np.log(np.maximum(told[own, labels], 1e-300)).mean()),
        "log_loss_of_weights": float(-np.log(prior[own, labels]).mean()),
        "calibration_error": calibration_error(told.max(1), told.argmax(1) == labels),
    }


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Σ_b |mean confidence − share that is right| · (share of answers), over bins b of equal width (Naeini 2015).

    >>> calibration_error(np.array([0.9, 0.9]), np.array([True, False]))
    0.4
    """
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, confidence - right, BINS)
    return float(np.abs(gaps).sum() / len(right))
