"""Context2DM and BERT2DM as models of the table: their options, and what they are made from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from polysema.errors import InputError, UnknownChoiceError
from polysema.files.working import WorkingFolder
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon

if TYPE_CHECKING:
    from polysema.training.models import Job

ENCODER_OPTIONS = ("encoder", "layers", "precision", "batch_size")


def train_context2dm(job: Job, preset: str | None, options: dict[str, Any]) -> Lexicon:
    """Context2DM on given word vectors or, without any, on word2vec's, trained on the same text first.

    Args:
        options: those of :class:`polysema.contexts.context2dm.Options`, and ``vectors``: a lexicon of vectors or its
            path; ``dim``: the dimension of those that are trained here, 17 by default.
    """
    from polysema.contexts.context2dm import Options, context2dm

    _check("context2dm", job, preset, options, Options, ("vectors", "dim"))
    vectors, dim = options.pop("vectors", None), options.pop("dim", 17)
    if vectors is None:
        vectors = _word2vec(job, preset, dim)
    elif not isinstance(vectors, Lexicon):
        vectors = load(vectors, "vectors")
    return context2dm(
        job.corpus, vectors, keep=job.keep, state=job.folder, progress=job.progress,
        checkpoint_seconds=job.checkpoint_seconds, workers=job.threads, **options,
    )  # fmt: skip


def _word2vec(job: Job, preset: str | None, dim: int) -> Lexicon:
    """Word vectors of the same text; a run that goes on has them already."""
    from polysema.training.negative_sampling import train

    if job.folder is None:
        return train("word2vec", job, preset, {"dim": dim})
    working = WorkingFolder(job.folder)
    done = working.file(f"word2vec-{dim}")
    if not done.is_dir():
        folder = WorkingFolder(working.file("vectors")).make()
        train("word2vec", dataclasses.replace(job, folder=folder), preset, {"dim": dim}).save(done)
    return load(done)


def train_bert2dm(job: Job, preset: str | None, options: dict[str, Any]) -> Lexicon:
    """BERT2DM with a named encoder.

    Args:
        options: those of :class:`polysema.encoders.bert2dm.Options`, and ``encoder``: a name, a folder or an encoder;
            ``layers``, ``precision``, ``batch_size``: see :class:`polysema.encoders.huggingface.Encoder`.
    """
    from polysema.encoders.bert2dm import Options, bert2dm
    from polysema.encoders.huggingface import Encoder

    _check("bert2dm", job, preset, options, Options, ENCODER_OPTIONS)
    chosen = {name: options.pop(name) for name in ENCODER_OPTIONS if options.get(name) is not None}
    encoder = chosen.pop("encoder", None)
    if encoder is None:
        raise InputError("bert2dm reads with an encoder: name one, or the folder of one (--encoder bert-base-uncased)")
    if not isinstance(encoder, Encoder):
        encoder = Encoder.load(encoder, device=job.device, **chosen)
    return bert2dm(
        job.corpus, encoder, keep=job.keep, state=job.folder, progress=job.progress,
        checkpoint_seconds=job.checkpoint_seconds, workers=job.threads, **options,
    )  # fmt: skip


def _check(
    model: str, job: Job, preset: str | None, options: dict[str, Any], kind: Any, further: tuple[str, ...]
) -> None:
    """Refuse what the model does not have; forget what was not given."""
    if preset not in (None, "paper"):
        raise UnknownChoiceError("preset", str(preset), ("paper",))
    if job.start is not None:
        raise InputError(f"{model} is counted, not learnt step by step: it cannot go on from another lexicon")
    known = (*(field.name for field in dataclasses.fields(kind)), *further)
    for name in list(options):
        if options[name] is None:
            del options[name]
        elif name not in known:
            raise UnknownChoiceError(f"option of {model}", name, known)
