"""How long evaluation takes: all nine sets, all methods, entropies, for one 17×5 model of random matrices.

python benchmarks/evaluation.py DATA
"""

from __future__ import annotations

import sys
import time

import numpy as np

from polysema import Lexicon, VectorLexicon, evaluate
from polysema.evaluation.evaluate import load_all
from polysema.evaluation.noise import noise_floor


def main(data: str) -> None:
    """Print the seconds of processor time of each step."""
    started = time.process_time()
    sets = load_all(data)
    print(f"find, verify and read nine sets        {time.process_time() - started:6.2f} s")
    words = sorted({word for items in sets.values() for word in items.words})
    for kind, shape in (("17×5 matrices, ten methods", (17, 5)), ("vectors of 300, four methods", (300,))):
        made = Lexicon if len(shape) == 2 else VectorLexicon
        model = made(words, np.random.default_rng(0).normal(size=(len(words), *shape)).astype(np.float32))
        for bootstraps in (0, 1000):
            started = time.process_time()
            evaluate(model, sets, bootstraps=bootstraps)
            with_ = f", {bootstraps} bootstraps" if bootstraps else ""
            print(f"{kind + with_:<46} {time.process_time() - started:6.2f} s")
    started = time.process_time()
    noise_floor(sets, draws=5)
    print(f"noise floor, each of 5 draws                   {(time.process_time() - started) / 5:6.2f} s")


if __name__ == "__main__":
    main(sys.argv[1])
