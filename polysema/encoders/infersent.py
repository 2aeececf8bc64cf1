"""InferSent (Conneau et al. 2017): a bidirectional LSTM over word vectors, the largest state kept in each dimension.

With xₜ (e,) the vectors of a sentence's words and ←hₜ, →hₜ (h,) the states of the LSTM read backwards and forwards,

    sentence = maxₜ [→hₜ; ←hₜ]        (2h,)

The public weights are files of numbers (``infersent1.pkl``, with GloVe 840B vectors; ``infersent2.pkl``, with fastText
crawl vectors) that a user downloads. They are opened by PyTorch's reader of plain tensors: no code in a file is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError, UnknownChoiceError, needing
from polysema.lexicon.lexicon import AnyLexicon, LexiconOf, VectorLexicon, load

ENDS = {1: ("<s>", "</s>"), 2: ("<p>", "</p>")}
"""The words before and after a sentence, by version; left out where the vectors lack them, as all unknown words."""

_NAMES = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


class InferSent:
    """InferSent with a user's weights and word vectors.

    Args:
        weights: tensors by name, ``enc_lstm.weight_ih_l0`` and so on, as the public files have them.
        vectors: a lexicon of vectors of the size the weights ask for.
        version: 1 or 2: which words mark the ends of a sentence.
        batch_size: sentences in a batch.
    """

    def __init__(self, weights: dict[str, Any], vectors: AnyLexicon, version: int = 1, batch_size: int = 64) -> None:
        torch = _torch()
        if version not in ENDS:
            raise UnknownChoiceError("version of InferSent", str(version), map(str, ENDS))
        wanted = [f"{name}{side}" for side in ("", "_reverse") for name in _NAMES]
        found = {name.removeprefix("enc_lstm."): value for name, value in weights.items()}
        missing = [name for name in wanted if name not in found]
        if missing:
            raise FormatError(f"these are not InferSent's weights: enc_lstm.{missing[0]} is missing")
        width = int(found["weight_ih_l0"].shape[1])
        if not isinstance(vectors, VectorLexicon) or vectors.n != width:
            raise InputError(f"InferSent needs word vectors of {width} numbers, this lexicon has {vectors!r}")
        self.vectors, self.version, self.batch_size = vectors, version, batch_size
        self.lstm = torch.nn.LSTM(width, int(found["weight_hh_l0"].shape[1]), bidirectional=True, batch_first=True)
        with torch.no_grad():
            for name in wanted:
                getattr(self.lstm, name).copy_(torch.as_tensor(np.asarray(found[name])))
        self.lstm.eval()

    @classmethod
    def load(
        cls, weights: str | Path, vectors: AnyLexicon | str | Path, version: int = 0, batch_size: int = 64
    ) -> InferSent:
        """InferSent from a file of weights (``.pkl``, ``.pt`` or ``.safetensors``) and word vectors.

        Args:
            version: 1 or 2; by default what the file's name says.
        """
        path = Path(weights)
        lexicon = vectors if isinstance(vectors, LexiconOf) else load(vectors, "vectors")
        return cls(_read(path), lexicon, version or (2 if "2" in path.stem else 1), batch_size)

    def sentences(self, texts: Sequence[str], pooling: str = "mean") -> NDArray[np.float32]:
        """A vector for each sentence, (k, 2h). InferSent pools by the maximum, whatever ``pooling`` says."""
        torch = _torch()
        rows = [self._known(text) for text in texts]
        found = np.empty((len(texts), 2 * self.lstm.hidden_size), np.float32)
        order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            padded = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(rows[i]) for i in batch], batch_first=True)
            lengths = torch.tensor([len(rows[i]) for i in batch])
            packed = torch.nn.utils.rnn.pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
            with torch.inference_mode():
                states, _ = torch.nn.utils.rnn.pad_packed_sequence(
                    self.lstm(packed)[0], batch_first=True, padding_value=-torch.inf
                )
            found[batch] = states.max(dim=1).values.numpy()
        return found

    def words(self, sentences: Sequence[str], targets: Sequence[Any], layer: Any = None) -> NDArray[np.float32]:
        """InferSent compares sentences, not words in them: an error that says so."""
        raise InputError("InferSent gives vectors of sentences only")

    def _known(self, text: str) -> NDArray[np.float32]:
        """The vectors of a sentence's known words and of its ends, (words, e)."""
        before, after = ENDS[self.version]
        words = [before, *re.findall(r"\w+|[^\w\s]", text), after]
        indices = self.vectors.vocabulary.indices
        rows = [indices[word] for word in words if word in indices]
        if not rows:
            raise InputError(f"none of the words of {text!r} has a vector")
        return np.asarray(self.vectors.vectors[rows], dtype=np.float32)


def _read(path: Path) -> dict[str, Any]:
    """Named tensors from a file, without running anything it may hold."""
    torch = _torch()
    if not path.is_file():
        raise FormatError(f"{path}: no such file")
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return dict(load_file(path))
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise FormatError(
            f"{path}: no file of plain tensors ({type(error).__name__}): nothing else is opened"
        ) from None
    if not isinstance(found, dict):
        raise FormatError(f"{path}: holds a {type(found).__name__}, not tensors by name")
    return dict(found)


def _torch() -> Any:
    with needing("InferSent", "encoders"):
        import torch
    return torch
