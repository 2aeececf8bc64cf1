"""Throw random command lines, damaged files, signals and full disks at polysema, on scratch data (Linux only).

    python tools/campaign.py --commands 3000 --damage 1500 --strikes 150 --disks 60 --workers 2 --seed 7
    python tools/campaign.py --replay '{"kind": "commands", "argv": ["info", "/"]}'

Four kinds of tries, each a JSON table drawn from the seed and its number, so that a find can be repeated:

``commands``  a command line from the real tables of options, with values that fit and values that do not
``damage``    a file of some format, damaged, and a command that reads it; also text that is hardly text
``strikes``   SIGKILL, SIGINT or SIGTERM at some moment of a long command, then the same command again
``disks``     a full disk, a read-only disk, a limit on file size, or two commands that write to one name

A fault is an exit code other than 0 and 2 (130 after SIGINT and SIGTERM), a traceback, an error without a message, a
hang, more than 1 GiB of memory, a write outside the working folder, a network connection, a foreign file changed, a file
or process left over, and bytes that differ from those of an undisturbed run.

Each worker loads polysema once and forks a child for each command; one try in thirty starts a real process.
Disks are mounted as tmpfs, which needs root; without it only the limit on file size is used.
"""

from __future__ import annotations

import argparse
import atexit
import bz2
import ctypes
import gc
import gzip
import hashlib
import io
import json
import lzma
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

KINDS = ("commands", "damage", "strikes", "disks")
MEMORY = 1 << 30
"""Bytes that a command may take beyond what its process had when it started."""
TIMEOUT = 60.0
REAL = 1 / 30
"""The share of tries that start a real process instead of a fork."""

# ------------------------------------------------------------------------------------------------------------- inputs

WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]
SMALL = ("--dim", "4", "--epochs", "2", "--min-count", "1", "--threads", "2", "--checkpoint-minutes", "0")
TOY = ("--dim", "4", "--senses", "2", "--epochs", "1", "--min-count", "1")


def sentences(count: int = 120, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(3, 12))] for _ in range(count)]


MADE = (
    ("corpus", "build", "text.txt", "-o", "corpus"),
    ("corpus", "build", "other.txt", "-o", "old.corpus"),
    ("train", "corpus", "-o", "lexicon", *TOY),
    ("train", "corpus", "-o", "lexicon2", *TOY, "--seed", "2"),
    ("train", "corpus", "-o", "old", *TOY, "--seed", "3"),
    ("train", "corpus", "-o", "vectors", "--model", "word2vec", "--dim", "6", "--epochs", "1", "--min-count", "1"),
    *(("convert", "lexicon", f"lexicon{end}") for end in (".npz", ".txt", ".bin")),
    *(("convert", "vectors", f"vectors{end}") for end in (".npz", ".txt", ".vec", ".bin")),
    *(("convert", "old", f"old{end}") for end in (".npz", ".txt")),
    ("corpus", "parse", "english.txt", "-o", "one.parsed", "--workers", "1"),
    ("corpus", "parse", "more.txt", "-o", "two.parsed", "--workers", "1"),
)
"""The commands that make the inputs of the tries."""
OWN = (
    "old",
    "old.npz",
    "old.txt",
    "old.corpus",
    "lexicon",
    "lexicon2",
    "vectors",
    "corpus",
    "one.parsed",
    "two.parsed",
)
"""What polysema wrote, and may replace with ``--force``."""


def make_inputs(folder: Path) -> None:
    """Write a small input of every kind that polysema reads, and some foreign files."""
    folder.mkdir(parents=True)
    plain = "".join(" ".join(words).capitalize() + ".\n" for words in sentences()).encode()
    english = "The family runs a small hotel.\nThe girl ran a long race and won it.\n"
    rows = [f"{word}\tNN\t{word}" if word[0] != "<" else word for s in sentences(20) for word in ("<s>", *s, "</s>")]
    rng = np.random.default_rng(2)
    some = lambda: WORDS[rng.integers(len(WORDS))]  # noqa: E731
    files: dict[str, bytes | str] = {
        "text.txt": plain,
        "other.txt": "".join(" ".join(words) + ".\n" for words in sentences(seed=1)),
        "text.txt.gz": gzip.compress(plain, mtime=0),
        "text.txt.bz2": bz2.compress(plain),
        "text.txt.xz": lzma.compress(plain),
        "text.xml": "\n".join(rows) + "\n",
        "text.conllu": "\n".join(
            "".join(f"{i}\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_\n" for i, w in enumerate(words, 1))
            for words in sentences(20)
        ),
        "english.txt": english * 6,
        "more.txt": english * 3 + "The old man drives a red car.\n" * 4,
        "words.txt": "\n".join(WORDS[:20]) + "\n",
        "pairs.tsv": "".join(f"{some()}\t{some()}\t{rng.random():.3f}\n" for _ in range(12)),
        "phrases.tsv": "".join(
            f"{some()} {some()} {some()}\t{some()} {some()} {some()}\t{rng.random():.3f}\n" for _ in range(12)
        ),
        "sentences.txt": "".join(f"({some()} ({some()} {some()}))\n" for _ in range(5)),
        "config.toml": "[train]\ndim = 4\nsenses = 2\nepochs = 1\nmin_count = 1\n",
        "notes.txt": "My notes: not polysema's, never to be overwritten.\n",
        "notes.png": b"\x89PNG my picture",
        "thesis/thesis.tex": "Chapter one.\n",
    }
    with suppress(ImportError):
        import zstandard

        files["text.txt.zst"] = zstandard.compress(plain)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    in_folder(folder, *MADE)
    (folder / "lexicon.txt.gz").write_bytes(gzip.compress((folder / "lexicon.txt").read_bytes(), mtime=0))
    shutil.copytree(folder / "lexicon", folder / "mine")  # a lexicon with a file of somebody's own
    (folder / "mine" / "thesis.tex").write_text("Chapter two.\n")
    shutil.copytree(ROOT / "polysema" / "models" / "default", folder / "default")


def in_folder(folder: Path, *lines: tuple[str, ...]) -> None:
    """Run command lines in this process; each must succeed."""
    from polysema.cli import main

    here = Path.cwd()
    os.chdir(folder)
    try:
        for argv in lines:
            if main([*argv, "--quiet"]) != 0:
                raise RuntimeError(f"it does not run: {' '.join(argv)}")
    finally:
        os.chdir(here)


# ----------------------------------------------------------------------------------------------------------- snapshots

Snapshot = dict[str, str]
_digests: dict[tuple[Any, ...], str] = {}


def snapshot(folder: Path, timeless: bool = False) -> Snapshot:
    """Every file, link and empty folder below a folder, with a digest of its content.

    Args:
        folder: where to look.
        timeless: leave out how long something took, which no two runs share.
    """
    found: Snapshot = {}

    def look(place: str, prefix: str) -> None:
        for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
            name = prefix + entry.name
            if entry.is_symlink():
                found[name] = f"-> {os.readlink(entry.path)}"
            elif entry.is_dir():
                known = len(found)
                look(entry.path, name + "/")
                if len(found) == known:
                    found[name + "/"] = "empty folder"
            else:
                found[name] = _digest(entry, timeless) if entry.is_file() else "special"

    look(str(folder), "")
    return found


