"""How long evaluation takes: all nine sets, all methods, entropies, for one 17×5 model of random matrices.

    python benchmarks/evaluation.py DATA [--bootstraps 1000] [--draws 5]

DATA is the folder with the sets; ``--draws`` is how many random lexicons the noise floor takes.
"""

from __future__ import annotations

import time

import numpy as np
from measure import options

from polysema import Lexicon, VectorLexicon, evaluate
from polysema.evaluation.comparison import noise_floor
from polysema.evaluation.evaluate import load_all


def main() -> None:
    """Print the seconds of processor time of each step."""
    arguments = options(__doc__, "data", bootstraps=1000, draws=5)
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
