"""A process that has polysema loaded and its kernels compiled, and forks itself for every command.

So a command is a process of its own (it may crash, hang, grow) and yet takes no second to start. The server makes the
world, once for all sandboxes of a campaign. Each sandbox that connects to its socket gets a fork of it; that one may
load more (a parser, an encoder), and forks the commands. Requests and answers are lines of JSON; a request is a list
of commands that run at the same time.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import polysema
import polysema.__main__
from polysema import parse_sentence, train
from polysema.errors import MissingExtraError
from tests.campaign.moments import Watcher
from tests.campaign.world import LARGE_PAGES, make_world

_PAGE = os.sysconf("SC_PAGE_SIZE")


def _end_with_parent() -> None:
    """Be killed when the process that started this one ends: a command that hangs must not outlive the campaign."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> None:
    """``serve FOLDER PART…``: make ``FOLDER/world`` where it is not there, and listen at ``FOLDER/socket``."""
    _end_with_parent()
    top, parts = Path(sys.argv[1]), sys.argv[2:]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _warm(parts)
    if not (top / "world").exists():
        make_world(top / "world", parts)
    _settle()
    _listen(top, "")


def _listen(top: Path, loaded: str) -> None:
    """Answer each caller by a fork; who asks for a part that is not loaded is answered by a fork that has it."""
    started = {loaded}
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(top / f"new-{loaded}"))
        door.listen(64)
        (top / f"new-{loaded}").rename(top / f"socket{loaded}")
        while True:
            caller, _ = door.accept()
            lines = caller.makefile("rw")
            first = json.loads(lines.readline())
            part = first["load"]
            if part not in started | {""} and os.fork() == 0:
                for item in (lines, caller, door):
                    item.close()
                _end_with_parent()
                _load(part)
                _settle()
                _listen(top, part)
            started.add(part)
            if part in ("", loaded) and os.fork() == 0:
                door.close()
                _end_with_parent()
                _serve(lines, first["scratch"])
                os._exit(0)
            lines.close()
            caller.close()
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)


def _serve(lines: TextIO, scratch: str) -> None:
    """Answer one sandbox, whose files go to a folder."""
    while line := lines.readline():
        children = []
        for number, request in enumerate(json.loads(line)):
            request["files"] = f"{scratch}/child{number}"
            time.sleep(request.get("after", 0))
            pid = _exec(request) if request.get("exec") else os.fork()
            if pid == 0:
                _become(request)
            children.append(Child(pid, request))
        while [child for child in children if not child.poll()]:
            wait_for(children)
        lines.write(json.dumps([child.answer() for child in children]) + "\n")
        lines.flush()


def _settle() -> None:
    """What is there now belongs to the server: no command collects it, or ends it."""
    gc.collect()
    gc.freeze()
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]


_LOADED = (
    "safetensors.numpy", "platformdirs.unix", "rich._emoji_codes", "matplotlib.figure", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg", "PIL.PngImagePlugin", "PIL.JpegImagePlugin", "PIL.GifImagePlugin", "PIL.BmpImagePlugin",
    "PIL.PpmImagePlugin", "sklearn.cluster", "joblib", "threadpoolctl",
)  # fmt: skip
"""What commands load, besides polysema itself."""


def _warm(parts: list[str]) -> None:
    """Load what commands load, and run a small training of each kind, so that each fork finds its kernels ready."""
    later = {"polysema.integrations", "polysema.engine"}
    for name in [f"polysema.{module.name}" for module in pkgutil.iter_modules(polysema.__path__)]:
        package = importlib.import_module(name) if name not in later else None
        for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
            with suppress(ImportError):
                importlib.import_module(f"{name}.{module.name}")
    for name in _LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    words = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "lmn"]
    rng = np.random.default_rng(0)
    text = [[words[i] for i in rng.integers(0, len(words), 8)] for _ in range(200)]
    common: dict[str, Any] = {"dim": 4, "min_count": 1, "epochs": 1, "threads": 1, "held_out": 0.1}
    for options in (
        {"senses": 2}, {"senses": 2, "form": "pair"}, {"senses": 2, "select": "dot"}, {"model": "word2dm"},
        {"model": "word2vec"}, {"model": "word2vec", "form": "cbow"},
    ):  # fmt: skip
        train(text, **{**common, **options})
    train(text, "glove", dim=4, min_count=1, epochs=1, threads=1)
    with suppress(MissingExtraError):
        train(text, "context2dm", dim=4, senses=2, threads=1, min_count=1)


def _load(part: str) -> None:
    """A part of ``world.PARTS`` that takes long to load, or much room, and few commands need."""
    if part == "encoder":
        for name in ("torch", "transformers.models.bert.modeling_bert", "transformers.models.bert.tokenization_bert"):
            importlib.import_module(name)
    elif part == "parser":
        with suppress(MissingExtraError):
            parse_sentence("The bank runs the hotel.")


