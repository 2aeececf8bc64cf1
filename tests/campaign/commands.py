"""Command lines from the real tables of options: every command, every option, values that fit and values that do not."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import click
import numpy as np

from polysema.cli import polysema
from polysema.composition.methods import METHODS
from polysema.corpus.readers import FORMATS as TEXT_FORMATS
from polysema.lexicon.formats import FORMATS
from polysema.measures import MEASURES
from polysema.training.models import MODELS
from tests.campaign.checks import behaviour, traces
from tests.campaign.world import MEMORY, WORDS, Sandbox, snapshot

INTEGERS = ["-1", "0", "1", "2", "3", "7", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
            "1e3", "nan", "", "0x10", "1_0", "٣", " 4 "]  # fmt: skip
NUMBERS = ["0", "0.5", "1", "-1", "nan", "inf", "-inf", "1e-300", "1e300", "-0.0", "abc", ""]
STRINGS = [
    "",
    "x",
    "é",
    "A" * 5000,
    "../..",
    "-",
    "--",
    "%s",
    "{}",
    "\udcff",
    "🜁",
    "None",
    "a\nb",
    "\x1b[31m",
    "*",
    "~",
    "=",
    "a=b",
]
INPUTS = [
    "text.txt", "text.txt.gz", "text.txt.bz2", "text.txt.xz", "text.txt.zst", "text.xml", "text.conllu", "corpus",
    "lexicon", "lexicon2", "vectors", "lexicon.npz", "lexicon.txt", "lexicon.txt.gz", "lexicon.bin", "vectors.npz",
    "vectors.txt", "vectors.vec", "vectors.bin", "ensemble", "words.txt", "pairs.tsv", "phrases.tsv", "sentences.txt",
    "config.toml", "notes.txt", "notes.png", "thesis", "one.parsed", "english.txt",
]  # fmt: skip
PLACES = [
    "missing",
    ".",
    "..",
    "/dev/null",
    "/proc/self/status",
    "loop",
    "pipe",
    "folder-of-nothing",
    "n" * 300,
    "notes.txt/x",
    "",
]
OUTPUTS = ["new", "new.npz", "new.txt", "new.vec", "new.bin", "new.png", "new.svg", "new.pkl", "missing/new", "notes.txt", "thesis",
           "old", "old.npz", "old.corpus", "notes.txt/x", "n" * 300, ".", "", "loop", "pipe", "new.training", "notes.png"]  # fmt: skip

CHOICES: dict[str, list[str]] = {
    **{
        "--" + field.name.replace("_", "-"): list(field.metadata["choices"])
        for model in MODELS.values() for field in dataclasses.fields(model.options) if field.metadata["choices"]
    },
    "--form": ["window", "pair", "skip-gram", "cbow"], "--model": list(MODELS), "--preset": ["paper"], "--method": list(METHODS), "--measure": list(MEASURES), "--to": list(FORMATS),
    "--kind": ["auto", "matrices", "vectors"], "--dtype": ["float32", "float16"], "--format": list(TEXT_FORMATS),
    "--sentences": ["split", "lines"], "--token": ["form", "lemma", "lemma_pos"], "--columns": ["form,tag,lemma"],
    "--encoding": ["auto", "utf-8", "latin-1", "utf-16"], "--lemmatise": ["en"], "--device": ["cpu"],
    "--layers": ["last", "all", "1"],
    "--precision": ["float32"], "--encoder": ["missing"], "--pattern": ["subj verb obj", "adj noun"],
    "--unknown-words": ["skip", "zero"], "--senses": ["wordnet-3.0"], "--set": ["GS2011"], "--only": ["Word2Vec"],
    "--layer": ["last"],
}  # fmt: skip
REAL = 0.03
"""The share of command lines that run as a process of their own, not as a fork."""
MODEST = {"--epochs", "--bootstraps", "--noise-draws", "--seeds", "--dim", "--senses", "--batch-size", "--rank"}
"""Options that mean work: large values are not asked for, only wrong ones."""
NEVER = {"--help", "--version"}
FORCED = {
    ("train",): ["--dim", "3", "--epochs", "1", "--min-count", "1"],
    ("evaluate",): ["--offline", "--pairs", "pairs.tsv"],
    ("reproduce",): ["--offline"],
}
"""Given first, so that a command is quick and may get past its first check; a drawn value goes before."""


IN_PLACE = ("describe", "senses")
"""Commands that write to the lexicon they are given."""


def leaves(
    group: click.Group = polysema, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of the tree with its path."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = [item for item in leaves() if item[0] not in (("data", "fetch"), ("reproduce",))]


def draw(rng: np.random.Generator, sandbox: Sandbox) -> dict[str, Any]:
    path, command = COMMANDS[rng.integers(len(COMMANDS))]
    argv = [*path, *FORCED.get(path, [])]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            count = 1 if parameter.nargs == 1 else int(rng.integers(1, 4))
            if parameter.required or rng.random() < 0.5:
                argv += [_argument(rng, path, parameter) for _ in range(count)]
        elif parameter.opts[-1] not in NEVER and (
            parameter.required or rng.random() < min(0.3, 3 / len(command.params))
        ):
            argv += _option(rng, parameter)
    if rng.random() < 0.02:
        argv.insert(int(rng.integers(len(argv) + 1)), _pick(rng, STRINGS))
    real = bool(rng.random() < REAL)
    return {"argv": argv, "real": real and argv[0] != "explore"}  # which is stopped from within once it serves


def _argument(rng: np.random.Generator, path: tuple[str, ...], parameter: click.Argument) -> str:
    name = parameter.name or ""
    if rng.random() < 0.08:
        return _pick(rng, STRINGS)
    if name == "out":
        return _pick(rng, OUTPUTS)
    if name in ("corpus", "text"):
        return _pick(rng, INPUTS[:8]) if rng.random() < 0.7 else _pick(rng, INPUTS + PLACES)
    if name in ("lexicon", "lexicons"):
        return _pick(rng, INPUTS[8:20]) if rng.random() < 0.7 else _pick(rng, INPUTS + PLACES)
    if name == "folder":
        return "corpus" if rng.random() < 0.5 else _pick(rng, INPUTS + PLACES)
    words = [_pick(rng, WORDS) for _ in range(3)]
    phrases = [
        words[0],
        f"({words[0]} ({words[1]} {words[2]}))",
        f"({words[0]} {words[1]}~)",
        " ".join(words),
        "((((",
        f"({words[0]} & {words[1]})",
    ]
    return _pick(rng, phrases)


def _option(rng: np.random.Generator, option: click.Parameter) -> list[str]:
    name = max(option.opts, key=len)
    if getattr(option, "is_flag", False):
        return [name]
    return [name, *(_value(rng, name, option) for _ in range(option.nargs))]


def _value(rng: np.random.Generator, name: str, option: click.Parameter) -> str:
    kind = option.type
    hostile = rng.random() < 0.35
    if name in CHOICES and not isinstance(kind, click.types.IntParamType):
        return _pick(rng, STRINGS) if hostile else _pick(rng, CHOICES[name])
    if name in ("--output", "--report"):
        return _pick(rng, OUTPUTS) if hostile else "new"
    if isinstance(kind, click.types.IntParamType | click.IntRange):
        values = [v for v in INTEGERS if name not in MODEST or not v.isdigit() or int(v) < 8]
        return _pick(rng, values) if hostile else _pick(rng, ["1", "2", "3"])
    if isinstance(kind, click.types.FloatParamType | click.FloatRange):
        return _pick(rng, NUMBERS) if hostile else _pick(rng, ["0", "0.1", "0.5", "1"])
    if isinstance(kind, click.Path | click.File) or name in (
        "--lexicon",
        "--start",
        "--vectors",
        "--pairs",
        "--phrases",
        "--infersent",
    ):
        return _pick(rng, INPUTS + PLACES)
    return _pick(rng, STRINGS)


def _pick(rng: np.random.Generator, values: list[str]) -> str:
    return values[rng.integers(len(values))]


def attempt(sandbox: Sandbox, argv: list[str], real: bool = False) -> list[str]:
    """Run a command line in a copy of the world that also holds a pipe, a link to itself and an empty folder."""
    if not _untouched(sandbox):
        _renew(sandbox)
    before = snapshot(sandbox.place)
    room = {"memory": 3 * MEMORY} if real and "--encoder" in argv else {}  # torch for a GPU takes more than one
    outcome = sandbox.run(*argv, exec=real, **room)
    outputs = outputs_of(argv)
    faults = behaviour(outcome)
    if not outcome.ended_for:
        faults += traces(sandbox, before, outputs, outcome.code == 0, "--force" in argv or argv[0] in IN_PLACE)
    return faults


def outputs_of(argv: list[str]) -> list[str]:
    """The names that a command line asks to be written."""
    named = [value for name, value in pairwise(argv) if name in ("-o", "--output", "--report")]
    if argv[0] in ("convert", "ensemble", *IN_PLACE):
        named += argv[1:]
    elif argv[0] == "train" and not named:
        named += [value.split("/")[-1].split(".")[0] or "lexicon" for value in argv[1:]]
    return [name for name in named if name and name not in (".", "..")]


def _untouched(sandbox: Sandbox) -> bool:
    known = getattr(sandbox, "furnished", None)
    return (
        known is not None
        and sandbox.place.is_dir()
        and snapshot(sandbox.place) == known
        and not any((sandbox.top / "sandbox" / "tmp").iterdir())
    )


def _renew(sandbox: Sandbox) -> None:
    place = sandbox.fresh()
    (place / "loop").symlink_to("loop")
    os.mkfifo(place / "pipe")
    (place / "folder-of-nothing").mkdir()
    sandbox.furnished = snapshot(place)  # type: ignore[attr-defined]
