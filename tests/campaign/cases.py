"""Finds of the first campaign, each by its number there: what happened once must not happen again.

A case runs in a fresh sandbox and gives back its faults; none is a pass. Later finds are in ``cases/found.json``.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polysema.errors import PolysemaError
from tests.campaign import damage, disks, signals
from tests.campaign.checks import behaviour, traces
from tests.campaign.world import Outcome, Sandbox, sentences, snapshot

_NPY_HEADER = 128  # bytes before the numbers of a small array
TOY = ("--dim", "4", "--senses", "2", "--epochs", "1", "--min-count", "1", "--threads", "1")


@dataclass(frozen=True)
class Case:
    """A find with a name."""

    what: str
    run: Callable[[Sandbox], list[str]]


class Skipped(Exception):
    """A case that cannot be run here."""


CASES: dict[str, Case] = {}


def case(name: str, what: str) -> Callable[[Callable[[Sandbox], list[str]]], Callable[[Sandbox], list[str]]]:
    def add(function: Callable[[Sandbox], list[str]]) -> Callable[[Sandbox], list[str]]:
        CASES[name] = Case(what, function)
        return function

    return add


def run_case(sandbox: Sandbox, name: str) -> list[str]:
    return CASES[name].run(sandbox)


def refused(outcome: Outcome) -> list[str]:
    """Faults of a command that must say no."""
    faults = behaviour(outcome)
    return faults if faults or outcome.code == 2 else [f"accepted: {' '.join(outcome.argv)[:150]}"]


def _unchanged(sandbox: Sandbox, before: dict[str, str], *outputs: str) -> list[str]:
    return [fault for fault in traces(sandbox, before, outputs, True, False) if not fault.startswith("left over")]


# ------------------------------------------------------------------------------------------------------- A. data loss


@case("A1a", "train must not delete a foreign folder called OUT.training")
def a1a(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    (place / "wiki.training").mkdir()
    (place / "wiki.training" / "thesis.tex").write_text("Chapter one.\n")
    before = snapshot(place)
    outcome = sandbox.run("train", "text.txt", "-o", "wiki", *TOY)
    return behaviour(outcome) + _unchanged(sandbox, before, "wiki")


@case("A1b", "train must not delete the text it learns from: polysema train wiki.training")
def a1b(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    (place / "wiki.training").mkdir()
    (place / "text.txt").rename(place / "wiki.training" / "text.txt")
    before = snapshot(place)
    outcome = sandbox.run("train", "wiki.training", *TOY)
    return behaviour(outcome) + _unchanged(sandbox, before, "wiki")


@case("A1c", "train must not delete an encoded corpus called OUT.training")
def a1c(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    (place / "corpus").rename(place / "wiki.training")
    before = snapshot(place)
    outcome = sandbox.run("train", "wiki.training", "-o", "wiki", *TOY)
    return behaviour(outcome) + _unchanged(sandbox, before, "wiki")


@case("A2", "train t.txt -o t.txt --force must not overwrite the text it learns from")
def a2(sandbox: Sandbox) -> list[str]:
    before = snapshot(sandbox.fresh())
    outcome = sandbox.run("train", "text.txt", "-o", "text.txt", "--force", *TOY)
    return refused(outcome) + _unchanged(sandbox, before)


@case("A3a", "ensemble --force must not replace a foreign file")
def a3a(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    (place / "notes.txt").rename(place / "NOTES")
    before = snapshot(place)
    outcome = sandbox.run("ensemble", "NOTES", "lexicon", "lexicon2", "--force")
    return refused(outcome) + _unchanged(sandbox, before)


@case("A3b", "draw must not overwrite without --force")
def a3b(sandbox: Sandbox) -> list[str]:
    before = snapshot(sandbox.fresh())
    outcome = sandbox.run("draw", "matrix", "bal", "-l", "lexicon", "-o", "notes.png")
    return refused(outcome) + _unchanged(sandbox, before)


@case("A3c", "evaluate --report must not overwrite what is no report, nor a report without --force")
def a3c(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    (place / "thesis" / "report.html").write_text("mine")
    before = snapshot(place)
    outcome = sandbox.run(
        "evaluate", "lexicon", "--pairs", "pairs.tsv", "--bootstraps", "5", "--noise-draws", "2", "--report", "thesis"
    )
    return refused(outcome) + _unchanged(sandbox, before)


@case("A3d", "draw leaves no half picture on a full disk")
def a3d(sandbox: Sandbox) -> list[str]:
    before = snapshot(sandbox.fresh())
    outcome = sandbox.run("draw", "matrix", "bal", "-l", "lexicon", "-o", "new.svg", largest_file=1000)
    return refused(outcome) + traces(sandbox, before, (), False, False)


@case("A4a", "two builds of different text to one name: one of them is told")
def a4a(sandbox: Sandbox) -> list[str]:
    faults = []
    for delay in (0.0, 0.01, 0.03, 0.1):
        sandbox.fresh(("text.txt", "other.txt"))
        both = sandbox.run_together(
            [
                {"argv": ["corpus", "build", "text.txt", "-o", "out"]},
                {"argv": ["corpus", "build", "other.txt", "-o", "out"], "after": delay},
            ]
        )
        faults += [fault for outcome in both for fault in behaviour(outcome)]
        if sorted(outcome.code for outcome in both) != [0, 2]:
            faults.append(f"exit codes {[outcome.code for outcome in both]}")
        faults += [
            f"left over: {name}"
            for name in snapshot(sandbox.place)
            if name.split("/")[0] not in ("out", "text.txt", "other.txt")
        ]
    return faults


@case("A4b", "two trainings to one name: one of them is told, in clear words")
def a4b(sandbox: Sandbox) -> list[str]:
    return [
        fault for share in (0.0, 0.2, 0.5) for fault in disks.attempt(sandbox, "race", "ms-word2dm from text", share)
    ]


@case("A5", "killed at any change to the disk while it replaces a folder, the name holds the old one or the new one")
def a5(sandbox: Sandbox) -> list[str]:
    faults = []
    for name in ("convert over an old folder", "corpus build over an old one", "convert over an old file"):
        changes = range(1, signals.undisturbed(sandbox, name).changes + 1)
        for n in changes if sandbox.thorough else changes[-8:]:  # the last: among them the swap
            moment = {"at": "change", "n": n, "signal": "KILL"}
            faults += [f"{name}, change {n}: {fault}" for fault in signals.attempt(sandbox, name, moment)]
    return faults


@case("A6", "an output that cannot be is refused before the training")
def a6(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    faults = []
    (place / "a-file").write_text("x")
    for output in ("missing/out", "out.pkl", "out.npy", "a-file/out", "thesis", "notes.txt", "n" * 300, "corpus"):
        for more in ((), ("--force",)):
            outcome = sandbox.run("train", "text.txt", "-o", output, *TOY, *more, moment={"at": "count"})
            faults += [f"-o {output[:20]} {more}: {fault}" for fault in refused(outcome)]
            if any(line.startswith("training/run.py") for line in outcome.notes.get("lines", ())):
                faults.append(f"-o {output[:20]} {more}: refused after the training")
    outcome = sandbox.run("train", "text.txt", "-o", "out", *TOY, "--dtype", "float99", moment={"at": "count"})
    faults += refused(outcome)
    if any(line.startswith("training/run.py") for line in outcome.notes.get("lines", ())):
        faults.append("--dtype float99: refused after the training")
    return faults + [f"left over: {name}" for name in snapshot(place) if ".training" in name]


# --------------------------------------------------------------------------------------------------- B. wrong results


def _every_line(
    sandbox: Sandbox, job: str, files: tuple[str, ...], signal: str, most: int = 1, word: str = ""
) -> list[str]:
    """A signal at the first passages of every line of some files; the faults that hold a word, three of them."""
    faults = []
    lines = sorted(item for item in signals.undisturbed(sandbox, job).lines.items() if item[0].split(":")[0] in files)
    for where, count in lines if sandbox.thorough else lines[::8]:
        if len(faults) < 3:
            for n in range(1, min(count, most) + 1):
                found = signals.attempt(sandbox, job, {"at": "line", "where": where, "n": n, "signal": signal})
                faults += [f"{job}, {signal} at {where} ({n} of {count}): {fault}" for fault in found if word in fault]
    return faults


@case("B7", "Ctrl-C at any line of the loop of training, then on: the same bits and the same curve")
def b7(sandbox: Sandbox) -> list[str]:
    return _every_line(sandbox, "ms-word2dm", ("training/run.py", "training/held_out.py"), "INT")


def _stopped(sandbox: Sandbox, *argv: str) -> list[str]:
    """Stop a training when it has written its state twice."""
    lines = sandbox.run(*argv, moment={"at": "count"})
    if lines.code != 0:
        return [f"it does not run: {lines.err}"]
    where = max(
        (w for w in lines.notes["lines"] if w.startswith("training/run.py")), key=lambda w: lines.notes["lines"][w]
    )
    for name in ("out", "out.training"):
        _remove(sandbox.place / name)
    sandbox.run(*argv, moment={"at": "line", "where": where, "n": lines.notes["lines"][where] // 2, "signal": "INT"})
    return [] if (sandbox.place / "out.training").exists() else ["no state was left to go on from"]


def _remove(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


RESUMED = (
    "-o",
    "out",
    "--dim",
    "4",
    "--senses",
    "2",
    "--epochs",
    "4",
    "--min-count",
    "1",
    "--threads",
    "1",
    "--checkpoint-minutes",
    "0",
)


def _changed_on_resume(
    sandbox: Sandbox, first: tuple[str, ...], change: Callable[[Path], None], then: tuple[str, ...]
) -> list[str]:
    """Stop a run, change its input, go on: it is refused, or comes to what the changed input alone comes to."""
    faults = _stopped(sandbox, *first)
    if faults:
        return faults
    change(sandbox.place)
    resumed = sandbox.run(*then)
    faults = behaviour(resumed)
    if resumed.code != 0:
        return faults
    made = snapshot(sandbox.place / "out", timeless=True)
    for name in ("out", "out.training"):
        _remove(sandbox.place / name)
    sandbox.run(*then)
    return faults + (
        [] if made == snapshot(sandbox.place / "out", timeless=True) else ["went on from the state of another input"]
    )


@case("B8a", "a corpus with its lines reversed is another corpus when a run goes on")
def b8a(sandbox: Sandbox) -> list[str]:
    from polysema import build_corpus

    place = sandbox.fresh(("text.txt",))
    lines = (place / "text.txt").read_text().splitlines()
    (place / "reversed.txt").write_text("\n".join(reversed(lines)) + "\n")
    build_corpus(place / "text.txt", place / "corpus")
    build_corpus(place / "reversed.txt", place / "reversed")

    def swap(place: Path) -> None:
        (place / "corpus").rename(place / "first")
        (place / "reversed").rename(place / "corpus")

    argv = ("train", "corpus", *RESUMED)
    return _changed_on_resume(sandbox, argv, swap, argv)


@case("B8b", "another --start is another run")
def b8b(sandbox: Sandbox) -> list[str]:
    from polysema import Lexicon, load

    place = sandbox.fresh()
    known = load(place / "lexicon")
    assert isinstance(known, Lexicon)
    turned = Lexicon(
        known.vocabulary, known.factors[::-1], metadata=known.metadata, contexts=known.contexts, norms=known.norms
    )
    turned.save(place / "turned")
    first = ("train", "corpus", *RESUMED, "--start", "lexicon")
    return _changed_on_resume(sandbox, first, lambda place: None, (*first[:-1], "turned"))


@case("B8c", "text that changed under its name is other text when a run goes on")
def b8c(sandbox: Sandbox) -> list[str]:
    sandbox.fresh()

    def change(place: Path) -> None:
        status = (place / "text.txt").stat()
        lines = (place / "text.txt").read_text().splitlines()
        (place / "text.txt").write_text("\n".join(reversed(lines)) + "\n")
        os.utime(place / "text.txt", ns=(status.st_atime_ns, status.st_mtime_ns))

    argv = ("train", "text.txt", *RESUMED)
    return _changed_on_resume(sandbox, argv, change, argv)


@case("B8d", "reproduce notices that its text is another")
def b8d(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh()
    argv = (
        "reproduce",
        "text.txt",
        "-o",
        "run",
        "--preset",
        "smoke",
        "--only",
        "Word2Vec",
        "--offline",
        "--data",
        _data(),
    )
    done = sandbox.run(*argv, timeout=200)
    faults = behaviour(done, (0,))
    if faults:
        return [*faults, done.err[-300:]]
    made = snapshot(place / "run" / "models", timeless=True)
    (place / "text.txt").write_bytes((place / "other.txt").read_bytes())
    again = sandbox.run(*argv, timeout=200)
    faults = behaviour(again)
    if again.code == 0 and snapshot(place / "run" / "models", timeless=True) == made:
        faults.append("gave the models of the old text for the new")
    return faults


def _data() -> str:
    """The folder with the evaluation sets, where there is one."""
    path = Path(os.environ.get("POLYSEMA_SHARED", Path(__file__).parents[3] / "shared")) / "data"
    if not path.is_dir():
        raise Skipped(f"no evaluation sets at {path}: set POLYSEMA_SHARED to the folder that holds data/")
    return str(path)


def _damaged_corpus(sandbox: Sandbox, name: str, kind: str, index: int, value: int) -> list[str]:
    """One number of a corpus replaced, in either version of its files."""
    faults = []
    for corpus, file in (("corpus", f"{name}.npy"), ("corpus.v1", f"{name}.i{8 * int(kind[2])}")):
        for argv in (
            ("train", corpus, "-o", "out", *TOY),
            ("corpus", "head", corpus, "-n", "1000"),
            ("train", corpus, "-o", "out", "--model", "glove", "--dim", "4", "--epochs", "1", "--min-count", "1"),
        ):
            place = sandbox.fresh((corpus,))
            data = (place / corpus / file).read_bytes()
            at = index * int(kind[2]) + (_NPY_HEADER if file.endswith(".npy") else 0)
            changed = np.array(value, kind).tobytes()
            (place / corpus / file).write_bytes(data[:at] + changed + data[at + len(changed) :])
            faults += [f"{' '.join(argv[:2])}: {fault}" for fault in refused(sandbox.run(*argv))]
    return faults


@case("B9a", "a token id of ten million is refused")
def b9a(sandbox: Sandbox) -> list[str]:
    return _damaged_corpus(sandbox, "tokens", "<i4", 30, 10**7)


@case("B9b", "a token id of -1000 is refused")
def b9b(sandbox: Sandbox) -> list[str]:
    return _damaged_corpus(sandbox, "tokens", "<i4", 30, -1000)


@case("B9c", "sentences that start nowhere are refused")
def b9c(sandbox: Sandbox) -> list[str]:
    return [f for value in (10**15, -5) for f in _damaged_corpus(sandbox, "sentences", "<i8", 7, value)]


@case("B9d", "sentences that overlap are refused")
def b9d(sandbox: Sandbox) -> list[str]:
    return _damaged_corpus(sandbox, "sentences", "<i8", 7, 1)


def _float16(sandbox: Sandbox, scale: float) -> list[str]:
    faults = []
    from polysema import VectorLexicon, load
    from polysema.lexicon.formats import write

    place = sandbox.fresh(())
    vectors = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32) * np.float32(scale)
    write(VectorLexicon([f"word{i}" for i in range(9)], vectors), place / "vectors")
    for output in ("out", "out.npz"):
        outcome = sandbox.run("convert", "vectors", output, "--dtype", "float16")
        faults += behaviour(outcome)
        if outcome.code == 0:
            try:
                kept = np.asarray(load(place / output, "vectors").array, np.float32)
            except PolysemaError as error:
                faults.append(f"cannot be read again: {error}")
                continue
            if not np.allclose(kept, vectors, rtol=2e-3, atol=0):
                faults.append(f"{output}: vectors of about {scale:g} became {kept[0].tolist()}")
    return faults


@case("B10a", "float16 must not turn small vectors to zeros")
def b10a(sandbox: Sandbox) -> list[str]:
    return _float16(sandbox, 1e-9)


@case("B10b", "float16 must not turn large vectors to infinity")
def b10b(sandbox: Sandbox) -> list[str]:
    return _float16(sandbox, 1e6)


@case("B11a", "train says that text is not UTF-8")
def b11a(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    (place / "latin.txt").write_bytes(("Déjà vu à la carte près du château fort. " * 400).encode("latin-1"))
    outcome = sandbox.run("train", "latin.txt", "-o", "out", *TOY)
    return behaviour(outcome) + ([] if "encoding" in outcome.err else ["not a word about the bytes that are no text"])


@case("B11b", "random bytes are no text")
def b11b(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    noise = np.random.default_rng(0).integers(1, 256, 300_000, dtype=np.uint8)
    (place / "noise.txt").write_bytes(noise.tobytes())
    return refused(sandbox.run("train", "noise.txt", "-o", "out", *TOY))


@case("B11c", "--held-out 0.999999 leaves nothing to train on")
def b11c(sandbox: Sandbox) -> list[str]:
    sandbox.fresh(("corpus",))
    return refused(sandbox.run("train", "corpus", "-o", "out", *TOY, "--held-out", "0.999999"))


@case("B11d", "--noise-power 100 makes no distribution")
def b11d(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    (place / "zipf.txt").write_text("".join(f"{'the ' * 2000}{' '.join(words)}.\n" for words in sentences(60)))
    faults = refused(sandbox.run("train", "zipf.txt", "-o", "out", *TOY, "--noise-power", "100"))
    return faults + refused(sandbox.run("train", "zipf.txt", "-o", "out2", *TOY, "--noise-power", "nan"))


@case("B11e", "types in TOML are checked")
def b11e(sandbox: Sandbox) -> list[str]:
    faults = []
    place = sandbox.fresh(("corpus",))
    for line in (
        "epochs = 2.5",
        "dim = true",
        "dim = '4'",
        "rate = 'fast'",
        "seed = 1.5",
        "select = 3",
        "keep = 3",
        "held_out = true",
        "senses = [[2]]",
    ):
        (place / "config.toml").write_text(f"[train]\n{line}\n")
        outcome = sandbox.run(
            "train",
            "corpus",
            "-o",
            "out",
            *(("--epochs", "1") if "epochs" not in line else ()),
            "--min-count",
            "1",
            "--config",
            "config.toml",
        )
        faults += [f"{line}: {fault}" for fault in refused(outcome)]
        _remove(place / "out")
        _remove(place / "out.training")
    return faults


@case("B11f", "NaN among context vectors is refused")
def b11f(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(("corpus", "vectors"))
    file = place / "vectors" / "lexicon.safetensors"
    data = bytearray(file.read_bytes())
    header = int.from_bytes(data[:8], "little") + 8
    entry = json.loads(data[8:header])["vectors"]["data_offsets"]
    at = header + entry[0] + 4 * 6 * 5
    data[at : at + 4] = np.float32(np.nan).tobytes()
    file.write_bytes(bytes(data))
    return refused(
        sandbox.run(
            "train",
            "corpus",
            "-o",
            "out",
            "--model",
            "context2dm",
            "--vectors",
            "vectors",
            "--senses",
            "2",
            "--min-count",
            "1",
        )
    )


@case("B11g", "lists that repeat a word do not run away")
def b11g(sandbox: Sandbox) -> list[str]:
    from tests.campaign import degenerate

    return [
        fault
        for text in ("a word repeated in each sentence", "a list repeated", "two words for ever")
        for step in ("train all words", "word2vec")
        for fault in degenerate.attempt(sandbox, text, step)
        if not fault.startswith("left over")
    ]


# ----------------------------------------------------------------------------------------------- C. hangs and memory


@case("C12", "a signal while the threads start does not deadlock")
def c12(sandbox: Sandbox) -> list[str]:
    return _every_line(sandbox, "word2vec", ("training/cpu.py", "kernels/barrier.py"), "INT", 3, "hung")


def _npz_of_zeros(path: Path, name: str, shape: tuple[int, ...], size: int) -> None:
    """An npz with one array of zeros of so many bytes, and the words that go with it."""
    words, header = io.BytesIO(), io.BytesIO()
    np.save(words, np.array(["bal", "bel"]))
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("words.npy", words.getvalue())
        if name != "factors":
            factors = io.BytesIO()
            np.save(factors, np.ones((2, 2, 1), np.float32))
            file.writestr("factors.npy", factors.getvalue())
        with file.open(name + ".npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            zeros = bytes(1 << 20)
            for _ in range(size >> 20):
                member.write(zeros)


@case("C13a", "an npz whose factors unpack to gigabytes is refused by its declared size")
def c13a(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    size = 1500 << 20
    _npz_of_zeros(place / "bomb.npz", "factors", (2, size >> 3, 1), size)
    return refused(sandbox.run("info", "bomb.npz"))


@case("C13b", "an array that is not used is not read")
def c13b(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    size = 1500 << 20
    _npz_of_zeros(place / "bomb.npz", "unused", (size >> 2,), size)
    return behaviour(sandbox.run("info", "bomb.npz"))


@case("C13c", "words of a declared length of gigabytes are refused")
def c13c(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    wide = np.array(["w"] * 100, dtype="<U3000000")
    np.savez_compressed(place / "wide.npz", words=wide, factors=np.ones((100, 2, 1), np.float32))
    return behaviour(sandbox.run("info", "wide.npz"))


@case("C14a", "a zst of newlines unpacks within the bound")
def c14a(sandbox: Sandbox) -> list[str]:
    import zstandard

    place = sandbox.fresh(())
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    newlines = b"\n" * (1 << 20)
    (place / "bomb.zst").write_bytes(
        b"".join(compressor.compress(newlines) for _ in range(2500 if sandbox.thorough else 1300)) + compressor.flush()
    )
    return behaviour(sandbox.run("corpus", "build", "bomb.zst", "-o", "out", timeout=120))


@case("C14b", "a text lexicon of one line without end is refused within the bound")
def c14b(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(())
    member = gzip.compress(b" 1" * (1 << 20), mtime=0)
    (place / "line.txt").write_bytes(gzip.compress(b"word") + member * 300)
    return refused(sandbox.run("info", "line.txt"))


@case("C15", "neighbours among many numbers of common words do not keep an index for each")
def c15(sandbox: Sandbox) -> list[str]:
    sandbox.fresh(())
    code = """
