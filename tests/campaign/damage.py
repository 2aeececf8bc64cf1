"""Damaged files of every format: each must be refused in one line, or read as what it still says."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.campaign.checks import behaviour, traces
from tests.campaign.world import Sandbox, snapshot

_TRAIN = ["-o", "new", "--dim", "4", "--senses", "2", "--epochs", "1", "--min-count", "1"]
_LEXICON = [
    ["info", "{}"], ["senses", "bal", "-l", "{}"], ["neighbours", "bal", "-l", "{}"], ["ambiguity", "-l", "{}"],
    ["convert", "{}", "new.npz"], ["convert", "{}", "new", "--dtype", "float16"], ["compose", "(bal (bel bil))", "-l", "{}"],
    ["ensemble", "new", "{}", "lexicon"], ["evaluate", "{}", "--pairs", "pairs.tsv", "--offline"],
]  # fmt: skip
_CORPUS = [["corpus", "info", "{}"], ["corpus", "head", "{}"], ["train", "{}", *_TRAIN],
           ["train", "{}", *_TRAIN, "--model", "word2vec", "--senses", "1"], ["train", "{}", "-o", "new", "--model", "glove", "--dim", "4", "--min-count", "1", "--epochs", "1"],
           ["train", "{}", "-o", "new", "--model", "context2dm", "--vectors", "vectors", "--senses", "2", "--min-count", "1"]]  # fmt: skip
_PARSED = [
    ["train", "{}", "two.parsed", "-o", "new", "--model", "slots", "--dim", "3", "--min-count", "2"],
    ["corpus", "merge", "{}", "two.parsed", "-o", "new"],
]
_TEXT = [["corpus", "build", "{}", "-o", "new"], ["train", "{}", *_TRAIN]]
_START = [["train", "text.txt", *_TRAIN, "--start", "{}"]]
RESUME = [
    "train",
    "corpus",
    *_TRAIN[:4],
    "--senses",
    "2",
    "--epochs",
    "4",
    "--min-count",
    "1",
    "--checkpoint-minutes",
    "0",
]

READERS: dict[str, list[list[str]]] = {
    **{f"lexicon/{name}": _LEXICON + _START for name in ("config.json", "vocabulary.txt", "lexicon.safetensors")},
    **{f"vectors/{name}": _LEXICON for name in ("config.json", "vocabulary.txt", "lexicon.safetensors")},
    **{
        f"ensemble/{name}": _LEXICON
        for name in ("config.json", "members/1/config.json", "members/2/vocabulary.txt", "members/1/lexicon.safetensors")
    },
    **dict.fromkeys(("lexicon.npz", "lexicon.txt", "lexicon.txt.gz", "lexicon.bin", "vectors.npz", "vectors.txt", "vectors.vec", "vectors.bin"), _LEXICON),
    **{f"corpus/{name}": _CORPUS for name in ("config.json", "vocabulary.txt", "counts.npy", "tokens.npy", "sentences.npy")},
    **{f"corpus.v1/{name}": _CORPUS for name in ("counts.i64", "tokens.i32", "sentences.i64")},
    **dict.fromkeys(("text.txt", "text.txt.gz", "text.txt.bz2", "text.txt.xz", "text.txt.zst", "text.xml", "text.conllu"), _TEXT),
    **{f"one.parsed/{name}": _PARSED for name in ("config.json", "words.txt", "counts.safetensors")},
    "new.training/*.safetensors": [RESUME],
    "config.toml": [["train", "text.txt", "-o", "new", "--config", "{}"]],
    "words.txt": [["corpus", "build", "text.txt", "-o", "new", "--keep", "{}"], ["train", "text.txt", *_TRAIN, "--keep", "{}"],
                  ["corpus", "info", "corpus", "--words", "{}"]],
    "pairs.tsv": [["evaluate", "lexicon", "--pairs", "{}", "--offline"]],
    "phrases.tsv": [["evaluate", "lexicon", "--phrases", "subj verb obj", "{}", "--offline"]],
    "sentences.txt": [["compose", "-f", "{}", "-l", "lexicon"], ["disambiguate", "bal", "-f", "{}", "-l", "lexicon"]],
}  # fmt: skip
"""Files, and the commands that read them (``{}`` is the file, or the folder that it is part of)."""

Damage = Callable[[bytes, np.random.Generator], bytes]


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if out else 0):
        out[rng.integers(len(out))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    start, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 64))
    fill = [bytes(size), b"\xff" * size, rng.bytes(size)][rng.integers(3)]
    return data[:start] + fill + data[start + size :]


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
    """Some of the numbers of a text replaced by others."""
    fields = data.split(b" ")
    for _ in range(3):
        fields[rng.integers(len(fields))] = [b"nan", b"inf", b"-1e400", b"1e38", b"", b"0x1p3", b"1,5", b"9" * 400][
            rng.integers(8)
        ]
    return b" ".join(fields)


BYTES: dict[str, Damage] = {
    "truncated": lambda data, rng: data[: int(rng.integers(len(data) + 1))],
    "bits flipped": _flip,
    "overwritten": _overwrite,
    "something inserted": _insert,
    "moved": _move,
    "lines shuffled": _lines,
    "numbers replaced": _numbers,
    "twice": lambda data, rng: data + data,
    "empty": lambda data, rng: b"",
    "random": lambda data, rng: rng.bytes(int(rng.integers(1, 5000))),
    "not UTF-8": lambda data, rng: data + b"\xff\xfe\xe9\n",
    "a zero": lambda data, rng: data + b"\0",
    "header of ones": lambda data, rng: b"\xff" * 8 + data[8:],
    "header of the largest": lambda data, rng: (1 << 62).to_bytes(8, "little") + data[8:],
    "a pickle": lambda data, rng: b"\x80\x04\x95" + data[:50],
    "packed": lambda data, rng: [gzip.compress, bz2.compress, lzma.compress][rng.integers(3)](data),
    "brackets without end": lambda data, rng: b"[" * 100_000,
    "a line without end": lambda data, rng: b"a" + b" 1" * 500_000,
}
"""Damage to the bytes of any file."""

HOSTILE: list[Any] = [
    None,
    -1,
    0,
    1,
    2**31,
    2**63,
    2**70,
    1e308,
    float("nan"),
    True,
    "",
    "x",
    "../../notes.txt",
    "/etc/passwd",
    [],
    {},
    [[]],
    ["a"],
    "é" * 1000,
]


def _json(data: bytes, rng: np.random.Generator) -> bytes:
    """A value somewhere in JSON replaced or removed."""
    root = json.loads(data)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(root)
    for _ in range(int(rng.integers(1, 3))):
        holder, key = places[rng.integers(len(places))]
        if rng.random() < 0.25 and isinstance(holder, dict):
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = HOSTILE[rng.integers(len(HOSTILE))]
    return json.dumps(root).encode()


def _safetensors(data: bytes, rng: np.random.Generator) -> bytes:
    """The header of a safetensors file with a value replaced."""
    size = int.from_bytes(data[:8], "little")
    header = _json(data[8 : 8 + size], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def _safetensors_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """Numbers of a safetensors file that are none, or beyond all."""
    size = int.from_bytes(data[:8], "little") + 8
    numbers = np.frombuffer(data[size:], "<f4", count=(len(data) - size) // 4).copy()
    numbers[rng.integers(0, len(numbers), 3)] = [np.nan, np.inf, -np.inf, 3e38, 0, -1][rng.integers(6)]
    return data[:size] + numbers.tobytes() + data[size + numbers.nbytes :]


def _npz(data: bytes, rng: np.random.Generator) -> bytes:
    """One array of an npz of another type, shape or size, or left out."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    changed: list[Any] = [
        None, np.atleast_1d(array)[:-1], array.reshape(-1), array[None], array.astype(object) if array.dtype.kind != "O" else array,
        np.zeros(0), np.zeros(array.shape, np.complex64), np.zeros(array.shape, bool), np.full(array.shape, np.nan), np.full(array.shape, -1),
        np.full(array.shape, np.inf), np.zeros(array.shape, "M8[s]"), np.zeros(array.shape, "S3"), np.array(3.0), np.zeros(array.shape, [("a", "f4")]),
    ]  # fmt: skip
    chosen = changed[rng.integers(len(changed))]
    if chosen is None:
        del arrays[name]
    else:
        arrays[name] = chosen
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _npz_header(data: bytes, rng: np.random.Generator) -> bytes:
    """An npz whose arrays declare sizes that they do not have."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.infolist():
            body = old.read(item)
            if rng.random() < 0.6:
                sizes = [b"(-1,", b"(99999999999999,", b"(2147483648,", b"(0,", b"(80, 99999999,"]
                start = body.find(b"(")
                end = body.find(b",", start)
                body = body[:start] + sizes[rng.integers(len(sizes))] + body[end + 1 :]
            new.writestr(item.filename, body)
    return out.getvalue()


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The header of an npy file, and its numbers; other files are all numbers."""
    size = 10 + int.from_bytes(data[8:10], "little") if data[:6] == b"\x93NUMPY" else 0
    return data[:size], data[size:]


