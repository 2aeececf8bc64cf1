"""The slots of a lexicon that holds more than slots, in one file: 8 bits a number.

==========================  ==============================================================================
``words`` ``names``         the lemmas, and the names of the slots: UTF-8, one a line
``shares`` (V, 3)           how much of a word's uses each part of speech is, of 255; 0 where it has no vector
``noun`` ``verb``           (k, d), the vectors of the k words that have a share, each up to its length
``adjective``
``keys`` ``lengths`` (E,)   row · names + slot of every slot that something fills, and by how many words
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
    largest = np.repeat(fillers.weights[fillers.starts[:-1]], lengths)
    arrays = {
        "words": np.frombuffer("\n".join(vocabulary.words).encode(), np.uint8),
        "names": np.frombuffer("\n".join(fillers.names).encode(), np.uint8),
        "shares": np.where(shares > 0, np.maximum(np.rint(shares * 255), 1), 0).astype(np.uint8),
        "keys": fillers.keys.astype(np.int32),
        "lengths": lengths.astype(np.uint16),
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
        fillers = SlotFillers(tuple(names), found["keys"], starts, found["fillers"], found["weights"])
    except (OSError, SafetensorError, KeyError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: damaged slots: {error}") from None
    sizes = [len(vectors) for vectors in spaces], [vectors.shape[1:] for vectors in spaces]
    if (
        shares.shape != (len(words), len(SPACES))
        or sizes != ((shares > 0).sum(axis=0).tolist(), [spaces[0].shape[1:]] * len(SPACES))
        or not len(found["keys"]) == len(starts) - 1 == len(found["lengths"])
        or not len(found["fillers"]) == len(found["weights"]) == starts[-1]
        or found["keys"].max(initial=0) >= len(words) * len(names)
        or found["fillers"].max(initial=0) >= len(words)
    ):
        raise FormatError(f"{path}: damaged slots: their parts do not fit together")
    return Vocabulary(words).checked(), shares, spaces, fillers