def _exec(request: dict[str, Any]) -> int:
    """A real process of the installed command's entry, from its first import on."""
    environment = {**{k: v for k, v in os.environ.items() if k not in LARGE_PAGES}, **request.get("env", {})}
    with (
        open(request["files"] + ".out", "wb") as out,
        open(request["files"] + ".err", "wb") as err,
        open(request.get("stdin") or os.devnull, "rb") as standard_input,
    ):
        return subprocess.Popen(
            [sys.executable, "-m", "polysema", *request["argv"]], cwd=request["cwd"], env=environment,
            stdin=standard_input, stdout=out, stderr=err, start_new_session=True,
        ).pid  # fmt: skip


def _become(request: dict[str, Any]) -> None:
    """What a forked child does: run the command as the installed entry point does, to the end of the interpreter."""
    _end_with_parent()
    os.setsid()
    os.chdir(request["cwd"])
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(f"{request['files']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(request.get("stdin") or os.devnull, os.O_RDONLY), 0)
    os.environ.update(request.get("env", {}))
    if request.get("largest_file") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest_file"], resource.RLIM_INFINITY))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Watcher(request.get("moment"), request["allowed"], request["files"] + ".notes").arm()
    import tempfile

    tempfile.tempdir = None
    sys.argv = ["polysema", *request.get("argv", ())]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    code: Any = 0
    try:
        try:
            if request.get("code"):
                exec(request["code"], {"__name__": "campaign"})
            else:
                polysema.__main__.run()
        except SystemExit as stop:
            code = stop.code or 0
        threading._shutdown()  # type: ignore[attr-defined]  # an interpreter waits for threads at its end
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)  # the rest of an interpreter's end takes longer than most commands


def wait_for(children: list[Child]) -> None:
    """Until one of them has ended, is to be struck, or it is time to look at its memory again."""
    running = [child for child in children if child.code is None]
    moments = [child.started + child.strike_after - time.monotonic() for child in running if child.strike_after]
    watched = select.poll()
    for child in running:
        watched.register(child.ended, select.POLLIN)
    watched.poll(1000 * max(0, min([0.02, *moments])))


class Child:
    """A command that runs: struck at its moment, ended when it takes too long or too much memory."""

    def __init__(self, pid: int, request: dict[str, Any]) -> None:
        self.pid, self.request, self.started = pid, request, time.monotonic()
        self.base = 0 if request.get("exec") else self._resident()
        self.peak = 0
        self.code: int | None = None
        self.ended_for = ""
        moment = request.get("moment") or {}
        self.strike_after = moment["s"] if moment.get("at") == "seconds" else None
        self.ended = os.pidfd_open(pid)

    def _resident(self) -> int:
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE
        except (OSError, IndexError):
            return 0

    def poll(self) -> bool:
        if self.code is not None:
            return True
        pid, status, used = os.wait4(self.pid, os.WNOHANG)
        elapsed = time.monotonic() - self.started
        if pid:
            os.close(self.ended)
            self.code, self.seconds = os.waitstatus_to_exitcode(status), elapsed
            if self.base:  # of a real process the kernel counts what it was before
                self.peak = max(self.peak, 1024 * used.ru_maxrss - self.base)
            if self.peak > self.request["memory"] and not self.ended_for:
                self.ended_for = "memory"
            return True
        if self.strike_after is not None and elapsed >= self.strike_after:
            os.kill(self.pid, getattr(signal, f"SIG{self.request['moment']['signal']}"))
            self.strike_after = None
        self.peak = max(self.peak, self._resident() - self.base)
        if self.peak > self.request["memory"]:
            self._end("memory")
        elif elapsed > self.request["timeout"] * max(1, os.getloadavg()[0]):  # others want the processors too
            self._end("time")
        return False

    def _end(self, reason: str) -> None:
        if not self.ended_for:
            self.ended_for = reason
            os.killpg(self.pid, signal.SIGKILL)

    def answer(self) -> dict[str, Any]:
        files = self.request["files"]
        notes = Path(files + ".notes")
        try:
            found = json.loads(notes.read_text())
        except (OSError, ValueError):
            found = {}
        notes.unlink(missing_ok=True)
        shown = {
            name: Path(f"{files}.{name}").read_bytes()[-20_000:].decode(errors="replace") for name in ("out", "err")
        }
        return {
            "code": self.code, "ended_for": self.ended_for, "peak": self.peak, "seconds": round(self.seconds, 3),
            "notes": found, **shown,
        }  # fmt: skip


if __name__ == "__main__":
    main()
