"""A hostile campaign against the command line: random command lines, damaged files, signals and bad disks (Linux only).

    python tools/campaign.py --seed 7 --workers 2 --minutes 30
    python tools/campaign.py --again /tmp/campaign-7.jsonl

There are four kinds of tries. Each is a JSON object drawn from the seed and a number, so that it can be run again.

``commands``  a random command line, made from click's table of commands and options, with good and bad values
``damage``    a damaged file of some format, and commands that read it
``strikes``   SIGINT, SIGTERM or SIGKILL at a random moment of a command that writes, then the same command again
``disks``     a full disk, a read-only disk, or a limit on the size of files

A fault is an exit code other than 0 or 2 (130 after SIGINT and SIGTERM), a traceback, an error that is not one line, a
command that hangs or takes more than 1.5 GiB of memory, a write outside the working folder, a network connection, a
foreign file changed or deleted, a file or process left over, and an output that differs from an undisturbed run.

Each worker imports polysema once and forks a child for each command. One command line in thirty starts a new
interpreter. Full and read-only disks are mounted as tmpfs, which needs root; otherwise the size of files is limited.
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
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stdout, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

COUNTS = {"commands": 3000, "damage": 1500, "strikes": 150, "disks": 60}
KINDS = tuple(COUNTS)
MEMORY = 3 << 29
"""Bytes of memory that a command may add to what its process had when it was forked."""
SECONDS = 60
"""How long a command may take on an idle machine; more when the machine is busy."""

Table = dict[str, Any]
Random = np.random.Generator


def pick(rng: Random, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]
TINY = "--dim 4 --epochs 1 --min-count 1"
FIXTURES = f"""
corpus build text.txt -o corpus
corpus build other.txt -o old.corpus
train corpus -o lexicon {TINY} --senses 2
train corpus -o described {TINY} --senses 2
describe described corpus
train corpus -o old {TINY} --senses 2 --seed 3
train corpus -o vectors {TINY} --model word2vec
convert lexicon lexicon.npz
convert lexicon lexicon.txt
convert lexicon lexicon.bin
convert vectors vectors.npz
convert vectors vectors.vec
convert old old.npz
corpus parse english.txt -o one.parsed --workers 1
corpus parse more.txt -o two.parsed --workers 1
tag english.txt -o one.tagged --workers 1
tag more.txt -o two.tagged --workers 1
"""
"""The commands that make the inputs of the tries, a line each."""
OWN = ["old", "old.npz", "old.corpus", "lexicon", "described", "vectors", "corpus", "one.parsed", "two.parsed",
       "one.tagged", "two.tagged", "default"]  # fmt: skip
"""What polysema made, and may replace when it is told to."""
STOPPED = "train corpus -o new --senses 2 --dim 4 --epochs 4 --min-count 1 --threads 2 --set checkpoint_minutes=0"
"""A training that was killed; its state is ``new.training``."""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def sentences(count: int = 120, seed: int = 0) -> list[list[str]]:
    """Sentences of random words."""
    rng = np.random.default_rng(seed)
    return [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(3, 12))] for _ in range(count)]


def make_inputs(folder: Path, fixtures: str = FIXTURES) -> None:
    """Write a small input of every kind that polysema reads, and some files that are not polysema's."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(2)
    plain = "".join(" ".join(words).capitalize() + ".\n" for words in sentences()).encode()
    english = "The family runs a small hotel.\nThe girl ran a long race and won it.\n"
    tagged = [word if word[0] == "<" else f"{word}\tNN\t{word}" for s in sentences(20) for word in ("<s>", *s, "</s>")]
    some = [pick(rng, WORDS) for _ in range(120)]
    files: dict[str, bytes | str] = {
        "text.txt": plain,
        "other.txt": "".join(" ".join(words) + ".\n" for words in sentences(seed=1)),
        "text.txt.gz": gzip.compress(plain, mtime=0),
        "text.txt.bz2": bz2.compress(plain),
        "text.txt.xz": lzma.compress(plain),
        "text.xml": "\n".join(tagged) + "\n",
        "english.txt": english * 6,
        "more.txt": english * 3 + "The old man drives a red car.\n" * 4,
        "long.txt": "".join(f"The bank ran {number}.\n" for number in range(1100)),  # two blocks of `tag`
        "words.txt": "\n".join(WORDS[:20]) + "\n",
        "pairs.tsv": "".join(f"{some[i]}\t{some[i + 1]}\t{rng.random():.3f}\n" for i in range(12)),
        "config.toml": "[train]\ndim = 4\nsenses = 2\nepochs = 1\nmin_count = 1\n",
        "notes.txt": "Notes that polysema did not write.\n",
        "notes.png": b"\x89PNG a picture that polysema did not draw",
        "thesis/thesis.tex": "Chapter one.\n",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    run_here(folder, *lines(fixtures))
    shutil.copytree(ROOT / "polysema" / "models" / "default", folder / "default")
    shutil.copytree(folder / "lexicon", folder / "mine")
    (folder / "mine" / "thesis.tex").write_text("A file of somebody else in a lexicon.\n")


def stop_training(folder: Path) -> None:
    """Add the state of a training that was killed to the inputs."""
    sandbox = Sandbox(folder, folder.parent / "stopping")
    sandbox.fresh("corpus")
    changes = sandbox.run(*STOPPED.split()).notes["changes"]
    while not list(sandbox.place.glob("new.training/**/*.safetensors")):
        sandbox.fresh("corpus")
        changes -= 1
        sandbox.run(*STOPPED.split(), strike={"change": changes, "signal": "KILL"})
    shutil.copytree(sandbox.place / "new.training", folder / "new.training")


def run_here(folder: Path, *commands: str) -> None:
    """Run command lines in this process; each must succeed."""
    from polysema.cli import main

    back = Path.cwd()
    os.chdir(folder)
    try:
        for command in commands:
            if main([*shlex.split(command), "--quiet"]) != 0:
                raise RuntimeError(f"a fixture cannot be made: polysema {command}")
    finally:
        os.chdir(back)


Snapshot = dict[str, str]
TIMES = re.compile(rb'"(seconds|modified|changed|path|date|created|time)": *("[^"]*"|[^,}\]]*)')
"""Values in JSON files that two runs do not share."""


def snapshot(folder: Path, top: str = "") -> Snapshot:
    """A digest of every file below a folder, or of those whose path begins with ``top``, by its path."""
    found: Snapshot = {}
    for place, folders, files in os.walk(folder):
        for name in files + folders:
            path = os.path.join(place, name)
            key = os.path.relpath(path, folder)
            if os.path.islink(path):
                found[key] = f"link to {os.readlink(path)}"
            elif name in files:
                found[key] = _digest(path) if os.path.isfile(path) else "special file"
            elif not os.listdir(path):
                found[key] = "empty folder"
    return {name: found[name] for name in sorted(found) if not top or name.split("/")[0] == top}


def _digest(path: str) -> str:
    status = os.stat(path)
    return _digest_of(path, status.st_ino, status.st_size, status.st_ctime_ns)


@lru_cache(50_000)
def _digest_of(path: str, *status: int) -> str:
    data = Path(path).read_bytes()
    if path.endswith(".json"):
        data = TIMES.sub(b"", data)
    return hashlib.sha256(data).hexdigest()[:16]


def differences(expected: Snapshot, found: Snapshot) -> list[str]:
    """How files differ from those of an undisturbed run; pictures and pages may contain a duration."""
    differing = [name for name in expected if name in found and found[name] != expected[name]]
    return [
        *(f"left over: {name}" for name in sorted(found.keys() - expected.keys())),
        *(f"missing: {name}" for name in sorted(expected.keys() - found.keys())),
        *(f"other bytes: {name}" for name in differing if not name.endswith((".png", ".html", ".md", ".tex"))),
    ]


class Outcome(NamedTuple):
    """How a command ended, what it printed, and what was noted while it ran."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float
    killed_for: str
    notes: Table

    @property
    def done(self) -> bool:
        return self.code == 0 and not self.killed_for


class Watcher:
    """An audit hook in a forked command.

    It refuses network connections, notes writes outside the allowed folders, counts changes of files, and sends the
    signal of a strike at the change with a given number.
    """

    CHANGES = "os.mkdir os.rename os.remove os.rmdir os.link os.symlink os.truncate shutil.rmtree"
    NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.sendto")

    def __init__(self, strike: Table, allowed: tuple[str, ...], notes: Path) -> None:
        self.strike, self.allowed, self.notes = strike, allowed, notes
        self.changes, self.outside, self.network = 0, set[str](), set[str]()
        self.inside = threading.local()
        sys.addaudithook(self._audit)
        atexit.register(self._write)

    def _write(self) -> None:
        self.inside.hook = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        found = {"changes": self.changes, "outside": sorted(self.outside), "network": sorted(self.network)}
        self.notes.write_text(json.dumps(found))

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if getattr(self.inside, "hook", False):
            return
        if event == "socket.bind" and isinstance(arguments[1], tuple):
            raise OSError(98, "Address already in use")  # so that no server starts
        if event in self.NETWORK and not isinstance(arguments[1], str | bytes):  # a path is a local socket
            self.network.add(f"{event} {arguments[1:]}"[:200])
            raise OSError(101, "Network is unreachable")
        flags = arguments[2] if event == "open" else 0
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and isinstance(arguments[0], str | bytes):
            self.inside.hook = True
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if "/__pycache__" not in path and not path.startswith((*self.allowed, "/dev/", "/proc/")):
                self.outside.add(path)
            self.inside.hook = False
        if writes or event in self.CHANGES.split():
            self.changes += 1
            if self.changes == self.strike.get("change"):
                os.kill(os.getpid(), getattr(signal, f"SIG{self.strike['signal']}"))


class Sandbox:
    """A working folder with copies of the inputs, in which commands run."""

    def __init__(self, inputs: Path, top: Path) -> None:
        self.inputs, self.top, self.place = inputs, top, top / "here"
        top.mkdir(parents=True, exist_ok=True)

    def fresh(self, *names: str, place: Path | None = None) -> Path:
        """Empty the working folder and copy inputs to it; names of no input are ignored."""
        self.place = place or self.top / "here"
        for folder in (self.place, self.top / "tmp", self.top / "home"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name in {name for name in names if name and (self.inputs / name).exists()}:
            self.put(name, name)
        return self.place

    def put(self, source: str, name: str) -> None:
        """Copy an input under a name; large files are hard links to it."""
        copy = shutil.copytree if (self.inputs / source).is_dir() else _copy
        copy(self.inputs / source, self.place / name, **({"copy_function": _copy} if copy is shutil.copytree else {}))

    def run(self, *argv: str, strike: Table | None = None, shell: str = "", file_size: int | None = None) -> Outcome:
        """Run a command to its end, in a fork or, with a line of bash in which ``"$@"`` is the command, anew.

        A strike is a signal, and when to send it: at a ``change`` of a file or after some ``seconds``. No file may
        become larger than ``file_size``.
        """
        files = self.top / f"child{time.monotonic_ns()}"
        home = str(self.top / "home")
        environment = {"TMPDIR": str(self.top / "tmp"), "HOME": home, "XDG_CACHE_HOME": home, "HF_HUB_OFFLINE": "1"}
        environment |= {"COLUMNS": "100", "PYTHONPATH": str(ROOT), "RAY_ADDRESS": "127.0.0.1:1"}
        if shell:
            line = ["bash", "-o", "pipefail", "-c", shell, "bash", sys.executable, "-m", "polysema", *argv]
            with open(f"{files}.out", "wb") as out, open(f"{files}.err", "wb") as err:
                streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
                variables = os.environ | environment
                pid = subprocess.Popen(line, cwd=self.place, env=variables, start_new_session=True, **streams).pid
        else:
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                self._become(argv, files, environment, strike or {}, file_size)
        code, seconds, killed_for = watch(pid, dict(strike or {}))
        texts = {}
        for name in ("out", "err", "notes"):
            path = Path(f"{files}.{name}")
            texts[name] = path.read_bytes()[-20_000:].decode(errors="replace") if path.exists() else ""
            path.unlink(missing_ok=True)
        notes = json.loads(texts["notes"]) if texts["notes"].endswith("}") else {}
        notes["processes"] = [] if killed_for or (strike or {}).get("signal") == "KILL" else left_processes(pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        return Outcome(argv, code, texts["out"], texts["err"], seconds, killed_for, notes)

    def _become(self, argv: tuple[str, ...], files: Path, environment: Table, strike: Table, size: int | None) -> None:
        """In the fork: run the command as the installed entry point does, and exit."""
        code: Any = 1
        try:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the worker
            os.setsid()
            os.chdir(self.place)
            for name, number in (("out", 1), ("err", 2)):
                os.dup2(os.open(f"{files}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ.update(environment)
            if size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            tempfile.tempdir = None
            atexit._clear()  # what the parent process registered is the parent's to do
            sys.argv = ["polysema", *argv]
            for number, name in enumerate(("stdin", "stdout", "stderr")):  # a test runner has replaced them
                setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
            allowed = tuple(os.path.realpath(place) for place in (self.place, self.top, "/dev/shm"))
            Watcher(strike, allowed, Path(f"{files}.notes"))
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
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _copy(source: Any, target: Any) -> None:
    if os.path.getsize(source) > 1 << 18:
        with suppress(OSError):
            return os.link(source, target)
    shutil.copy2(source, target)


def watch(pid: int, strike: Table) -> tuple[int, float, str]:
    """Wait for a process: its exit code, its seconds, and why it was killed (too much time or memory).

    A strike at some ``seconds`` is sent from here.
    """
    started, killed_for, allowed = time.monotonic(), "", _memory(pid) + MEMORY
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        seconds = time.monotonic() - started
        if ended:
            return os.waitstatus_to_exitcode(status), seconds, killed_for
        if seconds >= strike.get("seconds", SECONDS * 1000):
            del strike["seconds"]
            os.kill(pid, getattr(signal, f"SIG{strike['signal']}"))
        late = seconds > SECONDS * max(1, os.getloadavg()[0] / 2)
        if not killed_for and (late or _memory(pid) > allowed):
            killed_for = "time" if late else "memory"
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.004)


def _memory(pid: int) -> int:
    """Bytes of memory of a process that are not shared with files."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * resource.getpagesize()
    return 0


def left_processes(session: int) -> list[str]:
    """Processes of a command's session that are still there half a second after it ended."""
    for _ in range(10):
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                name, _, rest = path.read_text().partition(") ")
                if rest.split()[3] == str(session) and rest[0] != "Z":
                    found.append(name.partition("(")[2])
        if not found:
            break
        time.sleep(0.05)
    return found


FORBIDDEN = re.compile("Traceback|fault of polysema|Exception ignored|Segmentation fault|Warning:")
ONLINE = {"fetch", "evaluate", "reproduce", "explore", "--encoder", "--address"}
"""Words of command lines that may connect to the network."""


def behaviour(outcome: Outcome, codes: tuple[int, ...] = (0, 2)) -> list[str]:
    """Faults in how a command ended, what it printed, and what it touched outside its folder."""
    faults = []
    if outcome.killed_for:
        faults.append("it hung" if outcome.killed_for == "time" else f"it took more than {MEMORY >> 20} MiB")
    elif outcome.code not in codes:
        faults.append(f"exit code {outcome.code}: {_last(outcome.err)}")
    for text in set(FORBIDDEN.findall(outcome.err + outcome.out)):
        faults.append(f"it printed {text!r}: {_last(outcome.err)}")
    shown = lines(outcome.err)
    errors = [line for line in shown if "polysema: error:" in line]
    plain = shown and (not errors or (errors == shown[-1:] and len(errors[0]) < 4000))  # none: a line for each bad item
    if outcome.code == 2 and not outcome.killed_for and not plain and '"error"' not in outcome.out:
        faults.append(f"exit code 2, but the last line is not the only error: {_last(outcome.err)!r}")
    faults += [f"it wrote to {path}" for path in outcome.notes.get("outside", ())]
    faults += [f"it left a process: {name}" for name in outcome.notes.get("processes", ())]
    if outcome.notes.get("network") and not ONLINE & set(outcome.argv):
        faults.append(f"it used the network: {outcome.notes['network'][0]}")
    return faults


def _last(text: str) -> str:
    return " | ".join(line for line in text.strip().splitlines()[-12:] if line.strip())[-900:]


def changes(sandbox: Sandbox, before: Snapshot, new: tuple[str, ...] = (), replaced: tuple[str, ...] = ()) -> list[str]:
    """What a command left, changed or deleted beyond the names it may have made (new) or changed (replaced)."""
    after = snapshot(sandbox.place)
    faults = []
    for name in sorted(before.keys() | after.keys()):
        was, now, path = before.get(name), after.get(name), Path(name)
        if was == now:
            continue
        if was is None and not any(path.is_relative_to(top) for top in (*new, *replaced)):
            faults.append(f"left over: {name}")
        filled = was == "empty folder" and any(Path(top).is_relative_to(path) for top in new)
        if was is not None and not filled and not any(path.is_relative_to(top) for top in replaced):
            faults.append(f"{'deleted' if now is None else 'changed'}: {name}")
    left = [name for name in os.listdir(sandbox.top / "tmp") if not name.startswith("torchinductor")]
    return faults + [f"left over among temporary files: {name}" for name in left]


INTEGERS = ["-1", "0", "7", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e3", "nan",
            "", "0x10", "1_0", "٣", " 4 "]  # fmt: skip
NUMBERS = ["0", "1", "-1", "nan", "inf", "-inf", "1e-300", "1e300", "-0.0", "abc", ""]
STRINGS = ["", "x", "é", "A" * 5000, "../..", "-", "--", "%s", "{}", "\udcff", "🜁", "None", "a\nb", "\x1b[31m", "*", "~", "=",
           "a=b", "/", "(" * 2000, "a " * 3000, "\u202eabc", "=cmd()", "<script>"]  # fmt: skip
PLACES = ["missing", ".", "..", "/dev/null", "/proc/self/status", "loop", "pipe", "nothing", "n" * 300, "notes.txt/x", "", "/",
          "-", "words.txt", "pairs.tsv", "config.toml", "notes.txt", "notes.png", "thesis"]  # fmt: skip
OUTPUTS = ["new", "new.npz", "new.txt", "new.vec", "new.bin", "new.png", "new.svg", "new.pkl", "missing/new", "notes.txt",
           "thesis", "old", "old.npz", "old.corpus", "notes.txt/x", "n" * 300, ".", "", "loop", "pipe", "new.training",
           "notes.png", "corpus", "corpus/new", "mine", "nothing", "/", "-", "one.parsed", "lexicon", "one.tagged",
           "new.csv", "new.jsonl", "new.conllu"]  # fmt: skip
LEXICON_FILES = "lexicon described lexicon.npz lexicon.txt lexicon.bin"
TEXT_FILES = "text.txt text.txt.gz text.txt.bz2 text.txt.xz text.xml"
PHRASES = ["bal", "bel", "bil", "bol", "dun", "(bal (bel bil))", "(bal bel~)", "bal bel bil", "((((", "(bal & bel)", "bal#0",
           "The bank raised its rate."]  # fmt: skip
GOOD = {
    r"out|output|report": ["new", "new.npz", "new.txt", "new.png", "old"],
    r"folder": ["corpus"],
    r"parsed": ["one.parsed", "two.parsed"],
    r"corpus|texts?": f"{TEXT_FILES} corpus english.txt one.parsed one.tagged".split(),
    r"given_": ["one.tagged", "two.tagged", "english.txt", "run", "race"],
    r"lexicons?|path|start|vectors": f"{LEXICON_FILES} vectors vectors.npz vectors.vec mine default".split(),
    r"words|word|queries|query|narrow|broad|phrase|phrases|contexts|pairs|file|keep|config": [
        *PHRASES, "words.txt", "pairs.tsv", "config.toml",
    ],
    r"encoder|infersent|address": ["missing"],
    r"host|allow_host": ["127.0.0.1", "localhost"],
}  # fmt: skip
"""Good values by the name of a parameter; for other parameters they are taken from the help."""
COSTLY = {"epochs", "bootstraps", "seeds", "dim", "senses", "batch_size", "batch", "rank", "top", "replicas", "workers"}
"""Parameters of which a large value is legal and means long work: it is not drawn."""
FIRST = {
    "train": ["--dim", "3", "--epochs", "1", "--min-count", "1"],
    "evaluate": ["--offline", "--pairs", "pairs.tsv"],
    "reproduce": ["--offline", "--data", "nothing"],
    "explore": ["--no-browser", "--port", "99999"],
    "adapt": ["--min-count", "1"],
}
"""Options that keep a command short; a value drawn later replaces them."""
SKIPPED = {"ray", "cuda"}
"""Good values that start a cluster or need another machine."""
SHELLS = ['"$@"', '"$@" >&-', '"$@" <&-', '"$@" >/dev/full', '"$@" | head -c 1']


def all_commands() -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command with its path, without ``data fetch``, which only uses the network."""
    from polysema.cli import polysema

    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name, command in polysema.commands.items():
        below = command.commands if isinstance(command, click.Group) else {}
        found += [((name, own), item) for own, item in below.items()] or [((name,), command)]
    return [item for item in found if item[0] != ("data", "fetch")]


def draw_commands(rng: Random) -> Table:
    path, command = pick(rng, all_commands())
    context = click.Context(command, info_name=path[-1])
    parameters = [each for each in command.get_params(context) if each.name not in ("help", "version", "quiet")]
    argv, outputs = [*path, *FIRST.get(path[0], [])], []
    for parameter in parameters:
        name = str(parameter.name)
        positional = isinstance(parameter, click.Argument)
        often = 0.5 if positional else 0.7 if name in ("output", "path") else min(0.3, 3 / len(parameters))
        if not parameter.required and rng.random() > often:
            continue
        flag = getattr(parameter, "is_flag", False)
        count = 0 if flag else int(rng.integers(1, 4)) if parameter.nargs == -1 else parameter.nargs
        values = [_value(rng, parameter, context) for _ in range(count)]
        argv += values if positional else [max(parameter.opts, key=len), *values]
        if name in ("output", "out", "report") or (path[0] == "describe" and name == "lexicon"):
            outputs += values
    if path == ("train",) and "--output" not in argv:
        outputs += [value.split("/")[-1].split(".")[0] or "lexicon" for value in argv]
    if rng.random() < 0.03:
        argv.insert(int(rng.integers(len(argv) + 1)), pick(rng, STRINGS))
    shell = pick(rng, SHELLS) if rng.random() < 1 / 30 and path[0] != "explore" else None
    return {"argv": argv, "outputs": outputs, "shell": shell}


def _value(rng: Random, parameter: click.Parameter, context: click.Context) -> str:
    name, kind = str(parameter.name), parameter.type
    hostile = rng.random() < 0.3
    if isinstance(kind, click.types.IntParamType):
        values = [value for value in INTEGERS if name not in COSTLY or len(value) < 5]
        return str(pick(rng, values if hostile else ["1", "2", "3"]))
    if isinstance(kind, click.types.FloatParamType):
        return str(pick(rng, NUMBERS if hostile else ["0", "0.1", "0.5", "1"]))
    if hostile:
        return str(pick(rng, OUTPUTS if name in ("output", "out", "report") else STRINGS + PLACES))
    for pattern, values in GOOD.items():
        if re.fullmatch(pattern, name):
            return str(pick(rng, values))
    if isinstance(kind, click.Path):
        return str(pick(rng, PLACES))
    if parameter.metavar == "NAME=VALUE":
        names = re.findall(r"^  ([a-z][a-z_]+)  ", context.command.get_help(context), re.M)
        return f"{pick(rng, names) if names else 'x'}={pick(rng, [*NUMBERS, 'true', '[]', '2', 'adam', 'pair'])}"
    known = set(re.findall(r"[\w.-]*\w", f"{getattr(parameter, 'help', '')} {parameter.default}")) - SKIPPED
    return str(pick(rng, sorted(known) or STRINGS))


def try_commands(sandbox: Sandbox, argv: list[str], outputs: list[str], shell: str | None = None) -> list[str]:
    """Run a command line in a copy of all inputs, with a pipe, a link to itself and an empty folder."""
    place = sandbox.fresh(*(name for name in os.listdir(sandbox.inputs) if name != "new.training"))
    (place / "loop").symlink_to("loop")
    os.mkfifo(place / "pipe")
    (place / "nothing").mkdir()
    before = snapshot(place)
    outcome = sandbox.run(*argv, shell=shell)
    faults = behaviour(outcome)
    if not outcome.killed_for:
        named = tuple(name for name in outputs if name not in ("", ".", "..", "/")) if outcome.done else ()
        replaced = tuple(name for name in named if name in OWN and ("--force" in argv or argv[0] == "describe"))
        faults += changes(sandbox, before, named, replaced)
    return faults


READERS = f"""
{LEXICON_FILES} vectors vectors.npz vectors.vec: info {{}}; neighbours bal -l {{}}; similarity bal bel -l {{}}
{LEXICON_FILES} vectors vectors.npz vectors.vec: convert {{}} new.npz; evaluate {{}} --pairs pairs.tsv --offline
{LEXICON_FILES}: senses bal -l {{}}; ambiguity -l {{}}; compose '(bal (bel bil))' -l {{}}; draw matrix bal -l {{}} -o new.png
lexicon described: train text.txt -o new {TINY} --senses 2 --start {{}}; describe {{}} corpus
lexicon described: disambiguate bal 'bel bal bil' -l {{}}; read 'bel bal bil' -l {{}}
default: read 'The girl ran a race.' -l {{}}; compose 'The family runs a small hotel.' -l {{}}; info {{}}; adapt english.txt -o new -l {{}} --min-count 1; disambiguate bank 'The bank raised its rate.' -l {{}}
corpus: corpus info {{}}; describe lexicon {{}}; train {{}} -o new {TINY} --model word2vec
{TEXT_FILES}: corpus build {{}} -o new; adapt {{}} -o new -l described --min-count 1
corpus {TEXT_FILES}: train {{}} -o new {TINY} --senses 2; train {{}} -o new {TINY} --model glove
one.parsed: train {{}} two.parsed -o new --model slots --dim 3 --min-count 1; corpus merge {{}} two.parsed -o new
default: tag more.txt -o new -l {{}} --workers 1; entail dog animal -l {{}}; frequencies one.tagged run -l {{}}
one.tagged: frequencies {{}}; frequencies {{}} run race --by year; concordance run {{}} --like 'to go fast'
one.tagged: change {{}} two.tagged --least 2; tag {{}} -o new.conllu; concordance run {{}} -o new.csv
long.txt: tag {{}} -o new --no-vectors --workers 1; concordance bank {{}}
new.training: {STOPPED}
config.toml: train text.txt -o new --config {{}}
words.txt: corpus build text.txt -o new --keep {{}}
pairs.tsv: evaluate lexicon --pairs {{}} --offline
"""
"""Inputs and the commands that read each of them; ``{}`` is the input."""


def readers() -> dict[str, list[str]]:
    """The commands that read each input."""
    found: dict[str, list[str]] = {}
    for line in lines(READERS):
        names, _, commands = line.partition(": ")
        for name in names.split():
            found.setdefault(name, []).extend(commands.split("; "))
    return found


Damage = Callable[[bytes, Random], bytes]


def _flipped(data: bytes, rng: Random) -> bytes:
    out = np.frombuffer(data, np.uint8).copy()
    at = rng.integers(0, len(out), int(rng.integers(1, 9))) if data else []
    out[at] ^= 1 << int(rng.integers(8))
    return out.tobytes()


def _between(how: Callable[[bytes, int, int, Random], bytes]) -> Damage:
    """Damage between two random places."""
    return lambda data, rng: how(data, *sorted(map(int, rng.integers(0, len(data) + 1, 2))), rng)


NUMBERS_IN_TEXT = [b"nan", b"inf", b"-1e400", b"1e38", b"", b"1,5", b"9" * 400]
BYTES: dict[str, Damage] = {
    "truncated": lambda data, rng: data[: int(rng.integers(len(data)))] if data else data,
    "bits flipped": _flipped,
    "overwritten": _between(lambda data, a, b, rng: data[:a] + rng.bytes(20) + data[a + 20 :]),
    "zeros": _between(lambda data, a, b, rng: data[:a] + bytes(b - a) + data[b:]),
    "cut": _between(lambda data, a, b, rng: data[:a] + data[b:]),
    "swapped": _between(lambda data, a, b, rng: data[:a] + data[b:] + data[a:b]),
    "numbers replaced": lambda data, rng: data.replace(pick(rng, data.split() or [b"x"]), pick(rng, NUMBERS_IN_TEXT), 3),
    "extended": lambda data, rng: data + pick(rng, [b"\0", b"\xff\xfe\xe9\n", rng.bytes(100)]),
    "emptied": lambda data, rng: b"",
    "large header": lambda data, rng: (1 << int(rng.integers(32, 64))).to_bytes(8, "little") + data[8:],
    "compressed": lambda data, rng: pick(rng, [gzip.compress, bz2.compress, lzma.compress])(data),
    "open brackets": lambda data, rng: pick(rng, [b"[", b'{"a":', b"("]) * 100_000,
    "a long line": lambda data, rng: b"a" + b" 1" * 500_000,
    "only newlines": lambda data, rng: b"\n" * 5000,
    "two words": lambda data, rng: b"bank river river bank " * 1500,
    "zeros between": lambda data, rng: data.replace(b" ", b"\0"),
    "combining marks": lambda data, rng: ("e" + "\u0301" * 50 + " ").encode() * 300,
    "surrogates": lambda data, rng: b"\xed\xa0\x80 word " * 500,
    "right to left, emoji": lambda data, rng: "שלום \u202e abc \u202c 👩‍👩‍👧‍👦 ok\n".encode() * 300,
    "a long word": lambda data, rng: b"a" * 1_500_000 + b" " + data,
}  # fmt: skip
"""Damage to the bytes of any file."""
HOSTILE: list[Any] = [None, -1, 0, 1, 2**31, 2**63, 2**70, 1e308, float("nan"), True, "", "x", "../../notes.txt", "/etc/passwd",
                      [], {}, [[]], ["a"], "é" * 1000]  # fmt: skip


JSON_VALUE = re.compile(rb'"[^"]*"( *:)?|-?\d[\d.e+-]*|true|false|null|\[\]|\{\}')


def _json(data: bytes, rng: Random) -> bytes:
    """Replace a value, or rename a key, of a JSON document or of lines of them."""
    at = pick(rng, list(JSON_VALUE.finditer(data)))
    new = b'"x":' if at[1] else json.dumps(pick(rng, HOSTILE)).encode()
    return data[: at.start()] + new + data[at.end() :]


def _tensor_header(data: bytes, rng: Random) -> bytes:
    size = int.from_bytes(data[:8], "little")
    header = _json(data[8 : 8 + size], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def _tensor_numbers(data: bytes, rng: Random) -> bytes:
    size = int.from_bytes(data[:8], "little") + 8
    numbers = np.frombuffer(data[size:], "<f4", count=(len(data) - size) // 4).copy()
    numbers[rng.integers(0, len(numbers), 3)] = pick(rng, [np.nan, np.inf, -np.inf, 3e38, 0, -1])
    return data[:size] + numbers.tobytes() + data[size + numbers.nbytes :]


def _array(kind: str, values: list[int]) -> Damage:
    """Replace some numbers of an npy file."""

    def damage(data: bytes, rng: Random) -> bytes:
        size = 10 + int.from_bytes(data[8:10], "little")
        numbers = np.frombuffer(data[size:], kind).copy()
        numbers[rng.integers(1, len(numbers), int(rng.integers(1, 4)))] = pick(rng, values)
        return data[:size] + numbers.tobytes()

    return damage


SPECIAL: dict[str, dict[str, Damage]] = {
    ".json": {"a value": _json},
    ".jsonl": {"a value": _json},
    ".safetensors": {"a value of the header": _tensor_header, "numbers": _tensor_numbers},
    "tokens.npy": {"ids": _array("<i4", [-1, -1000, 10**7, 2**31 - 1, -(2**31)])},
    "sentences.npy": {"offsets": _array("<i8", [-5, 10**15, 2**62, 1])},
    "counts.npy": {"counts": _array("<i8", [-1, 10**7, 2**62])},
}
"""Damage that knows the format, by the end of the file's name."""
NO_FILE = ("a folder", "a link to itself", "a pipe", "missing")
EVIDENT = {
    "truncated": (".npz", ".gz", ".bz2", ".xz", ".safetensors", ".npy"),
    "bits flipped": (".npz", ".gz", ".bz2", ".xz"),
    "overwritten": (".npz", ".gz", ".bz2", ".xz"),
    **dict.fromkeys(("ids", "offsets", "counts"), (".npy",)),
}
"""Damage that a reader can always notice: it refuses the file, or answers as if it were whole."""


PRINTING = ("info", "neighbours", "similarity", "senses", "ambiguity", "compose", "disambiguate", "read")


def special(name: str) -> dict[str, Damage]:
    return {key: how for end, table in SPECIAL.items() if name.endswith(end) for key, how in table.items()}


def draw_damage(rng: Random) -> Table:
    top = pick(rng, sorted(readers()))
    inside = (_sandbox.inputs / top).rglob("*")
    file = pick(rng, sorted(str(path.relative_to(_sandbox.inputs)) for path in inside if path.is_file()) or [top])
    how = pick(rng, list(special(file)) if special(file) and rng.random() < 0.5 else list(BYTES))
    how = pick(rng, NO_FILE) if rng.random() < 0.06 else how
    commands = rng.permutation(readers()[top])[:2].tolist()
    return {"file": file, "damage": how, "seed": int(rng.integers(2**31)), "commands": commands}


def try_damage(sandbox: Sandbox, file: str, damage: str, seed: int, commands: list[str]) -> list[str]:
    """Damage a file, then run commands that read it."""
    faults = []
    top = file.split("/")[0]
    for command in (command.replace("{}", top) for command in commands):
        argv = shlex.split(command)
        place = sandbox.fresh(*argv, top)
        do_damage(place / file, damage, np.random.default_rng(seed))
        before = snapshot(place)
        outcome = sandbox.run(*argv)
        found = behaviour(outcome)
        if not outcome.killed_for:
            own = (argv[1],) if argv[0] == "describe" else (top,) if top == "new.training" else ()
            new = ("new", "new.npz", "new.png", "new.conllu", "new.jsonl", "new.csv")
            found += changes(sandbox, before, new, own) if outcome.done else changes(sandbox, before)
        evident = file.endswith(EVIDENT.get(damage, ())) and argv[0] in PRINTING
        if not found and outcome.done and evident and outcome.out != right_answer(sandbox, *argv):
            found.append("the damage was not noticed, and the answer is wrong")
        faults += [f"polysema {command}: {fault}" for fault in found]
    return faults


_right: dict[tuple[str, ...], str] = {}


def right_answer(sandbox: Sandbox, *argv: str) -> str:
    """What a command prints when its input is whole."""
    if argv not in _right:
        sandbox.fresh(*argv)
        _right[argv] = sandbox.run(*argv).out
    return _right[argv]


def do_damage(path: Path, damage: str, rng: Random) -> None:
    data = path.read_bytes()
    path.unlink()  # it may be a hard link to an input
    if damage == "a folder":
        path.mkdir()
    elif damage == "a link to itself":
        path.symlink_to(path.name)
    elif damage == "a pipe":
        os.mkfifo(path)
    elif damage != "missing":
        path.write_bytes({**BYTES, **special(path.name)}[damage](data, rng))


_TRAIN = "-o out --dim 4 --epochs 2 --min-count 1 --threads 2 --set checkpoint_minutes=0"
_CONTEXTS = "-o out --model context2dm --senses 2 --min-count 1 --threads 1"
JOBS = {
    f"train corpus {_TRAIN} --senses 2 --set held_out=0.1": "",
    f"train corpus {_TRAIN} --senses 2 --set optimiser=adam --set form=pair --set held_out=0.1": "",
    f"train text.txt.gz {_TRAIN} --senses 2": "",
    f"train corpus {_TRAIN} --senses 2 --force": "old",
    f"train corpus {_TRAIN} --model word2dm --set held_out=0.1": "",
    f"train corpus {_TRAIN} --model word2vec --set held_out=0.1": "",
    f"train corpus -o out {TINY} --model glove": "",
    f"train corpus {_CONTEXTS}": "",
    "train one.parsed two.parsed -o out --model slots --dim 3 --min-count 1": "",
    "corpus parse english.txt -o out --workers 1": "",
    "corpus merge one.parsed two.parsed -o out": "",
    "corpus build text.txt.xz -o out --workers 2": "",
    "corpus build text.txt -o out --force": "old.corpus",
    "convert lexicon.txt out": "",
    "convert lexicon out --force": "old",
    "convert lexicon out.npz --force": "old.npz",
    "describe out corpus": "lexicon",
    "tag long.txt -o out --workers 1": "",
    "tag english.txt -o out --workers 1 --force": "two.tagged",
    "tag one.tagged -o out.conllu": "",
    "concordance run one.tagged -o out.html": "",
    "adapt english.txt -o out --min-count 1": "",
    "evaluate lexicon --pairs pairs.tsv --offline --bootstraps 10 --report out": "",
    "draw matrix bal -l lexicon -o out.png": "",
}
"""Commands that write, and the input that lies under the output's name before."""


def output_of(job: str) -> str:
    return next(word for word in job.split() if word.startswith("out"))


_undisturbed: dict[str, tuple[Snapshot, int, float]] = {}


def undisturbed(sandbox: Sandbox, job: str) -> tuple[Snapshot, int, float]:
    """What a job makes when nothing disturbs it, how often it changes files, and how long it takes."""
    if job not in _undisturbed:
        prepare(sandbox, job)
        done = sandbox.run(*job.split())
        if not done.done:
            raise RuntimeError(f"{job} does not run undisturbed: {done.err or done.killed_for}")
        _undisturbed[job] = snapshot(sandbox.place), done.notes["changes"], done.seconds
    return _undisturbed[job]


def prepare(sandbox: Sandbox, job: str, place: Path | None = None) -> None:
    """Copy the inputs that a command names, and what it replaces."""
    sandbox.fresh(*job.split(), place=place)
    if JOBS[job]:
        sandbox.put(JOBS[job], output_of(job))


def draw_strikes(rng: Random) -> Table:
    at = pick(rng, ["change", "change", "seconds"])
    strike = {"at": at, "share": round(float(rng.random()), 4), "signal": pick(rng, ["KILL", "INT", "TERM"])}
    return {"job": pick(rng, list(JOBS)), "strike": strike}


def try_strikes(sandbox: Sandbox, job: str, strike: Table) -> list[str]:
    """Send a signal to a command, look at what is left, run it again, and compare with an undisturbed run."""
    result, number, seconds = undisturbed(sandbox, job)
    share = strike["share"]
    when = {"change": 1 + int(share * number)} if strike["at"] == "change" else {"seconds": share * seconds}
    prepare(sandbox, job)
    before = snapshot(sandbox.place)
    struck = sandbox.run(*job.split(), strike={**when, "signal": strike["signal"]})
    early = "seconds" in when and "/polysema/" not in struck.err and struck.code in (-15, -2, 1)
    if early and snapshot(sandbox.place) == before:
        return []  # it was struck before polysema's entry point was called
    faults = behaviour(struck, (0, -9) if strike["signal"] == "KILL" else (0, 130))
    return faults + what_is_left(sandbox, job, before, result) or again(sandbox, job, result)


def what_is_left(sandbox: Sandbox, job: str, before: Snapshot, result: Snapshot) -> list[str]:
    """Faults after a disturbed command: inputs are as they were, the output is the old one or the new one, whole."""
    output = output_of(job)
    faults = [fault for fault in changes(sandbox, before, replaced=(output,)) if "left over" not in fault]
    old, new, left = (
        {name: digest for name, digest in files.items() if name.split("/")[0] == output}
        for files in (before, result, snapshot(sandbox.place))
    )
    if differences(new, left) and left != old:
        faults.append(f"{output} is neither the old nor the new one: {sorted(left)}")
    return faults


def again(sandbox: Sandbox, job: str, expected: Snapshot) -> list[str]:
    """Run the same command to its end; the files must be those of an undisturbed run."""
    outcome = sandbox.run(*job.split())
    finished = outcome.code == 2 and "exist" in outcome.err  # the disturbed command had written everything
    faults = [f"run again: {fault}" for fault in behaviour(outcome, (0, 2) if finished else (0,))]
    return faults or differences(expected, snapshot(sandbox.place))


def draw_disks(rng: Random) -> Table:
    how = pick(rng, ["full", "full", "full", "small files", "read-only"])
    return {"how": how, "job": pick(rng, list(JOBS)), "share": round(float(rng.random()), 4)}


def try_disks(sandbox: Sandbox, how: str, job: str, share: float) -> list[str]:
    """Run a command where it cannot write; then run it again where it can."""
    result = undisturbed(sandbox, job)[0]
    if how == "small files" or os.geteuid() != 0:
        prepare(sandbox, job)
        faults = _refused(sandbox, job, file_size=1000 + int(share**3 * 20_000))
        return faults or again(sandbox, job, result)
    disk = sandbox.top / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=320m", "tmpfs", disk], check=True)
    try:
        prepare(sandbox, job, disk / "here")
        if how == "full":
            free = shutil.disk_usage(disk).free
            used = sum(path.stat().st_size for path in (disk / "here").rglob("*") if path.is_file())
            room = int(share * min(2 * used + 100_000, free)) if share > 0.2 else int(share * 40_000)
            (disk / "ballast").write_bytes(bytes(max(0, free - room)))
            faults = _refused(sandbox, job)
            (disk / "ballast").unlink()
        else:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            faults = _refused(sandbox, job)
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        return faults or again(sandbox, job, result)
    finally:
        sandbox.place = sandbox.top / "here"
        subprocess.run(["umount", "-l", disk], check=True)


def _refused(sandbox: Sandbox, job: str, file_size: int | None = None) -> list[str]:
    """Faults of a command on a bad disk: the error names a file, and nothing but a state to go on with is left."""
    before, output = snapshot(sandbox.place), output_of(job)
    outcome = sandbox.run(*job.split(), file_size=file_size)
    faults = behaviour(outcome) + what_is_left(sandbox, job, before, undisturbed(sandbox, job)[0])
    if not outcome.done:
        if output.split(".")[0] not in outcome.err:
            faults.append(f"the error does not name the file: {_last(outcome.err)}")
        new = (f"{output}.training", f"{output}.parsing", f"{output}.tagging")
        faults += [f for f in changes(sandbox, before, new, (output,)) if f.startswith("left over")]
    return faults


DRAW = {"commands": draw_commands, "damage": draw_damage, "strikes": draw_strikes, "disks": draw_disks}
TRY: dict[str, Callable[..., list[str]]] = {
    "commands": try_commands, "damage": try_damage, "strikes": try_strikes, "disks": try_disks,
}  # fmt: skip
_sandbox: Sandbox


def begin(inputs: Path, top: Path) -> None:
    """Prepare a worker: a sandbox, and in it everything that commands import and compile, for forks to share."""
    global _sandbox
    _sandbox = Sandbox(inputs, top / f"worker-{os.getpid()}")
    words = "corpus lexicon lexicon.txt vectors.vec pairs.tsv one.parsed two.parsed one.tagged long.txt"
    place = _sandbox.fresh(*words.split())
    commands = [job for job in JOBS if not JOBS[job] and "text" not in job and "english" not in job]
    commands += ["disambiguate bank 'The bank raised its rate.'", "info vectors.vec", "senses run"]
    for command in commands:
        with redirect_stdout(io.StringIO()):
            run_here(place, command)
        shutil.rmtree(place / "out", ignore_errors=True)
    gc.freeze()


def draw(kind: str, seed: int, number: int) -> Table:
    """The table of a try, always the same for a seed and a number."""
    return DRAW[kind](np.random.default_rng([seed, KINDS.index(kind), number]))


def attempt(kind: str, table: Table | None, seed: int = 0, number: int = 0) -> tuple[str, Table, list[str], float]:
    """Make one try: its kind, its table, its faults and its duration."""
    started = time.monotonic()
    try:
        table = table or draw(kind, seed, number)
        faults = TRY[kind](_sandbox, **table)
    except Exception:
        faults = [f"the campaign itself failed: {traceback.format_exc()}"]
    return kind, table or {"seed": seed, "number": number}, faults, time.monotonic() - started


def main(arguments: list[str] | None = None) -> int:
    """Run the tries; print each fault and a table of counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count, metavar="N", help=f"tries; default {count}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes; default 2")
    parser.add_argument("--minutes", type=float, default=60, help="stop after this time; default 60")
    parser.add_argument("--again", type=Path, metavar="FILE", help="run the tries of a file of faults again")
    options = parser.parse_args(arguments)
    written = Path(tempfile.gettempdir()) / f"campaign-{options.seed}.jsonl"
    if options.again:
        tasks = [(one["kind"], one["table"]) for one in map(json.loads, lines(options.again.read_text()))]
    else:
        counts = {kind: getattr(options, kind) for kind in KINDS}
        wanted = sorted((number / count, kind, number) for kind, count in counts.items() for number in range(count))
        tasks = [(kind, None, options.seed, number) for _, kind, number in wanted]  # kinds advance together
        written.unlink(missing_ok=True)
    tries, faulty, seconds = Counter[str](), Counter[str](), Counter[str]()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        top, context = Path(name), multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as pool:
            pool.submit(make_inputs, top / "inputs").result()
            pool.submit(stop_training, top / "inputs").result()
        with ProcessPoolExecutor(options.workers, context, begin, (top / "inputs", top)) as pool:
            for future in as_completed([pool.submit(attempt, *task) for task in tasks]):
                kind, table, faults, taken = future.result()
                tries[kind] += 1
                seconds[kind] += taken
                if faults:
                    faulty[kind] += 1
                    line = json.dumps({"kind": kind, "table": table, "faults": faults[:6]})
                    print(line, flush=True)
                    if not options.again:
                        with written.open("a") as file:
                            file.write(line + "\n")
                if time.monotonic() - started > options.minutes * 60:
                    pool.shutdown(cancel_futures=True)
                    break
    print(f"\nseed {options.seed}, {options.workers} workers, {(time.monotonic() - started) / 60:.1f} minutes\n")
    print("| kind | tries | with a fault | seconds a try |\n|---|---|---|---|")
    for kind in KINDS:
        print(f"| {kind} | {tries[kind]} | {faulty[kind]} | {seconds[kind] / max(1, tries[kind]):.2f} |")
    if faulty and not options.again:
        print(f"\nfaults: {written}")
    return bool(faulty)


if __name__ == "__main__":
    sys.exit(main())
