"""Stop a training again and again at random moments, go on each time, and compare with one that was never stopped.

python -m tests.training.signals CORPUS FOLDER TRIES SEED MODEL OPTIONS: prints how many stops there were.
"""

import ast
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from polysema.checkpoints import WorkingFolder
from polysema.corpus.corpus import Corpus
from polysema.lexicon.formats.arrays import to_arrays
from polysema.training import glove, run
from polysema.training.models import train


def stopped(*_):
    raise KeyboardInterrupt


def main(corpus: str, folder: str, tries: str, seed: str, model: str, given: str) -> None:
    signal.signal(signal.SIGTERM, stopped)
    run._BLOCK, glove._BLOCK = 0.002, 500
    options, text, rng = ast.literal_eval(given), Corpus(corpus), np.random.default_rng(int(seed))
    train(text, model, **options)  # compiles
    begun = time.perf_counter()
    whole = train(text, model, **options)
    taken = time.perf_counter() - begun
    stops = 0
    for number in range(int(tries)):
        state = Path(folder) / str(number)
        while True:
            ended, delays = threading.Event(), rng.uniform(0, taken, rng.integers(1, 3))
            numbers = rng.choice([signal.SIGINT, signal.SIGTERM], len(delays))

            def disturb(ended=ended, delays=delays, numbers=numbers):
                for delay, number in zip(delays, numbers, strict=True):
                    if ended.wait(delay):
                        return
                    os.kill(os.getpid(), number)

            thread = threading.Thread(target=disturb)
            try:
                thread.start()
                found = train(text, model, state=state, threads=int(rng.integers(1, 4)), **options)
                ended.set()
                thread.join()
                break
            except KeyboardInterrupt:
                stops += 1
            while thread.is_alive():  # its second signal may come now
                try:
                    ended.set()
                    thread.join()
                except KeyboardInterrupt:
                    pass
        assert np.array_equal(whole.array, found.array), f"try {number}: other bits"
        parts = to_arrays(found)
        for name, array in to_arrays(whole).items():
            assert np.array_equal(array, parts[name]), f"try {number}: other bits of {name}"
        key = "training_loss" if model == "glove" else "held_out_loss"
        curves = [[(row["epoch"], row[key]) for row in lexicon.metadata["curve"]] for lexicon in (whole, found)]
        assert curves[0] == curves[1], f"try {number}: another curve"
        WorkingFolder(state).remove()
    print(stops)


if __name__ == "__main__":
    main(*sys.argv[1:])