def _digest(entry: os.DirEntry[str], timeless: bool) -> str:
    status = entry.stat()
    key = (entry.path, status.st_ino, status.st_size, status.st_ctime_ns, timeless)
    if key not in _digests:
        if len(_digests) > 50_000:
            _digests.clear()
        data = Path(entry.path).read_bytes()
        if timeless and entry.name.endswith(".json"):
            with suppress(ValueError):
                data = json.dumps(_timeless(json.loads(data)), sort_keys=True).encode()
        if timeless and entry.name.endswith((".png", ".html", ".md", ".tex")):
            data = b"may tell how long something took"
        _digests[key] = hashlib.sha256(data).hexdigest()[:16]
    return _digests[key]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        times = ("seconds", "modified", "changed", "path", "date", "created", "time")
        return {key: _timeless(item) for key, item in value.items() if key not in times}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def below(found: Snapshot, top: str) -> Snapshot:
    return {name: digest for name, digest in found.items() if name.rstrip("/").split("/")[0] == top}


def differences(expected: Snapshot, found: Snapshot) -> list[str]:
    """How files differ from those of an undisturbed run."""
    return [
        *(f"left over: {name}" for name in sorted(found.keys() - expected.keys())),
        *(f"missing: {name}" for name in sorted(expected.keys() - found.keys())),
        *(f"other bytes: {name}" for name in expected if name in found and found[name] != expected[name]),
    ]


# ---------------------------------------------------------------------------------------------------- running commands


@dataclass
class Outcome:
    """How a command ended, what it printed, and what the audit hook counted."""

    argv: list[str]
    code: int
    out: str
    err: str
    seconds: float
    ended_for: str = ""
    notes: dict[str, Any] = field(default_factory=dict)


class Watcher:
    """An audit hook in a forked command: refuses the network, notes writes, and strikes at the n-th change of a file."""

    CHANGES = (
        "os.mkdir",
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "shutil.rmtree",
    )
    NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.sendto")

    def __init__(self, moment: dict[str, Any], allowed: tuple[str, ...], notes: Path) -> None:
        self.moment, self.allowed, self.notes = moment, allowed, notes
        self.changes, self.outside, self.network = 0, set[str](), set[str]()
        self.busy = threading.local()
        sys.addaudithook(self._audit)
        atexit.register(self._write)

    def _write(self) -> None:
        self.busy.now = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        found = {"changes": self.changes, "outside": sorted(self.outside), "network": sorted(self.network)}
        self.notes.write_text(json.dumps(found))

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if getattr(self.busy, "now", False):
            return
        if event == "socket.bind" and isinstance(arguments[1], tuple):
            raise OSError(98, "Address already in use")  # so that no server runs on
        if event in self.NETWORK and not isinstance(arguments[1], str | bytes):  # a path is a socket of this machine
            self.network.add(f"{event} {arguments[1:]}"[:200])
            raise OSError(101, "Network is unreachable")
        flags = arguments[2] if event == "open" else 0
        writing = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writing and isinstance(arguments[0], str | bytes):
            self.busy.now = True
            place = os.path.realpath(os.fsdecode(arguments[0]))
            if "/__pycache__" not in place and not place.startswith((*self.allowed, "/dev/", "/proc/")):
                self.outside.add(place)
            self.busy.now = False
        if writing or event in self.CHANGES:
            self.changes += 1
            if self.changes == self.moment.get("change"):
                os.kill(os.getpid(), getattr(signal, f"SIG{self.moment['signal']}"))


