"""The models that are trained by negative sampling: their options, and the record of what differs between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from polysema.corpus.corpus import Corpus
from polysema.kernels import ms_word2dm, word2dm
from polysema.kernels.simd import padded
from polysema.options import Options, option

Exact = NDArray[np.float64]

INITS: dict[str, str] = {
    "uniform": "each number uniform in ± 0.5/n",
    "word2vec": "senses uniform in ± 0.5/n, context vectors zero, as word2vec's code",
    "paper": "each number uniform in ± 0.5/(n·m), as the paper's Word2DM",
    "unit": "each column normal, of squared length 1/m on average, so that a word's trace is about 1",
}
OPTIMISERS: dict[str, float] = {"sgd": 0.025, "adam": 0.001}  # optimisers, with their learning rates
SEEDS = 2**63 - 1  # the largest seed


@dataclass(frozen=True)
class Objective:
    """What differs between models that are trained by negative sampling."""

    kernel: ModuleType  # the compiled steps, with ``train_rounds`` and ``sizes``; see :mod:`polysema.kernels.rounds`
    whole: bool  # whether the m rows of a word move together, on both sides, as one factor
    # −Σ J of s samples: of their targets (s, m, n), contexts (s, rows, n) and noise words (s, K, rows, n), and whether
    # senses are chosen by cosine
    loss: Callable[[Exact, Exact, Exact, bool], float]
    # the targets of a round of SGD, by the share of the most frequent word and the size of the vocabulary. The busiest
    # word should not meet more than a thousand times in a round what was true before it, and a round should not outgrow
    # the caches. Word2DM's steps multiply, so its rounds are shorter.
    targets: Callable[[float, int], float]
    cost: int  # of a target, where that of multi-sense Word2DM is 1


def log_sigmoid(x: Exact) -> Exact:
    """log σ(x) = −log(1 + e⁻ˣ)."""
    return -np.logaddexp(0.0, -x)


def _senses_loss(target: Exact, context: Exact, noise: Exact, cosine: bool) -> float:
    """Of multi-sense Word2DM: the sense nearest to the context, and context vectors (s, 1, n)."""
    scores = np.einsum("smn,sn->sm", target, context[:, 0])
    chosen = np.argmax(scores / np.linalg.norm(target, axis=2) if cosine else scores, axis=1)
    rows = np.arange(len(chosen))
    products = np.einsum("sn,skn->sk", target[rows, chosen], noise[:, :, 0])
    return -float(log_sigmoid(scores[rows, chosen]).sum() + log_sigmoid(-products).sum())


def _factors_loss(target: Exact, context: Exact, noise: Exact, _: bool) -> float:
    """Of Word2DM: tr(A_t A_c) of factors (s, m, n)."""
    total, a = 0.0, np.einsum("smi,smj->sij", target, target)
    for other, sign in ((context[:, None], 1.0), (noise, -1.0)):
        total += log_sigmoid(sign * np.einsum("skmi,sij,skmj->sk", other, a, other, optimize=True)).sum()
    return -float(total)


SENSES = Objective(
    ms_word2dm, False, _senses_loss, lambda busiest, size: max(16, min(1024, 1000 / busiest, size / 4)), 1
)
"""Of multi-sense Word2DM and, with one sense, word2vec."""

FACTORS = Objective(word2dm, True, _factors_loss, lambda busiest, size: max(4, min(128, 20 / busiest, size / 8)), 8)
"""Of Word2DM."""


@dataclass(frozen=True)
class TextOptions(Options):
    """Which words of a text are trained, and on which of their neighbours.

    ``None`` is replaced by :meth:`settled` when the corpus is known.
    """

    window: int = option(5, "the largest distance of a context word; each position draws its own", least=1, most=1000)
    subsample: float | None = option(
        None, "threshold of word2vec's subsampling of frequent words; 0 keeps all", least=0,
        by_default="1e-5 for 100 million words and more, larger for fewer, at most 1e-3",
    )  # fmt: skip
    min_count: int | None = option(
        None, "leave out words seen less often", least=1,
        by_default="50 for 100 million words and more, in proportion for fewer, at least 5",
    )  # fmt: skip
    max_size: int | None = option(None, "at most this many of the most frequent words", least=1, by_default="all")
    seed: int = option(1, "random seed", least=0, most=SEEDS)

    def settled(self, corpus: Corpus) -> Self:
        """A copy in which every ``None`` that depends on the text is replaced."""
        chosen = self.by_text(min(1.0, max(len(corpus.tokens), 1) / 1e8), len(corpus))
        return dataclasses.replace(self, **{k: v for k, v in chosen.items() if getattr(self, k, 0) is None})

    def by_text(self, small: float, sentences: int) -> dict[str, Any]:
        """The defaults for a text that is ``small`` times 100 million words, 1 for larger ones."""
        return {"subsample": min(1e-3, 1e-5 / small), "min_count": max(5, round(50 * small))}


@dataclass(frozen=True)
class NegativeSamplingOptions(TextOptions):
    """How to train by negative sampling."""

    dim: int = option(17, "n, the dimension", least=1, most=10_000)
    negatives: int = option(5, "K, noise words a sample", least=1, most=60)
    noise_power: float = option(0.75, "noise words are drawn by their counts to this power", least=0, most=5)
    epochs: int | None = option(
        None, "how many times to go through the corpus", least=0, most=1_000_000,
        by_default="4 for 100 million words and more, in proportion to the root for fewer, at most 40",
    )  # fmt: skip
    optimiser: str | None = option(
        None, "sgd, whose rate falls linearly to zero, or adam, as the paper has it", choices=OPTIMISERS,
        by_default="adam for word2dm, else sgd",
    )  # fmt: skip
    rate: float | None = option(
        None, "the learning rate", above=0, most=10,
        by_default="0.025 for sgd, 0.035 for the window form of ms-word2dm; 0.001 for adam",
    )  # fmt: skip
    batch: int = option(16, "sentences a step of adam", least=1, most=1_000_000)
    round: int | None = option(
        None, "targets a round of sgd on the processor", least=1, most=10**9, by_default="by the vocabulary"
    )
    init: str | None = option(
        None, "initial values:", choices=INITS,
        by_default="unit for the window form of ms-word2dm, paper for word2dm, else uniform",
    )  # fmt: skip
    replicas: int = option(
        1, "R, parts of the text that are trained separately and merged again and again",
        least=1, most=4096,
    )  # fmt: skip
    apart: float = option(
        0.005, "g, what replicas read between two merges, as a share of the text read before",
        above=0, most=1,
    )  # fmt: skip
    held_out: float | None = option(
        None, "the share of the sentences that is kept from training for the held-out loss", least=0, most=0.5,
        by_default="about 2000 sentences, 2 % at most",
    )  # fmt: skip

    objective: ClassVar[Objective] = SENSES
    optimiser_by_default: ClassVar[str] = "sgd"
    init_by_default: ClassVar[str] = "uniform"

    @property
    def m(self) -> int:
        """The number of columns of a word's factor, of its senses; 1 for vectors."""
        return int(getattr(self, "senses", 1) or self.dim)

    @property
    def context_rows(self) -> int:
        """The number of rows of a word on the context side."""
        return self.m if self.objective.whole else 1

    @property
    def width(self) -> int:
        """How many numbers move together, padding included: a sense, or a factor."""
        return padded(self.dim) * (self.m if self.objective.whole else 1)

    @property
    def cosine(self) -> bool:
        """Whether a sense is chosen by cosine rather than by inner product."""
        return getattr(self, "select", "dot") == "cosine"

    @property
    def pairs(self) -> bool:
        """Whether a target has a sample for every word of its window, or one for all of them."""
        return getattr(self, "form", "pair") == "pair"

    def by_text(self, small: float, sentences: int) -> dict[str, Any]:
        """The defaults; the learning rates are chosen by loss and word similarity (docs/training.md)."""
        optimiser = self.optimiser or self.optimiser_by_default
        form = getattr(self, "form", "pair")
        return super().by_text(small, sentences) | {
            "senses": self.dim,
            "epochs": min(40, round(4 / small**0.5)),
            "optimiser": optimiser,
            "rate": 0.035 if form == "window" and optimiser == "sgd" else OPTIMISERS[optimiser],
            "init": "unit" if form == "window" else self.init_by_default,
            "held_out": min(0.02, 2000 / sentences) if sentences >= 1000 else 0.0,
        }


