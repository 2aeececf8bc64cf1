"""Fuzz what reads files, guided by coverage: ``python tools/fuzz_readers.py NAME SECONDS [FOLDER]``.

NAME is one of the readers below, or ``all``: then each has a process of its own, ``--jobs`` of them at a time, and a
table at the end says how often each reader was run, how much of the code it reached, and what was found. A reader may
refuse its input with a PolysemaError; anything else that it raises, or an input that takes more than ten seconds or two
gigabytes, is a find and lies in FOLDER afterwards.

With atheris (``pip install atheris``, Python 3.11 to 3.13) libFuzzer looks for inputs that reach new code, by changes
of bytes and by those of ``tests/campaign/damage.py`` that know a format. Without it the same readers meet random
changes of valid files.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gzip
import importlib
import os
import pkgutil
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import zstandard

try:
    import atheris
except ImportError:
    atheris = None

import polysema.kernels

for _module in pkgutil.iter_modules(polysema.kernels.__path__):  # before the rest: they are compiled, not watched
    if not _module.ispkg:
        importlib.import_module(f"polysema.kernels.{_module.name}")
with atheris.instrument_imports(include=["polysema"]) if atheris else contextlib.nullcontext():
    from polysema.cli.corpora import read_words
    from polysema.cli.training import _config
    from polysema.composition.trees import parse_brackets
    from polysema.corpus.build import build_corpus
    from polysema.corpus.corpus import Corpus
    from polysema.corpus.readers import read_blocks
    from polysema.errors import PolysemaError
    from polysema.evaluation.datasets import read_set
    from polysema.files.checkpoint import Checkpoint
    from polysema.lexicon.formats import load, write
    from polysema.lexicon.lexicon import Lexicon
    from polysema.parsing.sentences import parse_sentence
    from polysema.slots.parsed import Parsed
    from tests.campaign.damage import SPECIAL

PACKED = {
    ".gz": (lambda data: gzip.compress(data, 1), gzip.decompress),
    ".zst": (zstandard.compress, lambda data: zstandard.ZstdDecompressor().decompress(data, 1 << 20)),
}

HERE = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
atexit.register(shutil.rmtree, HERE, ignore_errors=True)


def _file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def reader(data: bytes) -> None:
        path = HERE / name
        path.write_bytes(data)
        read(path)

    return reader


def _in_folder(folder: str, name: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """A reader of a folder in which one file is fuzzed."""

    def reader(data: bytes) -> None:
        (HERE / folder / name).write_bytes(data)
        read(HERE / folder)

    return reader


def _asked(path: Path) -> None:
    lexicon = load(path)
    word = next(iter(lexicon), None)
    if word is not None:
        lexicon.neighbours(word, 3)
        lexicon.entropy(word) if lexicon.kind == "matrices" else None


def _sentences(path: Path) -> None:
    for _ in Corpus(path):
        pass


def _blocks(path: Path) -> None:
    for _ in read_blocks(path):
        pass


def _resumed(path: Path) -> None:
    Checkpoint(path, {"options": {}}).load()


def _tree(data: bytes) -> None:
    str(parse_brackets(data.decode("utf-8", "replace")))


def _sentence(data: bytes) -> None:
    parse_sentence(data.decode("utf-8", "replace")[:2000])


def _built(path: Path) -> None:
    shutil.rmtree(HERE / "built", ignore_errors=True)
    for _ in build_corpus(path, HERE / "built", workers=1):
        pass


READERS: dict[str, tuple[Callable[[bytes], None], str]] = {
    "npz": (_file("it.npz", _asked), "valid.npz"),
    "text": (_file("it.txt", _asked), "valid.txt"),
    "gzip": (_file("it.txt.gz", _asked), "valid.txt.gz"),
    "word2vec": (_file("it.vec", _asked), "valid.vec"),
    "binary": (_file("it.bin", _asked), "valid.bin"),
    "safetensors": (_in_folder("lexicon", "lexicon.safetensors", _asked), "lexicon/lexicon.safetensors"),
    "config": (_in_folder("lexicon", "config.json", _asked), "lexicon/config.json"),
    "vocabulary": (_in_folder("lexicon", "vocabulary.txt", _asked), "lexicon/vocabulary.txt"),
    "ensemble": (_in_folder("ensemble", "config.json", _asked), "ensemble/config.json"),
    "corpus-config": (_in_folder("corpus", "config.json", _sentences), "corpus/config.json"),
    "corpus-tokens": (_in_folder("corpus", "tokens.npy", _sentences), "corpus/tokens.npy"),
    "corpus-sentences": (_in_folder("corpus", "sentences.npy", _sentences), "corpus/sentences.npy"),
    "corpus-counts": (_in_folder("corpus", "counts.npy", _sentences), "corpus/counts.npy"),
    "corpus-vocabulary": (_in_folder("corpus", "vocabulary.txt", _sentences), "corpus/vocabulary.txt"),
    "parsed-config": (_in_folder("it.parsed", "config.json", Parsed.load), "it.parsed/config.json"),
    "parsed-words": (_in_folder("it.parsed", "words.txt", Parsed.load), "it.parsed/words.txt"),
    "parsed-counts": (_in_folder("it.parsed", "counts.safetensors", Parsed.load), "it.parsed/counts.safetensors"),
    "blocks": (_file("it", _blocks), "text.txt.zst"),
    "build": (_file("it", _built), "text.xml"),
    "state": (_file("state.safetensors", _resumed), "lexicon/lexicon.safetensors"),
    "toml": (_file("it.toml", _config), "config.toml"),
    "words": (_file("words.txt", read_words), "words.txt"),
    "pairs": (_file("pairs.tsv", read_set), "pairs.tsv"),
    "phrases": (_file("phrases.tsv", lambda path: read_set(path, "subj verb obj")), "phrases.tsv"),
    "brackets": (_tree, "brackets.txt"),
    "sentence": (_sentence, "sentence.txt"),
}
"""What is fuzzed, each with a valid file to start from."""


def valid_files() -> None:
    """A small valid file for every reader."""
    words = ["bank", "river", "money", "run"]
    model = Lexicon(words, np.random.default_rng(0).normal(size=(4, 3, 2)).astype(np.float32))
    for name in ("lexicon", "valid.npz", "valid.txt", "valid.vec", "valid.bin"):
        write(model, HERE / name)
    from polysema.lexicon.ensemble import Ensemble
    from polysema.slots.relations import Relation

    Ensemble([model, model]).save(HERE / "ensemble")
    (HERE / "valid.txt.gz").write_bytes(gzip.compress((HERE / "valid.txt").read_bytes()))
    build_corpus([["the", "bank"], ["a", "river", "bank"]], HERE / "corpus")
    counted = {Relation("run", "obj", "hotel"): 2, Relation("run", "subj", "family"): 1}
    Parsed.of(counted, {"tokens": 9}).save(HERE / "it.parsed")
    (HERE / "text.xml").write_text("<s>\nThe\tDT\tthe\nbank\tNN\tbank\n</s>\n" * 3)
    (HERE / "sentence.txt").write_text("The local family, which runs two small hotels, did not pay the bank.")
    (HERE / "text.txt.zst").write_bytes(zstandard.compress(b"The bank. A river bank.\n" * 5))
    (HERE / "config.toml").write_text("[train]\ndim = 4\nrate = 0.1\nselect = 'dot'\n")
    (HERE / "words.txt").write_text("bank\nriver\n")
    (HERE / "pairs.tsv").write_text("bank\triver\t1\nbank\tmoney\t2\nrun\tmoney\t0.5\n")
    (HERE / "phrases.tsv").write_text("a b c\td e f\t1\na b d\td e f\t1\na b e\td e f\t1\n")
    (HERE / "brackets.txt").write_text("((local family) (runs* (small hotel))~ & x)")


class Target:
    """A reader and what it met: an input is read, or refused with a PolysemaError; each other end is noted once."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.reader = READERS[name][0]
        self.finds: set[str] = set()

    def __call__(self, data: bytes) -> None:
        """Give the reader an input."""
        try:
            self.reader(data)
        except PolysemaError:
            pass
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/polysema/" in frame.filename]
            where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
            find = f"{type(error).__name__} at {where}"
            if find not in self.finds:
                self.finds.add(find)
                kept = self.folder / f"{self.name}-{len(self.finds)}"
                kept.write_bytes(data)
                print(f"{self.name}: {find}: {str(error)[:100]!r}: {kept}", flush=True)