class Sandbox:
    """A working folder of one worker, with copies of the inputs, in which commands run."""

    def __init__(self, inputs: Path, top: Path) -> None:
        self.inputs, self.top = inputs, top
        self.place = top / "here"
        self.furnished: Snapshot | None = None
        top.mkdir(parents=True, exist_ok=True)

    def fresh(self, *names: str, place: Path | None = None) -> Path:
        """An untouched copy of some inputs; without names, of all."""
        self.furnished = None
        self.place = place or self.top / "here"
        for folder in (self.place, self.top / "tmp", self.top / "home"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name in names or os.listdir(self.inputs):
            self.put(name, name)
        return self.place

    def put(self, source: str, name: str) -> None:
        """Copy an input under a name; large files become links to it."""
        path = self.inputs / source
        if path.is_dir():
            shutil.copytree(path, self.place / name, symlinks=True, copy_function=_copy)
        elif path.exists():
            _copy(path, self.place / name)

    def run(self, *argv: str, **request: Any) -> Outcome:
        return self.finish(self.start(*argv, **request))

    def start(
        self, *argv: str, moment: dict[str, Any] | None = None, real: bool = False, largest_file: int | None = None
    ) -> Child:
        """Start a command in a fork of this process, or as a real process."""
        files = self.top / f"child{time.monotonic_ns()}"
        home = str(self.top / "home")
        environment = {"TMPDIR": str(self.top / "tmp"), "HOME": home, "XDG_CACHE_HOME": home, "HF_HUB_OFFLINE": "1"}
        environment |= {"COLUMNS": "100", "PYTHONWARNINGS": "default", "PYTHONPATH": str(ROOT)}
        environment |= {} if real else {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", "")}
        if real:
            with open(f"{files}.out", "wb") as out, open(f"{files}.err", "wb") as err:
                command = [sys.executable, "-m", "polysema", *argv]
                pid = subprocess.Popen(
                    command, cwd=self.place, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                    start_new_session=True,
                ).pid  # fmt: skip
        else:
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                self._become(list(argv), files, environment, moment or {}, largest_file)
        return Child(pid, list(argv), files, moment or {}, 3 * MEMORY if real else MEMORY)

    def _become(
        self,
        argv: list[str],
        files: Path,
        environment: dict[str, str],
        moment: dict[str, Any],
        largest_file: int | None,
    ) -> None:
        """Run the command as the installed entry point does, to the end of the interpreter."""
        code: Any = 1
        try:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the worker
            os.setsid()
            os.chdir(self.place)
            for name, number in (("out", 1), ("err", 2)):
                os.dup2(os.open(f"{files}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ.update(environment)
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            tempfile.tempdir = None
            sys.argv = ["polysema", *argv]
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
            allowed = tuple(os.path.realpath(place) for place in (self.place, self.top, "/dev/shm"))
            Watcher(moment, allowed, Path(f"{files}.notes"))
            import polysema.__main__

            try:
                polysema.__main__.run()
            except SystemExit as stop:
                code = stop.code or 0
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        os._exit(code if isinstance(code, int) else 1)

    def finish(self, child: Child) -> Outcome:
        while not child.poll():
            time.sleep(0.004)
        return child.outcome()


def _copy(source: Any, target: Any) -> None:
    if os.path.getsize(source) > 1 << 18:
        with suppress(OSError):
            return os.link(source, target)
    shutil.copy2(source, target)


class Child:
    """A running command: struck at its moment, ended when it takes too long or too much memory."""

    def __init__(self, pid: int, argv: list[str], files: Path, moment: dict[str, Any], memory: int) -> None:
        self.pid, self.argv, self.files, self.memory = pid, argv, files, memory
        self.started = time.monotonic()
        self.strike_after, self.signal = moment.get("seconds"), moment.get("signal", "")
        self.base, self.code, self.ended_for = self._private(), 0, ""

    def _private(self) -> int:
        """Bytes of memory that are not shared with files."""
        try:
            fields = Path(f"/proc/{self.pid}/statm").read_text().split()
            return (int(fields[1]) - int(fields[2])) * resource.getpagesize()
        except (OSError, IndexError):
            return 0

    def poll(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        elapsed = time.monotonic() - self.started
        if pid:
            self.code, self.seconds = os.waitstatus_to_exitcode(status), elapsed
            return True
        if self.strike_after is not None and elapsed >= self.strike_after:
            os.kill(self.pid, getattr(signal, f"SIG{self.signal}"))
            self.strike_after = None
        if self._private() - self.base > self.memory:
            self._end("memory")
        elif elapsed > TIMEOUT * max(1, os.getloadavg()[0] / 2):
            self._end("time")
        return False

    def _end(self, reason: str) -> None:
        if not self.ended_for:
            self.ended_for = reason
            os.killpg(self.pid, signal.SIGKILL)

    def outcome(self) -> Outcome:
        shown = {}
        for name in ("out", "err", "notes"):
            path = Path(f"{self.files}.{name}")
            shown[name] = path.read_bytes()[-20_000:].decode(errors="replace") if path.exists() else ""
            path.unlink(missing_ok=True)
        notes = json.loads(shown["notes"]) if shown["notes"].endswith("}") else {}
        killed = self.signal == "KILL" or self.ended_for
        notes["processes"] = [] if killed else self._left()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return Outcome(self.argv, self.code, shown["out"], shown["err"], self.seconds, self.ended_for, notes)

    def _left(self) -> list[str]:
        """Processes of the command's session that outlive it by more than half a second."""
        for _ in range(10):
            found = []
            for path in Path("/proc").glob("[0-9]*/stat"):
                with suppress(OSError):
                    name, _, rest = path.read_text().partition(") ")
                    if rest.split()[3] == str(self.pid) and rest[0] != "Z":
                        found.append(name.partition("(")[2])
            if not found:
                break
            time.sleep(0.05)
        return found


# -------------------------------------------------------------------------------------------------------------- faults

BAD_WORDS = ("Traceback (most recent call last)", "fault of polysema", "Exception ignored", "Segmentation fault")


def behaviour(outcome: Outcome, codes: tuple[int, ...] = (0, 2)) -> list[str]:
    """Faults in how a command ended, what it printed, and what it touched outside its folder."""
    faults = []
    if outcome.ended_for:
        faults.append("it hung" if outcome.ended_for == "time" else f"it took more than {MEMORY >> 20} MiB")
    elif outcome.code not in codes:
        faults.append(f"exit code {outcome.code}: {_last(outcome.err)}")
    faults += [f"it printed {word!r}: {_last(outcome.err)}" for word in BAD_WORDS if word in outcome.err + outcome.out][
        :1
    ]
    told = outcome.err.strip() or '"error"' in outcome.out
    if outcome.code == 2 and not outcome.ended_for and not told:
        faults.append("exit code 2 without a message")
    longest = max(map(len, outcome.err.splitlines()), default=0)
    if longest > 4000 and outcome.code == 2:
        faults.append(f"an error of {longest} characters")
    faults += [f"it wrote to {place}" for place in outcome.notes.get("outside", ())]
    faults += [f"it left a process: {name}" for name in outcome.notes.get("processes", ())]
    online = {"fetch", "evaluate", "reproduce", "explore", "--encoder"}
    if outcome.notes.get("network") and not online & set(outcome.argv):
        faults.append(f"it asked the network: {outcome.notes['network'][0]}")
    return faults


def _last(text: str) -> str:
    return " | ".join(line for line in text.strip().splitlines()[-12:] if line.strip())[-900:]


def traces(sandbox: Sandbox, before: Snapshot, new: tuple[str, ...], replaced: tuple[str, ...] = ()) -> list[str]:
    """Faults on disk.

    Args:
        sandbox: where the command ran.
        before: its folder as it was.
        new: names that may have appeared.
        replaced: names that may have changed.
    """
    after = snapshot(sandbox.place)
    faults = []
    for name in sorted(before.keys() | after.keys()):
        was, now, path = before.get(name), after.get(name), Path(name.rstrip("/"))
        if was == now:
            continue
        if was is None and not any(path.is_relative_to(top) for top in new):
            faults.append(f"left over: {name}")
        filled = was == "empty folder" and any(Path(top).is_relative_to(path) for top in new)
        if was is not None and not filled and not any(path.is_relative_to(top) for top in replaced):
            faults.append(f"{'deleted' if now is None else 'changed'}: {name}")
    left = [name for name in os.listdir(sandbox.top / "tmp") if not name.startswith("torchinductor")]
    return faults + [f"left over among temporary files: {name}" for name in left]


# ------------------------------------------------------------------------------------------------------- command lines

INTEGERS = ["-1", "0", "1", "2", "3", "7", "2147483648", "9223372036854775807", "9223372036854775808",
            "-9223372036854775809", "1e3", "nan", "", "0x10", "1_0", "٣", " 4 "]  # fmt: skip
NUMBERS = ["0", "0.5", "1", "-1", "nan", "inf", "-inf", "1e-300", "1e300", "-0.0", "abc", ""]
STRINGS = ["", "x", "é", "A" * 5000, "../..", "-", "--", "%s", "{}", "\udcff", "🜁", "None", "a\nb", "\x1b[31m", "*", "~",
           "=", "a=b", "/"]  # fmt: skip
TEXTS = ["text.txt", "text.txt.gz", "text.txt.bz2", "text.txt.xz", "text.txt.zst", "text.xml", "text.conllu", "corpus",
         "english.txt"]  # fmt: skip
LEXICONS = ["lexicon", "lexicon2", "vectors", "lexicon.npz", "lexicon.txt", "lexicon.txt.gz", "lexicon.bin", "vectors.npz",
            "vectors.txt", "vectors.vec", "vectors.bin", "mine", "default"]  # fmt: skip
OTHERS = ["words.txt", "pairs.tsv", "phrases.tsv", "sentences.txt", "config.toml", "notes.txt", "notes.png", "thesis",
          "one.parsed", "two.parsed"]  # fmt: skip
PLACES = ["missing", ".", "..", "/dev/null", "/proc/self/status", "loop", "pipe", "nothing", "n" * 300, "notes.txt/x", "",
          "/", "-"]  # fmt: skip
OUTPUTS = ["new", "new.npz", "new.txt", "new.vec", "new.bin", "new.png", "new.svg", "new.pkl", "missing/new", "notes.txt",
           "thesis", "old", "old.npz", "old.corpus", "notes.txt/x", "n" * 300, ".", "", "loop", "pipe", "new.training",
           "notes.png", "corpus", "corpus/new", "mine", "nothing", "/", "-", "one.parsed"]  # fmt: skip
VALUES = {
    "--columns": ["form,tag,lemma"], "--encoding": ["auto", "utf-8", "latin-1", "utf-16"], "--lemmatise": ["en"],
    "--device": ["cpu"], "--layers": ["last", "all", "1"], "--encoder": ["missing"], "--pattern": ["subj verb obj"],
    "--set": ["GS2011", "word2vec.epochs=1"], "--only": ["Word2Vec"], "--layer": ["last"], "--engine": ["local"],
    "--model": ["ms-word2dm", "word2dm", "word2vec", "glove", "context2dm", "slots", "bert2dm"], "--preset": ["paper"],
    "--method": ["mult", "phaser", "fuzz", "add"], "--measure": ["similarity", "fidelity"], "--dtype": ["float32", "float16"],
    "--kind": ["auto", "matrices", "vectors"], "--to": ["npz", "text", "word2vec"], "--form": ["window", "pair"],
    "--optimiser": ["sgd", "adam"], "--init": ["unit", "uniform", "paper"], "--select": ["cosine", "dot"],
    "--weights": ["even", "counts"], "--senses": ["wordnet-3.0"], "--unknown-words": ["skip", "lemma"],
    "--format": ["auto", "text", "vertical", "conllu"], "--token": ["form", "lemma"], "--sentences": ["split", "lines"],
    "--address": ["127.0.0.1:1"],
}  # fmt: skip
"""Values that fit, of options whose type does not list them."""
MODEST = {
    "--epochs",
    "--bootstraps",
    "--noise-draws",
    "--seeds",
    "--dim",
    "--senses",
    "--batch-size",
    "--rank",
    "--top",
}
"""Options that mean work: large values are not drawn."""
FIRST = {
    ("train",): ["--dim", "3", "--epochs", "1", "--min-count", "1"],
    ("evaluate",): ["--offline", "--pairs", "pairs.tsv"],
    ("reproduce",): ["--offline", "--data", "nothing"],
    ("explore",): ["--no-browser", "--port", "99999"],
}
"""Options given first, so that a command is quick; a value drawn later replaces them."""
IN_PLACE = ("describe", "senses")
"""Commands that write to the lexicon they are given."""


def pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def all_commands() -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command of the tree with its path, without what only loads from the network."""
    from polysema.cli import polysema

    def leaves(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        for name, command in group.commands.items():
            if isinstance(command, click.Group):
                yield from leaves(command, (*path, name))
            else:
                yield (*path, name), command

    return [item for item in leaves(polysema, ()) if item[0] != ("data", "fetch")]


def draw_commands(rng: np.random.Generator) -> dict[str, Any]:
    path, command = pick(rng, all_commands())
    argv = [*path, *FIRST.get(path, [])]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if parameter.required or rng.random() < 0.5:
                count = 1 if parameter.nargs == 1 else int(rng.integers(1, 4))
                argv += [_argument(rng, parameter.name or "") for _ in range(count)]
        elif parameter.opts[-1] not in ("--help", "--version") and (
            parameter.required or rng.random() < min(0.3, 3 / len(command.params))
        ):
            name = max(parameter.opts, key=len)
            flag = getattr(parameter, "is_flag", False)
            argv += [name, *(() if flag else (_value(rng, name, parameter.type) for _ in range(parameter.nargs)))]
    if rng.random() < 0.02:
        argv.insert(int(rng.integers(len(argv) + 1)), pick(rng, STRINGS))
    return {"argv": argv, "real": bool(rng.random() < REAL)}


def _argument(rng: np.random.Generator, name: str) -> str:
    if rng.random() < 0.08:
        return str(pick(rng, STRINGS))
    if name in ("out", "output"):
        return str(pick(rng, OUTPUTS))
    known = {"corpus": TEXTS, "text": TEXTS, "texts": TEXTS, "lexicon": LEXICONS, "lexicons": LEXICONS, "folder": ["corpus"],
             "parsed": ["one.parsed", "two.parsed"]}  # fmt: skip
    if name in known:
        return str(pick(rng, known[name] if rng.random() < 0.7 else TEXTS + LEXICONS + OTHERS + PLACES))
    a, b, c = (pick(rng, WORDS) for _ in range(3))
    return str(pick(rng, [a, f"({a} ({b} {c}))", f"({a} {b}~)", f"{a} {b} {c}", "((((", f"({a} & {b})"]))


def _value(rng: np.random.Generator, name: str, kind: click.ParamType) -> str:
    hostile = rng.random() < 0.35
    if isinstance(kind, click.types.IntParamType | click.IntRange):
        values = [v for v in INTEGERS if name not in MODEST or not v.isdigit() or int(v) < 8]
        return str(pick(rng, values if hostile else ["1", "2", "3"]))
    if isinstance(kind, click.types.FloatParamType | click.FloatRange):
        return str(pick(rng, NUMBERS if hostile else ["0", "0.1", "0.5", "1"]))
    if name in ("--output", "--report"):
        return str(pick(rng, OUTPUTS if hostile else ["new"]))
    if name in ("--lexicon", "--start", "--vectors") and not hostile:
        return str(pick(rng, LEXICONS))
    if isinstance(kind, click.Path | click.File) or name in (
        "--pairs",
        "--phrases",
        "--infersent",
        "--keep",
        "--config",
    ):
        return str(pick(rng, TEXTS + LEXICONS + OTHERS + PLACES))
    values = list(kind.choices) if isinstance(kind, click.Choice) else VALUES.get(name, STRINGS)
    return str(pick(rng, STRINGS if hostile else values))


def try_commands(sandbox: Sandbox, argv: list[str], real: bool = False) -> list[str]:
    """Run a command line in a copy of all inputs, with a pipe, a link to itself and an empty folder."""
    if sandbox.furnished is None or snapshot(sandbox.place) != sandbox.furnished or os.listdir(sandbox.top / "tmp"):
        place = sandbox.fresh()
        (place / "loop").symlink_to("loop")
        os.mkfifo(place / "pipe")
        (place / "nothing").mkdir()
        sandbox.furnished = snapshot(place)
    before = sandbox.furnished
    outcome = sandbox.run(*argv, real=real and argv[0] != "explore")
    faults = behaviour(outcome)
    if not outcome.ended_for:
        named = outputs_of(argv) if outcome.code == 0 else ()
        own = tuple(name for name in named if name in OWN and ("--force" in argv or argv[0] in IN_PLACE))
        faults += traces(sandbox, before, named, own)
    return faults


def outputs_of(argv: list[str]) -> tuple[str, ...]:
    """The names that a command line asks to be written."""
    named = [value for name, value in pairwise(argv) if name in ("-o", "--output", "--report")]
    if argv[0] in ("convert", *IN_PLACE):
        named += argv[1:]
    elif argv[0] == "train" and not named:
        named += [value.split("/")[-1].split(".")[0] or "lexicon" for value in argv[1:]]
    return tuple(name for name in named if name and name not in (".", "..", "/"))


# ------------------------------------------------------------------------------------------------------- damaged files

_LEXICON = [
    ["info", "{}"], ["senses", "bal", "-l", "{}"], ["neighbours", "bal", "-l", "{}"], ["ambiguity", "-l", "{}"],
    ["convert", "{}", "new.npz"], ["convert", "{}", "new", "--dtype", "float16"], ["compose", "(bal (bel bil))", "-l", "{}"],
    ["evaluate", "{}", "--pairs", "pairs.tsv", "--offline"],
]  # fmt: skip
_WITH_CONTEXTS = [
    ["train", "text.txt", "-o", "new", *TOY, "--start", "{}"], ["disambiguate", "bal", "bel bal bil", "-l", "{}"],
    ["describe", "{}", "corpus"], ["read", "bel bal bil", "-l", "{}"],
]  # fmt: skip
_DEFAULT = [
    ["info", "{}"], ["adapt", "english.txt", "-o", "new", "-l", "{}", "--min-count", "1"], ["convert", "{}", "new"],
    ["disambiguate", "bank", "The bank raised its rate.", "-l", "{}"],
]  # fmt: skip
_CORPUS = [
    ["corpus", "info", "{}"], ["corpus", "head", "{}"], ["train", "{}", "-o", "new", *TOY], ["describe", "lexicon", "{}"],
    ["train", "{}", "-o", "new", "--model", "word2vec", "--dim", "4", "--epochs", "1", "--min-count", "1"],
    ["train", "{}", "-o", "new", "--model", "glove", "--dim", "4", "--min-count", "1", "--epochs", "1"],
    ["train", "{}", "-o", "new", "--model", "context2dm", "--vectors", "vectors", "--senses", "2", "--min-count", "1"],
]  # fmt: skip
_SLOTS = ["-o", "new", "--model", "slots", "--dim", "3", "--min-count", "1"]
_PARSED = [["train", "{}", "two.parsed", *_SLOTS], ["corpus", "merge", "{}", "two.parsed", "-o", "new"]]
_TEXT = [
    ["corpus", "build", "{}", "-o", "new"], ["train", "{}", "-o", "new", *TOY], ["corpus", "build", "{}", "-o", "new", "--raw"],
    ["train", "{}", "-o", "new", "--model", "glove", "--dim", "4", "--min-count", "1", "--epochs", "1"],
]  # fmt: skip
_STOPPED = ["train", "corpus", "-o", "new", "--senses", "2", "--dim", "4", "--epochs", "4", "--min-count", "1",
            "--checkpoint-minutes", "0"]  # fmt: skip
_FILES = ("config.json", "vocabulary.txt", "lexicon.safetensors")

READERS: dict[str, list[list[str]]] = {
    **{f"lexicon/{name}": _LEXICON + _WITH_CONTEXTS for name in _FILES},
    **{f"vectors/{name}": _LEXICON for name in _FILES},
    **{f"default/{name}": _DEFAULT for name in ("placing.safetensors", "config.json")},
    **{f"lexicon{end}": _LEXICON for end in (".npz", ".txt", ".txt.gz", ".bin")},
    **{f"vectors{end}": _LEXICON for end in (".npz", ".txt", ".vec", ".bin")},
    **{f"corpus/{name}": _CORPUS for name in ("config.json", "vocabulary.txt", "counts.npy", "tokens.npy", "sentences.npy")},
    **{f"text{end}": _TEXT for end in (".txt", ".txt.gz", ".txt.bz2", ".txt.xz", ".txt.zst", ".xml", ".conllu")},
    **{f"one.parsed/{name}": _PARSED for name in ("config.json", "words.txt", "counts.safetensors")},
    "new.training/**/*.safetensors": [_STOPPED],
    "new.training/.polysema": [_STOPPED],
    "config.toml": [["train", "text.txt", "-o", "new", "--config", "{}"]],
    "words.txt": [
        ["corpus", "build", "text.txt", "-o", "new", "--keep", "{}"], ["train", "text.txt", "-o", "new", *TOY, "--keep", "{}"],
        ["corpus", "info", "corpus", "--words", "{}"],
    ],
    "pairs.tsv": [["evaluate", "lexicon", "--pairs", "{}", "--offline"]],
    "phrases.tsv": [["evaluate", "lexicon", "--phrases", "subj verb obj", "{}", "--offline"]],
    "sentences.txt": [["compose", "-f", "{}", "-l", "lexicon"], ["disambiguate", "bal", "-f", "{}", "-l", "lexicon"]],
}  # fmt: skip
"""Files, and the commands that read them; ``{}`` is the file, or the folder that it is part of."""

Damage = Callable[[bytes, np.random.Generator], bytes]


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if out else 0):
        out[rng.integers(len(out))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    start, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 64))
    return data[:start] + pick(rng, [bytes(size), b"\xff" * size, rng.bytes(size)]) + data[start + size :]


def _insert(data: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + rng.bytes(int(rng.integers(1, 200))) + data[at:]


def _move(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    return data[:a] + data[b:] + data[a:b]


def _lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(lines[i] for i in rng.integers(0, len(lines), len(lines)))


def _numbers(data: bytes, rng: np.random.Generator) -> bytes:
    fields = data.split(b" ")
    for _ in range(3):
        fields[rng.integers(len(fields))] = pick(
            rng, [b"nan", b"inf", b"-1e400", b"1e38", b"", b"0x1p3", b"1,5", b"9" * 400]
        )
    return b" ".join(fields)


BYTES: dict[str, Damage] = {
    "truncated": lambda data, rng: data[: int(rng.integers(len(data) + 1))],
    "bits flipped": _flip,
    "overwritten": _overwrite,
    "inserted": _insert,
    "moved": _move,
    "lines drawn": _lines,
    "numbers replaced": _numbers,
    "twice": lambda data, rng: data + data,
    "empty": lambda data, rng: b"",
    "random": lambda data, rng: rng.bytes(int(rng.integers(1, 5000))),
    "not UTF-8": lambda data, rng: data + b"\xff\xfe\xe9\n",
    "latin-1": lambda data, rng: "château\tforêt\t1\nhôtel\tmaison\t2\n".encode("latin-1") + data,
    "a zero": lambda data, rng: data + b"\0",
    "header of ones": lambda data, rng: b"\xff" * 8 + data[8:],
    "largest header": lambda data, rng: (1 << 62).to_bytes(8, "little") + data[8:],
    "a pickle": lambda data, rng: b"\x80\x04\x95" + data[:50],
    "packed": lambda data, rng: pick(rng, [gzip.compress, bz2.compress, lzma.compress])(data),
    "open brackets": lambda data, rng: b"[" * 100_000,
    "an endless line": lambda data, rng: b"a" + b" 1" * 500_000,
    "a huge word": lambda data, rng: b"a" * 1_500_000 + b" " + data,
}
"""Damage to the bytes of any file."""


def _text(words: list[str], count: int) -> Damage:
    return lambda data, rng: " ".join(words[i] for i in rng.integers(0, len(words), count)).encode()


HARDLY_TEXT: dict[str, Damage] = {
    "only newlines": lambda data, rng: b"\n" * 5000,
    "one word": lambda data, rng: b"bank",
    "two words for ever": _text(["bank", "river"], 6000),
    "one long line": _text(WORDS, 100_000),
    "every word once": lambda data, rng: " ".join(
        f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(600)
    ).encode(),
    "a word repeated": lambda data, rng: "".join((f"{word} " * 30 + "\n") * 3 for word in WORDS).encode(),
    "only digits": _text([str(i) for i in range(1000)], 5000),
    "only punctuation": lambda data, rng: b"... !!! ??? -- ,,, \n" * 500,
    "zeros between": lambda data, rng: data.replace(b" ", b"\0"),
    "combining marks": lambda data, rng: ("e" + "\u0301" * 50 + " ").encode() * 300,
    "surrogates": lambda data, rng: b"\xed\xa0\x80 word " * 500,
    "utf-16": lambda data, rng: data.decode("latin-1").encode("utf-16"),
    "line separators": lambda data, rng: data.replace(b"\n", "\u2028".encode()),
    "right to left, emoji": lambda data, rng: "שלום \u202e abc \u202c 👩‍👩‍👧‍👦 ok\n".encode() * 300,
    "half a vertical file": lambda data, rng: b"<s>\nword\tNN\n" * 400,
}
"""Text that is hardly text, in place of a text file."""
HOSTILE: list[Any] = [None, -1, 0, 1, 2**31, 2**63, 2**70, 1e308, float("nan"), True, "", "x", "../../notes.txt", "/etc/passwd",
                      [], {}, [[]], ["a"], "é" * 1000]  # fmt: skip


def _json(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace or remove one or two values of a JSON file."""
    root = json.loads(data)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(root)
    for _ in range(int(rng.integers(1, 3)) if places else 0):
        holder, key = pick(rng, places)
        if rng.random() < 0.25 and isinstance(holder, dict):
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = pick(rng, HOSTILE)
    return json.dumps(root).encode()


def _tensors(data: bytes, rng: np.random.Generator) -> bytes:
    size = int.from_bytes(data[:8], "little")
    header = _json(data[8 : 8 + size], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def _tensor_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    size = int.from_bytes(data[:8], "little") + 8
    numbers = np.frombuffer(data[size:], "<f4", count=(len(data) - size) // 4).copy()
    numbers[rng.integers(0, len(numbers), 3)] = pick(rng, [np.nan, np.inf, -np.inf, 3e38, 0, -1])
    return data[:size] + numbers.tobytes() + data[size + numbers.nbytes :]


def _npz(data: bytes, rng: np.random.Generator) -> bytes:
    """One array of another type, shape or size, or left out."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    name = pick(rng, list(arrays))
    array = arrays.pop(name)
    shape = array.shape
    changed = pick(rng, [
        None, np.atleast_1d(array)[:-1], array.reshape(-1), array[None], array.astype(object), np.zeros(0),
        np.zeros(shape, np.complex64), np.zeros(shape, bool), np.full(shape, np.nan), np.full(shape, -1),
        np.zeros(shape, "M8[s]"), np.zeros(shape, "S3"), np.array(3.0), np.zeros(shape, [("a", "f4")]),
    ])  # fmt: skip
    out = io.BytesIO()
    np.savez(out, **arrays, **({} if changed is None else {name: changed}))
    return out.getvalue()


def _npz_sizes(data: bytes, rng: np.random.Generator) -> bytes:
    """Arrays that declare sizes that they do not have."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.infolist():
            body = old.read(item)
            if rng.random() < 0.6:
                start = body.find(b"(")
                size = pick(rng, [b"(-1,", b"(99999999999999,", b"(2147483648,", b"(0,", b"(80, 99999999,"])
                body = body[:start] + size + body[body.find(b",", start) + 1 :]
            new.writestr(item.filename, body)
    return out.getvalue()


def _array(kind: str, values: list[int]) -> Damage:
    """Some numbers of an npy file replaced."""

    def damage(data: bytes, rng: np.random.Generator) -> bytes:
        size = 10 + int.from_bytes(data[8:10], "little")
        numbers = np.frombuffer(data[size:], kind).copy()
        numbers[rng.integers(1, len(numbers), int(rng.integers(1, 4)))] = pick(rng, values)
        return data[:size] + numbers.tobytes()

    return damage


def _toml(data: bytes, rng: np.random.Generator) -> bytes:
    name = pick(
        rng, ["dim", "senses", "epochs", "min_count", "rate", "seed", "held_out", "subsample", "model", "threads", "x"]
    )
    value = pick(
        rng, ["2.5", "true", "'x'", "nan", "inf", "-1", "[]", "{a = 1}", "1979-05-27", "9223372036854775808", "[1, 2]"]
    )
    return f"[train]\n{name} = {value}\n".encode()


SPECIAL: dict[str, dict[str, Damage]] = {
    ".json": {"a value": _json},
    ".safetensors": {"a value of the header": _tensors, "numbers": _tensor_numbers},
    ".npz": {"an array": _npz, "a size": _npz_sizes},
    "tokens.npy": {"ids": _array("<i4", [-1, -1000, 10**7, 2**31 - 1, -(2**31)])},
    "sentences.npy": {"offsets": _array("<i8", [-5, 10**15, 2**62, 1])},
    "counts.npy": {"counts": _array("<i8", [-1, 0, 1, 10**7, 2**62])},
    ".toml": {"a setting": _toml},
    ".txt": HARDLY_TEXT,
}
"""Damage that knows the format, by the end of the name."""
NO_FILES = ("a folder", "a link to itself", "a pipe", "missing")


def special_of(name: str) -> dict[str, Damage]:
    return {key: how for end, table in SPECIAL.items() if name.endswith(end) for key, how in table.items()}


def draw_damage(rng: np.random.Generator) -> dict[str, Any]:
    name = pick(rng, list(READERS))
    special = list(special_of(name))
    how = pick(rng, special if special and rng.random() < 0.5 else list(BYTES))
    how = pick(rng, NO_FILES) if rng.random() < 0.06 else how
    seed, command = int(rng.integers(2**31)), int(rng.integers(len(READERS[name])))
    return {"file": name, "damage": how, "seed": seed, "command": command}


def try_damage(sandbox: Sandbox, file: str, damage: str, seed: int, command: int) -> list[str]:
    """Damage a file, then run a command that reads it."""
    top = file.split("/")[0]
    argv = [part.replace("{}", top) for part in READERS[file][command]]
    resumes = top == "new.training"
    if resumes:
        _stop_training(sandbox)
    names = ("lexicon", "text.txt", "corpus", "vectors", "pairs.tsv", "two.parsed", "english.txt")
    place = sandbox.fresh(top, *(name for name in names if name != top))
    path = next(place.glob(file), None)
    if path is None:
        return []  # this input cannot be made here
    do_damage(path, damage, np.random.default_rng(seed))
    before = snapshot(place)
    outcome = sandbox.run(*argv)
    faults = behaviour(outcome)
    if not outcome.ended_for:
        done = outcome.code == 0
        described = argv[1:2] if argv[0] == "describe" else []
        faults += traces(
            sandbox,
            before,
            ("new", "new.npz", *described) if done else (),
            (*described, *([top] * resumes)) if done else (),
        )
    damaged = below(before, top) != below(snapshot(sandbox.inputs), top)
    if damage in ("ids", "offsets") and outcome.code == 0 and argv[0] == "train" and damaged:
        faults.append("it trained on a damaged corpus without a word")
    return faults


def do_damage(path: Path, damage: str, rng: np.random.Generator) -> None:
    data = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage == "a link to itself":
        path.symlink_to(path.name)
    elif damage == "a pipe":
        os.mkfifo(path)
    elif damage != "missing":
        path.write_bytes({**BYTES, **special_of(path.name)}[damage](data, rng))


def _stop_training(sandbox: Sandbox) -> None:
    """Add the state of a training that was killed late to the inputs."""
    kept = sandbox.inputs / "new.training"
    if kept.exists():
        return
    sandbox.fresh("corpus")
    changes = sandbox.run(*_STOPPED).notes["changes"]
    while not list((sandbox.place / "new.training").rglob("*.safetensors")):
        changes -= 1
        sandbox.fresh("corpus")
        sandbox.run(*_STOPPED, moment={"change": changes, "signal": "KILL"})
    with suppress(OSError):  # another worker was quicker
        shutil.copytree(sandbox.place / "new.training", sandbox.top / "stopped")
        (sandbox.top / "stopped").rename(kept)


# ------------------------------------------------------------------------------------------------------------- strikes


@dataclass(frozen=True)
class Job:
    """A long command: its arguments, inputs, output, and what lies under the output's name before."""

    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str = "out"
    old: str = ""


def _train(*options: str, source: str = "corpus", inputs: tuple[str, ...] = (), old: str = "") -> Job:
    return Job(("train", source, "-o", "out", *SMALL, *options), (source, *inputs), old=old)


_CONTEXT2DM = ("-o", "out", "--model", "context2dm", "--senses", "2", "--min-count", "1", "--checkpoint-minutes", "0")
JOBS: dict[str, Job] = {
    "ms-word2dm": _train("--senses", "2", "--held-out", "0.1"),
    "ms-word2dm from text": _train("--senses", "2", source="text.txt.gz"),
    "ms-word2dm by adam": _train("--senses", "2", "--optimiser", "adam", "--form", "pair", "--held-out", "0.2"),
    "ms-word2dm over an old one": _train("--senses", "2", "--force", old="old"),
    "ms-word2dm from another": _train("--senses", "2", "--start", "lexicon", inputs=("lexicon",)),
    "word2dm": _train("--model", "word2dm", "--held-out", "0.1"),
    "word2vec": _train("--model", "word2vec", "--held-out", "0.1"),
    "glove": Job(
        ("train", "corpus", "-o", "out", "--model", "glove", "--dim", "4", "--epochs", "3", "--min-count", "1"), ("corpus",)
    ),
    "context2dm": Job(("train", "corpus", *_CONTEXT2DM, "--dim", "4", "--threads", "1"), ("corpus",)),
    "context2dm on vectors": Job(
        ("train", "text.txt", *_CONTEXT2DM, "--vectors", "vectors", "--threads", "1"), ("text.txt", "vectors")
    ),
    "slots": Job(("train", "one.parsed", "two.parsed", "-o", "out", *_SLOTS[2:]), ("one.parsed", "two.parsed")),
    "corpus parse": Job(("corpus", "parse", "english.txt", "-o", "out", "--workers", "1"), ("english.txt",)),
    "corpus merge": Job(("corpus", "merge", "one.parsed", "two.parsed", "-o", "out"), ("one.parsed", "two.parsed")),
    "corpus build": Job(("corpus", "build", "text.txt.xz", "-o", "out", "--workers", "2"), ("text.txt.xz",)),
    "corpus build over an old one": Job(
        ("corpus", "build", "text.txt", "-o", "out", "--force"), ("text.txt",), old="old.corpus"
    ),
    "convert": Job(("convert", "lexicon.txt", "out"), ("lexicon.txt",)),
    "convert over a folder": Job(("convert", "lexicon", "out", "--force"), ("lexicon",), old="old"),
    "convert over a file": Job(("convert", "lexicon", "out.npz", "--force"), ("lexicon",), "out.npz", old="old.npz"),
    "convert to text": Job(("convert", "lexicon", "out.txt"), ("lexicon",), "out.txt"),
    "describe": Job(("describe", "out", "corpus"), ("corpus",), old="lexicon"),
    "adapt": Job(("adapt", "english.txt", "-o", "out", "--min-count", "1"), ("english.txt",)),
    "evaluate --report": Job(
        ("evaluate", "lexicon", "--pairs", "pairs.tsv", "--offline", "--bootstraps", "10", "--noise-draws", "2", "--report", "out"),
        ("lexicon", "pairs.tsv"),
    ),
    "draw": Job(("draw", "matrix", "bal", "-l", "lexicon", "-o", "out.png"), ("lexicon",), "out.png"),
}  # fmt: skip


@dataclass(frozen=True)
class Undisturbed:
    """What a job makes when nothing strikes it, how many changes of files it makes, how long it takes."""

    result: Snapshot
    changes: int
    seconds: float


_undisturbed: dict[str, Undisturbed | None] = {}


def undisturbed(sandbox: Sandbox, name: str) -> Undisturbed | None:
    """The undisturbed run of a job; None where an extra that it needs is not installed."""
    if name not in _undisturbed:
        prepare(sandbox, JOBS[name])
        done = sandbox.run(*JOBS[name].argv)
        if done.code == 2 and "pip install" in done.err:
            _undisturbed[name] = None
        elif done.code != 0:
            raise RuntimeError(f"{name} does not run undisturbed: {done.err or done.ended_for}")
        else:
            result = snapshot(sandbox.place, timeless=True)
            _undisturbed[name] = Undisturbed(result, done.notes["changes"], done.seconds)
    return _undisturbed[name]


def prepare(sandbox: Sandbox, job: Job, place: Path | None = None) -> None:
    sandbox.fresh(*job.inputs, place=place)
    if job.old:
        sandbox.put(job.old, job.output)


def draw_strikes(rng: np.random.Generator) -> dict[str, Any]:
    real = bool(rng.random() < REAL)
    at = "seconds" if real or rng.random() < 0.4 else "change"
    moment = {"at": at, "share": round(float(rng.random()), 4), "signal": pick(rng, ["KILL", "INT", "TERM"])}
    return {"job": pick(rng, list(JOBS)), "moment": moment, "real": real}


def try_strikes(sandbox: Sandbox, job: str, moment: dict[str, Any], real: bool = False) -> list[str]:
    """Strike a command, look at what is left, run it again, compare with an undisturbed run."""
    what, known = JOBS[job], undisturbed(sandbox, job)
    if known is None:
        return []
    if moment["at"] == "change":
        when = {"change": 1 + int(moment["share"] * known.changes)}
    else:
        when = {"seconds": moment["share"] * (3 if real else known.seconds)}
    prepare(sandbox, what)
    before, old = snapshot(sandbox.place), below(snapshot(sandbox.place, timeless=True), what.output)
    struck = sandbox.run(*what.argv, moment={**when, "signal": moment["signal"]}, real=real)
    after = snapshot(sandbox.place)
    if after == before and "seconds" in when and "/polysema/" not in struck.err and struck.code in (-15, -2, 1):
        return []  # before polysema's own handlers
    faults = behaviour(struck, (0, -9) if moment["signal"] == "KILL" else (0, 130))
    for name, digest in before.items():
        if after.get(name) != digest and name.split("/")[0] != what.output:
            faults.append(f"{'changed' if name in after else 'deleted'}: {name}")
    left = below(snapshot(sandbox.place, timeless=True), what.output)
    if old and left not in (old, below(known.result, what.output)):
        faults.append(f"{what.output} is {'neither the old nor the new one' if left else 'gone'} after the signal")
    return faults or again(sandbox, what, known.result)


def again(sandbox: Sandbox, job: Job, expected: Snapshot) -> list[str]:
    """Run the same command to its end; the files must be those of an undisturbed run."""
    outcome = sandbox.run(*job.argv)
    if outcome.code == 2 and "--force" not in job.argv:  # the struck command had finished
        if not (wrong := differences(expected, snapshot(sandbox.place, timeless=True))):
            return []
        if "exist" not in outcome.err:
            return [f"run again: {outcome.err.strip()[-300:]}", *wrong]
        if differences(below(expected, job.output), below(snapshot(sandbox.place, timeless=True), job.output)):
            return [f"a part of {job.output} was left: {outcome.err.strip()}"]
        outcome = sandbox.run(*job.argv, "--force")
    faults = [f"run again: {fault}: {outcome.err.strip()[-300:]}" for fault in behaviour(outcome, (0,))]
    return faults or differences(expected, snapshot(sandbox.place, timeless=True))


# --------------------------------------------------------------------------------------------------------------- disks


def draw_disks(rng: np.random.Generator) -> dict[str, Any]:
    how = pick(rng, ["full", "full", "full", "small files", "read-only", "race"])
    return {"how": how, "job": pick(rng, list(JOBS)), "share": round(float(rng.random()), 4)}


def try_disks(sandbox: Sandbox, how: str, job: str, share: float) -> list[str]:
    """Run a command where it cannot write, or twice at once; then with room, to the end."""
    what, known = JOBS[job], undisturbed(sandbox, job)
    if known is None:
        return []
    if how == "race":
        return _race(sandbox, what, known, share)
    if how == "small files" or os.geteuid() != 0:
        prepare(sandbox, what)
        faults = _refused(sandbox, what, largest_file=1000 + int(share**3 * 20_000))
        return faults or again(sandbox, what, known.result)
    with small_disk(sandbox) as disk:
        prepare(sandbox, what, disk / "here")
        if how == "full":
            free = shutil.disk_usage(disk).free
            needed = 2 * sum(path.stat().st_size for path in (disk / "here").rglob("*") if path.is_file()) + 100_000
            room = int(share * min(needed, free)) if share > 0.2 else int(share * 40_000)
            (disk / "ballast").write_bytes(bytes(max(0, free - room)))
            faults = _refused(sandbox, what)
            (disk / "ballast").unlink()
        else:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            faults = _refused(sandbox, what)
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        return faults or again(sandbox, what, known.result)


@contextmanager
def small_disk(sandbox: Sandbox) -> Iterator[Path]:
    place = sandbox.top / "disk"
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        sandbox.place = sandbox.top / "here"
        subprocess.run(["umount", "-l", place], check=True)


def _refused(sandbox: Sandbox, job: Job, **request: Any) -> list[str]:
    """Faults of a command on a bad disk: one line that names a file; inputs and old output as they were."""
    before = snapshot(sandbox.place)
    outcome = sandbox.run(*job.argv, **request)
    faults = behaviour(outcome)
    after = snapshot(sandbox.place)
    done = outcome.code == 0
    if not done and not any(name in outcome.err for name in (job.output, job.output.split(".")[0])):
        faults.append(f"the error does not name the file: {outcome.err.strip()[-200:]}")
    for name, digest in before.items():
        if after.get(name) != digest and not (done and name.split("/")[0] == job.output):
            faults.append(f"{'changed' if name in after else 'deleted'}: {name}")
    if not done:
        new = {name.split("/")[0] for name in after.keys() - before.keys()}
        faults += [f"left over: {name}" for name in sorted(new) if name != f"{job.output}.training"]
    return faults


def _race(sandbox: Sandbox, job: Job, known: Undisturbed, share: float) -> list[str]:
    """The same command twice at once: one may be refused, the result is that of one."""
    prepare(sandbox, job)
    first = sandbox.start(*job.argv)
    time.sleep(share * known.seconds)
    both = [first, sandbox.start(*job.argv)]
    running = list(both)
    while running := [child for child in running if not child.poll()]:
        time.sleep(0.004)
    outcomes = [child.outcome() for child in both]
    faults = [fault for outcome in outcomes for fault in behaviour(outcome)]
    if not any(outcome.code == 0 for outcome in outcomes):
        faults.append("neither of two came to its end")
    faults += [f"unclear: {o.err.strip()[-200:]}" for o in outcomes if o.code == 2 and "No such file" in o.err]
    return faults + differences(known.result, snapshot(sandbox.place, timeless=True))


# ---------------------------------------------------------------------------------------------------------- the workers

DRAW = {"commands": draw_commands, "damage": draw_damage, "strikes": draw_strikes, "disks": draw_disks}
TRY = {"commands": try_commands, "damage": try_damage, "strikes": try_strikes, "disks": try_disks}
_sandbox: Sandbox


def begin(inputs: Path, top: Path) -> None:
    """Load what commands load and compile kernels, so that each fork finds them ready."""
    global _sandbox
    os.environ["PYTHONPATH"] = str(ROOT)
    _sandbox = Sandbox(inputs, top / f"worker-{os.getpid()}")
    devnull = os.open(os.devnull, os.O_WRONLY)
    shown = os.dup(1)
    os.dup2(devnull, 1)
    place = _sandbox.fresh()
    lines: list[tuple[str, ...]] = [("info", "lexicon"), ("corpus", "info", "corpus")]
    models = (("--senses", "2"), ("--senses", "2", "--form", "pair", "--optimiser", "adam"), ("--model", "word2dm"),
              ("--model", "word2vec"))  # fmt: skip
    small = ("--dim", "4", "--epochs", "1", "--min-count", "1", "--threads", "1", "--held-out", "0.1")
    lines += [("train", "corpus", "-o", f"warm{i}", *small, *model) for i, model in enumerate(models)]
    lines += [JOBS["glove"].argv, ("compose", "The bank runs the hotel.", "-l", "lexicon"), ("info", "vectors.vec")]
    for argv in lines:
        with suppress(RuntimeError):
            in_folder(place, argv)
    for name in ("matplotlib.figure", "matplotlib.backends.backend_agg", "sklearn.cluster", "joblib", "threadpoolctl"):
        with suppress(ImportError):
            __import__(name)
    os.dup2(shown, 1)
    gc.collect()
    gc.freeze()


def attempt(kind: str, seed: int, number: int) -> tuple[str, dict[str, Any], list[str], float]:
    """One try, always the same for a seed and a number: its kind, its table, its faults, how long it took."""
    started = time.monotonic()
    table = DRAW[kind](np.random.default_rng([seed, KINDS.index(kind), number]))
    return kind, table, repeat(kind, table), time.monotonic() - started


def repeat(kind: str, table: dict[str, Any]) -> list[str]:
    try:
        return list(TRY[kind](_sandbox, **table))  # type: ignore[operator]
    except Exception:
        return [f"the campaign itself: {traceback.format_exc()}"]


def main() -> int:
    """Run the tries that are asked for; print each find as a command that repeats it, and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in {"--commands": 300, "--damage": 150, "--strikes": 30, "--disks": 10}.items():
        parser.add_argument(name, type=int, default=count, metavar="N", help=f"how many tries; {count} by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first try of each kind")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", metavar="JSON", help="repeat one find")
    options = parser.parse_args()
    started = time.monotonic()
    quick = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=quick) as name:
        top = Path(name)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as pool:
            pool.submit(make_inputs, top / "inputs").result()
        with ProcessPoolExecutor(options.workers, context, begin, (top / "inputs", top)) as pool:
            if options.replay:
                table = json.loads(options.replay)
                faults = pool.submit(repeat, table.pop("kind"), table).result()
                print("\n".join(faults) or "no fault")
                return bool(faults)
            numbers = {kind: range(options.first, options.first + getattr(options, kind)) for kind in reversed(KINDS)}
            futures = [pool.submit(attempt, kind, options.seed, n) for kind in numbers for n in numbers[kind]]
            tries, faulty, seconds = Counter[str](), Counter[str](), Counter[str]()
            for future in as_completed(futures):
                kind, table, faults, taken = future.result()
                tries[kind] += 1
                seconds[kind] += taken
                if faults:
                    faulty[kind] += 1
                    line = json.dumps({"kind": kind, **table}).replace("'", "'\\''")
                    shown = "".join(f"\n  {fault}" for fault in faults[:4])
                    print(f"{kind}:{shown}\n  python tools/campaign.py --replay '{line}'", flush=True)
    print(f"\nseed {options.seed}, {options.workers} workers, {(time.monotonic() - started) / 60:.1f} minutes\n")
    print("| kind | tries | with a fault | seconds a try |\n|---|---|---|---|")
    for kind in KINDS:
        print(f"| {kind} | {tries[kind]} | {faulty[kind]} | {seconds[kind] / max(1, tries[kind]):.2f} |")
    return bool(sum(faulty.values()))


if __name__ == "__main__":
    sys.exit(main())