def _integers(kind: str) -> Damage:
    def damage(data: bytes, rng: np.random.Generator) -> bytes:
        header, body = _split(data)
        numbers = np.frombuffer(body, kind).copy()
        where = rng.integers(0, len(numbers), int(rng.integers(1, 4)))
        numbers[where] = rng.choice([-1, -1000, 10**7, 2**31 - 1, -(2**31), len(numbers) * 2])
        return header + numbers.tobytes()

    return damage


def _offsets(data: bytes, rng: np.random.Generator) -> bytes:
    header, body = _split(data)
    numbers = np.frombuffer(body, "<i8").copy()
    choice = rng.integers(4)
    if choice == 0:
        rng.shuffle(numbers)
    else:
        numbers[rng.integers(1, len(numbers))] = [-5, 10**15, 2**62][choice - 1]
    return header + numbers.tobytes()


def _toml(data: bytes, rng: np.random.Generator) -> bytes:
    names = [
        "dim",
        "senses",
        "epochs",
        "min_count",
        "rate",
        "seed",
        "held_out",
        "subsample",
        "model",
        "threads",
        "window",
        "select",
    ]
    values = [
        "2.5",
        "true",
        "'x'",
        "nan",
        "inf",
        "-1",
        "[]",
        "{a = 1}",
        "1979-05-27",
        "9223372036854775808",
        "'4'",
        "[1, 2]",
    ]
    return (
        b"[train]\n"
        + f"{names[rng.integers(len(names))]} = {values[rng.integers(len(values))]}\nepochs2 = 1\n"[
            : -13 if rng.random() < 0.9 else None
        ].encode()
    )


