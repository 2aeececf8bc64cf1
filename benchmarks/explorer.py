"""The explorer under load, from outside: 200 clients on pages that are all different.

    python benchmarks/explorer.py [LEXICON] [--clients 200] [--seconds 60] [--rounds 1] [--public]
    python benchmarks/explorer.py --list 400000              # pages of a list of so many words, in one process

A server is asked by as many clients that each send a request as soon as the last is answered. Half of the pages are
words, drawn by the root of their frequency, half sentences of two to four such words put into patterns: *new* never
repeats one, *mixed* draws them from 300 with Zipf's law, as people do. With --public, as behind a proxy, each client
has an address of its own. 503 (overload) and 429 (a client asks too often) are counted apart from errors.
Memory is the server's resident set. It ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
from measure import machine, options, table

import polysema
from polysema.evaluation.ambiguity import table as wordnet

PATTERNS = (
    "The {n} {v} the {n}.",
    "A {a} {n} {v} the {n}.",
    "The {n} of the {n} {v} a {a} {n}.",
    "The {a} {n} {v} the {a} {n} in the {n}.",
)
VERBS = (
    "took", "saw", "made", "left", "kept", "moved", "found", "held", "drew", "broke", "crossed", "charged", "sold",
    "watched", "opened", "carried", "struck", "signed",
)  # fmt: skip


def pages(lexicon: polysema.Lexicon, count: int, seed: int) -> list[str]:
    """Addresses of so many different pages, half words, half sentences, in turns."""
    rng, known = np.random.default_rng(seed), wordnet()
    words = [w for w in lexicon.vocabulary.words if w.isalpha() and w.isascii()]
    shares = np.sqrt([max(lexicon.vocabulary.counts[lexicon.vocabulary.index(w)], 1) for w in words])
    shares = shares / shares.sum()
    asked = rng.choice(words, min(count // 2, len(words)), replace=False, p=shares)
    kinds = {"n": [], "a": []}
    for word in rng.choice(words, 20_000, p=shares):
        noun, _, adjective, _ = known.get(word, (0, 0, 0, 0))
        if noun or adjective:
            kinds["n" if noun >= adjective else "a"].append(str(word))
    chance = random.Random(seed)
    sentences = set()
    while len(sentences) < count // 2:
        text = chance.choice(PATTERNS)
        for slot, some in (("{n}", kinds["n"]), ("{a}", kinds["a"]), ("{v}", VERBS)):
            while slot in text:
                text = text.replace(slot, chance.choice(some), 1)
        sentences.add(text)
    both = zip(sorted(sentences, key=lambda _: chance.random()), asked, strict=False)
    return [page for text, word in both for page in (f"/?{urlencode({'s': text})}", f"/word/{quote(str(word))}")]


@contextmanager
def serving(command: list[str]) -> Iterator[tuple[str, int]]:
    """A server while it runs: its address and its process."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = ""
            while "http://" not in url:
                url = process.stdout.readline()
                if not url:
                    sys.exit("the explorer did not start")
            url = "http://" + url.split("http://")[1].split()[0].rstrip("/")
            start = time.monotonic()
            while time.monotonic() - start < 180:
                try:
                    with urllib.request.urlopen(url + "/health", timeout=60) as answer:
                        if answer.status == 200:
                            break
                except OSError:
                    pass
                time.sleep(0.5)
            yield url, process.pid
        finally:
            process.terminate()


def resident(pid: int) -> float:
    """The resident set of a process, in MB."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def client(
    number: int, address: tuple[str, int], paths: Iterator[str], until: float, took: dict[int, list[float]]
) -> None:
    """One client: a connection that asks again as soon as it is answered."""
    own = f"Host: localhost\r\nX-Forwarded-For: 203.0.{number // 256}.{number % 256}"
    reader, writer = await asyncio.open_connection(*address)
    while time.perf_counter() < until:
        start = time.perf_counter()
        try:
            writer.write(f"GET {next(paths)} HTTP/1.1\r\n{own}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            status = int(head.split()[1])
        except (OSError, asyncio.IncompleteReadError, StopIteration):
            status = 0
            reader, writer = await asyncio.open_connection(*address)
        took[status].append(time.perf_counter() - start)
    writer.close()


def load(url: str, pid: int, paths: list[str], clients: int, seconds: int) -> dict[str, float]:
    """Answers, times in milliseconds, 503s and errors of so many clients, with the server's memory before and after."""
    took: dict[int, list[float]] = defaultdict(list)
    host, _, port = url.removeprefix("http://").rpartition(":")
    before, start, asked = resident(pid), time.perf_counter(), cycle(paths)

    async def all_clients() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(client(number, (host, int(port)), asked, until, took) for number in range(clients)))

    asyncio.run(all_clients())
    times = np.percentile(1e3 * np.array(took[200] or [np.nan]), [50, 95, 99])
    counts = {status: len(values) for status, values in took.items()}
    return {
        "requests": sum(counts.values()), "seconds": time.perf_counter() - start, "busy": counts.get(503, 0),
        "often": counts.get(429, 0),
        "errors": sum(n for status, n in counts.items() if status not in (200, 429, 503)),
        **dict(zip(("p50", "p95", "p99"), times.tolist(), strict=True)), "before": before, "after": resident(pid),
    }  # fmt: skip


