"""The builder's memory: under 1 GiB + 40 bytes per distinct word, whatever the corpus."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.processes import python

BUILD = """
import json, re, sys
from polysema.corpus import build, tokenising
tokenising.SLOTS = 1 << 16  # so that what does not grow with the words is small and reached early
corpus = build.build_corpus(sys.argv[1], sys.argv[2], workers=2, block=1 << 16)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]  # ru_maxrss counts the parent's, too
print(json.dumps({"types": len(corpus.counts), "peak": int(peak) * 1024}))
"""


def write_distinct(path: Path, count: int, letters: int = 7) -> None:
    """So many different words of seven letters, in no order, eight a line."""
    numbers = np.arange(count, dtype=np.uint64) * np.uint64(1103515245) % np.uint64(26**letters)
    rows = np.full((count, letters + 1), 32, np.uint8)
    for place in range(letters):
        rows[:, place] = 97 + numbers // np.uint64(26**place) % np.uint64(26)
    rows[7::8, letters] = 10
    path.write_bytes(rows.tobytes())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_per_distinct_word(tmp_path):
    """Between two vocabularies the peak grows by less than 40 bytes a word, each in a process of its own."""

    def peak(count: int) -> int:
        write_distinct(tmp_path / "text", count)
        # glibc keeps freed blocks of up to 32 MiB for later: a few at most, but they would hide the words' share here
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
        done = python("-c", BUILD, tmp_path / "text", tmp_path / str(count), env=environment, check=True)
        found = json.loads(done.stdout)
        assert found["types"] == count
        return int(found["peak"])

    few, many = 500_000, 3_000_000
    least, most = peak(few), peak(many)
    print(f"{(most - least) / (many - few):.1f} bytes a word, {most / 2**20:.0f} MiB in all")
    assert most < 2**30
    assert most - least < 40 * (many - few)
