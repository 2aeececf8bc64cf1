"""Fuzz what reads files, guided by coverage: ``python tools/fuzz_readers.py NAME SECONDS [FOLDER]``.

NAME is one of the readers below, or ``all``. A reader may refuse its input with a PolysemaError; anything else that it
raises, or an input that takes more than ten seconds or two gigabytes, is a find and lies in FOLDER afterwards.

With atheris (``pip install atheris``, Python 3.11 to 3.13) libFuzzer looks for inputs that reach new code. Without
it the same readers meet random changes of valid files.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports(include=["polysema"]) if atheris else contextlib.nullcontext():
    from polysema.cli.corpora import read_words
    from polysema.cli.training import _config
    from polysema.composition.trees import parse_brackets
    from polysema.corpus.build import build_corpus
    from polysema.corpus.corpus import Corpus
    from polysema.corpus.readers import read_blocks
    from polysema.errors import PolysemaError
    from polysema.evaluation.datasets import read_set
    from polysema.lexicon.formats import load, write
    from polysema.lexicon.lexicon import Lexicon

HERE = Path(tempfile.mkdtemp(prefix="fuzz-"))


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
    from polysema.contexts.checkpoint import Checkpoint

    Checkpoint(path, {"options": {}}).load()


def _tree(data: bytes) -> None:
    str(parse_brackets(data.decode("utf-8", "replace")))


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
    "corpus-tokens": (_in_folder("corpus", "tokens.i32", _sentences), "corpus/tokens.i32"),
    "corpus-sentences": (_in_folder("corpus", "sentences.i64", _sentences), "corpus/sentences.i64"),
    "corpus-vocabulary": (_in_folder("corpus", "vocabulary.txt", _sentences), "corpus/vocabulary.txt"),
    "blocks": (_file("it", _blocks), "text.txt.zst"),
    "state": (_file("state.safetensors", _resumed), "lexicon/lexicon.safetensors"),
    "toml": (_file("it.toml", _config), "config.toml"),
    "words": (_file("words.txt", read_words), "words.txt"),
    "pairs": (_file("pairs.tsv", read_set), "pairs.tsv"),
    "phrases": (_file("phrases.tsv", lambda path: read_set(path, "subj verb obj")), "phrases.tsv"),
    "brackets": (_tree, "brackets.txt"),
}
"""What is fuzzed, each with a valid file to start from."""


def valid_files() -> None:
    """A small valid file for every reader."""
    import gzip

    import zstandard

    words = ["bank", "river", "money", "run"]
    model = Lexicon(words, np.random.default_rng(0).normal(size=(4, 3, 2)).astype(np.float32))
    for name in ("lexicon", "valid.npz", "valid.txt", "valid.vec", "valid.bin"):
        write(model, HERE / name)
    from polysema.lexicon.ensemble import Ensemble

    Ensemble([model, model]).save(HERE / "ensemble")
    (HERE / "valid.txt.gz").write_bytes(gzip.compress((HERE / "valid.txt").read_bytes()))
    build_corpus([["the", "bank"], ["a", "river", "bank"]], HERE / "corpus")
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
    options = parser.parse_args()
    if options.name == "all":
        for name in READERS:
            subprocess.run([sys.executable, __file__, name, str(options.seconds), str(options.folder)], check=False)
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
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
        f"-artifact_prefix={options.folder}/{options.name}-", "-print_final_stats=1", "-verbosity=0", str(seeds),
    ]  # fmt: skip
    atheris.Setup(arguments, target)
    atheris.Fuzz()
    return 0


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
