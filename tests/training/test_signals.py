"""Ctrl-C and SIGTERM at any moment: no deadlock, the same bits, the same curve."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from polysema.checkpoints import Interrupts
from polysema.training.models import train

RUNS = [
    ("ms-word2dm", {"min_count": 1, "epochs": 4, "dim": 8, "senses": 2, "held_out": 0.2}),
    ("word2vec", {"min_count": 1, "epochs": 3, "optimiser": "adam", "held_out": 0.2}),
    ("glove", {"min_count": 1, "epochs": 30, "dim": 8}),
]


@pytest.mark.parametrize(("model", "options"), RUNS, ids=lambda item: item if isinstance(item, str) else "")
def test_stopped_at_random_moments_it_ends_with_the_same_bits(planted_corpus, tmp_path, model, options):
    found = subprocess.run(
        [sys.executable, "-m", "tests.training.signals", str(planted_corpus.path), str(tmp_path), "6", "5", model,
         repr(options)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    assert int(found.stdout) > 0, "no signal came in time"


def interrupt():
    signal.raise_signal(signal.SIGINT)


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
            planted_corpus,
            min_count=1,
            epochs=2,
            dim=4,
            progress=lambda _: calls or signal.raise_signal(signal.SIGTERM),
        )
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
