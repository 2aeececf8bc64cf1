"""How long evaluation takes: all nine sets, all methods, entropies, for one 17×5 model of random matrices.

python benchmarks/evaluation.py DATA
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from polysema import Lexicon, VectorLexicon, evaluate
from polysema.evaluation.comparison import noise_floor
from polysema.evaluation.evaluate import load_all


def main() -> None:
    """Print the seconds of processor time of each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the folder with the nine evaluation sets")
    parser.add_argument("--bootstraps", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=5, help="random lexicons of the noise floor")
    arguments = parser.parse_args()
    data, draws = arguments.data, arguments.draws
    started = time.process_time()
    sets = load_all(data)
    print(f"find, verify and read nine sets        {time.process_time() - started:6.2f} s")
    words = sorted({word for items in sets.values() for word in items.words})
    for kind, shape in (("17×5 matrices, ten methods", (17, 5)), ("vectors of 300, four methods", (300,))):
        made = Lexicon if len(shape) == 2 else VectorLexicon
        model = made(words, np.random.default_rng(0).normal(size=(len(words), *shape)).astype(np.float32))
        for bootstraps in (0, arguments.bootstraps):
            started = time.process_time()
            evaluate(model, sets, bootstraps=bootstraps)
            with_ = f", {bootstraps} bootstraps" if bootstraps else ""
            print(f"{kind + with_:<46} {time.process_time() - started:6.2f} s")
    started = time.process_time()
    noise_floor(sets, draws=draws)
    print(f"noise floor, each of {draws} draws                   {(time.process_time() - started) / draws:6.2f} s")


if __name__ == "__main__":
    main()
