"""What can be chosen when a model is trained, in one place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polysema.errors import InputError, UnknownChoiceError

FORMS: dict[str, tuple[str, ...]] = {
    "ms-word2dm": ("window", "pair"),
    "word2dm": ("pair",),
    "word2vec": ("skip-gram", "cbow"),
}
"""The forms of the models that are trained by negative sampling; the first is the default."""

INITS: dict[str, str] = {
    "uniform": "each number uniform in ± 0.5/n",
    "word2vec": "senses uniform in ± 0.5/n, context vectors zero, as word2vec's code",
    "paper": "each number uniform in ± 0.5/(n·m), as the paper's Word2DM",
    "unit": "each column normal, of squared length 1/m on average, so that a word's trace is about 1",
}
SELECTIONS = ("cosine", "dot")
OPTIMISERS: dict[str, float] = {"sgd": 0.025, "adam": 0.001}
"""Each with its learning rate."""
PARALLEL: dict[str, str] = {
    "rounds": "a seed gives the same bits whatever the number of threads",
    "hogwild": "threads do not wait for each other: no two runs are the same",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How to train by negative sampling. ``None`` is replaced by :meth:`settled` when the corpus is known.

    Attributes:
        model: ms-word2dm, word2dm or word2vec.
        form: how a target meets its window: see ``FORMS``.
        dim: n, the dimension.
        senses: m, the number of columns of a factor.
        select: how the sense that is meant is chosen: by cosine or by dot product with the context.
        window: the largest distance of a context word; each position draws its own between 1 and that.
        negatives: K, noise words a sample.
        noise_power: noise words are drawn by their counts to this power.
        subsample: threshold of word2vec's subsampling of frequent words; 0 keeps all. By default 1e-5 for 100 million
            words and more, 1000 divided by the number of words for fewer, at most 1e-3.
        min_count: words seen less often are left out. By default 50 for 100 million words and more, in proportion for
            fewer, at least 5.
        max_size: how many words at most, the most frequent.
        epochs: how many times to go through the corpus. By default 4 for 100 million words and more, for fewer in
            proportion to the root, at most 40.
        optimiser: sgd, whose rate falls linearly to zero, or adam, as the paper has it. By default adam for word2dm,
            else sgd (docs/training.md says why).
        rate: the learning rate; by default 0.025 for sgd (0.035 for the window form of ms-word2dm, 0.1 for cbow) and
            0.001 for adam.
        batch: sentences a step of Adam.
        round: targets a round of sgd; by default by the size of the vocabulary, see ``docs/training.md``.
        init: see ``INITS``. By default unit for the window form of ms-word2dm, paper for word2dm, else uniform.
        seed: of all randomness.
        parallel: see ``PARALLEL``.
        held_out: the share of sentences that are kept for the loss. By default about 2000 sentences, 2 % at most.
    """

    model: str = "ms-word2dm"
    form: str | None = None
    dim: int = 17
    senses: int | None = None
    select: str = "cosine"
    window: int = 5
    negatives: int = 5
    noise_power: float = 0.75
    subsample: float | None = None
    min_count: int | None = None
    max_size: int | None = None
    epochs: int | None = None
    optimiser: str | None = None
    rate: float | None = None
    batch: int = 16
    round: int | None = None
    init: str | None = None
    seed: int = 1
    parallel: str = "rounds"
    held_out: float | None = None

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("model", self.model, FORMS),
            ("form", self.form or self.forms[0], self.forms),
            ("selection", self.select, SELECTIONS),
            ("optimiser", self.optimiser or "sgd", OPTIMISERS),
            ("initialisation", self.init or "uniform", INITS),
            ("way to train in parallel", self.parallel, PARALLEL),
        ):
            if value not in choices:
                raise UnknownChoiceError(name, value, choices)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{name.replace('_', ' ')} must be at least {least}, not {value}")
        if self.held_out is not None and not 0 <= self.held_out < 1:
            raise InputError(f"held out is a share of the sentences, from 0 to below 1, not {self.held_out}")
        if self.rate is not None and not 0 < self.rate <= 10:
            raise InputError(f"the rate must be above 0 and at most 10, not {self.rate}")
        if self.negatives > 60:
            raise InputError(f"negatives must be at most 60, not {self.negatives}")
        if self.model == "word2vec" and self.senses not in (None, 1):
            raise InputError(f"word2vec has one vector a word: {self.senses} senses need the model ms-word2dm")
        if self.optimiser == "adam" and self.parallel == "hogwild":
            raise InputError("adam is not made for hogwild: choose sgd, or the parallel mode rounds")

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms the model has."""
        if self.model not in FORMS:
            raise UnknownChoiceError("model", self.model, FORMS)
        return FORMS[self.model]

    @property
    def pairs(self) -> bool:
        """Whether a target has a sample for every word of its window, or one for all of them."""
        return (self.form or self.forms[0]) in ("pair", "skip-gram")

    def _default_rate(self, optimiser: str) -> float:
        """By loss and word similarity: see docs/training.md."""
        if optimiser == "sgd" and self.form == "cbow":
            return 0.1
        if optimiser == "sgd" and self.model == "ms-word2dm" and not self.pairs:
            return 0.035
        return OPTIMISERS[optimiser]

    def settled(self, tokens: int, sentences: int) -> Options:
        """The same with every ``None`` replaced, for a corpus of so many tokens and sentences."""
        small = min(1.0, max(tokens, 1) / 1e8)
        optimiser = self.optimiser or ("adam" if self.model == "word2dm" and self.parallel == "rounds" else "sgd")
        chosen: dict[str, Any] = {
            "form": self.forms[0],
            "senses": {"word2vec": 1, "word2dm": self.dim}.get(self.model, 5),
            "subsample": min(1e-3, 1e-5 / small),
            "min_count": max(5, round(50 * small)),
            "epochs": min(40, round(4 / small**0.5)),
            "optimiser": optimiser,
            "rate": self._default_rate(optimiser),
            "init": {
                "ms-word2dm": "unit" if (self.form or "window") == "window" else "uniform",
                "word2dm": "paper",
            }.get(self.model, "uniform"),
            "held_out": min(0.02, 2000 / sentences) if sentences >= 1000 else 0.0,
        }
        return dataclasses.replace(
            self, **{name: value for name, value in chosen.items() if getattr(self, name) is None}
        )

    def as_dict(self) -> dict[str, Any]:
        """All options by name."""
        return dataclasses.asdict(self)


_LEAST = {
    "dim": 1, "senses": 1, "window": 1, "negatives": 1, "noise_power": 0, "subsample": 0, "min_count": 1, "max_size": 1,
    "epochs": 0, "batch": 1, "round": 1,
}  # fmt: skip

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "dim": 17, "window": 5, "negatives": 5, "noise_power": 0.75, "subsample": 1e-5, "min_count": 50, "epochs": 4,
        "optimiser": "adam", "rate": 0.001, "batch": 16, "held_out": 0.0,
    },
}  # fmt: skip
"""Named settings. ``paper``: Meyer & Lewis 2020, section 4.1 and supplement; word2dm also gets the paper's init."""


def options_for(model: str, preset: str | None, chosen: Mapping[str, Any]) -> Options:
    """The options of a model: those chosen, else the preset's, else the defaults."""
    settings: dict[str, Any] = {}
    if preset is not None:
        if preset not in PRESETS:
            raise UnknownChoiceError("preset", preset, PRESETS)
        settings = dict(PRESETS[preset])
        if preset == "paper" and model == "word2dm":
            settings["init"] = "paper"
    known = {field.name for field in dataclasses.fields(Options)}
    for name in chosen:
        if name not in known:
            raise UnknownChoiceError("option", name, sorted(known))
    return Options(**{**settings, **{k: v for k, v in chosen.items() if v is not None}, "model": model})
