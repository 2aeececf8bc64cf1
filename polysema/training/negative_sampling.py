"""Word2DM, multi-sense Word2DM and word2vec: from a corpus to a lexicon."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysema.corpus.corpus import Corpus
from polysema.errors import InputError
from polysema.lexicon.lexicon import AnyLexicon
from polysema.training.checkpoint import load_state, run_identity
from polysema.training.cpu import CpuEngine
from polysema.training.models import Job
from polysema.training.options import Options, options_for
from polysema.training.run import Engine, Run
from polysema.training.state import State, grown_state, learnt_lexicon, new_state
from polysema.training.text import TrainingText, trained_vocabulary
from polysema.version import __version__
from polysema.vocabulary import Vocabulary


def train(model: str, job: Job, preset: str | None, chosen: dict[str, Any]) -> AnyLexicon:
    """Train a model of the negative-sampling family; see :func:`polysema.training.models.train`."""
    corpus, start = job.corpus, job.start
    if start is not None:
        chosen = {**_shape(model, start), **chosen}
    options = options_for(model, preset, chosen).settled(len(corpus.tokens), len(corpus))
    vocabulary = trained_vocabulary(corpus, options, job.keep)
    if start is not None:
        vocabulary = _joined(start.vocabulary, vocabulary)
    text = TrainingText(corpus, vocabulary, options)
    identity = run_identity(options, corpus, vocabulary)
    state = load_state(job.folder, identity) if job.folder is not None else None
    if state is None:
        fresh = start is None
        state = new_state(options, len(vocabulary)) if fresh else grown_state(options, vocabulary, _checked(start))
    run = Run(
        text,
        state,
        _engine(job, text, state),
        progress=job.progress,
        on_epoch=job.on_epoch,
        checkpoint=(job.folder, identity) if job.folder is not None else None,
        checkpoint_seconds=job.checkpoint_seconds,
    )
    run.run()
    run.write()
    return learnt_lexicon(state, options, vocabulary, _metadata(options, corpus, text, state, start))


def _engine(job: Job, text: TrainingText, state: State) -> Engine:
    """What does the work: the processor, or a card."""
    if job.device == "cuda":
        from polysema.training.cuda import CudaEngine

        return CudaEngine(text, state, None if job.card_memory is None else 1e9 * job.card_memory)
    return CpuEngine(text, state, job.threads)


def _checked(start: AnyLexicon | None) -> AnyLexicon:
    if start is None or start.contexts is None:
        raise InputError("the lexicon to go on from has no context vectors: it was not trained by polysema")
    return start


def _shape(model: str, start: AnyLexicon) -> dict[str, Any]:
    """The sizes that a lexicon fixes for whoever trains it further."""
    before = start.metadata.get("training", {})
    if before.get("model") != model:
        raise InputError(f"the lexicon to go on from is of model {before.get('model')!r}, not {model!r}")
    same = ("dim", "senses", "form", "select", "window", "negatives", "noise_power", "subsample", "seed")
    return {name: before[name] for name in same if before.get(name) is not None}


def _joined(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """All words of both, with their counts added, sorted by count, then alphabetically."""
    counts = dict(zip(old.words, old.counts.tolist(), strict=True))
    for word, count in zip(new.words, new.counts.tolist(), strict=True):
        counts[word] = counts.get(word, 0) + count
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary(words, np.array([counts[word] for word in words]))


def _metadata(
    options: Options, corpus: Corpus, text: TrainingText, state: State, start: AnyLexicon | None
) -> dict[str, Any]:
    """What the card says: everything needed to make the model again, and how it went."""
    earlier = start.metadata if start is not None else {}
    sources = corpus.config.get("sources") or []
    return {
        "training": {**options.as_dict(), "polysema": __version__},
        "corpus": {
            "sentences": len(corpus),
            "tokens": len(corpus.tokens),
            "types": len(corpus.counts),
            "share_after_subsampling": round(text.kept, 4),
            "files": [item["path"].rsplit("/", 1)[-1] for item in sources],
        },
        "curve": state.curve,
        **({"earlier": [*earlier.get("earlier", []), {k: earlier[k] for k in ("training", "corpus", "curve")}]}
           if earlier else {}),
    }  # fmt: skip
