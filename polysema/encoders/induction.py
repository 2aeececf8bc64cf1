"""How many senses a word has, and which of its occurrences are of which: k-means on an encoder's vectors.

With z_i (N,) the vector of an occurrence, m_w the mean of its word and r_i = z_i − m_w, contexts move words by

    Σ = E_w E_i r_i r_iᵀ = U diag(e) Uᵀ ,      T_n = U_n diag(e_n)^(−1/2)

on average, every word counting the same. Whitened, T_nᵀ r_i, an average word spreads by 1 in every direction:

- a word's *information* is E_i ‖T_nᵀ r_i‖² / n with n = 64, how far contexts move its meaning in units of how far they
  move any word's;
- its senses are the clusters of T_nᵀ r_i with n = 32. Their number is the k that minimises

      I_k³ / 3n² + λ (k − 1) ,

  I_k being the mean squared distance of one half of the occurrences to the nearest of k centroids of the other half. To
  split what spreads as an average word does, I_k = n, must bring unseen occurrences nearer by λ, to split what spreads
  twice as far by λ / 4: words that contexts move far are more often ambiguous, others are more often split by topic.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.contexts.sample import Ids
from polysema.files.checkpoint import Checkpoint
from polysema.files.progress import Progress, Report
from polysema.kernels.sampling import stream_key

Array = NDArray[np.float64]
Tensor = Any

BLOCK = {"cpu": 128, "cuda": 1000}
"""Words that are clustered at a time."""

INFORMATION_DIRECTIONS = 64
CLUSTER_DIRECTIONS = 32

SPLIT = 10.0
"""λ. It and the power of I were chosen on one half of planted words and homographs (docs/measurements/senses.md)."""

LEAST = 30
"""A word with fewer occurrences has one sense, and how ambiguous it is is not known."""

SMALLEST = 0.04
"""A cluster with a smaller share of the occurrences is given to its neighbours."""


@dataclass(frozen=True, eq=False)
class Senses:
    """The senses of V words, at most m each.

    Attributes:
        labels: (R,) the sense of each occurrence, 0 for that of most.
        vectors: (V, m, n) the unit vector of each sense; zero where there is none.
        weights: (V, m) its share of the word's occurrences.
        information: (V,) not a number for words with too few occurrences.
    """

    labels: NDArray[np.int8]
    vectors: NDArray[np.float32]
    weights: NDArray[np.float32]
    information: NDArray[np.float32]

    @property
    def counts(self) -> Ids:
        """(V,) how many senses each word has."""
        return np.asarray((self.weights > 0).sum(axis=1))


def within_words(vectors: NDArray[Any], starts: Ids, device: str) -> tuple[Array, Array]:
    """The eigenvalues e (N,) of Σ, falling, and its eigenvectors U (N, N).

    Args:
        vectors: (R, N), word after word.
        starts: (V + 1,) where each word's begin, and where the last end.
    """
    import torch

    total = torch.zeros(vectors.shape[1], vectors.shape[1], dtype=torch.float64, device=device)
    for low, high in blocks_of(len(starts) - 1, device):
        z, ok = padded(vectors, starts, low, high, device)
        scaled = (centred(z, ok) / ok.sum(1).sqrt()[:, None, None]).flatten(0, 1)
        total += (scaled.T @ scaled).double()
    values, axes = np.linalg.eigh(total.cpu().numpy() / (len(starts) - 1))
    return values[::-1].copy(), axes[:, ::-1].copy()


def whitening(values: Array, axes: Array, directions: int) -> Array:
    """T_n (N, n) of the directions that vectors differ in, at most so many."""
    count = min(directions, int((values > 1e-6 * values[0]).sum()))
    return np.asarray(axes[:, :count] / np.sqrt(values[:count]))


def induce(
    vectors: NDArray[Any],
    starts: Ids,
    *,
    dim: int,
    most: int,
    split: float,
    seed: int,
    device: str,
    saved: Checkpoint,
    progress: Report,
) -> Senses:
    """The senses of every word.

    Args:
        vectors, starts: as in :func:`within_words`.
        dim: n, of the sense vectors: the unit means of the unit vectors of a cluster, in the first n dimensions.
        most: how many senses at most.
        split: λ.
        saved: where the state of the run is kept.
    """
    import torch

    count, first, begun = len(starts) - 1, 0, time.perf_counter()
    values, axes = within_words(vectors, starts, device)
    spread, space = (
        torch.from_numpy(whitening(values, axes, n)).float().to(device)
        for n in (INFORMATION_DIRECTIONS, CLUSTER_DIRECTIONS)
    )
    found = Senses(
        np.zeros(starts[-1], np.int8),
        np.zeros((count, most, dim), np.float32),
        np.zeros((count, most), np.float32),
        np.full(count, np.nan, np.float32),
    )
    if saved.load():
        first, found = int(saved.numbers["next"]), Senses(**saved.arrays)
    for low, high in blocks_of(count, device, first):
        random = torch.Generator(device).manual_seed(int(stream_key(seed, 3, low)) >> 1)
        z, ok = padded(vectors, starts, low, high, device)
        r, numbers = centred(z, ok), ok.sum(1)
        enough = (numbers >= LEAST).cpu().numpy()
        moved = (r @ spread).square().sum((1, 2)) / (numbers - 1).clamp(min=1) / spread.shape[1]
        found.information[low:high] = np.where(enough, moved.cpu().numpy(), np.nan)
        unit = torch.nn.functional.normalize(z[..., :dim], dim=-1)
        labels, vectors_of, shares = senses_of(r @ space, unit, ok, most, split, random)
        found.vectors[low:high], found.weights[low:high] = vectors_of.cpu().numpy(), shares.cpu().numpy()
        found.labels[starts[low] : starts[high]] = labels[ok > 0].cpu().numpy()
        progress(Progress("clustering", high, count, speed=(high - first) / (time.perf_counter() - begun)))
        if saved.due or high == count:
            saved.save({"next": high}, dict(vars(found)))
    return found


def senses_of(
    x: Tensor, unit: Tensor, ok: Tensor, most: int, split: float, random: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """The senses of B words: the label (B, L) of each occurrence, their unit vectors (B, m, n), their shares (B, m).

    Args:
        x, ok: as in :func:`sense_labels`.
        unit: (B, L, n) the occurrences in the lexicon's space.
    """
    import torch

    labels = sense_labels(x, ok, most, split, random)
    members = _members(labels, ok, most)
    vectors = torch.nn.functional.normalize(members.mT @ unit, dim=-1)
    return labels, vectors, members.sum(1) / ok.sum(1, keepdim=True)


def sense_labels(x: Tensor, ok: Tensor, most: int, split: float, random: Any) -> Tensor:
    """The sense of each occurrence, (B, L), 0 for the sense of most occurrences.

    Args:
        x: (B, L, n) whitened occurrences of B words, filled up with zeros.
        ok: (B, L) 1 where there is an occurrence, else 0.
    """
    import torch

    most = min(most, ok.shape[1])
    inertia = held_out_inertia(x, ok, most, random)
    scores = inertia**3 / (3 * x.shape[2] ** 2) + split * torch.arange(most, device=x.device)
    chosen = torch.where(ok.sum(1) >= LEAST, scores.argmin(1) + 1, 1)
    labels = torch.zeros(ok.shape, dtype=torch.long, device=x.device)
    for k in range(2, most + 1):
        words = torch.nonzero(chosen == k).squeeze(1)
        if len(words):
            labels[words] = _sorted_out(x[words], ok[words], k, random)
    return labels


def held_out_inertia(x: Tensor, ok: Tensor, most: int, random: Any, halves: int = 2) -> Tensor:
    """I_k for k = 1 … most, (B, most): squared distances of one half to centroids of the other, a mean of two draws."""
    import torch

    found = torch.zeros(len(x), most, device=x.device)
    for _ in range(halves):
        half = ok * (torch.rand(ok.shape, generator=random, device=x.device) < 0.5)
        rest = ok - half
        for k in range(1, most + 1):
            distances = _distances(x, k_means(x, half, k, random, restarts=4, rounds=8)).amin(-1)
            found[:, k - 1] += (distances * rest).sum(1) / rest.sum(1).clamp(min=1) / halves
    return found


def k_means(x: Tensor, ok: Tensor, k: int, random: Any, *, restarts: int, rounds: int) -> Tensor:
    """The centroids (B, k, n) of the smallest inertia among some restarts, each from :func:`_drawn`."""
    import torch

    best = torch.full((len(x),), torch.inf, device=x.device)
    found = torch.zeros(len(x), k, x.shape[2], device=x.device)
    for _ in range(restarts if k > 1 else 1):
        centroids = _drawn(x, ok, k, random)
        for _ in range(rounds if k > 1 else 1):
            members = _members(_distances(x, centroids).argmin(-1), ok, k)
            sizes = members.sum(1)[..., None]
            centroids = torch.where(sizes > 0, members.mT @ x / sizes.clamp(min=1), centroids)
        inertia = (_distances(x, centroids).amin(-1) * ok).sum(1)
        better = inertia < best
        best = torch.where(better, inertia, best)
        found = torch.where(better[:, None, None], centroids, found)
    return found


def _drawn(x: Tensor, ok: Tensor, k: int, random: Any) -> Tensor:
    """Occurrences (B, k, n) to start from, far apart: each is drawn by its squared distance to those before.

    That is k-means++ (Arthur & Vassilvitskii 2007).
    """
    import torch

    far, drawn = torch.ones_like(ok), []
    for _ in range(k):
        at = torch.multinomial(far * ok + 1e-9, 1, generator=random)
        drawn.append(torch.take_along_dim(x, at[..., None], 1))
        nearer = _distances(x, drawn[-1])[..., 0].clamp(min=0)
        far = nearer if len(drawn) == 1 else torch.minimum(far, nearer)
    return torch.cat(drawn, 1)


def _sorted_out(x: Tensor, ok: Tensor, k: int, random: Any) -> Tensor:
    """Labels (B, L) of k clusters, the largest first; small ones are given to their neighbours."""
    import torch

    distances = _distances(x, k_means(x, ok, k, random, restarts=8, rounds=25))
    sizes = _members(distances.argmin(-1), ok, k).sum(1)
    small = sizes < SMALLEST * ok.sum(1, keepdim=True)
    labels = distances.masked_fill(small[:, None], torch.inf).argmin(-1)
    sizes = _members(labels, ok, k).sum(1)
    rank = sizes.argsort(dim=1, descending=True, stable=True).argsort(1)
    return torch.take_along_dim(rank, labels, 1)


def _distances(x: Tensor, centroids: Tensor) -> Tensor:
    """Squared distances (B, L, k)."""
    return x.square().sum(-1, keepdim=True) - 2 * x @ centroids.mT + centroids.square().sum(-1)[:, None]


def _members(labels: Tensor, ok: Tensor, k: int) -> Tensor:
    """(B, L, k): 1 where an occurrence has a label."""
    import torch

    return torch.nn.functional.one_hot(labels, k).to(ok.dtype) * ok[..., None]


def centred(z: Tensor, ok: Tensor) -> Tensor:
    """r (B, L, N)."""
    mean = z.sum(1) / ok.sum(1, keepdim=True)
    return (z - mean[:, None]) * ok[..., None]


def padded(vectors: NDArray[Any], starts: Ids, low: int, high: int, device: str) -> tuple[Tensor, Tensor]:
    """The vectors of some words as (B, L, N), filled up with zeros, and where there are any, (B, L), as 0 and 1."""
    import torch

    sizes = np.diff(starts[low : high + 1])
    ok = np.arange(sizes.max()) < sizes[:, None]
    z = np.zeros((*ok.shape, vectors.shape[1]), np.float32)
    z[ok] = vectors[starts[low] : starts[high]]
    return torch.from_numpy(z).to(device), torch.from_numpy(ok).float().to(device)


def blocks_of(count: int, device: str, first: int = 0) -> Iterator[tuple[int, int]]:
    """The first word of each block, and the one after its last."""
    step = BLOCK[device]
    for low in range(first, count, step):
        yield low, min(low + step, count)