@dataclass(frozen=True)
class MSWord2DMOptions(NegativeSamplingOptions):
    """How to train multi-sense Word2DM."""

    model: ClassVar[str] = "ms-word2dm"
    senses: int = option(5, "m, senses a word", least=1, most=1000)
    form: str = option("window", "a sample for the sum of the window, or for every word of it",
                       choices=("window", "pair"))  # fmt: skip
    select: str = option("cosine", "how the sense nearest to the context is chosen: by cosine or by dot product",
                         choices=("cosine", "dot"))  # fmt: skip


@dataclass(frozen=True)
class Word2DMOptions(NegativeSamplingOptions):
    """How to train Word2DM."""

    model: ClassVar[str] = "word2dm"
    objective: ClassVar[Objective] = FACTORS
    optimiser_by_default: ClassVar[str] = "adam"
    init_by_default: ClassVar[str] = "paper"
    senses: int | None = option(None, "m, columns of a word's factor", least=1, most=1000, by_default="dim")


@dataclass(frozen=True)
class Word2VecOptions(NegativeSamplingOptions):
    """How to train word2vec."""

    model: ClassVar[str] = "word2vec"


PAPER: dict[str, Any] = {
    "dim": 17, "window": 5, "negatives": 5, "noise_power": 0.75, "subsample": 1e-5, "min_count": 50, "epochs": 4,
    "optimiser": "adam", "rate": 0.001, "batch": 16, "held_out": 0.0,
}  # fmt: skip
"""The settings of Meyer & Lewis 2020, section 4.1 and supplement."""
