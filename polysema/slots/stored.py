"""The slots of a lexicon that holds more than slots, in one file: 8 bits a number.

==========================  ==============================================================================
``words`` ``names``         the lemmas, and the names of the slots: UTF-8, one a line
``shares`` (V, 3)           how much of a word's uses each part of speech is, of 255; 0 where it has no vector
``noun`` ``verb``           (k, d), the vectors of the k words that have a share, each up to its length
``adjective``
``counts`` (V,)             how many slots of each word something fills
``slots`` ``lengths`` (E,)  which these are, word by word, and by how many words each is filled
``fillers`` ``weights``     (F,), the rows of these words, and their weights, the largest of a slot 255
==========================  ==============================================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError
from polysema.meanings.parts import SlotFillers
from polysema.slots.relations import SPACES
from polysema.storage import check_regular, save_arrays
from polysema.vocabulary import Vocabulary

Numbers = NDArray[Any]
Stored = tuple[Vocabulary, Numbers, tuple[Numbers, ...], SlotFillers]
"""The words, their shares (V, 3), the vectors (k, d) of each part of speech, and the fillers of the slots."""


def write_slots(path: Path, slots: Stored) -> None:
    """Write slots."""
    vocabulary, shares, spaces, fillers = slots
    if len(vocabulary) > 1 << 16:
        raise InputError(f"{len(vocabulary):,} words: slots are stored of 65,536 at most; see --max-size")
    lengths = np.diff(fillers.starts)
    rows, slots_of = np.divmod(fillers.keys, len(fillers.names))
    largest = np.repeat(fillers.weights[fillers.starts[:-1]], lengths)
    arrays = {
        "words": np.frombuffer("\n".join(vocabulary.words).encode(), np.uint8),
        "names": np.frombuffer("\n".join(fillers.names).encode(), np.uint8),
        "shares": np.where(shares > 0, np.maximum(np.rint(shares * 255), 1), 0).astype(np.uint8),
        "counts": np.bincount(rows, minlength=len(vocabulary)).astype(np.uint16),
        "slots": slots_of.astype(np.uint16),
        "lengths": lengths.astype(np.min_scalar_type(int(lengths.max(initial=0)))),
        "fillers": fillers.fillers.astype(np.uint16),
        "weights": np.maximum(np.rint(fillers.weights / largest * 255), 1).astype(np.uint8),
    }
    for name, vectors in zip(SPACES, spaces, strict=True):
        scale = 127 / np.abs(vectors).max(axis=1, keepdims=True)
        arrays[name] = np.rint(vectors * scale).astype(np.int8)
    save_arrays(path, arrays)


def read_slots(path: Path) -> Stored:
    """Read what :func:`write_slots` wrote; what does not fit together is an error."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        check_regular(path)
        found = load_file(path)
        words, names = (found[name].tobytes().decode().split("\n") for name in ("words", "names"))
        shares, spaces = found["shares"], tuple(found[name] for name in SPACES)
        starts = np.concatenate([[0], np.cumsum(found["lengths"], dtype=np.int64)])
        keys = np.repeat(np.arange(len(found["counts"])) * len(names), found["counts"]) + found["slots"]
        weights = found["weights"].astype(np.float32)
        total = np.add.reduceat(weights, starts[:-1]) if len(keys) else weights
        weights /= np.repeat(total, found["lengths"])
        fillers = SlotFillers(tuple(names), keys, starts, found["fillers"], weights)
    except (OSError, SafetensorError, LookupError, ValueError) as error:
        raise FormatError(f"{path}: damaged slots: {error}") from None
    sizes = [len(vectors) for vectors in spaces], [vectors.shape[1:] for vectors in spaces]
    if (
        shares.shape != (len(words), len(SPACES))
        or sizes != ((shares > 0).sum(axis=0).tolist(), [spaces[0].shape[1:]] * len(SPACES))
        or len(found["counts"]) != len(words)
        or len(keys) != len(starts) - 1
        or not len(found["fillers"]) == len(found["weights"]) == starts[-1]
        or found["slots"].max(initial=0) >= len(names)
        or found["fillers"].max(initial=0) >= len(words)
    ):
        raise FormatError(f"{path}: damaged slots: their parts do not fit together")
    return Vocabulary(words).checked(), shares, spaces, fillers
