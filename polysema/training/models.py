"""The models that can be trained, in one table, and the one function that trains any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus, is_corpus
from polysema.errors import InputError, UnknownChoiceError
from polysema.files.platform import processors
from polysema.files.working import WorkingFolder
from polysema.lexicon.lexicon import AnyLexicon

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Job:
    """What a model's trainer is given, besides its own options.

    Attributes:
        corpus: the text.
        keep: words that are trained whatever their count.
        start: a lexicon to go on from.
        folder: where the state of the run is kept while it lasts; None: nowhere.
        threads: how many.
        device: a name in ``DEVICES``.
        card_memory: gigabytes of a card that may be used; None: what is free.
        progress, on_epoch: called with how far it has come; what they get is the trainer's own.
        checkpoint_seconds: how often the state is written.
    """

    corpus: Corpus
    keep: tuple[str, ...]
    start: AnyLexicon | None
    folder: Path | None
    threads: int
    device: str
    card_memory: float | None
    progress: Callable[[Any], None] | None
    on_epoch: Callable[[Any], None] | None
    checkpoint_seconds: float


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be trained.

    Attributes:
        name: as it is written everywhere.
        summary: what it is.
        train: trains it: name, job, preset, options.
    """

    name: str
    summary: str
    train: Callable[[str, Job, str | None, dict[str, Any]], AnyLexicon]


def _negative_sampling(name: str, job: Job, preset: str | None, options: dict[str, Any]) -> AnyLexicon:
    from polysema.training.negative_sampling import train

    return train(name, job, preset, options)


def _glove(name: str, job: Job, preset: str | None, options: dict[str, Any]) -> AnyLexicon:
    from polysema.training.glove import train

    return train(job, options)


def _fasttext(name: str, job: Job, preset: str | None, options: dict[str, Any]) -> AnyLexicon:
    from polysema.training.fasttext import train

    return train(job, options)


def _context2dm(name: str, job: Job, preset: str | None, options: dict[str, Any]) -> AnyLexicon:
    from polysema.training.contexts import train_context2dm

    return train_context2dm(job, preset, options)


def _bert2dm(name: str, job: Job, preset: str | None, options: dict[str, Any]) -> AnyLexicon:
    from polysema.training.contexts import train_bert2dm

    return train_bert2dm(job, preset, options)


MODELS: dict[str, Model] = {
    item.name: item
    for item in (
        Model("ms-word2dm", "multi-sense Word2DM: a density matrix of m senses a word", _negative_sampling),
        Model("word2dm", "Word2DM: a density matrix B Bᵀ a word, words compare by tr(A_t A_c)", _negative_sampling),
        Model("word2vec", "vectors: skip-gram or CBOW with negative sampling", _negative_sampling),
        Model("glove", "vectors: GloVe, from co-occurrence counts", _glove),
        Model("fasttext", "vectors: FastText, by gensim", _fasttext),
        Model("context2dm", "density matrices of clustered contexts, on word vectors", _context2dm),
        Model("bert2dm", "density matrices of an encoder's vectors", _bert2dm),
    )
}


def train(
    corpus: Corpus | str | Path | Iterable[Any],
    model: str = "ms-word2dm",
    *,
    preset: str | None = None,
    keep: Iterable[str] = (),
    start: AnyLexicon | None = None,
    state: str | Path | None = None,
    threads: int | None = None,
    device: str = "cpu",
    card_memory: float | None = None,
    progress: Callable[[Any], None] | None = None,
    on_epoch: Callable[[Any], None] | None = None,
    checkpoint_minutes: float = 10.0,
    **options: Any,
) -> AnyLexicon:
    """Learn a lexicon from a corpus.

    Args:
        corpus: an encoded corpus or its folder; or text, as :func:`polysema.build_corpus` takes it.
        model: a name in ``MODELS``.
        preset: named settings, such as ``paper``; options given here go before them.
        keep: words to train whatever their count, such as those of an evaluation.
        start: a lexicon to go on from, on new text: its words stay, new ones are added.
        state: a folder for the state of the run. If it holds the state of the same run, that run goes on, to the same
            bits as if it had never stopped. Delete it when the lexicon is saved.
        threads: how many; by default one per core.
        device: ``cpu``, or ``cuda`` for a graphics card (Word2DM, multi-sense Word2DM, word2vec and BERT2DM).
        card_memory: gigabytes of the card to use at most, for Word2DM, multi-sense Word2DM and word2vec; by default
            what is free. A corpus that does not fit beside the model streams through.
        progress: called several times a second with how far the run has come.
        on_epoch: called after every epoch with the run.
        checkpoint_minutes: how often the state is written.
        options: see :class:`polysema.training.options.Options`; for context2dm and bert2dm,
            :mod:`polysema.training.contexts`.

    >>> text = [["the", "cat", "sat"], ["the", "dog", "sat"]] * 20
    >>> train(text, dim=4, senses=2, min_count=1, epochs=2, subsample=0)
    Lexicon(4 words, n=4, m=2)
    """
    if model not in MODELS:
        raise UnknownChoiceError("model", model, MODELS)
    if device not in DEVICES:
        raise UnknownChoiceError("device", device, DEVICES)
    if card_memory is not None:
        if device != "cuda" or MODELS[model].train is not _negative_sampling:
            raise InputError(
                f"card memory is for ms-word2dm, word2dm and word2vec on device cuda, not for {model} on {device}"
            )
        if not card_memory > 0:
            raise InputError(f"card memory is in gigabytes, above 0, not {card_memory}")
    if threads is not None and threads < 1:
        raise InputError(f"threads must be at least 1, not {threads}")
    folder = Path(state) if state is not None else None
    if folder is not None and not folder.parent.is_dir():
        raise InputError(f"{folder.parent} is not a folder: {folder.name} cannot be written there")
    with TemporaryDirectory(prefix="polysema-") as temporary:
        job = Job(
            corpus=_encoded(corpus, folder if folder is not None else Path(temporary)),
            keep=tuple(keep),
            start=start,
            folder=folder,
            threads=threads or processors(),
            device=device,
            card_memory=card_memory,
            progress=progress,
            on_epoch=on_epoch,
            checkpoint_seconds=60 * checkpoint_minutes,
        )
        return MODELS[model].train(model, job, preset, options)


def _encoded(corpus: Corpus | str | Path | Iterable[Any], folder: Path) -> Corpus:
    """The corpus; text is encoded first, in the run's folder, so that a resumed run need not do it again."""
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, str | Path) and is_corpus(corpus):
        return Corpus(corpus)
    working = WorkingFolder(folder)
    try:
        return build_corpus(corpus, working.file("corpus"))
    except BaseException:
        working.remove_if_empty()
        raise
