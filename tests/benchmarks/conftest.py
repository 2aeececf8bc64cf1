"""Toy material for the scripts: a text, the corpus made of it, an encoder, a lexicon, WordNet's files."""

import contextlib
import importlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
NOUNS = ["family", "hotel", "bank", "river", "money", "house", "water", "school", "city", "garden"]
VERBS = ["runs", "buys", "sees", "likes", "builds", "finds"]
ADJECTIVES = ["small", "old", "local", "cheap", "young"]
RARE = {
    "noun": ["armchair", "bathtub", "doormat", "earring", "eyebrow", "firewood", "guitarist", "haystack", "jawbone", "kitten", "lipstick", "nightgown"],
    "verb": ["abolish", "accuse", "admire", "annoy", "applaud", "bewilder"],
    "adjective": ["absurd", "afraid", "awkward", "bulky", "clumsy", "costly"],
}  # fmt: skip
CUES = ("loan", "shore")  # of the two senses of *bank*


@pytest.fixture(scope="session")
def text(tmp_path_factory) -> Path:
    """About 40,000 words; each rare word stands in six sentences, so that its share is that of a rare word."""
    rng = np.random.default_rng(1)

    def one(words):
        return words[rng.integers(len(words))]

    def sentence(noun=None, verb=None, adjective=None):
        adjective = adjective or one(ADJECTIVES)
        return f"The {adjective} {noun or one(NOUNS)} {verb or one(VERBS)} the {one(ADJECTIVES)} {one(NOUNS)}."

    lines = [sentence() for _ in range(5_500)]
    for _ in range(6):
        lines += [sentence(noun=word) for word in RARE["noun"]]
        lines += [sentence(verb=word) for word in RARE["verb"]]
        lines += [sentence(adjective=word) for word in RARE["adjective"]]
        lines += [f"The {one(ADJECTIVES)} {cue} near the bank {one(VERBS)} the {one(NOUNS)}." for cue in CUES]
    path = tmp_path_factory.mktemp("text") / "toy.txt"
    path.write_text("\n".join(lines[i] for i in rng.permutation(len(lines))), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def corpus(text) -> Path:
    from polysema.corpus.build import build_corpus

    build_corpus(text, text.with_name("toy.corpus"))
    return text.with_name("toy.corpus")


@pytest.fixture(scope="session")
def small_corpus(text) -> Path:
    """A tenth of it."""
    from polysema.corpus.build import build_corpus

    lines = text.read_text(encoding="utf-8").splitlines()
    build_corpus([line.rstrip(".").split() for line in lines[::10]], text.with_name("small.corpus"))
    return text.with_name("small.corpus")


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    pytest.importorskip("transformers", reason="the extra encoders is not installed")
    from tests.encoders.tiny import make_encoder

    return make_encoder(tmp_path_factory.mktemp("encoder"), positions=120)


@pytest.fixture(scope="session")
def wordnet(tmp_path_factory) -> Path:
    """WordNet's files with a few verbs: their synsets, with an example each, and how often SemCor has them."""
    folder = tmp_path_factory.mktemp("dict")
    synsets = [
        (100, "29", ["relieve", "alleviate"], "the pill relieves the headache"),
        (200, "41", ["relieve", "exempt"], "the board relieves the student"),
        (300, "38", ["walk", "stroll"], "the family walks to the hotel"),
        (400, "41", ["walk", "accompany"], "the nurse walks the patient"),
    ]
    header = "  1 This software and database is being provided to you\n"
    data = [
        f"{offset:08} {file} v {len(lemmas):02x} {' '.join(f'{lemma} 0' for lemma in lemmas)} 000 | {'meaning'}; "
        f'"{example}"'
        for offset, file, lemmas, example in synsets
    ]
    verbs = {}
    for offset, _, lemmas, _ in synsets:
        for lemma in lemmas:
            verbs.setdefault(lemma, []).append(f"{offset:08}")
    index = [f"{verb} v {len(found)} 0 {len(found)} 0 {' '.join(found)}" for verb, found in verbs.items()]
    senses = [f"{verb}%2:29:00:: 00000100 1 5" for verb in verbs]
    (folder / "data.verb").write_text(header + "\n".join(data) + "\n")
    (folder / "index.verb").write_text(header + "\n".join(index) + "\n")
    (folder / "index.sense").write_text("\n".join(senses) + "\n")
    for part in ("noun", "adj", "adv"):
        (folder / f"index.{part}").write_text(header + f"bank_account {part[0]} 1 0 1 0 1\nbank {part[0]} 3 0 3 0 1\n")
    return folder


@pytest.fixture
def script(monkeypatch, capsys, tmp_path):
    """Run a script of ``benchmarks/`` or ``tools/`` with arguments; what it printed.

    What a benchmark runs in processes of their own runs in this one, from the same source: starting twenty processes
    would take longer than all the rest.
    """
    for folder in ("benchmarks", "tools"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    measure = importlib.import_module("measure")
    monkeypatch.setattr(measure, "run_alone", run_here)
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        importlib.import_module(name).main()
        return capsys.readouterr().out

    yield run
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith((str(ROOT / "benchmarks"), str(ROOT / "tools"))):
            del sys.modules[name]


def run_here(name: str, source: str, count: int, arguments: str) -> str:
    """Run a benchmark's source in this process; what it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, name, "exec"), {"json": json, "arguments": json.loads(arguments)})
    return printed.getvalue()