import polysema
lexicon = polysema.load()
for common in range(5000, 5060):
    lexicon.neighbours("bank", 5, common)
"""
    return behaviour(sandbox.run(code=code, memory=400 << 20), (0,))


@case("C16a", "--keep /dev/urandom is refused")
def c16a(sandbox: Sandbox) -> list[str]:
    sandbox.fresh(("text.txt",))
    return refused(
        sandbox.run("corpus", "build", "text.txt", "-o", "out", "--keep", "/dev/urandom", timeout=30)
    ) + refused(sandbox.run("corpus", "build", "text.txt", "-o", "out", "--keep", "/dev/zero", timeout=30))


@case("C16b", "--threads 1000 works or is refused")
def c16b(sandbox: Sandbox) -> list[str]:
    before = snapshot(sandbox.fresh(("corpus", "text.txt")))
    faults = []
    for argv in (
        ("train", "corpus", "-o", "out", *TOY[:-2], "--threads", "1000"),
        ("corpus", "build", "text.txt", "-o", "out2", "--workers", "1000"),
    ):
        outcome = sandbox.run(*argv, timeout=60)
        faults += behaviour(outcome)
        if outcome.code == 2 and "thread" not in outcome.err and "worker" not in outcome.err:
            faults.append(f"unclear: {outcome.err.strip()}")
    return faults + traces(sandbox, before, ("out", "out2"), True, False)


@case("C16c", "a pipe without a writer does not hang")
def c16c(sandbox: Sandbox) -> list[str]:
    faults = []
    for argv in (
        ("corpus", "build", "pipe", "-o", "out"), ("train", "pipe", "-o", "out", *TOY), ("info", "pipe"), ("compose", "-f", "pipe", "-l", "lexicon"),
        ("corpus", "build", "text.txt", "-o", "out", "--keep", "pipe"), ("train", "text.txt", "-o", "out", "--config", "pipe"),
        ("evaluate", "lexicon", "--pairs", "pipe", "--offline"), ("convert", "lexicon", "pipe"), ("corpus", "info", "corpus", "--words", "pipe"),
    ):  # fmt: skip
        place = sandbox.fresh()
        os.mkfifo(place / "pipe")
        outcome = sandbox.run(*argv, timeout=5)
        faults += [f"{' '.join(argv)}: {fault}" for fault in refused(outcome)]
    return faults


@case("C17", "an error raised in a worker process comes back")
def c17(sandbox: Sandbox) -> list[str]:
    sandbox.fresh(())
    code = """
