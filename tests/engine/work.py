"""What workers do in the tests, and texts and options for them."""

import errno
import os
import random
import time
from pathlib import Path

import numpy as np

from polysema.errors import InputError, OutputError
from polysema.progress import Progress

BLOCK = 1 << 10
OPTIONS = {"dim": 5, "senses": 2, "epochs": 2, "min_count": 1, "subsample": 0.0, "threads": 1}
REPLICAS = {**OPTIONS, "epochs": 4, "replicas": 4, "apart": 0.2}


def text(seed: int, lines: int = 400) -> bytes:
    """Lines of all lengths: empty ones, some without an end of a sentence, one of many kilobytes."""
    rng = random.Random(seed)
    words = ["bank", "River", "größe", "run", "co-op", "U.S.", "end.", "Why?", "x\xa0y", "a", "日本"]
    made = [" ".join(rng.choices(words, k=rng.choice([0, 1, 5, 30]))) for _ in range(lines)]
    made.insert(lines // 2, " ".join(rng.choices(words, k=3000)))
    made.insert(lines // 3, "x" * 5000)
    return "\n".join(made).encode()


def files_of(corpus) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(corpus.path.iterdir())}


def same(a, b) -> bool:
    return np.array_equal(a.array, b.array) and np.array_equal(a.parts.contexts, b.parts.contexts)


def square(shared: int, task: int, report) -> tuple[int, int]:
    report(Progress("squaring", 1, 2, speed=1e6))
    return shared, task * task


def letter(shared: str, task: int, _) -> tuple[int, str]:
    return task, shared


def bracket(parts: list[str]) -> str:
    return f"({''.join(parts)})"


def slowly(flag: Path, task: int, _) -> int:
    """The first tasks wait long enough to be killed; once the flag is there, they do not."""
    for _again in range(300):
        if flag.exists():
            break
        time.sleep(0.1)
    return task


def fail(what: str, task: int, _) -> None:
    if what == "input":
        raise InputError("a value is wrong")
    if what == "crash":
        os._exit(1)
    raise ZeroDivisionError("a fault")


def disk(bad: tuple[str, int], task: int, _) -> int:
    """On one node nothing can be written."""
    import ray

    node, number = bad
    if node in ("", ray.get_runtime_context().get_node_id()):
        cause = OSError(number, os.strerror(number))
        if number == errno.ENOSPC:
            raise OutputError(f"out: cannot be written: {cause.strerror}")
        raise cause
    return task
