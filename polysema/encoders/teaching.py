"""Senses of some words of a lexicon, found again by an encoder in texts of one's own.

1. As many occurrences of each word are drawn from every text, so that a sense that is common in one of them is not
   drowned by the others. The encoder reads each in a window of its sentence: x_i (d,).
2. Every word j that stands in these windows and that the lexicon knows is an anchor: ridge regression of its direction
   μ_j in the lexicon on the mean of its vectors x gives W (d, n), from the encoder's space to the lexicon's.
3. Clusters of x_i, whitened by how far contexts move the words of these windows on average, are the word's senses
   (:mod:`~polysema.encoders.induction`).
4. ρ = Σ_k p_k v_k v_kᵀ with v_k ∝ Σ W x_i / |W x_i| over the occurrences of sense k, and p_k their share.

The lexicon's own context vectors tell the senses apart, so no encoder is needed afterwards. Any encoder will do, also
another than the one that the lexicon was made with.
"""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.contexts.sample import Ids, Sample, ranges
from polysema.corpus.build import encoded
from polysema.corpus.corpus import Corpus
from polysema.corpus.stop_words import is_content
from polysema.encoders.bert2dm import state_folder
from polysema.encoders.huggingface import Encoder
from polysema.encoders.induction import (
    CLUSTER_DIRECTIONS,
    LEAST,
    SPLIT,
    Senses,
    blocks_of,
    centred,
    padded,
    senses_of,
    whitening,
)
from polysema.encoders.taught import LAYERS
from polysema.errors import InputError
from polysema.files.checkpoint import Checkpoint
from polysema.files.progress import Progress, Report, silent
from polysema.kernels.sampling import stream_key
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.parts import Inventory, Speech
from polysema.lexicon.telling import directions_of_words
from polysema.senses.fitting import least_cosines, unfit_shares

Array = NDArray[np.float64]

REACH = 15
"""How many words to each side of an occurrence the encoder reads."""

FEWEST = 300
"""With fewer anchors nothing can be learnt about how the two spaces lie."""

SEEN = 3
"""A word must stand so often in the windows to be an anchor."""

PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Of the ridge, as shares of the mean variance; one is chosen by anchors that are held out."""

HELD_OUT = 10
"""Every so many-th anchor is."""

TOGETHER = 8
"""Batches whose windows are sorted by length together; between them the state can be saved."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Occurrences of some words and what stands around them, over all texts.

    Attributes:
        words: the T words that stand in them.
        tokens: (N,) all windows one after the other, as indices into these.
        bounds: (S + 1,) where each window starts.
        centres: (S,) where its occurrence stands, in ``tokens``.
        owners: (S,) whose occurrence it is, rising.
    """

    words: list[str]
    tokens: Ids
    bounds: Ids
    centres: Ids
    owners: Ids

    @cached_property
    def counts(self) -> Ids:
        """(T,) how often each word stands in the windows."""
        return np.bincount(self.tokens, minlength=len(self.words))


def windows_of(words: Sequence[str], texts: Sequence[Corpus], occurrences: int, seed: int) -> Windows:
    """At most so many occurrences of each word from each text, drawn by their hash."""
    index = {word: i for i, word in enumerate(words)}
    types: dict[str, int] = {}
    tokens, lengths, centres, owners = [], [], [], []
    for corpus in texts:
        present = [word for word in words if word in corpus.vocabulary]
        if not present:
            continue
        sample = Sample(corpus, min_count=len(corpus.tokens) + 1, keep=present, seed=seed)
        starts, positions = sample.drawn(occurrences)
        sentence = np.searchsorted(corpus.sentences, positions, side="right") - 1
        first = np.maximum(np.asarray(corpus.sentences[sentence]), positions - REACH)
        last = np.minimum(np.asarray(corpus.sentences[sentence + 1]), positions + REACH + 1)
        read = np.asarray(corpus.tokens[ranges(first, last)])
        used, inverse = np.unique(read, return_inverse=True)
        own = [types.setdefault(corpus.vocabulary.words[i], len(types)) for i in used.tolist()]
        tokens.append(np.array(own, np.int64)[inverse])
        lengths.append(last - first)
        centres.append(positions - first)
        of_word = np.array([index[word] for word in sample.vocabulary.words], np.int64)
        owners.append(np.repeat(of_word, np.diff(starts)))
    if not owners:
        raise InputError(f"none of the {len(words)} words stands in the text")
    size, owner, centre = np.concatenate(lengths), np.concatenate(owners), np.concatenate(centres)
    begin = np.cumsum(size) - size
    order = np.argsort(owner, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(size[order])])
    flat = np.concatenate(tokens)[ranges(begin[order], (begin + size)[order])]
    return Windows(list(types), flat, bounds, bounds[:-1] + centre[order], owner[order])


@dataclass(frozen=True, eq=False)
class Vectors:
    """What the encoder found in windows.

    Attributes:
        centres: (S, d) the vectors of the occurrences.
        sums: (T, d) the sum of the vectors of each word that stands in the windows.
        second: (d, d) Σ_i x_i x_iᵀ / (how often its word stands there).
    """

    centres: NDArray[np.float16]
    sums: NDArray[np.float32]
    second: Array

    def within(self, counts: Ids) -> Array:
        """Σ (d, d): how far contexts move a word, a mean over words seen twice or more."""
        several = counts > 1
        means = (self.sums[several] / counts[several, None]).astype(np.float64)
        return np.asarray((self.second - means.T @ means) / max(several.sum(), 1))


def read_windows(encoder: Encoder, windows: Windows, saved: Checkpoint, progress: Report) -> Vectors:
    """Read every window; a run that was stopped goes on where it was."""
    import torch

    d, size = encoder.width, len(windows.centres)
    found = Vectors(np.zeros((size, d), np.float16), np.zeros((len(windows.words), d), np.float32), np.zeros((d, d)))
    saved.numbers = {"next": 0}
    if saved.load():
        found = Vectors(**saved.arrays)
    table, counts = encoder.piece_table(windows.words), windows.counts
    shuffled = np.random.default_rng([stream_key(1, 6)]).permutation(size)  # the time that is left can be told
    step, first, begun = TOGETHER * encoder.batch_size, int(saved.numbers["next"]), time.perf_counter()
    for start in range(first, size, step):
        some = shuffled[start : start + step]
        low, high = windows.bounds[some], windows.bounds[some + 1]
        tokens = windows.tokens[ranges(low, high)]
        bounds = np.concatenate([[0], np.cumsum(high - low)])
        of_centre = np.full(len(tokens), -1, np.int64)
        of_centre[bounds[:-1] + windows.centres[some] - low] = some
        for batch, vectors in encoder.encode(tokens, bounds, table, counts[tokens] > 1):
            own = tokens[batch.tokens]
            weight = torch.from_numpy(counts[own] ** -0.5).to(vectors)[:, None]
            found.second[:] += ((vectors * weight).T @ (vectors * weight)).double().cpu().numpy()
            rows = vectors.cpu().numpy()
            np.add.at(found.sums, own, rows)
            centre = of_centre[batch.tokens]
            found.centres[centre[centre >= 0]] = rows[centre >= 0]
        after = min(start + step, size)
        progress(Progress("encoding", after, size, "sentences", (after - first) / (time.perf_counter() - begun)))
        if saved.due or after == size:
            saved.save({"next": after}, dict(vars(found)))
    return found


@dataclass(frozen=True, eq=False)
class Map:
    """From the encoder's space to the lexicon's: x ↦ (x − mean) W.

    Attributes:
        held_out: the mean cosine of anchors that W was not learnt from with their directions in the lexicon.
        anchors: how many it was learnt from.
    """

    mean: Array
    weights: Array
    held_out: float
    anchors: int

    @classmethod
    def learnt(cls, means: Array, targets: Array, counts: Ids) -> Map:
        """Ridge regression of directions (A, n) on mean vectors (A, d), anchors seen often counting more."""
        trust = counts / (counts + 5.0)
        mean, held = trust @ means / trust.sum(), np.arange(len(means)) % HELD_OUT == 0
        x = means - mean

        def solved(chosen: NDArray[np.bool_], penalty: float) -> Array:
            own = x[chosen] * trust[chosen, None]
            gram = own.T @ x[chosen]
            gram[np.diag_indices(len(gram))] += penalty * np.trace(gram) / len(gram)
            return np.asarray(np.linalg.solve(gram, own.T @ targets[chosen]))

        def agreement(weights: Array) -> float:
            there = x[held] @ weights
            return float(((there * targets[held]).sum(1) / np.linalg.norm(there, axis=1)).mean())

        scores = [agreement(solved(~held, penalty)) for penalty in PENALTIES]
        best = int(np.argmax(scores))
        return cls(mean, solved(np.ones(len(x), bool), PENALTIES[best]), scores[best], len(x))

    def __call__(self, vectors: NDArray[Any]) -> Array:
        """Unit vectors (…, n)."""
        there = (vectors - self.mean) @ self.weights
        return np.asarray(there / np.maximum(np.linalg.norm(there, axis=-1, keepdims=True), 1e-12))


def teach(
    lexicon: Lexicon,
    words: Sequence[str],
    texts: Sequence[Corpus | str | Path],
    encoder: Encoder | str | Path,
    *,
    occurrences: int = 100,
    split: float = SPLIT,
    seed: int = 1,
    state: str | Path | None = None,
    progress: Report = silent,
    checkpoint_seconds: float = 60.0,
) -> Lexicon:
    """The lexicon with the senses that an encoder finds of some of its words in some texts.

    Words that it does not know, or that stand in the texts less than 30 times, are left as they are.

    Args:
        texts: encoded corpora or their folders; or text, as :func:`polysema.build_corpus` takes it, which is then
            encoded. As many occurrences are drawn from each.
        encoder: an encoder, or the name or folder of one, whose middle layers are then taken.
        occurrences: how many of each word to read at most, from each text.
        split: as for :class:`~polysema.encoders.taught.TaughtOptions`.
        state: a folder for what a run keeps on disk: with it a run that was stopped goes on where it was.

    Returns:
        a lexicon whose metadata say under ``taught_again`` which words have new senses, and how well the encoder's
        space could be mapped to the lexicon's: the mean cosine of words that the map was not learnt from.
    """
    if lexicon.columns != "senses" or lexicon.contexts is None or lexicon.inventory is None:
        raise InputError("senses are put into lexicons with senses and context vectors, such as the model that ships")
    known = [word for word in dict.fromkeys(words) if word in lexicon.vocabulary]
    if not known:
        raise InputError(f"the lexicon knows none of the {len(words)} words: place them with polysema adapt first")
    reader = encoder if isinstance(encoder, Encoder) else Encoder.load(encoder, layers=LAYERS)
    with state_folder(state) as folder:
        corpora = [encoded(text, folder / f"text-{number}") for number, text in enumerate(texts)]
        windows = windows_of(known, corpora, occurrences, seed)
        identity = {
            "texts": [corpus.digest for corpus in corpora],
            "words": sha256("\n".join(known).encode()).hexdigest(),
            "options": {"occurrences": occurrences, "seed": seed},
            "encoder": reader.name,
            "layers": list(reader.layers),
            "precision": reader.precision,
        }
        saved = Checkpoint(folder / "windows.safetensors", identity, checkpoint_seconds)
        found = read_windows(reader, windows, saved, progress)
        way = _map(lexicon, windows, found)
        starts = np.searchsorted(windows.owners, np.arange(len(known) + 1))
        senses = _senses(found, windows, starts, way, lexicon.m, split, seed, reader.device.type, progress)
        enough = np.flatnonzero(np.diff(starts) >= LEAST)
        rows = np.array([lexicon.vocabulary.index(known[i]) for i in enough], np.int64)
        result = _with_senses(lexicon, rows, senses.vectors[enough], senses.weights[enough])
        assert result.inventory is not None
        least = np.array(result.inventory.least)
        least[rows] = least_cosines(result, *corpora, words=rows, seed=seed, progress=progress)[rows]
    facts: dict[str, Any] = {
        "words": [known[i] for i in enough],
        "texts": [corpus.path.name for corpus in corpora],
        "occurrences": len(windows.centres),
        "encoder": Path(reader.name).name,
        "anchors": way.anchors,
        "cosine": round(way.held_out, 3),
    }
    before = lexicon.metadata.get("taught_again", [])
    return result.with_parts(
        inventory=Inventory(result.inventory.senses, result.inventory.weights, least),
        faces=None,
        edited={word: edit for word, edit in lexicon.edited.items() if word not in facts["words"]},
        metadata={**lexicon.metadata, "taught_again": [*before, facts]},
    )


def misfits(
    lexicon: Lexicon, texts: Sequence[Corpus], most: int, *, among: Container[str] | None = None, seed: int = 1,
    progress: Report = silent,
) -> list[str]:  # fmt: skip
    """The words of a lexicon that texts use unlike it: those whose occurrences there fit their senses least often.

    Only words that an encoder has read before, that are no function words, and that stand 60 times in the texts.

    Args:
        most: how many.
        among: words to choose from; by default all.
    """
    if lexicon.inventory is None or lexicon.information is None:
        raise InputError("this lexicon does not know when a sense fits: name the words to teach")
    words = lexicon.vocabulary.words
    shares = unfit_shares(lexicon, *texts, least=LEAST * 2, seed=seed, progress=progress)
    possible = np.array(is_content(words), bool) & np.isfinite(lexicon.information.values) & np.isfinite(shares)
    if among is not None:
        possible &= np.array([word in among for word in words], bool)
    rows = np.flatnonzero(possible)
    return [words[i] for i in rows[np.argsort(-shares[rows], kind="stable")][:most]]


def _map(lexicon: Lexicon, windows: Windows, found: Vectors) -> Map:
    rows = np.array([lexicon.vocabulary.find(word) for word in windows.words], np.int64)
    anchors = np.flatnonzero((rows >= 0) & (windows.counts >= SEEN))
    if lexicon.information is not None:  # those that an encoder has placed
        sure = np.isfinite(lexicon.information.values[rows[anchors]])
        anchors = anchors[sure] if sure.sum() >= FEWEST else anchors
    if len(anchors) < FEWEST:
        raise InputError(
            f"{len(anchors)} words that the lexicon knows stand {SEEN} times around the words to teach: {FEWEST} are "
            "needed; give more text or more words"
        )
    counts = windows.counts[anchors]
    means = (found.sums[anchors] / counts[:, None]).astype(np.float64)
    return Map.learnt(means, directions_of_words(lexicon.factors[rows[anchors]]), counts)


def _senses(
    found: Vectors, windows: Windows, starts: Ids, way: Map, most: int, split: float, seed: int, device: str,
    progress: Report,
) -> Senses:  # fmt: skip
    """The senses of every word, in the lexicon's space; clusters are looked for in the encoder's."""
    import torch

    count = len(starts) - 1
    values, axes = np.linalg.eigh(found.within(windows.counts))
    space = torch.from_numpy(whitening(values[::-1], axes[:, ::-1], CLUSTER_DIRECTIONS)).float().to(device)
    size, n = len(windows.centres), way.weights.shape[1]
    senses = Senses(
        np.zeros(size, np.int8), np.zeros((count, most, n), np.float32), np.zeros((count, most), np.float32),
        np.full(count, np.nan, np.float32),
    )  # fmt: skip
    for low, high in blocks_of(count, device):
        random = torch.Generator(device).manual_seed(int(stream_key(seed, 3, low)) >> 1)
        own = slice(int(starts[low]), int(starts[high]))
        x, ok = padded(found.centres, starts, low, high, device)
        unit = padded(way(found.centres[own]), starts[low : high + 1] - starts[low], 0, high - low, device)[0]
        labels, vectors, shares = senses_of(centred(x, ok) @ space, unit, ok, most, split, random)
        senses.labels[own] = labels[ok > 0].cpu().numpy()
        senses.vectors[low:high], senses.weights[low:high] = vectors.cpu().numpy(), shares.cpu().numpy()
        progress(Progress("clustering", high, count, "words"))
    return senses


def _with_senses(lexicon: Lexicon, rows: Ids, vectors: NDArray[np.float32], weights: NDArray[np.float32]) -> Lexicon:
    """The lexicon with other senses (k, m, n) of the words in some rows, with their weights (k, m)."""
    assert lexicon.inventory is not None
    factors, kept = np.array(lexicon.array), lexicon.inventory
    factors[rows] = (np.sqrt(weights)[..., None] * vectors).transpose(0, 2, 1)
    senses, shares = np.array(kept.senses), np.array(kept.weights)
    senses[rows] = np.where(weights > 0, np.arange(lexicon.m), -1)
    shares[rows] = weights
    speech = lexicon.speech
    if speech is not None:  # not known of these senses
        speech = Speech(np.array(speech.tags), np.array(speech.shares))
        speech.tags[rows] = 0
    return lexicon.with_parts(factors=factors, inventory=Inventory(senses, shares, kept.least), speech=speech)