import multiprocessing, pickle, sys, types
from polysema import errors
made = [errors.UnknownWordError("bnak", ["bank"]), errors.UnknownChoiceError("model", "x", ["a", "b"]),
        errors.MissingExtraError("drawing", "plots"), errors.InputError("x"), errors.FormatError("y"), errors.CorpusError("z")]
for error in made:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error) and str(back) == str(error) and vars(back) == vars(error), (error, back)
def fail(number):
    raise made[number]
sys.modules["campaign"] = types.ModuleType("campaign")  # where pickle looks for the function
sys.modules["campaign"].fail = fail
with multiprocessing.get_context("fork").Pool(1) as pool:
    for number, error in enumerate(made):
        try:
            pool.apply_async(fail, (number,)).get(10)
        except type(error) as back:
            assert str(back) == str(error)
"""
    return behaviour(sandbox.run(code=code, timeout=30), (0,))


# ------------------------------------------------------------------------------------- D. tracebacks and unclear words


@case("D18", "a Composition can be pickled and copied")
def d18(sandbox: Sandbox) -> list[str]:
    sandbox.fresh(("lexicon",))
    code = """
import copy, pickle
import polysema
found = polysema.load("lexicon").compose("(bal (bel bil))")
for other in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
    assert other.entropy == found.entropy and len(other.steps) == len(found.steps) and str(other.tree) == str(found.tree)
    repr(other)
