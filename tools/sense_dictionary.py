"""Trains the encoder of the dictionary, and makes the dictionary.

    python tools/sense_dictionary.py train OUT --minilm FOLDER --semcor FOLDER [--glosses FOLDER] [--minutes 25]
    python tools/sense_dictionary.py build OUT --minilm FOLDER --semcor FOLDER [--glosses FOLDER]
    polysema tag TEXT … -l OUT -o TAGGED
    python tools/sense_dictionary.py count OUT --tagged TAGGED

``train`` writes ``encoder.safetensors`` and ``pieces.txt`` into OUT, ``build`` adds ``dictionary.safetensors`` and
``figures.json``; both need the extra ``encoders``. ``count`` adds how often each sense stands in text that was tagged.
``--device cuda`` computes on a graphics card.

WordNet 3.0 is read from ``--wordnet`` (by default ``/usr/share/wordnet``), SemCor in its original form, the WordNet
Gloss Corpus as the JSON lines of own-pt/glosstag (``data/ann``).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.gloss_training import GlossTraining
from polysema.encoders.torch_encoder import FastEncoder
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import DictionaryFile
from polysema.senses.making import (
    choose_blend,
    encode_glosses,
    make_dictionary,
    plain_vectors,
    read_tagged_text,
    train_encoder,
)
from polysema.senses.wordnet_files import read_wordnet
from polysema.use.frequencies import shares
from polysema.use.tagged import opened


def main() -> None:
    """Train, build or count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train", "build", "count"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--semcor", type=Path)
    parser.add_argument("--glosses", type=Path)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--tagged", type=Path)
    usual = GlossTraining()
    for name in ("minutes", "rate", "steps", "sentences", "seed", "threads"):
        parser.add_argument(
            f"--{name}", type=float if name in ("minutes", "rate") else int, default=getattr(usual, name)
        )
    parser.add_argument("--device", default=usual.device)
    o = parser.parse_args()
    if o.step == "count":
        if o.tagged is None:
            parser.error("count needs --tagged: a folder that polysema tag wrote")
        with_counts(Dictionary.load(o.out), o.tagged).save(o.out)
        return
    if o.semcor is None or o.minilm is None:
        parser.error(f"{o.step} needs --semcor and --minilm")
    wordnet = read_wordnet(o.wordnet)
    text = read_tagged_text(wordnet, o.semcor, o.glosses)
    if o.step == "train":
        options = GlossTraining(minutes=o.minutes, steps=o.steps, rate=o.rate, sentences=o.sentences,
                                device=o.device, threads=o.threads, seed=o.seed)  # fmt: skip
        train_encoder(wordnet, text, o.minilm, o.out, options, say)
        return
    encoder = GlossEncoder.load(o.out)
    fast = FastEncoder(encoder, o.device)
    glosses = encode_glosses(wordnet, fast, lambda done, total: say(f"{done} of {total} glosses"))
    vectors, chosen, tried = choose_blend(wordnet, text, fast, glosses)
    say(f"chosen: {chosen}")
    dictionary, figures = make_dictionary(
        wordnet, text, encoder, vectors, chosen.ratio, plain_vectors(wordnet, o.minilm)
    )
    figures["blend"] = {"chosen": chosen._asdict(), "tried": [found._asdict() for found in tried]}
    dictionary.file.save(o.out)
    (o.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    say(json.dumps(figures))


def with_counts(dictionary: Dictionary, tagged: Path) -> DictionaryFile:
    """A dictionary that also knows how often a tagged text has each sense, corrected for the frequencies there."""
    file, corpus = dictionary.file, opened(tagged, [], dictionary)
    corpus.index()
    counts = np.zeros(len(file.synset_of), np.uint16)
    for word in corpus.counts:
        uses = corpus.uses(word)
        counts[uses.rows] = np.minimum(np.rint(shares(uses) * len(uses)), 65535).astype(np.uint16)
    return DictionaryFile({**file.tensors, f"count.{tagged.stem}": counts}, file.options)


def say(line: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    main()
