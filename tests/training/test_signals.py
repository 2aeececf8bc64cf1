"""Ctrl-C and SIGTERM at any moment: no deadlock, the same bits, the same curve."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from polysema.corpus.build import build_corpus
from polysema.interrupts import Interrupts
from polysema.lexicon.formats.arrays import to_arrays
from polysema.training import glove, run
from polysema.training.models import train


def interrupt():
    signal.raise_signal(signal.SIGINT)


RUNS = [
    ("ms-word2dm", {"min_count": 1, "epochs": 4, "dim": 8, "senses": 2, "held_out": 0.2}),
    ("word2vec", {"min_count": 1, "epochs": 3, "optimiser": "adam", "held_out": 0.2}),
    ("glove", {"min_count": 1, "epochs": 30, "dim": 8}),
]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a file that is just being opened is closed when it is dropped
@pytest.mark.parametrize(("model", "options"), RUNS, ids=lambda item: item if isinstance(item, str) else "")
def test_stopped_at_random_moments_it_ends_with_the_same_bits(planted, tmp_path, monkeypatch, model, options):
    monkeypatch.setattr(run, "_BLOCK", 0.002)
    monkeypatch.setattr(glove, "_BLOCK", 500)
    corpus = build_corpus(planted.sentences[:3000], tmp_path / "text")
    train(corpus, model, **options)  # compiles
    begun = time.perf_counter()
    whole = train(corpus, model, **options)
    taken, stops, rng = time.perf_counter() - begun, 0, np.random.default_rng(5)
    before = signal.signal(signal.SIGALRM, lambda *_: interrupt())
    for number in range(3):
        found = None
        while found is None:
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.001, taken))
                threads = int(rng.integers(1, 4))
                found = train(corpus, model, state=tmp_path / str(number), threads=threads, **options)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                stops += 1
        parts = to_arrays(found)
        assert all(np.array_equal(array, parts[name]) for name, array in to_arrays(whole).items())
        key = "training_loss" if model == "glove" else "held_out_loss"
        curves = [[(row["epoch"], row[key]) for row in one.metadata["curve"]] for one in (whole, found)]
        assert curves[0] == curves[1]
    signal.signal(signal.SIGALRM, before)
    assert stops > 0, "no signal came in time"


def test_a_signal_waits_and_a_second_one_does_not():
    seen = []
    with pytest.raises(KeyboardInterrupt), Interrupts() as signals:  # noqa: PT012
        interrupt()
        seen.append("waited")
        signals.check()
    with pytest.raises(KeyboardInterrupt), Interrupts():  # noqa: PT012
        interrupt()
        interrupt()
        seen.append("not reached")
    assert seen == ["waited"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_that_do_not_raise_do_not_stop_it(planted_corpus):
    """A program's own handler is called, and the run goes on."""
    calls = []
    before = signal.signal(signal.SIGTERM, lambda *_: calls.append(1))
    try:
        lexicon = train(
            planted_corpus, min_count=1, epochs=2, dim=4,
            progress=lambda _: calls or signal.raise_signal(signal.SIGTERM),
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGTERM, before)
    assert calls == [1]
    assert len(lexicon.metadata["curve"]) == 2


@pytest.mark.parametrize("times", [1, 2])
def test_signals_during_the_held_out_loss_keep_the_epoch(planted_corpus, tmp_path, monkeypatch, times):
    """One waits until the loss is there; two stop at once, and the loss is computed when the run goes on."""
    from polysema.training.text import HeldOut

    options = {"min_count": 1, "epochs": 3, "dim": 4, "senses": 2, "held_out": 0.1, "optimiser": "adam", "batch": 100}
    whole = train(planted_corpus, **options)
    real = HeldOut.loss
    with monkeypatch.context() as patch:
        patch.setattr(HeldOut, "loss", lambda *given: ([interrupt() for _ in range(times)], real(*given))[1])
        with pytest.raises(KeyboardInterrupt):
            train(planted_corpus, state=tmp_path / "run", **options)
    found = train(planted_corpus, state=tmp_path / "run", **options)
    assert np.array_equal(found.factors, whole.factors)
    assert [row["held_out_loss"] for row in found.metadata["curve"]] == [
        row["held_out_loss"] for row in whole.metadata["curve"]
    ]


def test_in_another_thread_signals_are_the_main_threads(planted_corpus):
    found = []
    thread = threading.Thread(target=lambda: found.append(train(planted_corpus, min_count=1, epochs=2, dim=4)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        while thread.is_alive():
            thread.join(0.01)
    thread.join()
    assert len(found[0].metadata["curve"]) == 2