"""
    return behaviour(sandbox.run(code=code), (0,))


def _damaged(
    name: str, data: bytes | Callable[[bytes], bytes], *commands: tuple[str, ...]
) -> Callable[[Sandbox], list[str]]:
    def run(sandbox: Sandbox) -> list[str]:
        faults = []
        for argv in commands:
            place = sandbox.fresh()
            file = place / name
            file.write_bytes(data if isinstance(data, bytes) else data(file.read_bytes()))
            before = snapshot(place)
            outcome = sandbox.run(*argv)
            faults += [
                f"{' '.join(argv)}: {fault}"
                for fault in (*refused(outcome), *traces(sandbox, before, (), False, False))
            ]
        return faults

    return run


LATIN = "château\tforêt\t1\nhôtel\tmaison\t2\nété\thiver\t3\n".encode("latin-1")
for number, (what, check) in enumerate(
    {
        "--pairs that is not UTF-8": _damaged("pairs.tsv", LATIN, ("evaluate", "lexicon", "--pairs", "pairs.tsv", "--offline")),
        "-f that is not UTF-8": _damaged("sentences.txt", LATIN, ("compose", "-f", "sentences.txt", "-l", "lexicon"), ("disambiguate", "bal", "-f", "sentences.txt", "-l", "lexicon")),
        "a configuration that is not UTF-8": _damaged("config.toml", LATIN, ("train", "text.txt", "-o", "out", "--config", "config.toml")),
        "config.json that is not UTF-8": _damaged("lexicon/config.json", LATIN, ("info", "lexicon"), ("convert", "vectors", "lexicon", "--force")),
        "a corpus' config.json that is not UTF-8": _damaged("corpus/config.json", LATIN, ("corpus", "info", "corpus"), ("train", "corpus", "-o", "out", *TOY)),
        "a lexicon's vocabulary that is not UTF-8": _damaged("lexicon/vocabulary.txt", lambda data: LATIN + data, ("info", "lexicon"), ("train", "text.txt", "-o", "out", "--start", "lexicon", *TOY)),
        "a corpus' vocabulary that is not UTF-8": _damaged("corpus/vocabulary.txt", lambda data: b"\xe9" + data[1:], ("corpus", "info", "corpus"), ("corpus", "head", "corpus"), ("train", "corpus", "-o", "out", *TOY)),
        "word lists that are not UTF-8": _damaged("words.txt", LATIN, ("corpus", "build", "text.txt", "-o", "out", "--keep", "words.txt"), ("train", "text.txt", "-o", "out", "--keep", "words.txt"), ("corpus", "info", "corpus", "--words", "words.txt")),
        "gzip cut short": _damaged("lexicon.txt.gz", lambda data: data[: len(data) // 2], ("info", "lexicon.txt.gz")),
        "gzip with its bits flipped": _damaged("lexicon.txt.gz", lambda data: data[:40] + bytes(b ^ 0xFF for b in data[40:60]) + data[60:], ("info", "lexicon.txt.gz")),
        "packed text cut short": _damaged("text.txt.gz", lambda data: data[: len(data) // 2], ("corpus", "build", "text.txt.gz", "-o", "out"), ("train", "text.txt.gz", "-o", "out", *TOY)),
        "packed text with its bits flipped": _damaged("text.txt.gz", lambda data: data[:40] + bytes(b ^ 0xFF for b in data[40:60]) + data[60:], ("corpus", "build", "text.txt.gz", "-o", "out")),
        "an npz cut short": _damaged("lexicon.npz", lambda data: data[: len(data) // 2], ("info", "lexicon.npz")),
        "an npz with its bits flipped": _damaged("lexicon.npz", lambda data: data[:200] + bytes(b ^ 0xFF for b in data[200:400]) + data[400:], ("info", "lexicon.npz")),
    }.items(),
    1,
):  # fmt: skip
    CASES[f"D19.{number}"] = Case(what, check)


@case("D19.15", "a damaged state is refused in one line")
def d19_state(sandbox: Sandbox) -> list[str]:
    ways = ("truncated", "empty", "bits flipped", "overwritten", "header of ones", "a value of the header")
    return [
        f"{how}, seed {seed}: {fault}"
        for how in ways
        for seed in range(4 if sandbox.thorough else 1)
        for fault in damage.attempt(sandbox, "new.training/*.safetensors", how, seed, 0)
    ]


@case("D19.16", "links that lead in circles are refused in one line")
def d19_links(sandbox: Sandbox) -> list[str]:
    faults = []
    for argv in (
        ("info", "loop"), ("corpus", "build", "loop", "-o", "out"), ("train", "loop", "-o", "out", *TOY), ("corpus", "info", "loop"), ("convert", "loop", "out"),
        ("corpus", "build", "text.txt", "-o", "out", "--keep", "loop"), ("train", "text.txt", "-o", "out", "--config", "loop"), ("compose", "-f", "loop", "-l", "lexicon"),
        ("evaluate", "lexicon", "--pairs", "loop", "--offline"), ("convert", "lexicon", "loop"), ("convert", "lexicon", "loop", "--force"), ("train", "text.txt", "-o", "loop", *TOY),
        ("train", "text.txt", "-o", "loop", "--force", *TOY), ("corpus", "build", "text.txt", "-o", "loop"), ("ensemble", "loop", "lexicon", "lexicon2"), ("evaluate", "lexicon", "--data", "loop", "--offline"),
    ):  # fmt: skip
        place = sandbox.fresh()
        (place / "loop").symlink_to("loop")
        before = snapshot(place)
        outcome = sandbox.run(*argv)
        faults += [
            f"{' '.join(argv[:6])}: {fault}"
            for fault in (*refused(outcome), *traces(sandbox, before, (), False, False))
        ]
    return faults


@case("D19.17", "seeds that are none are refused, large ones work")
def d19_seed(sandbox: Sandbox) -> list[str]:
    faults = []
    for seed in ("-1", str(2**63), str(2**64), str(-(2**63))):
        for model in (
            ("--senses", "2"),
            ("--model", "word2vec"),
            ("--model", "glove"),
            ("--model", "context2dm", "--vectors", "vectors", "--senses", "2"),
        ):
            if "context2dm" in model or "glove" in model:
                argv = ("train", "corpus", "-o", "out", *model, "--min-count", "1", "--seed", seed)
            else:
                argv = (
                    "train",
                    "corpus",
                    "-o",
                    "out",
                    "--dim",
                    "4",
                    "--epochs",
                    "1",
                    "--min-count",
                    "1",
                    *model,
                    "--seed",
                    seed,
                )
            before = snapshot(sandbox.fresh(("corpus", "vectors")))
            outcome = sandbox.run(*argv)
            faults += [
                f"{model} {seed}: {f}"
                for f in behaviour(outcome) + traces(sandbox, before, ("out",), outcome.code == 0, False)
            ]
    outcome = sandbox.run(
        "evaluate",
        "lexicon",
        "--pairs",
        "pairs.tsv",
        "--offline",
        "--bootstraps",
        "5",
        "--seed",
        "-1",
        cwd=str(sandbox.fresh()),
    )
    return faults + behaviour(outcome)


@case("D19.18", "--start with another --dim is refused in one line")
def d19_start(sandbox: Sandbox) -> list[str]:
    faults = []
    for more in (
        ("--dim", "7"),
        ("--dim", "4", "--senses", "5"),
        ("--dim", "4", "--model", "word2vec"),
        ("--dim", "4", "--model", "word2dm"),
    ):
        before = snapshot(sandbox.fresh())
        outcome = sandbox.run(
            "train", "corpus", "-o", "out", "--start", "lexicon", "--epochs", "1", "--min-count", "1", *more
        )
        faults += [f"{more}: {fault}" for fault in (*refused(outcome), *traces(sandbox, before, (), False, False))]
    return faults


@case("D19.19", "Ctrl-C in the first moments of the process prints one line")
def d19_early(sandbox: Sandbox) -> list[str]:
    faults = []
    for number in range(0, 12, 1 if sandbox.thorough else 4):
        sandbox.fresh(("corpus",))
        moment = {"at": "seconds", "s": 0.1 + 0.04 * number, "signal": "INT"}
        outcome = sandbox.run("train", "corpus", "-o", "out", *TOY, exec=True, moment=moment)
        if outcome.code in (-2, 1) and "/polysema/" not in outcome.err.replace("/polysema/__init__.py", ""):
            continue  # Python itself was still starting, or finding the package
        faults += [f"after {moment['s']:.2f} s: {fault}" for fault in behaviour(outcome, (0, 130))]
    return faults


@case("D20a", "a mistyped file name leaves nothing behind")
def d20a(sandbox: Sandbox) -> list[str]:
    before = snapshot(sandbox.fresh(("text.txt",)))
    outcome = sandbox.run("train", "typo.txt", *TOY)
    return refused(outcome) + traces(sandbox, before, (), False, False)


@case("D20b", "a training on standard input that was stopped goes on, or does not promise to")
def d20b(sandbox: Sandbox) -> list[str]:
    place = sandbox.fresh(("text.txt",))
    argv = ("train", "-", *RESUMED)
    text = str(place / "text.txt")
    whole = sandbox.run(*argv, stdin=text, moment={"at": "count"})
    faults = behaviour(whole, (0,))
    if faults:
        return faults
    expected = snapshot(place, timeless=True)
    _remove(place / "out")
    where = max(
        (w for w in whole.notes["lines"] if w.startswith("training/run.py")), key=lambda w: whole.notes["lines"][w]
    )
    stopped = sandbox.run(
        *argv, stdin=text, moment={"at": "line", "where": where, "n": whole.notes["lines"][where] // 2, "signal": "INT"}
    )
    faults += behaviour(stopped, (130,))
    if "goes on" in stopped.err:
        again = sandbox.run(*argv, stdin=text)
        faults += [f"run again: {fault} {again.err[-200:]}" for fault in behaviour(again, (0,))]
        faults += signals.differences(expected, snapshot(place, timeless=True))
    elif set(snapshot(place)) != {"text.txt"}:
        faults.append("a state was left that nothing goes on from")
    return faults


@case("D20c", "'No space left on device' names the file")
def d20c(sandbox: Sandbox) -> list[str]:
    jobs = (
        "ms-word2dm from text", "corpus build", "evaluate --report", "convert", "convert to text", "ensemble", "draw",
        "glove", "context2dm",
    )  # fmt: skip
    return [
        f"{job}: {fault}"
        for job in (jobs if sandbox.thorough else jobs[:3])
        for fault in disks.attempt(sandbox, "full" if disks.can_mount() else "small files", job, 0.05)
    ]


@case("D20d", "--subsample 1e-12 is not blamed on the min count")
def d20d(sandbox: Sandbox) -> list[str]:
    sandbox.fresh(("corpus",))
    outcome = sandbox.run("train", "corpus", "-o", "out", *TOY, "--subsample", "1e-12")
    return behaviour(outcome) + (["blames the min count"] if "min count" in outcome.err else [])