def under_load(options: argparse.Namespace) -> None:
    """New pages and mixed ones in turns."""
    lexicon = polysema.load(options.lexicon)
    rows = []
    new = pages(lexicon, 2 * min(20_000, len(lexicon) - len(lexicon) // 10), 1)
    chance, few = random.Random(2), new[-300:]
    mixed = chance.choices(few, [1 / rank for rank in range(1, len(few) + 1)], k=50_000)
    command = [sys.executable, "-m", "polysema", "explore", options.lexicon, "--port", "0", "--no-browser"]
    command += ["--public", "--allow-host", "localhost"] if options.public else []
    for name, paths in [("new", new[:-300]), ("mixed", mixed)] * options.rounds:
        with serving(command) as (url, pid):
            time.sleep(5)  # what it gets ready in the background
            load(url, pid, paths[::-1], min(options.clients, 8), 5)  # caches and pools filled, not counted
            f = load(url, pid, paths, options.clients, options.seconds)
        good = f["requests"] - f["busy"] - f["often"] - f["errors"]
        rows.append([
            name, f"{good / f['seconds']:.0f}", f"{f['p50']:.0f}", f"{f['p95']:.0f}", f"{f['p99']:.0f}",
            f"{good:.0f}", f"{f['busy']:.0f}", f"{f['often']:.0f}", f"{f['errors']:.0f}",
            f"{f['before']:.0f}", f"{f['after']:.0f}",
        ])  # fmt: skip
        print("  ".join(rows[-1]), flush=True)
    heads = [
        "pages",
        "pages/s",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "answered",
        "503",
        "429",
        "errors",
        "MB before",
        "MB after",
    ]
    print(table(heads, rows))


def listed(words: int) -> None:
    """Every kind of page of a large list, the first and after."""
    from polysema.explorer.listing import PARTS_OF_SPEECH, Filter, listing

    rng = np.random.default_rng(1)
    real = list(wordnet())
    names = [*real, *(f"{real[i % len(real)]}-{i}" for i in range(words))][:words]
    counts = np.sort((1e9 / np.arange(1, words + 1)).astype(np.int64))[::-1]
    lexicon = polysema.Lexicon(
        polysema.Vocabulary(names, counts.tolist()), rng.normal(size=(words, 8, 3)).astype(np.float32)
    )
    start = time.perf_counter()
    listing(lexicon).page(Filter())
    rows = [["first page", f"{1e3 * (time.perf_counter() - start):.0f}", ""]]
    asked = {
        **{f"sorted by {sort}": {"sort": sort} for sort in ("entropy", "percentile", "count", "word")},
        **{f"{kind}s": {"part_of_speech": kind} for kind in PARTS_OF_SPEECH},
        "begins with s": {"prefix": "s"},
        "count 1000 to 100,000": {"min_count": 1000, "max_count": 100_000},
        "entropy 0.5 to 1": {"min_entropy": 0.5, "max_entropy": 1.0},
        "five at once": {
            "prefix": "s", "part_of_speech": "noun", "min_count": 3000, "min_entropy": 0.2, "sort": "word",
        },
        "200 a page, function words": {"size": 200, "function_words": True},
    }  # fmt: skip
    for name, query in asked.items():
        start = time.perf_counter()
        pages = listing(lexicon).page(Filter(**query))["pages"]
        first, took = time.perf_counter() - start, []
        for page in np.linspace(1, pages, 12).astype(int):
            start = time.perf_counter()
            listing(lexicon).page(Filter(**query, page=int(page)))
            took.append(time.perf_counter() - start)
        rows.append([name, f"{1e3 * first:.0f}", f"{1e3 * float(np.median(took)):.0f} ({1e3 * max(took):.0f} at most)"])
    print(table([f"{words:,} words", "first, ms", "any other page, ms"], rows))


def main() -> None:
    """Read the options."""
    chosen = options(__doc__, "[lexicon]", clients=200, seconds=60, rounds=1, list=0, public=False)
    chosen.lexicon = chosen.lexicon or "default"
    print(machine(), f"load {os.getloadavg()[0]:.1f}")
    if chosen.list:
        listed(chosen.list)
    else:
        under_load(chosen)


if __name__ == "__main__":
    main()
