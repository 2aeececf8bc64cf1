"""What a model's trainer is given, besides its own options."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polysema.checkpoints import Checkpoint
from polysema.corpus.corpus import Corpus
from polysema.engine import ENGINES, Engine, Local
from polysema.lexicon.formats.arrays import to_arrays
from polysema.lexicon.lexicon import AnyLexicon
from polysema.options import Options, option
from polysema.progress import Report, silent
from polysema.version import __version__

DEVICES = ("cpu", "cuda")
MOST_THREADS = 64


@dataclass(frozen=True)
class Job(Options):
    """One run of training: options of any model, then what :func:`polysema.train` hands in."""

    preset: str | None = option(None, "named settings, such as paper; other options take precedence")
    threads: int = option(1, "how many at most", least=1, most=MOST_THREADS, by_default="one per core")
    device: str = option("cpu", "where to train", choices=DEVICES)
    gpu_memory: float | None = option(
        None, "gigabytes of a GPU to use at most: a corpus that does not fit streams through", above=0,
        by_default="what is free",
    )  # fmt: skip
    checkpoint_minutes: float = option(10.0, "how often the state is written", least=0)
    engine: str = option("local", "who does the work: this process, or a Ray cluster", choices=ENGINES)
    address: str | None = option(
        None, "of a Ray cluster: HOST:PORT, or auto", by_default="Ray is started on this machine, for the engine ray"
    )
    describe: bool = option(False, "describe the senses of the words at the end, as polysema describe does")
    keep: tuple[str, ...] = ()  # as for :func:`polysema.train`
    start: AnyLexicon | None = None
    state: Path | None = None
    progress: Report = silent
    on_epoch: Callable[[Any], None] | None = None
    workers: Engine = field(default_factory=Local)  # who does tasks, where there are several
    # gives the text, encoded when it is first asked for; so what can be refused without it is refused first
    text: Callable[[], Corpus] = lambda: Corpus(Path())
    # gives the text, parsed when it is first asked for, for models that learn from parsed text
    parsed: Callable[[], Any] = lambda: None

    @property
    def checkpoint_seconds(self) -> float:
        """How often the state is written."""
        return 60 * self.checkpoint_minutes

    @property
    def corpus(self) -> Corpus:
        """The text, encoded."""
        return self.text()

    def checkpoint(self, options: Options) -> Checkpoint | None:
        """Where the state is written, if it is, for a run with these options. Its identity is its content."""
        if self.state is None:
            return None
        identity = {
            "model": options.model,
            "device": self.device,
            "options": options.as_dict(),
            "text": self.corpus.digest,
            "kept words": hashlib.sha256("\n".join(sorted(set(self.keep))).encode()).hexdigest(),
            "start": None if self.start is None else _digest(self.start),
        }
        return Checkpoint(self.state / "state.safetensors", identity, self.checkpoint_seconds)

    def described(self, options: Options, **facts: Any) -> dict[str, Any]:
        """The metadata of the lexicon: all that is needed to make it again, and how it went.

        Args:
            facts: further parts; those of ``corpus`` join what is known of it.
        """
        corpus = {
            "sentences": len(self.corpus),
            "tokens": len(self.corpus.tokens),
            "types": len(self.corpus.counts),
            "files": [Path(str(item["path"])).name for item in self.corpus.config.get("sources") or []],
            **facts.pop("corpus", {}),
        }
        earlier = self.start.metadata if self.start is not None else None
        if earlier is not None:
            parts = {name: earlier[name] for name in ("model", "options", "corpus", "curve") if name in earlier}
            facts["earlier"] = [*earlier.get("earlier", []), parts]
        chosen = {"model": options.model, "options": options.as_dict(), "corpus": corpus}
        return {**chosen, **facts, "polysema": __version__}


def _digest(lexicon: AnyLexicon) -> str:
    """A digest of a lexicon's words and numbers."""
    found = hashlib.sha256("\n".join(lexicon.vocabulary.words).encode())
    parts = to_arrays(lexicon)
    for array in (lexicon.vocabulary.counts, lexicon.array, *(parts[key] for key in sorted(parts))):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
