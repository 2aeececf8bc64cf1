"""How many senses an encoder's clusters find, where the right number is known, and whether they are the same again.

    python benchmarks/sense_numbers.py CORPUS --encoder FOLDER [--words 200] [--occurrences 80] [--split 10]

Words of one WordNet synset are read by the encoder and planted: the occurrences of 1, 2, 3 and 5 of them are made one
word's. *Right* is how often as many clusters are found; ARI is the adjusted Rand index of the clusters with the words
that occurrences came from. Stability is measured on as many words of several synsets: each of five seeds takes another
four fifths of the occurrences and starts elsewhere; ARI is over what two seeds share, a mean over pairs of seeds.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
from measure import machine, table
from numpy.typing import NDArray

from polysema import Corpus, Encoder
from polysema.corpus.stop_words import is_content
from polysema.encoders.induction import CLUSTER_DIRECTIONS, SPLIT, padded, sense_labels, whitening
from polysema.encoders.teaching import read_windows, windows_of
from polysema.evaluation.wordnet import sense_counts
from polysema.files.checkpoint import Checkpoint
from polysema.files.working import WorkingFolder
from polysema.progress import progress_report

PLANTED = (1, 2, 3, 5)
MOST = 7
"""Clusters that are looked for at most: more than are planted."""

SEEDS = 5
SHARE = 0.8
Labels = NDArray[np.int64]


def labels(x: NDArray[np.float64], starts: Labels, most: int, split: float, seed: int) -> Labels:
    """The cluster of each occurrence of some words, whitened and centred here."""
    import torch

    means = np.add.reduceat(x, starts[:-1]) / np.diff(starts)[:, None]
    z, ok = padded(x - np.repeat(means, np.diff(starts), axis=0), starts, 0, len(starts) - 1, "cpu")
    found = sense_labels(z, ok, most, split, torch.Generator().manual_seed(seed))
    return np.asarray(found[ok > 0].numpy())


def rand_index(a: Labels, b: Labels) -> float:
    """The adjusted Rand index of two ways to put the same things into groups (Hubert & Arabie 1985).

    >>> rand_index(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """

    def pairs(counts: NDArray[np.float64]) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(both, (a, b), 1)
    one, other, every = pairs(both.sum(1)), pairs(both.sum(0)), len(a) * (len(a) - 1) / 2
    chance, most = one * other / every, (one + other) / 2
    return 1.0 if most == chance else (pairs(both) - chance) / (most - chance)


def planted(x: NDArray[np.float64], starts: Labels, split: float, seed: int) -> list[list[str]]:
    """A row for each number of words that are made one."""
    rng, rows = np.random.default_rng(seed), []
    for k in PLANTED:
        words = rng.permutation(len(starts) - 1)
        groups = words[: len(words) // k * k].reshape(-1, k)
        own = [np.concatenate([np.arange(starts[i], starts[i + 1]) for i in group]) for group in groups]
        source = [np.repeat(np.arange(k), [starts[i + 1] - starts[i] for i in group]) for group in groups]
        cuts = np.concatenate([[0], np.cumsum([len(part) for part in own])])
        found = labels(x[np.concatenate(own)], cuts, MOST, split, seed)
        parts = [found[a:b] for a, b in itertools.pairwise(cuts)]
        numbers = np.array([len(set(part.tolist())) for part in parts])
        agreement = np.mean([rand_index(a, b) for a, b in zip(source, parts, strict=True)])
        counts = " ".join(map(str, np.bincount(numbers, minlength=MOST + 1)[1:]))
        rows.append([str(k), str(len(groups)), f"{(numbers == k).mean():.2f}", f"{agreement:.2f}", counts])
    return rows


def stability(x: NDArray[np.float64], starts: Labels, split: float) -> tuple[float, float, int]:
    """ARI between seeds: the mean over words, over those in which a seed finds several, and how many these are."""
    found = np.full((SEEDS, len(x)), -1, np.int64)
    for seed in range(SEEDS):
        kept = np.flatnonzero(np.random.default_rng([seed, 1]).random(len(x)) < SHARE)
        found[seed, kept] = labels(x[kept], np.searchsorted(kept, starts), 5, split, seed + 1)
    every, several = [], []
    for a, b in itertools.pairwise(starts):
        own = found[:, a:b]
        scores = []
        for one, other in itertools.combinations(own, 2):
            shared = (one >= 0) & (other >= 0)
            scores.append(rand_index(one[shared], other[shared]))
        every.append(np.mean(scores))
        if own.max() > 0:
            several.append(every[-1])
    return float(np.mean(every)), float(np.mean(several)) if several else float("nan"), len(several)


def report(vectors: NDArray[np.float64], starts: Labels, one: NDArray[np.bool_], space: NDArray[np.float64],
           split: float, seed: int) -> None:  # fmt: skip
    """Print both tables.

    Args:
        vectors: (R, d), word after word; ``starts`` (V + 1,) says where each word's begin.
        one: (V,) which words have one synset; the others are those whose stability is measured.
        space: (d, n), what whitens how far contexts move words.
    """
    x = np.asarray(vectors, np.float64) @ space
    for name, chosen in (("planted", one), ("stability", ~one)):
        own = np.flatnonzero(chosen)
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in own])
        cuts = np.concatenate([[0], np.cumsum(np.diff(starts)[own])])
        if name == "planted":
            print(table(["planted", "words", "right", "ARI", "found 1 … 7"], planted(x[rows], cuts, split, seed)))
        else:
            every, several, number = stability(x[rows], cuts, split)
            print(f"\n{len(own)} words of several synsets, {SEEDS} seeds: ARI {every:.2f}; {several:.2f} over the "
                  f"{number} in which a seed finds several senses")  # fmt: skip


def main() -> None:
    """Read, plant, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--words", type=int, default=200, help="half of them of one synset")
    parser.add_argument("--occurrences", type=int, default=80)
    parser.add_argument("--split", type=float, default=SPLIT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, default=Path("sense-numbers.state"), help="what is read is kept here")
    options = parser.parse_args()
    corpus = Corpus(options.corpus)
    words, counts = corpus.vocabulary.words, np.asarray(corpus.counts)
    synsets, content = np.array(sense_counts(words)), np.array(is_content(words), bool)
    rng, chosen = np.random.default_rng(options.seed), []
    for fits in (synsets == 1, synsets > 1):
        pool = np.flatnonzero(fits & content & (counts >= 2 * options.occurrences))
        chosen += [words[i] for i in rng.choice(pool, options.words // 2, replace=False)]
    encoder = Encoder.load(options.encoder, layers="middle", device=options.device)
    windows = windows_of(chosen, [corpus], options.occurrences, options.seed)
    folder = WorkingFolder(options.state)
    identity = {"words": chosen, "occurrences": options.occurrences, "encoder": encoder.name}
    with progress_report() as show:
        found = read_windows(encoder, windows, Checkpoint(folder.file("windows.safetensors"), identity), show)
    values, axes = np.linalg.eigh(found.within(windows.counts))
    space = whitening(values[::-1], axes[:, ::-1], CLUSTER_DIRECTIONS)
    starts = np.searchsorted(windows.owners, np.arange(len(chosen) + 1))
    print(f"{len(windows.centres)} occurrences; {machine()}\n")
    report(found.centres.astype(np.float64), starts, np.arange(len(chosen)) < options.words // 2, space,
           options.split, options.seed)  # fmt: skip


if __name__ == "__main__":
    main()
