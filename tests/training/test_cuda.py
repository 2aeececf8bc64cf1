"""The GPU's engine and its kernels, without a GPU: see ``stand_in``. On a GPU: ``benchmarks/gpu.py check``."""

import numpy as np
import pytest

from polysema.errors import InputError
from polysema.kernels.rounds import LONGEST
from polysema.training import cuda
from polysema.training.cuda import CudaBackend
from polysema.training.models import MODELS, train
from polysema.training.run import Run, new_state
from polysema.training.text import TrainingText, trained_vocabulary
from tests.training import slow
from tests.training.test_run import FORMS, some_senses


def prepared(corpus, model="ms-word2dm", **options):
    options = {
        "min_count": 1, "dim": 5, "epochs": 1, "init": "unit", "subsample": 1e-2, "held_out": 0.1, "round": 10**6,
        **options,
    }  # fmt: skip
    chosen = MODELS[model].chosen(options).settled(corpus)
    text = TrainingText(corpus, trained_vocabulary(corpus, chosen), chosen)
    return text, new_state(chosen, len(text.vocabulary))


def check(found, wanted, start, lazy):
    """Adam's steps follow each other as in the reference. SGD's do not, but small ones move the model alike."""
    moves = wanted - start
    assert np.linalg.norm(moves) > 1e-5 * np.linalg.norm(start)
    if lazy:
        np.testing.assert_allclose(found, wanted, atol=2e-5)
    else:
        assert np.linalg.norm(found - wanted) < 5e-3 * np.linalg.norm(moves)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize(("form", "dim"), [*zip(FORMS, (17, 130, 12, 5, 7), strict=True)])
def test_the_kernels_follow_the_reference(gpu, small_corpus, form, dim, optimiser):
    text, state = prepared(
        small_corpus, **form, **some_senses(form), optimiser=optimiser, batch=3, dim=dim,
        rate=2e-5 if optimiser == "sgd" else None,
    )  # fmt: skip
    starts = [array[..., :dim].astype(np.float64) for array in (state.target, state.context)]
    expected = [start.copy() for start in starts]
    slow.train(text, expected, 1)
    Run(text, state, CudaBackend(text, state)).run()
    for found, wanted, start in zip((state.target, state.context), expected, starts, strict=True):
        assert not found[..., dim:].any()
        check(found[..., :dim], wanted, start, optimiser == "adam")


@pytest.mark.parametrize("lags", [None, "kernels", "copies"])
def test_a_streamed_corpus_is_learnt_from_as_a_resident_one(gpu, small_corpus, monkeypatch, lags):
    monkeypatch.setattr(cuda, "_SPARE", 0)
    monkeypatch.setattr(cuda, "_PINNED", 512)
    monkeypatch.setattr(cuda, "_ROUND", 40)
    monkeypatch.setattr(cuda, "_SEGMENT", 100)
    text, state = prepared(small_corpus, epochs=3)
    whole = CudaBackend(text, state)
    assert whole.resident
    assert len(whole._segments) > 4
    Run(text, state, whole).run()
    _, streamed = prepared(small_corpus, epochs=3)
    model = cuda.model_bytes(text.options, len(text.vocabulary)) + 4 * len(text.text.rows)
    with gpu.lagging(lags):
        engine = CudaBackend(text, streamed, model + 1400)
        assert not engine.resident
        assert engine.needs <= model + 1400
        Run(text, streamed, engine).run()
    assert np.array_equal(state.target, streamed.target)
    assert np.array_equal(state.context, streamed.context)
    assert state.curve[-1]["held_out_loss"] == streamed.curve[-1]["held_out_loss"]


def test_a_run_that_goes_on_starts_in_the_middle_of_the_corpus(gpu, small_corpus, monkeypatch):
    monkeypatch.setattr(cuda, "_ROUND", 40)
    monkeypatch.setattr(cuda, "_SEGMENT", 100)
    text, state = prepared(small_corpus)
    engine = CudaBackend(text, state)
    rounds = len(engine.rounds) - 1
    rates, key = np.full(rounds, 0.01, np.float32), np.uint64(1)
    engine.train(0, rounds, rates, key)
    engine.pull()
    _, other = prepared(small_corpus)
    for first, last in ((0, rounds - 3), (rounds - 3, rounds)):
        engine = CudaBackend(text, other)
        engine.train(first, last, rates[first:last], key)
        engine.pull()
        engine.close()
    assert np.array_equal(state.target, other.target)


def test_the_rate_falls_within_an_epoch_of_a_small_corpus_too(gpu, small_corpus, monkeypatch):
    monkeypatch.setattr(cuda, "_LAUNCHES", 16)
    text, state = prepared(small_corpus)
    engine = CudaBackend(text, state)
    assert 12 <= len(engine.rounds) - 1 <= 16
    rates = Run(text, state, engine)._rates(0, len(engine.rounds) - 1)
    assert np.all(np.diff(rates) < 0)
    assert rates[-1] < 0.1 * rates[0]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
def test_no_row_gets_longer_than_on_the_processor(gpu, small_corpus, form):
    """Rows that are too long are cut to the bound, their direction kept; others stay."""
    text, state = prepared(small_corpus, **form, **some_senses(form), optimiser="sgd")
    whole = form["model"] == "word2dm"
    for side in (state.target, state.context):
        side[0] *= 100 / np.linalg.norm(side[0])
    before = [side.copy() for side in (state.target, state.context)]
    engine = CudaBackend(text, state)
    engine.train(0, len(engine.rounds) - 1, np.full(len(engine.rounds) - 1, 1e-9, np.float32), np.uint64(1))
    engine.pull()
    engine.close()
    for found, start in zip((state.target, state.context), before, strict=True):
        rows, old = (
            side.reshape(len(side) if whole else -1, *([-1] if whole else side.shape[2:])) for side in (found, start)
        )
        lengths, wanted = np.linalg.norm(rows, axis=1), np.minimum(np.linalg.norm(old, axis=1), LONGEST)
        assert lengths.max() <= 1.0001 * LONGEST
        np.testing.assert_allclose(lengths, wanted, rtol=1e-2)
        cut = old[np.argmax(np.linalg.norm(old, axis=1))]
        kept = rows[np.argmax(np.linalg.norm(old, axis=1))]
        assert kept @ cut > 0.99 * LONGEST * np.linalg.norm(cut)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu_memory": 0.1}, r"of which 0\.1 may be used; the model needs 0\.5: lower the dimension"),
        ({"gpu_memory": 0}, "above 0, not 0"),
        ({"model": "word2dm", "dim": 40}, "at most 32 dimensions, not 40"),
    ],
)
def test_what_the_gpu_refuses(gpu, small_corpus, options, message):
    with pytest.raises(InputError, match=message):
        train(small_corpus, min_count=1, device="cuda", **options)
