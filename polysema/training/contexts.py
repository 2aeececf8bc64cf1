"""Context2DM and BERT2DM as models of the table: their options, and what they are made from."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from polysema.checkpoints import WorkingFolder
from polysema.encoders.bert2dm import BERT2DMOptions, bert2dm
from polysema.encoders.context2dm import Context2DMOptions, context2dm
from polysema.encoders.huggingface import PRECISIONS, Encoder
from polysema.errors import InputError
from polysema.lexicon.lexicon import AnyLexicon, Lexicon, VectorLexicon, load
from polysema.options import Options, option
from polysema.training.job import Job
from polysema.training.negative_sampling import train
from polysema.training.options import PAPER, Word2VecOptions


@dataclass(frozen=True)
class Context2DMTraining(Context2DMOptions):
    """How to train Context2DM, with its word vectors or on given ones."""

    vectors: AnyLexicon | str | Path | None = option(
        None, "a lexicon of vectors, or its path", by_default="word2vec is trained first"
    )
    dim: int = option(17, "the dimension of the vectors that are trained first", least=1, most=10_000)
    vector_preset: str | None = option(None, "named settings of those vectors", choices=("paper",), by_default="none")


@dataclass(frozen=True)
class EncoderOptions(Options):
    """Which encoder reads the text; see :class:`polysema.encoders.huggingface.Encoder`."""

    encoder: Encoder | str | Path | None = option(None, "the encoder: a folder or a name on the hub; must be given")
    layers: str | int | None = option(
        None, "last, all, a number, 3-11 or 1,2,6: their mean is taken", by_default="last"
    )
    precision: str | None = option(
        None, "of the encoder", choices=PRECISIONS, by_default="float16 on a GPU, else float32"
    )
    batch_size: int | None = option(None, "sentences in a batch", least=1, by_default="32, 512 on a GPU")


@dataclass(frozen=True)
class BERT2DMTraining(BERT2DMOptions, EncoderOptions):
    """How to train BERT2DM with a named encoder."""


def train_context2dm(job: Job, options: Context2DMTraining) -> Lexicon:
    """Context2DM on given word vectors or, without any, on word2vec's, trained on the same text first."""
    vectors = options.vectors
    if vectors is None:
        vectors = _word2vec(job, options)
    elif job.device != "cpu":
        raise InputError(f"context2dm clusters on the processor: with vectors given there is no work for {job.device}")
    elif not isinstance(vectors, Lexicon | VectorLexicon):
        vectors = load(vectors, "vectors")
    return context2dm(
        job.corpus, vectors, workers=job.threads, engine=job.engine, **_own(job, options, Context2DMOptions)
    )


def _word2vec(job: Job, options: Context2DMTraining) -> AnyLexicon:
    """Word vectors of the same text; a run that goes on has them already."""
    preset = PAPER if options.vector_preset else {}
    chosen = Word2VecOptions(**{**preset, "dim": options.dim})
    if job.state is None:
        return train(job, chosen)
    working = WorkingFolder(job.state)
    within = dataclasses.replace(job, state=working.file("vectors"))
    checkpoint = within.checkpoint(chosen.settled(job.corpus))
    assert checkpoint is not None
    name = f"word2vec-{sha256(json.dumps(checkpoint.identity).encode()).hexdigest()[:16]}"
    if not (job.state / name).is_dir():
        train(within, chosen).save(working.file(name))
    return load(job.state / name)


def train_bert2dm(job: Job, options: BERT2DMTraining) -> Lexicon:
    """BERT2DM with a named encoder."""
    encoder, own = _encoder(job, options), _own(job, options, BERT2DMOptions)  # refused before the text is read
    return bert2dm(job.corpus, encoder, workers=job.threads, engine=job.engine, **own)


def _encoder(job: Job, options: BERT2DMTraining) -> Encoder:
    """The encoder that was named, or handed in."""
    encoder = options.encoder
    reading = {name: getattr(options, name) for name in ("layers", "precision", "batch_size")}
    given = {name: value for name, value in reading.items() if value is not None}
    if encoder is None:
        raise InputError(
            f"{options.model} reads with an encoder: name one, or the folder of one (--encoder bert-base-uncased)"
        )
    if not isinstance(encoder, Encoder):
        return Encoder.load(encoder, device=job.device, **given)
    if given or job.device not in ("cpu", str(encoder.device).split(":")[0]):
        raise InputError("a loaded encoder has its own layers, precision, batch size and device: leave them out")
    return encoder


def _own(job: Job, options: Any, kind: Any) -> dict[str, Any]:
    """What a model takes of the job, and those options that a smaller class of options has too."""
    taken = {name: getattr(job, name) for name in ("keep", "state", "progress", "checkpoint_seconds")}
    return taken | {field.name: getattr(options, field.name) for field in dataclasses.fields(kind)}
