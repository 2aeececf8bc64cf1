"""Multi-sense Word2DM, window form, SGD, in PyTorch: batches of gathered rows, index_add_.

All targets of a batch are learnt from before any row moves. Left out: pairs, CBOW, Word2DM, Adam, held-out sentences,
the training loss, streaming.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

LOW = 0xFFFFFFFF
WORDS = 130_000  # survivors a batch, where the vocabulary is large


def signed(x: int) -> int:
    """64 bits as PyTorch has them; sums and products wrap around."""
    return x - (1 << 64) if x >= 1 << 63 else x


GOLDEN, FIRST, SECOND = map(signed, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mixed(z: Any) -> Any:
    """See polysema.kernels.sampling.mixed; shifts are made logical by masks."""
    z = (z ^ ((z >> 30) & ((1 << 34) - 1))) * FIRST
    z = (z ^ ((z >> 27) & ((1 << 37) - 1))) * SECOND
    return z ^ ((z >> 31) & ((1 << 33) - 1))


class Trainer:
    """Both sides of the model and the corpus, on a device."""

    def __init__(self, text: Any, state: Any, device: str = "cuda") -> None:
        def there(array: Any, kind: type = np.int64) -> Any:
            return torch.from_numpy(np.array(array).astype(kind)).to(device)

        source = text.text
        self.state = state
        self.tokens, self.marks = there(source.rows[source.tokens], np.int32), there(source.sentences)
        self.keep, self.alias = there(source.keep), there(source.alias.view(np.int64))
        self.target, self.context = there(state.target, np.float32), there(state.context[:, 0], np.float32)
        reach = np.arange(-source.window, source.window + 1)
        self.offsets = there(reach[reach != 0])
        self.noise = torch.arange(1, source.negatives + 1, device=device) * GOLDEN
        share = min(WORDS, 2 * len(self.keep)) / max(text.kept * len(source.tokens), 1)
        self.sentences = max(1, int(share * (len(source.sentences) - 1)))

    def epoch(self, rate: float, key: int) -> None:
        """Learn from all sentences, batch by batch."""
        ends = self.marks[:: self.sentences].tolist()
        for start, stop in zip(ends, [*ends[1:], len(self.tokens)], strict=True):
            self.learn(*self.survivors(start, stop, signed(key)), rate)

    def survivors(self, start: int, stop: int, key: int) -> tuple[Any, Any, Any]:
        """Words, random bits and sentences of the tokens that survive subsampling."""
        place = torch.arange(start, stop, device=self.tokens.device)
        row, bits = self.tokens[start:stop].long(), mixed(key + place * GOLDEN)
        kept = torch.nonzero(((bits >> 32) & LOW) <= self.keep[row])[:, 0]
        return row[kept], bits[kept], torch.searchsorted(self.marks, place[kept], right=True)

    def learn(self, words: Any, bits: Any, sentences: Any, rate: float) -> None:
        """One sample a survivor. Shapes: s survivors, w places of a window, m senses, k noise words, n numbers."""
        every = torch.arange(len(words), device=words.device)
        places = every[:, None] + self.offsets
        window = len(self.offsets) // 2
        reach = 1 + (((bits & LOW) * window) >> 32)
        near = (places >= 0) & (places < len(words)) & (self.offsets.abs() <= reach[:, None])
        places = places.clamp(0, len(words) - 1)
        near &= sentences[places] == sentences[:, None]
        contexts = words[places]
        c = (self.context[contexts] * near[:, :, None]).sum(1)
        senses = self.target[words]
        products = torch.einsum("smn,sn->sm", senses, c)
        chosen = (products * products.abs() / (senses.square().sum(2) + 1e-30)).argmax(1)
        b, score = senses[every, chosen], products[every, chosen]
        alive = rate * near.any(1)
        up = alive * (1 - torch.sigmoid(score))
        r = mixed(bits[:, None] + self.noise)
        cell = (((r >> 32) & LOW) * len(self.alias)) >> 32
        other = self.alias[cell]
        noise = torch.where((r & LOW) <= ((other >> 32) & LOW), cell, other & LOW)
        v = self.context[noise]
        down = -alive[:, None] * torch.sigmoid(torch.einsum("sn,skn->sk", b, v))
        move = up[:, None] * c + torch.einsum("sk,skn->sn", down, v)
        who, where = torch.nonzero(near, as_tuple=True)
        self.context.index_add_(0, contexts[who, where], (up[:, None] * b)[who])
        self.context.index_add_(0, noise.flatten(), (down[:, :, None] * b[:, None]).flatten(0, 1))
        self.target.view(-1, b.shape[1]).index_add_(0, words * senses.shape[1] + chosen, move)

    def wait(self) -> None:
        """Until the device is done."""
        if self.tokens.is_cuda:
            torch.cuda.synchronize()

    def pull(self) -> None:
        """Bring what was learnt into the state."""
        self.state.target[:], self.state.context[:, 0] = self.target.cpu().numpy(), self.context.cpu().numpy()
