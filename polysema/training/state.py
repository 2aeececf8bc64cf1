"""The numbers a model learns while it is trained: both sides, Adam's moments, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import Checkpoint
from polysema.errors import InputError
from polysema.kernels.simd import padded
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, VectorLexicon
from polysema.meanings.parts import Parts
from polysema.training.objectives import NegativeSamplingOptions, Word2VecOptions
from polysema.vocabulary import Vocabulary

Array = NDArray[np.float32]

_ROWS = 4096  # drawn at a time


@dataclass
class State:
    """The parameters and the position of a run. Rows are padded with zeros to a multiple of four numbers."""

    target: Array  # (V, m, n), one row a sense, or a column of B. The result.
    context: Array  # (V, 1, n), or (V, m, n) for word2dm
    moments: dict[str, Array] = field(default_factory=dict)  # Adam's, by name, each in the shape of its side
    epoch: int = 0  # what comes next
    round: int = 0
    step: int = 0  # how many rounds are done in all
    words: int = 0  # how many words were read
    seconds: float = 0.0  # how long that took
    curve: list[dict[str, Any]] = field(default_factory=list)  # a record for every epoch

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the state."""
        arrays = {"target": self.target, "context": self.context, **self.moments}
        checkpoint.save({name: getattr(self, name) for name in _NUMBERS}, arrays)


_NUMBERS = ("epoch", "round", "step", "words", "seconds", "curve")


def saved_state(checkpoint: Checkpoint | None) -> State | None:
    """The state of a run that was stopped; None where there is none."""
    if checkpoint is None or not checkpoint.load():
        return None
    arrays = dict(checkpoint.arrays)
    return State(arrays.pop("target"), arrays.pop("context"), arrays, **checkpoint.numbers)


def new_state(options: NegativeSamplingOptions, size: int) -> State:
    """Random numbers of the chosen initialisation, from the seed."""
    n, m = options.dim, options.m
    rng = np.random.default_rng([options.seed, 0])
    target = _random(rng, options, (size, m, n))
    context = _random(rng, options, (size, options.context_rows, n))
    if options.init == "word2vec":
        context[:] = 0
    return State(target, context)


def _random(rng: np.random.Generator, options: NegativeSamplingOptions, shape: tuple[int, int, int]) -> Array:
    n, m = options.dim, options.m
    rows = np.zeros((*shape[:2], padded(n)), np.float32)
    reach = 0.5 / (n * m) if options.init == "paper" else 0.5 / n
    for start in range(0, len(rows), _ROWS):  # a piece at a time, not to need the room twice
        piece = rows[start : start + _ROWS, :, :n]
        if options.init == "unit":
            piece[:] = rng.standard_normal(piece.shape, dtype=np.float32) / np.sqrt(n * m)
        else:
            piece[:] = rng.uniform(-reach, reach, piece.shape)
    return rows


def check_start(options: NegativeSamplingOptions, start: AnyLexicon) -> None:
    """Refuse a lexicon that a model with these options cannot go on from."""
    if start.parts.contexts is None:
        raise InputError("the lexicon to go on from has no context vectors: it was not trained by polysema")
    m = start.m if isinstance(start, Lexicon) else 1
    if (start.n, m) != (options.dim, options.m):
        raise InputError(
            f"the lexicon to go on from has dim {start.n} and {m} senses, not {options.dim} and {options.m}: "
            "leave these options out, they are taken from it"
        )


def grown_state(options: NegativeSamplingOptions, vocabulary: Vocabulary, start: AnyLexicon) -> State:
    """The state for a larger vocabulary: known words from the lexicon, new ones at random."""
    check_start(options, start)
    assert start.parts.contexts is not None
    state = new_state(options, len(vocabulary))
    n = options.dim
    known = np.array([word in start for word in vocabulary])
    rows = [start.vocabulary.index(word) for word in vocabulary if word in start]
    factors = start.array[rows].astype(np.float32)
    if factors.ndim == 2:
        factors = factors[:, :, None]
    elif isinstance(start, Lexicon) and start.parts.norms is not None:
        norms = start.parts.norms[rows].astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused below
            factors = factors * (norms / np.linalg.norm(factors, axis=(1, 2)))[:, None, None]
    state.target[known, :, :n] = factors.transpose(0, 2, 1)
    contexts = start.parts.contexts[rows].astype(np.float32)
    state.context[known, :, :n] = contexts[:, None, :] if contexts.ndim == 2 else contexts.transpose(0, 2, 1)
    if not (np.isfinite(state.target).all() and np.isfinite(state.context).all()):
        raise InputError("the lexicon to go on from holds numbers that are not finite (NaN or infinity)")
    return state


def learnt_lexicon(
    state: State, options: NegativeSamplingOptions, vocabulary: Vocabulary, metadata: dict[str, Any]
) -> AnyLexicon:
    """The trained lexicon, with the context side for continued training."""
    n = options.dim
    contexts = np.ascontiguousarray(state.context[..., :n].transpose(0, 2, 1))
    if isinstance(options, Word2VecOptions):
        vectors = np.ascontiguousarray(state.target[:, 0, :n])
        return VectorLexicon(vocabulary, vectors, metadata=metadata, parts=Parts(contexts=contexts[:, :, 0]))
    factors = np.ascontiguousarray(state.target[..., :n].transpose(0, 2, 1))
    return Lexicon(
        vocabulary,
        factors,
        parts=Parts(
            columns="eigen" if options.objective.whole else "senses",
            contexts=contexts if options.objective.whole else contexts[:, :, 0],
            norms=np.linalg.norm(factors, axis=(1, 2)),
        ),
        metadata=metadata,
    )