SPECIAL: dict[str, dict[str, Damage]] = {
    ".json": {"a value of JSON": _json},
    ".safetensors": {"a value of the header": _safetensors, "numbers that are none": _safetensors_numbers},
    ".npz": {"an array": _npz, "a size": _npz_header},
    **{key: {"ids": _integers("<i4")} for key in ("tokens.npy", "tokens.i32")},
    **{key: {"offsets": _offsets} for key in ("sentences.npy", "sentences.i64")},
    **{key: {"counts": _integers("<i8")} for key in ("counts.npy", "counts.i64")},
    ".toml": {"a setting": _toml},
}
"""Damage that knows the format, by the end of the name."""

REFUSED = {"ids", "offsets"}
"""Damage that no training may pass over."""
PLACES = ("a folder", "a link to itself", "a pipe", "missing")


def draw(rng: np.random.Generator, sandbox: Sandbox) -> dict[str, Any]:
    name = list(READERS)[rng.integers(len(READERS))]
    special = [key for end, table in SPECIAL.items() if name.endswith(end) for key in table]
    if rng.random() < 0.06:
        how = PLACES[rng.integers(len(PLACES))]
    else:
        how = (
            special[rng.integers(len(special))]
            if special and rng.random() < 0.5
            else list(BYTES)[rng.integers(len(BYTES))]
        )
    return {
        "file": name,
        "damage": how,
        "seed": int(rng.integers(2**31)),
        "command": int(rng.integers(len(READERS[name]))),
    }


def attempt(sandbox: Sandbox, file: str, damage: str, seed: int, command: int) -> list[str]:
    """Damage a file, run a command that reads it."""
    state = _stopped(sandbox) if file.startswith("new.training/") else None
    place = sandbox.fresh((file.split("/")[0], "lexicon", "text.txt", "corpus", "vectors", "pairs.tsv", "two.parsed"))
    if state is not None:
        sandbox.put(state, "new.training")
    do_damage(next(place.glob(file)), damage, np.random.default_rng(seed))
    before = snapshot(place)
    argv = [part.replace("{}", file.split("/")[0]) for part in READERS[file][command]]
    outcome = sandbox.run(*argv)
    faults = behaviour(outcome)
    if not outcome.ended_for:
        outputs = ("new", "new.npz", "new.training")
        faults += traces(
            sandbox, before, outputs, outcome.code == 0, False, kept=("new.training",) if "new.training" in file else ()
        )
    if file.startswith("new.training/"):  # done with when the training is
        faults = [fault for fault in faults if not (outcome.code == 0 and fault.startswith("deleted: new.training"))]
    if (
        damage in REFUSED
        and outcome.code == 0
        and argv[0] == "train"
        and snapshot(place / file.split("/")[0]) != snapshot(sandbox.world / file.split("/")[0])
    ):
        faults.append("trained on a damaged corpus without a word")
    return faults


def do_damage(path: Path, damage: str, rng: np.random.Generator) -> None:
    """Damage one file."""
    if damage in PLACES:
        path.unlink()
        if damage == "a folder":
            path.mkdir()
        elif damage == "a link to itself":
            path.symlink_to(path.name)
        elif damage == "a pipe":
            os.mkfifo(path)
        return
    table = {
        **BYTES,
        **{key: how for end, special in SPECIAL.items() if path.name.endswith(end) for key, how in special.items()},
    }
    path.write_bytes(table[damage](path.read_bytes(), rng))


def _stopped(sandbox: Sandbox) -> Path:
    """What a training leaves that was killed late, made once."""
    kept = sandbox.top / "stopped"
    if not kept.exists():
        sandbox.fresh(("corpus",))
        changes = sandbox.run(*RESUME, moment={"at": "count"}).notes["changes"]
        while not list((sandbox.place / "new.training").rglob("*.safetensors")):
            changes -= 1
            sandbox.fresh(("corpus",))
            sandbox.run(*RESUME, moment={"at": "change", "n": changes, "signal": "KILL"})
        shutil.copytree(sandbox.place / "new.training", kept)
    return kept
