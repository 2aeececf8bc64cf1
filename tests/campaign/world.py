"""The inputs of the campaign: a small one of every kind that polysema reads; and the sandbox that holds a copy."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from polysema import VectorLexicon, Vocabulary, build_corpus, train
from polysema.lexicon.ensemble import Ensemble
from polysema.lexicon.formats import write
from tests.slots.planted import planted

MEMORY = 1 << 30
"""Bytes that a command may take beyond what its process had when it started."""
TIMEOUT = 60.0
PARTS = {
    "encoder": ("torch", "transformers", "sklearn", "threadpoolctl"),
    "parser": ("spacy",),
    "plots": ("matplotlib",),
    "cluster": ("sklearn",),
    "gpu": ("cupy",),
}
"""What some tries need and not every machine has, and the packages that it takes."""


PARSING = (
    "similarity", "neighbours", "senses", "compose", "entail", "examples", "adapt", "disambiguate", "read", "demo", "draw",
    "explore", "plausibility",
)  # fmt: skip
"""Commands that may meet a sentence without brackets."""


LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "PYTHONMALLOC": "malloc"}
"""Settings of the server: in pages of 2 MiB, a fork of it takes a third of the time."""


def parts_here() -> list[str]:
    """The parts whose packages are installed, but for a GPU."""
    return [part for part, names in PARTS.items() if part != "gpu" and all(map(find_spec, names))]


def quick_place() -> str | None:
    """A folder in memory, where there is one; else that of temporary files."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]


def sentences(count: int = 120, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(3, 12))] for _ in range(count)]


def make_world(folder: Path, parts: Iterable[str] = ()) -> None:
    """Write the inputs: text in every packing, a corpus, lexicons in every format, lists, settings, foreign files."""
    folder.mkdir(parents=True)
    text = "".join(" ".join(words).capitalize() + ".\n" for words in sentences())
    plain = text.encode()
    (folder / "text.txt").write_bytes(plain)
    (folder / "other.txt").write_text("".join(" ".join(words) + ".\n" for words in sentences(120, seed=1)))
    (folder / "text.txt.gz").write_bytes(gzip.compress(plain, mtime=0))
    (folder / "text.txt.bz2").write_bytes(bz2.compress(plain))
    (folder / "text.txt.xz").write_bytes(lzma.compress(plain))
    import zstandard

    (folder / "text.txt.zst").write_bytes(zstandard.compress(plain))
    rows = [f"{word}\tNN\t{word}" for words in sentences(20) for word in ("<s>", *words, "</s>")]
    (folder / "text.xml").write_text("\n".join(r.split("\t")[0] if r[0] == "<" else r for r in rows) + "\n")
    (folder / "text.conllu").write_text(
        "\n".join(
            "".join(f"{i}\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_\n" for i, w in enumerate(words, 1))
            for words in sentences(20)
        )
    )
    corpus = build_corpus(folder / "text.txt", folder / "corpus")
    _first_version(folder / "corpus", folder / "corpus.v1")
    model = train(corpus, dim=4, senses=2, min_count=1, epochs=1, threads=1)
    model.save(folder / "lexicon")
    other = train(corpus, dim=4, senses=2, min_count=1, epochs=1, threads=1, seed=2)
    other.save(folder / "lexicon2")
    vectors = VectorLexicon(Vocabulary(model.vocabulary.words, model.vocabulary.counts), _vectors(len(model)))
    vectors.save(folder / "vectors")
    for name in ("lexicon.npz", "lexicon.txt", "lexicon.bin"):
        write(model, folder / name)
    for name in ("vectors.npz", "vectors.txt", "vectors.vec", "vectors.bin"):
        write(vectors, folder / name)
    (folder / "lexicon.txt.gz").write_bytes(gzip.compress((folder / "lexicon.txt").read_bytes(), mtime=0))
    Ensemble([model, other]).save(folder / "ensemble")
    for name in ("old", "old.npz", "old.txt"):  # what --force may replace
        write(other, folder / name)
    build_corpus(folder / "other.txt", folder / "old.corpus")
    (folder / "words.txt").write_text("\n".join(WORDS[:20]) + "\n")
    rng = np.random.default_rng(2)
    pair = lambda: WORDS[rng.integers(len(WORDS))]  # noqa: E731
    (folder / "pairs.tsv").write_text("".join(f"{pair()}\t{pair()}\t{rng.random():.3f}\n" for _ in range(12)))
    (folder / "phrases.tsv").write_text(
        "".join(f"{pair()} {pair()} {pair()}\t{pair()} {pair()} {pair()}\t{rng.random():.3f}\n" for _ in range(12))
    )
    (folder / "sentences.txt").write_text("".join(f"({pair()} ({pair()} {pair()}))\n" for _ in range(5)))
    (folder / "config.toml").write_text("[train]\ndim = 4\nsenses = 2\nepochs = 1\nmin_count = 1\n")
    (folder / "notes.txt").write_text("My notes: not polysema's, never to be overwritten.\n")
    (folder / "notes.png").write_bytes(b"\x89PNG my picture")
    (folder / "thesis").mkdir()
    (folder / "thesis" / "thesis.tex").write_text("Chapter one.\n")
    for name, seed in (("one.parsed", 0), ("two.parsed", 1)):
        planted(seed, 200).save(folder / name)
    (folder / "english.txt").write_text("The family runs a small hotel.\nThe girl ran a long race and won it.\n" * 6)
    if "encoder" in parts:
        from tests.encoders.tiny import make_encoder

        make_encoder(folder / "encoder")


