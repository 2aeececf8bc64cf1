"""Taught: a lexicon of density matrices whose senses an encoder found, which needs no encoder to be used.

1. An encoder reads up to 400 occurrences of each word: z_i, the mean of its pieces' vectors, in N dimensions
   (:mod:`~polysema.encoders.occurrences`).
2. Clusters of them are the word's senses; how far they spread is how ambiguous it is
   (:mod:`~polysema.encoders.induction`).
3. ρ_w = Σ_k p_k v_k v_kᵀ with v_k ∝ Σ z_i / |z_i| over the occurrences of sense k, in the first n dimensions, and p_k
   their share.
4. Context vectors learn to tell the senses apart as the encoder did (:mod:`~polysema.encoders.telling`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from polysema.contexts.sample import Sample
from polysema.corpus.corpus import Corpus
from polysema.encoders.bert2dm import state_folder
from polysema.encoders.huggingface import Encoder
from polysema.encoders.induction import SPLIT, induce
from polysema.encoders.occurrences import Reading
from polysema.encoders.telling import learn_to_tell
from polysema.errors import InputError
from polysema.files.checkpoint import Checkpoint
from polysema.files.options import Options, option
from polysema.files.progress import Report, silent
from polysema.lexicon.lexicon import Lexicon
from polysema.lexicon.parts import Information, Inventory, Telling
from polysema.senses.fitting import least_cosines

PROJECTED = 128
"""N, the dimensions that senses are looked for in."""

LAYERS = "middle"
"""Whose mean is taken by default: 5 to 8 of twelve."""

MEASURE = "contextual variance"

PULL = 0.25
"""How far the words around pull a sense in the word's matrix in context; chosen on WordNet's example sentences
(``docs/measurements/senses.md``)."""


@dataclass(frozen=True)
class TaughtOptions(Options):
    """How to make a lexicon of the senses that an encoder finds."""

    model: ClassVar[str] = "taught"
    dim: int = option(56, "n, the dimension", least=1, most=10_000)
    senses: int = option(5, "how many senses a word has at most", least=1, most=100)
    split: float = option(
        SPLIT, "by how much another sense must bring unseen occurrences of an average word nearer to one of its "
        "senses, as squared distance in directions that average words spread by 1 in; higher for fewer senses", least=0,
    )  # fmt: skip
    occurrences: int = option(400, "how many of a word's occurrences are read at most, drawn by the seed", least=3)
    words: int = option(
        0, "about how many words of text to draw from, in sentences drawn by the seed; 0 for all", least=0
    )
    min_count: int = option(80, "words seen less often in that get no matrix", least=1)
    max_size: int | None = option(None, "at most this many of the most frequent words", least=1, by_default="all")
    window: int = option(10, "how many words to each side tell senses apart", least=1, most=1000)
    epochs: int = option(4, "how often the context vectors see every occurrence", least=1)
    seed: int = option(1, "of the samples, the clusters and the context vectors", least=0, most=2**63 - 1)


def taught(
    corpus: Corpus,
    encoder: Encoder | str | Path,
    *,
    keep: Iterable[str] = (),
    state: str | Path | None = None,
    progress: Report = silent,
    checkpoint_seconds: float = 60.0,
    **options: Any,
) -> Lexicon:
    """A lexicon of the senses that an encoder finds in a corpus.

    Args:
        encoder: an encoder, or the name or folder of one, whose middle layers are then taken. Clusters and context
            vectors are computed where it is.
        keep, state, progress: as for :func:`polysema.train`; without a state, vectors are in a temporary folder.
        options: see :class:`TaughtOptions`.
    """
    chosen = TaughtOptions.given(options)
    reader = encoder if isinstance(encoder, Encoder) else Encoder.load(encoder, layers=LAYERS)
    if chosen.dim > reader.width:
        raise InputError(f"this encoder's vectors have {reader.width} numbers: dim cannot be {chosen.dim}")
    sample = Sample(
        corpus, words=chosen.words, min_count=chosen.min_count, max_size=chosen.max_size, keep=keep, stop_words=True,
        seed=chosen.seed,
    )  # fmt: skip
    identity = _identity(reader, sample, chosen)
    device, dim = reader.device.type, min(max(PROJECTED, chosen.dim), reader.width)
    starts, positions = sample.drawn(chosen.occurrences)
    with state_folder(state) as folder, _deterministic():
        reading = Reading(reader, sample, folder, identity, progress, checkpoint_seconds)
        projection = reading.projection(dim, min(chosen.min_count, chosen.occurrences))
        vectors = reading.projected(positions, projection)
        saved = Checkpoint(folder / "senses.safetensors", identity, checkpoint_seconds)
        senses = induce(
            vectors, starts, dim=chosen.dim, most=chosen.senses, split=chosen.split, seed=chosen.seed, device=device,
            saved=saved, progress=progress,
        )  # fmt: skip
        del vectors  # the file may go
        learnt = learn_to_tell(
            sample, positions, senses, window=chosen.window, epochs=chosen.epochs, seed=chosen.seed, device=device,
            progress=progress,
        )  # fmt: skip
    weights = senses.weights
    made = Lexicon(
        sample.vocabulary,
        np.ascontiguousarray((np.sqrt(weights)[..., None] * senses.vectors).transpose(0, 2, 1)),
        columns="senses",
        contexts=learnt.contexts,
        telling=Telling(
            learnt.sharpness,
            learnt.little,
            centred=True,
            subsampled=False,
            distance_weights=learnt.distance_weights,
            pull=PULL,
        ),
        information=Information(senses.information, MEASURE),
        inventory=Inventory(
            np.where(weights > 0, np.arange(chosen.senses), -1).astype(np.int8),
            weights,
            np.full(len(weights), -1, np.float32),
        ),
        metadata={
            "model": chosen.model,
            "options": chosen.as_dict(),
            "corpus": {"path": corpus.path.name, "sentences": len(sample.sentences), "tokens": sample.tokens},
            "encoder": reader.facts(Path(reader.name).name if Path(reader.name).is_dir() else reader.name),
            "occurrences": len(positions),
            "words_by_senses": np.bincount(senses.counts, minlength=chosen.senses + 1)[1:].tolist(),
            "held_out": learnt.held_out,
        },
    )
    least = least_cosines(made, corpus, seed=chosen.seed, progress=progress)
    assert made.inventory is not None
    return made.with_parts(inventory=Inventory(made.inventory.senses, made.inventory.weights, least))


def _identity(encoder: Encoder, sample: Sample, options: TaughtOptions) -> dict[str, Any]:
    """What must agree for a stopped run to go on."""
    reading = {name: getattr(options, name) for name in ("dim", "senses", "split", "occurrences", "words", "seed")}
    return {**sample.identity, "options": reading, **encoder.identity, "device": encoder.device.type}


@contextmanager
def _deterministic() -> Iterator[None]:
    """PyTorch adds in the same order every time: a seed gives the same numbers on the same device."""
    import torch

    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*deterministic", category=UserWarning)
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