def main() -> int:
    """Fuzz one reader, or all of them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*READERS, "all"])
    parser.add_argument("seconds", type=int, help="for each reader")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("fuzz-finds"), help="for what is found")
    parser.add_argument("--jobs", type=int, default=1, help="readers that are fuzzed at the same time")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.name == "all":
        return _all(options.seconds, options.folder, options.jobs)
    valid_files()
    target = Target(options.name, options.folder)
    valid = (HERE / READERS[options.name][1]).read_bytes()
    if atheris is None:
        return _random(target, valid, options.seconds)
    seeds = HERE / "seeds"
    seeds.mkdir()
    (seeds / "valid").write_bytes(valid)
    arguments = [
        sys.argv[0], f"-max_total_time={options.seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=20000",
        f"-artifact_prefix={options.folder}/{options.name}-", "-print_final_stats=1", str(seeds),
    ]  # fmt: skip
    atheris.Setup(arguments, target, custom_mutator=_mutator(READERS[options.name][1]))
    atheris.Fuzz()
    return 0


def _mutator(valid: str) -> Callable[[bytes, int, int], bytes]:
    """Changes an input: half of the time as one who knows its format, inside of its packing where it is packed."""
    special = [how for end, table in SPECIAL.items() if valid.endswith(end) for how in table.values()]
    packing = next((functions for end, functions in PACKED.items() if valid.endswith(end)), None)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        changed = None
        with contextlib.suppress(Exception):  # no longer of that format
            if packing and rng.random() < 0.7:
                pack, unpack = packing
                changed = pack(atheris.Mutate(unpack(data), 4 * most))
            elif special and rng.random() < 0.5:
                changed = special[rng.integers(len(special))](data, rng)
        return changed if changed is not None and len(changed) <= most else atheris.Mutate(data, most)

    return mutate


def _all(seconds: int, folder: Path, jobs: int) -> int:
    """Every reader in a process of its own; a table of what came of it."""
    names, running, found = list(READERS), {}, {}
    while names or running:
        while names and len(running) < jobs:
            name = names.pop(0)
            with open(folder / f"{name}.log", "w") as log:
                command = [sys.executable, __file__, name, str(seconds), str(folder)]
                running[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        time.sleep(0.5)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            del running[name]
            found[name] = _row(name, folder)
            print(found[name], flush=True)
    print("\n| reader | executions | branches reached at first | at the end | finds |\n|---|---|---|---|---|")
    print("\n".join(found[name] for name in READERS))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    minutes = (used.ru_utime + used.ru_stime) / 60
    print(f"\n{len(READERS)} readers, {seconds} s each, {minutes:.0f} minutes of processor time")
    return any((folder / f"{name}-1").exists() for name in READERS)


def _row(name: str, folder: Path) -> str:
    """What a reader's log says: libFuzzer's, or that of random changes."""
    log = (folder / f"{name}.log").read_text(errors="replace")
    runs = re.findall(r"stat::number_of_executed_units: (\d+)|^\S+: (\d+) runs", log, re.M)
    reached = re.findall(r"cov: (\d+)", log) or ["?"]
    finds = sum(not path.name.endswith(".log") for path in folder.glob(f"{name}-*") if READERS.get(path.stem) is None)
    return f"| {name} | {''.join(runs[-1]) if runs else '?'} | {reached[0]} | {reached[-1]} | {finds} |"


def _random(target: Target, valid: bytes, seconds: int) -> int:
    """Random changes of a valid file, where there is no atheris."""
    rng = np.random.default_rng(0)
    runs = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = bytearray(valid)
        for _ in range(int(rng.integers(1, 6))):
            at = int(rng.integers(len(data) + 1))
            data[at : at + int(rng.integers(0, 8))] = rng.bytes(int(rng.integers(0, 8)))
        target(bytes(data))
        runs += 1
    print(f"{target.name}: {runs} runs, {len(target.finds)} finds")
    return bool(target.finds)


if __name__ == "__main__":
    sys.exit(main())