def _first_version(corpus: Path, folder: Path) -> None:
    """The corpus as version 1 had it: numbers alone, and no digest."""
    shutil.copytree(corpus, folder)
    config = json.loads((folder / "config.json").read_text())
    del config["digest"]
    (folder / "config.json").write_text(json.dumps({**config, "version": 1}))
    for name, kind in (("tokens", "i32"), ("sentences", "i64"), ("counts", "i64")):
        np.load(folder / f"{name}.npy").tofile(folder / f"{name}.{kind}")
        (folder / f"{name}.npy").unlink()


def _vectors(count: int) -> Any:
    return np.random.default_rng(8).normal(size=(count, 6)).astype(np.float32)


OWN = ("old", "old.npz", "old.txt", "old.corpus", "lexicon", "lexicon2", "vectors", "corpus", "ensemble")
"""What polysema wrote here, and may replace when told to."""


def snapshot(folder: Path, timeless: bool = False) -> dict[str, str]:
    """Every file, link and empty folder below a folder, with a digest of what it holds.

    Args:
        timeless: leave out how long something took, which no two runs share.
    """
    found: dict[str, str] = {}
    _look(str(folder), "", timeless, found)
    return found


def _look(folder: str, prefix: str, timeless: bool, found: dict[str, str]) -> None:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = prefix + entry.name
        if entry.is_symlink():
            found[name] = f"-> {os.readlink(entry.path)}"
        elif entry.is_dir():
            known = len(found)
            _look(entry.path, name + "/", timeless, found)
            if len(found) == known:
                found[name + "/"] = "empty folder"
        else:
            found[name] = _digest(entry, timeless) if entry.is_file() else "special"


_digests: dict[tuple[Any, ...], str] = {}


def _digest(entry: os.DirEntry[str], timeless: bool) -> str:
    """A digest of what a file holds; computed once, unless the time of its last change, which nobody can set, moved."""
    status = entry.stat()
    known = (entry.path, status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns, timeless)
    if known not in _digests:
        if len(_digests) > 50_000:
            _digests.clear()
        _digests[known] = _computed(Path(entry.path), timeless)
    return _digests[known]


def _computed(path: Path, timeless: bool) -> str:
    data = path.read_bytes()
    if timeless and path.name in ("config.json", "report.json"):
        with suppress(ValueError):
            data = json.dumps(_timeless(json.loads(data)), sort_keys=True).encode()
    if timeless and path.suffix in (".png", ".html", ".md", ".tex"):
        data = b"for people"  # may tell how long something took
    return hashlib.sha256(data).hexdigest()[:16]


