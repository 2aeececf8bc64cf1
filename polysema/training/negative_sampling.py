"""Word2DM, multi-sense Word2DM and word2vec: from a corpus to a lexicon."""

from __future__ import annotations

import numpy as np

from polysema.errors import InputError
from polysema.lexicon.lexicon import AnyLexicon
from polysema.training.cpu import CpuBackend
from polysema.training.job import Job
from polysema.training.objectives import NegativeSamplingOptions
from polysema.training.replicas import ReplicaBackend
from polysema.training.run import Backend, Run, State, check_start, grown_state, learnt_lexicon, new_state, saved_state
from polysema.training.text import TrainingText, trained_vocabulary
from polysema.vocabulary import Vocabulary


def train(job: Job, options: NegativeSamplingOptions) -> AnyLexicon:
    """Train a model of the negative-sampling family; see :func:`polysema.train`."""
    if job.device != "cpu":
        from polysema.training import cuda

        cuda._cupy()  # refused before the text is read
    if job.start is not None:
        check_start(options, job.start)
    corpus, start, options = job.corpus, job.start, options.settled(job.corpus)
    vocabulary = trained_vocabulary(corpus, options, job.keep)
    if start is not None:
        vocabulary = _joined(start.vocabulary, vocabulary)
    text = TrainingText(corpus, vocabulary, options)
    checkpoint = job.checkpoint(options)
    state = saved_state(checkpoint)
    if state is None and start is not None:
        state = grown_state(options, vocabulary, start)
    elif state is None:
        state = new_state(options, len(vocabulary))
    run = Run(
        text, state, _backend(job, text, state), progress=job.progress, on_epoch=job.on_epoch, checkpoint=checkpoint,
        status=job.workers.status,
    )  # fmt: skip
    run.run()
    kept = {"share_after_subsampling": round(text.kept, 4)}
    return learnt_lexicon(state, options, vocabulary, job.described(options, corpus=kept, curve=state.curve))


def _backend(job: Job, text: TrainingText, state: State) -> Backend:
    """What does the work: the processor, or a GPU."""
    if text.options.replicas > 1:
        if job.device != "cpu":
            raise InputError(f"replicas learn on processors, not on {job.device}: leave one of the two out")
        return ReplicaBackend(text, state, job.workers, job.threads)
    if job.device == "cpu":
        return CpuBackend(text, state, job.threads)
    from polysema.training.cuda import CudaBackend

    return CudaBackend(text, state, None if job.gpu_memory is None else 1e9 * job.gpu_memory)


def _joined(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """All words of both, with their counts added, sorted by count, then alphabetically."""
    counts = dict(zip(old.words, old.counts.tolist(), strict=True))
    for word, count in zip(new.words, new.counts.tolist(), strict=True):
        counts[word] = counts.get(word, 0) + count
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary(words, np.array([counts[word] for word in words]))