def _timeless(value: Any) -> Any:
    """A configuration without the times that no two runs share."""
    if isinstance(value, dict):
        return {
            key: _timeless(item) for key, item in value.items() if key not in ("seconds", "modified", "changed", "path")
        }
    return [_timeless(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Outcome:
    """What came of a command."""

    argv: list[str]
    code: int
    ended_for: str
    peak: int
    seconds: float
    out: str
    err: str
    notes: dict[str, Any]


class Sandbox:
    """A folder with a copy of the world, and the process that runs commands in it.

    Args:
        top: where everything lies; made where it is not there.
        parts: those of ``PARTS`` that there are.
        thorough: whether cases that go through every line or every change do so, or take some of them.
        home: the folder of the server and the world; of the first sandbox, which starts the server.
    """

    def __init__(self, top: Path, parts: Iterable[str] = (), thorough: bool = True, home: Path | None = None) -> None:
        self.thorough = thorough
        self.scratch = top / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.top, self.home = top, home or top
        self.world = self.home / "world"
        self.parts = frozenset(parts)
        self.place = top / "sandbox" / "here"
        self._server = self._served() if home is None else None
        self._lines: dict[str, TextIO] = {}
        self.tries = 0

    def _served(self) -> subprocess.Popen[bytes]:
        """The server, when it is ready."""
        door = self.home / "socket"
        for old in (*self.home.glob("socket*"), *self.home.glob("new-*")):
            old.unlink()
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.serve", str(self.home), *sorted(self.parts)],
            cwd=Path(__file__).parents[2], env=os.environ | LARGE_PAGES,
        )  # fmt: skip
        while not door.exists():
            if server.poll() is not None:
                raise RuntimeError(f"the campaign's server ended with exit code {server.returncode}")
            time.sleep(0.05)
        return server

    def fresh(self, only: tuple[str, ...] | None = None, place: Path | None = None) -> Path:
        """An untouched copy of the world, or of some of it."""
        self.place = place or self.top / "sandbox" / "here"
        shutil.rmtree(self.place.parent if place is None else self.place, ignore_errors=True)
        if place is None:
            (self.place.parent / "tmp").mkdir(parents=True)
            (self.place.parent / "home").mkdir()
        self.place.mkdir(parents=True, exist_ok=True)
        for name in sorted(os.listdir(self.world)) if only is None else {*only} - {""}:
            if (self.world / name).exists():
                self.put(self.world / name, name)
        return self.place

    def put(self, source: Path, name: str) -> None:
        target = self.place / name
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)

    def run(self, *argv: str, **request: Any) -> Outcome:
        """Run one command."""
        return self.run_together([{"argv": list(argv), **request}])[0]

    def run_together(self, requests: list[dict[str, Any]]) -> list[Outcome]:
        """Run commands at the same time."""
        aside = self.top / "sandbox"
        environment = {
            "TMPDIR": str(aside / "tmp"), "HOME": str(aside / "home"), "XDG_CACHE_HOME": str(aside / "home"),
            "HF_HUB_OFFLINE": "1", "COLUMNS": "100", "PYTHONWARNINGS": "default",
            "CUPY_CACHE_DIR": str(self.home / "cupy"),
        }  # fmt: skip
        allowed = [os.path.realpath(item) for item in (aside, self.place, "/dev/shm", environment["CUPY_CACHE_DIR"])]
        filled = [
            {
                "cwd": str(self.place),
                "timeout": TIMEOUT,
                "memory": MEMORY,
                "env": environment,
                "allowed": allowed,
                **request,
            }
            for request in requests
        ]
        lines = self._connected(next((part for r in requests if (part := self._needed(r))), ""))
        lines.write(json.dumps(filled) + "\n")
        lines.flush()
        line = lines.readline()
        if not line:
            raise RuntimeError("the campaign's server died")
        self.tries += len(requests)
        return [
            Outcome(r.get("argv", ["python"]), **answer) for r, answer in zip(requests, json.loads(line), strict=True)
        ]

    def _needed(self, request: dict[str, Any]) -> str:
        """The part that a command may ask for and that takes long to load."""
        argv = request.get("argv") or [""]
        if "encoder" in self.parts and {"bert2dm", "--encoder"} & set(argv):
            return "encoder"
        parses = argv[0] in PARSING or {"parse", "slots"} & set(argv)
        return "parser" if "parser" in self.parts and parses else ""

    def _connected(self, part: str) -> TextIO:
        """A fork of the server that has a part loaded."""
        if part not in self._lines:
            if part:
                self._call("", part).close()  # who has it is started, where nobody was
            while not (self.home / f"socket{part}").exists():
                time.sleep(0.05)
            self._lines[part] = self._call(part, part)
        return self._lines[part]

    def _call(self, who: str, part: str) -> TextIO:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(self.home / f"socket{who}"))
            lines = caller.makefile("rw")
        lines.write(json.dumps({"scratch": str(self.scratch), "load": part}) + "\n")
        lines.flush()
        return lines

    def close(self) -> None:
        for lines in self._lines.values():
            lines.close()
        self._lines.clear()
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None
